// SPDX-License-Identifier: GPL-3.0-or-later
/// A request that the worker answers in steps: a step on the worker, then on the loop's thread what it gave is sent,
/// and the next step is made only when the client has room for it. A client that goes away ends it after the step in
/// flight.
#ifndef CONDPROF_STREAM_H
#define CONDPROF_STREAM_H

#include "daemon/control/exchange.h"
#include "daemon/control/worker.h"

/// First member of the request's own struct, which is malloc'ed and freed here.
struct stream {
	struct job job;
	struct worker *worker;
	struct exchange *exchange; ///< NULL: answered, or its client is gone
	bool is_long;              ///< many replies: waits for its turn on its connection
	bool in_flight;
	void (*step)(struct stream *stream);    ///< on the worker
	void (*stepped)(struct stream *stream); ///< on the loop's thread: sends, then stream_next() or stream_end().
						///< Also called when the client is gone: then only stream_end() is left
	void (*close)(struct stream *stream);   ///< on the worker, before the struct is freed. May be NULL
	void (*gone)(struct stream *stream);    ///< on the loop's thread: the client is gone, a step in flight may end
						///< early. May be NULL
	void (*ended)(struct stream *stream);   ///< on the loop's thread, last before the struct is freed. May be NULL
};

/// Takes the exchange over and makes the first step, now or when a long one's turn comes.
void stream_begin(struct stream *stream, struct worker *worker, struct exchange *exchange);
/// Makes the next step when the client has room.
void stream_next(struct stream *stream);
/// Makes the next step, also when the client is gone: for what is not to be left half done.
void stream_step(struct stream *stream);
/// After the exchange was finished or failed, or was gone. The struct is not to be touched any more.
void stream_end(struct stream *stream);
/// Answers with an error and ends.
void stream_fail(struct stream *stream, const struct error *error);
/// Answers and ends.
void stream_finish(struct stream *stream, Condprof__Reply *reply);

#endif
