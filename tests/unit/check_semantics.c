// SPDX-License-Identifier: GPL-3.0-or-later
// What a pass does, case by case: every case of tests/data/semantics.json, on the virtual clock, with a detector that
// answers as the case says. What happened is read from the report (its aggregates and its occurrences), so that the
// report is held to the same truth. Sessions are dry runs: in the cases a pause takes its time, every other action
// none.
#include "tests/support/engine_fakes.h"
#include "tests/support/unit.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <string.h>

#define LINE_SIZE 4096

static struct json_object *cases;

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

static const char *get_text(struct json_object *object, const char *key, const char *otherwise)
{
	struct json_object *value = get(object, key);

	return value ? json_object_get_string(value) : otherwise;
}

static int64_t get_number(struct json_object *object, const char *key, int64_t otherwise)
{
	struct json_object *value = get(object, key);

	return value ? json_object_get_int64(value) : otherwise;
}

static bool get_flag(struct json_object *object, const char *key, bool otherwise)
{
	struct json_object *value = get(object, key);

	return value ? json_object_get_boolean(value) : otherwise;
}

static uint32_t event_index(const struct scenario *scenario, const char *name)
{
	for (uint32_t i = 0; i < scenario->n_events; i++) {
		if (!strcmp(scenario->events[i].name, name))
			return i;
	}
	ck_abort_msg("no event %s", name);
}

static uint32_t condition_index(const struct scenario *scenario, const char *name)
{
	for (uint32_t i = 0; i < scenario->n_conditions; i++) {
		if (!strcmp(scenario->conditions[i].name, name))
			return i;
	}
	ck_abort_msg("no condition %s", name);
}

// --- from a case to a scenario ---------------------------------------------------------------------------------------

static Condprof__Comparison comparison(const char *op)
{
	static const char *const ops[] = {"==", "!=", ">", ">=", "<", "<="}; // in the order of the enum

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		if (!strcmp(ops[i], op))
			return (Condprof__Comparison)i;
	}
	ck_abort_msg("no comparison %s", op);
}

static Condprof__StateChange state_change(const char *how)
{
	return !strcmp(how, "enable")    ? CONDPROF__STATE_CHANGE__ENABLE
	       : !strcmp(how, "disable") ? CONDPROF__STATE_CHANGE__DISABLE
					 : CONDPROF__STATE_CHANGE__TOGGLE;
}

static void add_condition(struct maker *maker, struct json_object *from)
{
	const char *kind = get_text(from, "k", "");
	const char *id = get_text(from, "id", "");

	if (!strcmp(kind, "image"))
		maker_image(maker, id, get_flag(from, "present", true));
	else if (!strcmp(kind, "timer"))
		maker_timer(maker, id, get_number(from, "ms", 0) * NSEC_PER_MSEC, get_flag(from, "restart", false));
	else if (!strcmp(kind, "counter"))
		maker_compare(maker, id, get_text(from, "name", ""), comparison(get_text(from, "op", "")),
			      json_object_get_double(get(from, "value")));
	else if (!strcmp(kind, "broadcast"))
		maker_condition(maker, id, CONDITION_BROADCAST)->broadcast =
			maker_broadcast(maker, get_text(from, "action", ""));
	else
		ck_abort_msg("no condition kind %s", kind);
}

static void add_action(struct maker *maker, struct json_object *from)
{
	const char *kind = get_text(from, "k", "");

	if (!strcmp(kind, "click")) {
		maker_click(maker, (int)get_number(from, "x", 0), (int)get_number(from, "y", 0),
			    get_number(from, "ms", 0) * NSEC_PER_MSEC);
	} else if (!strcmp(kind, "pause")) {
		maker_pause(maker, get_number(from, "ms", 0) * NSEC_PER_MSEC);
	} else if (!strcmp(kind, "counter")) {
		const char *op = get_text(from, "op", "");

		maker_count(maker, get_text(from, "name", ""),
			    !strcmp(op, "add")   ? CONDPROF__COUNTER_OPERATION__ADD
			    : !strcmp(op, "set") ? CONDPROF__COUNTER_OPERATION__SET
						 : CONDPROF__COUNTER_OPERATION__SUBTRACT,
			    json_object_get_double(get(from, "value")));
	} else if (!strcmp(kind, "toggleall")) {
		maker_change(maker, state_change(get_text(from, "type", "")), NO_INDEX);
	} else if (!strcmp(kind, "toggle")) {
		struct json_object *list = get(from, "list");

		// the events' names are known only when all are there: kept until then as (list, index) in event_refs
		for (size_t i = 0; i < json_object_array_length(list); i++) {
			struct json_object *pair = json_object_array_get_idx(list, i);
			const char *how = json_object_get_string(json_object_array_get_idx(pair, 0));
			const char *event = json_object_get_string(json_object_array_get_idx(pair, 1));

			maker_change(maker, state_change(how), (uint32_t)event[0]); // a letter in every case
		}
	} else {
		ck_abort_msg("no action kind %s", kind);
	}
}

