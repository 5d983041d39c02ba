// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: the products of a pattern with a whole tile of places at once, by Fourier transforms. What they
/// cost does not depend on the pattern's size, nor on what is on the screen: for patterns whose coarser ones leave too
/// much in question.
///
/// A transform of floats is off by a little; by how much at most is known (spectrum.c), and a place is ruled out by a
/// product only together with that. So a transform chooses candidates, and decides nothing.
#ifndef CONDPROF_DETECT_SPECTRUM_H
#define CONDPROF_DETECT_SPECTRUM_H

#include "daemon/detect/stages.h"

/// The largest boxes there are spectra for are 1 << this px wide.
#define SPECTRUM_SHIFT_MAX 1

/// What the turns of the kernels' butterflies are: SPECTRUM_TURNS_ALL floats.
void spectrum_turns(float *ret);

/// Whether a set's patterns fit a tile with enough room for places.
bool spectrum_fits(const struct pattern_set *set);

/// What looking through all positions costs, in the steps of struct kernels.
double spectrum_cost(const struct search *search, const struct pattern_set *set);

/// Rows of positions in a strip when this is the first stage.
int spectrum_rows(const struct stage *stage);

/// Gets ready for a search: transforms the patterns.
void spectrum_begin(struct search *search, const struct stage *stage);

/// The first stage, as stage_first(). After a stop was asked for what it says is incomplete.
bool spectrum_first(struct search *search, struct stage *stage, const struct map *map);

#endif
