// SPDX-License-Identifier: GPL-3.0-or-later
// Drawn pictures for tests and benches of detection: see scenes.h. Integers only, so that they are the same everywhere.
#include "tests/support/scenes.h"

#include <string.h>

uint64_t dice_roll(struct dice *dice)
{
	uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

int dice_between(struct dice *dice, int from, int to)
{
	return to <= from ? from : from + (int)(dice_roll(dice) % (uint64_t)(to - from + 1));
}

bool dice_one_in(struct dice *dice, int n)
{
	return dice_between(dice, 1, n) == 1;
}

const char *scene_name(enum scene scene)
{
	static const char *const names[] = {
		[SCENE_DESKTOP] = "desktop",
		[SCENE_TEXT] = "text",
		[SCENE_PHOTO] = "photo",
		[SCENE_SETTINGS] = "settings",
		[SCENE_ICONS] = "icons",
		[SCENE_NOISE] = "noise",
		[SCENE_GRADIENT] = "gradient",
		[SCENE_CHECKERBOARD] = "checkerboard",
		[SCENE_NEARLY_FLAT] = "nearly flat",
	};

	_Static_assert(ARRAY_SIZE(names) == SCENES, "a name a scene");
	return names[scene];
}

struct canvas canvas_new(int width, int height, int padding)
{
	struct canvas canvas = {.width = width, .height = height, .stride = 4 * ((ptrdiff_t)width + padding)};

	canvas.pixels = malloc((size_t)height * (size_t)canvas.stride);
	if (!canvas.pixels)
		abort();
	memset(canvas.pixels, 0xa5, (size_t)height * (size_t)canvas.stride);
	return canvas;
}

void canvas_free(struct canvas *canvas)
{
	free(canvas->pixels);
	canvas->pixels = NULL;
}

struct picture_view canvas_view(const struct canvas *canvas)
{
	return (struct picture_view){canvas->pixels, canvas->width, canvas->height, canvas->stride};
}

static uint8_t *pixel(const struct canvas *canvas, int x, int y)
{
	return canvas->pixels + y * canvas->stride + 4 * (ptrdiff_t)x;
}

static void set(struct canvas *canvas, int x, int y, uint32_t rgb)
{
	uint8_t *p;

	if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height)
		return;
	p = pixel(canvas, x, y);
	p[0] = (uint8_t)rgb;
	p[1] = (uint8_t)(rgb >> 8);
	p[2] = (uint8_t)(rgb >> 16);
	p[3] = 255;
}

void canvas_fill(struct canvas *canvas, struct rect place, uint32_t rgb)
{
	for (int y = MAX(place.top, 0); y < MIN(place.bottom, canvas->height); y++)
		for (int x = MAX(place.left, 0); x < MIN(place.right, canvas->width); x++)
			set(canvas, x, y, rgb);
}

struct canvas canvas_crop(const struct canvas *canvas, struct rect place, int padding)
{
	struct canvas crop = canvas_new(place.right - place.left, place.bottom - place.top, padding);

	for (int y = 0; y < crop.height; y++)
		memcpy(pixel(&crop, 0, y), pixel(canvas, place.left, place.top + y), 4 * (size_t)crop.width);
	return crop;
}

void canvas_paste(struct canvas *canvas, const struct canvas *source, int x, int y)
{
	int width = MIN(source->width, canvas->width - x), height = MIN(source->height, canvas->height - y);

	for (int row = 0; row < height; row++)
		memcpy(pixel(canvas, x, y + row), pixel(source, 0, row), 4 * (size_t)MAX(width, 0));
}

