// SPDX-License-Identifier: GPL-3.0-or-later
/// Screen and input URIs as people write them, on their way to the daemon.
#ifndef CONDPROF_SCENARIO_URI_H
#define CONDPROF_SCENARIO_URI_H

#include "proto/errors.h"

/// Checks the scheme and makes the folder of replay: absolute.
/// @param input an input's URI, else a screen's
/// @param folder absolute; where relative folders begin. NULL: they are errors
/// @param remote the daemon is elsewhere: folders are its own, relative ones are errors
/// @param ret the caller's, to be freed
/// @return 0, -EINVAL with an error, -ENOMEM
int uri_for_daemon(const char *uri, bool input, const char *folder, bool remote, char **ret, struct error *error);

/// The same for a folder alone.
int folder_for_daemon(const char *path, const char *folder, bool remote, char **ret, struct error *error);

#endif
