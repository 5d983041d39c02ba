// SPDX-License-Identifier: GPL-3.0-or-later
/// The text of a scenario file, and what is needed to show a line of it to a person: where lines begin, how wide
/// characters are, and a caret under the place that is meant.
#ifndef CONDPROF_SCENARIO_SOURCE_H
#define CONDPROF_SCENARIO_SOURCE_H

#include "proto/errors.h"
#include "proto/utf8.h"

#include <stdio.h>

struct source_line {
	uint32_t offset;    ///< bytes from the text's start
	uint32_t character; ///< characters from the text's start
};

struct source {
	char *name;  ///< as given, for diagnostics
	char *text;  ///< without a byte order mark, NUL-terminated
	size_t size; ///< bytes
	struct source_line *lines;
	uint32_t line_count; ///< >= 1
};

/// Why a text is not taken, and where.
struct source_problem {
	size_t offset; ///< bytes
	char message[200];
};

/// Takes a copy of the text and finds its lines.
/// @return 0; -EBADMSG with `problem`: not text as YAML wants it (NUL, control characters, not UTF-8); then the source
/// is
///         complete all the same, lines counted as far as they can be; -ENOMEM
int source_set(struct source *source, const char *name, const char *text, size_t size, struct source_problem *problem);

/// Reads a whole file of at most YAML_MAX_BYTES. *ret_text is the caller's, to be freed.
/// @return 0, -EFBIG, -EISDIR, or the errno of opening or reading
int source_read(const char *path, char **ret_text, size_t *ret_size, struct error *error);

void source_clear(struct source *source);

/// Line and column, both from 1, of a character counted from the text's start.
void source_position(const struct source *source, size_t character, uint32_t *ret_line, uint32_t *ret_column);

/// Line and column of a byte.
void source_byte_position(const struct source *source, size_t offset, uint32_t *ret_line, uint32_t *ret_column);

/// The bytes of a line without its line break.
const char *source_line_text(const struct source *source, uint32_t line, size_t *ret_size);

/// Prints the line and, below it, a caret under `column` with `length` characters underlined. Control characters are
/// made harmless, tabs kept apart as they are, lines too long cut around the caret.
void source_print_excerpt(const struct source *source, uint32_t line, uint32_t column, uint32_t length, FILE *out);

/// Length in bytes of the UTF-8 character at `text`, 0: none; its code point.
static inline size_t utf8_take(const char *text, size_t size, uint32_t *ret_code)
{
	return size > 0 ? utf8_character(text, size, ret_code) : 0;
}

/// Prints text of ours; with `ascii` its quotation marks and dots become plain ones, other letters question marks.
void print_for(FILE *out, const char *text, bool ascii);

/// Columns of a terminal that a character takes: 0, 1 or 2.
int character_columns(uint32_t code);

/// Whether a terminal would not show the character as such: control and direction characters, line separators.
bool character_is_unsafe(uint32_t code);

/// Copies text for a message: unsafe characters as \xNN or \u{NNNN}, cut with … at `columns`. Always terminated.
/// @return out
char *text_for_message(const char *text, size_t size, int columns, char *out, size_t out_size);

#endif
