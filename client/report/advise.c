// SPDX-License-Identifier: GPL-3.0-or-later
//
// Only measured figures go in. As things stand the model comes out at exactly what was measured, because each chance is
// that of a condition when it was reached; predictions for another order are as good as the assumption.
#include "config.h"

#include "client/report/advise.h"

#include "client/report/histogram.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AREA_MARGIN_PX 8  ///< at least so much is left around where an image was found
#define NEVER_SHARE 0.001 ///< of the session's time: a limiter that waited less was not reached
#define ALWAYS_SHARE 0.01 ///< of the passes: with fewer that were longer than its period, it was always reached

// --- the model -------------------------------------------------------------------------------------------------------

static int compare_ratios(const void *a, const void *b)
{
	const struct ordered_condition *left = a, *right = b;

	if (left->known != right->known)
		return left->known ? -1 : 1;
	if (left->known && left->ratio != right->ratio)
		return left->ratio < right->ratio ? -1 : 1;
	return (left->now > right->now) - (left->now < right->now);
}

void advise_sort(struct ordered_condition *order, size_t n)
{
	qsort(order, n, sizeof(*order), compare_ratios);
}

double advise_expected_cost(const struct ordered_condition *order, size_t n)
{
	double cost = 0, reached = 1;

	for (size_t i = 0; i < n && order[i].known; i++) {
		cost += reached * order[i].cost_ns;
		reached *= 1 - order[i].chance;
	}
	return cost;
}

static void predict_checks(struct ordered_condition *order, size_t n, int64_t evaluated)
{
	double reached = (double)evaluated;

	for (size_t i = 0; i < n && order[i].known; i++) {
		order[i].predicted_checks = reached;
		reached *= 1 - order[i].chance;
	}
}

// --- figures ---------------------------------------------------------------------------------------------------------

static bool is_any(const struct report_event *event)
{
	return event->definition && event->definition->match == CONDPROF__MATCH__MATCH_ANY;
}

static bool is_checked(const struct report_condition *condition)
{
	return condition->measured && condition->checks > 0 && condition->fulfilled <= condition->checks;
}

/// All its checks, without preparation that others used too.
static double own_time(const struct report_condition *condition)
{
	int64_t shared = condition->detail ? condition->detail->shared_duration_ns : 0;

	return (double)(condition->total_ns - MAX(MIN(shared, condition->total_ns), 0));
}

static int64_t decided(const struct report_condition *condition, bool any)
{
	return any ? condition->fulfilled : condition->checks - condition->fulfilled;
}

static struct maybe a_pass(const struct report_advice *advice, double total_ns)
{
	double ns = total_ns / (double)advice->passes;
	bool fits = ns >= 0 && ns < 0x1p62;

	return maybe_if(fits, fits ? llround(ns) : 0);
}

static struct ordered_condition ordered(const struct report_condition *condition, size_t now, bool any)
{
	struct ordered_condition item = {.condition = condition, .now = now, .known = is_checked(condition)};

	if (!item.known)
		return item;
	item.cost_ns = own_time(condition) / (double)condition->checks;
	item.chance = (double)decided(condition, any) / (double)condition->checks;
	item.ratio = item.chance > 0 ? item.cost_ns / item.chance : INFINITY;
	return item;
}

// --- what an event's actions need
// -------------------------------------------------------------------------------------

static bool clicks(const struct report_event *event, const char *condition)
{
	for (size_t i = 0; event->definition && i < event->definition->n_actions; i++) {
		const Condprof__Action *action = event->definition->actions[i];

		if (action->kind_case != CONDPROF__ACTION__KIND_CLICK || !action->click)
			continue;
		if (action->click->target_case == CONDPROF__CLICK_ACTION__TARGET_FOUND)
			return true;
		if (condition && action->click->target_case == CONDPROF__CLICK_ACTION__TARGET_CONDITION &&
		    action->click->condition && strcmp(action->click->condition, condition) == 0)
			return true;
	}
	return false;
}

static bool has_timers(const struct report_event *event)
{
	for (size_t i = 0; event->definition && i < event->definition->n_conditions; i++)
		if (event->definition->conditions[i]->kind_case == CONDPROF__CONDITION__KIND_TIMER)
			return true;
	return false;
}

// --- collecting ------------------------------------------------------------------------------------------------------

