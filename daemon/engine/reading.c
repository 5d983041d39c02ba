// SPDX-License-Identifier: GPL-3.0-or-later
// Readers and wanted texts of a session: see reading.h.
#include "config.h"

#include "daemon/engine/reading.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/limits.h"

struct reading {
	const struct scenario *scenario;
	struct detect_reader *readers[SCENARIO_MAX_LANGUAGE_SETS];
	const char *languages[SCENARIO_MAX_LANGUAGE_SETS];
	uint32_t n_readers;
	uint8_t *reader_of;            // a condition
	struct detect_wanted **wanted; // a condition; NULL where it is no text
};

static bool reads(const struct condition *condition)
{
	return condition->kind == CONDITION_TEXT || condition->kind == CONDITION_NUMBER;
}

static int find_reader(struct reading *reading, const char *languages, uint8_t *ret, struct error *error)
{
	int r;

	for (uint32_t i = 0; i < reading->n_readers; i++)
		if (!strcmp(reading->languages[i], languages)) {
			*ret = (uint8_t)i;
			return 0;
		}
	if (reading->n_readers == SCENARIO_MAX_LANGUAGE_SETS)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, E2BIG,
				 "a scenario reads in %u different lists of languages at the most: each takes tens of "
				 "megabytes; give more of its conditions the same one",
				 SCENARIO_MAX_LANGUAGE_SETS);
	r = detect_reader_new(languages, &reading->readers[reading->n_readers], error);
	if (r < 0)
		return r;
	reading->languages[reading->n_readers] = languages;
	*ret = (uint8_t)reading->n_readers++;
	return 0;
}

static int prepare(struct reading *reading, uint32_t i, struct error *error)
{
	const struct condition *condition = &reading->scenario->conditions[i];
	int r;

	r = find_reader(reading, condition->ocr.languages, &reading->reader_of[i], error);
	if (r < 0 || condition->kind == CONDITION_NUMBER)
		return r;
	r = detect_wanted_new(condition->ocr.text, condition->ocr.ignore_case, &reading->wanted[i]);
	if (r == -EINVAL)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL, "the text to look for is blank");
	return r < 0 ? error_set(error, CONDPROF__CODE__INTERNAL, -r, "no memory for a text to look for") : 0;
}

// As the scenario file counts: screen-events[2].conditions[0].
static void set_place(const struct scenario *scenario, uint32_t condition, struct error *error)
{
	uint32_t event = scenario->conditions[condition].event;

	error_place(error, "screen-events[%u].conditions[%u]", event,
		    condition - scenario->events[event].first_condition);
}

int reading_new(const struct scenario *scenario, struct reading **ret, struct error *error)
{
	size_t count = MAX(scenario->n_conditions, 1U);
	struct reading *reading = calloc(1, sizeof(*reading));
	int r = 0;

	if (reading) {
		reading->scenario = scenario;
		reading->reader_of = calloc(count, sizeof(*reading->reader_of));
		reading->wanted = calloc(count, sizeof(struct detect_wanted *));
	}
	if (!reading || !reading->reader_of || !reading->wanted) {
		reading_free(reading);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for reading text");
	}
	for (uint32_t i = 0; i < scenario->n_conditions && r == 0; i++) {
		if (reads(&scenario->conditions[i]))
			r = prepare(reading, i, error);
		if (r < 0)
			set_place(scenario, i, error);
	}
	if (r < 0) {
		reading_free(reading);
		return r;
	}
	*ret = reading;
	return 0;
}

struct reading *reading_free(struct reading *reading)
{
	if (!reading)
		return NULL;
	for (uint32_t i = 0; i < reading->n_readers; i++)
		detect_reader_free(reading->readers[i]);
	for (uint32_t i = 0; reading->wanted && i < reading->scenario->n_conditions; i++)
		detect_wanted_free(reading->wanted[i]);
	free(reading->reader_of);
	free(reading->wanted);
	free(reading);
	return NULL;
}

int reading_reserve(struct reading *reading, int width, int height)
{
	for (uint32_t i = 0; i < reading->scenario->n_conditions; i++) {
		const struct condition *condition = &reading->scenario->conditions[i];
		const struct rect *area = &condition->area;
		int r;

		if (!reads(condition) || area->right > width || area->bottom > height)
			continue; // not evaluable there
		r = detect_reader_reserve(reading->readers[reading->reader_of[i]], area->right - area->left,
					  area->bottom - area->top);
		if (r < 0)
			return r;
	}
	return 0;
}

static enum detect_format format_of(Condprof__NumberFormat format)
{
	switch (format) {
	case CONDPROF__NUMBER_FORMAT__NUMBER_DOT:
		return DETECT_FORMAT_DOT;
	case CONDPROF__NUMBER_FORMAT__NUMBER_COMMA:
		return DETECT_FORMAT_COMMA;
	default:
		return DETECT_FORMAT_AUTO;
	}
}

void reading_check(struct reading *reading, uint32_t condition, struct detect_frame *frame,
		   const struct detect_query *query, struct detect_result *ret)
{
	const struct condition *c = &reading->scenario->conditions[condition];
	struct detect_reader *reader = reading->readers[reading->reader_of[condition]];

	if (c->kind == CONDITION_TEXT)
		detect_text(frame, reader, reading->wanted[condition], query, ret);
	else
		detect_number(frame, reader, format_of(c->ocr.format), query, ret);
}
