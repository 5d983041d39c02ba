// SPDX-License-Identifier: GPL-3.0-or-later
/// From a Scenario message to the model. In this order, because each step needs the one before: unpack, count (and
/// refuse what is over a limit), take the memory, counters, the events' own keys and names, then event by event its
/// conditions and its actions, at last ids and broadcasts. All of it is linear, but for sorting names.
///
/// The message is not thrown away afterwards: it is the storage of all names and texts.
#include "config.h"

#include "daemon/scenario/decoder.h"
#include "proto/frame.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define DEFAULT_PERIOD_NS (100 * NSEC_PER_MSEC)

int scenario_unpack(const uint8_t *data, size_t size, Condprof__Scenario **ret)
{
	struct capped_allocator capped;
	ProtobufCMessage *message = NULL;

	// Images and names are copied once; what is added to them is for the largest scenario that the limits allow.
	capped_allocator_init(&capped, 2 * size + 64 * 1024 * 1024, 1024 * 1024);
	int r = message_unpack(&condprof__scenario__descriptor, data, size, &capped, &message);

	if (r == 0)
		*ret = (Condprof__Scenario *)message;
	return r;
}

static Condprof__Event *event_message(const Condprof__Scenario *message, size_t event)
{
	return event < message->n_screen_events ? message->screen_events[event]
						: message->trigger_events[event - message->n_screen_events];
}

static struct scenario_counts count_all(const Condprof__Scenario *message)
{
	struct scenario_counts counts = {
		.events = message->n_screen_events + message->n_trigger_events,
		.counters = message->n_counters,
	};

	for (size_t i = 0; i < counts.events; i++) {
		const Condprof__Event *event = event_message(message, i);

		counts.conditions += event->n_conditions;
		counts.actions += event->n_actions;
		for (size_t k = 0; k < event->n_conditions; k++)
			counts.language_bytes += count_languages(event->conditions[k]);
		for (size_t k = 0; k < event->n_actions; k++)
			count_action(event->actions[k], &counts);
	}
	return counts;
}

