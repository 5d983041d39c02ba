// SPDX-License-Identifier: GPL-3.0-or-later
//
// Conditions: the kind is the key. A table of kinds, each with its keys.
#include "config.h"

#include "client/scenario/keys.h"
#include "client/scenario/value.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void set_search(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	static const struct word words[] = {
		{"screen", CONDPROF__SEARCH__SEARCH_SCREEN}, {"exact", CONDPROF__SEARCH__SEARCH_EXACT}, {NULL, 0}};
	Condprof__ImageCondition *image = message;
	int word;

	if (value->type == NODE_LIST) {
		image->area = take_area(file, key->name, value);
		image->has_search = true;
		image->search = CONDPROF__SEARCH__SEARCH_AREA;
	} else if (value->type == NODE_MAPPING || (value->plain && value->size == 0)) {
		say_found(file, key->name, "screen, exact or an area [x, y, width, height]", value);
	} else if (take_word(file, key->name, words, value, &word)) {
		image->has_search = true;
		image->search = (Condprof__Search)word;
	}
}

static void set_color(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__ColorCondition *color = message;
	struct value_problem problem;
	const char *text;

	if (!take_text(file, key->name, "a colour like \"#ff8800\"", value, &text))
		return;
	if (value_color(text, &color->rgb, &problem) < 0)
		node_error(file, value, "“%s”: %s", key->name, problem.message);
	else
		color->has_rgb = true;
}

/// A comparison and its operand.
static bool take_comparison(struct scenario_file *file, const char *name, const struct node *value,
			    Condprof__Comparison *ret_comparison, Condprof__Operand **ret_operand)
{
	struct value_problem problem;
	const char *text, *operand;

	if (!take_text(file, name, "a comparison like \">= 3\"", value, &text))
		return false;
	if (value_comparison(text, ret_comparison, &operand, &problem) < 0) {
		node_error(file, value, "“%s”: %s", name, problem.message);
		return false;
	}
	*ret_operand = take_operand(file, name, value, operand);
	return *ret_operand != NULL;
}

static void set_number(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__NumberCondition *number = message;

	number->has_comparison = take_comparison(file, key->name, value, &number->comparison, &number->operand);
}

static void set_is(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	Condprof__CounterCondition *counter = message;

	counter->has_comparison = take_comparison(file, key->name, value, &counter->comparison, &counter->operand);
}

// --- languages ---------------------------------------------------------------------------------

struct languages {
	size_t *count;
	char ***items;
};

static bool is_language(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789/");

	return length > 0 && length <= 64 && text[0] != '/' && text[length - 1] != '/' && text[length] == '\0';
}

/// eng, or a list of them.
static void take_languages(struct scenario_file *file, const struct key *key, const struct node *value,
			   struct languages ret)
{
	struct node *const single[] = {(struct node *)(uintptr_t)value};
	struct node *const *items = value->type == NODE_LIST ? value->items : single;
	uint32_t count = value->type == NODE_LIST ? value->count : 1;
	char **languages = file_alloc(file, count, sizeof(*languages));
	const char *text;

	if (count == 0)
		node_error(file, value, "“%s”: the list is empty", key->name);
	if (count > SCENARIO_MAX_LANGUAGES) {
		node_error(file, value, "“%s”: more than %u languages", key->name, SCENARIO_MAX_LANGUAGES);
		return;
	}
	for (uint32_t i = 0; languages && i < count; i++) {
		if (!take_text(file, key->name, "a language like eng", items[i], &text))
			return;
		if (!is_language(text)) {
			say_found(file, key->name, "a language like eng, or a list of them", items[i]);
			return;
		}
		languages[i] = (char *)(uintptr_t)text;
	}
	*ret.items = languages;
	*ret.count = languages ? count : 0;
}

static void set_wanted_text(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	const Condprof__TextCondition *text = message;

	set_text(file, key, value, message);
	if (text->text && text->text[0] && text->text[strspn(text->text, " ")] == '\0')
		node_error(file, value, "“%s”: blanks alone cannot be looked for", key->name);
}

static void set_text_languages(struct scenario_file *file, const struct key *key, const struct node *value,
			       void *message)
{
	Condprof__TextCondition *text = message;

	take_languages(file, key, value, (struct languages){&text->n_languages, &text->languages});
}

