// SPDX-License-Identifier: GPL-3.0-or-later
// Messages about occurrences. Every array has its pointers beside it, because protobuf-c wants arrays of pointers;
// these are set once.
#include "daemon/engine/occurrence.h"

#include "proto/utf8.h"

#include "daemon/engine/states.h"

#include <errno.h>

// Changes of event states in one occurrence that are told; an event that changes more (it would have to toggle all of
// ten thousand events again and again) is cut off here.
#define STATE_CHANGES_MAX 65536U

#define ACTION_TEXT_BYTES 256U   // of one action's text, with its NUL
#define ACTION_TEXTS_BYTES 8192U // of all texts of an occurrence; actions beyond have none

struct occurrence {
	const struct scenario *scenario;
	Condprof__DebugReportMessage message, init_message;
	Condprof__ImageEventMessage image_event;
	Condprof__TriggerEventMessage trigger_event;
	Condprof__CountersInitMessage counters_init;
	Condprof__EventStatesMessage event_states;

	Condprof__ImageConditionResult *image_results, **image_result_refs;
	Condprof__TriggerConditionResult *trigger_results, **trigger_result_refs;
	Condprof__ActionResult *actions, **action_refs;
	Condprof__CounterStateChange *counter_changes, **counter_change_refs;
	Condprof__EventStateChange *state_changes, **state_change_refs;
	Condprof__CounterInit *counter_inits, **counter_init_refs;
	Condprof__EventStateChange *states_now, **state_now_refs;
	char texts[ACTION_TEXTS_BYTES];
	size_t texts_used;
	uint32_t n_actions, n_counter_changes, n_state_changes, max_state_changes;
};

struct sizes {
	uint32_t conditions, actions, state_changes;
};

static uint32_t state_changes_of(const struct scenario *scenario, const struct event *event)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < event->actions; i++) {
		const struct action *action = &scenario->actions[event->first_action + i];

		if (action->kind == CONDPROF__ACTION_KIND__ACTION_EVENT_STATE)
			sum += action->event_state.all ? scenario->n_events : action->event_state.events;
	}
	return (uint32_t)MIN(sum, (uint64_t)STATE_CHANGES_MAX);
}

static struct sizes largest(const struct scenario *scenario)
{
	struct sizes sizes = {1, 1, 1}; // none of the arrays is empty, so NULL means no memory

	for (uint32_t i = 0; i < scenario->n_events; i++) {
		const struct event *event = &scenario->events[i];

		sizes.conditions = MAX(sizes.conditions, event->conditions);
		sizes.actions = MAX(sizes.actions, event->actions);
		sizes.state_changes = MAX(sizes.state_changes, state_changes_of(scenario, event));
	}
	return sizes;
}

// Takes `count` messages and their pointers, and initialises them.
#define TAKE(occurrence, items, refs, count, INIT)                                                                     \
	({                                                                                                             \
		(occurrence)->items = calloc((count), sizeof(*(occurrence)->items));                                   \
		(occurrence)->refs = calloc((count), sizeof(*(occurrence)->refs));                                     \
		bool _taken = (occurrence)->items && (occurrence)->refs;                                               \
		for (uint32_t _i = 0; _taken && _i < (count); _i++) {                                                  \
			(occurrence)->items[_i] = (__typeof__(*(occurrence)->items))INIT;                              \
			(occurrence)->refs[_i] = &(occurrence)->items[_i];                                             \
		}                                                                                                      \
		_taken;                                                                                                \
	})

static bool take_memory(struct occurrence *o)
{
	struct sizes sizes = largest(o->scenario);
	uint32_t counters = MAX(o->scenario->n_counters, 1U);

	o->max_state_changes = sizes.state_changes;
	return TAKE(o, image_results, image_result_refs, sizes.conditions, CONDPROF__IMAGE_CONDITION_RESULT__INIT) &&
	       TAKE(o, trigger_results, trigger_result_refs, sizes.conditions,
		    CONDPROF__TRIGGER_CONDITION_RESULT__INIT) &&
	       TAKE(o, actions, action_refs, sizes.actions, CONDPROF__ACTION_RESULT__INIT) &&
	       TAKE(o, counter_changes, counter_change_refs, sizes.actions, CONDPROF__COUNTER_STATE_CHANGE__INIT) &&
	       TAKE(o, state_changes, state_change_refs, sizes.state_changes, CONDPROF__EVENT_STATE_CHANGE__INIT) &&
	       TAKE(o, counter_inits, counter_init_refs, counters, CONDPROF__COUNTER_INIT__INIT) &&
	       TAKE(o, states_now, state_now_refs, MAX(o->scenario->n_events, 1U), CONDPROF__EVENT_STATE_CHANGE__INIT);
}

