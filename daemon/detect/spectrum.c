// SPDX-License-Identifier: GPL-3.0-or-later
// Products by Fourier transforms: see spectrum.h. Two real things go through one complex transform: with boxes of two
// px two phases of the pattern, with pixels two tiles beside each other.
//
// How far off a product may be. u is half a unit in the last place of a float. A step of four rows' butterflies is two
// additions and a turn by a rounded number of length 1, off by less than 7 u of the length of the whole (as a vector of
// all numbers of the plane); a transform has eight such steps: 56 u. Let x be the plane, v the pattern, y what comes
// out, as vectors. By Cauchy-Schwarz each product is off by at most
//   |x| |v| (56 u for x's transform + 57 u for v's + 3 u for multiplying)  +  |y| 56 u for the way back,
// which is less than  1e-5 (|x| |v| + |y|)  even if it were half again as much. |y| is known from what was multiplied.
#include "daemon/detect/spectrum.h"

#include <math.h>
#include <string.h>

#include "daemon/detect/kernels.h"
#include "daemon/detect/template.h"

#define SIDE SPECTRUM_SIDE
#define ERROR 1e-5
#define FLOAT_SLACK 1e-5

/// So many places' norms and comparisons take as long as a transform.
#define PLACES_A_TRANSFORM 20000

/// Fewer places of a tile's row are not worth a transform.
#define PLACES_MIN 48

void spectrum_turns(float *ret)
{
	for (int span = SIDE; span > 4; span /= 4) {
		for (int i = 0; i < span / 4; i++) {
			for (int power = 1; power <= 3; power++) {
				double angle = -2 * 3.14159265358979323846 * i * power / span;
				*ret++ = (float)cos(angle);
				*ret++ = (float)sin(angle);
			}
		}
	}
}

bool spectrum_fits(const struct pattern_set *set)
{
	return set->columns && SIDE - set->columns + 1 >= PLACES_MIN && SIDE - set->rows + 1 >= PLACES_MIN;
}

// Places from first to last, and how many a tile has.
static int tiles_across(const struct search *search, const struct pattern_set *set)
{
	int places = ((search->positions.right - 1) >> set->shift) - (search->positions.left >> set->shift) + 1;
	int at_once = SIDE - set->columns + 1;

	return (places + at_once - 1) / at_once;
}

static int tiles_down(const struct search *search, const struct pattern_set *set)
{
	int places = ((search->positions.bottom - 1) >> set->shift) - (search->positions.top >> set->shift) + 1;
	int at_once = SIDE - set->rows + 1;

	return (places + at_once - 1) / at_once;
}

double spectrum_cost(const struct search *search, const struct pattern_set *set)
{
	int across = tiles_across(search, set), down = tiles_down(search, set);
	double transforms = set->shift ? 3.0 * across * down + 2 : 2.0 * ((across + 1) / 2) * down + 1;
	double places = (double)((search->positions.right - search->positions.left) >> set->shift) *
			((search->positions.bottom - search->positions.top) >> set->shift);

	// A place's norm and comparison take about as long with every set of kernels, and so does a transform.
	return (transforms + places / PLACES_A_TRANSFORM) * search->kernels->transform_cost;
}

int spectrum_rows(const struct stage *stage)
{
	return (SIDE - stage->set->rows + 1) << stage->set->shift;
}

// ---- patterns -----------------------------------------------------------------------------------------------------

static int sum_of_box(const struct detect_template *t, int shift, int x, int y)
{
	const uint8_t *gray = t->gray + y * t->stride + x;
	int sum = 0;

	for (int j = 0; j < 1 << shift; j++, gray += t->stride)
		for (int i = 0; i < 1 << shift; i++)
			sum += gray[i];
	return sum;
}

// A phase's pattern without its mean into a plane of zeros. @return its length
static double draw_pattern(const struct detect_template *t, const struct pattern_set *set, int phase, float sign,
			   float *plane)
{
	int side = 1 << set->shift, dx = phase % side, dy = phase / side, n = set->columns * set->rows;
	int64_t sum = 0, squares = 0;
	double mean;

	for (int j = 0; j < set->rows; j++) {
		for (int i = 0; i < set->columns; i++) {
			int v = sum_of_box(t, set->shift, (set->first + set->column + i) * side - dx,
					   (set->first + set->row + j) * side - dy);
			plane[j * SPECTRUM_ROW + i] = (float)v;
			sum += v;
			squares += (int64_t)v * v;
		}
	}
	mean = (double)sum / n;
	for (int j = 0; j < set->rows; j++)
		for (int i = 0; i < set->columns; i++)
			plane[j * SPECTRUM_ROW + i] = sign * (float)((double)plane[j * SPECTRUM_ROW + i] - mean);
	return sqrt((double)squares - (double)sum * mean) * (1 + FLOAT_SLACK);
}

