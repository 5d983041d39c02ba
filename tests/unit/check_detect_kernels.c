// SPDX-License-Identifier: GPL-3.0-or-later
// Every set of kernels this CPU can run gives what the scalar one gives, at every size and alignment.
#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

#include "daemon/detect/kernels.h"
#include "daemon/detect/spectrum.h"
#include "proto/base.h"
#include "tests/support/scenes.h"

#define LENGTH 400

static const struct kernels *sets[8];
static size_t n_sets;

static void random_bytes(struct dice *dice, uint8_t *bytes, size_t size)
{
	bool extreme = dice_one_in(dice, 4);

	for (size_t i = 0; i < size; i++)
		bytes[i] = extreme ? (dice_one_in(dice, 2) ? 255 : 0) : (uint8_t)dice_roll(dice);
}

START_TEST(gray_rows)
{
	uint8_t bgra[4 * LENGTH + KERNEL_PADDING], wanted[LENGTH], got[LENGTH];
	struct dice dice = {1};

	for (int i = 0; i < 500; i++) {
		int width = dice_between(&dice, 1, LENGTH);
		random_bytes(&dice, bgra, sizeof(bgra));
		kernels_scalar.gray_row(bgra, wanted, width);
		for (size_t s = 0; s < n_sets; s++) {
			memset(got, 0xee, sizeof(got));
			sets[s]->gray_row(bgra, got, width);
			ck_assert_mem_eq(got, wanted, (size_t)width);
			ck_assert(width == LENGTH || got[width] == 0xee);
		}
	}
	// All of gray.
	for (int v = 0; v < 256; v++) {
		memset(bgra, v, sizeof(bgra));
		for (size_t s = 0; s < n_sets; s++) {
			sets[s]->gray_row(bgra, got, 77);
			for (int x = 0; x < 77; x++)
				ck_assert_int_eq(got[x], v);
		}
	}
}
END_TEST

// Rows of all colours there are.
START_TEST(hsv_rows)
{
	uint8_t bgra[4 * 256 + KERNEL_PADDING] = {0}, mask[256 + KERNEL_PADDING];
	struct dice dice = {5};

	for (int row = 0; row < 256 * 256; row++) {
		int first = dice_between(&dice, 0, 20), width = row % 16 ? 256 : dice_between(&dice, 1, 256 - first);
		int hue0 = dice_between(&dice, 0, 179);
		struct hsv_sums wanted = {1, 2, 3, 4};

		first = width == 256 ? 0 : first;
		for (int x = 0; x < 256; x++) {
			bgra[4 * x] = (uint8_t)x;
			bgra[4 * x + 1] = (uint8_t)row;
			bgra[4 * x + 2] = (uint8_t)(row >> 8);
			mask[x] = row % 3 ? 0xff : (uint8_t) - (x * row / 7 % 2);
		}
		kernels_scalar.hsv_row(bgra + 4 * first, row % 2 ? mask : NULL, width, hue0, &wanted);
		for (size_t s = 0; s + 1 < n_sets; s++) {
			struct hsv_sums got = {1, 2, 3, 4};
			sets[s]->hsv_row(bgra + 4 * first, row % 2 ? mask : NULL, width, hue0, &got);
			ck_assert_mem_eq(&got, &wanted, sizeof(got));
		}
	}
}
END_TEST

START_TEST(windows)
{
	static uint8_t frame[300 * 600], image[200 * 500], mask[200 * 500];
	struct dice dice = {2};

	for (int i = 0; i < 500; i++) {
		int width = dice_between(&dice, 1, 370), rows = dice_between(&dice, 1, 40),
		    at = dice_between(&dice, 0, 200);
		bool masked = dice_one_in(&dice, 2);
		struct window_sums wanted = {1, 2, 3};

		if (i % 50 == 0) {
			random_bytes(&dice, frame, sizeof(frame));
			random_bytes(&dice, image, sizeof(image));
			for (size_t j = 0; j < sizeof(mask); j++)
				mask[j] = dice_one_in(&dice, 3) ? 0 : 0xff;
		}
		kernels_scalar.window(frame + at, 600, image, masked ? mask : NULL, 500, width, rows, &wanted);
		for (size_t s = 0; s < n_sets; s++) {
			struct window_sums got = {1, 2, 3};
			sets[s]->window(frame + at, 600, image, masked ? mask : NULL, 500, width, rows, &got);
			ck_assert_mem_eq(&got, &wanted, sizeof(got));
		}
	}
}
END_TEST

