// SPDX-License-Identifier: GPL-3.0-or-later
/// Key combinations as scenarios write them: xkb key names joined by +, e.g. "ctrl+alt+Delete", "F4", "plus".
#ifndef CONDPROF_KEYS_H
#define CONDPROF_KEYS_H

#include "proto/errors.h"

#define KEY_COMBINATION_MAX 8U

struct key_combination {
	uint32_t keysyms[KEY_COMBINATION_MAX];  ///< pressed in this order, released in the reverse
	uint32_t count;
};

/// Understands xkb names in any case where that is unambiguous, and ctrl, alt, shift, super, meta for the left ones.
/// @return 0, or -EINVAL with an error that names the bad part and, where there is one, the nearest right name
int key_combination_parse(const char *text, struct key_combination *ret, struct error *error);

#endif
