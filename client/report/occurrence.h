// SPDX-License-Identifier: GPL-3.0-or-later
/// The occurrences of a report, one after the other: screen events and trigger events alike, in constant memory. Where
/// the report goes on from what is not in it, what it begins with comes before them.
#ifndef CONDPROF_REPORT_OCCURRENCE_H
#define CONDPROF_REPORT_OCCURRENCE_H

#include "client/report/report.h"

/// A condition's part in an occurrence.
struct occurrence_condition {
	int64_t id;
	bool fulfilled;
	struct maybe duration_ns;
	bool has_confidence, has_value;
	double confidence; ///< 0 to 1
	double value;      ///< number conditions: what was read
};

enum entry_kind {
	ENTRY_OCCURRENCE,
	ENTRY_CONTINUES,     ///< no occurrence: how things stood when another report ended and this one began
	ENTRY_AFTER_DROPPED, ///< no occurrence: the counters when the first that is kept came; of events nothing is
			     ///< known
};

struct occurrence {
	enum entry_kind kind;
	int64_t event_id;
	int64_t at_ns; ///< its actions were done, since the session's start; else how things stood then
	struct maybe pass, detecting_ns, checking_ns, acting_ns;
	size_t n_conditions;
	const struct occurrence_condition *conditions;
	size_t n_counters, n_states, n_actions;
	Condprof__CounterStateChange *const *counters;
	Condprof__EventStateChange *const *states;
	Condprof__ActionResult *const *actions;
	size_t n_values; ///< of the counters, where it is no occurrence; `states` are then those not as in the scenario
	Condprof__CounterInit *const *values;
};

/// Whether a message is an occurrence that fits the query (`last` apart).
bool occurrence_fits(const Condprof__DebugReportMessage *message, const struct report_query *query);

/// The same of a packed message, by its outermost fields alone: a hundred times as fast as unpacking. What is no
/// message fits too: whoever reads it shall know that there was one.
bool message_bytes_fit(const uint8_t *data, size_t size, const struct report_query *query);
/// Whether a packed message says how things stood, and the query may want it.
bool beginning_bytes_fit(const uint8_t *data, size_t size, const struct report_query *query);

/// Unpacks a message that came from outside; NULL: damaged.
Condprof__DebugReportMessage *report_message_unpack(const uint8_t *data, size_t size);

/// Calls `each` for every occurrence of the source that fits, and first, once at most, for what comes before the first
/// one of all when they are not chosen by event; stops when it does not return 0, and returns that.
/// @param report damage is noted in it
int report_each_occurrence(struct report_source *source, struct report *report, const struct report_query *query,
			   int (*each)(void *context, const struct occurrence *occurrence), void *context,
			   struct error *error);

#endif
