// SPDX-License-Identifier: GPL-3.0-or-later
//
// The session itself: the head of every view for machines, and for people the overview: what ran and how it ended,
// where the time went, what was most expensive, what was lost or odd.
#include "config.h"

#include "client/view/report.h"

#include "client/render/format.h"
#include "client/view/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_EXPENSIVE 3

static bool recording_exact(const Condprof__Recording *recording)
{
	return recording->dropped_frames == 0 && recording->dropped_passes == 0;
}

static struct cell presence(bool known, int64_t count)
{
	return cell_if(known, cell_count(count));
}

/// Without its title: the same field for machines only.
static struct field untitled(struct field field)
{
	field.title = NULL;
	return field;
}

// --- session ---------------------------------------------------------------------------------------------------------

static void session_values(struct render *render, const struct report *report)
{
	struct field fields[SESSION_FIELDS];
	struct cell cells[SESSION_FIELDS];

	for (size_t i = 0; i < SESSION_FIELDS; i++)
		fields[i] = untitled(session_fields[i]);
	session_cells(&report->session, cells);
	render_values(render, fields, SESSION_FIELDS, cells);
}

static void session_figures(struct render *render, const struct report *report)
{
	const Condprof__DebugReportOverview *overview = report->overview;
	static const struct field fields[] = {
		{.name = "frames"},
		{.name = "missed_passes"},
		{.name = "lost_occurrences"},
		{.name = "dropped_occurrences"},
		{.name = "clock_pair_ns"},
		{.name = "screen_events_fulfilled"},
		{.name = "trigger_events_fulfilled"},
		{.name = "frame_width"},
		{.name = "frame_height"},
		{.name = "pass_mean_ns"},
		{.name = "pass_p50_ns"},
		{.name = "pass_p90_ns"},
		{.name = "pass_p99_ns"},
		{.name = "pass_max_ns"},
		{.name = "lateness_p50_ns"},
		{.name = "lateness_p99_ns"},
		{.name = "screen"},
		{.name = "input"},
		{.name = "dry_run"},
		{.name = "gap_count"},
		{.name = "period_ns"},
		{.name = "continues_session"},
		{.name = "continued_by"},
		{.name = "recording.folder"},
		{.name = "recording.exact"},
		{.name = "recording.passes"},
		{.name = "recording.frames"},
		{.name = "recording.bytes"},
		{.name = "recording.dropped_frames"},
		{.name = "recording.dropped_passes"},
		{.name = "recording.cut_short"},
	};
	const Condprof__Recording *recording = overview->recording;
	const Condprof__ConditionDetails *details = report->details;
	const struct cell cells[] = {
		presence(overview->has_frames, overview->frames),
		presence(overview->has_missed_passes, overview->missed_passes),
		presence(overview->has_lost_occurrences, overview->lost_occurrences),
		presence(overview->has_dropped_occurrences, overview->dropped_occurrences),
		cell_if(overview->has_clock_pair_ns, cell_duration(overview->clock_pair_ns)),
		cell_maybe_count(report_occurrences(report, false)),
		cell_maybe_count(report_occurrences(report, true)),
		presence(overview->has_frame_width, overview->frame_width),
		presence(overview->has_frame_height, overview->frame_height),
		cell_maybe_duration(report_pass_mean(report)),
		cell_maybe_duration(report_pass_percentile(report, 500)),
		cell_maybe_duration(report_pass_percentile(report, 900)),
		cell_maybe_duration(report_pass_percentile(report, 990)),
		cell_if(details && details->has_pass_time_max_ns,
			cell_duration(details ? details->pass_time_max_ns : 0)),
		cell_maybe_duration(report_lateness_percentile(report, 500)),
		cell_maybe_duration(report_lateness_percentile(report, 990)),
		cell_text(report->session.screen),
		cell_text(report->session.input),
		cell_if(report->session.has_dry_run, cell_flag(report->session.dry_run)),
		presence(overview->has_gap_count, overview->gap_count),
		cell_if(overview->has_period_ns, cell_duration(overview->period_ns)),
		presence(overview->has_continues_session, overview->continues_session),
		presence(overview->has_continued_by, overview->continued_by),
		cell_text(recording ? recording->folder : NULL),
		cell_if(recording, cell_flag(recording && recording_exact(recording))),
		presence(recording && recording->has_passes, recording ? recording->passes : 0),
		presence(recording && recording->has_frames, recording ? recording->frames : 0),
		presence(recording && recording->has_bytes, recording ? recording->bytes : 0),
		presence(recording && recording->has_dropped_frames, recording ? recording->dropped_frames : 0),
		presence(recording && recording->has_dropped_passes, recording ? recording->dropped_passes : 0),
		cell_text(recording ? recording->cut_short : NULL),
	};
	_Static_assert(ARRAY_SIZE(fields) == ARRAY_SIZE(cells), "a cell for every field");

	render_values(render, fields, ARRAY_SIZE(fields), cells);
}

