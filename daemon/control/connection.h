// SPDX-License-Identifier: GPL-3.0-or-later
/// One client: frames in, replies out, and every bound on what it may cost. docs/PROTOCOL.md states the bounds.
///
/// - A frame's length is compared with what is allowed before memory is taken for it, and memory grows only with what
///   has really come.
/// - While more than CONNECTION_WATERMARK bytes wait to be read by the client, its requests are not read and its
/// streams
///   stop; so a client that never reads costs that much and no more.
/// - In one turn of the loop a client has CONNECTION_FRAMES_A_TURN frames looked at; then the others come.
/// - A protocol error is answered, then the connection is closed, in that order also for a client that is still
/// sending.
#ifndef CONDPROF_CONNECTION_H
#define CONDPROF_CONNECTION_H

#include "daemon/control/access.h"
#include "daemon/control/exchange.h"

#define CONNECTION_WATERMARK (64U * 1024U)            ///< bytes of replies that wait
#define CONNECTION_OUT_MAX (1024U * 1024U)            ///< beyond this the connection is closed
#define CONNECTIONS_OUT_MAX_ALL (16U * 1024U * 1024U) ///< streams of all clients; beyond it one chunk a client
#define CONNECTION_FRAMES_A_TURN 16U
#define CONNECTION_EXCHANGES_MAX 64U           ///< requests of one client not answered yet
#define HELLO_TIMEOUT_NS (10 * NSEC_PER_SEC)   ///< from connecting to a complete Hello
#define FRAME_TIMEOUT_NS (60 * NSEC_PER_SEC)   ///< without a byte in the middle of a frame or an upload
#define UNREAD_TIMEOUT_NS (120 * NSEC_PER_SEC) ///< without the client reading what waits for it
#define IDLE_TIMEOUT_NS (600 * NSEC_PER_SEC)   ///< without any request
#define LINGER_TIMEOUT_NS (2 * NSEC_PER_SEC)   ///< for the last error to be read

struct control;
struct upload_slot;

/// @param fd a non-blocking stream socket, taken over on success
int connection_new(struct control *control, int fd, const struct peer *peer, struct connection **ret);
/// Ends it now, without flushing; the exchanges' clients are gone.
struct connection *connection_free(struct connection *connection);
/// Whether nothing is left to send and no exchange is open.
bool connection_quiet(const struct connection *connection);

/// For handlers:
const struct peer *connection_peer(const struct connection *connection);
bool connection_greeted(const struct connection *connection);
/// Hello was accepted: frames may have their full size from now on.
void connection_greet(struct connection *connection);
/// Answers the exchange with the error and closes the connection.
void connection_refuse(struct connection *connection, struct exchange *exchange, const struct error *error);
/// The upload in progress; the connection frees it when it ends.
struct upload_slot *connection_upload(struct connection *connection);
/// Bytes of replies that wait.
size_t connection_waiting(const struct connection *connection);

/// The list that control keeps.
struct connection *connection_next(const struct connection *connection);

#endif