START_TEST(windows_of_white)
{
	// As large as a template may be: no partial sum may wrap.
	size_t stride = 16384 + KERNEL_PADDING, rows = 4096;
	uint8_t *white = malloc(stride * rows);
	struct window_sums wanted = {.sum = 255 * INT64_C(16384) * 4096, .squares = 65025 * INT64_C(16384) * 4096};

	ck_assert_ptr_nonnull(white);
	memset(white, 255, stride * rows);
	wanted.product = wanted.squares;
	for (size_t s = 0; s < n_sets; s++) {
		struct window_sums got = {0};
		sets[s]->window(white, (ptrdiff_t)stride, white, NULL, (ptrdiff_t)stride, 16384, (int)rows, &got);
		ck_assert_mem_eq(&got, &wanted, sizeof(got));
	}
	free(white);
}
END_TEST

// Puts each place's product just above or just below what is asked: then the survivors say what the products are.
static void scan_once(struct dice *dice)
{
	static uint8_t means[64 * 700];
	static int8_t weights[64 * 20 * 16];
	static float norm[512], rest[SCAN_PATTERNS][512];
	static uint64_t bits[SCAN_PATTERNS][8], wanted[SCAN_PATTERNS][8];
	struct scan scan = {
		.means = means + dice_between(dice, 0, 60),
		.stride = 700,
		.rows = dice_between(dice, 1, 40),
		.quads = dice_between(dice, 1, 20),
		.weights = weights,
		.count = dice_between(dice, 1, 500),
		.unit = 1,
	};

	random_bytes(dice, means, sizeof(means));
	// A quad's weights come again with the other sign, so that a pattern's sum is 0; an odd one out is 0.
	int count = scan.rows * scan.quads;
	memset(weights, 0, sizeof(weights));
	for (int i = 0; i < count / 2 * 16; i++) {
		int other = (count - 1) * 16 - i / 16 * 16 + i % 16;
		weights[i] = (int8_t)(dice_one_in(dice, 3)   ? 64
				      : dice_one_in(dice, 2) ? -64
							     : dice_between(dice, -64, 64));
		weights[other] = (int8_t)-weights[i];
	}
	memset(wanted, 0, sizeof(wanted));
	for (int p = 0; p < SCAN_PATTERNS; p++) {
		scan.norm[p] = norm;
		scan.rest[p] = rest[p];
		scan.rest_scale[p] = 1;
		scan.survivors[p] = bits[p];
		for (int x = 0; x < scan.count; x++) {
			int product = 0;
			for (int y = 0; y < scan.rows; y++)
				for (int i = 0; i < 4 * scan.quads; i++)
					product += scan.means[y * scan.stride + x + i] *
						   weights[((y * scan.quads + i / 4) * SCAN_PATTERNS + p) * 4 + i % 4];
			bool above = dice_one_in(dice, 2);
			rest[p][x] = (float)-product + (above ? 0.5F : -0.5F);
			wanted[p][x / 64] |= (uint64_t)above << (x % 64);
		}
	}
	for (size_t s = 0; s < n_sets; s++) {
		memset(bits, 0x5a, sizeof(bits));
		sets[s]->scan(&scan);
		for (int p = 0; p < SCAN_PATTERNS; p++)
			for (int x = 0; x < scan.count; x++)
				ck_assert_msg((bits[p][x / 64] >> (x % 64) & 1) == (wanted[p][x / 64] >> (x % 64) & 1),
					      "%s: pattern %d, place %d of %d, %dx%d quads", sets[s]->name, p, x,
					      scan.count, scan.rows, scan.quads);
	}
}