static void session_gaps(struct render *render, const struct report *report)
{
	static const struct field columns[] = {{.name = "at_ns"}, {.name = "duration_ns"}};
	static const struct table table = {.field = {.name = "gaps"}, .columns = columns, .n_columns = 2};

	render_table_open(render, &table);
	for (size_t i = 0; i < report->overview->n_gaps; i++) {
		const Condprof__Gap *gap = report->overview->gaps[i];

		render_row(render, (struct cell[]){cell_duration(gap->at_ns), cell_duration(gap->duration_ns)});
	}
	render_table_close(render);
}

static const char *event_name(const struct report *report, const struct report_condition *condition)
{
	return condition->event == REPORT_NO_EVENT ? NULL : report->events[condition->event].name;
}

static bool is_not_evaluable(const struct report_condition *condition)
{
	return condition->detail && condition->detail->not_evaluable_count > 0;
}

static void session_not_evaluable(struct render *render, const struct report *report)
{
	static const struct field columns[] = {
		{.name = "event"}, {.name = "name"}, {.name = "checks"}, {.name = "why"}};
	static const struct table table = {.field = {.name = "not_evaluable"}, .columns = columns, .n_columns = 4};

	render_table_open(render, &table);
	for (size_t i = 0; i < report->n_conditions; i++) {
		const struct report_condition *condition = &report->conditions[i];

		if (is_not_evaluable(condition))
			render_row(render,
				   (struct cell[]){cell_text(event_name(report, condition)), cell_text(condition->name),
						   cell_count(condition->detail->not_evaluable_count),
						   cell_text(condition->detail->not_evaluable_why)});
	}
	render_table_close(render);
}

/// A value of the time tree. For machines its name; for people, in the overview, its title.
static void time_value(struct render *render, const char *name, const char *title, struct maybe figure, bool people)
{
	const struct field field = {
		.name = name, .title = people ? title : NULL, .total = strcmp(name, "total_ns") == 0};

	render_value(render, &field, cell_maybe_duration(figure));
}

static void session_time(struct render *render, const struct report *report, bool people)
{
	const struct report_time time = report_time(report);
	const enum layout layout = people ? LAYOUT_BARS : LAYOUT_NONE;
	const struct group whole = {
		.field = {.name = "time", .title = "Where the time went"},
		.layout = layout,
		.whole_ns = time.duration.value,
	};
	const struct group processing = {.field = {.name = "processing"}, .layout = layout};
	const struct group actions = {.field = {.name = "actions"}, .layout = layout};

	render_open(render, &whole);
	time_value(render, "duration_ns", "session", time.duration, people);
	time_value(render, "frame_wait_ns", "frame wait", time.frame_wait, people);
	time_value(render, "frame_get_ns", "frame get", time.frame_get, people);
	render_open(render, &processing);
	time_value(render, "total_ns", "processing", time.processing, people);
	time_value(render, "conditions_ns", "conditions", time.conditions, people);
	render_open(render, &actions);
	time_value(render, "total_ns", "actions", time.actions, people);
	time_value(render, "pauses_ns", "pauses", time.pauses, people);
	render_close(render);
	time_value(render, "engine_ns", "engine", time.engine, people);
	render_close(render);
	time_value(render, "limiter_wait_ns", "limiter wait", time.limiter_wait, people);
	time_value(render, "safety_wait_ns", "safety wait", time.safety_wait, people);
	time_value(render, "report_wait_ns", "report wait", time.report_wait, people);
	time_value(render, "other_ns", "other", time.other, people);
	render_close(render);
}

