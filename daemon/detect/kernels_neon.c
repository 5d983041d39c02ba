// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loops with NEON and its dot products (ARMv8.2 and later). Integer results equal the scalar set's.
#include "daemon/detect/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#define TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#define INLINE TARGET __attribute__((always_inline)) static inline

#include "daemon/detect/kernels_generic.h"
#define SPECTRUM_LANES 4
#define SPECTRUM_ABOVE(a, b) above(vcgtq_f32((float32x4_t)(a), (float32x4_t)(b)))
INLINE unsigned above(uint32x4_t where)
{
	const uint32x4_t bits = {1, 2, 4, 8};

	return vaddvq_u32(vandq_u32(where, bits));
}
#include "daemon/detect/kernels_spectrum.h"

INLINE uint16x8_t gray8(uint8x8_t b, uint8x8_t g, uint8x8_t r)
{
	uint16x8_t bw = vmovl_u8(b), gw = vmovl_u8(g), rw = vmovl_u8(r);
	uint32x4_t low = vmull_n_u16(vget_low_u16(rw), 9798), high = vmull_n_u16(vget_high_u16(rw), 9798);

	low = vmlal_n_u16(vmlal_n_u16(low, vget_low_u16(gw), 19235), vget_low_u16(bw), 3735);
	high = vmlal_n_u16(vmlal_n_u16(high, vget_high_u16(gw), 19235), vget_high_u16(bw), 3735);
	return vcombine_u16(vrshrn_n_u32(low, 15), vrshrn_n_u32(high, 15));
}

TARGET static void gray_row(const uint8_t *bgra, uint8_t *ret_gray, int width)
{
	int x = 0;

	for (; x + 16 <= width; x += 16) {
		uint8x16x4_t p = vld4q_u8(bgra + 4 * (ptrdiff_t)x);
		uint16x8_t low = gray8(vget_low_u8(p.val[0]), vget_low_u8(p.val[1]), vget_low_u8(p.val[2]));
		uint16x8_t high = gray8(vget_high_u8(p.val[0]), vget_high_u8(p.val[1]), vget_high_u8(p.val[2]));
		vst1q_u8(ret_gray + x, vcombine_u8(vmovn_u16(low), vmovn_u16(high)));
	}
	if (x < width)
		kernels_scalar.gray_row(bgra + 4 * (ptrdiff_t)x, ret_gray + x, width - x);
}

struct hsv_lanes {
	int32x4_t hue, saturation, value;
};

// scale / k rounded, as the tables of the scalar set: a division of floats is near enough for every k (the test looks
// at all colours). For k 0 it is nonsense, which is multiplied by 0 below.
INLINE int32x4_t reciprocal(float scale, int32x4_t k)
{
	return vcvtnq_s32_f32(vdivq_f32(vdupq_n_f32(scale), vcvtq_f32_s32(k)));
}

INLINE int32x4_t scaled(int32x4_t v, int32x4_t by)
{
	return vshrq_n_s32(vmlaq_s32(vdupq_n_s32(2048), v, by), 12);
}

INLINE int32x4_t hue_of(int32x4_t r, int32x4_t g, int32x4_t b, int32x4_t v, int32x4_t d)
{
	int32x4_t n = vaddq_s32(vsubq_s32(r, g), vshlq_n_s32(d, 2)), hue;

	n = vbslq_s32(vceqq_s32(v, g), vaddq_s32(vsubq_s32(b, r), vshlq_n_s32(d, 1)), n);
	n = vbslq_s32(vceqq_s32(v, r), vsubq_s32(g, b), n);
	hue = scaled(n, reciprocal(180 * 4096 / 6, d));
	return vaddq_s32(hue, vandq_s32(vshrq_n_s32(hue, 31), vdupq_n_s32(180)));
}

