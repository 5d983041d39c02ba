// SPDX-License-Identifier: GPL-3.0-or-later
/// The two clocks, two interfaces, so that they are never mixed. The engine clock decides (timers, cooldowns, pauses,
/// limiter) and may be virtual; the measuring clock only measures, is always CLOCK_MONOTONIC in the product, and is read
/// only while a report is made.
#ifndef CONDPROF_CLOCK_H
#define CONDPROF_CLOCK_H

#include "proto/base.h"

/// ns; monotonic. In tests: a stepped one, or one that aborts.
typedef int64_t (*measuring_clock)(void);

int64_t measuring_clock_monotonic(void);

struct engine_clock;

struct engine_clock_ops {
	int64_t (*now)(struct engine_clock *clock);  ///< ns
	/// Waits until now >= deadline_ns, or until wake_fd is readable. @return 0 reached, 1 woken
	int (*wait)(struct engine_clock *clock, int64_t deadline_ns, int wake_fd);
};

struct engine_clock {
	const struct engine_clock_ops *ops;
	int64_t virtual_now_ns;  ///< of the virtual clock only
};

void engine_clock_init_monotonic(struct engine_clock *clock);
/// Stands still but for waits, which pass at once, and what a test adds to virtual_now_ns.
void engine_clock_init_virtual(struct engine_clock *clock);

#endif
