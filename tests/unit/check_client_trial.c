// SPDX-License-Identifier: GPL-3.0-or-later
// What many pictures say of a threshold, what is drawn onto a picture, what a daemon may send, and how it all looks.
#include "client/trial/annotate.h"
#include "client/trial/measured.h"
#include "client/view/tried.h"
#include "client/view/tuning.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// --- what pictures say -----------------------------------------------------------------------------------------------

static const struct tuning_input whole_screen = {
	.threshold = 30, .width = 1000, .height = 800, .area = {0, 0, 1000, 800}, .pictures = 100};

/// Samples with these needs, found at one place each 10 px further.
static size_t fill(struct tuning_sample *samples, const double *needs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int left = 100 + 10 * (int)i;

		samples[i] = (struct tuning_sample){.picture = (uint32_t)i,
						    .needed = needs[i],
						    .score = 1 - needs[i] / 100,
						    .place = {left, 50, left + 40, 70}};
	}
	return n;
}

#define ANALYSE(input, ...)                                                                                            \
	struct tuning_sample samples[16];                                                                              \
	struct tuning tuning;                                                                                          \
	size_t n = fill(samples, (const double[]){__VA_ARGS__}, ARRAY_SIZE(((const double[]){__VA_ARGS__})));          \
	tuning_analyse(input, samples, n, &tuning)

START_TEST(test_clear)
{
	ANALYSE(&whole_screen, 40, 0, 0.5, 60, 0, 38);
	ck_assert_int_eq(tuning.verdict, TUNING_CLEAR);
	ck_assert_uint_eq(tuning.there.n, 3);
	ck_assert_uint_eq(tuning.absent.n, 3);
	ck_assert_uint_eq(samples[tuning.there.n - 1].picture, 2); // of those that are there the farthest
	ck_assert_uint_eq(samples[tuning.absent.first].picture, 5);
	ck_assert_double_eq_tol(tuning.gap_needed, 37.5, 1e-9);
	ck_assert_double_eq_tol(tuning.gap_score, 0.375, 1e-9);
	ck_assert_uint_eq(tuning.missed + tuning.mistaken, 0);
	// a third of the way from sqrt(.005) to sqrt(.38) is .2526
	ck_assert(tuning.has_suggested && !tuning.keep);
	ck_assert_double_eq(tuning.suggested, 6);
}
END_TEST

START_TEST(test_threshold_that_is_right_stays)
{
	struct tuning_input input = whole_screen;

	input.threshold = 7.5;
	ANALYSE(&input, 40, 0, 0.5, 60, 0, 38);
	ck_assert(tuning.keep);
	ck_assert_double_eq(tuning.suggested, 7.5);
}
END_TEST

START_TEST(test_wrong_thresholds)
{
	struct tuning_input input = whole_screen;

	input.threshold = 45;
	{
		ANALYSE(&input, 40, 0, 2, 60, 0, 38);
		ck_assert_uint_eq(tuning.missed, 0);
		ck_assert_uint_eq(tuning.mistaken, 2);
		ck_assert(!tuning.keep);
	}
	input.threshold = 1;
	{
		ANALYSE(&input, 40, 0, 2, 60, 1, 38);
		ck_assert_uint_eq(tuning.missed, 1); // what needs just as much is found
		ck_assert_uint_eq(tuning.mistaken, 0);
		ck_assert(!tuning.keep);
	}
}
END_TEST

START_TEST(test_more_pictures_of_one_thing_change_nothing)
{
	ANALYSE(&whole_screen, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 38);
	ck_assert_int_eq(tuning.verdict, TUNING_CLEAR);
	ck_assert_double_eq(tuning.suggested, 6);
}
END_TEST

START_TEST(test_gap_among_what_is_absent_does_not_count)
{
	ANALYSE(&whole_screen, 0, 22, 24, 90);
	ck_assert_int_eq(tuning.verdict, TUNING_CLEAR);
	ck_assert_uint_eq(tuning.there.n, 1);
}
END_TEST

