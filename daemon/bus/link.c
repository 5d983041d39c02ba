// SPDX-License-Identifier: GPL-3.0-or-later
// What a session has of the buses. The session's thread fills rings and pokes the bus thread; neither waits for the
// other but in bus_link_open().
#include "config.h"

#include "daemon/bus/bus-internal.h"
#include "daemon/log/log.h"
#include "proto/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

// --- making and freeing ---------------------------------------------------------------------------------------------

static int split_name(const char *signal, struct bus_name *ret)
{
	const char *dot = strrchr(signal, '.');
	char *copy = dot ? strdup(signal) : NULL;

	if (!copy)
		return dot ? -ENOMEM : -EINVAL;
	copy[dot - signal] = '\0';
	ret->interface = copy;
	ret->member = copy + (dot - signal) + 1;
	return 0;
}

static int copy_parts(struct bus_link *link, const struct bus_link_params *params)
{
	int r = 0;

	for (uint32_t i = 0; i < params->n_wanted && r == 0; i++) {
		struct bus_match *match = &link->matches[link->n_matches++];

		match->link = link;
		match->bus = params->wanted[i].bus;
		r = split_name(params->wanted[i].signal, &match->name);
	}
	for (uint32_t i = 0; i < params->n_sent && r == 0; i++) {
		struct bus_outgoing *outgoing = &link->outgoing[link->n_outgoing++];

		outgoing->bus = params->sent[i].bus;
		outgoing->path = strdup(params->sent[i].path);
		r = outgoing->path ? split_name(params->sent[i].signal, &outgoing->name) : -ENOMEM;
	}
	return r;
}

int bus_link_new(struct bus *bus, const struct bus_link_params *params, struct bus_link **ret)
{
	struct bus_link *link = calloc(1, sizeof(*link));
	int r;

	if (!link)
		return -ENOMEM;
	pthread_mutex_init(&link->lock, NULL);
	link->bus = bus;
	atomic_init(&link->session, params->session);
	link->notifies = params->notifies;
	link->title = strdup(params->title);
	link->matches = calloc(MAX(params->n_wanted, 1U), sizeof(*link->matches));
	link->outgoing = calloc(MAX(params->n_sent, 1U), sizeof(*link->outgoing));
	link->note_places = params->notifies ? calloc(BUS_QUEUED_NOTES, sizeof(*link->note_places)) : NULL;
	link->references = 1;
	link->opened_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	link->wake_fd = fcntl(bus->wake_fd, F_DUPFD_CLOEXEC, 3);
	r = link->opened_fd < 0 || link->wake_fd < 0 ? -errno : 0;
	if (!link->title || !link->matches || !link->outgoing || (params->notifies && !link->note_places))
		r = -ENOMEM;
	if (!r)
		r = copy_parts(link, params);
	if (r < 0) {
		link_unref(link);
		return r;
	}
	*ret = link;
	return 0;
}

static void link_destroy(struct bus_link *link)
{
	for (uint32_t i = 0; i < link->n_matches; i++)
		free(link->matches[i].name.interface);
	for (uint32_t i = 0; i < link->n_outgoing; i++) {
		free(link->outgoing[i].name.interface);
		free(link->outgoing[i].path);
	}
	if (link->opened_fd >= 0)
		close(link->opened_fd);
	if (link->wake_fd >= 0)
		close(link->wake_fd);
	pthread_mutex_destroy(&link->lock);
	free(link->matches);
	free(link->outgoing);
	free(link->note_places);
	free(link->title);
	free(link);
}

void link_unref(struct bus_link *link)
{
	if (atomic_fetch_sub(&link->references, 1) == 1)
		link_destroy(link);
}

// --- the session's side ---------------------------------------------------------------------------------------------

