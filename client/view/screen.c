// SPDX-License-Identifier: GPL-3.0-or-later
//
// Lines are written over the old ones and what is behind them is cleared, so that nothing flickers. No line reaches the
// last column, where terminals differ.
#include "config.h"

#include "client/view/screen.h"

#include "client/render/format.h"
#include "client/render/width.h"
#include "client/view/report.h"
#include "client/view/session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define LINES_ABOVE 7 ///< the rows, the table's head among them
#define GAP 2         ///< between columns
#define NAME_LEAST 12 ///< columns of a condition's name before other columns are left out

static const struct {
	int key;
	const char *name;
} sorts[] = {
	[SCREEN_TOTAL] = {'t', "total"}, [SCREEN_AVERAGE] = {'a', "average"}, [SCREEN_CHECKS] = {'c', "checks"},
	[SCREEN_MAX] = {'m', "max"},     [SCREEN_SHARE] = {'s', "share"},     [SCREEN_NAME] = {'n', "name"},
};
static_assert(ARRAY_SIZE(sorts) == SCREEN_SORTS, "every order has its key");

bool screen_key(struct screen_options *options, int key)
{
	if (key == 'r') {
		options->reverse = !options->reverse;
		return true;
	}
	for (size_t i = 0; i < SCREEN_SORTS; i++)
		if (sorts[i].key == key) {
			options->sort = (enum screen_sort)i;
			return true;
		}
	return false;
}

// --- order -----------------------------------------------------------------------------------------------------------

struct row {
	struct maybe figure; ///< sorted by
	const char *name;
	size_t condition;
};

/// The largest first, what is not known last.
static int compare_figures(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->figure.known != right->figure.known)
		return left->figure.known ? -1 : 1;
	if (left->figure.value != right->figure.value)
		return left->figure.value > right->figure.value ? -1 : 1;
	return (left->condition > right->condition) - (left->condition < right->condition);
}

static int compare_names(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : (left->condition > right->condition) - (left->condition < right->condition);
}

static struct maybe figure_of(const struct watch_state *state, size_t i, enum screen_sort sort)
{
	const struct report_condition *condition = &state->report->conditions[i];
	const struct interval_condition *interval = &state->interval.conditions[i];

	switch (sort) {
	case SCREEN_AVERAGE:
		return interval->average_ns;
	case SCREEN_CHECKS:
		return interval->checks;
	case SCREEN_MAX:
		return maybe_if(condition->measured && condition->checks > 0, condition->max_ns);
	default:
		return interval->total_ns; // shares are in the order of totals
	}
}

static struct row *sorted_rows(const struct watch_state *state, const struct screen_options *options)
{
	size_t n = state->report->n_conditions;
	struct row *rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct row){figure_of(state, i, options->sort), state->report->conditions[i].name, i};
	qsort(rows, n, sizeof(*rows), options->sort == SCREEN_NAME ? compare_names : compare_figures);
	for (size_t i = 0; options->reverse && i < n / 2; i++) {
		struct row other = rows[i];

		rows[i] = rows[n - 1 - i];
		rows[n - 1 - i] = other;
	}
	return rows;
}

// --- the table -------------------------------------------------------------------------------------------------------

enum {
	COLUMN_NAME,
	COLUMN_EVENT,
	COLUMN_CHECKS,
	COLUMN_AVERAGE,
	COLUMN_TOTAL,
	COLUMN_SHARE,
	COLUMN_ALL_CHECKS,
	COLUMN_ALL_AVERAGE,
	COLUMN_MAX,
	COLUMN_LAST,
	COLUMN_CONFIDENCE,
	COLUMNS,
};

static const struct field columns[COLUMNS] = {
	[COLUMN_NAME] = {.title = "Condition"},
	[COLUMN_EVENT] = {.title = "Event", .spare = 6},
	[COLUMN_CHECKS] = {.title = "Checks", .number = true, .spare = 1},
	[COLUMN_AVERAGE] = {.title = "Average", .number = true},
	[COLUMN_TOTAL] = {.title = "Total", .number = true, .spare = 2},
	[COLUMN_SHARE] = {.title = "Share", .number = true},
	[COLUMN_ALL_CHECKS] = {.title = "All checks", .number = true, .spare = 7},
	[COLUMN_ALL_AVERAGE] = {.title = "All average", .number = true, .spare = 8},
	[COLUMN_MAX] = {.title = "Max", .number = true, .spare = 5},
	[COLUMN_LAST] = {.title = "Last", .spare = 3},
	[COLUMN_CONFIDENCE] = {.title = "Confidence", .number = true, .spare = 4},
};

