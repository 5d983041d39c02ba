// SPDX-License-Identifier: GPL-3.0-or-later
// The engine's side of detection: one frame with what is prepared of it, one template an image condition, one query a
// screen condition, what reads texts and numbers, all made before the first check. A change of the frame's size makes
// the templates anew where its reduction changed with it.
#include "daemon/engine/detector.h"
#include "daemon/engine/reading.h"

#include <errno.h>
#include <stdio.h>

struct picture_detector {
	struct detector base;
	const struct scenario *scenario;
	struct detect_frame *frame;
	struct detect_template **templates; // a condition; NULL where there is none
	struct detect_query *queries;       // a condition; with a memory where it is one of the screen
	struct reading *reading;            // of text and number conditions
	int ratio_num, ratio_den;           // of the templates; 0: none made yet
};

// An image may lose its variance when it is reduced. That refuses a session that starts so; in a running one only this
// condition becomes not evaluable.
static int make_templates(struct picture_detector *d, int num, int den, struct error *error)
{
	bool running = d->ratio_num;

	for (uint32_t i = 0; i < d->scenario->n_conditions; i++) {
		const struct condition *condition = &d->scenario->conditions[i];
		struct detect_template *made = NULL;
		int r;

		if (condition->kind != CONDITION_IMAGE)
			continue;
		r = detect_template_new(picture_view(condition->image.image), num, den, &made, error);
		if (r < 0 && !(running && r == -EINVAL)) {
			error_place(error, "condition “%s” of event “%s”", condition->name,
				    d->scenario->events[condition->event].name);
			return r;
		}
		detect_template_free(d->templates[i]);
		d->templates[i] = made;
	}
	return 0;
}

/// Bytes of pixels that all conditions together may keep of what they looked at; the frame's own copy comes to that.
#define MEMORY_BUDGET (32U * 1024 * 1024)

static void reserve_memories(struct picture_detector *d)
{
	size_t budget = MEMORY_BUDGET;

	for (uint32_t i = 0; i < d->scenario->n_conditions; i++) {
		struct detect_query *query = &d->queries[i];

		if (query->memory)
			detect_memory_reserve(query->memory, d->frame, query->area, query->exact, &budget);
	}
}

static int resize(struct detector *detector, int width, int height, struct error *error)
{
	struct picture_detector *d = (struct picture_detector *)detector;
	int num, den, r;

	r = detect_frame_reserve(d->frame, width, height, d->scenario->quality);
	if (r == 0)
		r = reading_reserve(d->reading, width, height);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "no memory for frames of %dx%d px", width,
				 height);
	for (uint32_t i = 0; i < d->scenario->n_conditions; i++) {
		const struct condition *condition = &d->scenario->conditions[i];

		if (condition->kind == CONDITION_IMAGE && condition->search == CONDPROF__SEARCH__SEARCH_SCREEN)
			d->queries[i].area = (struct rect){0, 0, width, height};
	}
	reserve_memories(d);
	detect_ratio(width, height, d->scenario->quality, &num, &den);
	if (num == d->ratio_num && den == d->ratio_den)
		return 0;
	r = make_templates(d, num, den, error);
	if (r < 0)
		return r;
	d->ratio_num = num;
	d->ratio_den = den;
	return 0;
}

static void begin(struct detector *detector, struct picture_view view)
{
	struct picture_detector *d = (struct picture_detector *)detector;

	detect_frame_begin(d->frame, view);
}

static void ask(struct picture_detector *d, uint32_t condition, const struct detect_query *query,
		struct detect_result *ret)
{
	const struct condition *c = &d->scenario->conditions[condition];

	if (c->kind == CONDITION_IMAGE && !d->templates[condition])
		*ret = (struct detect_result){0};
	else if (c->kind == CONDITION_IMAGE)
		detect_image(d->frame, d->templates[condition], query, ret);
	else if (c->kind == CONDITION_COLOR)
		detect_color(d->frame, c->rgb, query, ret);
	else
		reading_check(d->reading, condition, d->frame, query, ret);
}

static void check(struct detector *detector, uint32_t condition, struct detect_result *ret)
{
	struct picture_detector *d = (struct picture_detector *)detector;

	ask(d, condition, &d->queries[condition], ret);
}

