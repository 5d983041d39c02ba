// SPDX-License-Identifier: GPL-3.0-or-later
//
// Actions: the kind is the key. A table of kinds, each with its keys.
#include "config.h"

#include "client/scenario/keys.h"
#include "client/scenario/value.h"
#include "proto/keys.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void set_click(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__ClickAction *click = message;
	const char *text;

	if (value->type == NODE_LIST) {
		click->position = take_point(file, key->name, value);
		if (click->position)
			click->target_case = CONDPROF__CLICK_ACTION__TARGET_POSITION;
	} else if (!take_text(file, key->name, "a condition's name, found, or a position [x, y]", value, &text)) {
		return;
	} else if (!strcmp(text, "found")) {
		click->target_case = CONDPROF__CLICK_ACTION__TARGET_FOUND;
		click->found = true;
	} else if (name_is_right(file, "a condition's name", value, text)) {
		click->target_case = CONDPROF__CLICK_ACTION__TARGET_CONDITION;
		click->condition = (char *)(uintptr_t)text;
	}
}

static void set_swipe(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__SwipeAction *swipe = message;

	if (!take_list(file, key->name, "positions [[x, y], [x, y]]", value))
		return;
	if (value->count < 2) {
		node_error(file, value, "“swipe” needs two positions or more: [[x, y], [x, y]]");
		return;
	}
	if (value->count > SWIPE_MAX_POINTS)
		node_error(file, value, "“swipe” has more than %u positions", SWIPE_MAX_POINTS);
	swipe->points = file_alloc(file, value->count, sizeof(*swipe->points));
	for (uint32_t i = 0; swipe->points && i < value->count; i++) {
		Condprof__Point *point = take_point(file, key->name, value->items[i]);

		if (point)
			swipe->points[swipe->n_points++] = point;
	}
}

static void set_keys(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__KeyAction *action = message;
	struct key_combination keys;
	struct error error = {0};
	const char *text;

	if (!take_text(file, key->name, "a key like Return or alt+F4", value, &text))
		return;
	if (value->size > TEXT_MAX_BYTES)
		node_error(file, value, "“%s” is longer than %u bytes", key->name, TEXT_MAX_BYTES);
	else if (key_combination_parse(text, &keys, &error) < 0)
		node_error(file, value, "“%s”: %s", key->name, error.message);
	else
		action->keys = (char *)(uintptr_t)text;
}

// --- texts with counters -----------------------------------------------------------------------

struct texts {
	size_t *count;
	Condprof__TextPart ***items;
};

/// The node's part from a byte of its text: exactly where the file has the text as it is.
static void say_in_text(struct scenario_file *file, const char *name, const struct node *value, size_t offset,
			const char *message)
{
	struct node place = *value;

	if (value->exact) {
		for (size_t i = 0; i < offset; i++)
			place.start += ((uint8_t)value->text[i] & 0xc0) != 0x80;
		place.start += value->quote;
		place.end = place.start + 1;
	}
	node_error(file, &place, "“%s”: %s", name, message);
}

static Condprof__TextPart *new_part(struct scenario_file *file, const struct value_part *part)
{
	Condprof__TextPart *message = new_message(file, &condprof__text_part__descriptor);

	if (!message)
		return NULL;
	message->part_case = part->counter ? CONDPROF__TEXT_PART__PART_COUNTER : CONDPROF__TEXT_PART__PART_LITERAL;
	message->literal = part->text; // both members of the union are strings
	return message;
}

/// Whether the text is right before it is looked at for counters.
static bool check_text(struct scenario_file *file, const char *name, const struct node *value, bool may_be_empty)
{
	if (value->size == 0 && !may_be_empty)
		node_error(file, value, "“%s”: the text cannot be empty", name);
	else if (value->size > TEXT_MAX_BYTES)
		node_error(file, value, "“%s”: the text is longer than %u bytes", name, TEXT_MAX_BYTES);
	else if (utf8_has_control(value->text, true))
		node_error(file, value, "“%s”: of control characters only tab and newline can be in a text", name);
	else
		return true;
	return false;
}