/// The part of the table that is on the screen.
struct grid {
	char *(*cells)[COLUMNS];
	size_t n;
	int widths[COLUMNS]; ///< -1: left out
};

static void grid_clear(struct grid *grid)
{
	for (size_t i = 0; i < grid->n; i++)
		for (size_t k = 0; k < COLUMNS; k++)
			free(grid->cells[i][k]);
	free(grid->cells);
}

static int fill_row(const struct watch_state *state, size_t i, const struct render_style *style, char *texts[COLUMNS])
{
	const struct report_condition *condition = &state->report->conditions[i];
	const struct interval_condition *interval = &state->interval.conditions[i],
					*total = &state->total.conditions[i];
	struct last_check last = condition_last(condition);
	char number[FORMAT_SIZE], answer[FORMAT_SIZE + 8];

	snprintf(answer, sizeof(answer), "%s%s%s", last.fulfilled ? "yes" : "no", last.has_value ? ", " : "",
		 last.has_value ? format_number(last.value, number) : "");
	const struct cell cells[COLUMNS] = {
		[COLUMN_NAME] = cell_text(condition->name),
		[COLUMN_EVENT] = cell_text(
			condition->event == REPORT_NO_EVENT ? NULL : state->report->events[condition->event].name),
		[COLUMN_CHECKS] = cell_maybe_count(interval->checks),
		[COLUMN_AVERAGE] = cell_maybe_duration(interval->average_ns),
		[COLUMN_TOTAL] = cell_maybe_duration(interval->total_ns),
		[COLUMN_SHARE] = cell_if(interval->total_ns.known, cell_share(interval->share)),
		[COLUMN_ALL_CHECKS] = cell_maybe_count(total->checks),
		[COLUMN_ALL_AVERAGE] = cell_maybe_duration(total->average_ns),
		[COLUMN_MAX] = cell_maybe_duration(figure_of(state, i, SCREEN_MAX)),
		[COLUMN_LAST] = cell_if(last.known, cell_text(answer)),
		[COLUMN_CONFIDENCE] = cell_if(last.has_confidence, cell_share(last.confidence)),
	};

	for (size_t k = 0; k < COLUMNS; k++) {
		texts[k] = format_cell(cells[k], &columns[k], style);
		if (!texts[k])
			return -ENOMEM;
	}
	return 0;
}

static int total_width(const int widths[COLUMNS])
{
	int width = 0;

	for (size_t k = 0; k < COLUMNS; k++)
		width += widths[k] < 0 ? 0 : widths[k] + (k > 0 ? GAP : 0);
	return width;
}

/// Names get what the figures leave; when that is too little, columns go.
static void fit(struct grid *grid, int limit)
{
	int *widths = grid->widths;

	for (size_t k = 0; k < COLUMNS; k++) {
		widths[k] = text_width(columns[k].title);
		for (size_t i = 0; i < grid->n; i++)
			widths[k] = MAX(widths[k], text_width(grid->cells[i][k]));
	}
	int wanted = widths[COLUMN_NAME];
	widths[COLUMN_EVENT] = MIN(widths[COLUMN_EVENT], MAX(limit / 4, 5));
	widths[COLUMN_NAME] = MIN(wanted, NAME_LEAST);
	for (int spare = COLUMNS; spare > 0 && total_width(widths) > limit; spare--)
		for (size_t k = 0; k < COLUMNS; k++)
			if (columns[k].spare == spare)
				widths[k] = -1;
	widths[COLUMN_NAME] +=
		MIN(MAX(limit - total_width(widths), -widths[COLUMN_NAME]), wanted - widths[COLUMN_NAME]);
}

// --- lines -----------------------------------------------------------------------------------------------------------

struct canvas {
	FILE *out;
	const struct screen_options *options;
	int lines;
	bool failed;
};

static void end_line(struct canvas *canvas)
{
	canvas->lines++;
	fputs(canvas->lines < canvas->options->height ? "\033[K\n" : "\033[K", canvas->out);
}

static bool has_room(const struct canvas *canvas)
{
	return canvas->lines < canvas->options->height;
}