/// Room is taken beforehand: two for an event, two for a condition, one for the session.
static struct advice *add(struct report_advice *advice, enum advice_kind kind, const struct report_event *event,
			  const struct report_condition *condition)
{
	struct advice *item = &advice->items[advice->n_items++];

	*item = (struct advice){.kind = kind, .event = event, .condition = condition};
	return item;
}

static void add_unknown(struct report_advice *advice, enum unknown_kind kind, const struct report_event *event,
			const struct report_condition *condition)
{
	advice->unknowns[advice->n_unknowns++] = (struct unknown){kind, event, condition};
}

// --- the order of conditions -----------------------------------------------------------------------------------------

static const struct report_condition *conditions_of(const struct report *report, const struct report_event *event)
{
	return report->conditions + event->first_condition;
}

/// How often the event was evaluated: as often as its first condition was checked.
static int64_t evaluations(const struct report_advice *advice, const struct report_event *event)
{
	return event->detail ? event->detail->evaluated : conditions_of(advice->report, event)->checks;
}

/// Below this a time says little more than "very short".
static double blur_ns(const struct report_advice *advice)
{
	const Condprof__DebugReportOverview *overview = advice->report->overview;

	return overview->has_clock_pair_ns ? 2.0 * (double)overview->clock_pair_ns : 0;
}

static bool worth_it(const struct report_advice *advice, double now_ns, double then_ns)
{
	double saving = now_ns - then_ns;

	return saving > 0 && saving >= ADVISE_LEAST_SHARE * now_ns && saving >= blur_ns(advice);
}

/// Whether a time is a part of all conditions' that is worth a word.
static bool is_noticeable(const struct report_advice *advice, int64_t ns)
{
	return (double)ns >= ADVISE_LEAST_SHARE * (double)advice->report->conditions_total_ns;
}

/// Unknown conditions before known ones can only be in reports that are not ours: then there is nothing to say.
static bool known_come_first(const struct ordered_condition *order, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (order[i].known && !order[i - 1].known)
			return false;
	return true;
}

static int advise_order(struct report_advice *advice, const struct report_event *event)
{
	const struct report_condition *conditions = conditions_of(advice->report, event);
	size_t n = event->n_conditions;
	CLEANUP_FREE struct ordered_condition *order = calloc(n + 1, sizeof(*order));
	bool any = is_any(event), few = false;
	int64_t evaluated = evaluations(advice, event);

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		order[i] = ordered(&conditions[i], i, any);
		few = few || (order[i].known && conditions[i].checks < ADVISE_FEW_CHECKS);
	}
	if (evaluated <= 0 || !known_come_first(order, n))
		return 0;
	double now_ns = advise_expected_cost(order, n);
	advise_sort(order, n);
	double then_ns = advise_expected_cost(order, n);
	if (!worth_it(advice, now_ns, then_ns))
		return 0;
	predict_checks(order, n, evaluated);
	struct advice *item = add(advice, ADVICE_ORDER, event, NULL);
	item->saving_ns = a_pass(advice, (now_ns - then_ns) * (double)evaluated);
	item->at_most_ns = a_pass(advice, now_ns * (double)evaluated);
	item->order = TAKE_POINTER(order);
	item->n_order = n;
	item->few = few;
	item->click_found = clicks(event, NULL);
	item->timers = any && has_timers(event);
	return 0;
}

// --- what decides nothing --------------------------------------------------------------------------------------------

/// @return whether the event is one of those: then its conditions are not told one by one
static bool advise_never_fulfilled(struct report_advice *advice, const struct report_event *event)
{
	if (!event->detail || event->detail->evaluated < ADVISE_FEW_CHECKS || event->detail->fulfilled > 0)
		return false;
	if (event->conditions_ns.known && is_noticeable(advice, event->conditions_ns.value))
		add(advice, ADVICE_NEVER_FULFILLED, event, NULL)->at_most_ns =
			a_pass(advice, (double)event->conditions_ns.value);
	return true;
}

