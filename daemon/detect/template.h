// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: a template as the search uses it.
#ifndef CONDPROF_DETECT_TEMPLATE_H
#define CONDPROF_DETECT_TEMPLATE_H

#include "daemon/detect/colour.h"
#include "daemon/detect/detect.h"
#include "daemon/detect/frame.h"
#include "daemon/detect/pattern.h"
#include "daemon/detect/score.h"

/// After so many rows a window can be given up: what its remaining rows could add at most is known.
struct checkpoint {
	int rows;
	struct moments part; ///< of these rows
	double variance;     ///< moments_variance() of them
	double share;        ///< of the template's variance, what those rows hold about their own mean; > 0
};

#define CHECKPOINTS_MAX 3

/// First rows of it as patterns, fewer to more.
#define BANDS 3

// More than all rounding of a bound together.
#define BOUND_SLACK 1e-9

struct detect_template {
	int source_width, source_height;
	int width, height;    ///< after reduction
	uint8_t *gray;        ///< 0 where a pixel does not count
	uint8_t *mask;        ///< 0xff where it counts; NULL: all do
	uint8_t *pixels;      ///< BGRA, rows side by side; NULL: not kept
	ptrdiff_t stride;     ///< of both
	struct moments whole; ///< of all counted pixels
	struct checkpoint checkpoints[CHECKPOINTS_MAX];
	int n_checkpoints;
	struct pattern_set sets[BOX_SHIFT_MAX + 1]; ///< by shift; [0] is of all pixels, for spectra only
	struct pattern_set bands[BANDS];
	struct mean_colour colour;
	int hue0; ///< of its mean RGB: hues are averaged around it
};

#endif
