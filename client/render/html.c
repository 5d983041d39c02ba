// SPDX-License-Identifier: GPL-3.0-or-later
//
// A page: one file that needs no other and no network. Everything is there without its script, as headings, lists,
// tables and drawings; the script (report.js) adds sorting, filtering, details and the drawn timeline. What others
// named is cleaned as for a terminal and then escaped, wherever it goes, and the page's policy runs no other script.
//
// Tables of many rows stand in <noscript>: without scripts they are tables, with scripts the browser does not even
// parse them, and report.js takes their rows as text, so that it shows 100,000 of them by making a screenful. For it
// a row of a main table has its raw figures in data-v, in the columns' order.
#include "config.h"

#include "client/render/backend.h"
#include "client/render/format.h"
#include "client/render/page.h"
#include "client/render/width.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROWS_AT_ONCE 300 ///< more than these go into <noscript>
#define CHART_HEIGHT 24
#define BAR_UNITS 100
#define STACK_UNITS 1000

/// A line of LAYOUT_BARS, until the outermost group closes.
struct bar {
	int depth;
	const char *part; ///< the name of what it is, for its colour
	const char *title;
	bool known;
	int64_t ns;
};

struct html_render {
	struct render base;
	bool begun;                  ///< the page's head was written
	const struct group *pending; ///< a LAYOUT_PAGE group that was opened before that
	bool list_open;              ///< <dl>
	struct bar *bars;
	size_t n_bars, bars_capacity;
	int bars_depth;
	int64_t whole_ns;
	const struct table *table; ///< whose <table> was begun
	bool in_noscript;
	bool details_open; ///< the open row has its nested tables' row
};

static struct html_render *html(struct render *render)
{
	return (struct html_render *)render;
}

// --- texts -----------------------------------------------------------------------------------------------------------

/// A clean text.
static void write_escaped(FILE *out, const char *text)
{
	static const char special[] = "&<>\"'";
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

	while (*text) {
		size_t plain = strcspn(text, special);

		fwrite(text, 1, plain, out);
		text += plain;
		if (*text)
			fputs(entities[strchr(special, *text++) - special], out);
	}
}

static void write_text(struct render *render, const char *text)
{
	CLEANUP_FREE char *clean = text_clean(text);

	if (clean)
		write_escaped(render->out, clean);
	else
		render->failed = true;
}

/// A title between tags.
static void write_title(FILE *out, const char *before, const char *title, const char *after)
{
	fputs(before, out);
	write_escaped(out, title);
	fputs(after, out);
}

static void write_part(struct render *render, const struct page_part *part)
{
	fwrite(part->bytes, 1, part->size, render->out);
}

/// What a field is called here; NULL: it is not for people.
static const char *title_of(const struct field *field)
{
	return field->title ? field->title : field->page;
}

// --- the page --------------------------------------------------------------------------------------------------------

static void open_part(struct render *render, const struct group *group)
{
	fprintf(render->out, "<section id=\"%s\">\n", group->field.name);
	if (group->field.title)
		write_title(render->out, "<h2>", group->field.title, "</h2>\n");
}

static void begin_page(struct render *render, const char *title)
{
	struct html_render *self = html(render);

	if (self->begun)
		return;
	self->begun = true;
	write_part(render, &page_before_title);
	write_text(render, title);
	putc('\n', render->out);
	write_part(render, &page_before_body);
	if (self->pending)
		open_part(render, self->pending);
	self->pending = NULL;
}

/// Before anything but a line of the list.
static void begin_block(struct render *render)
{
	begin_page(render, "condprof report");
	if (html(render)->list_open)
		fputs("</dl>\n", render->out);
	html(render)->list_open = false;
}

static void html_begin(struct render *render)
{
	render->style = (struct render_style){0}; // a page is no terminal, and UTF-8 whatever the locale
}

static void html_say(struct render *render, const char *text, bool heading)
{
	if (heading)
		begin_page(render, text);
	begin_block(render);
	fputs(heading ? "<h1>" : "<p class=\"say\">", render->out);
	write_text(render, text);
	fputs(heading ? "</h1>\n" : "</p>\n", render->out);
}

