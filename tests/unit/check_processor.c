// SPDX-License-Identifier: GPL-3.0-or-later
// The pass and its measuring, where the cases of semantics.json do not reach: rules one by one, sites, the limiter,
// what a report says.
#include "tests/support/engine_fakes.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MS NSEC_PER_MSEC

static struct condition_figures figures_of(struct stage *stage, uint32_t condition)
{
	struct condition_figures figures;

	timing_condition_figures(stage->timing, condition, &figures);
	return figures;
}

static struct event_figures event_figures_of(struct stage *stage, uint32_t event)
{
	struct event_figures figures;

	timing_event_figures(stage->timing, event, &figures);
	return figures;
}

static struct session_figures session_figures_of(struct stage *stage)
{
	struct session_figures figures;

	timing_session_figures(stage->timing, &figures);
	return figures;
}

static struct stage *begin(struct maker *maker)
{
	struct stage *stage = stage_new(maker);

	stage_begin(stage);
	return stage;
}

// --- reaching --------------------------------------------------------------------------------------------------------

START_TEST(test_all_stops_at_the_first_that_is_not)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "e", false, false);
	maker_image(maker, "a", true);
	maker_image(maker, "b", true);
	maker_image(maker, "c", true);
	stage = begin(maker);
	stage->detector->answers[0].found = true;
	for (int i = 0; i < 5; i++)
		ck_assert(stage_pass(stage));
	ck_assert_int_eq(figures_of(stage, 0).checks, 5);
	ck_assert_int_eq(figures_of(stage, 0).fulfilled, 5);
	ck_assert_int_eq(figures_of(stage, 1).checks, 5);
	ck_assert_int_eq(figures_of(stage, 1).fulfilled, 0);
	ck_assert_int_eq(figures_of(stage, 2).checks, 0); // never checked: configured all the same
	ck_assert_int_eq(figures_of(stage, 2).short_circuited, 5);
	ck_assert_int_eq(figures_of(stage, 1).short_circuited, 0);
	ck_assert_int_eq(event_figures_of(stage, 0).evaluated, 5);
	ck_assert_int_eq(event_figures_of(stage, 0).fulfilled, 0);
	ck_assert_int_eq(stage->detector->checks[2], 0);
	stage_free(stage);
}
END_TEST

START_TEST(test_any_stops_at_the_first_that_is)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "e", false, true);
	maker_image(maker, "a", true);
	maker_image(maker, "b", false); // not found: fulfilled
	maker_image(maker, "c", true);
	stage = begin(maker);
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(figures_of(stage, 0).checks, 1);
	ck_assert_int_eq(figures_of(stage, 1).fulfilled, 1);
	ck_assert_int_eq(figures_of(stage, 2).checks, 0);
	ck_assert_int_eq(figures_of(stage, 2).short_circuited, 1);
	ck_assert_int_eq(event_figures_of(stage, 0).fulfilled, 1);
	stage_free(stage);
}
END_TEST

START_TEST(test_why_not_reached)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "cools", false, false)->cooldown_ns = 1000 * MS;
	maker_image(maker, "a", true);
	maker_event(maker, "off", false, false)->enabled = false;
	maker_image(maker, "b", true);
	maker_event(maker, "last", false, false);
	maker_image(maker, "c", true);
	stage = begin(maker);
	stage->detector->answers[0].found = true;
	for (int i = 0; i < 6; i++)
		ck_assert(stage_pass(stage));
	ck_assert_int_eq(event_figures_of(stage, 0).evaluated, 1);
	ck_assert_int_eq(event_figures_of(stage, 0).not_reached[NOT_REACHED_COOLING_DOWN], 5);
	ck_assert_int_eq(event_figures_of(stage, 1).not_reached[NOT_REACHED_DISABLED], 5);
	ck_assert_int_eq(event_figures_of(stage, 1).ended_before, 1);
	ck_assert_int_eq(event_figures_of(stage, 2).evaluated, 5);
	ck_assert_int_eq(event_figures_of(stage, 2).ended_before, 1);
	stage_free(stage);
}
END_TEST

START_TEST(test_not_evaluable)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "present", false, false);
	maker_image(maker, "a", true);
	maker_event(maker, "absent", false, false);
	maker_image(maker, "b", false);
	stage = begin(maker);
	stage->detector->answers[0] = (struct fake_answer){.found = true, .not_evaluable = true};
	stage->detector->answers[1] = (struct fake_answer){.not_evaluable = true};
	for (int i = 0; i < 3; i++)
		ck_assert(stage_pass(stage));
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(figures_of(stage, i).checks, 3);
		ck_assert_int_eq(figures_of(stage, i).not_evaluable, 3);
		ck_assert_int_eq(figures_of(stage, i).fulfilled, 0); // nor its negation
		ck_assert_int_eq(figures_of(stage, i).frame_width, 64);
		ck_assert(stage->processor->not_evaluable_said[i]);
	}
	stage_free(stage);
}
END_TEST

START_TEST(test_matches_are_where_images_were_found)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "wanted", false, true)->keep_detecting = true;
	maker_image(maker, "a", true);
	maker_image(maker, "not wanted", false);
	maker_image(maker, "not evaluable", true);
	maker_condition(maker, "colour", CONDITION_COLOR)->present = true;
	maker_event(maker, "next", false, false);
	maker_image(maker, "never found", true);
	stage = begin(maker);
	for (uint32_t i = 1; i < 4; i++)
		stage->detector->answers[i] =
			(struct fake_answer){.found = true, .not_evaluable = i == 2, .place = {5, 6, 25, 16}};
	for (int i = 0; i < 2; i++)
		ck_assert(stage_pass(stage));
	stage->detector->answers[1].place = (struct rect){4, 6, 24, 16};
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(figures_of(stage, 1).matches, 3);
	ck_assert_int_eq(figures_of(stage, 1).match_bounds.left, 4);
	ck_assert_int_eq(figures_of(stage, 1).match_bounds.right, 25);
	ck_assert_int_eq(figures_of(stage, 1).match_width, 64);
	ck_assert_int_eq(figures_of(stage, 3).fulfilled, 3);
	ck_assert_int_eq(figures_of(stage, 4).checks, 3);
	ck_assert(figures_of(stage, 1).last.has_confidence && !figures_of(stage, 1).last.fulfilled); // not wanted
	ck_assert(!figures_of(stage, 2).last.has_confidence && !figures_of(stage, 2).last.fulfilled);
	ck_assert(figures_of(stage, 3).last.fulfilled);
	for (uint32_t i = 0; i < 5; i++)
		ck_assert(i == 1 || figures_of(stage, i).matches == 0);
	stage_free(stage);
}
END_TEST

// --- timers ----------------------------------------------------------------------------------------------------------

static bool pass_fulfils(struct stage *stage, uint32_t event)
{
	int64_t before = event_figures_of(stage, event).fulfilled;

	ck_assert(stage_pass(stage));
	return event_figures_of(stage, event).fulfilled > before;
}

