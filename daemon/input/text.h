// SPDX-License-Identifier: GPL-3.0-or-later
/// A text as keys.
#ifndef CONDPROF_INPUT_TEXT_H
#define CONDPROF_INPUT_TEXT_H

#include "proto/base.h"

/// Takes the next character that can be typed at all: what is no UTF-8 and control characters other than tab, newline
/// (Return), backspace and escape are passed over. @return its keysym, 0 at the end
uint32_t text_take_keysym(const char **text);

#endif
