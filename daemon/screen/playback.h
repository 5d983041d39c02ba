// SPDX-License-Identifier: GPL-3.0-or-later
/// A recording played again pass by pass, as the session saw it: replay:DIR?clock=virtual.
#ifndef CONDPROF_SCREEN_PLAYBACK_H
#define CONDPROF_SCREEN_PLAYBACK_H

#include "daemon/screen/folder.h"

/// @param folder taken over, also on failure. Errors: SCREEN_FAILED: there is no recording in it
int playback_open(struct folder *folder, struct screen **ret, struct error *error);

#endif
