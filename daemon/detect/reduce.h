// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: making pictures smaller by area averaging. Pixel X of the result is the mean of the source from
/// X / ratio to (X + 1) / ratio in both directions, as far as the source reaches, rounded half up: one ratio for all,
/// so that a template keeps the size it has on the screen. All in integers.
#ifndef CONDPROF_DETECT_REDUCE_H
#define CONDPROF_DETECT_REDUCE_H

#include "daemon/picture/picture.h"

/// The source pixels that make up one result pixel, in one direction. Lengths are in units of which a source pixel has
/// `num` and a result pixel `den`, so that every overlap is a whole number.
struct span {
	int first, last;           ///< inclusive
	uint32_t head, body, tail; ///< weight of the first, of those between, of the last
	uint32_t total;
};

/// A side after reduction: to nearest, at least 1.
int reduce_side(int side, int num, int den);

/// @param result 0 to reduce_side(side) - 1
struct span reduce_span(int result, int side, int num, int den);

/// How a frame is reduced: the same for every one of its size.
struct reduction {
	int num, den;
	const struct span *columns; ///< one for each column of the result
	uint32_t *row;              ///< scratch: 4 * source width, and REDUCE_PADDING bytes
};

#define REDUCE_PADDING 64

/// Reduces B, G and R of a part of a picture; alpha becomes 255.
/// @param part of the result, px
/// @param ret  the whole result, 32-bit BGRA; only the part is written
void reduce_part(const struct reduction *reduction, struct picture_view source, struct rect part, uint8_t *ret,
		 ptrdiff_t ret_stride);

/// Reduces a template: transparent pixels take no part, and a pixel of the result counts (alpha 255, else 0) when at
/// least half of what it was made of counted.
void reduce_template(struct picture_view source, int num, int den, uint8_t *ret, ptrdiff_t ret_stride);

#endif
