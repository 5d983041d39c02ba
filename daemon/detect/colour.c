// SPDX-License-Identifier: GPL-3.0-or-later
// Mean colours: integer HSV a pixel, integer sums, one division at the end.
#include "daemon/detect/colour.h"

#include <math.h>

#include "proto/base.h"

#define HSV_SHIFT 12
#define HUES 180

// The 8-bit HSV is defined by these reciprocals: rint(scale * 4096 / k), and 0 for k = 0. (No quotient lies half-way,
// so rounding half up is the same.)
#define R1(scale, k) ((k) ? ((scale)*2 * (1 << HSV_SHIFT) + (k)) / (2 * ((k) ? (k) : 1)) : 0)
#define R4(scale, k) R1(scale, k), R1(scale, (k) + 1), R1(scale, (k) + 2), R1(scale, (k) + 3)
#define R16(scale, k) R4(scale, k), R4(scale, (k) + 4), R4(scale, (k) + 8), R4(scale, (k) + 12)
#define R64(scale, k) R16(scale, k), R16(scale, (k) + 16), R16(scale, (k) + 32), R16(scale, (k) + 48)
#define R256(scale)                                                                                                    \
	{                                                                                                              \
		R64(scale, 0), R64(scale, 64), R64(scale, 128), R64(scale, 192)                                        \
	}

static const int32_t saturation_reciprocal[256] = R256(255);
static const int32_t hue_reciprocal[256] = R256(30); // 180 / 6

struct hsv {
	int hue, saturation, value;
};

static struct hsv to_hsv(int r, int g, int b)
{
	int v = MAX(r, MAX(g, b));
	int d = v - MIN(r, MIN(g, b));
	int n = v == r ? g - b : v == g ? b - r + 2 * d : r - g + 4 * d;
	int half = 1 << (HSV_SHIFT - 1);
	int hue = (n * hue_reciprocal[d] + half) >> HSV_SHIFT;

	return (struct hsv){
		.hue = hue < 0 ? hue + HUES : hue,
		.saturation = (d * saturation_reciprocal[v] + half) >> HSV_SHIFT,
		.value = v,
	};
}

int colour_hue(int r, int g, int b)
{
	return to_hsv(r, g, b).hue;
}

// Signed distance from hue0, in [-90, 90).
static int hue_offset(int hue, int hue0)
{
	int d = hue - hue0 + HUES / 2;

	return (d < 0 ? d + HUES : d >= HUES ? d - HUES : d) - HUES / 2;
}

struct mean_colour colour_mean(const uint8_t *pixels, ptrdiff_t stride, int width, int height, const uint8_t *mask,
			       ptrdiff_t mask_stride, int hue0)
{
	int64_t count = 0, hue = 0, saturation = 0, value = 0;

	for (int y = 0; y < height; y++) {
		const uint8_t *p = pixels + y * stride;
		const uint8_t *m = mask ? mask + y * mask_stride : NULL;

		for (int x = 0; x < width; x++, p += 4) {
			if (m && !m[x])
				continue;
			struct hsv c = to_hsv(p[2], p[1], p[0]);
			count++;
			hue += hue_offset(c.hue, hue0);
			saturation += c.saturation;
			value += c.value;
		}
	}
	double n = (double)MAX(count, 1);
	return (struct mean_colour){hue0 + (double)hue / n, (double)saturation / n, (double)value / n};
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