START_TEST(scans)
{
	struct dice dice = {3};

	for (int i = 0; i < 60; i++)
		scan_once(&dice);
}
END_TEST

START_TEST(boxes)
{
	uint8_t upper[2 * LENGTH + KERNEL_PADDING], lower[2 * LENGTH + KERNEL_PADDING];
	uint16_t sums[LENGTH + KERNEL_PADDING], got[LENGTH + KERNEL_PADDING], halves[LENGTH + KERNEL_PADDING];
	uint8_t means[LENGTH + KERNEL_PADDING], got_means[LENGTH + KERNEL_PADDING];
	struct dice dice = {4};

	for (int i = 0; i < 300; i++) {
		int count = dice_between(&dice, 1, LENGTH), shift = 2 * dice_between(&dice, 1, 4);
		random_bytes(&dice, upper, sizeof(upper));
		random_bytes(&dice, lower, sizeof(lower));
		kernels_scalar.halve_bytes(upper, lower, sums, count);
		for (size_t s = 0; s < n_sets; s++) {
			sets[s]->halve_bytes(upper, lower, got, count);
			ck_assert_mem_eq(got, sums, (size_t)count * sizeof(*got));
		}
		for (int x = 0; x < LENGTH; x++)
			sums[x] = (uint16_t)dice_between(&dice, 0, 255 * 64);
		kernels_scalar.halve_sums(sums, sums, halves, count / 2);
		for (size_t s = 0; s < n_sets; s++) {
			sets[s]->halve_sums(sums, sums, got, count / 2);
			ck_assert_mem_eq(got, halves, (size_t)(count / 2) * sizeof(*got));
		}
		for (int x = 0; x < LENGTH; x++)
			sums[x] =
				(uint16_t)(dice_one_in(&dice, 5) ? 255 << shift : dice_between(&dice, 0, 255 << shift));
		kernels_scalar.means_of(sums, means, shift, count);
		for (size_t s = 0; s < n_sets; s++) {
			sets[s]->means_of(sums, got_means, shift, count);
			ck_assert_mem_eq(got_means, means, (size_t)count);
		}
	}
}
END_TEST

struct column_arrays {
	int64_t sum[LENGTH + KERNEL_PADDING], squares[LENGTH + KERNEL_PADDING], rests[LENGTH + KERNEL_PADDING];
	int64_t prefix[3][LENGTH + KERNEL_PADDING];
};

static struct column_sums columns_of(struct column_arrays *arrays)
{
	return (struct column_sums){
		arrays->sum, arrays->squares, arrays->rests, {arrays->prefix[0], arrays->prefix[1], arrays->prefix[2]}};
}

static void sum_up(const struct kernels *set, struct dice dice, struct column_arrays *arrays, int shift, int count,
		   int rows)
{
	uint8_t means[LENGTH + KERNEL_PADDING];
	uint16_t sums[LENGTH + KERNEL_PADDING];
	struct column_sums columns = columns_of(arrays);

	memset(arrays, 0, sizeof(*arrays));
	for (int y = 0; y < rows; y++) {
		for (int x = 0; x < LENGTH + KERNEL_PADDING; x++) {
			sums[x] =
				(uint16_t)(dice_one_in(&dice, 3) ? 255 << shift : dice_between(&dice, 0, 255 << shift));
			means[x] = (uint8_t)((sums[x] + (1 << shift >> 1)) >> shift);
		}
		set->add_boxes(means, shift ? sums : NULL, shift, count, y % 3 == 2 ? -1 : 1, &columns);
	}
}