START_TEST(test_timer_is_reached_after_its_end)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "e", true, true);
	maker_timer(maker, "t", 100 * MS, false);
	stage = begin(maker);
	stage->clock.virtual_now_ns = 100 * MS;
	ck_assert(!pass_fulfils(stage, 0));
	stage->clock.virtual_now_ns++;
	ck_assert(pass_fulfils(stage, 0));
	stage->clock.virtual_now_ns += 1000 * MS;
	ck_assert(!pass_fulfils(stage, 0)); // spent
	stage_free(stage);
}
END_TEST

START_TEST(test_all_event_keeps_a_reached_timer)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "e", true, false);
	maker_timer(maker, "t", 100 * MS, true);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	stage = begin(maker);
	stage->clock.virtual_now_ns = 150 * MS;
	ck_assert(!pass_fulfils(stage, 0));
	ck_assert_int_eq(figures_of(stage, 0).fulfilled, 1); // reached, and stays so
	stage->clock.virtual_now_ns = 160 * MS;
	ck_assert(!pass_fulfils(stage, 0));
	ck_assert_int_eq(figures_of(stage, 0).fulfilled, 2);
	stage->processor->states.counters[0] = 1;
	ck_assert(pass_fulfils(stage, 0)); // restarts from here: 160
	stage->clock.virtual_now_ns = 260 * MS;
	ck_assert(!pass_fulfils(stage, 0));
	stage->clock.virtual_now_ns++;
	ck_assert(pass_fulfils(stage, 0));
	stage_free(stage);
}
END_TEST

START_TEST(test_any_event_restarts_only_the_deciding_timer)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "e", true, true);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	maker_timer(maker, "once", 100 * MS, false);
	maker_timer(maker, "often", 100 * MS, true);
	stage = begin(maker);
	stage->processor->states.counters[0] = 1;
	stage->clock.virtual_now_ns = 150 * MS;
	ck_assert(pass_fulfils(stage, 0)); // by the counter: both timers are reached, but not looked at
	stage->processor->states.counters[0] = 0;
	ck_assert(pass_fulfils(stage, 0)); // by "once"
	ck_assert(pass_fulfils(stage, 0)); // by "often", which begins again
	ck_assert(!pass_fulfils(stage, 0));
	stage->clock.virtual_now_ns = 250 * MS + 1;
	ck_assert(pass_fulfils(stage, 0));
	ck_assert_int_eq(figures_of(stage, 1).fulfilled, 1);
	ck_assert_int_eq(figures_of(stage, 2).fulfilled, 2);
	stage_free(stage);
}
END_TEST

START_TEST(test_one_reference_a_verification)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	// both timers end together, whatever passes between their checks
	maker_event(maker, "e", true, false);
	maker_timer(maker, "a", 100 * MS, true);
	maker_timer(maker, "b", 100 * MS, true);
	stage = begin(maker);
	stage->clock.virtual_now_ns = 100 * MS + 7;
	ck_assert(pass_fulfils(stage, 0));
	ck_assert_int_eq(stage->processor->states.timer_end_ns[0], 200 * MS + 7);
	ck_assert_int_eq(stage->processor->states.timer_end_ns[1], 200 * MS + 7);
	stage_free(stage);
}
END_TEST

START_TEST(test_timers_of_disabled_events)
{
	struct maker *maker = maker_new();
	struct states *states;
	struct stage *stage;

	maker_event(maker, "e", true, true)->enabled = false;
	maker_timer(maker, "t", 100 * MS, false);
	maker_event(maker, "other", true, true);
	maker_timer(maker, "u", INT64_MAX, false);
	stage = begin(maker);
	states = &stage->processor->states;
	stage->clock.virtual_now_ns = 500 * MS;
	ck_assert_int_eq(states->timer_end_ns[0], NO_TIMER);
	ck_assert_int_eq(states->timer_end_ns[1], INT64_MAX); // not beyond the end of time
	ck_assert(states_set_enabled(states, 0, true));
	ck_assert_int_eq(states->timer_end_ns[0], 600 * MS);
	stage->clock.virtual_now_ns = 550 * MS;
	ck_assert(!states_set_enabled(states, 0, true)); // enabling the enabled changes nothing
	ck_assert_int_eq(states->timer_end_ns[0], 600 * MS);
	ck_assert(states_set_enabled(states, 0, false));
	ck_assert(!states_set_enabled(states, 0, false));
	ck_assert_int_eq(states->timer_end_ns[0], NO_TIMER);
	stage_free(stage);
}
END_TEST

// --- cooldowns, counters, broadcasts ---------------------------------------------------------------------------------

START_TEST(test_cooldown_runs_from_the_actions_end)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "e", false, false)->cooldown_ns = 100 * MS;
	maker_image(maker, "a", true);
	maker_pause(maker, 30 * MS);
	stage = begin(maker);
	stage->detector->answers[0].found = true;
	ck_assert(pass_fulfils(stage, 0)); // done at 30
	stage->clock.virtual_now_ns = 130 * MS - 1;
	ck_assert(!pass_fulfils(stage, 0));
	stage->clock.virtual_now_ns = 130 * MS; // running while now < end
	ck_assert(pass_fulfils(stage, 0));
	stage_free(stage);
}
END_TEST

START_TEST(test_disabled_by_its_own_actions_starts_no_cooldown)
{
	struct maker *maker = maker_new();
	struct states *states;
	struct stage *stage;

	maker_event(maker, "e", false, false)->cooldown_ns = 100 * MS;
	maker_image(maker, "a", true);
	maker_change(maker, CONDPROF__STATE_CHANGE__DISABLE, 0);
	maker_event(maker, "keeps the session", true, false);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	stage = begin(maker);
	states = &stage->processor->states;
	stage->detector->answers[0].found = true;
	ck_assert(pass_fulfils(stage, 0));
	ck_assert(!states->enabled[0]);
	ck_assert_int_eq(states->cooldown_end_ns[0], NO_COOLDOWN);
	states_set_enabled(states, 0, true);
	ck_assert(pass_fulfils(stage, 0));
	stage_free(stage);
}
END_TEST

