// SPDX-License-Identifier: GPL-3.0-or-later
// The Fourier transform of a plane of SPECTRUM_SIDE x SPECTRUM_SIDE numbers, as text: every set of kernels includes it
// with its own TARGET (the function attribute) and SPECTRUM_LANES (floats of a vector). Radix 4, first down the
// columns, as many side by side as a vector holds, then, the plane mirrored at its diagonal, down the columns again.
// There, frequencies come in the order the butterflies leave them in, and mirrored; all planes alike, so that nobody
// minds. Back takes it from there.
#include <string.h>

typedef float floats __attribute__((vector_size(4 * SPECTRUM_LANES), aligned(4), may_alias));

#define SIDE SPECTRUM_SIDE
#define ROW SPECTRUM_ROW

// A complex number a lane.
struct many {
	floats re, im;
};

/// Complex numbers of SIDE rows, split.
struct rows {
	float *re, *im;
	ptrdiff_t stride;
};

INLINE void load_many(const struct rows *rows, int y, struct many *ret)
{
	ret->re = *(const floats *)(const void *)(rows->re + y * rows->stride);
	ret->im = *(const floats *)(const void *)(rows->im + y * rows->stride);
}

INLINE void store_many(const struct rows *rows, int y, const struct many *v)
{
	*(floats *)(void *)(rows->re + y * rows->stride) = v->re;
	*(floats *)(void *)(rows->im + y * rows->stride) = v->im;
}

// v times w (w[0] + i w[1]), or times its conjugate.
INLINE void turn(struct many *v, const float *w, bool back)
{
	floats re = v->re, im = v->im;

	v->re = back ? re * w[0] + im * w[1] : re * w[0] - im * w[1];
	v->im = back ? im * w[0] - re * w[1] : im * w[0] + re * w[1];
}

// Four numbers `quarter` apart become their sums with the fourth roots of 1, turned; or the reverse of that.
INLINE void butterfly(const struct rows *from, const struct rows *to, int y, int quarter, const float *w, bool back)
{
	struct many a, b, c, d, sum, difference, others, turned;

	load_many(from, y, &a);
	load_many(from, y + quarter, &b);
	load_many(from, y + 2 * quarter, &c);
	load_many(from, y + 3 * quarter, &d);
	if (back && quarter > 1) {
		turn(&b, w, true);
		turn(&c, w + 2, true);
		turn(&d, w + 4, true);
	}
	sum = (struct many){a.re + c.re, a.im + c.im};
	difference = (struct many){a.re - c.re, a.im - c.im};
	others = (struct many){b.re + d.re, b.im + d.im};
	turned = back ? (struct many){d.im - b.im, b.re - d.re} : (struct many){b.im - d.im, d.re - b.re};
	a = (struct many){sum.re + others.re, sum.im + others.im};
	b = (struct many){difference.re + turned.re, difference.im + turned.im};
	c = (struct many){sum.re - others.re, sum.im - others.im};
	d = (struct many){difference.re - turned.re, difference.im - turned.im};
	if (!back && quarter > 1) {
		turn(&b, w, false);
		turn(&c, w + 2, false);
		turn(&d, w + 4, false);
	}
	store_many(to, y, &a);
	store_many(to, y + quarter, &b);
	store_many(to, y + 2 * quarter, &c);
	store_many(to, y + 3 * quarter, &d);
}

INLINE void butterflies(const struct rows *from, const struct rows *to, int span, const float *w, bool back)
{
	for (int i = 0; i < span / 4; i++)
		for (int y = i; y < SIDE; y += span)
			butterfly(from, to, y, span / 4, w + SPECTRUM_TURNS * i, back);
}

_Static_assert(SIDE == 256, "four times radix 4");