static const char *emphasis(const struct canvas *canvas, const char *code)
{
	return canvas->options->style.colour ? code : "";
}

static void say(struct canvas *canvas, const char *code, const char *format, ...) PRINTF_LIKE(3, 4);
static void say(struct canvas *canvas, const char *code, const char *format, ...)
{
	const struct render_style *style = &canvas->options->style;
	CLEANUP_FREE char *text = NULL;
	va_list arguments;

	if (!has_room(canvas))
		return;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	CLEANUP_FREE char *clean = !text ? NULL : style->escape_8bit ? text_clean_ascii(text) : text_clean(text);
	if (!clean) {
		canvas->failed = true;
		return;
	}
	text_cut(clean, canvas->options->width - 1, style->ascii ? ".." : "…");
	fprintf(canvas->out, "%s%s%s", emphasis(canvas, code), clean, *code ? emphasis(canvas, "\033[0m") : "");
	end_line(canvas);
}

static void print_cells(struct canvas *canvas, const struct field *fields, size_t n, const int *widths,
			char *const *cells)
{
	for (size_t k = 0; k < n; k++) {
		if (widths[k] < 0)
			continue;
		text_cut(cells[k], widths[k], canvas->options->style.ascii ? ".." : "…");
		int padding = MAX(widths[k] - text_width(cells[k]), 0), gap = k > 0 ? GAP : 0;

		fprintf(canvas->out, "%*s%s%*s", fields[k].number ? gap + padding : gap, "", cells[k],
			fields[k].number ? 0 : padding, "");
	}
}

// --- the session -----------------------------------------------------------------------------------------------------

enum {
	FIGURE_OF,
	FIGURE_PASSES,
	FIGURE_RATE,
	FIGURE_MISSED,
	FIGURE_MEAN,
	FIGURE_PROCESSING,
	FIGURE_CHECKS,
	FIGURE_OCCURRENCES,
	FIGURES,
};

static const struct field figure_fields[FIGURES] = {
	[FIGURE_OF] = {.title = ""},
	[FIGURE_PASSES] = {.title = "Passes", .number = true, .spare = 1},
	[FIGURE_RATE] = {.title = "a second", .number = true, .decimals = 1, .spare = 4},
	[FIGURE_MISSED] = {.title = "Missed", .number = true, .spare = 6},
	[FIGURE_MEAN] = {.title = "Mean pass", .number = true, .spare = 3},
	[FIGURE_PROCESSING] = {.title = "Processing", .number = true, .spare = 2},
	[FIGURE_CHECKS] = {.title = "Checks", .number = true, .spare = 5},
	[FIGURE_OCCURRENCES] = {.title = "Occurrences", .number = true, .spare = 7},
};

static void figure_cells(const char *title, const struct interval *interval, struct cell cells[FIGURES])
{
	double rate = 0, share = 0;
	bool rate_known = interval_rate(interval, &rate), share_known = interval_processing_share(interval, &share);

	cells[FIGURE_OF] = cell_text(title);
	cells[FIGURE_PASSES] = cell_maybe_count(interval->passes);
	cells[FIGURE_RATE] = cell_if(rate_known, cell_number(rate));
	cells[FIGURE_MISSED] = cell_maybe_count(interval->missed_passes);
	cells[FIGURE_MEAN] = cell_maybe_duration(interval->pass_mean_ns);
	cells[FIGURE_PROCESSING] = cell_if(share_known, cell_share(share));
	cells[FIGURE_CHECKS] = cell_maybe_count(interval->checks);
	cells[FIGURE_OCCURRENCES] = cell_maybe_count(interval->occurrences);
}