START_TEST(test_compare)
{
	const struct {
		double a;
		Condprof__Comparison comparison;
		double b;
		bool result;
	} rows[] = {
		{1, CONDPROF__COMPARISON__EQUAL, 1 + 9e-10, true},
		{1, CONDPROF__COMPARISON__EQUAL, 1 + 2e-9, false},
		{1, CONDPROF__COMPARISON__NOT_EQUAL, 1 + 9e-10, false},
		{1, CONDPROF__COMPARISON__NOT_EQUAL, 1 + 2e-9, true},
		{1, CONDPROF__COMPARISON__LESS, 1 + 1e-12, true},
		{1, CONDPROF__COMPARISON__GREATER_OR_EQUAL, 1 + 1e-12, false},
		{2, CONDPROF__COMPARISON__GREATER, 2, false},
		{2, CONDPROF__COMPARISON__LESS_OR_EQUAL, 2, true},
		{1.0 / 0.0, CONDPROF__COMPARISON__EQUAL, 1.0 / 0.0, true},
		{1.0 / 0.0, CONDPROF__COMPARISON__EQUAL, -1.0 / 0.0, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(states_compare(rows[i].a, rows[i].comparison, rows[i].b) == rows[i].result, "row %zu", i);
}
END_TEST

START_TEST(test_counter_against_a_counter)
{
	struct maker *maker = maker_new();
	struct stage *stage;
	struct condition *condition;

	maker_counter(maker, "n", 3);
	maker_counter(maker, "limit", 5);
	maker_event(maker, "e", true, false);
	condition = maker_compare(maker, "c", "n", CONDPROF__COMPARISON__GREATER_OR_EQUAL, 0);
	condition->counter.operand.counter = 1;
	maker_count(maker, "n", CONDPROF__COUNTER_OPERATION__SUBTRACT, 0)->counter.operand.counter = 1;
	stage = begin(maker);
	ck_assert(!pass_fulfils(stage, 0));
	stage->processor->states.counters[0] = 12;
	ck_assert(pass_fulfils(stage, 0));
	ck_assert(stage->processor->states.counters[0] == 7);
	stage_free(stage);
}
END_TEST

START_TEST(test_broadcasts)
{
	struct maker *maker = maker_new();
	struct stage *stage;
	char name[32];

	for (int i = 0; i < 130; i++) { // more than two words
		snprintf(name, sizeof(name), "b%d", i);
		maker_event(maker, name, true, false);
		maker_condition(maker, name, CONDITION_BROADCAST)->broadcast = maker_broadcast(maker, name);
	}
	maker->scenario.broadcasts[5].bus = CONDPROF__BUS__BUS_SYSTEM;
	stage = begin(maker);
	ck_assert(processor_emit(stage->processor, "b0"));
	ck_assert(processor_emit(stage->processor, "b64"));
	ck_assert(processor_emit(stage->processor, "b129"));
	ck_assert(processor_emit(stage->processor, "b129")); // twice is once
	ck_assert(!processor_emit(stage->processor, "b5"));  // that one comes by a bus
	ck_assert(!processor_emit(stage->processor, "b130"));
	ck_assert(stage_pass(stage));
	for (uint32_t i = 0; i < 130; i++)
		ck_assert_int_eq(event_figures_of(stage, i).fulfilled, i == 0 || i == 64 || i == 129);
	ck_assert(stage_pass(stage));
	for (uint32_t i = 0; i < 130; i++)
		ck_assert_int_eq(event_figures_of(stage, i).fulfilled, i == 0 || i == 64 || i == 129);
	stage_free(stage);
}
END_TEST

static void emit_in_a_check(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	(void)condition;
	(void)ret;
	processor_emit(detector->context, "x");
}

START_TEST(test_broadcast_during_a_pass_belongs_to_the_next)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "s", false, false);
	maker_image(maker, "a", true);
	maker_event(maker, "t", true, false);
	maker_condition(maker, "b", CONDITION_BROADCAST)->broadcast = maker_broadcast(maker, "x");
	stage = begin(maker);
	stage->detector->on_check = emit_in_a_check;
	stage->detector->context = stage->processor;
	ck_assert(!pass_fulfils(stage, 1));
	stage->detector->on_check = NULL;
	ck_assert(pass_fulfils(stage, 1));
	ck_assert(!pass_fulfils(stage, 1));
	stage_free(stage);
}
END_TEST

// --- frames ----------------------------------------------------------------------------------------------------------

static struct maker *screen_and_trigger(void)
{
	struct maker *maker = maker_new();

	maker_event(maker, "s", false, false);
	maker_image(maker, "a", true);
	maker_event(maker, "t", true, false);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	return maker;
}

START_TEST(test_no_frame_leaves_screen_events_out)
{
	struct stage *stage = begin(screen_and_trigger());

	stage->screen.wait_status = SCREEN_STALLED;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(event_figures_of(stage, 0).evaluated, 0);
	ck_assert_int_eq(event_figures_of(stage, 0).ended_before, 1);
	ck_assert_int_eq(event_figures_of(stage, 1).evaluated, 1);
	ck_assert_int_eq(stage->processor->progress.passes, 1);
	ck_assert_int_eq(stage->processor->progress.frames, 0);

	// a get that stalls is no frame either, and an old one is never used again
	stage->screen.wait_status = SCREEN_OK;
	ck_assert(stage_pass(stage));
	stage->screen.get_status = SCREEN_STALLED;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(event_figures_of(stage, 0).evaluated, 1);
	ck_assert_int_eq(event_figures_of(stage, 1).evaluated, 3);
	stage_free(stage);
}
END_TEST

START_TEST(test_source_ends)
{
	struct stage *stage = begin(screen_and_trigger());

	ck_assert(stage_pass(stage));
	stage->screen.wait_status = SCREEN_ENDED;
	processor_emit(stage->processor, "kept for nobody");
	ck_assert(!stage_pass(stage));
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_SOURCE_ENDED);
	ck_assert_int_eq(stage->processor->progress.passes, 1); // a pass that ends in step 2 isn't counted
	ck_assert_int_eq(session_figures_of(stage).passes, 1);
	ck_assert_int_eq(event_figures_of(stage, 1).evaluated, 1);
	stage_free(stage);
}
END_TEST

START_TEST(test_source_fails)
{
	struct stage *stage = begin(screen_and_trigger());
	struct ending_reason reason;

	stage->screen.get_status = SCREEN_FAILED;
	error_set(&stage->screen.base.failure, CONDPROF__CODE__SCREEN_FAILED, EPIPE, "the X server went away");
	ck_assert(!stage_pass(stage));
	ending_get(&stage->ending, &reason);
	ck_assert_int_eq(reason.reason, CONDPROF__END_REASON__REASON_SOURCE_FAILED);
	ck_assert_int_eq(reason.result, CONDPROF__SESSION_RESULT__SESSION_FAILED);
	ck_assert_str_eq(reason.text, "the X server went away");
	stage_free(stage);
}
END_TEST

START_TEST(test_triggers_only)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "t", true, false);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	stage = begin(maker);
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->screen.waits + stage->screen.gets, 0); // a live picture would serve nobody

	// but a replay takes its picture in every pass, to come to its end
	stage->screen.base.live = false;
	stage->screen.base.by_pass = true;
	for (uint64_t i = 0; i < 3; i++) {
		stage->screen.serial = 10 + i;
		ck_assert(stage_pass(stage));
	}
	ck_assert_int_eq(stage->screen.gets, 3);
	ck_assert_int_eq(stage->processor->progress.frames, 3);
	stage_free(stage);
}
END_TEST

START_TEST(test_still_screen_is_one_picture)
{
	struct stage *stage = begin(screen_and_trigger());

	for (int i = 0; i < 5; i++)
		ck_assert(stage_pass(stage));
	stage->screen.serial++;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->screen.gets, 6);
	ck_assert_int_eq(stage->processor->progress.frames, 2);
	ck_assert_int_eq(figures_of(stage, 0).checks, 6);
	stage_free(stage);
}
END_TEST