void spectrum_begin(struct search *search, const struct stage *stage)
{
	struct spectrum_scratch *scratch = &search->frame->scratch.spectrum;
	const struct pattern_set *set = stage->set;
	int patterns = set->shift ? 1 << 2 * set->shift : 1;

	for (int i = 0; i < (patterns + 1) / 2; i++) {
		float *const *plane = scratch->patterns[i];

		memset(plane[0], 0, SIDE * SPECTRUM_ROW * sizeof(float));
		memset(plane[1], 0, SIDE * SPECTRUM_ROW * sizeof(float));
		scratch->length[2 * i] = draw_pattern(search->template_, set, 2 * i, 1, plane[0]);
		scratch->length[2 * i + 1] = 0;
		// Multiplied by the conjugate, the second one comes out as the imaginary part.
		if (set->shift)
			scratch->length[2 * i + 1] = draw_pattern(search->template_, set, 2 * i + 1, -1, plane[1]);
		search->kernels->to_spectrum(plane[0], plane[1], scratch->turns);
	}
}

// ---- tiles --------------------------------------------------------------------------------------------------------

/// Places of a strip, side by side.
struct tile {
	int left, count; ///< places
	int top, rows;   ///< box rows
};

static const void *box_address(const struct stage *stage, int y, int x)
{
	ptrdiff_t at = y * stage->boxes.stride + x;

	return stage->boxes.sums ? (const void *)(stage->boxes.sums + at) : (const void *)(stage->boxes.means + at);
}

// Something near the mean of the boxes: whatever is subtracted from all, patterns have no mean.
static int middle_of(const struct stage *stage, int y, int x, int rows, int columns)
{
	int64_t sum = 0, n = 0;

	for (int j = 0; j < rows; j += 16, n += columns) {
		const uint16_t *sums = stage->boxes.sums ? box_address(stage, y + j, x) : NULL;
		const uint8_t *bytes = sums ? NULL : box_address(stage, y + j, x);
		for (int i = 0; i < columns; i++)
			sum += sums ? sums[i] : bytes[i];
	}
	return (int)(sum / n);
}

// The boxes below a tile's places into a plane, 0 beyond them. @return the sum of their squares, or a little more
static double load(const struct search *search, const struct stage *stage, const struct tile *tile, float *plane)
{
	const struct kernels *k = search->kernels;
	const struct pattern_set *set = stage->set;
	int x = tile->left + set->first + set->column, y = tile->top + set->first + set->row;
	int columns = tile->count + set->columns - 1, rows = tile->rows + set->rows - 1;
	int middle = middle_of(stage, y, x, rows, columns);
	double energy = 0;

	for (int j = 0; j < SIDE; j++, plane += SPECTRUM_ROW) {
		if (j >= rows) {
			memset(plane, 0, SIDE * sizeof(*plane));
			continue;
		}
		energy += stage->boxes.sums ? k->floats_of_sums(box_address(stage, y + j, x), middle, plane, columns)
					    : k->floats_of_bytes(box_address(stage, y + j, x), middle, plane, columns);
		for (int i = (columns + 15) / 16 * 16; i < SIDE; i++)
			plane[i] = 0;
		for (int i = columns; i < MIN((columns + 15) / 16 * 16, SIDE); i++)
			plane[i] = 0;
	}
	return energy * (1 + FLOAT_SLACK) + 1;
}

// Enters the places whose products with pattern `pattern` leave them in question.
static bool enter_tile(struct search *search, struct stage *stage, const struct tile *tile, int pattern,
		       const float *products, double slack, const struct map *map)
{
	const struct pattern_set *set = stage->set;
	const struct frame_scratch *scratch = &search->frame->scratch;
	int side = 1 << set->shift;
	double cosine = pattern_cosine(&set->patterns[pattern], search->bar);
	float scale = (float)(cosine * scratch->spectrum.length[pattern] * (1 - 3 * FLOAT_SLACK));
	bool any = false;

	for (int r = 0; r < tile->rows; r++) {
		int y = (tile->top + r) * side + pattern / side;
		if (y < search->positions.top || y >= search->positions.bottom)
			continue;
		if (!search->kernels->exceeding(products + (ptrdiff_t)r * SPECTRUM_ROW, 1.0F / (SIDE * SIDE),
						(float)slack, scratch->spectrum.norms + (ptrdiff_t)r * SPECTRUM_ROW,
						cosine > 0 ? scale : -1, tile->count, scratch->bits[0]))
			continue;
		any = true;
		stage_enter(map, y, scratch->bits[0], tile->left, tile->count, set->shift, pattern % side);
	}
	return any;
}

