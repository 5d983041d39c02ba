// SPDX-License-Identifier: GPL-3.0-or-later
// Capitals only: at 5x7 px they read best, and a name is recognised by them. Everything is clipped, wherever a scenario
// puts its areas.
#include "config.h"

#include "client/trial/annotate.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define LABELS_APART 200U
#define LETTER_WIDTH 5
#define LETTER_HEIGHT 7
#define LETTER_STEP 6      // with the gap
#define NAME_SHOWN 24      // bytes of a name in a label
#define PICTURE_FAR 100000 // px: beyond any picture

#define COLOUR_AREA 0x4a90d9U
#define COLOUR_FOUND 0x1fa84aU
#define COLOUR_BEST 0xe8590cU
#define COLOUR_LABEL 0xffffffU

// From space to underscore, a row of pixels a byte, the leftmost in bit 4.
static const uint8_t letters[][LETTER_HEIGHT] = {
	{0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}, // space
	{0x04, 0x04, 0x04, 0x04, 0x04, 0x00, 0x04}, // !
	{0x0a, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00}, // "
	{0x0a, 0x0a, 0x1f, 0x0a, 0x1f, 0x0a, 0x0a}, // #
	{0x04, 0x0f, 0x14, 0x0e, 0x05, 0x1e, 0x04}, // $
	{0x19, 0x19, 0x02, 0x04, 0x08, 0x13, 0x13}, // %
	{0x0c, 0x12, 0x14, 0x08, 0x15, 0x12, 0x0d}, // &
	{0x04, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00}, // '
	{0x02, 0x04, 0x08, 0x08, 0x08, 0x04, 0x02}, // (
	{0x08, 0x04, 0x02, 0x02, 0x02, 0x04, 0x08}, // )
	{0x00, 0x04, 0x15, 0x0e, 0x15, 0x04, 0x00}, // *
	{0x00, 0x04, 0x04, 0x1f, 0x04, 0x04, 0x00}, // +
	{0x00, 0x00, 0x00, 0x00, 0x04, 0x04, 0x08}, // ,
	{0x00, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00}, // -
	{0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c}, // .
	{0x01, 0x01, 0x02, 0x04, 0x08, 0x10, 0x10}, // /
	{0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}, // 0
	{0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e}, // 1
	{0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f}, // 2
	{0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e}, // 3
	{0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}, // 4
	{0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e}, // 5
	{0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e}, // 6
	{0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08}, // 7
	{0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}, // 8
	{0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c}, // 9
	{0x00, 0x0c, 0x0c, 0x00, 0x0c, 0x0c, 0x00}, // :
	{0x00, 0x0c, 0x0c, 0x00, 0x0c, 0x04, 0x08}, // ;
	{0x02, 0x04, 0x08, 0x10, 0x08, 0x04, 0x02}, // <
	{0x00, 0x00, 0x1f, 0x00, 0x1f, 0x00, 0x00}, // =
	{0x08, 0x04, 0x02, 0x01, 0x02, 0x04, 0x08}, // >
	{0x0e, 0x11, 0x01, 0x02, 0x04, 0x00, 0x04}, // ?
	{0x0e, 0x11, 0x17, 0x15, 0x17, 0x10, 0x0e}, // @
	{0x0e, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11}, // A
	{0x1e, 0x11, 0x11, 0x1e, 0x11, 0x11, 0x1e}, // B
	{0x0e, 0x11, 0x10, 0x10, 0x10, 0x11, 0x0e}, // C
	{0x1e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1e}, // D
	{0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x1f}, // E
	{0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x10}, // F
	{0x0e, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0f}, // G
	{0x11, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11}, // H
	{0x0e, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e}, // I
	{0x07, 0x02, 0x02, 0x02, 0x02, 0x12, 0x0c}, // J
	{0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11}, // K
	{0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1f}, // L
	{0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11}, // M
	{0x11, 0x19, 0x15, 0x13, 0x11, 0x11, 0x11}, // N
	{0x0e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e}, // O
	{0x1e, 0x11, 0x11, 0x1e, 0x10, 0x10, 0x10}, // P
	{0x0e, 0x11, 0x11, 0x11, 0x15, 0x12, 0x0d}, // Q
	{0x1e, 0x11, 0x11, 0x1e, 0x14, 0x12, 0x11}, // R
	{0x0f, 0x10, 0x10, 0x0e, 0x01, 0x01, 0x1e}, // S
	{0x1f, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04}, // T
	{0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e}, // U
	{0x11, 0x11, 0x11, 0x11, 0x11, 0x0a, 0x04}, // V
	{0x11, 0x11, 0x11, 0x15, 0x15, 0x1b, 0x11}, // W
	{0x11, 0x11, 0x0a, 0x04, 0x0a, 0x11, 0x11}, // X
	{0x11, 0x11, 0x0a, 0x04, 0x04, 0x04, 0x04}, // Y
	{0x1f, 0x01, 0x02, 0x04, 0x08, 0x10, 0x1f}, // Z
	{0x0e, 0x08, 0x08, 0x08, 0x08, 0x08, 0x0e}, // [
	{0x10, 0x10, 0x08, 0x04, 0x02, 0x01, 0x01}, // backslash
	{0x0e, 0x02, 0x02, 0x02, 0x02, 0x02, 0x0e}, // ]
	{0x04, 0x0a, 0x11, 0x00, 0x00, 0x00, 0x00}, // ^
	{0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1f}, // _
};

