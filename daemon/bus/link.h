// SPDX-License-Identifier: GPL-3.0-or-later
/// A link from the bus thread's side; bus.h has the other one.
#ifndef CONDPROF_BUS_LINK_H
#define CONDPROF_BUS_LINK_H

#include "daemon/bus/bus.h"
#include "daemon/bus/ring.h"

#include <pthread.h>
#include <sys/queue.h>
#include <systemd/sd-bus.h>

/// interface.member in two.
struct bus_name {
	char *interface, *member; ///< one piece of memory: `interface`
};

struct bus_match {
	struct bus_link *link;
	enum bus_kind bus;
	struct bus_name name;
	sd_bus_slot *slot; ///< the bus thread's; NULL: not asked for
	bool armed;        ///< the bus thread's: the bus has confirmed
};

struct bus_outgoing {
	enum bus_kind bus;
	struct bus_name name;
	char *path;
};

struct bus_note {
	uint8_t urgency;
	char text[BUS_NOTE_MAX_BYTES];
};

enum link_state {
	LINK_NEW, ///< the bus thread has not looked at it yet
	LINK_OPENING,
	LINK_OPEN,
	LINK_FAILED, ///< waits to be closed
};

struct bus_link {
	TAILQ_ENTRY(bus_link) link;
	struct bus *bus;
	_Atomic int64_t session; ///< for the log
	char *title;
	struct bus_match *matches;
	struct bus_outgoing *outgoing;
	uint32_t n_matches, n_outgoing;
	bool notifies;
	int opened_fd;          ///< eventfd: it is open or failed
	int wake_fd;            ///< the bus thread's, as a descriptor of our own: a session's thread may outlive it
	_Atomic int references; ///< the session, and the bus thread while it is in the list
	_Atomic bool left;

	pthread_mutex_t lock; ///< held while `received` is called
	void (*received)(void *context, uint32_t wanted);
	void *context;

	// Filled by the session's thread, emptied by the bus thread.
	struct ring signals[BUS_KINDS], notes;
	uint32_t signal_places[BUS_KINDS][BUS_QUEUED_SIGNALS];
	struct bus_note *note_places; ///< BUS_QUEUED_NOTES of them, or NULL
	_Atomic uint64_t overflowed;  ///< handed over while a queue was full

	// Under bus->lock.
	enum link_state state;
	bool closing;
	struct bus_failure failure; ///< OPENING: what is missing; FAILED: what failed
	struct error error;         ///< FAILED

	// The bus thread's own.
	int64_t linger_ns; ///< closing: until when what it handed over is kept; 0: not yet
	uint64_t away;     ///< signals lost while their bus was away
	uint64_t away_said, overflow_said;
	int64_t said_ns; ///< when losses were last said; 0: never
};

/// Whether it waits for signals of this bus or sends some: then it is not open without.
bool link_requires(const struct bus_link *link, enum bus_kind kind);
/// Whether it has to do with this bus at all.
bool link_uses(const struct bus_link *link, enum bus_kind kind);
/// Whether all that it handed over is taken.
bool link_drained(const struct bus_link *link);
/// What it fails by when this bus does.
struct bus_failure link_part(const struct bus_link *link, enum bus_kind kind);
/// The bus said that a signal came.
void link_received(struct bus_link *link, const struct bus_match *match);
/// Ends the waiting in bus_link_open(). Under bus->lock.
void link_opened(struct bus_link *link);
void link_failed(struct bus_link *link, struct bus_failure failure, const char *format, ...) PRINTF_LIKE(3, 4);
/// Says in the log what was lost, at most every BUS_SAY_NS.
void link_say_losses(struct bus_link *link, int64_t now_ns, bool last);
void link_unref(struct bus_link *link);

#define BUS_SAY_NS (10 * NSEC_PER_SEC)

#endif
