// SPDX-License-Identifier: GPL-3.0-or-later
/// Prometheus' text format, version 0.0.4: metrics with their samples, for whoever collects such files. All samples of
/// a metric are written one after the other; HELP and TYPE come before its first, and a metric without samples leaves
/// nothing. Values are exact: integers, and nanoseconds as decimal seconds.
#ifndef CONDPROF_RENDER_EXPOSITION_H
#define CONDPROF_RENDER_EXPOSITION_H

#include "proto/base.h"

#include <stdio.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/// A static description.
struct metric {
	const char *name; ///< with its unit; a counter's ends in _total
	enum metric_type type;
	const char *help;
};

struct metric_label {
	const char *name;
	const char *value; ///< from anywhere; NULL: as if it were empty
};

struct exposition {
	FILE *out;
	const char *name; ///< of the metric whose samples are being written
};

/// `a="1",b="2"`: values are cleaned as for a terminal, then escaped. The caller's; NULL: out of memory
char *metric_labels(const struct metric_label *labels, size_t n);

/// @param labels as metric_labels() makes them
void metric_count(struct exposition *exposition, const struct metric *metric, const char *labels, int64_t value);
/// @param ns >= 0
void metric_seconds(struct exposition *exposition, const struct metric *metric, const char *labels, int64_t ns);

/// How many were not longer than `le_ns`.
struct metric_bucket {
	int64_t le_ns, count;
};
/// The bucket +Inf follows by itself.
void metric_histogram(struct exposition *exposition, const struct metric *metric, const char *labels,
		      const struct metric_bucket *buckets, size_t n, int64_t sum_ns, int64_t count);

#endif
