// SPDX-License-Identifier: GPL-3.0-or-later
// Actions: what reaches the input, what the occurrence says of it, and that nothing stays pressed.
#include "tests/support/engine_fakes.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MS NSEC_PER_MSEC

// An event of two image conditions that is fulfilled in the first pass; actions are added by the test.
static struct maker *two_conditions(bool any)
{
	struct maker *maker = maker_new();

	maker_event(maker, "e", false, any);
	maker_image(maker, "a", true);
	maker_image(maker, "b", true);
	return maker;
}

static struct action *click_on(struct maker *maker, enum click_target target, uint32_t condition, int dx, int dy)
{
	struct action *action = maker_click(maker, 0, 0, 0);

	action->click.target = target;
	action->click.condition = condition;
	action->click.offset_x = dx;
	action->click.offset_y = dy;
	return action;
}

static struct fake_answer found_at(int x, int y)
{
	return (struct fake_answer){.found = true, .x = x, .y = y, .place = {x - 4, y - 4, x + 4, y + 4}, .score = 1};
}

static struct stage *run_one_pass(struct maker *maker, const struct fake_answer *a, const struct fake_answer *b)
{
	struct stage *stage = stage_new(maker);

	coupled_clock_init(&stage->clock);
	stage_begin(stage);
	if (a)
		stage->detector->answers[0] = *a;
	if (b)
		stage->detector->answers[1] = *b;
	stage_pass(stage);
	return stage;
}

static const Condprof__ActionResult *result(size_t index)
{
	return stage_message(0)->image_event->actions[index];
}

// --- clicks ----------------------------------------------------------------------------------------------------------

START_TEST(test_click_a_match)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct stage *stage;

	click_on(maker, CLICK_CONDITION, 1, 3, -5);
	click_on(maker, CLICK_CONDITION, 0, 0, 0);
	click_on(maker, CLICK_FOUND, 0, 0, 1);
	maker_click(maker, -7, 9000, 0); // outside of the frame: as it is
	stage = run_one_pass(maker, &a, &b);
	ck_assert_str_eq(stage->input.log, "move 33,35|press|release|move 10,20|press|release|move 10,21|press|release|"
					   "move -7,9000|press|release|");
	ck_assert_int_eq(result(0)->x, 33);
	ck_assert_int_eq(result(0)->y, 35);
	ck_assert_int_eq(result(3)->x, -7);
	ck_assert(!result(0)->skipped);
	stage_free(stage);
}
END_TEST

START_TEST(test_click_without_a_match_is_skipped)
{
	struct maker *maker = two_conditions(true);
	struct fake_answer a = {0}, b = found_at(30, 40);
	struct stage *stage;

	click_on(maker, CLICK_CONDITION, 0, 0, 0);
	click_on(maker, CLICK_CONDITION, 1, 0, 0);
	click_on(maker, CLICK_FOUND, 0, 0, 0);
	stage = run_one_pass(maker, &a, &b);
	ck_assert_str_eq(stage->input.log, "move 30,40|press|release|move 30,40|press|release|");
	ck_assert(result(0)->skipped && !result(0)->has_x);
	ck_assert(!result(1)->skipped);
	ck_assert(!result(2)->skipped);
	stage_free(stage);
}
END_TEST

START_TEST(test_click_what_was_not_reached)
{
	struct maker *maker = two_conditions(true);
	struct fake_answer a = found_at(1, 2), b = found_at(30, 40);
	struct stage *stage;

	click_on(maker, CLICK_CONDITION, 1, 0, 0); // found it would be, but the first one decided
	stage = run_one_pass(maker, &a, &b);
	ck_assert_str_eq(stage->input.log, "");
	ck_assert(result(0)->skipped);
	stage_free(stage);
}
END_TEST

START_TEST(test_click_found_after_an_absent_one)
{
	struct maker *maker = two_conditions(true);
	struct fake_answer a = found_at(1, 2), b = found_at(30, 40);
	struct stage *stage;

	maker->scenario.conditions[0].present = false; // found, so not fulfilled: not what "found" means
	click_on(maker, CLICK_FOUND, 0, 0, 0);
	stage = run_one_pass(maker, &a, &b);
	ck_assert_str_eq(stage->input.log, "move 30,40|press|release|");
	stage_free(stage);
}
END_TEST

START_TEST(test_click_press_time)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct stage *stage;

	maker_click(maker, 1, 1, 50 * MS);
	stage = run_one_pass(maker, &a, &b);
	ck_assert_int_eq(stage->clock.virtual_now_ns, NSEC_PER_SEC + 50 * MS);
	ck_assert_int_ge(result(0)->duration_ns, 50 * MS);
	stage_free(stage);
}
END_TEST

