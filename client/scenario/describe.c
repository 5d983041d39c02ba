// SPDX-License-Identifier: GPL-3.0-or-later
//
// Conditions and actions as sentences. Names go in quotes and are made harmless; what the file leaves out is said too,
// because that is what a reader of a summary wants to know.
#include "config.h"

#include "client/scenario/describe.h"

#include "client/scenario/file.h"
#include "client/scenario/value.h"
#include "daemon/picture/picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
	char *out;
	size_t used;
};

static void add(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);

static void add(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int n = vsnprintf(text->out + text->used, DESCRIPTION_BYTES - text->used, format, arguments);
	va_end(arguments);
	if (n > 0)
		text->used = MIN(text->used + (size_t)n, DESCRIPTION_BYTES - 1U);
}

static void add_name(struct text *text, const char *name)
{
	char word[QUOTED_BYTES];

	add(text, "“%s”", name_text(name ? name : "", word));
}

static void add_duration(struct text *text, int64_t ns)
{
	char word[48];

	add(text, "%s", duration_text(ns, word, sizeof(word)));
}

static void add_number(struct text *text, double number)
{
	char word[48];

	add(text, "%s", number_text(number, word, sizeof(word)));
}

static void add_operand(struct text *text, const Condprof__Operand *operand)
{
	if (operand && operand->value_case == CONDPROF__OPERAND__VALUE_COUNTER)
		add_name(text, operand->counter);
	else if (operand)
		add_number(text, operand->number);
}

static void add_area(struct text *text, const Condprof__Area *area)
{
	if (area)
		add(text, "%dx%d at %d,%d", area->width, area->height, area->x, area->y);
}

static void add_comparison(struct text *text, Condprof__Comparison comparison, const Condprof__Operand *operand)
{
	static const char *const words[] = {
		[CONDPROF__COMPARISON__EQUAL] = "==",  [CONDPROF__COMPARISON__NOT_EQUAL] = "!=",
		[CONDPROF__COMPARISON__GREATER] = ">", [CONDPROF__COMPARISON__GREATER_OR_EQUAL] = ">=",
		[CONDPROF__COMPARISON__LESS] = "<",    [CONDPROF__COMPARISON__LESS_OR_EQUAL] = "<=",
	};

	add(text, "%s ", words[comparison]);
	add_operand(text, operand);
}

static void add_threshold(struct text *text, double threshold)
{
	add(text, ", threshold ");
	add_number(text, threshold);
	add(text, " %%");
}

// --- conditions --------------------------------------------------------------------------------

static void describe_image(struct text *text, const Condprof__ImageCondition *image)
{
	int width, height;

	add(text, "the image ");
	add_name(text, image->file);
	if (image->has_png && png_peek_size(image->png.data, image->png.len, &width, &height, NULL) == 0)
		add(text, " (%dx%d)", width, height);
	add(text, image->present ? " is seen " : " is not seen ");
	if (image->search == CONDPROF__SEARCH__SEARCH_SCREEN) {
		add(text, "anywhere on the screen");
	} else if (image->search == CONDPROF__SEARCH__SEARCH_EXACT) {
		add(text, "exactly at %d,%d", image->at ? image->at->x : 0, image->at ? image->at->y : 0);
	} else {
		add(text, "within ");
		add_area(text, image->area);
	}
	add_threshold(text, image->threshold);
}

static void describe_color(struct text *text, const Condprof__ColorCondition *color)
{
	add(text, "the mean colour of ");
	add_area(text, color->area);
	add(text, color->present ? " is #%06x" : " is not #%06x", color->rgb);
	add_threshold(text, color->threshold);
}

static void add_languages(struct text *text, char *const *languages, size_t count)
{
	add(text, ", read as %s", count > 0 ? languages[0] : "eng");
	for (size_t i = 1; i < count; i++)
		add(text, "+%s", languages[i]);
}

static void describe_text(struct text *text, const Condprof__TextCondition *condition)
{
	add(text, "the text ");
	add_name(text, condition->text);
	add(text, condition->present ? " is read within " : " is not read within ");
	add_area(text, condition->area);
	if (condition->ignore_case)
		add(text, ", in any case");
	add_languages(text, condition->languages, condition->n_languages);
	add_threshold(text, condition->threshold);
}

static void describe_number(struct text *text, const Condprof__NumberCondition *number)
{
	static const char *const formats[] = {
		[CONDPROF__NUMBER_FORMAT__NUMBER_AUTO] = "",
		[CONDPROF__NUMBER_FORMAT__NUMBER_DOT] = ", with a decimal point",
		[CONDPROF__NUMBER_FORMAT__NUMBER_COMMA] = ", with a decimal comma",
	};

	add(text, "the number read within ");
	add_area(text, number->area);
	add(text, " is ");
	add_comparison(text, number->comparison, number->operand);
	add(text, "%s", formats[number->format]);
	if (number->n_languages > 0)
		add_languages(text, number->languages, number->n_languages);
}

