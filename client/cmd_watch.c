// SPDX-License-Identifier: GPL-3.0-or-later
//
// watch: follows a session by snapshots of its report, one an interval, until it ends. Between the snapshots it waits
// for the session's end, which it asked for at the beginning: so the end shows at once, and so does a daemon that dies.
// A session without a report has only the figures of its status. On a full screen, keys and changes of its size
// interrupt every wait, also the one for a snapshot, and then it goes on.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "client/fetch.h"
#include "client/quantity.h"
#include "client/sessions.h"
#include "client/terminal.h"
#include "client/view/screen.h"
#include "client/view/session.h"
#include "client/view/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define INTERVAL_MIN_NS (100 * NSEC_PER_MSEC)
#define INTERVAL_MAX_NS (24 * 3600 * NSEC_PER_SEC)

/// A session at one moment.
struct snapshot {
	struct report *report;
	struct session_list status; ///< of a session without a report: report->session points into it
};

struct watch {
	struct client *client;
	struct connection *connection;
	int64_t session;
	bool no_report;
	int64_t interval_ns, count; ///< count 0: to the end
	uint64_t wait_request;
	struct snapshot before, now;
	struct session_list ended; ///< empty: it runs
	int64_t number;
	bool anew;             ///< the session goes on in another report: its interval counts from that one's start
	struct render *render; ///< rows; NULL: JSON, or a full screen
	bool screen;
	struct screen_options look; ///< of the full screen
	struct watch_state state;   ///< what is shown
	bool quit;
};

static void snapshot_clear(struct snapshot *snapshot)
{
	snapshot->report = report_free(snapshot->report);
	sessions_clear(&snapshot->status);
}

static void watch_clear(struct watch *watch)
{
	snapshot_clear(&watch->before);
	snapshot_clear(&watch->now);
	sessions_clear(&watch->ended);
	interval_clear(&watch->state.interval);
	interval_clear(&watch->state.total);
	watch->connection = connection_close(watch->connection);
}

// --- output ----------------------------------------------------------------------------------------------------------

/// What the screen shows before the first interval is over: nothing of it is known.
static int no_interval(const struct report *report, struct interval *ret)
{
	struct interval_condition *conditions = calloc(report->n_conditions + 1, sizeof(*conditions));

	if (!conditions)
		return -ENOMEM;
	*ret = (struct interval){
		.conditions = conditions, .n_conditions = report->n_conditions, .dearest = INTERVAL_NO_CONDITION};
	return 0;
}

static int fill_state(struct watch *watch)
{
	bool ended = watch->ended.n > 0 && watch->ended.items[0]->id == watch->session;
	const struct report *before = watch->anew ? NULL : watch->before.report;
	struct watch_state state = {
		.session = ended ? watch->ended.items[0] : &watch->now.report->session,
		.report = watch->now.report,
		.number = watch->number,
	};
	int r = before || watch->anew ? interval_between(before, watch->now.report, &state.interval)
				      : no_interval(watch->now.report, &state.interval);

	if (r == 0)
		r = interval_between(NULL, watch->now.report, &state.total);
	if (r < 0) {
		interval_clear(&state.interval);
		return r;
	}
	interval_clear(&watch->state.interval);
	interval_clear(&watch->state.total);
	watch->state = state;
	return 0;
}

/// Made apart and written at once.
static int draw(struct watch *watch)
{
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return -ENOMEM;
	terminal_size(&watch->look.width, &watch->look.height);
	int r = view_screen(memory, &watch->state, &watch->look);
	if (fclose(memory) != 0)
		r = -ENOMEM;
	if (r == 0)
		fwrite(text, 1, size, stdout);
	return r;
}

// --- the full screen -------------------------------------------------------------------------------------------------

/// Does what keys say. @return false: that was to quit
static bool attend(struct watch *watch)
{
	bool redraw = false;
	int event;

	while (!watch->quit && (event = terminal_event()) != TERMINAL_NOTHING) {
		if (event == 'q' || event == TERMINAL_CLOSED)
			watch->quit = true;
		else if (event == TERMINAL_REDRAW || screen_key(&watch->look, event))
			redraw = true;
	}
	if (redraw && !watch->quit && watch->state.report && draw(watch) == 0)
		fflush(stdout);
	return !watch->quit;
}

// --- snapshots -------------------------------------------------------------------------------------------------------

static int ask_status(struct watch *watch, int64_t session, struct session_list *ret, struct error *error)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__StatusRequest status = CONDPROF__STATUS_REQUEST__INIT;

	status.has_session = session > 0;
	status.session = session;
	request.body_case = CONDPROF__REQUEST__BODY_STATUS;
	request.status = &status;
	connection_set_interrupt(watch->connection, -1); // the answer comes at once, or never
	int r = connection_send(watch->connection, &request, error);
	if (r == 0)
		r = sessions_receive(watch->connection, request.id, ret, error);
	connection_set_interrupt(watch->connection, watch->screen ? terminal_fd() : -1);
	return r;
}

