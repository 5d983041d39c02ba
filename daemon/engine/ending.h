// SPDX-License-Identifier: GPL-3.0-or-later
/// How a session comes to its end: one flag that every loop looks at, one descriptor that ends every wait, and the
/// first reason that was given. Anybody may ask for the end, from any thread.
#ifndef CONDPROF_ENDING_H
#define CONDPROF_ENDING_H

#include "proto/errors.h"
#include "proto/report.pb-c.h"

#include <pthread.h>
#include <stdatomic.h>

#define REASON_TEXT_SIZE 256U

struct ending {
	int requested;        ///< accessed atomically; an int, because detect_query.stop points to it
	int wake_fd;          ///< readable for good once the end was asked for
	pthread_mutex_t lock; ///< of what follows; held for a copy only
	Condprof__EndReason reason;
	Condprof__SessionResult result;
	char text[REASON_TEXT_SIZE];
};

/// What status and overview say of it.
struct ending_reason {
	Condprof__EndReason reason; ///< REASON_NONE: nobody has asked yet
	Condprof__SessionResult result;
	char text[REASON_TEXT_SIZE];
};

int ending_init(struct ending *ending);
void ending_deinit(struct ending *ending);

/// Asks for the end. The first reason counts; `text` (may be NULL) is cut at REASON_TEXT_SIZE, between characters.
void ending_request(struct ending *ending, Condprof__EndReason reason, Condprof__SessionResult result,
		    const char *text);

/// The result that goes with a reason unless a stop action says otherwise.
Condprof__SessionResult ending_result(Condprof__EndReason reason);

void ending_get(struct ending *ending, struct ending_reason *ret);

static inline bool ending_requested(struct ending *ending)
{
	return __atomic_load_n(&ending->requested, __ATOMIC_ACQUIRE);
}

#endif