int occurrence_new(const struct scenario *scenario, struct occurrence **ret)
{
	struct occurrence *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->scenario = scenario;
	if (!take_memory(o)) {
		occurrence_free(o);
		return -ENOMEM;
	}
	condprof__debug_report_message__init(&o->message);
	condprof__debug_report_message__init(&o->init_message);
	condprof__image_event_message__init(&o->image_event);
	condprof__trigger_event_message__init(&o->trigger_event);
	condprof__counters_init_message__init(&o->counters_init);
	condprof__event_states_message__init(&o->event_states);
	*ret = o;
	return 0;
}

struct occurrence *occurrence_free(struct occurrence *o)
{
	if (!o)
		return NULL;
	free(o->image_results);
	free(o->image_result_refs);
	free(o->trigger_results);
	free(o->trigger_result_refs);
	free(o->actions);
	free(o->action_refs);
	free(o->counter_changes);
	free(o->counter_change_refs);
	free(o->state_changes);
	free(o->state_change_refs);
	free(o->counter_inits);
	free(o->counter_init_refs);
	free(o->states_now);
	free(o->state_now_refs);
	free(o);
	return NULL;
}

void occurrence_begin(struct occurrence *o)
{
	if (!o)
		return;
	o->n_actions = o->n_counter_changes = o->n_state_changes = 0;
	o->texts_used = 0;
}

void occurrence_action(struct occurrence *o, Condprof__ActionKind kind)
{
	if (!o)
		return;
	o->actions[o->n_actions] = (Condprof__ActionResult)CONDPROF__ACTION_RESULT__INIT;
	o->actions[o->n_actions].has_kind = true;
	o->actions[o->n_actions].kind = kind;
	o->n_actions++;
}

void occurrence_action_position(struct occurrence *o, int x, int y)
{
	if (!o)
		return;

	Condprof__ActionResult *action = &o->actions[o->n_actions - 1];

	action->has_x = action->has_y = true;
	action->x = x;
	action->y = y;
}

void occurrence_action_text(struct occurrence *o, const char *text)
{
	if (!o || o->texts_used + ACTION_TEXT_BYTES > sizeof(o->texts))
		return;

	char *copy = o->texts + o->texts_used;

	o->texts_used += utf8_copy(copy, ACTION_TEXT_BYTES, text) + 1;
	o->actions[o->n_actions - 1].text = copy; // packed, never freed by protobuf-c
}

void occurrence_action_skipped(struct occurrence *o)
{
	if (!o)
		return;
	o->actions[o->n_actions - 1].has_skipped = true;
	o->actions[o->n_actions - 1].skipped = true;
}

void occurrence_action_duration(struct occurrence *o, int64_t ns)
{
	if (!o)
		return;
	o->actions[o->n_actions - 1].has_duration_ns = true;
	o->actions[o->n_actions - 1].duration_ns = ns;
}

void occurrence_counter_change(struct occurrence *o, uint32_t counter, double old_value, double new_value)
{
	if (!o)
		return;

	Condprof__CounterStateChange *change = &o->counter_changes[o->n_counter_changes++];

	change->name = (char *)o->scenario->counters[counter].name; // packed, never freed by protobuf-c
	change->has_old_value = change->has_new_value = true;
	change->old_value = old_value;
	change->new_value = new_value;
}

void occurrence_event_state_change(struct occurrence *o, uint32_t event, bool enabled)
{
	if (!o || o->n_state_changes == o->max_state_changes)
		return;

	Condprof__EventStateChange *change = &o->state_changes[o->n_state_changes++];

	change->has_event_id = change->has_new_value = true;
	change->event_id = o->scenario->events[event].id;
	change->new_value = enabled;
}

static void image_result(const struct condition *condition, const struct outcome *outcome, bool measured,
			 Condprof__ImageConditionResult *result)
{
	const struct check_result *check = &outcome->check;

	result->has_condition_id = result->has_is_fulfilled = true;
	result->condition_id = condition->id;
	result->is_fulfilled = check->fulfilled;
	result->has_confidence_rate = check->has_confidence;
	result->confidence_rate = check->confidence;
	result->has_no_confidence = result->no_confidence = !check->has_confidence;
	result->has_value = check->has_value;
	result->value = check->value;
	result->has_duration_ms = result->has_duration_ns = measured;
	result->duration_ns = outcome->duration_ns;
	result->duration_ms = outcome->duration_ns / NSEC_PER_MSEC;
}

static void trigger_result(const struct condition *condition, const struct outcome *outcome, bool measured,
			   Condprof__TriggerConditionResult *result)
{
	result->has_condition_id = result->has_is_fulfilled = true;
	result->condition_id = condition->id;
	result->is_fulfilled = outcome->check.fulfilled;
	result->has_duration_ns = measured;
	result->duration_ns = outcome->duration_ns;
}

