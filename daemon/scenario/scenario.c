// SPDX-License-Identifier: GPL-3.0-or-later
/// The model's own small things: names of kinds, the limiter's period, freeing.
#include "config.h"

#include "daemon/scenario/decoder.h"
#include "proto/limits.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdatomic.h>

_Atomic int64_t scenario_pixels_held;

static const char *const kind_names[] = {
	[CONDITION_IMAGE] = "image",         [CONDITION_COLOR] = "color", [CONDITION_TEXT] = "text",
	[CONDITION_NUMBER] = "number",       [CONDITION_TIMER] = "timer", [CONDITION_COUNTER] = "counter",
	[CONDITION_BROADCAST] = "broadcast",
};
static_assert(ARRAY_SIZE(kind_names) == CONDITION_KINDS, "a name for every kind");

const char *condition_kind_name(enum condition_kind kind)
{
	return (size_t)kind < ARRAY_SIZE(kind_names) ? kind_names[kind] : "unknown";
}

int scenario_rate_period(double passes, int64_t per_ns, int64_t *ret_ns, struct error *error)
{
	if (passes == 0) {
		*ret_ns = 0;
		return 0;
	}
	if (!(passes > 0) || !isfinite(passes))
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
				 "a rate is a number of passes per second or minute, such as 10/s, or unlimited");
	if (per_ns <= 0)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL, "a rate needs a time: 10/s or 10/min");
	double period_ns = (double)per_ns / passes;

	if (period_ns > (double)SCENARIO_MAX_DURATION_NS)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
				 "a pass in more than 100 years is too slow");
	if (period_ns < (double)SCENARIO_MIN_PERIOD_NS)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
				 "more than a million passes a second: use unlimited");
	*ret_ns = llrint(period_ns);
	return 0;
}

// --- places ----------------------------------------------------------------------------------------------------------

static void set_place(const struct scenario *scenario, uint32_t event, const char *list, uint32_t index,
		      const char *field, struct error *error)
{
	bool trigger = scenario->events[event].trigger;

	error_place(error, "%s[%u].%s[%u]%s%s", trigger ? "trigger-events" : "screen-events",
		    trigger ? event - scenario->screen_events : event, list, index, field ? "." : "",
		    field ? field : "");
}

void scenario_condition_place(const struct scenario *scenario, uint32_t condition, const char *field,
			      struct error *error)
{
	uint32_t event = scenario->conditions[condition].event;

	set_place(scenario, event, "conditions", condition - scenario->events[event].first_condition, field, error);
}

void scenario_action_place(const struct scenario *scenario, uint32_t action, const char *field, struct error *error)
{
	for (uint32_t i = 0; i < scenario->n_events; i++) {
		const struct event *event = &scenario->events[i];

		if (action >= event->first_action && action - event->first_action < event->actions) {
			set_place(scenario, i, "actions", action - event->first_action, field, error);
			return;
		}
	}
}

uint32_t scenario_broadcast_condition(const struct scenario *scenario, uint32_t broadcast)
{
	for (uint32_t i = 0; i < scenario->n_conditions; i++)
		if (scenario->conditions[i].kind == CONDITION_BROADCAST &&
		    scenario->conditions[i].broadcast == broadcast)
			return i;
	return NO_INDEX;
}

static void free_image(struct picture *image)
{
	if (image)
		atomic_fetch_sub(&scenario_pixels_held, (int64_t)image->width * image->height);
	picture_free(image);
}

struct scenario *scenario_free(struct scenario *scenario)
{
	if (!scenario)
		return NULL;
	for (uint32_t i = 0; scenario->conditions && i < scenario->n_conditions; i++)
		if (scenario->conditions[i].kind == CONDITION_IMAGE)
			free_image(scenario->conditions[i].image.image);
	free(scenario->events);
	free(scenario->conditions);
	free(scenario->actions);
	free(scenario->counters);
	free(scenario->broadcasts);
	free(scenario->points);
	free(scenario->text_parts);
	free(scenario->event_refs);
	struct scenario_storage *storage = scenario->storage;

	if (storage) {
		condprof__scenario__free_unpacked(storage->message, NULL);
		free(storage->languages);
	}
	free(storage);
	free(scenario);
	return NULL;
}
