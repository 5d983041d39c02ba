// SPDX-License-Identifier: GPL-3.0-or-later
// Events, timers, cooldowns, counters, broadcasts of a running scenario. All arrays are taken at the start.
#include "daemon/engine/states.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define EQUAL_WITHIN 1e-9

int states_init(struct states *states, const struct scenario *scenario, struct engine_clock *clock)
{
	uint32_t words = (scenario->n_broadcasts + 63) / 64;

	*states = (struct states){
		.scenario = scenario,
		.clock = clock,
		.enabled = calloc(MAX(scenario->n_events, 1U), sizeof(*states->enabled)),
		.has_timers = calloc(MAX(scenario->n_events, 1U), sizeof(*states->has_timers)),
		.cooldown_end_ns = calloc(MAX(scenario->n_events, 1U), sizeof(*states->cooldown_end_ns)),
		.timer_end_ns = calloc(MAX(scenario->n_conditions, 1U), sizeof(*states->timer_end_ns)),
		.counters = calloc(MAX(scenario->n_counters, 1U), sizeof(*states->counters)),
		.broadcast_words = words,
		.received = calloc(MAX(words, 1U), sizeof(*states->received)),
		.current = calloc(MAX(words, 1U), sizeof(*states->current)),
	};
	if (states->enabled && states->has_timers && states->cooldown_end_ns && states->timer_end_ns &&
	    states->counters && states->received && states->current)
		return 0;
	states_deinit(states);
	return -ENOMEM;
}

void states_deinit(struct states *states)
{
	free(states->enabled);
	free(states->has_timers);
	free(states->cooldown_end_ns);
	free(states->timer_end_ns);
	free(states->counters);
	free(states->received);
	free(states->current);
	*states = (struct states){0};
}

// --- events and their timers -----------------------------------------------------------------------------------------

static void start_timers(struct states *states, uint32_t event, int64_t now)
{
	const struct event *e = &states->scenario->events[event];

	for (uint32_t i = e->first_condition; i < e->first_condition + e->conditions; i++) {
		const struct condition *condition = &states->scenario->conditions[i];

		if (condition->kind == CONDITION_TIMER)
			states->timer_end_ns[i] = time_add(now, condition->timer.duration_ns);
	}
}

static void drop_timers(struct states *states, uint32_t event)
{
	const struct event *e = &states->scenario->events[event];

	for (uint32_t i = e->first_condition; i < e->first_condition + e->conditions; i++)
		states->timer_end_ns[i] = NO_TIMER;
}

static bool any_timer(const struct scenario *scenario, const struct event *event)
{
	for (uint32_t i = 0; i < event->conditions; i++) {
		if (scenario->conditions[event->first_condition + i].kind == CONDITION_TIMER)
			return true;
	}
	return false;
}

void states_start(struct states *states)
{
	const struct scenario *scenario = states->scenario;
	int64_t now = engine_clock_now(states->clock);

	states->n_enabled = 0;
	for (uint32_t i = 0; i < scenario->n_events; i++) {
		const struct event *event = &scenario->events[i];

		states->enabled[i] = event->enabled;
		states->n_enabled += event->enabled;
		states->has_timers[i] = any_timer(scenario, event);
		states->cooldown_end_ns[i] = NO_COOLDOWN;
		drop_timers(states, i);
		if (event->enabled)
			start_timers(states, i, now);
	}
	for (uint32_t i = 0; i < scenario->n_counters; i++)
		states->counters[i] = scenario->counters[i].initial_value;
}

bool states_set_enabled(struct states *states, uint32_t event, bool enabled)
{
	if (states->enabled[event] == enabled)
		return false;
	states->enabled[event] = enabled;
	if (enabled) {
		states->n_enabled++;
		if (states->has_timers[event])
			start_timers(states, event, engine_clock_now(states->clock));
	} else {
		states->n_enabled--;
		states->cooldown_end_ns[event] = NO_COOLDOWN;
		if (states->has_timers[event])
			drop_timers(states, event);
	}
	return true;
}

