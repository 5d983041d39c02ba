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
	free(frame->reduced);
	free(frame->reduced_row);
	free(frame->gray);
	free(frame->put_out);
	frame->reduced = NULL;
	frame->reduced_row = NULL;
	frame->gray = NULL;
	frame->put_out = NULL;
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

static int reserve(struct detect_frame *frame, int width, int height, int quality)
{
	size_t stride, rows, words;

	detect_ratio(width, height, quality, &frame->num, &frame->den);
	frame->width = reduce_side(width, frame->num, frame->den);
	frame->height = reduce_side(height, frame->num, frame->den);
	rows = (size_t)frame->height;
	if (frame->num != frame->den) {
		frame->reduced = calloc(rows, 4 * (size_t)frame->width);
		frame->reduced_row = calloc(reduce_scratch(frame->width), sizeof(*frame->reduced_row));
		if (!frame->reduced || !frame->reduced_row)
			return -ENOMEM;
	}
	stride = (size_t)frame->width + PLANE_PADDING;
	words = ((size_t)frame->width + 63) / 64;
	frame->gray = calloc(rows, stride);
	frame->put_out = calloc(rows, words * sizeof(*frame->put_out));
	if (!frame->gray || !frame->put_out)
		return -ENOMEM;
	frame->gray_stride = (ptrdiff_t)stride;
	frame->put_out_stride = (ptrdiff_t)words;
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
	frame->ready = 0;
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
	frame->ready = 0;
}

void detect_frame_set_clock(struct detect_frame *frame, detect_clock clock)
{
	frame->clock = clock;
}

void gray_row(const uint8_t *bgra, uint8_t *ret_gray, int width)
{
	for (int x = 0; x < width; x++, bgra += 4)
		ret_gray[x] = (uint8_t)((9798U * bgra[2] + 19235U * bgra[1] + 3735U * bgra[0] + 16384U) >> 15);
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
		gray_row(frame->pixels.pixels + y * frame->pixels.stride, frame->gray + y * frame->gray_stride,
			 frame->width);
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
	frame->ready |= 1U << part;
	ret->prepared |= 1U << part;
	if (frame->clock)
		ret->prepared_ns[part] += frame->clock() - begin;
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