// What image_event and trigger_event have alike.
#define FILL_EVENT(o, m, event, at_pass, times)                                                                        \
	do {                                                                                                           \
		(m)->has_event_id = (m)->has_pass = true;                                                              \
		(m)->event_id = (event)->id;                                                                           \
		(m)->pass = (at_pass);                                                                                 \
		(m)->has_checking_ns = (m)->has_detecting_ns = (times) != NULL;                                        \
		(m)->checking_ns = (times) ? (times)->checking_ns : 0;                                                 \
		(m)->detecting_ns = (times) ? (times)->detecting_ns : 0;                                               \
		(m)->n_actions = (o)->n_actions;                                                                       \
		(m)->actions = (o)->action_refs;                                                                       \
		(m)->n_counter_changes = (o)->n_counter_changes;                                                       \
		(m)->counter_changes = (o)->counter_change_refs;                                                       \
		(m)->n_event_state_changes = (o)->n_state_changes;                                                     \
		(m)->event_state_changes = (o)->state_change_refs;                                                     \
	} while (0)

static void fill_image_event(struct occurrence *o, const struct event *event, const struct verification *verification,
			     int64_t pass, const struct occurrence_times *times)
{
	Condprof__ImageEventMessage *m = &o->image_event;

	FILL_EVENT(o, m, event, pass, times);
	m->has_frame_number = true;
	m->frame_number = pass;
	m->has_duration_ms = times != NULL;
	m->duration_ms = times ? times->checking_ns / NSEC_PER_MSEC : 0;
	for (uint32_t i = 0; i < verification->reached; i++)
		image_result(&o->scenario->conditions[event->first_condition + i], &verification->outcomes[i],
			     times != NULL, &o->image_results[i]);
	m->n_condition_results = verification->reached;
	m->condition_results = o->image_result_refs;
	o->message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT;
	o->message.image_event = m;
}

static void fill_trigger_event(struct occurrence *o, const struct event *event, const struct verification *verification,
			       int64_t pass, const struct occurrence_times *times)
{
	Condprof__TriggerEventMessage *m = &o->trigger_event;

	FILL_EVENT(o, m, event, pass, times);
	for (uint32_t i = 0; i < verification->reached; i++)
		trigger_result(&o->scenario->conditions[event->first_condition + i], &verification->outcomes[i],
			       times != NULL, &o->trigger_results[i]);
	m->n_condition_results = verification->reached;
	m->condition_results = o->trigger_result_refs;
	o->message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_TRIGGER_EVENT;
	o->message.trigger_event = m;
}

const Condprof__DebugReportMessage *occurrence_finish(struct occurrence *o, const struct verification *verification,
						      int64_t pass, const struct occurrence_times *times)
{
	const struct event *event = &o->scenario->events[verification->event];

	if (event->trigger)
		fill_trigger_event(o, event, verification, pass, times);
	else
		fill_image_event(o, event, verification, pass, times);
	o->message.has_relative_timestamp_ms = o->message.has_detected_at_ns = o->message.has_actions_completed_at_ns =
		times != NULL;
	o->message.relative_timestamp_ms = times ? times->done_at_ns / NSEC_PER_MSEC : 0;
	o->message.detected_at_ns = times ? times->detected_at_ns : 0;
	o->message.actions_completed_at_ns = times ? times->done_at_ns : 0;
	return &o->message;
}

static const Condprof__DebugReportMessage *counters_message(struct occurrence *o)
{
	o->counters_init.n_counters = o->scenario->n_counters;
	o->counters_init.counters = o->counter_init_refs;
	o->init_message.has_relative_timestamp_ms = true;
	o->init_message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT;
	o->init_message.counters_init = &o->counters_init;
	return &o->init_message;
}

static void fill_counter(struct occurrence *o, uint32_t counter, double value)
{
	o->counter_inits[counter].name = (char *)o->scenario->counters[counter].name;
	o->counter_inits[counter].has_initial_value = true;
	o->counter_inits[counter].initial_value = value;
}

const Condprof__DebugReportMessage *occurrence_counters_init(struct occurrence *o)
{
	for (uint32_t i = 0; i < o->scenario->n_counters; i++)
		fill_counter(o, i, o->scenario->counters[i].initial_value);
	return counters_message(o);
}

const Condprof__DebugReportMessage *occurrence_continued(struct occurrence *o, const struct states *states)
{
	const struct scenario *scenario = o->scenario;
	uint32_t changed = 0;

	for (uint32_t i = 0; i < scenario->n_counters; i++)
		fill_counter(o, i, states->counters[i]);
	for (uint32_t i = 0; i < scenario->n_events; i++) {
		if (states->enabled[i] == scenario->events[i].enabled)
			continue;
		o->states_now[changed].has_event_id = o->states_now[changed].has_new_value = true;
		o->states_now[changed].event_id = scenario->events[i].id;
		o->states_now[changed].new_value = states->enabled[i];
		changed++;
	}
	o->event_states.n_events = changed;
	o->event_states.events = o->state_now_refs;
	o->init_message.event_states = changed ? &o->event_states : NULL;
	return counters_message(o);
}
