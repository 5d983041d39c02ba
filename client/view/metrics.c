// SPDX-License-Identifier: GPL-3.0-or-later
//
// A report as Prometheus metrics. Labels are those that stay the same from session to session: the scenario, and for
// conditions and events their names and ids; never the session's id, which is a value. Counters are those of the
// session, so that they begin anew with the next one. What a report does not know is left out, never 0. An id names one
// condition, so no two series have the same labels: of an id that comes twice (in files that are not ours) the first
// counts, as everywhere.
#include "config.h"

#include "client/view/report.h"

#include "client/render/exposition.h"
#include "client/report/histogram.h"
#include "client/view/session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

/// Below 0 only files that nobody can believe say: not known.
static struct maybe not_negative(bool known, int64_t value)
{
	return maybe_if(known && value >= 0, value);
}

static void write_value(struct exposition *exposition, const struct metric *metric, bool seconds, const char *labels,
			struct maybe value)
{
	if (!value.known || value.value < 0)
		return;
	if (seconds)
		metric_seconds(exposition, metric, labels, value.value);
	else
		metric_count(exposition, metric, labels, value.value);
}

// --- histograms ------------------------------------------------------------------------------------------------------

/// Upper bounds as powers of two of a nanosecond, 128 ns to 34 s: they are bounds of the report's own buckets too, so
/// that nothing is guessed. Finest where checks of pictures lie.
static const int bounds[] = {7, 10, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 29, 31, 33, 35};

/// How many were not longer than 2^power ns.
static int64_t count_up_to(const Condprof__Histogram *histogram, int power)
{
	int64_t count = histogram->zero;

	for (size_t i = 0; i < histogram->n_buckets; i++)
		if (histogram->first_bucket + (int64_t)i < (int64_t)power * HISTOGRAM_BUCKETS_PER_POWER)
			count += histogram->buckets[i];
	return count;
}

/// Without a histogram that agrees with the count, the count alone.
static void write_histogram(struct exposition *exposition, const struct metric *metric, const char *labels,
			    const Condprof__Histogram *histogram, int64_t sum_ns, int64_t count)
{
	struct metric_bucket buckets[ARRAY_SIZE(bounds)];
	int64_t counted;
	bool fits = histogram && histogram_count(histogram, &counted) == 0 && counted == count;

	for (size_t i = 0; fits && i < ARRAY_SIZE(bounds); i++)
		buckets[i] = (struct metric_bucket){INT64_C(1) << bounds[i], count_up_to(histogram, bounds[i])};
	metric_histogram(exposition, metric, labels, buckets, fits ? ARRAY_SIZE(bounds) : 0, sum_ns, count);
}

// --- conditions ------------------------------------------------------------------------------------------------------

static struct maybe checks_of(const struct report_condition *condition)
{
	return maybe_if(condition->measured, condition->checks);
}
static struct maybe fulfilled_of(const struct report_condition *condition)
{
	return maybe_if(condition->measured, condition->fulfilled);
}
static struct maybe min_of(const struct report_condition *condition)
{
	return not_negative(condition->measured && condition->checks > 0, condition->min_ns);
}
static struct maybe max_of(const struct report_condition *condition)
{
	return not_negative(condition->measured && condition->checks > 0, condition->max_ns);
}
#define DETAIL(function, field)                                                                                        \
	static struct maybe function(const struct report_condition *condition)                                         \
	{                                                                                                              \
		return not_negative(condition->detail, condition->detail ? condition->detail->field : 0);              \
	}
DETAIL(reused_of, reused_count)
DETAIL(reused_time_of, reused_duration_ns)
DETAIL(shared_of, shared_duration_ns)
DETAIL(not_evaluable_of, not_evaluable_count)
DETAIL(short_circuited_of, short_circuited_count)

static const struct {
	struct metric metric;
	struct maybe (*value)(const struct report_condition *condition);
	bool seconds;
} condition_metrics[] = {
	{{"condprof_condition_checks_total", METRIC_COUNTER, "Checks of the condition in this session."},
	 checks_of,
	 false},
	{{"condprof_condition_fulfilled_total", METRIC_COUNTER, "Checks that found the condition fulfilled."},
	 fulfilled_of,
	 false},
	{{"condprof_condition_reused_total", METRIC_COUNTER,
	  "Checks whose result was taken over, because the pixels they look at had not changed."},
	 reused_of,
	 false},
	{{"condprof_condition_not_evaluable_total", METRIC_COUNTER, "Checks that could not be evaluated."},
	 not_evaluable_of,
	 false},
	{{"condprof_condition_short_circuited_total", METRIC_COUNTER,
	  "Times the condition was not reached because its event was decided before it."},
	 short_circuited_of,
	 false},
	{{"condprof_condition_reused_seconds_total", METRIC_COUNTER, "Time of the checks whose result was taken over."},
	 reused_time_of,
	 true},
	{{"condprof_condition_shared_seconds_total", METRIC_COUNTER,
	  "Part of the checks' time that was preparation which later checks of the same pass used too."},
	 shared_of,
	 true},
	{{"condprof_condition_check_min_seconds", METRIC_GAUGE, "The shortest check of this session."}, min_of, true},
	{{"condprof_condition_check_max_seconds", METRIC_GAUGE, "The longest check of this session."}, max_of, true},
};