START_TEST(norms)
{
	static struct column_arrays wanted, got;
	float norm[LENGTH + KERNEL_PADDING], rest[LENGTH + KERNEL_PADDING], got_norm[LENGTH + KERNEL_PADDING],
		got_rest[LENGTH + KERNEL_PADDING];

	for (int i = 0; i < 200; i++) {
		struct dice dice = {(uint64_t)i};
		int shift = 2 * dice_between(&dice, 0, 4), width = dice_between(&dice, 1, 60),
		    count = dice_between(&dice, 1, 300);
		// A sum is taken away only after two were added, and never more than them: norms of positive sums.
		int rows = 1 + dice_between(&dice, 0, 1);

		sum_up(&kernels_scalar, dice, &wanted, shift, count + width - 1, rows);
		struct column_sums columns = columns_of(&wanted);
		kernels_scalar.norms(&columns, width, rows, count, norm, rest);
		for (size_t s = 0; s < n_sets; s++) {
			sum_up(sets[s], dice, &got, shift, count + width - 1, rows);
			ck_assert_mem_eq(got.sum, wanted.sum, (size_t)(count + width - 1) * sizeof(int64_t));
			ck_assert_mem_eq(got.squares, wanted.squares, (size_t)(count + width - 1) * sizeof(int64_t));
			ck_assert_mem_eq(got.rests, wanted.rests, (size_t)(count + width - 1) * sizeof(int64_t));
			columns = columns_of(&got);
			sets[s]->norms(&columns, width, rows, count, got_norm, got_rest);
			for (int x = 0; x < count; x++) {
				ck_assert_float_eq_tol(got_norm[x], norm[x], 1e-6F * norm[x] + 1e-3F);
				ck_assert_float_eq_tol(got_rest[x], rest[x], 1e-6F * rest[x] + 1e-30F);
			}
		}
	}
}
END_TEST

START_TEST(taking_away_what_was_added)
{
	static struct column_arrays arrays;

	for (size_t s = 0; s < n_sets; s++) {
		struct dice dice = {9};
		uint8_t means[LENGTH + KERNEL_PADDING];
		uint16_t sums[LENGTH + KERNEL_PADDING];
		struct column_sums columns = columns_of(&arrays);

		memset(&arrays, 0, sizeof(arrays));
		for (int x = 0; x < LENGTH + KERNEL_PADDING; x++) {
			sums[x] = (uint16_t)dice_between(&dice, 0, 4080);
			means[x] = (uint8_t)((sums[x] + 8) >> 4);
		}
		sets[s]->add_boxes(means, sums, 4, 333, 1, &columns);
		sets[s]->add_boxes(means, sums, 4, 333, -1, &columns);
		sets[s]->add_boxes(means, NULL, 0, 333, 1, &columns);
		sets[s]->add_boxes(means, NULL, 0, 333, -1, &columns);
		for (int x = 0; x < 333; x++)
			ck_assert(arrays.sum[x] == 0 && arrays.squares[x] == 0 && arrays.rests[x] == 0);
	}
}
END_TEST

START_TEST(a_flat_row_has_no_norm)
{
	static struct column_arrays arrays;

	for (size_t s = 0; s < n_sets; s++) {
		for (int shift = 0; shift <= 8; shift += 2) {
			uint8_t means[LENGTH + KERNEL_PADDING];
			uint16_t sums[LENGTH + KERNEL_PADDING];
			float norm[LENGTH + KERNEL_PADDING], rest[LENGTH + KERNEL_PADDING];
			struct column_sums columns = columns_of(&arrays);

			memset(&arrays, 0, sizeof(arrays));
			memset(means, 251, sizeof(means));
			for (int x = 0; x < LENGTH + KERNEL_PADDING; x++)
				sums[x] = (uint16_t)(251 << shift);
			for (int y = 0; y < 37; y++)
				sets[s]->add_boxes(means, shift ? sums : NULL, shift, 300, 1, &columns);
			sets[s]->norms(&columns, 43, 37, 250, norm, rest);
			for (int x = 0; x < 250; x++)
				ck_assert(norm[x] == 0 && rest[x] == 0);
		}
	}
}
END_TEST

