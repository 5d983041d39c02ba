// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: a template as means of boxes, for finding out cheaply where it cannot be.
///
/// The frame is divided into boxes of side px (1, 2, 4, 8 or 16) that begin at its corner. A position whose left top
/// corner lies in box X, Y is compared by the boxes X + 1 … Y + 1 … that are wholly inside the window whatever the
/// corner's place in its box (its phase); each phase has a pattern of its own, made from the template's pixels that
/// fall into those boxes.
///
/// Take from template and window what varies between those boxes (means of boxes, less their common mean). These parts
/// have a cosine c, and the template's holds a share s of its variance. Whatever else is in the window, by
/// Cauchy-Schwarz
///   score² <= s c² + 1 - s   (c > 0),   score² <= 1 - s   (else).
/// So a score of at least `bar` needs c >= sqrt((bar² - (1 - s)) / s). c is bounded from a product of 8-bit weights and
/// 8-bit means plus Cauchy-Schwarz on both roundings.
#ifndef CONDPROF_DETECT_PATTERN_H
#define CONDPROF_DETECT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The template's pixels, however they are kept.
struct template_planes {
	const uint8_t *gray, *mask; ///< mask NULL: all count
	ptrdiff_t stride;
	int width, height;
	const uint32_t *prefix; ///< [height + 1][width + 1]: sum of the grays above and left of it, modulo 2^32
	double energy;          ///< variance times the number of pixels that count
};

/// One phase. Lengths are of vectors with a number a box; the weights are a scaled pattern, rounded.
struct pattern {
	double share;   ///< s above
	double length;  ///< of the scaled pattern before rounding
	double rounded; ///< of the weights
	double error;   ///< of the difference of the two
};

struct pattern_set {
	int shift;            ///< log2 of the box's side
	int first;            ///< boxes from the position's own to the pattern's first, in both directions
	int column, row;      ///< the pattern's first box, counted from there
	int columns, rows;    ///< boxes; 0: there is no such set
	int quads, scan_rows; ///< as the scan kernel wants them
	int groups; ///< of SCAN_PATTERNS phases, row by row; side 1: one, whose phases are four positions below each
		    ///< other
	struct pattern *patterns; ///< a phase, side * side of them
	int8_t *weights;          ///< [groups][scan_rows][quads][SCAN_PATTERNS][4]
	double least_share;
	int worth; ///< so many positions of a block in question make it worth scanning
};

/// What a search at `bar` may ask of the cosine in this phase: 0 when nothing can be ruled out.
double pattern_cosine(const struct pattern *pattern, double bar);

/// Makes the set for boxes of 1 << shift px. For side 1, `rows` template rows are taken (of the template's height).
/// @return 0 (also when there is none: ret->columns == 0), -ENOMEM
int pattern_set_make(const struct template_planes *planes, int shift, int rows, struct pattern_set *ret);
/// Of all pixels, without weights: for spectra.
int pattern_set_whole(const struct template_planes *planes, struct pattern_set *ret);
void pattern_set_clear(struct pattern_set *set);

#endif
