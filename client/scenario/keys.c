// SPDX-License-Identifier: GPL-3.0-or-later
//
// Takes mappings by tables of keys, and the values that many keys share. A wrong value is said where it stands, and the
// field stays as it was: reading goes on, so that one run shows all mistakes.
#include "config.h"

#include "client/scenario/keys.h"

#include "client/scenario/value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MEMBER(type, message, offset) ((type *)(void *)((char *)(message) + (offset)))

void *new_message(struct scenario_file *file, const ProtobufCMessageDescriptor *descriptor)
{
	void *message = file_alloc(file, 1, descriptor->sizeof_message);

	if (message)
		protobuf_c_message_init(descriptor, message);
	return message;
}

static void mark_present(const struct key *key, void *message)
{
	if (key->has)
		*MEMBER(protobuf_c_boolean, message, key->has) = true;
}

// --- what was found ----------------------------------------------------------------------------

/// Whether an unquoted # behind the place where a value should be made a comment of it.
static bool comment_follows(const struct scenario_file *file, const struct node *value)
{
	uint32_t line, column;
	size_t size, at = 0;
	uint32_t code;

	source_position(&file->source, value->start, &line, &column);
	const char *text = source_line_text(&file->source, line, &size);
	for (uint32_t n = 1; n < column && at < size; n++)
		at += MAX(utf8_take(text + at, size - at, &code), 1U);
	while (at < size && (text[at] == ' ' || text[at] == '\t'))
		at++;
	return at < size && text[at] == '#' && at + 1 < size && text[at + 1] != ' ';
}

void say_found(struct scenario_file *file, const char *name, const char *expected, const struct node *value)
{
	char text[QUOTED_BYTES];

	if (value->type == NODE_BAD)
		return;
	if (value->type == NODE_SCALAR && value->plain && value->size == 0) {
		const char *hint =
			comment_follows(file, value) ? "; an unquoted # begins a comment: put the value in quotes" : "";

		node_error(file, value, "“%s” has no value: expected %s%s", name, expected, hint);
	} else if (value->type == NODE_SCALAR) {
		node_error(file, value, "“%s”: expected %s, found “%s”", name, expected, name_text(value->text, text));
	} else if (value->type == NODE_LIST) {
		node_error(file, value, "“%s”: expected %s, found a list", name, expected);
	} else {
		node_error(file, value, "“%s”: expected %s, found a mapping%s", name, expected,
			   value->flow ? "; a text with braces goes in quotes" : "");
	}
}

void say_no_mapping(struct scenario_file *file, const char *name, const char *expected, const struct node *value)
{
	char text[QUOTED_BYTES];

	if (value->type == NODE_SCALAR && value->plain && strchr(value->text, ':'))
		node_error(file, value, "“%s”: expected %s, found the text “%s”: is a space missing after its “:”?",
			   name, expected, name_text(value->text, text));
	else
		say_found(file, name, expected, value);
}

bool take_text(struct scenario_file *file, const char *name, const char *expected, const struct node *value,
	       const char **ret)
{
	if (value->type != NODE_SCALAR || (value->plain && value->size == 0)) {
		say_found(file, name, expected, value);
		return false;
	}
	if (strlen(value->text) != value->size) {
		node_error(file, value, "“%s”: a text cannot hold a NUL character", name);
		return false;
	}
	*ret = value->text;
	return true;
}

bool take_list(struct scenario_file *file, const char *name, const char *expected, const struct node *value)
{
	if (value->type == NODE_LIST)
		return true;
	if (value->type == NODE_MAPPING)
		node_error(file, value, "“%s”: expected %s, found a mapping%s", name, expected,
			   value->flow ? "" : "; begin each item with “- ”");
	else
		say_found(file, name, expected, value);
	return false;
}

