// SPDX-License-Identifier: GPL-3.0-or-later
//
// status, list, stop and delete: sessions and their reports as a whole.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "client/sessions.h"
#include "client/view/session.h"

/// Sends a request that sessions answer, and shows them.
static enum exit_code show_sessions(struct client *client, Condprof__Request *request, const char *empty)
{
	struct connection *connection CLEANUP(connection_cleanup) = NULL;
	struct session_list list CLEANUP(sessions_clear) = {0};
	struct error error = {0};
	enum exit_code code = client_connect(client, &connection);

	if (code != EXIT_DONE)
		return code;
	int r = connection_send(connection, request, &error);
	if (r == 0)
		r = sessions_receive(connection, request->id, &list, &error);
	if (r < 0)
		return client_fail_error(client, r, &error);
	struct render *render = client_render(client);
	view_sessions(render, list.items, list.n, empty);
	code = client_render_done(client, render);
	// Of all that is kept only JSON tells it: the list would be long.
	for (size_t i = 0; i < list.n && request->body_case != CONDPROF__REQUEST__BODY_LIST; i++)
		if (list.items[i]->report_error && *list.items[i]->report_error)
			client_note(client, "session %lld: its report is not whole: %s", (long long)list.items[i]->id,
				    list.items[i]->report_error);
	return code;
}

enum exit_code cmd_status(struct client *client)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__StatusRequest status = CONDPROF__STATUS_REQUEST__INIT;

	if (client->n_arguments > 0) {
		enum exit_code code = client_session_argument(client, 0, &status.session);

		if (code != EXIT_DONE)
			return code;
		status.has_session = true;
	}
	request.body_case = CONDPROF__REQUEST__BODY_STATUS;
	request.status = &status;
	return show_sessions(client, &request, "No session is running.");
}

enum exit_code cmd_list(struct client *client)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__ListRequest list = CONDPROF__LIST_REQUEST__INIT;

	request.body_case = CONDPROF__REQUEST__BODY_LIST;
	request.list = &list;
	return show_sessions(client, &request, "No session is running, and no report is kept.");
}

enum exit_code cmd_stop(struct client *client)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__StopRequest stop = CONDPROF__STOP_REQUEST__INIT;

	if (client->n_arguments > 0) {
		enum exit_code code = client_session_argument(client, 0, &stop.session);

		if (code != EXIT_DONE)
			return code;
		stop.has_session = true;
	}
	if (client_flag(client, "--all")) {
		if (stop.has_session)
			return client_fail(client, EXIT_USAGE, "stop takes an id or --all, not both");
		stop.has_all = stop.all = true;
	}
	request.body_case = CONDPROF__REQUEST__BODY_STOP;
	request.stop = &stop;
	return show_sessions(client, &request, "No session was running.");
}

static enum exit_code show_deleted(struct client *client, const Condprof__Deleted *deleted)
{
	static const struct field column = {.name = "session", .title = "Deleted", .number = true};
	static const struct table table = {
		.field = {.name = "deleted", .title = ""},
		.columns = &column,
		.n_columns = 1,
		.plain = true,
		.main = true,
	};
	struct render *render = client_render(client);

	render_table_open(render, &table);
	for (size_t i = 0; i < deleted->n_sessions; i++)
		render_row(render, (struct cell[]){cell_count(deleted->sessions[i])});
	render_table_close(render);
	return client_render_done(client, render);
}

enum exit_code cmd_delete(struct client *client)
{
	struct connection *connection CLEANUP(connection_cleanup) = NULL;
	Condprof__Reply *reply CLEANUP(reply_cleanup) = NULL;
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__DeleteRequest delete = CONDPROF__DELETE_REQUEST__INIT;
	CLEANUP_FREE int64_t *ids = calloc((size_t)client->n_arguments, sizeof(*ids));
	struct error error = {0};
	enum exit_code code = ids ? EXIT_DONE : client_fail(client, EXIT_FAILED, "out of memory");

	for (int i = 0; code == EXIT_DONE && i < client->n_arguments; i++)
		code = client_session_argument(client, i, &ids[i]);
	if (code == EXIT_DONE)
		code = client_connect(client, &connection);
	if (code != EXIT_DONE)
		return code;
	delete.sessions = ids;
	delete.n_sessions = (size_t)client->n_arguments;
	request.body_case = CONDPROF__REQUEST__BODY_DELETE;
	request.delete_ = &delete;
	int r = connection_call(connection, &request, &reply, &error);
	if (r < 0)
		return client_fail_error(client, r, &error);
	if (reply->body_case != CONDPROF__REPLY__BODY_DELETED)
		return client_fail(client, EXIT_PROTOCOL, "the daemon answered something else");
	return show_deleted(client, reply->deleted);
}