static bool check_counts(struct decoder *decoder, const struct scenario_counts *counts)
{
	const struct {
		const char *field, *what;
		size_t count, max;
	} limits[] = {
		{"screen-events", "events", counts->events, SCENARIO_MAX_EVENTS},
		{"screen-events", "conditions", counts->conditions, SCENARIO_MAX_CONDITIONS},
		{"screen-events", "actions", counts->actions, SCENARIO_MAX_ACTIONS},
		{"counters", "counters", counts->counters, SCENARIO_MAX_COUNTERS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (limits[i].count > limits[i].max)
			problem_with_code(decoder, CONDPROF__CODE__TOO_LARGE, limits[i].field,
					  "a scenario has %zu %s at the most, this one has %zu", limits[i].max,
					  limits[i].what, limits[i].count);
	return decoder->problems->count == 0;
}

static void *take_array(struct decoder *decoder, size_t count, size_t size)
{
	void *memory = calloc(MAX(count, 1U), size);

	if (!memory)
		decoder->no_memory = true;
	return memory;
}

static void take_memory(struct decoder *decoder, const struct scenario_counts *counts)
{
	struct scenario *scenario = decoder->scenario;
	struct scenario_storage *storage = take_array(decoder, 1, sizeof(*storage));

	scenario->storage = storage;
	if (!storage)
		return;
	storage->message = decoder->message;
	storage->languages = take_array(decoder, counts->language_bytes, 1);
	decoder->languages = storage->languages;
	scenario->screen_events = (uint32_t)decoder->message->n_screen_events;
	scenario->events = take_array(decoder, counts->events, sizeof(scenario->events[0]));
	scenario->conditions = take_array(decoder, counts->conditions, sizeof(scenario->conditions[0]));
	scenario->actions = take_array(decoder, counts->actions, sizeof(scenario->actions[0]));
	scenario->counters = take_array(decoder, counts->counters, sizeof(scenario->counters[0]));
	scenario->points = take_array(decoder, counts->points, sizeof(scenario->points[0]));
	scenario->text_parts = take_array(decoder, counts->text_parts, sizeof(scenario->text_parts[0]));
	scenario->event_refs = take_array(decoder, counts->event_refs, sizeof(scenario->event_refs[0]));
	decoder->event_names = take_array(decoder, counts->events, sizeof(decoder->event_names[0]));
	decoder->condition_names = take_array(decoder, counts->conditions, sizeof(decoder->condition_names[0]));
	decoder->counter_names = take_array(decoder, counts->counters, sizeof(decoder->counter_names[0]));
}

static void build_index(struct decoder *decoder, struct name_index *index, const char *const *names, uint32_t count)
{
	name_index_clear(index);
	if (name_index_init(index, names, count) < 0)
		decoder->no_memory = true;
}

/// What a URI means is for its screen or input to say; here only that it can be shown to people.
static void check_uri(struct decoder *decoder, const char *field, const char *uri)
{
	if (uri && check_length(decoder, field, uri, TEXT_MAX_BYTES) && utf8_has_control(uri, false))
		problem(decoder, field, "there are control characters in this URI");
}

static void decode_settings(struct decoder *decoder)
{
	const Condprof__Scenario *message = decoder->message;
	struct scenario *scenario = decoder->scenario;
	struct error error;

	at_scenario(decoder);
	check_name(decoder, "scenario", "a scenario", message->name);
	scenario->name = message->name ? message->name : "";
	scenario->id = message->id;
	scenario->screen = message->screen;
	scenario->input = message->input;
	check_uri(decoder, "screen", message->screen);
	check_uri(decoder, "input", message->input);
	scenario->period_ns = DEFAULT_PERIOD_NS;
	if (message->rate &&
	    scenario_rate_period(message->rate->passes, message->rate->per_ns, &scenario->period_ns, &error) < 0)
		problem(decoder, "rate", "%s", error.message);
	if (message->quality < 0 || message->quality > PICTURE_MAX_SIDE)
		problem(decoder, "quality",
			"quality is the longer side in px, from 1 to %d; 0 leaves frames as they are",
			PICTURE_MAX_SIDE);
	scenario->quality = message->quality;
	if (check_duration(decoder, "rotate", message->rotate_ns, &scenario->rotate_ns) && message->rotate_ns != 0 &&
	    message->rotate_ns < SCENARIO_MIN_ROTATE_NS)
		problem(decoder, "rotate", "a session is rotated after 1 s at the earliest");
	scenario->randomize = message->randomize;
}

/// Whether an expression would take the name for a number.
static bool reads_as_number(const char *name)
{
	char *end = NULL;

	strtod(name, &end);
	return end != name && end[strspn(end, " \t")] == '\0';
}

static void decode_counters(struct decoder *decoder)
{
	struct scenario *scenario = decoder->scenario;

	scenario->n_counters = (uint32_t)decoder->message->n_counters;
	for (uint32_t i = 0; i < scenario->n_counters; i++) {
		const Condprof__Counter *message = decoder->message->counters[i];

		at_counter(decoder, i);
		if (check_name(decoder, NULL, "a counter", message->name) && reads_as_number(message->name))
			problem(decoder, NULL, "a counter cannot be called \"%s\": that reads as a number",
				error_quote(message->name).text);
		if (!isfinite(message->initial_value))
			problem(decoder, NULL, "%g is not a value to count from", message->initial_value);
		decoder->counter_names[i] = message->name ? message->name : "";
		scenario->counters[i] = (struct counter){decoder->counter_names[i], message->initial_value};
	}
	build_index(decoder, &decoder->counters, decoder->counter_names, scenario->n_counters);
}

/// Reports every name that an earlier one has already.
/// @param what,advice "an earlier WHAT is called "x" too: ADVICE"
static void check_unique(struct decoder *decoder, const struct name_index *index,
			 void (*at)(struct decoder *, uint32_t), uint32_t base, const char *field, const char *what,
			 const char *advice)
{
	for (uint32_t place = 1; place < index->count; place++) {
		const char *name = index->names[index->order[place]];

		if (name[0] == '\0' || strcmp(name, index->names[index->order[place - 1]]) != 0)
			continue;
		at(decoder, base + index->order[place]);
		problem(decoder, field, "an earlier %s is called \"%s\" too: %s", what, error_quote(name).text, advice);
	}
}

static void decode_trigger_keys(struct decoder *decoder, const Condprof__Event *message)
{
	const struct {
		const char *field;
		bool given;
	} keys[] = {
		{"cooldown", message->cooldown_ns != 0},
		{"keep-detecting", message->keep_detecting},
		{"refresh", message->refresh},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].given)
			problem(decoder, keys[i].field, "%s is for screen events only", keys[i].field);
}

/// An event's own keys; its conditions and actions only get their places.
static void decode_event(struct decoder *decoder, const Condprof__Event *message, uint32_t index)
{
	struct scenario *scenario = decoder->scenario;
	struct event *event = &scenario->events[index];

	at_event(decoder, index);
	event->name = message->name ? message->name : "";
	decoder->event_names[index] = event->name;
	if (check_name(decoder, "event", "an event", message->name) && strcmp(message->name, "all") == 0)
		problem(decoder, "event", "an event cannot be called \"all\": disable: all means all events");
	event->trigger = index >= scenario->screen_events;
	if (check_enum(decoder, "match", &condprof__match__descriptor, (int)message->match))
		event->any = message->match == CONDPROF__MATCH__MATCH_ANY;
	event->enabled = message->enabled;
	event->keep_detecting = message->keep_detecting;
	event->refresh = message->refresh;
	check_duration(decoder, "cooldown", message->cooldown_ns, &event->cooldown_ns);
	if (event->trigger)
		decode_trigger_keys(decoder, message);
	if (message->n_conditions == 0)
		problem(decoder, "conditions",
			"an event needs a condition: without one it would never or always happen");
	event->first_condition = scenario->n_conditions;
	event->conditions = (uint32_t)message->n_conditions;
	scenario->n_conditions += event->conditions;
	event->first_action = scenario->n_actions;
	event->actions = (uint32_t)message->n_actions;
	scenario->n_actions += event->actions;
}

static void decode_events(struct decoder *decoder)
{
	struct scenario *scenario = decoder->scenario;

	scenario->n_events = (uint32_t)(decoder->message->n_screen_events + decoder->message->n_trigger_events);
	at_scenario(decoder);
	if (scenario->n_events == 0)
		problem(decoder, NULL, "a scenario needs an event: write one under screen-events or trigger-events");
	for (uint32_t i = 0; i < scenario->n_events; i++)
		decode_event(decoder, event_message(decoder->message, i), i);
	build_index(decoder, &decoder->events, decoder->event_names, scenario->n_events);
}

static void decode_event_conditions(struct decoder *decoder, uint32_t index)
{
	const Condprof__Event *message = event_message(decoder->message, index);
	const struct event *event = &decoder->scenario->events[index];

	for (uint32_t i = 0; i < event->conditions; i++) {
		Condprof__Condition *from = message->conditions[i];
		uint32_t at = event->first_condition + i;
		struct condition *condition = &decoder->scenario->conditions[at];

		condition->event = index;
		condition->name = from->name ? from->name : "";
		decoder->condition_names[at] = condition->name;
		at_condition(decoder, at);
		decode_condition(decoder, from, condition);
		if (decoder->no_memory)
			return;
	}
	build_index(decoder, &decoder->conditions, decoder->condition_names + event->first_condition,
		    event->conditions);
	if (!decoder->no_memory)
		check_unique(decoder, &decoder->conditions, at_condition, event->first_condition, "name",
			     "condition of this event", "give one of them a name: of its own");
}

static void decode_event_actions(struct decoder *decoder, uint32_t index)
{
	const Condprof__Event *message = event_message(decoder->message, index);
	const struct event *event = &decoder->scenario->events[index];

	for (uint32_t i = 0; i < event->actions; i++) {
		struct action *action = &decoder->scenario->actions[event->first_action + i];

		at_action(decoder, index, i);
		decode_action(decoder, message->actions[i], event, action);
	}
}

/// An id of an event or a condition, on its way to be given or checked.
struct id_entry {
	int64_t *id;
	uint32_t index;
};

static int compare_ids(const void *a, const void *b)
{
	const struct id_entry *x = a, *y = b;

	if (*x->id != *y->id)
		return *x->id < *y->id ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/// Checks the ids that were given (in `given`) and numbers the others (in `open`, in order) 1, 2, …, leaving out those.
static void assign_ids(struct decoder *decoder, struct id_entry *given, size_t n_given, const struct id_entry *open,
		       size_t n_open, void (*at)(struct decoder *, uint32_t))
{
	int64_t next = 1;
	size_t k = 0;

	qsort(given, n_given, sizeof(given[0]), compare_ids);
	for (size_t i = 0; i < n_given; i++) {
		at(decoder, given[i].index);
		if (*given[i].id <= 0)
			problem(decoder, "id", "an id is a number from 1");
		else if (i > 0 && *given[i].id == *given[i - 1].id)
			problem(decoder, "id", "%lld is the id of another one already; ids are unique in the scenario",
				(long long)*given[i].id);
	}
	for (size_t i = 0; i < n_open; i++, next++) {
		for (; k < n_given && *given[k].id <= next; k++)
			next += *given[k].id == next;
		*open[i].id = next;
	}
}

static void assign_event_ids(struct decoder *decoder)
{
	struct scenario *scenario = decoder->scenario;
	CLEANUP_FREE struct id_entry *given = take_array(decoder, scenario->n_events, sizeof(*given));
	CLEANUP_FREE struct id_entry *open = take_array(decoder, scenario->n_events, sizeof(*open));
	size_t n_given = 0, n_open = 0;

	if (decoder->no_memory)
		return;
	for (uint32_t i = 0; i < scenario->n_events; i++) {
		const Condprof__Event *message = event_message(decoder->message, i);
		struct event *event = &scenario->events[i];
		struct id_entry entry = {&event->id, i};

		event->id_given = message->has_id;
		event->id = message->id;
		if (event->id_given)
			given[n_given++] = entry;
		else
			open[n_open++] = entry;
	}
	assign_ids(decoder, given, n_given, open, n_open, at_event);
}

static void assign_condition_ids(struct decoder *decoder)
{
	struct scenario *scenario = decoder->scenario;
	CLEANUP_FREE struct id_entry *given = take_array(decoder, scenario->n_conditions, sizeof(*given));
	CLEANUP_FREE struct id_entry *open = take_array(decoder, scenario->n_conditions, sizeof(*open));
	size_t n_given = 0, n_open = 0;

	if (decoder->no_memory)
		return;
	for (uint32_t i = 0; i < scenario->n_conditions; i++) {
		struct condition *condition = &scenario->conditions[i];
		uint32_t of_event = i - scenario->events[condition->event].first_condition;
		const Condprof__Condition *message =
			event_message(decoder->message, condition->event)->conditions[of_event];
		struct id_entry entry = {&condition->id, i};

		condition->id_given = message->has_id;
		condition->id = message->id;
		if (condition->id_given)
			given[n_given++] = entry;
		else
			open[n_open++] = entry;
	}
	assign_ids(decoder, given, n_given, open, n_open, at_condition);
}

/// A broadcast condition, on its way to its place in the list of broadcasts.
struct broadcast_use {
	struct broadcast broadcast;
	uint32_t condition;
};

static int compare_broadcasts(const struct broadcast *x, const struct broadcast *y)
{
	int r = strcmp(x->name, y->name);

	return r != 0 ? r : (x->bus > y->bus) - (x->bus < y->bus);
}

static int compare_uses(const void *a, const void *b)
{
	const struct broadcast_use *x = a, *y = b;
	int r = compare_broadcasts(&x->broadcast, &y->broadcast);

	return r != 0 ? r : (x->condition > y->condition) - (x->condition < y->condition);
}

static size_t collect_broadcasts(const struct decoder *decoder, struct broadcast_use *uses)
{
	const struct scenario *scenario = decoder->scenario;
	size_t count = 0;

	for (uint32_t i = 0; i < scenario->n_conditions; i++) {
		const struct condition *condition = &scenario->conditions[i];

		if (condition->kind != CONDITION_BROADCAST)
			continue;
		const struct event *event = &scenario->events[condition->event];
		const Condprof__BroadcastCondition *message = event_message(decoder->message, condition->event)
								      ->conditions[i - event->first_condition]
								      ->broadcast;

		uses[count++] = (struct broadcast_use){{message->broadcast ? message->broadcast : "", message->bus}, i};
	}
	return count;
}

/// Lists every broadcast once.
static void list_broadcasts(struct decoder *decoder)
{
	struct scenario *scenario = decoder->scenario;
	CLEANUP_FREE struct broadcast_use *uses = take_array(decoder, scenario->n_conditions, sizeof(*uses));

	if (decoder->no_memory)
		return;
	size_t count = collect_broadcasts(decoder, uses);

	scenario->broadcasts = take_array(decoder, count, sizeof(scenario->broadcasts[0]));
	if (!scenario->broadcasts)
		return;
	qsort(uses, count, sizeof(uses[0]), compare_uses);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare_broadcasts(&uses[i].broadcast, &uses[i - 1].broadcast) != 0)
			scenario->broadcasts[scenario->n_broadcasts++] = uses[i].broadcast;
		scenario->conditions[uses[i].condition].broadcast = scenario->n_broadcasts - 1;
	}
	at_scenario(decoder);
	if (scenario->n_broadcasts > SCENARIO_MAX_BROADCASTS)
		problem_with_code(decoder, CONDPROF__CODE__TOO_LARGE, "trigger-events",
				  "a scenario waits for %u broadcasts at the most, this one for %u",
				  SCENARIO_MAX_BROADCASTS, scenario->n_broadcasts);
}

