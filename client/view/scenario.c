// SPDX-License-Identifier: GPL-3.0-or-later
//
// A scenario file as it was understood, and what is wrong with it. People get scenario_print() and compiler-style lines
// instead.
#include "config.h"

#include "client/view/scenario.h"

#include "client/scenario/describe.h"

static void view_diagnostics(struct render *render, const struct scenario_file *file)
{
	static const struct field columns[] = {
		{.name = "severity"}, {.name = "line"}, {.name = "column"}, {.name = "length"}, {.name = "message"}};
	static const struct table table = {
		.field = {.name = "diagnostics"}, .columns = columns, .n_columns = ARRAY_SIZE(columns), .main = true};
	size_t count;
	const struct diagnostic *items = scenario_file_diagnostics(file, &count);

	render_table_open(render, &table);
	for (size_t i = 0; i < count; i++) {
		bool placed = items[i].line > 0;

		render_row(render, (struct cell[]){
					   cell_text(items[i].severity == DIAGNOSTIC_ERROR ? "error" : "warning"),
					   cell_if(placed, cell_count(items[i].line)),
					   cell_if(placed, cell_count(items[i].column)),
					   cell_if(placed, cell_count(items[i].length)),
					   cell_text(items[i].message),
				   });
	}
	render_table_close(render);
}

static void view_counters(struct render *render, const Condprof__Scenario *scenario)
{
	static const struct field columns[] = {{.name = "name"}, {.name = "initial_value"}};
	static const struct table table = {
		.field = {.name = "counters"}, .columns = columns, .n_columns = ARRAY_SIZE(columns)};

	render_table_open(render, &table);
	for (size_t i = 0; i < scenario->n_counters; i++)
		render_row(render, (struct cell[]){cell_text(scenario->counters[i]->name),
						   cell_number(scenario->counters[i]->initial_value)});
	render_table_close(render);
}

static const struct field condition_columns[] = {{.name = "id"}, {.name = "name"}, {.name = "kind"}, {.name = "text"}};
static const struct field action_columns[] = {{.name = "kind"}, {.name = "text"}};
static const struct table event_tables[] = {
	{.field = {.name = "conditions"}, .columns = condition_columns, .n_columns = ARRAY_SIZE(condition_columns)},
	{.field = {.name = "actions"}, .columns = action_columns, .n_columns = ARRAY_SIZE(action_columns)},
};
static const struct field event_columns[] = {
	{.name = "id"},      {.name = "name"},        {.name = "kind"},           {.name = "match"},
	{.name = "enabled"}, {.name = "cooldown_ns"}, {.name = "keep_detecting"}, {.name = "refresh"},
};
static const struct table events_table = {
	.field = {.name = "events"},
	.columns = event_columns,
	.n_columns = ARRAY_SIZE(event_columns),
	.nested = event_tables,
	.n_nested = ARRAY_SIZE(event_tables),
};

static void view_event(struct render *render, const Condprof__Event *event, bool trigger)
{
	char text[DESCRIPTION_BYTES];

	render_row(render, (struct cell[]){
				   cell_if(event->has_id, cell_count(event->id)),
				   cell_text(event->name),
				   cell_text(trigger ? "trigger" : "screen"),
				   cell_text(event->match == CONDPROF__MATCH__MATCH_ANY ? "any" : "all"),
				   cell_flag(event->enabled),
				   cell_if(!trigger, cell_duration(event->cooldown_ns)),
				   cell_if(!trigger, cell_flag(event->keep_detecting)),
				   cell_if(!trigger, cell_flag(event->refresh)),
			   });
	render_table_open(render, &event_tables[0]);
	for (size_t i = 0; i < event->n_conditions; i++) {
		const Condprof__Condition *condition = event->conditions[i];

		render_row(render, (struct cell[]){cell_if(condition->has_id, cell_count(condition->id)),
						   cell_text(condition->name), cell_text(condition_kind(condition)),
						   cell_text(describe_condition(condition, text))});
	}
	render_table_close(render);
	render_table_open(render, &event_tables[1]);
	for (size_t i = 0; i < event->n_actions; i++)
		render_row(render, (struct cell[]){cell_text(action_kind(event->actions[i])),
						   cell_text(describe_action(event->actions[i], text))});
	render_table_close(render);
}

enum { NAME, ID, SCREEN, INPUT, RATE_PASSES, RATE_PER_NS, QUALITY, ROTATE_NS, RANDOMIZE, FIELDS };

static void view_head(struct render *render, const Condprof__Scenario *scenario)
{
	static const struct field fields[FIELDS] = {
		[NAME] = {.name = "name"},
		[ID] = {.name = "id"},
		[SCREEN] = {.name = "screen"},
		[INPUT] = {.name = "input"},
		[RATE_PASSES] = {.name = "rate.passes"},
		[RATE_PER_NS] = {.name = "rate.per_ns"},
		[QUALITY] = {.name = "quality"},
		[ROTATE_NS] = {.name = "rotate_ns"},
		[RANDOMIZE] = {.name = "randomize"},
	};
	const Condprof__Rate *rate = scenario->rate;
	bool limited = !rate || rate->passes > 0;

	render_values(render, fields, FIELDS,
		      (struct cell[]){
			      [NAME] = cell_text(scenario->name),
			      [ID] = cell_if(scenario->has_id, cell_count(scenario->id)),
			      [SCREEN] = cell_text(scenario->screen),
			      [INPUT] = cell_text(scenario->input),
			      [RATE_PASSES] = cell_if(limited, cell_number(rate ? rate->passes : 10)),
			      [RATE_PER_NS] = cell_if(limited, cell_duration(rate ? rate->per_ns : NSEC_PER_SEC)),
			      [QUALITY] = cell_if(scenario->has_quality, cell_count(scenario->quality)),
			      [ROTATE_NS] = cell_if(scenario->has_rotate_ns, cell_duration(scenario->rotate_ns)),
			      [RANDOMIZE] = cell_flag(scenario->randomize),
		      });
}

static void view_scenario(struct render *render, const Condprof__Scenario *scenario)
{
	static const struct group group = {.field = {.name = "scenario"}, .layout = LAYOUT_NONE};

	render_open(render, &group);
	view_head(render, scenario);
	view_counters(render, scenario);
	render_table_open(render, &events_table);
	for (size_t i = 0; i < scenario->n_screen_events; i++)
		view_event(render, scenario->screen_events[i], false);
	for (size_t i = 0; i < scenario->n_trigger_events; i++)
		view_event(render, scenario->trigger_events[i], true);
	render_table_close(render);
	render_close(render);
}

void view_scenario_check(struct render *render, const char *name, const struct scenario_file *file)
{
	static const struct field file_field = {.name = "file"}, valid = {.name = "valid"},
				  mistakes = {.name = "mistakes"};
	static const struct field no_scenario = {.name = "scenario"};
	const Condprof__Scenario *scenario = scenario_file_message(file);

	render_value(render, &file_field, cell_text(name));
	render_value(render, &valid, cell_flag(scenario != NULL));
	render_value(render, &mistakes, cell_count((int64_t)scenario_file_errors(file)));
	if (scenario)
		view_scenario(render, scenario);
	else
		render_value(render, &no_scenario, cell_null());
	view_diagnostics(render, file);
}
