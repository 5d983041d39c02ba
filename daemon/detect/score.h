// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: the one place where a score is computed, from integer sums.
#ifndef CONDPROF_DETECT_SCORE_H
#define CONDPROF_DETECT_SCORE_H

#include <stdint.h>

/// Up to so many pixels every product below fits 64 bits: 2^23 * 2^23 * 2^16.
#define MOMENTS_SMALL (INT64_C(1) << 23)

/// Sums over the counted pixels of a template.
struct moments {
	int64_t count, sum, squares;
};

/// Sums over the same pixels of a window; `product` is template times window.
struct window_sums {
	int64_t sum, squares, product;
};

/// count * squares - sum² of the window: its variance times count². Exact before it becomes a double, never negative.
double score_variance(const struct moments *template_, const struct window_sums *window);

/// count * product - sum * sum, likewise.
double score_covariance(const struct moments *template_, const struct window_sums *window);

/// The template's own, as score_variance(). 0 only when it is flat.
double moments_variance(const struct moments *template_);

/// Zero-mean normalised cross-correlation in [-1, 1]; 0 when the window has no variance. Exactly 1 for equal pixels.
/// The integers are exact, and what follows is a fixed sequence of correctly rounded IEEE operations: the same bits
/// anywhere.
double score_of(const struct moments *template_, const struct window_sums *window);

#endif
