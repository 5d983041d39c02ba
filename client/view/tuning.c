// SPDX-License-Identifier: GPL-3.0-or-later
//
// People get a table with what to do, and below it, a condition at a time, what that rests on and the pictures that
// decide it: whoever looks at those two knows whether they were told apart rightly. What can't be known is said in the
// end, always.
#include "config.h"

#include "client/view/tuning.h"

#include "client/render/format.h"
#include "client/view/tried.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const verdict_names[] = {
	[TUNING_NOTHING] = "not-evaluable", [TUNING_CLEAR] = "clear",         [TUNING_ALWAYS] = "always",
	[TUNING_NEVER] = "never",           [TUNING_AMBIGUOUS] = "ambiguous",
};
static_assert(ARRAY_SIZE(verdict_names) == TUNING_VERDICTS, "every verdict has a name");

enum tuning_column {
	COLUMN_ID,
	COLUMN_EVENT,
	COLUMN_NAME,
	COLUMN_VERDICT,
	COLUMN_PICTURES,
	COLUMN_NOT_EVALUABLE,
	COLUMN_WHY,
	COLUMN_THERE,                     // and seven more
	COLUMN_ABSENT = COLUMN_THERE + 8, // the same
	COLUMN_MARGIN_SCORE = COLUMN_ABSENT + 8,
	COLUMN_MARGIN_THRESHOLD,
	COLUMN_THRESHOLD,
	COLUMN_MISSED,
	COLUMN_MISTAKEN,
	COLUMN_KEEP,
	COLUMN_SUGGESTED,
	COLUMN_SEARCH,
	COLUMN_AT_X,
	COLUMN_AT_Y,
	COLUMN_AREA,                         // and three more
	COLUMN_THERE_TEXT = COLUMN_AREA + 4, ///< this and the next are for people
	COLUMN_THERE_SCORE_TEXT,
	COLUMN_ABSENT_TEXT,
	COLUMN_ABSENT_SCORE_TEXT,
	COLUMN_NEEDS_TEXT,
	COLUMN_THRESHOLD_TEXT,
	COLUMN_SUGGESTED_TEXT,
	COLUMN_SEARCH_TEXT,
	COLUMNS,
};

#define SIDE_FIELDS(at, side)                                                                                          \
	[(at)] = {.name = side ".pictures"}, [(at) + 1] = {.name = side ".lowest_score"},                              \
	[(at) + 2] = {.name = side ".highest_score"}, [(at) + 3] = {.name = side ".lowest_needed"},                    \
	[(at) + 4] = {.name = side ".highest_needed"}, [(at) + 5] = {.name = side ".picture"},                         \
	[(at) + 6] = {.name = side ".x"}, [(at) + 7] = {.name = side ".y"}

static const struct field columns[COLUMNS] = {
	[COLUMN_ID] = {.name = "id"},
	[COLUMN_EVENT] = {.name = "event", .title = "Event", .spare = 5},
	[COLUMN_NAME] = {.name = "name", .title = "Condition"},
	[COLUMN_VERDICT] = {.name = "verdict"},
	[COLUMN_PICTURES] = {.name = "pictures"},
	[COLUMN_NOT_EVALUABLE] = {.name = "not_evaluable"},
	[COLUMN_WHY] = {.name = "not_evaluable_why"},
	SIDE_FIELDS(COLUMN_THERE, "there"),
	SIDE_FIELDS(COLUMN_ABSENT, "absent"),
	[COLUMN_MARGIN_SCORE] = {.name = "margin.score"},
	[COLUMN_MARGIN_THRESHOLD] = {.name = "margin.threshold"},
	[COLUMN_THRESHOLD] = {.name = "threshold"},
	[COLUMN_MISSED] = {.name = "missed"},
	[COLUMN_MISTAKEN] = {.name = "mistaken"},
	[COLUMN_KEEP] = {.name = "keep_threshold"},
	[COLUMN_SUGGESTED] = {.name = "suggested.threshold"},
	[COLUMN_SEARCH] = {.name = "suggested.search"},
	[COLUMN_AT_X] = {.name = "suggested.at_x"},
	[COLUMN_AT_Y] = {.name = "suggested.at_y"},
	[COLUMN_AREA] = {.name = "suggested.x"},
	[COLUMN_AREA + 1] = {.name = "suggested.y"},
	[COLUMN_AREA + 2] = {.name = "suggested.width"},
	[COLUMN_AREA + 3] = {.name = "suggested.height"},
	[COLUMN_THERE_TEXT] = {.title = "There", .number = true},
	[COLUMN_THERE_SCORE_TEXT] = {.title = "Score", .number = true, .spare = 3},
	[COLUMN_ABSENT_TEXT] = {.title = "Not", .number = true},
	[COLUMN_ABSENT_SCORE_TEXT] = {.title = "Score", .number = true, .spare = 4},
	[COLUMN_NEEDS_TEXT] = {.title = "Needs", .number = true, .spare = 2},
	[COLUMN_THRESHOLD_TEXT] = {.title = "Threshold", .number = true, .spare = 1},
	[COLUMN_SUGGESTED_TEXT] = {.title = "Suggested", .number = true},
	[COLUMN_SEARCH_TEXT] = {.title = "Search"},
};