START_TEST(test_positions_do_not_overflow)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct action *swipe;
	struct stage *stage;

	maker_click(maker, INT_MAX, INT_MIN, 0)->click.offset_x = INT_MAX;
	swipe = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_SWIPE);
	maker_point(maker, swipe, INT_MIN, INT_MIN);
	maker_point(maker, swipe, INT_MAX, INT_MAX);
	maker->scenario.randomize = true;
	stage = run_one_pass(maker, &a, &b);
	ck_assert_int_eq(stage->input.held, 0);
	stage_free(stage);
}
END_TEST

// --- swipes, keys, texts ---------------------------------------------------------------------------------------------

START_TEST(test_swipe)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct action *swipe;
	struct stage *stage;
	const char *at;

	swipe = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_SWIPE);
	swipe->swipe.duration_ns = 40 * MS;
	maker_point(maker, swipe, 0, 0);
	maker_point(maker, swipe, 30, 0); // three quarters of the way
	maker_point(maker, swipe, 30, 10);
	stage = run_one_pass(maker, &a, &b);
	at = stage->input.log;
	ck_assert_msg(!strncmp(at, "move 0,0|press|move 10,0|", 25), "%s", at);
	ck_assert_ptr_nonnull(strstr(at, "|move 20,0|move 30,0|move 30,10|release|"));
	ck_assert_int_eq(stage->clock.virtual_now_ns, NSEC_PER_SEC + 40 * MS);
	ck_assert_int_eq(stage->input.most_held, 1);
	ck_assert_int_eq(stage->input.held, 0);
	ck_assert_int_eq(result(0)->x, 0);
	stage_free(stage);
}
END_TEST

START_TEST(test_swipe_in_no_time_and_over_no_way)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct action *swipe;
	struct stage *stage;

	swipe = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_SWIPE);
	maker_point(maker, swipe, 1, 1);
	maker_point(maker, swipe, 5, 5);
	maker_point(maker, swipe, 9, 1);
	swipe = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_SWIPE);
	swipe->swipe.duration_ns = 8 * MS;
	maker_point(maker, swipe, 2, 2);
	maker_point(maker, swipe, 2, 2);
	stage = run_one_pass(maker, &a, &b);
	ck_assert_str_eq(stage->input.log, "move 1,1|press|move 5,5|move 9,1|release|move 2,2|press|move 2,2|release|");
	ck_assert_int_eq(stage->clock.virtual_now_ns, NSEC_PER_SEC + 8 * MS);
	stage_free(stage);
}
END_TEST

START_TEST(test_keys)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct action *key = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_KEY);
	struct stage *stage;

	key->keys = (struct key_combination){{0xa, 0xb, 0xc}, 3};
	stage = run_one_pass(maker, &a, &b);
	ck_assert_str_eq(stage->input.log, "key a|key b|key c|unkey c|unkey b|unkey a|");
	stage_free(stage);
}
END_TEST

START_TEST(test_type_with_counters)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct action *type;
	struct stage *stage;

	maker_counter(maker, "n", 3);
	maker_counter(maker, "m", 0.1 + 0.2);
	type = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_TYPE);
	maker_text(maker, type, "try ", 0);
	maker_text(maker, type, NULL, 0);
	maker_text(maker, type, " of ", 0);
	maker_text(maker, type, NULL, 1);
	stage = run_one_pass(maker, &a, &b);
	ck_assert_str_eq(stage->input.log, "type try 3 of 0.3|");
	stage_free(stage);
}
END_TEST

START_TEST(test_longest_text)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct action *type;
	struct stage *stage;
	size_t parts = TEXT_MAX_BYTES / 3; // "{n}" again and again

	maker_counter(maker, "n", -1.23456789012345e-300);
	type = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_TYPE);
	for (size_t i = 0; i < parts; i++)
		maker_text(maker, type, NULL, 0);
	stage = run_one_pass(maker, &a, &b);
	ck_assert_uint_eq(strlen(stage->input.log), strlen("type ") + parts * strlen("-1.23456789012345e-300") + 1);
	stage_free(stage);
}
END_TEST

// --- stop, dry run, randomize ----------------------------------------------------------------------------------------

