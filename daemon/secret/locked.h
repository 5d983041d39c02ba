// SPDX-License-Identifier: GPL-3.0-or-later
/// Memory for what must not leave this process: never swapped, in no core, not given to a child, wiped when it is
/// freed.
#ifndef CONDPROF_LOCKED_H
#define CONDPROF_LOCKED_H

#include "proto/base.h"

/// Zeroed, in pages of its own. @return 0, -ENOMEM, -EPERM or -EAGAIN: the limit of locked memory (RLIMIT_MEMLOCK)
int locked_new(size_t size, char **ret);
/// @param size as given to locked_new(). NULL-safe; returns NULL.
char *locked_free(char *memory, size_t size);

#endif
