// SPDX-License-Identifier: GPL-3.0-or-later
/// What the uinput input asks of the kernel, so that a test can stand in for it.
#ifndef CONDPROF_UINPUT_H
#define CONDPROF_UINPUT_H

#include "proto/base.h"

#define UINPUT_POSITIONS 65536 ///< an axis goes from 0 to one less, whatever the screen's size

enum uinput_device { UINPUT_KEYBOARD, UINPUT_POINTER, UINPUT_TOUCH, UINPUT_DEVICES };

struct uinput_kernel {
	/// A descriptor that takes struct input_event and does not block; the device goes when it is closed, and what
	/// it held down with it. Or -errno.
	int (*make)(enum uinput_device device);
	int64_t settle_ns; ///< until those who handle input have found a new device
};

/// For tests. Before any open. NULL: the real one.
void uinput_use_kernel(const struct uinput_kernel *kernel);

#endif
