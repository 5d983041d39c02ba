// SPDX-License-Identifier: GPL-3.0-or-later
// The life of a connection: OPEN, perhaps LINGERING (the last error is being sent, whatever still comes is thrown
// away), DEAD. It is freed only from its own timer's call, so that no caller ever sees one vanish under its hands: what
// goes wrong meanwhile marks it DEAD. settle() is the one place that decides what the loop watches for next.
#include "config.h"

#include "daemon/control/connection.h"

#include "daemon/control/audit.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/listener.h"
#include "daemon/control/upload.h"
#include "proto/frame.h"
#include "proto/limits.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define READ_STEP 4096U
#define KEEP_BYTES (16U * 1024U)        // an empty buffer larger than this is given back
#define UNPACK_MAX_BYTES (512U * 1024U) // of one request's message, submessages and strings
#define UNPACK_MAX_COUNT 256U
#define HALF_CLOSED_CHECK_NS (1 * NSEC_PER_SEC)

struct buffer {
	uint8_t *data;
	size_t begin, end, capacity;
};

enum connection_state { OPEN, LINGERING, DEAD };

struct connection {
	LIST_ENTRY(connection) link;
	struct control *control;
	struct peer peer;
	int fd;
	enum connection_state state;
	bool greeted;
	bool end_of_input;   ///< the client sends no more; it may still read
	bool corked;         ///< frames are being handled: replies are sent together at the end
	bool frames_waiting; ///< complete frames may be in `in`, left for a later turn
	bool shut;           ///< LINGERING: the end was sent
	struct loop_watch *watch;
	struct loop_timer *turn, *deadline;
	int64_t armed_ns; ///< when `deadline` comes; INT64_MAX: not set
	int64_t connected_ns, heard_ns, unread_ns, lingering_ns;
	struct buffer in, out;
	struct upload_slot upload;
	TAILQ_HEAD(, exchange) exchanges; ///< oldest first
	struct exchange *streaming;       ///< whose long answer is being sent
	bool room_given;                  ///< to it, and not used yet
	unsigned n_exchanges;
};

static void settle(struct connection *connection);

// --- buffers -------------------------------------------------------------------------------------------------------

static size_t buffer_length(const struct buffer *buffer)
{
	return buffer->end - buffer->begin;
}

static void buffer_clear(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){0};
}

/// Makes room for `size` bytes behind the end.
static int buffer_reserve(struct buffer *buffer, size_t size)
{
	size_t length = buffer_length(buffer);
	uint8_t *data;

	if (buffer->capacity - buffer->end >= size)
		return 0;
	if (buffer->begin) {
		memmove(buffer->data, buffer->data + buffer->begin, length);
		buffer->begin = 0;
		buffer->end = length;
	}
	if (buffer->capacity - length >= size)
		return 0;
	data = realloc(buffer->data, length + size);
	if (!data)
		return -ENOMEM;
	buffer->data = data;
	buffer->capacity = length + size;
	return 0;
}

static void buffer_consume(struct buffer *buffer, size_t size)
{
	buffer->begin += size;
	if (buffer->begin < buffer->end)
		return;
	buffer->begin = buffer->end = 0;
	if (buffer->capacity > KEEP_BYTES)
		buffer_clear(buffer);
}

// --- ends ----------------------------------------------------------------------------------------------------------

static void drop_exchanges(struct connection *connection)
{
	struct exchange *exchange;

	connection->streaming = NULL;
	connection->room_given = false;
	while ((exchange = TAILQ_FIRST(&connection->exchanges))) {
		TAILQ_REMOVE(&connection->exchanges, exchange, link);
		if (exchange->gone)
			exchange->gone(exchange);
		free(exchange);
	}
	connection->n_exchanges = 0;
	connection->upload.upload = upload_free(connection->upload.upload);
}

static void kill_connection(struct connection *connection)
{
	connection->state = DEAD;
	loop_watch_set(connection->watch, 0);
	loop_timer_clear(connection->deadline);
	loop_timer_set(connection->turn, 0);
}

struct connection *connection_free(struct connection *connection)
{
	struct control *control;

	if (!connection)
		return NULL;
	control = connection->control;
	drop_exchanges(connection);
	control->out_bytes -= buffer_length(&connection->out);
	buffer_clear(&connection->in);
	buffer_clear(&connection->out);
	loop_watch_free(connection->watch);
	loop_timer_free(connection->turn);
	loop_timer_free(connection->deadline);
	if (connection->fd >= 0)
		close(connection->fd);
	LIST_REMOVE(connection, link);
	control->n_connections--;
	free(connection);
	listener_client_left(control->listener);
	return NULL;
}

