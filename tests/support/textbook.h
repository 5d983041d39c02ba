// SPDX-License-Identifier: GPL-3.0-or-later
/// The image condition written down as docs/DETECTION.md defines it, in double precision and without a thought for
/// speed: every score of the map, then colours and putting out. What the real matcher is tested against.
#ifndef CONDPROF_TEST_TEXTBOOK_H
#define CONDPROF_TEST_TEXTBOOK_H

#include "daemon/picture/picture.h"

/// Differences of scores or colours below this are rounding.
#define TEXTBOOK_ROUNDING 1e-9

struct textbook {
	int columns, rows; ///< positions; 0: not evaluable
	struct rect area;
	double *scores;     ///< a row after the other
	double best_score;  ///< of all; first in row order
	int best_x, best_y; ///< left top corner, px of the frame
	double best_colour; ///< colour difference there
	bool found;
	double score, colour; ///< of the found
	int x, y;
	bool ambiguous; ///< rounding may decide: two candidates or a candidate and a limit are nearer than that
};

/// Looks for a template that is not flat. Only fully opaque template pixels count. @param area clamped nowhere
void textbook_look(struct picture_view frame, struct picture_view image, struct rect area, double threshold,
		   struct textbook *ret);
void textbook_free(struct textbook *textbook);
double textbook_score(const struct textbook *textbook, int x, int y);
double textbook_colour(struct picture_view frame, struct picture_view image, int x, int y);

/// Area averaging by the definition, for pictures without transparency. *ret_pixels is the caller's.
struct picture_view textbook_reduce(struct picture_view source, int num, int den, uint8_t **ret_pixels);

#endif
