// SPDX-License-Identifier: GPL-3.0-or-later
// The image condition against the textbook (tests/support/textbook.h): random frames, templates cut from them and
// altered, areas and thresholds. The same crops in every run.
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>

#include "daemon/detect/kernels.h"
#include "daemon/detect/spectrum.h"
#include "daemon/detect/template.h"
#include "tests/support/scenes.h"
#include "tests/support/textbook.h"

#ifndef CROPS
#define CROPS 10000
#endif
#define SCORE_TOLERANCE 1e-5
#define BEST_TOLERANCE 1e-6

struct trial {
	struct dice dice;
	enum scene scene;
	struct canvas frame, image;
	struct rect area;
	double threshold;
	char label[160];
};

static int random_side(struct dice *dice, int side)
{
	switch (dice_between(dice, 0, 9)) {
	case 0:
		return dice_between(dice, 1, side);
	case 1:
		return side;
	case 2:
		return 1;
	default:
		return dice_between(dice, MIN(2, side), MIN(40, side));
	}
}

static void make_transparent(struct canvas *image, struct dice *dice)
{
	int way = dice_between(dice, 0, 2), r = MIN(image->width, image->height) * 2 / 3;

	for (int y = 0; y < image->height; y++) {
		for (int x = 0; x < image->width; x++) {
			int dx = x - image->width / 2, dy = y - image->height / 2;
			bool out = way == 0   ? dice_one_in(dice, 3)
				   : way == 1 ? dx * dx + dy * dy > r * r
					      : y < image->height / 3;
			if (out)
				image->pixels[y * image->stride + 4 * x + 3] = (uint8_t)dice_between(dice, 0, 254);
		}
	}
}

static void alter_image(struct trial *trial)
{
	struct dice *dice = &trial->dice;
	int amount;

	switch (dice_between(dice, 0, 7)) {
	case 0:
		canvas_alter(&trial->image, dice, 100, 0, dice_between(dice, 1, 40));
		break;
	case 1:
		amount = dice_between(dice, 100, 140);
		canvas_alter(&trial->image, dice, amount, dice_between(dice, 0, 40), 0);
		break;
	case 2:
		canvas_alter(&trial->image, dice, dice_between(dice, 40, 100), 0, 2);
		break;
	case 3:
		amount = dice_between(dice, 0, SCENES - 1);
		scene_draw((enum scene)amount, dice_roll(dice), &trial->image);
		break;
	case 4:
		canvas_decolour(&trial->image);
		break;
	default:
		break;
	}
	if (dice_one_in(dice, 5))
		make_transparent(&trial->image, dice);
}

static void random_area(struct trial *trial)
{
	struct dice *dice = &trial->dice;
	const struct canvas *frame = &trial->frame, *image = &trial->image;

	trial->area = (struct rect){0, 0, frame->width, frame->height};
	if (dice_one_in(dice, 3)) {
		trial->area.left = dice_between(dice, 0, frame->width - image->width);
		trial->area.top = dice_between(dice, 0, frame->height - image->height);
		trial->area.right = dice_between(dice, trial->area.left + image->width, frame->width);
		trial->area.bottom = dice_between(dice, trial->area.top + image->height, frame->height);
	}
}

