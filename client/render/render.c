// SPDX-License-Identifier: GPL-3.0-or-later
//
// The outputs' common front: picks the output, keeps what is open, and holds views to the order of calls.
#include "config.h"

#include "client/render/backend.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio_ext.h>

const char *const output_names[OUTPUT_KINDS + 1] = {
	[OUTPUT_TEXT] = "text",
	[OUTPUT_JSON] = "json",
	[OUTPUT_CSV] = "csv",
	[OUTPUT_HTML] = "html",
	[OUTPUT_PROMETHEUS] = "prometheus",
};

static const struct backend *const backends[] = {
	[OUTPUT_TEXT] = &text_backend, [OUTPUT_JSON] = &json_backend, [OUTPUT_CSV] = &csv_backend,
	[OUTPUT_HTML] = &html_backend, [OUTPUT_PROMETHEUS] = NULL,
};
static_assert(ARRAY_SIZE(backends) == OUTPUT_KINDS, "a row for every output");

static const struct group document = {.layout = LAYOUT_LINES};

struct render *render_new(enum output_kind kind, FILE *out, const struct render_style *style)
{
	const struct backend *backend = backends[kind];
	struct render *render = backend ? calloc(1, backend->size) : NULL;

	if (!render)
		return NULL;
	render->backend = backend;
	render->kind = kind;
	render->out = out;
	__fsetlocking(out, FSETLOCKING_BYCALLER); // an output belongs to one thread, and writes very many small pieces
	render->style = *style;
	render->scopes[0] = (struct scope){.kind = SCOPE_GROUP, .group = &document};
	backend->begin(render);
	return render;
}

struct render *render_free(struct render *render)
{
	if (!render)
		return NULL;
	render->backend->clear(render);
	free(render);
	return NULL;
}

int render_finish(struct render *render)
{
	assert(render->depth == 0);
	render->backend->finish(render);
	errno = 0;
	if (fflush(render->out) != 0 || ferror(render->out))
		return errno ? -errno : -EIO;
	return render->failed ? -ENOMEM : 0;
}

static void push(struct render *render, struct scope scope)
{
	assert(render->depth + 1 < RENDER_DEPTH_MAX);
	render->scopes[++render->depth] = scope;
}

void render_open(struct render *render, const struct group *group)
{
	assert(render_scope(render)->kind == SCOPE_GROUP);
	render->backend->open(render, group);
	push(render, (struct scope){.kind = SCOPE_GROUP, .group = group});
}

void render_close(struct render *render)
{
	const struct group *group = render_scope(render)->group;

	assert(render->depth > 0 && render_scope(render)->kind == SCOPE_GROUP);
	render->depth--;
	render->backend->close(render, group);
}

void render_value(struct render *render, const struct field *field, struct cell cell)
{
	render_values(render, field, 1, &cell);
}

void render_values(struct render *render, const struct field *fields, size_t n, const struct cell *cells)
{
	assert(render_scope(render)->kind == SCOPE_GROUP);
	render->backend->values(render, fields, n, cells);
}

static bool is_nested_in(const struct table *table, const struct table *outer)
{
	for (size_t i = 0; i < outer->n_nested; i++)
		if (&outer->nested[i] == table)
			return true;
	return false;
}

void render_table_open(struct render *render, const struct table *table)
{
	const struct scope *scope = render_scope(render);

	assert(scope->kind == SCOPE_GROUP || (scope->rows > 0 && is_nested_in(table, scope->table)));
	render->backend->table_open(render, table);
	push(render, (struct scope){.kind = SCOPE_TABLE, .table = table});
}

void render_row(struct render *render, const struct cell *cells)
{
	struct scope *scope = render_scope(render);

	assert(scope->kind == SCOPE_TABLE);
	render->backend->row(render, scope->table, cells);
	scope->rows++;
}

void render_table_close(struct render *render)
{
	const struct table *table = render_scope(render)->table;

	assert(render_scope(render)->kind == SCOPE_TABLE);
	render->backend->table_close(render, table);
	render->depth--;
}

static void say(struct render *render, bool heading, const char *format, va_list arguments) PRINTF_LIKE(3, 0);
static void say(struct render *render, bool heading, const char *format, va_list arguments)
{
	CLEANUP_FREE char *text = NULL;

	if (!render_for_people(render))
		return;
	if (vasprintf(&text, format, arguments) < 0) {
		text = NULL;
		render->failed = true;
		return;
	}
	render->backend->say(render, text, heading);
}

void render_heading(struct render *render, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(render, true, format, arguments);
	va_end(arguments);
}

void render_say(struct render *render, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(render, false, format, arguments);
	va_end(arguments);
}

bool render_for_people(const struct render *render)
{
	return render->kind == OUTPUT_TEXT || render->kind == OUTPUT_HTML;
}

bool render_is_whole(const struct render *render)
{
	return output_is_whole(render->kind);
}

const struct render_style *render_style(const struct render *render)
{
	return &render->style;
}