bool name_is_right(struct scenario_file *file, const char *what, const struct node *node, const char *name)
{
	size_t size = strlen(name);
	uint32_t code;

	if (size == 0) {
		node_error(file, node, "%s cannot be empty", what);
		return false;
	}
	if (size > NAME_MAX_BYTES) {
		node_error(file, node, "%s is longer than %u bytes", what, NAME_MAX_BYTES);
		return false;
	}
	for (size_t i = 0; i < size; i += MAX(utf8_take(name + i, size - i, &code), 1U)) {
		if (utf8_take(name + i, size - i, &code) > 0 && !character_is_unsafe(code))
			continue;
		node_error(file, node, "%s has a character in it that does not show (U+%04X)", what, code);
		return false;
	}
	return true;
}

// --- mappings by table -------------------------------------------------------------------------

const struct key *key_find(const struct key_set *set, const char *name)
{
	for (size_t i = 0; i < set->count; i++)
		if (!strcmp(set->keys[i].name, name))
			return &set->keys[i];
	return NULL;
}

/// The word that is meant: the nearest one, or one that it begins (“warn”).
static const char *meant_word(const char *word, const char *const *words, size_t count)
{
	size_t size = strlen(word);
	const char *near = size <= 64 ? nearest_word(word, words, count) : NULL;

	for (size_t i = 0; !near && size >= 2 && i < count; i++)
		if (!strncmp(words[i], word, size))
			near = words[i];
	return near;
}

static const char *nearest_key(const struct key_set *set, const char *name)
{
	const char *names[32];
	size_t count = MIN(set->count, ARRAY_SIZE(names));

	for (size_t i = 0; i < count; i++)
		names[i] = set->keys[i].name;
	return meant_word(name, names, count);
}

static void list_keys(const struct key_set *set, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < set->count && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", set->keys[i].name);
}

/// "event:a", which YAML takes for one word.
static bool glued_key(const struct key_set *set, const char *text)
{
	size_t size = strcspn(text, ":");

	for (size_t i = 0; text[size] && i < set->count; i++)
		if (strlen(set->keys[i].name) == size && !strncmp(set->keys[i].name, text, size))
			return true;
	return false;
}

static void say_unknown(struct scenario_file *file, const struct node *key, const struct key_set *set)
{
	char word[QUOTED_BYTES], known[256];

	if (!diagnostics_wanted(&file->diagnostics)) {
		node_error(file, key, "unknown key"); // only counted
		return;
	}
	const char *elsewhere = set->elsewhere ? set->elsewhere(key->text) : NULL;
	const char *near = nearest_key(set, key->text);
	name_text(key->text, word);
	if (key->size == 0)
		node_error(file, key, "a key is missing before the “:”");
	else if (glued_key(set, key->text))
		node_error(file, key, "“%s”: a space is missing after the “:”", word);
	else if (elsewhere)
		node_error(file, key, "“%s” does not belong to %s: %s", word, set->what, elsewhere);
	else if (near)
		node_error(file, key, "%s has no key “%s”; did you mean “%s”?", set->what, word, near);
	else {
		list_keys(set, known, sizeof(known));
		node_error(file, key, "%s has no key “%s”: it takes %s", set->what, word, known);
	}
}

static void say_missing(struct scenario_file *file, const struct node *mapping, const struct key_set *set,
			uint32_t seen)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->keys[i].required && !(seen & 1U << i))
			node_error(file, mapping, "%s needs “%s”", set->what, set->keys[i].name);
}

bool take_keys(struct scenario_file *file, const struct node *mapping, const struct key_set *set, void *message,
	       void *outer)
{
	uint32_t seen = 0;
	bool all_known = true;

	for (uint32_t i = 0; i < mapping->count; i++) {
		const struct node *name = node_key(mapping, i);
		if (name->type == NODE_BAD) {
			all_known = false;
			continue;
		}
		const struct key *key = strlen(name->text) == name->size ? key_find(set, name->text) : NULL;
		if (!key) {
			say_unknown(file, name, set);
			all_known = false;
			continue;
		}
		seen |= 1U << (key - set->keys);
		key->set(file, key, node_value(mapping, i), key->outer ? outer : message);
	}
	if (all_known) // else the missing one is likely the unknown one
		say_missing(file, mapping, set, seen);
	return all_known;
}

