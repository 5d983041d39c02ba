// SPDX-License-Identifier: GPL-3.0-or-later
//
// emit: a broadcast for the running sessions that wait for it.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <string.h>

static enum exit_code show(struct client *client, const Condprof__Emitted *emitted)
{
	static const struct field broadcast = {.name = "broadcast"};
	static const struct field column = {.name = "session", .title = "Sent to session", .number = true};
	static const struct table table = {
		.field = {.name = "session_ids", .title = ""},
		.columns = &column,
		.n_columns = 1,
		.plain = true,
		.main = true,
	};
	struct render *render = client_render(client);

	render_value(render, &broadcast, cell_text(client->arguments[0]));
	render_table_open(render, &table);
	for (size_t i = 0; i < emitted->n_sessions; i++)
		render_row(render, (struct cell[]){cell_count(emitted->sessions[i])});
	render_table_close(render);
	return client_render_done(client, render);
}

enum exit_code cmd_emit(struct client *client)
{
	struct connection *connection CLEANUP(connection_cleanup) = NULL;
	Condprof__Reply *reply CLEANUP(reply_cleanup) = NULL;
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__EmitRequest emit = CONDPROF__EMIT_REQUEST__INIT;
	struct error error = {0};

	const char *name = client->arguments[0];

	if (!*name)
		return client_fail(client, EXIT_USAGE, "a broadcast has a name: condprofctl emit NAME");
	if (!utf8_valid(name, strlen(name)))
		return client_fail(client, EXIT_USAGE, "emit %s: the name of a broadcast is UTF-8, and this is not",
				   name);
	if (strlen(name) > NAME_MAX_BYTES)
		return client_fail(client, EXIT_USAGE, "the name of a broadcast has at most %u bytes", NAME_MAX_BYTES);
	enum exit_code code = client_connect(client, &connection);
	if (code != EXIT_DONE)
		return code;
	emit.broadcast = (char *)(uintptr_t)name;
	request.body_case = CONDPROF__REQUEST__BODY_EMIT;
	request.emit = &emit;
	int r = connection_call(connection, &request, &reply, &error);
	if (r < 0)
		return client_fail_error(client, r, &error);
	if (reply->body_case != CONDPROF__REPLY__BODY_EMITTED)
		return client_fail(client, EXIT_PROTOCOL, "the daemon answered something else");
	return show(client, reply->emitted);
}
