// SPDX-License-Identifier: GPL-3.0-or-later
/// How a run goes on in another report. Whoever wants it makes figures and recorder beforehand, on a thread of its own,
/// and asks; between two passes the engine's thread changes over, with one reading of the measuring clock, and
/// allocates nothing. Events, counters, timers, cooldowns, the limiter and the frame know nothing of it: a run is the
/// same with rotations and without.
#ifndef CONDPROF_ROTATION_H
#define CONDPROF_ROTATION_H

#include "proto/base.h"

struct processor;
struct recorder;
struct timing;

/// Where figures and occurrences go after a rotation. Whoever asks keeps it until it is taken, or given back.
struct rotation_target {
	int64_t session_id; ///< for the journal
	struct timing *timing;
	struct recorder *recorder;
	/// On the engine's thread: from here on everything goes there; what it went to before stands still.
	void (*taken)(struct rotation_target *target);
};

/// The processor's part.
struct rotation {
	struct rotation_target *_Atomic asked; ///< NULL: none; see rotation.c for the third state
	int asked_fd;                          ///< eventfd: one was asked for; -1: nobody can
	int wake_fd;                           ///< readable when one was asked for or the session is to end
	bool own_wake_fd;
};
#define ROTATION_NONE ((struct rotation){.asked_fd = -1, .wake_fd = -1})

/// @param ending_fd of the session's ending
/// @param possible false: nothing is recorded, and nobody asks
int rotation_init(struct rotation *rotation, int ending_fd, bool possible);
void rotation_deinit(struct rotation *rotation);

/// Any thread: asks the engine to go on there, at the end of the pass that runs. @return 0; -EBUSY: another one is
/// asked for; -ESHUTDOWN: there will be no pass any more
int rotation_ask(struct rotation *rotation, struct rotation_target *target);

/// The engine's thread, between two passes: changes over when it was asked to.
void rotation_take(struct processor *processor);
/// The same after a wait between two passes that wake_fd ended, and not the session's end.
void rotation_woken(struct processor *processor);
/// The engine's thread, after the last pass: no more are taken. @return what was asked for in vain; NULL: nothing
struct rotation_target *rotation_end(struct rotation *rotation);

#endif
