// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "client/trial/tuning.h"

#include <math.h>
#include <string.h>

#define NEARER_THERE (1.0 / 3) // of the gap: what is there varies less than all that is not
#define KEEP_FROM (1.0 / 6)    // of the gap
#define KEEP_TO (1.0 / 2)
#define AROUND_MIN_PX 8  // that an area is larger than what was seen, to each side
#define AREA_WORTH 0.8   // of the area searched now: a larger one is not worth a change
#define FOUND_SLACK 1e-6 // percent: rounding

static double distance(double needed)
{
	return sqrt(MAX(needed, 0) / 100);
}

static int by_needed(const void *a, const void *b)
{
	const struct tuning_sample *x = a, *y = b;

	if (x->needed != y->needed)
		return x->needed < y->needed ? -1 : 1;
	return (x->picture > y->picture) - (x->picture < y->picture);
}

/// The two widest gaps, the wider first.
static void find_gaps(const struct tuning_sample *samples, size_t n, struct tuning *tuning)
{
	for (size_t i = 0; i + 1 < n && samples[i].needed <= TUNING_LIKELY; i++) {
		struct tuning_gap gap = {i, i + 1, distance(samples[i + 1].needed) - distance(samples[i].needed)};

		if (gap.distance <= 0)
			continue;
		if (tuning->n_gaps == 0 || gap.distance > tuning->gaps[0].distance) {
			tuning->gaps[1] = tuning->gaps[0];
			tuning->gaps[0] = gap;
		} else if (tuning->n_gaps == 1 || gap.distance > tuning->gaps[1].distance) {
			tuning->gaps[1] = gap;
		}
		tuning->n_gaps = MIN(tuning->n_gaps + 1, ARRAY_SIZE(tuning->gaps));
	}
}

static enum tuning_verdict judge(const struct tuning_sample *samples, size_t n, const struct tuning *tuning)
{
	if (n == 0)
		return TUNING_NOTHING;
	if (samples[0].needed > TUNING_LIKELY)
		return TUNING_NEVER;
	if (tuning->n_gaps > 0 && tuning->gaps[0].distance >= TUNING_GAP)
		return tuning->n_gaps > 1 && tuning->gaps[1].distance >= TUNING_GAP &&
				       tuning->gaps[1].distance > TUNING_RIVAL * tuning->gaps[0].distance
			       ? TUNING_AMBIGUOUS
			       : TUNING_CLEAR;
	return samples[n - 1].needed <= TUNING_LIKELY ? TUNING_ALWAYS : TUNING_AMBIGUOUS;
}

static void divide(size_t n, struct tuning *tuning)
{
	size_t there = 0;

	if (tuning->verdict == TUNING_ALWAYS)
		there = n;
	else if (tuning->n_gaps > 0 && tuning->verdict != TUNING_NEVER)
		there = tuning->gaps[0].above;
	if (tuning->verdict == TUNING_AMBIGUOUS && tuning->n_gaps == 0)
		return;
	tuning->there = (struct tuning_side){0, there};
	tuning->absent = (struct tuning_side){there, n - there};
}

/// A number a person would write, between the two.
static double rounded(double threshold, double above, double below)
{
	double whole = round(threshold), tenths = round(threshold * 10) / 10;

	if (whole >= 1 && whole > above && whole < below && (threshold >= 2 || whole == threshold))
		return whole;
	if (tenths > above && tenths < below)
		return tenths;
	return threshold;
}

static double square(double d)
{
	return 100 * d * d;
}

/// Between both sides, where both are known; else the least that is safe.
static void suggest_threshold(const struct tuning_input *input, const struct tuning_sample *samples,
			      struct tuning *tuning)
{
	double now = distance(input->threshold), from, to, gap;

