// SPDX-License-Identifier: GPL-3.0-or-later
//
// Two reports side by side. Machines get everything of everything: base, new, delta and percent, and null where one of
// the two is missing. People get what the difference of the averages is, what it may be, and whether it is one.
#include "config.h"

#include "client/view/diff-internal.h"

#include "client/view/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// --- cells -----------------------------------------------------------------------------------------------------------

const char *diff_percent_text(bool known, double percent, char out[FORMAT_SIZE])
{
	if (!known)
		return NULL;
	return format_change(percent, out);
}

const char *diff_change_text(struct maybe base, struct maybe new, char out[FORMAT_SIZE])
{
	double percent = 0;
	bool known = diff_percent(base, new, &percent);

	return diff_percent_text(known, percent, out);
}

const char *diff_both_text(const struct render *render, struct maybe base, struct maybe new, char out[FORMAT_SIZE])
{
	const char *unknown = render_style(render)->ascii ? "-" : "–";
	int length = base.known ? snprintf(out, FORMAT_SIZE, "%" PRId64 " / ", base.value)
				: snprintf(out, FORMAT_SIZE, "%s / ", unknown);

	if (new.known)
		snprintf(out + length, FORMAT_SIZE - (size_t)length, "%" PRId64, new.value);
	else
		snprintf(out + length, FORMAT_SIZE - (size_t)length, "%s", unknown);
	return out;
}

void diff_figure_cells(struct maybe base, struct maybe new, bool duration, struct cell *cells, size_t stride)
{
	double percent = 0;
	bool has_percent = diff_percent(base, new, &percent);
	struct maybe delta = diff_delta(base, new);

	cells[0] = duration ? cell_maybe_duration(base) : cell_maybe_count(base);
	cells[stride] = duration ? cell_maybe_duration(new) : cell_maybe_count(new);
	cells[2 * stride] = duration ? cell_maybe_duration(delta) : cell_maybe_count(delta);
	cells[3 * stride] = cell_if(has_percent, cell_number(percent));
}

const char *diff_whose(const void *base, const void *new)
{
	return base && new ? "both" : base ? "base" : "new";
}

const char *diff_event_name(const struct report *report, const struct report_condition *condition)
{
	return condition->event == REPORT_NO_EVENT ? NULL : report->events[condition->event].name;
}

// --- events ----------------------------------------------------------------------------------------------------------

enum event_figure { EVENT_EVALUATED, EVENT_FULFILLED, EVENT_CONDITIONS, EVENT_PASS, EVENT_ACTING, EVENT_FIGURES };

enum event_column {
	EVENT_NAME,
	EVENT_KIND,
	EVENT_IN,
	EVENT_BASE,
	EVENT_NEW = EVENT_BASE + EVENT_FIGURES,
	EVENT_DELTA = EVENT_NEW + EVENT_FIGURES,
	EVENT_PERCENT = EVENT_DELTA + EVENT_FIGURES,
	EVENT_CHANGE = EVENT_PERCENT + EVENT_FIGURES, ///< this and the next are for people
	EVENT_EVALUATED_TEXT,
	EVENT_FULFILLED_TEXT,
	EVENT_COLUMNS,
};

