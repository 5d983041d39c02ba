// SPDX-License-Identifier: GPL-3.0-or-later
//
// Conditions side by side: those of both reports by what they changed a pass, then those of one alone.
#include "config.h"

#include "client/view/diff-internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define INTERVAL_SIZE (2 * FORMAT_SIZE + 8)

static struct maybe rounded(double ns)
{
	bool fits = fabs(ns) < 0x1p62;

	return maybe_if(fits, fits ? llround(ns) : 0);
}

enum condition_column {
	COLUMN_EVENT,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_IN,
	COLUMN_MATCHED_BY,
	COLUMN_REDEFINED,
	COLUMN_BASE,
	COLUMN_NEW = COLUMN_BASE + DIFF_METRICS,
	COLUMN_DELTA = COLUMN_NEW + DIFF_METRICS,
	COLUMN_PERCENT = COLUMN_DELTA + DIFF_METRICS,
	COLUMN_LOW = COLUMN_PERCENT + DIFF_METRICS,
	COLUMN_HIGH,
	COLUMN_DEGREES,
	COLUMN_EXCEEDS,
	COLUMN_CHANGE, ///< this and the next are for people
	COLUMN_INTERVAL,
	COLUMN_VERDICT,
	COLUMN_CHECKS_TEXT,
	COLUMN_P50_TEXT,
	COLUMN_P99_TEXT,
	COLUMNS,
};

static const struct field condition_columns[COLUMNS] = {
	[COLUMN_EVENT] = {.name = "event", .title = "Event", .spare = 3},
	[COLUMN_NAME] = {.name = "name", .title = "Condition"},
	[COLUMN_KIND] = {.name = "kind"},
	[COLUMN_IN] = {.name = "in"},
	[COLUMN_MATCHED_BY] = {.name = "matched_by"},
	[COLUMN_REDEFINED] = {.name = "redefined"},
	[COLUMN_BASE + METRIC_CHECKS] = {.name = "base.checks"},
	[COLUMN_BASE + METRIC_FULFILLED] = {.name = "base.fulfilled"},
	[COLUMN_BASE + METRIC_AVERAGE] = {.name = "base.average_ns", .title = "Base", .number = true},
	[COLUMN_BASE + METRIC_P50] = {.name = "base.p50_ns"},
	[COLUMN_BASE + METRIC_P90] = {.name = "base.p90_ns"},
	[COLUMN_BASE + METRIC_P99] = {.name = "base.p99_ns"},
	[COLUMN_BASE + METRIC_MAX] = {.name = "base.max_ns"},
	[COLUMN_BASE + METRIC_TOTAL] = {.name = "base.total_ns"},
	[COLUMN_BASE + METRIC_PASS] = {.name = "base.pass_ns"},
	[COLUMN_NEW + METRIC_CHECKS] = {.name = "new.checks"},
	[COLUMN_NEW + METRIC_FULFILLED] = {.name = "new.fulfilled"},
	[COLUMN_NEW + METRIC_AVERAGE] = {.name = "new.average_ns", .title = "New", .number = true},
	[COLUMN_NEW + METRIC_P50] = {.name = "new.p50_ns"},
	[COLUMN_NEW + METRIC_P90] = {.name = "new.p90_ns"},
	[COLUMN_NEW + METRIC_P99] = {.name = "new.p99_ns"},
	[COLUMN_NEW + METRIC_MAX] = {.name = "new.max_ns"},
	[COLUMN_NEW + METRIC_TOTAL] = {.name = "new.total_ns"},
	[COLUMN_NEW + METRIC_PASS] = {.name = "new.pass_ns"},
	[COLUMN_DELTA + METRIC_CHECKS] = {.name = "delta.checks"},
	[COLUMN_DELTA + METRIC_FULFILLED] = {.name = "delta.fulfilled"},
	[COLUMN_DELTA + METRIC_AVERAGE] =
		{.name = "delta.average_ns", .title = "Difference", .number = true, .plus = true, .spare = 2},
	[COLUMN_DELTA + METRIC_P50] = {.name = "delta.p50_ns"},
	[COLUMN_DELTA + METRIC_P90] = {.name = "delta.p90_ns"},
	[COLUMN_DELTA + METRIC_P99] = {.name = "delta.p99_ns"},
	[COLUMN_DELTA + METRIC_MAX] = {.name = "delta.max_ns"},
	[COLUMN_DELTA + METRIC_TOTAL] = {.name = "delta.total_ns"},
	[COLUMN_DELTA +
		METRIC_PASS] = {.name = "delta.pass_ns", .title = "Per pass", .number = true, .plus = true, .spare = 5},
	[COLUMN_PERCENT + METRIC_CHECKS] = {.name = "percent.checks"},
	[COLUMN_PERCENT + METRIC_FULFILLED] = {.name = "percent.fulfilled"},
	[COLUMN_PERCENT + METRIC_AVERAGE] = {.name = "percent.average"},
	[COLUMN_PERCENT + METRIC_P50] = {.name = "percent.p50"},
	[COLUMN_PERCENT + METRIC_P90] = {.name = "percent.p90"},
	[COLUMN_PERCENT + METRIC_P99] = {.name = "percent.p99"},
	[COLUMN_PERCENT + METRIC_MAX] = {.name = "percent.max"},
	[COLUMN_PERCENT + METRIC_TOTAL] = {.name = "percent.total"},
	[COLUMN_PERCENT + METRIC_PASS] = {.name = "percent.pass"},
	[COLUMN_LOW] = {.name = "interval.low_ns"},
	[COLUMN_HIGH] = {.name = "interval.high_ns"},
	[COLUMN_DEGREES] = {.name = "interval.degrees"},
	[COLUMN_EXCEEDS] = {.name = "exceeds_spread"},
	[COLUMN_CHANGE] = {.title = "Change", .number = true},
	[COLUMN_INTERVAL] = {.title = "Between (95 %)", .number = true, .spare = 4},
	[COLUMN_VERDICT] = {.title = "Verdict", .spare = 1},
	[COLUMN_CHECKS_TEXT] = {.title = "Checks", .number = true, .spare = 6},
	[COLUMN_P50_TEXT] = {.title = "p50", .number = true, .spare = 7},
	[COLUMN_P99_TEXT] = {.title = "p99", .number = true, .spare = 8},
};