static void html_finish(struct render *render)
{
	begin_block(render);
	write_part(render, &page_before_version);
	fputs(VERSION "\n", render->out);
	write_part(render, &page_end);
}

// --- cells -----------------------------------------------------------------------------------------------------------

static const char *emphasis_class(struct cell cell)
{
	static const char *const classes[] = {
		[EMPHASIS_NONE] = "",   [EMPHASIS_STRONG] = "strong", [EMPHASIS_GOOD] = "good",
		[EMPHASIS_BAD] = "bad", [EMPHASIS_FAINT] = "faint",
	};

	return cell.kind == CELL_NULL ? "faint" : classes[cell.emphasis];
}

/// Left to right: 0 ns, the axis, what is beyond the last bucket; the outer two with a gap.
static void write_chart(FILE *out, const struct histogram_cell *histogram)
{
	int width = histogram->axis_last - histogram->axis_first + 1;
	int64_t highest = MAX(histogram->zero, histogram->overflow);

	for (size_t i = 0; i < histogram->n; i++)
		highest = MAX(highest, histogram->counts[i]);
	fprintf(out,
		"<svg class=\"chart\" viewBox=\"-2 0 %d %d\" preserveAspectRatio=\"none\" data-h=\"%d;%" PRId64
		";%" PRId64 ";",
		width + 4, CHART_HEIGHT, histogram->first, histogram->zero, histogram->overflow);
	for (size_t i = 0; i < histogram->n; i++)
		fprintf(out, "%s%" PRId64, i > 0 ? "," : "", histogram->counts[i]);
	fputs("\"><path d=\"", out);
	for (int64_t i = -1; i <= (int64_t)histogram->n; i++) {
		bool inside = i >= 0 && i < (int64_t)histogram->n;
		int64_t count = inside ? histogram->counts[i] : i < 0 ? histogram->zero : histogram->overflow;
		int64_t x = inside ? histogram->first + i - histogram->axis_first : i < 0 ? -2 : width + 1;
		double height = (double)count / (double)highest * CHART_HEIGHT;

		if (count > 0)
			fprintf(out, "M%" PRId64 " %dv-%.3gh1V%d", x, CHART_HEIGHT, MAX(height, 1), CHART_HEIGHT);
	}
	fputs("\"/></svg>", out);
}

static void write_bar(FILE *out, const char *kind, double share)
{
	fprintf(out,
		"<svg class=\"bar\" viewBox=\"0 0 %d 1\" preserveAspectRatio=\"none\">"
		"<rect class=\"%s\" width=\"%.4g\" height=\"1\"/></svg>",
		BAR_UNITS, kind, MIN(MAX(share, 0), 1) * BAR_UNITS);
}

/// Only figures have bars, and not those of streams, where there are too many.
static void write_cell(struct render *render, const struct field *field, struct cell cell, bool drawn)
{
	CLEANUP_FREE char *text = cell.kind == CELL_HISTOGRAM ? NULL : format_cell(cell, field, &render->style);

	if (cell.kind == CELL_HISTOGRAM) {
		write_chart(render->out, cell.histogram);
		return;
	}
	if (!text) {
		render->failed = true;
		return;
	}
	bool bar = cell.kind == CELL_SHARE && drawn && isfinite(cell.number);
	if (bar)
		write_bar(render->out, "share", cell.number);
	fputs(bar ? "<span class=\"p\">" : "", render->out);
	write_escaped(render->out, text);
	fputs(bar ? "</span>" : "", render->out);
}

static void write_raw(FILE *out, struct cell cell)
{
	char text[FORMAT_SIZE];

	switch (cell.kind) {
	case CELL_COUNT:
	case CELL_DURATION:
	case CELL_MOMENT:
		fprintf(out, "%" PRId64, cell.integer);
		break;
	case CELL_FLAG:
		putc(cell.flag ? '1' : '0', out);
		break;
	case CELL_NUMBER:
	case CELL_SHARE:
		if (cell.kind == CELL_NUMBER || isfinite(cell.number)) // the script reads Infinity as a number
			fputs(format_number(cell.number, text), out);
		break;
	case CELL_NULL:
	case CELL_TEXT:
	case CELL_HISTOGRAM:
		break;
	}
}