struct row_texts {
	char there_picture[PICTURE_NAME_SIZE], absent_picture[PICTURE_NAME_SIZE];
	char there_score[FORMAT_SIZE], absent_score[FORMAT_SIZE], needs[3 * PERCENT_SIZE], threshold[PERCENT_SIZE],
		suggested[PERCENT_SIZE + 8], search[96];
};

static char *percent_text(double percent, char out[PERCENT_SIZE])
{
	snprintf(out, PERCENT_SIZE, "%.4g %%", percent);
	return out;
}

/// The one that decides: of what is there the farthest, of what is not the nearest.
static const struct tuning_sample *deciding(const struct series *series, const struct tuning_side *side, bool last)
{
	return side->n ? &series->samples[last ? side->first + side->n - 1 : side->first] : NULL;
}

static void side_scores(const struct series *series, const struct tuning_side *side, double *ret_low, double *ret_high)
{
	*ret_low = INFINITY;
	*ret_high = -INFINITY;
	for (size_t i = 0; i < side->n; i++) {
		*ret_low = MIN(*ret_low, series->samples[side->first + i].score);
		*ret_high = MAX(*ret_high, series->samples[side->first + i].score);
	}
}

static void side_cells(const struct measured *measured, const struct series *series, const struct tuning_side *side,
		       bool last, bool known, char name[PICTURE_NAME_SIZE], struct cell cells[8])
{
	const struct tuning_sample *sample = deciding(series, side, last);
	double low, high;

	side_scores(series, side, &low, &high);
	cells[0] = cell_if(known, cell_count((int64_t)side->n));
	cells[1] = cell_if(sample, cell_number(low));
	cells[2] = cell_if(sample, cell_number(high));
	cells[3] = cell_if(sample, cell_number(sample ? series->samples[side->first].needed : 0));
	cells[4] = cell_if(sample, cell_number(sample ? series->samples[side->first + side->n - 1].needed : 0));
	cells[5] = sample ? cell_text(measured_picture(measured, sample->picture, name)) : cell_null();
	cells[6] = cell_if(sample, cell_count(sample ? sample->x : 0));
	cells[7] = cell_if(sample, cell_count(sample ? sample->y : 0));
}

static bool has_sides(const struct tuning *tuning)
{
	return tuning->there.n + tuning->absent.n > 0;
}

static void machine_cells(const struct measured *measured, const struct series *series, const struct tuning *tuning,
			  struct row_texts *texts, struct cell *cells)
{
	bool clear = tuning->verdict == TUNING_CLEAR, exact = tuning->has_area && tuning->same_place,
	     area = tuning->has_area && !tuning->same_place;

	cells[COLUMN_ID] = cell_count(series->id);
	cells[COLUMN_EVENT] = cell_text(series->event);
	cells[COLUMN_NAME] = cell_text(series->name);
	cells[COLUMN_VERDICT] = cell_text(verdict_names[tuning->verdict]);
	cells[COLUMN_PICTURES] = cell_count((int64_t)measured->n_pictures);
	cells[COLUMN_NOT_EVALUABLE] = cell_count((int64_t)series->not_evaluable);
	cells[COLUMN_WHY] = cell_text(series->why);
	side_cells(measured, series, &tuning->there, true, has_sides(tuning), texts->there_picture,
		   &cells[COLUMN_THERE]);
	side_cells(measured, series, &tuning->absent, false, has_sides(tuning), texts->absent_picture,
		   &cells[COLUMN_ABSENT]);
	cells[COLUMN_MARGIN_SCORE] = cell_if(clear, cell_number(tuning->gap_score));
	cells[COLUMN_MARGIN_THRESHOLD] = cell_if(clear, cell_number(tuning->gap_needed));
	cells[COLUMN_THRESHOLD] = cell_number(series->threshold);
	cells[COLUMN_MISSED] = cell_if(has_sides(tuning), cell_count((int64_t)tuning->missed));
	cells[COLUMN_MISTAKEN] = cell_if(has_sides(tuning), cell_count((int64_t)tuning->mistaken));
	cells[COLUMN_KEEP] = cell_if(tuning->has_suggested, cell_flag(tuning->keep));
	cells[COLUMN_SUGGESTED] = cell_if(tuning->has_suggested, cell_number(tuning->suggested));
	cells[COLUMN_SEARCH] = cell_if(tuning->has_area, cell_text(exact ? "exact" : "area"));
	cells[COLUMN_AT_X] = cell_if(exact, cell_count(tuning->place.left));
	cells[COLUMN_AT_Y] = cell_if(exact, cell_count(tuning->place.top));
	cells[COLUMN_AREA] = cell_if(area, cell_count(tuning->area.left));
	cells[COLUMN_AREA + 1] = cell_if(area, cell_count(tuning->area.top));
	cells[COLUMN_AREA + 2] = cell_if(area, cell_count(tuning->area.right - tuning->area.left));
	cells[COLUMN_AREA + 3] = cell_if(area, cell_count(tuning->area.bottom - tuning->area.top));
}

