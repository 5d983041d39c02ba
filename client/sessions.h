// SPDX-License-Identifier: GPL-3.0-or-later
/// Replies that are sessions, as many messages as they take, as one list.
#ifndef CONDPROF_CLIENT_SESSIONS_H
#define CONDPROF_CLIENT_SESSIONS_H

#include "client/connection.h"

struct session_list {
	Condprof__Reply **replies;
	size_t n_replies;
	const Condprof__Session **items; ///< point into the replies
	size_t n;
};

/// Collects the replies to request `id` up to the last. @return as connection_receive(); the list is empty on failure
int sessions_receive(struct connection *connection, uint64_t id, struct session_list *ret, struct error *error);

/// Adds the sessions of one reply, which is handed over.
int sessions_add(struct session_list *list, Condprof__Reply *reply, struct error *error);

void sessions_clear(struct session_list *list);

#endif