static void heading(struct render *render, enum view_kind view, const struct report *report)
{
	static const char *const prefixes[] = {
		[VIEW_OVERVIEW] = "Session",
		[VIEW_CONDITIONS] = "Conditions of session",
		[VIEW_EVENTS] = "Events of session",
		[VIEW_TIMELINE] = "Timeline of session",
	};
	const Condprof__Session *session = &report->session;
	const char *name = session->scenario && *session->scenario ? session->scenario : "scenario not known";
	char id[24] = "";

	if (session->has_id)
		snprintf(id, sizeof(id), " %" PRId64, session->id);
	bool runs = session->has_state && session->state < CONDPROF__SESSION_STATE__FINISHED;
	// the timeline has clicks of a dry run too, as if they were made
	bool dry = session->has_dry_run && session->dry_run;
	render_heading(render, "%s%s: %s%s%s", prefixes[view], id, name, dry ? " (dry run)" : "",
		       runs ? " (still running)" : "");
}

// --- the overview for people -----------------------------------------------------------------------------------------

static void line(struct render *render, const char *title, struct cell cell)
{
	const struct field field = {.title = title};

	render_value(render, &field, cell);
}

static const char *duration_text(struct render *render, struct maybe figure, char text[FORMAT_SIZE])
{
	bool ascii = render_style(render)->ascii;

	if (!figure.known)
		return ascii ? "-" : "–";
	return format_duration(figure.value, false, ascii, text);
}

static void state_line(struct render *render, const Condprof__Session *session)
{
	bool reason = session->has_reason && session->reason != CONDPROF__END_REASON__REASON_NONE;
	const char *said = session->reason_text && *session->reason_text ? session->reason_text : NULL,
		   *sentence = reason ? end_reason_sentence(session->reason) : NULL;
	CLEANUP_FREE char *text = NULL;

	if (!session->has_state)
		return;
	if (asprintf(&text, "%s%s%s%s%s%s", session_state_name(session->state), session_result_words(session),
		     sentence ? ": " : "", sentence ? sentence : "", said ? ": " : "", said ? said : "") < 0) {
		text = NULL;
		return;
	}
	line(render, "state", cell_with(cell_text(text), session_failed(session) ? EMPHASIS_BAD : EMPHASIS_NONE));
}

static void passes_line(struct render *render, const struct report *report)
{
	const Condprof__DebugReportOverview *overview = report->overview;
	const Condprof__ConditionDetails *details = report->details;
	struct maybe max = maybe_if(details && details->has_pass_time_max_ns, details ? details->pass_time_max_ns : 0);
	char text[400], mean[FORMAT_SIZE], p99[FORMAT_SIZE], longest[FORMAT_SIZE];

	if (!overview->has_frame_count)
		return;
	int length = snprintf(text, sizeof(text), "%" PRId64, overview->frame_count);
	if (overview->has_missed_passes && overview->missed_passes > 0)
		length += snprintf(text + length, sizeof(text) - (size_t)length, ", %" PRId64 " missed",
				   overview->missed_passes);
	if (report_pass_mean(report).known)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "; a pass took %s on average",
				   duration_text(render, report_pass_mean(report), mean));
	if (report_pass_percentile(report, 990).known)
		snprintf(text + length, sizeof(text) - (size_t)length, ", p99 %s, at most %s",
			 duration_text(render, report_pass_percentile(report, 990), p99),
			 duration_text(render, max, longest));
	line(render, "passes", cell_text(text));
}

static void rate_line(struct render *render, const Condprof__DebugReportOverview *overview)
{
	char text[100], period[FORMAT_SIZE];

	if (!overview->has_period_ns)
		return;
	if (overview->period_ns <= 0)
		line(render, "rate", cell_text("unlimited"));
	else {
		snprintf(text, sizeof(text), "a pass every %s",
			 duration_text(render, maybe_if(true, overview->period_ns), period));
		line(render, "rate", cell_text(text));
	}
}

