// SPDX-License-Identifier: GPL-3.0-or-later
/// What a session has to do with the world besides its screen and its input: signals it waits for and sends, messages
/// for people. The engine knows no bus, only this table of functions, as it knows screens and inputs.
#ifndef CONDPROF_MESSENGER_H
#define CONDPROF_MESSENGER_H

#include "daemon/scenario/scenario.h"
#include "daemon/screen/screen.h"

struct messenger;

/// What could not be had: an index into the scenario's broadcasts or its actions; NO_INDEX: not that one.
struct messenger_failure {
	uint32_t broadcast, action;
};

struct messenger_ops {
	/// On the session's thread, before the first pass. When it returns, every broadcast of the scenario that comes
	/// by a bus would arrive; `received` is called for each, on any thread, until leave.
	/// @return 0, -EINTR (stopped by the wake fd; error untouched), or another error with *ret_failure
	int (*open)(struct messenger *messenger, void (*received)(void *context, uint32_t broadcast), void *context,
		    const struct screen_wait *wait, struct messenger_failure *ret_failure, struct error *error);
	/// Hands over the signal of an action; returns at once. @return false: it cannot be sent
	bool (*signal)(struct messenger *messenger, uint32_t action);
	/// Hands over a text for people who look at the screen; returns at once. @return false: it cannot be shown
	bool (*notify)(struct messenger *messenger, Condprof__Level level, const char *text);
	/// On the session's thread, when it goes on under another id: for the log.
	void (*name)(struct messenger *messenger, int64_t session);
	/// On any thread, as often as one likes: nothing is received or sent any more; what was handed over goes out.
	void (*leave)(struct messenger *messenger);
	/// Leaves first. When nobody is in another call any longer.
	struct messenger *(*free)(struct messenger *messenger);
};

struct messenger {
	const struct messenger_ops *ops;
};

static inline struct messenger *messenger_free(struct messenger *messenger)
{
	return messenger ? messenger->ops->free(messenger) : NULL;
}

#endif
