// SPDX-License-Identifier: GPL-3.0-or-later
// Rotations. A run on a stepped clock is made twice, once in one report and once in many: whatever is counted or timed
// adds up to the same, to the nanosecond, and so does every occurrence. On real clocks and threads: a rotation needs
// not wait for the limiter, and one report begins where the other ends.
#include "tests/support/engine_fakes.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#define MS NSEC_PER_MSEC
#define HOUR_NS (3600 * NSEC_PER_SEC)
#define PASSES 600
#define REPORTS_MAX 64

struct part {
	struct rotation_target target; // first
	struct timing *timing;
	size_t first_message; // in the fake recorder, the counters_init
	int64_t passes_before;
};

static struct {
	struct stage *stage;
	struct part parts[REPORTS_MAX];
	size_t n_parts, next; // next: the one to go on in
	bool rotates;
	uint64_t calls;
} run;

// --- the run ---------------------------------------------------------------------------------------------------------

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static void on_taken(struct rotation_target *target)
{
	struct part *part = (struct part *)target;

	part->first_message = fake_recorder_state()->count - 1;
	part->passes_before = run.stage->processor->passes_before;
	run.n_parts++;
}

static void prepare(struct part *part)
{
	ck_assert_int_eq(timing_new(&run.stage->maker->scenario, stepped_clock, &part->timing), 0);
	part->target = (struct rotation_target){
		.session_id = 100 + (int64_t)run.next,
		.timing = part->timing,
		.recorder = fake_recorder(),
		.taken = on_taken,
	};
}

// What a check takes and finds depends on its number alone; now and then somebody wants a rotation.
static void on_check(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	uint64_t random = mix(++run.calls);

	(void)detector;
	(void)condition;
	ret->found = random % 5 == 0;
	stepped_clock_now_ns += (int64_t)(random >> 40);
	if (!run.rotates || (random >> 8) % 37 || run.next >= REPORTS_MAX)
		return;
	prepare(&run.parts[run.next]);
	if (rotation_ask(&run.stage->processor->rotation, &run.parts[run.next].target) == -EBUSY)
		timing_free(run.parts[run.next].timing);
	else
		run.next++;
}

// Everything that goes on over a rotation: cooldowns, timers, counters, event states, an image looked at twice.
static struct maker *busy(void)
{
	struct maker *maker = maker_new();
	struct event *event = maker_event(maker, "click", false, true);

	event->cooldown_ns = 250 * MS;
	maker_image(maker, "a", true);
	maker_image(maker, "b", false);
	maker_count(maker, "clicks", CONDPROF__COUNTER_OPERATION__ADD, 1);
	maker_pause(maker, 3 * MS);
	event = maker_event(maker, "all", false, false);
	event->keep_detecting = true;
	maker_image(maker, "c", true);
	maker_image(maker, "d", true);
	maker_change(maker, CONDPROF__STATE_CHANGE__TOGGLE, 3);
	maker_event(maker, "last", false, false);
	maker_image(maker, "e", true);
	maker_event(maker, "timer", true, false);
	maker_timer(maker, "t", 700 * MS, true);
	maker_count(maker, "ticks", CONDPROF__COUNTER_OPERATION__ADD, 0.5);
	maker_event(maker, "counter", true, false);
	maker_compare(maker, "n", "clicks", CONDPROF__COMPARISON__GREATER, 20);
	maker_count(maker, "clicks", CONDPROF__COUNTER_OPERATION__SET, 0);
	return maker;
}

static void begin(struct maker *maker, bool rotates)
{
	memset(&run, 0, sizeof(run));
	run.rotates = rotates;
	run.stage = stage_new(maker);
	stepped_clock_reset(0);
	coupled_clock_init(&run.stage->clock);
	run.stage->detector->on_check = on_check;
	run.stage->params.max_passes = PASSES;
	run.parts[0].timing = run.stage->timing;
	run.n_parts = run.next = 1;
	ck_assert_int_eq(processor_new(&run.stage->params, &run.stage->processor), 0);
}

static void end(void)
{
	struct rotation_target *unused = rotation_end(&run.stage->processor->rotation);

	if (unused)
		timing_free(unused->timing);
	for (size_t i = 1; i < run.n_parts; i++)
		timing_free(run.parts[i].timing);
	stage_free(run.stage);
}

