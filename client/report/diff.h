// SPDX-License-Identifier: GPL-3.0-or-later
/// Two reports held against each other: which of their conditions and events are the same, and what differs. The first
/// is the base, the second is new.
#ifndef CONDPROF_REPORT_DIFF_H
#define CONDPROF_REPORT_DIFF_H

#include "client/report/report.h"
#include "client/report/statistics.h"

/// Something of both reports, or of one: then the other is NULL.
struct event_pair {
	const struct report_event *base, *new;
};

struct condition_pair {
	const struct report_condition *base, *new;
	bool by_id;     ///< matched by ids that the author gave; else by event and name
	bool redefined; ///< what the scenario says of it differs, name and id apart
	bool has_means; ///< both have a spread: the next is told
	struct mean_difference means;
};

struct report_diff {
	const struct report *base, *new;
	struct event_pair *events; ///< of both in the base's order, then only of the base, then only of the new
	size_t n_events, n_common_events;
	struct condition_pair *conditions; ///< likewise
	size_t n_conditions, n_common_conditions;
};

/// @return 0, -ENOMEM. The reports must outlive *ret
int report_diff_new(const struct report *base, const struct report *new, struct report_diff **ret);
struct report_diff *report_diff_free(struct report_diff *diff);
static inline void report_diff_cleanup(struct report_diff **diff)
{
	*diff = report_diff_free(*diff);
}

/// What a condition is compared by.
enum diff_metric {
	METRIC_CHECKS,
	METRIC_FULFILLED,
	METRIC_AVERAGE,
	METRIC_P50,
	METRIC_P90,
	METRIC_P99,
	METRIC_MAX,
	METRIC_TOTAL,
	METRIC_PASS, ///< total a pass
	DIFF_METRICS,
};
struct maybe diff_metric(const struct report *report, const struct report_condition *condition,
			 enum diff_metric metric);

/// new less base, where both are known.
struct maybe diff_delta(struct maybe base, struct maybe new);
/// The same in percent of the base. @return false: not known, or the base is 0
bool diff_percent(struct maybe base, struct maybe new, double *ret);
/// The same of a condition's figure. Averages are taken as they are, not rounded to the nanosecond: of short checks
/// that would be percents. @return false: not known
bool diff_pair_percent(const struct report_diff *diff, const struct condition_pair *pair, enum diff_metric metric,
		       double *ret);

/// A share of a total that each pass has, on average.
struct maybe per_pass(const struct report *report, struct maybe total_ns);

/// --fail-if: METRIC>+N%
struct diff_rule {
	const char *text; ///< as given
	enum diff_metric metric;
	double percent;
};
/// METRIC is average, p50, p90 or p99: what a spread is known of. @return 0, -EINVAL
int diff_rule_parse(const char *text, struct diff_rule *ret);

enum diff_verdict {
	VERDICT_FINE,      ///< not worse by more than that, or no more than the spread explains
	VERDICT_WORSE,     ///< worse by more than that, and by more than the spread explains
	VERDICT_TOO_FEW,   ///< checks, in one of them
	VERDICT_NOT_KNOWN, ///< one of them does not have the figures
};
enum diff_verdict diff_rule_apply(const struct diff_rule *rule, const struct report_diff *diff,
				  const struct condition_pair *pair, int64_t min_checks);

#endif