static void deal(struct trial *trial, int i)
{
	struct dice *dice = &trial->dice;
	int width, height, x, y;

	*dice = (struct dice){(uint64_t)i};
	trial->scene = (enum scene)(i % SCENES);
	width = dice_between(dice, 2, dice_one_in(dice, 20) ? 256 : 160);
	height = dice_between(dice, 2, dice_one_in(dice, 20) ? 192 : 120);
	trial->frame = canvas_new(width, height, dice_between(dice, 0, 3));
	scene_draw(trial->scene, dice_roll(dice), &trial->frame);
	width = random_side(dice, trial->frame.width);
	height = random_side(dice, trial->frame.height);
	if ((int64_t)(trial->frame.width - width + 1) * (trial->frame.height - height + 1) * width * height > 4000000)
		height = MIN(height, 8);
	if (width * height == 1)
		width = MIN(2, trial->frame.width);
	x = dice_one_in(dice, 4) ? 0 : dice_between(dice, 0, trial->frame.width - width);
	y = dice_one_in(dice, 4) ? trial->frame.height - height : dice_between(dice, 0, trial->frame.height - height);
	trial->image = canvas_crop(&trial->frame, (struct rect){x, y, x + width, y + height}, dice_between(dice, 0, 2));
	alter_image(trial);
	if (dice_one_in(dice, 4)) {
		struct canvas copy = canvas_crop(&trial->frame, (struct rect){x, y, x + width, y + height}, 0);
		canvas_decolour(&copy);
		canvas_paste(&trial->frame, &copy, dice_between(dice, 0, trial->frame.width - width), y / 2);
		canvas_free(&copy);
	}
	random_area(trial);
	trial->threshold = dice_one_in(dice, 10) ? dice_between(dice, 30, 100) : dice_between(dice, 0, 300) / 10.0;
	snprintf(trial->label, sizeof(trial->label), "crop %d: %s %dx%d, image %dx%d, area %d,%d,%d,%d, threshold %.1f",
		 i, scene_name(trial->scene), trial->frame.width, trial->frame.height, width, height, trial->area.left,
		 trial->area.top, trial->area.right, trial->area.bottom, trial->threshold);
}

static void compare_found(const struct trial *trial, const struct textbook *book, const struct detect_result *got)
{
	double there = textbook_score(book, got->place.left, got->place.top);

	ck_assert_msg(there >= book->score - BEST_TOLERANCE, "%s: %.9f at %d,%d is not the best: %.9f at %d,%d",
		      trial->label, there, got->place.left, got->place.top, book->score, book->x, book->y);
	ck_assert_msg(fabs(got->score - there) <= SCORE_TOLERANCE, "%s: score %.9f, textbook %.9f", trial->label,
		      got->score, there);
	if (book->ambiguous)
		return;
	ck_assert_msg(got->place.left == book->x && got->place.top == book->y,
		      "%s: at %d,%d, textbook %d,%d (%.17g, %.17g)", trial->label, got->place.left, got->place.top,
		      book->x, book->y, there, book->score);
	ck_assert_msg(fabs(got->colour_difference - book->colour) <= SCORE_TOLERANCE, "%s: colour %.9f, textbook %.9f",
		      trial->label, got->colour_difference, book->colour);
}

static void compare_best(const struct trial *trial, const struct textbook *book, const struct detect_result *got)
{
	double there = textbook_score(book, got->place.left, got->place.top);

	ck_assert_msg(got->has_score, "%s: no best candidate", trial->label);
	ck_assert_msg(there >= book->best_score - BEST_TOLERANCE, "%s: best %.9f at %d,%d, textbook %.9f at %d,%d",
		      trial->label, there, got->place.left, got->place.top, book->best_score, book->best_x,
		      book->best_y);
	ck_assert_msg(fabs(got->score - there) <= SCORE_TOLERANCE, "%s: score %.9f, textbook %.9f", trial->label,
		      got->score, there);
	if (!book->ambiguous)
		ck_assert_msg(fabs(got->colour_difference - book->best_colour) <= SCORE_TOLERANCE,
			      "%s: colour %.9f, textbook %.9f", trial->label, got->colour_difference,
			      book->best_colour);
}

static void compare(const struct trial *trial, const struct textbook *book, const struct detect_result *got, bool best)
{
	ck_assert_msg(got->evaluable && !got->stopped, "%s: not evaluable", trial->label);
	if (!book->ambiguous)
		ck_assert_msg(got->found == book->found, "%s: found %d, textbook %d (best %.9f, colour %.6f)",
			      trial->label, got->found, book->found, book->best_score, book->best_colour);
	if (got->found && book->found)
		compare_found(trial, book, got);
	else if (best && !got->found && !book->found)
		compare_best(trial, book, got);
	else if (!best && !got->found)
		ck_assert_msg(!got->has_score, "%s: a score below the threshold", trial->label);
}