START_TEST(test_two_looks_are_ambiguous)
{
	ANALYSE(&whole_screen, 0, 0, 9, 9, 36);
	ck_assert_int_eq(tuning.verdict, TUNING_AMBIGUOUS);
	ck_assert(!tuning.has_suggested && !tuning.has_area);
	ck_assert_uint_eq(tuning.n_gaps, 2);
	ck_assert_double_eq_tol(tuning.gaps[0].distance, 0.3, 1e-9);
	ck_assert_double_eq_tol(tuning.gaps[1].distance, 0.3, 1e-9);
}
END_TEST

START_TEST(test_no_gap_is_ambiguous)
{
	ANALYSE(&whole_screen, 0, 1, 3, 6, 10, 15, 21, 28, 36);
	ck_assert_int_eq(tuning.verdict, TUNING_AMBIGUOUS);
	ck_assert(!tuning.has_suggested);
}
END_TEST

START_TEST(test_always)
{
	struct tuning_input input = whole_screen;

	{
		ANALYSE(&input, 0, 0.2, 0);
		ck_assert_int_eq(tuning.verdict, TUNING_ALWAYS);
		ck_assert(tuning.keep); // nothing is known that a lower one would avoid
	}
	input.threshold = 0.1;
	{
		ANALYSE(&input, 0, 0.2, 0);
		ck_assert_uint_eq(tuning.missed, 1);
		ck_assert(!tuning.keep);
		ck_assert(tuning.suggested > 0.2 && tuning.suggested <= 5);
	}
}
END_TEST

START_TEST(test_never)
{
	ANALYSE(&whole_screen, 33, 71, 20.5);
	ck_assert_int_eq(tuning.verdict, TUNING_NEVER);
	ck_assert(!tuning.has_suggested && !tuning.has_area);
	ck_assert_uint_eq(tuning.absent.n, 3);
}
END_TEST

START_TEST(test_nothing)
{
	struct tuning tuning;

	tuning_analyse(&whole_screen, NULL, 0, &tuning);
	ck_assert_int_eq(tuning.verdict, TUNING_NOTHING);
	ck_assert(!tuning.has_suggested);
}
END_TEST

START_TEST(test_one_picture)
{
	{
		ANALYSE(&whole_screen, 0);
		ck_assert_int_eq(tuning.verdict, TUNING_ALWAYS);
	}
	{
		ANALYSE(&whole_screen, 100);
		ck_assert_int_eq(tuning.verdict, TUNING_NEVER);
	}
}
END_TEST

START_TEST(test_areas)
{
	struct tuning_input input = whole_screen;

	{
		ANALYSE(&input, 0, 0, 50); // at 100 and 110, 40x20 px: 10 px more each side, 8 px above and below
		ck_assert(tuning.has_area && !tuning.same_place);
		ck_assert_int_eq(tuning.area.left, 90);
		ck_assert_int_eq(tuning.area.top, 42);
		ck_assert_int_eq(tuning.area.right, 160);
		ck_assert_int_eq(tuning.area.bottom, 78);
	}
	{
		ANALYSE(&input, 0, 50, 60);
		ck_assert(tuning.has_area && tuning.same_place);
		ck_assert_int_eq(tuning.place.left, 100);
	}
	input.area = (struct tuning_place){90, 40, 160, 80}; // hardly larger
	{
		ANALYSE(&input, 0, 0, 50);
		ck_assert(!tuning.has_area);
	}
	input.exact = true;
	{
		ANALYSE(&input, 0, 50, 60);
		ck_assert(!tuning.has_area);
	}
	input = whole_screen;
	input.width = input.height = 0; // of several sizes
	{
		ANALYSE(&input, 0, 0, 50);
		ck_assert(!tuning.has_area);
	}
}
END_TEST

