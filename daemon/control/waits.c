// SPDX-License-Identifier: GPL-3.0-or-later
// Waiting for sessions to end: one exchange may wait for many of them, and many exchanges for one.
#include "config.h"

#include "daemon/control/sessions-internal.h"

#include "daemon/control/replies.h"

#include <errno.h>

struct session_wait {
	struct exchange *exchange;
	LIST_HEAD(, waiter) waiters;
};

/// One session that one exchange waits for.
struct waiter {
	LIST_ENTRY(waiter) of_entry, of_wait;
	struct session_wait *wait;
	struct session_entry *entry;
};

static void waiter_free(struct waiter *waiter)
{
	LIST_REMOVE(waiter, of_entry);
	LIST_REMOVE(waiter, of_wait);
	free(waiter);
}

static void wait_free(struct session_wait *wait)
{
	while (!LIST_EMPTY(&wait->waiters))
		waiter_free(LIST_FIRST(&wait->waiters));
	free(wait);
}

static void on_waiting_client_gone(struct exchange *exchange)
{
	wait_free(exchange->context);
}

void session_wait_cancel(struct session_wait *wait)
{
	wait->exchange->gone = NULL;
	wait_free(wait);
}

int session_wait_new(struct exchange *exchange, struct session_wait **ret)
{
	struct session_wait *wait = calloc(1, sizeof(*wait));

	if (!wait)
		return -ENOMEM;
	wait->exchange = exchange;
	LIST_INIT(&wait->waiters);
	exchange->context = wait;
	exchange->gone = on_waiting_client_gone;
	*ret = wait;
	return 0;
}

int session_wait_add(struct session_wait *wait, struct session_entry *entry)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return -ENOMEM;
	waiter->wait = wait;
	waiter->entry = entry;
	LIST_INSERT_HEAD(&entry->waiters, waiter, of_entry);
	LIST_INSERT_HEAD(&wait->waiters, waiter, of_wait);
	return 0;
}

static void wait_reply(struct session_wait *wait, Condprof__Session **sessions, size_t count)
{
	bool last = LIST_EMPTY(&wait->waiters);

	reply_sessions(wait->exchange, sessions, count, last);
	if (last)
		wait_free(wait);
}

void session_wait_go(struct session_wait *wait)
{
	if (LIST_EMPTY(&wait->waiters))
		wait_reply(wait, NULL, 0);
}

void session_waits_answer(struct session_entry *entry, struct session_facts *facts)
{
	Condprof__Session *session = &facts->message;
	struct waiter *waiter;

	while ((waiter = LIST_FIRST(&entry->waiters))) {
		struct session_wait *wait = waiter->wait;

		waiter_free(waiter);
		wait_reply(wait, &session, 1);
	}
}
