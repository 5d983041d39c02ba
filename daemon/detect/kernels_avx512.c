// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loops with AVX-512 and its VNNI: 64 products an instruction. Integer results equal the scalar set's.
#include "daemon/detect/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define INLINE TARGET __attribute__((always_inline)) static inline

#include "daemon/detect/kernels_generic.h"
#define SPECTRUM_LANES 16
#define SPECTRUM_ABOVE(a, b) (unsigned)_mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_GT_OQ)
#include "daemon/detect/kernels_spectrum.h"

// 16 pixels: 3735 B + 9798 R and 19235 G + 16384 are one multiply-add each.
INLINE __m512i gray16(const uint8_t *bgra)
{
	const __m512i low = _mm512_set1_epi32(0x00ff00ff), green = _mm512_set1_epi32(0xff),
		      one = _mm512_set1_epi32(1 << 16);
	__m512i pixels = _mm512_loadu_si512(bgra);
	__m512i br = _mm512_and_si512(pixels, low);
	// (pixels >> 8 & 0xff) | 1 << 16
	__m512i g1 = _mm512_ternarylogic_epi32(_mm512_srli_epi32(pixels, 8), green, one, 0xea);
	__m512i sum = _mm512_madd_epi16(br, _mm512_set1_epi32(9798 << 16 | 3735));

	sum = _mm512_dpwssd_epi32(sum, g1, _mm512_set1_epi32(16384 << 16 | 19235));
	return _mm512_srli_epi32(sum, 15);
}

TARGET static void gray_row(const uint8_t *bgra, uint8_t *ret_gray, int width)
{
	int x = 0;

	for (; x + 16 <= width; x += 16)
		_mm_storeu_si128((__m128i *)(ret_gray + x), _mm512_cvtepi32_epi8(gray16(bgra + 4 * (ptrdiff_t)x)));
	if (x < width)
		kernels_scalar.gray_row(bgra + 4 * (ptrdiff_t)x, ret_gray + x, width - x);
}

struct hsv_lanes {
	__m512i hue, saturation, value;
};

// scale / k rounded, as the tables of the scalar set: a division of floats is near enough for every k (the test looks
// at all colours). For k 0 it is nonsense, which is multiplied by 0 below.
INLINE __m512i reciprocal(float scale, __m512i k)
{
	return _mm512_cvtps_epi32(_mm512_div_ps(_mm512_set1_ps(scale), _mm512_cvtepi32_ps(k)));
}

INLINE __m512i scaled(__m512i v, __m512i by)
{
	return _mm512_srai_epi32(_mm512_add_epi32(_mm512_mullo_epi32(v, by), _mm512_set1_epi32(2048)), 12);
}

INLINE __m512i hue_of(__m512i r, __m512i g, __m512i b, __m512i v, __m512i d)
{
	__m512i n = _mm512_add_epi32(_mm512_sub_epi32(r, g), _mm512_slli_epi32(d, 2));
	__m512i hue;

	n = _mm512_mask_mov_epi32(n, _mm512_cmpeq_epi32_mask(v, g),
				  _mm512_add_epi32(_mm512_sub_epi32(b, r), _mm512_slli_epi32(d, 1)));
	n = _mm512_mask_mov_epi32(n, _mm512_cmpeq_epi32_mask(v, r), _mm512_sub_epi32(g, b));
	hue = scaled(n, reciprocal(180 * 4096 / 6, d));
	return _mm512_mask_add_epi32(hue, _mm512_movepi32_mask(hue), hue, _mm512_set1_epi32(180));
}

