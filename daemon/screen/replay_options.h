// SPDX-License-Identifier: GPL-3.0-or-later
/// What a replay: URI says: a folder, and how its pictures come.
#ifndef CONDPROF_REPLAY_OPTIONS_H
#define CONDPROF_REPLAY_OPTIONS_H

#include "proto/errors.h"

#include <limits.h>

struct replay_options {
	char path[PATH_MAX];
	double fps; ///< 0: by pass
	bool loop, virtual_clock;
};

/// @param rest of the URI, behind "replay:". Errors (BAD_REQUEST) say what is wrong
int replay_options_parse(const char *rest, struct replay_options *ret, struct error *error);

#endif
