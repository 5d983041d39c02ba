// SPDX-License-Identifier: GPL-3.0-or-later
// Mean colours: integer HSV a pixel, integer sums, one division at the end.
#include "daemon/detect/colour.h"

#include <math.h>
#include <string.h>

#include "daemon/detect/kernels.h"
#include "proto/base.h"

#define HUES 180

int colour_hue(int r, int g, int b)
{
	uint8_t pixel[4] = {(uint8_t)b, (uint8_t)g, (uint8_t)r, 255};
	struct hsv_sums sums = {0};

	kernels_scalar.hsv_row(pixel, NULL, 1, HUES / 2, &sums);
	return (int)sums.hue + HUES / 2;
}

struct mean_colour colour_mean(const uint8_t *pixels, ptrdiff_t stride, int width, int height, const uint8_t *mask,
			       ptrdiff_t mask_stride, int hue0)
{
	struct hsv_sums sums = {0};

	for (int y = 0; y < height; y++)
		kernels()->hsv_row(pixels + y * stride, mask ? mask + y * mask_stride : NULL, width, hue0, &sums);
	double n = (double)MAX(sums.count, 1);
	return (struct mean_colour){hue0 + (double)sums.hue / n, (double)sums.saturation / n, (double)sums.value / n};
}

bool colour_same(const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b, ptrdiff_t b_stride, int width, int height)
{
	for (int y = 0; y < height; y++, a += a_stride, b += b_stride) {
		if (!memcmp(a, b, 4 * (size_t)width))
			continue;
		for (int x = 0; x < width; x++)
			if (memcmp(a + 4 * (ptrdiff_t)x, b + 4 * (ptrdiff_t)x, 3))
				return false;
	}
	return true;
}

double colour_difference(const struct mean_colour *a, const struct mean_colour *b)
{
	double dh = fabs(a->hue - b->hue);

	dh = fmod(dh, HUES);
	dh = MIN(dh, HUES - dh);
	return (dh / 90 + fabs(a->saturation - b->saturation) / 255 + fabs(a->value - b->value) / 255) * 100 / 3;
}

void colour_sums(const uint8_t *pixels, ptrdiff_t stride, int width, int height, const uint8_t *mask,
		 ptrdiff_t mask_stride, int64_t ret_sums[3])
{
	int64_t sums[3] = {0};

	for (int y = 0; y < height; y++) {
		const uint8_t *p = pixels + y * stride;
		const uint8_t *m = mask ? mask + y * mask_stride : NULL;
		uint32_t row[3] = {0};

		for (int x = 0; x < width; x++, p += 4) {
			if (m && !m[x])
				continue;
			row[0] += p[0];
			row[1] += p[1];
			row[2] += p[2];
		}
		for (int c = 0; c < 3; c++)
			sums[c] += row[c];
	}
	for (int c = 0; c < 3; c++)
		ret_sums[c] = sums[c];
}
