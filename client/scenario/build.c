// SPDX-License-Identifier: GPL-3.0-or-later
//
// The scenario itself and its events: the upper part of the tree into the message. Every item of a list makes an item
// of the message, wrong ones too, so that tree and message stay in step.
#include "config.h"

#include "client/scenario/keys.h"
#include "client/scenario/uri.h"
#include "client/scenario/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

char *name_text(const char *text, char out[QUOTED_BYTES])
{
	return text_for_message(text, strlen(text), 48, out, QUOTED_BYTES);
}

void *file_alloc(struct scenario_file *file, size_t count, size_t size)
{
	void *memory = arena_array(&file->arena, count, size);

	file->out_of_memory |= !memory;
	return memory;
}

// --- the scenario's own keys -------------------------------------------------------------------

static void set_scenario_id(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__Scenario *scenario = message;
	struct value_problem problem;
	const char *text;

	if (!take_text(file, key->name, "a whole number", value, &text))
		return;
	if (value_integer(text, 0, INT64_MAX, &scenario->id, &problem) < 0)
		node_error(file, value, "“%s”: %s", key->name, problem.message);
	else
		scenario->has_id = true;
}

static void take_uri(struct scenario_file *file, const char *name, const struct node *value, bool input, char **ret)
{
	struct error error = {0};
	char *uri = NULL;
	const char *text;

	if (!take_text(file, name, input ? "an input like log: or x11::0" : "a screen like x11::0 or replay:FOLDER",
		       value, &text))
		return;
	int r = uri_for_daemon(text, input, file->folder, file->options.remote, &uri, &error);
	if (r == -EINVAL)
		node_error(file, value, "“%s”: %s", name, error.message);
	if (r == 0)
		*ret = arena_string(&file->arena, uri, strlen(uri));
	file->out_of_memory |= r == -ENOMEM || (r == 0 && !*ret);
	free(uri);
}

static void set_screen(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	take_uri(file, key->name, value, false, &((Condprof__Scenario *)message)->screen);
}

static void set_input(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	take_uri(file, key->name, value, true, &((Condprof__Scenario *)message)->input);
}

static void set_rate(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__Scenario *scenario = message;
	Condprof__Rate *rate = new_message(file, &condprof__rate__descriptor);
	struct value_problem problem;
	const char *text;

	if (!rate || !take_text(file, key->name, "a rate like 10/s, 30/min or unlimited", value, &text))
		return;
	if (value_rate(text, &rate->passes, &rate->per_ns, &problem) < 0) {
		node_error(file, value, "“%s”: %s", key->name, problem.message);
		return;
	}
	rate->has_passes = rate->has_per_ns = true;
	scenario->rate = rate;
}

static void set_quality(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__Scenario *scenario = message;
	struct value_problem problem;
	const char *text;
	int64_t side;

	if (!take_text(file, key->name, "the longest side in pixels", value, &text))
		return;
	if (value_integer(text, 1, PICTURE_MAX_SIDE, &side, &problem) < 0) {
		node_error(file, value, "“%s”: %s", key->name, problem.message);
		return;
	}
	scenario->quality = (int32_t)side;
	scenario->has_quality = true;
}

static void set_rotate(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__Scenario *scenario = message;

	set_duration(file, key, value, message);
	if (scenario->has_rotate_ns && scenario->rotate_ns < SCENARIO_MIN_ROTATE_NS)
		node_error(file, value, "“%s” is 1 s or longer; leave it out for one report a session", key->name);
}

static bool check_counter_name(struct scenario_file *file, const struct node *name)
{
	char word[QUOTED_BYTES];

	if (strlen(name->text) != name->size) {
		node_error(file, name, "a counter's name cannot hold a NUL character");
		return false;
	}
	if (!name_is_right(file, "a counter's name", name, name->text))
		return false;
	if (value_reads_as_number(name->text)) {
		node_error(file, name, "a counter cannot be called “%s”: it reads as a number",
			   name_text(name->text, word));
		return false;
	}
	if (strpbrk(name->text, "{}")) {
		node_error(file, name, "a counter's name cannot hold braces: texts name counters between them");
		return false;
	}
	return true;
}

