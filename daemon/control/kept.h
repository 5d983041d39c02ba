// SPDX-License-Identifier: GPL-3.0-or-later
/// A kept report's facts as a Session message.
#ifndef CONDPROF_KEPT_H
#define CONDPROF_KEPT_H

#include "daemon/report/store.h"

/// Fills `ret` from what the store read. Its pointers point into `entry`.
void kept_session(const struct store_entry *entry, Condprof__Session *ret);

#endif