static void frames_line(struct render *render, const Condprof__DebugReportOverview *overview)
{
	char text[100];

	if (!overview->has_frames)
		return;
	int length = snprintf(text, sizeof(text), "%" PRId64, overview->frames);
	if (overview->frame_width > 0 && overview->frame_height > 0)
		snprintf(text + length, sizeof(text) - (size_t)length, " of %" PRId64 "x%" PRId64,
			 overview->frame_width, overview->frame_height);
	line(render, "frames", cell_text(text));
}

static void occurrences_line(struct render *render, const struct report *report)
{
	const Condprof__DebugReportOverview *overview = report->overview;
	struct maybe screen = report_occurrences(report, false), trigger = report_occurrences(report, true);
	int64_t all;
	char text[160];

	// of the two a report may tell one alone: then that is all it tells; but not when the other one has no room
	if ((!screen.known && !trigger.known) || screen.known != overview->has_image_event_fulfilled_count ||
	    trigger.known != overview->has_trigger_event_fulfilled_count ||
	    __builtin_add_overflow(screen.value, trigger.value, &all))
		return;
	snprintf(text, sizeof(text), "%" PRId64 " (of screen events %" PRId64 ", of trigger events %" PRId64 ")", all,
		 screen.value, trigger.value);
	line(render, "occurrences", cell_text(text));
}

/// The reports before and after this one.
static void rotation_line(struct render *render, const Condprof__DebugReportOverview *overview)
{
	char text[160];

	if (overview->has_continues_session && overview->has_continued_by)
		snprintf(text, sizeof(text), "goes on from session %" PRId64 "; session %" PRId64 " goes on from here",
			 overview->continues_session, overview->continued_by);
	else if (overview->has_continues_session)
		snprintf(text, sizeof(text), "goes on from session %" PRId64, overview->continues_session);
	else if (overview->has_continued_by)
		snprintf(text, sizeof(text), "session %" PRId64 " goes on from here", overview->continued_by);
	else
		return;
	line(render, "rotated", cell_text(text));
}

/// Where the run can be played again from, and whether it is all there.
static void recording_line(struct render *render, const Condprof__DebugReportOverview *overview)
{
	const Condprof__Recording *recording = overview->recording;
	CLEANUP_FREE char *text = NULL;
	char dropped[2 * FORMAT_SIZE + 60] = ", exact", passes[FORMAT_SIZE], frames[FORMAT_SIZE], bytes[FORMAT_SIZE];

	if (!recording)
		return;
	if (!recording_exact(recording))
		snprintf(dropped, sizeof(dropped), ", not exact: %s and %s were dropped",
			 format_count(recording->dropped_frames, "frame", "frames", frames),
			 format_count(recording->dropped_passes, "pass", "passes", passes));
	if (asprintf(&text, "%s: %s, %s, %s%s%s%s", recording->folder ? recording->folder : "",
		     format_count(recording->passes, "pass", "passes", passes),
		     format_count(recording->frames, "frame", "frames", frames), format_bytes(recording->bytes, bytes),
		     dropped, recording->cut_short ? "; cut short: " : "",
		     recording->cut_short ? recording->cut_short : "") < 0) {
		text = NULL;
		return;
	}
	bool whole = recording_exact(recording) && !recording->cut_short;
	line(render, "recorded", cell_with(cell_text(text), whole ? EMPHASIS_NONE : EMPHASIS_BAD));
}

/// Drawn, where that is possible.
static void pass_times(struct render *render, const struct report *report)
{
	static const struct field field = {.page = "pass times"};
	const Condprof__Histogram *histogram = report->details ? report->details->pass_time : NULL;
	struct histogram_cell drawing;

	if (histogram_drawing(histogram, &drawing))
		render_value(render, &field, cell_histogram(&drawing));
}

static void session_lines(struct render *render, const struct report *report)
{
	const Condprof__Session *session = &report->session;

	state_line(render, session);
	if (session->started_unix_ns > 0)
		line(render, "started", cell_moment(session->started_unix_ns));
	if (session->ended_unix_ns > 0)
		line(render, "ended", cell_moment(session->ended_unix_ns));
	rotation_line(render, report->overview);
	recording_line(render, report->overview);
	passes_line(render, report);
	rate_line(render, report->overview);
	frames_line(render, report->overview);
	occurrences_line(render, report);
	if (session->screen && *session->screen)
		line(render, "screen", cell_text(session->screen));
	if (session->input && *session->input)
		line(render, "input", cell_text(session->input));
	if (session->dry_run)
		line(render, "dry run",
		     cell_text("clicks, swipes, keys, texts, signals and notifications were only recorded"));
	if (report->overview->has_clock_pair_ns)
		line(render, "clock pair", cell_duration(report->overview->clock_pair_ns));
	pass_times(render, report);
}