static void take_counter(struct scenario_file *file, const struct node *name, const struct node *value,
			 Condprof__Scenario *scenario)
{
	struct value_problem problem = {{0}};
	const char *text;
	double number = 0;

	if (name->type == NODE_BAD || !check_counter_name(file, name)) {
		file->counters_known = false;
		return;
	}
	if (take_text(file, "counters", "the value that a counter begins with", value, &text) &&
	    value_number(text, &number, &problem) < 0)
		node_error(file, value, "“counters”: %s", problem.message);
	Condprof__Counter *counter = new_message(file, &condprof__counter__descriptor);
	if (!counter)
		return;
	counter->name = (char *)(uintptr_t)name->text;
	counter->has_initial_value = true;
	counter->initial_value = number;
	names_add(&file->counters, name->text, name->size, (uint32_t)scenario->n_counters, NULL);
	scenario->counters[scenario->n_counters++] = counter;
}

static void set_counters(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__Scenario *scenario = message;

	if (value->type != NODE_MAPPING) {
		say_found(file, key->name, "names and values like {retries: 0}", value);
		file->counters_known = false;
		return;
	}
	if (value->count > SCENARIO_MAX_COUNTERS)
		node_error(file, value, "more than %u counters", SCENARIO_MAX_COUNTERS);
	scenario->counters = file_alloc(file, value->count, sizeof(*scenario->counters));
	file->out_of_memory |= names_reserve(&file->counters, &file->arena, value->count) < 0;
	for (uint32_t i = 0; !file->out_of_memory && i < value->count; i++)
		take_counter(file, node_key(value, i), node_value(value, i), scenario);
}

// --- events ------------------------------------------------------------------------------------

static void take_conditions(struct scenario_file *file, const struct key *key, const struct node *value, bool trigger,
			    Condprof__Event *event)
{
	if (!take_list(file, key->name, "a list of conditions", value))
		return;
	if (value->count == 0)
		node_error(file, value, "an event needs a condition: the list is empty");
	event->conditions = file_alloc(file, value->count, sizeof(*event->conditions));
	for (uint32_t i = 0; event->conditions && i < value->count; i++) {
		Condprof__Condition *condition = new_message(file, &condprof__condition__descriptor);

		if (!condition)
			return;
		event->conditions[event->n_conditions++] = condition;
		take_condition(file, value->items[i], trigger, condition);
	}
}

static void set_screen_conditions(struct scenario_file *file, const struct key *key, const struct node *value,
				  void *message)
{
	take_conditions(file, key, value, false, message);
}

static void set_trigger_conditions(struct scenario_file *file, const struct key *key, const struct node *value,
				   void *message)
{
	take_conditions(file, key, value, true, message);
}

static void set_actions(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__Event *event = message;

	if (!take_list(file, key->name, "a list of actions ([] for none)", value))
		return;
	event->actions = file_alloc(file, value->count, sizeof(*event->actions));
	for (uint32_t i = 0; event->actions && i < value->count; i++) {
		Condprof__Action *action = new_message(file, &condprof__action__descriptor);

		if (!action)
			return;
		event->actions[event->n_actions++] = action;
		take_action(file, value->items[i], action);
	}
}

static const struct word match_words[] = {
	{"all", CONDPROF__MATCH__MATCH_ALL}, {"any", CONDPROF__MATCH__MATCH_ANY}, {NULL, 0}};

#define COMMON_KEYS(set_its_conditions)                                                                                \
	KEY(Condprof__Event, name, .name = "event", .set = set_name, .required = true),                                \
		KEY_HAS(Condprof__Event, id, .name = "id", .set = set_id),                                             \
		KEY_HAS(Condprof__Event, match, .name = "match", .set = set_word, .words = match_words),               \
		KEY_HAS(Condprof__Event, enabled, .name = "enabled", .set = set_bool),                                 \
		KEY(Condprof__Event, conditions, .name = "conditions", .set = set_its_conditions, .required = true),   \
		KEY(Condprof__Event, actions, .name = "actions", .set = set_actions)

static const struct key screen_event_keys[] = {
	COMMON_KEYS(set_screen_conditions),
	KEY_HAS(Condprof__Event, cooldown_ns, .name = "cooldown", .set = set_duration),
	KEY_HAS(Condprof__Event, keep_detecting, .name = "keep-detecting", .set = set_bool),
	KEY_HAS(Condprof__Event, refresh, .name = "refresh", .set = set_bool),
};
static const struct key trigger_event_keys[] = {COMMON_KEYS(set_trigger_conditions)};