static void fill(struct picture *picture, int left, int top, int right, int bottom, uint32_t rgb)
{
	left = MAX(left, 0);
	top = MAX(top, 0);
	right = MIN(right, picture->width);
	bottom = MIN(bottom, picture->height);
	for (int y = top; y < bottom; y++) {
		uint8_t *pixel = picture->pixels + y * picture->stride + (ptrdiff_t)4 * left;

		for (int x = left; x < right; x++, pixel += 4) {
			pixel[0] = (uint8_t)rgb;
			pixel[1] = (uint8_t)(rgb >> 8);
			pixel[2] = (uint8_t)(rgb >> 16);
			pixel[3] = 255;
		}
	}
}

int annotate_text_width(int scale, const char *text)
{
	return (int)strlen(text) * LETTER_STEP * scale - (*text ? scale : 0);
}

static const uint8_t *letter(unsigned char c)
{
	if (c >= 'a' && c <= 'z')
		c = (unsigned char)(c - 'a' + 'A');
	return c >= ' ' && c - (unsigned)' ' < ARRAY_SIZE(letters) ? letters[c - ' '] : letters['?' - ' '];
}

void annotate_text(struct picture *picture, int x, int y, int scale, uint32_t rgb, const char *text)
{
	for (; *text; text++, x += LETTER_STEP * scale) {
		const uint8_t *rows = letter((unsigned char)*text);

		for (int row = 0; row < LETTER_HEIGHT; row++)
			for (int column = 0; column < LETTER_WIDTH; column++)
				if (rows[row] >> (LETTER_WIDTH - 1 - column) & 1)
					fill(picture, x + column * scale, y + row * scale, x + (column + 1) * scale,
					     y + (row + 1) * scale, rgb);
	}
}

/// What is beyond any picture is not drawn, and nothing overflows.
static bool drawable(const Condprof__Area *area)
{
	int64_t right = (int64_t)area->x + area->width, bottom = (int64_t)area->y + area->height;

	return area->x >= -PICTURE_FAR && area->y >= -PICTURE_FAR && right <= PICTURE_FAR && bottom <= PICTURE_FAR &&
	       area->width > 0 && area->height > 0;
}

/// A frame just outside the area, `width` px thick.
static void outline(struct picture *picture, const Condprof__Area *area, int width, uint32_t rgb)
{
	int l = area->x, t = area->y, r = l + area->width, b = t + area->height;

	fill(picture, l - width, t - width, r + width, t, rgb);
	fill(picture, l - width, b, r + width, b + width, rgb);
	fill(picture, l - width, t, l, b, rgb);
	fill(picture, r, t, r + width, b, rgb);
}

/// An area that ends at the picture's edge is drawn inside it, else it would not be seen.
static Condprof__Area shown_area(const struct picture *picture, const Condprof__Area *area)
{
	Condprof__Area shown = *area;

	if (area->x <= 0 && area->y <= 0 && area->width >= picture->width && area->height >= picture->height) {
		shown.x = shown.y = 1;
		shown.width = picture->width - 2;
		shown.height = picture->height - 2;
	}
	return shown;
}

/// Labels that stand already: the next ones keep off them.
struct labels {
	struct rect places[LABELS_APART];
	size_t n;
};

static bool is_free(const struct labels *labels, const struct rect *place)
{
	for (size_t i = 0; i < labels->n; i++) {
		const struct rect *other = &labels->places[i];

		if (place->left < other->right && other->left < place->right && place->top < other->bottom &&
		    other->top < place->bottom)
			return false;
	}
	return true;
}

/// Above the area if there is room, else below it, else further up or down, at last on what is there.
static struct rect label_place(const struct picture *picture, const struct labels *labels, const Condprof__Area *area,
			       int scale, int width, int height)
{
	int x = MAX(MIN(area->x - 2 * scale, picture->width - width), 0), step = height + scale;
	int above = area->y - height - 3 * scale, below = area->y + area->height + 3 * scale;
	int first = above >= 0 ? above : MAX(MIN(below, picture->height - height), 0);
	struct rect place = {x, first, x + width, first + height};

	for (int tries = 0; tries < 16; tries++) {
		int y = tries % 2 ? below + tries / 2 * step : above - tries / 2 * step;

		place = (struct rect){x, y, x + width, y + height};
		if (y >= 0 && y + height <= picture->height && is_free(labels, &place))
			return place;
	}
	return (struct rect){x, first, x + width, first + height};
}

