// SPDX-License-Identifier: GPL-3.0-or-later
//
// The conditions view: what each condition cost. A condition that was never checked has counts of 0 and nothing else;
// one whose report does not tell has nothing at all.
#include "config.h"

#include "client/view/report.h"

#include "client/render/format.h"
#include "client/report/histogram.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define AREA_TEXT_SIZE 64

enum column {
	COLUMN_ID,
	COLUMN_EVENT,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_CHECKS,
	COLUMN_FULFILLED,
	COLUMN_REUSED,
	COLUMN_AVERAGE,
	COLUMN_MIN,
	COLUMN_MAX,
	COLUMN_P50,
	COLUMN_P90,
	COLUMN_P99,
	COLUMN_STDDEV,
	COLUMN_TOTAL,
	COLUMN_SHARE,
	COLUMN_DISTRIBUTION,
	COLUMN_MAX_PASS,
	COLUMN_MAX_AT,
	COLUMN_REUSED_TOTAL,
	COLUMN_SHARED,
	COLUMN_NOT_EVALUABLE,
	COLUMN_SHORT_CIRCUITED,
	COLUMN_DISABLED,
	COLUMN_COOLING,
	COLUMN_ENDED_BEFORE,
	COLUMN_FOUND_IN, ///< for people
	COLUMN_MATCHES,
	COLUMN_MATCH_X,
	COLUMN_MATCH_Y,
	COLUMN_MATCH_WIDTH,
	COLUMN_MATCH_HEIGHT,
	COLUMN_LAST_FULFILLED,
	COLUMN_LAST_CONFIDENCE,
	COLUMN_LAST_VALUE,
	COLUMNS,
};

static const struct field columns[COLUMNS] = {
	[COLUMN_ID] = {.name = "id", .number = true, .page = "Id", .aside = true},
	[COLUMN_EVENT] = {.name = "event", .title = "Event", .spare = 4},
	[COLUMN_NAME] = {.name = "name", .title = "Condition"},
	[COLUMN_KIND] = {.name = "kind", .title = "Kind", .spare = 9},
	[COLUMN_CHECKS] = {.name = "checks", .title = "Checks", .number = true, .spare = 1},
	[COLUMN_FULFILLED] = {.name = "fulfilled", .title = "Fulfilled", .number = true, .spare = 3},
	[COLUMN_REUSED] = {.name = "reused", .title = "Reused", .number = true, .spare = 13, .aside = true},
	[COLUMN_AVERAGE] = {.name = "average_ns", .title = "Average", .number = true, .spare = 2},
	[COLUMN_MIN] = {.name = "min_ns", .title = "Min", .number = true, .spare = 7},
	[COLUMN_MAX] = {.name = "max_ns", .title = "Max", .number = true, .spare = 5},
	[COLUMN_P50] = {.name = "p50_ns", .title = "p50", .number = true, .spare = 8},
	[COLUMN_P90] = {.name = "p90_ns", .number = true, .page = "p90", .aside = true},
	[COLUMN_P99] = {.name = "p99_ns", .title = "p99", .number = true, .spare = 6},
	[COLUMN_STDDEV] = {.name = "stddev_ns", .number = true, .page = "Std. deviation", .aside = true},
	[COLUMN_TOTAL] = {.name = "total_ns", .title = "Total", .number = true},
	[COLUMN_SHARE] = {.name = "share", .title = "Share", .number = true},
	[COLUMN_MAX_PASS] = {.name = "max_pass", .title = "Max in pass", .number = true, .spare = 10, .aside = true},
	[COLUMN_DISTRIBUTION] = {.page = "Distribution", .number = true, .spare = 5},
	[COLUMN_MAX_AT] = {.name = "max_at_ns", .title = "Max at", .number = true, .spare = 12, .aside = true},
	[COLUMN_REUSED_TOTAL] =
		{.name = "reused_total_ns", .title = "Reused total", .number = true, .spare = 14, .aside = true},
	[COLUMN_SHARED] = {.name = "shared_ns", .title = "Shared", .number = true, .spare = 11, .aside = true},
	[COLUMN_NOT_EVALUABLE] = {.name = "not_evaluable", .number = true, .page = "Not evaluable", .aside = true},
	[COLUMN_SHORT_CIRCUITED] = {.name = "short_circuited",
				    .number = true,
				    .page = "Event decided before",
				    .aside = true},
	[COLUMN_DISABLED] = {.name = "event_disabled", .number = true, .page = "Event disabled", .aside = true},
	[COLUMN_COOLING] = {.name = "event_cooling", .number = true, .page = "Event cooling", .aside = true},
	[COLUMN_ENDED_BEFORE] = {.name = "event_ended_before",
				 .number = true,
				 .page = "Pass ended before",
				 .aside = true},
	[COLUMN_FOUND_IN] = {.title = "Found in", .spare = 15, .aside = true},
	[COLUMN_MATCHES] = {.name = "matches", .number = true, .page = "Matches", .aside = true},
	[COLUMN_MATCH_X] = {.name = "match_area.x"},
	[COLUMN_MATCH_Y] = {.name = "match_area.y"},
	[COLUMN_MATCH_WIDTH] = {.name = "match_area.width"},
	[COLUMN_MATCH_HEIGHT] = {.name = "match_area.height"},
	[COLUMN_LAST_FULFILLED] = {.name = "last.fulfilled", .page = "Last check fulfilled", .aside = true},
	[COLUMN_LAST_CONFIDENCE] = {.name = "last.confidence",
				    .number = true,
				    .page = "Last confidence",
				    .aside = true},
	[COLUMN_LAST_VALUE] = {.name = "last.value", .number = true, .page = "Last value", .aside = true},
};

