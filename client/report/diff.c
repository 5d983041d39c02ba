// SPDX-License-Identifier: GPL-3.0-or-later
//
// Matching: ids are of use only where the author gave them on both sides, since all others are counted through and move
// when something is added. Everything is matched once at most, so that reports with ids or names that repeat, which are
// not ours, come to no harm.
#include "config.h"

#include "client/report/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- matching --------------------------------------------------------------------------------------------------------

/// A name and whose it is, for look-ups: of an event `owner` is 0, of a condition its event.
struct name_place {
	size_t owner;
	const char *name;
	size_t place;
};

static int compare_names(const void *a, const void *b)
{
	const struct name_place *left = a, *right = b;

	if (left->owner != right->owner)
		return left->owner < right->owner ? -1 : 1;
	int names = strcmp(left->name, right->name);
	return names ? names : (left->place > right->place) - (left->place < right->place);
}

/// The first place of a name, or SIZE_MAX.
static size_t find_name(const struct name_place *places, size_t n, size_t owner, const char *name)
{
	const struct name_place key = {owner, name, 0};
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_names(&places[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && places[low].owner == owner && strcmp(places[low].name, name) == 0 ? places[low].place
											    : SIZE_MAX;
}

/// What matching needs of the new report.
struct matching {
	const struct report *base, *new;
	struct name_place *event_names, *condition_names;
	size_t *event_of;          ///< of a base event its place in the new report, or SIZE_MAX
	bool *event_taken, *taken; ///< events, conditions of the new report
};

static void matching_clear(struct matching *matching)
{
	free(matching->event_names);
	free(matching->condition_names);
	free(matching->event_of);
	free(matching->event_taken);
	free(matching->taken);
}

static int matching_init(struct matching *matching, const struct report *base, const struct report *new)
{
	*matching = (struct matching){
		.base = base,
		.new = new,
		.event_names = calloc(new->n_events + 1, sizeof(*matching->event_names)),
		.condition_names = calloc(new->n_conditions + 1, sizeof(*matching->condition_names)),
		.event_of = calloc(base->n_events + 1, sizeof(*matching->event_of)),
		.event_taken = calloc(new->n_events + 1, sizeof(bool)),
		.taken = calloc(new->n_conditions + 1, sizeof(bool)),
	};
	if (!matching->event_names || !matching->condition_names || !matching->event_of || !matching->event_taken ||
	    !matching->taken)
		return -ENOMEM;
	for (size_t i = 0; i < new->n_events; i++)
		matching->event_names[i] = (struct name_place){0, new->events[i].name, i};
	for (size_t i = 0; i < new->n_conditions; i++)
		matching->condition_names[i] =
			(struct name_place){new->conditions[i].event, new->conditions[i].name, i};
	qsort(matching->event_names, new->n_events, sizeof(*matching->event_names), compare_names);
	qsort(matching->condition_names, new->n_conditions, sizeof(*matching->condition_names), compare_names);
	return 0;
}

static size_t match_event_by_id(const struct matching *matching, const struct report_event *event)
{
	const struct report_event *found = event->id_given ? report_event_by_id(matching->new, event->id) : NULL;

	return found && found->id_given ? (size_t)(found - matching->new->events) : SIZE_MAX;
}

static size_t match_event_by_name(const struct matching *matching, const struct report_event *event)
{
	return event->known ? find_name(matching->event_names, matching->new->n_events, 0, event->name) : SIZE_MAX;
}

static size_t match_condition_by_id(const struct matching *matching, const struct report_condition *condition)
{
	const struct report_condition *found =
		condition->id_given ? report_condition_by_id(matching->new, condition->id) : NULL;

	return found && found->id_given ? (size_t)(found - matching->new->conditions) : SIZE_MAX;
}

static size_t match_condition_by_name(const struct matching *matching, const struct report_condition *condition)
{
	size_t event = condition->event == REPORT_NO_EVENT ? SIZE_MAX : matching->event_of[condition->event];

	return event == SIZE_MAX
		       ? SIZE_MAX
		       : find_name(matching->condition_names, matching->new->n_conditions, event, condition->name);
}

/// Given ids first: a name that has moved to another one must not take its place.
static void match_events(struct matching *matching)
{
	const struct report *base = matching->base;

	for (size_t i = 0; i < base->n_events; i++)
		matching->event_of[i] = SIZE_MAX;
	for (int by_name = 0; by_name < 2; by_name++) {
		for (size_t i = 0; i < base->n_events; i++) {
			if (matching->event_of[i] != SIZE_MAX)
				continue;
			size_t place = by_name ? match_event_by_name(matching, &base->events[i])
					       : match_event_by_id(matching, &base->events[i]);
			if (place == SIZE_MAX || matching->event_taken[place])
				continue;
			matching->event_of[i] = place;
			matching->event_taken[place] = true;
		}
	}
}

static void list_events(const struct matching *matching, struct report_diff *diff)
{
	const struct report *base = matching->base, *new = matching->new;

	for (int common = 1; common >= 0; common--) {
		for (size_t i = 0; i < base->n_events; i++) {
			size_t place = matching->event_of[i];

			if ((place != SIZE_MAX) == common)
				diff->events[diff->n_events++] =
					(struct event_pair){&base->events[i], common ? &new->events[place] : NULL};
		}
		if (common)
			diff->n_common_events = diff->n_events;
	}
	for (size_t i = 0; i < new->n_events; i++)
		if (!matching->event_taken[i])
			diff->events[diff->n_events++] = (struct event_pair){NULL, &new->events[i]};
}

/// @param ret of every base condition its place in the new report, or SIZE_MAX
static void match_conditions(struct matching *matching, size_t *ret, bool *ret_by_id)
{
	const struct report *base = matching->base;

	for (size_t i = 0; i < base->n_conditions; i++)
		ret[i] = SIZE_MAX;
	for (int by_name = 0; by_name < 2; by_name++) {
		for (size_t i = 0; i < base->n_conditions; i++) {
			if (ret[i] != SIZE_MAX)
				continue;
			size_t place = by_name ? match_condition_by_name(matching, &base->conditions[i])
					       : match_condition_by_id(matching, &base->conditions[i]);
			if (place == SIZE_MAX || matching->taken[place])
				continue;
			ret[i] = place;
			ret_by_id[i] = !by_name;
			matching->taken[place] = true;
		}
	}
}

/// The packed kind of a condition: what it looks for, where and how. An image is its pixels, not its file's name.
static uint8_t *definition(const Condprof__Condition *condition, size_t *ret_size)
{
	Condprof__Condition bare = *condition;
	Condprof__ImageCondition image;

	if (condition->kind_case == CONDPROF__CONDITION__KIND_IMAGE && condition->image) {
		image = *condition->image;
		image.file = NULL;
		image.has_png = false;
		bare.image = &image;
	}
	bare.name = NULL;
	bare.has_id = bare.has_id_given = false;
	bare.base.n_unknown_fields = 0;
	*ret_size = condprof__condition__get_packed_size(&bare);
	uint8_t *data = malloc(*ret_size + 1);
	if (data)
		condprof__condition__pack(&bare, data);
	return data;
}

static int compare_definitions(struct condition_pair *pair)
{
	size_t base_size, new_size;

	if (!pair->base->definition || !pair->new->definition)
		return 0;
	CLEANUP_FREE uint8_t *base = definition(pair->base->definition, &base_size);
	CLEANUP_FREE uint8_t *new = definition(pair->new->definition, &new_size);
	if (!base || !new)
		return -ENOMEM;
	pair->redefined = base_size != new_size || memcmp(base, new, base_size) != 0;
	return 0;
}

static bool sample_of_condition(const struct report_condition *condition, struct sample *ret)
{
	return condition->measured && condition->detail && condition->detail->has_sum_of_squares_ns2 &&
	       sample_of(condition->checks, condition->total_ns, condition->detail->sum_of_squares_ns2, ret);
}

static int compare_pair(struct condition_pair *pair)
{
	struct sample base, new;

	pair->has_means = sample_of_condition(pair->base, &base) && sample_of_condition(pair->new, &new);
	if (pair->has_means)
		compare_means(&base, &new, &pair->means);
	return compare_definitions(pair);
}

static int list_conditions(struct matching *matching, struct report_diff *diff)
{
	const struct report *base = matching->base, *new = matching->new;
	CLEANUP_FREE size_t *places = calloc(base->n_conditions + 1, sizeof(*places));
	CLEANUP_FREE bool *by_id = calloc(base->n_conditions + 1, sizeof(*by_id));

	if (!places || !by_id)
		return -ENOMEM;
	match_conditions(matching, places, by_id);
	for (size_t i = 0; i < base->n_conditions; i++) {
		if (places[i] == SIZE_MAX)
			continue;
		struct condition_pair *pair = &diff->conditions[diff->n_conditions++];
		*pair = (struct condition_pair){
			.base = &base->conditions[i], .new = &new->conditions[places[i]], .by_id = by_id[i]};
		int r = compare_pair(pair);
		if (r < 0)
			return r;
	}
	diff->n_common_conditions = diff->n_conditions;
	for (size_t i = 0; i < base->n_conditions; i++)
		if (places[i] == SIZE_MAX)
			diff->conditions[diff->n_conditions++] = (struct condition_pair){.base = &base->conditions[i]};
	for (size_t i = 0; i < new->n_conditions; i++)
		if (!matching->taken[i])
			diff->conditions[diff->n_conditions++] = (struct condition_pair){.new = &new->conditions[i]};
	return 0;
}

int report_diff_new(const struct report *base, const struct report *new, struct report_diff **ret)
{
	struct report_diff *diff CLEANUP(report_diff_cleanup) = calloc(1, sizeof(*diff));
	struct matching matching CLEANUP(matching_clear) = {0};

	if (!diff)
		return -ENOMEM;
	diff->base = base;
	diff->new = new;
	diff->events = calloc(base->n_events + new->n_events + 1, sizeof(*diff->events));
	diff->conditions = calloc(base->n_conditions + new->n_conditions + 1, sizeof(*diff->conditions));
	if (!diff->events || !diff->conditions)
		return -ENOMEM;
	int r = matching_init(&matching, base, new);
	if (r < 0)
		return r;
	match_events(&matching);
	list_events(&matching, diff);
	r = list_conditions(&matching, diff);
	if (r < 0)
		return r;
	*ret = TAKE_POINTER(diff);
	return 0;
}

struct report_diff *report_diff_free(struct report_diff *diff)
{
	if (!diff)
		return NULL;
	free(diff->events);
	free(diff->conditions);
	free(diff);
	return NULL;
}

// --- figures ---------------------------------------------------------------------------------------------------------

struct maybe per_pass(const struct report *report, struct maybe total_ns)
{
	int64_t passes = report->overview->has_frame_count ? report->overview->frame_count : 0;

	if (passes <= 0)
		return maybe_if(false, 0);
	return maybe_if(total_ns.known, (int64_t)(((__int128)total_ns.value + passes / 2) / passes));
}

struct maybe diff_metric(const struct report *report, const struct report_condition *condition, enum diff_metric metric)
{
	bool measured = condition->measured, checked = measured && condition->checks > 0;
	struct maybe total = maybe_if(measured, condition->total_ns);

	switch (metric) {
	case METRIC_CHECKS:
		return maybe_if(measured, condition->checks);
	case METRIC_FULFILLED:
		return maybe_if(measured, condition->fulfilled);
	case METRIC_AVERAGE:
		return condition_average(condition);
	case METRIC_P50:
		return condition_percentile(condition, 500);
	case METRIC_P90:
		return condition_percentile(condition, 900);
	case METRIC_P99:
		return condition_percentile(condition, 990);
	case METRIC_MAX:
		return maybe_if(checked, condition->max_ns);
	case METRIC_TOTAL:
		return total;
	case METRIC_PASS:
		return per_pass(report, total);
	case DIFF_METRICS:
		break;
	}
	return maybe_if(false, 0);
}

struct maybe diff_delta(struct maybe base, struct maybe new)
{
	int64_t delta = 0;
	bool known = base.known && new.known && !__builtin_sub_overflow(new.value, base.value, &delta);

	return maybe_if(known, delta);
}

bool diff_percent(struct maybe base, struct maybe new, double *ret)
{
	if (!base.known || !new.known || base.value <= 0)
		return false;
	*ret = ((double)new.value - (double)base.value) / (double)base.value * 100;
	return true;
}

bool diff_pair_percent(const struct report_diff *diff, const struct condition_pair *pair, enum diff_metric metric,
		       double *ret)
{
	const struct report_condition *base = pair->base, *new = pair->new;

	if (!base || !new)
		return false;
	if (metric != METRIC_AVERAGE)
		return diff_percent(diff_metric(diff->base, base, metric), diff_metric(diff->new, new, metric), ret);
	if (!condition_average(base).known || !condition_average(new).known || base->total_ns <= 0)
		return false;
	long double before = (long double)base->total_ns / (long double)base->checks,
		    after = (long double)new->total_ns / (long double)new->checks;
	*ret = (double)((after - before) / before * 100);
	return true;
}

// --- --fail-if -------------------------------------------------------------------------------------------------------

static const struct {
	const char *name;
	enum diff_metric metric;
	int per_mille; ///< 0: it is no percentile
} rule_metrics[] = {
	{"average", METRIC_AVERAGE, 0},
	{"p50", METRIC_P50, 500},
	{"p90", METRIC_P90, 900},
	{"p99", METRIC_P99, 990},
};

/// Digits with at most one point between them. @return what follows, or NULL
static const char *parse_percent(const char *text, double *ret)
{
	size_t length = strspn(text, "0123456789"), more;

	if (length == 0 || length > 9)
		return NULL;
	double value = 0, scale = 1;
	for (size_t i = 0; i < length; i++)
		value = value * 10 + (text[i] - '0');
	text += length;
	if (*text == '.') {
		more = strspn(++text, "0123456789");
		if (more == 0 || more > 9)
			return NULL;
		for (size_t i = 0; i < more; i++)
			value += (text[i] - '0') * (scale /= 10);
		text += more;
	}
	*ret = value;
	return text;
}

static const char *skip_spaces(const char *text)
{
	return text + strspn(text, " ");
}

int diff_rule_parse(const char *text, struct diff_rule *ret)
{
	size_t length = strcspn(text, "> ");
	struct diff_rule rule = {.text = text};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rule_metrics); i++)
		if (strncmp(text, rule_metrics[i].name, length) == 0 && !rule_metrics[i].name[length])
			break;
	if (i == ARRAY_SIZE(rule_metrics))
		return -EINVAL;
	rule.metric = rule_metrics[i].metric;
	text = skip_spaces(text + length);
	if (*text++ != '>')
		return -EINVAL;
	text = skip_spaces(text);
	if (*text++ != '+')
		return -EINVAL;
	text = parse_percent(text, &rule.percent);
	if (!text || strcmp(skip_spaces(text), "%") != 0)
		return -EINVAL;
	*ret = rule;
	return 0;
}