INLINE void hsv4(const uint8_t *bgra, uint32x4_t counted, int32x4_t shift, struct hsv_lanes *sums)
{
	const uint32x4_t byte = vdupq_n_u32(0xff);
	const int32x4_t half = vdupq_n_s32(90), turn = vdupq_n_s32(180);
	uint32x4_t pixels = vandq_u32(vreinterpretq_u32_u8(vld1q_u8(bgra)), counted);
	int32x4_t b = vreinterpretq_s32_u32(vandq_u32(pixels, byte));
	int32x4_t g = vreinterpretq_s32_u32(vandq_u32(vshrq_n_u32(pixels, 8), byte));
	int32x4_t r = vreinterpretq_s32_u32(vandq_u32(vshrq_n_u32(pixels, 16), byte));
	int32x4_t v = vmaxq_s32(r, vmaxq_s32(g, b)), d = vsubq_s32(v, vminq_s32(r, vminq_s32(g, b)));
	int32x4_t hue = vaddq_s32(hue_of(r, g, b, v, d), shift);

	hue = vaddq_s32(hue, vandq_s32(vshrq_n_s32(hue, 31), turn));
	hue = vsubq_s32(hue, vandq_s32(vreinterpretq_s32_u32(vcgeq_s32(hue, turn)), turn));
	sums->hue = vaddq_s32(sums->hue, vandq_s32(vsubq_s32(hue, half), vreinterpretq_s32_u32(counted)));
	sums->saturation = vaddq_s32(sums->saturation, scaled(d, reciprocal(255 * 4096, v)));
	sums->value = vaddq_s32(sums->value, v);
}

TARGET static void hsv_row(const uint8_t *bgra, const uint8_t *mask, int width, int hue0, struct hsv_sums *sums)
{
	const int32x4_t zero = vdupq_n_s32(0), shift = vdupq_n_s32(90 - hue0);
	struct hsv_lanes lanes = {zero, zero, zero};
	int x = 0;

	for (; x + 4 <= width; x += 4) {
		uint32x4_t counted = vdupq_n_u32(0xffffffff);
		if (mask) {
			uint32_t four[4] = {mask[x], mask[x + 1], mask[x + 2], mask[x + 3]};
			counted = vtstq_u32(vld1q_u32(four), vdupq_n_u32(0xff));
		}
		hsv4(bgra + 4 * (ptrdiff_t)x, counted, shift, &lanes);
		sums->count += vaddvq_u32(vshrq_n_u32(counted, 31));
	}
	sums->hue += vaddvq_s32(lanes.hue);
	sums->saturation += vaddvq_s32(lanes.saturation);
	sums->value += vaddvq_s32(lanes.value);
	if (x < width)
		kernels_scalar.hsv_row(bgra + 4 * (ptrdiff_t)x, mask ? mask + x : NULL, width - x, hue0, sums);
}

struct window_lanes {
	uint32x4_t sum, squares, product;
};

INLINE void window_step(uint8x16_t w, const uint8_t *template_, const uint8_t *mask, struct window_lanes *sums)
{
	if (mask)
		w = vandq_u8(w, vld1q_u8(mask));
	sums->sum = vdotq_u32(sums->sum, w, vdupq_n_u8(1));
	sums->squares = vdotq_u32(sums->squares, w, w);
	sums->product = vdotq_u32(sums->product, w, vld1q_u8(template_));
}

// A lane of 32 bits takes at most 4 * 255² a step: 16,000 steps fit.
#define STEPS_MAX 16000

INLINE void window_rows(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *template_, const uint8_t *mask,
			ptrdiff_t template_stride, int width, int rows, struct window_sums *sums)
{
	static const uint8_t edge[32] = {255, 255, 255, 255, 255, 255, 255, 255,
					 255, 255, 255, 255, 255, 255, 255, 255};
	const uint32x4_t zero = vdupq_n_u32(0);
	int last = (width - 1) / 16 * 16;
	uint8x16_t tail = vld1q_u8(edge + 16 - (width - last));
	struct window_lanes lanes = {zero, zero, zero};

	for (int y = 0; y < rows; y++) {
		for (int x = 0; x < last; x += 16)
			window_step(vld1q_u8(frame + x), template_ + x, mask ? mask + x : NULL, &lanes);
		window_step(vandq_u8(vld1q_u8(frame + last), tail), template_ + last, mask ? mask + last : NULL,
			    &lanes);
		frame += frame_stride;
		template_ += template_stride;
		mask = mask ? mask + template_stride : NULL;
	}
	sums->sum += (int64_t)vaddlvq_u32(lanes.sum);
	sums->squares += (int64_t)vaddlvq_u32(lanes.squares);
	sums->product += (int64_t)vaddlvq_u32(lanes.product);
}

TARGET static void window(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *template_, const uint8_t *mask,
			  ptrdiff_t template_stride, int width, int rows, struct window_sums *sums)
{
	int at_once = STEPS_MAX / ((width + 15) / 16);

	for (int y = 0; y < rows; y += at_once) {
		int n = rows - y < at_once ? rows - y : at_once;

		window_rows(frame + y * frame_stride, frame_stride, template_ + y * template_stride,
			    mask ? mask + y * template_stride : NULL, template_stride, width, n, sums);
	}
}

