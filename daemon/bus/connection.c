// SPDX-License-Identifier: GPL-3.0-or-later
// One bus, by sd-bus, on the bus thread. sd-bus is only ever asked for what it does without waiting: it is opened and
// authenticated in steps, matches are added by calls whose answer comes later, and a connection is closed without being
// flushed. What a callback finds wrong is acted on when sd-bus has returned.
#include "config.h"

#include "daemon/bus/bus-internal.h"
#include "daemon/log/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MESSAGES_A_TURN 256
#define QUEUED_MOST 64U // in sd-bus: a bus that reads no more must not fill our memory
#define CALLS_MOST 16U  // notifications on their way: a server that never answers is left alone
#define BODY_MOST (6 * BUS_NOTE_MAX_BYTES)

#define NOTIFICATIONS "org.freedesktop.Notifications"

// --- the end of a connection ----------------------------------------------------------------------------------------

static void drop(struct bus_connection *connection)
{
	struct bus_link *link;

	pthread_mutex_lock(&connection->bus->lock);
	TAILQ_FOREACH(link, &connection->bus->links, link)
	{
		for (uint32_t i = 0; i < link->n_matches; i++) {
			if (link->matches[i].bus != connection->kind)
				continue;
			link->matches[i].slot = sd_bus_slot_unref(link->matches[i].slot);
			link->matches[i].armed = false;
		}
	}
	pthread_mutex_unlock(&connection->bus->lock);
	connection->sd = sd_bus_close_unref(connection->sd);
	connection->calls = 0;
	connection->broken = 0;
	connection->more = false;
	connection->notes_failed = false;
}

static void say_away(struct bus_connection *connection)
{
	if (!connection->counts) {
		log_debug("%s", connection->why);
		return;
	}
	if (!connection->said)
		log_warning("%s; trying again, and until then nothing comes from it or goes to it", connection->why);
	connection->said = true;
}

/// @param why NULL: what r says
static void give_up(struct bus_connection *connection, int64_t now, int r, const char *why)
{
	const char *name = bus_kind_name(connection->kind);
	bool was_ready = connection->state == CONNECTION_READY;

	if (why)
		snprintf(connection->why, sizeof(connection->why), "%s", why);
	else if (r == -ENOMEDIUM)
		snprintf(connection->why, sizeof(connection->why),
			 "there is no %s bus: condprofd's environment names none (DBUS_SESSION_BUS_ADDRESS, "
			 "XDG_RUNTIME_DIR); condprofd(8) says under D-BUS how it gets one",
			 name);
	else if (!was_ready && (r == -ENOENT || r == -ECONNREFUSED))
		snprintf(connection->why, sizeof(connection->why),
			 "cannot reach the %s bus: %s; is its daemon running?", name, strerror(-r));
	else if (r == -ETIMEDOUT)
		snprintf(connection->why, sizeof(connection->why),
			 "the %s bus does not answer: is its daemon still well?", name);
	else
		snprintf(connection->why, sizeof(connection->why),
			 was_ready ? "the %s bus is gone: %s" : "cannot reach the %s bus: %s", name, strerror(-r));
	drop(connection);
	connection->state = CONNECTION_AWAY;
	connection->pause_ns =
		connection->pause_ns ? MIN(2 * connection->pause_ns, BUS_RETRY_MOST_NS) : BUS_RETRY_LEAST_NS;
	connection->retry_ns = r == -ENOMEDIUM ? INT64_MAX : now + connection->pause_ns;
	say_away(connection);
}

// --- a turn ---------------------------------------------------------------------------------------------------------

static void open_connection(struct bus_connection *connection, int64_t now)
{
	int r = connection->kind == BUS_SESSION ? sd_bus_open_user(&connection->sd)
						: sd_bus_open_system(&connection->sd);

	connection->state = CONNECTION_OPENING;
	connection->since_ns = now;
	if (r < 0) {
		connection->sd = NULL;
		give_up(connection, now, r, NULL);
		return;
	}
	sd_bus_set_method_call_timeout(connection->sd, BUS_ANSWER_NS / NSEC_PER_USEC);
}

