// SPDX-License-Identifier: GPL-3.0-or-later
//
// Figures of an interval and figures since the session's start are never in one object or under one title: in JSON the
// latter are in `session` and in each condition's `session`.
#include "config.h"

#include "client/view/watch.h"

#include "client/render/format.h"
#include "client/view/report.h"
#include "client/view/session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/// For people in tenths.
static struct cell rate_cell(const struct interval *interval)
{
	double rate = 0;
	bool known = interval_rate(interval, &rate);

	return cell_if(known, cell_number(rate));
}

static struct cell processing_cell(const struct interval *interval)
{
	double share = 0;
	bool known = interval_processing_share(interval, &share);

	return cell_if(known, cell_share(share));
}

static const char *event_name(const struct report *report, const struct report_condition *condition)
{
	return condition->event == REPORT_NO_EVENT ? NULL : report->events[condition->event].name;
}

// --- rows ------------------------------------------------------------------------------------------------------------

enum {
	COLUMN_AT,
	COLUMN_INTERVAL,
	COLUMN_PASSES,
	COLUMN_RATE,
	COLUMN_MEAN,
	COLUMN_PROCESSING,
	COLUMN_CHECKS,
	COLUMN_OCCURRENCES,
	COLUMN_MISSED,
	COLUMN_DEAREST,
	COLUMN_DEAREST_EVENT,
	COLUMN_DEAREST_SHARE,
	COLUMN_ALL_PASSES,
	COLUMN_ALL_CHECKS,
	COLUMN_ALL_OCCURRENCES,
	COLUMN_ALL_MISSED,
	COLUMNS,
};

static const struct field columns[COLUMNS] = {
	[COLUMN_AT] = {.name = "at_ns", .title = "At", .number = true, .width = 9},
	[COLUMN_INTERVAL] = {.name = "interval_ns", .title = "Interval", .number = true, .width = 8, .spare = 6},
	[COLUMN_PASSES] = {.name = "passes", .title = "Passes", .number = true, .spare = 2},
	[COLUMN_RATE] = {.name = "passes_per_s", .title = "Passes/s", .number = true, .decimals = 1},
	[COLUMN_MEAN] = {.name = "pass_mean_ns", .title = "Mean pass", .number = true},
	[COLUMN_PROCESSING] = {.name = "processing_share", .title = "Processing", .number = true, .spare = 1},
	[COLUMN_CHECKS] = {.name = "checks", .title = "Checks", .number = true, .width = 7},
	[COLUMN_OCCURRENCES] = {.name = "occurrences", .title = "Occurrences", .number = true, .spare = 3},
	[COLUMN_MISSED] = {.name = "missed_passes", .title = "Missed", .number = true, .spare = 4},
	[COLUMN_DEAREST] = {.name = "top_condition.name", .title = "Most expensive", .width = 20, .spare = 5},
	[COLUMN_DEAREST_EVENT] = {.name = "top_condition.event"},
	[COLUMN_DEAREST_SHARE] =
		{.name = "top_condition.share", .title = "Share", .number = true, .width = 7, .spare = 5},
	[COLUMN_ALL_PASSES] = {.name = "session.passes", .title = "All passes", .number = true, .spare = 7},
	[COLUMN_ALL_CHECKS] = {.name = "session.checks", .title = "All checks", .number = true, .spare = 8},
	[COLUMN_ALL_OCCURRENCES] = {.name = "session.occurrences",
				    .title = "All occurrences",
				    .number = true,
				    .spare = 9},
	[COLUMN_ALL_MISSED] = {.name = "session.missed_passes", .title = "All missed", .number = true, .spare = 10},
};

static const struct table table = {
	.field = {.name = "intervals", .title = ""},
	.columns = columns,
	.n_columns = COLUMNS,
	.stream = true,
	.main = true,
};

void view_watch_begin(struct render *render, const Condprof__Session *session, int64_t interval_ns)
{
	char length[FORMAT_SIZE];

	render_say(render,
		   "Session %" PRId64 ", %s: a line for every interval of about %s, and what the session did in it. "
		   "All passes, checks, occurrences and missed passes are those since its start.",
		   session->id, session->scenario ? session->scenario : "",
		   format_duration(interval_ns, false, render_style(render)->ascii, length));
	render_table_open(render, &table);
}