// Lane i gets the four bytes that begin at byte i, less 128: the weights' sum is 0, so that changes no product.
INLINE int8x16_t quads_at(const uint8_t *bytes)
{
	static const uint8_t order[16] = {0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6};
	uint8x16_t quads = vqtbl1q_u8(vld1q_u8(bytes), vld1q_u8(order));

	return vreinterpretq_s8_u8(veorq_u8(quads, vdupq_n_u8(0x80)));
}

INLINE uint64_t survivors(const struct scan *scan, int p, int place, int32x4_t product)
{
	static const uint32_t bits[4] = {1, 2, 4, 8};
	float32x4_t have = vmulq_n_f32(vcvtq_f32_s32(product), scan->unit);
	float32x4_t rest = vmulq_n_f32(vld1q_f32(scan->rest[p] + place), scan->rest_scale[p]);
	float32x4_t wanted = vmulq_n_f32(vld1q_f32(scan->norm[p] + place), scan->norm_scale[p]);

	return vaddvq_u32(vandq_u32(vcgtq_f32(vaddq_f32(have, rest), wanted), vld1q_u32(bits)));
}

#define PLACES 16

// Four vectors of places and four patterns: one load of means serves four products, and one of weights sixteen.
INLINE uint64_t scan_places(const struct scan *scan, int place, int at, uint64_t bits[SCAN_PATTERNS])
{
	int32x4_t sums[SCAN_PATTERNS][4];
	const int8_t *w = scan->weights;
	uint64_t any = 0;

	UNROLL for (int p = 0; p < SCAN_PATTERNS; p++)
	{
		UNROLL for (int v = 0; v < 4; v++) sums[p][v] = vdupq_n_s32(0);
	}
	for (int y = 0; y < scan->rows; y++) {
		const uint8_t *means = scan->means + y * scan->stride + place;

		for (int q = 0; q < scan->quads; q++, means += 4, w += 4 * SCAN_PATTERNS) {
			int8x16_t weights = vld1q_s8(w);
			UNROLL for (int v = 0; v < 4; v++)
			{
				int8x16_t m = quads_at(means + 4 * (ptrdiff_t)v);
				sums[0][v] = vdotq_laneq_s32(sums[0][v], m, weights, 0);
				sums[1][v] = vdotq_laneq_s32(sums[1][v], m, weights, 1);
				sums[2][v] = vdotq_laneq_s32(sums[2][v], m, weights, 2);
				sums[3][v] = vdotq_laneq_s32(sums[3][v], m, weights, 3);
			}
		}
	}
	UNROLL for (int p = 0; p < SCAN_PATTERNS; p++)
	{
		uint64_t found = 0;
		UNROLL for (int v = 0; v < 4; v++) found |= survivors(scan, p, place + 4 * v, sums[p][v]) << (4 * v);
		bits[p] |= found << at;
		any |= found;
	}
	return any;
}

TARGET static bool scan(const struct scan *scan)
{
	uint64_t any = 0;

	for (int block = 0; block * SCAN_BLOCK < scan->count; block++) {
		uint64_t bits[SCAN_PATTERNS] = {0};

		for (int i = 0; i < SCAN_BLOCK && block * SCAN_BLOCK + i < scan->count; i += PLACES)
			any |= scan_places(scan, block * SCAN_BLOCK + i, i, bits);
		for (int p = 0; p < SCAN_PATTERNS; p++)
			scan->survivors[p][block] = bits[p];
	}
	return any;
}

INLINE void add_to(int64_t *sums, int64x2_t what, bool more)
{
	int64x2_t old = vld1q_s64(sums);

	vst1q_s64(sums, more ? vaddq_s64(old, what) : vsubq_s64(old, what));
}

INLINE void add_two(int64_t *sums, int64_t *squares, int32x2_t values, bool more)
{
	if (sums)
		add_to(sums, vmovl_s32(values), more);
	add_to(squares, vmull_s32(values, values), more);
}

