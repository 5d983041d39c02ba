// SPDX-License-Identifier: GPL-3.0-or-later
/// What differs between two reports; the names for machines are those of condprofctl(1), section JSON.
#ifndef CONDPROF_VIEW_DIFF_H
#define CONDPROF_VIEW_DIFF_H

#include "client/render/render.h"
#include "client/report/diff.h"

struct diff_options {
	const struct diff_rule *rules; ///< of --fail-if
	size_t n_rules;
	int64_t min_checks; ///< with fewer, nothing is said of a condition, and no rule applies
};

/// @param ret_failed conditions that a rule found worse; ret_judged: times a rule could be applied
/// @return 0, -ENOMEM
int view_diff(struct render *render, const struct report_diff *diff, const struct diff_options *options,
	      size_t *ret_failed, size_t *ret_judged);

#endif
