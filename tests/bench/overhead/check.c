// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a run's report back, as condprofctl would, and looks whether it is whole.
#include "config.h"

#include "client/report/histogram.h"
#include "client/report/occurrence.h"
#include "client/report/source.h"
#include "tests/bench/overhead/overhead.h"

static int count(void *context, const struct occurrence *occurrence)
{
	(void)occurrence;
	++*(int64_t *)context;
	return 0;
}

static bool adds_up(const Condprof__SessionTime *t)
{
	return t->processing_ns == t->conditions_ns + t->actions_ns + t->engine_ns &&
	       t->duration_ns == t->frame_wait_ns + t->frame_get_ns + t->processing_ns + t->limiter_wait_ns +
					 t->safety_wait_ns + t->report_wait_ns + t->other_ns;
}

static const char *overview_problem(const Condprof__DebugReportOverview *o, const struct run *run)
{
	if (o->state != CONDPROF__SESSION_STATE__FINISHED || o->reason != CONDPROF__END_REASON__REASON_PASSES)
		return "its report does not say that it ended by its passes";
	if (o->frame_count != run->passes)
		return "its report has another number of passes";
	if (o->lost_occurrences || o->dropped_occurrences || o->dropped_segments)
		return "its report lost occurrences";
	if (mode_has_timing(run->mode) && (!o->time || !adds_up(o->time)))
		return "the parts of its time do not add up";
	return NULL;
}

static const char *figures_problem(const struct report *report, const struct run *run)
{
	int64_t checks = 0;

	if (!report->details)
		return "its report has no figures of conditions";
	for (size_t i = 0; i < report->n_conditions; i++) {
		const struct report_condition *condition = &report->conditions[i];
		int64_t sum;

		if (!condition->measured || !condition->detail || !condition->detail->histogram ||
		    histogram_count(condition->detail->histogram, &sum) < 0 || sum != condition->checks)
			return "a condition's histogram does not add up to its checks";
		checks += condition->checks;
	}
	if (checks != run->checks || report->conditions_total_ns != run->conditions_ns)
		return "its report has other figures than the engine";
	return NULL;
}

static const char *find_problem(const char *folder, struct run *run, struct error *error)
{
	struct report_query query = REPORT_QUERY_ALL, all = REPORT_QUERY_ALL;
	struct report_source *source CLEANUP(report_source_cleanup) = NULL,
				     *again CLEANUP(report_source_cleanup) = NULL;
	struct report *report CLEANUP(report_cleanup) = NULL;
	const char *problem;
	int64_t occurrences = 0;

	all.messages = true;
	if (report_source_folder(folder, &query, &source, error) < 0 || report_load(source, &report, error) < 0 ||
	    report_source_folder(folder, &all, &again, error) < 0 ||
	    report_each_occurrence(again, report, &all, count, &occurrences, error) < 0)
		return error->message;
	problem = overview_problem(report->overview, run);
	if (!problem && mode_has_timing(run->mode))
		problem = figures_problem(report, run);
	if (!problem && report->damage & ~(mode_has_timing(run->mode) ? 0 : DAMAGE_AGGREGATES))
		problem = "its report is damaged";
	if (run->occurrences == UNKNOWN)
		run->occurrences = occurrences;
	if (!problem && occurrences != run->occurrences)
		problem = "its report has another number of occurrences";
	return problem;
}

void check_report(const char *folder, struct run *run)
{
	struct error error = {0};
	const char *found = find_problem(folder, run, &error);

	if (found)
		snprintf(run->problem, sizeof(run->problem), "%.255s", found);
}
