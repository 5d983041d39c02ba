// SPDX-License-Identifier: GPL-3.0-or-later
/// Decoding actions. What an action has in number (points, parts of a text, events) goes to the model's arrays, which
/// were made large enough by count_action().
#include "config.h"

#include "daemon/scenario/decoder.h"
#include "proto/bus_name.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <string.h>

static bool decode_point(struct decoder *decoder, const char *field, const Condprof__Point *message, int *ret_x,
			 int *ret_y)
{
	if (message->x < -SCENARIO_MAX_POSITION || message->x > SCENARIO_MAX_POSITION ||
	    message->y < -SCENARIO_MAX_POSITION || message->y > SCENARIO_MAX_POSITION) {
		problem(decoder, field, "[%d, %d] is too far away: at most %d px", message->x, message->y,
			SCENARIO_MAX_POSITION);
		return false;
	}
	*ret_x = message->x;
	*ret_y = message->y;
	return true;
}

/// `click: NAME`: a condition of the same event that can be found.
static void decode_click_condition(struct decoder *decoder, const char *name, const struct event *event,
				   struct action *action)
{
	uint32_t found = name_index_find(&decoder->conditions, name);

	if (found == NO_INDEX) {
		problem_unknown(decoder, "click", "condition of this event called", name, decoder->conditions.names,
				decoder->conditions.count, "click a condition of this event, found, or [x, y]");
		return;
	}
	action->click.condition = event->first_condition + found;
	const struct condition *condition = &decoder->scenario->conditions[action->click.condition];

	if (condition->kind > CONDITION_TEXT)
		problem(decoder, "click", "\"%s\" is a %s condition: it has no place to click at",
			error_quote(name).text, condition_kind_name(condition->kind));
	else if (!condition->present)
		problem(decoder, "click", "\"%s\" is present: false, so there is never a place to click at",
			error_quote(name).text);
}

static void decode_click_target(struct decoder *decoder, const Condprof__ClickAction *message,
				const struct event *event, struct action *action)
{
	switch (message->target_case) {
	case CONDPROF__CLICK_ACTION__TARGET_POSITION:
		action->click.target = CLICK_POSITION;
		decode_point(decoder, "click", message->position, &action->click.x, &action->click.y);
		return;
	case CONDPROF__CLICK_ACTION__TARGET_CONDITION:
		action->click.target = CLICK_CONDITION;
		break;
	case CONDPROF__CLICK_ACTION__TARGET_FOUND:
		action->click.target = CLICK_FOUND;
		break;
	default:
		problem(decoder, "click", "what to click is missing: a condition's name, found, or [x, y]");
		return;
	}
	if (event->trigger)
		problem(decoder, "click", "a trigger event looks at nothing, so it can only click a position: [x, y]");
	else if (action->click.target == CLICK_CONDITION)
		decode_click_condition(decoder, message->condition, event, action);
	else if (!message->found)
		problem(decoder, "click", "found is either true or not there");
}

static void decode_click(struct decoder *decoder, const Condprof__ClickAction *message, const struct event *event,
			 struct action *action)
{
	action->kind = CONDPROF__ACTION_KIND__ACTION_CLICK;
	action->click.condition = NO_INDEX;
	decode_click_target(decoder, message, event, action);
	if (message->offset)
		decode_point(decoder, "offset", message->offset, &action->click.offset_x, &action->click.offset_y);
	check_duration(decoder, "press", message->press_ns, &action->click.press_ns);
}

static void decode_swipe(struct decoder *decoder, const Condprof__SwipeAction *message, struct action *action)
{
	struct scenario *scenario = decoder->scenario;

	action->kind = CONDPROF__ACTION_KIND__ACTION_SWIPE;
	action->swipe.first_point = scenario->n_points;
	action->swipe.points = (uint32_t)message->n_points;
	if (message->n_points < 2)
		problem(decoder, "swipe", "a swipe goes over two points or more: [[x, y], [x, y]]");
	else if (message->n_points > SWIPE_MAX_POINTS)
		problem(decoder, "swipe", "a swipe has %u points at the most", SWIPE_MAX_POINTS);
	for (size_t i = 0; i < message->n_points; i++) {
		struct point *point = &scenario->points[scenario->n_points++];

		decode_point(decoder, "swipe", message->points[i], &point->x, &point->y);
	}
	check_duration(decoder, "duration", message->duration_ns, &action->swipe.duration_ns);
}

static void decode_pause(struct decoder *decoder, const Condprof__PauseAction *message, struct action *action)
{
	action->kind = CONDPROF__ACTION_KIND__ACTION_PAUSE;
	if (!message->has_duration_ns)
		problem(decoder, "pause", "a pause needs a duration");
	check_duration(decoder, "pause", message->duration_ns, &action->pause_ns);
}

