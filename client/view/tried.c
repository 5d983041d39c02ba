// SPDX-License-Identifier: GPL-3.0-or-later
//
// One row a condition. People see one candidate: the match, or the best one where nothing was found; what takes a
// sentence (why a condition could not be evaluated, which candidate is nearer to being found than the best) stands
// below the table.
#include "config.h"

#include "client/view/tried.h"

#include "client/render/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum tried_column {
	COLUMN_NUMBER,
	COLUMN_ID,
	COLUMN_EVENT,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_PRESENT,
	COLUMN_AREA,
	COLUMN_NOT_TRIED = COLUMN_AREA + 4,
	COLUMN_NOT_EVALUABLE,
	COLUMN_FOUND,
	COLUMN_FULFILLED,
	COLUMN_SCORE,
	COLUMN_COLOUR,
	COLUMN_X,
	COLUMN_Y,
	COLUMN_PLACE,
	COLUMN_BEST = COLUMN_PLACE + 4,
	COLUMN_LEAST = COLUMN_BEST + 4,
	COLUMN_TEXT = COLUMN_LEAST + 4,
	COLUMN_READ_NUMBER,
	COLUMN_THRESHOLD,
	COLUMN_NEEDED,
	COLUMN_DURATION,
	COLUMN_RESULT, ///< this and the next are for people
	COLUMN_SCORE_TEXT,
	COLUMN_WHERE_TEXT,
	COLUMN_COLOUR_TEXT,
	COLUMN_THRESHOLD_TEXT,
	COLUMN_NEEDED_TEXT,
	COLUMN_DURATION_TEXT,
	COLUMNS,
};

static const struct field columns[COLUMNS] = {
	[COLUMN_NUMBER] = {.title = "#", .number = true, .spare = 7},
	[COLUMN_ID] = {.name = "id"},
	[COLUMN_EVENT] = {.name = "event", .title = "Event", .spare = 4},
	[COLUMN_NAME] = {.name = "name", .title = "Condition"},
	[COLUMN_KIND] = {.name = "kind", .title = "Kind", .spare = 6},
	[COLUMN_PRESENT] = {.name = "present"},
	[COLUMN_AREA] = {.name = "area.x"},
	[COLUMN_AREA + 1] = {.name = "area.y"},
	[COLUMN_AREA + 2] = {.name = "area.width"},
	[COLUMN_AREA + 3] = {.name = "area.height"},
	[COLUMN_NOT_TRIED] = {.name = "not_tried"},
	[COLUMN_NOT_EVALUABLE] = {.name = "not_evaluable"},
	[COLUMN_FOUND] = {.name = "found"},
	[COLUMN_FULFILLED] = {.name = "fulfilled"},
	[COLUMN_SCORE] = {.name = "score"},
	[COLUMN_COLOUR] = {.name = "colour_difference"},
	[COLUMN_X] = {.name = "x"},
	[COLUMN_Y] = {.name = "y"},
	[COLUMN_PLACE] = {.name = "place.x"},
	[COLUMN_PLACE + 1] = {.name = "place.y"},
	[COLUMN_PLACE + 2] = {.name = "place.width"},
	[COLUMN_PLACE + 3] = {.name = "place.height"},
	[COLUMN_BEST] = {.name = "best.score"},
	[COLUMN_BEST + 1] = {.name = "best.colour_difference"},
	[COLUMN_BEST + 2] = {.name = "best.x"},
	[COLUMN_BEST + 3] = {.name = "best.y"},
	[COLUMN_LEAST] = {.name = "nearest.score"},
	[COLUMN_LEAST + 1] = {.name = "nearest.colour_difference"},
	[COLUMN_LEAST + 2] = {.name = "nearest.x"},
	[COLUMN_LEAST + 3] = {.name = "nearest.y"},
	[COLUMN_TEXT] = {.name = "text"},
	[COLUMN_READ_NUMBER] = {.name = "number"},
	[COLUMN_THRESHOLD] = {.name = "threshold"},
	[COLUMN_NEEDED] = {.name = "needed_threshold"},
	[COLUMN_DURATION] = {.name = "duration_ns"},
	[COLUMN_RESULT] = {.title = "Result"},
	[COLUMN_SCORE_TEXT] = {.title = "Score", .number = true},
	[COLUMN_WHERE_TEXT] = {.title = "At", .number = true, .spare = 1},
	[COLUMN_COLOUR_TEXT] = {.title = "Colour", .number = true, .spare = 5},
	[COLUMN_THRESHOLD_TEXT] = {.title = "Threshold", .number = true, .spare = 3},
	[COLUMN_NEEDED_TEXT] = {.title = "Needs", .number = true, .spare = 2},
	[COLUMN_DURATION_TEXT] = {.title = "Time", .number = true, .spare = 4},
};

