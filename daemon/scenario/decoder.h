// SPDX-License-Identifier: GPL-3.0-or-later
/// What the files of the decoder share. Decoding goes on after a mistake, so that one reply names many: a check that
/// finds one reports it by problem() and leaves a harmless value. Memory running out is the one thing that ends it.
#ifndef CONDPROF_DECODER_H
#define CONDPROF_DECODER_H

#include "daemon/scenario/names.h"
#include "daemon/scenario/scenario.h"

/// Pixels of the images of all scenarios that were decoded and are not freed yet.
extern _Atomic int64_t scenario_pixels_held;

struct decoder {
	Condprof__Scenario *message; ///< becomes the scenario's storage: names point into it
	struct scenario *scenario;
	struct scenario_problems *problems;
	bool no_memory;
	bool busy; ///< all sessions' images together leave no room
	int64_t template_pixels; ///< of all images so far
	char *languages;         ///< where the next joined list of languages goes

	const char **event_names, **condition_names, **counter_names; ///< by index; "" where there is none
	struct name_index events, counters;
	struct name_index conditions; ///< of the event at hand; indexes count from its first condition

	/// Where we are: what places are made of.
	struct {
		const char *list; ///< "screen-events", "counters", …; NULL: the scenario itself
		uint32_t index;
		const char *sublist; ///< "conditions", "actions"; NULL: the event itself
		uint32_t subindex;
	} at;
};

/// Lengths of the model's arrays, from a walk of the message.
struct scenario_counts {
	size_t events, conditions, actions, counters, points, text_parts, event_refs, language_bytes;
};

// problems.c

/// Reports a mistake here, at `field` (NULL: the item as a whole). Only counts once the list is full.
void problem(struct decoder *decoder, const char *field, const char *format, ...) PRINTF_LIKE(3, 4);
void problem_with_code(struct decoder *decoder, Condprof__Code code, const char *field, const char *format, ...)
	PRINTF_LIKE(4, 5);
/// "there is no counter "retires"; did you mean "retries"?", or else `advice`.
void problem_unknown(struct decoder *decoder, const char *field, const char *what, const char *name,
		     const char *const *names, uint32_t count, const char *advice);

void at_scenario(struct decoder *decoder);
void at_counter(struct decoder *decoder, uint32_t counter);
void at_event(struct decoder *decoder, uint32_t event);
void at_condition(struct decoder *decoder, uint32_t condition);
void at_action(struct decoder *decoder, uint32_t event, uint32_t action_of_event);

// Checks that many places need. Each reports what is wrong and returns whether it is right.

/// @param what "an event", "a condition"
bool check_name(struct decoder *decoder, const char *field, const char *what, const char *name);
bool check_length(struct decoder *decoder, const char *field, const char *text, size_t max);
/// interface.member of a D-Bus
bool check_bus_signal(struct decoder *decoder, const char *field, const char *name);
bool check_enum(struct decoder *decoder, const char *field, const ProtobufCEnumDescriptor *descriptor, int value);
bool check_duration(struct decoder *decoder, const char *field, int64_t duration_ns, int64_t *ret);
bool check_percent(struct decoder *decoder, const char *field, double percent, double *ret);
/// @return the counter's index or NO_INDEX
uint32_t find_counter(struct decoder *decoder, const char *field, const char *name);
void decode_operand(struct decoder *decoder, const char *field, const Condprof__Operand *operand, struct operand *ret);

// conditions.c, actions.c: one event's

void decode_condition(struct decoder *decoder, Condprof__Condition *message, struct condition *condition);
void decode_action(struct decoder *decoder, const Condprof__Action *message, const struct event *event,
		   struct action *action);
/// What an action takes of the model's arrays.
void count_action(const Condprof__Action *message, struct scenario_counts *counts);
/// Bytes of the joined languages of a condition, with the NUL.
size_t count_languages(const Condprof__Condition *message);

/// Of the storage.
struct scenario_storage {
	Condprof__Scenario *message;
	char *languages;
};

/// The caps of an unpack of a scenario of `size` bytes.
int scenario_unpack(const uint8_t *data, size_t size, Condprof__Scenario **ret);

#endif
