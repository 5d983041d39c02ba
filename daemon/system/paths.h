// SPDX-License-Identifier: GPL-3.0-or-later
/// Where things are when the command line says nothing: root's in /run and /var/lib, a user's own daemon in the
/// user's runtime and state folders.
#ifndef CONDPROF_PATHS_H
#define CONDPROF_PATHS_H

#include "proto/errors.h"

/// CONDPROF_SOCKET, /run/condprof/control.sock for root, else $XDG_RUNTIME_DIR/condprof/control.sock.
int path_default_socket(char *out, size_t size, struct error *error);
/// /var/lib/condprof for root, else $XDG_STATE_HOME/condprof or ~/.local/state/condprof.
int path_default_state(char *out, size_t size, struct error *error);
/// Root's configuration file.
const char *path_system_configuration(void);
/// The configuration file that need not exist: the system's for root; a user's own daemon has one of its own, since the
/// system's is about other groups and folders. $XDG_CONFIG_HOME/condprof/condprofd.conf or ~/.config/…; /dev/null
/// (nothing) when neither is known.
int path_default_configuration(char *out, size_t size, struct error *error);
/// Makes the missing folders above `path`, with `mode`. What is there already stays as it is.
int path_make_parents(const char *path, unsigned mode, struct error *error);

#endif
