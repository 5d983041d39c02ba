// SPDX-License-Identifier: GPL-3.0-or-later
/// What changes while a scenario runs: which events are enabled or cooling down, timers, counters, broadcasts. All of
/// the engine's thread but states_emit() and states_receive(), which may come from any. The rules are those of docs/ARCHITECTURE.md, "The
/// pass".
#ifndef CONDPROF_STATES_H
#define CONDPROF_STATES_H

#include "daemon/engine/clock.h"
#include "daemon/scenario/scenario.h"

#include <stdatomic.h>

struct states {
	const struct scenario *scenario;
	struct engine_clock *clock;
	uint32_t n_enabled;
	bool *enabled;            ///< an event
	bool *has_timers;         ///< an event
	int64_t *cooldown_end_ns; ///< an event; NO_COOLDOWN: none
	int64_t *timer_end_ns;    ///< a condition; NO_TIMER: spent, or its event is disabled
	double *counters;
	uint32_t broadcast_words;
	_Atomic uint64_t *received; ///< a bit a broadcast: since the last pass began
	uint64_t *current;          ///< a bit a broadcast: of this pass
};

#define NO_COOLDOWN INT64_MIN
#define NO_TIMER INT64_MAX

int states_init(struct states *states, const struct scenario *scenario, struct engine_clock *clock);
void states_deinit(struct states *states);

/// The session starts: events as configured, timers of the enabled ones from now on.
void states_start(struct states *states);

/// @return whether that changed anything. Enabling starts the event's timers, disabling drops them and a cooldown.
bool states_set_enabled(struct states *states, uint32_t event, bool enabled);

bool states_cooling_down(struct states *states, uint32_t event);
/// After its actions: starts the cooldown of an event that is still enabled.
void states_start_cooldown(struct states *states, uint32_t event);

/// The event was fulfilled, by timers that were compared with `reference_ns`: an any event's deciding one, or all of an
/// all event's begin again from there, or are spent.
/// @param decided_by the condition that decided an any event
void states_timers_fulfilled(struct states *states, uint32_t event, uint32_t decided_by, int64_t reference_ns);

double states_operand(const struct states *states, const struct operand *operand);
bool states_compare(double value, Condprof__Comparison comparison, double operand);

/// Any thread. @return whether the scenario waits for a broadcast of this name that comes by no bus
bool states_emit(struct states *states, const char *name);
/// Any thread: a broadcast came by its bus.
void states_receive(struct states *states, uint32_t broadcast);
/// Any thread. As states_emit(), for one that is said to have come by this bus.
bool states_receive_named(struct states *states, const char *name, Condprof__Bus bus);
/// What was received so far is of this pass from now on.
void states_take_broadcasts(struct states *states);
/// At a pass's end they are gone.
void states_drop_broadcasts(struct states *states);

static inline bool states_broadcast(const struct states *states, uint32_t broadcast)
{
	return states->current[broadcast / 64] >> broadcast % 64 & 1;
}

#endif
