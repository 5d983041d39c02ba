// SPDX-License-Identifier: GPL-3.0-or-later
// The product's detector below a real processor: results are reused while pixels stay, counted as reused, and are what
// computing would give; through changes of size, at a quality, and however many conditions share the memory.
#include "tests/support/engine_fakes.h"
#include "tests/support/scenes.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define MS NSEC_PER_MSEC

static struct condition_figures figures_of(struct stage *stage, uint32_t condition)
{
	struct condition_figures figures;

	timing_condition_figures(stage->timing, condition, &figures);
	return figures;
}

static struct picture *picture_of(const struct canvas *from, struct rect place)
{
	struct canvas cut = canvas_crop(from, place, 0);
	struct picture *picture;

	ck_assert_int_eq(picture_new(cut.width, cut.height, &picture), 0);
	for (int y = 0; y < cut.height; y++)
		memcpy(picture->pixels + y * picture->stride, cut.pixels + y * cut.stride, 4 * (size_t)cut.width);
	canvas_free(&cut);
	return picture;
}

static void draw(struct fake_screen *screen, int width, int height, uint64_t seed)
{
	struct canvas canvas = {screen->pixels, width, height, 4 * (ptrdiff_t)width};

	ck_assert_uint_le(4 * (size_t)width * (size_t)height, sizeof(screen->pixels));
	scene_draw(SCENE_DESKTOP, seed, &canvas);
	screen->width = width;
	screen->height = height;
	screen->serial++;
}

struct world {
	struct stage *stage;
	struct detector *detector;
	struct picture *image;
};

static void add_color(struct maker *maker, struct rect area)
{
	struct condition *condition = maker_condition(maker, "color", CONDITION_COLOR);

	condition->rgb = 0x406080;
	condition->area = area;
	condition->threshold = 30;
}

// An event each: an image anywhere, the same where it was cut, a color; then more colors.
static struct world begin(int quality, int more)
{
	struct world world = {.image = NULL};
	struct maker *maker = maker_new();
	struct canvas canvas = canvas_new(64, 48, 0);
	struct condition *condition;
	struct error error;

	scene_draw(SCENE_DESKTOP, 1, &canvas);
	world.image = picture_of(&canvas, (struct rect){20, 12, 40, 28});
	canvas_free(&canvas);
	for (int exact = 0; exact < 2; exact++) {
		maker_event(maker, "e", false, true)->keep_detecting = true;
		condition = maker_image(maker, "image", true);
		condition->image.image = world.image;
		condition->search = exact ? CONDPROF__SEARCH__SEARCH_EXACT : CONDPROF__SEARCH__SEARCH_SCREEN;
		condition->area = exact ? (struct rect){20, 12, 40, 28} : (struct rect){0};
		condition->threshold = quality ? 30 : 4;
	}
	for (int i = 0; i <= more; i++) {
		maker_event(maker, "e", false, true)->keep_detecting = true;
		add_color(maker, i ? (struct rect){0, 0, 63, 47} : (struct rect){3, 3, 30, 20});
	}
	maker->scenario.quality = quality;
	world.stage = stage_new(maker);
	fake_recorder_state()->counting_only = true;
	ck_assert_int_eq(
		detector_new(&maker->scenario, stepped_clock, &world.stage->ending.requested, &world.detector, &error),
		0);
	world.stage->params.detector = world.detector;
	draw(&world.stage->screen, 64, 48, 1);
	stage_begin(world.stage);
	return world;
}

static void end(struct world *world)
{
	detector_free(world->detector);
	stage_free(world->stage);
	picture_free(world->image);
}

static void pass(struct world *world)
{
	world->stage->clock.virtual_now_ns += MS;
	ck_assert(stage_pass(world->stage));
}

static void reused_so_far(struct world *world, int64_t checks, int64_t screen, int64_t exact, int64_t color)
{
	const int64_t wanted[] = {screen, exact, color};

	for (uint32_t i = 0; i < 3; i++) {
		struct condition_figures f = figures_of(world->stage, i);
		ck_assert_int_eq(f.checks, checks);
		ck_assert_msg(f.reused == wanted[i], "condition %u: %lld reused, not %lld", i, (long long)f.reused,
			      (long long)wanted[i]);
		ck_assert_int_eq(f.reused_ns > 0, f.reused > 0);
		ck_assert_int_le(f.reused_ns, f.total_ns);
	}
}

START_TEST(still_frames_are_reused)
{
	struct world world = begin(_i, 0);
	uint8_t *pixels = world.stage->screen.pixels;

	for (int i = 0; i < 5; i++)
		pass(&world);
	reused_so_far(&world, 5, 4, 4, 4);
	ck_assert_int_eq(figures_of(world.stage, 0).fulfilled, 5); // what is reused is still fulfilled
	pixels[4 * (40 * 64 + 60)] ^= 1;
	pass(&world);
	reused_so_far(&world, 6, 4, 5, 5);
	pixels[4 * (15 * 64 + 25)] ^= 0x80;
	pass(&world);
	reused_so_far(&world, 7, 4, 5, 5);
	pass(&world);
	ck_assert_int_eq(figures_of(world.stage, 0).reused, 5);
	end(&world);
}
END_TEST

START_TEST(another_size_is_computed)
{
	struct world world = begin(_i, 0);

	pass(&world);
	pass(&world);
	reused_so_far(&world, 2, 1, 1, 1);
	draw(&world.stage->screen, 60, 44, 1);
	pass(&world);
	reused_so_far(&world, 3, 1, 1, 1);
	pass(&world);
	reused_so_far(&world, 4, 2, 2, 2);
	draw(&world.stage->screen, 64, 48, 1); // what was kept of the first size is gone
	pass(&world);
	reused_so_far(&world, 5, 2, 2, 2);
	pass(&world);
	reused_so_far(&world, 6, 3, 3, 3);
	draw(&world.stage->screen, 16, 12, 1); // too small for all of them
	pass(&world);
	pass(&world);
	reused_so_far(&world, 8, 3, 3, 3);
	ck_assert_int_eq(figures_of(world.stage, 0).not_evaluable, 2);
	end(&world);
}
END_TEST