static const struct metric check_duration = {"condprof_condition_check_duration_seconds", METRIC_HISTOGRAM,
					     "Elapsed time of the condition's checks."};

static char *condition_labels(const struct report *report, const struct report_condition *condition)
{
	char id[24];

	snprintf(id, sizeof(id), "%" PRId64, condition->id);
	return metric_labels(
		(struct metric_label[]){
			{"scenario", report->session.scenario},
			{"event", condition->event == REPORT_NO_EVENT ? NULL : report->events[condition->event].name},
			{"condition", condition->name},
			{"kind", condition->kind},
			{"id", id},
		},
		5);
}

static void free_all(char ***texts)
{
	for (size_t i = 0; *texts && (*texts)[i]; i++)
		free((*texts)[i]);
	free(*texts);
}

static int write_conditions(struct exposition *exposition, const struct report *report)
{
	char **labels CLEANUP(free_all) = calloc(report->n_conditions + 1, sizeof(*labels));

	for (size_t i = 0; labels && i < report->n_conditions; i++) {
		labels[i] = condition_labels(report, &report->conditions[i]);
		if (!labels[i])
			return -ENOMEM;
	}
	if (!labels)
		return -ENOMEM;
	for (size_t i = 0; i < report->n_conditions; i++) {
		const struct report_condition *condition = &report->conditions[i];

		if (condition->measured && report_condition_by_id(report, condition->id) == condition)
			write_histogram(exposition, &check_duration, labels[i],
					condition->detail ? condition->detail->histogram : NULL, condition->total_ns,
					condition->checks);
	}
	for (size_t m = 0; m < ARRAY_SIZE(condition_metrics); m++)
		for (size_t i = 0; i < report->n_conditions; i++) {
			const struct report_condition *condition = &report->conditions[i];

			if (report_condition_by_id(report, condition->id) == condition)
				write_value(exposition, &condition_metrics[m].metric, condition_metrics[m].seconds,
					    labels[i], condition_metrics[m].value(condition));
		}
	return 0;
}

// --- events ----------------------------------------------------------------------------------------------------------

static struct maybe conditions_time_of(const struct report_event *event)
{
	return event->conditions_ns;
}
#define EVENT_DETAIL(function, field)                                                                                  \
	static struct maybe function(const struct report_event *event)                                                 \
	{                                                                                                              \
		return not_negative(event->detail, event->detail ? event->detail->field : 0);                          \
	}
EVENT_DETAIL(evaluated_of, evaluated)
EVENT_DETAIL(event_fulfilled_of, fulfilled)
EVENT_DETAIL(disabled_of, disabled)
EVENT_DETAIL(cooling_of, cooling_down)
EVENT_DETAIL(ended_before_of, ended_before)
EVENT_DETAIL(detecting_of, detecting_ns)
EVENT_DETAIL(checking_of, checking_ns)
EVENT_DETAIL(acting_of, acting_ns)
static struct maybe last_of(const struct report_event *event)
{
	bool known = event->detail && event->detail->fulfilled > 0 && event->detail->has_last_ns;

	return not_negative(known, known ? event->detail->last_ns : 0);
}

static const struct metric skipped = {"condprof_event_skipped_total", METRIC_COUNTER,
				      "Passes in which the event was not looked at, by reason."};
