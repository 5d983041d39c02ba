// SPDX-License-Identifier: GPL-3.0-or-later
// What people read of a benchmark: docs/debug-report-performance-benchmark.md. Everything in it that depends on the
// runs is worked out from them, sentences too; nothing is to be edited by hand afterwards.
#include "config.h"

#include "tests/bench/overhead/figures.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define GOAL_PERCENT 3.0

#ifdef __clang__
#define BENCH_COMPILER __VERSION__
#else
#define BENCH_COMPILER "gcc " __VERSION__
#endif

/// The figures of the phone that this work began from: ticks of processor time a second, by the rotation.
static const double phone[MODES] = {92.7, 122.9, 125.6, 92.2};
#define PHONE_TICKS 100.0 // a second

static const struct comparison {
	enum mode from, to;
	const char *what;
	bool headline;
} comparisons[] = {
	{MODE_A, MODE_C, "what a user pays for the report, timing included", true},
	{MODE_A, MODE_B, "the report without timing", false},
	{MODE_B, MODE_C, "timing, beside a report", false},
	{MODE_A, MODE_D, "timing, without a report", false},
};

// --- small things ----------------------------------------------------------------------------------------------------

static void name_of(const struct results *results, const struct series *series, char *out, size_t size)
{
	if (series->pace == PACE_LIMITED)
		snprintf(out, size, "%g/s, %s", results->rate, series->design->title);
	else
		snprintf(out, size, "unlimited, %s", series->design->title);
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

// As it is shown: what rounds to nothing is not below it.
static bool is_negative(double percent)
{
	return percent < -0.005;
}

// A minus sign of its own, so that "-0.2" is not broken at the hyphen.
static const char *percent(double value, char *out, size_t size)
{
	snprintf(out, size, "%s%.2f %%", is_negative(value) ? "−" : "+", fabs(value) < 0.005 ? 0 : fabs(value));
	return out;
}

static void print_spread(FILE *out, struct spread spread, int digits)
{
	if (isnan(spread.median))
		fputs(" – |", out);
	else
		fprintf(out, " %.*f (%.*f to %.*f) |", digits, spread.median, digits, spread.least, digits,
			spread.most);
}

static const char *text_or(const char *text, const char *otherwise)
{
	return *text ? text : otherwise;
}

// --- the result ------------------------------------------------------------------------------------------------------

static const char *goal_met(double value, double noise)
{
	if (value < GOAL_PERCENT)
		return "kept";
	return value <= noise ? "not told by these runs, whose noise is larger" : "**missed**";
}

static void headline_of(const struct results *results, const struct series *series, FILE *out)
{
	double value = figure_difference(series, MODE_A, MODE_C, FIGURE_CPU).of_medians;
	double noise = figure_noise(series, MODE_A, FIGURE_CPU);
	char text[32];

	if (series->pace == PACE_LIMITED)
		fprintf(out, "- **A session of %g passes a second: %s processor time**", results->rate,
			percent(value, text, sizeof(text)));
	else
		fprintf(out, "- **A session without a limiter: %s**", percent(value, text, sizeof(text)));
	fprintf(out, ", medians of %zu runs each%s. The goal, under %g %%: %s.\n", series->design->rows,
		is_negative(value) ? "; negative, so it is noise" : "", GOAL_PERCENT, goal_met(value, noise));
}

static void headline(const struct results *results, FILE *out)
{
	fputs("# What a debug report costs\n\n"
	      "What a session needs more with its debug report than without it, both as users get them (A→C "
	      "below):\n\n",
	      out);
	for (int pace = 0; pace < PACES; pace++) {
		const struct series *series = best_series(results, (enum pace)pace);

		if (series)
			headline_of(results, series, out);
	}
	fputs("\nThis document is made by `make bench-overhead` from the figures of its runs; nothing in it is written "
	      "by "
	      "hand.\n`condprof-bench-overhead` makes one for any machine.\n\n",
	      out);
}

static void result_cell(const struct series *series, const struct comparison *comparison, enum figure figure, FILE *out)
{
	struct difference d = figure_difference(series, comparison->from, comparison->to, figure);
	char value[32], least[32], most[32];
	const char *mark = comparison->headline ? "**" : "";

	fprintf(out, " %s%s%s%s<br>rows %s to %s |", mark, percent(d.of_medians, value, sizeof(value)), mark,
		is_negative(d.of_medians) ? " (noise)" : "", percent(d.of_rows.least, least, sizeof(least)),
		percent(d.of_rows.most, most, sizeof(most)));
}

static void result_rows(const struct results *results, const struct comparison *comparison, enum figure figure,
			const char *what, FILE *out)
{
	const struct series *series;
	size_t i = 0;

	fprintf(out, "| %c→%c | %s |", mode_letters[comparison->from], mode_letters[comparison->to], what);
	while ((series = series_next(results, &i)))
		result_cell(series, comparison, figure, out);
	fputc('\n', out);
}

static void result(const struct results *results, FILE *out)
{
	const struct series *series;
	size_t i = 0;
	char name[96];

	fputs("## Result\n\n"
	      "Processor time of the whole process, from before the session was begun until its report was closed.\n"
	      "Difference of the medians; under it the smallest and the largest difference within a row of four "
	      "runs.\n\n"
	      "| | |",
	      out);
	while ((series = series_next(results, &i))) {
		name_of(results, series, name, sizeof(name));
		fprintf(out, " %s |", name);
	}
	fputs("\n|---|---|", out);
	for (i = 0; series_next(results, &i);)
		fputs("---|", out);
	fputc('\n', out);
	for (size_t c = 0; c < ARRAY_SIZE(comparisons); c++) {
		result_rows(results, &comparisons[c], FIGURE_CPU, comparisons[c].what, out);
		if (comparisons[c].headline)
			result_rows(results, &(struct comparison){comparisons[c].from, comparisons[c].to, NULL, false},
				    FIGURE_PASSES_CPU, "the same while passes ran, without opening and closing", out);
	}
	fputs("\nA: report off, timing off (`--no-report`). B: report on, timing off. C: both on (what users get). D: "
	      "report "
	      "off,\ntiming on. The product has A and C only; the benchmark sets the two switches itself.\n\n",
	      out);
}

// --- what it means ---------------------------------------------------------------------------------------------------

// What a comparison says, in words that fit its sign and its spread.
static void judge(const struct series *series, const struct comparison *comparison, FILE *out)
{
	struct difference d = figure_difference(series, comparison->from, comparison->to, FIGURE_CPU);
	double noise = figure_noise(series, comparison->from, FIGURE_CPU);
	char from = mode_letters[comparison->from];

	if (is_negative(d.of_medians))
		fprintf(out,
			"a negative difference is noise: nothing is saved by doing more; %c's own runs differ by ±%.1f "
			"%%",
			from, noise);
	else if (d.of_rows.least > 0)
		fputs("every row says the same, so it is there", out);
	else if (d.of_medians <= noise)
		fprintf(out,
			"cannot be told from noise: %c's own runs differ by ±%.1f %%, and rows contradict each other",
			from, noise);
	else
		fprintf(out, "more than %c's own runs differ by (±%.1f %%), but not every row says so", from, noise);
}

static void judge_all(const struct results *results, FILE *out)
{
	char value[32];

	for (size_t c = 0; c < ARRAY_SIZE(comparisons); c++) {
		const struct comparison *comparison = &comparisons[c];

		fprintf(out, "- **%c→%c**, %s.\n", mode_letters[comparison->from], mode_letters[comparison->to],
			comparison->what);
		for (int pace = 0; pace < PACES; pace++) {
			const struct series *series = best_series(results, (enum pace)pace);
			char name[96];

			if (!series)
				continue;
			name_of(results, series, name, sizeof(name));
			fprintf(out, "  - %s: %s; ", name,
				percent(figure_difference(series, comparison->from, comparison->to, FIGURE_CPU)
						.of_medians,
					value, sizeof(value)));
			judge(series, comparison, out);
			fputs(".\n", out);
		}
	}
}

// What the runs should show, by the cost of one check.
static void expected(const struct results *results, FILE *out)
{
	fprintf(out,
		"- **What timing should cost.** By itself, measuring a check takes %.0f ns here, %.0f ns of it for two "
		"reads of\n  the clock.",
		results->check_ns, results->pair_ns);
	for (int pace = 0; pace < PACES; pace++) {
		const struct series *series = best_series(results, (enum pace)pace);
		double checks, cpu;

		if (!series)
			continue;
		checks = figure_spread(series, MODE_C, FIGURE_CHECKS).median;
		cpu = figure_spread(series, MODE_A, FIGURE_CPU).median;
		fprintf(out, " The %.0f checks of a run%s make %.3f ms of A's %.0f ms: %.3f %%.", checks,
			pace == PACE_LIMITED ? "" : " without a limiter", checks * results->check_ns / 1e6, cpu,
			checks * results->check_ns / 1e6 / cpu * 100);
	}
	fputs("\n  So B→C and A→D ought to be lost in noise whenever checks are searches of pictures; a scenario of "
	      "ten\n"
	      "  thousand counter conditions and nothing else would show it (`make bench BENCH=bench_engine`).\n",
	      out);
}

static void fixed_cost(const struct results *results, FILE *out)
{
	const struct series *series = best_series(results, PACE_LIMITED);
	double a, c;

	if (!series)
		series = best_series(results, PACE_UNLIMITED);
	a = figure_spread(series, MODE_A, FIGURE_AROUND_CPU).median;
	c = figure_spread(series, MODE_C, FIGURE_AROUND_CPU).median;
	fprintf(out,
		"- **Once a session.** Opening a session and closing it took %.1f ms of processor time in A and %.1f "
		"ms in C:\n"
		"  a folder, a reserve, the first and the last aggregates, and what the kernel does to put them on the "
		"disk.\n"
		"  The runs here are short, so this weighs more in them than in a session of an hour.\n",
		a, c);
}

static void interpretation(const struct results *results, FILE *out)
{
	fputs("## What it means\n\n", out);
	judge_all(results, out);
	expected(results, out);
	fixed_cost(results, out);
	if (best_series(results, PACE_UNLIMITED))
		fputs("- **Without a limiter** a run is busy all the time, so processor time *a second* is the same in "
		      "all "
		      "modes; what a\n  report costs is then in the processor time and in the elapsed time of the same "
		      "passes.\n",
		      out);
	fputc('\n', out);
}

// --- tables ----------------------------------------------------------------------------------------------------------

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
	fputs("\n| mode | checks | condition time, ms | occurrences | report, KiB | missed passes | processor taken "
	      "away |\n"
	      "|---|---|---|---|---|---|---|\n",
	      out);
	for (int mode = 0; mode < MODES; mode++) {
		fprintf(out, "| %c |", mode_letters[mode]);
		print_spread(out, figure_spread(series, (enum mode)mode, FIGURE_CHECKS), 0);
		print_spread(out, figure_spread(series, (enum mode)mode, FIGURE_CONDITIONS), 1);
		print_spread(out, figure_spread(series, (enum mode)mode, FIGURE_OCCURRENCES), 0);
		print_spread(out, figure_spread(series, (enum mode)mode, FIGURE_REPORT), 1);
		print_spread(out, figure_spread(series, (enum mode)mode, FIGURE_MISSED), 0);
		print_spread(out, figure_spread(series, (enum mode)mode, FIGURE_SWITCHES), 0);
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
	size_t i = 0;
	char name[96];

	fputs("## Figures\n\nMedian (smallest to largest). Without timing nobody counts checks or measures conditions: "
	      "–.\n",
	      out);
	while ((series = series_next(results, &i))) {
		name_of(results, series, name, sizeof(name));
		fprintf(out, "\n### %s: %zu runs of %" PRId64 " passes\n\n", name, series->design->rows * DESIGN_MODES,
			series->passes);
		main_table(series, out);
		work_table(series, out);
		machine_table(series, out);
	}
	fputc('\n', out);
}

// --- beside the phone ------------------------------------------------------------------------------------------------

static double phone_difference(enum mode from, enum mode to)
{
	return 100 * (phone[to] / phone[from] - 1);
}

static void beside_the_phone(const struct results *results, FILE *out)
{
	const struct series *series = &results->series[PACE_LIMITED][DESIGN_ROTATION];
	char ours[32], theirs[32];

	if (!series->done)
		return;
	fputs("## Beside the phone\n\n"
	      "The Android app that this work comes from was measured in the same rotation on a phone. Processor time "
	      "a\n"
	      "second, in ticks of 10 ms, medians; the differences are of processor time a second too.\n\n"
	      "| | A | B | C | D | A→C | A→B | B→C | A→D |\n|---|---|---|---|---|---|---|---|---|\n| phone |",
	      out);
	for (int mode = 0; mode < MODES; mode++)
		fprintf(out, " %.1f |", phone[mode]);
	for (size_t i = 0; i < ARRAY_SIZE(comparisons); i++)
		fprintf(out, " %s |",
			percent(phone_difference(comparisons[i].from, comparisons[i].to), theirs, sizeof(theirs)));
	fputs("\n| here |", out);
	for (int mode = 0; mode < MODES; mode++)
		fprintf(out, " %.2f |",
			figure_spread(series, (enum mode)mode, FIGURE_CPU_RATE).median / 1000 * PHONE_TICKS);
	for (size_t i = 0; i < ARRAY_SIZE(comparisons); i++) {
		struct difference d =
			figure_difference(series, comparisons[i].from, comparisons[i].to, FIGURE_CPU_RATE);

		fprintf(out, " %s |", percent(d.of_medians, ours, sizeof(ours)));
	}
	fputs("\n\nThere the report itself cost a third (A→B), and timing a little beside it (B→C); alone, timing "
	      "could not "
	      "be\nseen (A→D). Absolute figures do not compare: another machine, another matcher, other pictures.\n\n",
	      out);
}

// --- how it was made -------------------------------------------------------------------------------------------------

static void design_lines(const struct results *results, FILE *out)
{
	for (size_t d = 0; d < DESIGNS; d++) {
		if (!results->series[PACE_LIMITED][d].done && !results->series[PACE_UNLIMITED][d].done)
			continue;
		fprintf(out, "  - %s:", designs[d].title);
		for (size_t row = 0; row < designs[d].rows; row++)
			fprintf(out, " %s", designs[d].row[row]);
		fputs(d == DESIGN_ROTATION
			      ? ". The phone's order. It is no balanced one: A stands third in three rows of five.\n"
			      : ". In each square every mode stands once in every position and follows every other "
				"one\n"
				"    once, which balances drift and what a run leaves to the next one within a row.\n",
		      out);
	}
}

static void method(const struct results *results, FILE *out)
{
	const struct work *work = results->work;

	fprintf(out,
		"## Method\n\n"
		"- **Work.** %s over %zu of %zu recorded pictures of %dx%d px, decoded beforehand and handed over by "
		"turns, one\n"
		"  a pass: %u conditions in %u events. Nothing in it waits or depends on a clock, so every run does "
		"the same.\n",
		strrchr(work->scenario_path, '/') ? strrchr(work->scenario_path, '/') + 1 : work->scenario_path,
		work->n_pictures, work->n_files, work->pictures[0]->width, work->pictures[0]->height,
		work->scenario->n_conditions, work->scenario->n_events);
	fputs("- **A run** is a session of the product's own engine, detection, writer, store and limiter, in a "
	      "process of "
	      "its\n  own, forked from one that has everything decoded. Its processor time (`getrusage`) is that of "
	      "all its\n"
	      "  threads, the writer's too, from before the session's id is taken until its report is closed and "
	      "synced.\n"
	      "  Loading before and reading the report back after are outside.\n"
	      "- **Orders.**\n",
	      out);
	design_lines(results, out);
	fprintf(out,
		"- **A run is valid** when it ended after its last pass, its report is whole (read back by the "
		"client's code:\n"
		"  finished, no occurrence lost, buckets add up to checks, the parts of its time to the whole, the "
		"figures are\n"
		"  the engine's), and the host took away at most %g %% (and a tick) of the machine's processor time "
		"meanwhile "
		"(steal, of\n"
		"  `/proc/stat`). An invalid one is listed below and made again at once.\n"
		"- **Differences** are of medians. Rows are compared one by one as well: a row is one run of each "
		"mode, one "
		"after\n  the other, so that slow drift is out of its differences.\n\n",
		100 * results->steal_bound);
}

static void machine(const struct results *results, FILE *out)
{
	const struct machine *m = &results->machine;
	time_t began = results->began_unix_ns / NSEC_PER_SEC;
	char date[32] = "";
	struct tm utc;

	if (gmtime_r(&began, &utc))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &utc);
	fprintf(out, "## Machine\n\n| | |\n|---|---|\n| processor | %s, %d online%s |\n| system | %s |\n",
		text_or(m->processor, "not told"), m->processors, m->is_virtual ? ", a virtual machine" : "",
		m->system);
	fprintf(out, "| clock source | %s |\n| frequency governor | %s |\n| reports on | %s |\n",
		text_or(m->clock_source, "not told"), text_or(m->governor, "not told"),
		text_or(m->file_system, "a file system without a name here"));
	fprintf(out, "| compiler | %s, `%s` |\n| condprof | %s |\n", BENCH_COMPILER, BENCH_CFLAGS, PACKAGE_VERSION);
	fprintf(out, "| begun, took | %s, %.0f s |\n", date, (double)results->took_ns / 1e9);
	fprintf(out, "| load of the last minute, before and after | %.2f, %.2f |\n\n", results->load_before,
		results->load_after);
	if (results->load_before > 1.5)
		fprintf(out, "**The machine was not quiet**: other processes ran beside the benchmark (the tables say "
			     "how much). Medians\n"
			     "and rows hold against much of that, ranges do not: expect wider ones than on an idle "
			     "machine.\n\n");
}

