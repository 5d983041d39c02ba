// SPDX-License-Identifier: GPL-3.0-or-later
//
// The socket is non-blocking; whoever waits, waits in wait_ready() alone, which knows the deadline and the interrupt.
// While requests are written, replies are read too: a daemon that has much to say and a client that has much to ask
// never wait for each other. A connection that broke while writing is read to its end before that is reported, because
// the daemon says why it closes one.
#include "config.h"

#include "client/connection.h"

#include "client/link.h"
#include "proto/frame.h"
#include "proto/limits.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#define SYSTEM_SOCKET "/run/condprof/control.sock"

// What unpacking one reply may take: small submessages amplify.
#define REPLY_MAX_BYTES (8U * 1024U * 1024U)
#define REPLY_MAX_ALLOCATIONS 100000U
#define KEPT_MAX 4096U

struct kept_reply {
	struct kept_reply *next;
	Condprof__Reply *reply;
};

struct connection {
	int fd, interrupt_fd;
	struct link *link; ///< what fd goes through; NULL: it is the daemon's own socket
	int64_t deadline_ns;
	uint64_t last_id;
	bool ended; ///< nothing more comes, nothing more goes
	struct kept_reply *kept, **kept_end;
	size_t n_kept;
	Condprof__Reply *hello, *error_reply;
	size_t filled;
	uint8_t buffer[FRAME_HEADER_MAX + FRAME_MAX_BYTES];
};

void socket_paths_clear(struct socket_paths *paths)
{
	while (paths->count)
		free(paths->paths[--paths->count]);
}

static bool has_text(const char *text)
{
	return text && *text;
}

int socket_paths_find(const char *given, struct socket_paths *ret)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct socket_paths paths = {0};

	if (!given && has_text(getenv("CONDPROF_SOCKET")))
		given = getenv("CONDPROF_SOCKET");
	if (given) {
		paths.paths[paths.count++] = strdup(given);
	} else {
		if (geteuid() != 0 && has_text(runtime) && runtime[0] == '/' &&
		    asprintf(&paths.paths[paths.count++], "%s/condprof/control.sock", runtime) < 0)
			paths.paths[paths.count - 1] = NULL;
		paths.paths[paths.count++] = strdup(SYSTEM_SOCKET);
	}
	for (size_t i = 0; i < paths.count; i++) {
		if (paths.paths[i])
			continue;
		socket_paths_clear(&paths);
		return -ENOMEM;
	}
	*ret = paths;
	return 0;
}

Condprof__Reply *reply_free(Condprof__Reply *reply)
{
	if (reply)
		condprof__reply__free_unpacked(reply, NULL);
	return NULL;
}

struct connection *connection_close(struct connection *connection)
{
	if (!connection)
		return NULL;
	while (connection->kept) {
		struct kept_reply *next = connection->kept->next;

		reply_free(connection->kept->reply);
		free(connection->kept);
		connection->kept = next;
	}
	reply_free(connection->hello);
	reply_free(connection->error_reply);
	if (connection->fd >= 0)
		close(connection->fd);
	link_close(connection->link);
	free(connection);
	return NULL;
}

const Condprof__HelloReply *connection_daemon(const struct connection *connection)
{
	return connection->hello->hello;
}

const Condprof__Error *connection_error(const struct connection *connection)
{
	return connection->error_reply ? connection->error_reply->error : NULL;
}

void connection_set_interrupt(struct connection *connection, int fd)
{
	connection->interrupt_fd = fd;
}

void connection_set_deadline(struct connection *connection, int64_t deadline_ns)
{
	connection->deadline_ns = deadline_ns;
}

static int timed_out(struct error *error)
{
	return error_set(error, CONDPROF__CODE__INTERNAL, ETIMEDOUT, "the daemon did not answer in time (--timeout)");
}

static int gone_away(struct connection *connection, struct error *error)
{
	return connection->link ? link_lost(connection->link, error)
				: error_set(error, CONDPROF__CODE__INTERNAL, ECONNRESET, "the daemon has gone away");
}

static int garbled(struct error *error, const char *what)
{
	return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO,
			 "what answers at the socket does not speak condprof's protocol: %s", what);
}