	if (tuning->verdict != TUNING_CLEAR && tuning->verdict != TUNING_ALWAYS)
		return;
	from = distance(samples[tuning->there.n - 1].needed);
	to = tuning->absent.n ? distance(samples[tuning->absent.first].needed) : INFINITY;
	gap = tuning->absent.n ? to - from : 3 * TUNING_GAP;
	tuning->has_suggested = true;
	tuning->suggested =
		rounded(square(from + NEARER_THERE * gap), square(from), tuning->absent.n ? square(to) : INFINITY);
	// when it was never absent there is no bound from above
	tuning->keep = now >= from + KEEP_FROM * gap && (!tuning->absent.n || now <= from + KEEP_TO * gap);
	if (tuning->keep)
		tuning->suggested = input->threshold;
}

static void count_mistakes(const struct tuning_input *input, const struct tuning_sample *samples, struct tuning *tuning)
{
	for (size_t i = 0; i < tuning->there.n; i++)
		tuning->missed += samples[i].needed > input->threshold + FOUND_SLACK;
	for (size_t i = 0; i < tuning->absent.n; i++)
		tuning->mistaken += samples[tuning->absent.first + i].needed <= input->threshold + FOUND_SLACK;
}

static void unite_places(const struct tuning_sample *samples, struct tuning *tuning)
{
	tuning->same_place = true;
	for (size_t i = 0; i < tuning->there.n; i++) {
		const struct tuning_place *place = &samples[i].place;

		if (!tuning->has_place)
			tuning->place = *place;
		tuning->same_place &= memcmp(&tuning->place, place, sizeof(*place)) == 0;
		tuning->has_place = true;
		tuning->place.left = MIN(tuning->place.left, place->left);
		tuning->place.top = MIN(tuning->place.top, place->top);
		tuning->place.right = MAX(tuning->place.right, place->right);
		tuning->place.bottom = MAX(tuning->place.bottom, place->bottom);
	}
	tuning->same_place &= tuning->has_place;
}

static double size_of(const struct tuning_place *place)
{
	return (double)(place->right - place->left) * (place->bottom - place->top);
}

/// Around all the places, by a quarter of the image at least.
static void suggest_area(const struct tuning_input *input, const struct tuning_sample *samples, struct tuning *tuning)
{
	const struct tuning_place *first;
	int x, y;

	if (tuning->verdict != TUNING_CLEAR && tuning->verdict != TUNING_ALWAYS)
		return;
	unite_places(samples, tuning);
	if (!tuning->has_place || input->exact || input->width < 1 || input->height < 1)
		return;
	first = &samples[0].place;
	x = MAX((first->right - first->left) / 4, AROUND_MIN_PX);
	y = MAX((first->bottom - first->top) / 4, AROUND_MIN_PX);
	tuning->area = (struct tuning_place){
		MAX(tuning->place.left - x, 0),
		MAX(tuning->place.top - y, 0),
		MIN(tuning->place.right + x, input->width),
		MIN(tuning->place.bottom + y, input->height),
	};
	tuning->has_area = tuning->same_place || size_of(&tuning->area) < AREA_WORTH * size_of(&input->area);
}

void tuning_analyse(const struct tuning_input *input, struct tuning_sample *samples, size_t n, struct tuning *ret)
{
	struct tuning tuning = {0};

	if (n)
		qsort(samples, n, sizeof(*samples), by_needed);
	find_gaps(samples, n, &tuning);
	tuning.verdict = judge(samples, n, &tuning);
	divide(n, &tuning);
	if (tuning.verdict == TUNING_CLEAR) {
		double lowest = 1, highest = -1;

		for (size_t i = 0; i < n; i++)
			if (i < tuning.there.n)
				lowest = MIN(lowest, samples[i].score);
			else
				highest = MAX(highest, samples[i].score);
		tuning.gap_score = lowest - highest;
		tuning.gap_needed = samples[tuning.absent.first].needed - samples[tuning.there.n - 1].needed;
	}
	suggest_threshold(input, samples, &tuning);
	count_mistakes(input, samples, &tuning);
	suggest_area(input, samples, &tuning);
	*ret = tuning;
}