static int empty_next(struct report_source *source, Condprof__ReportPart *ret_part, const uint8_t **ret_data,
		      size_t *ret_size, struct error *error)
{
	(void)source, (void)ret_part, (void)ret_data, (void)ret_size, (void)error;
	return 0;
}

/// A report that knows nothing but the session's status.
static int take_status(struct watch *watch, struct snapshot *ret, struct error *error)
{
	struct report_source nothing = {.next = empty_next};
	int r = ask_status(watch, watch->session, &ret->status, error);

	if (r == 0 && ret->status.n == 0)
		r = error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "the daemon answered without a session");
	if (r == 0)
		r = report_load(&nothing, &ret->report, error);
	if (r == 0)
		ret->report->session = *ret->status.items[0];
	return r;
}

/// A daemon's stream that keys do not end.
struct patient_source {
	struct report_source base;
	struct report_source *inner;
	struct watch *watch;
};

static int patient_next(struct report_source *base, Condprof__ReportPart *ret_part, const uint8_t **ret_data,
			size_t *ret_size, struct error *error)
{
	struct patient_source *source = (struct patient_source *)base;
	int r;

	do
		r = source->inner->next(source->inner, ret_part, ret_data, ret_size, error);
	while (r == -EINTR && attend(source->watch));
	return r;
}

static int take_report(struct watch *watch, struct snapshot *ret, struct error *error)
{
	struct report_source *source CLEANUP(report_source_cleanup) = NULL;

	connection_set_interrupt(watch->connection, -1);
	int r = report_source_daemon(watch->connection, watch->session, &(struct report_query)REPORT_QUERY_ALL, &source,
				     error);
	connection_set_interrupt(watch->connection, watch->screen ? terminal_fd() : -1);
	struct patient_source patient = {.base.next = patient_next, .inner = source, .watch = watch};

	return r < 0 ? r : report_load(&patient.base, &ret->report, error);
}

static int take_snapshot(struct watch *watch, struct error *error)
{
	struct snapshot snapshot = {0};
	int r = watch->no_report ? take_status(watch, &snapshot, error) : take_report(watch, &snapshot, error);

	if (r < 0) {
		snapshot_clear(&snapshot);
		return r;
	}
	snapshot_clear(&watch->before);
	watch->before = watch->now;
	watch->now = snapshot;
	return 0;
}

static enum exit_code show_interval(struct watch *watch)
{
	int r = fill_state(watch);

	if (r == 0 && watch->screen)
		r = draw(watch);
	else if (r == 0 && watch->render)
		view_watch_row(watch->render, &watch->state);
	else if (r == 0)
		r = view_watch_line(stdout, &watch->state);
	if (r == 0 && fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_DONE;
	int reason = r < 0 ? -r : errno;
	terminal_leave();
	return client_fail(watch->client, EXIT_FAILED, "%s%s",
			   r < 0 ? "" : "can't write to standard output: ", strerror(reason));
}

/// Whether the report that was shown is not the session's last: then the next one is what is followed.
static bool goes_on(struct watch *watch)
{
	const Condprof__DebugReportOverview *overview = watch->now.report->overview;

	watch->anew = !watch->no_report && overview && overview->has_continued_by;
	if (!watch->anew)
		return false;
	if (!watch->screen)
		client_note(watch->client, "session %" PRId64 " goes on as session %" PRId64, watch->session,
			    overview->continued_by);
	watch->session = overview->continued_by;
	return true;
}

static enum exit_code end_output(struct watch *watch)
{
	if (!watch->render)
		return EXIT_DONE;
	view_watch_end(watch->render);
	return client_render_done(watch->client, TAKE_POINTER(watch->render));
}

/// The last line: with the rows for people, else a remark.
static enum exit_code say_ended(struct watch *watch)
{
	const Condprof__Session *session = watch->ended.items[0];
	CLEANUP_FREE char *sentence = ended_session_sentence(session, !watch->client->utf8);

	if (!sentence)
		return client_fail(watch->client, EXIT_FAILED, "out of memory");
	if (watch->client->output == OUTPUT_TEXT)
		printf("%s\n", sentence);
	else
		client_note(watch->client, "%s", sentence);
	return session_failed(session) ? EXIT_FAILED : EXIT_DONE;
}

// --- the command -----------------------------------------------------------------------------------------------------

/// The session to follow: the one asked for, or the only one that runs.
static enum exit_code choose_session(struct watch *watch)
{
	struct session_list list CLEANUP(sessions_clear) = {0};
	struct error error = {0};
	int r = ask_status(watch, watch->session, &list, &error);

	if (r < 0)
		return client_fail_error(watch->client, r, &error);
	if (list.n == 0)
		return client_fail(watch->client, EXIT_NOT_FOUND, "no session is running");
	if (list.n > 1)
		return client_fail(watch->client, EXIT_USAGE,
				   "several sessions are running: name one (condprofctl status shows them)");
	const Condprof__Session *session = list.items[0];
	watch->session = session->id;
	watch->no_report = session->no_report;
	if (session->state < CONDPROF__SESSION_STATE__FINISHED)
		return EXIT_DONE;
	return client_fail(watch->client, EXIT_NO_DAEMON,
			   "session %" PRId64 " has ended: condprofctl report %" PRId64 " shows what it did",
			   session->id, session->id);
}

static int ask_for_end(struct watch *watch, struct error *error)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__WaitRequest wait = CONDPROF__WAIT_REQUEST__INIT;