START_TEST(test_frame_wait_bounds)
{
	struct stage *stage = stage_new(screen_and_trigger());

	coupled_clock_init(&stage->clock); // its monotonic clock is itself
	stage->params.period_ns = 100 * MS;
	stage_begin(stage);
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->screen.wait_deadline_ns, NSEC_PER_SEC + 100 * MS); // the next pass
	stage->clock.virtual_now_ns += 100 * MS;
	ck_assert(stage_pass(stage)); // that is due already
	ck_assert_int_eq(stage->screen.wait_deadline_ns, NSEC_PER_SEC + 100 * MS + MS);
	stage->processor->limiter.period_ns = 0;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->screen.wait_deadline_ns, NSEC_PER_SEC + 100 * MS + 100 * MS);
	stage->screen.base.by_pass = true;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->screen.wait_deadline_ns, NSEC_PER_SEC + 100 * MS + NSEC_PER_SEC);
	stage->processor->end_ns = stage->clock.virtual_now_ns + 5;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->screen.wait_deadline_ns, NSEC_PER_SEC + 100 * MS + 5);
	stage_free(stage);
}
END_TEST

START_TEST(test_size_change_in_mid_session)
{
	struct stage *stage = begin(screen_and_trigger());

	ck_assert(stage_pass(stage));
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->detector->resizes, 1);
	stage->screen.width = 48;
	stage->screen.height = 40;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->detector->resizes, 2);
	ck_assert_int_eq(stage->processor->progress.frame_width, 48);
	stage->screen.width = 32;
	stage->detector->resize_result = -ENOMEM;
	ck_assert(!stage_pass(stage));
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_INTERNAL);
	stage_free(stage);
}
END_TEST

static struct maker *keep_detecting(bool refresh)
{
	struct maker *maker = maker_new();
	struct event *event = maker_event(maker, "first", false, false);

	event->keep_detecting = true;
	event->refresh = refresh;
	maker_image(maker, "a", true);
	maker_event(maker, "second", false, false);
	maker_image(maker, "b", true);
	return maker;
}

START_TEST(test_refresh)
{
	struct stage *stage = begin(keep_detecting(true));

	stage->detector->answers[0].found = true;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->screen.refreshes, 1);
	ck_assert_int_eq(stage->detector->begins, 1); // the same picture: what was prepared of it stays
	stage->screen.refresh_status = SCREEN_STALLED;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(figures_of(stage, 1).checks, 1); // without a frame the pass ends
	stage->screen.refresh_status = SCREEN_FAILED;
	ck_assert(!stage_pass(stage));
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_SOURCE_FAILED);
	stage_free(stage);

	stage = begin(keep_detecting(false));
	stage->detector->answers[0].found = true;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->screen.refreshes, 0);
	ck_assert_int_eq(figures_of(stage, 1).checks, 1);
	stage_free(stage);
}
END_TEST

static void new_picture_for_refresh(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	struct fake_screen *screen = detector->context;

	(void)ret;
	if (condition == 0)
		screen->serial++;
}

START_TEST(test_refresh_takes_a_newer_picture)
{
	struct stage *stage = begin(keep_detecting(true));

	stage->detector->answers[0].found = true;
	stage->detector->on_check = new_picture_for_refresh;
	stage->detector->context = &stage->screen;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->detector->begins, 2);
	ck_assert_int_eq(stage->processor->progress.frames, 2);
	stage_free(stage);
}
END_TEST

// --- ends ------------------------------------------------------------------------------------------------------------

// Between two events of a pass the screen changes its size: the first one prepared something of the old picture.
static void smaller_for_refresh(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	struct fake_screen *screen = detector->context;

	(void)ret;
	if (condition == 0) {
		ck_assert_int_eq(detector->width, 64);
		screen->width = 32;
		screen->height = 24;
		screen->serial++;
	} else {
		ck_assert_int_eq(detector->width, 32);
	}
}

START_TEST(test_size_change_mixes_nothing)
{
	struct maker *maker = keep_detecting(true);
	struct stage *stage;
	struct fake_answer *answers;
	struct condition_figures f;

	maker_image(maker, "c", true);
	maker_click(maker, 0, 0, 0)->click.target = CLICK_FOUND;
	maker->scenario.events[1].any = true;
	stage = begin(maker);
	stage->detector->on_check = smaller_for_refresh;
	stage->detector->context = &stage->screen;
	answers = stage->detector->answers;
	answers[0] = (struct fake_answer){.found = true, .x = 60, .y = 40, .takes_ns = 500};
	answers[1] = (struct fake_answer){.not_evaluable = true, .takes_ns = 7};
	answers[2] = (struct fake_answer){.found = true, .x = 30, .y = 20, .takes_ns = 9};
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stage->detector->resizes, 2);
	ck_assert_int_eq(stage->detector->begins, 2);
	ck_assert_int_eq(stage->processor->progress.frame_width, 32);
	ck_assert_int_eq(figures_of(stage, 0).shared_ns, 0);
	ck_assert_int_eq(figures_of(stage, 0).total_ns, 501);
	f = figures_of(stage, 1);
	ck_assert_int_eq(f.not_evaluable, 1);
	ck_assert_int_eq(f.frame_width, 32); // of the picture that it was checked on
	ck_assert_int_eq(f.frame_height, 24);
	ck_assert_int_eq(f.total_ns, 8);
	ck_assert_int_eq(figures_of(stage, 2).total_ns, 10);
	ck_assert_str_eq(stage->input.log, "move 30,20|press|release|"); // and no match of it is clicked at
	stage_free(stage);
}
END_TEST

START_TEST(test_passes_limit)
{
	struct stage *stage = stage_new(screen_and_trigger());

	stage->params.max_passes = 3;
	stage_begin(stage);
	ck_assert(stage_pass(stage));
	ck_assert(stage_pass(stage));
	ck_assert(!stage_pass(stage));
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_PASSES);
	ck_assert_int_eq(stage->processor->progress.passes, 3);
	stage_free(stage);
}
END_TEST

START_TEST(test_duration_limit)
{
	struct stage *stage = stage_new(screen_and_trigger());

	stage->params.max_duration_ns = 250 * MS;
	stage->params.period_ns = 100 * MS;
	stage_begin(stage);
	while (stage_pass(stage) && processor_limit(stage->processor))
		;
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_DURATION);
	ck_assert_int_eq(stage->processor->progress.passes, 3);
	ck_assert_int_eq(stage->clock.virtual_now_ns, 250 * MS); // to the point, in the limiter's wait
	stage_free(stage);
}
END_TEST

START_TEST(test_duration_limit_ends_a_pause)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "e", true, false);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 0);
	maker_pause(maker, 3600 * NSEC_PER_SEC);
	maker_click(maker, 1, 1, 0);
	stage = stage_new(maker);
	stage->params.max_duration_ns = 250 * MS;
	stage_begin(stage);
	ck_assert(!stage_pass(stage));
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_DURATION);
	ck_assert_int_eq(stage->clock.virtual_now_ns, 250 * MS);
	ck_assert_str_eq(stage->input.log, "");
	ck_assert(stage_message(0)->trigger_event->actions[1]->skipped); // the occurrence is kept
	stage_free(stage);
}
END_TEST

