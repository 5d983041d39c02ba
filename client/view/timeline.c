// SPDX-License-Identifier: GPL-3.0-or-later
//
// The timeline view, written as occurrences come: a row an occurrence, and below it what took part in it.
#include "config.h"

#include "client/view/report.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const action_names[] = {
	[CONDPROF__ACTION_KIND__ACTION_CLICK] = "click",
	[CONDPROF__ACTION_KIND__ACTION_SWIPE] = "swipe",
	[CONDPROF__ACTION_KIND__ACTION_PAUSE] = "pause",
	[CONDPROF__ACTION_KIND__ACTION_KEY] = "key",
	[CONDPROF__ACTION_KIND__ACTION_TYPE] = "type",
	[CONDPROF__ACTION_KIND__ACTION_COUNTER] = "counter",
	[CONDPROF__ACTION_KIND__ACTION_EVENT_STATE] = "event-state",
	[CONDPROF__ACTION_KIND__ACTION_NOTIFY] = "notify",
	[CONDPROF__ACTION_KIND__ACTION_SIGNAL] = "signal",
	[CONDPROF__ACTION_KIND__ACTION_STOP] = "stop",
};
static_assert(ARRAY_SIZE(action_names) == CONDPROF__ACTION_KIND__ACTION_STOP + 1, "every action has a name");

enum nested { NESTED_CONDITIONS, NESTED_COUNTERS, NESTED_STATES, NESTED_ACTIONS, NESTED };

static const struct field condition_columns[] = {
	{.name = "name", .title = ""},
	{.name = "fulfilled", .title = "", .yes = "fulfilled", .no = "not fulfilled"},
	{.name = "duration_ns", .title = "", .number = true},
	{.name = "confidence", .title = "confidence", .number = true},
	{.name = "value", .title = "read", .number = true},
	{.name = "id"},
};
static const struct field counter_columns[] = {
	{.name = "name", .title = "counter"},
	{.name = "old", .title = "from"},
	{.name = "new", .title = "to"},
};
static const struct field state_columns[] = {
	{.name = "event", .title = "event"},
	{.name = "enabled", .title = "", .yes = "enabled", .no = "disabled"},
};
static const struct field action_columns[] = {
	{.name = "kind", .title = ""},
	{.name = "x", .title = "x"},
	{.name = "y", .title = "y"},
	{.name = "duration_ns", .title = "", .number = true},
	{.name = "skipped", .title = "", .yes = "skipped", .no = ""},
	{.name = "text", .title = ""},
};
static const struct table nested_tables[NESTED] = {
	[NESTED_CONDITIONS] = {.field = {.name = "conditions", .title = ""},
			       .columns = condition_columns,
			       .n_columns = ARRAY_SIZE(condition_columns)},
	[NESTED_COUNTERS] = {.field = {.name = "counters", .title = ""},
			     .columns = counter_columns,
			     .n_columns = ARRAY_SIZE(counter_columns)},
	[NESTED_STATES] = {.field = {.name = "event_states", .title = ""},
			   .columns = state_columns,
			   .n_columns = ARRAY_SIZE(state_columns)},
	[NESTED_ACTIONS] = {.field = {.name = "actions", .title = ""},
			    .columns = action_columns,
			    .n_columns = ARRAY_SIZE(action_columns)},
};

static const struct field columns[] = {
	{.name = "at_ns", .title = "At", .number = true, .width = 15},
	{.title = "After", .number = true, .width = 14, .spare = 4, .plus = true},
	{.name = "event", .title = "Event", .width = 24},
	{.name = "event_id"},
	{.name = "pass", .title = "Pass", .number = true, .width = 7, .spare = 3},
	{.name = "detecting_ns", .title = "Detecting", .number = true, .width = 13},
	{.name = "checking_ns", .title = "Checking", .number = true, .width = 9, .spare = 2},
	{.name = "acting_ns", .title = "Acting", .number = true, .width = 9, .spare = 1},
	{.name = "beginning"},
};
static const struct table table = {
	.field = {.name = "occurrences", .title = ""},
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.nested = nested_tables,
	.n_nested = NESTED,
	.stream = true,
	.main = true,
	.empty = "No occurrence fits: no event was fulfilled, or none in this time.",
};

