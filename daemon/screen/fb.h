// SPDX-License-Identifier: GPL-3.0-or-later
/// What the framebuffer screen asks of the kernel, so that a test can stand in for a device.
#ifndef CONDPROF_SCREEN_FB_H
#define CONDPROF_SCREEN_FB_H

#include "proto/base.h"

#include <linux/fb.h>

struct fb_kernel {
	int (*open)(const char *path); ///< descriptor or -errno; -ENODEV: no framebuffer. Its memory is mapped and read
				       ///< by it
	int (*describe)(int fd, struct fb_fix_screeninfo *ret_fixed,
			struct fb_var_screeninfo *ret_variable); ///< 0 or -errno
};

/// For tests. Before any open. NULL: the real one.
void fb_use_kernel(const struct fb_kernel *kernel);

#endif