START_TEST(test_an_hour)
{
	struct maker *maker = maker_new();
	struct session_figures figures;
	struct stage *stage;

	maker_event(maker, "screen", false, false);
	maker_image(maker, "a", true);
	maker_event(maker, "every minute", true, true);
	maker_timer(maker, "t", 60 * NSEC_PER_SEC, true);
	maker_count(maker, "minutes", CONDPROF__COUNTER_OPERATION__ADD, 1);
	maker_event(maker, "at the hour", true, true);
	maker_timer(maker, "u", 3600 * NSEC_PER_SEC, false);
	maker_stop(maker, "done", CONDPROF__SESSION_RESULT__SESSION_OK);
	stage = stage_new(maker);
	stage->params.period_ns = 100 * MS;
	coupled_clock_init(&stage->clock);
	stage_begin(stage);
	while (stage_pass(stage) && processor_limit(stage->processor))
		;
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_STOP_ACTION);
	// the timers end a hair after a pass was due: the next one, 0.1 s later, sees them
	ck_assert_int_eq(stage->clock.virtual_now_ns, NSEC_PER_SEC + 3600 * NSEC_PER_SEC + 100 * MS);
	ck_assert_int_eq(stage->processor->progress.passes, 36002);
	ck_assert_int_eq(stage->processor->progress.missed, 0);
	ck_assert(stage->processor->states.counters[0] == 59); // each minute takes 60.1 s: it restarts when seen
	ck_assert_int_eq(figures_of(stage, 0).checks, 36001);
	ck_assert_int_eq(event_figures_of(stage, 0).ended_before, 1);
	figures = session_figures_of(stage);
	ck_assert_int_eq(figures.site_ns[TIME_LIMITER_WAIT] / NSEC_PER_SEC, 3600);
	ck_assert_int_eq(figures.passes, 36002);
	ck_assert_int_eq(stage_message(stage_messages() - 1)->relative_timestamp_ms, 3600100);
	ck_assert_int_eq(event_figures_of(stage, 2).last_ns / MS, 3600100);
	stage_free(stage);
}
END_TEST

// --- measuring -------------------------------------------------------------------------------------------------------

START_TEST(test_report_off_reads_no_clock)
{
	struct maker *maker = screen_and_trigger();
	struct timing *aborting;
	struct stage *stage;

	maker_count(maker, "n", CONDPROF__COUNTER_OPERATION__ADD, 1);
	stage = stage_new(maker);
	timing_free(stage->timing);
	ck_assert_int_eq(timing_new(&maker->scenario, aborting_clock, &aborting), 0);
	stage->timing = aborting;
	stage->params.timing = NULL; // the switch
	stage->params.recorder = NULL;
	stage->params.max_passes = 20;
	stage->detector->answers[0].found = true;
	ck_assert_int_eq(processor_new(&stage->params, &stage->processor), 0);
	processor_run(stage->processor);
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_PASSES);
	ck_assert_int_eq(stage->detector->checks[0], 20);
	stage_free(stage);
}
END_TEST

START_TEST(test_recorder_without_timing)
{
	struct maker *maker = screen_and_trigger();
	struct stage *stage;

	maker->scenario.events[0].keep_detecting = true;
	stage = stage_new(maker);
	stage->params.timing = NULL;
	stage_begin(stage);
	stage->detector->answers[0].found = true;
	ck_assert(stage_pass(stage));
	ck_assert_int_eq(stepped_clock_reads, 0);
	ck_assert_uint_eq(stage_messages(), 1);
	ck_assert(!stage_message(0)->has_detected_at_ns && !stage_message(0)->has_actions_completed_at_ns);
	ck_assert(!stage_message(0)->image_event->has_checking_ns);
	ck_assert(!stage_message(0)->image_event->condition_results[0]->has_duration_ns);
	stage_free(stage);
}
END_TEST

static void note_reads(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	int64_t *reads = detector->context;

	(void)ret;
	reads[condition] = stepped_clock_reads;
}

START_TEST(test_two_reads_around_each_check)
{
	struct maker *maker = maker_new();
	struct stage *stage;
	int64_t reads[4];

	maker_event(maker, "e", false, true);
	for (int i = 0; i < 4; i++)
		maker_image(maker, "a", true);
	stage = begin(maker);
	stage->detector->on_check = note_reads;
	stage->detector->context = reads;
	for (int i = 0; i < 4; i++)
		stage->detector->answers[i].takes_ns = 100 * (i + 1);
	ck_assert(stage_pass(stage));
	for (uint32_t i = 0; i < 4; i++) {
		// its end, and the next one's beginning
		ck_assert_int_eq(reads[i] - reads[0], 2 * i);
		// the clock steps by 1 when it is read: the end's reading is in the duration, nothing else is
		ck_assert_int_eq(figures_of(stage, i).total_ns, 100 * (i + 1) + 1);
	}
	stage_free(stage);
}
END_TEST

START_TEST(test_shared_preparation)
{
	struct maker *maker = maker_new();
	struct stage *stage;
	struct fake_answer *answers;

	maker_event(maker, "e", false, true);
	maker_image(maker, "prepares", true);
	maker_image(maker, "uses", true);
	maker_image(maker, "uses too", true);
	stage = begin(maker);
	answers = stage->detector->answers;
	answers[0].takes_ns = 2000;
	answers[1].shared[0] = (struct detect_shared){0, 1000};
	answers[1].n_shared = 1;
	answers[2].shared[0] = (struct detect_shared){0, 50};
	answers[2].shared[1] = (struct detect_shared){1, 7};
	answers[2].n_shared = 2;
	for (int i = 0; i < 3; i++)
		ck_assert(stage_pass(stage));
	ck_assert_int_eq(figures_of(stage, 0).shared_ns, 3 * 1050);
	ck_assert_int_eq(figures_of(stage, 0).total_ns, 3 * 2001); // and it stays inside
	ck_assert_int_eq(figures_of(stage, 1).shared_ns, 3 * 7);
	ck_assert_int_eq(figures_of(stage, 2).shared_ns, 0);
	stage_free(stage);
}
END_TEST

START_TEST(test_limiter_wait_is_not_processing)
{
	struct stage *stage = stage_new(screen_and_trigger());
	struct session_figures figures;

	coupled_clock_init(&stage->clock);
	stepped_clock_reset(0);
	stage->params.period_ns = 100 * MS;
	stage_begin(stage);
	stage->detector->answers[0].takes_ns = 30 * MS;
	stage->screen.wait_takes_ns = 5 * MS;
	stage->screen.get_takes_ns = 2 * MS;
	for (int i = 0; i < 10; i++) {
		ck_assert(stage_pass(stage));
		stage->clock.virtual_now_ns += 37 * MS; // what the pass took, for the engine
		ck_assert(processor_limit(stage->processor));
	}
	figures = session_figures_of(stage);
	ck_assert_int_eq(figures.site_ns[TIME_CONDITIONS], 300 * MS);
	ck_assert_int_eq(figures.site_ns[TIME_FRAME_WAIT], 50 * MS);
	ck_assert_int_eq(figures.site_ns[TIME_FRAME_GET], 20 * MS);
	ck_assert_int_eq(figures.site_ns[TIME_LIMITER_WAIT], 10 * 63 * MS);
	ck_assert_int_eq(figures.site_ns[TIME_SAFETY_WAIT], 0);
	ck_assert_int_eq(figures.pass_max_ns, 30 * MS);
	ck_assert_int_eq(figures.duration_ns, 1000 * MS);
	stage_free(stage);
}
END_TEST

