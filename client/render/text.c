// SPDX-License-Identifier: GPL-3.0-or-later
//
// For people: aligned columns, readable units, bars. Every text is clean before it is measured or printed. On a
// terminal nothing is wider than it: names are cut first, then columns are left out (and named), so that lines never
// wrap by themselves; elsewhere nothing is cut.
#include "config.h"

#include "client/render/backend.h"
#include "client/render/format.h"
#include "client/render/width.h"

#include <assert.h>
#include <string.h>

#define COLUMN_GAP 2
#define COLUMN_ROOMY 16 ///< names are cut to this before columns are left out
#define COLUMN_NARROW 6 ///< and to this after that
#define COLUMNS_MAX 40U
#define BAR_WIDTH 30
#define WRAP_WIDTH 100 ///< of sentences where there is no terminal
#define NESTED_INDENT 4

struct item {
	char *text;
	int width;
	bool null;
	enum emphasis emphasis;
};

/// The rows of a table, or of a row's own table, until they can be aligned.
struct grid {
	const struct field *columns[COLUMNS_MAX];
	size_t places[COLUMNS_MAX]; ///< of the columns among the table's
	size_t n_columns;
	struct item *items; ///< n_columns a row
	size_t n_rows, capacity;
};

/// A value and its title, until the group closes.
struct line {
	int depth;
	const char *title;
	char *value;
	enum emphasis emphasis;
	bool known;
	int64_t ns;
};

enum printed { PRINTED_NOTHING, PRINTED_HEADING, PRINTED_LINES, PRINTED_TABLE, PRINTED_SENTENCE };

struct text_render {
	struct render base;
	enum printed last;
	struct grid grid;
	int stream_widths[COLUMNS_MAX];
	struct line *lines;
	size_t n_lines, lines_capacity;
	int bars_depth; ///< > 0: in LAYOUT_BARS
	int64_t whole_ns;
};

static struct text_render *text(struct render *render)
{
	return (struct text_render *)render;
}

static void print_emphasised(struct render *render, const char *string, enum emphasis emphasis)
{
	static const char *const codes[] = {
		[EMPHASIS_NONE] = "",  [EMPHASIS_STRONG] = "1", [EMPHASIS_GOOD] = "32",
		[EMPHASIS_BAD] = "31", [EMPHASIS_FAINT] = "2",
	};

	if (render->style.colour && emphasis != EMPHASIS_NONE)
		fprintf(render->out, "\033[%sm%s\033[0m", codes[emphasis], string);
	else
		fputs(string, render->out);
}

static void print_spaces(struct render *render, int count)
{
	static const char spaces[] = "                                                                ";

	for (; count > 0; count -= (int)sizeof(spaces) - 1)
		fwrite(spaces, 1, MIN((size_t)count, sizeof(spaces) - 1), render->out);
}

/// An empty line between things of different kinds, and after nothing but a heading none.
static void begin_part(struct render *render, enum printed part)
{
	enum printed last = text(render)->last;

	if (last != PRINTED_NOTHING && last != PRINTED_HEADING && (part != last || part == PRINTED_TABLE))
		putc('\n', render->out);
	text(render)->last = part;
}

static const char *cut_mark(const struct render *render)
{
	return render->style.ascii ? ".." : "…";
}

// --- lines: values of groups ----------------------------------------------------------------------------------------

static void lines_clear(struct text_render *self)
{
	for (size_t i = 0; i < self->n_lines; i++)
		free(self->lines[i].value);
	self->n_lines = 0;
}

static void print_bar(struct render *render, double share, int width)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	int filled = (int)(share * width * 8 + 0.5);

	filled = MIN(filled, width * 8);
	for (int i = 0; i < filled / 8; i++)
		fputs(render->style.ascii ? "#" : "█", render->out);
	fputs(render->style.ascii ? (filled % 8 >= 4 ? "#" : "") : eighths[filled % 8], render->out);
}

/// value, share of the whole and bar
static void print_share_of_whole(struct render *render, const struct line *line, int used)
{
	int64_t whole_ns = text(render)->whole_ns;
	char share[FORMAT_SIZE];

	if (!line->known || whole_ns <= 0)
		return;
	double part = MIN(MAX((double)line->ns / (double)whole_ns, 0), 1);
	fprintf(render->out, "  %7s", format_share(part, share));
	int width = render->style.width ? render->style.width - used - 11 : BAR_WIDTH;
	if (width >= 4 && part * MIN(width, BAR_WIDTH) * 8 >= 0.5) {
		fputs("  ", render->out);
		print_bar(render, part, MIN(width, BAR_WIDTH));
	}
}

