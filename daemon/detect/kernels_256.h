// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loops in 256-bit vectors, as text: kernels_avx2.c and kernels_avxvnni.c include it with their own
//   TARGET             the function attribute
//   DOT(sums, u, s)    adds to each 32-bit lane four products of unsigned by signed bytes; pairs of products fit 16
//   bits NAME, SET          of the resulting set
#include <immintrin.h>

#define INLINE TARGET __attribute__((always_inline)) static inline

#include "daemon/detect/kernels_generic.h"
#define SPECTRUM_LANES 8
#define SPECTRUM_ABOVE(a, b) (unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)(a), (__m256)(b), _CMP_GT_OQ))
#include "daemon/detect/kernels_spectrum.h"

// 8 pixels: 3735 B + 9798 R and 19235 G + 16384 are one multiply-add each.
INLINE __m256i gray8(const uint8_t *bgra)
{
	const __m256i low = _mm256_set1_epi32(0x00ff00ff), green = _mm256_set1_epi32(0xff),
		      one = _mm256_set1_epi32(1 << 16);
	__m256i pixels = _mm256_loadu_si256((const __m256i *)bgra);
	__m256i br = _mm256_and_si256(pixels, low);
	__m256i g1 = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(pixels, 8), green), one);
	__m256i sum = _mm256_add_epi32(_mm256_madd_epi16(br, _mm256_set1_epi32(9798 << 16 | 3735)),
				       _mm256_madd_epi16(g1, _mm256_set1_epi32(16384 << 16 | 19235)));

	return _mm256_srli_epi32(sum, 15);
}

TARGET static void gray_row(const uint8_t *bgra, uint8_t *ret_gray, int width)
{
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	int x = 0;

	for (; x + 32 <= width; x += 32) {
		const uint8_t *p = bgra + 4 * (ptrdiff_t)x;
		__m256i ab = _mm256_packus_epi32(gray8(p), gray8(p + 32));
		__m256i cd = _mm256_packus_epi32(gray8(p + 64), gray8(p + 96));
		__m256i all = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
		_mm256_storeu_si256((__m256i *)(ret_gray + x), all);
	}
	if (x < width)
		kernels_scalar.gray_row(bgra + 4 * (ptrdiff_t)x, ret_gray + x, width - x);
}

struct hsv_lanes {
	__m256i hue, saturation, value;
};

// scale / k rounded, as the tables of the scalar set: a division of floats is near enough for every k (the test looks
// at all colours). For k 0 it is nonsense, which is multiplied by 0 below.
INLINE __m256i reciprocal(float scale, __m256i k)
{
	return _mm256_cvtps_epi32(_mm256_div_ps(_mm256_set1_ps(scale), _mm256_cvtepi32_ps(k)));
}

INLINE __m256i scaled(__m256i v, __m256i by)
{
	return _mm256_srai_epi32(_mm256_add_epi32(_mm256_mullo_epi32(v, by), _mm256_set1_epi32(2048)), 12);
}

INLINE __m256i hue_of(__m256i r, __m256i g, __m256i b, __m256i v, __m256i d)
{
	__m256i n = _mm256_add_epi32(_mm256_sub_epi32(r, g), _mm256_slli_epi32(d, 2)), hue;

	n = _mm256_blendv_epi8(n, _mm256_add_epi32(_mm256_sub_epi32(b, r), _mm256_slli_epi32(d, 1)),
			       _mm256_cmpeq_epi32(v, g));
	n = _mm256_blendv_epi8(n, _mm256_sub_epi32(g, b), _mm256_cmpeq_epi32(v, r));
	hue = scaled(n, reciprocal(180 * 4096 / 6, d));
	return _mm256_add_epi32(hue, _mm256_and_si256(_mm256_srai_epi32(hue, 31), _mm256_set1_epi32(180)));
}

INLINE void hsv8(const uint8_t *bgra, __m256i counted, __m256i shift, struct hsv_lanes *sums)
{
	const __m256i byte = _mm256_set1_epi32(0xff), half = _mm256_set1_epi32(90), turn = _mm256_set1_epi32(180);
	__m256i pixels = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)bgra), counted);
	__m256i b = _mm256_and_si256(pixels, byte), g = _mm256_and_si256(_mm256_srli_epi32(pixels, 8), byte);
	__m256i r = _mm256_and_si256(_mm256_srli_epi32(pixels, 16), byte);
	__m256i v = _mm256_max_epi32(r, _mm256_max_epi32(g, b));
	__m256i d = _mm256_sub_epi32(v, _mm256_min_epi32(r, _mm256_min_epi32(g, b)));
	__m256i hue = _mm256_add_epi32(hue_of(r, g, b, v, d), shift);

	hue = _mm256_add_epi32(hue, _mm256_and_si256(_mm256_srai_epi32(hue, 31), turn));
	hue = _mm256_sub_epi32(hue, _mm256_andnot_si256(_mm256_cmpgt_epi32(turn, hue), turn));
	sums->hue = _mm256_add_epi32(sums->hue, _mm256_and_si256(_mm256_sub_epi32(hue, half), counted));
	sums->saturation = _mm256_add_epi32(sums->saturation, scaled(d, reciprocal(255 * 4096, v)));
	sums->value = _mm256_add_epi32(sums->value, v);
}

