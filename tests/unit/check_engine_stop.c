// SPDX-License-Identifier: GPL-3.0-or-later
// A stop ends every kind of wait, on real clocks and threads, and leaves nothing pressed. The test waits until the
// engine is in the wait that is meant (its figures and its progress say so), asks for the end, and joins: were a wait
// not interrupted, it would last an hour, and the test's time limit would end it.
#include "daemon/log/log.h"
#include "tests/support/engine_fakes.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#define HOUR_NS (3600 * NSEC_PER_SEC)

static void *run_processor(void *argument)
{
	processor_run(argument);
	return NULL;
}

// Not just any wait: one pass may have a frame wait before the one that is meant.
static bool has_been_at(const struct stage *stage, enum time_site site)
{
	struct session_figures figures;

	timing_session_figures(stage->timing, &figures);
	return figures.site_ns[site] > 0;
}

// Starts it, waits until it waits at `site` (and `pressed`, which may be NULL, is not 0), stops it.
static struct session_figures run_and_stop(struct stage *stage, enum time_site site, _Atomic int *pressed)
{
	struct session_figures figures;
	pthread_t thread;

	engine_clock_init_monotonic(&stage->clock);
	timing_free(stage->timing);
	ck_assert_int_eq(timing_new(&stage->maker->scenario, measuring_clock_monotonic, &stage->timing), 0);
	stage->params.timing = stage->timing;
	ck_assert_int_eq(processor_new(&stage->params, &stage->processor), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, run_processor, stage->processor), 0);
	while (!has_been_at(stage, site) || (pressed && !atomic_load(pressed)) ||
	       !atomic_load(&stage->processor->progress.waiting))
		sched_yield();
	ending_request(&stage->ending, CONDPROF__END_REASON__REASON_STOPPED, CONDPROF__SESSION_RESULT__SESSION_OK,
		       NULL);
	pthread_join(thread, NULL);
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_STOPPED);
	ck_assert_int_eq(stage->input.held, 0);
	timing_session_figures(stage->timing, &figures);
	return figures;
}

static struct maker *fulfilled_at_once(void)
{
	struct maker *maker = maker_new();

	maker_event(maker, "e", true, false);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 0);
	return maker;
}

START_TEST(test_limiter)
{
	struct maker *maker = maker_new();
	struct session_figures figures;
	struct stage *stage;

	maker_event(maker, "e", true, false);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	stage = stage_new(maker);
	stage->params.period_ns = HOUR_NS;
	figures = run_and_stop(stage, TIME_LIMITER_WAIT, NULL);
	ck_assert_int_gt(figures.site_ns[TIME_LIMITER_WAIT], 0); // the part that was waited
	ck_assert_int_lt(figures.site_ns[TIME_LIMITER_WAIT], HOUR_NS);
	stage_free(stage);
}
END_TEST

START_TEST(test_pause)
{
	struct maker *maker = fulfilled_at_once();
	struct session_figures figures;
	struct stage *stage;

	maker_pause(maker, HOUR_NS);
	maker_click(maker, 1, 1, 0);
	stage = stage_new(maker);
	figures = run_and_stop(stage, TIME_PAUSES, NULL);
	ck_assert_int_gt(figures.site_ns[TIME_PAUSES], 0);
	ck_assert_str_eq(stage->input.log, "release_all|");
	ck_assert(stage_message(0)->trigger_event->actions[1]->skipped);
	stage_free(stage);
}
END_TEST

START_TEST(test_long_press)
{
	struct maker *maker = fulfilled_at_once();
	struct stage *stage;

	maker_click(maker, 1, 1, HOUR_NS);
	maker_click(maker, 2, 2, 0);
	stage = stage_new(maker);
	run_and_stop(stage, TIME_ACTIONS, &stage->input.pressed);
	ck_assert_str_eq(stage->input.log, "move 1,1|press|release|release_all|");
	stage_free(stage);
}
END_TEST

START_TEST(test_swipe)
{
	struct maker *maker = fulfilled_at_once();
	struct action *swipe = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_SWIPE);
	struct stage *stage;
	size_t length;

	swipe->swipe.duration_ns = HOUR_NS;
	maker_point(maker, swipe, 0, 0);
	maker_point(maker, swipe, 1000, 0);
	stage = stage_new(maker);
	run_and_stop(stage, TIME_ACTIONS, &stage->input.pressed);
	length = strlen("release|release_all|");
	ck_assert_uint_gt(stage->input.used, length);
	ck_assert_str_eq(stage->input.log + stage->input.used - length, "release|release_all|");
	ck_assert_ptr_null(strstr(stage->input.log, "move 1000,0"));
	stage_free(stage);
}
END_TEST

START_TEST(test_frame_wait)
{
	struct maker *maker = maker_new();
	struct session_figures figures;
	struct stage *stage;

	maker_event(maker, "e", false, false);
	maker_image(maker, "a", true);
	stage = stage_new(maker);
	stage->screen.blocks = true;
	stage->params.period_ns = HOUR_NS;
	figures = run_and_stop(stage, TIME_FRAME_WAIT, NULL);
	ck_assert_int_gt(figures.site_ns[TIME_FRAME_WAIT], 0);
	ck_assert_int_eq(figures.passes, 0); // it ended in step 2
	stage_free(stage);
}
END_TEST

START_TEST(test_report_room)
{
	struct maker *maker = fulfilled_at_once();
	struct session_figures figures;
	struct stage *stage = stage_new(maker);

	stage->screen.base.live = false;
	fake_recorder_state()->blocks = true;
	figures = run_and_stop(stage, TIME_REPORT_WAIT, NULL);
	ck_assert_int_gt(figures.site_ns[TIME_REPORT_WAIT], 0);
	ck_assert_uint_eq(stage_messages(), 1);
	stage_free(stage);
}
END_TEST