static void add_event(struct maker *maker, struct json_object *from, bool trigger)
{
	struct event *event =
		maker_event(maker, get_text(from, "id", ""), trigger, !strcmp(get_text(from, "op", "AND"), "OR"));
	struct json_object *conditions = get(from, "conds"), *actions = get(from, "acts");

	event->enabled = get_flag(from, "on", true);
	event->keep_detecting = get_flag(from, "keep", false);
	event->cooldown_ns = get_number(from, "cooldown", 0) * NSEC_PER_MSEC;
	for (size_t i = 0; i < json_object_array_length(conditions); i++)
		add_condition(maker, json_object_array_get_idx(conditions, i));
	for (size_t i = 0; actions && i < json_object_array_length(actions); i++)
		add_action(maker, json_object_array_get_idx(actions, i));
}

static void add_screen_events(struct maker *maker, struct json_object *list)
{
	size_t count = list ? json_object_array_length(list) : 0;

	for (int64_t priority = 0; priority < 10; priority++) {
		for (size_t i = 0; i < count; i++) {
			struct json_object *event = json_object_array_get_idx(list, i);

			if (get_number(event, "prio", 0) == priority)
				add_event(maker, event, false);
		}
	}
}

static struct maker *make_scenario(struct json_object *from)
{
	struct maker *maker = maker_new();
	struct json_object *counters = get(from, "counters"), *triggers = get(from, "triggers");

	if (counters) {
		json_object_object_foreach(counters, name, value)
			maker_counter(maker, name, json_object_get_double(value));
	}
	add_screen_events(maker, get(from, "screens"));
	for (size_t i = 0; triggers && i < json_object_array_length(triggers); i++)
		add_event(maker, json_object_array_get_idx(triggers, i), true);
	for (uint32_t i = 0; i < maker->scenario.n_event_refs; i++) {
		char name[2] = {(char)maker->scenario.event_refs[i]};

		maker->scenario.event_refs[i] = event_index(&maker->scenario, name);
	}
	return maker;
}

// --- from a report to a line -----------------------------------------------------------------------------------------

struct seen {
	struct condition_figures conditions[64];
	struct event_figures events[64];
	size_t messages;
};

static void look(struct stage *stage, struct seen *ret)
{
	const struct scenario *scenario = &stage->maker->scenario;

	ck_assert_uint_le(scenario->n_conditions, 64);
	for (uint32_t i = 0; i < scenario->n_conditions; i++)
		timing_condition_figures(stage->timing, i, &ret->conditions[i]);
	for (uint32_t i = 0; i < scenario->n_events; i++)
		timing_event_figures(stage->timing, i, &ret->events[i]);
	ret->messages = fake_recorder_state()->count;
}

static void say(char line[LINE_SIZE], const char *format, ...) PRINTF_LIKE(2, 3);
static void say(char line[LINE_SIZE], const char *format, ...)
{
	size_t used = strlen(line);
	va_list arguments;

	if (used)
		line[used++] = ' ';
	va_start(arguments, format);
	vsnprintf(line + used, LINE_SIZE - used, format, arguments);
	va_end(arguments);
}

// As few digits as say the same number again, and at least ".0".
static const char *number_text(double value)
{
	static char texts[2][64];
	static int turn;
	char *text = texts[turn ^= 1];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(texts[0]), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	if (!strchr(text, '.'))
		strcat(text, ".0");
	return text;
}

struct lists {
	size_t n_actions, n_counters, n_states;
	Condprof__ActionResult **actions;
	Condprof__CounterStateChange **counters;
	Condprof__EventStateChange **states;
};