/// Whatever the needs are: sides are all samples, a suggestion lies between them.
START_TEST(test_random)
{
	unsigned seed = 20260314;

	for (int round = 0; round < 20000; round++) {
		struct tuning_input input = whole_screen;
		struct tuning_sample samples[16];
		struct tuning tuning;
		double needs[16];
		size_t n = (size_t)rand_r(&seed) % 17;

		input.threshold = rand_r(&seed) % 1000 / 10.0;
		for (size_t i = 0; i < n; i++)
			needs[i] = rand_r(&seed) % 3 ? rand_r(&seed) % 1500 / 10.0 : rand_r(&seed) % 20 / 10.0;
		fill(samples, needs, n);
		tuning_analyse(&input, samples, n, &tuning);
		for (size_t i = 1; i < n; i++)
			ck_assert_double_le(samples[i - 1].needed, samples[i].needed);
		if (tuning.verdict == TUNING_CLEAR || tuning.verdict == TUNING_ALWAYS || tuning.verdict == TUNING_NEVER)
			ck_assert_uint_eq(tuning.there.n + tuning.absent.n, n);
		ck_assert(tuning.has_suggested == (tuning.verdict == TUNING_CLEAR || tuning.verdict == TUNING_ALWAYS));
		if (!tuning.has_suggested)
			continue;
		ck_assert_double_ge(tuning.suggested, samples[tuning.there.n - 1].needed);
		if (tuning.absent.n)
			ck_assert_double_lt(tuning.suggested, samples[tuning.absent.first].needed);
		if (tuning.keep)
			ck_assert_uint_eq(tuning.missed + tuning.mistaken, 0);
	}
}
END_TEST

// --- what is drawn ---------------------------------------------------------------------------------------------------

static uint32_t at(const struct picture *picture, int x, int y)
{
	const uint8_t *pixel = picture->pixels + y * picture->stride + (ptrdiff_t)4 * x;

	return (uint32_t)pixel[2] << 16 | (uint32_t)pixel[1] << 8 | pixel[0];
}

START_TEST(test_letters)
{
	static const char wanted[7][6] = {".###.", "#...#", "#..##", "#.#.#", "##..#", "#...#", ".###."};
	struct picture *picture;

	ck_assert_int_eq(picture_new(12, 9, &picture), 0);
	annotate_text(picture, 0, 1, 1, 0xffffff, "0");
	for (int y = 0; y < 7; y++)
		for (int x = 0; x < 5; x++)
			ck_assert_uint_eq(at(picture, x, y + 1) != 0, wanted[y][x] == '#');
	ck_assert_int_eq(annotate_text_width(1, "0"), 5);
	ck_assert_int_eq(annotate_text_width(2, "ab"), 22);
	ck_assert_int_eq(annotate_text_width(2, ""), 0);
	picture_free(picture);
}
END_TEST

START_TEST(test_letters_are_clipped)
{
	struct picture *picture;

	ck_assert_int_eq(picture_new(7, 5, &picture), 0);
	for (int x = -40; x < 20; x += 3)
		for (int y = -40; y < 20; y += 3)
			annotate_text(picture, x, y, 3, 0xff0000, "W\x80z~\x01");
	picture_free(picture);
}
END_TEST

#define AREA(...) ((Condprof__Area){PROTOBUF_C_MESSAGE_INIT(&condprof__area__descriptor), __VA_ARGS__})

/// A daemon may say any place.
START_TEST(test_areas_from_anywhere_are_drawn)
{
	static const int32_t numbers[] = {INT32_MIN, -100001, -5, 0, 3, 60, 99999, INT32_MAX};
	const Condprof__TriedCondition *list[1];
	struct tried tried = {.n = 1, .conditions = list, .width = 60, .height = 40};
	char name[] = "a name \xc3\xa4 that is long enough to be cut somewhere in it";

	for (size_t i = 0; i < 4096; i++) {
		Condprof__Area area = AREA(true, numbers[i & 7], true, numbers[i >> 3 & 7], true, numbers[i >> 6 & 7],
					   true, numbers[i >> 9]);
		Condprof__Candidate candidate = CONDPROF__CANDIDATE__INIT;
		Condprof__TriedCondition condition = CONDPROF__TRIED_CONDITION__INIT;
		struct picture *picture;

		candidate.place = &area;
		candidate.has_score = true;
		candidate.score = 1e300;
		condition.area = &area;
		condition.name = name;
		*(i & 1 ? &condition.match : &condition.best) = &candidate;
		list[0] = &condition;
		ck_assert_int_eq(picture_new(60, 40, &picture), 0);
		annotate(picture, &tried);
		picture_free(picture);
	}
}
END_TEST