/// The search as a scenario file has it.
static const char *search_text(const struct tuning *tuning, char *out, size_t size)
{
	if (!tuning->has_area)
		return NULL;
	if (tuning->same_place)
		snprintf(out, size, "exact, at: [%d, %d]", tuning->place.left, tuning->place.top);
	else
		snprintf(out, size, "[%d, %d, %d, %d]", tuning->area.left, tuning->area.top,
			 tuning->area.right - tuning->area.left, tuning->area.bottom - tuning->area.top);
	return out;
}

static struct cell suggested_cell(const struct tuning *tuning, char *out, size_t size)
{
	char percent[PERCENT_SIZE];

	switch (tuning->verdict) {
	case TUNING_AMBIGUOUS:
		return cell_with(cell_text("unclear"), EMPHASIS_BAD);
	case TUNING_NOTHING:
		return cell_with(cell_text("not evaluable"), EMPHASIS_BAD);
	default:
		break;
	}
	if (!tuning->has_suggested)
		return cell_null();
	if (tuning->keep)
		return cell_with(cell_text("keep"), EMPHASIS_GOOD);
	snprintf(out, size, "%s", percent_text(tuning->suggested, percent));
	return cell_with(cell_text(out), EMPHASIS_STRONG);
}

/// 0.4 to 69 %: what the pictures with it need at most, and those without it at least.
static const char *needs_text(const struct series *series, const struct tuning *tuning, char *out, size_t size)
{
	const struct tuning_sample *there = deciding(series, &tuning->there, true),
				   *absent = deciding(series, &tuning->absent, false);
	char high[PERCENT_SIZE];

	if (there && absent)
		snprintf(out, size, "%.3g to %.3g %%", there->needed, absent->needed);
	else if (there)
		snprintf(out, size, "%s", percent_up(there->needed, high));
	else if (absent)
		snprintf(out, size, "%s", percent_up(absent->needed, high));
	else
		return NULL;
	return out;
}

static void people_cells(const struct series *series, const struct tuning *tuning, struct row_texts *texts,
			 struct cell *cells)
{
	double low, high;
	bool sides = has_sides(tuning);

	cells[COLUMN_THERE_TEXT] = cell_if(sides, cell_count((int64_t)tuning->there.n));
	cells[COLUMN_ABSENT_TEXT] = cell_if(sides, cell_count((int64_t)tuning->absent.n));
	if (tuning->there.n) {
		side_scores(series, &tuning->there, &low, &high);
		snprintf(texts->there_score, sizeof(texts->there_score), "%.3f", low);
		cells[COLUMN_THERE_SCORE_TEXT] = cell_text(texts->there_score);
	}
	if (tuning->absent.n) {
		side_scores(series, &tuning->absent, &low, &high);
		snprintf(texts->absent_score, sizeof(texts->absent_score), "%.3f", high);
		cells[COLUMN_ABSENT_SCORE_TEXT] = cell_text(texts->absent_score);
	}
	cells[COLUMN_NEEDS_TEXT] = cell_text(needs_text(series, tuning, texts->needs, sizeof(texts->needs)));
	cells[COLUMN_THRESHOLD_TEXT] = cell_text(percent_text(series->threshold, texts->threshold));
	cells[COLUMN_SUGGESTED_TEXT] = suggested_cell(tuning, texts->suggested, sizeof(texts->suggested));
	cells[COLUMN_SEARCH_TEXT] = cell_text(search_text(tuning, texts->search, sizeof(texts->search)));
}

