// SPDX-License-Identifier: GPL-3.0-or-later
// Reusing results across frames: never when a pixel that is looked at changed, always when none did, and then what
// computing would give.
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#include "daemon/detect/detect.h"
#include "tests/support/scenes.h"

#ifndef STEPS
#define STEPS 100000
#endif
#define CONDITIONS 7

struct condition {
	struct rect looked_at; ///< source px
	struct detect_query query;
	struct detect_template *template_; ///< NULL: a color
	struct detect_memory *memory;
	bool known;   ///< was checked before
	bool changed; ///< a pixel it looks at, since then
};

struct world {
	struct dice dice;
	int quality;
	struct canvas screen;
	struct detect_frame *frame, *fresh;
	struct condition conditions[CONDITIONS];
	unsigned reused, computed;
};

static struct detect_template *cut(const struct world *world, struct rect place)
{
	struct canvas image = canvas_crop(&world->screen, place, 0);
	struct detect_template *template_;
	struct error error;
	int num, den;

	detect_ratio(world->screen.width, world->screen.height, world->quality, &num, &den);
	ck_assert_msg(detect_template_new(canvas_view(&image), num, den, &template_, &error) == 0, "%s", error.message);
	canvas_free(&image);
	return template_;
}

static void add(struct world *world, int i, struct rect area, struct rect image, bool exact)
{
	struct condition *c = &world->conditions[i];

	c->query = (struct detect_query){.area = area, .exact = exact, .threshold = 8};
	c->looked_at = area;
	if (exact)
		c->looked_at = (struct rect){area.left - 1, area.top - 1, area.right + 1, area.bottom + 1};
	c->template_ = image.right ? cut(world, image) : NULL;
	ck_assert_int_eq(detect_memory_new(&c->memory), 0);
	detect_memory_reserve(c->memory, world->frame, area, exact, NULL);
	c->query.memory = c->memory;
	c->query.asker = (uint32_t)i;
}

static void begin(struct world *world, uint64_t seed, int quality)
{
	*world = (struct world){.dice = {seed}, .quality = quality, .screen = canvas_new(170, 130, 2)};
	scene_draw(seed % 2 ? SCENE_DESKTOP : SCENE_ICONS, seed, &world->screen);
	ck_assert_int_eq(detect_frame_new(&world->frame), 0);
	ck_assert_int_eq(detect_frame_new(&world->fresh), 0);
	ck_assert_int_eq(detect_frame_reserve(world->frame, 170, 130, quality), 0);
	ck_assert_int_eq(detect_frame_reserve(world->fresh, 170, 130, quality), 0);
	add(world, 0, (struct rect){0, 0, 170, 130}, (struct rect){5, 5, 33, 30}, false);
	add(world, 1, (struct rect){0, 0, 170, 130}, (struct rect){60, 40, 80, 71}, false);
	add(world, 2, (struct rect){7, 3, 150, 127}, (struct rect){60, 40, 80, 71}, false);
	add(world, 3, (struct rect){40, 30, 66, 49}, (struct rect){40, 30, 66, 49}, true);
	add(world, 4, (struct rect){1, 1, 2, 2}, (struct rect){0}, false);
	add(world, 5, (struct rect){33, 16, 170, 130}, (struct rect){0}, false);
	add(world, 6, (struct rect){31, 15, 97, 65}, (struct rect){32, 20, 60, 40}, false);
}

static void end(struct world *world)
{
	for (int i = 0; i < CONDITIONS; i++) {
		detect_template_free(world->conditions[i].template_);
		detect_memory_free(world->conditions[i].memory);
	}
	detect_frame_free(world->frame);
	detect_frame_free(world->fresh);
	canvas_free(&world->screen);
}

static void touch(struct world *world, int x, int y, bool alpha_only)
{
	uint8_t *p = world->screen.pixels + y * world->screen.stride + 4 * (ptrdiff_t)x + (alpha_only ? 3 : 0);

	*p = (uint8_t)(*p + dice_between(&world->dice, 1, 255));
	for (int i = 0; i < CONDITIONS; i++) {
		const struct rect *r = &world->conditions[i].looked_at;
		if (x >= r->left && x < r->right && y >= r->top && y < r->bottom)
			world->conditions[i].changed = true;
	}
}

static void change_something(struct world *world)
{
	struct dice *dice = &world->dice;

	if (dice_one_in(dice, 2))
		return;
	for (int n = dice_one_in(dice, 30) ? 500 : dice_between(dice, 1, 3); n > 0; n--) {
		int x = dice_between(dice, 0, 169), y = dice_between(dice, 0, 129);
		touch(world, x, y, dice_one_in(dice, 20));
	}
}