INLINE void hsv16(const uint8_t *bgra, __mmask16 counted, __m512i shift, struct hsv_lanes *sums)
{
	const __m512i byte = _mm512_set1_epi32(0xff), half = _mm512_set1_epi32(90), turn = _mm512_set1_epi32(180);
	__m512i pixels = _mm512_maskz_loadu_epi32(counted, bgra);
	__m512i b = _mm512_and_si512(pixels, byte), g = _mm512_and_si512(_mm512_srli_epi32(pixels, 8), byte);
	__m512i r = _mm512_and_si512(_mm512_srli_epi32(pixels, 16), byte);
	__m512i v = _mm512_max_epi32(r, _mm512_max_epi32(g, b));
	__m512i d = _mm512_sub_epi32(v, _mm512_min_epi32(r, _mm512_min_epi32(g, b)));
	__m512i hue = _mm512_add_epi32(hue_of(r, g, b, v, d), shift);

	hue = _mm512_mask_add_epi32(hue, _mm512_movepi32_mask(hue), hue, turn);
	hue = _mm512_mask_sub_epi32(hue, _mm512_cmpge_epi32_mask(hue, turn), hue, turn);
	sums->hue = _mm512_mask_add_epi32(sums->hue, counted, sums->hue, _mm512_sub_epi32(hue, half));
	sums->saturation = _mm512_add_epi32(sums->saturation, scaled(d, reciprocal(255 * 4096, v)));
	sums->value = _mm512_add_epi32(sums->value, v);
}

TARGET static void hsv_row(const uint8_t *bgra, const uint8_t *mask, int width, int hue0, struct hsv_sums *sums)
{
	const __m512i zero = _mm512_setzero_si512(), shift = _mm512_set1_epi32(90 - hue0);
	struct hsv_lanes lanes = {zero, zero, zero};

	for (int x = 0; x < width; x += 16) {
		__mmask16 counted = width - x < 16 ? (__mmask16)((1U << (width - x)) - 1) : (__mmask16)0xffff;
		if (mask)
			counted = _mm_mask_test_epi8_mask(counted, _mm_maskz_loadu_epi8(counted, mask + x),
							  _mm_set1_epi8(-1));
		hsv16(bgra + 4 * (ptrdiff_t)x, counted, shift, &lanes);
		sums->count += __builtin_popcount(counted);
	}
	sums->hue += _mm512_reduce_add_epi32(lanes.hue);
	sums->saturation += _mm512_reduce_add_epi32(lanes.saturation);
	sums->value += _mm512_reduce_add_epi32(lanes.value);
}

struct window_lanes {
	__m512i sum, squares, product; ///< the last two by values less 128
};

INLINE void window_step(const uint8_t *frame, const uint8_t *template_, const uint8_t *mask, __mmask64 lanes,
			struct window_lanes *sums)
{
	const __m512i half = _mm512_set1_epi8(-128);
	__m512i w = _mm512_maskz_loadu_epi8(lanes, frame), t = _mm512_maskz_loadu_epi8(lanes, template_);

	if (mask)
		w = _mm512_and_si512(w, _mm512_maskz_loadu_epi8(lanes, mask));
	sums->sum = _mm512_dpbusd_epi32(sums->sum, w, _mm512_set1_epi8(1));
	sums->squares = _mm512_dpbusd_epi32(sums->squares, w, _mm512_xor_si512(w, half));
	sums->product = _mm512_dpbusd_epi32(sums->product, w, _mm512_xor_si512(t, half));
}

INLINE int64_t sum_lanes(__m512i lanes)
{
	__m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(lanes));
	__m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(lanes, 1));

	return _mm512_reduce_add_epi64(_mm512_add_epi64(low, high));
}

// A lane of 32 bits takes at most 4 * 255 * 128 a step: 16,000 steps fit.
#define STEPS_MAX 16000

// Up to this, all lanes together fit 32 bits: 255 * 128 a pixel.
#define PIXELS_SMALL 65536

INLINE __m256i half_lanes(__m512i lanes)
{
	return _mm256_add_epi32(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64(lanes, 1));
}