static struct lists message_lists(const Condprof__DebugReportMessage *message, const struct event *event)
{
	if (event->trigger) {
		const Condprof__TriggerEventMessage *m = message->trigger_event;

		ck_assert_int_eq(message->payload_case, CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_TRIGGER_EVENT);
		ck_assert_int_eq(m->event_id, event->id);
		return (struct lists){m->n_actions, m->n_counter_changes, m->n_event_state_changes,
				      m->actions,   m->counter_changes,   m->event_state_changes};
	}

	const Condprof__ImageEventMessage *m = message->image_event;

	ck_assert_int_eq(message->payload_case, CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT);
	ck_assert_int_eq(m->event_id, event->id);
	return (struct lists){m->n_actions, m->n_counter_changes, m->n_event_state_changes,
			      m->actions,   m->counter_changes,   m->event_state_changes};
}

// The changes an action can have made: all that follow for "all", one of its own event otherwise.
static void say_states(char *line, const struct scenario *scenario, const struct action *action,
		       const struct lists *lists, size_t *next)
{
	while (*next < lists->n_states) {
		const Condprof__EventStateChange *change = lists->states[*next];
		uint32_t event = (uint32_t)change->event_id - 1;

		if (!action->event_state.all && event != scenario->event_refs[action->event_state.first_event])
			return;
		say(line, "%s:%s", change->new_value ? "on" : "off", scenario->events[event].name);
		++*next;
		if (!action->event_state.all)
			return;
	}
}

static void say_actions(char *line, const struct scenario *scenario, const struct event *event,
			const Condprof__DebugReportMessage *message)
{
	struct lists lists = message_lists(message, event);
	size_t counter = 0, state = 0;

	ck_assert_uint_eq(lists.n_actions, event->actions);
	for (uint32_t i = 0; i < event->actions; i++) {
		const struct action *action = &scenario->actions[event->first_action + i];
		const Condprof__ActionResult *result = lists.actions[i];

		ck_assert_int_eq(result->kind, action->kind);
		ck_assert(!result->skipped);
		if (action->kind == CONDPROF__ACTION_KIND__ACTION_CLICK) {
			say(line, "do:click(%d,%d;%d)", result->x, result->y,
			    (int)(action->click.press_ns / NSEC_PER_MSEC));
		} else if (action->kind == CONDPROF__ACTION_KIND__ACTION_PAUSE) {
			say(line, "do:pause(%d)", (int)(action->pause_ns / NSEC_PER_MSEC));
		} else if (action->kind == CONDPROF__ACTION_KIND__ACTION_COUNTER) {
			const Condprof__CounterStateChange *change = lists.counters[counter++];

			say(line, "ctr:%s %s->%s", change->name, number_text(change->old_value),
			    number_text(change->new_value));
		} else {
			say_states(line, scenario, action, &lists, &state);
		}
	}
	ck_assert_uint_eq(counter, lists.n_counters);
	ck_assert_uint_eq(state, lists.n_states);
}

static void say_event(char *line, const struct scenario *scenario, uint32_t index, const struct seen *before,
		      const struct seen *after, size_t *message)
{
	const struct event *event = &scenario->events[index];

	if (after->events[index].evaluated == before->events[index].evaluated)
		return;
	say(line, "%s?", event->name);
	for (uint32_t i = event->first_condition; i < event->first_condition + event->conditions; i++) {
		int64_t checks = after->conditions[i].checks - before->conditions[i].checks;

		ck_assert_int_le(checks, 1);
		if (checks)
			say(line, "%s%c", scenario->conditions[i].name,
			    after->conditions[i].fulfilled > before->conditions[i].fulfilled ? '+' : '-');
	}
	if (after->events[index].fulfilled == before->events[index].fulfilled) {
		say(line, "%s.", event->name);
		return;
	}
	say(line, "%s!", event->name);
	ck_assert_uint_lt(*message, after->messages);
	say_actions(line, scenario, event, fake_recorder_state()->messages[(*message)++]);
}

static bool looked_at(const struct seen *before, const struct seen *after, uint32_t event)
{
	return after->events[event].evaluated > before->events[event].evaluated ||
	       after->events[event].not_reached[NOT_REACHED_COOLING_DOWN] >
		       before->events[event].not_reached[NOT_REACHED_COOLING_DOWN];
}