// --- its sum ---------------------------------------------------------------------------------------------------------

#define CONDITIONS 7
#define EVENTS 5
#define OCCURRENCES_MAX 4096

struct occurrence_sum {
	int64_t event, pass, done_at_ns, checking_ns;
	size_t n_counters;
	double counter;
};

struct sum {
	struct condition_figures conditions[CONDITIONS];
	struct event_figures events[EVENTS];
	struct session_figures session;
	struct occurrence_sum occurrences[OCCURRENCES_MAX];
	size_t n_occurrences;
	int64_t tails_ns[EVENTS]; // detecting that no occurrence of its report came to have
	int64_t tail_ns;
};

static void add_histogram(struct histogram *sum, const struct histogram *more)
{
	for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++)
		sum->slots[i] += more->slots[i];
}

static void add_condition(struct condition_figures *sum, const struct condition_figures *more, int64_t offset_ns,
			  int64_t passes_before)
{
	int64_t least = sum->checks && (!more->checks || sum->min_ns < more->min_ns) ? sum->min_ns : more->min_ns;

	if (more->checks && (!sum->checks || more->max_ns > sum->max_ns)) {
		sum->max_ns = more->max_ns;
		sum->max_pass = more->max_pass + passes_before;
		sum->max_at_ns = more->max_at_ns + offset_ns;
	}
	sum->min_ns = least;
	sum->checks += more->checks;
	sum->fulfilled += more->fulfilled;
	sum->total_ns += more->total_ns;
	sum->squares_ns2 += more->squares_ns2;
	sum->reused += more->reused;
	sum->shared_ns += more->shared_ns;
	sum->not_evaluable += more->not_evaluable;
	sum->short_circuited += more->short_circuited;
	sum->matches += more->matches;
	add_histogram(&sum->histogram, &more->histogram);
}

static void add_event(struct event_figures *sum, const struct event_figures *more, int64_t offset_ns)
{
	if (more->fulfilled && !sum->fulfilled)
		sum->first_ns = more->first_ns + offset_ns;
	if (more->fulfilled)
		sum->last_ns = more->last_ns + offset_ns;
	sum->evaluated += more->evaluated;
	sum->fulfilled += more->fulfilled;
	for (int i = 0; i < NOT_REACHED_REASONS; i++)
		sum->not_reached[i] += more->not_reached[i];
	sum->ended_before += more->ended_before;
	sum->detecting_ns += more->detecting_ns;
	sum->checking_ns += more->checking_ns;
	sum->acting_ns += more->acting_ns;
}

static void add_session(struct session_figures *sum, const struct session_figures *more)
{
	int64_t parts_ns = 0;

	sum->duration_ns += more->duration_ns;
	for (int i = 0; i < TIME_SITES; i++) {
		sum->site_ns[i] += more->site_ns[i];
		parts_ns += more->site_ns[i];
	}
	ck_assert_int_eq(parts_ns, more->duration_ns); // every report's own tree adds up
	if (more->passes && (!sum->passes || more->pass_min_ns < sum->pass_min_ns))
		sum->pass_min_ns = more->pass_min_ns;
	sum->pass_max_ns = MAX(sum->pass_max_ns, more->pass_max_ns);
	sum->passes += more->passes;
	sum->pass_total_ns += more->pass_total_ns;
	add_histogram(&sum->pass_time, &more->pass_time);
	add_histogram(&sum->lateness, &more->lateness);
}

static void fill_occurrence(const Condprof__DebugReportMessage *message, int64_t offset_ns, int64_t passes_before,
			    struct occurrence_sum *ret)
{
	const Condprof__ImageEventMessage *image = message->image_event;
	const Condprof__TriggerEventMessage *trigger = message->trigger_event;
	bool screen = message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT;

	*ret = (struct occurrence_sum){
		.event = screen ? image->event_id : trigger->event_id,
		.pass = (screen ? image->pass : trigger->pass) + passes_before,
		.done_at_ns = message->actions_completed_at_ns + offset_ns,
		.checking_ns = screen ? image->checking_ns : trigger->checking_ns,
		.n_counters = screen ? image->n_counter_changes : trigger->n_counter_changes,
	};
	if (ret->n_counters)
		ret->counter = screen ? image->counter_changes[0]->new_value : trigger->counter_changes[0]->new_value;
}

