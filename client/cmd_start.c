// SPDX-License-Identifier: GPL-3.0-or-later
//
// start: reads the scenario file and sends it, or names one that is installed, and says the session's id; with --wait,
// stays until the session has ended and its report is closed. Whatever ends the waiting early (Ctrl-C, --timeout)
// leaves the session running, and says so; with --stop-on-signal a signal ends the session, at whatever moment it
// comes.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "client/quantity.h"
#include "client/render/format.h"
#include "client/render/width.h"
#include "client/scenario/uri.h"
#include "client/sending.h"
#include "client/sessions.h"
#include "client/view/session.h"
#include "proto/installed.h"
#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#define PROGRESS_NS (NSEC_PER_SEC / 2)

struct start {
	struct client *client;
	struct scenario_to_send scenario; ///< no file: an installed one, which options.name names
	char *screen, *input, *record;
	Condprof__StartOptions options;
	bool wait, stop_on_signal;
	bool stop; ///< a signal has come that means the session
	struct connection *connection;
	uint64_t request;
	int64_t session; ///< 0: not known yet
	int signal_fd;
	bool progress; ///< there is a line to be overwritten
};

static void start_clear(struct start *start)
{
	start->connection = connection_close(start->connection);
	scenario_to_send_clear(&start->scenario);
	free(start->screen);
	free(start->input);
	free(start->record);
	if (start->signal_fd >= 0)
		close(start->signal_fd);
}

// --- options ---------------------------------------------------------------------------------------------------------

static enum exit_code take_uri(const struct client *client, const char *option, bool input, char **ret)
{
	const char *text = client_option(client, option);
	CLEANUP_FREE char *folder = NULL;
	struct error error = {0};

	if (!text)
		return EXIT_DONE;
	folder = getcwd(NULL, 0);
	int r = uri_for_daemon(text, input, folder, client_is_remote(client), ret, &error);
	return r < 0 ? client_fail(client, EXIT_USAGE, "%s %s: %s", option, text, error.message) : EXIT_DONE;
}

static enum exit_code take_record(struct start *start)
{
	const char *text = client_option(start->client, "--record");
	CLEANUP_FREE char *folder = NULL;
	struct error error = {0};

	if (!text)
		return EXIT_DONE;
	folder = getcwd(NULL, 0);
	int r = folder_for_daemon(text, folder, client_is_remote(start->client), &start->record, &error);
	return r < 0 ? client_fail(start->client, EXIT_USAGE, "--record %s: %s", text, error.message) : EXIT_DONE;
}

static enum exit_code take_limits(const struct client *client, Condprof__StartOptions *options)
{
	const char *rate = client_option(client, "--rate"), *passes = client_option(client, "--passes"),
		   *duration = client_option(client, "--duration");

	if (rate && rate_parse(rate, &options->rate_passes, &options->rate_per_ns) < 0)
		return client_fail(
			client, EXIT_USAGE,
			"--rate %s: a plain number above zero a second or a minute is needed, as in 10/s or 30/min, "
			"or unlimited",
			rate);
	options->has_rate_passes = options->has_rate_per_ns = rate != NULL;
	if (passes && count_parse(passes, 1, &options->max_passes) < 0)
		return client_fail(client, EXIT_USAGE, "--passes %s: a whole number from 1 up is needed", passes);
	options->has_max_passes = passes != NULL;
	if (duration && (duration_parse(duration, &options->max_duration_ns) < 0 || options->max_duration_ns == 0))
		return client_fail(client, EXIT_USAGE,
				   "--duration %s: a time above zero with its unit is needed, as in 90s or 2h",
				   duration);
	options->has_max_duration_ns = duration != NULL;
	return EXIT_DONE;
}

static enum exit_code take_options(struct start *start)
{
	struct client *client = start->client;
	Condprof__StartOptions *options = &start->options;
	enum exit_code code = take_limits(client, options);

