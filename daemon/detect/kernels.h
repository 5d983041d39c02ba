// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: the inner loops, once a kind of CPU. Every set gives the same integers; where floats are compared
/// (scan), a set may let through a little more or less than another, which only moves work, never a result.
#ifndef CONDPROF_DETECT_KERNELS_H
#define CONDPROF_DETECT_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/detect/score.h"

/// Bytes that must be readable beyond the last one asked for, of every plane and array given to a kernel.
#define KERNEL_PADDING 128

/// Positions in a row are looked at in blocks of so many: arrays per position are written up to a multiple of it.
#define SCAN_BLOCK 64

/// Rows and columns of a plane to be transformed; floats of a row in memory; floats of a turn.
#define SPECTRUM_SIDE 256
#define SPECTRUM_ROW (SPECTRUM_SIDE + 16)
#define SPECTRUM_TURNS 6
#define SPECTRUM_TURNS_ALL ((64 + 16 + 4) * SPECTRUM_TURNS)

/// Patterns looked for at once.
#define SCAN_PATTERNS 4

/// Looks for SCAN_PATTERNS patterns of small signed weights at `count` places in a row of means (place i begins at byte
/// i). A place survives when  product * unit + rest * rest_scale > norm * norm_scale,  product being the sum of weight
/// times mean, norm and rest what is known of the place.
struct scan {
	const uint8_t *means;
	ptrdiff_t stride;
	int rows, quads;       ///< of the patterns; a quad is four weights side by side
	const int8_t *weights; ///< [rows][quads][SCAN_PATTERNS][4], each within -64 to 64; of a pattern the sum is 0
	int count;
	float unit;
	const float *norm[SCAN_PATTERNS], *rest[SCAN_PATTERNS];
	float norm_scale[SCAN_PATTERNS], rest_scale[SCAN_PATTERNS];
	uint64_t *survivors[SCAN_PATTERNS]; ///< a bit a place; those of the last block beyond count may be set too
};

/// Sums over some rows of boxes, a column each: of the boxes' sums, their squares, and the squares of what rounding a
/// mean left (sum - size * mean). `prefix`: scratch of the same length and one more.
struct column_sums {
	int64_t *sum, *squares, *rests;
	int64_t *prefix[3];
};

/// Sums over pixels; hues as signed distances from some hue0, in [-90, 90).
struct hsv_sums {
	int64_t count, hue, saturation, value;
};

/// Of a difference of sums below 2^53, more than it is off by, as a share of what is subtracted from.
#define ROUNDING 1e-15

/// Before a loop of at most four turns whose arrays must stay in registers.
#define UNROLL _Pragma("GCC unroll 4")

struct kernels {
	const char *name;
	/// 8-bit gray of a row of BGRA pixels; alpha is ignored.
	void (*gray_row)(const uint8_t *bgra, uint8_t *ret_gray, int width);
	/// Adds a row of pixels in 8-bit HSV as docs/DETECTION.md defines it. Bytes of the mask that are 0 leave their
	/// pixel out, NULL: all count. @param hue0 0 to 179
	void (*hsv_row)(const uint8_t *bgra, const uint8_t *mask, int width, int hue0, struct hsv_sums *sums);
	/// Adds the sums of `rows` rows of a window; bytes outside the mask (0 there) do not count, NULL: all do.
	void (*window)(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *template_, const uint8_t *mask,
		       ptrdiff_t template_stride, int width, int rows, struct window_sums *sums);
	/// @return whether any place survived
	bool (*scan)(const struct scan *scan);
	/// Adds (sign 1) or takes away (-1) a row of `count` boxes of 1 << shift px; sums NULL: boxes of one px, whose
	/// rests are 0 and stay untouched.
	void (*add_boxes)(const uint8_t *means, const uint16_t *sums, int shift, int count, int sign,
			  const struct column_sums *columns);
	/// Of windows of width x rows boxes at `count` places: the root of the sum of squared differences from the mean
	/// (or a little less), and the root of the sum of rests (NULL: not wanted), as floats of all that went before.
	void (*norms)(const struct column_sums *columns, int width, int rows, int count, float *ret_norm,
		      float *ret_rest);
	/// Adds weight times bytes to sums, which must fit.
	void (*weigh)(const uint8_t *bytes, uint32_t weight, uint32_t *sums, int count);
	void (*weigh_small)(const uint8_t *bytes, uint16_t weight, uint16_t *sums, int count);
	/// The Fourier transform of a plane of complex numbers, SPECTRUM_SIDE rows of SPECTRUM_ROW floats, in place;
	/// its frequencies stand in an order of their own. And back, times SPECTRUM_SIDE squared. @param turns as by
	/// spectrum_turns()
	void (*to_spectrum)(float *re, float *im, const float *turns);
	void (*from_spectrum)(float *re, float *im, const float *turns);
	/// a times the conjugate of b, planes as above ([0] re, [1] im). @return the sum of the results' squares
	double (*multiply_conjugate)(const float *const a[2], const float *const b[2], float *const ret[2]);
	/// v - offset of `count` values, in at most SPECTRUM_SIDE floats. @return the sum of their squares
	double (*floats_of_bytes)(const uint8_t *bytes, int offset, float *ret, int count);
	double (*floats_of_sums)(const uint16_t *sums, int offset, float *ret, int count);
	/// A bit a place where  product * unit + slack > norm * scale  and the norm is not 0. @return whether any
	bool (*exceeding)(const float *products, float unit, float slack, const float *norms, float scale, int count,
			  uint64_t *ret_bits);
	/// What one transform costs, in steps of scan: a vector of products with one weight quad.
	double transform_cost;
	/// Sums of 2x2 bytes: ret[i] of bytes 2i and 2i + 1 of both rows.
	void (*halve_bytes)(const uint8_t *upper, const uint8_t *lower, uint16_t *ret_sums, int count);
	/// The same of sums; results below 65536.
	void (*halve_sums)(const uint16_t *upper, const uint16_t *lower, uint16_t *ret_sums, int count);
	/// (sum + 2^shift / 2) >> shift.
	void (*means_of)(const uint16_t *sums, uint8_t *ret_means, int shift, int count);
};

/// The best set for this CPU, or the one chosen by kernels_use().
const struct kernels *kernels(void);

/// All sets this CPU can run, best first, the scalar one last. @return how many
size_t kernels_available(const struct kernels *ret[], size_t max);

/// For tests and benches: use this set from now on; NULL: the best again. Not while a search runs.
void kernels_use(const struct kernels *set);

extern const struct kernels kernels_scalar;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2, kernels_avxvnni, kernels_avx512;
#elif defined(__aarch64__)
extern const struct kernels kernels_neon;
#endif

#endif
