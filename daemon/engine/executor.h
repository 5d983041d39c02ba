// SPDX-License-Identifier: GPL-3.0-or-later
/// Runs the actions of an event that was just found fulfilled. What a press holds down is let go on every way out.
#ifndef CONDPROF_EXECUTOR_H
#define CONDPROF_EXECUTOR_H

#include "proto/base.h"

struct processor;

/// Runs them in order and fills processor->occurrence. Once the session is to end (a stop action, a stop from outside,
/// an input that failed), the rest is skipped, and the occurrence says so.
/// @return with timing: what the clock said when they were done; goes on at TIME_ENGINE
int64_t execute_actions(struct processor *processor, uint32_t event);

/// Clicks and swipes: `randomize` moves each position by up to this much, px, but never out of a match that it was in.
#define RANDOM_POSITION_PX 3
/// Presses, pauses, swipes: `randomize` makes each last up to this much longer, percent.
#define RANDOM_DURATION_PERCENT 10

#endif