START_TEST(test_stop_skips_the_rest_and_keeps_the_occurrence)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct ending_reason reason;
	struct stage *stage;

	maker_click(maker, 1, 1, 0);
	maker_stop(maker, "gave up", CONDPROF__SESSION_RESULT__SESSION_FAILED);
	maker_click(maker, 2, 2, 0);
	maker_count(maker, "n", CONDPROF__COUNTER_OPERATION__ADD, 1);
	stage = run_one_pass(maker, &a, &b);
	ending_get(&stage->ending, &reason);
	ck_assert_int_eq(reason.reason, CONDPROF__END_REASON__REASON_STOP_ACTION);
	ck_assert_int_eq(reason.result, CONDPROF__SESSION_RESULT__SESSION_FAILED);
	ck_assert_str_eq(reason.text, "gave up");
	ck_assert_str_eq(stage->input.log, "move 1,1|press|release|");
	ck_assert_uint_eq(stage_message(0)->image_event->n_actions, 4);
	ck_assert(!result(1)->skipped && result(2)->skipped && result(3)->skipped);
	ck_assert_uint_eq(stage_message(0)->image_event->n_counter_changes, 0);
	ck_assert_int_eq(stage->processor->progress.passes, 1); // the pass counts
	stage_free(stage);
}
END_TEST

START_TEST(test_the_first_reason_counts)
{
	struct ending_reason reason;
	struct ending ending;
	char text[600];

	ck_assert_int_eq(ending_init(&ending), 0);
	memset(text, 'x', sizeof(text));
	memcpy(text + REASON_TEXT_SIZE - 2, "ä", 2); // would be cut in two
	text[sizeof(text) - 1] = '\0';
	ending_request(&ending, CONDPROF__END_REASON__REASON_INTERNAL, CONDPROF__SESSION_RESULT__SESSION_FAILED, text);
	ending_request(&ending, CONDPROF__END_REASON__REASON_STOPPED, CONDPROF__SESSION_RESULT__SESSION_OK, "late");
	ending_get(&ending, &reason);
	ck_assert_int_eq(reason.reason, CONDPROF__END_REASON__REASON_INTERNAL);
	ck_assert_uint_eq(strlen(reason.text), REASON_TEXT_SIZE - 2);
	ending_deinit(&ending);
}
END_TEST

START_TEST(test_dry_run)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct action *swipe;
	struct stage *stage;

	click_on(maker, CLICK_CONDITION, 1, 0, 0)->click.press_ns = 500 * MS;
	swipe = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_SWIPE);
	swipe->swipe.duration_ns = 40 * MS;
	maker_point(maker, swipe, 5, 6);
	maker_point(maker, swipe, 30, 0);
	maker_action(maker, CONDPROF__ACTION_KIND__ACTION_KEY)->keys = (struct key_combination){{0xa}, 1};
	maker_text(maker, maker_action(maker, CONDPROF__ACTION_KIND__ACTION_TYPE), "x", 0);
	maker_text(maker, maker_action(maker, CONDPROF__ACTION_KIND__ACTION_NOTIFY), "x", 0);
	maker_pause(maker, 30 * MS);
	maker_count(maker, "n", CONDPROF__COUNTER_OPERATION__ADD, 2);
	maker_change(maker, CONDPROF__STATE_CHANGE__DISABLE, 0);
	stage = stage_new(maker);
	coupled_clock_init(&stage->clock);
	stage->params.dry_run = true;
	stage_begin(stage);
	stage->detector->answers[0] = a;
	stage->detector->answers[1] = b;
	ck_assert(stage_pass(stage));
	ck_assert_str_eq(stage->input.log, "");
	ck_assert_int_eq(stage->clock.virtual_now_ns, NSEC_PER_SEC + 30 * MS); // pauses as usual
	ck_assert(stage->processor->states.counters[0] == 2);
	ck_assert(!stage->processor->states.enabled[0]);
	ck_assert_int_eq(result(0)->x, 30); // recorded
	ck_assert_int_eq(result(1)->y, 6);
	for (size_t i = 0; i < stage_message(0)->image_event->n_actions; i++)
		ck_assert(!result(i)->skipped);
	stage_free(stage);
}
END_TEST