static void label(struct picture *picture, struct labels *labels, const Condprof__Area *area, int scale, uint32_t rgb,
		  const char *text)
{
	int width = annotate_text_width(scale, text) + 4 * scale, height = (LETTER_HEIGHT + 4) * scale;
	struct rect place = label_place(picture, labels, area, scale, width, height);

	if (labels->n < LABELS_APART)
		labels->places[labels->n++] = place;
	fill(picture, place.left, place.top, place.right, place.bottom, rgb);
	annotate_text(picture, place.left + 2 * scale, place.top + 2 * scale, scale, COLOUR_LABEL, text);
}

/// The letter without its accents, of U+00C0 to U+017F.
static char plain_letter(unsigned character)
{
	static const char plain[] = "AAAAAAACEEEEIIIIDNOOOOOXOUUUUYTSAAAAAAACEEEEIIIIDNOOOOO/OUUUUYTY"
				    "AAAAAACCCCCCCCDDDDEEEEEEEEEEGGGGGGGGHHHHIIIIIIIIIIIIJJKKKLLLLLLL"
				    "LLLNNNNNNNNNOOOOOOOORRRRRRSSSSSSSSTTTTTTUUUUUUUUUUUUWWYYYZZZZZZS";

	static_assert(sizeof(plain) == 0x180 - 0xc0 + 1, "a letter each");
	return character >= 0xc0 && character < 0x180 ? plain[character - 0xc0] : '?';
}

/// One letter a character, so that a name keeps its length.
static void shown_name(const char *name, char out[NAME_SHOWN + 3])
{
	size_t n = 0;

	for (; *name && n < NAME_SHOWN; name++) {
		unsigned byte = (unsigned char)*name, next = (unsigned char)name[1];

		if ((byte & 0xc0) == 0x80)
			continue; // the rest of a UTF-8 character
		if (byte < 0x80)
			out[n++] = *name;
		else // two bytes are enough for those that are known
			out[n++] = (byte & 0xe0) == 0xc0 ? plain_letter((byte & 0x1f) << 6 | (next & 0x3f)) : '?';
	}
	out[n] = '\0';
	if (*name)
		strcpy(out + n, "..");
}

/// A number has no place of its own.
static bool was_found(const Condprof__TriedCondition *condition)
{
	return condition->match || (condition->has_number && condition->fulfilled);
}

static void draw_label(struct picture *picture, struct labels *labels, size_t number, int scale,
		       const Condprof__TriedCondition *condition)
{
	const Condprof__Candidate *candidate = tried_candidate(condition);
	const Condprof__Area *place = candidate ? candidate->place : condition->area;
	char name[NAME_SHOWN + 3], text[96];
	bool found = was_found(condition);
	uint32_t rgb = found ? COLOUR_FOUND : COLOUR_BEST;

	if (!place || condition->not_tried || !drawable(place))
		return;
	shown_name(condition->name ? condition->name : "", name);
	if (candidate && candidate->has_score)
		snprintf(text, sizeof(text), "%zu %s %s%.3f", number, name, found ? "" : "best ", candidate->score);
	else if (condition->has_number)
		snprintf(text, sizeof(text), "%zu %s: %.9g", number, name, condition->number);
	else
		snprintf(text, sizeof(text), "%zu %s%s", number, name, found ? "" : " -");
	label(picture, labels, place, scale, rgb, text);
}

void annotate(struct picture *picture, const struct tried *tried)
{
	int scale = MAX(1, MIN(picture->width / 960, picture->height / 540) + (picture->width >= 640));
	struct labels labels = {.n = 0};

	for (size_t i = 0; i < tried->n; i++) {
		const Condprof__Area *area = tried->conditions[i]->area;

		if (area && !tried->conditions[i]->not_tried && drawable(area)) {
			Condprof__Area shown = shown_area(picture, area);

			outline(picture, &shown, scale, COLOUR_AREA);
		}
	}
	for (size_t i = 0; i < tried->n; i++) {
		const Condprof__Candidate *candidate = tried_candidate(tried->conditions[i]);

		if (candidate && candidate->place && drawable(candidate->place))
			outline(picture, candidate->place, 2 * scale,
				tried->conditions[i]->match ? COLOUR_FOUND : COLOUR_BEST);
	}
	// above all lines; labels of what was found get the best places
	for (int found = 1; found >= 0; found--)
		for (size_t i = 0; i < tried->n; i++)
			if (was_found(tried->conditions[i]) == found)
				draw_label(picture, &labels, i + 1, scale, tried->conditions[i]);
}