/// What the cells of a row point to.
struct row_texts {
	char change[FORMAT_SIZE], p50[FORMAT_SIZE], p99[FORMAT_SIZE], checks[FORMAT_SIZE];
	char interval[INTERVAL_SIZE];
};

static struct maybe figure_of(const struct report *report, const struct report_condition *condition,
			      enum diff_metric metric)
{
	return condition ? diff_metric(report, condition, metric) : maybe_if(false, 0);
}

static void condition_figures(const struct report_diff *diff, const struct condition_pair *pair, struct cell *cells)
{
	for (int i = 0; i < DIFF_METRICS; i++) {
		enum diff_metric metric = (enum diff_metric)i;

		diff_figure_cells(figure_of(diff->base, pair->base, metric), figure_of(diff->new, pair->new, metric),
				  metric != METRIC_CHECKS && metric != METRIC_FULFILLED, &cells[COLUMN_BASE + i],
				  DIFF_METRICS);
	}
	double percent = 0;
	bool known = diff_pair_percent(diff, pair, METRIC_AVERAGE, &percent);
	cells[COLUMN_PERCENT + METRIC_AVERAGE] = cell_if(known, cell_number(percent));
}

static const char *interval_text(const struct render *render, const struct condition_pair *pair,
				 char out[INTERVAL_SIZE])
{
	struct maybe low = rounded(pair->means.low), high = rounded(pair->means.high);
	char first[FORMAT_SIZE], second[FORMAT_SIZE];
	bool ascii = render_style(render)->ascii;

	if (!pair->has_means || !low.known || !high.known)
		return NULL;
	snprintf(out, INTERVAL_SIZE, "%s and %s", format_duration(low.value, true, ascii, first),
		 format_duration(high.value, true, ascii, second));
	return out;
}

static struct cell verdict_cell(const struct condition_pair *pair, int64_t min_checks)
{
	if (!pair->has_means)
		return cell_null();
	if (pair->base->checks < min_checks || pair->new->checks < min_checks)
		return cell_with(cell_text("too few checks"), EMPHASIS_FAINT);
	if (!pair->means.exceeds_spread)
		return cell_text("within the spread");
	return pair->means.difference > 0 ? cell_with(cell_text("slower"), EMPHASIS_BAD)
					  : cell_with(cell_text("faster"), EMPHASIS_GOOD);
}

static void condition_texts(const struct render *render, const struct report_diff *diff,
			    const struct condition_pair *pair, int64_t min_checks, struct row_texts *texts,
			    struct cell *cells)
{
	struct maybe base[DIFF_METRICS], new[DIFF_METRICS];
	double percent = 0;
	bool known = diff_pair_percent(diff, pair, METRIC_AVERAGE, &percent);

	for (int i = 0; i < DIFF_METRICS; i++) {
		base[i] = figure_of(diff->base, pair->base, (enum diff_metric)i);
		new[i] = figure_of(diff->new, pair->new, (enum diff_metric)i);
	}
	cells[COLUMN_CHANGE] = cell_text(diff_percent_text(known, percent, texts->change));
	cells[COLUMN_INTERVAL] = cell_text(interval_text(render, pair, texts->interval));
	cells[COLUMN_VERDICT] = verdict_cell(pair, min_checks);
	cells[COLUMN_CHECKS_TEXT] =
		cell_text(diff_both_text(render, base[METRIC_CHECKS], new[METRIC_CHECKS], texts->checks));
	cells[COLUMN_P50_TEXT] = cell_text(diff_change_text(base[METRIC_P50], new[METRIC_P50], texts->p50));
	cells[COLUMN_P99_TEXT] = cell_text(diff_change_text(base[METRIC_P99], new[METRIC_P99], texts->p99));
}

