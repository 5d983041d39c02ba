// SPDX-License-Identifier: GPL-3.0-or-later
// The bus thread. A turn: look at the links, give each connection its turn, give each link what can be done for it;
// then wait for a descriptor, a time, or a poke.
#include "config.h"

#include "daemon/bus/bus-internal.h"
#include "daemon/log/log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

const char *bus_kind_name(enum bus_kind kind)
{
	return kind == BUS_SESSION ? "session" : "system";
}

int64_t bus_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void bus_wake(int wake_fd)
{
	// only a counter that is full already could refuse, and that one wakes too
	ssize_t written = write(wake_fd, &(uint64_t){1}, sizeof(uint64_t));

	(void)written;
}

// --- links ----------------------------------------------------------------------------------------------------------

static void disarm(struct bus_link *link)
{
	for (uint32_t i = 0; i < link->n_matches; i++)
		link->matches[i].slot = sd_bus_slot_unref(link->matches[i].slot);
}

/// @return whether the link is gone
static bool look_at_closing(struct bus *bus, struct bus_link *link, int64_t now)
{
	if (!link->linger_ns) {
		link->linger_ns = now + BUS_LINGER_NS;
		disarm(link);
	}
	if (!link_drained(link) && now < link->linger_ns)
		return false;
	link_say_losses(link, now, true);
	TAILQ_REMOVE(&bus->links, link, link);
	link_unref(link);
	return true;
}

/// What is needed of the connections, before their turn. Under the lock.
static void look_at_link(struct bus *bus, struct bus_link *link, int64_t now)
{
	bool is_new = link->state == LINK_NEW;

	if (is_new)
		link->state = LINK_OPENING;
	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++) {
		struct bus_connection *connection = &bus->connections[kind];

		if (!link_uses(link, kind) || link->state == LINK_FAILED)
			continue;
		connection->needed = true;
		if (!link_requires(link, kind))
			continue;
		connection->counts |= link->state == LINK_OPEN && !link->closing;
		if (is_new && connection->state == CONNECTION_AWAY)
			connection->retry_ns = now; // somebody waits for the answer
	}
}

static void look_at_links(struct bus *bus, int64_t now)
{
	struct bus_link *link = TAILQ_FIRST(&bus->links), *next;

	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++)
		bus->connections[kind].needed = bus->connections[kind].counts = false;
	for (; link; link = next) {
		next = TAILQ_NEXT(link, link);
		if (!link->closing || !look_at_closing(bus, link, now))
			look_at_link(bus, link, now);
	}
}

static void go_on_opening(struct bus *bus, struct bus_link *link)
{
	bool ready = true;

	for (enum bus_kind kind = 0; kind < BUS_KINDS && link->state == LINK_OPENING; kind++) {
		struct bus_connection *connection = &bus->connections[kind];

		if (!link_requires(link, kind))
			continue;
		if (connection->state == CONNECTION_AWAY)
			link_failed(link, link_part(link, kind), "%s", connection->why);
		else if (connection->state != CONNECTION_READY || !connection_arm(connection, link))
			ready = false;
	}
	if (ready && link->state == LINK_OPENING)
		link_opened(link);
}

/// What can be done for a link after the connections' turn. Under the lock.
static void serve_link(struct bus *bus, struct bus_link *link, bool settled[BUS_KINDS], unsigned signals[BUS_KINDS],
		       int64_t now)
{
	if (link->state == LINK_OPENING && !link->closing)
		go_on_opening(bus, link);
	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++) {
		struct bus_connection *connection = &bus->connections[kind];

		if (link->state != LINK_OPEN || !link_uses(link, kind))
			continue;
		if (connection->state == CONNECTION_READY && !link->closing && !connection_arm(connection, link))
			settled[kind] = false;
		for (uint32_t i = 0; i < link->n_matches; i++)
			signals[kind] += link->matches[i].bus == kind;
		connection_send(connection, link);
	}
	link_say_losses(link, now, false);
}

static void serve_links(struct bus *bus, int64_t now)
{
	unsigned signals[BUS_KINDS] = {0};
	bool settled[BUS_KINDS];
	struct bus_link *link;

	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++)
		settled[kind] = true;
	TAILQ_FOREACH(link, &bus->links, link)
	serve_link(bus, link, settled, signals, now);
	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++)
		if (settled[kind] && bus->connections[kind].state == CONNECTION_READY)
			connection_settled(&bus->connections[kind], signals[kind]);
}

