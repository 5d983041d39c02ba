// SPDX-License-Identifier: GPL-3.0-or-later
// Making the patterns of a template: see pattern.h. Once a session, in doubles; every inexactness is on the safe side
// of BOUND_SLACK or measured (pattern.error).
#include "daemon/detect/pattern.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/detect/kernels.h"
#include "daemon/detect/template.h"
#include "proto/base.h"

#define WEIGHT_MAX 62   ///< and two more by making the sum 0
#define BOXES_MAX 32768 ///< products of a place must fit 32 bits

double pattern_cosine(const struct pattern *pattern, double bar)
{
	double square;

	if (bar <= 0 || pattern->share <= 0)
		return 0;
	square = (bar * bar - (1 - pattern->share)) / pattern->share - BOUND_SLACK;
	return square > 0 ? sqrt(square) : 0;
}

void pattern_set_clear(struct pattern_set *set)
{
	free(set->patterns);
	free(set->weights);
	*set = (struct pattern_set){0};
}

static bool counts(const struct template_planes *t, int left, int top, int right, int bottom)
{
	if (left < 0 || top < 0 || right > t->width || bottom > t->height)
		return false;
	for (int y = top; t->mask && y < bottom; y++)
		for (int x = left; x < right; x++)
			if (!t->mask[y * t->stride + x])
				return false;
	return true;
}

// Whether box (i, j) holds counted pixels only, whatever the phase.
static bool usable(const struct template_planes *t, int shift, int i, int j)
{
	int side = 1 << shift, spread = side - 1;

	if (shift == 0)
		return counts(t, i, j, i + 1, j + 1);
	return counts(t, (i + 1) * side - spread, (j + 1) * side - spread, (i + 2) * side, (j + 2) * side);
}

/// Columns whose usable height is known to begin here, for the largest rectangle below a histogram.
struct step {
	int from, height;
};

static void take_larger(struct pattern_set *set, const struct step *step, int column, int row)
{
	int columns = column - step->from;

	if ((int64_t)columns * step->height <= (int64_t)set->columns * set->rows)
		return;
	set->column = step->from;
	set->row = row - step->height + 1;
	set->columns = columns;
	set->rows = step->height;
}

// The largest rectangle of usable boxes: row by row, the heights of usable boxes above as a histogram.
static void largest_rectangle(const struct template_planes *t, int shift, int columns, int rows, int *heights,
			      struct step *steps, struct pattern_set *set)
{
	for (int j = 0; j < rows; j++) {
		int n = 0;

		for (int i = 0; i <= columns; i++) {
			struct step now = {i, 0};
			if (i < columns)
				now.height = heights[i] = usable(t, shift, i, j) ? heights[i] + 1 : 0;
			while (n && steps[n - 1].height >= now.height) {
				take_larger(set, &steps[--n], i, j);
				now.from = steps[n].from;
			}
			steps[n++] = now;
		}
	}
}

static int choose_boxes(const struct template_planes *t, int shift, int rows, struct pattern_set *set)
{
	int columns = shift ? (t->width >> shift) - 1 : t->width;
	int all_rows = shift ? (t->height >> shift) - 1 : t->height;

	if (columns < 1 || all_rows < 1 || columns * 4 > BOXES_MAX)
		return 0;
	if (!t->mask) {
		set->columns = columns;
		set->rows = all_rows;
	} else {
		CLEANUP_FREE int *heights = calloc((size_t)columns, sizeof(*heights));
		CLEANUP_FREE struct step *steps = calloc((size_t)columns + 1, sizeof(*steps));
		if (!heights || !steps)
			return -ENOMEM;
		largest_rectangle(t, shift, columns, all_rows, heights, steps, set);
	}
	if (shift == 0)
		set->rows = MIN(set->rows, rows);
	if (set->columns)
		set->rows = MIN(set->rows, BOXES_MAX / (set->columns + 3));
	if (!shift && set->rows + SCAN_PATTERNS > BOXES_MAX / (set->columns + 3))
		set->rows -= SCAN_PATTERNS;
	if (set->columns * set->rows < 2 || set->rows < 1)
		set->columns = set->rows = 0;
	return 0;
}

static double box_sum(const struct template_planes *t, int shift, int left, int top)
{
	const uint32_t *upper = t->prefix + (size_t)top * ((size_t)t->width + 1) + left;
	const uint32_t *lower = upper + ((size_t)t->width + 1) * ((size_t)1 << shift);

	return lower[1 << shift] - lower[0] - upper[1 << shift] + upper[0];
}

// The pattern of a phase without its mean, a number a box. @return its length
static double fill_vector(const struct template_planes *t, const struct pattern_set *set, int phase, double *vector)
{
	int side = 1 << set->shift, dx = phase % side, dy = phase / side, n = set->columns * set->rows;
	double mean = 0, square = 0;

	for (int j = 0; j < set->rows; j++) {
		for (int i = 0; i < set->columns; i++) {
			double v = box_sum(t, set->shift, (set->first + set->column + i) * side - dx,
					   (set->first + set->row + j) * side - dy);
			vector[j * set->columns + i] = v;
			mean += v;
		}
	}
	mean /= n;
	for (int i = 0; i < n; i++) {
		vector[i] -= mean;
		square += vector[i] * vector[i];
	}
	return sqrt(square);
}

