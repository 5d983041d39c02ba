// SPDX-License-Identifier: GPL-3.0-or-later
/// D-Bus for sessions: signals that a scenario waits for, signals and notifications that it sends. One thread, the bus
/// thread, holds the connections to the session bus and the system bus, opens one when a session needs it and closes it
/// after the last; it alone waits for a bus. Everybody else hands over and takes from bounded queues, and never waits,
/// but for bus_link_open(), which is cut short by a wake fd and a deadline.
///
/// A bus that goes away is said once, and tried again with growing pauses; what the sessions wait for is then asked for
/// anew, and that is said too. What is sent meanwhile is lost, counted and said.
#ifndef CONDPROF_BUS_H
#define CONDPROF_BUS_H

#include "proto/errors.h"

enum bus_kind { BUS_SESSION, BUS_SYSTEM, BUS_KINDS };

/// "session", "system".
const char *bus_kind_name(enum bus_kind kind);

#define BUS_QUEUED_SIGNALS 64U     ///< of one session to one bus
#define BUS_QUEUED_NOTES 16U       ///< notifications of one session
#define BUS_NOTE_MAX_BYTES 1024U   ///< of a notification's text; more is cut
#define BUS_LINGER_NS NSEC_PER_SEC ///< after a session's end, for what it has sent
#define BUS_RETRY_LEAST_NS (100 * NSEC_PER_MSEC)
#define BUS_RETRY_MOST_NS (30 * NSEC_PER_SEC)
#define BUS_ANSWER_NS (8 * NSEC_PER_SEC) ///< a bus that takes longer to answer counts as gone

struct bus;

/// Starts the thread. Nothing is connected until a session needs it.
int bus_start(struct bus **ret);
/// When every link was left. Waits for what they sent, BUS_LINGER_NS at the most.
struct bus *bus_stop(struct bus *bus);

struct bus_wanted {
	enum bus_kind bus;
	const char *signal; ///< interface.member
};

struct bus_sent {
	enum bus_kind bus;
	const char *signal; ///< interface.member
	const char *path;
};

/// What one session has to do with the buses. Copied.
struct bus_link_params {
	int64_t session;   ///< for the log
	const char *title; ///< of its notifications
	const struct bus_wanted *wanted;
	uint32_t n_wanted;
	const struct bus_sent *sent;
	uint32_t n_sent;
	bool notifies;
};

struct bus_link;

int bus_link_new(struct bus *bus, const struct bus_link_params *params, struct bus_link **ret);

/// Which of a link's parts could not be had.
struct bus_failure {
	enum { BUS_FAILED_NONE, BUS_FAILED_WANTED, BUS_FAILED_SENT } what;
	uint32_t index;
};

/// Connects to the buses that are waited for or sent to, and returns when every signal that is waited for would arrive.
/// From then on `received` is called for each, on the bus thread; it must return at once. The session bus of a link
/// that only notifies is not waited for.
/// @param wake_fd cuts the waiting short when it is readable
/// @param deadline_ns CLOCK_MONOTONIC
/// @return 0, -EINTR (error untouched), or another error (BUS_FAILED) with *ret_failure
int bus_link_open(struct bus_link *link, void (*received)(void *context, uint32_t wanted), void *context, int wake_fd,
		  int64_t deadline_ns, struct bus_failure *ret_failure, struct error *error);

/// One thread, after open; takes no lock and no memory. @return false: the queue is full, and this one is lost
bool bus_link_signal(struct bus_link *link, uint32_t sent);
/// As bus_link_signal(). @param urgency 0 low, 1 normal, 2 critical
bool bus_link_notify(struct bus_link *link, uint8_t urgency, const char *text);

/// Any thread: from now on the log is told of this session.
void bus_link_name(struct bus_link *link, int64_t session);

/// On any thread, as often as one likes: `received` is not called any more and nothing more is taken; what was handed
/// over before still goes out.
void bus_link_leave(struct bus_link *link);
/// Leaves first. NULL-safe; returns NULL.
struct bus_link *bus_link_free(struct bus_link *link);

#endif