// --- replies -------------------------------------------------------------------------------------------------------

static void flush(struct connection *connection)
{
	struct buffer *out = &connection->out;
	ssize_t sent;

	while (buffer_length(out) && connection->state != DEAD) {
		sent = send(connection->fd, out->data + out->begin, buffer_length(out), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (sent < 0) {
			kill_connection(connection);
			return;
		}
		connection->control->out_bytes -= (size_t)sent;
		connection->unread_ns = loop_now_ns();
		buffer_consume(out, (size_t)sent);
	}
}

static void send_reply(struct connection *connection, const Condprof__Reply *reply)
{
	struct buffer *out = &connection->out;
	size_t size = frame_size(&reply->base);

	if (connection->state == DEAD)
		return;
	if (size > FRAME_MAX_BYTES + FRAME_HEADER_MAX || buffer_length(out) + size > CONNECTION_OUT_MAX ||
	    buffer_reserve(out, size) < 0) {
		log_warning("client pid %d is cut off: %zu bytes of replies wait to be read, and %zu more would come",
			    (int)connection->peer.pid, buffer_length(out), size);
		kill_connection(connection);
		return;
	}
	if (!buffer_length(out))
		connection->unread_ns = loop_now_ns();
	frame_pack(&reply->base, out->data + out->end);
	out->end += size;
	connection->control->out_bytes += size;
}

static void send_error(struct connection *connection, bool has_id, uint64_t id, const struct error *error,
		       Condprof__Problem **problems, size_t count)
{
	Condprof__Error body = CONDPROF__ERROR__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;

	body.has_code = true;
	body.code = error->code;
	body.message = (char *)error->message;
	body.place = error->place[0] ? (char *)error->place : NULL;
	body.problems = problems;
	body.n_problems = count;
	reply.has_id = has_id;
	reply.id = id;
	reply.has_last = reply.last = true;
	reply.body_case = CONDPROF__REPLY__BODY_ERROR;
	reply.error = &body;
	send_reply(connection, &reply);
}

void connection_refuse(struct connection *connection, struct exchange *exchange, const struct error *error)
{
	if (connection->state != OPEN) {
		if (exchange)
			exchange_drop(exchange);
		return;
	}
	log_debug("client pid %d uid %u refused: %s", (int)connection->peer.pid, connection->peer.uid, error->message);
	if (exchange)
		exchange_fail(exchange, error);
	else
		send_error(connection, false, 0, error, NULL, 0);
	if (connection->state == DEAD)
		return;
	drop_exchanges(connection);
	connection->state = LINGERING;
	connection->lingering_ns = loop_now_ns();
	buffer_clear(&connection->in);
	settle(connection);
}

static bool has_room(const struct connection *connection)
{
	size_t waiting = buffer_length(&connection->out);

	return !waiting || (waiting < CONNECTION_WATERMARK && connection->control->out_bytes < CONNECTIONS_OUT_MAX_ALL);
}

/// The stream whose turn it is, if it wants to go on.
static struct exchange *next_stream(struct connection *connection)
{
	struct exchange *exchange;

	if (connection->streaming)
		return connection->streaming->wants_room ? connection->streaming : NULL;
	TAILQ_FOREACH(exchange, &connection->exchanges, link)
	if (exchange->wants_room)
		return exchange;
	return NULL;
}

static void give_room(struct connection *connection)
{
	struct exchange *exchange;

	if (connection->state != OPEN || connection->room_given || !has_room(connection))
		return;
	exchange = next_stream(connection);
	if (!exchange)
		return;
	connection->streaming = exchange;
	connection->room_given = true;
	exchange->wants_room = false;
	exchange->room(exchange);
}

void exchange_want_room(struct exchange *exchange)
{
	struct connection *connection = exchange->connection;

	exchange->wants_room = true;
	if (connection->streaming == exchange)
		connection->room_given = false;
	give_room(connection);
}

static void exchange_end(struct exchange *exchange)
{
	struct connection *connection = exchange->connection;

	TAILQ_REMOVE(&connection->exchanges, exchange, link);
	connection->n_exchanges--;
	if (connection->streaming == exchange) {
		connection->streaming = NULL;
		connection->room_given = false;
	}
	free(exchange);
	settle(connection);
	give_room(connection);
}

static void exchange_send(struct exchange *exchange, Condprof__Reply *reply, bool last)
{
	reply->has_id = exchange->has_id;
	reply->id = exchange->id;
	reply->has_last = true;
	reply->last = last;
	send_reply(exchange->connection, reply);
}

void exchange_reply(struct exchange *exchange, Condprof__Reply *reply)
{
	exchange_send(exchange, reply, false);
	settle(exchange->connection);
}

void exchange_finish(struct exchange *exchange, Condprof__Reply *reply)
{
	exchange_send(exchange, reply, true);
	exchange_end(exchange);
}

void exchange_fail(struct exchange *exchange, const struct error *error)
{
	exchange_fail_problems(exchange, error, NULL, 0);
}

void exchange_fail_problems(struct exchange *exchange, const struct error *error, Condprof__Problem **problems,
			    size_t count)
{
	send_error(exchange->connection, exchange->has_id, exchange->id, error, problems, count);
	exchange_end(exchange);
}

void exchange_drop(struct exchange *exchange)
{
	exchange_end(exchange);
}

// --- requests ------------------------------------------------------------------------------------------------------

static void refuse_frame(struct connection *connection, Condprof__Code code, const char *sentence)
{
	struct error error;

	error_set(&error, code, EBADMSG, "%s", sentence);
	connection_refuse(connection, NULL, &error);
}

static void refuse_stranger(struct connection *connection)
{
	const struct configuration *configuration = connection->control->configuration;
	const char *group = configuration->control_group;
	struct error error;

	error_set(&error, CONDPROF__CODE__DENIED, EACCES,
		  "user %u may not use this daemon: only root, the daemon's own user and the members of %s%s may",
		  connection->peer.uid, group ? group : "the group that control-group names in condprofd.conf",
		  group ? " (control-group in condprofd.conf)" : "");
	audit_refused(&connection->peer, NULL,
		      "neither root, the daemon's user, nor in control-group or observe-group");
	connection_refuse(connection, NULL, &error);
}

/// Looks for a complete frame in `in`. What can't become one ends the connection.
static bool next_frame(struct connection *connection, size_t *ret_header, size_t *ret_body)
{
	const struct buffer *in = &connection->in;
	size_t limit = connection->greeted ? FRAME_MAX_BYTES : FRAME_MAX_BEFORE_HELLO;
	int r = buffer_length(in) ? frame_peek(in->data + in->begin, buffer_length(in), limit, ret_header, ret_body)
				  : 0;

	if (!r)
		return false;
	if (connection->peer.access == ACCESS_NONE) {
		refuse_stranger(connection);
		return false;
	}
	if (r == -EMSGSIZE)
		refuse_frame(connection, CONDPROF__CODE__TOO_LARGE,
			     connection->greeted ? "a frame's body may have 64 KiB at the most"
						 : "before Hello a frame's body may have 1 KiB at the most");
	else if (r < 0)
		refuse_frame(connection, CONDPROF__CODE__BAD_FRAME, "a frame begins with its length as a varint");
	return r > 0 && buffer_length(in) >= *ret_header + *ret_body;
}

static struct exchange *exchange_new(struct connection *connection, const Condprof__Request *request)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange)
		return NULL;
	exchange->connection = connection;
	exchange->has_id = request->has_id;
	exchange->id = request->id;
	TAILQ_INSERT_TAIL(&connection->exchanges, exchange, link);
	connection->n_exchanges++;
	return exchange;
}