static const struct field event_columns[EVENT_COLUMNS] = {
	[EVENT_NAME] = {.name = "name", .title = "Event"},
	[EVENT_KIND] = {.name = "kind"},
	[EVENT_IN] = {.name = "in"},
	[EVENT_BASE + EVENT_EVALUATED] = {.name = "base.evaluated"},
	[EVENT_BASE + EVENT_FULFILLED] = {.name = "base.fulfilled"},
	[EVENT_BASE + EVENT_CONDITIONS] = {.name = "base.conditions_ns"},
	[EVENT_BASE + EVENT_PASS] = {.name = "base.pass_ns", .title = "Base", .number = true},
	[EVENT_BASE + EVENT_ACTING] = {.name = "base.acting_ns"},
	[EVENT_NEW + EVENT_EVALUATED] = {.name = "new.evaluated"},
	[EVENT_NEW + EVENT_FULFILLED] = {.name = "new.fulfilled"},
	[EVENT_NEW + EVENT_CONDITIONS] = {.name = "new.conditions_ns"},
	[EVENT_NEW + EVENT_PASS] = {.name = "new.pass_ns", .title = "New", .number = true},
	[EVENT_NEW + EVENT_ACTING] = {.name = "new.acting_ns"},
	[EVENT_DELTA + EVENT_EVALUATED] = {.name = "delta.evaluated"},
	[EVENT_DELTA + EVENT_FULFILLED] = {.name = "delta.fulfilled"},
	[EVENT_DELTA + EVENT_CONDITIONS] = {.name = "delta.conditions_ns"},
	[EVENT_DELTA + EVENT_PASS] =
		{.name = "delta.pass_ns", .title = "Difference", .number = true, .plus = true, .spare = 1},
	[EVENT_DELTA + EVENT_ACTING] = {.name = "delta.acting_ns"},
	[EVENT_PERCENT + EVENT_EVALUATED] = {.name = "percent.evaluated"},
	[EVENT_PERCENT + EVENT_FULFILLED] = {.name = "percent.fulfilled"},
	[EVENT_PERCENT + EVENT_CONDITIONS] = {.name = "percent.conditions"},
	[EVENT_PERCENT + EVENT_PASS] = {.name = "percent.pass"},
	[EVENT_PERCENT + EVENT_ACTING] = {.name = "percent.acting"},
	[EVENT_CHANGE] = {.title = "Change", .number = true},
	[EVENT_EVALUATED_TEXT] = {.title = "Evaluated", .number = true, .spare = 3},
	[EVENT_FULFILLED_TEXT] = {.title = "Fulfilled", .number = true, .spare = 2},
};

static struct maybe event_figure(const struct report *report, const struct report_event *event,
				 enum event_figure figure)
{
	const Condprof__EventDetail *detail = event ? event->detail : NULL;

	switch (figure) {
	case EVENT_EVALUATED:
		return maybe_if(detail, detail ? detail->evaluated : 0);
	case EVENT_FULFILLED:
		return maybe_if(detail, detail ? detail->fulfilled : 0);
	case EVENT_CONDITIONS:
		return event ? event->conditions_ns : maybe_if(false, 0);
	case EVENT_PASS:
		return event ? per_pass(report, event->conditions_ns) : maybe_if(false, 0);
	case EVENT_ACTING:
		return maybe_if(detail, detail ? detail->acting_ns : 0);
	case EVENT_FIGURES:
		break;
	}
	return maybe_if(false, 0);
}

static void event_row(struct render *render, const struct report_diff *diff, const struct event_pair *pair)
{
	const struct report_event *either = pair->new ? pair->new : pair->base;
	struct maybe base[EVENT_FIGURES], new[EVENT_FIGURES];
	char change[FORMAT_SIZE], evaluated[FORMAT_SIZE], fulfilled[FORMAT_SIZE];
	struct cell cells[EVENT_COLUMNS];

	cells[EVENT_NAME] = cell_text(either->name);
	cells[EVENT_KIND] = cell_if(either->known, cell_text(either->trigger ? "trigger" : "screen"));
	cells[EVENT_IN] = cell_text(diff_whose(pair->base, pair->new));
	for (int i = 0; i < EVENT_FIGURES; i++) {
		base[i] = event_figure(diff->base, pair->base, (enum event_figure)i);
		new[i] = event_figure(diff->new, pair->new, (enum event_figure)i);
		diff_figure_cells(base[i], new[i], i != EVENT_EVALUATED && i != EVENT_FULFILLED, &cells[EVENT_BASE + i],
				  EVENT_FIGURES);
	}
	cells[EVENT_CHANGE] = cell_text(diff_change_text(base[EVENT_PASS], new[EVENT_PASS], change));
	cells[EVENT_EVALUATED_TEXT] =
		cell_text(diff_both_text(render, base[EVENT_EVALUATED], new[EVENT_EVALUATED], evaluated));
	cells[EVENT_FULFILLED_TEXT] =
		cell_text(diff_both_text(render, base[EVENT_FULFILLED], new[EVENT_FULFILLED], fulfilled));
	render_row(render, cells);
}

