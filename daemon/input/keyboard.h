// SPDX-License-Identifier: GPL-3.0-or-later
/// An X server's keyboard: its layout and what is locked, followed by events, and spare keys that can be bound to what
/// no key gives. Sends no key itself.
///
/// Loading blocks on the server; everything else only looks and queues requests.
#ifndef CONDPROF_KEYBOARD_H
#define CONDPROF_KEYBOARD_H

#include "daemon/input/layout.h"

#include <xcb/xcb.h>

struct keyboard;

/// Blocks. @return 0, -ENOTSUP: no XKEYBOARD; -EIO
int keyboard_new(xcb_connection_t *xcb, struct keyboard **ret);
struct keyboard *keyboard_free(struct keyboard *keyboard);

/// Looks at an event of the connection.
void keyboard_event(struct keyboard *keyboard, const xcb_generic_event_t *event);
/// Whether somebody changed the layout, so that keyboard_load() is needed.
bool keyboard_is_stale(const struct keyboard *keyboard);
/// Blocks. Reads the layout again. @return 0, -EIO: the server is gone
int keyboard_load(struct keyboard *keyboard);

/// The keycode of a modifier. 0: the layout has none.
uint8_t keyboard_modifier_key(const struct keyboard *keyboard, enum layout_modifier modifier);

/// @return 0, or -ENOENT: no key gives it now
int keyboard_find(struct keyboard *keyboard, uint32_t keysym, struct layout_stroke *ret);

/// Binds a free spare key to the keysym, so that keyboard_find() finds it.
/// @return 0; -ENOSPC: there is none; -EINVAL: no such symbol
int keyboard_bind(struct keyboard *keyboard, uint32_t keysym);
bool keyboard_has_free(const struct keyboard *keyboard);
/// Makes all spare keys free again, though they keep their symbols until they are bound anew.
void keyboard_reuse(struct keyboard *keyboard);
/// Takes back what was bound, without waiting.
void keyboard_unbind(struct keyboard *keyboard);

/// Notes that a stroke was sent.
void keyboard_used(struct keyboard *keyboard, const struct layout_stroke *stroke, int64_t now_ns);
/// When a bound key was struck last. 0: never
int64_t keyboard_last_used_ns(const struct keyboard *keyboard);

#endif