static void dispatch(struct connection *connection, const Condprof__Request *request)
{
	struct exchange *exchange = exchange_new(connection, request);
	struct error error;

	if (!exchange) {
		kill_connection(connection);
	} else if (connection->n_exchanges > CONNECTION_EXCHANGES_MAX) {
		error_set(&error, CONDPROF__CODE__BUSY, EBUSY,
			  "%u requests of this connection wait for their answer already", CONNECTION_EXCHANGES_MAX);
		exchange_fail(exchange, &error);
	} else {
		dispatch_request(connection->control, exchange, request);
	}
}

static void take_frame(struct connection *connection, const uint8_t *body, size_t size)
{
	struct capped_allocator capped;
	ProtobufCMessage *message;
	int r;

	capped_allocator_init(&capped, UNPACK_MAX_BYTES, UNPACK_MAX_COUNT);
	r = message_unpack(&condprof__request__descriptor, body, size, &capped, &message);
	if (r == -EMSGSIZE)
		refuse_frame(connection, CONDPROF__CODE__TOO_LARGE, "a request of too many parts");
	else if (r == -EILSEQ)
		refuse_frame(connection, CONDPROF__CODE__BAD_FRAME, "a string that is not UTF-8, or has a NUL in it");
	else if (r == -ENOMEM)
		kill_connection(connection);
	else if (r < 0)
		refuse_frame(connection, CONDPROF__CODE__BAD_FRAME, "a frame that is not a Request message");
	if (r < 0)
		return;
	dispatch(connection, (const Condprof__Request *)message);
	protobuf_c_message_free_unpacked(message, NULL);
}