static void decode_key(struct decoder *decoder, const Condprof__KeyAction *message, struct action *action)
{
	struct error error;

	action->kind = CONDPROF__ACTION_KIND__ACTION_KEY;
	if (key_combination_parse(message->keys ? message->keys : "", &action->keys, &error) < 0)
		problem(decoder, "key", "%s", error.message);
}

static void decode_part(struct decoder *decoder, const char *field, const Condprof__TextPart *message,
			struct text_part *part)
{
	part->counter = NO_INDEX;
	switch (message->part_case) {
	case CONDPROF__TEXT_PART__PART_COUNTER:
		part->counter = find_counter(decoder, field, message->counter);
		break;
	case CONDPROF__TEXT_PART__PART_LITERAL:
		part->literal = message->literal;
		if (utf8_has_control(part->literal, true))
			problem(decoder, field,
				"there are control characters in this text; only tab and newline may be");
		break;
	default:
		part->literal = "";
		problem(decoder, field, "a part of this text is neither text nor a counter");
		break;
	}
}

/// @return whether there is anything in it
static bool decode_text_parts(struct decoder *decoder, const char *field, Condprof__TextPart *const *parts,
			      size_t count, struct action *action)
{
	struct scenario *scenario = decoder->scenario;
	size_t bytes = 0;
	bool any = false;

	action->text.first_part = scenario->n_text_parts;
	action->text.parts = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		struct text_part *part = &scenario->text_parts[scenario->n_text_parts++];

		decode_part(decoder, field, parts[i], part);
		bytes += part->literal ? strlen(part->literal) : 0;
		any = any || !part->literal || part->literal[0] != '\0';
	}
	if (count > TEXT_MAX_PARTS || bytes > TEXT_MAX_BYTES)
		problem(decoder, field, "this text is too long: at most %u bytes and %u parts", TEXT_MAX_BYTES,
			TEXT_MAX_PARTS);
	return any;
}