static void describe_broadcast(struct text *text, const Condprof__BroadcastCondition *broadcast)
{
	static const char *const words[] = {
		[CONDPROF__BUS__BUS_NONE] = "the broadcast ",
		[CONDPROF__BUS__BUS_SESSION] = "the session bus's signal ",
		[CONDPROF__BUS__BUS_SYSTEM] = "the system bus's signal ",
	};

	add(text, "%s", words[broadcast->bus]);
	add_name(text, broadcast->broadcast);
	add(text, " came in");
}

const char *condition_kind(const Condprof__Condition *condition)
{
	switch (condition->kind_case) {
	case CONDPROF__CONDITION__KIND_IMAGE:
		return "image";
	case CONDPROF__CONDITION__KIND_COLOR:
		return "color";
	case CONDPROF__CONDITION__KIND_TEXT:
		return "text";
	case CONDPROF__CONDITION__KIND_NUMBER:
		return "number";
	case CONDPROF__CONDITION__KIND_TIMER:
		return "timer";
	case CONDPROF__CONDITION__KIND_COUNTER:
		return "counter";
	case CONDPROF__CONDITION__KIND_BROADCAST:
		return "broadcast";
	default:
		return "";
	}
}

char *describe_condition(const Condprof__Condition *condition, char out[DESCRIPTION_BYTES])
{
	struct text text = {out, 0};

	out[0] = '\0';
	switch (condition->kind_case) {
	case CONDPROF__CONDITION__KIND_IMAGE:
		describe_image(&text, condition->image);
		break;
	case CONDPROF__CONDITION__KIND_COLOR:
		describe_color(&text, condition->color);
		break;
	case CONDPROF__CONDITION__KIND_TEXT:
		describe_text(&text, condition->text);
		break;
	case CONDPROF__CONDITION__KIND_NUMBER:
		describe_number(&text, condition->number);
		break;
	case CONDPROF__CONDITION__KIND_TIMER:
		add_duration(&text, condition->timer->duration_ns);
		add(&text, condition->timer->repeat ? " have passed, again and again" : " have passed");
		break;
	case CONDPROF__CONDITION__KIND_COUNTER:
		add(&text, "the counter ");
		add_name(&text, condition->counter->counter);
		add(&text, " is ");
		add_comparison(&text, condition->counter->comparison, condition->counter->operand);
		break;
	case CONDPROF__CONDITION__KIND_BROADCAST:
		describe_broadcast(&text, condition->broadcast);
		break;
	default:
		break;
	}
	return out;
}

// --- actions -----------------------------------------------------------------------------------

/// What stands literally, with braces as the file writes them.
static void add_literal(struct text *text, const char *literal)
{
	char word[QUOTED_BYTES];

	for (const char *p = name_text(literal, word); *p; p++)
		add(text, *p == '{' || *p == '}' ? "%c%c" : "%c", *p, *p);
}

static void add_parts(struct text *text, Condprof__TextPart *const *parts, size_t count)
{
	char word[QUOTED_BYTES];

	add(text, "“");
	for (size_t i = 0; i < count; i++) {
		if (parts[i]->part_case == CONDPROF__TEXT_PART__PART_COUNTER)
			add(text, "{%s}", name_text(parts[i]->counter, word));
		else
			add_literal(text, parts[i]->literal);
	}
	add(text, "”");
}

static void describe_click(struct text *text, const Condprof__ClickAction *click)
{
	const Condprof__Point *offset = click->offset;

	add(text, "click ");
	if (click->target_case == CONDPROF__CLICK_ACTION__TARGET_POSITION) {
		add(text, "at %d,%d", click->position->x, click->position->y);
	} else if (click->target_case == CONDPROF__CLICK_ACTION__TARGET_FOUND) {
		add(text, "on the first one found");
	} else {
		add(text, "on ");
		add_name(text, click->condition);
	}
	if (offset && (offset->x != 0 || offset->y != 0))
		add(text, ", moved by %+d,%+d", offset->x, offset->y);
	add(text, ", for ");
	add_duration(text, click->press_ns);
}

static void describe_swipe(struct text *text, const Condprof__SwipeAction *swipe)
{
	add(text, "swipe");
	for (size_t i = 0; i < swipe->n_points; i++)
		add(text, "%s%d,%d", i == 0 ? " from " : " to ", swipe->points[i]->x, swipe->points[i]->y);
	add(text, " in ");
	add_duration(text, swipe->duration_ns);
}

static void describe_counter(struct text *text, const Condprof__CounterAction *counter)
{
	static const char *const verbs[] = {
		[CONDPROF__COUNTER_OPERATION__ADD] = "add ", [CONDPROF__COUNTER_OPERATION__SUBTRACT] = "subtract "};
	bool set = counter->operation == CONDPROF__COUNTER_OPERATION__SET;

	if (set) {
		add(text, "set the counter ");
		add_name(text, counter->counter);
		add(text, " to ");
		add_operand(text, counter->operand);
		return;
	}
	add(text, "%s", verbs[counter->operation]);
	add_operand(text, counter->operand);
	add(text, "%s",
	    counter->operation == CONDPROF__COUNTER_OPERATION__ADD ? " to the counter " : " from the counter ");
	add_name(text, counter->counter);
}