INLINE int sum_signed(__m256i lanes)
{
	__m128i four = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));

	four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
	return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

TARGET static void hsv_row(const uint8_t *bgra, const uint8_t *mask, int width, int hue0, struct hsv_sums *sums)
{
	const __m256i zero = _mm256_setzero_si256(), shift = _mm256_set1_epi32(90 - hue0);
	struct hsv_lanes lanes = {zero, zero, zero};
	int x = 0;

	for (; x + 8 <= width; x += 8) {
		__m256i counted = _mm256_set1_epi32(-1);
		if (mask)
			counted = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(mask + x)));
		hsv8(bgra + 4 * (ptrdiff_t)x, counted, shift, &lanes);
		sums->count += __builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(counted)));
	}
	sums->hue += sum_signed(lanes.hue);
	sums->saturation += sum_signed(lanes.saturation);
	sums->value += sum_signed(lanes.value);
	if (x < width)
		kernels_scalar.hsv_row(bgra + 4 * (ptrdiff_t)x, mask ? mask + x : NULL, width - x, hue0, sums);
}

struct window_lanes {
	__m256i sum, squares, product;
};

// In 16-bit pairs, because bytes would saturate: a pair of squares takes 18 bits.
INLINE void window_add(__m256i w, __m256i t, struct window_lanes *sums)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i w0 = _mm256_unpacklo_epi8(w, zero), w1 = _mm256_unpackhi_epi8(w, zero);
	__m256i t0 = _mm256_unpacklo_epi8(t, zero), t1 = _mm256_unpackhi_epi8(t, zero);

	sums->sum = _mm256_add_epi64(sums->sum, _mm256_sad_epu8(w, zero));
	sums->squares =
		_mm256_add_epi32(sums->squares, _mm256_add_epi32(_mm256_madd_epi16(w0, w0), _mm256_madd_epi16(w1, w1)));
	sums->product =
		_mm256_add_epi32(sums->product, _mm256_add_epi32(_mm256_madd_epi16(w0, t0), _mm256_madd_epi16(w1, t1)));
}

INLINE void window_step(const uint8_t *frame, const uint8_t *template_, const uint8_t *mask, struct window_lanes *sums)
{
	__m256i w = _mm256_loadu_si256((const __m256i *)frame);

	if (mask)
		w = _mm256_and_si256(w, _mm256_loadu_si256((const __m256i *)mask));
	window_add(w, _mm256_loadu_si256((const __m256i *)template_), sums);
}

INLINE int64_t sum_unsigned(__m256i lanes)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i wide = _mm256_add_epi64(_mm256_unpacklo_epi32(lanes, zero), _mm256_unpackhi_epi32(lanes, zero));
	__m128i half = _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));

	return _mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1);
}

INLINE void window_take(const struct window_lanes *lanes, struct window_sums *sums)
{
	__m128i half = _mm_add_epi64(_mm256_castsi256_si128(lanes->sum), _mm256_extracti128_si256(lanes->sum, 1));

	sums->sum += _mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1);
	sums->squares += sum_unsigned(lanes->squares);
	sums->product += sum_unsigned(lanes->product);
}

// A lane of 32 bits takes at most 4 * 255² a step: 16,000 steps fit.
#define STEPS_MAX 16000

INLINE void window_rows(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *template_, const uint8_t *mask,
			ptrdiff_t template_stride, int width, int rows, struct window_sums *sums)
{
	static const uint8_t edge[64] = {
		255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
		255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	};
	const __m256i zero = _mm256_setzero_si256();
	int last = (width - 1) / 32 * 32;
	__m256i tail = _mm256_loadu_si256((const __m256i *)(edge + 32 - (width - last)));
	struct window_lanes lanes = {zero, zero, zero};

	for (int y = 0; y < rows; y++) {
		for (int x = 0; x < last; x += 32)
			window_step(frame + x, template_ + x, mask ? mask + x : NULL, &lanes);
		__m256i w = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(frame + last)), tail);
		if (mask)
			w = _mm256_and_si256(w, _mm256_loadu_si256((const __m256i *)(mask + last)));
		window_add(w, _mm256_loadu_si256((const __m256i *)(template_ + last)), &lanes);
		frame += frame_stride;
		template_ += template_stride;
		mask = mask ? mask + template_stride : NULL;
	}
	window_take(&lanes, sums);
}

