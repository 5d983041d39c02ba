// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/bench/overhead/figures.h"

#include "tests/bench/bench.h"

#define MOST_VALUES (DESIGN_MOST_ROWS * DESIGN_MODES)

static double known(int64_t value, double unit)
{
	return value == UNKNOWN ? NAN : (double)value / unit;
}

double figure_of(const struct run *run, enum figure figure)
{
	switch (figure) {
	case FIGURE_ELAPSED:
		return (double)run->elapsed_ns / 1e9;
	case FIGURE_CPU:
		return (double)run->cpu_ns / 1e6;
	case FIGURE_CPU_RATE:
		return (double)run->cpu_ns / (double)run->elapsed_ns * 1000;
	case FIGURE_PASSES_CPU:
		return (double)run->passes_cpu_ns / 1e6;
	case FIGURE_AROUND_CPU:
		return (double)(run->cpu_ns - run->passes_cpu_ns) / 1e6;
	case FIGURE_CHECKS:
		return known(run->checks, 1);
	case FIGURE_CONDITIONS:
		return known(run->conditions_ns, 1e6);
	case FIGURE_OCCURRENCES:
		return known(run->occurrences, 1);
	case FIGURE_REPORT:
		return known(run->report_bytes, 1024);
	case FIGURE_MISSED:
		return (double)run->missed;
	case FIGURE_SWITCHES:
		return (double)run->switches;
	case FIGURE_STEAL:
		return 100 * run->steal;
	case FIGURE_OTHERS:
		return 100 * run->others;
	case FIGURE_CELSIUS:
		return run->celsius;
	case FIGURES:
		break;
	}
	return NAN;
}

// The mean of the two middle ones when there is no middle one.
static double median(double *sorted, size_t count)
{
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static struct spread spread_of(double *values, size_t count)
{
	if (!count)
		return (struct spread){NAN, NAN, NAN};
	qsort(values, count, sizeof(*values), bench_compare);
	return (struct spread){median(values, count), values[0], values[count - 1]};
}

// @param mode MODES: all of them
static struct spread spread(const struct series *series, enum mode mode, enum figure figure)
{
	double values[MOST_VALUES];
	size_t count = 0;

	for (size_t row = 0; row < series->design->rows; row++) {
		for (size_t i = 0; i < DESIGN_MODES; i++) {
			const struct run *run = &series->runs[row][i];
			double value = figure_of(run, figure);

			if ((mode == MODES || run->mode == mode) && !isnan(value))
				values[count++] = value;
		}
	}
	return spread_of(values, count);
}

struct spread figure_spread(const struct series *series, enum mode mode, enum figure figure)
{
	return spread(series, mode, figure);
}

struct spread figure_spread_all(const struct series *series, enum figure figure)
{
	return spread(series, MODES, figure);
}

static double in_row(const struct series *series, size_t row, enum mode mode, enum figure figure)
{
	for (size_t i = 0; i < DESIGN_MODES; i++) {
		if (series->runs[row][i].mode == mode)
			return figure_of(&series->runs[row][i], figure);
	}
	return NAN;
}

static double row_difference(const struct series *series, size_t row, enum mode from, enum mode to, enum figure figure)
{
	return 100 * (in_row(series, row, to, figure) / in_row(series, row, from, figure) - 1);
}

struct difference figure_difference(const struct series *series, enum mode from, enum mode to, enum figure figure)
{
	double base = figure_spread(series, from, figure).median, rows[DESIGN_MOST_ROWS];
	struct difference difference = {
		.of_medians = 100 * (figure_spread(series, to, figure).median / base - 1),
	};

	for (size_t row = 0; row < series->design->rows; row++)
		rows[row] = row_difference(series, row, from, to, figure);
	difference.of_rows = spread_of(rows, series->design->rows);
	return difference;
}

// How likely fewer than `k` of `n` values are below their true median: the sum of the first k of 2^-n (n over i).
static double tail(size_t n, size_t k)
{
	double term = pow(0.5, (double)n), sum = 0;

	for (size_t i = 0; i < k; i++) {
		sum += term;
		term = term * (double)(n - i) / (double)(i + 1);
	}
	return sum;
}

// The k-th smallest and the k-th largest enclose the median unless fewer than k values are below it, or above it. That
// holds whatever the values' distribution is.
static struct interval interval_of(double *values, size_t n)
{
	struct spread all = spread_of(values, n);
	size_t k = 1;

	if (!n)
		return (struct interval){0, NAN, NAN, NAN, NAN};
	while (k < n / 2 && 1 - 2 * tail(n, k + 1) >= 0.95)
		k++;
	return (struct interval){n, all.median, values[k - 1], values[n - k], 1 - 2 * tail(n, k)};
}

struct interval figure_interval(const struct results *results, enum pace pace, enum mode from, enum mode to,
				enum figure figure)
{
	double rows[DESIGNS * DESIGN_MOST_ROWS];
	size_t count = 0;

	for (size_t i = 0; i < DESIGNS; i++) {
		const struct series *series = &results->series[pace][i];

		for (size_t row = 0; series->done && row < series->design->rows; row++)
			rows[count++] = row_difference(series, row, from, to, figure);
	}
	return interval_of(rows, count);
}

const struct series *series_next(const struct results *results, size_t *i)
{
	while (*i < PACES * DESIGNS) {
		const struct series *series = &results->series[*i / DESIGNS][*i % DESIGNS];

		++*i;
		if (series->done)
			return series;
	}
	return NULL;
}
