// SPDX-License-Identifier: GPL-3.0-or-later
/// Files below a folder, by file descriptor: nothing here follows a symlink, blocks on a FIFO, or leaves a half-written
/// file under its final name. New files are 0600, new folders 0700.
#ifndef CONDPROF_DISK_H
#define CONDPROF_DISK_H

#include "proto/base.h"

#include <sys/stat.h>

/// Opens a folder below `at`. @return the descriptor or a negative errno
int disk_open_folder(int at, const char *name);
/// Opens a regular file to read. @return the descriptor or a negative errno; -EINVAL: something else has that name
int disk_open_file(int at, const char *name);
/// Creates or opens a regular file to read and write; flags may add O_TRUNC or O_EXCL.
int disk_create_file(int at, const char *name, int flags);

/// Reads a whole small file. @return -EFBIG when it has more than `max` bytes. *ret is the caller's
int disk_read_file(int at, const char *name, size_t max, uint8_t **ret, size_t *ret_size);

/// Makes `data` all there is in the file, and syncs it. Blocks that the file has are written over.
int disk_fill(int fd, const void *data, size_t size);

/// Puts a file in place whole or not at all: `temporary` is written, synced and renamed, and the folder synced.
int disk_write_file(int at, const char *temporary, const char *name, const void *data, size_t size);
/// The same, but the file that was in place before becomes the temporary one, and its blocks are written over next
/// time: once there were two, no room is needed any more. `temporary` stays also on failure.
int disk_swap_file(int at, const char *temporary, const char *name, const void *data, size_t size);

/// Allocates [0, size) of the file for real: later writes there need no room. @return -ENOSPC, -EDQUOT; -EOPNOTSUPP
/// when the file system took the size but no blocks (it compresses, or makes copies on write)
int disk_allocate(int fd, uint64_t size);

/// What the file or folder takes, reserves counted: the larger of its size and its blocks.
uint64_t disk_bytes_of(const struct stat *info);

/// A write lock on the whole file, held by the open file description: it ends when the descriptor is closed or its
/// process dies. @return -EBUSY: somebody else has it
int disk_lock(int fd);
/// Whether somebody (also this process, by another descriptor) holds the lock. Takes none itself.
bool disk_locked(int fd);

/// Calls `each` for every entry but . and ..; stops at the first that does not return 0, and returns that.
int disk_each(int fd, int (*each)(void *context, int fd, const char *name), void *context);

/// What a person can do about a write that failed with negative errno `r`: "; make room there". Empty: no advice.
const char *disk_advice(int r);

/// Takes a decimal id: no sign, no leading zero, nothing after it, 1 to INT64_MAX. @return whether it was one
bool disk_parse_id(const char *name, int64_t *ret);

#endif
