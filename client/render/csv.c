// SPDX-License-Identifier: GPL-3.0-or-later
//
// CSV (RFC 4180, but with plain line feeds). A document with a main table is that table and nothing else; one without
// is a list of dotted names and values. Figures are those of JSON; what is null is empty; a row's own tables are JSON
// in a cell, so that nothing is lost. Control characters in names are escaped: a CSV file is looked at on terminals
// too.
#include "config.h"

#include "client/render/backend.h"
#include "client/render/format.h"
#include "client/render/width.h"

#include <assert.h>
#include <math.h>
#include <stdio_ext.h>
#include <string.h>

#define NESTED_MAX 8U

/// A text that grows.
struct memory {
	FILE *file;
	char *text;
	size_t size;
};

struct csv_render {
	struct render base;
	struct memory values; ///< written in the end, when there was no main table
	size_t main_depth;    ///< of the main table while it is open, else 0
	bool main_seen;
	bool row_open;
	struct memory nested[NESTED_MAX]; ///< the open row's own tables
	struct memory *current;           ///< the one of them that is open
};

static struct csv_render *csv(struct render *render)
{
	return (struct csv_render *)render;
}

static bool memory_open(struct render *render, struct memory *memory)
{
	memory->file = open_memstream(&memory->text, &memory->size);
	if (memory->file)
		__fsetlocking(memory->file, FSETLOCKING_BYCALLER);
	else
		render->failed = true;
	return memory->file;
}

static void memory_clear(struct memory *memory)
{
	if (memory->file)
		fclose(memory->file);
	free(memory->text);
	*memory = (struct memory){0};
}

static void write_quoted(FILE *out, const char *text)
{
	if (!text[strcspn(text, "\",\n\r")]) {
		fputs(text, out);
		return;
	}
	putc('"', out);
	for (;;) {
		size_t length = strcspn(text, "\"");

		fwrite(text, 1, length, out);
		if (!text[length])
			break;
		fputs("\"\"", out);
		text += length + 1;
	}
	putc('"', out);
}

static void write_cell(struct render *render, FILE *out, struct cell cell)
{
	char text[FORMAT_SIZE];

	if (cell.kind == CELL_NULL || cell.kind == CELL_HISTOGRAM ||
	    (cell.kind == CELL_SHARE && !isfinite(cell.number)))
		return;
	if (cell.kind == CELL_NUMBER) {
		fputs(format_number(cell.number, text), out);
	} else if (cell.kind == CELL_MOMENT) {
		fputs(format_rfc3339(cell.integer, text), out);
	} else if (cell.kind == CELL_TEXT) {
		CLEANUP_FREE char *clean = text_clean(cell.text);

		if (clean)
			write_quoted(out, clean);
		else
			render->failed = true;
	} else {
		json_write_cell(out, cell);
	}
}

/// The dotted name of what is open: session.time.processing, gaps[0].
static void write_path(struct render *render, FILE *out)
{
	for (size_t i = 1; i <= render->depth; i++) {
		const struct scope *scope = &render->scopes[i];

		if (scope->kind == SCOPE_TABLE)
			fprintf(out, "%s[%zu].", scope->table->field.name, scope->rows);
		else if (scope->group->field.name)
			fprintf(out, "%s.", scope->group->field.name);
	}
}

static void write_value(struct render *render, const struct field *field, struct cell cell)
{
	FILE *out = csv(render)->values.file;

	if (!field->name || !out)
		return;
	write_path(render, out);
	fprintf(out, "%s,", field->name);
	write_cell(render, out, cell);
	putc('\n', out);
}

static void csv_values(struct render *render, const struct field *fields, size_t n, const struct cell *cells)
{
	for (size_t i = 0; i < n; i++)
		write_value(render, &fields[i], cells[i]);
}

static void csv_begin(struct render *render)
{
	memory_open(render, &csv(render)->values);
}

