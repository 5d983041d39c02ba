// SPDX-License-Identifier: GPL-3.0-or-later
/// Folders that clients name: where pictures are read from and recordings are written to. What a daemon's configuration
/// allows is decided by what a folder really is, after every symbolic link.
#ifndef CONDPROF_RECORDING_FOLDER_H
#define CONDPROF_RECORDING_FOLDER_H

#include "proto/errors.h"

/// Whether an open folder is, or lies below, one of these. @param allowed NULL-terminated; NULL: everything is
bool folder_is_allowed(int fd, const char *const *allowed);

/// The same by what is written alone. Whether a folder elsewhere is there, or readable, is nobody's business who may
/// not name it: so an error of a path that is not below is "not allowed", whatever it was.
bool folder_is_written_below(const char *path, const char *const *allowed);

/// Makes the folder of a recording (0700), or takes one that is there and empty. What it lies in has to be there.
/// @return 0 and its descriptor; BAD_REQUEST, DENIED, IO with a sentence
int recording_make_folder(const char *path, const char *const *allowed, int *ret_fd, struct error *error);

#endif