static void add_messages(struct sum *sum, size_t from, size_t to, int64_t offset_ns, int64_t passes_before,
			 int64_t duration_ns)
{
	int64_t last_ns = 0;

	for (size_t i = from; i < to; i++) {
		const Condprof__DebugReportMessage *message = fake_recorder_state()->messages[i];

		if (message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT)
			continue;
		ck_assert_uint_lt(sum->n_occurrences, OCCURRENCES_MAX);
		ck_assert_int_ge(message->actions_completed_at_ns, last_ns);
		ck_assert_int_le(message->actions_completed_at_ns, duration_ns);
		last_ns = message->actions_completed_at_ns;
		fill_occurrence(message, offset_ns, passes_before, &sum->occurrences[sum->n_occurrences++]);
	}
	sum->tail_ns += duration_ns - last_ns;
}

static void add_up(struct sum *sum)
{
	int64_t start_ns = timing_start_ns(run.parts[0].timing);

	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < run.n_parts; i++) {
		struct part *part = &run.parts[i];
		int64_t offset_ns = timing_start_ns(part->timing) - start_ns;
		struct condition_figures condition;
		struct event_figures event;
		struct session_figures session;

		ck_assert_int_eq(offset_ns, sum->session.duration_ns); // no gap, no overlap
		ck_assert_int_eq(part->passes_before, sum->session.passes);
		for (uint32_t c = 0; c < run.stage->maker->scenario.n_conditions; c++) {
			timing_condition_figures(part->timing, c, &condition);
			add_condition(&sum->conditions[c], &condition, offset_ns, part->passes_before);
		}
		for (uint32_t e = 0; e < run.stage->maker->scenario.n_events; e++) {
			timing_event_figures(part->timing, e, &event);
			add_event(&sum->events[e], &event, offset_ns);
		}
		timing_session_figures(part->timing, &session);
		add_session(&sum->session, &session);
		add_messages(sum, part->first_message,
			     i + 1 < run.n_parts ? run.parts[i + 1].first_message : fake_recorder_state()->count,
			     offset_ns, part->passes_before, session.duration_ns);
	}
}

static void make(bool rotates, struct sum *ret, size_t *ret_parts)
{
	begin(busy(), rotates);
	ck_assert_uint_eq(run.stage->maker->scenario.n_conditions, CONDITIONS);
	ck_assert_uint_eq(run.stage->maker->scenario.n_events, EVENTS);
	processor_run(run.stage->processor);
	ck_assert_int_eq(stage_reason(run.stage), CONDPROF__END_REASON__REASON_PASSES);
	add_up(ret);
	*ret_parts = run.n_parts;
	end();
}

static void compare_conditions(const struct sum *whole, const struct sum *parts)
{
	for (int i = 0; i < CONDITIONS; i++) {
		const struct condition_figures *a = &whole->conditions[i], *b = &parts->conditions[i];

		ck_assert_int_gt(a->checks, 0);
		ck_assert_int_eq(a->checks, b->checks);
		ck_assert_int_eq(a->fulfilled, b->fulfilled);
		ck_assert_int_eq(a->total_ns, b->total_ns);
		ck_assert_int_eq(a->min_ns, b->min_ns);
		ck_assert_int_eq(a->max_ns, b->max_ns);
		ck_assert_int_eq(a->max_pass, b->max_pass);
		ck_assert_int_eq(a->max_at_ns, b->max_at_ns);
		ck_assert_double_le(b->squares_ns2, a->squares_ns2 * (1 + 1e-12));
		ck_assert_double_ge(b->squares_ns2, a->squares_ns2 * (1 - 1e-12));
		ck_assert_int_eq(a->reused, b->reused);
		ck_assert_int_eq(a->shared_ns, b->shared_ns);
		ck_assert_int_eq(a->not_evaluable, b->not_evaluable);
		ck_assert_int_eq(a->short_circuited, b->short_circuited);
		ck_assert_int_eq(a->matches, b->matches);
		ck_assert_mem_eq(&a->histogram, &b->histogram, sizeof(a->histogram));
	}
}