/// What the cells of a row point to.
struct row_texts {
	char score[FORMAT_SIZE], where[FORMAT_SIZE], colour[FORMAT_SIZE], threshold[PERCENT_SIZE], needed[PERCENT_SIZE],
		read[96];
};

char *percent_up(double percent, char out[PERCENT_SIZE])
{
	double tenths = ceil(percent * 10 - 1e-6);

	snprintf(out, PERCENT_SIZE, fmod(tenths, 10) == 0 ? "%.0f %%" : "%.1f %%", MAX(tenths, 0) / 10);
	return out;
}

/// As it was written: 4 %, 0.25 %.
static char *percent_exact(double percent, char out[PERCENT_SIZE])
{
	snprintf(out, PERCENT_SIZE, "%.6g %%", percent);
	return out;
}

static void area_cells(const Condprof__Area *area, struct cell cells[4])
{
	cells[0] = cell_if(area, cell_count(area ? area->x : 0));
	cells[1] = cell_if(area, cell_count(area ? area->y : 0));
	cells[2] = cell_if(area, cell_count(area ? area->width : 0));
	cells[3] = cell_if(area, cell_count(area ? area->height : 0));
}

static void candidate_cells(const Condprof__Candidate *candidate, struct cell cells[4])
{
	cells[0] = cell_if(candidate && candidate->has_score, cell_number(candidate ? candidate->score : 0));
	cells[1] = cell_if(candidate && candidate->has_colour_difference,
			   cell_number(candidate ? candidate->colour_difference : 0));
	cells[2] = cell_if(candidate && candidate->has_x, cell_count(candidate ? candidate->x : 0));
	cells[3] = cell_if(candidate && candidate->has_y, cell_count(candidate ? candidate->y : 0));
}

static void machine_cells(const Condprof__TriedCondition *c, struct cell *cells)
{
	cells[COLUMN_ID] = cell_if(c->has_id, cell_count(c->id));
	cells[COLUMN_EVENT] = cell_text(c->event);
	cells[COLUMN_NAME] = cell_text(c->name);
	cells[COLUMN_KIND] = cell_text(c->kind);
	cells[COLUMN_PRESENT] = cell_if(c->has_present, cell_flag(c->present));
	area_cells(c->area, &cells[COLUMN_AREA]);
	cells[COLUMN_NOT_TRIED] = cell_text(c->not_tried);
	cells[COLUMN_NOT_EVALUABLE] = cell_text(c->not_evaluable);
	cells[COLUMN_FOUND] = cell_if(c->has_found, cell_flag(c->found));
	cells[COLUMN_FULFILLED] = cell_if(c->has_fulfilled, cell_flag(c->fulfilled));
	candidate_cells(c->match, &cells[COLUMN_SCORE]);
	area_cells(c->match ? c->match->place : NULL, &cells[COLUMN_PLACE]);
	candidate_cells(c->best, &cells[COLUMN_BEST]);
	candidate_cells(c->least, &cells[COLUMN_LEAST]);
	cells[COLUMN_TEXT] = cell_text(c->text);
	cells[COLUMN_READ_NUMBER] = cell_if(c->has_number, cell_number(c->number));
	cells[COLUMN_THRESHOLD] = cell_if(c->has_threshold, cell_number(c->threshold));
	cells[COLUMN_NEEDED] = cell_if(c->has_needed_threshold, cell_number(c->needed_threshold));
	cells[COLUMN_DURATION] = cell_if(c->has_duration_ns, cell_duration(c->duration_ns));
}

/// Good is what the condition wants: also that nothing is found.
static struct cell result_cell(const Condprof__TriedCondition *c)
{
	if (c->not_tried)
		return cell_with(cell_text("not tried"), EMPHASIS_FAINT);
	if (c->not_evaluable)
		return cell_with(cell_text("not evaluable"), EMPHASIS_BAD);
	if (!c->has_present)
		return cell_with(cell_text(c->fulfilled ? "fulfilled"
					   : c->found   ? "not fulfilled"
							: "no number"),
				 c->fulfilled ? EMPHASIS_GOOD : EMPHASIS_NONE);
	if (!c->present)
		return cell_with(cell_text(c->found ? "found, unwanted" : "absent, as wanted"),
				 c->fulfilled ? EMPHASIS_GOOD : EMPHASIS_NONE);
	return cell_with(cell_text(c->found ? "found" : "not found"), c->found ? EMPHASIS_GOOD : EMPHASIS_NONE);
}

/// What was read: “Sign in”, or the number.
static const char *read_text(const struct render *render, const Condprof__TriedCondition *c, char *out, size_t size)
{
	char number[FORMAT_SIZE];

	if (c->has_number)
		return snprintf(out, size, "%s", format_number(c->number, number)), out;
	if (!c->text)
		return NULL;
	snprintf(out, size, render_style(render)->ascii ? "\"%.80s\"" : "“%.80s”", c->text);
	return out;
}

