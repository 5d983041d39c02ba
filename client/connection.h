// SPDX-License-Identifier: GPL-3.0-or-later
/// The client's end of the control protocol (docs/PROTOCOL.md): one connection, requests numbered and possibly several
/// under way, replies matched by number. Every call ends at the connection's deadline at the latest.
///
/// Errors, with `error` filled:
///   -ECONNREFUSED            nothing listens there
///   -ECONNRESET              the daemon went away
///   -ENOTCONN                the link to its machine is lost
///   -EACCES                  the socket may not be used
///   -ETIMEDOUT               the deadline has passed
///   -EINTR                   the interrupt fd became readable
///   -EPROTO                  what came is not the protocol, or not this version of it
///   -EREMOTEIO               the daemon answered with an error: its code is in `error`, all of it in
///   connection_error() -ENAMETOOLONG, …         other errno values of the system calls
#ifndef CONDPROF_CLIENT_CONNECTION_H
#define CONDPROF_CLIENT_CONNECTION_H

#include "proto/control.pb-c.h"
#include "proto/errors.h"

struct connection;
struct link;

/// The sockets to try, best first: `given` (--socket), else $CONDPROF_SOCKET, else a user's own daemon's (not for root)
/// and the system's.
struct socket_paths {
	char *paths[2]; ///< the caller's: socket_paths_clear()
	size_t count;
};
int socket_paths_find(const char *given, struct socket_paths *ret);
void socket_paths_clear(struct socket_paths *paths);

/// Connects to the first path that exists, and greets.
/// @param deadline_ns on CLOCK_MONOTONIC, INT64_MAX: none
int connection_open(const struct socket_paths *paths, int64_t deadline_ns, struct connection **ret,
		    struct error *error);
/// The same over a link, which has a socket connected already. Takes link and fd over in any case.
int connection_open_link(struct link *link, int fd, int64_t deadline_ns, struct connection **ret, struct error *error);
/// Connects to the first path that exists, and no more. *ret_fd is the caller's.
int connection_socket(const struct socket_paths *paths, int64_t deadline_ns, int *ret_fd, struct error *error);
struct connection *connection_close(struct connection *connection);
static inline void connection_cleanup(struct connection **connection)
{
	*connection = connection_close(*connection);
}

/// What the daemon said of itself. Belongs to the connection.
const Condprof__HelloReply *connection_daemon(const struct connection *connection);

/// A fd that ends every wait with -EINTR when it becomes readable; -1: none. Stays the caller's.
void connection_set_interrupt(struct connection *connection, int fd);
void connection_set_deadline(struct connection *connection, int64_t deadline_ns);

/// Sends a request, sets its id. Returns when all of it is written; replies that come meanwhile are kept.
int connection_send(struct connection *connection, Condprof__Request *request, struct error *error);

/// The next reply to request `id`. *ret is the caller's: reply_free(). Replies to others are kept for later.
/// @param until_ns gives up with -EAGAIN at this time, error unfilled; INT64_MAX: only the deadline counts
int connection_receive(struct connection *connection, uint64_t id, int64_t until_ns, Condprof__Reply **ret,
		       struct error *error);

/// Sends, and waits for the first reply.
int connection_call(struct connection *connection, Condprof__Request *request, Condprof__Reply **ret,
		    struct error *error);

/// Sends a scenario: Begin and its chunks, `id` as given by the Begin. Stops early when the daemon answers meanwhile.
int connection_upload(struct connection *connection, Condprof__Upload upload, Condprof__StartOptions *options,
		      const uint8_t *data, size_t size, uint64_t *ret_id, struct error *error);

/// The same, with a Begin of the caller's; its size is filled in.
int connection_upload_begin(struct connection *connection, Condprof__Begin *begin, const uint8_t *data, size_t size,
			    uint64_t *ret_id, struct error *error);

/// The daemon's last error, after -EREMOTEIO; until the next call.
const Condprof__Error *connection_error(const struct connection *connection);

Condprof__Reply *reply_free(Condprof__Reply *reply);
static inline void reply_cleanup(Condprof__Reply **reply)
{
	*reply = reply_free(*reply);
}

#endif
