// SPDX-License-Identifier: GPL-3.0-or-later
/// Looks after sessions whose thread makes no progress: no pass, no check begun, no action, and no wait that a stop
/// would end. One that has not for 60 s ends as failed with the reason check-stuck; when its thread does not heed that
/// either, the session is closed without it. The daemon and its other sessions go on.
///
/// What is counted is looks, not time: a device that was suspended, or a daemon that was stopped and continued, had no
/// chance to make progress, and comes back to the count it left.
#ifndef CONDPROF_STUCK_H
#define CONDPROF_STUCK_H

#include "daemon/control/control.h"

struct stuck_watch;

/// Of one session.
struct stuck_state {
	uint64_t progress;     ///< at the last look
	unsigned looks;        ///< since it changed
	unsigned ending_looks; ///< those of them after its end was asked for
	bool asked, abandoned;
	int64_t id; ///< of the session, when it was abandoned
};

int stuck_watch_new(struct control *control, struct stuck_watch **ret);
struct stuck_watch *stuck_watch_free(struct stuck_watch *watch);
/// A session runs: looks from now on, until none does.
void stuck_watch_wake(struct stuck_watch *watch);

/// For tests: another limit than 60 s. Before stuck_watch_new().
void stuck_watch_set_limit(int64_t ns);

#endif