START_TEST(test_the_sum_of_the_reports_is_the_run)
{
	static struct sum whole, parts;
	int64_t whole_detecting_ns = 0, detecting_ns = 0;
	size_t one, many;

	make(false, &whole, &one);
	make(true, &parts, &many);
	ck_assert_uint_eq(one, 1);
	ck_assert_uint_gt(many, 10);
	compare_conditions(&whole, &parts);
	for (int i = 0; i < EVENTS; i++) {
		ck_assert_int_gt(whole.events[i].evaluated, 0);
		whole_detecting_ns += whole.events[i].detecting_ns;
		detecting_ns += parts.events[i].detecting_ns;
		whole.events[i].detecting_ns = parts.events[i].detecting_ns = 0;
		ck_assert_mem_eq(&whole.events[i], &parts.events[i], sizeof(whole.events[i]));
	}
	// a report ends with a time that belongs to no occurrence, as every report does
	ck_assert_int_eq(whole_detecting_ns + whole.tail_ns, detecting_ns + parts.tail_ns);
	ck_assert_int_eq(whole.session.passes, PASSES);
	ck_assert_mem_eq(&whole.session, &parts.session, sizeof(whole.session));
	ck_assert_uint_gt(whole.n_occurrences, 100);
	ck_assert_uint_eq(whole.n_occurrences, parts.n_occurrences);
	for (size_t i = 0; i < whole.n_occurrences; i++)
		ck_assert_mem_eq(&whole.occurrences[i], &parts.occurrences[i], sizeof(whole.occurrences[i]));
}
END_TEST

// --- one rotation ----------------------------------------------------------------------------------------------------

static void rotate_now(void)
{
	prepare(&run.parts[run.next]);
	ck_assert_int_eq(rotation_ask(&run.stage->processor->rotation, &run.parts[run.next].target), 0);
	run.next++;
	rotation_take(run.stage->processor);
	ck_assert_uint_eq(run.n_parts, run.next);
}

START_TEST(test_a_report_begins_with_the_states_as_they_are)
{
	struct maker *maker = maker_new();
	const Condprof__DebugReportMessage *message;

	maker_event(maker, "once", true, false);
	maker_compare(maker, "n", "n", CONDPROF__COMPARISON__EQUAL, 2);
	maker_count(maker, "n", CONDPROF__COUNTER_OPERATION__ADD, 5);
	maker_change(maker, CONDPROF__STATE_CHANGE__DISABLE, 0);
	maker_change(maker, CONDPROF__STATE_CHANGE__ENABLE, 1);
	maker_event(maker, "sleeper", true, false)->enabled = false;
	maker_compare(maker, "never", "n", CONDPROF__COMPARISON__LESS, 0);
	maker_event(maker, "other", true, false);
	maker_compare(maker, "nor this", "n", CONDPROF__COMPARISON__LESS, 0);
	maker_counter(maker, "n", 2);
	maker->scenario.counters[0].initial_value = 2;
	begin(maker, false);
	processor_start(run.stage->processor);
	message = fake_recorder_state()->messages[0];
	ck_assert_double_eq(message->counters_init->counters[0]->initial_value, 2);
	ck_assert_ptr_null(message->event_states);
	ck_assert(stage_pass(run.stage));
	ck_assert_uint_eq(stage_messages(), 1);
	rotate_now();
	message = fake_recorder_state()->messages[run.parts[1].first_message];
	ck_assert_uint_eq(message->payload_case, CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT);
	ck_assert_int_eq(message->relative_timestamp_ms, 0);
	ck_assert_uint_eq(message->counters_init->n_counters, 1);
	ck_assert_double_eq(message->counters_init->counters[0]->initial_value, 7);
	ck_assert_ptr_nonnull(message->event_states);
	ck_assert_uint_eq(message->event_states->n_events, 2);
	ck_assert_int_eq(message->event_states->events[0]->event_id, 1);
	ck_assert_int_eq(message->event_states->events[0]->new_value, false);
	ck_assert_int_eq(message->event_states->events[1]->event_id, 2);
	ck_assert_int_eq(message->event_states->events[1]->new_value, true);
	end();
}
END_TEST

