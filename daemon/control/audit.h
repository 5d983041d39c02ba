// SPDX-License-Identifier: GPL-3.0-or-later
/// Lines for the journal about who did what: every start, stop and refusal, with uid and pid of the peer. Names of
/// users are not looked up: that may wait for a network.
#ifndef CONDPROF_AUDIT_H
#define CONDPROF_AUDIT_H

#include "daemon/control/access.h"
#include "proto/report.pb-c.h"

/// @param what the request's name; NULL: none was looked at
void audit_refused(const struct peer *peer, const char *what, const char *why);
/// @param all every session, `session` and `scenario` say nothing
void audit_stop(const struct peer *peer, bool all, int64_t session, const char *scenario);

/// @param what "installed", "removed"
/// @param name that the scenario is installed under
void audit_scenario(const struct peer *peer, const char *what, const char *name, uint64_t bytes);

/// A reason as JSON and the journal have it: "check-stuck".
const char *audit_reason_name(Condprof__EndReason reason, char out[32]);

#endif
