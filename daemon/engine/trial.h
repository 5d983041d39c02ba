// SPDX-License-Identifier: GPL-3.0-or-later
/// A scenario's screen conditions on single pictures, for people: nothing is acted on, counted or kept, no condition
/// decides whether another one is looked at, and where something is not found it is told what came nearest. Found or
/// not, and how long it took, comes from the very check that a session makes; the rest from searches after it.
#ifndef CONDPROF_TRIAL_H
#define CONDPROF_TRIAL_H

#include "daemon/detect/detect.h"
#include "daemon/engine/clock.h"
#include "daemon/scenario/scenario.h"

struct trial;

struct trial_candidate {
	bool known;
	double score;             ///< image: correlation; color: confidence; text: similarity
	double colour_difference; ///< image, percent
	int x, y;                 ///< centre, px of the picture
	struct rect place;
};

struct trial_check {
	bool evaluable; ///< false: nothing else here says anything; detector_why_not() says why
	bool found;
	bool fulfilled;               ///< number: held against counters as they are when a session begins
	struct trial_candidate match; ///< where it was found, as a session would find it
	struct trial_candidate best;  ///< the highest score of all; image: unless that is the match
	struct trial_candidate least; ///< image: the one that needs the lowest threshold
	bool has_needed;              ///< not for numbers
	double needed;                ///< percent: found by this threshold, and by none that is lower. Exact
	bool has_value;               ///< number: one was read
	double value;
	char text[DETECT_TEXT_MAX]; ///< text, number: what was read; empty: nothing
	int64_t duration_ns;        ///< of the session's check, on a picture it sees for the first time
};

/// @param scenario outlives it
/// @param stop another thread sets it, atomically, to end a check that computes
int trial_new(const struct scenario *scenario, const volatile int *stop, struct trial **ret, struct error *error);
struct trial *trial_free(struct trial *trial);

/// Begins with a picture, which must live until the next one. Its size may be another one than before.
/// @return 0; -EINVAL: an image that is one flat colour when it is reduced for this size; -ENOMEM
int trial_begin(struct trial *trial, struct picture_view view, struct error *error);

/// Checks one screen condition. @return 0, -ECANCELED: the stop flag was seen
int trial_check(struct trial *trial, uint32_t condition, struct trial_check *ret);

/// Only `evaluable`, `least` and `needed` of an image condition, for many pictures one after the other: what has not
/// changed since the one before is not searched again. @return as trial_check()
int trial_measure(struct trial *trial, uint32_t condition, struct trial_check *ret);

#endif