static void set_number_languages(struct scenario_file *file, const struct key *key, const struct node *value,
				 void *message)
{
	Condprof__NumberCondition *number = message;

	take_languages(file, key, value, (struct languages){&number->n_languages, &number->languages});
}

// --- the kinds ---------------------------------------------------------------------------------

static const struct word bus_words[] = {
	{"session", CONDPROF__BUS__BUS_SESSION}, {"system", CONDPROF__BUS__BUS_SYSTEM}, {NULL, 0}};
static const struct word format_words[] = {{"auto", CONDPROF__NUMBER_FORMAT__NUMBER_AUTO},
					   {"dot", CONDPROF__NUMBER_FORMAT__NUMBER_DOT},
					   {"comma", CONDPROF__NUMBER_FORMAT__NUMBER_COMMA},
					   {NULL, 0}};

#define COMMON_KEYS                                                                                                    \
	KEY(Condprof__Condition, name, .name = "name", .set = set_name, .outer = true),                                \
		KEY_HAS(Condprof__Condition, id, .name = "id", .set = set_id, .outer = true)

static const struct key image_keys[] = {
	KEY(Condprof__ImageCondition, file, .name = "image", .set = set_text),
	COMMON_KEYS,
	KEY_HAS(Condprof__ImageCondition, search, .name = "search", .set = set_search),
	KEY(Condprof__ImageCondition, at, .name = "at", .set = set_corner),
	KEY_HAS(Condprof__ImageCondition, threshold, .name = "threshold", .set = set_percent),
	KEY_HAS(Condprof__ImageCondition, present, .name = "present", .set = set_bool),
};
static const struct key color_keys[] = {
	KEY_HAS(Condprof__ColorCondition, rgb, .name = "color", .set = set_color),
	COMMON_KEYS,
	KEY(Condprof__ColorCondition, area, .name = "area", .set = set_area, .required = true),
	KEY_HAS(Condprof__ColorCondition, threshold, .name = "threshold", .set = set_percent),
	KEY_HAS(Condprof__ColorCondition, present, .name = "present", .set = set_bool),
};
static const struct key text_keys[] = {
	KEY(Condprof__TextCondition, text, .name = "text", .set = set_wanted_text),
	COMMON_KEYS,
	KEY(Condprof__TextCondition, area, .name = "area", .set = set_area, .required = true),
	KEY(Condprof__TextCondition, languages, .name = "language", .set = set_text_languages),
	KEY_HAS(Condprof__TextCondition, ignore_case, .name = "ignore-case", .set = set_bool),
	KEY_HAS(Condprof__TextCondition, threshold, .name = "threshold", .set = set_percent),
	KEY_HAS(Condprof__TextCondition, present, .name = "present", .set = set_bool),
};
static const struct key number_keys[] = {
	KEY_HAS(Condprof__NumberCondition, comparison, .name = "number", .set = set_number),
	COMMON_KEYS,
	KEY(Condprof__NumberCondition, area, .name = "area", .set = set_area, .required = true),
	KEY_HAS(Condprof__NumberCondition, format, .name = "format", .set = set_word, .words = format_words),
	KEY(Condprof__NumberCondition, languages, .name = "language", .set = set_number_languages),
};
static const struct key timer_keys[] = {
	KEY_HAS(Condprof__TimerCondition, duration_ns, .name = "timer", .set = set_duration),
	COMMON_KEYS,
	KEY_HAS(Condprof__TimerCondition, repeat, .name = "repeat", .set = set_bool),
};
static const struct key counter_keys[] = {
	KEY(Condprof__CounterCondition, counter, .name = "counter", .set = set_name),
	COMMON_KEYS,
	KEY_HAS(Condprof__CounterCondition, comparison, .name = "is", .set = set_is, .required = true),
};
static const struct key broadcast_keys[] = {
	KEY(Condprof__BroadcastCondition, broadcast, .name = "broadcast", .set = set_name),
	COMMON_KEYS,
	KEY_HAS(Condprof__BroadcastCondition, bus, .name = "bus", .set = set_word, .words = bus_words),
};

static const char *elsewhere(const char *key);