static uint8_t clamp(int v)
{
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

void canvas_alter(struct canvas *canvas, struct dice *dice, int gain_percent, int offset, int noise)
{
	for (int y = 0; y < canvas->height; y++) {
		uint8_t *p = pixel(canvas, 0, y);

		for (int x = 0; x < canvas->width; x++, p += 4)
			for (int c = 0; c < 3; c++)
				p[c] = clamp(p[c] * gain_percent / 100 + offset +
					     (noise ? dice_between(dice, -noise, noise) : 0));
	}
}

void canvas_decolour(struct canvas *canvas)
{
	for (int y = 0; y < canvas->height; y++) {
		uint8_t *p = pixel(canvas, 0, y);

		for (int x = 0; x < canvas->width; x++, p += 4)
			p[0] = p[1] = p[2] = (uint8_t)((p[0] * 114 + p[1] * 587 + p[2] * 299) / 1000);
	}
}

static uint32_t random_rgb(struct dice *dice)
{
	return (uint32_t)dice_roll(dice) & 0xffffff;
}

static uint32_t gray_rgb(int v)
{
	return (uint32_t)v * 0x010101U;
}

// Letters are fixed 5x7 patterns, drawn with a soft edge as a font renderer would.
static void letter(struct canvas *canvas, int which, int x, int y, int scale, int ink, int paper)
{
	struct dice shape = {0xf0f0 + (uint64_t)which};
	uint64_t bits = dice_roll(&shape);

	for (int j = 0; j < 7 * scale; j++) {
		for (int i = 0; i < 5 * scale; i++) {
			int cell = j / scale * 5 + i / scale;
			if (!(bits >> cell & 1))
				continue;
			set(canvas, x + i, y + j, gray_rgb(ink));
			if (cell % 5 == 4 || !(bits >> (cell + 1) & 1))
				set(canvas, x + i + 1, y + j, gray_rgb((2 * paper + ink) / 3));
		}
	}
}

static void text_lines(struct canvas *canvas, struct dice *dice, struct rect place, int scale, int ink, int paper)
{
	for (int y = place.top; y + 7 * scale <= place.bottom; y += 11 * scale) {
		int end = place.right - dice_between(dice, 0, (place.right - place.left) / 3);

		for (int x = place.left; x + 6 * scale <= end; x += 6 * scale)
			if (!dice_one_in(dice, 6))
				letter(canvas, dice_between(dice, 0, 39), x, y, scale, ink, paper);
	}
}

static void icon(struct canvas *canvas, uint64_t which, int x, int y, int side)
{
	struct dice dice = {which * 977 + 5};
	uint32_t a = random_rgb(&dice), b = random_rgb(&dice);
	int cx = dice_between(&dice, side / 4, side / 2), cy = dice_between(&dice, side / 4, side / 2);

	canvas_fill(canvas, (struct rect){x, y, x + side, y + side}, a);
	for (int j = 0; j < side; j++)
		for (int i = 0; i < side; i++)
			if ((i - cx) * (i - cx) + (j - cy) * (j - cy) < side * side / 9)
				set(canvas, x + i, y + j, b);
	canvas_fill(canvas, (struct rect){x + side / 8, y + side * 3 / 4, x + side * 7 / 8, y + side * 7 / 8},
		    random_rgb(&dice));
	letter(canvas, (int)(which % 40), x + side / 3, y + side / 4, MAX(side / 16, 1), 250, 40);
}

// Value noise on a lattice, integer interpolation: smooth hills.
static int hills(uint64_t seed, int x, int y, int cell)
{
	int corner[4], fx = x % cell, fy = y % cell;

	for (int i = 0; i < 4; i++) {
		struct dice d = {seed + (uint64_t)(x / cell + i % 2) * 7919 + (uint64_t)(y / cell + i / 2) * 104729};
		corner[i] = (int)(dice_roll(&d) & 255);
	}
	int top = corner[0] * (cell - fx) + corner[1] * fx, bottom = corner[2] * (cell - fx) + corner[3] * fx;
	return (top * (cell - fy) + bottom * fy) / (cell * cell);
}

static void draw_photo(uint64_t seed, struct canvas *canvas, struct rect place)
{
	struct dice dice = {seed};

	for (int y = place.top; y < place.bottom; y++) {
		for (int x = place.left; x < place.right; x++) {
			int v = hills(seed, x, y, 61) / 2 + hills(seed + 1, x, y, 17) / 3 +
				hills(seed + 2, x, y, 5) / 8;
			int tint = hills(seed + 3, x, y, 89) / 4, grain = dice_between(&dice, -3, 3);

			set(canvas, x, y,
			    (uint32_t)clamp(v + tint + grain) << 16 | (uint32_t)clamp(v + grain) << 8 |
				    (uint32_t)clamp(v - tint + 20 + grain));
		}
	}
}

static void draw_window(struct dice *dice, struct canvas *canvas)
{
	int w = dice_between(dice, canvas->width / 4, canvas->width / 2), x = dice_between(dice, 0, canvas->width - w);
	int h = dice_between(dice, canvas->height / 4, canvas->height / 2),
	    y = dice_between(dice, 0, canvas->height - h);
	int bar = MIN(24, h / 4 + 1);

	canvas_fill(canvas, (struct rect){x, y, x + w, y + h}, 0xf4f4f6);
	canvas_fill(canvas, (struct rect){x, y, x + w, y + bar}, 0x3a4a6a);
	icon(canvas, dice_roll(dice) % 20, x + 3, y + 3, MAX(bar - 6, 2));
	text_lines(canvas, dice, (struct rect){x + bar, y + 8, x + w / 2, y + bar}, 1, 240, 80);
	text_lines(canvas, dice, (struct rect){x + 8, y + bar + 8, x + w - 8, y + h - 8}, dice_between(dice, 1, 2), 30,
		   244);
}

static void draw_desktop(uint64_t seed, struct canvas *canvas)
{
	struct dice dice = {seed};

	for (int y = 0; y < canvas->height; y++)
		canvas_fill(canvas, (struct rect){0, y, canvas->width, y + 1},
			    0x204060U + (uint32_t)(y * 60 / canvas->height) * 0x010101U);
	for (int y = 10; y + 48 < canvas->height; y += 80)
		for (int x = 10; x + 48 < canvas->width / 6; x += 80)
			icon(canvas, dice_roll(&dice) % 20, x, y, 48);
	for (int i = 0; i < 5; i++)
		draw_window(&dice, canvas);
	canvas_fill(canvas,
		    (struct rect){0, canvas->height - MIN(32, canvas->height / 6), canvas->width, canvas->height},
		    0x181c24);
	for (int x = 4; x + 30 < canvas->width / 3; x += 40)
		icon(canvas, dice_roll(&dice) % 20, x, canvas->height - 29, 26);
}

static void draw_text(uint64_t seed, struct canvas *canvas)
{
	struct dice dice = {seed};

	canvas_fill(canvas, (struct rect){0, 0, canvas->width, canvas->height}, 0xffffff);
	text_lines(canvas, &dice, (struct rect){canvas->width / 40, 4, canvas->width, canvas->height},
		   canvas->width > 900 ? 2 : 1, 20, 255);
}

static void draw_settings(uint64_t seed, struct canvas *canvas)
{
	struct dice dice = {seed};
	int row = MIN(56, canvas->height / 3 + 1);

	canvas_fill(canvas, (struct rect){0, 0, canvas->width, canvas->height}, 0xfafafa);
	canvas_fill(canvas, (struct rect){0, 0, canvas->width / 4, canvas->height}, 0xececee);
	for (int y = 4; y < canvas->height; y += row) {
		int left = canvas->width / 4 + 8;
		text_lines(canvas, &dice, (struct rect){6, y + 6, canvas->width / 5, y + 16}, 1, 60, 236);
		text_lines(canvas, &dice, (struct rect){left, y + 6, left + canvas->width / 4, y + 16}, 1, 30, 250);
		canvas_fill(canvas, (struct rect){left, y + row - 2, canvas->width - 8, y + row - 1}, 0xe0e0e0);
		bool on = dice_one_in(&dice, 2);
		int sx = canvas->width - 48;
		canvas_fill(canvas, (struct rect){sx, y + 6, sx + 32, y + 22}, on ? 0x2a7de1 : 0xbbbbbb);
		canvas_fill(canvas, (struct rect){sx + (on ? 18 : 2), y + 8, sx + (on ? 30 : 14), y + 20}, 0xffffff);
	}
}

static void draw_icons(uint64_t seed, struct canvas *canvas)
{
	struct dice dice = {seed};
	int side = canvas->width > 900 ? 48 : 20;

	canvas_fill(canvas, (struct rect){0, 0, canvas->width, canvas->height}, random_rgb(&dice));
	for (int y = 3; y < canvas->height; y += side + 9)
		for (int x = 3; x < canvas->width; x += side + 9)
			icon(canvas, dice_roll(&dice) % 3, x, y, side);
}

static void draw_noise(uint64_t seed, struct canvas *canvas)
{
	struct dice dice = {seed};

	for (int y = 0; y < canvas->height; y++)
		for (int x = 0; x < canvas->width; x++)
			set(canvas, x, y, random_rgb(&dice));
}

static void draw_gradient(uint64_t seed, struct canvas *canvas)
{
	int across = (int)(seed % 3), down = (int)(seed / 3 % 3);

	for (int y = 0; y < canvas->height; y++)
		for (int x = 0; x < canvas->width; x++)
			set(canvas, x, y, gray_rgb((x * across + y * down + (x + y) / 2) & 255));
}

static void draw_checkerboard(uint64_t seed, struct canvas *canvas)
{
	struct dice dice = {seed};
	int cell = dice_between(&dice, 1, 9);
	uint32_t a = random_rgb(&dice), b = random_rgb(&dice);

	for (int y = 0; y < canvas->height; y++)
		for (int x = 0; x < canvas->width; x++)
			set(canvas, x, y, (x / cell + y / cell) % 2 ? a : b);
}

static void draw_nearly_flat(uint64_t seed, struct canvas *canvas)
{
	struct dice dice = {seed};
	int v = dice_between(&dice, 1, 254);
	uint32_t base = gray_rgb(v);

	canvas_fill(canvas, (struct rect){0, 0, canvas->width, canvas->height}, base);
	for (int i = dice_between(&dice, 1, 12); i > 0; i--) {
		int x = dice_between(&dice, 0, canvas->width - 1), y = dice_between(&dice, 0, canvas->height - 1);
		set(canvas, x, y, gray_rgb(v + (dice_one_in(&dice, 2) ? 1 : -1)));
	}
}

void scene_draw(enum scene scene, uint64_t seed, struct canvas *canvas)
{
	switch (scene) {
	case SCENE_DESKTOP:
		draw_desktop(seed, canvas);
		break;
	case SCENE_TEXT:
		draw_text(seed, canvas);
		break;
	case SCENE_PHOTO:
		draw_photo(seed, canvas, (struct rect){0, 0, canvas->width, canvas->height});
		break;
	case SCENE_SETTINGS:
		draw_settings(seed, canvas);
		break;
	case SCENE_ICONS:
		draw_icons(seed, canvas);
		break;
	case SCENE_NOISE:
		draw_noise(seed, canvas);
		break;
	case SCENE_GRADIENT:
		draw_gradient(seed, canvas);
		break;
	case SCENE_CHECKERBOARD:
		draw_checkerboard(seed, canvas);
		break;
	case SCENE_NEARLY_FLAT:
	default:
		draw_nearly_flat(seed, canvas);
		break;
	}
}