	if (code == EXIT_DONE)
		code = take_uri(client, "--screen", false, &start->screen);
	if (code == EXIT_DONE)
		code = take_uri(client, "--input", true, &start->input);
	if (code == EXIT_DONE)
		code = take_record(start);
	options->record = start->record;
	options->screen = start->screen;
	options->input = start->input;
	options->has_dry_run = options->dry_run = client_flag(client, "--dry-run");
	options->has_no_report = options->no_report = client_flag(client, "--no-report");
	options->has_wait = options->wait = start->wait = client_flag(client, "--wait");
	start->stop_on_signal = client_flag(client, "--stop-on-signal");
	if (start->stop_on_signal && !start->wait)
		return client_fail(client, EXIT_USAGE, "--stop-on-signal goes with --wait");
	if (start->wait)
		client_wait_for_ever(client);
	return code;
}

// --- scenario --------------------------------------------------------------------------------------------------------

static bool is_file_name(const char *text)
{
	size_t length = strlen(text);

	return strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".yaml") == 0);
}

static enum exit_code take_scenario(struct start *start)
{
	const char *argument = start->client->arguments[0];

	if (is_file_name(argument))
		return scenario_to_send_load(start->client, argument, &start->scenario);
	if (!installed_name_valid(argument))
		return client_fail(
			start->client, EXIT_USAGE,
			"\"%s\" is neither an installed scenario, whose name is %s, nor a file, which has a / "
			"or .yaml in its name: ./%s?",
			error_quote(argument).text, INSTALLED_NAME_RULE, error_quote(argument).text);
	start->options.name = (char *)(uintptr_t)argument;
	return EXIT_DONE;
}

/// A file that was probably meant instead.
static void say_file(const struct start *start, const struct error *error)
{
	const char *name = start->options.name;
	char file[INSTALLED_NAME_MAX_BYTES + sizeof(".yaml")];

	if (!name || error->code != CONDPROF__CODE__NO_SUCH_NAME)
		return;
	snprintf(file, sizeof(file), "%s.yaml", name);
	if (access(name, R_OK) == 0)
		client_note(start->client, "to start the file of that name, write ./%s", name);
	else if (access(file, R_OK) == 0)
		client_note(start->client, "to start the file, write %s", file);
}

static enum exit_code refused(const struct start *start, int r, const struct error *error)
{
	enum exit_code code =
		scenario_refused(start->client, &start->scenario, start->options.name, start->connection, r, error);

	say_file(start, error);
	return code;
}

// --- waiting ---------------------------------------------------------------------------------------------------------

/// Ctrl-C must not end the program before it has said what becomes of the session.
static void catch_signals(struct start *start)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	start->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	connection_set_interrupt(start->connection, start->signal_fd);
}

/// The session has ended: nothing is left to be said of it.
static void release_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

/// Ends the program by the signal that came, as whoever sent it expects.
static void die_of_signal(const struct start *start)
{
	struct signalfd_siginfo info = {.ssi_signo = SIGINT};

	(void)!read(start->signal_fd, &info, sizeof(info));
	fflush(stdout);
	signal((int)info.ssi_signo, SIG_DFL);
	raise((int)info.ssi_signo);
	release_signals();
}

static void say_keeps_running(const struct start *start)
{
	if (start->session > 0)
		client_note(start->client, "session %" PRId64 " keeps running: condprofctl stop %" PRId64 " ends it",
			    start->session, start->session);
	else
		client_note(start->client, "the daemon had not answered yet: condprofctl status shows whether it runs");
}

static enum exit_code waiting_failed(struct start *start, int r, const struct error *error)
{
	enum exit_code code = EXIT_FAILED;

	if (r != -EINTR)
		code = refused(start, r, error);
	if (start->wait && (r == -EINTR || r == -ETIMEDOUT || r == -ENOTCONN))
		say_keeps_running(start);
	if (r == -EINTR)
		die_of_signal(start);
	return code;
}

static void clear_progress(struct start *start)
{
	if (start->progress)
		fputs("\r\033[K", stderr);
	start->progress = false;
}

static void print_progress(struct start *start, const Condprof__Session *session)
{
	char duration[FORMAT_SIZE], passes[FORMAT_SIZE], line[160];

	snprintf(line, sizeof(line), "session %" PRId64 " %s, %s, %s", session->id, session_state_name(session->state),
		 format_duration(session->duration_ns, false, !start->client->utf8, duration),
		 format_count(session->passes, "pass", "passes", passes));
	text_cut(line, client_terminal_width(STDERR_FILENO) - 1, "");
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
	start->progress = true;
}