// --- values that many keys share ---------------------------------------------------------------

static void say_problem(struct scenario_file *file, const char *name, const struct node *value,
			const struct value_problem *problem)
{
	node_error(file, value, "“%s”: %s", name, problem->message);
}

void set_bool(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	struct value_problem problem;
	const char *text;
	bool state;

	if (!take_text(file, key->name, "true or false", value, &text))
		return;
	if (value_bool(text, &state, &problem) < 0) {
		say_problem(file, key->name, value, &problem);
		return;
	}
	*MEMBER(protobuf_c_boolean, message, key->field) = state;
	mark_present(key, message);
}

void set_duration(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	const struct duration_habit *habit = key->habit ? key->habit : &duration_short;
	struct value_problem problem;
	char expected[64];
	const char *text;

	snprintf(expected, sizeof(expected), "a duration like %s", habit->example);
	if (!take_text(file, key->name, expected, value, &text))
		return;
	if (value_duration(text, habit, MEMBER(int64_t, message, key->field), &problem) < 0)
		say_problem(file, key->name, value, &problem);
	else
		mark_present(key, message);
}

void set_percent(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	struct value_problem problem;
	const char *text;

	if (!take_text(file, key->name, "a percentage like 4 or 0.5", value, &text))
		return;
	if (value_percent(text, MEMBER(double, message, key->field), &problem) < 0)
		say_problem(file, key->name, value, &problem);
	else
		mark_present(key, message);
}

void set_name(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	const char *text;

	if (take_text(file, key->name, "a name", value, &text) && name_is_right(file, "a name", value, text))
		*MEMBER(const char *, message, key->field) = text;
}

void set_text(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	const char *text;

	if (!take_text(file, key->name, "a text", value, &text))
		return;
	if (value->size == 0)
		node_error(file, value, "“%s”: the text cannot be empty", key->name);
	else if (value->size > TEXT_MAX_BYTES)
		node_error(file, value, "“%s”: the text is longer than %u bytes", key->name, TEXT_MAX_BYTES);
	else if (utf8_has_control(text, false))
		node_error(file, value, "“%s”: one line without control characters is expected", key->name);
	else
		*MEMBER(const char *, message, key->field) = text;
}

/// "all or any" for messages.
static void list_words(const struct word *words, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; words[i].text && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s",
					 i == 0              ? ""
					 : words[i + 1].text ? ", "
							     : " or ",
					 words[i].text);
}

bool take_word(struct scenario_file *file, const char *name, const struct word *words, const struct node *value,
	       int *ret)
{
	const char *text, *list[16];
	char expected[160], found[QUOTED_BYTES];
	size_t count = 0;

	list_words(words, expected, sizeof(expected));
	if (!take_text(file, name, expected, value, &text))
		return false;
	for (; words[count].text && count < ARRAY_SIZE(list); count++) {
		if (!strcmp(words[count].text, text)) {
			*ret = words[count].value;
			return true;
		}
		list[count] = words[count].text;
	}
	const char *near = meant_word(text, list, count);
	node_error(file, value, "“%s”: expected %s, found “%s”%s%s%s", name, expected, name_text(text, found),
		   near ? "; did you mean “" : "", near ? near : "", near ? "”?" : "");
	return false;
}

void set_word(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	int word;

	if (!take_word(file, key->name, key->words, value, &word))
		return;
	*MEMBER(int, message, key->field) = word;
	mark_present(key, message);
}

void set_id(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	struct value_problem problem;
	const char *text;

	if (!take_text(file, key->name, "a whole number", value, &text))
		return;
	if (value_integer(text, 1, INT64_MAX, MEMBER(int64_t, message, key->field), &problem) < 0)
		say_problem(file, key->name, value, &problem);
	else
		mark_present(key, message);
}