START_TEST(test_partial_limiter_wait_is_kept)
{
	struct stage *stage = stage_new(screen_and_trigger());
	struct session_figures figures;

	coupled_clock_init(&stage->clock);
	stepped_clock_reset(0);
	coupled_clock_stopped = &stage->ending;
	coupled_clock_stop_at_ns = NSEC_PER_SEC + 30 * MS;
	stage->params.period_ns = 100 * MS;
	ck_assert_int_eq(processor_new(&stage->params, &stage->processor), 0);
	processor_run(stage->processor);
	figures = session_figures_of(stage);
	ck_assert_int_eq(figures.site_ns[TIME_LIMITER_WAIT], 30 * MS);
	ck_assert_int_eq(figures.duration_ns, 30 * MS);
	ck_assert_int_eq(stage_reason(stage), CONDPROF__END_REASON__REASON_STOPPED);
	stage_free(stage);
}
END_TEST

START_TEST(test_safety_wait)
{
	for (int live = 0; live < 2; live++) {
		struct stage *stage = stage_new(screen_and_trigger());
		struct session_figures figures;

		coupled_clock_init(&stage->clock);
		stepped_clock_reset(0);
		stage->screen.base.live = live;
		stage->params.period_ns = 0;
		stage_begin(stage);
		for (int i = 0; i < 10; i++) {
			ck_assert(stage_pass(stage));
			stage->clock.virtual_now_ns += i < 5 ? 400000 : 3 * MS;
			ck_assert(processor_limit(stage->processor));
		}
		figures = session_figures_of(stage);
		ck_assert_int_eq(figures.site_ns[TIME_SAFETY_WAIT], live ? 5 * 600000 : 0);
		ck_assert_int_eq(figures.site_ns[TIME_LIMITER_WAIT], 0); // it is not the limiter's
		ck_assert_int_eq(stage->processor->progress.missed, 0);
		stage_free(stage);
	}
}
END_TEST

static int64_t suspend_now_ns;

static int64_t fake_suspend(void)
{
	return suspend_now_ns;
}

START_TEST(test_gap)
{
	struct stage *stage = stage_new(screen_and_trigger());
	struct session_figures figures;

	suspend_now_ns = 1000 * NSEC_PER_SEC;
	stage->params.suspend = fake_suspend;
	stage_begin(stage);
	ck_assert(stage_pass(stage));
	suspend_now_ns += MS - 1; // jitter
	ck_assert(stage_pass(stage));
	suspend_now_ns -= MS / 2;
	ck_assert(stage_pass(stage));
	suspend_now_ns += 20 * NSEC_PER_SEC;
	ck_assert(stage_pass(stage));
	ck_assert(stage_pass(stage));
	figures = session_figures_of(stage);
	ck_assert_int_eq(figures.gap_count, 1);
	ck_assert_int_eq(figures.gaps[0].duration_ns, 20 * NSEC_PER_SEC - MS / 2);
	ck_assert_int_lt(figures.duration_ns, MS); // the measuring clock stood still meanwhile: it is in no duration
	ck_assert_uint_eq(fake_recorder_state()->count, 2); // after the counters' first values
	ck_assert_int_eq(fake_recorder_state()->messages[1]->gap->duration_ns, figures.gaps[0].duration_ns);
	ck_assert_int_eq(fake_recorder_state()->messages[1]->gap->at_ns, figures.gaps[0].at_ns);
	stage_free(stage);
}
END_TEST

// --- numbers ---------------------------------------------------------------------------------------------------------

static void read_number(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	const double *value = detector->context;

	(void)condition;
	ret->found = ret->has_value = !isnan(*value);
	ret->has_score = false;
	ret->value = *value;
}

static void maker_number(struct maker *maker, const char *name, Condprof__Comparison comparison, struct operand operand)
{
	struct condition *condition = maker_condition(maker, name, CONDITION_NUMBER);

	condition->ocr.comparison = comparison;
	condition->ocr.operand = operand;
}

// What was read is held against a number, or against what a counter is now. Where nothing was read, no comparison is
// fulfilled, not even that it is another number.
START_TEST(test_numbers_are_compared)
{
	struct maker *maker = maker_new();
	const Condprof__ImageConditionResult *result;
	double value = 2;
	struct stage *stage;

	maker_event(maker, "s", false, false)->keep_detecting = true;
	maker_number(maker, "at least the counter", CONDPROF__COMPARISON__GREATER_OR_EQUAL,
		     (struct operand){.counter = maker_counter(maker, "seen", 0)});
	maker_number(maker, "not seven", CONDPROF__COMPARISON__NOT_EQUAL, (struct operand){7, NO_INDEX});
	maker_count(maker, "seen", CONDPROF__COUNTER_OPERATION__ADD, 1);
	stage = stage_new(maker);
	stage->detector->on_check = read_number;
	stage->detector->context = &value;
	stage_begin(stage);
	for (int pass = 0; pass < 5; pass++)
		ck_assert(stage_pass(stage)); // the counter is 0, 1, 2, and then more than what is read
	ck_assert_uint_eq(stage_messages(), 3);
	result = stage_message(0)->image_event->condition_results[0];
	ck_assert(result->has_value && result->value == 2);
	ck_assert(result->no_confidence && !result->has_confidence_rate);
	value = 7;
	ck_assert(stage_pass(stage));
	value = NAN;
	ck_assert(stage_pass(stage));
	ck_assert_uint_eq(stage_messages(), 3);
	value = 8;
	ck_assert(stage_pass(stage));
	ck_assert_uint_eq(stage_messages(), 4);
	stage_free(stage);
}
END_TEST

// --- occurrences -----------------------------------------------------------------------------------------------------

