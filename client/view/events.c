// SPDX-License-Identifier: GPL-3.0-or-later
//
// The events view: what an event's conditions cost, fulfilled or not, and what came of it. People see the most
// expensive first, because an expensive event that never fires is what they look for; machines get the scenario's
// order.
#include "config.h"

#include "client/view/report.h"

#include <errno.h>
#include <stdio.h>

enum column {
	COLUMN_ID,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_EVALUATED,
	COLUMN_FULFILLED,
	COLUMN_DISABLED,
	COLUMN_COOLING,
	COLUMN_ENDED_BEFORE,
	COLUMN_FIRST,
	COLUMN_LAST,
	COLUMN_MEAN_GAP,
	COLUMN_CONDITIONS,
	COLUMN_SHARE,
	COLUMN_DETECTING,
	COLUMN_CHECKING,
	COLUMN_ACTING,
	COLUMN_ACTING_SHARE,
	COLUMNS,
};

static const struct field columns[COLUMNS] = {
	[COLUMN_ID] = {.name = "id", .number = true, .page = "Id", .aside = true},
	[COLUMN_NAME] = {.name = "name", .title = "Event"},
	[COLUMN_KIND] = {.name = "kind", .title = "Kind", .spare = 9},
	[COLUMN_EVALUATED] = {.name = "evaluated", .title = "Evaluated", .number = true, .spare = 1},
	[COLUMN_FULFILLED] = {.name = "fulfilled", .title = "Fulfilled", .number = true},
	[COLUMN_DISABLED] = {.name = "disabled", .title = "Disabled", .number = true, .spare = 11},
	[COLUMN_COOLING] = {.name = "cooling", .title = "Cooling", .number = true, .spare = 12},
	[COLUMN_ENDED_BEFORE] = {.name = "ended_before", .title = "Ended before", .number = true, .spare = 13},
	[COLUMN_FIRST] = {.name = "first_ns", .title = "First", .number = true, .spare = 6},
	[COLUMN_LAST] = {.name = "last_ns", .title = "Last", .number = true, .spare = 7},
	[COLUMN_MEAN_GAP] = {.name = "mean_gap_ns", .title = "Mean gap", .number = true, .spare = 8},
	[COLUMN_CONDITIONS] = {.name = "conditions_ns", .title = "Conditions", .number = true},
	[COLUMN_SHARE] = {.name = "share", .title = "Share", .number = true},
	[COLUMN_DETECTING] = {.name = "detecting_ns", .title = "Detecting", .number = true, .spare = 5},
	[COLUMN_CHECKING] = {.name = "checking_ns", .title = "Checking", .number = true, .spare = 3},
	[COLUMN_ACTING] = {.name = "acting_ns", .title = "Acting", .number = true, .spare = 2},
	[COLUMN_ACTING_SHARE] = {.name = "acting_share", .title = "Acting share", .number = true, .spare = 10},
};

static void detail_cells(const Condprof__EventDetail *detail, double acting_total_ns, struct cell *cells)
{
	for (size_t i = COLUMN_EVALUATED; i < COLUMNS; i++)
		cells[i] = cell_null();
	if (!detail)
		return;
	bool fulfilled = detail->fulfilled > 0;
	cells[COLUMN_EVALUATED] = cell_count(detail->evaluated);
	cells[COLUMN_FULFILLED] = cell_count(detail->fulfilled);
	cells[COLUMN_DISABLED] = cell_count(detail->disabled);
	cells[COLUMN_COOLING] = cell_count(detail->cooling_down);
	cells[COLUMN_ENDED_BEFORE] = cell_count(detail->ended_before);
	cells[COLUMN_FIRST] = cell_if(fulfilled && detail->has_first_ns, cell_duration(detail->first_ns));
	cells[COLUMN_LAST] = cell_if(fulfilled && detail->has_last_ns, cell_duration(detail->last_ns));
	cells[COLUMN_DETECTING] = cell_duration(detail->detecting_ns);
	cells[COLUMN_CHECKING] = cell_duration(detail->checking_ns);
	cells[COLUMN_ACTING] = cell_duration(detail->acting_ns);
	cells[COLUMN_ACTING_SHARE] = cell_share(acting_total_ns > 0 ? (double)detail->acting_ns / acting_total_ns : 0);
}

static void event_cells(const struct report_event *event, double acting_total_ns, struct cell *cells)
{
	detail_cells(event->detail, acting_total_ns, cells);
	cells[COLUMN_ID] = cell_count(event->id);
	cells[COLUMN_NAME] = cell_text(event->name);
	cells[COLUMN_KIND] = cell_if(event->known, cell_text(event->trigger ? "trigger" : "screen"));
	cells[COLUMN_MEAN_GAP] = cell_maybe_duration(event_mean_gap(event));
	cells[COLUMN_CONDITIONS] = cell_maybe_duration(event->conditions_ns);
	cells[COLUMN_SHARE] = cell_if(event->conditions_ns.known, cell_share(event->share));
}

static double acting_total(const struct report *report)
{
	double total = 0;

	for (size_t i = 0; i < report->n_events; i++)
		if (report->events[i].detail)
			total += (double)report->events[i].detail->acting_ns;
	return total;
}

/// Every one by name: that a rule never fires is often what one is looking for.
static int say_never_fulfilled(struct render *render, const struct report *report, const size_t *indices, size_t n)
{
	char *names = NULL;
	size_t size, never = 0;
	FILE *out = open_memstream(&names, &size);

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct report_event *event = &report->events[indices[i]];

		if (event->detail && event->detail->fulfilled == 0)
			fprintf(out, "%s%s", never++ > 0 ? ", " : "", event->name);
	}
	fclose(out);
	if (never > 0)
		render_say(render, "Never fulfilled: %s.", names);
	free(names);
	return 0;
}

int view_events(struct render *render, const struct report *report, const struct view_options *options)
{
	struct table table = {
		.field = {.name = "events", .title = ""},
		.columns = columns,
		.n_columns = COLUMNS,
		.main = true,
		.empty = report->n_events > 0 ? "No event fits." : "This report knows no events.",
	};
	struct view_options sorted = *options;
	CLEANUP_FREE size_t *indices = NULL;
	size_t n;

	if (sorted.sort == SORT_DEFAULT)
		sorted.sort = render_for_people(render) ? SORT_TOTAL : SORT_ORDER;
	int r = view_select_events(report, &sorted, &indices, &n);
	if (r < 0)
		return r;
	double acting_total_ns = acting_total(report);
	table.rows = n;
	render_table_open(render, &table);
	for (size_t i = 0; i < n; i++) {
		struct cell cells[COLUMNS];

		event_cells(&report->events[indices[i]], acting_total_ns, cells);
		render_row(render, cells);
	}
	render_table_close(render);
	if (!render_for_people(render) || n == 0)
		return 0;
	render_say(
		render,
		"Conditions and Share: the checks of all its conditions, fulfilled or not. Detecting (since the "
		"event before was done), checking and acting: of its occurrences alone. Acting share: of the acting of "
		"all events.");
	return say_never_fulfilled(render, report, indices, n);
}