static bool same(const struct detect_result *a, const struct detect_result *b)
{
	return a->found == b->found && a->has_score == b->has_score && a->x == b->x && a->y == b->y &&
	       (!a->has_score || (a->score == b->score && a->colour_difference == b->colour_difference));
}

// Once with each set of kernels, and once with each kind of bound alone, whether it is worth it or not.
static void check_other_ways(const struct trial *trial, struct detect_frame *frame, struct detect_template *t,
			     const struct detect_query *query, const struct detect_result *wanted)
{
	const struct kernels *sets[8];
	size_t n = kernels_available(sets, ARRAY_SIZE(sets));
	struct detect_template whole = *t;
	struct detect_result got;

	for (size_t i = 1; i < n; i++) {
		kernels_use(sets[i]);
		detect_frame_begin(frame, canvas_view(&trial->frame));
		detect_image(frame, t, query, &got);
		ck_assert_msg(same(wanted, &got), "%s: %s differs: %.17g at %d,%d", trial->label, sets[i]->name,
			      got.score, got.x, got.y);
	}
	kernels_use(NULL);
	for (int only = 0; only < BOX_SHIFT_MAX + BANDS; only++) {
		t->sets[0].columns = 0;
		for (int shift = 1; shift <= BOX_SHIFT_MAX; shift++)
			if (only != shift - 1)
				t->sets[shift].columns = 0;
		for (int band = 0; band < BANDS; band++)
			if (only != BOX_SHIFT_MAX + band)
				t->bands[band].columns = 0;
		detect_image(frame, t, query, &got);
		ck_assert_msg(same(wanted, &got), "%s: bound %d alone differs: %.17g at %d,%d", trial->label, only,
			      got.score, got.x, got.y);
		*t = whole;
	}
}

// By transforms, whatever they cost: of pixels, and of boxes; with each set of kernels in turn.
static void check_transforms(const struct trial *trial, int i, struct detect_frame *frame, struct detect_template *t,
			     const struct detect_query *query, const struct detect_result *wanted)
{
	const struct kernels *sets[8];
	size_t n = kernels_available(sets, ARRAY_SIZE(sets));
	struct kernels eager = *sets[(size_t)i / 15 % n];
	struct detect_template whole = *t;
	struct detect_result got;

	eager.transform_cost = -1e12;
	kernels_use(&eager);
	for (int only = 0; only <= SPECTRUM_SHIFT_MAX; only++) {
		for (int shift = 0; shift <= SPECTRUM_SHIFT_MAX; shift++)
			if (only != shift)
				t->sets[shift].columns = 0;
		detect_image(frame, t, query, &got);
		ck_assert_msg(same(wanted, &got), "%s: %s's transform of boxes of %d px differs: %.17g at %d,%d",
			      trial->label, eager.name, 1 << only, got.score, got.x, got.y);
		*t = whole;
	}
	kernels_use(NULL);
}

/// @return whether the textbook had no doubt
static bool run(struct trial *trial, int i, struct detect_frame *frame)
{
	struct detect_template *template_;
	struct textbook book;
	struct detect_result got;
	struct error error;
	bool sure;

	if (detect_template_new(canvas_view(&trial->image), 1, 1, &template_, &error) < 0)
		return true;
	ck_assert_int_eq(detect_frame_reserve(frame, trial->frame.width, trial->frame.height, 0), 0);
	textbook_look(canvas_view(&trial->frame), canvas_view(&trial->image), trial->area, trial->threshold, &book);
	for (int best = 0; best < 2; best++) {
		struct detect_query query = {.area = trial->area, .threshold = trial->threshold, .best = best};
		detect_frame_begin(frame, canvas_view(&trial->frame));
		detect_image(frame, template_, &query, &got);
		compare(trial, &book, &got, best);
		if (best == i % 2 && i % 3 == 0)
			check_other_ways(trial, frame, template_, &query, &got);
		if (best == i % 2 && i % 15 == 0)
			check_transforms(trial, i, frame, template_, &query, &got);
	}
	sure = !book.ambiguous;
	textbook_free(&book);
	detect_template_free(template_);
	return sure;
}

