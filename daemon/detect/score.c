// SPDX-License-Identifier: GPL-3.0-or-later
// The score, from integer sums: see score.h.
#include "daemon/detect/score.h"

#include <math.h>

// Scores are rounded to 2^-40: windows that only differ in contrast tie in theory, and so they do here.
#define SCORE_STEPS 1099511627776.0

unsigned __int128 moments_variance(int64_t count, int64_t sum, int64_t squares)
{
	return (unsigned __int128)count * (uint64_t)squares - (unsigned __int128)sum * (uint64_t)sum;
}

double score_of(const struct moments *template_, const struct window_sums *window)
{
	__int128 covariance = (__int128)template_->count * window->product - (__int128)template_->sum * window->sum;
	double t = (double)moments_variance(template_->count, template_->sum, template_->squares);
	double w = (double)moments_variance(template_->count, window->sum, window->squares);

	if (w == 0 || t == 0)
		return 0;
	// The root of a product, not a product of roots: sqrt(v * v) is exactly v, so equal pixels score exactly 1.
	double score = (double)covariance / sqrt(t * w);
	return rint((score > 1 ? 1 : score < -1 ? -1 : score) * SCORE_STEPS) / SCORE_STEPS;
}
