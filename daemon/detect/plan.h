// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: which stages a search goes through. All ways lead to the same result; they only differ in time.
///
/// Costs are in steps of the scan kernel: a vector of products with one quad of weights. They are estimates, and work
/// done is counted in the same unit, not by a clock, so that a search goes the same way again.
#ifndef CONDPROF_DETECT_PLAN_H
#define CONDPROF_DETECT_PLAN_H

#include "daemon/detect/search.h"
#include "daemon/detect/stages.h"

#define STAGES_MAX (BOX_SHIFT_MAX + 2)

/// Stages, coarse to fine; none: every position is looked at.
struct plan {
	struct stage stages[STAGES_MAX];
	int n;
	double cost; ///< of the first one for all positions; INFINITY: there is no such plan
};

/// The cheapest plan whose first stage scans. What coarse boxes leave to finer ones is guessed.
void plan_scan(const struct search *search, struct plan *ret);

/// One whose first stage transforms, and leaves next to nothing.
void plan_transform(const struct search *search, struct plan *ret);

/// Makes ready what its stages need.
void plan_begin(struct search *search, const struct plan *plan);

/// Rows of positions that its first stage treats together, and of which number the first one must be a multiple.
int plan_rows(const struct plan *plan);
int plan_step(const struct plan *plan);

#endif
