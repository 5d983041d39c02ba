// SPDX-License-Identifier: GPL-3.0-or-later
// The image condition: the best position by score, then its colour; a candidate of the wrong colour is put out and the
// next best is looked at. Exact: a position is only dropped when no position could score less than the bar demands.
#include <math.h>
#include <string.h>

#include "daemon/detect/memory.h"
#include "daemon/detect/search.h"

// A score that misses the threshold by less than this is rounding, not a difference.
#define SCORE_SLACK 1e-9

static bool is_put_out(const struct search *search, int x, int y)
{
	return (search->frame->put_out[y * search->frame->put_out_stride + x / 64] >> (x % 64)) & 1;
}

// The candidate's own cells and those right of and below it, as far as they are in the map of positions.
static void put_out(struct search *search, const struct candidate *candidate)
{
	struct detect_frame *frame = search->frame;
	int right = MIN(candidate->x + search->template_->width, search->positions.right);
	int bottom = MIN(candidate->y + search->template_->height, search->positions.bottom);

	for (int y = candidate->y; y < bottom; y++)
		for (int x = candidate->x; x < right; x++)
			frame->put_out[y * frame->put_out_stride + x / 64] |= UINT64_C(1) << (x % 64);
	search->any_put_out = true;
}

static void light_all(struct search *search)
{
	struct detect_frame *frame = search->frame;

	if (search->any_put_out)
		memset(frame->put_out, 0,
		       (size_t)frame->height * (size_t)frame->put_out_stride * sizeof(*frame->put_out));
}

static double colour_at(const struct search *search, const struct candidate *at)
{
	const struct detect_template *t = search->template_;
	const struct picture_view *frame = &search->frame->pixels;
	const uint8_t *pixels = frame->pixels + at->y * frame->stride + 4 * (ptrdiff_t)at->x;
	struct mean_colour colour;

	// The usual case by far: what is on the screen is what was cut from it.
	if (at->score == 1 && t->pixels && !t->mask &&
	    colour_same(t->pixels, 4 * (ptrdiff_t)t->width, pixels, frame->stride, t->width, t->height))
		return 0;
	colour = colour_mean(pixels, frame->stride, t->width, t->height, t->mask, t->stride, t->hue0);
	return colour_difference(&colour, &t->colour);
}

static void report(const struct search *search, const struct candidate *at, double colour, bool found,
		   struct detect_result *ret)
{
	const struct detect_template *t = search->template_;

	ret->found = found;
	ret->has_score = true;
	ret->score = at->score;
	ret->colour_difference = colour;
	frame_place(search->frame, (struct rect){at->x, at->y, at->x + t->width, at->y + t->height}, ret);
}

static double wanted_score(const struct search *search)
{
	return 1 - search->query->threshold / 100 - SCORE_SLACK;
}

// Whether it is the one. A wrong colour puts it out.
static bool accept(struct search *search, const struct candidate *at)
{
	double colour = colour_at(search, at);
	bool found = at->score >= wanted_score(search) && colour <= search->query->threshold;

	// The first one looked at is the best: it stays the answer for people when none is accepted.
	if (found || (search->query->best && !search->result->has_score))
		report(search, at, colour, found, search->result);
	if (found)
		search->found = *at;
	else
		put_out(search, at);
	return found;
}

// The best was of the wrong colour: all others that reach the threshold, in order. False: stopped.
static bool look_further(struct search *search)
{
	do {
		if (!search_list(search, wanted_score(search)))
			return false;
		for (size_t i = 0; i < search->listed; i++) {
			if (is_put_out(search, search->list[i].x, search->list[i].y))
				continue;
			if (search_stop_asked(search))
				return false;
			if (accept(search, &search->list[i]))
				return true;
		}
	} while (search->listed == SEARCH_LIST_MAX);
	return true;
}

// The best of all: a search that has to leave nothing out is slow, so the bar is lowered step by step.
static bool best_of_all(struct search *search)
{
	double bar = wanted_score(search);

	while (search_best(search, bar)) {
		if (search->best.x >= 0)
			return true;
		bar = bar > 0.3 ? bar - 0.2 : -2;
	}
	return false;
}

static void look(struct search *search)
{
	bool ended = search->query->best ? best_of_all(search) : search_best(search, wanted_score(search));

	if (ended && search->best.x >= 0 && !accept(search, &search->best) &&
	    search->best.score >= wanted_score(search))
		ended = look_further(search);
	search->result->stopped = !ended;
}

static bool fits(const struct detect_template *t, const struct detect_query *query, const struct rect *area)
{
	return query->area.right - query->area.left >= t->source_width &&
	       query->area.bottom - query->area.top >= t->source_height && area->right - area->left >= t->width &&
	       area->bottom - area->top >= t->height;
}

static void compute(struct detect_frame *frame, const struct detect_template *template_,
		    const struct detect_query *query, struct rect area, struct detect_result *ret)
{
	struct search search = {
		.kernels = kernels(),
		.frame = frame,
		.template_ = template_,
		.query = query,
		.area = area,
		.positions = {area.left, area.top, area.right - template_->width + 1,
			      area.bottom - template_->height + 1},
		.hint_x = query->exact ? area.left + 1 : -1,
		.hint_y = area.top + 1,
		.result = ret,
	};

	if (query->memory)
		memory_hint(query->memory, frame, &search.hint_x, &search.hint_y);
	frame_need(frame, MADE_REDUCED | MADE_GRAY, area, ret);
	look(&search);
	light_all(&search);
	if (query->memory && ret->found)
		memory_set_hint(query->memory, search.found.x, search.found.y);
}

void detect_image(struct detect_frame *frame, const struct detect_template *template_, const struct detect_query *query,
		  struct detect_result *ret)
{
	struct detect_question question = {
		.template_ = template_,
		.area = query->area,
		.exact = query->exact,
		.best = query->best,
		.threshold = query->threshold,
	};
	struct rect area;

	*ret = (struct detect_result){0};
	frame_check(frame, query);
	if (!frame_has_pixels(frame) || !frame_area(frame, query, &area) || !fits(template_, query, &area))
		return;
	ret->evaluable = true;
	if (query->memory && memory_recall(query->memory, frame, &question, area, ret))
		return;
	compute(frame, template_, query, area, ret);
	if (query->memory)
		memory_keep(query->memory, frame, ret);
}
