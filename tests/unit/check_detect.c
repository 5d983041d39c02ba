// SPDX-License-Identifier: GPL-3.0-or-later
// Image and color conditions: the table of small cases of docs/DETECTION.md and every rule of it on its own.
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/detect/colour.h"
#include "daemon/detect/detect.h"
#include "daemon/detect/frame.h"
#include "daemon/detect/kernels.h"
#include "daemon/detect/reduce.h"
#include "tests/support/scenes.h"
#include "tests/support/textbook.h"

static struct picture *load(const char *name)
{
	struct picture *picture;
	struct error error;
	char path[64];

	snprintf(path, sizeof(path), "detect/%s", name);
	ck_assert_msg(png_read(AT_FDCWD, unit_data(path), &picture, &error) == 0, "%s: %s", name, error.message);
	return picture;
}

static struct detect_frame *frame_of(struct picture_view view, int quality)
{
	struct detect_frame *frame;

	ck_assert_int_eq(detect_frame_new(&frame), 0);
	ck_assert_int_eq(detect_frame_reserve(frame, view.width, view.height, quality), 0);
	detect_frame_begin(frame, view);
	return frame;
}

static struct detect_template *template_of(struct picture_view view)
{
	struct detect_template *template_;
	struct error error;

	ck_assert_msg(detect_template_new(view, 1, 1, &template_, &error) == 0, "%s", error.message);
	return template_;
}

/// One look for an image in a picture, everything prepared for it alone.
static struct detect_result look(const struct canvas *screen, const struct canvas *image, struct detect_query query)
{
	struct detect_frame *frame = frame_of(canvas_view(screen), 0);
	struct detect_template *template_ = template_of(canvas_view(image));
	struct detect_result result;

	detect_image(frame, template_, &query, &result);
	detect_template_free(template_);
	detect_frame_free(frame);
	return result;
}

static struct rect whole(const struct canvas *canvas)
{
	return (struct rect){0, 0, canvas->width, canvas->height};
}

static struct canvas drawn(enum scene scene, uint64_t seed, int width, int height)
{
	struct canvas canvas = canvas_new(width, height, 1);

	scene_draw(scene, seed, &canvas);
	return canvas;
}

// ---- the table ----------------------------------------------------------------------------------------------------

static const struct small_case {
	const char *screen, *image;
	int num, den;
	struct rect area;
	double threshold;
	bool found;
	int x, y;             ///< -1: not stated
	double score, colour; ///< colour -1: not stated
} small_cases[] = {
	{"own_screen_a.png", "own_icon.png", 1, 1, {0, 0, 320, 240}, 10, true, 212, 60, 1, 0},
	{"own_screen_a.png", "own_icon.png", 1, 1, {30, 20, 74, 60}, 20, false, 52, 40, 1, 38.758},
	{"own_screen_a.png", "own_icon.png", 1, 1, {30, 20, 74, 60}, 60, true, 52, 40, 1, 38.758},
	{"own_screen_a.png", "own_icon.png", 1, 1, {250, 190, 300, 230}, 20, true, 272, 210, 0.99999, 8.530},
	{"own_screen_a.png", "own_icon.png", 1, 1, {250, 190, 300, 230}, 4, false, 272, 210, 0.99999, 8.530},
	{"own_screen_a.png", "own_icon.png", 1, 1, {100, 180, 124, 200}, 4, true, 112, 190, 1, 0},
	{"own_screen_a.png", "own_icon.png", 1, 1, {99, 180, 123, 200}, 4, false, 111, 190, 0.76603, -1},
	{"own_screen_flat.png", "own_icon.png", 1, 1, {0, 0, 44, 32}, 4, false, -1, -1, 0, -1},
	{"own_screen_a.png", "own_icon.png", 1, 2, {190, 40, 240, 80}, 20, false, -1, -1, 0.69215, -1},
};

START_TEST(small_case)
{
	const struct small_case *c = &small_cases[_i];
	struct picture *screen = load(c->screen), *image = load(c->image);
	struct detect_frame *frame = frame_of(picture_view(screen), 0);
	struct detect_template *template_;
	struct detect_query query = {.area = c->area, .threshold = c->threshold, .best = true};
	struct detect_result best, result;

	ck_assert_int_eq(detect_template_new(picture_view(image), c->num, c->den, &template_, NULL), 0);
	detect_image(frame, template_, &query, &best);
	query.best = false;
	detect_image(frame, template_, &query, &result);
	ck_assert(best.evaluable && result.evaluable);
	ck_assert_int_eq(best.found, c->found);
	ck_assert_int_eq(result.found, c->found);
	ck_assert(best.has_score);
	ck_assert_int_eq(result.has_score, c->found);
	ck_assert_double_eq_tol(best.score, c->score, 1e-5);
	if (c->x >= 0) {
		ck_assert_int_eq(best.x, c->x);
		ck_assert_int_eq(best.y, c->y);
	}
	if (c->colour >= 0)
		ck_assert_double_eq_tol(best.colour_difference, c->colour, 5e-3);
	if (c->found) {
		ck_assert_int_eq(result.x, c->x);
		ck_assert_int_eq(result.y, c->y);
		ck_assert(result.score == best.score && result.colour_difference == best.colour_difference);
	}
	detect_template_free(template_);
	detect_frame_free(frame);
	picture_free(screen);
	picture_free(image);
}
END_TEST

START_TEST(equal_pixels_score_exactly_one)
{
	for (int i = 0; i < 200; i++) {
		struct dice dice = {(uint64_t)i};
		int width = dice_between(&dice, 2, 90), height = dice_between(&dice, 2, 70);
		struct canvas image = canvas_new(width, height, 0);
		scene_draw(SCENE_NOISE, (uint64_t)i, &image);
		struct detect_result got = look(&image, &image, (struct detect_query){.area = whole(&image)});
		ck_assert(got.found && got.score == 1 && got.colour_difference == 0);
		canvas_free(&image);
	}
}
END_TEST

// ---- what is refused ----------------------------------------------------------------------------------------------

START_TEST(flat_images_are_refused)
{
	struct picture *red = load("own_flat_red.png");
	struct detect_template *template_ = NULL;
	struct canvas image = drawn(SCENE_NOISE, 1, 9, 9);
	struct error error;

	ck_assert_int_eq(detect_template_new(picture_view(red), 1, 1, &template_, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "color condition"));
	for (int i = 0; i < 9 * 9; i++)
		image.pixels[i / 9 * image.stride + i % 9 * 4 + 3] = 254;
	ck_assert_int_eq(detect_template_new(canvas_view(&image), 1, 1, &template_, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "opaque"));
	image.pixels[3] = 255;
	ck_assert_int_eq(detect_template_new(canvas_view(&image), 1, 1, &template_, &error), -EINVAL);
	ck_assert_int_eq(detect_template_new(canvas_view(&image), 1, 0, &template_, &error), -EINVAL);
	ck_assert_int_eq(detect_template_new((struct picture_view){0}, 1, 1, &template_, &error), -EINVAL);
	ck_assert_ptr_null(template_);
	canvas_free(&image);
	picture_free(red);
}
END_TEST