static const Condprof__EventDetail *event_detail(const struct report *report, const struct report_condition *condition)
{
	return condition->event == REPORT_NO_EVENT ? NULL : report->events[condition->event].detail;
}

static void timing_cells(const struct report_condition *condition, struct cell *cells)
{
	bool measured = condition->measured, checked = measured && condition->checks > 0;

	cells[COLUMN_CHECKS] = cell_if(measured, cell_count(condition->checks));
	cells[COLUMN_FULFILLED] = cell_if(measured, cell_count(condition->fulfilled));
	cells[COLUMN_AVERAGE] = cell_maybe_duration(condition_average(condition));
	cells[COLUMN_MIN] = cell_if(checked, cell_duration(condition->min_ns));
	cells[COLUMN_MAX] = cell_if(checked, cell_duration(condition->max_ns));
	cells[COLUMN_P50] = cell_maybe_duration(condition_percentile(condition, 500));
	cells[COLUMN_P90] = cell_maybe_duration(condition_percentile(condition, 900));
	cells[COLUMN_P99] = cell_maybe_duration(condition_percentile(condition, 990));
	cells[COLUMN_STDDEV] = cell_maybe_duration(condition_deviation(condition));
	cells[COLUMN_TOTAL] = cell_if(measured, cell_duration(condition->total_ns));
	cells[COLUMN_SHARE] = cell_if(measured, cell_share(condition->share));
}

/// A checked condition's detail without the field was never touched by it: 0 where the detail is ours.
static void detail_cells(const struct report_condition *condition, struct cell *cells)
{
	const Condprof__ConditionDetail *detail = condition->detail;
	bool checked = condition->measured && condition->checks > 0;

	if (!detail) {
		cells[COLUMN_REUSED] = cells[COLUMN_REUSED_TOTAL] = cells[COLUMN_SHARED] = cell_null();
		cells[COLUMN_MAX_PASS] = cells[COLUMN_MAX_AT] = cell_null();
		cells[COLUMN_NOT_EVALUABLE] = cells[COLUMN_SHORT_CIRCUITED] = cell_null();
		return;
	}
	cells[COLUMN_REUSED] = cell_count(detail->reused_count);
	cells[COLUMN_REUSED_TOTAL] = cell_duration(detail->reused_duration_ns);
	cells[COLUMN_SHARED] = cell_duration(detail->shared_duration_ns);
	cells[COLUMN_MAX_PASS] = cell_if(checked && detail->has_max_pass, cell_count(detail->max_pass));
	cells[COLUMN_MAX_AT] = cell_if(checked && detail->has_max_at_ns, cell_duration(detail->max_at_ns));
	cells[COLUMN_NOT_EVALUABLE] = cell_count(detail->not_evaluable_count);
	cells[COLUMN_SHORT_CIRCUITED] = cell_count(detail->short_circuited_count);
}

