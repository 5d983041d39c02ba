// SPDX-License-Identifier: GPL-3.0-or-later
// The clocks: what reads the kernel's, and the virtual one for tests. A read costs no system call (vDSO); the only wait
// of the engine is the ppoll here.
#include "config.h"

#include "daemon/engine/clock.h"

#include <poll.h>
#include <time.h>

int64_t measuring_clock_monotonic(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t suspend_clock_boottime(void)
{
	int64_t boot = clock_ns(CLOCK_BOOTTIME);

	return boot - clock_ns(CLOCK_MONOTONIC);
}

static int64_t monotonic_now(struct engine_clock *clock)
{
	(void)clock;
	return clock_ns(CLOCK_MONOTONIC);
}

// One ppoll where nothing interferes: the clock is read before it and, for what woke it early, after.
static int monotonic_wait(struct engine_clock *clock, int64_t deadline_ns, int wake_fd)
{
	struct pollfd wake = {.fd = wake_fd, .events = POLLIN};
	int64_t left;

	while ((left = deadline_ns - monotonic_now(clock)) > 0) {
		struct timespec timeout = {.tv_sec = left / NSEC_PER_SEC, .tv_nsec = left % NSEC_PER_SEC};

		if (ppoll(&wake, 1, &timeout, NULL) > 0)
			return 1;
	}
	return 0;
}

static int64_t monotonic_monotonic(struct engine_clock *clock, int64_t deadline_ns)
{
	(void)clock;
	return deadline_ns;
}

void engine_clock_init_monotonic(struct engine_clock *clock)
{
	static const struct engine_clock_ops ops = {monotonic_now, monotonic_wait, monotonic_monotonic};

	*clock = (struct engine_clock){.ops = &ops};
}

static int64_t virtual_now(struct engine_clock *clock)
{
	return clock->virtual_now_ns;
}

static int virtual_wait(struct engine_clock *clock, int64_t deadline_ns, int wake_fd)
{
	struct pollfd wake = {.fd = wake_fd, .events = POLLIN};

	if (deadline_ns <= clock->virtual_now_ns)
		return 0;
	if (wake_fd >= 0 && poll(&wake, 1, 0) > 0)
		return 1;
	clock->virtual_now_ns = deadline_ns;
	return 0;
}

static int64_t virtual_monotonic(struct engine_clock *clock, int64_t deadline_ns)
{
	int64_t left = deadline_ns - clock->virtual_now_ns;

	return time_add(clock_ns(CLOCK_MONOTONIC), MAX(left, 0));
}

void engine_clock_init_virtual(struct engine_clock *clock)
{
	static const struct engine_clock_ops ops = {virtual_now, virtual_wait, virtual_monotonic};

	*clock = (struct engine_clock){.ops = &ops};
}
