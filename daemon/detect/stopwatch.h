// SPDX-License-Identifier: GPL-3.0-or-later
/// What preparation is timed with. Inline: it stands around work of a microsecond.
#ifndef CONDPROF_STOPWATCH_H
#define CONDPROF_STOPWATCH_H

#include "daemon/detect/detect.h"

/// Times one piece of preparation after the other: where one ends, the next begins, so that a piece costs one reading.
struct stopwatch {
	detect_clock clock; ///< NULL: nothing is measured
	int64_t at_ns;      ///< 0: not started
};

/// Before a piece: starts it if it does not run yet.
static inline void stopwatch_start(struct stopwatch *watch)
{
	if (watch->clock && !watch->at_ns)
		watch->at_ns = watch->clock();
}

/// After a piece: ns since the start or the last lap. Only with a clock.
static inline int64_t stopwatch_lap(struct stopwatch *watch)
{
	int64_t before = watch->at_ns;

	watch->at_ns = watch->clock();
	return watch->at_ns - before;
}

#endif