static void invalid_runs(const struct results *results, FILE *out)
{
	fputs("## Invalid runs\n\n", out);
	if (!results->n_invalid) {
		fputs("None.\n\n", out);
		return;
	}
	fputs("| pace | order | row | position | mode | why |\n|---|---|---|---|---|---|\n", out);
	for (size_t i = 0; i < results->n_invalid; i++) {
		const struct invalid *invalid = &results->invalid[i];

		fprintf(out, "| %s | %s | %zu | %zu | %c | %s |\n",
			invalid->pace == PACE_LIMITED ? "limited" : "unlimited", invalid->design->title,
			invalid->row + 1, invalid->position + 1, mode_letters[invalid->run.mode], invalid->run.problem);
	}
	fputc('\n', out);
}

static void limits(FILE *out)
{
	fputs("## Limits\n\n"
	      "- Pictures are in memory already. Capturing a live screen or decoding a replay costs the same in all "
	      "modes "
	      "and\n  would make the percentages smaller.\n"
	      "- The share depends on the work: what a report costs goes with checks and occurrences, what a session "
	      "costs "
	      "goes\n  with pixels. Repeat it with your own scenario: `condprof-bench-overhead SCENARIO.yaml`.\n"
	      "- Kernel threads that write to the disk later are nobody's processor time here. The disk's own time "
	      "shows in\n"
	      "  elapsed time, when a report is closed.\n"
	      "- Processor time is not energy, and frequency changes move both. Where no temperature or governor is "
	      "told, "
	      "nobody\n  knows whether the machine slowed down meanwhile; the balanced orders are there for that.\n"
	      "- Ranges are of few runs. A median of eight does not resolve a tenth of a percent.\n\n",
	      out);
}

static void all_runs(const struct results *results, FILE *out)
{
	const struct series *series;
	size_t i = 0;
	char name[96];

	fputs("## All runs\n\nIn the order they were made. Elapsed s / processor time ms.\n", out);
	while ((series = series_next(results, &i))) {
		name_of(results, series, name, sizeof(name));
		fprintf(out, "\n| %s | 1st | 2nd | 3rd | 4th |\n|---|---|---|---|---|\n", name);
		for (size_t row = 0; row < series->design->rows; row++) {
			fprintf(out, "| row %zu |", row + 1);
			for (size_t p = 0; p < DESIGN_MODES; p++) {
				const struct run *run = &series->runs[row][p];

				fprintf(out, " %c %.3f / %.1f |", mode_letters[run->mode],
					figure_of(run, FIGURE_ELAPSED), figure_of(run, FIGURE_CPU));
			}
			fputc('\n', out);
		}
	}
}

int document_write(const struct results *results, FILE *out)
{
	headline(results, out);
	result(results, out);
	interpretation(results, out);
	tables(results, out);
	beside_the_phone(results, out);
	method(results, out);
	machine(results, out);
	invalid_runs(results, out);
	limits(out);
	all_runs(results, out);
	return ferror(out) ? -EIO : 0;
}