/// Waits for `events` on the socket. @return 0; -EAGAIN at until_ns; -ETIMEDOUT, -EINTR
static int wait_ready(struct connection *connection, short events, int64_t until_ns, struct error *error)
{
	struct pollfd fds[] = {
		{.fd = connection->fd, .events = events},
		{.fd = connection->interrupt_fd, .events = POLLIN},
	};

	for (;;) {
		int64_t end = MIN(until_ns, connection->deadline_ns), left = end - clock_ns(CLOCK_MONOTONIC);
		struct timespec timeout = {left / NSEC_PER_SEC, left % NSEC_PER_SEC};

		if (left <= 0)
			return until_ns < connection->deadline_ns ? -EAGAIN : timed_out(error);
		int n = ppoll(fds, ARRAY_SIZE(fds), end == INT64_MAX ? NULL : &timeout, NULL);
		if (n < 0 && errno != EINTR)
			return error_set(error, CONDPROF__CODE__INTERNAL, errno, "poll: %s", strerror(errno));
		if (n > 0 && fds[1].revents)
			return error_set(error, CONDPROF__CODE__INTERNAL, EINTR, "interrupted");
		if (n > 0 && fds[0].revents)
			return 0;
	}
}

static int keep(struct connection *connection, Condprof__Reply *reply, struct error *error)
{
	struct kept_reply *kept = connection->n_kept < KEPT_MAX ? malloc(sizeof(*kept)) : NULL;

	if (!kept) {
		reply_free(reply);
		return garbled(error, "replies to nothing that was asked");
	}
	*kept = (struct kept_reply){.reply = reply};
	*connection->kept_end = kept;
	connection->kept_end = &kept->next;
	connection->n_kept++;
	return 0;
}

/// Takes every complete frame out of the buffer.
static int take_frames(struct connection *connection, struct error *error)
{
	size_t at = 0, header, body;
	int r;

	while ((r = frame_peek(connection->buffer + at, connection->filled - at, FRAME_MAX_BYTES, &header, &body)) >
		       0 &&
	       connection->filled - at - header >= body) {
		struct capped_allocator capped;

		capped_allocator_init(&capped, REPLY_MAX_BYTES, REPLY_MAX_ALLOCATIONS);
		Condprof__Reply *reply = condprof__reply__unpack(&capped.base, body, connection->buffer + at + header);
		if (!reply)
			return garbled(error, "a frame that is no reply");
		r = keep(connection, reply, error);
		if (r < 0)
			return r;
		at += header + body;
	}
	if (r < 0)
		return garbled(error, r == -EMSGSIZE ? "a frame over 64 KiB" : "no frame");
	memmove(connection->buffer, connection->buffer + at, connection->filled - at);
	connection->filled -= at;
	return 0;
}

/// Reads what is there, without waiting. @return 0, also when nothing was; `ended` when nothing will be
static int read_some(struct connection *connection, struct error *error)
{
	ssize_t n = recv(connection->fd, connection->buffer + connection->filled,
			 sizeof(connection->buffer) - connection->filled, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		connection->ended = true;
		return 0;
	}
	connection->filled += (size_t)n;
	return take_frames(connection, error);
}

/// The peer has closed: what it said before is still to be read.
static int read_rest(struct connection *connection, struct error *error)
{
	int r = 0;

	while (!connection->ended && r == 0) {
		size_t before = connection->filled, kept = connection->n_kept;

		r = read_some(connection, error);
		if (connection->filled == before && connection->n_kept == kept)
			connection->ended = true;
	}
	return r;
}

