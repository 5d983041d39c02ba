// SPDX-License-Identifier: GPL-3.0-or-later
// What is computed of a frame once for all checks on it. Each part is made at its first need and forgotten when the
// next frame begins; memory is only taken in detect_frame_reserve().
#include "daemon/detect/frame.h"

#include <errno.h>
#include <string.h>

#include "daemon/detect/reduce.h"
#include "daemon/detect/spectrum.h"
#include "proto/limits.h"

int detect_frame_new(struct detect_frame **ret)
{
	struct detect_frame *frame = calloc(1, sizeof(*frame));

	if (!frame)
		return -ENOMEM;
	frame->num = frame->den = 1;
	*ret = frame;
	return 0;
}

static void release(struct detect_frame *frame)
{
	free(frame->memory);
	frame->memory = NULL;
	frame->source_width = frame->source_height = 0;
}

struct detect_frame *detect_frame_free(struct detect_frame *frame)
{
	if (frame)
		release(frame);
	free(frame);
	return NULL;
}

void detect_ratio(int width, int height, int quality, int *ret_num, int *ret_den)
{
	int longer = MAX(width, height), a = longer, b = quality;

	if (quality <= 0 || longer <= quality) {
		*ret_num = *ret_den = 1;
		return;
	}
	while (b) {
		int rest = a % b;
		a = b;
		b = rest;
	}
	*ret_num = quality / a;
	*ret_den = longer / a;
}

/// Bytes of the largest vectors: their loads and stores are slower across its multiples.
#define VECTOR 64

// Hands out one block piece by piece. Without a block it only counts.
struct purse {
	uint8_t *memory;
	size_t used;
};

static void *take(struct purse *purse, size_t count, size_t size)
{
	void *piece = purse->memory ? purse->memory + purse->used : NULL;

	purse->used += (count * size + KERNEL_PADDING + VECTOR - 1) / VECTOR * VECTOR;
	return piece;
}

static void take_columns(struct column_sums *columns, struct purse *purse, size_t count)
{
	columns->sum = take(purse, count, sizeof(int64_t));
	columns->squares = take(purse, count, sizeof(int64_t));
	columns->rests = take(purse, count, sizeof(int64_t));
	for (int i = 0; i < 3; i++)
		columns->prefix[i] = take(purse, count, sizeof(int64_t));
}

static void take_planes(struct spectrum_scratch *scratch, struct purse *purse)
{
	const size_t size = (size_t)SPECTRUM_SIDE * SPECTRUM_ROW;

	for (int i = 0; i < 2; i++) {
		scratch->plane[i] = take(purse, size, sizeof(float));
		scratch->products[i] = take(purse, size, sizeof(float));
		scratch->patterns[0][i] = take(purse, size, sizeof(float));
		scratch->patterns[1][i] = take(purse, size, sizeof(float));
	}
	scratch->norms = take(purse, size, sizeof(float));
	scratch->turns = take(purse, SPECTRUM_TURNS_ALL, sizeof(float));
}

static void take_scratch(struct detect_frame *frame, struct purse *purse)
{
	struct frame_scratch *scratch = &frame->scratch;
	size_t columns = (size_t)frame->width + 2 * SCAN_BLOCK;

	take_columns(&scratch->all, purse, columns);
	take_columns(&scratch->some, purse, columns);
	for (int i = 0; i < SCAN_PATTERNS; i++) {
		scratch->norm[i] = take(purse, columns, sizeof(float));
		scratch->rest[i] = take(purse, columns, sizeof(float));
	}
	scratch->bits_size = columns / SCAN_BLOCK * sizeof(uint64_t);
	scratch->bits[0] = take(purse, SCAN_PATTERNS, scratch->bits_size);
	for (int i = 1; i < SCAN_PATTERNS && scratch->bits[0]; i++)
		scratch->bits[i] = scratch->bits[0] + (size_t)i * scratch->bits_size / sizeof(uint64_t);
	for (int i = 0; i < 2; i++)
		scratch->rows[i] = take(purse, columns, sizeof(uint16_t));
	scratch->map_words = (int)(columns / SCAN_BLOCK) + (1 << BOX_SHIFT_MAX);
	scratch->map = take(purse, (size_t)scratch->map_words * MAP_ROWS, sizeof(*scratch->map));
	take_planes(&scratch->spectrum, purse);
	scratch->list = take(purse, SEARCH_LIST_MAX, sizeof(*scratch->list));
}

