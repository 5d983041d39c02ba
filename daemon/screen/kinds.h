// SPDX-License-Identifier: GPL-3.0-or-later
/// The kinds of screens that come with the daemon, for the table in screen.c alone.
#ifndef CONDPROF_SCREEN_KINDS_H
#define CONDPROF_SCREEN_KINDS_H

#include "daemon/screen/screen.h"

extern const struct screen_ops fb_screen_ops;     ///< fb.c
extern const struct screen_ops replay_screen_ops; ///< replay.c
extern const struct screen_ops x11_screen_ops;    ///< x11.c, where it is built

#endif
