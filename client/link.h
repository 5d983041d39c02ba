// SPDX-License-Identifier: GPL-3.0-or-later
/// A link to a daemon on another machine: an ssh that runs, and condprofctl's bridge at its far end. What it gives is a
/// descriptor that is like a connected socket of that daemon.
#ifndef CONDPROF_CLIENT_LINK_H
#define CONDPROF_CLIENT_LINK_H

#include "proto/errors.h"

struct link;

struct link_params {
	const char *host;    ///< [USER@]HOST[:PORT]
	const char *socket;  ///< on the far side, absolute; NULL: its own choice
	bool quiet;          ///< no remarks of ssh's, only errors
	int64_t deadline_ns; ///< on CLOCK_MONOTONIC: for login and bridge together; INT64_MAX: none
};

/// Starts ssh, waits for the bridge, and has it connected to the daemon.
///
/// @param ret_fd the caller's
/// @return 0; -EINVAL: the host or CONDPROF_SSH; -ENOLINK: ssh failed, by its own account; -ECONNREFUSED: no daemon
///         there, or no condprofctl; -EACCES; -ETIMEDOUT; -EPROTO; …
int link_open(const struct link_params *params, struct link **ret, int *ret_fd, struct error *error);

/// The descriptor has come to its end: why. @return -ECONNRESET: the daemon's side ended it; -ENOTCONN: ssh did
int link_lost(struct link *link, struct error *error);

/// After the descriptor was closed: lets ssh end by itself. It may serve other connections of the user's as well.
struct link *link_close(struct link *link);

#endif