static void norms_of(struct search *search, struct stage *stage, const struct tile *tile)
{
	struct frame_scratch *scratch = &search->frame->scratch;

	stage_begin_at(stage, tile->left, tile->count);
	for (int r = 0; r < tile->rows; r++)
		stage_norms(search, stage, tile->top + r, scratch->spectrum.norms + (ptrdiff_t)r * SPECTRUM_ROW, NULL);
}

// Back from the spectrum: the products of the plane with patterns `first` and `first` + 1. @return how far they are off
static double multiply(const struct search *search, double energy, int first)
{
	const struct spectrum_scratch *s = &search->frame->scratch.spectrum;
	const float *const plane[2] = {s->plane[0], s->plane[1]};
	const float *const pattern[2] = {s->patterns[first / 2][0], s->patterns[first / 2][1]};
	double length = hypot(s->length[first], s->length[first + 1]);
	double out = sqrt(search->kernels->multiply_conjugate(plane, pattern, s->products) * (1 + FLOAT_SLACK)) / SIDE;

	search->kernels->from_spectrum(s->products[0], s->products[1], s->turns);
	return ERROR * (sqrt(energy) * length + out);
}

// With boxes: one tile, its phases two by two.
static bool look_through_boxes(struct search *search, struct stage *stage, const struct tile *tile,
			       const struct map *map)
{
	const struct spectrum_scratch *s = &search->frame->scratch.spectrum;
	double energy = load(search, stage, tile, s->plane[0]);
	bool any = false;

	memset(s->plane[1], 0, SIDE * SPECTRUM_ROW * sizeof(float));
	norms_of(search, stage, tile);
	search->kernels->to_spectrum(s->plane[0], s->plane[1], s->turns);
	for (int first = 0; first < 1 << 2 * stage->set->shift; first += 2) {
		double slack = multiply(search, energy, first);
		any = enter_tile(search, stage, tile, first, s->products[0], slack, map) || any;
		any = enter_tile(search, stage, tile, first + 1, s->products[1], slack, map) || any;
	}
	return any;
}

// With pixels: two tiles beside each other, the second one perhaps of no places.
static bool look_through_pixels(struct search *search, struct stage *stage, const struct tile tiles[2],
				const struct map *map)
{
	const struct spectrum_scratch *s = &search->frame->scratch.spectrum;
	double energy = load(search, stage, &tiles[0], s->plane[0]), slack;
	bool any = false;

	if (tiles[1].count > 0)
		energy += load(search, stage, &tiles[1], s->plane[1]);
	else
		memset(s->plane[1], 0, SIDE * SPECTRUM_ROW * sizeof(float));
	search->kernels->to_spectrum(s->plane[0], s->plane[1], s->turns);
	slack = multiply(search, energy, 0);
	for (int i = 0; i < 2 && tiles[i].count > 0; i++) {
		norms_of(search, stage, &tiles[i]);
		any = enter_tile(search, stage, &tiles[i], 0, s->products[i], slack, map) || any;
	}
	return any;
}

bool spectrum_first(struct search *search, struct stage *stage, const struct map *map)
{
	const struct pattern_set *set = stage->set;
	int at_once = SIDE - set->columns + 1, end = ((search->positions.right - 1) >> set->shift) + 1;
	int last = (search->positions.bottom - 1) >> set->shift, top = map->top >> set->shift;
	struct tile tile = {.left = search->positions.left >> set->shift,
			    .top = top,
			    .rows = MIN(map->rows >> set->shift, last - top + 1)};
	bool any = false;

	memset(map->bits, 0, (size_t)map->rows * (size_t)map->words * sizeof(*map->bits));
	while (tile.left < end && !search_stop_asked(search)) {
		struct tile pair[2] = {tile, tile};
		pair[0].count = MIN(at_once, end - tile.left);
		pair[1].left = tile.left + pair[0].count;
		pair[1].count = MIN(at_once, end - pair[1].left);
		if (set->shift)
			any = look_through_boxes(search, stage, &pair[0], map) || any;
		else
			any = look_through_pixels(search, stage, pair, map) || any;
		tile.left += set->shift ? at_once : 2 * at_once;
	}
	stage_trim(search, map);
	return any;
}
