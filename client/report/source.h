// SPDX-License-Identifier: GPL-3.0-or-later
/// Where a report comes from, piece by piece, in the order of ReportPart: a daemon's stream or a folder. Whoever reads
/// it does not know which.
#ifndef CONDPROF_REPORT_SOURCE_H
#define CONDPROF_REPORT_SOURCE_H

#include "proto/control.pb-c.h"
#include "proto/errors.h"

struct report_source {
	/// The next piece. @return 1: *ret_data is valid until the next call; 0: the end; negative errno with `error`
	/// filled
	int (*next)(struct report_source *source, Condprof__ReportPart *ret_part, const uint8_t **ret_data,
		    size_t *ret_size, struct error *error);
	/// Frees it. @return NULL
	struct report_source *(*close)(struct report_source *source);
};

static inline struct report_source *report_source_close(struct report_source *source)
{
	return source ? source->close(source) : NULL;
}
static inline void report_source_cleanup(struct report_source **source)
{
	*source = report_source_close(*source);
}

/// What is wanted of the occurrences.
struct report_query {
	bool messages;      ///< only the occurrences are of interest; else only scenario, overview and aggregates
	int64_t since_ns;   ///< done at this time or later
	int64_t until_ns;   ///< done before
	int64_t *event_ids; ///< n_event_ids of them; none: all events
	size_t n_event_ids;
	int64_t last; ///< only the last of those that fit; 0: all
};
#define REPORT_QUERY_ALL                                                                                               \
	{                                                                                                              \
		.since_ns = INT64_MIN, .until_ns = INT64_MAX                                                           \
	}

/// Opens a report's folder, also an old, torn, interrupted or running one.
/// @return -ENOTDIR, -ENOENT: no such folder, or: nothing of a report is in it; -EACCES, -EIO, …
int report_source_folder(const char *path, const struct report_query *query, struct report_source **ret,
			 struct error *error);

#endif
