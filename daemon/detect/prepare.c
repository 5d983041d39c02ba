// SPDX-License-Identifier: GPL-3.0-or-later
// Making the parts of a frame: reduced pixels, gray, boxes. Tile by tile, only where some condition looks. Vector
// kernels may write somewhat to the right of what they are asked for: over tiles that are made later, or again over
// what is there already, from the same pixels.
#include <string.h>

#include "daemon/detect/frame.h"
#include "daemon/detect/stopwatch.h"

/// Vector kernels write results in blocks of at most so many.
#define KERNEL_BLOCK 32

// Sums of boxes of 1 << shift px from what is smaller: `count` boxes of row `row` from `column` on.
static void make_sums(struct detect_frame *frame, int shift, int row, int column, int count, uint16_t *ret_sums)
{
	const struct level *finer = &frame->levels[shift - 1];

	if (shift == 1) {
		const uint8_t *gray = frame->gray + 2 * row * frame->gray_stride + 2 * column;
		kernels()->halve_bytes(gray, gray + frame->gray_stride, ret_sums, count);
	} else if (shift == 2) {
		// Whole blocks, so that what is written beyond `count` is right as well.
		int halves = 2 * ((count + KERNEL_BLOCK - 1) / KERNEL_BLOCK * KERNEL_BLOCK);
		uint16_t *const *rows = frame->scratch.rows;
		make_sums(frame, 1, 2 * row, 2 * column, halves, rows[0]);
		make_sums(frame, 1, 2 * row + 1, 2 * column, halves, rows[1]);
		kernels()->halve_sums(rows[0], rows[1], ret_sums, count);
	} else {
		const uint16_t *sums = finer->sums + 2 * row * finer->stride + 2 * column;
		kernels()->halve_sums(sums, sums + finer->stride, ret_sums, count);
	}
}

static void make_boxes(struct detect_frame *frame, int shift, struct rect part)
{
	struct level *level = &frame->levels[shift];
	int left = part.left >> shift, count = MIN(part.right >> shift, level->width) - left;
	int bottom = MIN(part.bottom >> shift, level->height);

	for (int row = part.top >> shift; count > 0 && row < bottom; row++) {
		uint16_t *sums = level->sums + row * level->stride + left;
		make_sums(frame, shift, row, left, count, sums);
		kernels()->means_of(sums, level->means + row * level->stride + left, 2 * shift, count);
	}
}

static void make_gray(struct detect_frame *frame, struct rect part)
{
	for (int y = part.top; y < part.bottom; y++)
		kernels()->gray_row(frame->pixels.pixels + y * frame->pixels.stride + 4 * (ptrdiff_t)part.left,
				    frame->gray + y * frame->gray_stride + part.left, part.right - part.left);
}

static void make(struct detect_frame *frame, unsigned what, struct rect part)
{
	if (what == MADE_REDUCED)
		reduce_part(&frame->reduction, frame->source, part, frame->reduced, 4 * (ptrdiff_t)frame->width);
	else if (what == MADE_GRAY)
		make_gray(frame, part);
	else
		make_boxes(frame, __builtin_ctz(what / MADE_BOXES), part);
}

static enum detect_part part_of(unsigned what)
{
	return what == MADE_REDUCED ? DETECT_REDUCED : what == MADE_GRAY ? DETECT_GRAY : DETECT_BOXES;
}

static struct tile_time *times_of(struct detect_frame *frame, unsigned what, int row)
{
	return frame->times + ((ptrdiff_t)__builtin_ctz(what) * frame->tiles_down + row) * frame->tiles_across;
}

static void make_run(struct detect_frame *frame, unsigned what, int row, int first, int end, struct stopwatch *watch,
		     struct detect_result *ret)
{
	int64_t ns;

	stopwatch_start(watch);
	make(frame, what,
	     (struct rect){first * TILE_WIDTH, row * TILE_HEIGHT, MIN(end * TILE_WIDTH, frame->width),
			   MIN((row + 1) * TILE_HEIGHT, frame->height)});
	ret->prepared |= 1U << part_of(what);
	if (!watch->clock)
		return;
	ns = stopwatch_lap(watch);
	ret->prepared_ns[part_of(what)] += ns;
	frame_took(frame, times_of(frame, what, row) + first, end - first, 1, ns);
	frame->untold[row] |= (uint8_t)what;
}

// Tiles from `first` up to `end` that have it already: whoever made it is told, unless that is known to be done.
static void use_run(struct detect_frame *frame, unsigned what, int row, int first, int end)
{
	if (!frame->clock || !(frame->untold[row] & what))
		return;
	if (frame_share(frame, times_of(frame, what, row) + first, end - first, 1) &&
	    end - first == frame->tiles_across)
		frame->untold[row] &= (uint8_t)~what;
}

// One kind of thing in one row of tiles from tile `first` up to `end`: runs of tiles that lack it at once.
static void make_runs(struct detect_frame *frame, unsigned what, int row, int first, int end, struct stopwatch *watch,
		      struct detect_result *ret)
{
	uint8_t *tiles = frame->tiles + (ptrdiff_t)row * frame->tiles_across;

	for (int i = first; i < end;) {
		int from = i;
		while (i < end && tiles[i] & what)
			i++;
		use_run(frame, what, row, from, i);
		from = i;
		while (i < end && !(tiles[i] & what))
			tiles[i++] |= (uint8_t)what;
		if (i > from)
			make_run(frame, what, row, from, i, watch, ret);
	}
}

// What all tiles of a row from `first` up to `end` have.
static unsigned made_of_all(const struct detect_frame *frame, int row, int first, int end)
{
	const uint8_t *tiles = frame->tiles + (ptrdiff_t)row * frame->tiles_across;
	uint8_t all = UINT8_MAX;

	for (int i = first; i < end; i++)
		all &= tiles[i];
	return all;
}

static void need_row(struct detect_frame *frame, unsigned made, int row, int first, int end, struct stopwatch *watch,
		     struct detect_result *ret)
{
	unsigned all = made_of_all(frame, row, first, end);

	for (unsigned left = made; left; left &= left - 1) {
		unsigned what = left & -left;

		if (all & what)
			use_run(frame, what, row, first, end);
		else
			make_runs(frame, what, row, first, end, watch, ret);
	}
}

void frame_need(struct detect_frame *frame, unsigned made, struct rect area, struct detect_result *ret)
{
	int first = area.left / TILE_WIDTH, end = (area.right + TILE_WIDTH - 1) / TILE_WIDTH;
	int bottom = (area.bottom + TILE_HEIGHT - 1) / TILE_HEIGHT;
	struct stopwatch watch = {.clock = frame->clock};

	for (int shift = BOX_SHIFT_MAX; shift > 2; shift--)
		if (made & (unsigned)MADE_BOXES << shift)
			made |= (unsigned)MADE_BOXES << (shift - 1);
	if (!frame->reduced)
		made &= ~(unsigned)MADE_REDUCED;
	for (unsigned left = made; left; left &= left - 1)
		ret->used |= 1U << part_of(left & -left);
	for (int row = area.top / TILE_HEIGHT; row < bottom; row++)
		need_row(frame, made, row, first, end, &watch, ret);
	ret->shared = frame->shared;
	ret->n_shared = frame->n_shared;
}