START_TEST(passes_without_a_frame_change_nothing)
{
	struct world world = begin(0, 0);
	struct fake_screen *screen = &world.stage->screen;

	pass(&world);
	screen->wait_status = SCREEN_STALLED;
	for (int i = 0; i < 3; i++)
		pass(&world);
	reused_so_far(&world, 1, 0, 0, 0);
	screen->wait_status = SCREEN_OK;
	pass(&world);
	reused_so_far(&world, 2, 1, 1, 1);
	screen->wait_status = SCREEN_STALLED;
	pass(&world);
	draw(screen, 64, 48, 2);
	screen->wait_status = SCREEN_OK;
	pass(&world);
	reused_so_far(&world, 3, 1, 1, 1);
	end(&world);
}
END_TEST

// More small areas than there is memory for copies of: all are reused all the same.
START_TEST(memory_is_bounded)
{
	const int many = 3000; // 12 KB each
	struct world world = begin(0, many);

	for (int i = 0; i < 3; i++)
		pass(&world);
	for (uint32_t i = 0; i < (uint32_t)many + 3; i++)
		ck_assert_int_eq(figures_of(world.stage, i).reused, 2);
	world.stage->screen.pixels[4 * (47 * 64 + 63)] ^= 1; // beside the area, but in a tile it has a part in
	pass(&world);
	ck_assert_int_eq(figures_of(world.stage, 3).reused, 3);
	ck_assert_int_eq(figures_of(world.stage, (uint32_t)many + 2).reused, 2);
	end(&world);
}
END_TEST

/// The same conditions without a memory, on every frame anew.
struct reference {
	struct detect_frame *frame;
	struct detect_template *template_;
	int width, height;
};

static void computed(struct reference *reference, const struct world *world, uint32_t condition,
		     struct detect_result *ret)
{
	const struct fake_screen *s = &world->stage->screen;
	const struct condition *c = &world->stage->maker->scenario.conditions[condition];
	struct detect_query query = {.area = c->area, .threshold = c->threshold};
	int num, den, quality = world->stage->maker->scenario.quality;

	if (s->width != reference->width || s->height != reference->height) {
		ck_assert_int_eq(detect_frame_reserve(reference->frame, s->width, s->height, quality), 0);
		detect_template_free(reference->template_);
		detect_ratio(s->width, s->height, quality, &num, &den);
		ck_assert_int_eq(detect_template_new(picture_view(world->image), num, den, &reference->template_, NULL),
				 0);
		reference->width = s->width;
		reference->height = s->height;
	}
	detect_frame_begin(reference->frame,
			   (struct picture_view){s->pixels, s->width, s->height, 4 * (ptrdiff_t)s->width});
	if (condition == 0)
		query.area = (struct rect){0, 0, s->width, s->height};
	query.exact = condition == 1;
	if (condition < 2)
		detect_image(reference->frame, reference->template_, &query, ret);
	else
		detect_color(reference->frame, c->rgb, &query, ret);
}

static void change_something(struct world *world, struct dice *dice)
{
	struct fake_screen *screen = &world->stage->screen;

	if (dice_one_in(dice, 40))
		draw(screen, dice_one_in(dice, 2) ? 64 : 62, 48, 1);
	else if (dice_one_in(dice, 60))
		screen->pixels[dice_between(dice, 0, 4 * 64 * 48 - 1)] ^= 0x40;
	else if (dice_one_in(dice, 60))
		draw(screen, screen->width, screen->height, 1 + (uint64_t)dice_between(dice, 0, 1));
}

START_TEST(results_are_what_computing_gives)
{
	struct world world = begin(_i, 0);
	struct reference reference = {.width = 0};
	struct dice dice = {5};
	int64_t fulfilled[3] = {0};

	ck_assert_int_eq(detect_frame_new(&reference.frame), 0);
	for (int step = 0; step < 2000; step++) {
		change_something(&world, &dice);
		pass(&world);
		for (uint32_t i = 0; i < 3; i++) {
			struct detect_result wanted;
			computed(&reference, &world, i, &wanted);
			fulfilled[i] += wanted.evaluable && wanted.found;
			ck_assert_msg(figures_of(world.stage, i).fulfilled == fulfilled[i], "step %d, condition %u",
				      step, i);
		}
	}
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_gt(fulfilled[i], 100);
		ck_assert_int_lt(fulfilled[i], 1990);
		ck_assert_int_gt(figures_of(world.stage, i).reused, 1000);
	}
	detect_template_free(reference.template_);
	detect_frame_free(reference.frame);
	end(&world);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("detector");
	TCase *tcase = tcase_create("reuse");
	static const int qualities[] = {0, 50};

	for (int i = 0; i < 2; i++) {
		tcase_add_loop_test(tcase, still_frames_are_reused, qualities[i], qualities[i] + 1);
		tcase_add_loop_test(tcase, another_size_is_computed, qualities[i], qualities[i] + 1);
		tcase_add_loop_test(tcase, results_are_what_computing_gives, qualities[i], qualities[i] + 1);
	}
	tcase_add_test(tcase, passes_without_a_frame_change_nothing);
	tcase_add_test(tcase, memory_is_bounded);
	tcase_set_timeout(tcase, 120);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
