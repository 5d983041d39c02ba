// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: ruling out positions by the bounds of pattern.h.
///
/// Positions are treated in strips: the rows of one row of the first stage's boxes. Which of them are still in question
/// is a map of bits. The first stage scans all of a strip; each later one, of finer boxes, only those blocks of places
/// in which enough is left.
#ifndef CONDPROF_DETECT_STAGES_H
#define CONDPROF_DETECT_STAGES_H

#include "daemon/detect/search.h"

/// The positions of a strip that are in question: row `top` and those below it, bit x for position x of the frame.
struct map {
	uint64_t *bits;
	int words; ///< of a row
	int rows, top;
};

/// The boxes of one size.
struct boxes {
	const uint8_t *means;
	const uint16_t *sums; ///< NULL: means are sums (side 1)
	ptrdiff_t stride;     ///< elements, of both
};

/// One kind of bound applied to some places (box columns) of one row of boxes.
struct stage {
	const struct pattern_set *set;
	struct boxes boxes;
	int left, count;                   ///< places
	const struct column_sums *columns; ///< running sums over the pattern's rows
	int next;                          ///< the box row after the one the running sums stand for
	bool spectral;                     ///< by spectrum.h
};

/// @param columns its own among those of the search
struct stage stage_make(const struct search *search, const struct pattern_set *set, const struct column_sums *columns);

/// What a strip of so many places costs as the first stage, in the unit of plan.h.
double stage_cost(const struct pattern_set *set, int places);

/// Rows of positions in a strip when this is the first stage.
int stage_rows(const struct stage *stage);

/// The first stage: fills the map of the strip. @return whether anything is left
bool stage_first(struct search *search, struct stage *stage, const struct map *map);

/// Places of later calls; the running sums stand for no row.
void stage_begin_at(struct stage *stage, int left, int count);

/// Norms of the places of box row `row`, and what rounding means leaves of them (NULL: not wanted). Cheap when rows
/// come in order.
void stage_norms(const struct search *search, struct stage *stage, int row, float *ret_norm, float *ret_rest);

/// Enters survivors of places from `left` into row y of the map: place X is position X * side + phase.
void stage_enter(const struct map *map, int y, const uint64_t *bits, int left, int count, int shift, int phase);

/// Leaves only bits of positions in the map's rows.
void stage_trim(const struct search *search, const struct map *map);

/// A later stage: takes away from the map what its finer boxes rule out; after a stop was asked for, not all of it.
void stage_narrow(struct search *search, struct stage *stage, const struct map *map);

#endif
