// SPDX-License-Identifier: GPL-3.0-or-later
/// Replies that several handlers send.
#ifndef CONDPROF_REPLIES_H
#define CONDPROF_REPLIES_H

#include "daemon/control/exchange.h"

#define SESSIONS_REPLY_BYTES (32U * 1024U) ///< of the Session messages in one reply, but for a single larger one

/// Sends sessions in as many replies as they need. @param last also ends the exchange
void reply_sessions(struct exchange *exchange, Condprof__Session **sessions, size_t count, bool last);

#endif
