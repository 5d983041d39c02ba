// SPDX-License-Identifier: GPL-3.0-or-later
/// What a session did between two snapshots of its report: exact differences of counts and times that only grow. A
/// figure that one of the two does not have, or that has shrunk, is not known; nothing here is ever negative.
#ifndef CONDPROF_REPORT_INTERVAL_H
#define CONDPROF_REPORT_INTERVAL_H

#include "client/report/report.h"

struct interval_condition {
	struct maybe checks, fulfilled, total_ns;
	struct maybe average_ns; ///< not known when it was not checked
	double share;            ///< of the checks of all conditions, 0 to 1; 0 where total_ns is not known
};

#define INTERVAL_NO_CONDITION SIZE_MAX

struct interval {
	struct maybe duration_ns; ///< of the session, as the session counts it
	struct maybe passes, missed_passes, occurrences, lost_occurrences;
	struct maybe checks; ///< of all conditions
	struct maybe conditions_ns, processing_ns;
	struct maybe pass_mean_ns;             ///< of the passes that were completed; not known without one
	struct interval_condition *conditions; ///< n_conditions: those of the later snapshot
	size_t n_conditions;
	size_t dearest; ///< the condition with the largest total, or INTERVAL_NO_CONDITION
};

/// @param before an earlier snapshot of the same session; NULL: since the session's start
/// @return 0, -ENOMEM
int interval_between(const struct report *before, const struct report *after, struct interval *ret);
void interval_clear(struct interval *interval);

/// Passes a second. @return false: not known
bool interval_rate(const struct interval *interval, double *ret);
/// Part of the interval that was processing, 0 to 1. @return false: not known
bool interval_processing_share(const struct interval *interval, double *ret);

#endif
