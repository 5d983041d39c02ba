// SPDX-License-Identifier: GPL-3.0-or-later
// What people read of a benchmark: docs/debug-report-performance-benchmark.md. Everything in it that depends on the
// runs is worked out from them, sentences too; nothing is to be edited by hand afterwards. This file has the results,
// method.c how they were made.
#include "config.h"

#include "tests/bench/overhead/document.h"

#include "tests/bench/overhead/prose.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#define GOAL_PERCENT 3.0

/// The figures of the phone that this work began from: ticks of processor time a second, by the rotation.
static const double phone[MODES] = {92.7, 122.9, 125.6, 92.2};
#define PHONE_TICKS 100.0 // a second

static const struct comparison {
	enum mode from, to;
	enum figure figure;
	const char *what;
} comparisons[] = {
	{MODE_A, MODE_C, FIGURE_CPU, "what a user pays for the report, timing included"},
	{MODE_A, MODE_C, FIGURE_PASSES_CPU, "the same while passes ran, without opening and closing"},
	{MODE_A, MODE_B, FIGURE_CPU, "the report without timing"},
	{MODE_B, MODE_C, FIGURE_CPU, "timing, beside a report"},
	{MODE_A, MODE_D, FIGURE_CPU, "timing, without a report"},
};

void document_series_name(const struct results *results, const struct series *series, char *out, size_t size)
{
	if (series->pace == PACE_LIMITED)
		snprintf(out, size, "%g/s, %s", results->rate, series->design->title);
	else
		snprintf(out, size, "unlimited, %s", series->design->title);
}

static bool pace_ran(const struct results *results, enum pace pace)
{
	return results->series[pace][DESIGN_ROTATION].done || results->series[pace][DESIGN_WILLIAMS].done;
}

static struct interval interval(const struct results *results, enum pace pace, const struct comparison *comparison)
{
	return figure_interval(results, pace, comparison->from, comparison->to, comparison->figure);
}

// The design that balances, where it was run.
static const struct series *best_series(const struct results *results, enum pace pace)
{
	for (int i = DESIGNS - 1; i >= 0; i--) {
		if (results->series[pace][i].done)
			return &results->series[pace][i];
	}
	return NULL;
}

// --- the result ------------------------------------------------------------------------------------------------------

static const char *goal_met(const struct interval *cost)
{
	if (cost->high < GOAL_PERCENT)
		return "kept";
	if (cost->low > GOAL_PERCENT)
		return "**missed**";
	return cost->median < GOAL_PERCENT ? "kept by the median, not by all of the interval"
					   : "missed by the median, not by all of the interval";
}

static void headline_of(const struct results *results, enum pace pace, FILE *out)
{
	struct interval cost = interval(results, pace, &comparisons[0]);
	char median[PERCENT_SIZE], low[PERCENT_SIZE], high[PERCENT_SIZE], what[64] = "without a limiter";

	if (pace == PACE_LIMITED)
		snprintf(what, sizeof(what), "at %g passes a second", results->rate);
	prose(out, "- ",
	      "**%s %s:** %s processor time%s (median of %zu rows of runs; %.1f %% interval: %s to %s). The goal, "
	      "under %g %%: %s.",
	      "A session", what, prose_percent(cost.median, median),
	      prose_is_negative(cost.median) ? ", which is noise" : "", cost.rows, 100 * cost.coverage,
	      prose_percent(cost.low, low), prose_percent(cost.high, high), GOAL_PERCENT, goal_met(&cost));
}

static void headline(const struct results *results, FILE *out)
{
	fputs("# What a debug report costs\n\n", out);
	prose(out, "", "What a session needs more with its debug report than without it, both as users get them:");
	fputc('\n', out);
	for (int pace = 0; pace < PACES; pace++) {
		if (pace_ran(results, (enum pace)pace))
			headline_of(results, (enum pace)pace, out);
	}
	fputc('\n', out);
	prose(out, "",
	      "This document is made by `make bench-overhead` from the figures of its runs; nothing in it is written "
	      "by "
	      "hand. `condprof-bench-overhead` makes one for any machine.");
	fputc('\n', out);
}

