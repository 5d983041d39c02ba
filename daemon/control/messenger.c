// SPDX-License-Identifier: GPL-3.0-or-later
// Indices of the scenario's broadcasts and actions on one side, of a link's parts on the other: two arrays between
// them.
#include "config.h"

#include "daemon/control/messenger.h"

#include "daemon/control/mailbox.h"

#include <errno.h>
#include <string.h>

struct bus_messenger {
	struct messenger messenger; // first
	struct bus_link *link;
	uint32_t n_actions;
	uint32_t *broadcast_of; ///< a wanted signal of the link: the scenario's broadcast
	uint32_t *action_of;    ///< a sent signal of the link: the scenario's action
	uint32_t *sent_of;      ///< an action of the scenario: the link's sent signal
	void (*received)(void *context, uint32_t broadcast);
	void *context;
};

static struct bus_messenger *of(struct messenger *messenger)
{
	return CONTAINER_OF(messenger, struct bus_messenger, messenger);
}

static enum bus_kind kind_of(Condprof__Bus bus)
{
	return bus == CONDPROF__BUS__BUS_SESSION ? BUS_SESSION : BUS_SYSTEM;
}

static void on_received(void *context, uint32_t wanted)
{
	struct bus_messenger *own = context;

	own->received(own->context, own->broadcast_of[wanted]);
}

static int messenger_open(struct messenger *messenger, void (*received)(void *context, uint32_t broadcast),
			  void *context, const struct screen_wait *wait, struct messenger_failure *ret_failure,
			  struct error *error)
{
	struct bus_messenger *own = of(messenger);
	struct bus_failure failure = {BUS_FAILED_NONE, 0};
	int r;

	own->received = received;
	own->context = context;
	r = bus_link_open(own->link, on_received, own, wait->wake_fd, wait->deadline_ns, &failure, error);
	if (r < 0 && failure.what == BUS_FAILED_WANTED)
		ret_failure->broadcast = own->broadcast_of[failure.index];
	else if (r < 0 && failure.what == BUS_FAILED_SENT)
		ret_failure->action = own->action_of[failure.index];
	return r;
}

static bool messenger_signal(struct messenger *messenger, uint32_t action)
{
	struct bus_messenger *own = of(messenger);

	return bus_link_signal(own->link, own->sent_of[action]);
}

static bool messenger_notify(struct messenger *messenger, Condprof__Level level, const char *text)
{
	static const uint8_t urgencies[] = {
		[CONDPROF__LEVEL__LEVEL_DEBUG] = 0,  [CONDPROF__LEVEL__LEVEL_INFO] = 0,
		[CONDPROF__LEVEL__LEVEL_NOTICE] = 1, [CONDPROF__LEVEL__LEVEL_WARNING] = 1,
		[CONDPROF__LEVEL__LEVEL_ERROR] = 2,
	};

	return bus_link_notify(of(messenger)->link, urgencies[level], text);
}

static void messenger_name(struct messenger *messenger, int64_t session)
{
	bus_link_name(of(messenger)->link, session);
}

static void messenger_leave(struct messenger *messenger)
{
	bus_link_leave(of(messenger)->link);
}

static struct messenger *messenger_destroy(struct messenger *messenger)
{
	struct bus_messenger *own = of(messenger);

	bus_link_free(own->link);
	free(own->broadcast_of);
	free(own->action_of);
	free(own->sent_of);
	free(own);
	return NULL;
}

static const struct messenger_ops ops = {
	.open = messenger_open,
	.signal = messenger_signal,
	.notify = messenger_notify,
	.name = messenger_name,
	.leave = messenger_leave,
	.free = messenger_destroy,
};

/// What the link needs, counted first and filled in then.
struct needs {
	struct bus_wanted *wanted;
	struct bus_sent *sent;
	struct bus_link_params params;
};

static void fill_needs(const struct scenario *scenario, bool dry_run, struct bus_messenger *own, struct needs *needs)
{
	struct bus_link_params *params = &needs->params;

	for (uint32_t i = 0; i < scenario->n_broadcasts; i++) {
		const struct broadcast *broadcast = &scenario->broadcasts[i];

		if (broadcast->bus == CONDPROF__BUS__BUS_NONE)
			continue;
		needs->wanted[params->n_wanted] = (struct bus_wanted){kind_of(broadcast->bus), broadcast->name};
		own->broadcast_of[params->n_wanted++] = i;
	}
	for (uint32_t i = 0; i < scenario->n_actions && !dry_run; i++) {
		const struct action *action = &scenario->actions[i];

		params->notifies |= action->kind == CONDPROF__ACTION_KIND__ACTION_NOTIFY;
		if (action->kind != CONDPROF__ACTION_KIND__ACTION_SIGNAL)
			continue;
		needs->sent[params->n_sent] =
			(struct bus_sent){kind_of(action->signal.bus), action->signal.signal, action->signal.path};
		own->sent_of[i] = params->n_sent;
		own->action_of[params->n_sent++] = i;
	}
	params->wanted = needs->wanted;
	params->sent = needs->sent;
}

static int make_link(struct bus *bus, const struct scenario *scenario, int64_t session, bool dry_run,
		     struct bus_messenger *own)
{
	CLEANUP_FREE struct bus_wanted *wanted = calloc(MAX(scenario->n_broadcasts, 1U), sizeof(*wanted));
	CLEANUP_FREE struct bus_sent *sent = calloc(MAX(scenario->n_actions, 1U), sizeof(*sent));
	struct needs needs = {wanted, sent, {.session = session, .title = scenario->name}};

	own->broadcast_of = calloc(MAX(scenario->n_broadcasts, 1U), sizeof(*own->broadcast_of));
	own->action_of = calloc(MAX(scenario->n_actions, 1U), sizeof(*own->action_of));
	own->sent_of = calloc(MAX(scenario->n_actions, 1U), sizeof(*own->sent_of));
	if (!wanted || !sent || !own->broadcast_of || !own->action_of || !own->sent_of)
		return -ENOMEM;
	fill_needs(scenario, dry_run, own, &needs);
	if (!needs.params.n_wanted && !needs.params.n_sent && !needs.params.notifies)
		return -ENODATA;
	return bus_link_new(bus, &needs.params, &own->link);
}

int bus_messenger_new(struct bus *bus, const struct scenario *scenario, int64_t session, bool dry_run,
		      struct messenger **ret, struct error *error)
{
	struct bus_messenger *own = calloc(1, sizeof(*own));
	int r = own ? make_link(bus, scenario, session, dry_run, own) : -ENOMEM;

	if (r == 0) {
		own->messenger.ops = &ops;
		*ret = &own->messenger;
		return 0;
	}
	if (own)
		messenger_destroy(&own->messenger);
	if (r == -ENODATA) {
		*ret = NULL;
		return 0;
	}
	return error_set(error, CONDPROF__CODE__INTERNAL, -r, "nothing to speak to a D-Bus with: %s", strerror(-r));
}
