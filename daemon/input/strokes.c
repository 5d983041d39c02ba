// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/input/strokes.h"

#include <errno.h>
#include <string.h>

static void press_key(struct strokes *strokes, uint8_t keycode)
{
	if (keycode && strokes->down[keycode]++ == 0)
		strokes->send(strokes->context, keycode, true);
}

static void release_key(struct strokes *strokes, uint8_t keycode)
{
	if (keycode && strokes->down[keycode] > 0 && --strokes->down[keycode] == 0)
		strokes->send(strokes->context, keycode, false);
}

void strokes_press(struct strokes *strokes, const struct layout_stroke *stroke)
{
	for (unsigned i = 0; i < LAYOUT_MODIFIERS; i++) {
		if (stroke->modifiers & 1U << i)
			press_key(strokes, strokes->modifier_key(strokes->context, i));
	}
	press_key(strokes, stroke->keycode);
}

void strokes_release(struct strokes *strokes, const struct layout_stroke *stroke)
{
	release_key(strokes, stroke->keycode);
	for (unsigned i = LAYOUT_MODIFIERS; i-- > 0;) {
		if (stroke->modifiers & 1U << i)
			release_key(strokes, strokes->modifier_key(strokes->context, i));
	}
}

int strokes_hold(struct strokes *strokes, uint32_t keysym, const struct layout_stroke *stroke)
{
	if (strokes->n_held == STROKES_HELD_MAX)
		return -ENOSPC;
	strokes->held[strokes->n_held].keysym = keysym;
	strokes->held[strokes->n_held++].stroke = *stroke;
	strokes_press(strokes, stroke);
	return 0;
}

bool strokes_let_go(struct strokes *strokes, uint32_t keysym)
{
	size_t i = strokes->n_held;

	while (i > 0 && strokes->held[i - 1].keysym != keysym)
		i--;
	if (i == 0)
		return false;
	strokes_release(strokes, &strokes->held[i - 1].stroke);
	memmove(&strokes->held[i - 1], &strokes->held[i], (strokes->n_held - i) * sizeof(strokes->held[0]));
	strokes->n_held--;
	return true;
}

void strokes_release_all(struct strokes *strokes)
{
	strokes->n_held = 0;
	for (unsigned keycode = LAYOUT_KEYCODES; keycode-- > 0;) {
		if (strokes->down[keycode])
			strokes->send(strokes->context, (uint8_t)keycode, false);
		strokes->down[keycode] = 0;
	}
}