/// Its name becomes a file's: of a credential.
static void check_secret(struct decoder *decoder, const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	if (length == 0 || length > SECRET_NAME_MAX_BYTES || name[length] != '\0' || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		problem(decoder, "type", "\"%s\" is no secret's name: up to %u letters, digits, \".\", \"_\" and \"-\"",
			error_quote(name).text, SECRET_NAME_MAX_BYTES);
}

static void decode_type(struct decoder *decoder, const Condprof__TypeAction *message, struct action *action)
{
	action->kind = CONDPROF__ACTION_KIND__ACTION_TYPE;
	action->text.secret = message->secret;
	bool any = decode_text_parts(decoder, "type", message->text, message->n_text, action);

	if (message->secret && message->n_text > 0)
		problem(decoder, "type", "either a text is typed or a secret, not both");
	else if (message->secret)
		check_secret(decoder, message->secret);
	else if (!any)
		problem(decoder, "type", "the text to type is missing");
}

static void decode_counter_action(struct decoder *decoder, const Condprof__CounterAction *message,
				  struct action *action)
{
	static const char *const fields[] = {"add", "subtract", "set"};

	action->kind = CONDPROF__ACTION_KIND__ACTION_COUNTER;
	action->counter.counter = find_counter(decoder, "counter", message->counter);
	action->counter.operand.counter = NO_INDEX;
	if (!check_enum(decoder, "counter", &condprof__counter_operation__descriptor, (int)message->operation))
		return;
	action->counter.operation = message->operation;
	decode_operand(decoder, fields[message->operation], message->operand, &action->counter.operand);
}

static void decode_event_state(struct decoder *decoder, const Condprof__EventStateAction *message,
			       struct action *action)
{
	static const char *const fields[] = {"enable", "disable", "toggle"};
	struct scenario *scenario = decoder->scenario;
	const char *field = "enable";

	action->kind = CONDPROF__ACTION_KIND__ACTION_EVENT_STATE;
	if (check_enum(decoder, field, &condprof__state_change__descriptor, (int)message->change)) {
		action->event_state.change = message->change;
		field = fields[message->change];
	}
	action->event_state.all = message->all;
	action->event_state.first_event = scenario->n_event_refs;
	action->event_state.events = (uint32_t)message->n_events;
	if (message->all && message->n_events > 0)
		problem(decoder, field, "either all events are meant or those named, not both");
	else if (!message->all && message->n_events == 0)
		problem(decoder, field, "which events are meant is missing: their names, or all");
	for (size_t i = 0; i < message->n_events; i++) {
		uint32_t event = name_index_find(&decoder->events, message->events[i]);

		if (event == NO_INDEX)
			problem_unknown(decoder, field, "event", message->events[i], decoder->event_names,
					decoder->events.count, "name an event of this scenario, or all");
		scenario->event_refs[scenario->n_event_refs++] = event;
	}
}

static void decode_notify(struct decoder *decoder, const Condprof__NotifyAction *message, struct action *action)
{
	action->kind = CONDPROF__ACTION_KIND__ACTION_NOTIFY;
	if (!decode_text_parts(decoder, "notify", message->text, message->n_text, action))
		problem(decoder, "notify", "the text of the message is missing");
	if (check_enum(decoder, "level", &condprof__level__descriptor, (int)message->level))
		action->text.level = message->level;
}

static void decode_signal(struct decoder *decoder, const Condprof__SignalAction *message, struct action *action)
{
	action->kind = CONDPROF__ACTION_KIND__ACTION_SIGNAL;
	action->signal.signal = message->signal ? message->signal : "";
	action->signal.path = message->path ? message->path : "";
	if (check_name(decoder, "signal", "a signal", message->signal))
		check_bus_signal(decoder, "signal", message->signal);
	if (check_length(decoder, "path", action->signal.path, TEXT_MAX_BYTES) && !bus_path_valid(action->signal.path))
		problem(decoder, "path", "\"%s\" is no D-Bus object's path, as /org/example/Kiosk is",
			error_quote(action->signal.path).text);
	// to send by no bus would be to do nothing
	action->signal.bus = CONDPROF__BUS__BUS_SYSTEM;
	if (check_enum(decoder, "bus", &condprof__bus__descriptor, (int)message->bus) &&
	    message->bus != CONDPROF__BUS__BUS_NONE)
		action->signal.bus = message->bus;
}

static void decode_stop(struct decoder *decoder, const Condprof__StopAction *message, struct action *action)
{
	action->kind = CONDPROF__ACTION_KIND__ACTION_STOP;
	decode_text_parts(decoder, "stop", message->text, message->n_text, action);
	if (check_enum(decoder, "result", &condprof__result__descriptor, (int)message->result))
		action->text.result = message->result == CONDPROF__RESULT__RESULT_FAILED
					      ? CONDPROF__SESSION_RESULT__SESSION_FAILED
					      : CONDPROF__SESSION_RESULT__SESSION_OK;
}

void decode_action(struct decoder *decoder, const Condprof__Action *message, const struct event *event,
		   struct action *action)
{
	switch (message->kind_case) {
	case CONDPROF__ACTION__KIND_CLICK:
		decode_click(decoder, message->click, event, action);
		break;
	case CONDPROF__ACTION__KIND_SWIPE:
		decode_swipe(decoder, message->swipe, action);
		break;
	case CONDPROF__ACTION__KIND_PAUSE:
		decode_pause(decoder, message->pause, action);
		break;
	case CONDPROF__ACTION__KIND_KEY:
		decode_key(decoder, message->key, action);
		break;
	case CONDPROF__ACTION__KIND_TYPE:
		decode_type(decoder, message->type, action);
		break;
	case CONDPROF__ACTION__KIND_COUNTER:
		decode_counter_action(decoder, message->counter, action);
		break;
	case CONDPROF__ACTION__KIND_EVENT_STATE:
		decode_event_state(decoder, message->event_state, action);
		break;
	case CONDPROF__ACTION__KIND_NOTIFY:
		decode_notify(decoder, message->notify, action);
		break;
	case CONDPROF__ACTION__KIND_SIGNAL:
		decode_signal(decoder, message->signal, action);
		break;
	case CONDPROF__ACTION__KIND_STOP:
		decode_stop(decoder, message->stop, action);
		break;
	default:
		problem(decoder, NULL, "this action has no kind that this daemon knows");
		break;
	}
}

void count_action(const Condprof__Action *message, struct scenario_counts *counts)
{
	switch (message->kind_case) {
	case CONDPROF__ACTION__KIND_SWIPE:
		counts->points += message->swipe->n_points;
		break;
	case CONDPROF__ACTION__KIND_TYPE:
		counts->text_parts += message->type->n_text;
		break;
	case CONDPROF__ACTION__KIND_NOTIFY:
		counts->text_parts += message->notify->n_text;
		break;
	case CONDPROF__ACTION__KIND_STOP:
		counts->text_parts += message->stop->n_text;
		break;
	case CONDPROF__ACTION__KIND_EVENT_STATE:
		counts->event_refs += message->event_state->n_events;
		break;
	default:
		break;
	}
}