static void people_cells(const struct render *render, size_t number, const Condprof__TriedCondition *c,
			 struct row_texts *texts, struct cell *cells)
{
	const Condprof__Candidate *candidate = tried_candidate(c);
	bool score = candidate && candidate->has_score, colour = candidate && candidate->has_colour_difference,
	     place = candidate && candidate->has_x && candidate->has_y;

	if (score)
		snprintf(texts->score, sizeof(texts->score), "%s%.4f", c->match ? "" : "best ", candidate->score);
	if (place)
		snprintf(texts->where, sizeof(texts->where), "%d,%d", candidate->x, candidate->y);
	if (colour)
		snprintf(texts->colour, sizeof(texts->colour), "%.2f", candidate->colour_difference);
	cells[COLUMN_NUMBER] = cell_count((int64_t)number);
	cells[COLUMN_RESULT] = result_cell(c);
	cells[COLUMN_SCORE_TEXT] =
		score ? cell_text(texts->score) : cell_text(read_text(render, c, texts->read, sizeof(texts->read)));
	cells[COLUMN_WHERE_TEXT] = cell_if(place, cell_text(texts->where));
	cells[COLUMN_COLOUR_TEXT] = cell_if(colour, cell_text(texts->colour));
	cells[COLUMN_THRESHOLD_TEXT] =
		cell_if(c->has_threshold, cell_text(percent_exact(c->threshold, texts->threshold)));
	cells[COLUMN_NEEDED_TEXT] =
		cell_if(c->has_needed_threshold, cell_text(percent_up(c->needed_threshold, texts->needed)));
	cells[COLUMN_DURATION_TEXT] = cells[COLUMN_DURATION];
}

static void view_head(struct render *render, const char *scenario, const char *file, const struct tried *tried)
{
	static const struct group group = {.field = {.name = "picture"}, .layout = LAYOUT_NONE};
	static const struct field scenario_field = {.name = "scenario", .title = "Scenario"};
	static const struct field fields[] = {
		{.name = "file", .title = NULL},
		{.name = "screen", .title = NULL},
		{.name = "name", .title = NULL},
		{.name = "width", .title = NULL},
		{.name = "height", .title = NULL},
		{.title = "Picture"},
		{.title = "Size"},
	};
	char size[FORMAT_SIZE];
	CLEANUP_FREE char *source = NULL;

	snprintf(size, sizeof(size), "%dx%d px", tried->width, tried->height);
	if (!file && tried->screen && tried->name && asprintf(&source, "%s of %s", tried->name, tried->screen) < 0)
		source = NULL;
	render_value(render, &scenario_field, cell_text(scenario));
	render_open(render, &group);
	render_values(render, fields, ARRAY_SIZE(fields),
		      (struct cell[]){
			      cell_text(file),
			      cell_text(tried->screen),
			      cell_text(tried->name),
			      cell_count(tried->width),
			      cell_count(tried->height),
			      cell_text(file     ? file
					: source ? source
						 : tried->screen),
			      cell_text(size),
		      });
	render_close(render);
}

static bool differs(const Condprof__Candidate *a, const Condprof__Candidate *b)
{
	return a && b && (a->x != b->x || a->y != b->y);
}

/// What takes a sentence.
static void view_remarks(struct render *render, const struct tried *tried)
{
	char needed[PERCENT_SIZE];

	for (size_t i = 0; i < tried->n; i++) {
		const Condprof__TriedCondition *c = tried->conditions[i];

		if (c->not_evaluable)
			render_say(render, "%s cannot be evaluated: %s.", c->name, c->not_evaluable);
		else if (!c->found && differs(c->best, c->least))
			render_say(render,
				   "%s: nearest to being found is not the best score but %d,%d, with score %.4f and "
				   "colour difference %.2f: a threshold of %s finds it.",
				   c->name, c->least->x, c->least->y, c->least->score, c->least->colour_difference,
				   percent_up(c->needed_threshold, needed));
		else if (c->text && (c->has_number || tried_candidate(c)))
			render_say(render,
				   render_style(render)->ascii ? "%s: \"%.80s\" was read." : "%s: “%.80s” was read.",
				   c->name, c->text);
	}
}

void view_tried(struct render *render, const char *scenario, const char *file, const struct tried *tried)
{
	static const struct table table = {
		.field = {.name = "conditions", .title = ""},
		.columns = columns,
		.n_columns = COLUMNS,
		.main = true,
		.empty = "The scenario has no conditions.",
	};

	view_head(render, scenario, file, tried);
	render_table_open(render, &table);
	for (size_t i = 0; i < tried->n; i++) {
		struct row_texts texts = {0};
		struct cell cells[COLUMNS] = {0};

		machine_cells(tried->conditions[i], cells);
		people_cells(render, i + 1, tried->conditions[i], &texts, cells);
		render_row(render, cells);
	}
	render_table_close(render);
	view_remarks(render, tried);
}
