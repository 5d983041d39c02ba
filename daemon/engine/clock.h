// SPDX-License-Identifier: GPL-3.0-or-later
/// The two clocks, two interfaces, so that they are never mixed. The engine clock decides (timers, cooldowns, pauses,
/// limiter) and may be virtual; the measuring clock only measures, is always CLOCK_MONOTONIC in the product, and is
/// read only while a report is made.
#ifndef CONDPROF_CLOCK_H
#define CONDPROF_CLOCK_H

#include "proto/base.h"

/// ns; monotonic. In tests: a stepped one, or one that aborts.
typedef int64_t (*measuring_clock)(void);

int64_t measuring_clock_monotonic(void);

/// By how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, ns: it grows by what the device slept. Never more than the
/// truth; less by what passes between the two reads.
typedef int64_t (*suspend_clock)(void);

int64_t suspend_clock_boottime(void);

struct engine_clock;

struct engine_clock_ops {
	int64_t (*now)(struct engine_clock *clock); ///< ns
	/// Waits until now >= deadline_ns, or until wake_fd is readable. @return 0 reached, 1 woken
	int (*wait)(struct engine_clock *clock, int64_t deadline_ns, int wake_fd);
	/// When CLOCK_MONOTONIC will have advanced by what is left until deadline_ns: the deadline for calls that know
	/// no other clock.
	int64_t (*monotonic)(struct engine_clock *clock, int64_t deadline_ns);
};

struct engine_clock {
	const struct engine_clock_ops *ops;
	int64_t virtual_now_ns; ///< of the virtual clock only
};

void engine_clock_init_monotonic(struct engine_clock *clock);
/// Stands still but for waits, which pass at once, and what a test adds to virtual_now_ns.
void engine_clock_init_virtual(struct engine_clock *clock);

static inline int64_t engine_clock_now(struct engine_clock *clock)
{
	return clock->ops->now(clock);
}

/// a + b for b >= 0, at most INT64_MAX: "never" stays never.
static inline int64_t time_add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

#endif