START_TEST(test_occurrence_stamps)
{
	struct maker *maker = maker_new();
	struct stage *stage;
	int64_t done = 0, detecting = 0, checking = 0, acting = 0;
	struct event_figures event;

	maker_event(maker, "e", false, false);
	maker_image(maker, "a", true);
	maker_image(maker, "b", true);
	maker_pause(maker, 7 * MS);
	maker_count(maker, "n", CONDPROF__COUNTER_OPERATION__ADD, 1);
	stage = stage_new(maker);
	coupled_clock_init(&stage->clock);
	stage_begin(stage);
	stage->detector->answers[0] = (struct fake_answer){.found = true, .takes_ns = 2 * MS, .score = 0.97};
	stage->detector->answers[1].takes_ns = 3 * MS;
	for (int i = 0; i < 40; i++) {
		stage->detector->answers[1].found = i % 4 == 3;
		ck_assert(stage_pass(stage));
		ck_assert(processor_limit(stage->processor));
	}
	ck_assert_uint_eq(stage_messages(), 10);
	for (size_t i = 0; i < 10; i++) {
		const Condprof__DebugReportMessage *m = stage_message(i);
		const Condprof__ImageEventMessage *e = m->image_event;

		// from one occurrence's end to the next one's, to the ns
		ck_assert_int_eq(done + e->detecting_ns + e->checking_ns, m->detected_at_ns);
		ck_assert_int_ge(e->checking_ns, 5 * MS);
		ck_assert_int_le(e->checking_ns, 5 * MS + 10);
		ck_assert_int_ge(m->actions_completed_at_ns - m->detected_at_ns, 7 * MS);
		ck_assert_int_eq(m->relative_timestamp_ms, m->actions_completed_at_ns / MS);
		ck_assert_int_eq(e->pass, 4 * (int64_t)i + 4);
		ck_assert_int_eq(e->frame_number, e->pass);
		ck_assert_int_eq(e->duration_ms, 5);
		ck_assert_uint_eq(e->n_actions, 2);
		ck_assert_int_ge(e->actions[0]->duration_ns, 7 * MS);
		ck_assert_int_lt(e->actions[1]->duration_ns, 10);
		ck_assert(e->condition_results[0]->confidence_rate == 0.97);
		ck_assert_int_eq(e->condition_results[1]->duration_ns, 3 * MS + 1);
		ck_assert(e->counter_changes[0]->new_value == (double)(i + 1));
		done = m->actions_completed_at_ns;
		detecting += e->detecting_ns;
		checking += e->checking_ns;
		acting += done - m->detected_at_ns;
	}
	event = event_figures_of(stage, 0);
	ck_assert_int_eq(event.detecting_ns, detecting);
	ck_assert_int_eq(event.checking_ns, checking);
	ck_assert_int_eq(event.acting_ns, acting);
	ck_assert_int_eq(event.last_ns, done);
	ck_assert_int_eq(event.first_ns, stage_message(0)->actions_completed_at_ns);
	stage_free(stage);
}
END_TEST

// A pause of 30 s is acting, of its own occurrence, and in no other's times.
START_TEST(test_stamps_around_a_long_pause)
{
	struct maker *maker = maker_new();
	struct session_figures s;
	struct event_figures event;
	struct stage *stage;

	maker_event(maker, "e", false, false);
	maker_image(maker, "a", true);
	maker_pause(maker, 30 * NSEC_PER_SEC);
	stage = stage_new(maker);
	coupled_clock_init(&stage->clock);
	stage->params.period_ns = 100 * MS;
	stage_begin(stage);
	stepped_clock_step_ns = 0;
	stage->detector->answers[0] = (struct fake_answer){.found = true, .takes_ns = 2 * MS};
	for (int i = 0; i < 3; i++) {
		ck_assert(stage_pass(stage));
		stage->clock.virtual_now_ns += 2 * MS; // what the check took, for the engine
		ck_assert(processor_limit(stage->processor));
	}
	for (int i = 0; i < 3; i++) {
		const Condprof__DebugReportMessage *m = stage_message((size_t)i);
		int64_t done = m->actions_completed_at_ns;

		ck_assert_int_eq(done - m->detected_at_ns, 30 * NSEC_PER_SEC);
		ck_assert_int_eq(m->image_event->checking_ns, 2 * MS);
		ck_assert_int_eq(m->image_event->actions[0]->duration_ns, 30 * NSEC_PER_SEC);
		ck_assert_int_eq(m->relative_timestamp_ms, done / MS);
		ck_assert_int_eq(m->image_event->condition_results[0]->duration_ns, 2 * MS);
		if (i) // the pass that comes right after it: late, so there is no waiting in between
			ck_assert_int_eq(m->image_event->detecting_ns, 0);
	}
	s = session_figures_of(stage);
	ck_assert_int_eq(s.site_ns[TIME_PAUSES], 90 * NSEC_PER_SEC);
	ck_assert_int_eq(s.site_ns[TIME_CONDITIONS], 6 * MS);
	ck_assert_int_eq(s.site_ns[TIME_LIMITER_WAIT], 0);
	ck_assert_int_eq(s.pass_max_ns, 30 * NSEC_PER_SEC + 2 * MS); // a pass has its pauses in it
	ck_assert_int_eq(stage->processor->progress.missed, 3 * 299);
	event = event_figures_of(stage, 0);
	ck_assert_int_eq(event.acting_ns, 90 * NSEC_PER_SEC);
	ck_assert_int_eq(event.checking_ns, 6 * MS);
	ck_assert_int_eq(figures_of(stage, 0).max_ns, 2 * MS);
	stage_free(stage);
}
END_TEST

START_TEST(test_only_replays_wait_for_room)
{
	for (int live = 0; live < 2; live++) {
		struct maker *maker = screen_and_trigger();
		struct stage *stage = stage_new(maker);

		stage->screen.base.live = live;
		stage_begin(stage);
		stage->detector->answers[0].found = true;
		ck_assert(stage_pass(stage));
		ck_assert_int_eq(fake_recorder_state()->waits, !live);
		fake_recorder_state()->full = true;
		ck_assert(stage_pass(stage)); // lost, counted, and no harm done
		ck_assert_int_eq(fake_recorder_state()->lost, 1);
		ck_assert_int_eq(event_figures_of(stage, 0).fulfilled, 2);
		stage_free(stage);
	}
}
END_TEST

START_TEST(test_counters_come_first)
{
	struct maker *maker = screen_and_trigger();
	struct stage *stage;

	maker->scenario.counters[0].initial_value = 4.5;
	stage = begin(maker);
	ck_assert_uint_eq(fake_recorder_state()->count, 1);
	ck_assert_int_eq(fake_recorder_state()->messages[0]->payload_case,
			 CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT);
	ck_assert_str_eq(fake_recorder_state()->messages[0]->counters_init->counters[0]->name, "n");
	ck_assert(fake_recorder_state()->messages[0]->counters_init->counters[0]->initial_value == 4.5);
	stage_free(stage);
}
END_TEST

// --- random scenarios: what must always be true ----------------------------------------------------------------------

static void random_world(struct stage *stage)
{
	for (uint32_t i = 0; i < stage->maker->scenario.n_conditions; i++) {
		struct fake_answer *answer = &stage->detector->answers[i];

		answer->found = random() % 2;
		answer->not_evaluable = random() % 8 == 0;
		answer->takes_ns = random() % 100000;
	}
	stage->screen.wait_takes_ns = random() % 3 ? 0 : random() % 50000;
	stage->screen.get_takes_ns = random() % 50000;
	stage->screen.wait_status = random() % 5 ? SCREEN_OK : SCREEN_STALLED;
	stage->screen.refresh_status = random() % 5 ? SCREEN_OK : SCREEN_STALLED;
	stage->screen.serial += (uint64_t)random() % 2;
}

static void check_invariants(struct stage *stage)
{
	const struct scenario *scenario = &stage->maker->scenario;
	struct session_figures s = session_figures_of(stage);
	int64_t sum = 0, conditions = 0, occurrences = 0;

	for (int i = 0; i < TIME_SITES; i++) {
		ck_assert_int_ge(s.site_ns[i], 0);
		sum += s.site_ns[i];
	}
	ck_assert_int_eq(sum, s.duration_ns);
	for (uint32_t i = 0; i < scenario->n_conditions; i++) {
		struct condition_figures f = figures_of(stage, i);
		struct event_figures e = event_figures_of(stage, scenario->conditions[i].event);

		conditions += f.total_ns;
		ck_assert_int_eq(f.checks + f.short_circuited, e.evaluated);
	}
	ck_assert_int_eq(conditions, s.site_ns[TIME_CONDITIONS]);
	for (uint32_t i = 0; i < scenario->n_events; i++) {
		struct event_figures e = event_figures_of(stage, i);

		ck_assert_int_eq(e.evaluated + e.not_reached[NOT_REACHED_DISABLED] +
					 e.not_reached[NOT_REACHED_COOLING_DOWN] + e.ended_before,
				 s.passes);
		occurrences += e.fulfilled;
	}
	ck_assert_uint_eq(stage_messages(), (size_t)occurrences);
}

