// SPDX-License-Identifier: GPL-3.0-or-later
//
// Which conditions and events a view shows, and in what order. What is not known comes last, whatever the order; equal
// ones stay in the scenario's order.
#include "config.h"

#include "client/view/report.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

const char *const view_names[VIEW_KINDS + 1] = {
	[VIEW_OVERVIEW] = "overview",
	[VIEW_CONDITIONS] = "conditions",
	[VIEW_EVENTS] = "events",
	[VIEW_TIMELINE] = "timeline",
};

const char *const sort_names[SORT_KEYS + 1] = {
	[SORT_DEFAULT] = "default",
	[SORT_TOTAL] = "total",
	[SORT_AVERAGE] = "average",
	[SORT_CHECKS] = "checks",
	[SORT_FULFILLED] = "fulfilled",
	[SORT_MIN] = "min",
	[SORT_MAX] = "max",
	[SORT_P50] = "p50",
	[SORT_P90] = "p90",
	[SORT_P99] = "p99",
	[SORT_SHARE] = "share",
	[SORT_ORDER] = "order",
	[SORT_NAME] = "name",
};

/// A row's place in the order: the larger, the earlier.
struct sort_item {
	size_t index;
	bool known;
	int64_t value;
	const char *name; ///< SORT_NAME
};

static struct maybe condition_key(const struct report_condition *condition, enum sort_key key)
{
	bool checked = condition->measured && condition->checks > 0;

	switch (key) {
	case SORT_TOTAL:
	case SORT_SHARE:
		return maybe_if(condition->measured, condition->total_ns);
	case SORT_AVERAGE:
		return condition_average(condition);
	case SORT_CHECKS:
		return maybe_if(condition->measured, condition->checks);
	case SORT_FULFILLED:
		return maybe_if(condition->measured, condition->fulfilled);
	case SORT_MIN:
		return maybe_if(checked, condition->min_ns);
	case SORT_MAX:
		return maybe_if(checked, condition->max_ns);
	case SORT_P50:
		return condition_percentile(condition, 500);
	case SORT_P90:
		return condition_percentile(condition, 900);
	case SORT_P99:
		return condition_percentile(condition, 990);
	default:
		return maybe_if(true, 0);
	}
}

static struct maybe event_key(const struct report_event *event, enum sort_key key)
{
	switch (key) {
	case SORT_TOTAL:
	case SORT_SHARE:
		return event->conditions_ns;
	case SORT_CHECKS:
		return maybe_if(event->detail, event->detail ? event->detail->evaluated : 0);
	case SORT_FULFILLED:
		return maybe_if(event->detail, event->detail ? event->detail->fulfilled : 0);
	default:
		return maybe_if(true, 0);
	}
}

bool sort_fits(enum view_kind view, enum sort_key key)
{
	switch (key) {
	case SORT_DEFAULT:
		return true;
	case SORT_TOTAL:
	case SORT_SHARE:
	case SORT_CHECKS:
	case SORT_FULFILLED:
	case SORT_ORDER:
	case SORT_NAME:
		return view == VIEW_CONDITIONS || view == VIEW_EVENTS;
	default:
		return view == VIEW_CONDITIONS;
	}
}

static int compare(const void *a, const void *b)
{
	const struct sort_item *left = a, *right = b;

	if (left->known != right->known)
		return left->known ? -1 : 1;
	if (left->value != right->value)
		return left->value > right->value ? -1 : 1;
	int names = left->name && right->name ? strcmp(left->name, right->name) : 0;
	return names ? names : (left->index > right->index) - (left->index < right->index);
}

static bool has_part(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

/// What filters are held against.
struct filtered {
	const char *name, *event;                  ///< may be NULL
	const char *kinds[2];                      ///< each may be NULL
	const struct report_condition *conditions; ///< of an event: their kinds are its kinds too
	size_t n_conditions;
};

static bool has_kind(const struct filtered *row, const char *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(row->kinds); i++)
		if (row->kinds[i] && strcmp(row->kinds[i], kind) == 0)
			return true;
	for (size_t i = 0; i < row->n_conditions; i++)
		if (row->conditions[i].kind && strcmp(row->conditions[i].kind, kind) == 0)
			return true;
	return false;
}

static bool filter_fits(const struct view_filter *filter, const struct filtered *row)
{
	switch (filter->kind) {
	case FILTER_TEXT:
		return has_part(row->name, filter->text) || has_part(row->event, filter->text);
	case FILTER_NAME:
		return has_part(row->name, filter->text);
	case FILTER_EVENT:
		return has_part(row->event, filter->text);
	case FILTER_KIND:
		return has_kind(row, filter->text);
	}
	return false;
}

static bool filters_fit(const struct view_options *options, const struct filtered *row)
{
	for (size_t i = 0; i < options->n_filters; i++)
		if (!filter_fits(&options->filters[i], row))
			return false;
	return true;
}

static const char *event_kind(const struct report_event *event)
{
	return event && event->known ? (event->trigger ? "trigger" : "screen") : NULL;
}

static bool event_wanted(const struct view_options *options, const struct report_event *event)
{
	for (size_t i = 0; i < options->n_events; i++)
		if (options->events[i] == event)
			return true;
	return options->n_events == 0;
}

/// Sorts and cuts. *ret: the indices.
static int finish(struct sort_item *items, size_t n, const struct view_options *options, size_t **ret, size_t *ret_n)
{
	qsort(items, n, sizeof(*items), compare);
	if (options->top > 0 && (uint64_t)options->top < n)
		n = (size_t)options->top;
	size_t *indices = calloc(n + 1, sizeof(*indices));
	if (!indices)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		indices[i] = items[i].index;
	*ret = indices;
	*ret_n = n;
	return 0;
}

int view_select_conditions(const struct report *report, const struct view_options *options, size_t **ret, size_t *ret_n)
{
	enum sort_key sort = options->sort == SORT_DEFAULT ? SORT_TOTAL : options->sort;
	CLEANUP_FREE struct sort_item *items = calloc(report->n_conditions + 1, sizeof(*items));
	size_t n = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < report->n_conditions; i++) {
		const struct report_condition *condition = &report->conditions[i];
		const struct report_event *event =
			condition->event == REPORT_NO_EVENT ? NULL : &report->events[condition->event];
		const struct filtered row = {
			.name = condition->name,
			.event = event ? event->name : NULL,
			.kinds = {condition->kind, event_kind(event)},
		};
		struct maybe key = condition_key(condition, sort);

		if (event_wanted(options, event) && filters_fit(options, &row))
			items[n++] =
				(struct sort_item){i, key.known, key.value, sort == SORT_NAME ? condition->name : NULL};
	}
	return finish(items, n, options, ret, ret_n);
}

int view_select_events(const struct report *report, const struct view_options *options, size_t **ret, size_t *ret_n)
{
	CLEANUP_FREE struct sort_item *items = calloc(report->n_events + 1, sizeof(*items));
	size_t n = 0;

	assert(options->sort != SORT_DEFAULT);
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < report->n_events; i++) {
		const struct report_event *event = &report->events[i];
		struct maybe key = event_key(event, options->sort);
		const struct filtered row = {
			.name = event->name,
			.event = event->name,
			.kinds = {event_kind(event)},
			.conditions = report->conditions + event->first_condition,
			.n_conditions = event->n_conditions,
		};

		if (event_wanted(options, event) && filters_fit(options, &row))
			items[n++] = (struct sort_item){i, key.known, key.value,
							options->sort == SORT_NAME ? event->name : NULL};
	}
	return finish(items, n, options, ret, ret_n);
}