/// In an event of one condition it decides everything, and what a click needs must stay.
static void advise_never_decides(struct report_advice *advice, const struct report_event *event,
				 const struct report_condition *condition)
{
	if (event->n_conditions < 2 || !is_checked(condition) || condition->checks < ADVISE_FEW_CHECKS ||
	    decided(condition, is_any(event)) > 0 || clicks(event, condition->name) ||
	    own_time(condition) / (double)condition->checks < blur_ns(advice))
		return;
	struct advice *item = add(advice, ADVICE_NEVER_DECIDES, event, condition);
	item->saving_ns = a_pass(advice, own_time(condition));
	item->at_most_ns = a_pass(advice, (double)condition->total_ns);
}

// --- where images are searched ---------------------------------------------------------------------------------------

static struct report_area grown(struct report_area area, int x, int y, int width, int height)
{
	int64_t left = MAX((int64_t)area.x - x, 0), top = MAX((int64_t)area.y - y, 0),
		right = MIN((int64_t)area.x + area.width + x, width),
		bottom = MIN((int64_t)area.y + area.height + y, height);

	return (struct report_area){(int)left, (int)top, (int)MAX(right - left, 0), (int)MAX(bottom - top, 0)};
}

static double pixels(struct report_area area)
{
	return (double)area.width * (double)area.height;
}

/// What it looks at now. @return false: at one place only, or that is not known
static bool searched_area(const struct report_condition *condition, struct report_area *ret)
{
	const Condprof__ImageCondition *image = condition->definition->image;
	const Condprof__ConditionDetail *detail = condition->detail;

	if (image->search == CONDPROF__SEARCH__SEARCH_EXACT)
		return false;
	*ret = (struct report_area){0, 0, detail->match_frame_width, detail->match_frame_height};
	if (image->search == CONDPROF__SEARCH__SEARCH_AREA && image->area)
		*ret = (struct report_area){image->area->x, image->area->y, image->area->width, image->area->height};
	return ret->width > 0 && ret->height > 0;
}

static void advise_area(struct report_advice *advice, const struct report_event *event,
			const struct report_condition *condition)
{
	const Condprof__ImageCondition *image = condition->definition->image;
	const Condprof__ConditionDetail *detail = condition->detail;
	struct report_area found, searched, area;

	if (!condition_match_area(condition, &found) || !searched_area(condition, &searched) || image->width <= 0 ||
	    image->height <= 0)
		return;
	// one place: it moved by less than its own size
	if (found.width > 2 * (int64_t)image->width || found.height > 2 * (int64_t)image->height)
		return;
	area = grown(found, MAX(image->width / 4, AREA_MARGIN_PX), MAX(image->height / 4, AREA_MARGIN_PX),
		     detail->match_frame_width, detail->match_frame_height);
	if (pixels(area) <= 0 || pixels(area) > pixels(searched) / 2)
		return;
	if (detail->match_count < ADVISE_FEW_MATCHES) {
		add_unknown(advice, UNKNOWN_FEW_MATCHES, event, condition);
		return;
	}
	struct advice *item = add(advice, ADVICE_AREA, event, condition);
	item->area = area;
	item->exact = found.width == image->width && found.height == image->height;
	item->at_most_ns = a_pass(advice, (double)condition->total_ns);
}

static void advise_search(struct report_advice *advice, const struct report_event *event,
			  const struct report_condition *condition)
{
	const Condprof__Condition *definition = condition->definition;

	if (!definition || definition->kind_case != CONDPROF__CONDITION__KIND_IMAGE || !definition->image ||
	    !condition->detail || !is_checked(condition))
		return;
	bool screen = definition->image->search == CONDPROF__SEARCH__SEARCH_SCREEN;
	if (screen && !condition->detail->has_match_count)
		add_unknown(advice, UNKNOWN_NO_PLACES, event, condition);
	else if (screen && condition->detail->match_count == 0 && is_noticeable(advice, condition->total_ns))
		add_unknown(advice, UNKNOWN_NO_MATCH, event, condition);
	else
		advise_area(advice, event, condition);
}

// --- the limiter -----------------------------------------------------------------------------------------------------

/// Passes that took `ns` or longer, as far as buckets tell: one that holds `ns` is not counted.
static int64_t count_from(const Condprof__Histogram *histogram, int64_t ns)
{
	int64_t count = histogram->overflow;

	for (size_t i = 0; i < histogram->n_buckets; i++)
		if (exp2((double)(histogram->first_bucket + (int)i) / HISTOGRAM_BUCKETS_PER_POWER) >= (double)ns)
			count += histogram->buckets[i];
	return count;
}