static bool may_take(const struct connection *connection)
{
	return connection->state == OPEN && buffer_length(&connection->out) < CONNECTION_WATERMARK;
}

/// Handles the complete frames in `in`, up to a turn's share.
static void take_frames(struct connection *connection)
{
	size_t header, body;

	connection->corked = true;
	for (unsigned n = 0; n < CONNECTION_FRAMES_A_TURN && may_take(connection); n++) {
		if (!next_frame(connection, &header, &body))
			break;
		take_frame(connection, connection->in.data + connection->in.begin + header, body);
		if (connection->state == OPEN)
			buffer_consume(&connection->in, header + body);
	}
	connection->frames_waiting =
		connection->state == OPEN && buffer_length(&connection->in) && next_frame(connection, &header, &body);
	connection->corked = false;
	settle(connection);
}

// --- what the loop says --------------------------------------------------------------------------------------------

/// How much may be read now: a step, or the rest of the frame that began, but never more than twice what has come of
/// it.
static size_t read_size(const struct connection *connection)
{
	const struct buffer *in = &connection->in;
	size_t limit = connection->greeted ? FRAME_MAX_BYTES : FRAME_MAX_BEFORE_HELLO, length = buffer_length(in);
	size_t header, body, rest = READ_STEP;

	if (length && frame_peek(in->data + in->begin, length, limit, &header, &body) > 0 && header + body > length)
		rest = MIN(header + body - length, MAX(length, READ_STEP));
	return MAX(rest, in->capacity - in->end);
}

static void on_readable(struct connection *connection)
{
	struct buffer *in = &connection->in;
	size_t size = read_size(connection);
	ssize_t got;

	if (buffer_reserve(in, size) < 0) {
		kill_connection(connection);
		return;
	}
	got = recv(connection->fd, in->data + in->end, in->capacity - in->end, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	if (got < 0) {
		kill_connection(connection);
		return;
	}
	if (!got)
		connection->end_of_input = true;
	if (connection->state == LINGERING) {
		settle(connection);
		return;
	}
	in->end += (size_t)got;
	connection->heard_ns = loop_now_ns();
	take_frames(connection);
}

static void on_ready(void *context, unsigned ready)
{
	struct connection *connection = context;

	if (connection->state != DEAD && (ready & LOOP_WRITE)) {
		settle(connection);
		give_room(connection);
	}
	if (connection->state != DEAD && (ready & LOOP_READ) && !connection->end_of_input &&
	    !connection->frames_waiting)
		on_readable(connection);
}

static void on_turn(void *context)
{
	struct connection *connection = context;

	if (connection->state == DEAD)
		connection_free(connection);
	else
		take_frames(connection);
}

static bool hung_up(const struct connection *connection)
{
	struct pollfd look = {.fd = connection->fd};

	return poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR));
}

/// When to look whether the client has been silent, or has not read, for too long; INT64_MAX: never.
static int64_t deadline_of(const struct connection *connection)
{
	if (connection->state == LINGERING)
		return connection->lingering_ns + LINGER_TIMEOUT_NS;
	if (!connection->greeted)
		return connection->connected_ns + HELLO_TIMEOUT_NS;
	if (buffer_length(&connection->out))
		return connection->unread_ns + UNREAD_TIMEOUT_NS;
	if (connection->end_of_input)
		return connection->heard_ns + HALF_CLOSED_CHECK_NS;
	if (buffer_length(&connection->in) || connection->upload.upload)
		return connection->heard_ns + FRAME_TIMEOUT_NS;
	return TAILQ_EMPTY(&connection->exchanges) ? connection->heard_ns + IDLE_TIMEOUT_NS : INT64_MAX;
}

