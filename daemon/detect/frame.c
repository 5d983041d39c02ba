// SPDX-License-Identifier: GPL-3.0-or-later
// What is computed of a frame once for all checks on it. Each part is made at its first need and forgotten when the
// next frame begins; memory is only taken in detect_frame_reserve().
#include "daemon/detect/frame.h"

#include <errno.h>
#include <string.h>

#include "daemon/detect/reduce.h"
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

// Hands out one block piece by piece. Without a block it only counts.
struct purse {
	uint8_t *memory;
	size_t used;
};

static void *take(struct purse *purse, size_t count, size_t size)
{
	void *piece = purse->memory ? purse->memory + purse->used : NULL;

	purse->used += (count * size + KERNEL_PADDING + 63) / 64 * 64;
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
	scratch->map = take(purse, (size_t)scratch->map_words << BOX_SHIFT_MAX, sizeof(*scratch->map));
	scratch->list = take(purse, SEARCH_LIST_MAX, sizeof(*scratch->list));
}

static void take_all(struct detect_frame *frame, struct purse *purse)
{
	size_t width = (size_t)frame->width, height = (size_t)frame->height;

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
	frame->put_out_stride = (ptrdiff_t)((width + 63) / 64);
	frame->put_out = take(purse, height * (size_t)frame->put_out_stride, sizeof(*frame->put_out));
	take_scratch(frame, purse);
	if (frame->num != frame->den) {
		frame->reduced = take(purse, height, 4 * width);
		frame->reduced_row = take(purse, reduce_scratch(frame->width), sizeof(*frame->reduced_row));
	}
}

static int reserve(struct detect_frame *frame, int width, int height, int quality)
{
	struct purse purse = {0};

	detect_ratio(width, height, quality, &frame->num, &frame->den);
	frame->width = reduce_side(width, frame->num, frame->den);
	frame->height = reduce_side(height, frame->num, frame->den);
	take_all(frame, &purse);
	// Zeroed pages cost nothing until they are written to: what no condition needs is never there.
	frame->memory = calloc(1, purse.used);
	if (!frame->memory)
		return -ENOMEM;
	purse = (struct purse){.memory = frame->memory};
	frame->reduced = NULL;
	take_all(frame, &purse);
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
	frame->ready = frame->levels_ready = 0;
	frame->source = frame->pixels = (struct picture_view){0};
	r = reserve(frame, width, height, quality);
	if (r < 0) {
		release(frame);
		return r;
	}
	frame->source_width = width;
	frame->source_height = height;
	frame->quality = quality;
	return 0;
}

void detect_frame_begin(struct detect_frame *frame, struct picture_view view)
{
	frame->source = view;
	frame->pixels = view;
	frame->ready = frame->levels_ready = 0;
}

void detect_frame_set_clock(struct detect_frame *frame, detect_clock clock)
{
	frame->clock = clock;
}

static void make_reduced(struct detect_frame *frame)
{
	ptrdiff_t stride = 4 * (ptrdiff_t)frame->width;

	reduce_picture(frame->source, frame->num, frame->den, frame->reduced_row, frame->reduced, stride);
	frame->pixels = (struct picture_view){frame->reduced, frame->width, frame->height, stride};
}

static void make_gray(struct detect_frame *frame)
{
	for (int y = 0; y < frame->height; y++)
		kernels()->gray_row(frame->pixels.pixels + y * frame->pixels.stride,
				    frame->gray + y * frame->gray_stride, frame->width);
}

// A row of sums of boxes of 1 << shift px, from what is smaller.
static void make_sums(struct detect_frame *frame, int shift, int row, uint16_t *ret_sums)
{
	const struct level *level = &frame->levels[shift], *finer = level - 1;

	if (shift == 1) {
		const uint8_t *gray = frame->gray + 2 * row * frame->gray_stride;
		kernels()->halve_bytes(gray, gray + frame->gray_stride, ret_sums, level->width);
	} else if (shift == 2) {
		make_sums(frame, 1, 2 * row, frame->scratch.rows[0]);
		make_sums(frame, 1, 2 * row + 1, frame->scratch.rows[1]);
		kernels()->halve_sums(frame->scratch.rows[0], frame->scratch.rows[1], ret_sums, level->width);
	} else {
		const uint16_t *sums = finer->sums + 2 * row * finer->stride;
		kernels()->halve_sums(sums, sums + finer->stride, ret_sums, level->width);
	}
}

static void make_level(struct detect_frame *frame, int shift)
{
	struct level *level = &frame->levels[shift];

	if (frame->levels_ready & (1U << shift))
		return;
	if (shift > 2)
		make_level(frame, shift - 1);
	for (int row = 0; row < level->height; row++) {
		uint16_t *sums = level->sums + row * level->stride;
		make_sums(frame, shift, row, sums);
		kernels()->means_of(sums, level->means + row * level->stride, 2 * shift, level->width);
	}
	frame->levels_ready |= 1U << shift;
}

static void note(struct detect_frame *frame, enum detect_part part, int64_t begin, struct detect_result *ret)
{
	frame->ready |= 1U << part;
	ret->prepared |= 1U << part;
	if (frame->clock)
		ret->prepared_ns[part] += frame->clock() - begin;
}

void frame_need(struct detect_frame *frame, enum detect_part part, struct detect_result *ret)
{
	int64_t begin;

	if (part == DETECT_REDUCED && !frame->reduced)
		return;
	ret->used |= 1U << part;
	if (frame->ready & (1U << part))
		return;
	begin = frame->clock ? frame->clock() : 0;
	if (part == DETECT_REDUCED)
		make_reduced(frame);
	else
		make_gray(frame);
	note(frame, part, begin, ret);
}

void frame_need_boxes(struct detect_frame *frame, int shift, struct detect_result *ret)
{
	int64_t begin;

	ret->used |= 1U << DETECT_BOXES;
	if (frame->levels_ready & (1U << shift))
		return;
	begin = frame->clock ? frame->clock() : 0;
	make_level(frame, shift);
	note(frame, DETECT_BOXES, begin, ret);
}

static int scale_down(const struct detect_frame *frame, int v)
{
	return (int)((int64_t)v * frame->num / frame->den);
}

static int scale_up(const struct detect_frame *frame, int v)
{
	return (int)(((int64_t)v * frame->num + frame->den - 1) / frame->den);
}

bool frame_area(const struct detect_frame *frame, const struct detect_query *query, struct rect *ret)
{
	const struct rect *area = &query->area;
	int grow = query->exact ? 1 : 0;

	if (area->left < 0 || area->top < 0 || area->left >= area->right || area->top >= area->bottom ||
	    area->right > frame->source.width || area->bottom > frame->source.height)
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
	ret->place.right = MIN(frame_to_source(frame, place.right), frame->source.width);
	ret->place.bottom = MIN(frame_to_source(frame, place.bottom), frame->source.height);
}