static void say_pass(char *line, const struct scenario *scenario, const struct seen *before, const struct seen *after)
{
	size_t message = before->messages;
	bool screens = false, triggers = false;

	for (uint32_t i = 0; i < scenario->n_events; i++)
		*(scenario->events[i].trigger ? &triggers : &screens) |= looked_at(before, after, i);
	if (triggers)
		say(line, "TRIG");
	for (uint32_t i = scenario->screen_events; i < scenario->n_events; i++)
		say_event(line, scenario, i, before, after, &message);
	if (screens)
		say(line, "SCREEN");
	for (uint32_t i = 0; i < scenario->screen_events; i++)
		say_event(line, scenario, i, before, after, &message);
	ck_assert_uint_eq(message, after->messages);
}

// --- a case ----------------------------------------------------------------------------------------------------------

static void prepare_pass(struct stage *stage, struct json_object *loop)
{
	struct json_object *results = get(loop, "r"), *at = get(loop, "at"), *broadcasts = get(loop, "bc");

	json_object_object_foreach(results, name, result)
	{
		struct fake_answer *answer = &stage->detector->answers[condition_index(&stage->maker->scenario, name)];

		answer->found = get_flag(result, "det", false);
	}
	if (at)
		stage->clock.virtual_now_ns = json_object_get_int64(at) * NSEC_PER_MSEC;
	for (size_t i = 0; i < json_object_array_length(broadcasts); i++)
		processor_emit(stage->processor, json_object_get_string(json_object_array_get_idx(broadcasts, i)));
}

static void check_afterwards(struct stage *stage, struct json_object *of_case)
{
	const struct scenario *scenario = &stage->maker->scenario;
	struct json_object *enabled = get(of_case, "enabled_after");
	uint32_t n_enabled = 0;

	json_object_object_foreach(get(of_case, "reach"), condition, reach) ck_assert_int_eq(
		stage_checks(stage, condition_index(scenario, condition)), json_object_get_int64(reach));
	json_object_object_foreach(get(of_case, "counters_after"), counter, value)
		ck_assert(stage->processor->states.counters[maker_counter(stage->maker, counter, 0)] ==
			  json_object_get_double(value));
	for (size_t i = 0; i < json_object_array_length(enabled); i++)
		ck_assert(stage->processor->states.enabled[event_index(
			scenario, json_object_get_string(json_object_array_get_idx(enabled, i)))]);
	for (uint32_t i = 0; i < scenario->n_events; i++)
		n_enabled += stage->processor->states.enabled[i];
	ck_assert_uint_eq(n_enabled, json_object_array_length(enabled));
	ck_assert_uint_eq(n_enabled, stage->processor->states.n_enabled);
}

START_TEST(test_case)
{
	struct json_object *of_case = json_object_array_get_idx(cases, (size_t)_i);
	struct json_object *loops = get(of_case, "loops"), *expect = get(of_case, "expect");
	struct stage *stage = stage_new(make_scenario(get(of_case, "scenario")));
	static struct seen before, after;

	stage->params.dry_run = true;
	stage_begin(stage);
	ck_assert_uint_eq(json_object_array_length(loops), json_object_array_length(expect));
	for (size_t i = 0; i < json_object_array_length(loops); i++) {
		char line[LINE_SIZE] = "";
		bool goes_on;

		prepare_pass(stage, json_object_array_get_idx(loops, i));
		look(stage, &before);
		goes_on = stage_pass(stage);
		look(stage, &after);
		say_pass(line, &stage->maker->scenario, &before, &after);
		if (!goes_on) {
			ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_ALL_EVENTS_DISABLED);
			say(line, "stop");
		}
		ck_assert_msg(!strcmp(line, json_object_get_string(json_object_array_get_idx(expect, i))),
			      "%s (%s), pass %zu:\n  is     %s\n  should %s", get_text(of_case, "id", ""),
			      get_text(of_case, "title", ""), i + 1, line,
			      json_object_get_string(json_object_array_get_idx(expect, i)));
	}
	check_afterwards(stage, of_case);
	stage_free(stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("semantics");
	cases = json_object_from_file(unit_data("semantics.json"));
	if (!cases) {
		printf("Bail out! %s cannot be read\n", unit_data("semantics.json"));
		return 1;
	}
	for (int i = 0; i < (int)json_object_array_length(cases); i++) {
		TCase *tcase = tcase_create(get_text(json_object_array_get_idx(cases, (size_t)i), "id", ""));

		tcase_add_loop_test(tcase, test_case, i, i + 1);
		suite_add_tcase(suite, tcase);
	}

	int r = unit_run(suite);

	json_object_put(cases);
	return r;
}