void view_watch_row(struct render *render, const struct watch_state *state)
{
	const struct interval *interval = &state->interval, *total = &state->total;
	const struct report_condition *dearest =
		interval->dearest == INTERVAL_NO_CONDITION ? NULL : &state->report->conditions[interval->dearest];
	struct cell cells[COLUMNS] = {
		[COLUMN_AT] = cell_maybe_duration(total->duration_ns),
		[COLUMN_INTERVAL] = cell_maybe_duration(interval->duration_ns),
		[COLUMN_PASSES] = cell_maybe_count(interval->passes),
		[COLUMN_RATE] = rate_cell(interval),
		[COLUMN_MEAN] = cell_maybe_duration(interval->pass_mean_ns),
		[COLUMN_PROCESSING] = processing_cell(interval),
		[COLUMN_CHECKS] = cell_maybe_count(interval->checks),
		[COLUMN_OCCURRENCES] = cell_maybe_count(interval->occurrences),
		[COLUMN_MISSED] = cell_maybe_count(interval->missed_passes),
		[COLUMN_ALL_PASSES] = cell_maybe_count(total->passes),
		[COLUMN_ALL_CHECKS] = cell_maybe_count(total->checks),
		[COLUMN_ALL_OCCURRENCES] = cell_maybe_count(total->occurrences),
		[COLUMN_ALL_MISSED] = cell_maybe_count(total->missed_passes),
	};

	if (dearest) {
		cells[COLUMN_DEAREST] = cell_text(dearest->name);
		cells[COLUMN_DEAREST_EVENT] = cell_text(event_name(state->report, dearest));
		cells[COLUMN_DEAREST_SHARE] = cell_share(interval->conditions[interval->dearest].share);
	}
	render_row(render, cells);
}

void view_watch_end(struct render *render)
{
	render_table_close(render);
}

// --- JSON ------------------------------------------------------------------------------------------------------------

enum {
	FIGURE_PASSES,
	FIGURE_RATE,
	FIGURE_MISSED,
	FIGURE_MEAN,
	FIGURE_PROCESSING,
	FIGURE_PROCESSING_SHARE,
	FIGURE_CONDITIONS,
	FIGURE_CHECKS,
	FIGURE_OCCURRENCES,
	FIGURE_LOST,
	FIGURES,
};

static const struct field figures[FIGURES] = {
	[FIGURE_PASSES] = {.name = "passes"},
	[FIGURE_RATE] = {.name = "passes_per_s"},
	[FIGURE_MISSED] = {.name = "missed_passes"},
	[FIGURE_MEAN] = {.name = "pass_mean_ns"},
	[FIGURE_PROCESSING] = {.name = "processing_ns"},
	[FIGURE_PROCESSING_SHARE] = {.name = "processing_share"},
	[FIGURE_CONDITIONS] = {.name = "conditions_ns"},
	[FIGURE_CHECKS] = {.name = "checks"},
	[FIGURE_OCCURRENCES] = {.name = "occurrences"},
	[FIGURE_LOST] = {.name = "lost_occurrences"},
};

static void figure_cells(const struct interval *interval, struct cell cells[FIGURES])
{
	cells[FIGURE_PASSES] = cell_maybe_count(interval->passes);
	cells[FIGURE_RATE] = rate_cell(interval);
	cells[FIGURE_MISSED] = cell_maybe_count(interval->missed_passes);
	cells[FIGURE_MEAN] = cell_maybe_duration(interval->pass_mean_ns);
	cells[FIGURE_PROCESSING] = cell_maybe_duration(interval->processing_ns);
	cells[FIGURE_PROCESSING_SHARE] = processing_cell(interval);
	cells[FIGURE_CONDITIONS] = cell_maybe_duration(interval->conditions_ns);
	cells[FIGURE_CHECKS] = cell_maybe_count(interval->checks);
	cells[FIGURE_OCCURRENCES] = cell_maybe_count(interval->occurrences);
	cells[FIGURE_LOST] = cell_maybe_count(interval->lost_occurrences);
}

/// The session's own passes stand among its figures, once.
static void write_session(struct render *render, const struct watch_state *state)
{
	static const struct group group = {.field = {.name = "session"}, .layout = LAYOUT_NONE};
	static_assert(SESSION_PASSES == SESSION_FIELDS - 1 && FIGURE_PASSES == 0, "one of the two is left out");
	struct cell cells[SESSION_FIELDS], totals[FIGURES];

	session_cells(state->session, cells);
	figure_cells(&state->total, totals);
	cells[SESSION_DURATION] = cell_maybe_duration(state->total.duration_ns);
	render_open(render, &group);
	render_values(render, session_fields, SESSION_FIELDS - 1, cells);
	render_values(render, figures, FIGURES, totals);
	render_close(render);
}

