// SPDX-License-Identifier: GPL-3.0-or-later
/// How screen and input come by a connection to an X server: bounded in time whatever the server does, with the cookie
/// of a file named in the configuration, and with the server's own words when it refuses.
#ifndef CONDPROF_X11_CONNECT_H
#define CONDPROF_X11_CONNECT_H

#include "daemon/screen/wait.h"

#include <xcb/xcb.h>

#define X11_NAME_MAX 80U

/// A connection, as build gets it.
struct x11_link {
	xcb_connection_t *xcb;
	xcb_screen_t *screen;
	bool local;              ///< over a Unix socket: descriptors can be passed
	Condprof__Code code;     ///< of errors: SCREEN_FAILED or INPUT_FAILED
	char name[X11_NAME_MAX]; ///< "x11::0"
};

struct x11_user {
	Condprof__Code code;
	/// On a thread of its own, where blocking xcb calls do no harm. Owns link->xcb when it succeeds.
	int (*build)(const struct x11_link *link, void **ret, struct error *error);
	/// For a result that came too late.
	void (*discard)(void *result);
};

/// Whether "x11:rest" makes sense. -EINVAL
int x11_check(const char *rest, struct error *error);

/// The server that "x11:rest" means, however it is written: equal for two ways to write one. Cut at `size`.
void x11_device(const char *rest, char *out, size_t size);

/// Connects, and lets `user` build what it needs. @return 0; -EINTR, -ETIMEDOUT and all others with an error
int x11_open(const struct x11_user *user, const char *rest, const struct screen_config *config,
	     const struct screen_wait *wait, void **ret, struct error *error);

/// Why a connection doesn't work any more, as the rest of a sentence.
const char *x11_broken_text(xcb_connection_t *xcb);

#endif