static void look(struct detect_frame *frame, const struct condition *c, bool remember, struct detect_result *ret)
{
	struct detect_query query = c->query;

	if (!remember)
		query.memory = NULL;
	if (c->template_)
		detect_image(frame, c->template_, &query, ret);
	else
		detect_color(frame, 0x406080, &query, ret);
}

static void check(struct world *world, int i)
{
	struct condition *c = &world->conditions[i];
	struct detect_result got, wanted;

	look(world->frame, c, true, &got);
	look(world->fresh, c, false, &wanted);
	ck_assert_msg(got.found == wanted.found && got.evaluable == wanted.evaluable &&
			      got.has_score == wanted.has_score && got.score == wanted.score &&
			      got.colour_difference == wanted.colour_difference && got.x == wanted.x &&
			      got.y == wanted.y,
		      "condition %d: found %d at %d,%d, %.9f; computed: %d at %d,%d, %.9f", i, got.found, got.x, got.y,
		      got.score, wanted.found, wanted.x, wanted.y, wanted.score);
	if (world->quality == 0)
		ck_assert_msg(got.reused == (c->known && !c->changed), "condition %d: reused %d, known %d, changed %d",
			      i, got.reused, c->known, c->changed);
	ck_assert(!wanted.reused);
	world->reused += got.reused;
	world->computed += !got.reused;
	c->known = true;
	c->changed = false;
}

static void run(uint64_t seed, int quality, int steps)
{
	struct world world;

	begin(&world, seed, quality);
	for (int step = 0; step < steps; step++) {
		change_something(&world);
		detect_frame_begin(world.frame, canvas_view(&world.screen));
		detect_frame_begin(world.fresh, canvas_view(&world.screen));
		for (int n = dice_between(&world.dice, 0, 2); n > 0; n--)
			check(&world, dice_between(&world.dice, 0, CONDITIONS - 1));
	}
	ck_assert_uint_gt(world.reused, (unsigned)steps / 10);
	ck_assert_uint_gt(world.computed, (unsigned)steps / 10);
	end(&world);
}

START_TEST(small_changes)
{
	run(1, 0, STEPS / 2);
	run(2, 0, STEPS / 4);
}
END_TEST

START_TEST(small_changes_at_a_quality)
{
	run(3, 100, STEPS / 8);
	run(4, 67, STEPS / 8);
}
END_TEST

START_TEST(another_question_is_computed)
{
	struct world world;
	struct condition *c = &world.conditions[0];
	struct detect_result got;

	begin(&world, 1, 0);
	for (int i = 0; i < 8; i++) {
		detect_frame_begin(world.frame, canvas_view(&world.screen));
		switch (i) {
		case 2:
			c->query.threshold = 9;
			break;
		case 4:
			c->query.best = true;
			break;
		case 6:
			detect_memory_forget(c->memory);
			break;
		default:
			break;
		}
		look(world.frame, c, true, &got);
		ck_assert_int_eq(got.reused, i % 2 == 1);
	}
	end(&world);
}
END_TEST

START_TEST(another_size_is_computed)
{
	struct world world;
	struct detect_result got;
	struct canvas larger = canvas_new(180, 130, 0);

	begin(&world, 1, 0);
	scene_draw(SCENE_DESKTOP, 1, &larger);
	detect_frame_begin(world.frame, canvas_view(&world.screen));
	look(world.frame, &world.conditions[0], true, &got);
	ck_assert_int_eq(detect_frame_reserve(world.frame, 180, 130, 0), 0);
	detect_frame_begin(world.frame, canvas_view(&larger));
	look(world.frame, &world.conditions[0], true, &got);
	ck_assert(!got.reused);
	look(world.frame, &world.conditions[0], true, &got);
	ck_assert(!got.reused); // its memory was not reserved for this size
	detect_memory_reserve(world.conditions[0].memory, world.frame, world.conditions[0].query.area, false, NULL);
	for (int i = 0; i < 2; i++) {
		look(world.frame, &world.conditions[0], true, &got);
		ck_assert_int_eq(got.reused, i);
	}
	canvas_free(&larger);
	end(&world);
}
END_TEST

