// SPDX-License-Identifier: GPL-3.0-or-later
/// A session's messenger by the buses: what the scenario asks for, said as daemon/bus/ wants it.
#ifndef CONDPROF_CONTROL_MESSENGER_H
#define CONDPROF_CONTROL_MESSENGER_H

#include "daemon/bus/bus.h"
#include "daemon/engine/messenger.h"

/// On any thread; connects to nothing yet.
/// @param dry_run signals and notifications are not sent, broadcasts are waited for
/// @param ret NULL when the scenario has to do with no bus; else for session_start(), or messenger_free()
int bus_messenger_new(struct bus *bus, const struct scenario *scenario, int64_t session, bool dry_run,
		      struct messenger **ret, struct error *error);

#endif