// --- groups ----------------------------------------------------------------------------------------------------------

/// What a value of LAYOUT_BARS is a part of: of a group's own value the group's name.
static const char *part_of(struct render *render, const struct field *field)
{
	return field->total ? render_scope(render)->group->field.name : field->name;
}

static void add_bar(struct render *render, const struct field *field, struct cell cell)
{
	struct html_render *self = html(render);

	if (self->n_bars == self->bars_capacity) {
		size_t capacity = MAX(2 * self->bars_capacity, 16U);
		struct bar *bars = realloc(self->bars, capacity * sizeof(*bars));

		if (!bars) {
			render->failed = true;
			return;
		}
		self->bars = bars;
		self->bars_capacity = capacity;
	}
	self->bars[self->n_bars++] = (struct bar){
		.depth = MAX(self->bars_depth - 1 - field->total, 0),
		.part = part_of(render, field),
		.title = title_of(field),
		.known = cell.kind == CELL_DURATION,
		.ns = cell.kind == CELL_DURATION ? cell.integer : 0,
	};
}

static void html_values(struct render *render, const struct field *fields, size_t n, const struct cell *cells)
{
	for (size_t i = 0; i < n; i++) {
		if (!title_of(&fields[i]))
			continue;
		if (html(render)->bars_depth > 0) {
			add_bar(render, &fields[i], cells[i]);
			continue;
		}
		begin_page(render, "condprof report");
		const char *emphasis = emphasis_class(cells[i]);

		write_title(render->out, html(render)->list_open ? "<div><dt>" : "<dl>\n<div><dt>",
			    title_of(&fields[i]), "</dt><dd");
		if (*emphasis)
			fprintf(render->out, " class=\"%s\"", emphasis);
		putc('>', render->out);
		html(render)->list_open = true;
		write_cell(render, &fields[i], cells[i], true);
		fputs("</dd></div>\n", render->out);
	}
}

static double share_of_whole(const struct html_render *self, const struct bar *bar)
{
	return bar->known && self->whole_ns > 0 ? MIN(MAX((double)bar->ns / (double)self->whole_ns, 0), 1) : 0;
}

/// The next line that is no part of line `i`.
static size_t after_parts(const struct html_render *self, size_t i)
{
	size_t next = i + 1;

	while (next < self->n_bars && self->bars[next].depth > self->bars[i].depth)
		next++;
	return next;
}

/// Whether the lines from `first` to before `end`, their own parts left out, are `whole_ns` together.
static bool adds_up(const struct html_render *self, size_t first, size_t end, int64_t whole_ns)
{
	int64_t sum = 0;

	for (size_t i = first; i < end; i = after_parts(self, i))
		if (!self->bars[i].known || self->bars[i].ns < 0 || __builtin_add_overflow(sum, self->bars[i].ns, &sum))
			return false;
	return end > first && sum == whole_ns;
}

/// Whether line `i` is drawn as its parts.
static bool is_taken_apart(const struct html_render *self, size_t i)
{
	return adds_up(self, i + 1, after_parts(self, i), self->bars[i].ns);
}

static void write_segment(FILE *out, const struct bar *bar, double x, double width)
{
	char duration[FORMAT_SIZE], share[FORMAT_SIZE];

	fprintf(out, "<rect class=\"%s\" x=\"%.6g\" width=\"%.6g\" height=\"1\">", bar->part, x * STACK_UNITS,
		width * STACK_UNITS);
	write_title(out, "<title>", bar->title, ": ");
	fprintf(out, "%s, ", format_duration(bar->ns, false, false, duration));
	write_escaped(out, format_share(width, share));
	fputs("</title></rect>", out);
}