/// A head, and a line each for the interval and for the whole session.
static void print_figures(struct canvas *canvas, const struct watch_state *state)
{
	const struct render_style *style = &canvas->options->style;
	char duration[FORMAT_SIZE], title[FORMAT_SIZE + 16] = "Interval", *texts[3][FIGURES] = {0};
	struct cell cells[3][FIGURES];
	int widths[FIGURES] = {0}, total = 0;

	if (state->interval.duration_ns.known)
		snprintf(title, sizeof(title), "Interval of %s",
			 format_duration(state->interval.duration_ns.value, false, style->ascii, duration));
	figure_cells(title, &state->interval, cells[1]);
	figure_cells("Since its start", &state->total, cells[2]);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t k = 0; k < FIGURES; k++) {
			if (i == 0)
				cells[i][k] = cell_text(figure_fields[k].title);
			texts[i][k] = format_cell(cells[i][k], &figure_fields[k], style);
			canvas->failed = canvas->failed || !texts[i][k];
			widths[k] = MAX(widths[k], texts[i][k] ? text_width(texts[i][k]) : 0);
		}
	for (size_t k = 0; k < FIGURES; k++)
		total += widths[k] + (k > 0 ? GAP : 0);
	for (int spare = FIGURES; spare > 0; spare--)
		for (size_t k = 0; k < FIGURES && total > canvas->options->width - 1; k++)
			if (figure_fields[k].spare == spare) {
				total -= widths[k] + GAP;
				widths[k] = -1;
			}
	widths[FIGURE_OF] = MIN(widths[FIGURE_OF], MAX(canvas->options->width - 1, 0));
	for (size_t i = 0; i < ARRAY_SIZE(texts) && !canvas->failed && has_room(canvas); i++) {
		print_cells(canvas, figure_fields, FIGURES, widths, texts[i]);
		end_line(canvas);
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t k = 0; k < FIGURES; k++)
			free(texts[i][k]);
}

static void say_above(struct canvas *canvas, const struct watch_state *state)
{
	bool ascii = canvas->options->style.ascii, by_name = canvas->options->sort == SCREEN_NAME;
	char duration[FORMAT_SIZE] = "";

	if (state->total.duration_ns.known)
		format_duration(state->total.duration_ns.value, false, ascii, duration);
	say(canvas, "\033[1m", "Session %" PRId64 ", %s: %s %s", state->session->id,
	    state->session->scenario ? state->session->scenario : "", session_state_name(state->session->state),
	    duration);
	print_figures(canvas, state);
	say(canvas, "\033[2m", "By %s%s. t total  a average  c checks  m max  s share  n name  r reverse  q quit",
	    sorts[canvas->options->sort].name,
	    by_name                    ? canvas->options->reverse ? ", backwards" : ""
	    : canvas->options->reverse ? ", least first"
				       : "");
	say(canvas, "", "%s", "");
}

static void print_head(struct canvas *canvas, const struct grid *grid)
{
	char titles[COLUMNS][32], *cells[COLUMNS];

	if (!has_room(canvas))
		return;
	for (size_t k = 0; k < COLUMNS; k++) {
		snprintf(titles[k], sizeof(titles[k]) - TEXT_CUT_ROOM, "%s", columns[k].title);
		cells[k] = titles[k];
	}
	fputs(emphasis(canvas, "\033[7m"), canvas->out);
	print_cells(canvas, columns, COLUMNS, grid->widths, cells);
	fputs(emphasis(canvas, "\033[0m"), canvas->out);
	end_line(canvas);
}

static int print_table(struct canvas *canvas, const struct watch_state *state)
{
	const struct screen_options *options = canvas->options;
	CLEANUP_FREE struct row *rows = sorted_rows(state, options);
	struct grid grid CLEANUP(grid_clear) = {0};
	size_t n = state->report->n_conditions, room = (size_t)MAX(options->height - LINES_ABOVE, 0);
	size_t shown = n <= room ? n : room > 0 ? room - 1 : 0;
	int r = 0;

	if (rows)
		grid.cells = calloc(shown + 1, sizeof(*grid.cells));
	if (!grid.cells)
		return -ENOMEM;
	for (grid.n = 0; grid.n < shown && r == 0; grid.n++)
		r = fill_row(state, rows[grid.n].condition, &options->style, grid.cells[grid.n]);
	if (r < 0)
		return r;
	fit(&grid, options->width - 1);
	print_head(canvas, &grid);
	for (size_t i = 0; i < grid.n; i++) {
		print_cells(canvas, columns, COLUMNS, grid.widths, grid.cells[i]);
		end_line(canvas);
	}
	if (shown < n)
		say(canvas, "\033[2m", "%zu more", n - shown);
	return 0;
}

int view_screen(FILE *out, const struct watch_state *state, const struct screen_options *options)
{
	struct canvas canvas = {.out = out, .options = options};

	fputs("\033[H", out);
	say_above(&canvas, state);
	int r = print_table(&canvas, state);
	fputs("\033[J", out);
	return canvas.failed ? -ENOMEM : r;
}