static int ask_status(struct start *start, struct session_list *ret, struct error *error)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__StatusRequest status = CONDPROF__STATUS_REQUEST__INIT;

	status.has_session = true;
	status.session = start->session;
	request.body_case = CONDPROF__REQUEST__BODY_STATUS;
	request.status = &status;
	int r = connection_send(start->connection, &request, error);
	return r < 0 ? r : sessions_receive(start->connection, request.id, ret, error);
}

/// Asks how far it is. Whatever goes wrong here shows in the wait itself.
static int show_progress(struct start *start, struct error *error)
{
	struct session_list list CLEANUP(sessions_clear) = {0};

	if (start->client->quiet || !isatty(STDERR_FILENO))
		return 0;
	int r = ask_status(start, &list, error);
	if (r == 0 && list.n > 0 && list.items[0]->has_continued_by)
		start->session =
			list.items[0]->continued_by; // its report was rotated: the next look is at what goes on
	else if (r == 0 && list.n > 0)
		print_progress(start, list.items[0]);
	return r == -EREMOTEIO ? 0 : r;
}

/// The second reply, when the report is closed.
static int wait_for_end(struct start *start, Condprof__Reply **ret, struct error *error)
{
	int r;

	while ((r = connection_receive(start->connection, start->request, clock_ns(CLOCK_MONOTONIC) + PROGRESS_NS, ret,
				       error)) == -EAGAIN) {
		r = show_progress(start, error);
		if (r < 0)
			break;
	}
	clear_progress(start);
	return r;
}

/// The signal that came, in a start that ends its session then. Another one leaves the session to itself.
static void take_signal(struct start *start)
{
	struct signalfd_siginfo info;

	(void)!read(start->signal_fd, &info, sizeof(info));
	start->stop_on_signal = false;
	start->stop = true;
}

/// Every rotation gave what was started another id.
static int follow_rotations(struct start *start, struct error *error)
{
	bool rotated;

	do {
		struct session_list list CLEANUP(sessions_clear) = {0};
		int r = ask_status(start, &list, error);

		if (r < 0)
			return r;
		rotated = list.n > 0 && list.items[0]->has_continued_by;
		if (rotated)
			start->session = list.items[0]->continued_by;
	} while (rotated);
	return 0;
}

static int send_stop(struct start *start, struct error *error)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__StopRequest stop = CONDPROF__STOP_REQUEST__INIT;
	Condprof__Reply *reply CLEANUP(reply_cleanup) = NULL;

	stop.has_session = true;
	stop.session = start->session;
	request.body_case = CONDPROF__REQUEST__BODY_STOP;
	request.stop = &stop;
	return connection_call(start->connection, &request, &reply, error);
}

/// Its end is then waited for as before. One that has ended by itself, or is rotated at this moment, is no failure.
static int stop_session(struct start *start, struct error *error)
{
	int64_t asked;
	int r;

	start->stop = false;
	do {
		r = follow_rotations(start, error);
		asked = start->session;
		if (r == 0)
			r = send_stop(start, error);
		if (r != -EREMOTEIO || error->code != CONDPROF__CODE__ALREADY_ENDED)
			return r;
		*error = (struct error){0};
		r = follow_rotations(start, error);
	} while (r == 0 && start->session != asked);
	return r;
}

static void say_ended(const struct start *start, const Condprof__Session *session)
{
	CLEANUP_FREE char *sentence = ended_session_sentence(session, !start->client->utf8);

	client_note(start->client, "%s", sentence ? sentence : "out of memory");
	if (session->report_error && *session->report_error)
		client_note(start->client, "session %" PRId64 ": its report is not whole: %s", session->id,
			    session->report_error);
}

static enum exit_code finish_waiting(struct start *start)
{
	struct session_list list CLEANUP(sessions_clear) = {0};
	struct error error = {0};
	Condprof__Reply *reply;
	int r = start->stop ? -EINTR : wait_for_end(start, &reply, &error);