static void process(struct bus_connection *connection, int64_t now)
{
	int r = 1;

	for (int i = 0; i < MESSAGES_A_TURN && r > 0; i++)
		r = sd_bus_process(connection->sd, NULL);
	connection->more = r > 0;
	if (connection->broken) {
		char why[sizeof(connection->why)];

		memcpy(why, connection->why, sizeof(why));
		give_up(connection, now, connection->broken, why);
	} else if (r < 0 || sd_bus_is_open(connection->sd) <= 0) {
		give_up(connection, now, r < 0 ? r : -ECONNRESET, NULL);
	} else if (connection->state == CONNECTION_OPENING && sd_bus_is_ready(connection->sd) > 0) {
		connection->state = CONNECTION_READY;
	} else if (connection->state == CONNECTION_OPENING && now - connection->since_ns >= BUS_ANSWER_NS) {
		give_up(connection, now, -ETIMEDOUT, NULL);
	}
}

/// Whether all that was handed to sd-bus is written, and answered where an answer is waited for.
static bool is_quiet(const struct bus_connection *connection)
{
	uint64_t queued = 0;

	return connection->state != CONNECTION_READY ||
	       (sd_bus_get_n_queued_write(connection->sd, &queued) >= 0 && !queued && !connection->calls);
}

static void turn_unneeded(struct bus_connection *connection, int64_t now)
{
	if (!connection->idle_ns)
		connection->idle_ns = now;
	if (connection->sd && !is_quiet(connection) && now - connection->idle_ns < BUS_LINGER_NS)
		return;
	if (connection->sd)
		drop(connection);
	connection->state = CONNECTION_IDLE;
	connection->pause_ns = 0;
	connection->said = false;
}

void connection_turn(struct bus_connection *connection, int64_t now_ns)
{
	if (connection->needed) {
		connection->idle_ns = 0;
		if (connection->state == CONNECTION_IDLE ||
		    (connection->state == CONNECTION_AWAY && now_ns >= connection->retry_ns))
			open_connection(connection, now_ns);
	}
	if (connection->sd)
		process(connection, now_ns);
	if (!connection->needed && connection->state != CONNECTION_IDLE)
		turn_unneeded(connection, now_ns);
}

int64_t connection_deadline(const struct bus_connection *connection)
{
	int64_t deadline = INT64_MAX;
	uint64_t timeout_us;

	if (connection->more)
		return 0;
	if (connection->state == CONNECTION_AWAY)
		return connection->needed ? connection->retry_ns : 0;
	if (connection->state == CONNECTION_OPENING)
		deadline = connection->since_ns + BUS_ANSWER_NS;
	if (connection->state != CONNECTION_IDLE && !connection->needed)
		deadline = MIN(deadline, connection->idle_ns + BUS_LINGER_NS);
	if (connection->sd && sd_bus_get_timeout(connection->sd, &timeout_us) >= 0 &&
	    timeout_us < (uint64_t)(INT64_MAX / NSEC_PER_USEC))
		deadline = MIN(deadline, (int64_t)timeout_us * NSEC_PER_USEC);
	return deadline;
}

// --- signals that come ----------------------------------------------------------------------------------------------

static int on_signal(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct bus_match *match = context;

	(void)message;
	(void)error;
	link_received(match->link, match);
	return 0;
}

static void refused(struct bus_match *match, const char *name, const char *message)
{
	struct bus_link *link = match->link;
	struct bus_connection *connection = &link->bus->connections[match->bus];
	char why[sizeof(connection->why)];

	snprintf(why, sizeof(why), "the %s bus does not let us wait for %s.%s: %.60s: %.80s", bus_kind_name(match->bus),
		 match->name.interface, match->name.member, name, message);
	pthread_mutex_lock(&link->bus->lock);
	if (link->state == LINK_OPENING) {
		link_failed(link, (struct bus_failure){BUS_FAILED_WANTED, (uint32_t)(match - link->matches)}, "%s",
			    why);
	} else if (link->state == LINK_OPEN && !link->closing && !connection->broken) {
		connection->broken = -EIO; // it was granted before: perhaps it is again, later
		memcpy(connection->why, why, sizeof(why));
	}
	pthread_mutex_unlock(&link->bus->lock);
}

/// The bus has answered that it sends us those signals, or not.
static int on_armed(sd_bus_message *message, void *context, sd_bus_error *error)
{
	const sd_bus_error *answer = sd_bus_message_get_error(message);
	struct bus_match *match = context;

	(void)error;
	if (answer)
		refused(match, answer->name ? answer->name : "", answer->message ? answer->message : "");
	else
		match->armed = true;
	return 0;
}