/// The area around all places where an image was found.
static void match_cells(const struct report_condition *condition, char text[AREA_TEXT_SIZE], struct cell *cells)
{
	struct report_area area = {0};
	bool found = condition_match_area(condition, &area),
	     counted = condition->detail && condition->detail->has_match_count;

	if (found)
		snprintf(text, AREA_TEXT_SIZE, "[%d, %d, %d, %d]", area.x, area.y, area.width, area.height);
	cells[COLUMN_FOUND_IN] = cell_if(found, cell_text(text));
	cells[COLUMN_MATCHES] = cell_if(counted, cell_count(counted ? condition->detail->match_count : 0));
	cells[COLUMN_MATCH_X] = cell_if(found, cell_count(area.x));
	cells[COLUMN_MATCH_Y] = cell_if(found, cell_count(area.y));
	cells[COLUMN_MATCH_WIDTH] = cell_if(found, cell_count(area.width));
	cells[COLUMN_MATCH_HEIGHT] = cell_if(found, cell_count(area.height));
}

static void last_cells(const struct report_condition *condition, struct cell *cells)
{
	struct last_check last = condition_last(condition);

	cells[COLUMN_LAST_FULFILLED] = cell_if(last.known, cell_flag(last.fulfilled));
	cells[COLUMN_LAST_CONFIDENCE] = cell_if(last.has_confidence, cell_share(last.confidence));
	cells[COLUMN_LAST_VALUE] = cell_if(last.has_value, cell_number(last.value));
}

static const Condprof__Histogram *histogram_of(const struct report_condition *condition)
{
	return condition->detail ? condition->detail->histogram : NULL;
}

bool histogram_drawing(const Condprof__Histogram *histogram, struct histogram_cell *ret)
{
	int64_t count;

	if (!histogram || histogram_count(histogram, &count) < 0 || count == 0)
		return false;
	*ret = (struct histogram_cell){
		.counts = histogram->buckets,
		.n = histogram->n_buckets,
		.first = histogram->first_bucket,
		.zero = histogram->zero,
		.overflow = histogram->overflow,
		.axis_first = histogram->first_bucket,
		.axis_last = histogram->first_bucket + MAX((int)histogram->n_buckets - 1, 0),
	};
	return true;
}

/// All conditions are drawn along the same axis, so that what is further right took longer.
struct axis {
	int first, last;
};

static struct axis common_axis(const struct report *report)
{
	struct axis axis = {INT_MAX, -1};
	struct histogram_cell drawing;

	for (size_t i = 0; i < report->n_conditions; i++) {
		if (!histogram_drawing(histogram_of(&report->conditions[i]), &drawing) || drawing.n == 0)
			continue;
		axis.first = MIN(axis.first, drawing.axis_first);
		axis.last = MAX(axis.last, drawing.axis_last);
	}
	return axis.last < 0 ? (struct axis){0, 0} : axis;
}

static bool has_histograms(const struct report *report)
{
	struct histogram_cell drawing;

	for (size_t i = 0; i < report->n_conditions; i++)
		if (histogram_drawing(histogram_of(&report->conditions[i]), &drawing))
			return true;
	return false;
}

/// @param ret_drawing has to be there as long as the cell
static struct cell distribution(const struct report_condition *condition, struct axis axis,
				struct histogram_cell *ret_drawing)
{
	if (!histogram_drawing(histogram_of(condition), ret_drawing))
		return cell_null();
	ret_drawing->axis_first = axis.first;
	ret_drawing->axis_last = axis.last;
	return cell_histogram(ret_drawing);
}

