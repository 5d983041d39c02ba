// SPDX-License-Identifier: GPL-3.0-or-later
//
// Sessions as rows. A result exists only at the end, and so do a reason and an end.
#include "config.h"

#include "client/view/session.h"

#include "client/render/format.h"
#include "client/render/width.h"

#include <assert.h>
#include <inttypes.h>

static const char *const state_names[] = {
	[CONDPROF__SESSION_STATE__STARTING] = "starting", [CONDPROF__SESSION_STATE__RUNNING] = "running",
	[CONDPROF__SESSION_STATE__STOPPING] = "stopping", [CONDPROF__SESSION_STATE__FINISHED] = "finished",
	[CONDPROF__SESSION_STATE__FAILED] = "failed",     [CONDPROF__SESSION_STATE__INTERRUPTED] = "interrupted",
};
static_assert(ARRAY_SIZE(state_names) == CONDPROF__SESSION_STATE__INTERRUPTED + 1, "every state has a name");

static const struct {
	const char *name, *sentence;
} reasons[] = {
	[CONDPROF__END_REASON__REASON_NONE] = {NULL, NULL},
	[CONDPROF__END_REASON__REASON_STOPPED] = {"stopped", "it was stopped"},
	[CONDPROF__END_REASON__REASON_STOP_ACTION] = {"stop-action", "a stop action ended it"},
	[CONDPROF__END_REASON__REASON_PASSES] = {"passes", "it has run the passes asked for"},
	[CONDPROF__END_REASON__REASON_DURATION] = {"duration", "it has run for the time asked for"},
	[CONDPROF__END_REASON__REASON_ALL_EVENTS_DISABLED] = {"all-events-disabled", "every event was disabled"},
	[CONDPROF__END_REASON__REASON_SOURCE_ENDED] = {"source-ended", "there were no more frames"},
	[CONDPROF__END_REASON__REASON_ROTATED] = {"rotated", "its report was rotated"},
	[CONDPROF__END_REASON__REASON_DAEMON_STOPPED] = {"daemon-stopped", "the daemon was stopped"},
	[CONDPROF__END_REASON__REASON_SOURCE_FAILED] = {"source-failed", "the screen failed"},
	[CONDPROF__END_REASON__REASON_INPUT_FAILED] = {"input-failed", "the input failed"},
	[CONDPROF__END_REASON__REASON_CHECK_STUCK] = {"check-stuck", "a check did not come back"},
	[CONDPROF__END_REASON__REASON_INTERNAL] = {"internal", "something in the daemon failed"},
	[CONDPROF__END_REASON__REASON_DAEMON_DIED] = {"daemon-died", "the daemon died"},
};
static_assert(ARRAY_SIZE(reasons) == CONDPROF__END_REASON__REASON_DAEMON_DIED + 1, "every reason has a name");

const struct field session_fields[SESSION_FIELDS] = {
	[SESSION_ID] = {.name = "id", .title = "ID", .number = true},
	[SESSION_SCENARIO] = {.name = "scenario", .title = "Scenario"},
	[SESSION_STATE] = {.name = "state", .title = "State"},
	[SESSION_RESULT] = {.name = "result", .title = "Result", .spare = 1},
	[SESSION_REASON_CODE] = {.name = "reason.code", .title = "Reason", .spare = 3},
	[SESSION_REASON_TEXT] = {.name = "reason.text"},
	[SESSION_STARTED] = {.name = "started", .title = "Started", .spare = 5},
	[SESSION_ENDED] = {.name = "ended"},
	[SESSION_DURATION] = {.name = "duration_ns", .title = "Duration", .number = true, .spare = 2},
	[SESSION_PASSES] = {.name = "passes", .title = "Passes", .number = true, .spare = 4},
};

const char *session_state_name(Condprof__SessionState state)
{
	return (size_t)state < ARRAY_SIZE(state_names) ? state_names[state] : "unknown";
}

const char *end_reason_name(Condprof__EndReason reason)
{
	return (size_t)reason < ARRAY_SIZE(reasons) ? reasons[reason].name : "unknown";
}

const char *end_reason_sentence(Condprof__EndReason reason)
{
	return (size_t)reason < ARRAY_SIZE(reasons) ? reasons[reason].sentence
						    : "for a reason this version does not know";
}

static bool has_ended(const Condprof__Session *session)
{
	return session->state >= CONDPROF__SESSION_STATE__FINISHED;
}

bool session_failed(const Condprof__Session *session)
{
	return session->state == CONDPROF__SESSION_STATE__FAILED ||
	       session->state == CONDPROF__SESSION_STATE__INTERRUPTED ||
	       (session->has_result && session->result == CONDPROF__SESSION_RESULT__SESSION_FAILED);
}

const char *session_result_words(const Condprof__Session *session)
{
	if (session->state != CONDPROF__SESSION_STATE__FINISHED || !session->has_result)
		return "";
	return session->result == CONDPROF__SESSION_RESULT__SESSION_FAILED ? ", failed" : ", ok";
}

static enum emphasis state_emphasis(const Condprof__Session *session)
{
	if (session_failed(session))
		return EMPHASIS_BAD;
	return has_ended(session) ? EMPHASIS_NONE : EMPHASIS_GOOD;
}

/// An interrupted session has no result: nobody knows.
static struct cell result_cell(const Condprof__Session *session)
{
	if (!has_ended(session) || !session->has_result)
		return cell_null();
	return session->result == CONDPROF__SESSION_RESULT__SESSION_FAILED
		       ? cell_with(cell_text("failed"), EMPHASIS_BAD)
		       : cell_text("ok");
}

static const char *reason_text(const Condprof__Session *session)
{
	const char *said = session->reason_text;

	return said && *said ? said : end_reason_sentence(session->reason);
}