// --- the loop -------------------------------------------------------------------------------------------------------

/// @return when the next turn is due at the latest
static int64_t turn(struct bus *bus, bool *ret_done)
{
	int64_t now = bus_now_ns(), deadline = INT64_MAX;
	struct bus_link *link;
	bool stopping;

	pthread_mutex_lock(&bus->lock);
	stopping = bus->stopping;
	look_at_links(bus, now);
	pthread_mutex_unlock(&bus->lock);
	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++)
		connection_turn(&bus->connections[kind], now);
	pthread_mutex_lock(&bus->lock);
	serve_links(bus, now);
	TAILQ_FOREACH(link, &bus->links, link)
	if (link->closing)
		deadline = link_drained(link) ? now : MIN(deadline, link->linger_ns);
	*ret_done = stopping && TAILQ_EMPTY(&bus->links);
	pthread_mutex_unlock(&bus->lock);
	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++) {
		deadline = MIN(deadline, connection_deadline(&bus->connections[kind]));
		*ret_done = *ret_done && bus->connections[kind].state == CONNECTION_IDLE;
	}
	return deadline;
}

static void wait_for_more(struct bus *bus, int64_t deadline_ns)
{
	struct pollfd fds[1 + BUS_KINDS] = {{.fd = bus->wake_fd, .events = POLLIN}};
	struct timespec timeout;
	uint64_t pokes;

	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++) {
		sd_bus *sd = bus->connections[kind].sd;
		int events = sd ? sd_bus_get_events(sd) : 0;

		// an error shows at the next turn; without a descriptor there is only time to wait for
		fds[1 + kind] = (struct pollfd){.fd = sd ? sd_bus_get_fd(sd) : -1, .events = (short)MAX(events, 0)};
		if (events < 0)
			deadline_ns = 0;
	}
	int64_t left_ns = deadline_ns == INT64_MAX ? 0 : MAX(deadline_ns - bus_now_ns(), 0);

	timeout = (struct timespec){.tv_sec = left_ns / NSEC_PER_SEC, .tv_nsec = left_ns % NSEC_PER_SEC};
	ppoll(fds, ARRAY_SIZE(fds), deadline_ns == INT64_MAX ? NULL : &timeout, NULL);
	if (fds[0].revents && read(bus->wake_fd, &pokes, sizeof(pokes)) < 0)
		return; // nobody else reads it
}

static void *bus_thread(void *argument)
{
	struct bus *bus = argument;
	bool done = false;

	for (;;) {
		int64_t deadline_ns = turn(bus, &done);

		if (done)
			return NULL;
		wait_for_more(bus, deadline_ns);
	}
}

/// Signals are for the control thread.
static int start_thread(struct bus *bus)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&bus->thread, NULL, bus_thread, bus);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!r)
		pthread_setname_np(bus->thread, "bus");
	return -r;
}

int bus_start(struct bus **ret)
{
	struct bus *bus = calloc(1, sizeof(*bus));
	int r;

	if (!bus)
		return -ENOMEM;
	TAILQ_INIT(&bus->links);
	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++)
		bus->connections[kind] = (struct bus_connection){.bus = bus, .kind = kind};
	pthread_mutex_init(&bus->lock, NULL);
	bus->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = bus->wake_fd < 0 ? -errno : start_thread(bus);
	if (r < 0) {
		if (bus->wake_fd >= 0)
			close(bus->wake_fd);
		pthread_mutex_destroy(&bus->lock);
		free(bus);
		return r;
	}
	*ret = bus;
	return 0;
}

struct bus *bus_stop(struct bus *bus)
{
	if (!bus)
		return NULL;
	pthread_mutex_lock(&bus->lock);
	bus->stopping = true;
	pthread_mutex_unlock(&bus->lock);
	bus_wake(bus->wake_fd);
	pthread_join(bus->thread, NULL);
	close(bus->wake_fd);
	pthread_mutex_destroy(&bus->lock);
	free(bus);
	return NULL;
}