START_TEST(flat_after_reduction_is_said_so)
{
	struct canvas image = canvas_new(8, 8, 0);
	struct detect_template *template_;
	struct error error;

	for (int i = 0; i < 64; i++)
		canvas_fill(&image, (struct rect){i % 8, i / 8, i % 8 + 1, i / 8 + 1}, (i + i / 8) % 2 ? 0xffffff : 0);
	ck_assert_int_eq(detect_template_new(canvas_view(&image), 1, 1, &template_, &error), 0);
	detect_template_free(template_);
	ck_assert_int_eq(detect_template_new(canvas_view(&image), 1, 2, &template_, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "quality"));
	canvas_free(&image);
}
END_TEST

START_TEST(frames_of_no_size_are_refused)
{
	struct detect_frame *frame;

	ck_assert_int_eq(detect_frame_new(&frame), 0);
	ck_assert_int_eq(detect_frame_reserve(frame, 0, 10, 0), -EINVAL);
	ck_assert_int_eq(detect_frame_reserve(frame, 10, 20000, 0), -EINVAL);
	ck_assert_int_eq(detect_frame_reserve(frame, 16384, 16384, 0), -EINVAL);
	ck_assert_int_eq(detect_frame_reserve(frame, 10, 10, 0), 0);
	detect_frame_free(frame);
	ck_assert_ptr_null(detect_frame_free(NULL));
	ck_assert_ptr_null(detect_template_free(NULL));
}
END_TEST

// ---- areas --------------------------------------------------------------------------------------------------------