START_TEST(weighing)
{
	uint8_t bytes[LENGTH];
	uint16_t small[LENGTH], small_before[LENGTH];
	uint32_t sums[LENGTH], before[LENGTH];
	struct dice dice = {11};

	for (int i = 0; i < 300; i++) {
		int count = dice_between(&dice, 0, LENGTH - 1), offset = dice_between(&dice, 0, LENGTH - 1 - count);
		uint32_t weight = (uint32_t)dice_between(&dice, 0, 1 << 20);
		uint16_t small_weight = (uint16_t)dice_between(&dice, 0, 128);
		random_bytes(&dice, bytes, sizeof(bytes));
		for (int x = 0; x < LENGTH; x++) {
			before[x] = (uint32_t)dice_between(&dice, 0, 1 << 30);
			small_before[x] = (uint16_t)dice_between(&dice, 0, 128 * 255 - 1);
		}
		for (size_t s = 0; s < n_sets; s++) {
			memcpy(sums, before, sizeof(sums));
			memcpy(small, small_before, sizeof(small));
			sets[s]->weigh(bytes + offset, weight, sums, count);
			sets[s]->weigh_small(bytes + offset, small_weight, small, count);
			for (int x = 0; x < LENGTH; x++) {
				unsigned byte = x < count ? bytes[offset + x] : 0;
				ck_assert_uint_eq(sums[x], before[x] + weight * byte);
				ck_assert_uint_eq(small[x], small_before[x] + small_weight * byte);
			}
		}
	}
}
END_TEST

/// Planes to be transformed, as a search has them.
struct planes {
	float re[SPECTRUM_SIDE * SPECTRUM_ROW], im[SPECTRUM_SIDE * SPECTRUM_ROW];
} __attribute__((aligned(64)));

static double product_at(const struct planes *plane, const struct planes *pattern, int columns, int rows, int x, int y)
{
	double sum = 0;

	for (int j = 0; j < rows; j++)
		for (int i = 0; i < columns; i++)
			sum += (double)plane->re[(y + j) * SPECTRUM_ROW + x + i] *
			       (double)pattern->re[j * SPECTRUM_ROW + i];
	return sum;
}

// There, multiplied and back are the products of a pattern with every place, off by less than spectrum.c allows for.
START_TEST(transforms)
{
	static struct planes plane, pattern, spectra[2], got;
	static float turns[SPECTRUM_TURNS_ALL];

	spectrum_turns(turns);
	for (int i = 0; i < 6; i++) {
		struct dice dice = {(uint64_t)i};
		int columns = dice_between(&dice, 1, 200), rows = dice_between(&dice, 1, 200);
		double energy = 0, length = 0, out, slack;
		memset(&plane, 0, sizeof(plane));
		memset(&pattern, 0, sizeof(pattern));
		for (int y = 0; y < SPECTRUM_SIDE; y++) {
			for (int x = 0; x < SPECTRUM_SIDE; x++) {
				float *p = &plane.re[y * SPECTRUM_ROW + x], *q = &pattern.re[y * SPECTRUM_ROW + x];
				*p = i % 2 ? (float)dice_between(&dice, -510, 510) : (float)(x + y);
				*q = x < columns && y < rows ? (float)dice_between(&dice, -100, 100) : 0;
				energy += (double)(*p * *p);
				length += (double)(*q * *q);
			}
		}
		for (size_t s = 0; s < n_sets; s++) {
			memcpy(&spectra[0], &plane, sizeof(plane));
			memcpy(&spectra[1], &pattern, sizeof(pattern));
			sets[s]->to_spectrum(spectra[0].re, spectra[0].im, turns);
			sets[s]->to_spectrum(spectra[1].re, spectra[1].im, turns);
			const float *const a[2] = {spectra[0].re, spectra[0].im};
			const float *const b[2] = {spectra[1].re, spectra[1].im};
			float *const to[2] = {got.re, got.im};
			out = sets[s]->multiply_conjugate(a, b, to);
			sets[s]->from_spectrum(got.re, got.im, turns);
			slack = 1e-5 * (sqrt(energy * length) + sqrt(out) / SPECTRUM_SIDE);
			for (int n = 0; n < 60; n++) {
				int x = dice_between(&dice, 0, SPECTRUM_SIDE - columns);
				int y = dice_between(&dice, 0, SPECTRUM_SIDE - rows);
				double wanted = product_at(&plane, &pattern, columns, rows, x, y);
				double off =
					(double)got.re[y * SPECTRUM_ROW + x] / (SPECTRUM_SIDE * SPECTRUM_SIDE) - wanted;
				ck_assert_msg(fabs(off) <= slack / 10, "%s: off by %g, allowed is %g", sets[s]->name,
					      off, slack);
			}
		}
	}
}
END_TEST