/// `room`: columns that are left of the terminal; 0: any. Long values go on below their beginning.
static void print_value(struct render *render, const struct line *line, int room)
{
	if (room > 0 && text_width(line->value) > room)
		text_cut(line->value, room, cut_mark(render));
	print_emphasised(render, line->value, line->emphasis);
}

static void flush_lines(struct render *render)
{
	struct text_render *self = text(render);
	int titles = 0, values = 0;

	if (self->n_lines == 0)
		return;
	begin_part(render, PRINTED_LINES);
	for (size_t i = 0; i < self->n_lines; i++) {
		titles = MAX(titles, 2 * self->lines[i].depth + text_width(self->lines[i].title));
		values = MAX(values, text_width(self->lines[i].value));
	}
	for (size_t i = 0; i < self->n_lines; i++) {
		const struct line *line = &self->lines[i];
		int before = 2 * line->depth + text_width(line->title), width = text_width(line->value);

		fprintf(render->out, "  %*s%s", 2 * line->depth, "", line->title);
		print_spaces(render, titles - before + COLUMN_GAP);
		if (self->whole_ns != 0) {
			print_spaces(render, values - width);
			print_value(render, line, 0);
			print_share_of_whole(render, line, 2 + titles + COLUMN_GAP + values);
		} else {
			int used = 2 + titles + COLUMN_GAP;
			print_value(render, line, render->style.width ? MAX(render->style.width - used, 10) : 0);
		}
		putc('\n', render->out);
	}
	lines_clear(self);
}

static void add_line(struct render *render, const struct field *field, struct cell cell)
{
	struct text_render *self = text(render);

	if (!field->title)
		return;
	if (self->n_lines == self->lines_capacity) {
		size_t capacity = MAX(2 * self->lines_capacity, 16U);
		struct line *lines = realloc(self->lines, capacity * sizeof(*lines));

		if (!lines) {
			render->failed = true;
			return;
		}
		self->lines = lines;
		self->lines_capacity = capacity;
	}
	struct line line = {
		.depth = MAX(self->bars_depth - 1 - field->total, 0),
		.title = field->title,
		.value = format_cell(cell, field, &render->style),
		.emphasis = cell.kind == CELL_NULL ? EMPHASIS_FAINT : cell.emphasis,
		.known = cell.kind == CELL_DURATION,
		.ns = cell.kind == CELL_DURATION ? cell.integer : 0,
	};
	if (line.value)
		self->lines[self->n_lines++] = line;
	else
		render->failed = true;
}

static void text_values(struct render *render, const struct field *fields, size_t n, const struct cell *cells)
{
	for (size_t i = 0; i < n; i++)
		add_line(render, &fields[i], cells[i]);
}

// --- sentences -------------------------------------------------------------------------------------------------------

static void print_wrapped(struct render *render, char *words)
{
	int width = render->style.width ? render->style.width : WRAP_WIDTH, column = 0;

	for (char *word = strtok_r(words, " ", &words); word; word = strtok_r(NULL, " ", &words)) {
		int length = text_width(word);

		if (column > 0 && column + 1 + length > width) {
			putc('\n', render->out);
			column = 0;
		}
		fprintf(render->out, "%s%s", column > 0 ? " " : "", word);
		column += length + (column > 0);
	}
	putc('\n', render->out);
}

static void text_say(struct render *render, const char *string, bool heading)
{
	char *clean = render->style.escape_8bit ? text_clean_ascii(string) : text_clean(string);

	if (!clean) {
		render->failed = true;
		return;
	}
	flush_lines(render);
	if (heading) {
		if (text(render)->last != PRINTED_NOTHING)
			putc('\n', render->out);
		if (render->style.width)
			text_cut(clean, render->style.width, cut_mark(render));
		print_emphasised(render, clean, EMPHASIS_STRONG);
		putc('\n', render->out);
		text(render)->last = PRINTED_HEADING;
	} else {
		begin_part(render, PRINTED_SENTENCE);
		print_wrapped(render, clean);
	}
	free(clean);
}