static const struct {
	struct metric metric;
	const struct metric *shared; ///< instead of `metric`: one of several rows with a label more
	const char *reason;
	struct maybe (*value)(const struct report_event *event);
	bool seconds;
} event_metrics[] = {
	{.metric = {"condprof_event_evaluated_total", METRIC_COUNTER, "Times the event's conditions were looked at."},
	 .value = evaluated_of},
	{.metric = {"condprof_event_fulfilled_total", METRIC_COUNTER,
		    "Times the event was fulfilled and its actions ran."},
	 .value = event_fulfilled_of},
	{.shared = &skipped, .reason = "disabled", .value = disabled_of},
	{.shared = &skipped, .reason = "cooling", .value = cooling_of},
	{.shared = &skipped, .reason = "ended_before", .value = ended_before_of},
	{.metric = {"condprof_event_conditions_seconds_total", METRIC_COUNTER,
		    "Time of all checks of the event's conditions, fulfilled or not."},
	 .value = conditions_time_of,
	 .seconds = true},
	{.metric = {"condprof_event_detecting_seconds_total", METRIC_COUNTER,
		    "Time from the occurrence before, of whichever event, to the event's own verification."},
	 .value = detecting_of,
	 .seconds = true},
	{.metric = {"condprof_event_checking_seconds_total", METRIC_COUNTER,
		    "Time of the verifications that fulfilled it."},
	 .value = checking_of,
	 .seconds = true},
	{.metric = {"condprof_event_acting_seconds_total", METRIC_COUNTER, "Time of the event's actions."},
	 .value = acting_of,
	 .seconds = true},
	{.metric = {"condprof_event_last_fulfilled_seconds", METRIC_GAUGE,
		    "When the event was fulfilled last, since the session's start."},
	 .value = last_of,
	 .seconds = true},
};

/// @param reason NULL: without that label
static char *event_labels(const struct report *report, const struct report_event *event, const char *reason)
{
	char id[24];

	snprintf(id, sizeof(id), "%" PRId64, event->id);
	return metric_labels(
		(struct metric_label[]){
			{"scenario", report->session.scenario},
			{"event", event->name},
			{"kind", !event->known    ? NULL
				 : event->trigger ? "trigger"
						  : "screen"},
			{"id", id},
			{"reason", reason},
		},
		reason ? 5 : 4);
}

static int write_events(struct exposition *exposition, const struct report *report)
{
	for (size_t m = 0; m < ARRAY_SIZE(event_metrics); m++)
		for (size_t i = 0; i < report->n_events; i++) {
			const struct report_event *event = &report->events[i];
			const struct metric *metric =
				event_metrics[m].shared ? event_metrics[m].shared : &event_metrics[m].metric;

			if (report_event_by_id(report, event->id) != event)
				continue;
			CLEANUP_FREE char *labels = event_labels(report, event, event_metrics[m].reason);
			if (!labels)
				return -ENOMEM;
			write_value(exposition, metric, event_metrics[m].seconds, labels,
				    event_metrics[m].value(event));
		}
	return 0;
}

// --- the session -----------------------------------------------------------------------------------------------------

/// When it began and ended, as seconds since 1970.
static struct maybe moment(int64_t unix_ns)
{
	return maybe_if(unix_ns > 0, unix_ns);
}