START_TEST(test_before_the_first_pass)
{
	struct stage *stage = stage_new(fulfilled_at_once());

	ending_request(&stage->ending, CONDPROF__END_REASON__REASON_STOPPED, CONDPROF__SESSION_RESULT__SESSION_OK,
		       NULL);
	ck_assert_int_eq(processor_new(&stage->params, &stage->processor), 0);
	processor_run(stage->processor);
	ck_assert_int_eq(stage->processor->progress.passes, 0);
	ck_assert_str_eq(stage->input.log, "release_all|");
	stage_free(stage);
}
END_TEST

// A check that looks at the stop flag, as the detect layer's do: the condition is neither found nor not found.
static void stop_in_a_check(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	struct stage *stage = detector->context;

	if (condition != 1)
		return;
	ending_request(&stage->ending, CONDPROF__END_REASON__REASON_STOPPED, CONDPROF__SESSION_RESULT__SESSION_OK,
		       NULL);
	*ret = (struct detect_result){.stopped = true};
}

START_TEST(test_in_a_check)
{
	for (int any = 0; any < 2; any++) {
		struct maker *maker = maker_new();
		struct condition_figures f;
		struct stage *stage;

		maker_event(maker, "e", false, any);
		maker_image(maker, "a", !any);
		maker_image(maker, "b", false);
		maker_image(maker, "c", true);
		maker_event(maker, "next", false, false);
		maker_image(maker, "d", true);
		stage = stage_new(maker);
		stage_begin(stage);
		stage->detector->on_check = stop_in_a_check;
		stage->detector->context = stage;
		stage->detector->answers[0].found = true; // not fulfilled in "any": absent is what it wants
		ck_assert(!stage_pass(stage));
		ck_assert_int_eq(stage->detector->checks[1], 1);
		ck_assert_int_eq(stage->detector->checks[2], 0);
		ck_assert_int_eq(stage->detector->checks[3], 0);
		timing_condition_figures(stage->timing, 1, &f);
		ck_assert_int_eq(f.checks, 1);
		ck_assert_int_eq(f.fulfilled, 0);
		ck_assert_int_eq(f.not_evaluable, 0);
		// not decided before it: nobody decided. For "all" the stopped one counts as not fulfilled
		timing_condition_figures(stage->timing, 2, &f);
		ck_assert_int_eq(f.short_circuited, any ? 0 : 1);
		ck_assert_uint_eq(stage_messages(), 0);
		stage_free(stage);
	}
}
END_TEST

static void stop_between_checks(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	struct stage *stage = detector->context;

	(void)ret;
	if (condition == 2)
		ending_request(&stage->ending, CONDPROF__END_REASON__REASON_STOPPED,
			       CONDPROF__SESSION_RESULT__SESSION_OK, NULL);
}

START_TEST(test_between_checks)
{
	struct maker *maker = maker_new();
	struct condition_figures f;
	struct stage *stage;

	maker_event(maker, "e", false, true);
	for (int i = 0; i < 10; i++)
		maker_image(maker, "a", true);
	stage = stage_new(maker);
	stage_begin(stage);
	stage->detector->on_check = stop_between_checks;
	stage->detector->context = stage;
	ck_assert(!stage_pass(stage));
	for (uint32_t i = 0; i < 10; i++) {
		timing_condition_figures(stage->timing, i, &f);
		ck_assert_int_eq(f.checks, i <= 2);
		ck_assert_int_eq(f.short_circuited, 0);
	}
	stage_free(stage);
}
END_TEST

// --- others while it runs --------------------------------------------------------------------------------------------

START_TEST(test_emit_and_snapshots_while_it_runs)
{
	struct maker *maker = maker_new();
	struct session_figures figures = {0};
	struct event_figures event;
	struct stage *stage;
	pthread_t thread;

	maker_event(maker, "s", false, false);
	maker_image(maker, "a", true);
	maker_event(maker, "b", true, false);
	maker_condition(maker, "b", CONDITION_BROADCAST)->broadcast = maker_broadcast(maker, "x");
	stage = stage_new(maker);
	fake_recorder_state()->counting_only = true;
	engine_clock_init_monotonic(&stage->clock);
	timing_free(stage->timing);
	ck_assert_int_eq(timing_new(&maker->scenario, measuring_clock_monotonic, &stage->timing), 0);
	stage->params.timing = stage->timing;
	stage->params.period_ns = NSEC_PER_SEC / 5000;
	ck_assert_int_eq(processor_new(&stage->params, &stage->processor), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, run_processor, stage->processor), 0);
	do {
		ck_assert(processor_emit(stage->processor, "x"));
		timing_session_figures(stage->timing, &figures);
		timing_event_figures(stage->timing, 1, &event);
	} while (event.fulfilled < 200);
	ending_request(&stage->ending, CONDPROF__END_REASON__REASON_STOPPED, CONDPROF__SESSION_RESULT__SESSION_OK,
		       NULL);
	pthread_join(thread, NULL);
	stage_free(stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stop");
	TCase *tcase = tcase_create("stop");

	tcase_add_test(tcase, test_limiter);
	tcase_add_test(tcase, test_pause);
	tcase_add_test(tcase, test_long_press);
	tcase_add_test(tcase, test_swipe);
	tcase_add_test(tcase, test_frame_wait);
	tcase_add_test(tcase, test_report_room);
	tcase_add_test(tcase, test_before_the_first_pass);
	tcase_add_test(tcase, test_in_a_check);
	tcase_add_test(tcase, test_between_checks);
	tcase_add_test(tcase, test_emit_and_snapshots_while_it_runs);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