static void condition_cells(const struct report *report, const struct report_condition *condition,
			    char text[AREA_TEXT_SIZE], struct cell *cells)
{
	const Condprof__EventDetail *event = event_detail(report, condition);

	cells[COLUMN_ID] = cell_count(condition->id);
	cells[COLUMN_EVENT] =
		cell_text(condition->event == REPORT_NO_EVENT ? NULL : report->events[condition->event].name);
	cells[COLUMN_NAME] = cell_text(condition->name);
	cells[COLUMN_KIND] = cell_text(condition->kind);
	timing_cells(condition, cells);
	detail_cells(condition, cells);
	match_cells(condition, text, cells);
	last_cells(condition, cells);
	cells[COLUMN_DISABLED] = cell_if(event, cell_count(event ? event->disabled : 0));
	cells[COLUMN_COOLING] = cell_if(event, cell_count(event ? event->cooling_down : 0));
	cells[COLUMN_ENDED_BEFORE] = cell_if(event, cell_count(event ? event->ended_before : 0));
}

static bool is_near_clock(const struct report *report, const struct report_condition *condition)
{
	struct maybe average = condition_average(condition);

	return report->overview->has_clock_pair_ns && average.known &&
	       average.value / 2 < report->overview->clock_pair_ns;
}

/// The columns that people see: those that say nothing in this report are left out.
static void choose_columns(const struct report *report, struct field *chosen)
{
	bool shared = false, max_pass = false, reused = false, found = false;
	struct report_area area;

	for (size_t i = 0; i < report->n_conditions; i++) {
		const Condprof__ConditionDetail *detail = report->conditions[i].detail;

		shared = shared || (detail && detail->shared_duration_ns > 0);
		max_pass = max_pass || (detail && detail->has_max_pass);
		found = found || condition_match_area(&report->conditions[i], &area);
		reused = reused || (detail && detail->reused_count > 0);
	}
	memcpy(chosen, columns, sizeof(columns));
	if (!shared)
		chosen[COLUMN_SHARED].title = NULL;
	if (!max_pass)
		chosen[COLUMN_MAX_PASS].title = chosen[COLUMN_MAX_AT].title = NULL;
	if (!found)
		chosen[COLUMN_FOUND_IN].title = chosen[COLUMN_MATCHES].page = NULL;
	if (!has_histograms(report))
		chosen[COLUMN_DISTRIBUTION].page = NULL;
	if (!reused)
		chosen[COLUMN_REUSED].title = chosen[COLUMN_REUSED_TOTAL].title = NULL;
}

static void explain(struct render *render, const struct report *report, const size_t *indices, size_t n)
{
	char total[FORMAT_SIZE], pair[FORMAT_SIZE];
	bool ascii = render_style(render)->ascii, near = false;

	for (size_t i = 0; i < n; i++)
		near = near || is_near_clock(report, &report->conditions[indices[i]]);
	if (report->conditions_total_ns > 0)
		render_say(
			render,
			"Share: of the elapsed time of all checks together (%s); not of the session, the processor or "
			"the battery.",
			format_duration(report->conditions_total_ns, false, ascii, total));
	if (render_is_whole(render) && has_histograms(report))
		render_say(render,
			   "Distribution: how many checks took how long, all conditions along one logarithmic axis; "
			   "what is further to the right took longer.");
	if (near)
		render_say(render,
			   "Averages below twice the cost of two clock reads (%s here) say little more than \"very "
			   "short\".",
			   format_duration(report->overview->clock_pair_ns, false, ascii, pair));
}

// --- never checked ---------------------------------------------------------------------------------------------------

static void add_why(FILE *out, const char **separator, int64_t count, const char *singular, const char *plural)
{
	if (count <= 0)
		return;
	fprintf(out, "%s%" PRId64 " %s", *separator, count, count == 1 ? singular : plural);
	*separator = ", ";
}

/// Why a condition was never checked; the caller's. NULL: out of memory
static char *why_never(const struct report *report, const struct report_condition *condition)
{
	const Condprof__EventDetail *event = event_detail(report, condition);
	int64_t decided = condition->detail ? condition->detail->short_circuited_count : 0;
	const char *separator = "";
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	add_why(out, &separator, decided, "time its event was decided before it",
		"times its event was decided before it");
	if (event) {
		add_why(out, &separator, event->disabled, "pass with its event disabled",
			"passes with its event disabled");
		add_why(out, &separator, event->cooling_down, "pass with its event cooling down",
			"passes with its event cooling down");
		add_why(out, &separator, event->ended_before, "pass that ended before its event",
			"passes that ended before its event");
	}
	if (!*separator)
		fputs(condition->detail ? "no pass came to it" : "this report does not say why", out);
	fclose(out);
	return text;
}