static struct picture *drawn_number(char *name, double number, bool fulfilled)
{
	Condprof__Area area = AREA(true, 10, true, 30, true, 80, true, 9);
	Condprof__TriedCondition condition = CONDPROF__TRIED_CONDITION__INIT;
	const Condprof__TriedCondition *list[] = {&condition};
	struct tried tried = {.n = 1, .conditions = list, .width = 200, .height = 60};
	struct picture *picture;

	condition.area = &area;
	condition.name = name;
	condition.has_number = condition.has_fulfilled = condition.has_found = condition.found = true;
	condition.number = number;
	condition.fulfilled = fulfilled;
	ck_assert_int_eq(picture_new(200, 60, &picture), 0);
	annotate(picture, &tried);
	return picture;
}

static size_t pixels_of(const struct picture *picture, unsigned red, unsigned green, unsigned blue)
{
	struct picture_view view = picture_view(picture);
	size_t count = 0;

	for (int y = 0; y < view.height; y++)
		for (int x = 0; x < view.width; x++) {
			const uint8_t *pixel = view.pixels + y * view.stride + 4 * (ptrdiff_t)x;

			count += pixel[2] == red && pixel[1] == green && pixel[0] == blue;
		}
	return count;
}

static bool same_pixels(const struct picture *a, const struct picture *b)
{
	struct picture_view one = picture_view(a), other = picture_view(b);

	for (int y = 0; y < one.height; y++)
		if (memcmp(one.pixels + y * one.stride, other.pixels + y * other.stride, 4 * (size_t)one.width) != 0)
			return false;
	return true;
}

/// It has no match, but is found all the same, and the label says what was read.
START_TEST(test_numbers_are_drawn)
{
	struct picture *found = drawn_number((char[]){"level"}, 7, true);
	struct picture *other = drawn_number((char[]){"level"}, 8, true);
	struct picture *not_found = drawn_number((char[]){"level"}, 7, false);

	ck_assert_uint_gt(pixels_of(found, 0x1f, 0xa8, 0x4a), 100);
	ck_assert_uint_eq(pixels_of(found, 0xe8, 0x59, 0x0c), 0);
	ck_assert_uint_gt(pixels_of(not_found, 0xe8, 0x59, 0x0c), 100);
	ck_assert_uint_eq(pixels_of(not_found, 0x1f, 0xa8, 0x4a), 0);
	ck_assert(!same_pixels(found, other));
	picture_free(found);
	picture_free(other);
	picture_free(not_found);
}
END_TEST

START_TEST(test_accents_are_left_out)
{
	struct picture *accents = drawn_number((char[]){"Über Łódź €"}, 1, true);
	struct picture *plain = drawn_number((char[]){"UBER LODZ ?"}, 1, true);

	ck_assert(same_pixels(accents, plain));
	picture_free(accents);
	picture_free(plain);
}
END_TEST

// --- what a daemon may send ------------------------------------------------------------------------------------------

/// Replies by hand: conditions whose parts live as long.
struct made {
	Condprof__Tried message;
	Condprof__TriedCondition conditions[8], *pointers[8];
	Condprof__Candidate candidates[8];
	Condprof__Area areas[8], places[8];
};

static struct made *made_new(int64_t picture, char *name, size_t n)
{
	struct made *made = calloc(1, sizeof(*made));