TARGET static void window(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *template_, const uint8_t *mask,
			  ptrdiff_t template_stride, int width, int rows, struct window_sums *sums)
{
	int at_once = STEPS_MAX / ((width + 31) / 32);

	for (int y = 0; y < rows; y += at_once) {
		int n = rows - y < at_once ? rows - y : at_once;

		if (mask)
			window_rows(frame + y * frame_stride, frame_stride, template_ + y * template_stride,
				    mask + y * template_stride, template_stride, width, n, sums);
		else
			window_rows(frame + y * frame_stride, frame_stride, template_ + y * template_stride, NULL,
				    template_stride, width, n, sums);
	}
}

// Lane i gets the four bytes that begin at byte i.
INLINE __m256i quads_at(const uint8_t *bytes)
{
	const __m256i order =
		_mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
	__m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)bytes)),
					       _mm_loadu_si128((const __m128i *)(bytes + 4)), 1);

	return _mm256_shuffle_epi8(both, order);
}

INLINE unsigned survivors(const struct scan *scan, int p, int place, __m256i product)
{
	__m256 have = _mm256_mul_ps(_mm256_cvtepi32_ps(product), _mm256_set1_ps(scan->unit));
	__m256 rest = _mm256_mul_ps(_mm256_loadu_ps(scan->rest[p] + place), _mm256_set1_ps(scan->rest_scale[p]));
	__m256 wanted = _mm256_mul_ps(_mm256_loadu_ps(scan->norm[p] + place), _mm256_set1_ps(scan->norm_scale[p]));

	return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_add_ps(have, rest), wanted, _CMP_GT_OQ));
}

// Two vectors of places and four patterns fill the registers.
#define PLACES 16

INLINE uint64_t scan_places(const struct scan *scan, int place, int p_shift, uint64_t bits[SCAN_PATTERNS])
{
	__m256i sums[SCAN_PATTERNS][2];
	const int8_t *w = scan->weights;
	uint64_t any = 0;

	UNROLL for (int p = 0; p < SCAN_PATTERNS; p++) sums[p][0] = sums[p][1] = _mm256_setzero_si256();
	for (int y = 0; y < scan->rows; y++) {
		const uint8_t *means = scan->means + y * scan->stride + place;

		for (int q = 0; q < scan->quads; q++, means += 4, w += 4 * SCAN_PATTERNS) {
			__m256i a = quads_at(means), b = quads_at(means + 8);

			UNROLL for (int p = 0; p < SCAN_PATTERNS; p++)
			{
				int32_t quad;
				__builtin_memcpy(&quad, w + 4 * (ptrdiff_t)p, 4);
				__m256i weight = _mm256_set1_epi32(quad);
				sums[p][0] = DOT(sums[p][0], a, weight);
				sums[p][1] = DOT(sums[p][1], b, weight);
			}
		}
	}
	UNROLL for (int p = 0; p < SCAN_PATTERNS; p++)
	{
		uint64_t found = survivors(scan, p, place, sums[p][0]) | survivors(scan, p, place + 8, sums[p][1]) << 8;
		bits[p] |= found << p_shift;
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

INLINE void add_to(int64_t *sums, __m256i what, bool more)
{
	__m256i old = _mm256_loadu_si256((const __m256i *)sums);

	_mm256_storeu_si256((__m256i *)sums, more ? _mm256_add_epi64(old, what) : _mm256_sub_epi64(old, what));
}

INLINE void add_boxes_signed(const uint8_t *means, const uint16_t *sums, int shift, int count, bool more,
			     const struct column_sums *columns)
{
	const __m128i by = _mm_cvtsi32_si128(shift);

	for (int i = 0; i < count; i += 4) {
		int32_t four;
		__builtin_memcpy(&four, means + i, 4);
		__m256i mean = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
		__m256i sum = sums ? _mm256_cvtepu16_epi64(_mm_loadl_epi64((const __m128i *)(sums + i))) : mean;

		add_to(columns->sum + i, sum, more);
		add_to(columns->squares + i, _mm256_mul_epu32(sum, sum), more);
		if (sums) {
			__m256i rest = _mm256_sub_epi64(sum, _mm256_sll_epi64(mean, by));
			add_to(columns->rests + i, _mm256_mul_epi32(rest, rest), more);
		}
	}
}

TARGET static void add_boxes(const uint8_t *means, const uint16_t *sums, int shift, int count, int sign,
			     const struct column_sums *columns)
{
	if (sums && sign > 0)
		add_boxes_signed(means, sums, shift, count, true, columns);
	else if (sums)
		add_boxes_signed(means, sums, shift, count, false, columns);
	else
		add_boxes_signed(means, NULL, shift, count, sign > 0, columns);
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

// Integers from 0 to 2^52 as doubles, by way of the mantissa.
INLINE __m256d windows(const int64_t *prefix, int width)
{
	const __m256i magic = _mm256_set1_epi64x(0x4330000000000000);
	__m256i sums = _mm256_sub_epi64(_mm256_loadu_si256((const __m256i *)(prefix + width)),
					_mm256_loadu_si256((const __m256i *)prefix));

	return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(sums, magic)), _mm256_castsi256_pd(magic));
}

TARGET static void norms(const struct column_sums *columns, int width, int rows, int count, float *ret_norm,
			 float *ret_rest)
{
	const __m256d zero = _mm256_setzero_pd(), n = _mm256_set1_pd(1 / ((double)width * rows) * (1 + ROUNDING));
	const __m256d rounding = _mm256_set1_pd(ROUNDING);

	add_up(columns->sum, columns->squares, count + width - 1, columns->prefix[0], columns->prefix[1]);
	for (int i = 0; i < count; i += 4) {
		__m256d sum = windows(columns->prefix[0] + i, width), squares = windows(columns->prefix[1] + i, width);
		__m256d less = _mm256_mul_pd(_mm256_mul_pd(sum, sum), n);
		__m256d variance = _mm256_sub_pd(_mm256_sub_pd(squares, less), _mm256_mul_pd(squares, rounding));

		_mm_storeu_ps(ret_norm + i, _mm_sqrt_ps(_mm256_cvtpd_ps(_mm256_max_pd(variance, zero))));
	}
	if (!ret_rest)
		return;
	add_up_rests(columns->rests, count + width - 1, columns->prefix[2]);
	for (int i = 0; i < count; i += 4)
		_mm_storeu_ps(ret_rest + i, _mm_sqrt_ps(_mm256_cvtpd_ps(windows(columns->prefix[2] + i, width))));
}

TARGET static void halve_bytes(const uint8_t *upper, const uint8_t *lower, uint16_t *ret_sums, int count)
{
	const __m256i ones = _mm256_set1_epi8(1);

	for (int i = 0; i < count; i += 16) {
		__m256i a = _mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *)(upper + 2 * i)), ones);
		__m256i b = _mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *)(lower + 2 * i)), ones);
		_mm256_storeu_si256((__m256i *)(ret_sums + i), _mm256_add_epi16(a, b));
	}
}