TARGET static void add_boxes(const uint8_t *means, const uint16_t *sums, int shift, int count, int sign,
			     const struct column_sums *columns)
{
	const int32x4_t by = vdupq_n_s32(shift);

	for (int i = 0; i < count; i += 4) {
		uint32_t four[4] = {means[i], means[i + 1], means[i + 2], means[i + 3]};
		int32x4_t mean = vreinterpretq_s32_u32(vld1q_u32(four)), sum = mean;

		if (sums)
			sum = vreinterpretq_s32_u32(vmovl_u16(vld1_u16(sums + i)));
		add_two(columns->sum + i, columns->squares + i, vget_low_s32(sum), sign > 0);
		add_two(columns->sum + i + 2, columns->squares + i + 2, vget_high_s32(sum), sign > 0);
		if (sums) {
			int32x4_t rest = vsubq_s32(sum, vshlq_s32(mean, by));
			add_two(NULL, columns->rests + i, vget_low_s32(rest), sign > 0);
			add_two(NULL, columns->rests + i + 2, vget_high_s32(rest), sign > 0);
		}
	}
}

INLINE void add_up_rests(const int64_t *rests, int count, int64_t *ret_prefix)
{
	int64_t sum = 0;

	for (int i = 0; i < count; i++) {
		ret_prefix[i] = sum;
		sum += rests[i];
	}
	ret_prefix[count] = sum;
}

// Two at once: an addition waits for the one before.
INLINE void add_up(const int64_t *one, const int64_t *other, int count, int64_t *ret_one, int64_t *ret_other)
{
	int64_t sum = 0, other_sum = 0;

	for (int i = 0; i < count; i++) {
		ret_one[i] = sum;
		ret_other[i] = other_sum;
		sum += one[i];
		other_sum += other[i];
	}
	ret_one[count] = sum;
	ret_other[count] = other_sum;
}

INLINE float64x2_t windows(const int64_t *prefix, int width)
{
	return vcvtq_f64_s64(vsubq_s64(vld1q_s64(prefix + width), vld1q_s64(prefix)));
}

TARGET static void norms(const struct column_sums *columns, int width, int rows, int count, float *ret_norm,
			 float *ret_rest)
{
	const float64x2_t zero = vdupq_n_f64(0), n = vdupq_n_f64((double)width * rows);

	add_up(columns->sum, columns->squares, count + width - 1, columns->prefix[0], columns->prefix[1]);
	for (int i = 0; i < count; i += 2) {
		float64x2_t sum = windows(columns->prefix[0] + i, width),
			    squares = windows(columns->prefix[1] + i, width);
		float64x2_t less = vdivq_f64(vmulq_f64(sum, sum), n);
		float64x2_t variance = vsubq_f64(vsubq_f64(squares, less), vmulq_n_f64(squares, ROUNDING));

		vst1_f32(ret_norm + i, vsqrt_f32(vcvt_f32_f64(vmaxq_f64(variance, zero))));
	}
	if (!ret_rest)
		return;
	add_up_rests(columns->rests, count + width - 1, columns->prefix[2]);
	for (int i = 0; i < count; i += 2)
		vst1_f32(ret_rest + i, vsqrt_f32(vcvt_f32_f64(windows(columns->prefix[2] + i, width))));
}

TARGET static void halve_bytes(const uint8_t *upper, const uint8_t *lower, uint16_t *ret_sums, int count)
{
	for (int i = 0; i < count; i += 8)
		vst1q_u16(ret_sums + i, vpadalq_u8(vpaddlq_u8(vld1q_u8(upper + 2 * i)), vld1q_u8(lower + 2 * i)));
}

TARGET static void halve_sums(const uint16_t *upper, const uint16_t *lower, uint16_t *ret_sums, int count)
{
	for (int i = 0; i < count; i += 4) {
		uint32x4_t sums = vpadalq_u16(vpaddlq_u16(vld1q_u16(upper + 2 * i)), vld1q_u16(lower + 2 * i));
		vst1_u16(ret_sums + i, vmovn_u32(sums));
	}
}

TARGET static void means_of(const uint16_t *sums, uint8_t *ret_means, int shift, int count)
{
	const int16x8_t by = vdupq_n_s16((int16_t)-shift);

	for (int i = 0; i < count; i += 8)
		vst1_u8(ret_means + i, vmovn_u16(vrshlq_u16(vld1q_u16(sums + i), by)));
}

const struct kernels kernels_neon = {
	.name = "neon dotprod",
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
	.transform_cost = 100000,
	.weigh = weigh,
	.weigh_small = weigh_small,
	.halve_bytes = halve_bytes,
	.halve_sums = halve_sums,
	.means_of = means_of,
};
#endif
