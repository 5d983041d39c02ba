// SPDX-License-Identifier: GPL-3.0-or-later
/// A daemon's report stream as a source.
#ifndef CONDPROF_CLIENT_FETCH_H
#define CONDPROF_CLIENT_FETCH_H

#include "client/connection.h"
#include "client/report/source.h"

/// Asks for a session's report.
/// @param connection stays the caller's and lives longer
/// @param session 0: the one started last
int report_source_daemon(struct connection *connection, int64_t session, const struct report_query *query,
			 struct report_source **ret, struct error *error);

/// The session that the stream is about, once a piece has come; 0: not known yet.
int64_t report_source_daemon_session(const struct report_source *source);

#endif