static void take_parts(struct scenario_file *file, const char *name, const struct node *value, bool may_be_empty,
		       struct texts ret)
{
	struct value_part *parts = NULL;
	struct value_problem problem;
	size_t count = 0, offset = 0;
	const char *text;

	if (!take_text(file, name, "a text", value, &text) || !check_text(file, name, value, may_be_empty))
		return;
	int r = value_parts(&file->arena, text, &parts, &count, &problem, &offset);
	file->out_of_memory |= r == -ENOMEM;
	if (r == -EINVAL)
		say_in_text(file, name, value, offset, problem.message);
	if (r == 0 && count > TEXT_MAX_PARTS)
		node_error(file, value, "“%s”: more than %u counters and pieces between them", name, TEXT_MAX_PARTS);
	Condprof__TextPart **messages = r < 0 ? NULL : file_alloc(file, count, sizeof(*messages));
	for (size_t i = 0; messages && i < count; i++)
		messages[i] = new_part(file, &parts[i]);
	*ret.items = messages;
	*ret.count = messages && !file->out_of_memory ? count : 0;
}

static void set_notify(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__NotifyAction *notify = message;

	take_parts(file, key->name, value, false, (struct texts){&notify->n_text, &notify->text});
}

static void set_stop(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__StopAction *stop = message;

	take_parts(file, key->name, value, true, (struct texts){&stop->n_text, &stop->text});
}

