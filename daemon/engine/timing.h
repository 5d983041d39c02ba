// SPDX-License-Identifier: GPL-3.0-or-later
/// The figures of one session: what docs/debug-report-performance-timing.md promises. One thread (the engine's) writes;
/// any thread may take a snapshot meanwhile: every field is an atomic access, and a sequence count a condition makes its
/// fields agree. All memory is taken by timing_new().
#ifndef CONDPROF_TIMING_H
#define CONDPROF_TIMING_H

#include "daemon/engine/clock.h"
#include "daemon/scenario/scenario.h"

#include <stdatomic.h>

#define HISTOGRAM_BUCKETS 288U  ///< 8 a power of two, 1 ns to 2^36 ns
#define HISTOGRAM_SLOTS (HISTOGRAM_BUCKETS + 2U)  ///< [0] zero, [1 + i] bucket i, [last] overflow

/// The slot that counts a duration of `ns` >= 0: bucket i holds (2^(i/8), 2^((i+1)/8)], exactly.
uint32_t histogram_slot(int64_t ns);

enum not_reached { NOT_REACHED_DISABLED, NOT_REACHED_COOLING_DOWN, NOT_REACHED_ENDED_BEFORE, NOT_REACHED_REASONS };

/// Sites of the session's time; each is measured where it happens.
enum time_site {
	TIME_FRAME_WAIT, TIME_FRAME_GET, TIME_PROCESSING, TIME_ACTIONS, TIME_PAUSES, TIME_LIMITER_WAIT, TIME_SAFETY_WAIT,
	TIME_REPORT_WAIT, TIME_SITES,
};

struct timing;

int timing_new(const struct scenario *scenario, measuring_clock clock, struct timing **ret);
struct timing *timing_free(struct timing *timing);

/// Around a verifier call. `begin` is what the clock said before, `end` after; pass from 1.
void timing_check(struct timing *timing, uint32_t condition, int64_t begin, int64_t end, int64_t pass, bool fulfilled,
		  bool reused);

#endif