// --- groups ----------------------------------------------------------------------------------------------------------

static void text_begin(struct render *render)
{
	(void)render;
}

static void text_open(struct render *render, const struct group *group)
{
	struct text_render *self = text(render);

	if (group->layout == LAYOUT_NONE)
		return;
	if (self->bars_depth == 0) {
		flush_lines(render);
		if (group->field.title)
			text_say(render, group->field.title, true);
	}
	if (group->layout == LAYOUT_BARS) {
		self->bars_depth++;
		if (self->bars_depth == 1)
			self->whole_ns = group->whole_ns ? group->whole_ns : -1;
	}
}

static void text_close(struct render *render, const struct group *group)
{
	struct text_render *self = text(render);

	if (group->layout == LAYOUT_BARS && --self->bars_depth > 0)
		return;
	if (group->layout == LAYOUT_NONE)
		return;
	flush_lines(render);
	self->whole_ns = 0;
}

// --- tables ----------------------------------------------------------------------------------------------------------

static void grid_clear(struct grid *grid)
{
	for (size_t i = 0; i < grid->n_rows * grid->n_columns; i++)
		free(grid->items[i].text);
	grid->n_rows = 0;
}

static void grid_begin(struct grid *grid, const struct table *table)
{
	grid_clear(grid);
	grid->n_columns = 0;
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!table->columns[i].title)
			continue;
		assert(grid->n_columns < COLUMNS_MAX);
		grid->columns[grid->n_columns] = &table->columns[i];
		grid->places[grid->n_columns++] = i;
	}
}

static bool grid_reserve(struct grid *grid)
{
	size_t wanted = (grid->n_rows + 1) * grid->n_columns;

	if (wanted <= grid->capacity)
		return true;
	size_t capacity = MAX(2 * wanted, 64U);
	struct item *items = realloc(grid->items, capacity * sizeof(*items));
	if (!items)
		return false;
	grid->items = items;
	grid->capacity = capacity;
	return true;
}

static bool grid_add(struct render *render, const struct cell *cells)
{
	struct grid *grid = &text(render)->grid;

	if (!grid_reserve(grid))
		goto failed;
	struct item *row = grid->items + grid->n_rows * grid->n_columns;
	for (size_t i = 0; i < grid->n_columns; i++) {
		struct cell cell = cells[grid->places[i]];

		row[i] = (struct item){
			.text = format_cell(cell, grid->columns[i], &render->style),
			.null = cell.kind == CELL_NULL,
			.emphasis = cell.kind == CELL_NULL ? EMPHASIS_FAINT : cell.emphasis,
		};
		if (!row[i].text) {
			while (i > 0)
				free(row[--i].text);
			goto failed;
		}
		row[i].width = text_width(row[i].text);
	}
	grid->n_rows++;
	return true;
failed:
	render->failed = true;
	return false;
}

static int total_width(const struct grid *grid, const int *widths)
{
	int total = -COLUMN_GAP;

	for (size_t i = 0; i < grid->n_columns; i++)
		total += widths[i] < 0 ? 0 : widths[i] + COLUMN_GAP;
	return total;
}

/// Takes up to `excess` columns from the widest column of names, one by one. @return what is left of it
static int narrow_names(const struct grid *grid, int *widths, int least, int excess)
{
	while (excess > 0) {
		size_t widest = grid->n_columns;

		for (size_t i = 0; i < grid->n_columns; i++)
			if (!grid->columns[i]->number && widths[i] > least &&
			    (widest == grid->n_columns || widths[i] > widths[widest]))
				widest = i;
		if (widest == grid->n_columns)
			break;
		widths[widest]--;
		excess--;
	}
	return excess;
}

/// Leaves out the column that can be spared best. @return false: none can
static bool leave_column_out(const struct grid *grid, int *widths)
{
	size_t best = grid->n_columns;

	for (size_t i = 0; i < grid->n_columns; i++)
		if (widths[i] >= 0 && grid->columns[i]->spare > 0 &&
		    (best == grid->n_columns || grid->columns[i]->spare > grid->columns[best]->spare))
			best = i;
	if (best == grid->n_columns)
		return false;
	widths[best] = -1;
	return true;
}