/// A name that systemd takes for a credential and that is no path.
static bool check_secret(struct scenario_file *file, const struct node *value, const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	if (length > 0 && length <= 255 && name[length] == '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return true;
	say_found(file, "secret", "a credential's name (letters, digits, “.”, “_”, “-”)", value);
	return false;
}

static void set_secret(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__TypeAction *type = message;
	const char *text;

	if (take_text(file, key->name, "a credential's name", value, &text) && check_secret(file, value, text))
		type->secret = (char *)(uintptr_t)text;
}

static const struct key secret_keys[] = {
	KEY(Condprof__TypeAction, secret, .name = "secret", .set = set_secret, .required = true),
};
static const struct key_set secret_set = KEY_SET("“type: {…}”", secret_keys, NULL);

static void set_type(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__TypeAction *type = message;

	if (value->type == NODE_MAPPING && node_find(value, "secret"))
		take_keys(file, value, &secret_set, message, NULL);
	else if (value->type == NODE_SCALAR && (!value->plain || value->size > 0))
		take_parts(file, key->name, value, false, (struct texts){&type->n_text, &type->text});
	else
		say_found(file, key->name, "a text in quotes or {secret: NAME}", value);
}

// --- other kinds -------------------------------------------------------------------------------

static void set_operation(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__CounterAction *counter = message;

	if (counter->has_operation) {
		node_error(file, value, "a counter action does one thing: one of add, subtract, set");
		return;
	}
	counter->has_operation = true;
	counter->operation = (Condprof__CounterOperation)key->words->value;
	set_operand(file, key, value, message);
}

static void set_events(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__EventStateAction *state = message;
	struct node *const single[] = {(struct node *)(uintptr_t)value};
	struct node *const *items = value->type == NODE_LIST ? value->items : single;
	uint32_t count = value->type == NODE_LIST ? value->count : 1;
	const char *text;

	state->has_change = true;
	state->change = (Condprof__StateChange)key->words->value;
	if (node_is(value, "all")) {
		state->has_all = state->all = true;
		return;
	}
	if (count == 0) {
		node_error(file, value, "“%s”: the list is empty: name events, or write all", key->name);
		return;
	}
	state->events = file_alloc(file, count, sizeof(*state->events));
	for (uint32_t i = 0; state->events && i < count; i++) {
		if (!take_text(file, key->name, "a list of events, or all", items[i], &text))
			continue;
		if (!strcmp(text, "all"))
			node_error(file, items[i], "“all” stands alone, without brackets: “%s: all”", key->name);
		else if (name_is_right(file, "an event's name", items[i], text))
			state->events[state->n_events++] = (char *)(uintptr_t)text;
	}
}

static void set_signal(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__SignalAction *signal = message;
	struct value_problem problem;
	const char *text;

	if (!take_text(file, key->name, "a D-Bus signal like org.example.Kiosk.Closed", value, &text))
		return;
	if (value_bus_member(text, &problem) < 0)
		node_error(file, value, "“%s”: %s", key->name, problem.message);
	else
		signal->signal = (char *)(uintptr_t)text;
}

static void set_path(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__SignalAction *signal = message;
	struct value_problem problem;
	const char *text;

	if (!take_text(file, key->name, "a D-Bus object path like /org/example/Kiosk", value, &text))
		return;
	if (value->size > TEXT_MAX_BYTES)
		node_error(file, value, "“%s” is longer than %u bytes", key->name, TEXT_MAX_BYTES);
	else if (value_bus_path(text, &problem) < 0)
		node_error(file, value, "“%s”: %s", key->name, problem.message);
	else
		signal->path = (char *)(uintptr_t)text;
}

// --- the kinds ---------------------------------------------------------------------------------

static const struct word add_word[] = {{"add", CONDPROF__COUNTER_OPERATION__ADD}};
static const struct word subtract_word[] = {{"subtract", CONDPROF__COUNTER_OPERATION__SUBTRACT}};
static const struct word set_to_word[] = {{"set", CONDPROF__COUNTER_OPERATION__SET}};
static const struct word enable_word[] = {{"enable", CONDPROF__STATE_CHANGE__ENABLE}};
static const struct word disable_word[] = {{"disable", CONDPROF__STATE_CHANGE__DISABLE}};
static const struct word toggle_word[] = {{"toggle", CONDPROF__STATE_CHANGE__TOGGLE}};
static const struct word bus_words[] = {
	{"session", CONDPROF__BUS__BUS_SESSION}, {"system", CONDPROF__BUS__BUS_SYSTEM}, {NULL, 0}};
static const struct word result_words[] = {
	{"ok", CONDPROF__RESULT__RESULT_OK}, {"failed", CONDPROF__RESULT__RESULT_FAILED}, {NULL, 0}};
static const struct word level_words[] = {
	{"debug", CONDPROF__LEVEL__LEVEL_DEBUG},   {"info", CONDPROF__LEVEL__LEVEL_INFO},
	{"notice", CONDPROF__LEVEL__LEVEL_NOTICE}, {"warning", CONDPROF__LEVEL__LEVEL_WARNING},
	{"error", CONDPROF__LEVEL__LEVEL_ERROR},   {NULL, 0},
};

static const struct key click_keys[] = {
	KEY(Condprof__ClickAction, condition, .name = "click", .set = set_click),
	KEY(Condprof__ClickAction, offset, .name = "offset", .set = set_point),
	KEY_HAS(Condprof__ClickAction, press_ns, .name = "press", .set = set_duration),
};
static const struct key swipe_keys[] = {
	KEY(Condprof__SwipeAction, points, .name = "swipe", .set = set_swipe),
	KEY_HAS(Condprof__SwipeAction, duration_ns, .name = "duration", .set = set_duration, .required = true),
};
static const struct key pause_keys[] = {
	KEY_HAS(Condprof__PauseAction, duration_ns, .name = "pause", .set = set_duration)};
static const struct key key_keys[] = {KEY(Condprof__KeyAction, keys, .name = "key", .set = set_keys)};
static const struct key type_keys[] = {KEY(Condprof__TypeAction, text, .name = "type", .set = set_type)};
static const struct key counter_keys[] = {
	KEY(Condprof__CounterAction, counter, .name = "counter", .set = set_name),
	KEY(Condprof__CounterAction, operand, .name = "add", .set = set_operation, .words = add_word),
	KEY(Condprof__CounterAction, operand, .name = "subtract", .set = set_operation, .words = subtract_word),
	KEY(Condprof__CounterAction, operand, .name = "set", .set = set_operation, .words = set_to_word),
};
static const struct key enable_keys[] = {
	KEY(Condprof__EventStateAction, events, .name = "enable", .set = set_events, .words = enable_word)};
static const struct key disable_keys[] = {
	KEY(Condprof__EventStateAction, events, .name = "disable", .set = set_events, .words = disable_word)};
static const struct key toggle_keys[] = {
	KEY(Condprof__EventStateAction, events, .name = "toggle", .set = set_events, .words = toggle_word)};
static const struct key notify_keys[] = {
	KEY(Condprof__NotifyAction, text, .name = "notify", .set = set_notify),
	KEY_HAS(Condprof__NotifyAction, level, .name = "level", .set = set_word, .words = level_words),
};
static const struct key signal_keys[] = {
	KEY(Condprof__SignalAction, signal, .name = "signal", .set = set_signal),
	KEY(Condprof__SignalAction, path, .name = "path", .set = set_path, .required = true),
	KEY_HAS(Condprof__SignalAction, bus, .name = "bus", .set = set_word, .words = bus_words),
};
static const struct key stop_keys[] = {
	KEY(Condprof__StopAction, text, .name = "stop", .set = set_stop),
	KEY_HAS(Condprof__StopAction, result, .name = "result", .set = set_word, .words = result_words),
};

static const char *elsewhere(const char *key);

enum { CLICK, SWIPE, PAUSE, KEYS, TYPE, COUNTER, ENABLE, DISABLE, TOGGLE, NOTIFY, SIGNAL, STOP, KINDS };

static const struct key_set sets[] = {
	[CLICK] = KEY_SET("a click", click_keys, elsewhere),
	[SWIPE] = KEY_SET("a swipe", swipe_keys, elsewhere),
	[PAUSE] = KEY_SET("a pause", pause_keys, elsewhere),
	[KEYS] = KEY_SET("a key action", key_keys, elsewhere),
	[TYPE] = KEY_SET("a type action", type_keys, elsewhere),
	[COUNTER] = KEY_SET("a counter action", counter_keys, elsewhere),
	[ENABLE] = KEY_SET("an enable action", enable_keys, elsewhere),
	[DISABLE] = KEY_SET("a disable action", disable_keys, elsewhere),
	[TOGGLE] = KEY_SET("a toggle action", toggle_keys, elsewhere),
	[NOTIFY] = KEY_SET("a notify action", notify_keys, elsewhere),
	[SIGNAL] = KEY_SET("a signal action", signal_keys, elsewhere),
	[STOP] = KEY_SET("a stop action", stop_keys, elsewhere),
};
static_assert(ARRAY_SIZE(sets) == KINDS, "a set of keys for every kind of action");

static const struct {
	const ProtobufCMessageDescriptor *descriptor;
	Condprof__Action__KindCase kind_case;
} messages[] = {
	[CLICK] = {&condprof__click_action__descriptor, CONDPROF__ACTION__KIND_CLICK},
	[SWIPE] = {&condprof__swipe_action__descriptor, CONDPROF__ACTION__KIND_SWIPE},
	[PAUSE] = {&condprof__pause_action__descriptor, CONDPROF__ACTION__KIND_PAUSE},
	[KEYS] = {&condprof__key_action__descriptor, CONDPROF__ACTION__KIND_KEY},
	[TYPE] = {&condprof__type_action__descriptor, CONDPROF__ACTION__KIND_TYPE},
	[COUNTER] = {&condprof__counter_action__descriptor, CONDPROF__ACTION__KIND_COUNTER},
	[ENABLE] = {&condprof__event_state_action__descriptor, CONDPROF__ACTION__KIND_EVENT_STATE},
	[DISABLE] = {&condprof__event_state_action__descriptor, CONDPROF__ACTION__KIND_EVENT_STATE},
	[TOGGLE] = {&condprof__event_state_action__descriptor, CONDPROF__ACTION__KIND_EVENT_STATE},
	[NOTIFY] = {&condprof__notify_action__descriptor, CONDPROF__ACTION__KIND_NOTIFY},
	[SIGNAL] = {&condprof__signal_action__descriptor, CONDPROF__ACTION__KIND_SIGNAL},
	[STOP] = {&condprof__stop_action__descriptor, CONDPROF__ACTION__KIND_STOP},
};
static_assert(ARRAY_SIZE(messages) == KINDS, "a message for every kind of action");

const struct key_set *const action_key_sets[] = {
	&sets[CLICK],   &sets[SWIPE],  &sets[PAUSE],  &sets[KEYS],   &sets[TYPE], &sets[COUNTER], &sets[ENABLE],
	&sets[DISABLE], &sets[TOGGLE], &sets[NOTIFY], &sets[SIGNAL], &sets[STOP], &secret_set,    NULL,
};

/// "it goes with swipe"
static const char *elsewhere(const char *key)
{
	static _Thread_local char out[160];
	size_t used = 0;

	for (size_t i = 0; i < KINDS; i++)
		if (key_find(&sets[i], key))
			used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s",
						 used ? ", " : "it is a key of ", sets[i].keys[0].name);
	return used > 0 ? out : NULL;
}