void view_report_begin(struct render *render, enum view_kind view, const struct report *report)
{
	static const struct field name = {.name = "view"};
	const struct group group = {.field = {.name = "session"}, .layout = LAYOUT_NONE};
	bool people = view == VIEW_OVERVIEW && render_for_people(render);

	render_value(render, &name, cell_text(view_names[view]));
	heading(render, view, report);
	render_open(render, &group);
	session_values(render, report);
	session_figures(render, report);
	session_gaps(render, report);
	session_not_evaluable(render, report);
	if (people)
		session_lines(render, report);
	session_time(render, report, people);
	render_close(render);
}

static int expensive_conditions(struct render *render, const struct report *report)
{
	static const struct field columns[] = {
		{.name = "event", .title = "Event", .spare = 3},
		{.name = "name", .title = "Condition"},
		{.name = "checks", .title = "Checks", .number = true, .spare = 1},
		{.name = "average_ns", .title = "Average", .number = true, .spare = 2},
		{.name = "total_ns", .title = "Total", .number = true},
		{.name = "share", .title = "Share", .number = true},
	};
	static const struct table table = {
		.field = {.name = "top_conditions", .title = "Most expensive conditions"},
		.columns = columns,
		.n_columns = ARRAY_SIZE(columns),
	};
	const struct view_options options = {.sort = SORT_TOTAL, .top = MOST_EXPENSIVE};
	CLEANUP_FREE size_t *indices = NULL;
	size_t n;
	int r = view_select_conditions(report, &options, &indices, &n);

	if (r < 0)
		return r;
	render_table_open(render, &table);
	for (size_t i = 0; i < n; i++) {
		const struct report_condition *condition = &report->conditions[indices[i]];

		if (!condition->measured || condition->checks == 0)
			continue;
		render_row(render, (struct cell[]){
					   cell_text(event_name(report, condition)),
					   cell_text(condition->name),
					   cell_count(condition->checks),
					   cell_maybe_duration(condition_average(condition)),
					   cell_duration(condition->total_ns),
					   cell_share(condition->share),
				   });
	}
	render_table_close(render);
	return 0;
}

static int expensive_events(struct render *render, const struct report *report)
{
	static const struct field columns[] = {
		{.name = "name", .title = "Event"},
		{.name = "evaluated", .title = "Evaluated", .number = true, .spare = 2},
		{.name = "fulfilled", .title = "Fulfilled", .number = true, .spare = 1},
		{.name = "conditions_ns", .title = "Conditions", .number = true},
		{.name = "share", .title = "Share", .number = true},
	};
	static const struct table table = {
		.field = {.name = "top_events", .title = "Most expensive events"},
		.columns = columns,
		.n_columns = ARRAY_SIZE(columns),
	};
	const struct view_options options = {.sort = SORT_TOTAL, .top = MOST_EXPENSIVE};
	CLEANUP_FREE size_t *indices = NULL;
	size_t n;
	int r = view_select_events(report, &options, &indices, &n);

	if (r < 0)
		return r;
	render_table_open(render, &table);
	for (size_t i = 0; i < n; i++) {
		const struct report_event *event = &report->events[indices[i]];

		if (!event->conditions_ns.known || event->conditions_ns.value == 0)
			continue;
		render_row(render, (struct cell[]){
					   cell_text(event->name),
					   presence(event->detail, event->detail ? event->detail->evaluated : 0),
					   presence(event->detail, event->detail ? event->detail->fulfilled : 0),
					   cell_maybe_duration(event->conditions_ns),
					   cell_share(event->share),
				   });
	}
	render_table_close(render);
	return 0;
}