	ck_assert_ptr_nonnull(made);
	condprof__tried__init(&made->message);
	made->message.has_picture = made->message.has_width = made->message.has_height = made->message.has_pictures =
		true;
	made->message.picture = picture;
	made->message.pictures = 12;
	made->message.name = name;
	made->message.width = 320;
	made->message.height = 240;
	made->message.conditions = made->pointers;
	made->message.n_conditions = n;
	for (size_t i = 0; i < n; i++) {
		Condprof__TriedCondition *condition = &made->conditions[i];

		made->pointers[i] = condition;
		condprof__tried_condition__init(condition);
		condprof__candidate__init(&made->candidates[i]);
		made->areas[i] = AREA(true, 0, true, 0, true, 320, true, 240);
		made->places[i] = AREA(true, 20, true, 30, true, 40, true, 24);
		made->candidates[i].place = &made->places[i];
		made->candidates[i].has_score = made->candidates[i].has_colour_difference = true;
		made->candidates[i].has_x = made->candidates[i].has_y = true;
		made->candidates[i].x = 40;
		made->candidates[i].y = 42;
		condition->has_id = true;
		condition->id = (int64_t)i + 1;
		condition->area = &made->areas[i];
		condition->has_threshold = condition->has_present = condition->present = true;
		condition->threshold = 4;
	}
	return made;
}

static void set_sample(struct made *made, size_t i, char *name, double score, double colour, double needed)
{
	made->conditions[i].event = (char *)"an event";
	made->conditions[i].name = name;
	made->conditions[i].kind = (char *)"image";
	made->conditions[i].least = &made->candidates[i];
	made->conditions[i].has_needed_threshold = true;
	made->conditions[i].needed_threshold = needed;
	made->candidates[i].score = score;
	made->candidates[i].colour_difference = colour;
}

static int add(struct measured *measured, struct made *made, struct error *error)
{
	int r = measured_add(measured, &made->message, error);

	free(made);
	return r;
}

START_TEST(test_series_from_pieces)
{
	struct measured measured = {0};
	struct error error;
	struct made *made;

	for (int picture = 1; picture <= 3; picture++)
		for (size_t piece = 0; piece < 2; piece++) {
			made = made_new(picture, NULL, 2);
			for (size_t i = 0; i < 2; i++) {
				set_sample(made, i, (char *)"x", 1, 0, picture);
				made->conditions[i].id = (int64_t)(2 * piece + i + 1);
			}
			ck_assert_int_eq(add(&measured, made, &error), 0);
		}
	ck_assert_uint_eq(measured.n, 4);
	ck_assert_uint_eq(measured.n_pictures, 3);
	ck_assert_uint_eq(measured.series[3].n, 3);
	ck_assert_double_eq(measured.series[3].samples[2].needed, 3);
	measured_clear(&measured);
}
END_TEST

/// What makes no sense is refused, and nothing of it stays dangerous.
START_TEST(test_replies_that_make_no_sense)
{
	for (int wrong = 0; wrong < 10; wrong++) {
		struct measured measured = {0};
		struct error error = {0};
		struct made *made = made_new(1, (char *)"1.png", 2);

		set_sample(made, 0, (char *)"a", 1, 0, 1);
		set_sample(made, 1, (char *)"b", 1, 0, 1);
		ck_assert_int_eq(add(&measured, made, &error), 0);
		made = made_new(2, NULL, 2);
		set_sample(made, 0, NULL, 1, 0, 1);
		set_sample(made, 1, NULL, 1, 0, 1);
		switch (wrong) {
		case 0:
			made->message.picture = 3;
			break;
		case 1:
			made->message.picture = INT64_MIN;
			break;
		case 2:
			made->message.width = 0;
			break;
		case 3:
			made->conditions[1].id = 7;
			break;
		case 4:
			made->candidates[0].score = NAN;
			break;
		case 5:
			made->conditions[0].needed_threshold = INFINITY;
			break;
		case 6:
			made->candidates[1].colour_difference = -INFINITY;
			break;
		case 7:
			made->places[0].x = -1;
			break;
		case 8:
			made->places[0].width = INT32_MAX;
			break;
		case 9:
			made->candidates[0].place = NULL;
			break;
		}
		ck_assert_int_eq(add(&measured, made, &error), -EPROTO);
		measured_clear(&measured);
	}
}
END_TEST