static void result_line(const struct results *results, const struct comparison *comparison, FILE *out)
{
	char median[PERCENT_SIZE], low[PERCENT_SIZE], high[PERCENT_SIZE];

	fprintf(out, "| %c→%c | %s |", mode_letters[comparison->from], mode_letters[comparison->to], comparison->what);
	for (int pace = 0; pace < PACES; pace++) {
		struct interval cost = interval(results, (enum pace)pace, comparison);

		if (pace_ran(results, (enum pace)pace))
			fprintf(out, " **%s**%s, %s to %s |", prose_percent(cost.median, median),
				prose_is_negative(cost.median) ? " (noise)" : "", prose_percent(cost.low, low),
				prose_percent(cost.high, high));
	}
	fputc('\n', out);
}

static void result(const struct results *results, FILE *out)
{
	fputs("## Result\n\n", out);
	prose(out, "",
	      "Modes: A report off, timing off (`--no-report`); B report on, timing off; C both on, what users get; D "
	      "report off, timing on. The product has A and C only; the benchmark sets the two switches itself.");
	fputc('\n', out);
	prose(out, "",
	      "Processor time of the whole process, from before a session was begun until its report was closed. Four "
	      "runs, one of each mode, make a row; compared are the runs of a row, and told is the median of all rows "
	      "of both orders, and the interval that has the true median in it in 95 of 100 benchmarks or more.");
	fputs("\n| | |", out);
	if (pace_ran(results, PACE_LIMITED))
		fprintf(out, " %g/s |", results->rate);
	fprintf(out, "%s\n|---|---|%s%s\n", pace_ran(results, PACE_UNLIMITED) ? " unlimited |" : "",
		pace_ran(results, PACE_LIMITED) ? "---|" : "", pace_ran(results, PACE_UNLIMITED) ? "---|" : "");
	for (size_t i = 0; i < ARRAY_SIZE(comparisons); i++)
		result_line(results, &comparisons[i], out);
	fputc('\n', out);
}

// --- each order by itself --------------------------------------------------------------------------------------------

static void order_cell(const struct series *series, const struct comparison *comparison, FILE *out)
{
	struct difference d = figure_difference(series, comparison->from, comparison->to, comparison->figure);
	char value[PERCENT_SIZE], least[PERCENT_SIZE], most[PERCENT_SIZE];

	fprintf(out, " **%s**%s, rows %s to %s |", prose_percent(d.of_medians, value),
		prose_is_negative(d.of_medians) ? " (noise)" : "", prose_percent(d.of_rows.least, least),
		prose_percent(d.of_rows.most, most));
}

static void by_order(const struct results *results, FILE *out)
{
	const struct series *series;
	char name[96];

	fputs("Difference of a mode's medians, each order by itself, and the range of the rows' differences:\n\n| | |",
	      out);
	for (size_t i = 0; (series = series_next(results, &i));) {
		document_series_name(results, series, name, sizeof(name));
		fprintf(out, " %s |", name);
	}
	fputs("\n|---|---|", out);
	for (size_t i = 0; series_next(results, &i);)
		fputs("---|", out);
	fputc('\n', out);
	for (size_t c = 0; c < ARRAY_SIZE(comparisons); c++) {
		fprintf(out, "| %c→%c | %s |", mode_letters[comparisons[c].from], mode_letters[comparisons[c].to],
			comparisons[c].what);
		for (size_t i = 0; (series = series_next(results, &i));)
			order_cell(series, &comparisons[c], out);
		fputc('\n', out);
	}
	fputc('\n', out);
}

// --- what it means ---------------------------------------------------------------------------------------------------

// What a comparison says, in words that fit its sign and its spread.
static const char *judgement(const struct interval *cost)
{
	if (prose_is_negative(cost->median))
		return "negative, and nothing is saved by doing more: noise, of at least that size";
	if (cost->low > 0)
		return "and all of its interval is above 0: it is there";
	return "but 0 is in its interval: it cannot be told from noise";
}

