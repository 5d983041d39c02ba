// SPDX-License-Identifier: GPL-3.0-or-later
/// What many pictures say of an image condition's threshold and area. Of every picture it is known which threshold the
/// condition would need to find something; where the image really is, nobody says. So pictures are told apart by the
/// widest gap between what they need, and what can't be told apart is called so.
///
/// Gaps are measured in distance, the square root of needed / 100: half of the squared distance of the two pictures,
/// each taken for a vector of length 1, is 1 - score. So 0 and 2 % are as far apart as 20 and 35 %.
#ifndef CONDPROF_TRIAL_TUNING_H
#define CONDPROF_TRIAL_TUNING_H

#include "proto/base.h"

/// Of what needs more than this nobody would say that it is there: score 0.8.
#define TUNING_LIKELY 20.0
/// The least distance between what is there and what is not.
#define TUNING_GAP 0.15
/// Another gap of more than this share of the widest one: which of them it is, is not clear.
#define TUNING_RIVAL 0.6

struct tuning_place {
	int left, top, right, bottom; ///< px
};

/// What one picture needs.
struct tuning_sample {
	uint32_t picture;         ///< index
	double needed;            ///< percent
	double score;             ///< of the place that needs it
	double colour_difference; ///< percent
	int x, y;                 ///< centre, px
	struct tuning_place place;
};

enum tuning_verdict {
	TUNING_NOTHING,   ///< it could not be evaluated on any picture
	TUNING_CLEAR,     ///< some have it, some have not
	TUNING_ALWAYS,    ///< all have it
	TUNING_NEVER,     ///< none has it
	TUNING_AMBIGUOUS, ///< there is no clear gap
	TUNING_VERDICTS,
};

struct tuning_gap {
	size_t below, above; ///< samples on both sides
	double distance;
};

/// A side of the gap: samples first .. first + n of the sorted ones.
struct tuning_side {
	size_t first, n;
};

struct tuning_input {
	double threshold;
	int width, height;        ///< px, of the pictures; 0: they differ
	struct tuning_place area; ///< searched now
	bool exact;               ///< at one place already
	size_t pictures;          ///< all, also those without a sample
};

struct tuning {
	enum tuning_verdict verdict;
	struct tuning_side there, absent; ///< AMBIGUOUS: as the widest gap has it, n 0 where there is none
	struct tuning_gap gaps[2];        ///< the widest ones whose lower side may be there
	size_t n_gaps;
	double gap_needed; ///< percent points between both sides; CLEAR
	double gap_score;  ///< lowest score there - highest score not there; CLEAR; may be below 0: then colour decides
	bool has_suggested;
	double suggested; ///< percent
	bool keep;        ///< the threshold as it is will do
	size_t missed;    ///< there, and not found by the threshold as it is
	size_t mistaken;  ///< not there, and found
	bool has_place;   ///< where it is there, all of them
	struct tuning_place place;
	bool same_place; ///< always at the very same
	bool has_area;   ///< smaller than the one searched now
	struct tuning_place area;
};

/// Sorts the samples by what they need, ascending, and says what they mean.
void tuning_analyse(const struct tuning_input *input, struct tuning_sample *samples, size_t n, struct tuning *ret);

#endif