// --- sentences -------------------------------------------------------------------------------------------------------

static const char *pictures(size_t n)
{
	return n == 1 ? "picture" : "pictures";
}

static void say_there(struct render *render, const struct measured *measured, const struct series *series,
		      const struct tuning *tuning)
{
	const struct tuning_sample *worst = deciding(series, &tuning->there, true);
	char name[PICTURE_NAME_SIZE], percent[PERCENT_SIZE];

	render_say(render,
		   "There on %zu %s: the one that differs most is %s, with score %.4f and colour difference %.2f "
		   "at %d,%d; it needs a threshold of %s.",
		   tuning->there.n, pictures(tuning->there.n), measured_picture(measured, worst->picture, name),
		   worst->score, worst->colour_difference, worst->x, worst->y, percent_up(worst->needed, percent));
}

static void say_absent(struct render *render, const struct measured *measured, const struct series *series,
		       const struct tuning *tuning)
{
	const struct tuning_sample *best = deciding(series, &tuning->absent, false);
	char name[PICTURE_NAME_SIZE], from[64];

	snprintf(from, sizeof(from), best->needed > 100 ? "no threshold" : "only a threshold from %.3g %% on",
		 best->needed);
	render_say(render,
		   "Not there on %zu %s: what is most like it is on %s, with score %.4f and colour difference %.2f "
		   "at %d,%d; %s would take that for it.",
		   tuning->absent.n, pictures(tuning->absent.n), measured_picture(measured, best->picture, name),
		   best->score, best->colour_difference, best->x, best->y, from);
}

static void say_gap(struct render *render, const struct measured *measured, const struct series *series,
		    const struct tuning_gap *gap, const char *which)
{
	const struct tuning_sample *below = &series->samples[gap->below], *above = &series->samples[gap->above];
	char names[2][PICTURE_NAME_SIZE];

	render_say(render, "The %s gap is between %s (score %.4f, needs %.3g %%) and %s (score %.4f, needs %.3g %%).",
		   which, measured_picture(measured, below->picture, names[0]), below->score, below->needed,
		   measured_picture(measured, above->picture, names[1]), above->score, above->needed);
}

static void say_ambiguous(struct render *render, const struct measured *measured, const struct series *series,
			  const struct tuning *tuning)
{
	render_say(
		render, "%s",
		tuning->n_gaps > 1 && tuning->gaps[0].distance >= TUNING_GAP
			? "Where it is there and where it is not can't be told apart: two gaps are about as wide. Look "
			  "at the pictures on both sides of each."
			: "Where it is there and where it is not can't be told apart: what the pictures need goes from "
			  "one to the other without a clear gap. Cut the image anew, without what changes around it.");
	if (tuning->n_gaps > 0)
		say_gap(render, measured, series, &tuning->gaps[0], "widest");
	if (tuning->n_gaps > 1)
		say_gap(render, measured, series, &tuning->gaps[1], "next");
}

/// What the threshold does as it is.
static void say_threshold(struct render *render, const struct series *series, const struct tuning *tuning)
{
	char now[PERCENT_SIZE], suggested[PERCENT_SIZE];

	if (!tuning->has_suggested)
		return;
	percent_text(series->threshold, now);
	percent_text(tuning->suggested, suggested);
	if (tuning->missed || tuning->mistaken)
		render_say(
			render,
			"Its threshold of %s misses it on %zu and takes something else for it on %zu; %s does neither.",
			now, tuning->missed, tuning->mistaken, suggested);
	else if (!tuning->keep)
		render_say(render,
			   "Its threshold of %s tells them apart too, but leaves little room on one side: %s is safer.",
			   now, suggested);
	else
		render_say(render, "Its threshold of %s is right.", now);
}

static void say_one(struct render *render, const struct measured *measured, const struct series *series,
		    const struct tuning *tuning)
{
	char search[96];

	if (series->not_evaluable)
		render_say(render, "Not evaluable on %zu %s: %s.", series->not_evaluable,
			   pictures(series->not_evaluable), series->why ? series->why : "its area does not fit");
	if (tuning->verdict == TUNING_AMBIGUOUS)
		say_ambiguous(render, measured, series, tuning);
	if (tuning->verdict == TUNING_CLEAR || tuning->verdict == TUNING_ALWAYS)
		say_there(render, measured, series, tuning);
	if (tuning->verdict == TUNING_CLEAR || tuning->verdict == TUNING_NEVER)
		say_absent(render, measured, series, tuning);
	if (tuning->verdict == TUNING_ALWAYS)
		render_say(render,
			   "What the screen looks like without it is on none of the pictures, so nothing bounds its "
			   "threshold from above.");
	if (tuning->verdict == TUNING_NEVER)
		render_say(render, "It is on none of the pictures, so nothing can be suggested.");
	say_threshold(render, series, tuning);
	if (search_text(tuning, search, sizeof(search)))
		render_say(render, "%s: \"search: %s\" is enough for these pictures.",
			   tuning->same_place ? "It is always at one place" : "It keeps within a part of the area",
			   search);
}