static int write_all(struct connection *connection, const uint8_t *data, size_t size, struct error *error)
{
	while (size > 0 && !connection->ended) {
		ssize_t n = send(connection->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		int r = 0;

		if (n > 0) {
			data += n;
			size -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			r = wait_ready(connection, POLLIN | POLLOUT, INT64_MAX, error);
			if (r == 0)
				r = read_some(connection, error);
		} else if (n < 0 && errno != EINTR) {
			r = read_rest(connection, error);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int send_message(struct connection *connection, const Condprof__Request *request, struct error *error)
{
	size_t size = frame_size(&request->base);
	CLEANUP_FREE uint8_t *data = malloc(size);

	if (!data)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	if (size > FRAME_MAX_BYTES)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, EMSGSIZE, "that is too much for one request");
	frame_pack(&request->base, data);
	return write_all(connection, data, size, error);
}

int connection_send(struct connection *connection, Condprof__Request *request, struct error *error)
{
	request->has_id = true;
	request->id = ++connection->last_id;
	return send_message(connection, request, error);
}

/// Takes the first kept reply to `id`, or one that is to the connection as a whole: the daemon is about to close it.
static Condprof__Reply *take_kept(struct connection *connection, uint64_t id)
{
	for (struct kept_reply **at = &connection->kept; *at; at = &(*at)->next) {
		struct kept_reply *kept = *at;
		Condprof__Reply *reply = kept->reply;

		if (reply->id != id && !(reply->id == 0 && reply->body_case == CONDPROF__REPLY__BODY_ERROR))
			continue;
		*at = kept->next;
		if (connection->kept_end == &kept->next)
			connection->kept_end = at;
		connection->n_kept--;
		free(kept);
		return reply;
	}
	return NULL;
}

static int take_error(struct connection *connection, Condprof__Reply *reply, struct error *error)
{
	const Condprof__Error *said = reply->error;

	reply_free(connection->error_reply);
	connection->error_reply = reply;
	error_set(error, said->code, EREMOTEIO, "%s", has_text(said->message) ? said->message : "no reason given");
	if (has_text(said->place))
		error_place(error, "%s", said->place);
	return -EREMOTEIO;
}

int connection_receive(struct connection *connection, uint64_t id, int64_t until_ns, Condprof__Reply **ret,
		       struct error *error)
{
	Condprof__Reply *reply;
	int r;

	while (!(reply = take_kept(connection, id))) {
		if (connection->ended)
			return gone_away(connection, error);
		r = wait_ready(connection, POLLIN, until_ns, error);
		if (r == 0)
			r = read_some(connection, error);
		if (r < 0)
			return r;
	}
	if (reply->body_case == CONDPROF__REPLY__BODY_ERROR)
		return take_error(connection, reply, error);
	*ret = reply;
	return 0;
}

int connection_call(struct connection *connection, Condprof__Request *request, Condprof__Reply **ret,
		    struct error *error)
{
	int r = connection_send(connection, request, error);

	return r < 0 ? r : connection_receive(connection, request->id, INT64_MAX, ret, error);
}

static bool answered(const struct connection *connection, uint64_t id)
{
	for (const struct kept_reply *kept = connection->kept; kept; kept = kept->next)
		if (kept->reply->id == id || kept->reply->id == 0)
			return true;
	return connection->ended;
}

int connection_upload(struct connection *connection, Condprof__Upload upload, Condprof__StartOptions *options,
		      const uint8_t *data, size_t size, uint64_t *ret_id, struct error *error)
{
	Condprof__Begin begin = CONDPROF__BEGIN__INIT;

	begin.has_upload = true;
	begin.upload = upload;
	begin.options = options;
	return connection_upload_begin(connection, &begin, data, size, ret_id, error);
}

int connection_upload_begin(struct connection *connection, Condprof__Begin *begin, const uint8_t *data, size_t size,
			    uint64_t *ret_id, struct error *error)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__Chunk chunk = CONDPROF__CHUNK__INIT;

	begin->has_size = true;
	begin->size = size;
	request.body_case = CONDPROF__REQUEST__BODY_BEGIN;
	request.begin = begin;
	int r = connection_send(connection, &request, error);
	request.body_case = CONDPROF__REQUEST__BODY_CHUNK;
	request.chunk = &chunk;
	chunk.has_data = true;
	while (r == 0 && size > 0 && !answered(connection, request.id)) {
		chunk.data = (ProtobufCBinaryData){MIN(size, CHUNK_MAX_BYTES), (uint8_t *)(uintptr_t)data};
		r = send_message(connection, &request, error);
		data += chunk.data.len;
		size -= chunk.data.len;
	}
	if (r == 0)
		*ret_id = request.id;
	return r;
}

static int greet(struct connection *connection, struct error *error)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__Hello hello = CONDPROF__HELLO__INIT;
	Condprof__Reply *reply;
	char client[] = "condprofctl " VERSION;

	hello.has_major = hello.has_minor = true;
	hello.major = PROTOCOL_MAJOR;
	hello.minor = PROTOCOL_MINOR;
	hello.client = client;
	request.body_case = CONDPROF__REQUEST__BODY_HELLO;
	request.hello = &hello;
	int r = connection_call(connection, &request, &reply, error);
	if (r < 0)
		return r;
	connection->hello = reply;
	if (reply->body_case != CONDPROF__REPLY__BODY_HELLO)
		return garbled(error, "no greeting");
	if (reply->hello->major != PROTOCOL_MAJOR)
		return error_set(error, CONDPROF__CODE__VERSION, EPROTO,
				 "the daemon (%s) speaks protocol %u.%u, this condprofctl (%s) %u.%u: "
				 "install the same version of both",
				 has_text(reply->hello->daemon) ? reply->hello->daemon : "unknown version",
				 reply->hello->major, reply->hello->minor, VERSION, PROTOCOL_MAJOR, PROTOCOL_MINOR);
	return 0;
}

/// A full backlog makes connect() wait; SO_SNDTIMEO bounds that.
static int connect_to(int fd, const char *path, int64_t deadline_ns, struct error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(error, CONDPROF__CODE__INTERNAL, ENAMETOOLONG,
				 "the socket's path is too long (%zu bytes at most): %s", sizeof(address.sun_path) - 1,
				 path);
	strcpy(address.sun_path, path);
	for (;;) {
		int64_t left = deadline_ns == INT64_MAX ? 0 : deadline_ns - clock_ns(CLOCK_MONOTONIC);
		struct timeval timeout = {left / NSEC_PER_SEC, left % NSEC_PER_SEC / NSEC_PER_USEC};

		if (left < 0 || (left > 0 && left < NSEC_PER_USEC))
			return timed_out(error);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return 0;
		if (errno == EAGAIN || errno == EINPROGRESS)
			return timed_out(error);
		if (errno != EINTR)
			return -errno;
	}
}

/// Where nothing listens: -ENOENT and -ECONNREFUSED, for the next path to be tried.
static int try_paths(const struct socket_paths *paths, int64_t deadline_ns, int *ret_fd, struct error *error)
{
	int r = -ENOENT;

	for (size_t i = 0; i < paths->count; i++) {
		CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return error_set(error, CONDPROF__CODE__INTERNAL, errno, "socket: %s", strerror(errno));
		r = connect_to(fd, paths->paths[i], deadline_ns, error);
		if (r == 0)
			*ret_fd = take_fd(&fd);
		else if (r == -EACCES || r == -EPERM)
			return error_set(error, CONDPROF__CODE__DENIED, EACCES,
					 "%s may not be used by this user: the daemon's control-group and "
					 "observe-group say who may",
					 paths->paths[i]);
		if (r != -ENOENT && r != -ENOTDIR && r != -ECONNREFUSED)
			break;
	}
	return r;
}

int connection_socket(const struct socket_paths *paths, int64_t deadline_ns, int *ret_fd, struct error *error)
{
	int r;

	assert(paths->count > 0);
	if (error)
		*error = (struct error){0};
	r = try_paths(paths, deadline_ns, ret_fd, error);
	if (r == -ENOENT || r == -ENOTDIR || r == -ECONNREFUSED)
		return error_set(error, CONDPROF__CODE__INTERNAL, ECONNREFUSED,
				 "no daemon listens at %s%s%s: start condprofd, or name its socket with --socket",
				 paths->paths[0], paths->count > 1 ? " or " : "",
				 paths->count > 1 ? paths->paths[1] : "");
	if (r < 0 && error && !error->message[0])
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "%s: %s", paths->paths[0], strerror(-r));
	return r;
}

/// Takes link and fd over.
static int open_over(struct link *link, int fd, int64_t deadline_ns, struct connection **ret, struct error *error)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection) {
		close(fd);
		link_close(link);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	connection->fd = fd;
	connection->link = link;
	connection->interrupt_fd = -1;
	connection->deadline_ns = deadline_ns;
	connection->kept_end = &connection->kept;
	r = greet(connection, error);
	if (r < 0) {
		connection_close(connection);
		return r;
	}
	*ret = connection;
	return 0;
}

int connection_open(const struct socket_paths *paths, int64_t deadline_ns, struct connection **ret, struct error *error)
{
	int fd, r = connection_socket(paths, deadline_ns, &fd, error);

	return r < 0 ? r : open_over(NULL, fd, deadline_ns, ret, error);
}

int connection_open_link(struct link *link, int fd, int64_t deadline_ns, struct connection **ret, struct error *error)
{
	if (error)
		*error = (struct error){0};
	return open_over(link, fd, deadline_ns, ret, error);
}
