// SPDX-License-Identifier: GPL-3.0-or-later
// A line a run, for those who want to work out something else. What is not known is empty.
#include "config.h"

#include "tests/bench/overhead/figures.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

static void data_value(FILE *out, double value, int digits)
{
	fputc(',', out);
	if (!isnan(value))
		fprintf(out, "%.*f", digits, value);
}

static void data_line(const struct series *series, size_t row, size_t position, const struct run *run, FILE *out)
{
	fprintf(out, "%s,%s,%zu,%zu,%c,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64,
		series->pace == PACE_LIMITED ? "limited" : "unlimited", series->design->name, row + 1, position + 1,
		mode_letters[run->mode], run->passes, run->elapsed_ns, run->cpu_ns, run->passes_elapsed_ns,
		run->passes_cpu_ns);
	data_value(out, figure_of(run, FIGURE_CHECKS), 0);
	data_value(out, run->conditions_ns == UNKNOWN ? NAN : (double)run->conditions_ns, 0);
	data_value(out, figure_of(run, FIGURE_OCCURRENCES), 0);
	data_value(out, run->report_bytes == UNKNOWN ? NAN : (double)run->report_bytes, 0);
	data_value(out, figure_of(run, FIGURE_MISSED), 0);
	data_value(out, figure_of(run, FIGURE_SWITCHES), 0);
	data_value(out, run->steal, 5);
	data_value(out, run->others, 5);
	data_value(out, run->celsius, 1);
	fputc('\n', out);
}

int data_write(const struct results *results, FILE *out)
{
	const struct series *series;
	size_t i = 0;

	fputs("pace,order,row,position,mode,passes,elapsed_ns,cpu_ns,passes_elapsed_ns,passes_cpu_ns,checks,conditions_"
	      "ns,"
	      "occurrences,report_bytes,missed_passes,switches,steal,others,celsius\n",
	      out);
	while ((series = series_next(results, &i))) {
		for (size_t row = 0; row < series->design->rows; row++) {
			for (size_t p = 0; p < DESIGN_MODES; p++)
				data_line(series, row, p, &series->runs[row][p], out);
		}
	}
	return ferror(out) ? -EIO : 0;
}
