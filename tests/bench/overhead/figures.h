// SPDX-License-Identifier: GPL-3.0-or-later
/// Order statistics over the runs of a series, and what two modes differ by.
#ifndef CONDPROF_BENCH_OVERHEAD_FIGURES_H
#define CONDPROF_BENCH_OVERHEAD_FIGURES_H

#include "tests/bench/overhead/overhead.h"

enum figure {
	FIGURE_ELAPSED,    ///< s
	FIGURE_CPU,        ///< ms
	FIGURE_CPU_RATE,   ///< ms of processor time a second
	FIGURE_PASSES_CPU, ///< ms, while passes ran
	FIGURE_AROUND_CPU, ///< ms, opening and closing the session and its report
	FIGURE_CHECKS,
	FIGURE_CONDITIONS, ///< ms
	FIGURE_OCCURRENCES,
	FIGURE_REPORT, ///< KiB
	FIGURE_MISSED,
	FIGURE_SWITCHES,
	FIGURE_STEAL,  ///< percent
	FIGURE_OTHERS, ///< percent
	FIGURE_CELSIUS,
	FIGURES,
};

/// The series that were run, in order; *i is 0 for the first one. NULL: no more
const struct series *series_next(const struct results *results, size_t *i);

/// NAN: not known
double figure_of(const struct run *run, enum figure figure);

struct spread {
	double median, least, most; ///< NAN: nothing known
};

struct spread figure_spread(const struct series *series, enum mode mode, enum figure figure);
/// Over all modes.
struct spread figure_spread_all(const struct series *series, enum figure figure);

/// By how much `to` is above `from`, percent.
struct difference {
	double of_medians;
	struct spread of_rows; ///< the two runs of each row compared
};

struct difference figure_difference(const struct series *series, enum mode from, enum mode to, enum figure figure);

/// The differences within rows, of all orders that were run at a pace, together.
struct interval {
	size_t rows;
	double median, low, high; ///< percent
	double coverage;          ///< how likely the true median is in [low, high]; at least 95 % when there are 6 rows
};

struct interval figure_interval(const struct results *results, enum pace pace, enum mode from, enum mode to,
				enum figure figure);

#endif
