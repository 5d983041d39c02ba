// SPDX-License-Identifier: GPL-3.0-or-later
/// Names from anywhere on a terminal: made harmless, measured and cut. A clean text is valid UTF-8 in which every
/// character takes its place on the line and does nothing else. Needs a UTF-8 LC_CTYPE (main sets it).
#ifndef CONDPROF_RENDER_WIDTH_H
#define CONDPROF_RENDER_WIDTH_H

#include "proto/base.h"

/// Reads one character. @return bytes taken, at least 1; *ret is -1 for a byte that is not UTF-8
size_t utf8_next(const char *text, int32_t *ret);

#define TEXT_CUT_ROOM 4U ///< bytes of a mark, at most

/// A clean copy, the caller's: control and formatting characters, line separators and bytes that are not UTF-8 become
/// escapes (\n, \x1b, \u202e). NULL: out of memory.
char *text_clean(const char *text);
/// The same with every character beyond ASCII replaced by `?` too.
char *text_clean_ascii(const char *text);

/// Columns that a clean text takes.
int text_width(const char *text);

/// Cuts a clean text in place to at most `columns`, with `mark` ("…", or "..") as its last columns where it was cut.
/// The buffer has room for strlen(mark) more bytes.
void text_cut(char *text, int columns, const char *mark);

#endif