// --- how it looks ----------------------------------------------------------------------------------------------------

static void make_try(struct made *made, struct tried *tried)
{
	Condprof__TriedCondition *c = made->conditions;

	set_sample(made, 0, (char *)"ok button", 1, 0.25, 0.25);
	c[0].match = &made->candidates[0];
	set_sample(made, 1, (char *)"=\"popup\"\n", 0.8312, 2.5, 16.88);
	c[1].best = &made->candidates[1];
	set_sample(made, 2, (char *)"gray icon", 0.93, 1.5, 7);
	made->candidates[7] = made->candidates[2];
	made->candidates[7].score = 1;
	made->candidates[7].colour_difference = 38.758;
	made->candidates[7].x = 90;
	c[2].best = &made->candidates[7];
	set_sample(made, 3, (char *)"outside", 0, 0, 0);
	c[3].least = NULL;
	c[3].has_needed_threshold = false;
	c[3].not_evaluable = (char *)"its area [300, 0, 40, 40] is not inside the frame of 320x240 px";
	set_sample(made, 4, (char *)"no error", 0.4, 1, 0);
	c[4].kind = (char *)"color";
	c[4].present = false;
	c[4].match = &made->candidates[4];
	c[4].least = NULL;
	made->candidates[4].has_colour_difference = false;
	set_sample(made, 5, (char *)"price", 0, 0, 0);
	c[5].kind = (char *)"number";
	c[5].has_present = c[5].has_threshold = c[5].has_needed_threshold = false;
	c[5].least = NULL;
	c[5].has_number = true;
	c[5].number = 1234.5;
	set_sample(made, 6, (char *)"30 s", 0, 0, 0);
	c[6].kind = (char *)"timer";
	c[6].least = NULL;
	c[6].area = NULL;
	c[6].has_present = c[6].has_threshold = c[6].has_needed_threshold = false;
	c[6].not_tried = (char *)"a trigger is not on the screen";
	for (size_t i = 0; i < 7; i++) {
		c[i].has_found = c[i].has_fulfilled = i != 3 && i != 6;
		c[i].found = c[i].match || i == 5;
		c[i].fulfilled = i == 0 || i == 5;
		c[i].has_duration_ns = i != 6;
		c[i].duration_ns = 1234 * (int64_t)(i + 1) * (int64_t)(i + 1);
	}
	tried->conditions = (const Condprof__TriedCondition **)made->pointers;
	tried->n = 7;
	tried->width = 320;
	tried->height = 240;
}

START_TEST(test_try_looks_like_this)
{
	struct made *made = made_new(1, NULL, 7);
	struct tried tried = {0};
	struct golden golden = golden_begin((size_t)_i);

	make_try(made, &tried);
	view_tried(golden.render, "login", "frame.png", &tried);
	golden_end(&golden, "../trial/tried");
	free(made);
}
END_TEST

static void measure(struct measured *measured)
{
	// picture: needs of a button that comes and goes, a thing with two looks, one always there, one never
	static const double needs[12][4] = {
		{0, 0, 0.5, 61}, {0, 0, 0, 62},  {48, 9, 0, 61}, {52, 9, 0, 70},  {0.4, 36, 0.2, 61}, {48, 37, 0, 61},
		{48, 0, 0, 61},  {47, 9, 0, 61}, {0, 36, 0, 58}, {48, 36, 0, 61}, {48, 36, 0, 105},   {48, 36, 0, 61},
	};

	for (int picture = 0; picture < 12; picture++) {
		char name[16];
		struct made *made = made_new(picture + 1, name, 5);
		static const char *const names[] = {"ok button", "two looks", "always there", "never there",
						    "too large"};
		struct error error;

		snprintf(name, sizeof(name), "%03d.png", picture + 1);
		for (size_t i = 0; i < 4; i++) {
			set_sample(made, i, (char *)(uintptr_t)names[i], 1 - needs[picture][i] / 100,
				   needs[picture][i] / 4, needs[picture][i]);
			made->places[i].x += i == 2 ? 5 * picture : 0;
		}
		set_sample(made, 4, (char *)(uintptr_t)names[4], 0, 0, 0);
		made->conditions[4].least = NULL;
		made->conditions[4].not_evaluable =
			(char *)"its image of 400x20 px is larger than its search area of 320x240 px";
		ck_assert_int_eq(add(measured, made, &error), 0);
	}
}