/// The whole, which is the first line, as the parts that all other lines are, side by side, as deep as they add up.
static void write_stack(struct render *render)
{
	const struct html_render *self = html(render);
	double x = 0;

	if (self->whole_ns <= 0 || self->n_bars < 2 || !adds_up(self, 1, self->n_bars, self->whole_ns))
		return;
	fprintf(render->out,
		"<svg class=\"stack\" viewBox=\"0 0 %d 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
		STACK_UNITS);
	for (size_t i = 1; i < self->n_bars; i = is_taken_apart(self, i) ? i + 1 : after_parts(self, i)) {
		double width = share_of_whole(self, &self->bars[i]);

		if (is_taken_apart(self, i) || width <= 0)
			continue;
		write_segment(render->out, &self->bars[i], x, width);
		x += width;
	}
	fputs("</svg>\n", render->out);
}

static void write_bars(struct render *render)
{
	struct html_render *self = html(render);
	static const struct field field = {.number = true};
	char share[FORMAT_SIZE];

	write_stack(render);
	fprintf(render->out, "<table class=\"bars\" data-whole=\"%" PRId64 "\">\n<tbody>\n", MAX(self->whole_ns, 0));
	for (size_t i = 0; i < self->n_bars; i++) {
		const struct bar *bar = &self->bars[i];
		bool shared = bar->known && self->whole_ns > 0;

		fprintf(render->out, "<tr class=\"d%d\"><th scope=\"row\"><i class=\"%s\"></i>", MIN(bar->depth, 3),
			bar->part);
		write_title(render->out, "", bar->title, "</th>");
		fprintf(render->out, "<td class=\"n%s\">", bar->known ? "" : " faint");
		write_cell(render, &field, bar->known ? cell_duration(bar->ns) : cell_null(), false);
		fputs("</td><td class=\"n\">", render->out);
		write_escaped(render->out, shared ? format_share(share_of_whole(self, bar), share) : "");
		fputs("</td><td class=\"b\">", render->out);
		if (shared)
			write_bar(render->out, bar->part, share_of_whole(self, bar));
		fputs("</td></tr>\n", render->out);
	}
	fputs("</tbody>\n</table>\n", render->out);
	self->n_bars = 0;
}

static void html_open(struct render *render, const struct group *group)
{
	struct html_render *self = html(render);

	if (group->layout == LAYOUT_NONE)
		return;
	if (group->layout == LAYOUT_PAGE && !self->begun) {
		self->pending = group;
		return;
	}
	if (self->bars_depth == 0)
		begin_block(render);
	if (group->layout == LAYOUT_PAGE)
		open_part(render, group);
	else if (self->bars_depth == 0 && group->field.title)
		write_title(render->out, "<h3>", group->field.title, "</h3>\n");
	if (group->layout == LAYOUT_BARS && ++self->bars_depth == 1)
		self->whole_ns = group->whole_ns;
}

static void html_close(struct render *render, const struct group *group)
{
	struct html_render *self = html(render);

	if (group->layout == LAYOUT_PAGE) {
		begin_block(render);
		fputs("</section>\n", render->out);
	}
	if (group->layout == LAYOUT_BARS && --self->bars_depth == 0)
		write_bars(render);
}

// --- tables ----------------------------------------------------------------------------------------------------------

/// Classes of a column's cells: a figure, how soon it is left out of a narrow window, only for a closer look. Names are
/// wrapped in a narrow window; so they are not left out as soon as on a terminal. @param fit false: without how it is
/// left out, which the script takes from the column's head
static void write_classes(FILE *out, const struct field *field, struct cell cell, bool fit)
{
	static const int limits[] = {0, 2, 5, 8}; ///< of `spare`: above it the next step
	const char *emphasis = emphasis_class(cell);
	char classes[48] = "";
	int step = 0;

	while (step < (int)ARRAY_SIZE(limits) && field->spare > limits[step])
		step++;
	if (!field->number && step < (int)ARRAY_SIZE(limits))
		step = 0;
	int length =
		snprintf(classes, sizeof(classes), "%s%s", field->number ? " n" : "", fit && field->aside ? " x" : "");
	if (fit && step > 0)
		length += snprintf(classes + length, sizeof(classes) - (size_t)length, " s%d", step);
	if (*emphasis)
		snprintf(classes + length, sizeof(classes) - (size_t)length, " %s", emphasis);
	if (*classes)
		fprintf(out, " class=\"%s\"", classes + 1);
}

static bool is_nested(const struct render *render)
{
	return render->depth > 1 && render->scopes[render->depth - 1].kind == SCOPE_TABLE;
}