static const char *const beginning_names[] = {
	[ENTRY_OCCURRENCE] = NULL,
	[ENTRY_CONTINUES] = "continues-session",
	[ENTRY_AFTER_DROPPED] = "after-dropped",
};

/// A name where the scenario knows the id, else #id.
static const char *event_text(const struct report *report, int64_t id, char number[24])
{
	const struct report_event *event = report_event_by_id(report, id);

	if (event)
		return event->name;
	snprintf(number, 24, "#%" PRId64, id);
	return number;
}

static const char *condition_text(const struct report *report, int64_t id, char number[24])
{
	const struct report_condition *condition = report_condition_by_id(report, id);

	if (condition)
		return condition->name;
	snprintf(number, 24, "#%" PRId64, id);
	return number;
}

void view_timeline_begin(struct timeline_view *view, struct render *render, const struct report *report)
{
	*view = (struct timeline_view){.render = render, .report = report};
	render_table_open(render, &table);
}

static void write_conditions(const struct timeline_view *view, const struct occurrence *occurrence)
{
	char number[24];

	render_table_open(view->render, &nested_tables[NESTED_CONDITIONS]);
	for (size_t i = 0; i < occurrence->n_conditions; i++) {
		const struct occurrence_condition *condition = &occurrence->conditions[i];

		render_row(view->render, (struct cell[]){
						 cell_text(condition_text(view->report, condition->id, number)),
						 cell_flag(condition->fulfilled),
						 cell_maybe_duration(condition->duration_ns),
						 cell_if(condition->has_confidence, cell_share(condition->confidence)),
						 cell_if(condition->has_value, cell_number(condition->value)),
						 cell_count(condition->id),
					 });
	}
	render_table_close(view->render);
}

/// The first reports had whole numbers in fields of their own.
static void write_counters(const struct timeline_view *view, const struct occurrence *occurrence)
{
	render_table_open(view->render, &nested_tables[NESTED_COUNTERS]);
	for (size_t i = 0; i < occurrence->n_counters; i++) {
		const Condprof__CounterStateChange *change = occurrence->counters[i];
		bool doubles = change->has_old_value || change->has_new_value;

		render_row(view->render,
			   (struct cell[]){
				   cell_text(change->name ? change->name : ""),
				   cell_number(doubles ? change->old_value : change->old_value_deprecated),
				   cell_number(doubles ? change->new_value : change->new_value_deprecated),
			   });
	}
	render_table_close(view->render);
}

static void write_states(const struct timeline_view *view, const struct occurrence *occurrence)
{
	char number[24];

	render_table_open(view->render, &nested_tables[NESTED_STATES]);
	for (size_t i = 0; i < occurrence->n_states; i++) {
		const Condprof__EventStateChange *change = occurrence->states[i];

		render_row(view->render, (struct cell[]){
						 cell_text(event_text(view->report, change->event_id, number)),
						 cell_flag(change->new_value),
					 });
	}
	render_table_close(view->render);
}

static void write_actions(const struct timeline_view *view, const struct occurrence *occurrence)
{
	render_table_open(view->render, &nested_tables[NESTED_ACTIONS]);
	for (size_t i = 0; i < occurrence->n_actions; i++) {
		const Condprof__ActionResult *action = occurrence->actions[i];

		render_row(view->render, (struct cell[]){
						 cell_text((size_t)action->kind < ARRAY_SIZE(action_names)
								   ? action_names[action->kind]
								   : "unknown"),
						 cell_if(action->has_x, cell_count(action->x)),
						 cell_if(action->has_y, cell_count(action->y)),
						 cell_if(action->has_duration_ns, cell_duration(action->duration_ns)),
						 cell_flag(action->skipped),
						 cell_if(action->text, cell_text(action->text)),
					 });
	}
	render_table_close(view->render);
}

// --- what it begins with ---------------------------------------------------------------------------------------------

static void write_values(const struct timeline_view *view, const struct occurrence *beginning)
{
	render_table_open(view->render, &nested_tables[NESTED_COUNTERS]);
	for (size_t i = 0; i < beginning->n_values; i++) {
		const Condprof__CounterInit *counter = beginning->values[i];

		render_row(view->render, (struct cell[]){
						 cell_text(counter->name ? counter->name : ""),
						 cell_null(),
						 cell_number(counter->initial_value),
					 });
	}
	render_table_close(view->render);
}

