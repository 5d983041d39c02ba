// SPDX-License-Identifier: GPL-3.0-or-later
/// What is held down on a keyboard, counted, so that a modifier that two strokes need goes up with the last one, and
/// everything can always be released.
#ifndef CONDPROF_STROKES_H
#define CONDPROF_STROKES_H

#include "daemon/input/layout.h"

#define STROKES_HELD_MAX 64U

struct strokes {
	void (*send)(void *context, uint8_t keycode, bool down);
	uint8_t (*modifier_key)(void *context, enum layout_modifier modifier); ///< 0: none
	void *context;
	uint8_t down[LAYOUT_KEYCODES]; ///< how often each key is held
	struct {
		uint32_t keysym;
		struct layout_stroke stroke;
	} held[STROKES_HELD_MAX]; ///< by strokes_hold(), in order
	size_t n_held;
};

/// Presses the key and the modifiers it needs; releases them.
void strokes_press(struct strokes *strokes, const struct layout_stroke *stroke);
void strokes_release(struct strokes *strokes, const struct layout_stroke *stroke);

/// Presses and remembers what for. @return 0, -ENOSPC: too many are held
int strokes_hold(struct strokes *strokes, uint32_t keysym, const struct layout_stroke *stroke);
/// Releases what was pressed last for that keysym. @return whether there was any
bool strokes_let_go(struct strokes *strokes, uint32_t keysym);
void strokes_release_all(struct strokes *strokes);

#endif
