// SPDX-License-Identifier: GPL-3.0-or-later
//
// rotate: closes the report of a running session, which goes on in a new one. The answer comes when the old one is
// closed; both ids are printed.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "client/view/session.h"

static enum exit_code show(struct client *client, const Condprof__Rotated *rotated)
{
	struct render *render = client_render(client);

	view_rotated_session(render, rotated->closed, rotated->session, client->output == OUTPUT_JSON);
	enum exit_code code = client_render_done(client, render);
	CLEANUP_FREE char *sentence = ended_session_sentence(rotated->closed, !client->utf8);
	client_note(client, "%s", sentence ? sentence : "out of memory");
	if (rotated->closed->report_error && *rotated->closed->report_error)
		client_note(client, "session %lld: its report is not whole: %s", (long long)rotated->closed->id,
			    rotated->closed->report_error);
	return code;
}

enum exit_code cmd_rotate(struct client *client)
{
	struct connection *connection CLEANUP(connection_cleanup) = NULL;
	Condprof__Reply *reply CLEANUP(reply_cleanup) = NULL;
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__RotateRequest rotate = CONDPROF__ROTATE_REQUEST__INIT;
	struct error error = {0};
	enum exit_code code = EXIT_DONE;

	if (client->n_arguments > 0) {
		code = client_session_argument(client, 0, &rotate.session);
		rotate.has_session = true;
	}
	if (code == EXIT_DONE)
		code = client_connect(client, &connection);
	if (code != EXIT_DONE)
		return code;
	request.body_case = CONDPROF__REQUEST__BODY_ROTATE;
	request.rotate = &rotate;
	int r = connection_call(connection, &request, &reply, &error);
	if (r < 0)
		return client_fail_error(client, r, &error);
	if (reply->body_case != CONDPROF__REPLY__BODY_ROTATED || !reply->rotated->closed)
		return client_fail(client, EXIT_PROTOCOL, "the daemon answered something else");
	return show(client, reply->rotated);
}
