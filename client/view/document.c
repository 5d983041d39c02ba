// SPDX-License-Identifier: GPL-3.0-or-later
//
// A report as one document of all views, for outputs that are a page: the session once, then each view under its own
// heading. The timeline comes last, and is written as occurrences come.
#include "config.h"

#include "client/view/report.h"

static const struct group parts[VIEW_KINDS] = {
	[VIEW_OVERVIEW] = {.field = {.name = "overview"}, .layout = LAYOUT_PAGE},
	[VIEW_CONDITIONS] = {.field = {.name = "conditions", .title = "Conditions"}, .layout = LAYOUT_PAGE},
	[VIEW_EVENTS] = {.field = {.name = "events", .title = "Events"}, .layout = LAYOUT_PAGE},
	[VIEW_TIMELINE] = {.field = {.name = "timeline", .title = "Timeline"}, .layout = LAYOUT_PAGE},
};

int view_document_begin(struct render *render, const struct report *report, bool whole_timeline)
{
	const struct view_options options = {0};

	render_open(render, &parts[VIEW_OVERVIEW]);
	view_report_begin(render, VIEW_OVERVIEW, report);
	int overview = view_overview(render, report);
	view_report_end(render, report);
	render_close(render);
	render_open(render, &parts[VIEW_CONDITIONS]);
	int conditions = view_conditions(render, report, &options);
	render_close(render);
	render_open(render, &parts[VIEW_EVENTS]);
	int events = view_events(render, report, &options);
	render_close(render);
	render_open(render, &parts[VIEW_TIMELINE]);
	if (!whole_timeline)
		render_say(render, "This page was asked for a part of the timeline only; all other figures are of the "
				   "whole session.");
	return overview < 0 ? overview : conditions < 0 ? conditions : events;
}

void view_document_end(struct render *render, const struct report *report, int damage_said)
{
	view_damage(render, report->damage & ~damage_said);
	render_close(render);
}