/// Whether the second's interval lies wholly above the first's.
static enum diff_verdict percentiles_apart(const struct condition_pair *pair, int per_mille)
{
	const struct report_condition *base = pair->base, *new = pair->new;
	int64_t base_low, base_high, new_low, new_high;

	if (!base->detail || !base->detail->histogram || !new->detail || !new->detail->histogram)
		return VERDICT_NOT_KNOWN;
	int a = percentile_interval(base->detail->histogram, per_mille, base->min_ns, base->max_ns, &base_low,
				    &base_high),
	    b = percentile_interval(new->detail->histogram, per_mille, new->min_ns, new->max_ns, &new_low, &new_high);
	if (a < 0 || b < 0)
		return a == -ENODATA || b == -ENODATA ? VERDICT_TOO_FEW : VERDICT_NOT_KNOWN;
	return new_low > base_high ? VERDICT_WORSE : VERDICT_FINE;
}

enum diff_verdict diff_rule_apply(const struct diff_rule *rule, const struct report_diff *diff,
				  const struct condition_pair *pair, int64_t min_checks)
{
	struct maybe base, new;
	double percent;
	int per_mille = 0;

	if (!pair->base || !pair->new || !pair->base->measured || !pair->new->measured)
		return VERDICT_NOT_KNOWN;
	if (pair->base->checks < min_checks || pair->new->checks < min_checks)
		return VERDICT_TOO_FEW;
	base = diff_metric(diff->base, pair->base, rule->metric);
	new = diff_metric(diff->new, pair->new, rule->metric);
	if (!base.known || !new.known || (rule->metric == METRIC_AVERAGE && !pair->has_means))
		return VERDICT_NOT_KNOWN;
	if (new.value < base.value ||
	    (diff_pair_percent(diff, pair, rule->metric, &percent) ? !(percent > rule->percent)
								   : new.value == base.value))
		return VERDICT_FINE;
	for (size_t i = 0; i < ARRAY_SIZE(rule_metrics); i++)
		if (rule_metrics[i].metric == rule->metric)
			per_mille = rule_metrics[i].per_mille;
	if (per_mille > 0)
		return percentiles_apart(pair, per_mille);
	return pair->means.exceeds_spread ? VERDICT_WORSE : VERDICT_FINE;
}
