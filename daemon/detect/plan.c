// SPDX-License-Identifier: GPL-3.0-or-later
// Which stages a search goes through: see plan.h. The constants were measured; a wrong one costs time only.
#include "daemon/detect/plan.h"

#include <math.h>

#include "daemon/detect/spectrum.h"

/// A bound that asks for less of the cosine lets too much through to be worth its time.
#define COSINE_WORTH 0.3

static double cosine_of(const struct search *search, const struct pattern_set *set)
{
	struct pattern worst = {.share = set->least_share};

	return set->columns ? pattern_cosine(&worst, search->bar) : 0;
}

static double scan_cost(const struct search *search, const struct pattern_set *set)
{
	const struct rect *p = &search->positions;
	double places = ((p->right - p->left) >> set->shift) + 1;
	double strips = ((p->bottom - p->top) >> (set->shift ? set->shift : 2)) + 1;

	return strips * stage_cost(set, (int)places) + 2.0 * set->rows * (places + set->columns);
}

// The same for looking at every position.
static double look_cost(const struct search *search)
{
	const struct rect *p = &search->positions;

	return (double)(p->right - p->left) * (p->bottom - p->top) *
	       search_look_cost(search, search->template_->height / 2);
}

static const struct pattern_set *usable_band(const struct search *search)
{
	for (int band = 0; band < BANDS; band++)
		if (cosine_of(search, &search->template_->bands[band]) >= COSINE_WORTH)
			return &search->template_->bands[band];
	return NULL;
}

// The first stage, and the finer ones below it.
static void fill_plan(const struct search *search, const struct pattern_set *first, bool spectral, struct plan *plan)
{
	const struct frame_scratch *scratch = &search->frame->scratch;

	plan->stages[0] = stage_make(search, first, &scratch->all);
	plan->stages[0].spectral = spectral;
	plan->n = 1;
	for (int shift = first->shift; shift > 0; shift--) {
		const struct pattern_set *set = &search->template_->sets[shift];
		if ((set != first || spectral) && cosine_of(search, set) >= COSINE_WORTH)
			plan->stages[plan->n++] = stage_make(search, set, &scratch->some);
	}
}

void plan_scan(const struct search *search, struct plan *ret)
{
	const struct pattern_set *best = usable_band(search);
	double least = best ? scan_cost(search, best) / cosine_of(search, best) : INFINITY;

	// The less a set asks of the cosine, the more it leaves to others.
	for (int shift = 1; shift <= BOX_SHIFT_MAX; shift++) {
		const struct pattern_set *set = &search->template_->sets[shift];
		double cosine = cosine_of(search, set);
		if (cosine < COSINE_WORTH || scan_cost(search, set) / cosine > least)
			continue;
		best = set;
		least = scan_cost(search, set) / cosine;
	}
	*ret = (struct plan){.cost = look_cost(search)};
	if (least >= ret->cost)
		return;
	ret->cost = scan_cost(search, best);
	fill_plan(search, best, false, ret);
}

void plan_transform(const struct search *search, struct plan *ret)
{
	*ret = (struct plan){.cost = INFINITY};
	for (int shift = 0; shift <= SPECTRUM_SHIFT_MAX; shift++) {
		const struct pattern_set *set = &search->template_->sets[shift];
		double cost;
		if (cosine_of(search, set) < COSINE_WORTH || !spectrum_fits(set))
			continue;
		cost = spectrum_cost(search, set);
		if (cost > ret->cost)
			continue;
		ret->cost = cost;
		fill_plan(search, set, true, ret);
	}
}

void plan_begin(struct search *search, const struct plan *plan)
{
	unsigned boxes = 0;

	for (int i = 0; i < plan->n; i++)
		if (plan->stages[i].set->shift)
			boxes |= (unsigned)MADE_BOXES << plan->stages[i].set->shift;
	if (boxes)
		frame_need(search->frame, boxes, search->area, search->result);
	if (plan->n && plan->stages[0].spectral)
		spectrum_begin(search, &plan->stages[0]);
}

int plan_rows(const struct plan *plan)
{
	return plan->stages[0].spectral ? spectrum_rows(&plan->stages[0]) : stage_rows(&plan->stages[0]);
}

int plan_step(const struct plan *plan)
{
	return plan->stages[0].spectral ? 1 << plan->stages[0].set->shift : stage_rows(&plan->stages[0]);
}