START_TEST(areas_not_evaluable)
{
	static const struct rect areas[] = {
		{-1, 0, 40, 40},  {0, -1, 40, 40},
		{0, 0, 81, 40},   {0, 0, 40, 61},
		{10, 10, 10, 40}, {10, 10, 40, 10},
		{40, 0, 10, 40},  {0, 0, 23, 60},
		{0, 0, 80, 19},   {INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX},
	};
	struct canvas screen = drawn(SCENE_PHOTO, 3, 80, 60), image = drawn(SCENE_NOISE, 3, 24, 20);

	for (size_t i = 0; i < ARRAY_SIZE(areas); i++) {
		for (int exact = 0; exact < 2; exact++) {
			struct detect_query query = {.area = areas[i], .threshold = 100, .best = true, .exact = exact};
			struct detect_result got = look(&screen, &image, query);
			ck_assert_msg(!got.evaluable && !got.found && !got.has_score, "area %zu", i);
		}
	}
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

START_TEST(a_frame_of_another_size_is_not_evaluable)
{
	struct canvas screen = drawn(SCENE_PHOTO, 3, 80, 60), image = drawn(SCENE_NOISE, 3, 24, 20);
	struct detect_template *template_ = template_of(canvas_view(&image));
	struct detect_query query = {.area = {0, 0, 40, 40}, .threshold = 100};
	struct picture_view smaller = canvas_view(&screen);
	struct detect_frame *frame;
	struct detect_result got;

	ck_assert_int_eq(detect_frame_new(&frame), 0);
	detect_image(frame, template_, &query, &got);
	ck_assert(!got.evaluable);
	ck_assert_int_eq(detect_frame_reserve(frame, 80, 60, 0), 0);
	detect_image(frame, template_, &query, &got);
	ck_assert(!got.evaluable);
	smaller.height = 59;
	detect_frame_begin(frame, smaller);
	detect_image(frame, template_, &query, &got);
	ck_assert(!got.evaluable);
	detect_color(frame, 0, &query, &got);
	ck_assert(!got.evaluable);
	detect_frame_begin(frame, canvas_view(&screen));
	detect_image(frame, template_, &query, &got);
	ck_assert(got.evaluable);
	detect_template_free(template_);
	detect_frame_free(frame);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

START_TEST(image_wider_than_the_frame)
{
	struct picture *screen = load("own_screen_flat.png"), *wide = load("own_wide.png");
	struct detect_frame *frame = frame_of(picture_view(screen), 0);
	struct detect_template *template_ = template_of(picture_view(wide));
	struct detect_query query = {.area = {0, 0, 80, 60}, .threshold = 100};
	struct detect_result got;

	detect_image(frame, template_, &query, &got);
	ck_assert(!got.evaluable && !got.found);
	detect_template_free(template_);
	detect_frame_free(frame);
	picture_free(screen);
	picture_free(wide);
}
END_TEST

START_TEST(exact_looks_one_pixel_around)
{
	struct canvas base = drawn(SCENE_PHOTO, 5, 120, 90), image = drawn(SCENE_NOISE, 5, 16, 12);
	static const struct {
		int at_x, at_y, x, y;
		bool found;
	} cases[] = {
		{50, 40, 50, 40, true},   {50, 40, 51, 41, true}, {50, 40, 49, 39, true}, {50, 40, 52, 40, false},
		{50, 40, 50, 38, false},  {0, 0, 0, 0, true},     {0, 0, 1, 1, true},     {104, 78, 104, 78, true},
		{104, 78, 103, 77, true}, {0, 78, 0, 77, true},   {104, 0, 103, 0, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct canvas screen = canvas_crop(&base, whole(&base), 0);
		int x = cases[i].at_x, y = cases[i].at_y;
		canvas_paste(&screen, &image, cases[i].x, cases[i].y);
		struct detect_result got =
			look(&screen, &image,
			     (struct detect_query){.area = {x, y, x + 16, y + 12}, .exact = true, .threshold = 4});
		ck_assert_msg(got.evaluable && got.found == cases[i].found, "case %zu", i);
		if (got.found) {
			ck_assert_int_eq(got.place.left, cases[i].x);
			ck_assert_int_eq(got.place.top, cases[i].y);
			ck_assert_int_eq(got.x, cases[i].x + 8);
			ck_assert_int_eq(got.y, cases[i].y + 6);
		}
		canvas_free(&screen);
	}
	canvas_free(&base);
	canvas_free(&image);
}
END_TEST

// ---- which candidate ----------------------------------------------------------------------------------------------

START_TEST(ties_go_to_the_first_in_row_order)
{
	struct canvas screen = drawn(SCENE_GRADIENT, 4, 200, 160), image = drawn(SCENE_NOISE, 8, 17, 13);
	static const int places[][2] = {{150, 20}, {20, 40}, {90, 40}, {20, 120}};

	for (int n = 4; n > 0; n--) {
		struct detect_query query = {.area = whole(&screen), .threshold = 10};
		for (int i = n - 1; i < 4; i++)
			canvas_paste(&screen, &image, places[i][0], places[i][1]);
		for (int best = 0; best < 2; best++) {
			query.best = best;
			struct detect_result got = look(&screen, &image, query);
			ck_assert(got.found && got.score == 1);
			ck_assert_int_eq(got.place.left, places[n - 1][0]);
			ck_assert_int_eq(got.place.top, places[n - 1][1]);
		}
	}
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

START_TEST(brighter_copies_tie_too)
{
	struct canvas screen = canvas_new(120, 60, 0), image = canvas_new(10, 10, 0), bright;
	struct dice dice = {1};

	canvas_fill(&screen, whole(&screen), 0x102030);
	for (int i = 0; i < 100; i++)
		canvas_fill(&image, (struct rect){i % 10, i / 10, i % 10 + 1, i / 10 + 1},
			    (uint32_t)(i * i % 80) * 0x10101);
	bright = canvas_crop(&image, whole(&image), 0);
	canvas_alter(&bright, &dice, 300, 7, 0);
	canvas_paste(&screen, &bright, 20, 5);
	canvas_paste(&screen, &image, 70, 5);
	struct detect_result got =
		look(&screen, &image, (struct detect_query){.area = whole(&screen), .threshold = 80});
	ck_assert(got.found && got.score == 1);
	ck_assert_int_eq(got.place.left, 20);
	canvas_free(&screen);
	canvas_free(&image);
	canvas_free(&bright);
}
END_TEST

static void stripes(struct canvas *canvas, int from, int to, bool coloured)
{
	for (int x = from; x < to; x++)
		canvas_fill(canvas, (struct rect){x, 0, x + 1, canvas->height},
			    x % 4 < 2 ? (coloured ? 0xe01010 : 0x4e4e4e) : (coloured ? 0x600808 : 0x222222));
}

START_TEST(a_wrong_colour_puts_out_what_lies_right_of_it)
{
	struct canvas screen = canvas_new(64, 8, 0), image = canvas_new(16, 8, 0);
	struct detect_query query = {.area = whole(&screen), .threshold = 20};
	struct detect_result got;

	stripes(&image, 0, 16, true);
	// 8 lies in the cells of 0, which are put out; 16 is the next, and it is red.
	stripes(&screen, 0, 8, false);
	stripes(&screen, 8, 64, true);
	got = look(&screen, &image, query);
	ck_assert(got.found);
	ck_assert_int_eq(got.place.left, 16);
	// Only 8 is wholly red, and it is put out.
	stripes(&screen, 24, 64, false);
	got = look(&screen, &image, query);
	ck_assert(!got.found && !got.has_score);
	query.best = true;
	got = look(&screen, &image, query);
	ck_assert(!got.found && got.has_score && got.place.left == 0 && got.colour_difference > 20);
	// With 8 as the first position it is found.
	query.area.left = 8;
	got = look(&screen, &image, query);
	ck_assert(got.found && got.place.left == 8);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

START_TEST(put_out_cells_are_lit_again)
{
	struct canvas screen = canvas_new(64, 8, 0), image = canvas_new(16, 8, 0);
	struct detect_frame *frame;
	struct detect_template *template_;
	struct detect_query query = {.area = whole(&screen), .threshold = 20};
	struct detect_result first, again;

	stripes(&image, 0, 16, true);
	stripes(&screen, 0, 64, false);
	frame = frame_of(canvas_view(&screen), 0);
	template_ = template_of(canvas_view(&image));
	detect_image(frame, template_, &query, &first);
	stripes(&screen, 0, 16, true);
	detect_frame_begin(frame, canvas_view(&screen));
	detect_image(frame, template_, &query, &again);
	ck_assert(!first.found && again.found && again.place.left == 0);
	detect_template_free(template_);
	detect_frame_free(frame);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

START_TEST(thresholds_at_their_ends)
{
	struct canvas screen = drawn(SCENE_NOISE, 21, 60, 50),
		      image = canvas_crop(&screen, (struct rect){9, 8, 29, 24}, 0);
	struct dice dice = {4};
	struct detect_result got = look(&screen, &image, (struct detect_query){.area = whole(&screen), .threshold = 0});

	ck_assert(got.found && got.score == 1);
	canvas_alter(&image, &dice, 100, 0, 1);
	got = look(&screen, &image, (struct detect_query){.area = whole(&screen), .threshold = 0});
	ck_assert(!got.found);
	got = look(&screen, &image, (struct detect_query){.area = {30, 25, 60, 50}, .threshold = 100});
	ck_assert(got.found && got.score < 0.9);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

START_TEST(reds_on_both_sides_of_the_wrap_agree)
{
	struct canvas screen = canvas_new(40, 30, 0), image = canvas_new(12, 10, 0);

	canvas_fill(&screen, whole(&screen), 0x808080);
	for (int i = 0; i < 120; i++)
		canvas_fill(&image, (struct rect){i % 12, i / 12, i % 12 + 1, i / 12 + 1},
			    i % 2 ? 0xe00408 : (uint32_t)(0x900400 + i));
	canvas_paste(&screen, &image, 11, 9);
	canvas_fill(&screen, (struct rect){11, 9, 23, 10}, 0xe00404);
	struct detect_result got =
		look(&screen, &image, (struct detect_query){.area = whole(&screen), .threshold = 60});
	ck_assert(got.found && got.colour_difference < 4);
	ck_assert_double_eq_tol(got.colour_difference,
				textbook_colour(canvas_view(&screen), canvas_view(&image), 11, 9), 1e-9);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

// ---- transparency -------------------------------------------------------------------------------------------------

START_TEST(transparent_pixels_do_not_count)
{
	struct canvas screen = drawn(SCENE_PHOTO, 31, 160, 120), image = drawn(SCENE_NOISE, 31, 24, 24), round;
	struct detect_query query = {.area = whole(&screen), .threshold = 2, .best = true};
	struct detect_result got;

	round = canvas_crop(&image, whole(&image), 0);
	for (int i = 0; i < 24 * 24; i++) {
		int dx = i % 24 - 12, dy = i / 24 - 12;
		uint8_t *p = round.pixels + i / 24 * round.stride + i % 24 * 4;
		if (dx * dx + dy * dy < 100)
			memcpy(screen.pixels + (50 + i / 24) * screen.stride + (70 + i % 24) * 4, p, 4);
		else
			memset(p, i % 7 ? 0 : 254, 4);
	}
	got = look(&screen, &image, query);
	ck_assert(!got.found);
	got = look(&screen, &round, query);
	ck_assert(got.found && got.score == 1 && got.colour_difference == 0);
	ck_assert_int_eq(got.x, 82);
	ck_assert_int_eq(got.y, 62);
	canvas_free(&screen);
	canvas_free(&image);
	canvas_free(&round);
}
END_TEST

START_TEST(alpha_of_the_frame_is_ignored)
{
	struct canvas screen = drawn(SCENE_DESKTOP, 3, 160, 120),
		      image = canvas_crop(&screen, (struct rect){5, 5, 40, 30}, 0);

	for (int i = 0; i < 160 * 120; i++)
		screen.pixels[i / 160 * screen.stride + i % 160 * 4 + 3] = (uint8_t)i;
	struct detect_result got = look(&screen, &image, (struct detect_query){.area = whole(&screen)});
	ck_assert(got.found && got.score == 1 && got.place.left == 5 && got.place.top == 5);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

// ---- quality ------------------------------------------------------------------------------------------------------

START_TEST(ratios)
{
	static const int cases[][5] = {{1920, 1080, 1200, 5, 8}, {1080, 1920, 960, 1, 2}, {800, 600, 800, 1, 1},
				       {800, 600, 0, 1, 1},      {800, 600, 900, 1, 1},   {1366, 768, 1, 1, 1366}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int num, den;
		detect_ratio(cases[i][0], cases[i][1], cases[i][2], &num, &den);
		ck_assert_int_eq(num, cases[i][3]);
		ck_assert_int_eq(den, cases[i][4]);
	}
}
END_TEST

START_TEST(reduction_is_area_averaging)
{
	for (int i = 0; i < 300; i++) {
		struct dice dice = {(uint64_t)i};
		int width = dice_between(&dice, 1, 60), height = dice_between(&dice, 1, 60), num, den;
		struct canvas source = canvas_new(width, height, i % 3);
		scene_draw((enum scene)(i % SCENES), (uint64_t)i, &source);
		detect_ratio(source.width, source.height, dice_between(&dice, 1, 60), &num, &den);
		CLEANUP_FREE uint8_t *wanted = NULL;
		struct picture_view view = textbook_reduce(canvas_view(&source), num, den, &wanted);
		ck_assert_int_eq(view.width, reduce_side(source.width, num, den));
		ck_assert_int_eq(view.height, reduce_side(source.height, num, den));
		CLEANUP_FREE uint8_t *got = calloc((size_t)view.height, (size_t)view.stride);
		CLEANUP_FREE struct span *spans = calloc((size_t)view.width, sizeof(*spans));
		CLEANUP_FREE uint32_t *row = calloc(4 * (size_t)source.width + REDUCE_PADDING, sizeof(*row));
		struct reduction reduction = {.num = num, .den = den, .columns = spans, .row = row};
		for (int x = 0; x < view.width; x++)
			spans[x] = reduce_span(x, source.width, num, den);
		int middle = dice_between(&dice, 1, view.width), rows = dice_between(&dice, 1, view.height);
		reduce_part(&reduction, canvas_view(&source), (struct rect){0, 0, middle, rows}, got, view.stride);
		if (middle < view.width)
			reduce_part(&reduction, canvas_view(&source), (struct rect){middle, 0, view.width, rows}, got,
				    view.stride);
		if (rows < view.height)
			reduce_part(&reduction, canvas_view(&source), (struct rect){0, rows, view.width, view.height},
				    got, view.stride);
		ck_assert_mem_eq(got, wanted, (size_t)view.height * (size_t)view.stride);
		memset(got, 0, (size_t)view.height * (size_t)view.stride);
		reduce_template(canvas_view(&source), num, den, got, view.stride);
		ck_assert_mem_eq(got, wanted, (size_t)view.height * (size_t)view.stride);
		canvas_free(&source);
	}
}
END_TEST

// Ratios of large numerators and denominators take other ways than those of small ones; every set of kernels each.
START_TEST(reduction_at_any_ratio)
{
	static const int cases[][3] = {{1920, 30, 1200}, {300, 8, 255}, {255, 9, 254},   {256, 9, 255},  {257, 5, 256},
				       {4095, 3, 4093},  {4096, 3, 17}, {4097, 3, 4096}, {8191, 2, 4093}};
	const struct kernels *sets[8];
	size_t n_sets = kernels_available(sets, ARRAY_SIZE(sets));

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct canvas source = canvas_new(cases[i][0], cases[i][1], 1);
		struct detect_frame *frame;
		struct detect_result got;
		int num, den;
		scene_draw(i % 2 ? SCENE_NOISE : SCENE_CHECKERBOARD, i, &source);
		detect_ratio(source.width, source.height, cases[i][2], &num, &den);
		CLEANUP_FREE uint8_t *wanted = NULL;
		struct picture_view view = textbook_reduce(canvas_view(&source), num, den, &wanted);
		for (size_t s = 0; s < n_sets; s++) {
			kernels_use(sets[s]);
			frame = frame_of(canvas_view(&source), cases[i][2]);
			struct detect_query all = {.area = {0, 0, source.width, source.height}};
			detect_color(frame, 0, &all, &got);
			ck_assert(got.evaluable && got.prepared & 1U << DETECT_REDUCED);
			ck_assert_int_eq(frame->width, view.width);
			ck_assert_mem_eq(frame->reduced, wanted, 4 * (size_t)view.width * (size_t)view.height);
			detect_frame_free(frame);
		}
		kernels_use(NULL);
		canvas_free(&source);
	}
}
END_TEST

START_TEST(a_reduced_template_counts_what_is_half_opaque)
{
	struct canvas source = drawn(SCENE_NOISE, 9, 6, 4);
	uint8_t reduced[3 * 2 * 4];

	for (int i = 0; i < 24; i++)
		source.pixels[i / 6 * source.stride + i % 6 * 4 + 3] = 255;
	source.pixels[3] = 0;                                    // three of four remain
	source.pixels[2 * 4 + 3] = source.pixels[3 * 4 + 3] = 0; // two of four
	source.pixels[4 * 4 + 3] = source.pixels[5 * 4 + 3] = source.pixels[source.stride + 4 * 4 + 3] = 0; // one
	reduce_template(canvas_view(&source), 1, 2, reduced, 12);
	ck_assert_int_eq(reduced[3], 255);
	ck_assert_int_eq(reduced[7], 255);
	ck_assert_int_eq(reduced[11], 0);
	ck_assert_int_eq(reduced[0],
			 (source.pixels[4] + source.pixels[source.stride] + source.pixels[source.stride + 4] + 1) / 3);
	canvas_free(&source);
}
END_TEST

static void check_reduced_search(int i)
{
	struct dice dice = {(uint64_t)i};
	int width = dice_between(&dice, 80, 220), height = dice_between(&dice, 60, 160);
	struct canvas screen = canvas_new(width, height, 0);
	int quality = dice_between(&dice, 40, 150), num, den;
	scene_draw((enum scene)(i % 5), (uint64_t)i, &screen);
	int x = dice_between(&dice, 0, screen.width - 40), y = dice_between(&dice, 0, screen.height - 40);
	struct canvas image = canvas_crop(&screen, (struct rect){x, y, x + dice_between(&dice, 16, 40), y + 40}, 0);
	struct detect_frame *frame = frame_of(canvas_view(&screen), quality);
	struct detect_template *template_;
	struct detect_query query = {
		.area = {x / 2, y / 2, screen.width - 1, screen.height}, .threshold = 12, .best = true};
	struct detect_result got;
	CLEANUP_FREE uint8_t *small_screen = NULL, *small_image = NULL;

	detect_ratio(screen.width, screen.height, quality, &num, &den);
	if (detect_template_new(canvas_view(&image), num, den, &template_, NULL) == 0) {
		struct picture_view s = textbook_reduce(canvas_view(&screen), num, den, &small_screen);
		struct picture_view t = textbook_reduce(canvas_view(&image), num, den, &small_image);
		struct textbook book;
		struct rect area = {query.area.left * num / den, query.area.top * num / den,
				    MIN((query.area.right * num + den - 1) / den, s.width),
				    MIN((query.area.bottom * num + den - 1) / den, s.height)};
		textbook_look(s, t, area, 12, &book);
		detect_image(frame, template_, &query, &got);
		ck_assert_int_eq(got.evaluable, book.columns > 0);
		ck_assert_int_eq(got.found, book.found);
		ck_assert_double_eq_tol(got.score, book.found ? book.score : book.best_score, 1e-5);
		int bx = book.found ? book.x : book.best_x, by = book.found ? book.y : book.best_y;
		ck_assert_int_eq(got.place.left, (int)floor((double)bx * den / num + 0.5 + 1e-9));
		ck_assert_int_eq(got.x, (int)floor((double)(bx + t.width / 2) * den / num + 0.5 + 1e-9));
		ck_assert_int_eq(got.y, (int)floor((double)(by + t.height / 2) * den / num + 0.5 + 1e-9));
		ck_assert(got.place.right <= screen.width && got.place.bottom <= screen.height);
		textbook_free(&book);
		detect_template_free(template_);
	}
	detect_frame_free(frame);
	canvas_free(&screen);
	canvas_free(&image);
}

START_TEST(reduced_searches_as_the_textbook)
{
	for (int i = 0; i < 60; i++)
		check_reduced_search(i);
}
END_TEST

START_TEST(whole_frame_template_at_any_quality)
{
	struct canvas screen = drawn(SCENE_PHOTO, 77, 191, 107);

	for (int quality = 5; quality < 200; quality += 7) {
		struct detect_frame *frame = frame_of(canvas_view(&screen), quality);
		struct detect_template *template_;
		struct detect_query query = {.area = whole(&screen), .threshold = 1};
		struct detect_result got;
		int num, den;

		detect_ratio(screen.width, screen.height, quality, &num, &den);
		ck_assert_int_eq(detect_template_new(canvas_view(&screen), num, den, &template_, NULL), 0);
		for (query.exact = false;; query.exact = true) {
			detect_image(frame, template_, &query, &got);
			ck_assert_msg(got.evaluable && got.found && got.score == 1, "quality %d", quality);
			if (query.exact)
				break;
		}
		detect_template_free(template_);
		detect_frame_free(frame);
	}
	canvas_free(&screen);
}
END_TEST

// ---- color --------------------------------------------------------------------------------------------------------

START_TEST(color_conditions)
{
	struct canvas screen = canvas_new(40, 30, 2);
	struct detect_frame *frame;
	struct detect_query query = {.area = {10, 5, 21, 12}, .threshold = 0};
	struct detect_result got;

	canvas_fill(&screen, whole(&screen), 0x204060);
	canvas_fill(&screen, (struct rect){10, 5, 21, 12}, 0xff8800);
	frame = frame_of(canvas_view(&screen), 0);
	detect_color(frame, 0xff8800, &query, &got);
	ck_assert(got.evaluable && got.found && got.has_score && got.score == 1);
	ck_assert_int_eq(got.x, 15);
	ck_assert_int_eq(got.y, 8);
	detect_color(frame, 0xff8801, &query, &got);
	ck_assert(!got.found && got.has_score);
	ck_assert_double_eq_tol(got.score, 1 - 1.0 / 765, 1e-12);
	query.threshold = 100 / 765.0 + 1e-9;
	detect_color(frame, 0xff8801, &query, &got);
	ck_assert(got.found);
	query.area = (struct rect){0, 0, 40, 30};
	detect_color(frame, 0x204060, &query, &got);
	ck_assert_double_eq_tol(got.score, 1 - (0xdf + 0x48 + 0x60) * 77 / 1200.0 / 765, 1e-12);
	query.area.right = 41;
	detect_color(frame, 0x204060, &query, &got);
	ck_assert(!got.evaluable && !got.found && !got.has_score);
	detect_frame_free(frame);
	canvas_free(&screen);
}
END_TEST

START_TEST(color_at_a_quality)
{
	struct canvas screen = canvas_new(400, 300, 0);
	struct detect_query query = {.area = {100, 100, 200, 150}, .threshold = 1};
	struct detect_frame *frame;
	struct detect_result got;

	canvas_fill(&screen, whole(&screen), 0x204060);
	canvas_fill(&screen, query.area, 0xff8800);
	frame = frame_of(canvas_view(&screen), 200);
	detect_color(frame, 0xff8800, &query, &got);
	ck_assert(got.found && got.score == 1 && got.x == 150 && got.y == 124);
	ck_assert_uint_eq(got.used, 1U << DETECT_REDUCED);
	detect_frame_free(frame);
	canvas_free(&screen);
}
END_TEST

START_TEST(hues)
{
	ck_assert_int_eq(colour_hue(255, 0, 0), 0);
	ck_assert_int_eq(colour_hue(0, 255, 0), 60);
	ck_assert_int_eq(colour_hue(0, 0, 255), 120);
	ck_assert_int_eq(colour_hue(255, 255, 0), 30);
	ck_assert_int_eq(colour_hue(255, 0, 8), 179);
	ck_assert_int_eq(colour_hue(77, 77, 77), 0);
}
END_TEST

// ---- how it works -------------------------------------------------------------------------------------------------

static int64_t fake_now;
static int clock_reads;

static int64_t fake_clock(void)
{
	clock_reads++;
	return fake_now += 7;
}

START_TEST(preparation_is_timed_once)
{
	struct canvas screen = drawn(SCENE_DESKTOP, 11, 300, 200),
		      image = canvas_crop(&screen, (struct rect){9, 9, 40, 41}, 0);
	struct detect_frame *frame = frame_of(canvas_view(&screen), 150);
	struct detect_template *template_;
	struct detect_query query = {.area = whole(&screen), .threshold = 10};
	struct detect_result first, second;
	int64_t sum = 0;
	int reads;

	ck_assert_int_eq(detect_template_new(canvas_view(&image), 1, 2, &template_, NULL), 0);
	detect_image(frame, template_, &query, &first);
	ck_assert(first.prepared == first.used && first.prepared & (1U << DETECT_GRAY));
	for (int i = 0; i < DETECT_PARTS; i++)
		ck_assert_int_eq(first.prepared_ns[i], 0);
	detect_frame_set_clock(frame, fake_clock);
	detect_frame_begin(frame, canvas_view(&screen));
	clock_reads = 0;
	detect_image(frame, template_, &query, &first);
	reads = clock_reads;
	ck_assert(first.prepared & (1U << DETECT_GRAY) && first.prepared & (1U << DETECT_REDUCED));
	for (int i = 0; i < DETECT_PARTS; i++) {
		ck_assert_int_eq(first.prepared_ns[i] > 0, first.prepared >> i & 1);
		sum += first.prepared_ns[i];
	}
	// A reading ends a piece, or begins the first of several in a row: at most every other one.
	ck_assert_int_ge(sum, 7 * reads / 2);
	ck_assert_int_le(sum, 7 * (reads - 1));
	detect_image(frame, template_, &query, &second);
	ck_assert_int_eq(clock_reads, reads);
	ck_assert(second.used == first.used && second.prepared == 0);
	ck_assert(first.found && second.found && second.score == first.score);
	detect_template_free(template_);
	detect_frame_free(frame);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

// A small area first, a larger one around it, then all: whoever prepared a tile is told of its first other user, once.
START_TEST(what_is_shared_is_told_by_tiles)
{
	struct canvas screen = drawn(SCENE_DESKTOP, 11, 320, 192);
	struct detect_frame *frame = frame_of(canvas_view(&screen), 160);
	const struct rect areas[] = {{0, 0, 64, 32}, {0, 0, 128, 64}, {0, 0, 320, 192}, {0, 0, 320, 192}};
	struct detect_result got[4];
	int64_t told[4] = {0}, first_of_two;

	detect_frame_set_clock(frame, fake_clock);
	for (int round = 0; round < 2; round++) {
		detect_frame_begin(frame, canvas_view(&screen)); // the second round shares nothing with the first
		memset(told, 0, sizeof(told));
		for (uint32_t i = 0; i < 4; i++) {
			detect_color(frame, 0, &(struct detect_query){.area = areas[i], .asker = i}, &got[i]);
			for (int j = 0; j < got[i].n_shared; j++)
				told[got[i].shared[j].asker] += got[i].shared[j].ns;
			if (i == 1)
				first_of_two = told[0];
		}
		ck_assert_int_eq(got[0].n_shared, 0);
		ck_assert_int_eq(got[1].n_shared, 1);
		ck_assert_int_eq(got[2].n_shared, 1); // the first one's tile was told already
		ck_assert_int_eq(got[3].n_shared, 1);
		ck_assert_int_eq(first_of_two, got[0].prepared_ns[DETECT_REDUCED]);
		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(told[i], got[i].prepared_ns[DETECT_REDUCED]);
		ck_assert_int_eq(told[3], 0);
		detect_color(frame, 0, &(struct detect_query){.area = areas[0], .asker = 9}, &got[0]);
		ck_assert_int_eq(got[0].n_shared, 0);
	}
	detect_frame_free(frame);
	canvas_free(&screen);
}
END_TEST

/// Conditions that look at places of their own, on frames of changing sizes.
#define SHARERS 12U
/// At the end of a frame these two look at all of it: at the reduced pixels, and at what has changed.
enum { LAST_LOOKS = SHARERS, LAST_COMPARES, ASKERS };

struct sharing {
	struct dice dice;
	struct detect_frame *frame;
	struct canvas screen;
	struct detect_memory *memories[ASKERS];
	struct rect areas[ASKERS];
	int64_t prepared[ASKERS], told[ASKERS]; ///< in this frame
};

static int64_t uneven_clock(void)
{
	static struct dice dice = {5};

	return fake_now += dice_between(&dice, 0, 1000);
}

static void share_new_size(struct sharing *sharing)
{
	int width = dice_between(&sharing->dice, 20, 400), height = dice_between(&sharing->dice, 20, 300);

	canvas_free(&sharing->screen);
	sharing->screen = canvas_new(width, height, 0);
	scene_draw(SCENE_NOISE, 3, &sharing->screen);
	ck_assert_int_eq(detect_frame_reserve(sharing->frame, width, height, dice_between(&sharing->dice, 0, 1) * 150),
			 0);
	for (uint32_t i = 0; i < ASKERS; i++) {
		struct rect area = {0, 0, width, height};

		if (i < SHARERS && !dice_one_in(&sharing->dice, 4)) {
			area.left = dice_between(&sharing->dice, 0, width - 1);
			area.top = dice_between(&sharing->dice, 0, height - 1);
			area.right = dice_between(&sharing->dice, area.left + 1, width);
			area.bottom = dice_between(&sharing->dice, area.top + 1, height);
		}
		sharing->areas[i] = area;
		detect_memory_reserve(sharing->memories[i], sharing->frame, area, false,
				      &(size_t){i >= SHARERS || dice_one_in(&sharing->dice, 2) ? 0 : SIZE_MAX});
	}
}

static void share_check(struct sharing *sharing, uint32_t asker, bool remember)
{
	struct detect_query query = {.area = sharing->areas[asker],
				     .asker = asker,
				     .threshold = 10,
				     .memory = remember ? sharing->memories[asker] : NULL};
	struct detect_result result;

	detect_color(sharing->frame, 0, &query, &result);
	for (int i = 0; i < DETECT_PARTS; i++)
		sharing->prepared[asker] += result.prepared_ns[i];
	for (int i = 0; i < result.n_shared; i++) {
		const struct detect_shared *shared = &result.shared[i];

		ck_assert_uint_ne(shared->asker, asker);
		ck_assert_uint_lt(shared->asker, ASKERS);
		sharing->told[shared->asker] += shared->ns;
		ck_assert_int_le(sharing->told[shared->asker], sharing->prepared[shared->asker]);
	}
}

static void share_frame(struct sharing *sharing)
{
	struct canvas *screen = &sharing->screen;

	if (dice_one_in(&sharing->dice, 2)) {
		int x = dice_between(&sharing->dice, 0, screen->width - 1),
		    y = dice_between(&sharing->dice, 0, screen->height - 1);
		screen->pixels[y * screen->stride + 4 * x] ^= 1;
	}
	memset(sharing->prepared, 0, sizeof(sharing->prepared));
	memset(sharing->told, 0, sizeof(sharing->told));
	detect_frame_begin(sharing->frame, canvas_view(screen));
	for (int i = dice_between(&sharing->dice, 0, 30); i > 0; i--) {
		uint32_t asker = (uint32_t)dice_between(&sharing->dice, 0, SHARERS - 1);
		share_check(sharing, asker, dice_one_in(&sharing->dice, 2));
	}
	share_check(sharing, LAST_LOOKS, false);
	share_check(sharing, LAST_COMPARES, true);
	for (uint32_t i = 0; i < SHARERS; i++)
		ck_assert_int_eq(sharing->told[i], sharing->prepared[i]);
}

// By whatever parts it is made and used: once all is looked at by others, all of it is told, and no nanosecond twice.
START_TEST(what_is_shared_is_told_to_the_nanosecond)
{
	struct sharing sharing = {.dice = {9}, .screen = canvas_new(1, 1, 0)};

	ck_assert_int_eq(detect_frame_new(&sharing.frame), 0);
	detect_frame_set_clock(sharing.frame, uneven_clock);
	for (int i = 0; i < ASKERS; i++)
		ck_assert_int_eq(detect_memory_new(&sharing.memories[i]), 0);
	for (int size = 0; size < 40; size++) {
		share_new_size(&sharing);
		for (int i = 0; i < 8; i++)
			share_frame(&sharing);
	}
	for (int i = 0; i < ASKERS; i++)
		detect_memory_free(sharing.memories[i]);
	detect_frame_free(sharing.frame);
	canvas_free(&sharing.screen);
}
END_TEST

START_TEST(a_stop_ends_the_search)
{
	struct canvas screen = drawn(SCENE_PHOTO, 11, 300, 200),
		      image = canvas_crop(&screen, (struct rect){9, 9, 40, 41}, 0);
	volatile int stop = 1;
	struct detect_result got =
		look(&screen, &image, (struct detect_query){.area = whole(&screen), .threshold = 10, .stop = &stop});

	ck_assert(got.stopped && !got.found);
	stop = 0;
	got = look(&screen, &image, (struct detect_query){.area = whole(&screen), .threshold = 10, .stop = &stop});
	ck_assert(!got.stopped && got.found);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

static unsigned allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	allocations++;
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	allocations++;
	return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	allocations++;
	return __real_aligned_alloc(alignment, size);
}

static volatile int stop_flag;
static int calls_until_stop, calls_after_stop;
static struct kernels real;

static void count_call(void)
{
	if (stop_flag)
		calls_after_stop++;
	else if (--calls_until_stop == 0)
		stop_flag = 1;
}

static bool counted_scan(const struct scan *scan)
{
	count_call();
	return real.scan(scan);
}

static void counted_window(const uint8_t *frame, ptrdiff_t frame_stride, const uint8_t *template_, const uint8_t *mask,
			   ptrdiff_t template_stride, int width, int rows, struct window_sums *sums)
{
	count_call();
	real.window(frame, frame_stride, template_, mask, template_stride, width, rows, sums);
}

static void counted_transform(float *re, float *im, const float *turns)
{
	count_call();
	real.to_spectrum(re, im, turns);
}

// Wherever a search is when the stop comes: what it still does does not depend on how much of the frame is left.
static void stop_at(const struct canvas *screen, const struct canvas *image, double threshold, int call, bool transform)
{
	struct kernels counted;
	struct detect_result got;

	real = counted = *kernels();
	counted.scan = counted_scan;
	counted.window = counted_window;
	counted.to_spectrum = counted_transform;
	counted.transform_cost = transform ? -1e12 : 1e12;
	stop_flag = 0;
	calls_until_stop = call;
	calls_after_stop = 0;
	kernels_use(&counted);
	got = look(screen, image,
		   (struct detect_query){.area = whole(screen), .threshold = threshold, .stop = &stop_flag});
	kernels_use(NULL);
	ck_assert(got.stopped == (stop_flag != 0));
	ck_assert_msg(calls_after_stop <= 300, "%d calls after a stop at call %d", calls_after_stop, call);
}

START_TEST(a_stop_comes_soon)
{
	struct canvas screen = drawn(SCENE_NOISE, 11, 640, 480);
	struct canvas foreign = drawn(SCENE_NOISE, 12, 64, 64), own = drawn(SCENE_TEXT, 12, 64, 64);

	for (int call = 1; call < 3000; call = call * 3 + 1) {
		for (int transform = 0; transform < 2; transform++) {
			stop_at(&screen, &foreign, 10, call, transform);
			stop_at(&screen, &foreign, 60, call, transform);
			stop_at(&screen, &own, 90, call, transform);
		}
	}
	ck_assert(stop_flag); // of the last one: it was long enough to be stopped
	canvas_free(&screen);
	canvas_free(&foreign);
	canvas_free(&own);
}
END_TEST

START_TEST(checks_allocate_nothing)
{
	struct canvas screen = drawn(SCENE_ICONS, 11, 300, 200),
		      image = canvas_crop(&screen, (struct rect){3, 3, 23, 23}, 0);
	struct detect_template *template_;
	struct detect_frame *frame;
	struct detect_result got;
	unsigned before;

	canvas_decolour(&screen);
	ck_assert_uint_gt(allocations, 0);
	for (int quality = 0; quality <= 200; quality += 200) {
		frame = frame_of(canvas_view(&screen), quality);
		ck_assert_int_eq(detect_template_new(canvas_view(&image), 1, 1, &template_, NULL), 0);
		before = allocations; // and no call of check's, which allocates too
		for (int i = 0; i < 6; i++) {
			struct detect_query query = {.area = whole(&screen), .threshold = 12, .best = i % 2};
			detect_frame_reserve(frame, screen.width, screen.height, quality);
			detect_frame_begin(frame, canvas_view(&screen));
			detect_image(frame, template_, &query, &got);
			detect_color(frame, 0x123456, &query, &got);
		}
		ck_assert_uint_eq(allocations, before);
		detect_template_free(template_);
		detect_frame_free(frame);
	}
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

START_TEST(frames_of_other_sizes)
{
	struct canvas image = drawn(SCENE_NOISE, 2, 20, 16);
	struct detect_template *template_ = template_of(canvas_view(&image));
	struct detect_frame *frame;

	ck_assert_int_eq(detect_frame_new(&frame), 0);
	for (int i = 0; i < 40; i++) {
		struct dice dice = {(uint64_t)i};
		int width = dice_between(&dice, 20, 300), height = dice_between(&dice, 16, 200);
		struct canvas screen = drawn(SCENE_PHOTO, 2, width, height);
		int x = dice_between(&dice, 0, screen.width - 20), y = dice_between(&dice, 0, screen.height - 16);
		struct detect_query query = {.area = whole(&screen), .threshold = 3};
		struct detect_result got;

		canvas_paste(&screen, &image, x, y);
		ck_assert_int_eq(detect_frame_reserve(frame, screen.width, screen.height, 0), 0);
		detect_frame_begin(frame, canvas_view(&screen));
		detect_image(frame, template_, &query, &got);
		ck_assert(got.found && got.score == 1 && got.place.left == x && got.place.top == y);
		canvas_free(&screen);
	}
	detect_frame_free(frame);
	detect_template_free(template_);
	canvas_free(&image);
}
END_TEST

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

// The number is of no meaning; that it is the same on every machine and with every set of kernels is the point.
START_TEST(the_same_bits_everywhere)
{
	const struct kernels *sets[8];
	size_t n_sets = kernels_available(sets, ARRAY_SIZE(sets));

	for (size_t s = 0; s < n_sets; s++) {
		uint64_t hash = UINT64_C(0xcbf29ce484222325);
		kernels_use(sets[s]);
		for (int i = 0; i < 45; i++) {
			struct dice dice = {(uint64_t)i};
			struct canvas screen = drawn((enum scene)(i % SCENES), (uint64_t)i, 150, 110), image;
			int x = dice_between(&dice, 0, 110), y = dice_between(&dice, 0, 80);
			image = canvas_crop(&screen, (struct rect){x, y, x + dice_between(&dice, 3, 40), y + 30}, 0);
			canvas_alter(&screen, &dice, 90, 3, 25);
			struct detect_result got;
			struct detect_template *template_;
			if (detect_template_new(canvas_view(&image), 1, 1, &template_, NULL) == 0) {
				struct detect_frame *frame = frame_of(canvas_view(&screen), 0);
				struct detect_query query = {.area = whole(&screen), .threshold = 20, .best = true};
				detect_image(frame, template_, &query, &got);
				hash = mix(hash, &got.score, sizeof(got.score));
				hash = mix(hash, &got.colour_difference, sizeof(got.colour_difference));
				hash = mix(hash, &got.place, sizeof(got.place));
				detect_color(frame, 0x808080, &query, &got);
				hash = mix(hash, &got.score, sizeof(got.score));
				detect_frame_free(frame);
				detect_template_free(template_);
			}
			canvas_free(&screen);
			canvas_free(&image);
		}
		kernels_use(NULL);
		ck_assert_msg(hash == UINT64_C(0x240b9c291496e6f7), "%s: %#jx", sets[s]->name, (uintmax_t)hash);
	}
}
END_TEST

// Vector kernels write past what they are asked for: neighbours must stay right whatever was made first.
START_TEST(areas_in_any_order_on_one_frame)
{
	const struct kernels *sets[8];
	size_t n_sets = kernels_available(sets, ARRAY_SIZE(sets));

	for (int i = 0; i < 60; i++) {
		struct dice dice = {(uint64_t)i};
		struct canvas screen = drawn((enum scene)(i % 5), (uint64_t)i, 300, 190);
		int quality = i % 3 == 2 ? 170 : 0, num, den;
		struct detect_frame *shared = frame_of(canvas_view(&screen), quality);

		detect_ratio(300, 190, quality, &num, &den);
		for (int j = 0; j < 20; j++) {
			int w = dice_between(&dice, 4, 70), h = dice_between(&dice, 4, 60);
			int x = dice_between(&dice, 0, 300 - w), y = dice_between(&dice, 0, 190 - h);
			struct canvas image = canvas_crop(&screen, (struct rect){x, y, x + w, y + h}, 0);
			struct detect_template *template_;
			struct detect_query query = {.threshold = 15, .best = dice_one_in(&dice, 3)};
			struct detect_result got, wanted;

			query.area.left = dice_between(&dice, 0, 300 - w);
			query.area.top = dice_between(&dice, 0, 190 - h);
			query.area.right = dice_between(&dice, query.area.left + w, 300);
			query.area.bottom = dice_between(&dice, query.area.top + h, 190);
			if (detect_template_new(canvas_view(&image), num, den, &template_, NULL) == 0) {
				struct detect_frame *fresh = frame_of(canvas_view(&screen), quality);
				kernels_use(sets[(size_t)i % n_sets]);
				detect_image(shared, template_, &query, &got);
				kernels_use(NULL);
				detect_image(fresh, template_, &query, &wanted);
				ck_assert(got.found == wanted.found && got.score == wanted.score && got.x == wanted.x &&
					  got.y == wanted.y && got.colour_difference == wanted.colour_difference);
				detect_frame_free(fresh);
				detect_template_free(template_);
			}
			canvas_free(&image);
		}
		detect_frame_free(shared);
		canvas_free(&screen);
	}
}
END_TEST

START_TEST(a_large_frame)
{
	struct canvas screen = canvas_new(4096, 4096, 0), image = drawn(SCENE_NOISE, 41, 31, 27);
	struct detect_query query = {.area = whole(&screen), .threshold = 5};
	struct detect_result got;

	canvas_fill(&screen, whole(&screen), 0xffffff);
	canvas_paste(&screen, &image, 4096 - 31, 4096 - 27);
	got = look(&screen, &image, query);
	ck_assert(got.found && got.score == 1 && got.place.left == 4096 - 31 && got.place.top == 4096 - 27);
	query.area = (struct rect){3700, 3700, 4096, 4096};
	got = look(&screen, &image, query);
	ck_assert(got.found && got.score == 1 && got.place.left == 4096 - 31 && got.place.top == 4096 - 27);
	// White everywhere: the sums of a template this large pass 32 bits.
	canvas_fill(&screen, (struct rect){2048, 2048, 2049, 2049}, 0);
	query.area = whole(&screen);
	got = look(&screen, &screen, query);
	ck_assert(got.found && got.score == 1 && got.x == 2048 && got.y == 2048);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("detect");
	TCase *table = tcase_create("small cases"), *rules = tcase_create("rules");

	tcase_add_loop_test(table, small_case, 0, (int)ARRAY_SIZE(small_cases));
	tcase_add_test(table, equal_pixels_score_exactly_one);
	suite_add_tcase(suite, table);
	tcase_add_test(rules, flat_images_are_refused);
	tcase_add_test(rules, flat_after_reduction_is_said_so);
	tcase_add_test(rules, frames_of_no_size_are_refused);
	tcase_add_test(rules, areas_not_evaluable);
	tcase_add_test(rules, a_frame_of_another_size_is_not_evaluable);
	tcase_add_test(rules, image_wider_than_the_frame);
	tcase_add_test(rules, exact_looks_one_pixel_around);
	tcase_add_test(rules, ties_go_to_the_first_in_row_order);
	tcase_add_test(rules, brighter_copies_tie_too);
	tcase_add_test(rules, a_wrong_colour_puts_out_what_lies_right_of_it);
	tcase_add_test(rules, put_out_cells_are_lit_again);
	tcase_add_test(rules, thresholds_at_their_ends);
	tcase_add_test(rules, reds_on_both_sides_of_the_wrap_agree);
	tcase_add_test(rules, transparent_pixels_do_not_count);
	tcase_add_test(rules, alpha_of_the_frame_is_ignored);
	tcase_add_test(rules, ratios);
	tcase_add_test(rules, reduction_is_area_averaging);
	tcase_add_test(rules, reduction_at_any_ratio);
	tcase_add_test(rules, a_reduced_template_counts_what_is_half_opaque);
	tcase_add_test(rules, reduced_searches_as_the_textbook);
	tcase_add_test(rules, whole_frame_template_at_any_quality);
	tcase_add_test(rules, color_conditions);
	tcase_add_test(rules, color_at_a_quality);
	tcase_add_test(rules, hues);
	tcase_add_test(rules, preparation_is_timed_once);
	tcase_add_test(rules, what_is_shared_is_told_by_tiles);
	tcase_add_test(rules, what_is_shared_is_told_to_the_nanosecond);
	tcase_add_test(rules, a_stop_ends_the_search);
	tcase_add_test(rules, a_stop_comes_soon);
	tcase_add_test(rules, checks_allocate_nothing);
	tcase_add_test(rules, frames_of_other_sizes);
	tcase_add_test(rules, the_same_bits_everywhere);
	tcase_add_test(rules, areas_in_any_order_on_one_frame);
	tcase_add_test(rules, a_large_frame);
	suite_add_tcase(suite, rules);
	return unit_run(suite);
}
