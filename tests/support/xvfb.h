// SPDX-License-Identifier: GPL-3.0-or-later
/// A virtual X server for a test, on a display of its own, and a client that draws on its root window. The server ends
/// with the test whatever happens to it.
#ifndef CONDPROF_TEST_XVFB_H
#define CONDPROF_TEST_XVFB_H

#include "daemon/picture/picture.h"

#include <sys/types.h>
#include <xcb/xcb.h>

struct xvfb {
	pid_t pid;
	int display;
	char uri[32];          ///< "x11::99"
	char authority[64];    ///< its Xauthority file; empty: it asks for none
	xcb_connection_t *xcb; ///< of the drawing client
	xcb_screen_t *screen;
	struct picture *model; ///< what was drawn, as a picture of the whole screen: B G R 0
};

/// Whether there is one to start.
bool xvfb_is_installed(void);

/// Starts one and connects. Fails the test where it can't.
/// @param geometry "640x480x24"; @param option one more option and its argument, or NULL
/// @param with_authority it demands a cookie, of a file it is given
struct xvfb *xvfb_start(const char *geometry, const char *option, const char *argument, bool with_authority);

/// Ends the server by its pid, frees all.
struct xvfb *xvfb_stop(struct xvfb *xvfb);

/// Fills an area of the root window with 0xRRGGBB, here and in the model, and waits until it is done.
void xvfb_fill(struct xvfb *xvfb, struct rect area, uint32_t rgb);

/// Draws something that has no two equal lines or columns.
void xvfb_draw_pattern(struct xvfb *xvfb, unsigned seed);

/// Reduces the screen to a smaller resolution, or sets it back, by xrandr(1).
void xvfb_resize(struct xvfb *xvfb, int width, int height);

#endif