START_TEST(floats)
{
	uint8_t bytes[SPECTRUM_SIDE + KERNEL_PADDING];
	uint16_t sums[SPECTRUM_SIDE + KERNEL_PADDING];
	float got[SPECTRUM_SIDE + 16];
	struct dice dice = {3};

	for (int n = 0; n < 200; n++) {
		int count = dice_between(&dice, 1, SPECTRUM_SIDE), offset = dice_between(&dice, 0, 1020);
		random_bytes(&dice, bytes, sizeof(bytes));
		for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
			sums[i] = (uint16_t)dice_between(&dice, 0, 1020);
		for (size_t s = 0; s < 2 * n_sets; s++) {
			const struct kernels *set = sets[s / 2];
			double energy = s % 2 ? set->floats_of_bytes(bytes, offset, got, count)
					      : set->floats_of_sums(sums, offset, got, count);
			double wanted = 0;
			for (int i = 0; i < count; i++) {
				int v = (s % 2 ? bytes[i] : sums[i]) - offset;
				ck_assert(got[i] == (float)v);
				wanted += (double)v * v;
			}
			ck_assert_double_eq_tol(energy, wanted, 1e-5 * wanted + 1);
		}
	}
}
END_TEST

START_TEST(places_that_exceed)
{
	float products[SPECTRUM_SIDE + 16], norm[SPECTRUM_SIDE + 16];
	uint64_t bits[SPECTRUM_SIDE / 64 + 1];
	struct dice dice = {4};

	for (int n = 0; n < 300; n++) {
		int count = dice_between(&dice, 1, SPECTRUM_SIDE);
		bool any_wanted = false;
		for (int i = 0; i < count; i++) {
			products[i] = (float)dice_between(&dice, n % 3 ? -100 : -1000, 100);
			norm[i] = (float)dice_between(&dice, 0, n % 2 ? 20 : 400);
		}
		for (int i = 0; i < count; i++)
			any_wanted = any_wanted || (norm[i] > 0 && products[i] * 0.5F + 3 > norm[i] * 0.25F);
		for (size_t s = 0; s < n_sets; s++) {
			ck_assert_int_eq(sets[s]->exceeding(products, 0.5F, 3, norm, 0.25F, count, bits) || !any_wanted,
					 true);
			for (int i = 0; i < count; i++)
				ck_assert_int_eq(bits[i / 64] >> (i % 64) & 1,
						 norm[i] > 0 && products[i] * 0.5F + 3 > norm[i] * 0.25F);
		}
	}
}
END_TEST

START_TEST(one_can_be_chosen)
{
	ck_assert_ptr_eq(kernels(), sets[0]);
	ck_assert_ptr_eq(sets[n_sets - 1], &kernels_scalar);
	kernels_use(&kernels_scalar);
	ck_assert_ptr_eq(kernels(), &kernels_scalar);
	kernels_use(NULL);
	ck_assert_ptr_eq(kernels(), sets[0]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("detect kernels");
	TCase *tcase = tcase_create("same as scalar");

	n_sets = kernels_available(sets, ARRAY_SIZE(sets));
	tcase_add_test(tcase, gray_rows);
	tcase_add_test(tcase, hsv_rows);
	tcase_add_test(tcase, windows);
	tcase_add_test(tcase, windows_of_white);
	tcase_add_test(tcase, scans);
	tcase_add_test(tcase, boxes);
	tcase_add_test(tcase, norms);
	tcase_add_test(tcase, taking_away_what_was_added);
	tcase_add_test(tcase, a_flat_row_has_no_norm);
	tcase_add_test(tcase, weighing);
	tcase_add_test(tcase, transforms);
	tcase_add_test(tcase, floats);
	tcase_add_test(tcase, places_that_exceed);
	tcase_add_test(tcase, one_can_be_chosen);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
