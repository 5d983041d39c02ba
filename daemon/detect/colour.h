// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: mean colours of windows, in 8-bit HSV (hue 0 to 179).
#ifndef CONDPROF_DETECT_COLOUR_H
#define CONDPROF_DETECT_COLOUR_H

#include "daemon/picture/picture.h"

struct mean_colour {
	double hue, saturation, value;
};

/// Hue of one colour.
int colour_hue(int r, int g, int b);

/// Means over a window. Hues are averaged around hue0, so that those on both sides of the wrap (0 and 179) do not
/// cancel.
/// @param pixels the window's first pixel (BGRA)
/// @param mask   a byte a pixel, 0: leave it out; NULL: all count
struct mean_colour colour_mean(const uint8_t *pixels, ptrdiff_t stride, int width, int height, const uint8_t *mask,
			       ptrdiff_t mask_stride, int hue0);

/// Whether all pixels are equal but for alpha.
bool colour_same(const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b, ptrdiff_t b_stride, int width, int height);

/// How far two means are apart, in percent.
double colour_difference(const struct mean_colour *a, const struct mean_colour *b);

/// Sums of B, G, R (in this order) over a window.
void colour_sums(const uint8_t *pixels, ptrdiff_t stride, int width, int height, const uint8_t *mask,
		 ptrdiff_t mask_stride, int64_t ret_sums[3]);

#endif
