// SPDX-License-Identifier: GPL-3.0-or-later
/// The few idioms that every file of the project uses.
///
/// Functions that can fail return 0 or a negative errno value and leave their outputs (named ret_...) untouched on
/// failure. x_free() functions accept NULL and return NULL. A function either logs an error or returns it.
#ifndef CONDPROF_BASE_H
#define CONDPROF_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/// The object that embeds `member`, which `pointer` points to.
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define NSEC_PER_USEC INT64_C(1000)
#define NSEC_PER_MSEC INT64_C(1000000)
#define NSEC_PER_SEC INT64_C(1000000000)

/// What one of the kernel's clocks says, ns.
static inline int64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

#define PRINTF_LIKE(template, first) __attribute__((__format__(__printf__, template, first)))

/// Runs when the variable leaves its scope.
#define CLEANUP(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define CLEANUP_FREE CLEANUP(cleanup_free)
#define CLEANUP_CLOSE CLEANUP(cleanup_close)

/// Hands a pointer over: its value, and NULL is left behind.
#define TAKE_POINTER(pointer)                        \
	({                                           \
		__typeof__(pointer) *_p = &(pointer); \
		__typeof__(pointer) _v = *_p;        \
		*_p = NULL;                          \
		_v;                                  \
	})

/// The same for a file descriptor.
static inline int take_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

#endif
