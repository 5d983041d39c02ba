// SPDX-License-Identifier: GPL-3.0-or-later
/// Reading the cookie for an X display from an Xauthority file, as xauth(1) writes it. Our own, because the library
/// takes the file's name only from the environment, which all threads share.
#ifndef CONDPROF_XAUTHORITY_H
#define CONDPROF_XAUTHORITY_H

#include "proto/errors.h"

#include <sys/socket.h>

struct x_cookie {
	char name[32]; ///< "MIT-MAGIC-COOKIE-1", not terminated
	size_t name_size;
	uint8_t data[64];
	size_t data_size;
};

/// Looks the entry for a display up: for a local one by this host's name, else by the peer's address.
/// @param peer of the connected socket
/// @return 0; -ENODATA: no entry fits; -EBADMSG: not such a file; or the negative errno of the file
int xauthority_find(const char *path, const struct sockaddr *peer, int display, struct x_cookie *ret);

#endif