static void view_diff_events(struct render *render, const struct report_diff *diff)
{
	static const struct table table = {
		.field = {.name = "events", .title = "Events: their conditions' time a pass"},
		.columns = event_columns,
		.n_columns = EVENT_COLUMNS,
	};

	render_table_open(render, &table);
	for (size_t i = 0; i < diff->n_events; i++)
		event_row(render, diff, &diff->events[i]);
	render_table_close(render);
}

// --- time ------------------------------------------------------------------------------------------------------------

enum time_figure { TIME_TOTAL, TIME_PASS, TIME_FIGURES };

enum time_column {
	TIME_TITLE, ///< for people
	TIME_PART,
	TIME_BASE,
	TIME_NEW = TIME_BASE + TIME_FIGURES,
	TIME_DELTA = TIME_NEW + TIME_FIGURES,
	TIME_PERCENT = TIME_DELTA + TIME_FIGURES,
	TIME_CHANGE = TIME_PERCENT + TIME_FIGURES, ///< for people
	TIME_COLUMNS,
};

static const struct field time_columns[TIME_COLUMNS] = {
	[TIME_TITLE] = {.title = "Part"},
	[TIME_PART] = {.name = "part"},
	[TIME_BASE + TIME_TOTAL] = {.name = "base.total_ns"},
	[TIME_BASE + TIME_PASS] = {.name = "base.pass_ns", .title = "Base", .number = true},
	[TIME_NEW + TIME_TOTAL] = {.name = "new.total_ns"},
	[TIME_NEW + TIME_PASS] = {.name = "new.pass_ns", .title = "New", .number = true},
	[TIME_DELTA + TIME_TOTAL] = {.name = "delta.total_ns"},
	[TIME_DELTA +
		TIME_PASS] = {.name = "delta.pass_ns", .title = "Difference", .number = true, .plus = true, .spare = 1},
	[TIME_PERCENT + TIME_TOTAL] = {.name = "percent.total"},
	[TIME_PERCENT + TIME_PASS] = {.name = "percent.pass"},
	[TIME_CHANGE] = {.title = "Change", .number = true},
};

static void time_row(struct render *render, const struct report_diff *diff, const char *title, const char *part,
		     struct maybe base, struct maybe new)
{
	struct maybe base_pass = per_pass(diff->base, base), new_pass = per_pass(diff->new, new);
	char change[FORMAT_SIZE];
	struct cell cells[TIME_COLUMNS] = {0};

	cells[TIME_TITLE] = cell_text(title);
	cells[TIME_PART] = cell_text(part);
	diff_figure_cells(base, new, true, &cells[TIME_BASE + TIME_TOTAL], TIME_FIGURES);
	diff_figure_cells(base_pass, new_pass, true, &cells[TIME_BASE + TIME_PASS], TIME_FIGURES);
	cells[TIME_CHANGE] = cell_text(diff_change_text(base_pass, new_pass, change));
	render_row(render, cells);
}