static void randomized_pass(uint64_t seed, char *log, size_t size, int64_t *ret_took)
{
	struct maker *maker = two_conditions(false);
	struct stage *stage;

	maker->scenario.randomize = true;
	click_on(maker, CLICK_CONDITION, 0, 0, 0); // in a match of 3x3
	maker_click(maker, 100, 100, 50 * MS);
	maker_pause(maker, 100 * MS);
	stage = stage_new(maker);
	coupled_clock_init(&stage->clock);
	stage->params.random_seed = seed;
	stage_begin(stage);
	stage->detector->answers[0] = (struct fake_answer){.found = true, .x = 10, .y = 10, .place = {9, 9, 12, 12}};
	stage->detector->answers[1] = found_at(30, 40);
	ck_assert(stage_pass(stage));
	ck_assert_int_ge(result(0)->x, 9);
	ck_assert_int_le(result(0)->x, 11);
	ck_assert_int_ge(result(0)->y, 9);
	ck_assert_int_le(result(0)->y, 11);
	ck_assert_int_ge(result(1)->x, 97);
	ck_assert_int_le(result(1)->x, 103);
	*ret_took = stage->clock.virtual_now_ns - NSEC_PER_SEC;
	snprintf(log, size, "%.200s", stage->input.log);
	stage_free(stage);
}

START_TEST(test_randomize)
{
	char first[256], again[256], other[256];
	int64_t first_took, again_took, took;
	bool differs = false;

	randomized_pass(1, first, sizeof(first), &first_took);
	randomized_pass(1, again, sizeof(again), &again_took);
	ck_assert_str_eq(first, again); // by its seed
	ck_assert_int_eq(first_took, again_took);
	for (uint64_t seed = 2; seed < 100; seed++) {
		randomized_pass(seed, other, sizeof(other), &took);
		ck_assert_int_ge(took, 150 * MS);
		ck_assert_int_le(took, 165 * MS);
		differs = differs || (strcmp(first, other) != 0 && took != first_took);
	}
	ck_assert(differs);
}
END_TEST

// --- failures --------------------------------------------------------------------------------------------------------

START_TEST(test_input_failures)
{
	static const struct {
		const char *fails;
		const char *log;
	} rows[] = {
		{"move", ""},
		{"press", "move 1,1|"},
		{"release", "move 1,1|press|"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct maker *maker = two_conditions(false);
		struct stage *stage;
		struct ending_reason reason;

		maker_click(maker, 1, 1, 10 * MS);
		maker_click(maker, 2, 2, 10 * MS);
		stage = stage_new(maker);
		coupled_clock_init(&stage->clock);
		stage->detector->answers[0] = stage->detector->answers[1] = found_at(1, 1);
		stage->input.fails = rows[i].fails;
		ck_assert_int_eq(processor_new(&stage->params, &stage->processor), 0);
		processor_run(stage->processor);
		ending_get(&stage->ending, &reason);
		ck_assert_int_eq(reason.reason, CONDPROF__END_REASON__REASON_INPUT_FAILED);
		ck_assert_int_eq(reason.result, CONDPROF__SESSION_RESULT__SESSION_FAILED);
		ck_assert_ptr_nonnull(strstr(reason.text, "fails as told"));
		ck_assert_msg(!strncmp(stage->input.log, rows[i].log, strlen(rows[i].log)), "%s", stage->input.log);
		ck_assert_ptr_nonnull(strstr(stage->input.log, "release_all|"));
		ck_assert_int_eq(stage->input.held, 0);
		ck_assert(result(1)->skipped);
		stage_free(stage);
	}
}
END_TEST

START_TEST(test_key_failure_lets_go_of_the_others)
{
	struct maker *maker = two_conditions(false);
	struct action *key = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_KEY);
	struct stage *stage;

	key->keys = (struct key_combination){{0xa, 0xb}, 2};
	stage = stage_new(maker);
	stage->detector->answers[0] = stage->detector->answers[1] = found_at(1, 1);
	stage->input.fails = "unkey";
	ck_assert_int_eq(processor_new(&stage->params, &stage->processor), 0);
	processor_run(stage->processor);
	ck_assert_str_eq(stage->input.log, "key a|key b|release_all|");
	ck_assert_int_eq(stage->input.held, 0);
	stage_free(stage);
}
END_TEST

// --- the occurrence --------------------------------------------------------------------------------------------------