bool states_cooling_down(struct states *states, uint32_t event)
{
	int64_t end = states->cooldown_end_ns[event];

	if (end == NO_COOLDOWN)
		return false;
	if (engine_clock_now(states->clock) < end)
		return true;
	states->cooldown_end_ns[event] = NO_COOLDOWN;
	return false;
}

void states_start_cooldown(struct states *states, uint32_t event)
{
	int64_t cooldown = states->scenario->events[event].cooldown_ns;

	if (cooldown > 0 && states->enabled[event])
		states->cooldown_end_ns[event] = time_add(engine_clock_now(states->clock), cooldown);
}

static void timer_done(struct states *states, uint32_t condition, int64_t reference_ns)
{
	const struct condition *c = &states->scenario->conditions[condition];

	if (c->kind == CONDITION_TIMER)
		states->timer_end_ns[condition] =
			c->timer.repeat ? time_add(reference_ns, c->timer.duration_ns) : NO_TIMER;
}

void states_timers_fulfilled(struct states *states, uint32_t event, uint32_t decided_by, int64_t reference_ns)
{
	const struct event *e = &states->scenario->events[event];

	if (!states->has_timers[event])
		return;
	if (e->any) {
		timer_done(states, decided_by, reference_ns); // others may be reached too, but were not looked at
		return;
	}
	for (uint32_t i = e->first_condition; i < e->first_condition + e->conditions; i++)
		timer_done(states, i, reference_ns);
}

// --- counters --------------------------------------------------------------------------------------------------------

double states_operand(const struct states *states, const struct operand *operand)
{
	return operand->counter == NO_INDEX ? operand->number : states->counters[operand->counter];
}

bool states_compare(double value, Condprof__Comparison comparison, double operand)
{
	switch (comparison) {
	case CONDPROF__COMPARISON__EQUAL:
		return value == operand || fabs(value - operand) <= EQUAL_WITHIN; // the first for infinities
	case CONDPROF__COMPARISON__NOT_EQUAL:
		return !(value == operand || fabs(value - operand) <= EQUAL_WITHIN);
	case CONDPROF__COMPARISON__GREATER:
		return value > operand;
	case CONDPROF__COMPARISON__GREATER_OR_EQUAL:
		return value >= operand;
	case CONDPROF__COMPARISON__LESS:
		return value < operand;
	case CONDPROF__COMPARISON__LESS_OR_EQUAL:
		return value <= operand;
	default:
		return false;
	}
}

// --- broadcasts ------------------------------------------------------------------------------------------------------

void states_receive(struct states *states, uint32_t broadcast)
{
	atomic_fetch_or_explicit(&states->received[broadcast / 64], UINT64_C(1) << broadcast % 64,
				 memory_order_relaxed);
}

bool states_receive_named(struct states *states, const char *name, Condprof__Bus bus)
{
	const struct scenario *scenario = states->scenario;

	for (uint32_t i = 0; i < scenario->n_broadcasts; i++) {
		const struct broadcast *broadcast = &scenario->broadcasts[i];

		if (broadcast->bus != bus || strcmp(broadcast->name, name) != 0)
			continue;
		states_receive(states, i);
		return true;
	}
	return false;
}

bool states_emit(struct states *states, const char *name)
{
	return states_receive_named(states, name, CONDPROF__BUS__BUS_NONE);
}

void states_take_broadcasts(struct states *states)
{
	for (uint32_t i = 0; i < states->broadcast_words; i++) {
		// looked at first: an exchange is a locked instruction, and mostly there is nothing
		if (atomic_load_explicit(&states->received[i], memory_order_relaxed))
			states->current[i] = atomic_exchange_explicit(&states->received[i], 0, memory_order_relaxed);
	}
}

void states_drop_broadcasts(struct states *states)
{
	memset(states->current, 0, states->broadcast_words * sizeof(*states->current));
}