static void say_limits(struct render *render)
{
	render_heading(render, "What this does not know");
	render_say(render,
		   "Nobody has said on which pictures the image really is: they were told apart by what they need, "
		   "at the widest gap. Look at the pictures named above before you change a threshold. Of other "
		   "pictures than these nothing is known.");
}

// --- the views -------------------------------------------------------------------------------------------------------

static void view_head(struct render *render, const char *scenario, const char *folder, const struct measured *measured)
{
	static const struct field fields[] = {
		{.name = "scenario", .title = "Scenario"},
		{.name = "folder", .title = "Folder"},
		{.name = "pictures", .title = "Pictures"},
	};

	render_values(render, fields, ARRAY_SIZE(fields),
		      (struct cell[]){
			      cell_text(scenario),
			      cell_text(folder),
			      cell_count((int64_t)measured->n_pictures),
		      });
}

static void analyse(const struct measured *measured, struct series *series, struct tuning *ret)
{
	const struct tuning_input input = {
		.threshold = series->threshold,
		.width = measured->width,
		.height = measured->height,
		.area = series->area,
		.exact = series->exact,
		.pictures = measured->n_pictures,
	};

	tuning_analyse(&input, series->samples, series->n, ret);
}

void view_tuning(struct render *render, const char *scenario, const char *folder, struct measured *measured)
{
	static const struct table table = {
		.field = {.name = "conditions", .title = ""},
		.columns = columns,
		.n_columns = COLUMNS,
		.main = true,
		.empty = "The scenario has no image conditions.",
	};
	struct tuning tuning;

	view_head(render, scenario, folder, measured);
	render_table_open(render, &table);
	for (size_t i = 0; i < measured->n; i++) {
		struct row_texts texts = {0};
		struct cell cells[COLUMNS] = {0};

		analyse(measured, &measured->series[i], &tuning);
		machine_cells(measured, &measured->series[i], &tuning, &texts, cells);
		people_cells(&measured->series[i], &tuning, &texts, cells);
		render_row(render, cells);
	}
	render_table_close(render);
	if (!render_for_people(render) || !measured->n)
		return;
	for (size_t i = 0; i < measured->n; i++) {
		analyse(measured, &measured->series[i], &tuning);
		render_heading(render, "%s", measured->series[i].name);
		say_one(render, measured, &measured->series[i], &tuning);
	}
	say_limits(render);
}

void view_measured(struct render *render, const char *scenario, const char *folder, const struct measured *measured)
{
	static const struct field sample_columns[] = {
		{.name = "id"},
		{.name = "event", .title = "Event", .spare = 2},
		{.name = "name", .title = "Condition"},
		{.name = "number"},
		{.name = "picture", .title = "Picture"},
		{.name = "score", .title = "Score", .number = true, .decimals = 4},
		{.name = "colour_difference", .title = "Colour", .number = true, .decimals = 2, .spare = 1},
		{.name = "x", .title = "X", .number = true},
		{.name = "y", .title = "Y", .number = true},
		{.name = "needed_threshold", .title = "Needs", .number = true, .decimals = 2},
	};
	static const struct table table = {
		.field = {.name = "samples", .title = ""},
		.columns = sample_columns,
		.n_columns = ARRAY_SIZE(sample_columns),
		.main = true,
		.empty = "The scenario has no image conditions.",
	};

	view_head(render, scenario, folder, measured);
	render_table_open(render, &table);
	for (size_t i = 0; i < measured->n; i++) {
		const struct series *series = &measured->series[i];

		for (size_t k = 0; k < series->n; k++) {
			const struct tuning_sample *sample = &series->samples[k];
			char name[PICTURE_NAME_SIZE];

			render_row(render, (struct cell[]){
						   cell_count(series->id),
						   cell_text(series->event),
						   cell_text(series->name),
						   cell_count((int64_t)sample->picture + 1),
						   cell_text(measured_picture(measured, sample->picture, name)),
						   cell_number(sample->score),
						   cell_number(sample->colour_difference),
						   cell_count(sample->x),
						   cell_count(sample->y),
						   cell_number(sample->needed),
					   });
		}
	}
	render_table_close(render);
}
