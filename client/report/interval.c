// SPDX-License-Identifier: GPL-3.0-or-later
//
// Both snapshots come from outside: sums saturate, and what does not add up is not known.
#include "config.h"

#include "client/report/interval.h"

#include "client/report/histogram.h"

#include <errno.h>

static struct maybe grown(struct maybe before, struct maybe after)
{
	int64_t difference;

	if (!before.known || !after.known || __builtin_sub_overflow(after.value, before.value, &difference))
		return maybe_if(false, 0);
	return maybe_if(difference >= 0, difference);
}

static struct maybe sum(struct maybe a, struct maybe b)
{
	int64_t total;

	if (!a.known || !b.known || __builtin_add_overflow(a.value, b.value, &total))
		return maybe_if(false, 0);
	return maybe_if(true, total);
}

// --- what a snapshot has ---------------------------------------------------------------------------------------------

enum { DURATION, PASSES, MISSED, OCCURRENCES, LOST, PROCESSING, COMPLETE_PASSES, COMPLETE_NS, FIGURES };

/// The processing time and count of complete passes.
static void pass_figures(const Condprof__ConditionDetails *details, struct maybe figures[FIGURES])
{
	int64_t count;

	if (!details || !details->pass_time || !details->has_pass_time_total_ns ||
	    histogram_count(details->pass_time, &count) < 0)
		return;
	figures[COMPLETE_PASSES] = maybe_if(true, count);
	figures[COMPLETE_NS] = maybe_if(details->pass_time_total_ns >= 0, details->pass_time_total_ns);
}

static void figures_of(const struct report *report, struct maybe figures[FIGURES])
{
	const Condprof__DebugReportOverview *overview = report->overview;
	const Condprof__Session *session = &report->session;

	for (size_t i = 0; i < FIGURES; i++)
		figures[i] = maybe_if(false, 0);
	figures[DURATION] = maybe_if(session->has_duration_ns, session->duration_ns);
	figures[PASSES] = maybe_if(session->has_passes, session->passes);
	figures[MISSED] = maybe_if(overview->has_missed_passes, overview->missed_passes);
	figures[OCCURRENCES] = sum(report_occurrences(report, false), report_occurrences(report, true));
	figures[LOST] = maybe_if(overview->has_lost_occurrences, overview->lost_occurrences);
	figures[PROCESSING] = report_time(report).processing;
	pass_figures(report->details, figures);
}

// --- conditions ------------------------------------------------------------------------------------------------------

/// The same condition in the snapshot before: a session's scenario does not change, so it mostly has the same place.
static const struct report_condition *same_condition(const struct report *before, const struct report_condition *after,
						     size_t place)
{
	if (place < before->n_conditions && before->conditions[place].id == after->id)
		return &before->conditions[place];
	return report_condition_by_id(before, after->id);
}

/// Without aggregates a snapshot knows nothing; with them, what it does not list was not checked.
static struct interval_condition condition_between(const struct report *before, const struct report_condition *after,
						   size_t place)
{
	const struct report_condition *earlier = before ? same_condition(before, after, place) : NULL;
	static const struct report_condition unchecked;
	bool known = !before || before->aggregates;
	struct interval_condition figures = {0};

	if (!after->measured)
		return figures;
	if (!earlier || !earlier->measured)
		earlier = &unchecked;
	figures.checks = grown(maybe_if(known, earlier->checks), maybe_if(true, after->checks));
	figures.fulfilled = grown(maybe_if(known, earlier->fulfilled), maybe_if(true, after->fulfilled));
	figures.total_ns = grown(maybe_if(known, earlier->total_ns), maybe_if(true, after->total_ns));
	if (figures.checks.known && figures.total_ns.known && figures.checks.value > 0)
		figures.average_ns =
			maybe_if(true, (int64_t)(((__int128)figures.total_ns.value + figures.checks.value / 2) /
						 figures.checks.value));
	return figures;
}

/// A sum without one of its conditions would be less than it was: then it is not known. Conditions that were never
/// measured have no part in it.
static void add_up(struct interval *interval, const struct report *after)
{
	bool any = false;

	for (size_t i = 0; i < interval->n_conditions; i++) {
		const struct interval_condition *condition = &interval->conditions[i];

		if (!after->conditions[i].measured)
			continue;
		if (!any)
			interval->checks = interval->conditions_ns = maybe_if(true, 0);
		any = true;
		interval->checks = sum(interval->checks, condition->checks);
		interval->conditions_ns = sum(interval->conditions_ns, condition->total_ns);
		if (condition->total_ns.value > 0 &&
		    (interval->dearest == INTERVAL_NO_CONDITION ||
		     condition->total_ns.value > interval->conditions[interval->dearest].total_ns.value))
			interval->dearest = i;
	}
	if (!interval->conditions_ns.known || interval->conditions_ns.value == 0)
		return;
	for (size_t i = 0; i < interval->n_conditions; i++)
		interval->conditions[i].share =
			(double)interval->conditions[i].total_ns.value / (double)interval->conditions_ns.value;
}

int interval_between(const struct report *before, const struct report *after, struct interval *ret)
{
	struct maybe earlier[FIGURES], later[FIGURES], figures[FIGURES];
	struct interval interval = {.n_conditions = after->n_conditions, .dearest = INTERVAL_NO_CONDITION};

	interval.conditions = calloc(after->n_conditions + 1, sizeof(*interval.conditions));
	if (!interval.conditions)
		return -ENOMEM;
	figures_of(after, later);
	if (before)
		figures_of(before, earlier);
	for (size_t i = 0; i < FIGURES; i++)
		figures[i] = grown(before ? earlier[i] : maybe_if(true, 0), later[i]);
	interval.duration_ns = figures[DURATION];
	interval.passes = figures[PASSES];
	interval.missed_passes = figures[MISSED];
	interval.occurrences = figures[OCCURRENCES];
	interval.lost_occurrences = figures[LOST];
	interval.processing_ns = figures[PROCESSING];
	if (figures[COMPLETE_PASSES].known && figures[COMPLETE_NS].known && figures[COMPLETE_PASSES].value > 0)
		interval.pass_mean_ns = maybe_if(true, figures[COMPLETE_NS].value / figures[COMPLETE_PASSES].value);
	for (size_t i = 0; i < after->n_conditions; i++)
		interval.conditions[i] = condition_between(before, &after->conditions[i], i);
	add_up(&interval, after);
	*ret = interval;
	return 0;
}

void interval_clear(struct interval *interval)
{
	free(interval->conditions);
	*interval = (struct interval){0};
}

bool interval_rate(const struct interval *interval, double *ret)
{
	if (!interval->passes.known || !interval->duration_ns.known || interval->duration_ns.value == 0)
		return false;
	*ret = (double)interval->passes.value * (double)NSEC_PER_SEC / (double)interval->duration_ns.value;
	return true;
}

bool interval_processing_share(const struct interval *interval, double *ret)
{
	if (!interval->processing_ns.known || !interval->duration_ns.known || interval->duration_ns.value == 0)
		return false;
	*ret = MIN((double)interval->processing_ns.value / (double)interval->duration_ns.value, 1.0);
	return true;
}
