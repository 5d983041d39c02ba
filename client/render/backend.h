// SPDX-License-Identifier: GPL-3.0-or-later
/// What an output has to be able to do. render.c keeps the nesting and calls these; an output never sees a call that
/// does not fit what is open.
#ifndef CONDPROF_RENDER_BACKEND_H
#define CONDPROF_RENDER_BACKEND_H

#include "client/render/render.h"

#define RENDER_DEPTH_MAX 12U

enum scope_kind { SCOPE_GROUP, SCOPE_TABLE };

/// A group or table that is open.
struct scope {
	enum scope_kind kind;
	union {
		const struct group *group;
		const struct table *table;
	};
	size_t rows; ///< of a table, so far
};

struct backend {
	size_t size; ///< of the output's struct, which begins with a struct render
	void (*begin)(struct render *render);
	void (*open)(struct render *render, const struct group *group);
	void (*close)(struct render *render, const struct group *group);
	void (*values)(struct render *render, const struct field *fields, size_t n, const struct cell *cells);
	void (*table_open)(struct render *render, const struct table *table);
	void (*row)(struct render *render, const struct table *table, const struct cell *cells);
	void (*table_close)(struct render *render, const struct table *table);
	void (*say)(struct render *render, const char *text, bool heading);
	void (*finish)(struct render *render);
	void (*clear)(struct render *render); ///< frees what the output holds
};

struct render {
	const struct backend *backend;
	enum output_kind kind;
	FILE *out;
	struct render_style style;
	bool failed; ///< out of memory somewhere on the way
	size_t depth;
	struct scope scopes[RENDER_DEPTH_MAX]; ///< [0] is the document
};

extern const struct backend text_backend, json_backend, csv_backend, html_backend;

static inline struct scope *render_scope(struct render *render)
{
	return &render->scopes[render->depth];
}

/// One value as JSON: also of use to CSV, whose cells may hold a table.
void json_write_string(FILE *out, const char *text);
void json_write_cell(FILE *out, struct cell cell);

#endif
