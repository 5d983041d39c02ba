// SPDX-License-Identifier: GPL-3.0-or-later
/// What keeps a session's thread out of input and report once somebody else had to close them: a gate that the thread
/// enters for the time of one call, and that is shut for good from outside. Nobody contends for it before that moment.
#ifndef CONDPROF_GUARD_H
#define CONDPROF_GUARD_H

#include "daemon/input/input.h"

#include <pthread.h>

struct gate {
	pthread_mutex_t lock;
	bool shut;
};

void gate_init(struct gate *gate);
void gate_deinit(struct gate *gate);

/// @return false: it was shut, and nothing behind it is there any longer; gate_leave() must not follow
bool gate_enter(struct gate *gate);
void gate_leave(struct gate *gate);

/// Shuts it, from another thread. @return false: somebody was inside for all of `patience_ns`; it stays open
bool gate_shut(struct gate *gate, int64_t patience_ns);

/// An input behind a gate: every call of `input` (taken over) goes through it; once shut they fail with -ECANCELED.
int guarded_input_new(struct input *input, struct input **ret);

/// Releases everything held, closes the device and shuts the gate, unless that was done. From any thread, also from two
/// at the same time; the guarded input itself stays, and is closed as usual once nobody can be in a call of it.
/// @return 0, or -EBUSY: a call is in progress and does not end
int guarded_input_take_away(struct input *input, int64_t patience_ns);

#endif
