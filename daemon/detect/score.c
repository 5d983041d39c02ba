// SPDX-License-Identifier: GPL-3.0-or-later
// The score, from integer sums: see score.h.
#include "daemon/detect/score.h"

#include <math.h>

// Scores are rounded to 2^-40: windows that only differ in contrast tie in theory, and so they do here.
#define SCORE_STEPS 1099511627776.0

// Both ways give the same: the integer is exact, and its one conversion correctly rounded.
static double difference(int64_t a, int64_t b, int64_t c, int64_t d, int64_t count)
{
	if (count <= MOMENTS_SMALL)
		return (double)(a * b - c * d);
	return (double)((__int128)a * b - (__int128)c * d);
}

double score_variance(const struct moments *template_, const struct window_sums *window)
{
	return difference(template_->count, window->squares, window->sum, window->sum, template_->count);
}

double score_covariance(const struct moments *template_, const struct window_sums *window)
{
	return difference(template_->count, window->product, template_->sum, window->sum, template_->count);
}

double moments_variance(const struct moments *t)
{
	return difference(t->count, t->squares, t->sum, t->sum, t->count);
}

double score_of(const struct moments *template_, const struct window_sums *window)
{
	double t = moments_variance(template_), w = score_variance(template_, window);

	if (w == 0 || t == 0)
		return 0;
	// The root of a product, not a product of roots: sqrt(v * v) is exactly v, so equal pixels score exactly 1.
	double score = score_covariance(template_, window) / sqrt(t * w);
	return rint((score > 1 ? 1 : score < -1 ? -1 : score) * SCORE_STEPS) / SCORE_STEPS;
}
