// SPDX-License-Identifier: GPL-3.0-or-later
// The document's second half: how the figures were made, on what, what they cannot say, and each of them.
#include "config.h"

#include "tests/bench/overhead/document.h"
#include "tests/bench/overhead/prose.h"

#include <string.h>
#include <time.h>

#ifdef __clang__
#define BENCH_COMPILER __VERSION__
#else
#define BENCH_COMPILER "gcc " __VERSION__
#endif

#define QUIET_LOAD 1.5

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void design_lines(const struct results *results, FILE *out)
{
	static const char *const remarks[DESIGNS] = {
		[DESIGN_ROTATION] =
			"The phone's order, to compare with. It is no balanced one: A is third in three rows of "
			"five.",
		[DESIGN_WILLIAMS] =
			"In each square every mode is once in every position, and follows every other one once. "
			"That balances drift, and what a run leaves to the next one in its row.",
	};

	for (size_t d = 0; d < DESIGNS; d++) {
		char rows[64] = "";

		if (!results->series[PACE_LIMITED][d].done && !results->series[PACE_UNLIMITED][d].done)
			continue;
		for (size_t row = 0; row < designs[d].rows; row++)
			snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), " %s", designs[d].row[row]);
		prose(out, "  - ", "%s:%s. %s", designs[d].title, rows, remarks[d]);
	}
}

static void method(const struct results *results, FILE *out)
{
	const struct work *work = results->work;

	fputs("## Method\n\n", out);
	prose(out, "- ",
	      "**Work.** %s over %zu of %zu recorded pictures of %dx%d px, decoded beforehand and handed over by "
	      "turns, "
	      "one a pass: %u conditions in %u events.",
	      file_name(work->scenario_path), work->n_pictures, work->n_files, work->pictures[0]->width,
	      work->pictures[0]->height, work->scenario->n_conditions, work->scenario->n_events);
	prose(out, "- ",
	      "**A run** is a session of the product's own engine, detection, recorder, writer, store and limiter, in "
	      "a "
	      "process of its own, forked from one that has everything decoded. Its processor time (`getrusage`) is "
	      "that "
	      "of all its threads, the writer's too, from before the session's id is taken until its report is closed "
	      "and synced. Decoding before and reading the report back after are outside.");
	prose(out, "- ", "**Orders.**");
	design_lines(results, out);
	prose(out, "- ",
	      "**A run is valid** when it ended after its last pass, its report is whole (read back by the client's "
	      "code: "
	      "finished, no occurrence lost, buckets add up to checks and the parts of the time to all of it, figures "
	      "as "
	      "in the engine), and the host took away at most %g %%, and a tick, of the machine's processor time "
	      "meanwhile (steal, of `/proc/stat`). An invalid one is listed below and made again before the next one.",
	      100 * results->steal_bound);
	prose(out, "- ",
	      "**Differences** are taken within rows, because the four runs of a row are made one after the other: "
	      "what "
	      "changes slowly is the same in all of them. The interval is that of the sign test, from the k-th "
	      "smallest "
	      "to the k-th largest difference, and needs no assumption on how they are distributed.");
	fputc('\n', out);
}

static const char *text_or(const char *text, const char *otherwise)
{
	return *text ? text : otherwise;
}

static void machine(const struct results *results, FILE *out)
{
	const struct machine *m = &results->machine;
	time_t began = results->began_unix_ns / NSEC_PER_SEC;
	char date[32] = "";
	char allowed[40] = "";
	struct tm utc;

	if (m->allowed < m->processors)
		snprintf(allowed, sizeof(allowed), " (%d for the benchmark)", m->allowed);
	if (gmtime_r(&began, &utc))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &utc);
	fprintf(out, "## Machine\n\n| | |\n|---|---|\n| processor | %s, %d online%s%s |\n| system | %s |\n",
		text_or(m->processor, "not told"), m->processors, allowed, m->is_virtual ? ", a virtual machine" : "",
		m->system);
	fprintf(out, "| clock source | %s |\n| frequency governor | %s |\n| reports on | %s |\n",
		text_or(m->clock_source, "not told"), text_or(m->governor, "not told"),
		text_or(m->file_system, "a file system without a name here"));
	fprintf(out, "| compiler | %s, `%s` |\n| condprof | %s |\n", BENCH_COMPILER, BENCH_CFLAGS, PACKAGE_VERSION);
	fprintf(out, "| begun, took | %s, %.0f s |\n", date, (double)results->took_ns / 1e9);
	fprintf(out, "| load of the last minute, before and after | %.2f, %.2f |\n\n", results->load_before,
		results->load_after);
	if (!(results->load_before > QUIET_LOAD || results->load_after > QUIET_LOAD))
		return;
	prose(out, "",
	      "**The machine was not quiet**: other processes ran beside the benchmark, and the tables say how much. "
	      "That "
	      "widens the ranges and the intervals; differences within rows, and their median, hold against much of "
	      "it.");
	fputc('\n', out);
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
	static const char *const limits[] = {
		"Pictures are in memory already. Capturing a live screen, or decoding a replay, costs the same in all "
		"modes "
		"and would make the percentages smaller.",
		"The share depends on the work: what a report costs goes with checks and occurrences, what a session "
		"costs "
		"goes with pixels. Repeat it with a scenario of yours: `condprof-bench-overhead SCENARIO.yaml`.",
		"Kernel threads that write to the disk later are nobody's processor time here. How long the disk took "
		"is in "
		"the elapsed time, when a report is closed.",
		"Processor time is not energy, and a change of frequency moves both. Where no temperature and no "
		"governor is "
		"told, nobody knows whether the machine slowed down meanwhile; the balanced orders are there for that.",
		"Short runs of few rows resolve no tenth of a percent. Longer ones do better: `--seconds`.",
	};

	fputs("## Limits\n\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		prose(out, "- ", "%s", limits[i]);
	fputc('\n', out);
}

static void all_runs(const struct results *results, FILE *out)
{
	const struct series *series;
	char name[96];

	fputs("## All runs\n\nIn the order they were made: elapsed s / processor time ms.\n", out);
	for (size_t i = 0; (series = series_next(results, &i));) {
		document_series_name(results, series, name, sizeof(name));
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

void document_method(const struct results *results, FILE *out)
{
	method(results, out);
	machine(results, out);
	invalid_runs(results, out);
	limits(out);
	all_runs(results, out);
}
