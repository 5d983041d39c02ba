// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "client/sessions.h"

#include <errno.h>

void sessions_clear(struct session_list *list)
{
	for (size_t i = 0; i < list->n_replies; i++)
		reply_free(list->replies[i]);
	free(list->replies);
	free(list->items);
	*list = (struct session_list){0};
}

int sessions_add(struct session_list *list, Condprof__Reply *reply, struct error *error)
{
	if (reply->body_case != CONDPROF__REPLY__BODY_SESSIONS) {
		reply_free(reply);
		return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "the daemon answered something else");
	}
	size_t n = list->n + reply->sessions->n_sessions;
	Condprof__Reply **replies = reallocarray(list->replies, list->n_replies + 1, sizeof(*replies));
	if (replies)
		list->replies = replies;
	const Condprof__Session **items = replies ? reallocarray(list->items, n + 1, sizeof(*items)) : NULL;
	if (!items) {
		reply_free(reply);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	list->items = items;
	list->replies[list->n_replies++] = reply;
	for (size_t i = 0; i < reply->sessions->n_sessions; i++)
		list->items[list->n++] = reply->sessions->sessions[i];
	return 0;
}

int sessions_receive(struct connection *connection, uint64_t id, struct session_list *ret, struct error *error)
{
	struct session_list list = {0};
	bool last = false;
	int r = 0;

	while (r == 0 && !last) {
		Condprof__Reply *reply;

		r = connection_receive(connection, id, INT64_MAX, &reply, error);
		if (r < 0)
			break;
		last = reply->last;
		r = sessions_add(&list, reply, error);
	}
	if (r < 0)
		sessions_clear(&list);
	else
		*ret = list;
	return r;
}