/// Named as in the new report, where it has it.
static void condition_cells(const struct report_diff *diff, const struct condition_pair *pair, struct cell *cells)
{
	const struct report_condition *either = pair->new ? pair->new : pair->base;
	bool both = pair->base && pair->new;
	struct maybe low = rounded(pair->means.low), high = rounded(pair->means.high);

	cells[COLUMN_EVENT] = cell_text(diff_event_name(pair->new ? diff->new : diff->base, either));
	cells[COLUMN_NAME] = cell_text(either->name);
	cells[COLUMN_KIND] = cell_text(either->kind);
	cells[COLUMN_IN] = cell_text(diff_whose(pair->base, pair->new));
	cells[COLUMN_MATCHED_BY] = cell_if(both, cell_text(pair->by_id ? "id" : "name"));
	cells[COLUMN_REDEFINED] = cell_if(both, cell_flag(pair->redefined));
	condition_figures(diff, pair, cells);
	cells[COLUMN_LOW] = cell_if(pair->has_means, cell_maybe_duration(low));
	cells[COLUMN_HIGH] = cell_if(pair->has_means, cell_maybe_duration(high));
	cells[COLUMN_DEGREES] =
		cell_if(pair->has_means && isfinite(pair->means.degrees), cell_number(pair->means.degrees));
	cells[COLUMN_EXCEEDS] = cell_if(pair->has_means, cell_flag(pair->means.exceeds_spread));
}

/// A place in the order: what changed a pass most comes first, what is not known last.
struct order {
	size_t place;
	struct maybe size;
};

static int compare_order(const void *a, const void *b)
{
	const struct order *left = a, *right = b;

	if (left->size.known != right->size.known)
		return left->size.known ? -1 : 1;
	if (left->size.value != right->size.value)
		return left->size.value > right->size.value ? -1 : 1;
	return (left->place > right->place) - (left->place < right->place);
}

static struct order *order_conditions(const struct report_diff *diff)
{
	struct order *order = calloc(diff->n_conditions + 1, sizeof(*order));

	for (size_t i = 0; order && i < diff->n_common_conditions; i++) {
		const struct condition_pair *pair = &diff->conditions[i];
		struct maybe delta = diff_delta(figure_of(diff->base, pair->base, METRIC_PASS),
						figure_of(diff->new, pair->new, METRIC_PASS));

		order[i] = (struct order){
			i, maybe_if(delta.known, delta.value < 0 ? -MAX(delta.value, -INT64_MAX) : delta.value)};
	}
	for (size_t i = diff->n_common_conditions; order && i < diff->n_conditions; i++)
		order[i] = (struct order){i, {0}};
	if (order)
		qsort(order, diff->n_common_conditions, sizeof(*order), compare_order);
	return order;
}

int view_diff_conditions(struct render *render, const struct report_diff *diff, int64_t min_checks)
{
	static const struct table table = {
		.field = {.name = "conditions", .title = "Conditions: their averages"},
		.columns = condition_columns,
		.n_columns = COLUMNS,
		.main = true,
		.empty = "No condition is in both reports.",
	};
	CLEANUP_FREE struct order *order = order_conditions(diff);
	size_t n = render_for_people(render) ? diff->n_common_conditions : diff->n_conditions;

	if (!order)
		return -ENOMEM;
	render_table_open(render, &table);
	for (size_t i = 0; i < n; i++) {
		const struct condition_pair *pair = &diff->conditions[order[i].place];
		struct cell cells[COLUMNS] = {0};
		struct row_texts texts;

		condition_cells(diff, pair, cells);
		if (render_for_people(render))
			condition_texts(render, diff, pair, min_checks, &texts, cells);
		render_row(render, cells);
	}
	render_table_close(render);
	return 0;
}

void view_diff_only_in(struct render *render, const struct report_diff *diff, bool new)
{
	static const struct field columns[] = {{.title = "Event", .spare = 1},
					       {.title = "Condition"},
					       {.title = "Checks", .number = true, .spare = 2},
					       {.title = "Average", .number = true}};
	const struct table table = {
		.field = {.title = new ? "Only in the new report" : "Only in the base"},
		.columns = columns,
		.n_columns = ARRAY_SIZE(columns),
	};

	render_table_open(render, &table);
	for (size_t i = diff->n_common_conditions; i < diff->n_conditions; i++) {
		const struct condition_pair *pair = &diff->conditions[i];
		const struct report_condition *condition = new ? pair->new : pair->base;

		if (condition)
			render_row(render, (struct cell[]){
						   cell_text(diff_event_name(new ? diff->new : diff->base, condition)),
						   cell_text(condition->name),
						   cell_if(condition->measured, cell_count(condition->checks)),
						   cell_maybe_duration(condition_average(condition)),
					   });
	}
	render_table_close(render);
}

int view_diff_redefined(struct render *render, const struct report_diff *diff)
{
	CLEANUP_FREE char *names = NULL;
	size_t size, count = 0;
	FILE *out = open_memstream(&names, &size);

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < diff->n_common_conditions; i++)
		if (diff->conditions[i].redefined)
			fprintf(out, "%s\"%s\"", count++ > 0 ? ", " : "", diff->conditions[i].new->name);
	fclose(out);
	if (count > 0)
		render_say(render, "Defined otherwise than in the base (image, area, threshold, …): %s.", names);
	return 0;
}
