// SPDX-License-Identifier: GPL-3.0-or-later
/// Output of every kind behind one interface. A view says what it shows as typed cells in groups and tables, in order;
/// the output decides how that looks: aligned columns and readable units, JSON, CSV, a page. (Prometheus is none of
/// them: its document is not made of views. See exposition.h.)
///
/// A document is a tree: values and tables in groups, and a table's rows may have tables of their own (declared with
/// it). Groups, tables and fields are static descriptions that outlive the output. What has a name is for machines,
/// what has a title is for people; most has both. Rows are written as they come, except by the text output, which holds
/// a table's rows until it closes unless the table says that it is a stream. Strings are copied or written before a
/// call returns. Errors of the file stick, render_finish() tells.
#ifndef CONDPROF_RENDER_H
#define CONDPROF_RENDER_H

#include "proto/base.h"

#include <stdio.h>

enum output_kind { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV, OUTPUT_HTML, OUTPUT_PROMETHEUS, OUTPUT_KINDS };

/// Whether it takes a whole report, and no single view of it.
static inline bool output_is_whole(enum output_kind kind)
{
	return kind == OUTPUT_HTML || kind == OUTPUT_PROMETHEUS;
}

/// The name on the command line; NULL-terminated for nearest_word().
extern const char *const output_names[OUTPUT_KINDS + 1];

enum cell_kind {
	CELL_NULL, ///< never measured, not known, does not apply
	CELL_TEXT,
	CELL_FLAG,
	CELL_COUNT,    ///< an integer
	CELL_NUMBER,   ///< a double, e.g. a counter's value
	CELL_DURATION, ///< ns
	CELL_SHARE,    ///< 0 to 1
	CELL_MOMENT,   ///< ns since 1970, UTC
	CELL_HISTOGRAM ///< only on a page
};

/// Counts of durations: bucket i has those over 2^(i/8) ns, up to 2^((i+1)/8) ns. No count is negative.
struct histogram_cell {
	const int64_t *counts; ///< n of them, from bucket `first` on
	size_t n;
	int first;
	int64_t zero, overflow;    ///< 0 ns; longer than the last bucket there is
	int axis_first, axis_last; ///< the buckets that are drawn: all that have a count
};

/// How a person should take it; only the text output on a terminal shows it.
enum emphasis { EMPHASIS_NONE, EMPHASIS_STRONG, EMPHASIS_GOOD, EMPHASIS_BAD, EMPHASIS_FAINT };

struct cell {
	enum cell_kind kind;
	enum emphasis emphasis;
	union {
		const char *text;
		bool flag;
		int64_t integer;
		double number;
		const struct histogram_cell *histogram;
	};
};

static inline struct cell cell_null(void)
{
	return (struct cell){.kind = CELL_NULL};
}
/// NULL: a null cell.
static inline struct cell cell_text(const char *text)
{
	return text ? (struct cell){.kind = CELL_TEXT, .text = text} : cell_null();
}
static inline struct cell cell_flag(bool flag)
{
	return (struct cell){.kind = CELL_FLAG, .flag = flag};
}
static inline struct cell cell_count(int64_t count)
{
	return (struct cell){.kind = CELL_COUNT, .integer = count};
}
static inline struct cell cell_number(double number)
{
	return (struct cell){.kind = CELL_NUMBER, .number = number};
}
static inline struct cell cell_duration(int64_t ns)
{
	return (struct cell){.kind = CELL_DURATION, .integer = ns};
}
static inline struct cell cell_share(double share)
{
	return (struct cell){.kind = CELL_SHARE, .number = share};
}
static inline struct cell cell_moment(int64_t unix_ns)
{
	return (struct cell){.kind = CELL_MOMENT, .integer = unix_ns};
}
/// NULL: a null cell.
static inline struct cell cell_histogram(const struct histogram_cell *histogram)
{
	return histogram ? (struct cell){.kind = CELL_HISTOGRAM, .histogram = histogram} : cell_null();
}
/// `cell` where it is known, else null.
static inline struct cell cell_if(bool known, struct cell cell)
{
	return known ? cell : cell_null();
}
static inline struct cell cell_with(struct cell cell, enum emphasis emphasis)
{
	cell.emphasis = emphasis;
	return cell;
}