INLINE void transform_columns(const struct rows *columns, const float *w, bool back)
{
	// Steps of 256, 64, 16 and 4 rows; their turns lie one after the other.
	const float *w64 = w + 64 * SPECTRUM_TURNS, *w16 = w64 + 16 * SPECTRUM_TURNS;
	float re[SIDE * SPECTRUM_LANES] __attribute__((aligned(64)));
	float im[SIDE * SPECTRUM_LANES] __attribute__((aligned(64)));
	const struct rows near = {re, im, SPECTRUM_LANES};

	if (back) {
		butterflies(columns, &near, 4, w, true);
		butterflies(&near, &near, 16, w16, true);
		butterflies(&near, &near, 64, w64, true);
		butterflies(&near, columns, 256, w, true);
	} else {
		butterflies(columns, &near, 256, w, false);
		butterflies(&near, &near, 64, w64, false);
		butterflies(&near, &near, 16, w16, false);
		butterflies(&near, columns, 4, w, false);
	}
}

// A block of MIRRORED x MIRRORED floats, at its diagonal.
#define UNROLL8 _Pragma("GCC unroll 8")
#define SHUFFLE2(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#if SPECTRUM_LANES >= 8
#define MIRRORED 8
typedef float mirrored __attribute__((vector_size(32), aligned(4), may_alias));

