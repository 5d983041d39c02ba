// SPDX-License-Identifier: GPL-3.0-or-later
// The lowest threshold at which an image would be found: a position needs as much as its score or its colour asks for,
// whichever is more. The highest score alone does not tell: it may have the wrong colour, and another one the right.
// But whoever is found by some threshold shows one that is enough, and the search by a lower one finds the next better
// or nothing, so that a few searches end at the lowest of all. (A lower threshold never finds what a higher one does
// not: a candidate that is put out by another was put out by the higher threshold too.)
#include "daemon/engine/trial.h"

#include "daemon/engine/detector.h"
#include "daemon/engine/states.h"

#include <errno.h>
#include <stdio.h>

#define BELOW 1e-6         // percent: what a lower threshold is lower by; scores have 1e-10
#define LOWER_TRIES_MAX 32 // each finds something better; there are never so many
#define FIRST_GUESS 40.0   // percent
#define GUESS_ABOVE 3.0    // percent
#define GUESS_FAR 10.0     // percent

// What was measured last of a condition.
struct measure {
	struct trial_check check;
	double guess; // percent: it will do for the next picture too
};

struct trial {
	const struct scenario *scenario;
	struct detector *detector;
	int width, height;        // of the last picture; 0: none yet
	struct measure *measures; // a condition
};

int trial_new(const struct scenario *scenario, const volatile int *stop, struct trial **ret, struct error *error)
{
	struct trial *trial = calloc(1, sizeof(*trial));
	int r;

	if (!trial)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	trial->scenario = scenario;
	trial->measures = calloc(MAX(scenario->n_conditions, 1U), sizeof(*trial->measures));
	r = trial->measures ? detector_new(scenario, NULL, stop, &trial->detector, error)
			    : error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	if (r < 0) {
		trial_free(trial);
		return r;
	}
	*ret = trial;
	return 0;
}

struct trial *trial_free(struct trial *trial)
{
	if (!trial)
		return NULL;
	detector_free(trial->detector);
	free(trial->measures);
	free(trial);
	return NULL;
}

int trial_begin(struct trial *trial, struct picture_view view, struct error *error)
{
	if (view.width != trial->width || view.height != trial->height) {
		int r = trial->detector->ops->resize(trial->detector, view.width, view.height, error);

		if (r < 0)
			return r;
	}
	trial->width = view.width;
	trial->height = view.height;
	trial->detector->ops->begin(trial->detector, view);
	return 0;
}

static struct trial_candidate candidate(const struct detect_result *result)
{
	return (struct trial_candidate){
		.known = result->has_score,
		.score = result->score,
		.colour_difference = result->colour_difference,
		.x = result->x,
		.y = result->y,
		.place = result->place,
	};
}

static double needed_by(const struct detect_result *result)
{
	return MAX(100 * (1 - result->score), result->colour_difference);
}

/// From a place that has the highest score of all that need less than it does, to the one that needs least.
static int find_least(struct trial *trial, uint32_t condition, const struct detect_result *first,
		      struct trial_check *check)
{
	double lowest = 100 * (1 - first->score);
	struct detect_result result;

	check->least = candidate(first);
	check->needed = needed_by(first);
	check->has_needed = true;
	for (int i = 0; i < LOWER_TRIES_MAX && check->needed - BELOW > lowest; i++) {
		detector_look(trial->detector, condition, false, check->needed - BELOW, false, &result);
		if (result.stopped)
			return -ECANCELED;
		if (!result.found)
			break;
		check->least = candidate(&result);
		check->needed = needed_by(&result);
	}
	return 0;
}

// Whatever the score. The bar begins where most of what is not there has its best score.
static int measure_anew(struct trial *trial, uint32_t condition, struct measure *measure)
{
	struct detect_result best;

	detector_look(trial->detector, condition, true, FIRST_GUESS, false, &best);
	if (best.stopped)
		return -ECANCELED;
	measure->check = (struct trial_check){.evaluable = best.evaluable};
	return best.evaluable && best.has_score ? find_least(trial, condition, &best, &measure->check) : 0;
}

// Most pictures need about what the one before needed, and a search that knows that is quicker than one that has to
// find the best of all. The guess stays while it is good: then what has not changed is known from memory.
int trial_measure(struct trial *trial, uint32_t condition, struct trial_check *ret)
{
	struct measure *measure = &trial->measures[condition];
	struct detect_result result = {0};
	int r = 0;

	if (measure->check.has_needed)
		detector_look(trial->detector, condition, false, measure->guess, true, &result);
	if (result.stopped)
		return -ECANCELED;
	if (!result.found || !result.has_score) {
		r = measure_anew(trial, condition, measure);
	} else if (!result.reused) {
		measure->check = (struct trial_check){.evaluable = true};
		r = find_least(trial, condition, &result, &measure->check);
	}
	if (r < 0) {
		measure->check.has_needed = false;
		return r;
	}
	if (measure->guess < measure->check.needed || measure->guess > measure->check.needed + GUESS_FAR)
		measure->guess = measure->check.needed + GUESS_ABOVE;
	*ret = measure->check;
	return 0;
}

static int look_further(struct trial *trial, uint32_t condition, struct trial_check *check)
{
	struct detect_result best;

	detector_look(trial->detector, condition, true, 0, false, &best);
	if (best.stopped)
		return -ECANCELED;
	check->best = candidate(&best);
	return best.has_score ? find_least(trial, condition, &best, check) : 0;
}

static bool is_fulfilled(const struct trial *trial, const struct condition *condition,
			 const struct detect_result *result)
{
	const struct operand *operand = &condition->ocr.operand;

	if (!result->evaluable)
		return false;
	if (condition->kind != CONDITION_NUMBER)
		return result->found == condition->present;
	return result->found && result->has_value &&
	       states_compare(result->value, condition->ocr.comparison,
			      operand->counter == NO_INDEX ? operand->number
							   : trial->scenario->counters[operand->counter].initial_value);
}

int trial_check(struct trial *trial, uint32_t condition, struct trial_check *ret)
{
	const struct condition *c = &trial->scenario->conditions[condition];
	struct trial_check check = {0};
	struct detect_result result;
	int64_t begin_ns = measuring_clock_monotonic();
	int r = 0;

	trial->detector->ops->check(trial->detector, condition, &result);
	check.duration_ns = measuring_clock_monotonic() - begin_ns;
	if (result.stopped)
		return -ECANCELED;
	check.evaluable = result.evaluable;
	check.found = result.evaluable && result.found;
	check.fulfilled = is_fulfilled(trial, c, &result);
	check.has_value = check.found && result.has_value;
	check.value = result.value;
	snprintf(check.text, sizeof(check.text), "%s", result.text ? result.text : "");
	if (check.found)
		check.match = candidate(&result);
	if (check.evaluable && c->kind == CONDITION_IMAGE) {
		r = look_further(trial, condition, &check);
	} else if (check.evaluable && c->kind != CONDITION_NUMBER && result.has_score) {
		check.best = candidate(&result);
		check.has_needed = true;
		check.needed = 100 * (1 - result.score);
	}
	if (r == 0)
		*ret = check;
	return r;
}
