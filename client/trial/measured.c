// SPDX-License-Identifier: GPL-3.0-or-later
// The first picture says which series there are; the others must be about the same ones in the same order. Numbers
// that no picture can have are refused here, so that nobody after this has to think of them.
#include "config.h"

#include "client/trial/measured.h"

#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int garbled(struct error *error)
{
	return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "the daemon answered something that makes no sense");
}

static bool take_place(const Condprof__Area *area, struct tuning_place *ret)
{
	if (!area || area->x < 0 || area->y < 0 || area->width < 1 || area->height < 1 || area->x > PICTURE_MAX_SIDE ||
	    area->y > PICTURE_MAX_SIDE || area->width > PICTURE_MAX_SIDE || area->height > PICTURE_MAX_SIDE)
		return false;
	*ret = (struct tuning_place){area->x, area->y, area->x + area->width, area->y + area->height};
	return true;
}

static int add_picture(struct measured *measured, const Condprof__Tried *message, struct error *error)
{
	if (message->picture != (int64_t)measured->n_pictures + 1 || measured->next != measured->n ||
	    message->width < 1 || message->height < 1)
		return garbled(error);
	if (measured->n_pictures == measured->capacity) {
		size_t capacity = MAX(2 * measured->capacity, (size_t)64);
		char **grown = realloc(measured->pictures, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		measured->pictures = grown;
		measured->capacity = capacity;
	}
	measured->pictures[measured->n_pictures] = message->name ? strdup(message->name) : NULL;
	if (message->name && !measured->pictures[measured->n_pictures])
		return -ENOMEM;
	measured->sizes_differ |=
		measured->n_pictures > 0 && (message->width != measured->width || message->height != measured->height);
	measured->width = measured->sizes_differ ? 0 : message->width;
	measured->height = measured->sizes_differ ? 0 : message->height;
	measured->total = message->has_pictures && message->pictures > 0 ? (size_t)message->pictures : 0;
	measured->n_pictures++;
	measured->next = 0;
	return 0;
}

static int add_series(struct measured *measured, const Condprof__TriedCondition *message, struct error *error)
{
	struct series series = {.id = message->id,
				.threshold = message->threshold,
				.exact = message->search == CONDPROF__SEARCH__SEARCH_EXACT};
	struct series *grown;

	if (!isfinite(message->threshold))
		return garbled(error);
	take_place(message->area, &series.area);
	grown = realloc(measured->series, (measured->n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	measured->series = grown;
	series.event = strdup(message->event ? message->event : "");
	series.name = strdup(message->name ? message->name : "");
	measured->series[measured->n++] = series;
	return series.event && series.name ? 0 : -ENOMEM;
}

static int keep(struct measured *measured, struct series *series, const struct tuning_sample *sample,
		struct error *error)
{
	if (measured->samples >= MEASURED_MAX_SAMPLES)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, EMSGSIZE,
				 "pictures times image conditions are more than %u: take fewer pictures",
				 MEASURED_MAX_SAMPLES);
	if (series->n == series->capacity) {
		size_t capacity = MAX(2 * series->capacity, (size_t)64);
		struct tuning_sample *grown = realloc(series->samples, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		series->samples = grown;
		series->capacity = capacity;
	}
	series->samples[series->n++] = *sample;
	measured->samples++;
	return 0;
}

static int add_sample(struct measured *measured, struct series *series, const Condprof__TriedCondition *message,
		      struct error *error)
{
	const Condprof__Candidate *least = message->least;
	struct tuning_sample sample = {.picture = (uint32_t)(measured->n_pictures - 1),
				       .needed = message->needed_threshold};

	if (!least || !message->has_needed_threshold) {
		series->not_evaluable++;
		if (!series->why && message->not_evaluable && !(series->why = strdup(message->not_evaluable)))
			return -ENOMEM;
		return 0;
	}
	if (!take_place(least->place, &sample.place) || !isfinite(sample.needed) || !isfinite(least->score) ||
	    !isfinite(least->colour_difference))
		return garbled(error);
	sample.score = least->score;
	sample.colour_difference = least->colour_difference;
	sample.x = least->x;
	sample.y = least->y;
	return keep(measured, series, &sample, error);
}

int measured_add(struct measured *measured, const Condprof__Tried *message, struct error *error)
{
	int r = 0;

	if (message->picture != (int64_t)measured->n_pictures)
		r = add_picture(measured, message, error);
	else if (!measured->n_pictures)
		r = garbled(error);
	for (size_t i = 0; r == 0 && i < message->n_conditions; i++) {
		const Condprof__TriedCondition *condition = message->conditions[i];

		if (measured->n_pictures == 1)
			r = add_series(measured, condition, error);
		else if (measured->next >= measured->n || measured->series[measured->next].id != condition->id)
			r = garbled(error);
		if (r == 0)
			r = add_sample(measured, &measured->series[measured->next++], condition, error);
	}
	return r;
}

void measured_clear(struct measured *measured)
{
	for (size_t i = 0; i < measured->n; i++) {
		free(measured->series[i].event);
		free(measured->series[i].name);
		free(measured->series[i].why);
		free(measured->series[i].samples);
	}
	for (size_t i = 0; i < measured->n_pictures; i++)
		free(measured->pictures[i]);
	free(measured->series);
	free(measured->pictures);
	*measured = (struct measured){0};
}

const char *measured_picture(const struct measured *measured, size_t picture, char out[PICTURE_NAME_SIZE])
{
	if (picture < measured->n_pictures && measured->pictures[picture])
		return measured->pictures[picture];
	snprintf(out, PICTURE_NAME_SIZE, "picture %zu", picture + 1);
	return out;
}
