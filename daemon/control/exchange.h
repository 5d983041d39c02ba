// SPDX-License-Identifier: GPL-3.0-or-later
/// One request that is not answered yet, as its handler sees it: a way to reply, and word when the client is gone. A
/// handler answers at once, or keeps the exchange and answers later; it never sees a socket or a buffer.
#ifndef CONDPROF_EXCHANGE_H
#define CONDPROF_EXCHANGE_H

#include "proto/control.pb-c.h"
#include "proto/errors.h"

#include <sys/queue.h>

struct connection;

/// Belongs to its connection. Ends by one of the calls below that say so, or by `gone`.
struct exchange {
	TAILQ_ENTRY(exchange) link;
	struct connection *connection;
	uint64_t id;
	bool has_id;
	bool wants_room;
	void *context; ///< the handler's
	void (*gone)(
		struct exchange *exchange); ///< the client went away; the exchange is freed after this. May be NULL
	void (*room)(struct exchange *exchange); ///< see exchange_want_room()
};

/// Sends a reply that others follow. Fills in id and last.
void exchange_reply(struct exchange *exchange, Condprof__Reply *reply);
/// Sends the last reply and ends the exchange.
void exchange_finish(struct exchange *exchange, Condprof__Reply *reply);
/// Answers with an error and ends the exchange.
void exchange_fail(struct exchange *exchange, const struct error *error);
/// The same with a list of problems.
/// @param problems pointers to `count` problems
void exchange_fail_problems(struct exchange *exchange, const struct error *error, Condprof__Problem **problems,
			    size_t count);
/// Ends the exchange without a word: what it belonged to is answered elsewhere.
void exchange_drop(struct exchange *exchange);

/// Asks for leave to send more of a long answer: `room` is called, perhaps at once, when the client has read enough of
/// what it was sent. The streams of a connection take turns whole: the next one begins when the one before has ended,
/// so that a client costs one open report at the most, whatever it asks for.
void exchange_want_room(struct exchange *exchange);

#endif
