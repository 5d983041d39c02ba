// SPDX-License-Identifier: GPL-3.0-or-later
/// UTF-8 as it comes from outside: protobuf-c does not look at strings, and what is not text must not reach a terminal,
/// a journal or another runtime.
#ifndef CONDPROF_UTF8_H
#define CONDPROF_UTF8_H

#include "proto/base.h"

/// Bytes of the well-formed character at the start of `data` (1 to 4), 0 when there is none: overlong forms, surrogates
/// and values over U+10FFFF are not characters. `size` >= 1.
/// @param ret_code_point may be NULL
size_t utf8_character(const void *data, size_t size, uint32_t *ret_code_point);

/// Whether all of `data` is UTF-8 and has no NUL.
bool utf8_valid(const void *data, size_t size);

/// Whether the text has a control character (C0, DEL or C1); with `allow_layout` tab and newline are none.
bool utf8_has_control(const char *text, bool allow_layout);

/// Copies the beginning of a text, at most room - 1 bytes and cut between characters, with a NUL. @return its length
size_t utf8_copy(char *to, size_t room, const char *text);

/// Makes a text fit to be shown on one line, in place: control characters become blanks, bytes that are no UTF-8 become
/// "?", a character that was cut off at the end goes.
void utf8_make_printable(char *text);

#endif