static size_t kind_of(const struct node *key)
{
	for (size_t i = 0; i < KINDS; i++)
		if (node_is(key, sets[i].keys[0].name))
			return i;
	return KINDS;
}

#define KIND_WORDS "click, swipe, pause, key, type, counter, enable, disable, toggle, notify, signal or stop"

static void say_no_kind(struct scenario_file *file, const struct node *mapping)
{
	const char *words[KINDS];

	for (size_t i = 0; i < KINDS; i++)
		words[i] = sets[i].keys[0].name;
	for (uint32_t i = 0; i < mapping->count; i++) {
		const struct node *key = node_key(mapping, i);
		if (key->type == NODE_BAD)
			return;
		const char *near =
			key->size <= 32 && !elsewhere(key->text) ? nearest_word(key->text, words, KINDS) : NULL;
		char word[QUOTED_BYTES];

		if (near) {
			node_error(file, key, "an action has no key “%s”; did you mean “%s”?",
				   name_text(key->text, word), near);
			return;
		}
	}
	node_error(file, mapping, "an action needs one of the keys " KIND_WORDS);
}

static size_t find_kind(struct scenario_file *file, const struct node *mapping)
{
	size_t found = KINDS;

	for (uint32_t i = 0; i < mapping->count; i++) {
		const struct node *key = node_key(mapping, i);
		size_t kind = kind_of(key);

		if (kind == KINDS)
			continue;
		if (found < KINDS) {
			node_error(file, key,
				   "an action is one thing: “%s” and “%s” both stand here; begin the second with a “-” "
				   "of its own",
				   sets[found].keys[0].name, key->text);
			return KINDS;
		}
		found = kind;
	}
	if (found == KINDS)
		say_no_kind(file, mapping);
	return found;
}

static void check_counter(struct scenario_file *file, const struct node *mapping,
			  const Condprof__CounterAction *counter)
{
	if (!counter->has_operation)
		node_error(file, mapping, "a counter action needs one of add, subtract, set");
}

/// In a message no bus means none; in a file it means the system's.
static void choose_bus(Condprof__SignalAction *signal)
{
	if (!signal->has_bus)
		signal->bus = CONDPROF__BUS__BUS_SYSTEM;
	signal->has_bus = true;
}

void take_action(struct scenario_file *file, const struct node *value, Condprof__Action *action)
{
	if (value->type != NODE_MAPPING) {
		say_no_mapping(file, "actions", "actions like {click: ok} or {pause: 1 s}", value);
		return;
	}
	size_t kind = find_kind(file, value);
	if (kind == KINDS)
		return;
	void *message = new_message(file, messages[kind].descriptor);
	if (!message)
		return;
	action->kind_case = messages[kind].kind_case;
	action->click = message; // all members of the union are pointers
	bool known = take_keys(file, value, &sets[kind], message, NULL);
	if (known && kind == COUNTER)
		check_counter(file, value, message);
	if (kind == SIGNAL)
		choose_bus(message);
}