START_TEST(a_stopped_search_is_not_kept)
{
	struct world world;
	struct detect_result got;
	volatile int stop = 1;

	begin(&world, 1, 0);
	detect_frame_begin(world.frame, canvas_view(&world.screen));
	world.conditions[0].query.stop = &stop;
	look(world.frame, &world.conditions[0], true, &got);
	ck_assert(got.stopped);
	stop = 0;
	for (int i = 0; i < 2; i++) {
		look(world.frame, &world.conditions[0], true, &got);
		ck_assert(!got.stopped && got.found && got.reused == i);
	}
	end(&world);
}
END_TEST

START_TEST(what_is_not_evaluable_stays_so)
{
	struct world world;
	struct detect_result got;

	begin(&world, 1, 0);
	world.conditions[0].query.area.right = 171;
	detect_memory_reserve(world.conditions[0].memory, world.frame, world.conditions[0].query.area, false, NULL);
	for (int i = 0; i < 2; i++) {
		detect_frame_begin(world.frame, canvas_view(&world.screen));
		look(world.frame, &world.conditions[0], true, &got);
		ck_assert(!got.evaluable && !got.reused);
	}
	ck_assert_ptr_null(detect_memory_free(NULL));
	end(&world);
}
END_TEST

static int64_t now;

static int64_t ticks(void)
{
	return now += 5;
}

START_TEST(comparing_is_shared)
{
	struct world world;
	struct detect_result first, second;

	begin(&world, 1, 0);
	for (int i = 0; i < 2; i++) {
		detect_frame_set_clock(world.frame, ticks);
		detect_frame_begin(world.frame, canvas_view(&world.screen));
		look(world.frame, &world.conditions[0], true, &first);
		look(world.frame, &world.conditions[1], true, &second);
		ck_assert(first.reused == i && second.reused == i);
		ck_assert(first.prepared & (1U << DETECT_CHANGES) && first.prepared_ns[DETECT_CHANGES] > 0);
		ck_assert(second.used & (1U << DETECT_CHANGES) && !(second.prepared & (1U << DETECT_CHANGES)));
		ck_assert(!i || first.used == 1U << DETECT_CHANGES);
		ck_assert(!i || (first.n_shared == 0 && second.n_shared == 1 && second.shared[0].asker == 0 &&
				 second.shared[0].ns == first.prepared_ns[DETECT_CHANGES]));
	}
	end(&world);
}
END_TEST

START_TEST(where_it_was_is_where_the_search_begins)
{
	// Two equal icons; the later one is known. The first in row order still wins when it appears.
	struct canvas screen = canvas_new(200, 150, 0), image = canvas_new(20, 18, 0);
	struct detect_frame *frame;
	struct detect_template *template_;
	struct detect_query query = {.area = {0, 0, 200, 150}, .threshold = 4};
	struct detect_result got;

	scene_draw(SCENE_PHOTO, 5, &screen);
	scene_draw(SCENE_NOISE, 5, &image);
	canvas_paste(&screen, &image, 120, 90);
	ck_assert_int_eq(detect_frame_new(&frame), 0);
	ck_assert_int_eq(detect_frame_reserve(frame, 200, 150, 0), 0);
	ck_assert_int_eq(detect_template_new(canvas_view(&image), 1, 1, &template_, NULL), 0);
	ck_assert_int_eq(detect_memory_new(&query.memory), 0);
	detect_memory_reserve(query.memory, frame, query.area, false, NULL);
	detect_frame_begin(frame, canvas_view(&screen));
	detect_image(frame, template_, &query, &got);
	ck_assert(got.found && got.place.left == 120 && got.place.top == 90);
	canvas_paste(&screen, &image, 10, 12);
	detect_frame_begin(frame, canvas_view(&screen));
	detect_image(frame, template_, &query, &got);
	ck_assert(got.found && !got.reused && got.place.left == 10 && got.place.top == 12);
	canvas_fill(&screen, (struct rect){0, 0, 200, 150}, 0x336699);
	detect_frame_begin(frame, canvas_view(&screen));
	detect_image(frame, template_, &query, &got);
	ck_assert(!got.found);
	detect_memory_free(query.memory);
	detect_template_free(template_);
	detect_frame_free(frame);
	canvas_free(&screen);
	canvas_free(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("detect memory");
	TCase *tcase = tcase_create("reuse");

	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, small_changes);
	tcase_add_test(tcase, small_changes_at_a_quality);
	tcase_add_test(tcase, another_question_is_computed);
	tcase_add_test(tcase, another_size_is_computed);
	tcase_add_test(tcase, a_stopped_search_is_not_kept);
	tcase_add_test(tcase, what_is_not_evaluable_stays_so);
	tcase_add_test(tcase, comparing_is_shared);
	tcase_add_test(tcase, where_it_was_is_where_the_search_begins);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
