// SPDX-License-Identifier: GPL-3.0-or-later
/// The tables behind the scenario file's keys: a row a key, with the function that takes its value into a field of the
/// message. condprof-scenario(5) and these tables say the same; a test holds them together.
#ifndef CONDPROF_SCENARIO_KEYS_H
#define CONDPROF_SCENARIO_KEYS_H

#include "client/scenario/file.h"

#include <stddef.h>

struct key;

/// Takes the value of a key into `message`. What is wrong goes to the file's diagnostics.
typedef void (*key_setter)(struct scenario_file *file, const struct key *key, const struct node *value, void *message);

/// A word that a value may be.
struct word {
	const char *text;
	int value;
};

struct key {
	const char *name;
	key_setter set;
	uint16_t field; ///< offset in the message
	uint16_t has;   ///< offset of its has_ flag; 0: none
	bool required;
	bool outer;                         ///< belongs to the message around (a condition's name and id)
	const struct word *words;           ///< what it may be; text NULL ends them
	const struct duration_habit *habit; ///< of a duration; NULL: duration_short
};

#define KEY(type, member, ...)                                                                                         \
	{                                                                                                              \
		.field = offsetof(type, member), __VA_ARGS__                                                           \
	}
#define KEY_HAS(type, member, ...)                                                                                     \
	{                                                                                                              \
		.field = offsetof(type, member), .has = offsetof(type, has_##member), __VA_ARGS__                      \
	}

/// The keys of one kind of mapping.
struct key_set {
	const char *what; ///< "a color condition"
	const struct key *keys;
	size_t count;
	/// What else knows this key, as a sentence's end ("it is a key of image conditions"); NULL: nothing. May be
	/// NULL.
	const char *(*elsewhere)(const char *key);
};

#define KEY_SET(what, keys, ...)                                                                                       \
	{                                                                                                              \
		what, keys, ARRAY_SIZE(keys), __VA_ARGS__                                                              \
	}

const struct key *key_find(const struct key_set *set, const char *name);

/// Takes every pair of the mapping by the set's rows. Says unknown keys and missing ones.
/// @param outer for rows with `outer`; may be NULL when there are none
/// @return false: there were unknown keys
bool take_keys(struct scenario_file *file, const struct node *mapping, const struct key_set *set, void *message,
	       void *outer);

/// The text of a scalar. Says what was found instead.
/// @param name the key's, for the message
/// @param expected "a duration like 500 ms"
bool take_text(struct scenario_file *file, const char *name, const char *expected, const struct node *value,
	       const char **ret);

/// A list, maybe empty. Says what was found instead.
bool take_list(struct scenario_file *file, const char *name, const char *expected, const struct node *value);

/// "expected …, found …" at the node.
void say_found(struct scenario_file *file, const char *name, const char *expected, const struct node *value);

/// The same where a mapping is expected.
void say_no_mapping(struct scenario_file *file, const char *name, const char *expected, const struct node *value);

/// Whether a text is right as a name: not empty, not too long, nothing in it that would not show.
bool name_is_right(struct scenario_file *file, const char *what, const struct node *node, const char *name);

// setters
void set_bool(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
void set_duration(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
void set_percent(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
void set_name(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
void set_text(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
void set_word(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
void set_id(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
void set_point(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
/// A position inside a frame.
void set_corner(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
void set_area(struct scenario_file *file, const struct key *key, const struct node *value, void *message);
void set_operand(struct scenario_file *file, const struct key *key, const struct node *value, void *message);

/// A list [x, y]; NULL when wrong.
Condprof__Point *take_point(struct scenario_file *file, const char *name, const struct node *value);
/// A list [x, y, width, height]; NULL when wrong.
Condprof__Area *take_area(struct scenario_file *file, const char *name, const struct node *value);
/// A number or a counter's name, from part of the scalar's text; NULL when wrong.
Condprof__Operand *take_operand(struct scenario_file *file, const char *name, const struct node *value,
				const char *text);
/// One of the words; false when it is none.
bool take_word(struct scenario_file *file, const char *name, const struct word *words, const struct node *value,
	       int *ret);

/// A message of its type, initialised; NULL sets out_of_memory.
void *new_message(struct scenario_file *file, const ProtobufCMessageDescriptor *descriptor);

/// Fills a condition or an action from its mapping.
void take_condition(struct scenario_file *file, const struct node *value, bool trigger, Condprof__Condition *condition);
void take_action(struct scenario_file *file, const struct node *value, Condprof__Action *action);

/// All sets, NULL-terminated: for the test that compares them with the manual.
extern const struct key_set *const scenario_key_sets[], *const condition_key_sets[], *const action_key_sets[];

#endif