static void take_all(struct detect_frame *frame, struct purse *purse)
{
	size_t width = (size_t)frame->width, height = (size_t)frame->height;
	size_t source_tiles_down = (size_t)((frame->source_height + TILE_HEIGHT - 1) / TILE_HEIGHT);

	frame->gray_stride = frame->width + KERNEL_PADDING;
	frame->gray = take(purse, height + SCAN_PATTERNS, (size_t)frame->gray_stride);
	for (int shift = 1; shift <= BOX_SHIFT_MAX; shift++) {
		struct level *level = &frame->levels[shift];
		level->width = frame->width >> shift;
		level->height = frame->height >> shift;
		level->stride = level->width + KERNEL_PADDING;
		level->means = take(purse, (size_t)level->height + 1, (size_t)level->stride);
		level->sums = take(purse, ((size_t)level->height + 1) * (size_t)level->stride, sizeof(*level->sums));
	}
	frame->tiles_across = (frame->width + TILE_WIDTH - 1) / TILE_WIDTH;
	frame->tiles_down = (frame->height + TILE_HEIGHT - 1) / TILE_HEIGHT;
	frame->tiles = take(purse, (size_t)frame->tiles_across, (size_t)frame->tiles_down);
	frame->untold = take(purse, (size_t)frame->tiles_down, sizeof(*frame->untold));
	frame->times = take(purse, (size_t)frame->tiles_across * (size_t)frame->tiles_down,
			    MADE_KINDS * sizeof(*frame->times));
	frame->kept = take(purse, (size_t)frame->source_height, 4 * (size_t)frame->source_width);
	frame->source_tiles_across = (frame->source_width + TILE_WIDTH - 1) / TILE_WIDTH;
	frame->history = take(purse, (size_t)frame->source_tiles_across * source_tiles_down, sizeof(*frame->history));
	frame->compares_untold = take(purse, source_tiles_down, sizeof(*frame->compares_untold));
	frame->put_out_stride = (ptrdiff_t)((width + 63) / 64);
	frame->put_out = take(purse, height * (size_t)frame->put_out_stride, sizeof(*frame->put_out));
	take_scratch(frame, purse);
	if (frame->num != frame->den) {
		frame->reduced = take(purse, height, 4 * width);
		frame->reduction.row = take(purse, 4 * (size_t)frame->source_width + REDUCE_PADDING, sizeof(uint32_t));
		frame->spans = take(purse, width, sizeof(*frame->spans));
	}
}

static void prepare_reduction(struct detect_frame *frame)
{
	for (int x = 0; x < frame->width; x++)
		frame->spans[x] = reduce_span(x, frame->source_width, frame->num, frame->den);
	frame->reduction.num = frame->num;
	frame->reduction.den = frame->den;
	frame->reduction.columns = frame->spans;
}

static int reserve(struct detect_frame *frame, int width, int height, int quality)
{
	struct purse purse = {0};

	frame->reduced = NULL;
	frame->source_width = width;
	frame->source_height = height;
	frame->quality = quality;
	detect_ratio(width, height, quality, &frame->num, &frame->den);
	frame->width = reduce_side(width, frame->num, frame->den);
	frame->height = reduce_side(height, frame->num, frame->den);
	take_all(frame, &purse);
	// Zeroed pages cost nothing until they are written to: what no condition needs is never there.
	frame->memory = calloc(1, purse.used + VECTOR);
	if (!frame->memory)
		return -ENOMEM;
	purse = (struct purse){.memory = frame->memory};
	purse.memory += (VECTOR - (uintptr_t)frame->memory % VECTOR) % VECTOR;
	take_all(frame, &purse);
	spectrum_turns(frame->scratch.spectrum.turns);
	if (frame->reduced)
		prepare_reduction(frame);
	return 0;
}