static void judge_all(const struct results *results, FILE *out)
{
	for (size_t c = 0; c < ARRAY_SIZE(comparisons); c++) {
		const struct comparison *comparison = &comparisons[c];

		prose(out, "- ", "**%c→%c**, %s.", mode_letters[comparison->from], mode_letters[comparison->to],
		      comparison->what);
		for (int pace = 0; pace < PACES; pace++) {
			struct interval cost = interval(results, (enum pace)pace, comparison);
			char median[PERCENT_SIZE];

			if (pace_ran(results, (enum pace)pace))
				prose(out, "  - ", "%s: %s, %s.", pace == PACE_LIMITED ? "Limited" : "Unlimited",
				      prose_percent(cost.median, median), judgement(&cost));
		}
	}
}

// What the runs should show, by the cost of one check.
static void expected(const struct results *results, FILE *out)
{
	prose(out, "- ",
	      "**What timing should cost.** By itself, measuring a check takes %.0f ns here, %.0f ns of it for two "
	      "reads "
	      "of the clock.",
	      results->check_ns, results->pair_ns);
	for (int pace = 0; pace < PACES; pace++) {
		const struct series *series = best_series(results, (enum pace)pace);
		double checks, cpu;

		if (!series)
			continue;
		checks = figure_spread(series, MODE_C, FIGURE_CHECKS).median;
		cpu = figure_spread(series, MODE_A, FIGURE_CPU).median;
		prose(out, "  - ", "%s: %.0f checks a run make %.3f ms, of A's %.0f ms %.3f %%.",
		      pace == PACE_LIMITED ? "Limited" : "Unlimited", checks, checks * results->check_ns / 1e6, cpu,
		      checks * results->check_ns / 1e4 / cpu);
	}
	prose(out, "  - ",
	      "So B→C and A→D ought to be lost in noise whenever checks are searches of pictures. A scenario of ten "
	      "thousand counter conditions and nothing else would show it: `make bench BENCH=bench_engine`.");
}

static void fixed_cost(const struct results *results, FILE *out)
{
	const struct series *series =
		best_series(results, pace_ran(results, PACE_LIMITED) ? PACE_LIMITED : PACE_UNLIMITED);
	double a = figure_spread(series, MODE_A, FIGURE_AROUND_CPU).median;
	double c = figure_spread(series, MODE_C, FIGURE_AROUND_CPU).median;

	prose(out, "- ",
	      "**Once a session.** Opening a session and closing it took %.1f ms of processor time in A and %.1f ms in "
	      "C: "
	      "a folder, a reserve, the first and the last aggregates, and the kernel's part in putting them on the "
	      "disk. These runs are short, so that it weighs more in them than in a session of an hour.",
	      a, c);
}

static void meaning(const struct results *results, FILE *out)
{
	fputs("## What it means\n\n", out);
	judge_all(results, out);
	expected(results, out);
	fixed_cost(results, out);
	if (pace_ran(results, PACE_UNLIMITED))
		prose(out, "- ",
		      "**Without a limiter** a run computes all the time, so that its processor time *a second* is the "
		      "same "
		      "in all modes. What a report costs is then in the processor time, and in the elapsed time, of "
		      "the "
		      "same passes.");
	fputc('\n', out);
}

// --- tables ----------------------------------------------------------------------------------------------------------

static void print_spread(FILE *out, struct spread spread, int digits)
{
	if (isnan(spread.median))
		fputs(" – |", out);
	else
		fprintf(out, " %.*f (%.*f to %.*f) |", digits, spread.median, digits, spread.least, digits,
			spread.most);
}

static void main_table(const struct series *series, FILE *out)
{
	fputs("| mode | elapsed, s | processor time, ms | processor time a second, ms |\n|---|---|---|---|\n", out);
	for (int mode = 0; mode < MODES; mode++) {
		fprintf(out, "| %c: %s |", mode_letters[mode], mode_names[mode]);
		print_spread(out, figure_spread(series, (enum mode)mode, FIGURE_ELAPSED), 3);
		print_spread(out, figure_spread(series, (enum mode)mode, FIGURE_CPU), 1);
		print_spread(out, figure_spread(series, (enum mode)mode, FIGURE_CPU_RATE), 2);
		fputc('\n', out);
	}
}

