// SPDX-License-Identifier: GPL-3.0-or-later
/// What the files of this folder share. bus.c is the thread and its loop, connection.c one bus, link.c one session.
#ifndef CONDPROF_BUS_INTERNAL_H
#define CONDPROF_BUS_INTERNAL_H

#include "daemon/bus/link.h"

enum connection_state {
	CONNECTION_IDLE, ///< nobody needs it
	CONNECTION_OPENING,
	CONNECTION_READY,
	CONNECTION_AWAY, ///< it failed; tried again at retry_ns
};

/// One bus. All of it is the bus thread's.
struct bus_connection {
	struct bus *bus;
	enum bus_kind kind;
	enum connection_state state;
	sd_bus *sd;        ///< in OPENING and READY
	bool needed;       ///< by a link; set before every turn
	bool counts;       ///< some open link cannot do without: what happens to it is said
	bool more;         ///< there was more to read than one turn takes
	bool said;         ///< that it is away
	bool notes_failed; ///< said already
	int64_t since_ns;  ///< OPENING: since when
	int64_t idle_ns;   ///< not needed: since when
	int64_t retry_ns, pause_ns;
	int broken;     ///< -errno by a callback: to be given up when sd-bus has returned
	char why[256];  ///< it is away, or broken: a sentence
	unsigned calls; ///< notifications not answered yet
};

struct bus {
	pthread_t thread;
	int wake_fd; ///< eventfd: something changed
	struct bus_connection connections[BUS_KINDS];

	pthread_mutex_t lock;
	TAILQ_HEAD(, bus_link) links; ///< under the lock, as is what is said so in a link
	bool stopping;                ///< the same
};

/// CLOCK_MONOTONIC, ns.
int64_t bus_now_ns(void);
/// @param wake_fd of the bus or of a link
void bus_wake(int wake_fd);

/// Opens, reads, writes, gives up, closes: as far as that goes without waiting. Not under bus->lock.
void connection_turn(struct bus_connection *connection, int64_t now_ns);
/// When it wants a turn even if its descriptor stays quiet. INT64_MAX: never
int64_t connection_deadline(const struct bus_connection *connection);
/// When READY, under bus->lock: asks for what the link waits for on this bus and has not asked for yet.
/// @return whether all of it is confirmed
bool connection_arm(struct bus_connection *connection, struct bus_link *link);
/// Takes what the link has for this bus, as much as the bus takes now. Under bus->lock.
void connection_send(struct bus_connection *connection, struct bus_link *link);
/// It is READY and everything is armed: says so, when it was said to be away.
void connection_settled(struct bus_connection *connection, unsigned signals);

#endif