void session_cells(const Condprof__Session *session, struct cell cells[SESSION_FIELDS])
{
	bool reason = session->has_reason && session->reason != CONDPROF__END_REASON__REASON_NONE;

	cells[SESSION_ID] = cell_if(session->has_id && session->id > 0, cell_count(session->id));
	cells[SESSION_SCENARIO] = cell_text(session->scenario);
	cells[SESSION_STATE] = cell_if(
		session->has_state, cell_with(cell_text(session_state_name(session->state)), state_emphasis(session)));
	cells[SESSION_RESULT] = result_cell(session);
	cells[SESSION_REASON_CODE] = cell_if(reason, cell_text(end_reason_name(session->reason)));
	cells[SESSION_REASON_TEXT] = cell_if(reason, cell_text(reason_text(session)));
	cells[SESSION_STARTED] = cell_if(session->started_unix_ns > 0, cell_moment(session->started_unix_ns));
	cells[SESSION_ENDED] = cell_if(session->ended_unix_ns > 0, cell_moment(session->ended_unix_ns));
	cells[SESSION_DURATION] = cell_if(session->has_duration_ns, cell_duration(session->duration_ns));
	cells[SESSION_PASSES] = cell_if(session->has_passes, cell_count(session->passes));
}

enum {
	ROW_LOST = SESSION_FIELDS,
	ROW_SCREEN,
	ROW_INPUT,
	ROW_DRY_RUN,
	ROW_NO_REPORT,
	ROW_REPORT_ERROR,
	ROW_CONTINUES,
	ROW_CONTINUED,
	ROW_FIELDS
};

void view_sessions(struct render *render, const Condprof__Session *const *sessions, size_t n, const char *empty)
{
	struct field columns[ROW_FIELDS] = {
		[ROW_LOST] = {.name = "lost_occurrences"},
		[ROW_SCREEN] = {.name = "screen"},
		[ROW_INPUT] = {.name = "input"},
		[ROW_DRY_RUN] = {.name = "dry_run"},
		[ROW_NO_REPORT] = {.name = "no_report"},
		[ROW_REPORT_ERROR] = {.name = "report_error"},
		[ROW_CONTINUES] = {.name = "continues_session"},
		[ROW_CONTINUED] = {.name = "continued_by"},
	};
	const struct table table = {
		.field = {.name = "sessions", .title = ""},
		.columns = columns,
		.n_columns = ROW_FIELDS,
		.main = true,
		.empty = empty,
	};

	for (size_t i = 0; i < SESSION_FIELDS; i++)
		columns[i] = session_fields[i];
	render_table_open(render, &table);
	for (size_t i = 0; i < n; i++) {
		const Condprof__Session *session = sessions[i];
		struct cell cells[ROW_FIELDS];

		session_cells(session, cells);
		cells[ROW_LOST] = cell_if(session->has_lost_occurrences, cell_count(session->lost_occurrences));
		cells[ROW_SCREEN] = cell_text(session->screen);
		cells[ROW_INPUT] = cell_text(session->input);
		cells[ROW_DRY_RUN] = cell_if(session->has_dry_run, cell_flag(session->dry_run));
		cells[ROW_NO_REPORT] = cell_if(session->has_no_report, cell_flag(session->no_report));
		cells[ROW_REPORT_ERROR] = cell_text(session->report_error);
		cells[ROW_CONTINUES] = cell_if(session->has_continues_session, cell_count(session->continues_session));
		cells[ROW_CONTINUED] = cell_if(session->has_continued_by, cell_count(session->continued_by));
		render_row(render, cells);
	}
	render_table_close(render);
}

void view_ended_session(struct render *render, const Condprof__Session *session)
{
	static const struct group group = {.field = {.name = "session"}, .layout = LAYOUT_NONE};
	struct field fields[SESSION_FIELDS];
	struct cell cells[SESSION_FIELDS];

	for (size_t i = 0; i < SESSION_FIELDS; i++) {
		fields[i] = session_fields[i];
		fields[i].title = NULL;
	}
	session_cells(session, cells);
	render_open(render, &group);
	render_values(render, fields, SESSION_FIELDS, cells);
	render_close(render);
}

void view_rotated_session(struct render *render, const Condprof__Session *closed, int64_t next, bool whole)
{
	static const struct field columns[] = {{.name = "id", .title = "Closed", .number = true},
					       {.name = "continued_by", .title = "Goes on as", .number = true}};
	static const struct table table = {
		.field = {.name = "rotated", .title = ""}, .columns = columns, .n_columns = 2, .main = true};

	if (whole) {
		view_ended_session(render, closed);
		render_value(render, &columns[1], cell_count(next));
		return;
	}
	render_table_open(render, &table);
	render_row(render, (struct cell[]){cell_count(closed->id), cell_count(next)});
	render_table_close(render);
}

char *ended_session_sentence(const Condprof__Session *session, bool ascii)
{
	char duration[FORMAT_SIZE], passes[FORMAT_SIZE];
	const char *sentence = session->has_reason ? end_reason_sentence(session->reason) : NULL,
		   *said = session->reason_text;
	const char *result = session_result_words(session);
	char *text;

	if (asprintf(&text, "session %" PRId64 " %s%s%s after %s and %s%s%s%s%s", session->id,
		     session_state_name(session->state), result, *result ? "," : "",
		     format_duration(session->duration_ns, false, ascii, duration),
		     format_count(session->passes, "pass", "passes", passes), sentence ? ": " : "",
		     sentence ? sentence : "", said && *said ? ": " : "", said ? said : "") < 0)
		return NULL;
	char *clean = text_clean(text);
	free(text);
	return clean;
}
