// SPDX-License-Identifier: GPL-3.0-or-later
/// The kinds of inputs that come with the daemon, for the table in input.c alone.
#ifndef CONDPROF_INPUT_KINDS_H
#define CONDPROF_INPUT_KINDS_H

#include "daemon/input/input.h"

extern const struct input_ops uinput_input_ops; ///< uinput.c
extern const struct input_ops log_input_ops;    ///< log.c
extern const struct input_ops x11_input_ops;    ///< x11.c, where it is built

#endif
