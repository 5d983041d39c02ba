// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: making pictures smaller by area averaging. Pixel X of the result is the mean of the source from
/// X / ratio to (X + 1) / ratio in both directions, as far as the source reaches, rounded half up: one ratio for all,
/// so that a template keeps the size it has on the screen. All in integers.
#ifndef CONDPROF_DETECT_REDUCE_H
#define CONDPROF_DETECT_REDUCE_H

#include "daemon/picture/picture.h"

/// A side after reduction: to nearest, at least 1.
int reduce_side(int side, int num, int den);

/// 64-bit sums that reduce_picture() needs for results of this width.
size_t reduce_scratch(int ret_width);

/// Reduces B, G and R; alpha becomes 255.
/// @param ret reduce_side() wide and high, 32-bit BGRA
void reduce_picture(struct picture_view source, int num, int den, uint64_t *scratch, uint8_t *ret,
		    ptrdiff_t ret_stride);

/// Reduces a template: transparent pixels take no part, and a pixel of the result counts (alpha 255, else 0) when at
/// least half of what it was made of counted.
void reduce_template(struct picture_view source, int num, int den, uint8_t *ret, ptrdiff_t ret_stride);

#endif