START_TEST(test_random_scenarios)
{
	srandom((unsigned int)_i + 1);
	for (int round = 0; round < 10; round++) {
		struct maker *maker = maker_random();
		struct stage *stage;
		bool goes_on = true;

		maker_keeps_session(maker);
		stage = stage_new(maker);
		coupled_clock_init(&stage->clock);
		stage->params.period_ns = random() % 3 ? random() % 50 * MS : 0;
		stage->params.max_duration_ns = random() % 3 ? 0 : random() % 2000 * MS;
		stage->screen.base.live = random() % 2;
		stage_begin(stage);
		if (random() % 2) {
			coupled_clock_stopped = &stage->ending;
			coupled_clock_stop_at_ns = stage->clock.virtual_now_ns + random() % 3000 * MS;
		}
		for (int i = 0; goes_on && i < 100; i++) {
			random_world(stage);
			goes_on = stage_pass(stage) && processor_limit(stage->processor);
			stage->clock.virtual_now_ns += random() % 1000000;
		}
		check_invariants(stage);
		timing_finish(stage->timing);
		check_invariants(stage);
		ck_assert_int_eq(stage->input.held, 0);
		stage_free(stage);
	}
}
END_TEST

// --- the limiter -----------------------------------------------------------------------------------------------------

START_TEST(test_limiter_deadlines)
{
	struct limiter limiter;
	int64_t now = 1000, passes = 1, missed = 0;

	limiter_start(&limiter, 100, now);
	ck_assert_int_eq(limiter_next(&limiter), 1100);
	ck_assert_int_eq(limiter_advance(&limiter, 1100), 0);
	ck_assert_int_eq(limiter_advance(&limiter, 1299), 0); // 99 late: keeps its deadline, 1200
	ck_assert_int_eq(limiter_next(&limiter), 1300);
	ck_assert_int_eq(limiter_advance(&limiter, 1400), 1); // a period late: one is dropped
	ck_assert_int_eq(limiter_next(&limiter), 1500);
	ck_assert_int_eq(limiter_advance(&limiter, 2555), 10);
	ck_assert_int_eq(limiter_next(&limiter), 2600); // no burst: one at 2555, the next at 2600

	srandom(3);
	limiter_start(&limiter, 97, now);
	for (int i = 0; i < 10000; i++) {
		now += random() % 300;
		now = MAX(now, limiter_next(&limiter));
		missed += limiter_advance(&limiter, now);
		passes++;
		ck_assert_int_le(limiter.deadline_ns, now);
		ck_assert_int_lt(now - limiter.deadline_ns, 97);
		ck_assert_int_eq(1000 + 97 * (passes + missed - 1), limiter.deadline_ns);
	}
}
END_TEST

START_TEST(test_limiter_counts)
{
	struct stage *stage = stage_new(screen_and_trigger());
	struct session_figures figures;
	int64_t lateness = 0;

	coupled_clock_init(&stage->clock);
	stage->params.period_ns = 100 * MS;
	stage_begin(stage);
	ck_assert(stage_pass(stage));
	stage->clock.virtual_now_ns += 130 * MS;
	ck_assert(processor_limit(stage->processor)); // 30 late
	ck_assert_int_eq(stage->processor->progress.missed, 0);
	ck_assert(stage_pass(stage));
	stage->clock.virtual_now_ns += 470 * MS;
	ck_assert(processor_limit(stage->processor)); // 400 late: four missed
	ck_assert_int_eq(stage->processor->progress.missed, 4);
	ck_assert(stage_pass(stage));
	ck_assert(processor_limit(stage->processor)); // in time
	figures = session_figures_of(stage);
	for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++)
		lateness += figures.lateness.slots[i];
	ck_assert_int_eq(lateness, 3);
	ck_assert_int_eq(figures.lateness.slots[histogram_slot(30 * MS)], 1);
	ck_assert_int_eq(figures.lateness.slots[0], 2);
	stage_free(stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("processor");
	const struct {
		const char *name;
		const TTest *test;
	} tests[] = {
		{"numbers", test_numbers_are_compared},
		{"reaching", test_all_stops_at_the_first_that_is_not},
		{"reaching", test_any_stops_at_the_first_that_is},
		{"reaching", test_why_not_reached},
		{"reaching", test_not_evaluable},
		{"reaching", test_matches_are_where_images_were_found},
		{"timers", test_timer_is_reached_after_its_end},
		{"timers", test_all_event_keeps_a_reached_timer},
		{"timers", test_any_event_restarts_only_the_deciding_timer},
		{"timers", test_one_reference_a_verification},
		{"timers", test_timers_of_disabled_events},
		{"states", test_cooldown_runs_from_the_actions_end},
		{"states", test_disabled_by_its_own_actions_starts_no_cooldown},
		{"states", test_compare},
		{"states", test_counter_against_a_counter},
		{"states", test_broadcasts},
		{"states", test_broadcast_during_a_pass_belongs_to_the_next},
		{"frames", test_no_frame_leaves_screen_events_out},
		{"frames", test_source_ends},
		{"frames", test_source_fails},
		{"frames", test_triggers_only},
		{"frames", test_still_screen_is_one_picture},
		{"frames", test_frame_wait_bounds},
		{"frames", test_size_change_in_mid_session},
		{"frames", test_size_change_mixes_nothing},
		{"frames", test_refresh},
		{"frames", test_refresh_takes_a_newer_picture},
		{"ends", test_passes_limit},
		{"ends", test_duration_limit},
		{"ends", test_duration_limit_ends_a_pause},
		{"ends", test_an_hour},
		{"measuring", test_report_off_reads_no_clock},
		{"measuring", test_recorder_without_timing},
		{"measuring", test_two_reads_around_each_check},
		{"measuring", test_shared_preparation},
		{"measuring", test_limiter_wait_is_not_processing},
		{"measuring", test_partial_limiter_wait_is_kept},
		{"measuring", test_safety_wait},
		{"measuring", test_gap},
		{"occurrences", test_occurrence_stamps},
		{"occurrences", test_stamps_around_a_long_pause},
		{"occurrences", test_only_replays_wait_for_room},
		{"occurrences", test_counters_come_first},
		{"limiter", test_limiter_deadlines},
		{"limiter", test_limiter_counts},
	};
	TCase *tcase = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		if (!i || strcmp(tests[i].name, tests[i - 1].name) != 0) {
			tcase = tcase_create(tests[i].name);
			suite_add_tcase(suite, tcase);
		}
		tcase_add_test(tcase, tests[i].test);
	}
	tcase = tcase_create("random");
	tcase_add_loop_test(tcase, test_random_scenarios, 0, 20);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