	wait.has_session = true;
	wait.session = watch->session;
	request.body_case = CONDPROF__REQUEST__BODY_WAIT;
	request.wait = &wait;
	int r = connection_send(watch->connection, &request, error);
	watch->wait_request = request.id;
	return r;
}

/// Waits for the session's end, up to `until_ns`. @return 0; whether it ended is then in watch->ended
static int wait_until(struct watch *watch, int64_t until_ns, struct error *error)
{
	Condprof__Reply *reply;
	int r;

	do
		r = connection_receive(watch->connection, watch->wait_request, until_ns, &reply, error);
	while (r == -EINTR && attend(watch));
	if (r == -EAGAIN)
		return 0;
	if (r == 0)
		r = sessions_add(&watch->ended, reply, error);
	if (r == 0 && watch->ended.n == 0)
		r = error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "the daemon answered without a session");
	return r;
}

static enum exit_code finish(struct watch *watch, int r, enum exit_code code, const struct error *error)
{
	terminal_leave(); // before anything else is said
	if (watch->quit)
		return EXIT_DONE;
	return r < 0 ? client_fail_error(watch->client, r, error) : code;
}

static enum exit_code follow(struct watch *watch)
{
	struct error error = {0};
	enum exit_code code = EXIT_DONE;
	int r = ask_for_end(watch, &error);

	if (r == 0 && watch->screen)
		connection_set_interrupt(watch->connection, terminal_fd());
	if (r == 0)
		r = take_snapshot(watch, &error);
	if (r == 0 && watch->screen)
		code = show_interval(watch);
	if (r == 0 && watch->render) {
		view_watch_begin(watch->render, &watch->now.report->session, watch->interval_ns);
		fflush(stdout); // what fails shows at the first interval
	}
	for (int64_t next_ns = clock_ns(CLOCK_MONOTONIC); r == 0 && code == EXIT_DONE && watch->ended.n == 0;) {
		next_ns = MAX(next_ns + watch->interval_ns,
			      clock_ns(CLOCK_MONOTONIC)); // what was late is not made up for
		r = wait_until(watch, next_ns, &error);
		// a report that was rotated meanwhile has a last interval, and the next one a first
		do {
			if (r == 0)
				r = take_snapshot(watch, &error);
			watch->number += r == 0;
			if (r == 0)
				code = show_interval(watch);
			if (watch->count > 0 && watch->number >= watch->count)
				return finish(watch, r, code, &error);
		} while (r == 0 && code == EXIT_DONE && goes_on(watch));
	}
	return finish(watch, r, code, &error);
}

/// A full screen where there is one and nobody wants anything else.
static enum exit_code begin_output(struct watch *watch)
{
	struct client *client = watch->client;
	const char *no_colour = getenv("NO_COLOR");

	if (client->output == OUTPUT_JSON)
		return EXIT_DONE;
	if (client->output != OUTPUT_TEXT || client_flag(client, "--plain") || !terminal_is_screen()) {
		watch->render = client_render(client);
		return EXIT_DONE;
	}
	watch->look.style = (struct render_style){
		.colour = !(no_colour && *no_colour), .ascii = !client->utf8, .escape_8bit = !client->utf8};
	int r = terminal_enter();
	if (r < 0)
		return client_fail(client, EXIT_FAILED, "can't use the terminal: %s", strerror(-r));
	watch->screen = true;
	return EXIT_DONE;
}

static enum exit_code take_options(struct watch *watch)
{
	struct client *client = watch->client;
	const char *interval = client_option(client, "--interval");

	watch->interval_ns = NSEC_PER_SEC;
	if (interval && (duration_parse(interval, &watch->interval_ns) < 0 || watch->interval_ns < INTERVAL_MIN_NS ||
			 watch->interval_ns > INTERVAL_MAX_NS))
		return client_fail(client, EXIT_USAGE,
				   "--interval %s: a time with its unit is needed, from 100ms to 24h", interval);
	if (client->n_arguments > 0) {
		enum exit_code code = client_session_argument(client, 0, &watch->session);

		if (code != EXIT_DONE)
			return code;
	}
	return client_number_option(client, "--count", &watch->count);
}

enum exit_code cmd_watch(struct client *client)
{
	struct watch watch CLEANUP(watch_clear) = {.client = client};
	enum exit_code code = take_options(&watch), done;

	if (code == EXIT_DONE)
		code = client_connect(client, &watch.connection);
	if (code == EXIT_DONE)
		code = choose_session(&watch);
	if (code != EXIT_DONE)
		return code;
	code = begin_output(&watch);
	if (code == EXIT_DONE)
		code = follow(&watch);
	done = end_output(&watch);
	if (code == EXIT_DONE)
		code = done;
	return code == EXIT_DONE && watch.ended.n > 0 && !watch.quit ? say_ended(&watch) : code;
}