void detector_look(struct detector *detector, uint32_t condition, bool best, double threshold, bool remember,
		   struct detect_result *ret)
{
	struct picture_detector *d = (struct picture_detector *)detector;
	struct detect_query query = d->queries[condition];

	query.best = best;
	query.threshold = threshold;
	if (!remember)
		query.memory = NULL;
	ask(d, condition, &query, ret);
}

static struct detector *destroy(struct detector *detector)
{
	struct picture_detector *d = (struct picture_detector *)detector;

	for (uint32_t i = 0; d->templates && i < d->scenario->n_conditions; i++)
		detect_template_free(d->templates[i]);
	for (uint32_t i = 0; d->queries && i < d->scenario->n_conditions; i++)
		detect_memory_free(d->queries[i].memory);
	free(d->templates);
	free(d->queries);
	reading_free(d->reading);
	detect_frame_free(d->frame);
	free(d);
	return NULL;
}

static int fill_queries(struct picture_detector *d, const volatile int *stop)
{
	for (uint32_t i = 0; i < d->scenario->n_conditions; i++) {
		const struct condition *condition = &d->scenario->conditions[i];

		d->queries[i] = (struct detect_query){
			.area = condition->area,
			.exact = condition->kind == CONDITION_IMAGE &&
				 condition->search == CONDPROF__SEARCH__SEARCH_EXACT,
			.threshold = condition->threshold,
			.stop = stop,
			.asker = i,
		};
		if (condition->kind < CONDITION_TIMER && detect_memory_new(&d->queries[i].memory) < 0)
			return -ENOMEM;
	}
	return 0;
}

int detector_new(const struct scenario *scenario, measuring_clock clock, const volatile int *stop,
		 struct detector **ret, struct error *error)
{
	static const struct detector_ops ops = {resize, begin, check, destroy};
	struct picture_detector *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the detector");
	d->base.ops = &ops;
	d->scenario = scenario;
	d->templates = calloc(MAX(scenario->n_conditions, 1U), sizeof(struct detect_template *));
	d->queries = calloc(MAX(scenario->n_conditions, 1U), sizeof(*d->queries));
	if (!d->templates || !d->queries || detect_frame_new(&d->frame) < 0 || fill_queries(d, stop) < 0) {
		destroy(&d->base);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the detector");
	}
	r = reading_new(scenario, &d->reading, error);
	if (r < 0) {
		destroy(&d->base);
		return r;
	}
	detect_frame_set_clock(d->frame, clock);
	*ret = &d->base;
	return 0;
}

void detector_why_not(const struct condition *condition, int frame_width, int frame_height, char *out, size_t size)
{
	struct rect area = condition->area;

	if (condition->kind == CONDITION_IMAGE && condition->search == CONDPROF__SEARCH__SEARCH_SCREEN)
		area = (struct rect){0, 0, frame_width, frame_height};
	if (area.left < 0 || area.top < 0 || area.right > frame_width || area.bottom > frame_height)
		snprintf(out, size, "its area [%d, %d, %d, %d] is not inside the frame of %dx%d px", area.left,
			 area.top, area.right - area.left, area.bottom - area.top, frame_width, frame_height);
	else if (condition->kind == CONDITION_IMAGE && condition->image.image->width <= area.right - area.left &&
		 condition->image.image->height <= area.bottom - area.top)
		snprintf(out, size, "reduced for a frame of %dx%d px its image is too small or one flat colour",
			 frame_width, frame_height);
	else if (condition->kind == CONDITION_IMAGE)
		snprintf(out, size, "its image of %dx%d px is larger than its search area of %dx%d px",
			 condition->image.image->width, condition->image.image->height, area.right - area.left,
			 area.bottom - area.top);
	else if (area.right > area.left && area.bottom > area.top)
		snprintf(out, size,
			 "its area of %dx%d px could not be read: Tesseract failed, perhaps for want of memory",
			 area.right - area.left, area.bottom - area.top);
	else
		snprintf(out, size, "its area [%d, %d, %d, %d] is empty", area.left, area.top, area.right - area.left,
			 area.bottom - area.top);
}