static void work_table(const struct series *series, FILE *out)
{
	static const struct {
		enum figure figure;
		int digits;
	} columns[] = {
		{FIGURE_CHECKS, 0}, {FIGURE_CONDITIONS, 1}, {FIGURE_OCCURRENCES, 0},
		{FIGURE_REPORT, 1}, {FIGURE_MISSED, 0},     {FIGURE_SWITCHES, 0},
	};

	fputs("\n| mode | checks | condition time, ms | occurrences | report, KiB | missed passes | preempted |\n"
	      "|---|---|---|---|---|---|---|\n",
	      out);
	for (int mode = 0; mode < MODES; mode++) {
		fprintf(out, "| %c |", mode_letters[mode]);
		for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
			print_spread(out, figure_spread(series, (enum mode)mode, columns[i].figure), columns[i].digits);
		fputc('\n', out);
	}
}

static void machine_table(const struct series *series, FILE *out)
{
	fputs("\n| all modes | steal, % of the machine | other processes, % of the machine | temperature, °C |\n"
	      "|---|---|---|---|\n| |",
	      out);
	print_spread(out, figure_spread_all(series, FIGURE_STEAL), 2);
	print_spread(out, figure_spread_all(series, FIGURE_OTHERS), 1);
	print_spread(out, figure_spread_all(series, FIGURE_CELSIUS), 1);
	fputc('\n', out);
}

static void tables(const struct results *results, FILE *out)
{
	const struct series *series;
	char name[96];

	fputs("## Figures\n\n", out);
	prose(out, "",
	      "Median (smallest to largest). What nobody knows is –: without timing nobody counts checks or measures "
	      "conditions, and not every machine tells its temperature. Condition time is elapsed time, the rest of "
	      "the "
	      "machine's doings included.");
	for (size_t i = 0; (series = series_next(results, &i));) {
		document_series_name(results, series, name, sizeof(name));
		fprintf(out, "\n### %s: %zu runs of %" PRId64 " passes\n\n", name, series->design->rows * DESIGN_MODES,
			series->passes);
		main_table(series, out);
		work_table(series, out);
		machine_table(series, out);
	}
	fputc('\n', out);
	by_order(results, out);
}

// --- beside the phone ------------------------------------------------------------------------------------------------

static void phone_line(const char *name, const double *ticks, FILE *out)
{
	static const enum mode pairs[][2] = {{MODE_A, MODE_C}, {MODE_A, MODE_B}, {MODE_B, MODE_C}, {MODE_A, MODE_D}};
	char value[PERCENT_SIZE];

	fprintf(out, "| %s |", name);
	for (int mode = 0; mode < MODES; mode++)
		fprintf(out, " %.*f |", ticks == phone ? 1 : 3, ticks[mode]);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		fprintf(out, " %s |", prose_percent(100 * (ticks[pairs[i][1]] / ticks[pairs[i][0]] - 1), value));
	fputc('\n', out);
}

static void beside_the_phone(const struct results *results, FILE *out)
{
	const struct series *series = &results->series[PACE_LIMITED][DESIGN_ROTATION];
	double ticks[MODES];

	if (!series->done)
		return;
	for (int mode = 0; mode < MODES; mode++)
		ticks[mode] = figure_spread(series, (enum mode)mode, FIGURE_CPU_RATE).median / 1000 * PHONE_TICKS;
	fputs("## Beside the phone\n\n", out);
	prose(out, "",
	      "The Android app that this work comes from was measured in the same rotation on a phone. Ticks of 10 ms "
	      "of "
	      "processor time a second, medians, and their differences:");
	fputs("\n| | A | B | C | D | A→C | A→B | B→C | A→D |\n|---|---|---|---|---|---|---|---|---|\n", out);
	phone_line("phone", phone, out);
	phone_line("here", ticks, out);
	fputc('\n', out);
	prose(out, "",
	      "There the report itself cost a third (A→B), and timing a little beside it (B→C); alone, timing could "
	      "not "
	      "be seen (A→D). Absolute figures do not compare: another machine, another matcher, other pictures.");
	fputc('\n', out);
}

int document_write(const struct results *results, FILE *out)
{
	headline(results, out);
	result(results, out);
	meaning(results, out);
	beside_the_phone(results, out);
	tables(results, out);
	document_method(results, out);
	return ferror(out) ? -EIO : 0;
}