static void view_diff_time(struct render *render, const struct report_diff *diff)
{
	static const struct table table = {
		.field = {.name = "time", .title = "Where the time went, a pass"},
		.columns = time_columns,
		.n_columns = TIME_COLUMNS,
	};
	const struct report_time base = report_time(diff->base), new = report_time(diff->new);
	const struct {
		const char *title, *part;
		struct maybe base, new;
	} rows[] = {
		{"session", "duration", base.duration, new.duration},
		{"frame wait", "frame_wait", base.frame_wait, new.frame_wait},
		{"frame get", "frame_get", base.frame_get, new.frame_get},
		{"processing", "processing", base.processing, new.processing},
		{"  conditions", "conditions", base.conditions, new.conditions},
		{"  actions", "actions", base.actions, new.actions},
		{"    pauses", "pauses", base.pauses, new.pauses},
		{"  engine", "engine", base.engine, new.engine},
		{"limiter wait", "limiter_wait", base.limiter_wait, new.limiter_wait},
		{"safety wait", "safety_wait", base.safety_wait, new.safety_wait},
		{"report wait", "report_wait", base.report_wait, new.report_wait},
		{"other", "other", base.other, new.other},
	};

	render_table_open(render, &table);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		time_row(render, diff, rows[i].title, rows[i].part, rows[i].base, rows[i].new);
	render_table_close(render);
}

// --- the two sessions ------------------------------------------------------------------------------------------------

static void session_values(struct render *render, const char *name, const Condprof__Session *session)
{
	const struct group group = {.field = {.name = name}, .layout = LAYOUT_NONE};
	struct field fields[SESSION_FIELDS];
	struct cell cells[SESSION_FIELDS];

	for (size_t i = 0; i < SESSION_FIELDS; i++) {
		fields[i] = session_fields[i];
		fields[i].title = NULL;
	}
	session_cells(session, cells);
	render_open(render, &group);
	render_values(render, fields, SESSION_FIELDS, cells);
	render_value(render, &(struct field){.name = "screen"}, cell_text(session->screen));
	render_close(render);
}

/// Figures of a part of a session only.
static const char *not_whole(const Condprof__Session *session)
{
	if (!session->has_state || session->state == CONDPROF__SESSION_STATE__FINISHED ||
	    session->state == CONDPROF__SESSION_STATE__FAILED)
		return "";
	return session->state == CONDPROF__SESSION_STATE__INTERRUPTED ? " (interrupted)" : " (still running)";
}

static char *session_sentence(const struct render *render, const struct report *report)
{
	const Condprof__Session *session = &report->session;
	char duration[FORMAT_SIZE] = "–", id[32] = "a session", passes[FORMAT_SIZE] = "– passes",
	     moment[FORMAT_SIZE] = "";
	char *text = NULL;
	bool ascii = render_style(render)->ascii;

	if (ascii) {
		strcpy(duration, "-");
		strcpy(passes, "- passes");
	}
	if (session->has_id)
		snprintf(id, sizeof(id), "session %" PRId64, session->id);
	if (session->has_passes)
		format_count(session->passes, "pass", "passes", passes);
	if (session->has_duration_ns)
		format_duration(session->duration_ns, false, ascii, duration);
	if (session->started_unix_ns > 0)
		format_local(session->started_unix_ns, moment);
	return asprintf(&text, "%s, %s%s%s%s%s; %s in %s", id,
			session->scenario && *session->scenario ? session->scenario : "scenario not known",
			session->has_dry_run && session->dry_run ? " (dry run)" : "", not_whole(session),
			*moment ? ", begun " : "", moment, passes, duration) < 0
		       ? NULL
		       : text;
}