START_TEST(test_limits_count_over_the_run)
{
	struct session_figures figures;

	begin(busy(), false);
	run.stage->processor->p.max_passes = 10;
	processor_start(run.stage->processor);
	for (int i = 0; i < 4; i++)
		ck_assert(stage_pass(run.stage) && processor_limit(run.stage->processor));
	ck_assert_int_eq(run.stage->processor->pass, 4);
	rotate_now();
	ck_assert(stage_pass(run.stage) && processor_limit(run.stage->processor));
	ck_assert_int_eq(run.stage->processor->pass, 1); // in every report from 1
	while (stage_pass(run.stage))
		ck_assert(processor_limit(run.stage->processor));
	ck_assert_int_eq(stage_reason(run.stage), CONDPROF__END_REASON__REASON_PASSES);
	timing_session_figures(run.parts[1].timing, &figures);
	ck_assert_int_eq(figures.passes, 6);
	ck_assert_int_eq(run.stage->processor->progress.passes, 10);
	end();
}
END_TEST

START_TEST(test_asked_twice_and_too_late)
{
	struct rotation_target first = {0}, second = {0};
	struct rotation *rotation;

	begin(busy(), false);
	rotation = &run.stage->processor->rotation;
	ck_assert_int_eq(rotation_ask(rotation, &first), 0);
	ck_assert_int_eq(rotation_ask(rotation, &second), -EBUSY);
	ck_assert_ptr_eq(rotation_end(rotation), &first);
	ck_assert_int_eq(rotation_ask(rotation, &second), -ESHUTDOWN);
	ck_assert_ptr_null(rotation_end(rotation));
	rotation_take(run.stage->processor); // nothing is there to be taken
	ck_assert_uint_eq(run.n_parts, 1);
	end();
}
END_TEST

// --- on real clocks --------------------------------------------------------------------------------------------------

static _Atomic int taken;

static void count_taken(struct rotation_target *target)
{
	(void)target;
	atomic_fetch_add(&taken, 1);
}

static void *run_processor(void *argument)
{
	processor_run(argument);
	return NULL;
}

// The limiter would wait an hour: the test's time limit ends one that does not come before.
START_TEST(test_a_rotation_does_not_wait_for_the_limiter)
{
	struct maker *maker = maker_new();
	struct rotation_target targets[3] = {0};
	struct timing *timings[4];
	struct session_figures figures;
	struct stage *stage;
	pthread_t thread;

	maker_event(maker, "e", true, false);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	stage = stage_new(maker);
	engine_clock_init_monotonic(&stage->clock);
	stage->params.period_ns = HOUR_NS;
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(timing_new(&maker->scenario, measuring_clock_monotonic, &timings[i]), 0);
	stage->params.timing = timings[0];
	ck_assert_int_eq(processor_new(&stage->params, &stage->processor), 0);
	atomic_store(&taken, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, run_processor, stage->processor), 0);
	for (int i = 0; i < 3; i++) {
		targets[i] = (struct rotation_target){
			.timing = timings[i + 1], .recorder = fake_recorder(), .taken = count_taken};
		while (!atomic_load(&stage->processor->progress.waiting))
			sched_yield();
		ck_assert_int_eq(rotation_ask(&stage->processor->rotation, &targets[i]), 0);
		while (atomic_load(&taken) <= i)
			sched_yield();
	}
	ending_request(&stage->ending, CONDPROF__END_REASON__REASON_STOPPED, CONDPROF__SESSION_RESULT__SESSION_OK,
		       NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < 4; i++) {
		timing_session_figures(timings[i], &figures);
		ck_assert_int_eq(figures.passes, i == 0);
		ck_assert_int_gt(figures.duration_ns, 0);
		if (i)
			ck_assert_int_gt(figures.clock_pair_ns, -1); // known, though not measured again
		if (i < 3)
			ck_assert_int_eq(timing_start_ns(timings[i]) + figures.duration_ns,
					 timing_start_ns(timings[i + 1]));
	}
	ck_assert_int_gt(figures.site_ns[TIME_LIMITER_WAIT], 0);
	for (int i = 1; i < 4; i++)
		timing_free(timings[i]);
	timing_free(stage->timing);
	stage->timing = timings[0];
	stage_free(stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rotation");
	TCase *tcase = tcase_create("rotation");

	tcase_add_test(tcase, test_the_sum_of_the_reports_is_the_run);
	tcase_add_test(tcase, test_a_report_begins_with_the_states_as_they_are);
	tcase_add_test(tcase, test_limits_count_over_the_run);
	tcase_add_test(tcase, test_asked_twice_and_too_late);
	tcase_add_test(tcase, test_a_rotation_does_not_wait_for_the_limiter);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
