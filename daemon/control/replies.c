// SPDX-License-Identifier: GPL-3.0-or-later
#include "daemon/control/replies.h"

/// How many of the sessions go into one reply: at least one.
static size_t fitting(Condprof__Session **sessions, size_t count)
{
	size_t bytes = 0, n = 0;

	while (n < count) {
		bytes += condprof__session__get_packed_size(sessions[n]);
		if (n && bytes > SESSIONS_REPLY_BYTES)
			break;
		n++;
	}
	return n;
}

void reply_sessions(struct exchange *exchange, Condprof__Session **sessions, size_t count, bool last)
{
	Condprof__Sessions body = CONDPROF__SESSIONS__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;

	reply.body_case = CONDPROF__REPLY__BODY_SESSIONS;
	reply.sessions = &body;
	do {
		body.sessions = sessions;
		body.n_sessions = fitting(sessions, count);
		if (body.n_sessions) // an empty list may be NULL
			sessions += body.n_sessions;
		count -= body.n_sessions;
		if (!count && last)
			exchange_finish(exchange, &reply);
		else if (body.n_sessions)
			exchange_reply(exchange, &reply);
	} while (count);
}