START_TEST(test_tune_looks_like_this)
{
	struct measured measured = {0};
	struct golden golden = golden_begin((size_t)_i);

	measure(&measured);
	view_tuning(golden.render, "login", "/frames", &measured);
	golden_end(&golden, "../trial/tuned");
	measured_clear(&measured);
}
END_TEST

START_TEST(test_samples_look_like_this)
{
	struct measured measured = {0};
	struct golden golden = golden_begin((size_t)_i);

	measure(&measured);
	measured.n = 2;
	view_measured(golden.render, "login", "/frames", &measured);
	measured.n = 5;
	golden_end(&golden, "../trial/samples");
	measured_clear(&measured);
}
END_TEST

START_TEST(test_percent_is_rounded_up)
{
	char text[PERCENT_SIZE];

	ck_assert_str_eq(percent_up(0, text), "0 %");
	ck_assert_str_eq(percent_up(16.88, text), "16.9 %");
	ck_assert_str_eq(percent_up(16.91, text), "17 %");
	ck_assert_str_eq(percent_up(4, text), "4 %");
	ck_assert_str_eq(percent_up(-1e-9, text), "0 %");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client_trial");
	TCase *pictures = tcase_create("pictures"), *drawn = tcase_create("drawn"), *sent = tcase_create("sent"),
	      *looks = tcase_create("looks");

	tcase_add_test(pictures, test_clear);
	tcase_add_test(pictures, test_threshold_that_is_right_stays);
	tcase_add_test(pictures, test_wrong_thresholds);
	tcase_add_test(pictures, test_more_pictures_of_one_thing_change_nothing);
	tcase_add_test(pictures, test_gap_among_what_is_absent_does_not_count);
	tcase_add_test(pictures, test_two_looks_are_ambiguous);
	tcase_add_test(pictures, test_no_gap_is_ambiguous);
	tcase_add_test(pictures, test_always);
	tcase_add_test(pictures, test_never);
	tcase_add_test(pictures, test_nothing);
	tcase_add_test(pictures, test_one_picture);
	tcase_add_test(pictures, test_areas);
	tcase_add_test(pictures, test_random);
	tcase_add_test(drawn, test_letters);
	tcase_add_test(drawn, test_letters_are_clipped);
	tcase_add_test(drawn, test_areas_from_anywhere_are_drawn);
	tcase_add_test(drawn, test_numbers_are_drawn);
	tcase_add_test(drawn, test_accents_are_left_out);
	tcase_add_test(sent, test_series_from_pieces);
	tcase_add_test(sent, test_replies_that_make_no_sense);
	tcase_add_test(looks, test_percent_is_rounded_up);
	tcase_add_loop_test(looks, test_try_looks_like_this, 0, (int)GOLDEN_OUTPUTS);
	tcase_add_loop_test(looks, test_tune_looks_like_this, 0, (int)GOLDEN_OUTPUTS);
	tcase_add_loop_test(looks, test_samples_look_like_this, 0, (int)GOLDEN_OUTPUTS);
	suite_add_tcase(suite, pictures);
	suite_add_tcase(suite, drawn);
	suite_add_tcase(suite, sent);
	suite_add_tcase(suite, looks);
	setlocale(LC_CTYPE, "C.UTF-8"); // letters are measured
	return unit_run(suite);
}