/// Widths of the columns, -1: left out. @param natural what they would like to have
static void fit_widths(const struct grid *grid, int limit, const int *natural, int *widths)
{
	memcpy(widths, natural, grid->n_columns * sizeof(*widths));
	if (limit <= 0)
		return;
	while (narrow_names(grid, widths, COLUMN_ROOMY, total_width(grid, widths) - limit) > 0) {
		if (!leave_column_out(grid, widths)) {
			narrow_names(grid, widths, COLUMN_NARROW, total_width(grid, widths) - limit);
			return;
		}
		for (size_t i = 0; i < grid->n_columns; i++)
			widths[i] = widths[i] < 0 ? -1 : natural[i]; // names may have their room back
	}
}

static void fit(const struct grid *grid, int limit, int *widths)
{
	int natural[COLUMNS_MAX];

	for (size_t i = 0; i < grid->n_columns; i++) {
		natural[i] = text_width(grid->columns[i]->title);
		for (size_t row = 0; row < grid->n_rows; row++)
			natural[i] = MAX(natural[i], grid->items[row * grid->n_columns + i].width);
	}
	fit_widths(grid, limit, natural, widths);
}

/// A stream's rows are not known before they come: its columns say what they mostly need.
static void fit_stream(const struct grid *grid, int limit, int *widths)
{
	int natural[COLUMNS_MAX];

	for (size_t i = 0; i < grid->n_columns; i++)
		natural[i] = MAX(grid->columns[i]->width, text_width(grid->columns[i]->title));
	fit_widths(grid, limit, natural, widths);
}

/// One cell, padded; the row's last one isn't.
static void print_item(struct render *render, const struct field *column, const char *string, int width,
		       enum emphasis emphasis, bool last)
{
	int spaces = width - text_width(string);

	if (column->number)
		print_spaces(render, spaces);
	print_emphasised(render, string, emphasis);
	if (!column->number && !last)
		print_spaces(render, spaces);
}

static void print_header(struct render *render, const struct grid *grid, const int *widths)
{
	bool first = true;
	size_t last = grid->n_columns;

	while (last > 0 && widths[last - 1] < 0)
		last--;
	for (size_t i = 0; i < last; i++) {
		if (widths[i] < 0)
			continue;
		if (!first)
			print_spaces(render, COLUMN_GAP);
		print_item(render, grid->columns[i], grid->columns[i]->title, widths[i], EMPHASIS_STRONG,
			   i + 1 == last);
		first = false;
	}
	putc('\n', render->out);
}

static void print_row(struct render *render, const struct grid *grid, struct item *row, const int *widths)
{
	bool first = true;
	size_t last = grid->n_columns;

	while (last > 0 && widths[last - 1] < 0)
		last--;
	for (size_t i = 0; i < last; i++) {
		if (widths[i] < 0)
			continue;
		if (!first)
			print_spaces(render, COLUMN_GAP);
		if (render->style.width && !grid->columns[i]->number && row[i].width > widths[i])
			text_cut(row[i].text, widths[i], cut_mark(render));
		print_item(render, grid->columns[i], row[i].text, widths[i], row[i].emphasis, i + 1 == last);
		first = false;
	}
	putc('\n', render->out);
}

static void say_left_out(struct render *render, const struct grid *grid, const int *widths)
{
	char names[256] = "";
	size_t length = 0;

	for (size_t i = 0; i < grid->n_columns && length < sizeof(names); i++)
		if (widths[i] < 0)
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s", length ? ", " : "",
						   grid->columns[i]->title);
	if (length > 0)
		render_say(render, "Left out, for this terminal is too narrow: %s.", names);
}

static void print_grid(struct render *render)
{
	struct grid *grid = &text(render)->grid;
	int widths[COLUMNS_MAX];

	fit(grid, render->style.width, widths);
	print_header(render, grid, widths);
	for (size_t row = 0; row < grid->n_rows; row++)
		print_row(render, grid, grid->items + row * grid->n_columns, widths);
	say_left_out(render, grid, widths);
}

/// A row's own table: no header, titles before the values that need one, what is null left out.
static int title_room(const struct field *column)
{
	return *column->title ? text_width(column->title) + 1 : 0;
}

