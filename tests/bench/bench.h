// SPDX-License-Identifier: GPL-3.0-or-later
/// What benches share: a clock, order statistics, one way to print a figure. A bench prints; it never judges, and its
/// exit status says only whether it ran. BENCH_SECONDS (default 2) is how long a bench that runs by the clock may take
/// a row.
#ifndef CONDPROF_BENCH_H
#define CONDPROF_BENCH_H

#include "proto/base.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static inline int64_t bench_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/// What this thread has computed so far: the figure for costs, because what else runs on the machine stays out of it.
static inline int64_t bench_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static inline double bench_seconds(void)
{
	const char *text = getenv("BENCH_SECONDS");
	double seconds = text ? strtod(text, NULL) : 2;

	return seconds > 0 ? seconds : 2;
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/// Sorts. @param share 0.5: the median; 1: the largest
static inline double bench_percentile(double *values, size_t count, double share)
{
	size_t rank = (size_t)ceil(share * (double)count);

	qsort(values, count, sizeof(*values), bench_compare);
	return values[rank ? rank - 1 : 0];
}

static inline void bench_title(const char *title)
{
	printf("\n%s\n", title);
}

static inline void bench_print(const char *what, double value, const char *unit)
{
	printf("  %-56s %14.6g %s\n", what, value, unit);
	fflush(stdout);
}

#endif
