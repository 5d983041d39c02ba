// SPDX-License-Identifier: GPL-3.0-or-later
//
// JSON, written as it comes: a member of the document a line, and a row of its tables a line. Names are those of the
// fields; fields without one are left out. Always valid: strings become UTF-8, and a number that JSON has no word for (a
// counter may be infinite) a string.
#include "config.h"

#include "client/render/backend.h"
#include "client/render/format.h"
#include "proto/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void write_escaped(FILE *out, uint32_t c)
{
	static const char short_names[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	for (const char *name = short_names; *name; name += 2) {
		if (c != (unsigned char)*name)
			continue;
		fprintf(out, "\\%c", name[1]);
		return;
	}
	fprintf(out, "\\u%04x", c);
}

/// Letters, digits and the like, as they are most of all.
static size_t plain_length(const char *text)
{
	size_t length = 0;

	while (text[length] >= 0x20 && text[length] < 0x7f && text[length] != '"' && text[length] != '\\')
		length++;
	return length;
}

void json_write_string(FILE *out, const char *text)
{
	size_t left = strlen(text);

	putc('"', out);
	while (left > 0) {
		uint32_t c;
		size_t length = plain_length(text);

		if (length > 0) {
			fwrite(text, 1, length, out);
			text += length;
			left -= length;
			continue;
		}
		length = utf8_character(text, left, &c);

		if (length == 0) {
			fputs("\\ufffd", out);
			length = 1;
		} else if (c < 0x20 || c == '"' || c == '\\' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029) {
			write_escaped(out, c);
		} else {
			fwrite(text, 1, length, out);
		}
		text += length;
		left -= length;
	}
	putc('"', out);
}

void json_write_cell(FILE *out, struct cell cell)
{
	char text[FORMAT_SIZE];

	switch (cell.kind) {
	case CELL_NULL:
	case CELL_HISTOGRAM:
		fputs("null", out);
		break;
	case CELL_TEXT:
		json_write_string(out, cell.text);
		break;
	case CELL_FLAG:
		fputs(cell.flag ? "true" : "false", out);
		break;
	case CELL_COUNT:
	case CELL_DURATION:
		fprintf(out, "%" PRId64, cell.integer);
		break;
	case CELL_NUMBER:
		fprintf(out, isfinite(cell.number) ? "%s" : "\"%s\"", format_number(cell.number, text));
		break;
	case CELL_SHARE: // of nothing: not known
		fputs(isfinite(cell.number) ? format_number(cell.number, text) : "null", out);
		break;
	case CELL_MOMENT:
		fprintf(out, "\"%s\"", format_rfc3339(cell.integer, text));
		break;
	}
}

/// The brackets that are open. A group without a name has none: its members stand among those around it.
struct level {
	size_t items;
	bool lines; ///< an item a line
	bool row;   ///< a table's row, ended by the next or with the table
};

struct json_render {
	struct render base;
	size_t depth;
	struct level levels[2 * RENDER_DEPTH_MAX];
};

static struct level *level(struct render *render)
{
	struct json_render *json = (struct json_render *)render;

	return &json->levels[json->depth];
}

static void push(struct render *render, char bracket, struct level new)
{
	((struct json_render *)render)->depth++;
	*level(render) = new;
	putc(bracket, render->out);
}

static void pop(struct render *render, char bracket)
{
	if (level(render)->lines && level(render)->items > 0)
		fprintf(render->out, "\n%*s", 2 * (int)(((struct json_render *)render)->depth - 1), "");
	((struct json_render *)render)->depth--;
	putc(bracket, render->out);
}

/// Comma and space before an item, and its name.
static void begin_item(struct render *render, const char *name)
{
	if (level(render)->items > 0)
		putc(',', render->out);
	if (level(render)->lines)
		fprintf(render->out, "\n%*s", 2 * (int)((struct json_render *)render)->depth, "");
	else if (level(render)->items > 0)
		putc(' ', render->out);
	level(render)->items++;
	if (!name)
		return;
	json_write_string(render->out, name);
	fputs(": ", render->out);
}

static void write_member(struct render *render, const char *name, struct cell cell)
{
	if (!name)
		return;
	begin_item(render, name);
	json_write_cell(render->out, cell);
}

/// Bytes of the name's prefix with its point; 0: it has none.
static size_t prefix_of(const struct field *field)
{
	const char *point = field->name ? strchr(field->name, '.') : NULL;

	return point ? (size_t)(point + 1 - field->name) : 0;
}

/// The fields from the first on that share its prefix make an object. @return how many they are
static size_t write_object(struct render *render, const struct field *fields, size_t n, const struct cell *cells)
{
	size_t prefix = prefix_of(fields), count = 0;
	bool known = false;
	char name[64];

	for (; count < n && prefix_of(&fields[count]) == prefix &&
	       strncmp(fields[count].name, fields[0].name, prefix) == 0;
	     count++)
		known = known || cells[count].kind != CELL_NULL;
	snprintf(name, sizeof(name), "%.*s", (int)prefix - 1, fields[0].name);
	if (!known) {
		write_member(render, name, cell_null());
		return count;
	}
	begin_item(render, name);
	push(render, '{', (struct level){0});
	for (size_t i = 0; i < count; i++)
		write_member(render, fields[i].name + prefix, cells[i]);
	pop(render, '}');
	return count;
}

static void json_values(struct render *render, const struct field *fields, size_t n, const struct cell *cells)
{
	for (size_t i = 0; i < n;) {
		if (prefix_of(&fields[i]) > 0) {
			i += write_object(render, fields + i, n - i, cells + i);
		} else {
			write_member(render, fields[i].name, cells[i]);
			i++;
		}
	}
}

static void json_begin(struct render *render)
{
	push(render, '{', (struct level){.lines = true});
	write_member(render, "schema", cell_count(1));
}

static void json_open(struct render *render, const struct group *group)
{
	if (!group->field.name)
		return;
	begin_item(render, group->field.name);
	push(render, '{', (struct level){0});
}

static void json_close(struct render *render, const struct group *group)
{
	if (group->field.name)
		pop(render, '}');
}

static void json_table_open(struct render *render, const struct table *table)
{
	begin_item(render, table->field.name);
	push(render, '[', (struct level){.lines = ((struct json_render *)render)->depth == 1});
}

static void end_row(struct render *render)
{
	if (level(render)->row)
		pop(render, '}');
}

static void json_row(struct render *render, const struct table *table, const struct cell *cells)
{
	end_row(render);
	begin_item(render, NULL);
	if (table->plain) {
		json_write_cell(render->out, cells[0]);
		return;
	}
	push(render, '{', (struct level){.row = true});
	json_values(render, table->columns, table->n_columns, cells);
}

static void json_table_close(struct render *render, const struct table *table)
{
	(void)table;
	end_row(render);
	pop(render, ']');
}

static void json_say(struct render *render, const char *text, bool heading)
{
	(void)render;
	(void)text;
	(void)heading;
}

static void json_finish(struct render *render)
{
	pop(render, '}');
	putc('\n', render->out);
}

static void json_clear(struct render *render)
{
	(void)render;
}

const struct backend json_backend = {
	.size = sizeof(struct json_render),
	.begin = json_begin,
	.open = json_open,
	.close = json_close,
	.values = json_values,
	.table_open = json_table_open,
	.row = json_row,
	.table_close = json_table_close,
	.say = json_say,
	.finish = json_finish,
	.clear = json_clear,
};
