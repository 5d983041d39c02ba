// SPDX-License-Identifier: GPL-3.0-or-later
//
// tune: the daemon measures every image condition of a scenario on every picture of a folder; what that says of its
// threshold and its area is worked out here.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "client/render/width.h"
#include "client/reports.h"
#include "client/scenario/uri.h"
#include "client/sending.h"
#include "client/view/tuning.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PROGRESS_NS (NSEC_PER_SEC / 4)

struct tune {
	struct client *client;
	struct scenario_to_send scenario;
	char *folder, *screen;
	struct connection *connection;
	struct measured measured;
	int64_t shown_ns; ///< when the progress was printed; 0: not yet
};

static void tune_clear(struct tune *tune)
{
	tune->connection = connection_close(tune->connection);
	scenario_to_send_clear(&tune->scenario);
	measured_clear(&tune->measured);
	free(tune->folder);
	free(tune->screen);
}

/// Where a session was recorded, as its report says.
static enum exit_code recorded_folder(const struct client *client, const char *text, char **ret)
{
	struct chosen_report chosen CLEANUP(chosen_report_clear) = {0};
	struct report *report CLEANUP(report_cleanup) = NULL;
	enum exit_code code = choose_report(client, text, &chosen);

	if (code == EXIT_DONE)
		code = chosen_report_load(client, &chosen, &report);
	if (code != EXIT_DONE)
		return code;
	const Condprof__Recording *recording = report->overview->recording;
	if (!recording || !recording->folder || !*recording->folder)
		return client_fail(
			client, EXIT_NOT_FOUND,
			"session %s was not recorded: start one with --record DIR, or name a folder of pictures "
			"(./%s, if it is one)",
			text, text);
	*ret = strdup(recording->folder);
	return *ret ? EXIT_DONE : client_fail(client, EXIT_FAILED, "out of memory");
}

static bool is_session(const char *text)
{
	return !strcmp(text, "latest") || (*text && !text[strspn(text, "0123456789")]);
}

/// The folder as the daemon reads it. A question mark in its name would begin options: one at the end does.
static enum exit_code take_folder(struct tune *tune)
{
	const struct client *client = tune->client;
	const char *text = client->arguments[1];
	CLEANUP_FREE char *here = getcwd(NULL, 0), *uri = NULL, *recorded = NULL;
	enum exit_code code = is_session(text) ? recorded_folder(client, text, &recorded) : EXIT_DONE;
	struct error error = {0};

	if (code != EXIT_DONE)
		return code;
	if (recorded)
		text = recorded;
	if (asprintf(&uri, "replay:%s%s", text, strchr(text, '?') ? "?" : "") < 0)
		return client_fail(client, EXIT_FAILED, "out of memory");
	if (uri_for_daemon(uri, false, here, client_is_remote(client), &tune->screen, &error) < 0)
		return client_fail(client, EXIT_USAGE, "%s: %s", text, error.message);
	tune->folder = strdup(tune->screen + strlen("replay:"));
	if (!tune->folder)
		return client_fail(client, EXIT_FAILED, "out of memory");
	if (strchr(text, '?'))
		tune->folder[strlen(tune->folder) - 1] = '\0';
	return EXIT_DONE;
}

// --- progress --------------------------------------------------------------------------------------------------------

static void show_progress(struct tune *tune)
{
	const struct measured *measured = &tune->measured;
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	char line[80];

	if (tune->client->quiet || !isatty(STDERR_FILENO) || now - tune->shown_ns < PROGRESS_NS)
		return;
	tune->shown_ns = now;
	if (measured->total)
		snprintf(line, sizeof(line), "picture %zu of %zu", measured->n_pictures, measured->total);
	else
		snprintf(line, sizeof(line), "picture %zu", measured->n_pictures);
	text_cut(line, client_terminal_width(STDERR_FILENO) - 1, "");
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
}

static void clear_progress(const struct tune *tune)
{
	if (tune->shown_ns)
		fputs("\r\033[K", stderr);
}

// --- the command -----------------------------------------------------------------------------------------------------

static int take_replies(struct tune *tune, uint64_t request, struct error *error)
{
	bool last = false;
	int r = 0;

	while (r == 0 && !last) {
		Condprof__Reply *reply CLEANUP(reply_cleanup) = NULL;

		r = connection_receive(tune->connection, request, INT64_MAX, &reply, error);
		if (r < 0)
			break;
		if (reply->body_case != CONDPROF__REPLY__BODY_TRIED)
			return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO,
					 "the daemon answered something else");
		r = measured_add(&tune->measured, reply->tried, error);
		last = reply->last;
		show_progress(tune);
	}
	return r;
}

static int ask(struct tune *tune, struct error *error)
{
	Condprof__Begin begin = CONDPROF__BEGIN__INIT;
	Condprof__TrialOptions options = CONDPROF__TRIAL_OPTIONS__INIT;
	uint64_t request;
	int r;

	options.screen = tune->screen;
	options.has_measure = options.measure = true;
	begin.has_upload = true;
	begin.upload = CONDPROF__UPLOAD__TRY;
	begin.trial = &options;
	r = connection_upload_begin(tune->connection, &begin, tune->scenario.data, tune->scenario.size, &request,
				    error);
	if (r == 0)
		r = take_replies(tune, request, error);
	clear_progress(tune);
	return r;
}

static enum exit_code show(struct tune *tune)
{
	const char *scenario = scenario_file_message(tune->scenario.file)->name;
	struct render *render = client_render(tune->client);

	if (client_flag(tune->client, "--samples"))
		view_measured(render, scenario, tune->folder, &tune->measured);
	else
		view_tuning(render, scenario, tune->folder, &tune->measured);
	return client_render_done(tune->client, render);
}

enum exit_code cmd_tune(struct client *client)
{
	struct tune tune CLEANUP(tune_clear) = {.client = client};
	struct error error = {0};
	enum exit_code code = take_folder(&tune);

	if (code == EXIT_DONE)
		code = scenario_to_send_load(client, client->arguments[0], &tune.scenario);
	if (code == EXIT_DONE)
		code = client_connect(client, &tune.connection);
	if (code != EXIT_DONE)
		return code;
	int r = ask(&tune, &error);
	if (r < 0)
		return scenario_refused(client, &tune.scenario, client->arguments[0], tune.connection, r, &error);
	return show(&tune);
}