// Rounds to integers whose sum is exactly 0, so that equal means give a product of 0: most of a screen is flat.
static void round_vector(const double *vector, double scale, int *ret, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		ret[i] = (int)lrint(vector[i] * scale);
		sum += ret[i];
	}
	// Those first that were rounded the wrong way for the sum by more than a quarter.
	for (double least = 0.25; sum && least > -1; least -= 1) {
		for (int i = 0; i < n && sum; i++) {
			double off = ret[i] - vector[i] * scale;
			if (sum > 0 ? off >= least : off <= -least) {
				ret[i] -= sum > 0 ? 1 : -1;
				sum -= sum > 0 ? 1 : -1;
			}
		}
	}
}

static void place_weights(struct pattern_set *set, int phase, const int *rounded)
{
	int group = phase / SCAN_PATTERNS, lane = phase % SCAN_PATTERNS;

	for (int j = 0; j < set->rows; j++) {
		for (int i = 0; i < set->columns; i++) {
			// Side 1: the four patterns are one, a row lower each.
			for (int p = set->shift ? lane : 0; p <= (set->shift ? lane : SCAN_PATTERNS - 1); p++) {
				size_t row = (size_t)(group * set->scan_rows + j + (set->shift ? 0 : p));
				set->weights[((row * (size_t)set->quads + (size_t)i / 4) * SCAN_PATTERNS + (size_t)p) *
						     4 +
					     (size_t)i % 4] = (int8_t)rounded[j * set->columns + i];
			}
		}
	}
}

static void fill_pattern(const struct template_planes *t, struct pattern_set *set, int phase, double *vector,
			 int *rounded)
{
	struct pattern *pattern = &set->patterns[phase];
	int n = set->columns * set->rows;
	double length = fill_vector(t, set, phase, vector), most = 0, scale, squares = 0, errors = 0;

	for (int i = 0; i < n; i++)
		most = fmax(most, fabs(vector[i]));
	pattern->share = length * length / (1 << 2 * set->shift) / t->energy;
	if (pattern->share < 1e-9) {
		pattern->share = 0;
		return;
	}
	scale = WEIGHT_MAX / most;
	round_vector(vector, scale, rounded, n);
	for (int i = 0; i < n; i++) {
		double error = vector[i] * scale - rounded[i];
		squares += (double)rounded[i] * rounded[i];
		errors += error * error;
	}
	pattern->length = length * scale;
	pattern->rounded = sqrt(squares);
	pattern->error = sqrt(errors);
	place_weights(set, phase, rounded);
}

int pattern_set_make(const struct template_planes *planes, int shift, int rows, struct pattern_set *ret)
{
	struct pattern_set set = {.shift = shift, .first = shift ? 1 : 0, .least_share = 1};
	int phases = 1 << 2 * shift, r = choose_boxes(planes, shift, rows, &set);
	size_t n = (size_t)set.columns * (size_t)set.rows;

	*ret = (struct pattern_set){0};
	if (r < 0 || !n)
		return r;
	set.quads = (set.columns + 3) / 4;
	set.scan_rows = set.rows + (shift ? 0 : SCAN_PATTERNS - 1);
	set.groups = MAX(phases / SCAN_PATTERNS, 1);
	set.worth = MAX(2, (set.scan_rows * set.quads * 4 + set.rows * (SCAN_BLOCK + set.columns) / set.groups) / 100);
	CLEANUP_FREE double *vector = calloc(n, sizeof(*vector));
	CLEANUP_FREE int *rounded = calloc(n, sizeof(*rounded));
	set.patterns = calloc((size_t)phases, sizeof(*set.patterns));
	set.weights = calloc((size_t)set.groups * (size_t)set.scan_rows * (size_t)set.quads, 4 * SCAN_PATTERNS);
	if (!vector || !rounded || !set.patterns || !set.weights) {
		pattern_set_clear(&set);
		return -ENOMEM;
	}
	for (int phase = 0; phase < phases; phase++) {
		fill_pattern(planes, &set, phase, vector, rounded);
		set.least_share = MIN(set.least_share, set.patterns[phase].share);
	}
	*ret = set;
	return 0;
}

int pattern_set_whole(const struct template_planes *planes, struct pattern_set *ret)
{
	struct pattern *pattern = calloc(1, sizeof(*pattern));

	if (!pattern)
		return -ENOMEM;
	pattern->share = 1;
	*ret = (struct pattern_set){
		.columns = planes->width, .rows = planes->height, .patterns = pattern, .least_share = 1};
	return 0;
}
