// SPDX-License-Identifier: GPL-3.0-or-later
/// Reading and writing all of something, whatever a single call manages and however often a signal comes.
#ifndef CONDPROF_IO_H
#define CONDPROF_IO_H

#include "proto/base.h"

/// Until `size` bytes are there, or the end. @return how many, or a negative errno
ssize_t io_read(int fd, void *data, size_t size);
/// The same from `offset` on; where the file stands does not change.
ssize_t io_read_at(int fd, void *data, size_t size, uint64_t offset);

/// @return 0 or a negative errno, after some of it perhaps
int io_write(int fd, const void *data, size_t size);
/// The same from `offset` on; where the file stands does not change.
int io_write_at(int fd, const void *data, size_t size, uint64_t offset);

/// All of a regular file, which may shrink or grow meanwhile. Its size is looked at before memory is taken.
/// @param most bytes
/// @param ret the caller's; has room for one byte more
/// @return 0, -EINVAL: no regular file; -EFBIG: larger; -ENOMEM; what the file says
int io_read_file(int fd, size_t most, uint8_t **ret, size_t *ret_size);

#endif