static void begin_table(struct render *render, const struct table *table)
{
	struct html_render *self = html(render);

	begin_block(render);
	if (*title_of(&table->field))
		write_title(render->out, "<h3>", title_of(&table->field), "</h3>\n");
	self->table = table;
	self->in_noscript = table->stream || table->rows > ROWS_AT_ONCE;
	fprintf(render->out, "%s<div class=\"scroll\"><table class=\"%s\"", self->in_noscript ? "<noscript>" : "",
		table->main ? "main" : "small");
	if (table->main)
		fprintf(render->out, " data-name=\"%s\"", table->field.name);
	fputs(">\n<thead><tr>", render->out);
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct field *field = &table->columns[i];

		if (!title_of(field))
			continue;
		fputs("<th scope=\"col\"", render->out);
		write_classes(render->out, field, cell_flag(true), true);
		if (table->main)
			fprintf(render->out, " data-c=\"%zu\" data-name=\"%s\"", i, field->name ? field->name : "");
		write_title(render->out, ">", title_of(field), "</th>");
	}
	fputs("</tr></thead>\n<tbody>\n", render->out);
}

static void html_table_open(struct render *render, const struct table *table)
{
	(void)render;
	assert(table->stream || table->n_nested == 0 || !table->field.title);
}

/// Like the text output: titles before the values that need one, what is null left out.
static void nested_row(struct render *render, const struct table *table, const struct cell *cells)
{
	struct html_render *self = html(render);
	size_t columns = 0;

	for (size_t i = 0; i < self->table->n_columns; i++)
		columns += title_of(&self->table->columns[i]) != NULL;
	if (!self->details_open)
		fprintf(render->out, "<tr class=\"more\"><td colspan=\"%zu\">", columns);
	self->details_open = true;
	fputs("<p>", render->out);
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct field *field = &table->columns[i];
		const char *word = cells[i].kind != CELL_FLAG ? "" : cells[i].flag ? field->yes : field->no;

		if (!field->title || cells[i].kind == CELL_NULL || (cells[i].kind == CELL_FLAG && word && !*word))
			continue;
		write_title(render->out, "<span>", field->title, *field->title ? " " : "");
		write_cell(render, field, cells[i], false);
		fputs("</span> ", render->out);
	}
	fputs("</p>", render->out);
}

static void html_row(struct render *render, const struct table *table, const struct cell *cells)
{
	struct html_render *self = html(render);

	if (!title_of(&table->field))
		return;
	if (is_nested(render)) {
		if (self->table)
			nested_row(render, table, cells);
		return;
	}
	if (render_scope(render)->rows == 0)
		begin_table(render, table);
	self->details_open = false;
	fputs(table->main ? "<tr data-v=\"" : "<tr", render->out);
	for (size_t i = 0; table->main && i < table->n_columns; i++) {
		fputs(i > 0 ? "," : "", render->out);
		write_raw(render->out, cells[i]);
	}
	fputs(table->main ? "\">" : ">", render->out);
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!title_of(&table->columns[i]))
			continue;
		fputs("<td", render->out);
		write_classes(render->out, &table->columns[i], cells[i], !table->main);
		putc('>', render->out);
		write_cell(render, &table->columns[i], cells[i], !table->stream);
	}
	putc('\n', render->out);
}

static void html_table_close(struct render *render, const struct table *table)
{
	struct html_render *self = html(render);

	if (!title_of(&table->field) || is_nested(render))
		return;
	if (self->table)
		fprintf(render->out, "</tbody>\n</table></div>%s\n", self->in_noscript ? "</noscript>" : "");
	else if (table->empty)
		html_say(render, table->empty, false);
	self->table = NULL;
}

static void html_clear(struct render *render)
{
	free(html(render)->bars);
}

const struct backend html_backend = {
	.size = sizeof(struct html_render),
	.begin = html_begin,
	.open = html_open,
	.close = html_close,
	.values = html_values,
	.table_open = html_table_open,
	.row = html_row,
	.table_close = html_table_close,
	.say = html_say,
	.finish = html_finish,
	.clear = html_clear,
};
