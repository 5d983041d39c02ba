// SPDX-License-Identifier: GPL-3.0-or-later
/// Reporting mistakes with their places, and the checks that every part of a scenario needs.
#include "config.h"

#include "daemon/scenario/decoder.h"
#include "proto/bus_name.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static_assert(ARRAY_SIZE(((struct scenario_problems *)0)->items) == SCENARIO_MAX_PROBLEMS, "room for every problem");

static void set_place(const struct decoder *decoder, struct error *error, const char *field)
{
	char list[64] = "", sublist[64] = "";

	if (decoder->at.list)
		snprintf(list, sizeof(list), "%s[%u]", decoder->at.list, decoder->at.index);
	if (decoder->at.sublist)
		snprintf(sublist, sizeof(sublist), ".%s[%u]", decoder->at.sublist, decoder->at.subindex);
	error_place(error, "%s%s%s%s", list, sublist, decoder->at.list && field ? "." : "", field ? field : "");
}

static bool is_full(const struct decoder *decoder)
{
	return decoder->problems->count >= SCENARIO_MAX_PROBLEMS;
}

static void add_problem(struct decoder *decoder, Condprof__Code code, const char *field, const char *format,
			va_list arguments) PRINTF_LIKE(4, 0);

static void add_problem(struct decoder *decoder, Condprof__Code code, const char *field, const char *format,
			va_list arguments)
{
	char message[sizeof(((struct error *)0)->message)];

	if (!is_full(decoder)) {
		struct error *error = &decoder->problems->items[decoder->problems->count];

		vsnprintf(message, sizeof(message), format, arguments);
		error_set(error, code, 0, "%s", message);
		set_place(decoder, error, field);
	}
	decoder->problems->count++;
}

void problem(struct decoder *decoder, const char *field, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_problem(decoder, CONDPROF__CODE__BAD_SCENARIO, field, format, arguments);
	va_end(arguments);
}

void problem_with_code(struct decoder *decoder, Condprof__Code code, const char *field, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_problem(decoder, code, field, format, arguments);
	va_end(arguments);
}

void problem_unknown(struct decoder *decoder, const char *field, const char *what, const char *name,
		     const char *const *names, uint32_t count, const char *advice)
{
	// looking for the nearest name is not for free: only while somebody will read it
	const char *nearest = is_full(decoder) ? NULL : nearest_word(name, names, count);

	if (nearest)
		problem(decoder, field, "there is no %s \"%s\"; did you mean \"%s\"?", what, error_quote(name).text,
			error_quote(nearest).text);
	else
		problem(decoder, field, "there is no %s \"%s\"; %s", what, error_quote(name).text, advice);
}

void at_scenario(struct decoder *decoder)
{
	decoder->at.list = decoder->at.sublist = NULL;
}

void at_counter(struct decoder *decoder, uint32_t counter)
{
	decoder->at.list = "counters";
	decoder->at.index = counter;
	decoder->at.sublist = NULL;
}

void at_event(struct decoder *decoder, uint32_t event)
{
	bool trigger = event >= decoder->scenario->screen_events;

	decoder->at.list = trigger ? "trigger-events" : "screen-events";
	decoder->at.index = trigger ? event - decoder->scenario->screen_events : event;
	decoder->at.sublist = NULL;
}

void at_condition(struct decoder *decoder, uint32_t condition)
{
	uint32_t event = decoder->scenario->conditions[condition].event;

	at_event(decoder, event);
	decoder->at.sublist = "conditions";
	decoder->at.subindex = condition - decoder->scenario->events[event].first_condition;
}

void at_action(struct decoder *decoder, uint32_t event, uint32_t action_of_event)
{
	at_event(decoder, event);
	decoder->at.sublist = "actions";
	decoder->at.subindex = action_of_event;
}

bool check_length(struct decoder *decoder, const char *field, const char *text, size_t max)
{
	if (strnlen(text, max + 1) <= max)
		return true;
	problem(decoder, field, "this is too long: at most %zu bytes", max);
	return false;
}

bool check_name(struct decoder *decoder, const char *field, const char *what, const char *name)
{
	if (!name || name[0] == '\0') {
		problem(decoder, field, "%s needs a name", what);
		return false;
	}
	if (!check_length(decoder, field, name, NAME_MAX_BYTES))
		return false;
	if (utf8_has_control(name, false)) {
		problem(decoder, field, "a name is one line: \"%s\" has control characters in it",
			error_quote(name).text);
		return false;
	}
	return true;
}

bool check_bus_signal(struct decoder *decoder, const char *field, const char *name)
{
	if (bus_signal_name_check(name) == BUS_NAME_FINE)
		return true;
	problem(decoder, field,
		"\"%s\" is no D-Bus signal: an interface of two parts or more and a member, as "
		"org.example.Kiosk.Closed",
		error_quote(name).text);
	return false;
}

bool check_enum(struct decoder *decoder, const char *field, const ProtobufCEnumDescriptor *descriptor, int value)
{
	if (protobuf_c_enum_descriptor_get_value(descriptor, value))
		return true;
	problem(decoder, field, "%d is no %s that this daemon knows; is the client newer than the daemon?", value,
		descriptor->short_name);
	return false;
}

bool check_duration(struct decoder *decoder, const char *field, int64_t duration_ns, int64_t *ret)
{
	if (duration_ns < 0)
		problem(decoder, field, "a duration cannot be negative");
	else if (duration_ns > SCENARIO_MAX_DURATION_NS)
		problem(decoder, field, "a duration is at most 100 years");
	else
		*ret = duration_ns;
	return duration_ns >= 0 && duration_ns <= SCENARIO_MAX_DURATION_NS;
}

bool check_percent(struct decoder *decoder, const char *field, double percent, double *ret)
{
	if (!(percent >= 0 && percent <= 100)) {
		problem(decoder, field, "a threshold is from 0 to 100 percent, not %g", percent);
		return false;
	}
	*ret = percent;
	return true;
}

uint32_t find_counter(struct decoder *decoder, const char *field, const char *name)
{
	uint32_t counter = name ? name_index_find(&decoder->counters, name) : NO_INDEX;

	if (!name || name[0] == '\0')
		problem(decoder, field, "the counter's name is missing");
	else if (counter == NO_INDEX)
		problem_unknown(decoder, field, "counter", name, decoder->counter_names, decoder->counters.count,
				"list it under counters, with its first value");
	return counter;
}

void decode_operand(struct decoder *decoder, const char *field, const Condprof__Operand *operand, struct operand *ret)
{
	*ret = (struct operand){.counter = NO_INDEX};
	if (!operand || operand->value_case == CONDPROF__OPERAND__VALUE__NOT_SET) {
		problem(decoder, field, "a number or a counter is missing");
	} else if (operand->value_case == CONDPROF__OPERAND__VALUE_COUNTER) {
		ret->counter = find_counter(decoder, field, operand->counter);
	} else if (!isfinite(operand->number)) {
		problem(decoder, field, "%g is not a number to compare or count with", operand->number);
	} else {
		ret->number = operand->number;
	}
}