bool connection_arm(struct bus_connection *connection, struct bus_link *link)
{
	bool all = true;

	for (uint32_t i = 0; i < link->n_matches; i++) {
		struct bus_match *match = &link->matches[i];
		char rule[3 * 256];

		if (match->bus != connection->kind)
			continue;
		all = all && match->armed;
		if (match->slot)
			continue;
		snprintf(rule, sizeof(rule), "type='signal',interface='%s',member='%s'", match->name.interface,
			 match->name.member);
		int r = sd_bus_add_match_async(connection->sd, &match->slot, rule, on_signal, on_armed, match);

		if (r < 0) {
			connection->broken = r;
			connection->more = true; // for the next turn to act on
			snprintf(connection->why, sizeof(connection->why), "cannot ask the %s bus for %s.%s: %s",
				 bus_kind_name(connection->kind), match->name.interface, match->name.member,
				 strerror(-r));
			return false;
		}
	}
	return all;
}

void connection_settled(struct bus_connection *connection, unsigned signals)
{
	connection->pause_ns = 0;
	if (connection->said)
		log_notice("the %s bus is back; %u signal%s waited for again", bus_kind_name(connection->kind), signals,
			   signals == 1 ? " is" : "s are");
	connection->said = false;
}

// --- what is sent ---------------------------------------------------------------------------------------------------

static bool takes_more(const struct bus_connection *connection)
{
	uint64_t queued;

	return sd_bus_get_n_queued_write(connection->sd, &queued) >= 0 && queued < QUEUED_MOST;
}

static void send_signals(struct bus_connection *connection, struct bus_link *link)
{
	struct ring *ring = &link->signals[connection->kind];
	bool away = connection->state == CONNECTION_AWAY;
	uint32_t place;

	while (ring_first(ring, BUS_QUEUED_SIGNALS, &place) && (away || takes_more(connection))) {
		const struct bus_outgoing *signal = &link->outgoing[link->signal_places[connection->kind][place]];

		if (away || sd_bus_emit_signal(connection->sd, signal->path, signal->name.interface,
					       signal->name.member, NULL) < 0)
			link->away++;
		ring_emptied(ring);
	}
}

static int on_notified(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct bus_connection *connection = context;
	const sd_bus_error *answer = sd_bus_message_get_error(message);

	(void)error;
	if (connection->calls)
		connection->calls--;
	if (answer && !connection->notes_failed) {
		connection->notes_failed = true;
		log_info("notifications go to the journal only: %s", answer->message ? answer->message
								     : answer->name  ? answer->name
										     : "the session bus refuses them");
	}
	return 0;
}

/// A notification's body may have markup: what would be some is text.
static void escape(const char *text, char *out)
{
	for (; *text; text++) {
		const char *entity = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;

		if (entity)
			out = stpcpy(out, entity);
		else
			*out++ = *text;
	}
	*out = '\0';
}

static void send_note(struct bus_connection *connection, const struct bus_link *link, const struct bus_note *note)
{
	char body[BODY_MOST];

	escape(note->text, body);
	// app, replaces, icon, summary, body, actions, hints, timeout: as the server likes
	if (sd_bus_call_method_async(connection->sd, NULL, NOTIFICATIONS, "/org/freedesktop/Notifications",
				     NOTIFICATIONS, "Notify", on_notified, connection, "susssasa{sv}i", "condprof",
				     (uint32_t)0, "", link->title, body, 0, 1, "urgency", "y", (int)note->urgency,
				     (int32_t)-1) >= 0)
		connection->calls++;
}

static void send_notes(struct bus_connection *connection, struct bus_link *link)
{
	bool ready = connection->state == CONNECTION_READY;
	uint32_t place;

	// what is not shown stands in the journal
	while (ring_first(&link->notes, BUS_QUEUED_NOTES, &place) && (!ready || takes_more(connection))) {
		if (ready && connection->calls < CALLS_MOST)
			send_note(connection, link, &link->note_places[place]);
		ring_emptied(&link->notes);
	}
}

void connection_send(struct bus_connection *connection, struct bus_link *link)
{
	if (connection->state != CONNECTION_READY && connection->state != CONNECTION_AWAY)
		return; // on its way: what is queued waits for it
	send_signals(connection, link);
	if (connection->kind == BUS_SESSION && link->notifies)
		send_notes(connection, link);
}