static int decode_all(struct decoder *decoder)
{
	struct scenario_counts counts = count_all(decoder->message);

	if (!check_counts(decoder, &counts))
		return -EINVAL;
	take_memory(decoder, &counts);
	if (decoder->no_memory)
		return -ENOMEM;
	decode_settings(decoder);
	decode_counters(decoder);
	decode_events(decoder);
	if (decoder->no_memory)
		return -ENOMEM;
	check_unique(decoder, &decoder->counters, at_counter, 0, NULL, "counter", "list it once");
	check_unique(decoder, &decoder->events, at_event, 0, "event", "event", "give one of them another name");
	for (uint32_t i = 0; i < decoder->scenario->n_events && !decoder->no_memory; i++) {
		decode_event_conditions(decoder, i);
		if (!decoder->no_memory)
			decode_event_actions(decoder, i);
	}
	if (!decoder->no_memory)
		assign_event_ids(decoder);
	if (!decoder->no_memory)
		assign_condition_ids(decoder);
	if (!decoder->no_memory)
		list_broadcasts(decoder);
	if (decoder->no_memory)
		return -ENOMEM;
	if (decoder->busy)
		return -EBUSY;
	return decoder->problems->count == 0 ? 0 : -EINVAL;
}

static void decoder_clear(struct decoder *decoder)
{
	name_index_clear(&decoder->events);
	name_index_clear(&decoder->counters);
	name_index_clear(&decoder->conditions);
	free(decoder->event_names);
	free(decoder->condition_names);
	free(decoder->counter_names);
	if (!decoder->scenario || !decoder->scenario->storage)
		condprof__scenario__free_unpacked(decoder->message, NULL);
	scenario_free(decoder->scenario);
}

