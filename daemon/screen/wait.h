// SPDX-License-Identifier: GPL-3.0-or-later
/// Waiting that a stop always ends: on a file descriptor up to a deadline, and on a call that may block for as long as
/// somebody else pleases (a server that never answers, a disk that hangs), which is made on a thread of its own.
#ifndef CONDPROF_SCREEN_WAIT_H
#define CONDPROF_SCREEN_WAIT_H

#include "daemon/screen/screen.h"

#include <pthread.h>

/// CLOCK_MONOTONIC, ns.
int64_t wait_now_ns(void);

/// Waits for poll() events on `fd` (-1: only for the rest). The wake fd is looked at first, a passed deadline last.
/// @return OK (errors and hang-ups of `fd` too: the next call on it says which), INTERRUPTED or STALLED
enum screen_status wait_for_fd(int fd, short events, const struct screen_wait *wait);

/// Starts a thread that gets no signals. @param name at most 15 bytes
int wait_start_thread(pthread_t *ret, const char *name, void *(*run)(void *argument), void *argument);

struct blocking_call;

struct blocking_work {
	const char *name; ///< of the thread, at most 15 bytes
	/// On the thread; may block. Fills *ret on success.
	int (*run)(struct blocking_call *call, void *argument, void **ret, struct error *error);
	/// What becomes of a result that came when nobody waited any longer; on the thread. NULL: nothing is left
	/// alone, the call is waited for when its socket was shut down, which must end it.
	void (*discard)(void *result);
	/// The argument belongs to the call, and is freed when the call is over. NULL: nothing to free.
	void (*free_argument)(void *argument);
};

/// Makes the call and waits for it. When it is not over in time it is left alone: its sockets are shut down, and its
/// result is discarded. @return what run returned; -ETIMEDOUT, -EINTR (error untouched); -ENOMEM, -EAGAIN
int blocking_call(const struct blocking_work *work, void *argument, const struct screen_wait *wait, void **ret,
		  struct error *error);

/// For run: from now on the call blocks on this socket, which is shut down when nobody waits any longer.
/// @return 0, or -ECANCELED when that is so already
int blocking_on_socket(struct blocking_call *call, int fd);

#endif
