// SPDX-License-Identifier: GPL-3.0-or-later
//
// try: the daemon checks every condition of a scenario on one picture, a file of ours or one it takes of a screen. No
// session is begun, nothing acted on or kept. With --annotate the picture itself comes back too, and is drawn on here.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "client/looking.h"
#include "client/sending.h"
#include "client/trial/annotate.h"
#include "client/view/tried.h"
#include "proto/limits.h"

#include <errno.h>
#include <string.h>

struct
try {
	struct client *client;
	struct scenario_to_send scenario;
	char *screen;
	const char *frame, *annotate; ///< NULL: not given
	uint8_t *png;                 ///< of --frame
	size_t png_size;
	struct connection *connection;
	struct tried tried;
	struct incoming incoming;
};

static void try_clear(struct try *try)
{
	try->connection = connection_close(try->connection);
	scenario_to_send_clear(&try->scenario);
	tried_clear(&try->tried);
	incoming_clear(&try->incoming);
	free(try->screen);
	free(try->png);
}

static enum exit_code take_options(struct try *try)
{
	const struct client *client = try->client;

	try->frame = client_option(client, "--frame");
	try->annotate = client_option(client, "--annotate");
	if (try->frame && client_option(client, "--screen"))
		return client_fail(client, EXIT_USAGE, "--frame and --screen do not go together");
	if (try->annotate && strcmp(try->annotate, "-") == 0)
		return client_fail(client, EXIT_USAGE, "--annotate needs a file: the conditions go to standard output");
	return take_screen(client, &try->screen);
}

static enum exit_code load(struct try *try)
{
	enum exit_code code = scenario_to_send_load(try->client, try->client->arguments[0], &try->scenario);

	if (code != EXIT_DONE || !try->frame)
		return code;
	return read_png_file(try->client, try->frame, SCENARIO_MAX_BYTES - try->scenario.size, &try->png,
			     &try->png_size);
}

/// The picture goes behind the scenario.
static int send_all(struct try *try, uint64_t *ret_request, struct error *error)
{
	Condprof__Begin begin = CONDPROF__BEGIN__INIT;
	Condprof__TrialOptions options = CONDPROF__TRIAL_OPTIONS__INIT;
	size_t size = try->scenario.size + try->png_size;
	CLEANUP_FREE uint8_t *data = malloc(size + 1);

	if (!data)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	memcpy(data, try->scenario.data, try->scenario.size);
	if (try->png_size)
		memcpy(data + try->scenario.size, try->png, try->png_size);
	options.screen = try->screen;
	options.has_picture_bytes = try->png_size > 0;
	options.picture_bytes = try->png_size;
	options.has_with_picture = options.with_picture = try->annotate && !try->frame;
	begin.has_upload = true;
	begin.upload = CONDPROF__UPLOAD__TRY;
	begin.trial = &options;
	return connection_upload_begin(try->connection, &begin, data, size, ret_request, error);
}

static int take_reply(struct try *try, Condprof__Reply *reply, struct error *error)
{
	int r = -EPROTO;

	if (reply->body_case == CONDPROF__REPLY__BODY_TRIED)
		return tried_add(&try->tried, reply, error);
	if (reply->body_case == CONDPROF__REPLY__BODY_CAPTURED)
		r = incoming_add(&try->incoming, reply->captured, error);
	else
		error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "the daemon answered something else");
	reply_free(reply);
	return MIN(r, 0);
}

static int ask(struct try *try, struct error *error)
{
	Condprof__Reply *reply;
	uint64_t request;
	bool last = false;
	int r = send_all(try, &request, error);

	while (r == 0 && !last) {
		r = connection_receive(try->connection, request, INT64_MAX, &reply, error);
		if (r < 0)
			break;
		last = reply->last;
		r = take_reply(try, reply, error);
	}
	return r;
}

static enum exit_code draw(struct try *try)
{
	const struct client *client = try->client;
	const uint8_t *png = try->frame ? try->png : try->incoming.data;
	size_t size = try->frame ? try->png_size : try->incoming.filled;
	struct picture *picture = NULL;
	CLEANUP_FREE uint8_t *out = NULL;
	struct error error = {0};
	size_t out_size;

	if (!png || (!try->frame && size < try->incoming.size))
		return client_fail(client, EXIT_PROTOCOL, "the daemon did not send the picture whole");
	int r = png_decode(png, size, &picture, &error);
	if (r < 0)
		return client_fail(client, EXIT_FAILED, "the picture can't be drawn on: %s", error.message);
	annotate(picture, &try->tried);
	r = png_encode(picture_view(picture), &out, &out_size, &error);
	picture_free(picture);
	if (r < 0)
		return client_fail(client, EXIT_FAILED, "%s", error.message);
	return write_png_file(client, try->annotate, out, out_size);
}

static enum exit_code show(struct try *try)
{
	const Condprof__Scenario *scenario = scenario_file_message(try->scenario.file);
	struct render *render = client_render(try->client);

	view_tried(render, scenario->name, try->frame, &try->tried);
	return client_render_done(try->client, render);
}

enum exit_code cmd_try(struct client *client)
{
	struct try try CLEANUP(try_clear) = {.client = client};
	struct error error = {0};
	enum exit_code code = take_options(&try);

	if (code == EXIT_DONE)
		code = load(&try);
	if (code == EXIT_DONE)
		code = client_connect(client, &try.connection);
	if (code != EXIT_DONE)
		return code;
	int r = ask(&try, &error);
	if (r < 0)
		return scenario_refused(client, &try.scenario, client->arguments[0], try.connection, r, &error);
	code = show(&try);
	return code == EXIT_DONE && try.annotate ? draw(&try) : code;
}