START_TEST(crops_as_the_textbook)
{
	struct detect_frame *frame;
	int sure = 0;

	ck_assert_int_eq(detect_frame_new(&frame), 0);
	for (int i = 0; i < CROPS; i++) {
		struct trial trial;
		deal(&trial, i);
		sure += run(&trial, i, frame);
		canvas_free(&trial.frame);
		canvas_free(&trial.image);
	}
	detect_frame_free(frame);
	ck_assert_msg(sure > CROPS * 9 / 10, "rounding was in doubt in %d of %d crops", CROPS - sure, CROPS);
}
END_TEST

// Frames and templates large enough for all stages one after the other, against looking at every position.
static void check_large(int i)
{
	static const int sizes[][2] = {{100, 100}, {150, 80}, {64, 64}, {97, 131}};
	struct dice dice = {(uint64_t)i};
	enum scene scene = (enum scene)(i % SCENES);
	struct canvas screen = canvas_new(i % 3 ? 500 : 1900, i % 3 ? 380 : 160, 0), image;
	int width = sizes[i / SCENES % 4][0], height = sizes[i / SCENES % 4][1];
	int x = dice_between(&dice, 0, screen.width - width), y = dice_between(&dice, 0, screen.height - height);
	struct detect_query query = {.area = {0, 0, screen.width, screen.height},
				     .threshold = dice_between(&dice, 5, 35)};
	struct detect_template *template_;
	struct detect_frame *frame;
	struct detect_result got, wanted;

	scene_draw(scene, (uint64_t)i, &screen);
	image = canvas_crop(&screen, (struct rect){x, y, x + width, y + height}, 0);
	if (i % 2)
		canvas_alter(&screen, &dice, 80, 10, 60);
	ck_assert_int_eq(detect_frame_new(&frame), 0);
	ck_assert_int_eq(detect_frame_reserve(frame, screen.width, screen.height, 0), 0);
	detect_frame_begin(frame, canvas_view(&screen));
	if (detect_template_new(canvas_view(&image), 1, 1, &template_, NULL) == 0) {
		struct detect_template whole = *template_;
		for (int shift = 0; shift <= BOX_SHIFT_MAX; shift++)
			template_->sets[shift].columns = 0;
		for (int band = 0; band < BANDS; band++)
			template_->bands[band].columns = 0;
		detect_image(frame, template_, &query, &wanted);
		*template_ = whole;
		// As it is; by transforms from the beginning; by transforms as soon as another way costs anything.
		for (int way = 0; way < 3; way++) {
			struct kernels set = *kernels();
			set.transform_cost = way == 0 ? set.transform_cost : way == 1 ? -1e12 : 1e4;
			kernels_use(&set);
			detect_image(frame, template_, &query, &got);
			kernels_use(NULL);
			ck_assert_msg(same(&wanted, &got), "case %d, way %d: %.17g at %d,%d, wanted %.17g at %d,%d", i,
				      way, got.score, got.x, got.y, wanted.score, wanted.x, wanted.y);
		}
		detect_template_free(template_);
	}
	detect_frame_free(frame);
	canvas_free(&screen);
	canvas_free(&image);
}

START_TEST(large_frames_as_looking_everywhere)
{
	for (int i = 0; i < MIN(CROPS / 50, 4 * SCENES * 3); i++)
		check_large(i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("detect against the textbook");
	TCase *tcase = tcase_create("crops");

	tcase_set_timeout(tcase, 600);
	tcase_add_test(tcase, crops_as_the_textbook);
	tcase_add_test(tcase, large_frames_as_looking_everywhere);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