INLINE void mirror_block(const float *from, mirrored to[8])
{
	mirrored r[8], t[8], s[8];

	UNROLL8 for (int i = 0; i < 8; i++) r[i] = *(const mirrored *)(const void *)(from + i * ROW);
	UNROLL8 for (int i = 0; i < 8; i += 2)
	{
		t[i] = SHUFFLE2(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
		t[i + 1] = SHUFFLE2(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
	}
	UNROLL8 for (int i = 0; i < 8; i += 4)
	{
		UNROLL8 for (int j = 0; j < 2; j++)
		{
			s[i + 2 * j] = SHUFFLE2(t[i + j], t[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
			s[i + 2 * j + 1] = SHUFFLE2(t[i + j], t[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
		}
	}
	UNROLL8 for (int i = 0; i < 4; i++)
	{
		to[i] = SHUFFLE2(s[i], s[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
		to[i + 4] = SHUFFLE2(s[i], s[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
	}
}
#else
#define MIRRORED 4
typedef float mirrored __attribute__((vector_size(16), aligned(4), may_alias));

INLINE void mirror_block(const float *from, mirrored to[4])
{
	mirrored r[4], t[4];

	UNROLL8 for (int i = 0; i < 4; i++) r[i] = *(const mirrored *)(const void *)(from + i * ROW);
	UNROLL8 for (int i = 0; i < 4; i += 2)
	{
		t[i] = SHUFFLE2(r[i], r[i + 1], 0, 4, 1, 5);
		t[i + 1] = SHUFFLE2(r[i], r[i + 1], 2, 6, 3, 7);
	}
	UNROLL8 for (int i = 0; i < 2; i++)
	{
		to[2 * i] = SHUFFLE2(t[i], t[i + 2], 0, 1, 4, 5);
		to[2 * i + 1] = SHUFFLE2(t[i], t[i + 2], 2, 3, 6, 7);
	}
}
#endif

INLINE void store_block(const mirrored from[MIRRORED], float *to)
{
	UNROLL8 for (int i = 0; i < MIRRORED; i++) * (mirrored *)(void *)(to + i * ROW) = from[i];
}

INLINE void mirror(float *plane)
{
	mirrored one[MIRRORED], other[MIRRORED];

	for (int y = 0; y < SIDE; y += MIRRORED) {
		for (int x = y; x < SIDE; x += MIRRORED) {
			float *a = plane + y * ROW + x, *b = plane + x * ROW + y;

			mirror_block(a, one);
			mirror_block(b, other);
			store_block(one, b);
			store_block(other, a);
		}
	}
}

INLINE void transform(float *re, float *im, const float *turns, bool back)
{
	for (int round = 0; round < 2; round++) {
		if (round) {
			mirror(re);
			mirror(im);
		}
		for (int x = 0; x < SIDE; x += SPECTRUM_LANES)
			transform_columns(&(struct rows){re + x, im + x, ROW}, turns, back);
	}
}

TARGET static void to_spectrum(float *re, float *im, const float *turns)
{
	transform(re, im, turns, false);
}

TARGET static void from_spectrum(float *re, float *im, const float *turns)
{
	transform(re, im, turns, true);
}

TARGET static double multiply_conjugate(const float *const a[2], const float *const b[2], float *const ret[2])
{
	double energy = 0;

	for (int y = 0; y < SIDE; y++) {
		floats sum = {0};

		for (int i = y * ROW; i < y * ROW + SIDE; i += SPECTRUM_LANES) {
			floats ar = *(const floats *)(const void *)(a[0] + i),
			       ai = *(const floats *)(const void *)(a[1] + i);
			floats br = *(const floats *)(const void *)(b[0] + i),
			       bi = *(const floats *)(const void *)(b[1] + i);
			floats re = ar * br + ai * bi, im = ai * br - ar * bi;
			*(floats *)(void *)(ret[0] + i) = re;
			*(floats *)(void *)(ret[1] + i) = im;
			sum += re * re + im * im;
		}
		for (int i = 0; i < SPECTRUM_LANES; i++)
			energy += (double)sum[i];
	}
	return energy;
}

#undef SIDE
#undef ROW

typedef uint8_t bytes_to_float __attribute__((vector_size(SPECTRUM_LANES), aligned(1), may_alias));
typedef uint16_t sums_to_float __attribute__((vector_size(2 * SPECTRUM_LANES), aligned(2), may_alias));
typedef int32_t longs_to_float __attribute__((vector_size(4 * SPECTRUM_LANES)));

// Both write whole vectors, and take out again what is beyond `count`.
INLINE double floats_end(floats energy, float *ret, int count)
{
	double sum = 0;

	for (int i = count; i % SPECTRUM_LANES; i++) {
		sum -= (double)ret[i] * (double)ret[i];
		ret[i] = 0;
	}
	for (int i = 0; i < SPECTRUM_LANES; i++)
		sum += (double)energy[i];
	return sum;
}

TARGET static double floats_of_bytes(const uint8_t *bytes, int offset, float *ret, int count)
{
	floats energy = {0};

	for (int i = 0; i < count; i += SPECTRUM_LANES) {
		longs_to_float v =
			__builtin_convertvector(*(const bytes_to_float *)(const void *)(bytes + i), longs_to_float);
		floats f = __builtin_convertvector(v - offset, floats);
		*(floats *)(void *)(ret + i) = f;
		energy += f * f;
	}
	return floats_end(energy, ret, count);
}

TARGET static double floats_of_sums(const uint16_t *sums, int offset, float *ret, int count)
{
	floats energy = {0};

	for (int i = 0; i < count; i += SPECTRUM_LANES) {
		longs_to_float v =
			__builtin_convertvector(*(const sums_to_float *)(const void *)(sums + i), longs_to_float);
		floats f = __builtin_convertvector(v - offset, floats);
		*(floats *)(void *)(ret + i) = f;
		energy += f * f;
	}
	return floats_end(energy, ret, count);
}

// SPECTRUM_ABOVE(a, b): bits of the floats in which a > b.
TARGET static bool exceeding(const float *products, float unit, float slack, const float *norms, float scale, int count,
			     uint64_t *ret_bits)
{
	uint64_t any = 0;

	for (int block = 0; block * 64 < count; block++) {
		uint64_t bits = 0;

		for (int i = 0; i < 64 && block * 64 + i < count; i += SPECTRUM_LANES) {
			floats product = *(const floats *)(const void *)(products + block * 64 + i);
			floats norm = *(const floats *)(const void *)(norms + block * 64 + i);
			floats have = product * unit + slack, wanted = norm * scale, nothing = {0};
			bits |= (uint64_t)(SPECTRUM_ABOVE(have, wanted) & SPECTRUM_ABOVE(norm, nothing)) << i;
		}
		ret_bits[block] = bits;
		any |= bits;
	}
	return any;
}
