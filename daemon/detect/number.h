// SPDX-License-Identifier: GPL-3.0-or-later
/// Finding a number in a text that was read from the screen. Pure: the same text gives the same number, whatever the
/// locale.
///
/// The token is the first run of digits, signs (+ - and U+2212), blanks and the separators . and , that has a digit in
/// it. It is the number or there is none: what follows it is not looked at. Blanks inside it are left out. Of the two
/// separators one is decimal and the other groups digits, as the format says; a grouping one stands after a digit and
/// before the decimal one.
#ifndef CONDPROF_DETECT_NUMBER_H
#define CONDPROF_DETECT_NUMBER_H

#include "daemon/detect/detect.h"

/// @param text UTF-8, one line
enum number_found {
	NUMBER_NO_TOKEN, ///< no digit in it: the next line may have one
	NUMBER_BAD,      ///< the token is no number
	NUMBER_READ,
} number_find(const char *text, size_t size, enum detect_format format, double *ret);

#endif