/// Widths of a nested table's columns. On a terminal its names give way, and are cut here.
static void fit_nested(struct render *render, struct grid *grid, int *widths)
{
	int excess = NESTED_INDENT - COLUMN_GAP - render->style.width;

	for (size_t i = 0; i < grid->n_columns; i++) {
		widths[i] = 0;
		for (size_t row = 0; row < grid->n_rows; row++)
			widths[i] = MAX(widths[i], grid->items[row * grid->n_columns + i].width);
		excess += widths[i] ? title_room(grid->columns[i]) + widths[i] + COLUMN_GAP : 0;
	}
	if (!render->style.width || excess <= 0)
		return;
	narrow_names(grid, widths, COLUMN_NARROW, excess);
	for (size_t i = 0; i < grid->n_rows * grid->n_columns; i++) {
		struct item *item = &grid->items[i];

		if (item->width > widths[i % grid->n_columns]) {
			text_cut(item->text, widths[i % grid->n_columns], cut_mark(render));
			item->width = text_width(item->text);
		}
	}
}

static void print_nested(struct render *render)
{
	struct grid *grid = &text(render)->grid;
	int widths[COLUMNS_MAX];

	fit_nested(render, grid, widths);
	for (size_t row = 0; row < grid->n_rows; row++) {
		int pending = NESTED_INDENT;

		for (size_t i = 0; i < grid->n_columns; i++) {
			const struct item *item = &grid->items[row * grid->n_columns + i];
			const char *title = grid->columns[i]->title;

			if (item->null || !*item->text) {
				pending += widths[i] ? title_room(grid->columns[i]) + widths[i] + COLUMN_GAP : 0;
				continue;
			}
			print_spaces(render, pending);
			fprintf(render->out, "%s%s", title, *title ? " " : "");
			if (grid->columns[i]->number)
				print_spaces(render, widths[i] - item->width);
			print_emphasised(render, item->text, item->emphasis);
			pending = COLUMN_GAP + (grid->columns[i]->number ? 0 : widths[i] - item->width);
		}
		putc('\n', render->out);
	}
}

static void text_table_open(struct render *render, const struct table *table)
{
	struct text_render *self = text(render);

	if (!table->field.title)
		return;
	assert(table->stream || table->n_nested == 0);
	flush_lines(render);
	grid_begin(&self->grid, table);
}

static bool is_nested(const struct render *render)
{
	return render->depth > 1 && render->scopes[render->depth - 1].kind == SCOPE_TABLE;
}

static void begin_table(struct render *render, const struct table *table)
{
	if (*table->field.title)
		render_heading(render, "%s", table->field.title);
	begin_part(render, PRINTED_TABLE);
}

/// Rows of a stream are printed one by one; their nested tables use the same grid in between.
static void stream_row(struct render *render, const struct table *table, const struct cell *cells)
{
	struct text_render *self = text(render);

	grid_begin(&self->grid, table);
	if (render_scope(render)->rows == 0) {
		fit_stream(&self->grid, render->style.width, self->stream_widths);
		begin_table(render, table);
		print_header(render, &self->grid, self->stream_widths);
	}
	if (grid_add(render, cells))
		print_row(render, &self->grid, self->grid.items, self->stream_widths);
}

static void text_row(struct render *render, const struct table *table, const struct cell *cells)
{
	if (!table->field.title)
		return;
	if (table->stream && !is_nested(render))
		stream_row(render, table, cells);
	else
		grid_add(render, cells);
}

static void text_table_close(struct render *render, const struct table *table)
{
	struct text_render *self = text(render);

	if (!table->field.title)
		return;
	if (is_nested(render)) {
		print_nested(render);
	} else if (render_scope(render)->rows == 0) {
		if (table->empty)
			text_say(render, table->empty, false);
	} else if (table->stream) {
		grid_begin(&self->grid, table);
		say_left_out(render, &self->grid, self->stream_widths);
	} else {
		begin_table(render, table);
		print_grid(render);
	}
	grid_clear(&self->grid);
}

static void text_finish(struct render *render)
{
	flush_lines(render);
}

static void text_clear(struct render *render)
{
	struct text_render *self = text(render);

	grid_clear(&self->grid);
	free(self->grid.items);
	lines_clear(self);
	free(self->lines);
}

const struct backend text_backend = {
	.size = sizeof(struct text_render),
	.begin = text_begin,
	.open = text_open,
	.close = text_close,
	.values = text_values,
	.table_open = text_table_open,
	.row = text_row,
	.table_close = text_table_close,
	.say = text_say,
	.finish = text_finish,
	.clear = text_clear,
};