// Sums of 8x8 boxes stay below 2^15, so that signed products are fine.
INLINE __m256i halved(const uint16_t *upper, const uint16_t *lower)
{
	__m256i rows = _mm256_add_epi16(_mm256_loadu_si256((const __m256i *)upper),
					_mm256_loadu_si256((const __m256i *)lower));

	return _mm256_madd_epi16(rows, _mm256_set1_epi16(1));
}

TARGET static void halve_sums(const uint16_t *upper, const uint16_t *lower, uint16_t *ret_sums, int count)
{
	for (int i = 0; i < count; i += 16) {
		__m256i both = _mm256_packus_epi32(halved(upper + 2 * i, lower + 2 * i),
						   halved(upper + 2 * i + 16, lower + 2 * i + 16));
		_mm256_storeu_si256((__m256i *)(ret_sums + i), _mm256_permute4x64_epi64(both, 0xd8));
	}
}

TARGET static void means_of(const uint16_t *sums, uint8_t *ret_means, int shift, int count)
{
	const __m256i half = _mm256_set1_epi16((short)(1U << shift >> 1));
	const __m128i by = _mm_cvtsi32_si128(shift);

	for (int i = 0; i < count; i += 32) {
		__m256i a = _mm256_add_epi16(_mm256_loadu_si256((const __m256i *)(sums + i)), half);
		__m256i b = _mm256_add_epi16(_mm256_loadu_si256((const __m256i *)(sums + i + 16)), half);
		__m256i both = _mm256_packus_epi16(_mm256_srl_epi16(a, by), _mm256_srl_epi16(b, by));
		_mm256_storeu_si256((__m256i *)(ret_means + i), _mm256_permute4x64_epi64(both, 0xd8));
	}
}

const struct kernels SET = {
	.name = NAME,
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
	.transform_cost = TRANSFORM_COST,
	.weigh = weigh,
	.weigh_small = weigh_small,
	.halve_bytes = halve_bytes,
	.halve_sums = halve_sums,
	.means_of = means_of,
};