static void advise_limiter(struct report_advice *advice)
{
	const Condprof__DebugReportOverview *overview = advice->report->overview;
	const Condprof__ConditionDetails *details = advice->report->details;
	const struct report_time time = report_time(advice->report);
	int64_t counted;

	if (!overview->has_period_ns || overview->period_ns <= 0 || advice->passes < ADVISE_FEW_CHECKS ||
	    !time.duration.known || time.duration.value <= 0 || !time.limiter_wait.known)
		return;
	if ((double)time.limiter_wait.value <= NEVER_SHARE * (double)time.duration.value)
		add(advice, ADVICE_LIMITER_NEVER, NULL, NULL);
	else if (overview->has_missed_passes && details && details->pass_time &&
		 histogram_count(details->pass_time, &counted) == 0 &&
		 (double)(overview->missed_passes + count_from(details->pass_time, overview->period_ns)) <=
			 ALWAYS_SHARE * (double)advice->passes)
		add(advice, ADVICE_LIMITER_ALWAYS, NULL, NULL);
}

// --- all of it -------------------------------------------------------------------------------------------------------

static int advise_event(struct report_advice *advice, const struct report_event *event)
{
	const struct report_condition *conditions = conditions_of(advice->report, event);
	int r = advise_order(advice, event);

	if (r < 0)
		return r;
	bool never = advise_never_fulfilled(advice, event);
	for (size_t i = 0; i < event->n_conditions; i++) {
		if (!(never && is_any(event)))
			advise_never_decides(advice, event, &conditions[i]);
		advise_search(advice, event, &conditions[i]);
		if (conditions[i].measured && conditions[i].checks == 0)
			add_unknown(advice, UNKNOWN_NEVER_CHECKED, event, &conditions[i]);
	}
	return 0;
}

static int compare_advice(const void *a, const void *b)
{
	const struct advice *left = a, *right = b;
	int64_t left_ns = left->saving_ns.known ? left->saving_ns.value : -1,
		right_ns = right->saving_ns.known ? right->saving_ns.value : -1;

	if (left_ns != right_ns)
		return left_ns > right_ns ? -1 : 1;
	if (left->at_most_ns.known != right->at_most_ns.known)
		return left->at_most_ns.known ? -1 : 1;
	if (left->at_most_ns.value != right->at_most_ns.value)
		return left->at_most_ns.value > right->at_most_ns.value ? -1 : 1;
	if (left->event != right->event)
		return left->event < right->event ? -1 : 1;
	if (left->condition != right->condition)
		return left->condition < right->condition ? -1 : 1;
	return (left->kind > right->kind) - (left->kind < right->kind);
}

static bool has_figures(const struct report *report)
{
	for (size_t i = 0; i < report->n_conditions; i++)
		if (report->conditions[i].measured)
			return true;
	return false;
}

int report_advise(const struct report *report, struct report_advice **ret)
{
	struct report_advice *advice CLEANUP(report_advice_cleanup) = calloc(1, sizeof(*advice));
	int r = 0;

	if (!advice)
		return -ENOMEM;
	advice->report = report;
	advice->passes = report->overview->has_frame_count ? report->overview->frame_count : 0;
	if (advice->passes <= 0 || !has_figures(report))
		return -ENODATA;
	advice->items = calloc(2 * report->n_events + 2 * report->n_conditions + 1, sizeof(*advice->items));
	advice->unknowns = calloc(2 * report->n_conditions + 1, sizeof(*advice->unknowns));
	if (!advice->items || !advice->unknowns)
		return -ENOMEM;
	for (size_t i = 0; i < report->n_events && r == 0; i++)
		if (report->events[i].known && report->events[i].n_conditions > 0)
			r = advise_event(advice, &report->events[i]);
	if (r < 0)
		return r;
	advise_limiter(advice);
	qsort(advice->items, advice->n_items, sizeof(*advice->items), compare_advice);
	*ret = TAKE_POINTER(advice);
	return 0;
}

struct report_advice *report_advice_free(struct report_advice *advice)
{
	if (!advice)
		return NULL;
	for (size_t i = 0; i < advice->n_items; i++)
		free(advice->items[i].order);
	free(advice->items);
	free(advice->unknowns);
	free(advice);
	return NULL;
}