static void write_header(FILE *out, const struct table *table)
{
	const char *comma = "";

	for (size_t i = 0; i < table->n_columns; i++) {
		if (!table->columns[i].name)
			continue;
		fprintf(out, "%s%s", comma, table->columns[i].name);
		comma = ",";
	}
	for (size_t i = 0; i < table->n_nested; i++, comma = ",")
		fprintf(out, "%s%s", comma, table->nested[i].field.name);
	putc('\n', out);
}

static void csv_table_open(struct render *render, const struct table *table)
{
	struct csv_render *self = csv(render);
	const struct scope *scope = render_scope(render);

	if (table->main) {
		assert(table->n_nested <= NESTED_MAX);
		self->main_seen = true;
		self->main_depth = render->depth + 1;
		write_header(render->out, table);
	} else if (self->main_depth > 0) {
		self->current = &self->nested[table - scope->table->nested];
		if (memory_open(render, self->current))
			putc('[', self->current->file);
	}
}

static void end_row(struct render *render, const struct table *table)
{
	struct csv_render *self = csv(render);

	if (!self->row_open)
		return;
	for (size_t i = 0; i < table->n_nested; i++) {
		putc(',', render->out);
		write_quoted(render->out, self->nested[i].text ? self->nested[i].text : "[]");
		memory_clear(&self->nested[i]);
	}
	putc('\n', render->out);
	self->row_open = false;
}

static void main_row(struct render *render, const struct table *table, const struct cell *cells)
{
	const char *comma = "";

	end_row(render, table);
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!table->columns[i].name)
			continue;
		fputs(comma, render->out);
		write_cell(render, render->out, cells[i]);
		comma = ",";
	}
	csv(render)->row_open = true;
}

static void nested_row(struct render *render, const struct table *table, const struct cell *cells)
{
	FILE *out = csv(render)->current->file;
	const char *comma = render_scope(render)->rows > 0 ? ",{" : "{";

	if (!out)
		return;
	for (size_t i = 0; i < table->n_columns; i++) {
		if (!table->columns[i].name)
			continue;
		fputs(comma, out);
		json_write_string(out, table->columns[i].name);
		putc(':', out);
		json_write_cell(out, cells[i]);
		comma = ",";
	}
	putc('}', out);
}

static void csv_row(struct render *render, const struct table *table, const struct cell *cells)
{
	struct csv_render *self = csv(render);

	if (self->main_depth == render->depth) {
		main_row(render, table, cells);
	} else if (self->main_depth > 0) {
		nested_row(render, table, cells);
	} else {
		csv_values(render, table->columns, table->n_columns, cells);
	}
}

static void csv_table_close(struct render *render, const struct table *table)
{
	struct csv_render *self = csv(render);

	if (self->main_depth == render->depth) {
		end_row(render, table);
		self->main_depth = 0;
	} else if (self->main_depth > 0 && self->current->file) {
		putc(']', self->current->file);
		fclose(self->current->file);
		self->current->file = NULL;
	}
}

static void csv_group(struct render *render, const struct group *group)
{
	(void)render;
	(void)group;
}

static void csv_say(struct render *render, const char *text, bool heading)
{
	(void)render;
	(void)text;
	(void)heading;
}

static void csv_finish(struct render *render)
{
	struct csv_render *self = csv(render);

	if (self->main_seen || !self->values.file)
		return;
	fclose(self->values.file);
	self->values.file = NULL;
	fputs("name,value\n", render->out);
	fwrite(self->values.text, 1, self->values.size, render->out);
}

static void csv_clear(struct render *render)
{
	memory_clear(&csv(render)->values);
	for (size_t i = 0; i < NESTED_MAX; i++)
		memory_clear(&csv(render)->nested[i]);
}

const struct backend csv_backend = {
	.size = sizeof(struct csv_render),
	.begin = csv_begin,
	.open = csv_group,
	.close = csv_group,
	.values = csv_values,
	.table_open = csv_table_open,
	.row = csv_row,
	.table_close = csv_table_close,
	.say = csv_say,
	.finish = csv_finish,
	.clear = csv_clear,
};