/// Whole numbers of a list, each in its range.
static bool take_integers(struct scenario_file *file, const char *name, const char *expected, const struct node *value,
			  const int64_t (*ranges)[2], uint32_t count, int32_t *ret)
{
	struct value_problem problem;
	const char *text;
	bool good = true;

	if (!take_list(file, name, expected, value))
		return false;
	if (value->count != count) {
		node_error(file, value, "“%s”: expected %s, found a list of %u", name, expected, value->count);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		int64_t number;

		if (!take_text(file, name, "a whole number", value->items[i], &text)) {
			good = false;
		} else if (value_integer(text, ranges[i][0], ranges[i][1], &number, &problem) < 0) {
			say_problem(file, name, value->items[i], &problem);
			good = false;
		} else {
			ret[i] = (int32_t)number;
		}
	}
	return good;
}

static Condprof__Point *take_point_between(struct scenario_file *file, const char *name, const struct node *value,
					   int64_t min, int64_t max)
{
	const int64_t ranges[2][2] = {{min, max}, {min, max}};
	int32_t numbers[2];

	if (!take_integers(file, name, "a position [x, y]", value, ranges, 2, numbers))
		return NULL;
	Condprof__Point *point = new_message(file, &condprof__point__descriptor);
	if (point) {
		point->has_x = point->has_y = true;
		point->x = numbers[0];
		point->y = numbers[1];
	}
	return point;
}

Condprof__Point *take_point(struct scenario_file *file, const char *name, const struct node *value)
{
	return take_point_between(file, name, value, -SCENARIO_MAX_POSITION, SCENARIO_MAX_POSITION);
}

Condprof__Area *take_area(struct scenario_file *file, const char *name, const struct node *value)
{
	static const int64_t ranges[4][2] = {
		{0, PICTURE_MAX_SIDE - 1}, {0, PICTURE_MAX_SIDE - 1}, {1, PICTURE_MAX_SIDE}, {1, PICTURE_MAX_SIDE}};
	int32_t numbers[4];

	if (!take_integers(file, name, "an area [x, y, width, height]", value, ranges, 4, numbers))
		return NULL;
	Condprof__Area *area = new_message(file, &condprof__area__descriptor);
	if (area) {
		area->has_x = area->has_y = area->has_width = area->has_height = true;
		area->x = numbers[0];
		area->y = numbers[1];
		area->width = numbers[2];
		area->height = numbers[3];
	}
	return area;
}

void set_point(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	*MEMBER(Condprof__Point *, message, key->field) = take_point(file, key->name, value);
}

void set_corner(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	*MEMBER(Condprof__Point *, message, key->field) =
		take_point_between(file, key->name, value, 0, PICTURE_MAX_SIDE - 1);
}

void set_area(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	*MEMBER(Condprof__Area *, message, key->field) = take_area(file, key->name, value);
}

Condprof__Operand *take_operand(struct scenario_file *file, const char *name, const struct node *value,
				const char *text)
{
	struct value_problem problem;
	double number = 0;
	bool is_number = value_reads_as_number(text);

	if (is_number && value_number(text, &number, &problem) < 0) {
		say_problem(file, name, value, &problem);
		return NULL;
	}
	if (!is_number && !name_is_right(file, "a counter's name", value, text))
		return NULL;
	Condprof__Operand *operand = new_message(file, &condprof__operand__descriptor);
	if (!operand)
		return NULL;
	if (is_number) {
		operand->value_case = CONDPROF__OPERAND__VALUE_NUMBER;
		operand->number = number;
	} else {
		operand->value_case = CONDPROF__OPERAND__VALUE_COUNTER;
		operand->counter = (char *)(uintptr_t)text; // the arena's; protobuf-c has no const
	}
	return operand;
}

void set_operand(struct scenario_file *file, const struct key *key, const struct node *value, void *message)
{
	const char *text;

	if (take_text(file, key->name, "a number or a counter", value, &text))
		*MEMBER(Condprof__Operand *, message, key->field) = take_operand(file, key->name, value, text);
}