INLINE void take_lanes(const struct window_lanes *lanes, bool small, struct window_sums *sums)
{
	int64_t sum, squares, product;

	if (small) {
		__m256i two = _mm256_hadd_epi32(half_lanes(lanes->sum), half_lanes(lanes->squares));
		__m256i three = _mm256_hadd_epi32(two, _mm256_hadd_epi32(half_lanes(lanes->product), two));
		__m128i all = _mm_add_epi32(_mm256_castsi256_si128(three), _mm256_extracti128_si256(three, 1));
		sum = _mm_cvtsi128_si32(all);
		squares = _mm_extract_epi32(all, 1);
		product = _mm_extract_epi32(all, 2);
	} else {
		sum = sum_lanes(lanes->sum);
		squares = sum_lanes(lanes->squares);
		product = sum_lanes(lanes->product);
	}
	sums->sum += sum;
	sums->squares += squares + 128 * sum;
	sums->product += product + 128 * sum;
}

// Rows in turn go to so many sums of their own: an addition waits five cycles for the one before.
#define CHAINS 4

INLINE void window_rows(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *template_, const uint8_t *mask,
			ptrdiff_t template_stride, int width, int rows, struct window_sums *sums)
{
	const __m512i zero = _mm512_setzero_si512();
	__mmask64 tail = width % 64 ? ~UINT64_C(0) >> (64 - width % 64) : ~UINT64_C(0);
	int last = (width - 1) / 64 * 64;
	struct window_lanes lanes[CHAINS];

	UNROLL for (int c = 0; c < CHAINS; c++) lanes[c] = (struct window_lanes){zero, zero, zero};
	for (int x = 0; x <= last; x += 64) {
		__mmask64 wanted = x == last ? tail : ~UINT64_C(0);
		const uint8_t *f = frame + x, *t = template_ + x, *m = mask ? mask + x : NULL;
		int y = 0;

		for (; y + CHAINS <= rows; y += CHAINS) {
			UNROLL for (int c = 0; c < CHAINS; c++)
			{
				window_step(f, t, m, wanted, &lanes[c]);
				f += frame_stride;
				t += template_stride;
				m = mask ? m + template_stride : NULL;
			}
		}
		for (; y < rows; y++) {
			window_step(f, t, m, wanted, &lanes[0]);
			f += frame_stride;
			t += template_stride;
			m = mask ? m + template_stride : NULL;
		}
	}
	UNROLL for (int c = 1; c < CHAINS; c++)
	{
		lanes[0].sum = _mm512_add_epi32(lanes[0].sum, lanes[c].sum);
		lanes[0].squares = _mm512_add_epi32(lanes[0].squares, lanes[c].squares);
		lanes[0].product = _mm512_add_epi32(lanes[0].product, lanes[c].product);
	}
	take_lanes(&lanes[0], (int64_t)width * rows <= PIXELS_SMALL, sums);
}

TARGET static void window(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *template_, const uint8_t *mask,
			  ptrdiff_t template_stride, int width, int rows, struct window_sums *sums)
{
	int at_once = STEPS_MAX / ((width + 63) / 64);

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
INLINE __m512i quads_at(const uint8_t *bytes)
{
	const __m512i spread = _mm512_setr_epi32(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6);
	const __m512i order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
	__m512i all = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)bytes));

	return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(spread, all), order);
}

INLINE __m512i weights_at(const int8_t *weights)
{
	int32_t quad;

	__builtin_memcpy(&quad, weights, 4);
	return _mm512_set1_epi32(quad);
}

INLINE __mmask16 survivors(const struct scan *scan, int p, int place, __m512i product)
{
	__m512 have = _mm512_mul_ps(_mm512_cvtepi32_ps(product), _mm512_set1_ps(scan->unit));

	have = _mm512_fmadd_ps(_mm512_loadu_ps(scan->rest[p] + place), _mm512_set1_ps(scan->rest_scale[p]), have);
	return _mm512_cmp_ps_mask(
		have, _mm512_mul_ps(_mm512_loadu_ps(scan->norm[p] + place), _mm512_set1_ps(scan->norm_scale[p])),
		_CMP_GT_OQ);
}

