// SPDX-License-Identifier: GPL-3.0-or-later
/// The terminal as a full screen: standard input gives keys as they are pressed, standard output is the alternate
/// screen. However the program ends, but for SIGKILL, the terminal is as it was: also after a signal, while it is
/// stopped by Ctrl-Z, and after exit(). One a process; for the main thread of a program that has no other.
#ifndef CONDPROF_TERMINAL_H
#define CONDPROF_TERMINAL_H

#include "proto/base.h"

/// What terminal_event() gives besides characters.
enum terminal_event {
	TERMINAL_NOTHING = 0,
	TERMINAL_CLOSED = -1, ///< there will be no more keys
	TERMINAL_REDRAW = -2, ///< another size, or back after a stop
};

/// Whether both are a terminal that has such a screen.
bool terminal_is_screen(void);

/// @return 0, or a negative errno: nothing has changed then
int terminal_enter(void);
/// Does nothing when it is left already.
void terminal_leave(void);

/// Becomes readable when there is an event; stays the terminal's.
int terminal_fd(void);
/// The next event, a key's byte (> 0) or one of the above; never waits.
int terminal_event(void);

void terminal_size(int *ret_width, int *ret_height);

#endif