/// @return 0: look at its state; -EINTR, -ETIMEDOUT
static int wait_opened(const struct bus_link *link, int wake_fd, int64_t deadline_ns)
{
	struct pollfd fds[] = {{.fd = wake_fd, .events = POLLIN}, {.fd = link->opened_fd, .events = POLLIN}};

	for (;;) {
		int64_t left_ns = MAX(deadline_ns - bus_now_ns(), 0);
		struct timespec timeout = {.tv_sec = left_ns / NSEC_PER_SEC, .tv_nsec = left_ns % NSEC_PER_SEC};
		int r = ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL);

		if (r > 0)
			return fds[0].revents ? -EINTR : 0;
		if (r == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static enum bus_kind failed_bus(const struct bus_link *link, struct bus_failure failure)
{
	return failure.what == BUS_FAILED_WANTED ? link->matches[failure.index].bus : link->outgoing[failure.index].bus;
}

/// Under bus->lock.
static int open_result(const struct bus_link *link, int r, struct bus_failure *ret_failure, struct error *error)
{
	if (link->state == LINK_OPEN)
		return 0;
	if (r == -EINTR)
		return r;
	*ret_failure = link->failure;
	if (link->state == LINK_FAILED) {
		*error = link->error;
		return -EIO;
	}
	return error_set(error, CONDPROF__CODE__BUS_FAILED, ETIMEDOUT,
			 "the %s bus does not answer: is its daemon still well?",
			 link->failure.what ? bus_kind_name(failed_bus(link, link->failure)) : "D-Bus");
}

int bus_link_open(struct bus_link *link, void (*received)(void *context, uint32_t wanted), void *context, int wake_fd,
		  int64_t deadline_ns, struct bus_failure *ret_failure, struct error *error)
{
	struct bus *bus = link->bus;
	int r;

	pthread_mutex_lock(&link->lock);
	link->received = received;
	link->context = context;
	pthread_mutex_unlock(&link->lock);
	pthread_mutex_lock(&bus->lock);
	TAILQ_INSERT_TAIL(&bus->links, link, link);
	atomic_fetch_add(&link->references, 1);
	for (enum bus_kind kind = 0; kind < BUS_KINDS && !link->failure.what; kind++)
		if (link_requires(link, kind))
			link->failure = link_part(link, kind);
	pthread_mutex_unlock(&bus->lock);
	bus_wake(link->wake_fd);
	r = wait_opened(link, wake_fd, deadline_ns);
	pthread_mutex_lock(&bus->lock);
	r = open_result(link, r, ret_failure, error);
	pthread_mutex_unlock(&bus->lock);
	return r;
}

/// @return false, for the caller to return
static bool overflow(struct bus_link *link)
{
	atomic_fetch_add_explicit(&link->overflowed, 1, memory_order_relaxed);
	bus_wake(link->wake_fd);
	return false;
}

bool bus_link_signal(struct bus_link *link, uint32_t sent)
{
	enum bus_kind kind = link->outgoing[sent].bus;
	uint32_t place;

	if (atomic_load(&link->left))
		return false;
	if (!ring_room(&link->signals[kind], BUS_QUEUED_SIGNALS, &place))
		return overflow(link);
	link->signal_places[kind][place] = sent;
	ring_filled(&link->signals[kind]);
	bus_wake(link->wake_fd);
	return true;
}

bool bus_link_notify(struct bus_link *link, uint8_t urgency, const char *text)
{
	uint32_t place;

	if (atomic_load(&link->left))
		return false;
	if (!ring_room(&link->notes, BUS_QUEUED_NOTES, &place))
		return overflow(link);
	link->note_places[place].urgency = urgency;
	utf8_copy(link->note_places[place].text, sizeof(link->note_places[place].text), text);
	ring_filled(&link->notes);
	bus_wake(link->wake_fd);
	return true;
}

void bus_link_name(struct bus_link *link, int64_t session)
{
	atomic_store(&link->session, session);
}

void bus_link_leave(struct bus_link *link)
{
	struct bus *bus = link->bus;

	// first, and by each who comes: two may leave at the same time, and neither may be called afterwards
	pthread_mutex_lock(&link->lock);
	link->received = NULL;
	pthread_mutex_unlock(&link->lock);
	if (atomic_exchange(&link->left, true))
		return;
	pthread_mutex_lock(&bus->lock);
	link->closing = true;
	pthread_mutex_unlock(&bus->lock);
	bus_wake(link->wake_fd);
}

struct bus_link *bus_link_free(struct bus_link *link)
{
	if (!link)
		return NULL;
	bus_link_leave(link);
	link_unref(link);
	return NULL;
}

// --- the bus thread's side ------------------------------------------------------------------------------------------

bool link_requires(const struct bus_link *link, enum bus_kind kind)
{
	return link_part(link, kind).what != BUS_FAILED_NONE;
}

bool link_uses(const struct bus_link *link, enum bus_kind kind)
{
	return (link->notifies && kind == BUS_SESSION) || link_requires(link, kind);
}

struct bus_failure link_part(const struct bus_link *link, enum bus_kind kind)
{
	for (uint32_t i = 0; i < link->n_matches; i++)
		if (link->matches[i].bus == kind)
			return (struct bus_failure){BUS_FAILED_WANTED, i};
	for (uint32_t i = 0; i < link->n_outgoing; i++)
		if (link->outgoing[i].bus == kind)
			return (struct bus_failure){BUS_FAILED_SENT, i};
	return (struct bus_failure){BUS_FAILED_NONE, 0};
}

bool link_drained(const struct bus_link *link)
{
	uint32_t place;

	for (enum bus_kind kind = 0; kind < BUS_KINDS; kind++)
		if (ring_first(&link->signals[kind], BUS_QUEUED_SIGNALS, &place))
			return false;
	return !ring_first(&link->notes, BUS_QUEUED_NOTES, &place);
}

void link_received(struct bus_link *link, const struct bus_match *match)
{
	pthread_mutex_lock(&link->lock);
	if (link->received)
		link->received(link->context, (uint32_t)(match - link->matches));
	pthread_mutex_unlock(&link->lock);
}

static void end_waiting(struct bus_link *link, enum link_state state)
{
	link->state = state;
	if (write(link->opened_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
		abort(); // an eventfd of ours that is written once
}

void link_opened(struct bus_link *link)
{
	end_waiting(link, LINK_OPEN);
}

void link_failed(struct bus_link *link, struct bus_failure failure, const char *format, ...)
{
	char text[sizeof(link->error.message)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	error_set(&link->error, CONDPROF__CODE__BUS_FAILED, EIO, "%s", text);
	link->failure = failure;
	end_waiting(link, LINK_FAILED);
}

void link_say_losses(struct bus_link *link, int64_t now_ns, bool last)
{
	uint64_t overflowed = atomic_load_explicit(&link->overflowed, memory_order_relaxed);
	uint64_t full = overflowed - link->overflow_said, away = link->away - link->away_said;
	int64_t session = atomic_load(&link->session);

	if ((!full && !away) || (!last && link->said_ns && now_ns - link->said_ns < BUS_SAY_NS))
		return;
	if (full)
		log_line(LOG_LEVEL_WARNING, session,
			 "%llu signal%s or notification%s lost: the bus takes them too slowly",
			 (unsigned long long)full, full == 1 ? "" : "s", full == 1 ? " is" : "s are");
	if (away)
		log_line(LOG_LEVEL_WARNING, session, "%llu signal%s lost: %s bus is away", (unsigned long long)away,
			 away == 1 ? " is" : "s are", away == 1 ? "its" : "their");
	link->overflow_said = overflowed;
	link->away_said = link->away;
	link->said_ns = now_ns;
}
