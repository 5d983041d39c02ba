// SPDX-License-Identifier: GPL-3.0-or-later
/// Drawn pictures for tests and benches of detection, the same for the same seed on every machine: what screens look
/// like (desktop, text, photo, settings, icons) and what matchers stumble over (noise, gradients, nearly flat
/// surfaces).
#ifndef CONDPROF_TEST_SCENES_H
#define CONDPROF_TEST_SCENES_H

#include "daemon/picture/picture.h"

/// Numbers that only depend on the seed. (Two of them as arguments of one call come in any order: roll them one by one.)
struct dice {
	uint64_t state;
};

uint64_t dice_roll(struct dice *dice);
/// In [from, to].
int dice_between(struct dice *dice, int from, int to);
/// True once in `n`.
bool dice_one_in(struct dice *dice, int n);

enum scene {
	SCENE_DESKTOP,
	SCENE_TEXT,
	SCENE_PHOTO,
	SCENE_SETTINGS,
	SCENE_ICONS,
	SCENE_NOISE,
	SCENE_GRADIENT,
	SCENE_CHECKERBOARD,
	SCENE_NEARLY_FLAT,
	SCENES,
};

/// Never NULL.
const char *scene_name(enum scene scene);

/// Pixels of its own, rows possibly padded (the padding is filled with rubbish).
struct canvas {
	uint8_t *pixels;
	int width, height;
	ptrdiff_t stride;
};

/// Aborts when memory is short. @param padding px added to each row
struct canvas canvas_new(int width, int height, int padding);
void canvas_free(struct canvas *canvas);
struct picture_view canvas_view(const struct canvas *canvas);
void canvas_fill(struct canvas *canvas, struct rect place, uint32_t rgb);
/// A copy of a part of it. @param padding px added to each row
struct canvas canvas_crop(const struct canvas *canvas, struct rect place, int padding);
/// Puts `source` at x, y as far as it fits.
void canvas_paste(struct canvas *canvas, const struct canvas *source, int x, int y);
/// v * gain / 100 + offset, clamped, and up to `noise` either way, for B, G and R.
void canvas_alter(struct canvas *canvas, struct dice *dice, int gain_percent, int offset, int noise);
void canvas_decolour(struct canvas *canvas);

void scene_draw(enum scene scene, uint64_t seed, struct canvas *canvas);

#endif