	if (r == -EINTR && start->stop_on_signal)
		take_signal(start);
	if (start->stop) {
		r = stop_session(start, &error);
		if (r == 0)
			r = wait_for_end(start, &reply, &error);
	}
	if (r == 0)
		r = sessions_add(&list, reply, &error);
	if (r < 0)
		return waiting_failed(start, r, &error);
	release_signals();
	if (list.n == 0)
		return client_fail(start->client, EXIT_PROTOCOL, "the daemon answered without a session");
	enum exit_code code = EXIT_DONE;
	if (start->client->output != OUTPUT_TEXT) {
		struct render *render = client_render(start->client);

		view_ended_session(render, list.items[0]);
		code = client_render_done(start->client, render);
	}
	say_ended(start, list.items[0]);
	return code == EXIT_DONE && session_failed(list.items[0]) ? EXIT_FAILED : code;
}

// --- the command -----------------------------------------------------------------------------------------------------

/// People and scripts get the id alone, at once; with --wait other outputs say all of it in the end.
static enum exit_code print_id(const struct start *start)
{
	static const struct field id = {.name = "id"};

	if (start->client->output == OUTPUT_TEXT) {
		printf("%" PRId64 "\n", start->session);
		return fflush(stdout) == 0
			       ? EXIT_DONE
			       : client_fail(start->client, EXIT_FAILED,
					     "session %" PRId64 " runs, but its id can't be written to standard "
					     "output: %s",
					     start->session, strerror(errno));
	}
	if (start->wait)
		return EXIT_DONE;
	struct render *render = client_render(start->client);
	render_value(render, &id, cell_count(start->session));
	return client_render_done(start->client, render);
}

/// Sends the scenario, or its name alone.
static int ask(struct start *start, struct error *error)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__Begin begin = CONDPROF__BEGIN__INIT;

	if (start->scenario.file)
		return connection_upload(start->connection, CONDPROF__UPLOAD__START, &start->options,
					 start->scenario.data, start->scenario.size, &start->request, error);
	if (connection_daemon(start->connection)->minor < PROTOCOL_MINOR_INSTALLED)
		return error_set(error, CONDPROF__CODE__UNSUPPORTED, EOPNOTSUPP,
				 "the daemon is older than this condprofctl and knows no installed scenarios: give it "
				 "the scenario's file, or update it");
	begin.has_upload = true;
	begin.upload = CONDPROF__UPLOAD__START;
	begin.options = &start->options;
	request.body_case = CONDPROF__REQUEST__BODY_BEGIN;
	request.begin = &begin;
	int r = connection_send(start->connection, &request, error);
	start->request = request.id;
	return r;
}

/// The first reply. Before it nobody knows which session a signal means.
static int wait_for_answer(struct start *start, Condprof__Reply **ret, struct error *error)
{
	int r = connection_receive(start->connection, start->request, INT64_MAX, ret, error);

	if (r != -EINTR || !start->stop_on_signal)
		return r;
	take_signal(start);
	return connection_receive(start->connection, start->request, INT64_MAX, ret, error);
}

static enum exit_code run(struct start *start)
{
	Condprof__Reply *reply CLEANUP(reply_cleanup) = NULL;
	struct error error = {0};

	int r = ask(start, &error);
	if (r == 0)
		r = wait_for_answer(start, &reply, &error);
	if (r < 0)
		return waiting_failed(start, r, &error);
	if (reply->body_case != CONDPROF__REPLY__BODY_STARTED || (start->wait && reply->last))
		return client_fail(start->client, EXIT_PROTOCOL, "the daemon answered something else");
	start->session = reply->started->session;
	enum exit_code code = print_id(start);
	return code == EXIT_DONE && start->wait ? finish_waiting(start) : code;
}

enum exit_code cmd_start(struct client *client)
{
	struct start start CLEANUP(start_clear) = {
		.client = client, .options = CONDPROF__START_OPTIONS__INIT, .signal_fd = -1};
	enum exit_code code = take_options(&start);

	if (code == EXIT_DONE)
		code = take_scenario(&start);
	if (code == EXIT_DONE)
		code = client_connect(client, &start.connection);
	if (code != EXIT_DONE)
		return code;
	if (start.wait)
		catch_signals(&start);
	return run(&start);
}
