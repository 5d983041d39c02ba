// SPDX-License-Identifier: GPL-3.0-or-later
/// What a keyboard's layout gives: which key and which modifiers make a keysym, with what is locked now. Knows a
/// keymap, and neither a server nor a device.
#ifndef CONDPROF_LAYOUT_H
#define CONDPROF_LAYOUT_H

#include "proto/base.h"

#include <xkbcommon/xkbcommon.h>

#define LAYOUT_KEYCODES 256U ///< xkb's; the kernel's are 8 less

/// Modifiers that are pressed to reach a symbol; none that lock.
enum layout_modifier { LAYOUT_SHIFT, LAYOUT_LEVEL3, LAYOUT_LEVEL5, LAYOUT_MODIFIERS };

struct layout_stroke {
	uint8_t keycode;
	uint8_t modifiers; ///< bits of enum layout_modifier
	bool spare;        ///< a key bound by us, see keyboard.h
};

struct layout;

/// @param keymap handed over, also on failure. -ENOMEM
int layout_new(struct xkb_keymap *keymap, struct layout **ret);
struct layout *layout_free(struct layout *layout);

/// What is locked: real modifiers as xkb masks, and the group. Nothing at first.
void layout_set_state(struct layout *layout, uint32_t locked, uint32_t group);
bool layout_has_caps_lock(const struct layout *layout);

/// @return 0, or -ENOENT: no key gives it now
int layout_find(struct layout *layout, uint32_t keysym, struct layout_stroke *ret);
/// The keycode of a modifier. 0: the layout has none.
uint8_t layout_modifier_key(const struct layout *layout, enum layout_modifier modifier);

void layout_range(const struct layout *layout, uint8_t *ret_first, uint8_t *ret_last);
bool layout_has_key(const struct layout *layout, uint8_t keycode);
/// Whether the key gives it without modifiers, in any group.
bool layout_has_symbol(const struct layout *layout, uint8_t keycode, uint32_t keysym);
/// layout_find() will not use that key.
void layout_exclude(struct layout *layout, uint8_t keycode);

#endif
