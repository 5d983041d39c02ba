// SPDX-License-Identifier: GPL-3.0-or-later
/// Looks at a screen for a person: a picture of it (capture), or a scenario's conditions on one (try). Each on a thread
/// of its own, since a screen may take its time to answer and a search its own; at most LOOKS_MAX at a time for all
/// clients, so that memory and processors stay bounded. What they find goes out as the client reads; a client that goes
/// away ends its look at once, whatever it waits for.
#ifndef CONDPROF_LOOKS_H
#define CONDPROF_LOOKS_H

#include "daemon/control/control.h"

#define LOOKS_MAX 4U

struct looks;
struct scenario;
struct upload;

int looks_new(struct control *control, struct looks **ret);
/// When none is busy.
struct looks *looks_free(struct looks *looks);
/// How many are under way.
unsigned looks_count(const struct looks *looks);
/// Whether a look is under way. The loop's thread only.
bool looks_busy(const struct looks *looks);
/// Ends all of them with STOPPING_DAEMON.
void looks_stop_all(struct looks *looks);

/// Whether another one may begin now; else BUSY or STOPPING_DAEMON.
int looks_admit(const struct looks *looks, struct error *error);
/// Answers a TRY: takes both over, and the upload's exchange.
void looks_try(struct looks *looks, struct upload *upload, struct scenario *scenario);
/// Answers a capture. @param screen a URI, copied. @return negative: the exchange is the caller's still
int looks_capture(struct looks *looks, struct exchange *exchange, const char *screen, struct error *error);

#endif