static const struct key_set screen_event_set = KEY_SET("a screen event", screen_event_keys, NULL);

static const char *only_screen_events(const char *key)
{
	return key_find(&screen_event_set, key) ? "only screen events have it" : NULL;
}

static const struct key_set trigger_event_set = KEY_SET("a trigger event", trigger_event_keys, only_screen_events);

static void take_event(struct scenario_file *file, const struct node *value, const struct key_set *set,
		       Condprof__Event *event)
{
	if (value->type != NODE_MAPPING) {
		say_no_mapping(file, "events", "events, each with “event: NAME” and its keys", value);
		file->events_known = false;
		return;
	}
	take_keys(file, value, set, event, NULL);
	if (!event->name)
		file->events_known = false;
}

static void take_events(struct scenario_file *file, const struct key *key, const struct node *list,
			const struct key_set *set, size_t *count, Condprof__Event ***ret)
{
	if (!take_list(file, key->name, "a list of events", list)) {
		file->events_known = false;
		return;
	}
	Condprof__Event **events = file_alloc(file, list->count, sizeof(*events));
	*ret = events;
	for (uint32_t i = 0; events && i < list->count; i++) {
		Condprof__Event *event = new_message(file, &condprof__event__descriptor);

		if (!event)
			return;
		events[(*count)++] = event;
		take_event(file, list->items[i], set, event);
	}
}

static void set_screen_events(struct scenario_file *file, const struct key *key, const struct node *value,
			      void *message)
{
	Condprof__Scenario *scenario = message;

	take_events(file, key, value, &screen_event_set, &scenario->n_screen_events, &scenario->screen_events);
}

static void set_trigger_events(struct scenario_file *file, const struct key *key, const struct node *value,
			       void *message)
{
	Condprof__Scenario *scenario = message;

	take_events(file, key, value, &trigger_event_set, &scenario->n_trigger_events, &scenario->trigger_events);
}

static const struct key scenario_keys[] = {
	KEY(Condprof__Scenario, name, .name = "scenario", .set = set_name, .required = true),
	KEY_HAS(Condprof__Scenario, id, .name = "id", .set = set_scenario_id),
	KEY(Condprof__Scenario, screen, .name = "screen", .set = set_screen),
	KEY(Condprof__Scenario, input, .name = "input", .set = set_input),
	KEY(Condprof__Scenario, rate, .name = "rate", .set = set_rate),
	KEY_HAS(Condprof__Scenario, quality, .name = "quality", .set = set_quality),
	KEY_HAS(Condprof__Scenario, rotate_ns, .name = "rotate", .set = set_rotate, .habit = &duration_long),
	KEY_HAS(Condprof__Scenario, randomize, .name = "randomize", .set = set_bool),
	KEY(Condprof__Scenario, counters, .name = "counters", .set = set_counters),
	KEY(Condprof__Scenario, screen_events, .name = "screen-events", .set = set_screen_events),
	KEY(Condprof__Scenario, trigger_events, .name = "trigger-events", .set = set_trigger_events),
};

static const struct key_set scenario_set = KEY_SET("a scenario", scenario_keys, NULL);

const struct key_set *const scenario_key_sets[] = {&scenario_set, &screen_event_set, &trigger_event_set, NULL};

void scenario_build(struct scenario_file *file)
{
	const struct node *root = file->root;

	file->counters_known = file->events_known = true;
	file->message = new_message(file, &condprof__scenario__descriptor);
	if (!file->message)
		return;
	if (root->type == NODE_LIST || (root->type == NODE_SCALAR && root->size > 0)) {
		say_no_mapping(file, "the file", "“scenario: NAME”, “screen-events:” and other keys", root);
		return;
	}
	if (root->type == NODE_SCALAR) {
		diagnostics_add_whole(&file->diagnostics, DIAGNOSTIC_ERROR,
				      "the file is empty: a scenario begins with “scenario: NAME”");
		return;
	}
	if (root->type != NODE_MAPPING)
		return;
	size_t before = file->diagnostics.errors;
	if (!take_keys(file, root, &scenario_set, file->message, NULL))
		file->counters_known = file->events_known = false; // the unknown key may be theirs
	if (before == file->diagnostics.errors && file->message->n_screen_events + file->message->n_trigger_events == 0)
		node_error(file, root, "a scenario needs an event: none stands in screen-events or trigger-events");
}
