// SPDX-License-Identifier: GPL-3.0-or-later
// Policy stands in the row; what is common to all requests is done here, once.
#include "daemon/control/dispatch.h"

#include "daemon/control/audit.h"
#include "daemon/control/handlers.h"

#include <assert.h>
#include <errno.h>

#define ROW(field) CONDPROF__REQUEST__BODY_##field

static const struct dispatch_row rows[] = {
	[ROW(HELLO)] = {"hello", ACCESS_OBSERVE, handle_hello},
	[ROW(BEGIN)] = {"begin", ACCESS_CONTROL, handle_begin},
	[ROW(CHUNK)] = {"chunk", ACCESS_CONTROL, handle_chunk},
	[ROW(STOP)] = {"stop", ACCESS_CONTROL, handle_stop},
	[ROW(STATUS)] = {"status", ACCESS_OBSERVE, handle_status},
	[ROW(LIST)] = {"list", ACCESS_OBSERVE, handle_list},
	[ROW(WAIT)] = {"wait", ACCESS_OBSERVE, handle_wait},
	[ROW(REPORT)] = {"report", ACCESS_OBSERVE, handle_report},
	[ROW(DELETE)] = {"delete", ACCESS_CONTROL, handle_delete},
	[ROW(EMIT)] = {"emit", ACCESS_CONTROL, handle_emit},
	[ROW(ROTATE)] = {"rotate", ACCESS_CONTROL, handle_rotate},
	[ROW(SCENARIOS)] = {"scenarios", ACCESS_OBSERVE, handle_scenarios},
	[ROW(REMOVE)] = {"remove", ACCESS_CONTROL, handle_remove},
	[ROW(CAPTURE)] = {"capture", ACCESS_CONTROL, handle_capture},
};
static_assert(ARRAY_SIZE(rows) == ROW(CAPTURE) + 1, "a row for every request");

const struct dispatch_row *dispatch_find(Condprof__Request__BodyCase body)
{
	return (unsigned)body < ARRAY_SIZE(rows) && rows[body].handle ? &rows[body] : NULL;
}

static int handle(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		  struct error *error)
{
	const struct dispatch_row *row = dispatch_find(request->body_case);
	const struct peer *peer = connection_peer(exchange->connection);

	if (!row && request->base.n_unknown_fields)
		return error_set(error, CONDPROF__CODE__UNSUPPORTED, ENOTSUP,
				 "this daemon does not know that request; it is older than the client");
	if (!row)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "a request without a body");
	if (peer->access < row->access) {
		audit_refused(peer, row->name, "it is for control-group, and this user is in observe-group");
		return error_set(error, CONDPROF__CODE__DENIED, EACCES,
				 "your user may only look (observe-group); '%s' is for control-group and root",
				 row->name);
	}
	return row->handle(control, exchange, request, error);
}

void dispatch_request(struct control *control, struct exchange *exchange, const Condprof__Request *request)
{
	struct connection *connection = exchange->connection;
	struct error error = {0};

	if (!connection_greeted(connection) && request->body_case != ROW(HELLO)) {
		error_set(&error, CONDPROF__CODE__BAD_REQUEST, EPROTO, "the first request of a connection is Hello");
		connection_refuse(connection, exchange, &error);
	} else if (handle(control, exchange, request, &error) < 0) {
		exchange_fail(exchange, &error);
	}
}