/// The place is of the wire, where names of things are called name.
static int bad_text(const uint8_t *data, size_t size, struct scenario_problems *problems)
{
	char place[sizeof(problems->items[0].place)];

	wire_strings_check(&condprof__scenario__descriptor, data, size, place, sizeof(place));
	error_set(&problems->items[0], CONDPROF__CODE__BAD_SCENARIO, EINVAL,
		  "this text is not UTF-8, or has a NUL in it: texts are sent as UTF-8");
	error_place(&problems->items[0], "%s", place);
	problems->count = 1;
	return -EINVAL;
}

int scenario_decode(const uint8_t *data, size_t size, struct scenario **ret, struct scenario_problems *problems)
{
	struct decoder decoder = {.problems = problems};

	problems->count = 0;
	if (size > SCENARIO_MAX_BYTES)
		return -EMSGSIZE;
	int r = scenario_unpack(data, size, &decoder.message);

	if (r < 0)
		return r == -EILSEQ ? bad_text(data, size, problems) : r;
	decoder.scenario = calloc(1, sizeof(*decoder.scenario));
	r = decoder.scenario ? decode_all(&decoder) : -ENOMEM;
	if (r == 0) {
		*ret = TAKE_POINTER(decoder.scenario);
		decoder.message = NULL;
	}
	decoder_clear(&decoder);
	return r;
}
