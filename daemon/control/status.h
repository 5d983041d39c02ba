// SPDX-License-Identifier: GPL-3.0-or-later
/// The line that `systemctl status` shows.
#ifndef CONDPROF_STATUS_H
#define CONDPROF_STATUS_H

#include "daemon/control/sessions.h"

/// Tells the service manager what runs: how many sessions, their ids and scenarios, as many as there is room for.
void status_tell(const struct sessions *sessions);

#endif
