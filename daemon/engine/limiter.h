// SPDX-License-Identifier: GPL-3.0-or-later
/// Holds the loop to a rate by deadlines: arithmetic only, no clock and no waiting.
///
/// Each pass has a deadline, one period after that of the pass before. A pass that begins late by less than a period
/// keeps it so, and the mean rate stays exact; one that is later has missed deadlines, which are dropped and counted,
/// so that there never is a burst. Therefore: passes begun + missed = deadlines passed.
#ifndef CONDPROF_LIMITER_H
#define CONDPROF_LIMITER_H

#include "daemon/engine/clock.h"

#define SAFETY_PERIOD_NS NSEC_PER_MSEC ///< what an unlimited pass on a live screen takes at least

struct limiter {
	int64_t period_ns;   ///< 0: unlimited
	int64_t deadline_ns; ///< of the pass that runs, on the engine clock
};

/// The first pass begins at `now`.
void limiter_start(struct limiter *limiter, int64_t period_ns, int64_t now);

/// When the next pass may begin. Only with a period.
int64_t limiter_next(const struct limiter *limiter);

/// The next pass begins at `now` >= limiter_next(). @return deadlines missed
int64_t limiter_advance(struct limiter *limiter, int64_t now);

#endif