static void write_session(struct exposition *exposition, const struct report *report, const char *labels)
{
	const Condprof__Session *session = &report->session;
	const Condprof__DebugReportOverview *overview = report->overview;
	const struct {
		struct metric metric;
		struct maybe value;
		bool seconds;
	} rows[] = {
		{{"condprof_session_id", METRIC_GAUGE, "The session that all of this is about."},
		 not_negative(session->has_id, session->id),
		 false},
		{{"condprof_session_failed", METRIC_GAUGE, "1: the session failed, or ended with the result failed."},
		 maybe_if(session->has_state, session_failed(session)),
		 false},
		{{"condprof_session_start_time_seconds", METRIC_GAUGE, "When it began, since 1970."},
		 moment(session->started_unix_ns),
		 true},
		{{"condprof_session_end_time_seconds", METRIC_GAUGE, "When it ended, since 1970."},
		 moment(session->ended_unix_ns),
		 true},
		{{"condprof_session_duration_seconds_total", METRIC_COUNTER, "How long it has run, suspends left out."},
		 report_time(report).duration,
		 true},
		{{"condprof_session_passes_total", METRIC_COUNTER, "Turns of the loop."},
		 not_negative(overview->has_frame_count, overview->frame_count),
		 false},
		{{"condprof_session_missed_passes_total", METRIC_COUNTER,
		  "Deadlines of the limiter that were dropped."},
		 not_negative(overview->has_missed_passes, overview->missed_passes),
		 false},
		{{"condprof_session_frames_total", METRIC_COUNTER, "Pictures taken from the screen."},
		 not_negative(overview->has_frames, overview->frames),
		 false},
		{{"condprof_session_lost_occurrences_total", METRIC_COUNTER,
		  "Occurrences missing from the timeline: the queue or the disk was full."},
		 not_negative(overview->has_lost_occurrences, overview->lost_occurrences),
		 false},
		{{"condprof_session_dropped_occurrences_total", METRIC_COUNTER,
		  "The oldest occurrences, dropped to keep the report's size bounded."},
		 not_negative(overview->has_dropped_occurrences, overview->dropped_occurrences),
		 false},
		{{"condprof_session_suspends_total", METRIC_COUNTER, "Times the device was suspended meanwhile."},
		 not_negative(overview->has_gap_count, overview->gap_count),
		 false},
		{{"condprof_clock_pair_seconds", METRIC_GAUGE,
		  "What two reads of the measuring clock cost on this machine."},
		 maybe_if(overview->has_clock_pair_ns, overview->clock_pair_ns),
		 true},
		{{"condprof_pass_lateness_p50_seconds", METRIC_GAUGE,
		  "Median lateness of a pass against its deadline."},
		 report_lateness_percentile(report, 500),
		 true},
		{{"condprof_pass_lateness_p99_seconds", METRIC_GAUGE, "99th percentile of that lateness."},
		 report_lateness_percentile(report, 990),
		 true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		write_value(exposition, &rows[i].metric, rows[i].seconds, labels, rows[i].value);
}

static char *session_labels(const struct report *report, const char *name, const char *value)
{
	return metric_labels((struct metric_label[]){{"scenario", report->session.scenario}, {name, value}},
			     name ? 2 : 1);
}

static int write_state(struct exposition *exposition, const struct report *report)
{
	static const struct metric metric = {"condprof_session_state", METRIC_GAUGE,
					     "1 for the state that the session is in."};

	for (int state = 0; report->session.has_state && state <= CONDPROF__SESSION_STATE__INTERRUPTED; state++) {
		CLEANUP_FREE char *labels =
			session_labels(report, "state", session_state_name((Condprof__SessionState)state));

		if (!labels)
			return -ENOMEM;
		metric_count(exposition, &metric, labels, (int)report->session.state == state);
	}
	return 0;
}

/// Parts that add up to the duration. Reports that do not know what processing consists of have it as one.
static int write_time(struct exposition *exposition, const struct report *report)
{
	static const struct metric metric = {"condprof_session_time_seconds_total", METRIC_COUNTER,
					     "Where the session's time went; the parts add up to its duration."},
				   pauses = {"condprof_session_pauses_seconds_total", METRIC_COUNTER,
					     "Time in pauses, which is a part of actions."};
	const struct report_time time = report_time(report);
	bool apart = time.conditions.known || time.actions.known || time.engine.known;
	const struct {
		const char *part;
		struct maybe value;
	} parts[] = {
		{"frame_wait", time.frame_wait},
		{"frame_get", time.frame_get},
		{"processing", apart ? maybe_if(false, 0) : time.processing},
		{"conditions", time.conditions},
		{"actions", time.actions},
		{"engine", time.engine},
		{"limiter_wait", time.limiter_wait},
		{"safety_wait", time.safety_wait},
		{"report_wait", time.report_wait},
		{"other", time.other},
	};
	CLEANUP_FREE char *whole = session_labels(report, NULL, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		CLEANUP_FREE char *labels = session_labels(report, "part", parts[i].part);

		if (!labels)
			return -ENOMEM;
		write_value(exposition, &metric, true, labels, parts[i].value);
	}
	if (!whole)
		return -ENOMEM;
	write_value(exposition, &pauses, true, whole, time.pauses);
	return 0;
}

static void write_passes(struct exposition *exposition, const struct report *report, const char *labels)
{
	static const struct metric metric = {"condprof_pass_duration_seconds", METRIC_HISTOGRAM,
					     "Processing time of complete passes."};
	const Condprof__ConditionDetails *details = report->details;
	int64_t count;

	if (!details || !details->pass_time || !details->has_pass_time_total_ns || details->pass_time_total_ns < 0 ||
	    histogram_count(details->pass_time, &count) < 0)
		return;
	write_histogram(exposition, &metric, labels, details->pass_time, details->pass_time_total_ns, count);
}

int view_metrics(FILE *out, const struct report *report)
{
	struct exposition exposition = {.out = out};
	CLEANUP_FREE char *labels = session_labels(report, NULL, NULL);
	int r = labels ? 0 : -ENOMEM;

	if (r == 0) {
		write_session(&exposition, report, labels);
		write_passes(&exposition, report, labels);
		r = write_state(&exposition, report);
	}
	if (r == 0)
		r = write_time(&exposition, report);
	if (r == 0)
		r = write_conditions(&exposition, report);
	if (r == 0)
		r = write_events(&exposition, report);
	return r;
}
