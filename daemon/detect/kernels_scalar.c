// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loops in plain C: for CPUs without anything better, and what the other sets are tested against.
#include "daemon/detect/kernels.h"

#include <math.h>

#include "proto/base.h"

#define TARGET
#define INLINE __attribute__((always_inline)) static inline
#include "daemon/detect/kernels_generic.h"
#define SPECTRUM_LANES 4
#define SPECTRUM_ABOVE(a, b) above(&(a), &(b))
typedef float four_floats __attribute__((vector_size(16), aligned(4), may_alias));
INLINE unsigned above(const four_floats *a, const four_floats *b)
{
	unsigned bits = 0;

	for (int i = 0; i < 4; i++)
		bits |= (unsigned)((*a)[i] > (*b)[i]) << i;
	return bits;
}
#include "daemon/detect/kernels_spectrum.h"

static void gray_row(const uint8_t *bgra, uint8_t *ret_gray, int width)
{
	for (int x = 0; x < width; x++, bgra += 4)
		ret_gray[x] = (uint8_t)((9798U * bgra[2] + 19235U * bgra[1] + 3735U * bgra[0] + 16384U) >> 15);
}

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

// Signed distance from hue0, in [-90, 90).
static int hue_offset(int hue, int hue0)
{
	int d = hue - hue0 + HUES / 2;

	return (d < 0 ? d + HUES : d >= HUES ? d - HUES : d) - HUES / 2;
}

static void hsv_row(const uint8_t *bgra, const uint8_t *mask, int width, int hue0, struct hsv_sums *sums)
{
	for (int x = 0; x < width; x++, bgra += 4) {
		if (mask && !mask[x])
			continue;
		struct hsv c = to_hsv(bgra[2], bgra[1], bgra[0]);
		sums->count++;
		sums->hue += hue_offset(c.hue, hue0);
		sums->saturation += c.saturation;
		sums->value += c.value;
	}
}

static void window_row(const uint8_t *frame, const uint8_t *template_, const uint8_t *mask, int width,
		       struct window_sums *sums)
{
	uint32_t sum = 0, squares = 0, product = 0;

	for (int x = 0; x < width; x++) {
		uint32_t w = mask ? frame[x] & mask[x] : frame[x];
		sum += w;
		squares += w * w;
		product += w * template_[x];
	}
	sums->sum += sum;
	sums->squares += squares;
	sums->product += product;
}

static void window(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *template_, const uint8_t *mask,
		   ptrdiff_t template_stride, int width, int rows, struct window_sums *sums)
{
	for (int y = 0; y < rows; y++)
		window_row(frame + y * frame_stride, template_ + y * template_stride,
			   mask ? mask + y * template_stride : NULL, width, sums);
}

static void products(const struct scan *scan, int place, int32_t ret[SCAN_PATTERNS])
{
	const int8_t *w = scan->weights;

	for (int p = 0; p < SCAN_PATTERNS; p++)
		ret[p] = 0;
	for (int y = 0; y < scan->rows; y++) {
		const uint8_t *means = scan->means + y * scan->stride + place;

		for (int q = 0; q < scan->quads; q++, means += 4) {
			for (int p = 0; p < SCAN_PATTERNS; p++, w += 4)
				ret[p] += means[0] * w[0] + means[1] * w[1] + means[2] * w[2] + means[3] * w[3];
		}
	}
}

static bool scan(const struct scan *scan)
{
	uint64_t any = 0;

	for (int block = 0; block * SCAN_BLOCK < scan->count; block++) {
		uint64_t bits[SCAN_PATTERNS] = {0};

		for (int i = 0; i < SCAN_BLOCK && block * SCAN_BLOCK + i < scan->count; i++) {
			int place = block * SCAN_BLOCK + i;
			int32_t product[SCAN_PATTERNS];

			products(scan, place, product);
			for (int p = 0; p < SCAN_PATTERNS; p++) {
				float have =
					(float)product[p] * scan->unit + scan->rest[p][place] * scan->rest_scale[p];
				float wanted = scan->norm[p][place] * scan->norm_scale[p];
				bits[p] |= (uint64_t)(have > wanted) << i;
			}
		}
		for (int p = 0; p < SCAN_PATTERNS; p++) {
			scan->survivors[p][block] = bits[p];
			any |= bits[p];
		}
	}
	return any;
}

static void add_boxes(const uint8_t *means, const uint16_t *sums, int shift, int count, int sign,
		      const struct column_sums *columns)
{
	for (int i = 0; i < count; i++) {
		int64_t sum = sums ? sums[i] : means[i], rest = sum - ((int64_t)means[i] << shift);
		columns->sum[i] += sign * sum;
		columns->squares[i] += sign * sum * sum;
		if (sums)
			columns->rests[i] += sign * rest * rest;
	}
}

static void norms(const struct column_sums *columns, int width, int rows, int count, float *ret_norm, float *ret_rest)
{
	int64_t sum = 0, squares = 0, rests = 0;
	double n = (double)width * rows;

	for (int i = 0; i < width - 1; i++) {
		sum += columns->sum[i];
		squares += columns->squares[i];
	}
	for (int i = 0; i < count; i++) {
		sum += columns->sum[i + width - 1];
		squares += columns->squares[i + width - 1];
		double all = (double)squares, variance = all - (double)sum * (double)sum / n - all * ROUNDING;
		ret_norm[i] = sqrtf((float)(variance > 0 ? variance : 0));
		sum -= columns->sum[i];
		squares -= columns->squares[i];
	}
	for (int i = 0; ret_rest && i < width - 1; i++)
		rests += columns->rests[i];
	for (int i = 0; ret_rest && i < count; i++) {
		rests += columns->rests[i + width - 1];
		ret_rest[i] = sqrtf((float)rests);
		rests -= columns->rests[i];
	}
}

static void halve_bytes(const uint8_t *upper, const uint8_t *lower, uint16_t *ret_sums, int count)
{
	for (int i = 0; i < count; i++)
		ret_sums[i] = (uint16_t)(upper[2 * i] + upper[2 * i + 1] + lower[2 * i] + lower[2 * i + 1]);
}

static void halve_sums(const uint16_t *upper, const uint16_t *lower, uint16_t *ret_sums, int count)
{
	for (int i = 0; i < count; i++)
		ret_sums[i] = (uint16_t)(upper[2 * i] + upper[2 * i + 1] + lower[2 * i] + lower[2 * i + 1]);
}

static void means_of(const uint16_t *sums, uint8_t *ret_means, int shift, int count)
{
	for (int i = 0; i < count; i++)
		ret_means[i] = (uint8_t)((sums[i] + (1U << shift >> 1)) >> shift);
}

const struct kernels kernels_scalar = {
	.name = "scalar",
	.gray_row = gray_row,
	.hsv_row = hsv_row,
	.window = window,
	.scan = scan,
	.add_boxes = add_boxes,
	.norms = norms,
	.to_spectrum = to_spectrum,
	.from_spectrum = from_spectrum,
	.multiply_conjugate = multiply_conjugate,
	.floats_of_bytes = floats_of_bytes,
	.floats_of_sums = floats_of_sums,
	.exceeding = exceeding,
	.transform_cost = 10000,
	.weigh = weigh,
	.weigh_small = weigh_small,
	.halve_bytes = halve_bytes,
	.halve_sums = halve_sums,
	.means_of = means_of,
};