START_TEST(test_state_changes_that_change_nothing)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct stage *stage;

	maker_change(maker, CONDPROF__STATE_CHANGE__ENABLE, 0);
	maker_change(maker, CONDPROF__STATE_CHANGE__TOGGLE, 1);
	maker_change(maker, CONDPROF__STATE_CHANGE__ENABLE, 1);
	maker_change(maker, CONDPROF__STATE_CHANGE__TOGGLE, NO_INDEX);
	maker_event(maker, "t", true, false);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	stage = run_one_pass(maker, &a, &b);
	ck_assert_uint_eq(stage_message(0)->image_event->n_event_state_changes, 4);
	ck_assert_int_eq(stage_message(0)->image_event->event_state_changes[0]->event_id, 2);
	ck_assert(!stage_message(0)->image_event->event_state_changes[0]->new_value);
	ck_assert(stage_message(0)->image_event->event_state_changes[1]->new_value);
	ck_assert_int_eq(stage_message(0)->image_event->event_state_changes[2]->event_id, 1);
	ck_assert_uint_eq(stage->processor->states.n_enabled, 0);
	stage_free(stage);
}
END_TEST

START_TEST(test_confidence)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = {.found = true, .score = 1.0000001}, b = {0};
	struct stage *stage;

	maker->scenario.conditions[1].present = false;
	stage = run_one_pass(maker, &a, &b);
	ck_assert(stage_message(0)->image_event->condition_results[0]->confidence_rate == 1.0);
	ck_assert(!stage_message(0)->image_event->condition_results[0]->no_confidence);
	ck_assert(!stage_message(0)->image_event->condition_results[1]->has_confidence_rate);
	ck_assert(stage_message(0)->image_event->condition_results[1]->no_confidence);
	ck_assert(stage_message(0)->image_event->condition_results[1]->is_fulfilled);
	stage_free(stage);
}
END_TEST

// --- what is sent ---------------------------------------------------------------------------------------------------

struct fake_messenger {
	struct messenger base;
	char log[1024];
	bool full;
};

static bool fake_signal(struct messenger *messenger, uint32_t action)
{
	struct fake_messenger *fake = (struct fake_messenger *)messenger;
	size_t used = strlen(fake->log);

	snprintf(fake->log + used, sizeof(fake->log) - used, "signal %u|", action);
	return !fake->full;
}

static bool fake_notify(struct messenger *messenger, Condprof__Level level, const char *text)
{
	struct fake_messenger *fake = (struct fake_messenger *)messenger;
	size_t used = strlen(fake->log);

	snprintf(fake->log + used, sizeof(fake->log) - used, "notify %d %s|", (int)level, text);
	return !fake->full;
}

static const struct messenger_ops fake_messenger_ops = {.signal = fake_signal, .notify = fake_notify};

static struct action *signal_of(struct maker *maker, const char *name)
{
	struct action *action = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_SIGNAL);

	action->signal.signal = name;
	action->signal.path = "/";
	action->signal.bus = CONDPROF__BUS__BUS_SYSTEM;
	return action;
}

/// A signal, a notification with a counter, another signal; and two passes' worth of fulfilled conditions.
static struct stage *send_all(struct fake_messenger *messenger, bool dry_run)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct action *note;
	struct stage *stage;

	signal_of(maker, "org.example.A");
	note = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_NOTIFY);
	note->text.level = CONDPROF__LEVEL__LEVEL_WARNING;
	maker_text(maker, note, "closed ", NO_INDEX);
	maker_text(maker, note, NULL, maker_counter(maker, "n", 7));
	signal_of(maker, "org.example.B");
	stage = stage_new(maker);
	coupled_clock_init(&stage->clock);
	stage->params.messenger = messenger ? &messenger->base : NULL;
	stage->params.dry_run = dry_run;
	stage_begin(stage);
	stage->detector->answers[0] = a;
	stage->detector->answers[1] = b;
	stage_pass(stage);
	ck_assert_str_eq(result(0)->text, "org.example.A");
	ck_assert_str_eq(result(1)->text, "closed 7");
	ck_assert_str_eq(result(2)->text, "org.example.B");
	return stage;
}

START_TEST(test_what_is_sent)
{
	struct fake_messenger messenger = {.base = {&fake_messenger_ops}};
	struct stage *stage = send_all(&messenger, false);

	ck_assert_str_eq(messenger.log, "signal 0|notify 3 closed 7|signal 2|");
	ck_assert(!result(0)->skipped && !result(1)->skipped && !result(2)->skipped);
	stage_free(stage);
}
END_TEST

START_TEST(test_what_cannot_be_sent)
{
	struct fake_messenger messenger = {.base = {&fake_messenger_ops}, .full = true};
	struct stage *stage = send_all(&messenger, false);

	ck_assert(result(0)->skipped && result(2)->skipped);
	ck_assert(!result(1)->skipped); // the journal has it
	stage_free(stage);
	stage = send_all(NULL, false);
	ck_assert(result(0)->skipped && !result(1)->skipped && result(2)->skipped);
	stage_free(stage);
}
END_TEST