static void write_interval(struct render *render, const struct watch_state *state)
{
	static const struct group group = {.field = {.name = "interval"}, .layout = LAYOUT_NONE};
	static const struct field number = {.name = "number"}, duration = {.name = "duration_ns"};
	static const struct field dearest_fields[] = {
		{.name = "top_condition.id"},       {.name = "top_condition.event"}, {.name = "top_condition.name"},
		{.name = "top_condition.total_ns"}, {.name = "top_condition.share"},
	};
	const struct interval *interval = &state->interval;
	struct cell cells[FIGURES], dearest[ARRAY_SIZE(dearest_fields)] = {0};

	if (interval->dearest != INTERVAL_NO_CONDITION) {
		const struct report_condition *condition = &state->report->conditions[interval->dearest];

		dearest[0] = cell_count(condition->id);
		dearest[1] = cell_text(event_name(state->report, condition));
		dearest[2] = cell_text(condition->name);
		dearest[3] = cell_maybe_duration(interval->conditions[interval->dearest].total_ns);
		dearest[4] = cell_share(interval->conditions[interval->dearest].share);
	}
	figure_cells(interval, cells);
	render_open(render, &group);
	render_value(render, &number, cell_count(state->number));
	render_value(render, &duration, cell_maybe_duration(interval->duration_ns));
	render_values(render, figures, FIGURES, cells);
	render_values(render, dearest_fields, ARRAY_SIZE(dearest_fields), dearest);
	render_close(render);
}

static void write_conditions(struct render *render, const struct watch_state *state)
{
	static const struct field fields[] = {
		{.name = "id"},
		{.name = "event"},
		{.name = "name"},
		{.name = "kind"},
		{.name = "checks"},
		{.name = "fulfilled"},
		{.name = "total_ns"},
		{.name = "average_ns"},
		{.name = "share"},
		{.name = "session.checks"},
		{.name = "session.fulfilled"},
		{.name = "session.total_ns"},
		{.name = "session.average_ns"},
		{.name = "session.max_ns"},
		{.name = "session.share"},
		{.name = "last.fulfilled"},
		{.name = "last.confidence"},
		{.name = "last.value"},
	};
	static const struct table conditions = {
		.field = {.name = "conditions"}, .columns = fields, .n_columns = ARRAY_SIZE(fields)};

	render_table_open(render, &conditions);
	for (size_t i = 0; i < state->report->n_conditions; i++) {
		const struct report_condition *condition = &state->report->conditions[i];
		const struct interval_condition *interval = &state->interval.conditions[i],
						*total = &state->total.conditions[i];
		struct last_check last = condition_last(condition);

		render_row(render, (struct cell[]){
					   cell_count(condition->id),
					   cell_text(event_name(state->report, condition)),
					   cell_text(condition->name),
					   cell_text(condition->kind),
					   cell_maybe_count(interval->checks),
					   cell_maybe_count(interval->fulfilled),
					   cell_maybe_duration(interval->total_ns),
					   cell_maybe_duration(interval->average_ns),
					   cell_if(interval->total_ns.known, cell_share(interval->share)),
					   cell_maybe_count(total->checks),
					   cell_maybe_count(total->fulfilled),
					   cell_maybe_duration(total->total_ns),
					   cell_maybe_duration(total->average_ns),
					   cell_if(condition->measured && condition->checks > 0,
						   cell_duration(condition->max_ns)),
					   cell_if(total->total_ns.known, cell_share(total->share)),
					   cell_if(last.known, cell_flag(last.fulfilled)),
					   cell_if(last.has_confidence, cell_share(last.confidence)),
					   cell_if(last.has_value, cell_number(last.value)),
				   });
	}
	render_table_close(render);
}

/// Strings have no line feeds in JSON: those there are, and the spaces behind them, only lay it out.
static void write_as_line(FILE *out, const char *text)
{
	char last = 0;

	for (; *text; text++) {
		if (*text != '\n') {
			putc(*text, out);
			last = *text;
			continue;
		}
		text += strspn(text + 1, " ");
		if (last == ',')
			putc(' ', out);
	}
	putc('\n', out);
}

int view_watch_line(FILE *out, const struct watch_state *state)
{
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	struct render *render = memory ? render_new(OUTPUT_JSON, memory, &(struct render_style){0}) : NULL;
	int r = -ENOMEM;

	if (render) {
		write_session(render, state);
		write_interval(render, state);
		write_conditions(render, state);
		r = render_finish(render);
		render_free(render);
	}
	if (memory && fclose(memory) != 0)
		r = -ENOMEM;
	if (r < 0)
		return -ENOMEM;
	write_as_line(out, text);
	return 0;
}
