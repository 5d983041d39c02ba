// SPDX-License-Identifier: GPL-3.0-or-later
//
// Installed scenarios as rows. One without a scenario's name is a file that is damaged.
#include "config.h"

#include "client/view/installed.h"

enum { NAME, SCENARIO, BYTES, INSTALLED, FIELDS };

static const struct field fields[FIELDS] = {
	[NAME] = {.name = "name", .title = "Name"},
	[SCENARIO] = {.name = "scenario", .title = "Scenario", .spare = 1},
	[BYTES] = {.name = "bytes", .title = "Bytes", .number = true, .spare = 3},
	[INSTALLED] = {.name = "installed", .title = "Installed", .spare = 2},
};

static void fill(const Condprof__InstalledScenario *scenario, struct cell cells[FIELDS])
{
	cells[NAME] = cell_text(scenario->name);
	cells[SCENARIO] = cell_text(scenario->scenario);
	cells[BYTES] = cell_if(scenario->has_bytes, cell_count((int64_t)scenario->bytes));
	cells[INSTALLED] = cell_if(scenario->has_installed_unix_ns, cell_moment(scenario->installed_unix_ns));
}

void view_scenarios(struct render *render, const Condprof__InstalledScenario *const *scenarios, size_t n)
{
	static const struct table table = {
		.field = {.name = "scenarios", .title = ""},
		.columns = fields,
		.n_columns = FIELDS,
		.main = true,
		.empty = "No scenario is installed.",
	};

	render_table_open(render, &table);
	for (size_t i = 0; i < n; i++) {
		struct cell cells[FIELDS];

		fill(scenarios[i], cells);
		render_row(render, cells);
	}
	render_table_close(render);
}

/// People get its name alone, machines all of it under `name`.
static void view_one(struct render *render, const char *name, const Condprof__InstalledScenario *scenario)
{
	const struct field replaced = {.name = "replaced"};
	const struct group group = {.field = {.name = name}, .layout = LAYOUT_NONE};
	struct field for_machines[FIELDS];
	struct cell cells[FIELDS];

	if (render_for_people(render)) {
		render_say(render, "%s", scenario->name);
		return;
	}
	for (size_t i = 0; i < FIELDS; i++)
		for_machines[i] = (struct field){.name = fields[i].name};
	fill(scenario, cells);
	render_open(render, &group);
	render_values(render, for_machines, FIELDS, cells);
	if (scenario->has_replaced)
		render_value(render, &replaced, cell_flag(scenario->replaced));
	render_close(render);
}

void view_installed(struct render *render, const Condprof__InstalledScenario *scenario)
{
	view_one(render, "installed", scenario);
}

void view_removed(struct render *render, const Condprof__InstalledScenario *scenario)
{
	view_one(render, "removed", scenario);
}