START_TEST(test_a_dry_run_sends_nothing)
{
	struct fake_messenger messenger = {.base = {&fake_messenger_ops}};
	struct stage *stage = send_all(&messenger, true);

	ck_assert_str_eq(messenger.log, "");
	ck_assert(!result(0)->skipped && !result(1)->skipped && !result(2)->skipped);
	stage_free(stage);
}
END_TEST

START_TEST(test_long_texts_of_an_occurrence)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	char text[600];
	struct stage *stage;

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text + 254, "é", 2); // the 255th byte is the first of two
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 64; i++)
		maker_text(maker, maker_action(maker, CONDPROF__ACTION_KIND__ACTION_NOTIFY), text, NO_INDEX);
	stage = run_one_pass(maker, &a, &b);
	ck_assert_uint_eq(strlen(result(0)->text), 254);
	ck_assert_uint_eq(strlen(result(31)->text), 254);
	ck_assert_ptr_null(result(63)->text); // all of them together have their limit too
	stage_free(stage);
}
END_TEST

START_TEST(test_secrets)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct secret_source source = {NULL, NULL};
	char folder[] = "/tmp/condprof-executor-XXXXXX", path[64];
	const char *name = "pin";
	struct secrets *secrets;
	struct error error;
	struct stage *stage;
	uint32_t failed;
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pin", folder);
	file = fopen(path, "we");
	fputs("hunter2\n", file);
	fclose(file);
	source.credentials = folder;
	ck_assert_int_eq(secrets_read(&source, &name, 1, &secrets, &failed, &error), 0);
	unlink(path);
	rmdir(folder);
	maker_action(maker, CONDPROF__ACTION_KIND__ACTION_TYPE)->text.secret = "pin";
	maker_action(maker, CONDPROF__ACTION_KIND__ACTION_TYPE)->text.secret = "nip";
	stage = stage_new(maker);
	coupled_clock_init(&stage->clock);
	stage->params.secrets = secrets;
	stage_begin(stage);
	stage->detector->answers[0] = a;
	stage->detector->answers[1] = b;
	stage_pass(stage);
	ck_assert_str_eq(stage->input.log, "type hunter2|");
	ck_assert(!result(0)->skipped && !result(0)->text);
	ck_assert(result(1)->skipped && !result(1)->text);
	ck_assert_ptr_null(strstr(stage->processor->text, "hunter"));
	stage_free(stage);
	secrets_free(secrets);
}
END_TEST

START_TEST(test_no_actions)
{
	struct maker *maker = two_conditions(false);
	struct fake_answer a = found_at(10, 20), b = found_at(30, 40);
	struct stage *stage = run_one_pass(maker, &a, &b);

	ck_assert_uint_eq(stage_messages(), 1);
	ck_assert_uint_eq(stage_message(0)->image_event->n_actions, 0);
	stage_free(stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("executor");
	TCase *tcase = tcase_create("actions");

	tcase_add_test(tcase, test_click_a_match);
	tcase_add_test(tcase, test_click_without_a_match_is_skipped);
	tcase_add_test(tcase, test_click_what_was_not_reached);
	tcase_add_test(tcase, test_click_found_after_an_absent_one);
	tcase_add_test(tcase, test_click_press_time);
	tcase_add_test(tcase, test_positions_do_not_overflow);
	tcase_add_test(tcase, test_swipe);
	tcase_add_test(tcase, test_swipe_in_no_time_and_over_no_way);
	tcase_add_test(tcase, test_keys);
	tcase_add_test(tcase, test_type_with_counters);
	tcase_add_test(tcase, test_longest_text);
	tcase_add_test(tcase, test_stop_skips_the_rest_and_keeps_the_occurrence);
	tcase_add_test(tcase, test_the_first_reason_counts);
	tcase_add_test(tcase, test_dry_run);
	tcase_add_test(tcase, test_randomize);
	tcase_add_test(tcase, test_input_failures);
	tcase_add_test(tcase, test_key_failure_lets_go_of_the_others);
	tcase_add_test(tcase, test_state_changes_that_change_nothing);
	tcase_add_test(tcase, test_confidence);
	tcase_add_test(tcase, test_what_is_sent);
	tcase_add_test(tcase, test_what_cannot_be_sent);
	tcase_add_test(tcase, test_a_dry_run_sends_nothing);
	tcase_add_test(tcase, test_long_texts_of_an_occurrence);
	tcase_add_test(tcase, test_secrets);
	tcase_add_test(tcase, test_no_actions);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
