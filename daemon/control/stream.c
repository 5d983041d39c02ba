// SPDX-License-Identifier: GPL-3.0-or-later
// See stream.h.
#include "daemon/control/stream.h"

static void run_step(struct job *job)
{
	struct stream *stream = CONTAINER_OF(job, struct stream, job);

	stream->step(stream);
}

static void step_done(struct job *job)
{
	struct stream *stream = CONTAINER_OF(job, struct stream, job);

	stream->in_flight = false;
	stream->stepped(stream);
}

static void run_close(struct job *job)
{
	struct stream *stream = CONTAINER_OF(job, struct stream, job);

	stream->close(stream);
}

static void stream_free(struct stream *stream)
{
	if (stream->ended)
		stream->ended(stream);
	free(stream);
}

static void closed(struct job *job)
{
	stream_free(CONTAINER_OF(job, struct stream, job));
}

void stream_step(struct stream *stream)
{
	stream->in_flight = true;
	stream->job.run = run_step;
	stream->job.done = step_done;
	worker_submit(stream->worker, &stream->job);
}

static void on_gone(struct exchange *exchange)
{
	struct stream *stream = exchange->context;

	stream->exchange = NULL;
	if (stream->gone)
		stream->gone(stream);
	if (!stream->in_flight)
		stream_end(stream);
}

static void on_room(struct exchange *exchange)
{
	stream_step(exchange->context);
}

void stream_begin(struct stream *stream, struct worker *worker, struct exchange *exchange)
{
	stream->worker = worker;
	stream->exchange = exchange;
	exchange->context = stream;
	exchange->gone = on_gone;
	exchange->room = on_room;
	if (stream->is_long)
		exchange_want_room(exchange);
	else
		stream_step(stream);
}

void stream_next(struct stream *stream)
{
	exchange_want_room(stream->exchange);
}

void stream_end(struct stream *stream)
{
	stream->exchange = NULL;
	if (!stream->close) {
		stream_free(stream);
		return;
	}
	stream->job.run = run_close;
	stream->job.done = closed;
	worker_submit(stream->worker, &stream->job);
}

void stream_fail(struct stream *stream, const struct error *error)
{
	exchange_fail(stream->exchange, error);
	stream_end(stream);
}

void stream_finish(struct stream *stream, Condprof__Reply *reply)
{
	exchange_finish(stream->exchange, reply);
	stream_end(stream);
}
