// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: the one place where a score is computed, from integer sums.
#ifndef CONDPROF_DETECT_SCORE_H
#define CONDPROF_DETECT_SCORE_H

#include <stdint.h>

/// Sums over the counted pixels of a template.
struct moments {
	int64_t count, sum, squares;
};

/// Sums over the same pixels of a window; `product` is template times window.
struct window_sums {
	int64_t sum, squares, product;
};

/// count * squares - sum²: the variance times count², exact. Never negative.
unsigned __int128 moments_variance(int64_t count, int64_t sum, int64_t squares);

/// Zero-mean normalised cross-correlation in [-1, 1]; 0 when the window has no variance. Exactly 1 for equal pixels.
/// The integers are exact, and what follows is a fixed sequence of correctly rounded IEEE operations: the same bits
/// anywhere.
double score_of(const struct moments *template_, const struct window_sums *window);

#endif