int detect_frame_reserve(struct detect_frame *frame, int width, int height, int quality)
{
	int r;

	if (width < 1 || height < 1 || width > PICTURE_MAX_SIDE || height > PICTURE_MAX_SIDE ||
	    (int64_t)width * height > PICTURE_MAX_PIXELS)
		return -EINVAL;
	if (frame->source_width == width && frame->source_height == height && frame->quality == quality)
		return 0;
	release(frame);
	frame->generation++;
	frame->source = frame->pixels = (struct picture_view){0};
	r = reserve(frame, width, height, quality);
	if (r < 0)
		release(frame);
	return r;
}

void detect_frame_begin(struct detect_frame *frame, struct picture_view view)
{
	frame->number++;
	frame->source = view;
	frame->pixels = view;
	if (frame->reduced)
		frame->pixels =
			(struct picture_view){frame->reduced, frame->width, frame->height, 4 * (ptrdiff_t)frame->width};
	if (frame->memory)
		memset(frame->tiles, 0, (size_t)frame->tiles_across * (size_t)frame->tiles_down);
}

void detect_frame_set_clock(struct detect_frame *frame, detect_clock clock)
{
	frame->clock = clock;
}

void frame_check(struct detect_frame *frame, const struct detect_query *query)
{
	frame->asker = query->asker;
	frame->n_shared = 0;
}

static struct detect_shared *shared_with(struct detect_frame *frame, uint32_t asker)
{
	int i = frame->n_shared - 1;

	while (i >= 0 && frame->shared[i].asker != asker)
		i--;
	if (i >= 0)
		return &frame->shared[i];
	if (frame->n_shared == SHARED_MAX)
		return NULL;
	frame->shared[frame->n_shared] = (struct detect_shared){.asker = asker};
	return &frame->shared[frame->n_shared++];
}

bool frame_share(struct detect_frame *frame, struct tile_time *time, int count, ptrdiff_t step)
{
	struct detect_shared *with = NULL;
	bool all = true;

	for (; count > 0; count--, time += step) {
		if (!time->ns)
			continue;
		if (time->asker != frame->asker && (!with || with->asker != time->asker))
			with = shared_with(frame, time->asker);
		if (time->asker == frame->asker || !with) {
			all = false;
			continue;
		}
		with->ns += time->ns;
		time->ns = 0;
	}
	return all;
}

static int scale_down(const struct detect_frame *frame, int v)
{
	return (int)((int64_t)v * frame->num / frame->den);
}

static int scale_up(const struct detect_frame *frame, int v)
{
	return (int)(((int64_t)v * frame->num + frame->den - 1) / frame->den);
}

bool frame_has_pixels(const struct detect_frame *frame)
{
	return frame->source.pixels && frame->source.width == frame->source_width &&
	       frame->source.height == frame->source_height;
}

bool frame_area(const struct detect_frame *frame, const struct detect_query *query, struct rect *ret)
{
	const struct rect *area = &query->area;
	int grow = query->exact ? 1 : 0;

	if (area->left < 0 || area->top < 0 || area->left >= area->right || area->top >= area->bottom ||
	    area->right > frame->source_width || area->bottom > frame->source_height)
		return false;
	ret->left = MAX(scale_down(frame, area->left) - grow, 0);
	ret->top = MAX(scale_down(frame, area->top) - grow, 0);
	ret->right = MIN(scale_up(frame, area->right) + grow, frame->width);
	ret->bottom = MIN(scale_up(frame, area->bottom) + grow, frame->height);
	return true;
}

int frame_to_source(const struct detect_frame *frame, int v)
{
	return (int)(((int64_t)v * frame->den * 2 + frame->num) / (2 * (int64_t)frame->num));
}

void frame_place(const struct detect_frame *frame, struct rect place, struct detect_result *ret)
{
	ret->x = frame_to_source(frame, place.left + (place.right - place.left) / 2);
	ret->y = frame_to_source(frame, place.top + (place.bottom - place.top) / 2);
	ret->place.left = frame_to_source(frame, place.left);
	ret->place.top = frame_to_source(frame, place.top);
	ret->place.right = MIN(frame_to_source(frame, place.right), frame->source_width);
	ret->place.bottom = MIN(frame_to_source(frame, place.bottom), frame->source_height);
}