static void say_never_reached(struct render *render, const struct report *report)
{
	size_t never = 0, measured = 0;

	for (size_t i = 0; i < report->n_conditions; i++) {
		measured += report->conditions[i].measured;
		never += report->conditions[i].measured && report->conditions[i].checks == 0;
	}
	if (never > 0)
		render_say(render, "%zu of %zu conditions %s never checked: %s why.", never, measured,
			   never == 1 ? "was" : "were",
			   render_is_whole(render) ? "the conditions below say" : "--view conditions says");
	else if (measured == 0 && report->n_conditions > 0)
		render_say(render, "This report has no figures of its conditions.");
}

int view_overview(struct render *render, const struct report *report)
{
	int r = expensive_conditions(render, report);

	if (r == 0)
		r = expensive_events(render, report);
	if (r == 0)
		say_never_reached(render, report);
	return r;
}

// --- what is odd -----------------------------------------------------------------------------------------------------

static void say_gaps(struct render *render, const Condprof__DebugReportOverview *overview)
{
	int64_t count = MAX(overview->gap_count, (int64_t)overview->n_gaps), sum = 0;
	char total[FORMAT_SIZE];
	bool ascii = render_style(render)->ascii;

	if (count == 0)
		return;
	for (size_t i = 0; i < overview->n_gaps; i++)
		if (__builtin_add_overflow(sum, overview->gaps[i]->duration_ns, &sum))
			sum = INT64_MAX;
	render_say(render, "The device was suspended %" PRId64 " time%s, %s%s in all; that time is in no duration.",
		   count, count == 1 ? "" : "s", (size_t)count > overview->n_gaps ? "more than " : "",
		   format_duration(sum, false, ascii, total));
}

static void say_lost(struct render *render, const Condprof__DebugReportOverview *overview)
{
	char count[FORMAT_SIZE];

	if (overview->lost_occurrences > 0)
		render_say(render,
			   "%s missing from the timeline: they came faster than they could be written, or the disk was "
			   "full. All other figures count them.",
			   format_count(overview->lost_occurrences, "occurrence is", "occurrences are", count));
	if (overview->dropped_occurrences > 0)
		render_say(render, "The oldest %s dropped, to keep the report's size bounded.",
			   format_count(overview->dropped_occurrences, "occurrence was", "occurrences were", count));
}

static void say_not_evaluable(struct render *render, const struct report *report)
{
	for (size_t i = 0; i < report->n_conditions; i++) {
		const struct report_condition *condition = &report->conditions[i];
		const char *event = event_name(report, condition), *why;
		char count[FORMAT_SIZE];

		if (!is_not_evaluable(condition))
			continue;
		why = condition->detail->not_evaluable_why;
		render_say(render, "Condition \"%s\"%s%s%s could not be evaluated %s%s%s.", condition->name,
			   event ? " of \"" : "", event ? event : "", event ? "\"" : "",
			   format_count(condition->detail->not_evaluable_count, "time", "times", count),
			   why && *why ? ": " : "", why && *why ? why : "");
	}
}

void view_damage(struct render *render, int damage)
{
	static const struct {
		int bit;
		const char *sentence;
	} sentences[] = {
		{DAMAGE_SCENARIO, "The report's scenario is damaged: names are missing."},
		{DAMAGE_OVERVIEW, "The report's overview is damaged: what it would say of the session is missing."},
		{DAMAGE_AGGREGATES, "The report's closing message is damaged: the figures of conditions are missing."},
		{DAMAGE_MESSAGES, "Some of the report's messages are damaged, and left out."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++)
		if (damage & sentences[i].bit)
			render_say(render, "%s", sentences[i].sentence);
}

void view_report_end(struct render *render, const struct report *report)
{
	if (!render_for_people(render))
		return;
	if (report->session.state == CONDPROF__SESSION_STATE__INTERRUPTED)
		render_say(render, "%s",
			   report->session.has_duration_ns || report->aggregates
				   ? "The daemon died while this session ran: the figures are those of its last "
				     "checkpoint, "
				     "up to 10 s before."
				   : "The daemon died before this session's first checkpoint: there are no figures.");
	say_gaps(render, report->overview);
	say_lost(render, report->overview);
	say_not_evaluable(render, report);
	view_damage(render, report->damage);
}
