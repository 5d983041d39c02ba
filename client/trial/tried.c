// SPDX-License-Identifier: GPL-3.0-or-later
// Replies are kept as they came; only what a view would stumble over is refused.
#include "config.h"

#include "client/trial/tried.h"

#include "proto/limits.h"

#include <errno.h>
#include <string.h>

static int garbled(struct error *error)
{
	return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "the daemon answered something that makes no sense");
}

static int take_head(struct tried *tried, const Condprof__Tried *message, struct error *error)
{
	if (!message->has_width || !message->has_height || message->width < 1 || message->height < 1 ||
	    message->width > PICTURE_MAX_SIDE || message->height > PICTURE_MAX_SIDE)
		return garbled(error);
	tried->width = message->width;
	tried->height = message->height;
	if (message->screen && !tried->screen && !(tried->screen = strdup(message->screen)))
		return -ENOMEM;
	if (message->name && !tried->name && !(tried->name = strdup(message->name)))
		return -ENOMEM;
	return 0;
}

static int take_conditions(struct tried *tried, const Condprof__Tried *message, struct error *error)
{
	if (tried->n + message->n_conditions > SCENARIO_MAX_CONDITIONS)
		return garbled(error);
	const Condprof__TriedCondition **grown =
		realloc(tried->conditions, (tried->n + message->n_conditions + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	tried->conditions = grown;
	for (size_t i = 0; i < message->n_conditions; i++)
		tried->conditions[tried->n++] = message->conditions[i];
	return 0;
}

static void free_reply(Condprof__Reply *reply)
{
	condprof__reply__free_unpacked(reply, NULL);
}

int tried_add(struct tried *tried, Condprof__Reply *reply, struct error *error)
{
	if (tried->n_replies == tried->capacity) {
		size_t capacity = MAX(2 * tried->capacity, (size_t)16);
		Condprof__Reply **replies = realloc(tried->replies, capacity * sizeof(*replies));

		if (!replies) {
			free_reply(reply);
			return -ENOMEM;
		}
		tried->replies = replies;
		tried->capacity = capacity;
	}
	tried->replies[tried->n_replies++] = reply;
	int r = take_head(tried, reply->tried, error);
	return r < 0 ? r : take_conditions(tried, reply->tried, error);
}

void tried_clear(struct tried *tried)
{
	for (size_t i = 0; i < tried->n_replies; i++)
		free_reply(tried->replies[i]);
	free(tried->replies);
	free(tried->conditions);
	free(tried->screen);
	free(tried->name);
	*tried = (struct tried){0};
}