static const char *const state_verbs[] = {
	[CONDPROF__STATE_CHANGE__ENABLE] = "enable",
	[CONDPROF__STATE_CHANGE__DISABLE] = "disable",
	[CONDPROF__STATE_CHANGE__TOGGLE] = "toggle",
};

static void describe_event_state(struct text *text, const Condprof__EventStateAction *state)
{
	add(text, "%s ", state_verbs[state->change]);
	if (state->all)
		add(text, "all events");
	for (size_t i = 0; i < state->n_events; i++) {
		add(text, "%s", i == 0 ? "" : ", ");
		add_name(text, state->events[i]);
	}
}

static void describe_notify(struct text *text, const Condprof__NotifyAction *notify)
{
	static const char *const levels[] = {
		[CONDPROF__LEVEL__LEVEL_DEBUG] = "debug",   [CONDPROF__LEVEL__LEVEL_INFO] = "info",
		[CONDPROF__LEVEL__LEVEL_NOTICE] = "notice", [CONDPROF__LEVEL__LEVEL_WARNING] = "warning",
		[CONDPROF__LEVEL__LEVEL_ERROR] = "error",
	};

	add(text, "notify ");
	add_parts(text, notify->text, notify->n_text);
	add(text, ", level %s", levels[notify->level]);
}

static void describe_type(struct text *text, const Condprof__TypeAction *type)
{
	add(text, "type ");
	if (type->secret) {
		add(text, "the secret ");
		add_name(text, type->secret);
	} else {
		add_parts(text, type->text, type->n_text);
	}
}

static void describe_stop(struct text *text, const Condprof__StopAction *stop)
{
	add(text, "stop the session");
	if (stop->n_text > 0) {
		add(text, ": ");
		add_parts(text, stop->text, stop->n_text);
	}
	add(text, stop->result == CONDPROF__RESULT__RESULT_FAILED ? ", result failed" : ", result ok");
}

const char *action_kind(const Condprof__Action *action)
{
	static const char *const kinds[] = {
		[CONDPROF__ACTION__KIND_CLICK] = "click",
		[CONDPROF__ACTION__KIND_SWIPE] = "swipe",
		[CONDPROF__ACTION__KIND_PAUSE] = "pause",
		[CONDPROF__ACTION__KIND_KEY] = "key",
		[CONDPROF__ACTION__KIND_TYPE] = "type",
		[CONDPROF__ACTION__KIND_COUNTER] = "counter",
		[CONDPROF__ACTION__KIND_EVENT_STATE] = "event_state",
		[CONDPROF__ACTION__KIND_NOTIFY] = "notify",
		[CONDPROF__ACTION__KIND_SIGNAL] = "signal",
		[CONDPROF__ACTION__KIND_STOP] = "stop",
	};

	if (action->kind_case == CONDPROF__ACTION__KIND_EVENT_STATE)
		return state_verbs[action->event_state->change];
	return action->kind_case > 0 && (size_t)action->kind_case < ARRAY_SIZE(kinds) ? kinds[action->kind_case] : "";
}

char *describe_action(const Condprof__Action *action, char out[DESCRIPTION_BYTES])
{
	struct text text = {out, 0};

	out[0] = '\0';
	switch (action->kind_case) {
	case CONDPROF__ACTION__KIND_CLICK:
		describe_click(&text, action->click);
		break;
	case CONDPROF__ACTION__KIND_SWIPE:
		describe_swipe(&text, action->swipe);
		break;
	case CONDPROF__ACTION__KIND_PAUSE:
		add(&text, "pause for ");
		add_duration(&text, action->pause->duration_ns);
		break;
	case CONDPROF__ACTION__KIND_KEY:
		add(&text, "press the key %s", action->key->keys);
		break;
	case CONDPROF__ACTION__KIND_TYPE:
		describe_type(&text, action->type);
		break;
	case CONDPROF__ACTION__KIND_COUNTER:
		describe_counter(&text, action->counter);
		break;
	case CONDPROF__ACTION__KIND_EVENT_STATE:
		describe_event_state(&text, action->event_state);
		break;
	case CONDPROF__ACTION__KIND_NOTIFY:
		describe_notify(&text, action->notify);
		break;
	case CONDPROF__ACTION__KIND_SIGNAL:
		add(&text, "send the signal %s of %s on the %s bus", action->signal->signal, action->signal->path,
		    action->signal->bus == CONDPROF__BUS__BUS_SESSION ? "session" : "system");
		break;
	case CONDPROF__ACTION__KIND_STOP:
		describe_stop(&text, action->stop);
		break;
	default:
		break;
	}
	return out;
}

char *describe_rate(const Condprof__Rate *rate, char out[DESCRIPTION_BYTES])
{
	struct text text = {out, 0};
	bool minutes = rate && rate->per_ns > NSEC_PER_SEC;

	if (rate && rate->passes == 0) {
		add(&text, "as many passes as possible");
		return out;
	}
	add_number(&text, rate ? rate->passes : 10);
	add(&text, " pass%s a %s%s", rate && rate->passes == 1 ? "" : "es", minutes ? "minute" : "second",
	    rate ? "" : " (the default)");
	return out;
}
