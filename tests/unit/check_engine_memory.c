// SPDX-License-Identifier: GPL-3.0-or-later
// After its start a session's pass allocates nothing: with all kinds of conditions, on the real detector, report on and
// off, whether events are fulfilled or not.
#include "tests/support/counting_malloc.h"
#include "tests/support/engine_fakes.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define MS NSEC_PER_MSEC

static void add_color(struct maker *maker, int i, uint32_t rgb)
{
	struct condition *condition = maker_condition(maker, "color", CONDITION_COLOR);

	condition->rgb = rgb;
	condition->area = (struct rect){i % 50, i % 40, i % 50 + 5, i % 40 + 5};
	condition->threshold = 4;
}

// A hundred conditions of which nothing is fulfilled (the picture is black), or everything.
static struct maker *steady(bool fulfilled)
{
	struct maker *maker = maker_new();

	for (int i = 0; i < 34; i++) {
		struct event *event = maker_event(maker, "screen", false, true);

		event->keep_detecting = true;
		add_color(maker, i, fulfilled ? 0 : 0xffffff);
		if (fulfilled) {
			maker_click(maker, 1, 1, 0);
			maker_count(maker, "n", CONDPROF__COUNTER_OPERATION__ADD, 1);
		}
	}
	for (int i = 0; i < 33; i++) {
		maker_event(maker, "timer", true, true);
		maker_timer(maker, "t", fulfilled ? 0 : INT64_MAX, true);
		if (fulfilled)
			maker_change(maker, CONDPROF__STATE_CHANGE__TOGGLE, 0);
		maker_event(maker, "counter", true, false);
		maker_compare(maker, "c", "m", CONDPROF__COMPARISON__EQUAL, fulfilled ? 0 : 1);
	}
	return maker;
}

static int64_t allocations_in(struct stage *stage, int passes)
{
	int64_t before = counting_malloc_count(), after;
	bool goes_on = true;

	// no assertion in here: they allocate
	for (int i = 0; i < passes; i++) {
		stage->clock.virtual_now_ns += MS;
		goes_on = goes_on && stage_pass(stage) && processor_limit(stage->processor);
	}
	after = counting_malloc_count();
	ck_assert(goes_on);
	return after - before;
}

static struct stage *begin_with_colors(struct maker *maker, bool report)
{
	struct stage *stage = stage_new(maker);
	struct error error;

	fake_recorder_state()->counting_only = true;
	if (!report) {
		stage->params.timing = NULL;
		stage->params.recorder = NULL;
	}
	ck_assert_int_eq(detector_new(&maker->scenario, report ? stepped_clock : NULL, &stage->ending.requested,
				      &stage->params.detector, &error),
			 0);
	stage_begin(stage);
	return stage;
}

START_TEST(test_no_allocation)
{
	for (int fulfilled = 0; fulfilled < 2; fulfilled++) {
		for (int report = 0; report < 2; report++) {
			struct stage *stage = begin_with_colors(steady(fulfilled), report);
			struct detector *detector = stage->params.detector;

			allocations_in(stage, 1); // the first frame tells its size
			ck_assert_int_eq(allocations_in(stage, 100), 0);
			if (report && fulfilled)
				ck_assert_int_gt(fake_recorder_state()->counted, 1000);
			if (report && !fulfilled)
				ck_assert_int_eq(stage_checks(stage, 5), 101);
			detector_free(detector);
			stage_free(stage);
		}
	}
}
END_TEST

START_TEST(test_another_size_allocates_once)
{
	struct stage *stage = begin_with_colors(steady(false), true);
	struct detector *detector = stage->params.detector;

	allocations_in(stage, 1);
	stage->screen.width = 60;
	stage->screen.height = 45;
	allocations_in(stage, 1);
	ck_assert_int_eq(allocations_in(stage, 100), 0);
	detector_free(detector);
	stage_free(stage);
}
END_TEST

static void nothing(struct rotation_target *target)
{
	(void)target;
}

// What a rotation needs is there beforehand.
START_TEST(test_a_rotation_allocates_nothing)
{
	struct maker *maker = steady(true);
	struct stage *stage = begin_with_colors(maker, true);
	struct detector *detector = stage->params.detector;
	struct timing *timings[10];
	int64_t allocated = 0;

	allocations_in(stage, 1);
	for (int i = 0; i < 10; i++) {
		struct rotation_target target = {.recorder = fake_recorder(), .taken = nothing};
		int64_t before;
		bool asked;

		ck_assert_int_eq(timing_new(&maker->scenario, stepped_clock, &timings[i]), 0);
		target.timing = timings[i];
		before = counting_malloc_count();
		asked = !rotation_ask(&stage->processor->rotation, &target);
		rotation_take(stage->processor);
		allocated += counting_malloc_count() - before + allocations_in(stage, 5);
		ck_assert(asked);
		ck_assert_ptr_eq(stage->processor->p.timing, timings[i]);
	}
	ck_assert_int_eq(allocated, 0);
	for (int i = 0; i < 10; i++)
		timing_free(timings[i]);
	detector_free(detector);
	stage_free(stage);
}
END_TEST

START_TEST(test_the_counter_counts)
{
	int64_t before = counting_malloc_count();
	void *volatile memory = malloc(10);

	ck_assert_int_eq(counting_malloc_count() - before, 1);
	free(memory);
}
END_TEST

int main(void)
{
	if (!counting_malloc_works()) {
		printf("1..0 # SKIP a sanitizer has malloc for itself\n");
		return 0;
	}

	Suite *suite = suite_create("memory");
	TCase *tcase = tcase_create("memory");

	tcase_add_test(tcase, test_the_counter_counts);
	tcase_add_test(tcase, test_no_allocation);
	tcase_add_test(tcase, test_another_size_allocates_once);
	tcase_add_test(tcase, test_a_rotation_allocates_nothing);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