// One row of the patterns at `vectors` vectors of places. Each load of means serves four products, and each of weights
// as many as there are vectors.
INLINE void scan_row(const uint8_t *means, const int8_t *w, int quads, int vectors, int chain,
		     __m512i sums[SCAN_PATTERNS][4])
{
	__m512i m[4];

	for (int q = 0; q < quads; q++, means += 4, w += 4 * SCAN_PATTERNS) {
		UNROLL for (int v = 0; v < vectors; v++) m[v] = quads_at(means + 16 * (ptrdiff_t)v);
		UNROLL for (int p = 0; p < SCAN_PATTERNS; p++)
		{
			__m512i weight = weights_at(w + 4 * (ptrdiff_t)p);
			UNROLL for (int v = 0; v < vectors; v++) sums[p][chain * vectors + v] =
				_mm512_dpbusd_epi32(sums[p][chain * vectors + v], m[v], weight);
		}
	}
}

// 1, 2 or 4 vectors of places. Where they are few, rows in turn have sums of their own, because an addition waits five
// cycles for the one before.
INLINE uint64_t scan_places(const struct scan *scan, int place, int vectors, uint64_t bits[SCAN_PATTERNS])
{
	__m512i sums[SCAN_PATTERNS][4];
	const uint8_t *means = scan->means + place;
	const int8_t *w = scan->weights;
	ptrdiff_t w_row = (ptrdiff_t)scan->quads * 4 * SCAN_PATTERNS;
	int chains = 4 / vectors, y = 0;
	uint64_t any = 0;

	UNROLL for (int p = 0; p < SCAN_PATTERNS; p++)
	{
		UNROLL for (int i = 0; i < 4; i++) sums[p][i] = _mm512_setzero_si512();
	}
	for (; y + chains <= scan->rows; y += chains) {
		UNROLL for (int chain = 0; chain < chains; chain++, means += scan->stride, w += w_row)
			scan_row(means, w, scan->quads, vectors, chain, sums);
	}
	for (; y < scan->rows; y++, means += scan->stride, w += w_row)
		scan_row(means, w, scan->quads, vectors, 0, sums);
	UNROLL for (int p = 0; p < SCAN_PATTERNS; p++)
	{
		bits[p] = 0;
		UNROLL for (int v = 0; v < vectors; v++)
		{
			__m512i sum = sums[p][v];
			UNROLL for (int chain = 1; chain < chains; chain++) sum =
				_mm512_add_epi32(sum, sums[p][chain * vectors + v]);
			bits[p] |= (uint64_t)survivors(scan, p, place + 16 * v, sum) << (16 * v);
		}
		any |= bits[p];
	}
	return any;
}

TARGET static bool scan(const struct scan *scan)
{
	uint64_t any = 0;

	for (int block = 0; block * SCAN_BLOCK < scan->count; block++) {
		int place = block * SCAN_BLOCK, left = scan->count - place;
		uint64_t bits[SCAN_PATTERNS];

		if (left > 32)
			any |= scan_places(scan, place, 4, bits);
		else if (left > 16)
			any |= scan_places(scan, place, 2, bits);
		else
			any |= scan_places(scan, place, 1, bits);
		for (int p = 0; p < SCAN_PATTERNS; p++)
			scan->survivors[p][block] = bits[p];
	}
	return any;
}

INLINE void add_to(int64_t *sums, __m512i what, bool more)
{
	__m512i old = _mm512_loadu_si512(sums);

	_mm512_storeu_si512(sums, more ? _mm512_add_epi64(old, what) : _mm512_sub_epi64(old, what));
}