/// A value's or a column's two names.
struct field {
	/// For machines; NULL: only for people. In render_row() and render_values() fields that follow each other may
	/// share a prefix, reason.code and reason.text: in JSON an object, null when all of it is.
	const char *name;
	const char *title;    ///< for people; NULL: only for machines
	const char *yes, *no; ///< words of a CELL_FLAG for people; NULL: yes and no
	bool number;          ///< columns: aligned to the right
	int decimals; ///< people see a CELL_NUMBER with so many, so that a column lines up; 0: with those it has
	/// Columns: 0 stays, however narrow the terminal is; the higher, the sooner it is left out.
	int spare;
	/// Columns of a stream: cells for people are padded to this width. 0: the title's.
	int width;
	bool plus;  ///< people see a duration with its sign: +1.04 s
	bool total; ///< in LAYOUT_BARS: the value of the group itself
	/// On a page, which has more room: its title where `title` is NULL.
	const char *page;
	bool aside; ///< columns, on a page: not in the table, but where one looks closer at a row
};

enum layout {
	LAYOUT_LINES, ///< title and value, a line each
	LAYOUT_BARS,  ///< durations that add up: value, share of the whole, bar
	LAYOUT_NONE,  ///< nothing for people: its values stay among those around it
	LAYOUT_PAGE,  ///< a part of a page that can be gone to: its name is the place's, its title the heading
};

struct group {
	struct field field;
	enum layout layout;
	int64_t whole_ns; ///< LAYOUT_BARS, outermost: 100 %; 0: none
};

struct table {
	struct field field;
	const struct field *columns;
	size_t n_columns;
	const struct table *nested; ///< tables that may follow each row, in this order
	size_t n_nested;
	bool stream;       ///< many rows: written as they come
	size_t rows;       ///< how many will come, where that is known and may be many
	bool plain;        ///< one column: in JSON an array of values, not of objects
	bool main;         ///< what CSV is about: nothing else is written then
	const char *empty; ///< for people, instead of a table without rows; NULL: nothing at all
};

/// What the output may use.
struct render_style {
	int width; ///< columns of the terminal; 0: any
	bool colour;
	bool ascii;       ///< the locale has no UTF-8: plain letters in units and bars
	bool escape_8bit; ///< and it is a terminal: names' other letters would only garble it
};

struct render;

/// @param out stays the caller's
/// @return NULL: out of memory, or an output that is not built
struct render *render_new(enum output_kind kind, FILE *out, const struct render_style *style);
/// Everything opened has been closed. @return 0, or a negative errno when not all could be written
int render_finish(struct render *render);
struct render *render_free(struct render *render);

void render_open(struct render *render, const struct group *group);
void render_close(struct render *render);
void render_value(struct render *render, const struct field *field, struct cell cell);
/// `n` values, a cell each.
void render_values(struct render *render, const struct field *fields, size_t n, const struct cell *cells);
void render_table_open(struct render *render, const struct table *table);
/// One cell a column.
void render_row(struct render *render, const struct cell *cells);
void render_table_close(struct render *render);
/// A line above what follows. Not for machines, as the next.
void render_heading(struct render *render, const char *format, ...) PRINTF_LIKE(2, 3);
/// A sentence or more, wrapped to the width.
void render_say(struct render *render, const char *format, ...) PRINTF_LIKE(2, 3);
/// Whether a person reads it: views may choose order and detail by it.
bool render_for_people(const struct render *render);
/// Whether all views are in one document.
bool render_is_whole(const struct render *render);
/// The style, for views that put sentences together.
const struct render_style *render_style(const struct render *render);

#endif