static int session_lines(struct render *render, const struct report_diff *diff)
{
	static const struct group group = {.layout = LAYOUT_LINES};
	CLEANUP_FREE char *base = session_sentence(render, diff->base);
	CLEANUP_FREE char *new = session_sentence(render, diff->new);

	if (!base || !new)
		return -ENOMEM;
	render_open(render, &group);
	render_value(render, &(struct field){.title = "base"}, cell_text(base));
	render_value(render, &(struct field){.title = "new"}, cell_text(new));
	render_close(render);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/// What makes a comparison less than one.
static void say_odd(struct render *render, const struct report_diff *diff)
{
	const Condprof__DebugReportOverview *base = diff->base->overview, *new = diff->new->overview;

	if (!same_text(diff->base->session.screen, diff->new->session.screen) || !diff->base->session.screen ||
	    strncmp(diff->base->session.screen, "replay:", 7) != 0)
		render_say(
			render,
			"The sessions did not look at the same recorded frames: what differs may come from what they "
			"saw. Replay both over the same frames to compare the scenarios themselves.");
	if (diff->base->session.dry_run != diff->new->session.dry_run)
		render_say(render, "One of them was a dry run: it only recorded its actions, which says nothing of how "
				   "long they take.");
	if (base->frame_width != new->frame_width || base->frame_height != new->frame_height)
		render_say(render, "Their frames had different sizes.");
	if (diff->base->scenario->quality != diff->new->scenario->quality)
		render_say(render, "Their scenarios ask for different quality.");
}

// --- --fail-if -------------------------------------------------------------------------------------------------------

static void failed_row(struct render *render, const struct report_diff *diff, const struct diff_rule *rule,
		       const struct condition_pair *pair)
{
	struct maybe base = diff_metric(diff->base, pair->base, rule->metric),
		     new = diff_metric(diff->new, pair->new, rule->metric);
	double percent = 0;
	bool has_percent = diff_pair_percent(diff, pair, rule->metric, &percent);
	char change[FORMAT_SIZE];

	render_row(render, (struct cell[]){
				   cell_text(rule->text),
				   cell_text(diff_event_name(diff->new, pair->new)),
				   cell_text(pair->new->name),
				   cell_maybe_duration(base),
				   cell_maybe_duration(new),
				   cell_if(has_percent, cell_number(percent)),
				   cell_text(diff_percent_text(has_percent, percent, change)),
			   });
}

static void view_failed(struct render *render, const struct report_diff *diff, const struct diff_options *options,
			size_t *ret_failed, size_t *ret_judged)
{
	static const struct field columns[] = {
		{.name = "rule", .title = "Rule"},
		{.name = "event", .title = "Event", .spare = 1},
		{.name = "name", .title = "Condition"},
		{.name = "base_ns", .title = "Base", .number = true},
		{.name = "new_ns", .title = "New", .number = true},
		{.name = "percent"},
		{.title = "Change", .number = true},
	};
	static const struct table table = {
		.field = {.name = "failed", .title = "Worse than --fail-if allows"},
		.columns = columns,
		.n_columns = ARRAY_SIZE(columns),
	};

	*ret_failed = *ret_judged = 0;
	render_table_open(render, &table);
	for (size_t i = 0; i < options->n_rules; i++)
		for (size_t k = 0; k < diff->n_common_conditions; k++) {
			const struct condition_pair *pair = &diff->conditions[k];
			enum diff_verdict verdict =
				diff_rule_apply(&options->rules[i], diff, pair, options->min_checks);

			*ret_judged += verdict == VERDICT_FINE || verdict == VERDICT_WORSE;
			if (verdict != VERDICT_WORSE)
				continue;
			(*ret_failed)++;
			failed_row(render, diff, &options->rules[i], pair);
		}
	render_table_close(render);
}

int view_diff(struct render *render, const struct report_diff *diff, const struct diff_options *options,
	      size_t *ret_failed, size_t *ret_judged)
{
	int r = 0;

	render_heading(render, "What differs");
	session_values(render, "base", &diff->base->session);
	session_values(render, "new", &diff->new->session);
	if (render_for_people(render))
		r = session_lines(render, diff);
	if (r == 0)
		r = view_diff_conditions(render, diff, options->min_checks);
	if (r < 0)
		return r;
	if (render_for_people(render)) {
		view_diff_only_in(render, diff, false);
		view_diff_only_in(render, diff, true);
	}
	view_diff_events(render, diff);
	view_diff_time(render, diff);
	view_failed(render, diff, options, ret_failed, ret_judged);
	if (!render_for_people(render))
		return 0;
	render_say(render,
		   "Between: where the true difference of the averages lies, by what the checks spread (Welch, 95 %%). "
		   "With fewer than %" PRId64 " checks there is no verdict.",
		   options->min_checks);
	say_odd(render, diff);
	return view_diff_redefined(render, diff);
}