static void time_out(struct connection *connection)
{
	if (connection->state == LINGERING || buffer_length(&connection->out)) {
		kill_connection(connection);
	} else if (!connection->greeted) {
		refuse_frame(connection, CONDPROF__CODE__BAD_REQUEST, "no Hello came within 10 s");
	} else if (connection->end_of_input) {
		connection->heard_ns = loop_now_ns();
		if (hung_up(connection))
			kill_connection(connection);
	} else if (buffer_length(&connection->in) || connection->upload.upload) {
		refuse_frame(connection, CONDPROF__CODE__BAD_FRAME,
			     "nothing came for 60 s in the middle of a frame or an upload");
	} else {
		kill_connection(connection);
	}
}

static void on_deadline(void *context)
{
	struct connection *connection = context;

	connection->armed_ns = INT64_MAX;
	if (connection->state == DEAD)
		return;
	if (loop_now_ns() >= deadline_of(connection))
		time_out(connection);
	settle(connection);
}

// --- settling ------------------------------------------------------------------------------------------------------

/// A timer that was set stays, also when the deadline moved away meanwhile: it looks again then. So a busy client sets
/// no timer at all.
static void arm_deadline(struct connection *connection)
{
	int64_t deadline = deadline_of(connection);

	if (deadline >= connection->armed_ns)
		return;
	connection->armed_ns = deadline;
	loop_timer_set(connection->deadline, deadline - loop_now_ns());
}

static void settle_ends(struct connection *connection)
{
	if (buffer_length(&connection->out))
		return;
	if (connection->state == LINGERING && !connection->shut) {
		connection->shut = true;
		shutdown(connection->fd, SHUT_WR);
	}
	if (!connection->end_of_input)
		return;
	if (connection->state == LINGERING || (TAILQ_EMPTY(&connection->exchanges) && !connection->frames_waiting))
		kill_connection(connection);
	else if (hung_up(connection))
		kill_connection(connection);
}

static void settle(struct connection *connection)
{
	unsigned interest = 0;

	if (connection->corked || connection->state == DEAD)
		return;
	flush(connection);
	if (connection->state != DEAD)
		settle_ends(connection);
	if (connection->state == DEAD)
		return;
	if (connection->frames_waiting && may_take(connection))
		loop_timer_set(connection->turn, 0);
	if (!connection->end_of_input && (connection->state == LINGERING || !connection->frames_waiting))
		if (connection->state == LINGERING || may_take(connection))
			interest |= LOOP_READ;
	if (buffer_length(&connection->out))
		interest |= LOOP_WRITE;
	loop_watch_set(connection->watch, interest);
	arm_deadline(connection);
}

// --- new, and what handlers ask ------------------------------------------------------------------------------------

int connection_new(struct control *control, int fd, const struct peer *peer, struct connection **ret)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection)
		return -ENOMEM;
	*connection = (struct connection){
		.control = control,
		.peer = *peer,
		.fd = -1,
		.armed_ns = INT64_MAX,
		.connected_ns = loop_now_ns(),
	};
	connection->heard_ns = connection->connected_ns;
	TAILQ_INIT(&connection->exchanges);
	LIST_INSERT_HEAD(&control->connections, connection, link);
	control->n_connections++;
	r = loop_watch_new(control->loop, fd, on_ready, connection, &connection->watch);
	if (!r)
		r = loop_timer_new(control->loop, on_turn, connection, &connection->turn);
	if (!r)
		r = loop_timer_new(control->loop, on_deadline, connection, &connection->deadline);
	if (r < 0) {
		connection_free(connection);
		return r;
	}
	connection->fd = fd;
	settle(connection);
	*ret = connection;
	return 0;
}

bool connection_quiet(const struct connection *connection)
{
	return connection->state != OPEN || (!buffer_length(&connection->out) && TAILQ_EMPTY(&connection->exchanges));
}

const struct peer *connection_peer(const struct connection *connection)
{
	return &connection->peer;
}

bool connection_greeted(const struct connection *connection)
{
	return connection->greeted;
}

void connection_greet(struct connection *connection)
{
	connection->greeted = true;
}

struct upload_slot *connection_upload(struct connection *connection)
{
	return &connection->upload;
}

size_t connection_waiting(const struct connection *connection)
{
	return buffer_length(&connection->out);
}

struct connection *connection_next(const struct connection *connection)
{
	return LIST_NEXT(connection, link);
}