static void never_checked(struct render *render, const struct report *report, const size_t *indices, size_t n)
{
	static const struct field fields[] = {
		{.title = "Event", .spare = 1},
		{.title = "Condition"},
		{.title = "Why"},
	};
	static const struct table table = {
		.field = {.title = "Never checked"},
		.columns = fields,
		.n_columns = ARRAY_SIZE(fields),
	};

	render_table_open(render, &table);
	for (size_t i = 0; i < n; i++) {
		const struct report_condition *condition = &report->conditions[indices[i]];

		if (!condition->measured || condition->checks > 0)
			continue;
		CLEANUP_FREE char *why = why_never(report, condition);
		const char *event = condition->event == REPORT_NO_EVENT ? NULL : report->events[condition->event].name;

		render_row(render, (struct cell[]){cell_text(event), cell_text(condition->name), cell_text(why)});
	}
	render_table_close(render);
}

/// How often the others were not reached, and why: their checks alone would look as if they had seen every pass.
static void not_always_reached(struct render *render, const struct report *report, const size_t *indices, size_t n)
{
	static const struct field fields[] = {
		{.title = "Event", .spare = 1},
		{.title = "Condition"},
		{.title = "Checks", .number = true, .spare = 2},
		{.title = "Decided before", .number = true},
		{.title = "Disabled", .number = true},
		{.title = "Cooling", .number = true},
		{.title = "Ended before", .number = true},
	};
	static const struct table table = {
		.field = {.title = "Not always reached"},
		.columns = fields,
		.n_columns = ARRAY_SIZE(fields),
	};

	render_table_open(render, &table);
	for (size_t i = 0; i < n; i++) {
		const struct report_condition *condition = &report->conditions[indices[i]];
		const Condprof__EventDetail *event = event_detail(report, condition);
		int64_t decided = condition->detail ? condition->detail->short_circuited_count : 0,
			disabled = event ? event->disabled : 0, cooling = event ? event->cooling_down : 0,
			ended = event ? event->ended_before : 0;

		if (condition->checks == 0 || (decided <= 0 && disabled <= 0 && cooling <= 0 && ended <= 0))
			continue;
		render_row(render, (struct cell[]){
					   cell_text(event ? report->events[condition->event].name : NULL),
					   cell_text(condition->name),
					   cell_count(condition->checks),
					   cell_if(condition->detail, cell_count(decided)),
					   cell_if(event, cell_count(disabled)),
					   cell_if(event, cell_count(cooling)),
					   cell_if(event, cell_count(ended)),
				   });
	}
	render_table_close(render);
}

int view_conditions(struct render *render, const struct report *report, const struct view_options *options)
{
	struct field chosen[COLUMNS];
	struct table table = {
		.field = {.name = "conditions", .title = ""},
		.columns = chosen,
		.n_columns = COLUMNS,
		.main = true,
		.empty = report->n_conditions > 0 ? "No condition fits." : "This report knows no conditions.",
	};
	CLEANUP_FREE size_t *indices = NULL;
	size_t n;
	int r = view_select_conditions(report, options, &indices, &n);

	if (r < 0)
		return r;
	table.rows = n;
	const struct axis axis = common_axis(report);
	choose_columns(report, chosen);
	render_table_open(render, &table);
	for (size_t i = 0; i < n; i++) {
		const struct report_condition *condition = &report->conditions[indices[i]];
		struct histogram_cell drawing;
		struct cell cells[COLUMNS];
		char area[AREA_TEXT_SIZE];

		condition_cells(report, condition, area, cells);
		cells[COLUMN_DISTRIBUTION] = distribution(condition, axis, &drawing);
		if (is_near_clock(report, condition))
			cells[COLUMN_AVERAGE].emphasis = EMPHASIS_FAINT;
		render_row(render, cells);
	}
	render_table_close(render);
	if (!render_for_people(render) || n == 0)
		return 0;
	explain(render, report, indices, n);
	never_checked(render, report, indices, n);
	not_always_reached(render, report, indices, n);
	return 0;
}