enum { IMAGE, COLOR, TEXT, NUMBER, TIMER, COUNTER, BROADCAST, KINDS, FIRST_TRIGGER = TIMER };

static const struct key_set sets[] = {
	[IMAGE] = KEY_SET("an image condition", image_keys, elsewhere),
	[COLOR] = KEY_SET("a color condition", color_keys, elsewhere),
	[TEXT] = KEY_SET("a text condition", text_keys, elsewhere),
	[NUMBER] = KEY_SET("a number condition", number_keys, elsewhere),
	[TIMER] = KEY_SET("a timer condition", timer_keys, elsewhere),
	[COUNTER] = KEY_SET("a counter condition", counter_keys, elsewhere),
	[BROADCAST] = KEY_SET("a broadcast condition", broadcast_keys, elsewhere),
};
static_assert(ARRAY_SIZE(sets) == KINDS, "a set of keys for every kind of condition");

static const struct {
	const ProtobufCMessageDescriptor *descriptor;
	Condprof__Condition__KindCase kind_case;
} messages[] = {
	[IMAGE] = {&condprof__image_condition__descriptor, CONDPROF__CONDITION__KIND_IMAGE},
	[COLOR] = {&condprof__color_condition__descriptor, CONDPROF__CONDITION__KIND_COLOR},
	[TEXT] = {&condprof__text_condition__descriptor, CONDPROF__CONDITION__KIND_TEXT},
	[NUMBER] = {&condprof__number_condition__descriptor, CONDPROF__CONDITION__KIND_NUMBER},
	[TIMER] = {&condprof__timer_condition__descriptor, CONDPROF__CONDITION__KIND_TIMER},
	[COUNTER] = {&condprof__counter_condition__descriptor, CONDPROF__CONDITION__KIND_COUNTER},
	[BROADCAST] = {&condprof__broadcast_condition__descriptor, CONDPROF__CONDITION__KIND_BROADCAST},
};
static_assert(ARRAY_SIZE(messages) == KINDS, "a message for every kind of condition");

/// "it is a key of image and text conditions"
static const char *elsewhere(const char *key)
{
	static _Thread_local char out[160];
	size_t used = 0;

	for (size_t i = 0; i < KINDS; i++)
		if (key_find(&sets[i], key))
			used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s",
						 used ? ", " : "it is a key of ", sets[i].keys[0].name);
	if (used == 0)
		return NULL;
	snprintf(out + used, sizeof(out) - used, " conditions");
	return out;
}

const struct key_set *const condition_key_sets[] = {&sets[IMAGE], &sets[COLOR],   &sets[TEXT],      &sets[NUMBER],
						    &sets[TIMER], &sets[COUNTER], &sets[BROADCAST], NULL};

static size_t kind_of(const struct node *key)
{
	for (size_t i = 0; i < KINDS; i++)
		if (node_is(key, sets[i].keys[0].name))
			return i;
	return KINDS;
}

static const char *kind_words(bool trigger)
{
	return trigger ? "timer, counter or broadcast" : "image, color, text or number";
}

/// No key says what it is: a key that nearly does, or none at all.
static void say_no_kind(struct scenario_file *file, const struct node *mapping, bool trigger)
{
	const char *words[KINDS];
	size_t first = trigger ? FIRST_TRIGGER : 0, count = trigger ? KINDS - FIRST_TRIGGER : FIRST_TRIGGER;

	for (size_t i = 0; i < count; i++)
		words[i] = sets[first + i].keys[0].name;
	for (uint32_t i = 0; i < mapping->count; i++) {
		const struct node *key = node_key(mapping, i);
		if (key->type == NODE_BAD)
			return;
		const char *near =
			key->size <= 32 && !elsewhere(key->text) ? nearest_word(key->text, words, count) : NULL;
		char word[QUOTED_BYTES];

		if (near) {
			node_error(file, key, "a condition has no key “%s”; did you mean “%s”?",
				   name_text(key->text, word), near);
			return;
		}
	}
	node_error(file, mapping, "a condition of %s needs one of the keys %s",
		   trigger ? "a trigger event" : "a screen event", kind_words(trigger));
}