INLINE void add_boxes_signed(const uint8_t *means, const uint16_t *sums, int shift, int count, bool more,
			     const struct column_sums *columns)
{
	const __m128i by = _mm_cvtsi32_si128(shift);

	for (int i = 0; i < count; i += 8) {
		__m512i mean = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(means + i)));
		__m512i sum = sums ? _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(sums + i))) : mean;

		add_to(columns->sum + i, sum, more);
		add_to(columns->squares + i, _mm512_mul_epu32(sum, sum), more);
		if (sums) {
			__m512i rest = _mm512_sub_epi64(sum, _mm512_sll_epi64(mean, by));
			add_to(columns->rests + i, _mm512_mul_epi32(rest, rest), more);
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

INLINE __m512d windows(const int64_t *prefix, int width)
{
	return _mm512_cvtepi64_pd(_mm512_sub_epi64(_mm512_loadu_si512(prefix + width), _mm512_loadu_si512(prefix)));
}

TARGET static void norms(const struct column_sums *columns, int width, int rows, int count, float *ret_norm,
			 float *ret_rest)
{
	const __m512d zero = _mm512_setzero_pd(), n = _mm512_set1_pd(1 / ((double)width * rows) * (1 + ROUNDING));
	const __m512d rounding = _mm512_set1_pd(ROUNDING);

	add_up(columns->sum, columns->squares, count + width - 1, columns->prefix[0], columns->prefix[1]);
	for (int i = 0; i < count; i += 8) {
		__m512d sum = windows(columns->prefix[0] + i, width), squares = windows(columns->prefix[1] + i, width);
		__m512d less = _mm512_fmadd_pd(squares, rounding, _mm512_mul_pd(_mm512_mul_pd(sum, sum), n));
		__m512d variance = _mm512_max_pd(_mm512_sub_pd(squares, less), zero);

		_mm256_storeu_ps(ret_norm + i, _mm256_sqrt_ps(_mm512_cvtpd_ps(variance)));
	}
	if (!ret_rest)
		return;
	add_up_rests(columns->rests, count + width - 1, columns->prefix[2]);
	for (int i = 0; i < count; i += 8)
		_mm256_storeu_ps(ret_rest + i, _mm256_sqrt_ps(_mm512_cvtpd_ps(windows(columns->prefix[2] + i, width))));
}

TARGET static void halve_bytes(const uint8_t *upper, const uint8_t *lower, uint16_t *ret_sums, int count)
{
	const __m512i ones = _mm512_set1_epi8(1);

	for (int i = 0; i < count; i += 32) {
		__m512i a = _mm512_maddubs_epi16(_mm512_loadu_si512(upper + 2 * i), ones);
		__m512i b = _mm512_maddubs_epi16(_mm512_loadu_si512(lower + 2 * i), ones);
		_mm512_storeu_si512(ret_sums + i, _mm512_add_epi16(a, b));
	}
}

// Sums of 8x8 boxes stay below 2^15, so that signed products are fine.
TARGET static void halve_sums(const uint16_t *upper, const uint16_t *lower, uint16_t *ret_sums, int count)
{
	const __m512i ones = _mm512_set1_epi16(1);

	for (int i = 0; i < count; i += 16) {
		__m512i rows = _mm512_add_epi16(_mm512_loadu_si512(upper + 2 * i), _mm512_loadu_si512(lower + 2 * i));
		_mm256_storeu_si256((__m256i *)(ret_sums + i), _mm512_cvtepi32_epi16(_mm512_madd_epi16(rows, ones)));
	}
}

TARGET static void means_of(const uint16_t *sums, uint8_t *ret_means, int shift, int count)
{
	const __m512i half = _mm512_set1_epi16((short)(1U << shift >> 1));
	const __m128i by = _mm_cvtsi32_si128(shift);

	for (int i = 0; i < count; i += 32) {
		__m512i sum = _mm512_add_epi16(_mm512_loadu_si512(sums + i), half);
		_mm256_storeu_si256((__m256i *)(ret_means + i), _mm512_cvtepi16_epi8(_mm512_srl_epi16(sum, by)));
	}
}

const struct kernels kernels_avx512 = {
	.name = "avx512vnni",
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
	.transform_cost = 400000,
	.weigh = weigh,
	.weigh_small = weigh_small,
	.halve_bytes = halve_bytes,
	.halve_sums = halve_sums,
	.means_of = means_of,
};
#endif
