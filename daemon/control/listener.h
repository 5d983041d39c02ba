// SPDX-License-Identifier: GPL-3.0-or-later
/// The listening socket: the service manager's, or one of our own. Accepts while there is room for clients and
/// descriptors, and waits with the rest in the kernel's queue when there is not.
#ifndef CONDPROF_LISTENER_H
#define CONDPROF_LISTENER_H

#include "proto/errors.h"

#define STRANGERS_MAX 32U ///< connections of peers who may do nothing, while they are told so

struct control;
struct listener;

/// Takes the socket handed over by the service manager, else listens on `path` (NULL: the default path). A socket file
/// that nobody answers on is taken over; one with a daemon behind it is -EADDRINUSE.
int listener_new(struct control *control, const char *path, struct listener **ret, struct error *error);
/// Ends listening and removes the socket file, if it is still ours.
struct listener *listener_free(struct listener *listener);
/// What it listens on, for the log.
const char *listener_name(const struct listener *listener);
/// A connection was freed. NULL is fine.
void listener_client_left(struct listener *listener);

#endif