static void write_state(const struct timeline_view *view, const char *name, bool enabled)
{
	render_row(view->render, (struct cell[]){cell_text(name), cell_flag(enabled)});
}

static bool as_in_scenario(const struct report_event *event)
{
	return event->definition && event->definition->enabled;
}

/// Of all events; for people those that are disabled, or were when the scenario began. @return 0, -ENOMEM
static int write_all_states(const struct timeline_view *view, const struct occurrence *beginning)
{
	const struct report *report = view->report;
	CLEANUP_FREE bool *enabled = calloc(report->n_events + 1, sizeof(*enabled));
	char number[24];

	if (!enabled)
		return -ENOMEM;
	for (size_t i = 0; i < report->n_events; i++)
		enabled[i] = as_in_scenario(&report->events[i]);
	render_table_open(view->render, &nested_tables[NESTED_STATES]);
	for (size_t i = 0; i < beginning->n_states; i++) {
		const Condprof__EventStateChange *state = beginning->states[i];
		const struct report_event *event = report_event_by_id(report, state->event_id);

		if (event && event->definition)
			enabled[event - report->events] = state->new_value;
		else
			write_state(view, event_text(report, state->event_id, number), state->new_value);
	}
	for (size_t i = 0; i < report->n_events; i++) {
		const struct report_event *event = &report->events[i];
		bool telling = !enabled[i] || !as_in_scenario(event);

		if (event->definition && (telling || !render_for_people(view->render)))
			write_state(view, event->name, enabled[i]);
	}
	render_table_close(view->render);
	return 0;
}

/// An entry of its own, before the first occurrence. No event's name has brackets around it by chance and no event id.
static int write_beginning(const struct timeline_view *view, const struct occurrence *beginning)
{
	const struct render *render = view->render;
	bool continues = beginning->kind == ENTRY_CONTINUES;
	int64_t from = view->report->overview->continues_session;
	char text[64] = "(earlier ones dropped)";

	if (continues && from > 0)
		snprintf(text, sizeof(text), "(continues session %" PRId64 ")", from);
	else if (continues)
		strcpy(text, "(continues a session)");
	render_row(view->render, (struct cell[]){
					 cell_duration(beginning->at_ns),
					 cell_null(),
					 cell_if(render_for_people(render), cell_text(text)),
					 cell_null(),
					 cell_null(),
					 cell_null(),
					 cell_null(),
					 cell_null(),
					 cell_text(beginning_names[beginning->kind]),
				 });
	write_conditions(view, beginning);
	write_values(view, beginning);
	int r = continues ? write_all_states(view, beginning) : 0;
	if (!continues)
		write_states(view, beginning);
	write_actions(view, beginning);
	return r;
}

int view_timeline_occurrence(void *context, const struct occurrence *occurrence)
{
	struct timeline_view *view = context;
	char number[24];
	int64_t after_ns;
	bool after = view->any && !__builtin_sub_overflow(occurrence->at_ns, view->previous_ns, &after_ns);

	if (occurrence->kind != ENTRY_OCCURRENCE)
		return write_beginning(view, occurrence);
	render_row(view->render, (struct cell[]){
					 cell_duration(occurrence->at_ns),
					 cell_if(after, cell_duration(after ? after_ns : 0)),
					 cell_text(event_text(view->report, occurrence->event_id, number)),
					 cell_count(occurrence->event_id),
					 cell_maybe_count(occurrence->pass),
					 cell_maybe_duration(occurrence->detecting_ns),
					 cell_maybe_duration(occurrence->checking_ns),
					 cell_maybe_duration(occurrence->acting_ns),
					 cell_null(),
				 });
	write_conditions(view, occurrence);
	write_counters(view, occurrence);
	write_states(view, occurrence);
	write_actions(view, occurrence);
	view->previous_ns = occurrence->at_ns;
	view->any = true;
	return 0;
}

void view_timeline_end(struct timeline_view *view)
{
	render_table_close(view->render);
}