static bool say_wrong_family(struct scenario_file *file, const struct node *key, size_t kind, bool trigger)
{
	if ((kind >= FIRST_TRIGGER) == trigger)
		return false;
	node_error(file, key, "%s belongs to %s; the conditions of a %s event are %s", sets[kind].what,
		   trigger ? "screen-events" : "trigger-events", trigger ? "trigger" : "screen", kind_words(trigger));
	return true;
}

/// The kind that the mapping's keys name; KINDS when it was said why there is none.
static size_t find_kind(struct scenario_file *file, const struct node *mapping, bool trigger)
{
	size_t found = KINDS;

	for (uint32_t i = 0; i < mapping->count; i++) {
		const struct node *key = node_key(mapping, i);
		size_t kind = kind_of(key);

		if (kind == KINDS)
			continue;
		if (found < KINDS) {
			node_error(file, key,
				   "a condition is one thing: “%s” and “%s” both stand here; make two conditions of it",
				   sets[found].keys[0].name, key->text);
			return KINDS;
		}
		if (say_wrong_family(file, key, kind, trigger))
			return KINDS;
		found = kind;
	}
	if (found == KINDS)
		say_no_kind(file, mapping, trigger);
	return found;
}

static void check_image(struct scenario_file *file, const struct node *mapping, const Condprof__ImageCondition *image)
{
	const struct node *at = node_find(mapping, "at"), *search = node_find(mapping, "search");
	bool exact = image->has_search && image->search == CONDPROF__SEARCH__SEARCH_EXACT;

	if (exact && !at)
		node_error(file, search,
			   "“search: exact” needs “at: [x, y]”, the place of the image's left upper corner");
	else if (at && !exact && at->type != NODE_BAD && (!search || image->has_search))
		node_error(file, at, "“at” goes with “search: exact” only");
}

static void check_broadcast(struct scenario_file *file, const struct node *mapping,
			    const Condprof__BroadcastCondition *broadcast)
{
	const struct node *name = node_find(mapping, "broadcast");
	struct value_problem problem;

	if (broadcast->has_bus && broadcast->broadcast && value_bus_member(broadcast->broadcast, &problem) < 0)
		node_error(file, name, "“broadcast”: %s", problem.message);
}

/// Without name: what the kind's key says.
static void take_default_name(struct scenario_file *file, const struct node *mapping, size_t kind,
			      Condprof__Condition *condition)
{
	const struct node *value = node_find(mapping, sets[kind].keys[0].name);

	if (node_find(mapping, "name") || !value || value->type != NODE_SCALAR || value->size == 0)
		return;
	uint32_t code;
	bool shows = value->size <= NAME_MAX_BYTES;
	for (size_t i = 0, length; shows && i < value->size; i += length) {
		length = utf8_take(value->text + i, value->size - i, &code);
		shows = length > 0 && !character_is_unsafe(code);
	}
	if (shows)
		condition->name = (char *)(uintptr_t)value->text;
	else if ((kind == IMAGE && condition->image->file) || (kind == TEXT && condition->text->text))
		node_error(file, value, "this cannot be the condition's name too: give it one by “name: …”");
}

void take_condition(struct scenario_file *file, const struct node *value, bool trigger, Condprof__Condition *condition)
{
	if (value->type != NODE_MAPPING) {
		say_no_mapping(file, "conditions",
			       trigger ? "conditions like {timer: 30 s}" : "conditions like {image: ok.png}", value);
		return;
	}
	size_t kind = find_kind(file, value, trigger);
	if (kind == KINDS) { // its name all the same, so that clicks on it are no second mistake
		const struct node *name = node_find(value, "name");

		if (name && name->type == NODE_SCALAR && name->size == strlen(name->text) && name->size > 0)
			condition->name = (char *)(uintptr_t)name->text;
		return;
	}
	void *message = new_message(file, messages[kind].descriptor);
	if (!message)
		return;
	condition->kind_case = messages[kind].kind_case;
	condition->image = message; // all members of the union are pointers
	bool known = take_keys(file, value, &sets[kind], message, condition);
	take_default_name(file, value, kind, condition);
	if (known && kind == IMAGE)
		check_image(file, value, message);
	if (kind == BROADCAST)
		check_broadcast(file, value, message);
}
