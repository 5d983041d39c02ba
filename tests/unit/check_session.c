// SPDX-License-Identifier: GPL-3.0-or-later
// Whole sessions on their own threads: real scenarios, detection, report and store, on a display in memory.
#include "daemon/detect/detect.h"
#include "daemon/engine/ending.h"
#include "daemon/engine/session.h"
#include "daemon/log/log.h"
#include "daemon/report/store.h"
#include "daemon/report/writer.h"
#include "tests/support/memory_ends.h"
#include "tests/support/unit.h"
#include "tests/unit/report_fixture.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define MS NSEC_PER_MSEC
#define RED 0xff0000
#define GREEN 0x00ff00

// --- scenarios, as a client would send them --------------------------------------------------------------------------

struct wire {
	Condprof__Scenario scenario;
	Condprof__Event events[8], *event_refs[8];
	Condprof__Condition conditions[32], *condition_refs[32];
	Condprof__Action actions[32], *action_refs[32];
	struct {
		Condprof__ImageCondition image;
		Condprof__ColorCondition color;
		Condprof__TimerCondition timer;
		Condprof__BroadcastCondition broadcast;
		Condprof__Area area;
		char name[16];
	} c[32];
	struct {
		Condprof__ClickAction click;
		Condprof__PauseAction pause;
		Condprof__Point point;
		Condprof__StopAction stop;
		Condprof__TextPart part, *part_ref;
		Condprof__KeyAction key;
	} a[32];
	size_t n_conditions, n_actions;
};

static struct wire w;

static void wire_init(void)
{
	memset(&w, 0, sizeof(w));
	condprof__scenario__init(&w.scenario);
	w.scenario.name = (char *)"kiosk";
}

// Screen events first.
static Condprof__Event *wire_event(const char *name, bool trigger)
{
	size_t index = w.scenario.n_screen_events + w.scenario.n_trigger_events;
	Condprof__Event *event = &w.events[index];

	condprof__event__init(event);
	event->name = (char *)name;
	event->conditions = &w.condition_refs[w.n_conditions];
	event->actions = &w.action_refs[w.n_actions];
	w.event_refs[index] = event;
	if (trigger) {
		if (!w.scenario.n_trigger_events++)
			w.scenario.trigger_events = &w.event_refs[index];
	} else {
		w.scenario.n_screen_events++;
		w.scenario.screen_events = w.event_refs;
	}
	return event;
}

static Condprof__Condition *wire_condition(Condprof__Event *event)
{
	Condprof__Condition *condition = &w.conditions[w.n_conditions];

	condprof__condition__init(condition);
	snprintf(w.c[w.n_conditions].name, sizeof(w.c[0].name), "c%zu", w.n_conditions);
	condition->name = w.c[w.n_conditions].name;
	w.condition_refs[w.n_conditions++] = condition;
	event->n_conditions++;
	return condition;
}

static Condprof__Area *wire_area(int x, int y, int width, int height)
{
	Condprof__Area *area = &w.c[w.n_conditions - 1].area;

	condprof__area__init(area);
	area->has_x = area->has_y = area->has_width = area->has_height = true;
	area->x = x;
	area->y = y;
	area->width = width;
	area->height = height;
	return area;
}

static Condprof__ColorCondition *wire_color(Condprof__Event *event, uint32_t rgb, int x, int y)
{
	Condprof__Condition *condition = wire_condition(event);
	Condprof__ColorCondition *color = &w.c[w.n_conditions - 1].color;

	condprof__color_condition__init(color);
	condition->kind_case = CONDPROF__CONDITION__KIND_COLOR;
	condition->color = color;
	color->has_rgb = true;
	color->rgb = rgb;
	color->area = wire_area(x, y, 10, 10);
	return color;
}

static Condprof__ImageCondition *wire_image(Condprof__Event *event, struct picture_view view)
{
	Condprof__Condition *condition = wire_condition(event);
	Condprof__ImageCondition *image = &w.c[w.n_conditions - 1].image;
	struct error error;

	condprof__image_condition__init(image);
	condition->kind_case = CONDPROF__CONDITION__KIND_IMAGE;
	condition->image = image;
	image->has_png = true;
	ck_assert_int_eq(png_encode(view, &image->png.data, &image->png.len, &error), 0);
	return image;
}

static void wire_timer(Condprof__Event *event, int64_t ns, bool repeat)
{
	Condprof__Condition *condition = wire_condition(event);
	Condprof__TimerCondition *timer = &w.c[w.n_conditions - 1].timer;

	condprof__timer_condition__init(timer);
	condition->kind_case = CONDPROF__CONDITION__KIND_TIMER;
	condition->timer = timer;
	timer->has_duration_ns = timer->has_repeat = true;
	timer->duration_ns = ns;
	timer->repeat = repeat;
}

static void wire_broadcast(Condprof__Event *event, const char *name)
{
	Condprof__Condition *condition = wire_condition(event);
	Condprof__BroadcastCondition *broadcast = &w.c[w.n_conditions - 1].broadcast;

	condprof__broadcast_condition__init(broadcast);
	condition->kind_case = CONDPROF__CONDITION__KIND_BROADCAST;
	condition->broadcast = broadcast;
	broadcast->broadcast = (char *)name;
}

static Condprof__Action *wire_action(Condprof__Event *event)
{
	Condprof__Action *action = &w.actions[w.n_actions];

	condprof__action__init(action);
	w.action_refs[w.n_actions++] = action;
	event->n_actions++;
	return action;
}

static void wire_click(Condprof__Event *event, const char *condition, int64_t press_ns)
{
	Condprof__Action *action = wire_action(event);
	Condprof__ClickAction *click = &w.a[w.n_actions - 1].click;

	condprof__click_action__init(click);
	action->kind_case = CONDPROF__ACTION__KIND_CLICK;
	action->click = click;
	click->target_case = CONDPROF__CLICK_ACTION__TARGET_CONDITION;
	click->condition = (char *)condition;
	click->has_press_ns = true;
	click->press_ns = press_ns;
}

static void wire_pause(Condprof__Event *event, int64_t ns)
{
	Condprof__Action *action = wire_action(event);
	Condprof__PauseAction *pause_action = &w.a[w.n_actions - 1].pause;

	condprof__pause_action__init(pause_action);
	action->kind_case = CONDPROF__ACTION__KIND_PAUSE;
	action->pause = pause_action;
	pause_action->has_duration_ns = true;
	pause_action->duration_ns = ns;
}

static void wire_stop(Condprof__Event *event, const char *text, Condprof__Result result)
{
	Condprof__Action *action = wire_action(event);
	Condprof__StopAction *stop = &w.a[w.n_actions - 1].stop;
	Condprof__TextPart *part = &w.a[w.n_actions - 1].part;

	condprof__stop_action__init(stop);
	condprof__text_part__init(part);
	action->kind_case = CONDPROF__ACTION__KIND_STOP;
	action->stop = stop;
	part->part_case = CONDPROF__TEXT_PART__PART_LITERAL;
	part->literal = (char *)text;
	w.a[w.n_actions - 1].part_ref = part;
	stop->n_text = 1;
	stop->text = &w.a[w.n_actions - 1].part_ref;
	stop->has_result = true;
	stop->result = result;
}

static struct scenario *wire_decode(void)
{
	size_t size = condprof__scenario__get_packed_size(&w.scenario);
	CLEANUP_FREE uint8_t *data = malloc(size);
	struct scenario_problems problems;
	struct scenario *scenario;
	int r;

	condprof__scenario__pack(&w.scenario, data);
	r = scenario_decode(data, size, &scenario, &problems);
	ck_assert_msg(r == 0, "%s: %s", problems.items[0].place, problems.items[0].message);
	for (size_t i = 0; i < w.n_conditions; i++) {
		if (w.conditions[i].kind_case == CONDPROF__CONDITION__KIND_IMAGE)
			free(w.c[i].image.png.data);
	}
	return scenario;
}

static struct picture *checkers(int width, int height, int square)
{
	struct picture *picture;

	ck_assert_int_eq(picture_new(width, height, &picture), 0);
	for (int y = 0; y < height; y++) {
		for (int x = 0; x < width; x++)
			memset(picture->pixels + y * picture->stride + 4 * x,
			       (x / square + y / square) % 2 ? 0xff : 0x20, 4);
	}
	return picture;
}

// --- a place for sessions --------------------------------------------------------------------------------------------

struct place {
	struct store *store;
	struct writer *writer;
	struct memory_display *display;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int events[SESSION_ENDED + 1]; // how often each was notified
	enum session_event last;
	struct session_params params;
	int64_t id;
};

static struct place place;

static void on_event(void *context, struct session *session, enum session_event event)
{
	struct place *p = context;

	(void)session;
	pthread_mutex_lock(&p->lock);
	p->events[event]++;
	p->last = event;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void wait_event(enum session_event event)
{
	pthread_mutex_lock(&place.lock);
	while (!place.events[event])
		pthread_cond_wait(&place.changed, &place.lock);
	pthread_mutex_unlock(&place.lock);
}

static void set_up(void)
{
	struct error error;

	log_set_level(LOG_LEVEL_ERROR);
	memory_ends_register();
	wire_init();
	memset(&place, 0, sizeof(place));
	pthread_mutex_init(&place.lock, NULL);
	pthread_cond_init(&place.changed, NULL);
	ck_assert_int_eq(store_open(fixture_folder(), NULL, &place.store, &error), 0);
	ck_assert_int_eq(writer_start(NULL, &place.writer, &error), 0);
	place.display = memory_display_new("d", 100, 80);
	place.params = (struct session_params){
		.screen_uri = "memory:d",
		.input_uri = "memory:d",
		.period_ns = MS,
		.random_seed = 1,
		.notify = on_event,
		.context = &place,
	};
}

static void tear_down(void)
{
	place.writer = writer_stop(place.writer);
	place.store = store_close(place.store);
	place.display = memory_display_free(place.display);
	fixture_remove();
}

static struct session *start(bool report)
{
	struct session *session;
	struct error error = {0};
	int r;

	memset(place.events, 0, sizeof(place.events));
	place.params.scenario = wire_decode();
	place.params.writer = report ? place.writer : NULL;
	place.params.files = NULL;
	ck_assert_int_eq(store_next_id(place.store, &place.id, &error), 0);
	place.params.id = place.id;
	if (report) {
		r = store_create(place.store, place.id, (const uint8_t *)"\n\005kiosk", 7,
				 session_reserve_bytes(place.params.scenario), &place.params.files, &error);
		ck_assert_msg(r == 0, "%s", error.message);
	}
	r = session_start(&place.params, &session, &error);
	ck_assert_msg(r == 0, "%s", error.message);
	return session;
}

static struct session_live live_of(struct session *session)
{
	struct session_live live;

	session_live(session, &live);
	return live;
}

static void adds_up(const Condprof__DebugReportOverview *overview)
{
	const Condprof__SessionTime *t = overview->time;

	ck_assert_int_eq(t->processing_ns, t->conditions_ns + t->actions_ns + t->engine_ns);
	ck_assert_int_eq(t->duration_ns, t->frame_wait_ns + t->frame_get_ns + t->processing_ns + t->limiter_wait_ns +
						 t->safety_wait_ns + t->report_wait_ns + t->other_ns);
	ck_assert_int_ge(t->engine_ns, 0);
	ck_assert_int_ge(t->other_ns, 0);
	ck_assert_int_eq(overview->active_detection_duration_ns, t->processing_ns);
}

static size_t count_occurrences(const struct read_report *report)
{
	size_t count = 0;

	for (size_t i = 0; i < report->n_messages; i++)
		count += report->messages[i]->has_detected_at_ns;
	return count;
}

// --- the measuring clock ---------------------------------------------------------------------------------------------

// The linker puts these between the product and its clock (--wrap).
int64_t __real_measuring_clock_monotonic(void);
int64_t __wrap_measuring_clock_monotonic(void);
static _Atomic bool measuring_forbidden;
static _Atomic int64_t measuring_reads;

int64_t __wrap_measuring_clock_monotonic(void)
{
	if (measuring_forbidden)
		abort();
	measuring_reads++;
	return __real_measuring_clock_monotonic();
}

// --- a check that hangs ----------------------------------------------------------------------------------------------

// The linker puts it between the engine and its detector (--wrap).
void __real_detect_color(struct detect_frame *frame, uint32_t rgb, const struct detect_query *query,
			 struct detect_result *ret);
void __wrap_detect_color(struct detect_frame *frame, uint32_t rgb, const struct detect_query *query,
			 struct detect_result *ret);
static _Atomic int checks_before_hanging = -1; // below 0: it never does
static _Atomic bool hangs, let_go;

// As a fault would have it: whatever the session is told, it computes on.
static void hang(void)
{
	if (checks_before_hanging < 0 || checks_before_hanging-- > 0)
		return;
	hangs = true;
	while (!let_go)
		sched_yield();
}

void __wrap_detect_color(struct detect_frame *frame, uint32_t rgb, const struct detect_query *query,
			 struct detect_result *ret)
{
	hang();
	__real_detect_color(frame, rgb, query, ret);
}

// --- sessions that come to their end ---------------------------------------------------------------------------------

START_TEST(test_a_session_and_its_report)
{
	Condprof__Event *event = wire_event("see red", false);
	struct read_report report;
	struct session *session;
	struct session_live live;
	int64_t total = 0;

	wire_color(event, RED, 20, 30);
	wire_color(event, GREEN, 0, 0)->present = false;
	w.c[1].color.has_present = true;
	wire_click(event, "c0", 0);
	wire_color(wire_event("never reached", false), RED, 0, 0);
	memory_display_fill(place.display, (struct rect){20, 30, 30, 40}, RED);
	place.params.max_passes = 5;
	session = start(true);
	wait_event(SESSION_ENDED);
	live = live_of(session);
	ck_assert_int_eq(live.state, CONDPROF__SESSION_STATE__FINISHED);
	ck_assert_int_eq(live.reason, CONDPROF__END_REASON__REASON_PASSES);
	ck_assert_int_eq(live.result, CONDPROF__SESSION_RESULT__SESSION_OK);
	ck_assert_int_eq(live.passes, 5);
	ck_assert_str_eq(live.report_error, "");
	ck_assert_int_ge(live.duration_ns, 4 * MS);
	ck_assert_int_ge(live.ended_unix_ns, live.started_unix_ns);
	ck_assert_int_eq(place.events[SESSION_OPENED], 1);
	ck_assert_int_eq(place.display->closes, 1);
	session_free(session);
	ck_assert_uint_eq(memory_display_count(place.display, MEMORY_PRESS), 5);
	ck_assert_int_eq(place.display->calls[0].x, 25);
	ck_assert_int_eq(place.display->calls[0].y, 35);

	read_report(place.store, place.id, NULL, 4096, &report);
	ck_assert_int_eq(report.overview->state, CONDPROF__SESSION_STATE__FINISHED);
	ck_assert_int_eq(report.overview->reason, CONDPROF__END_REASON__REASON_PASSES);
	ck_assert(report.overview->has_result);
	ck_assert_int_eq(report.overview->session_id, place.id);
	ck_assert_int_eq(report.overview->frame_count, 5);
	ck_assert_int_eq(report.overview->image_event_fulfilled_count, 5);
	ck_assert_int_eq(report.overview->frame_width, 100);
	ck_assert_int_gt(report.overview->clock_pair_ns, 0);
	adds_up(report.overview);
	ck_assert_int_eq(report.overview->time->duration_ns, live.duration_ns);
	ck_assert_uint_eq(count_occurrences(&report), 5);
	ck_assert_uint_eq(report.aggregates->condition_profile->n_conditions, 3);
	for (size_t i = 0; i < 3; i++) {
		const Condprof__ConditionTiming *timing = report.aggregates->condition_profile->conditions[i];

		ck_assert_int_eq(timing->condition_id, (int64_t)i + 1);
		ck_assert_int_eq(timing->check_count, i < 2 ? 5 : 0);
		ck_assert_int_eq(timing->fulfilled_count, i < 2 ? 5 : 0);
		total += timing->total_duration_ns;
	}
	ck_assert_int_eq(total, report.overview->time->conditions_ns);
	ck_assert_int_eq(report.aggregates->condition_details->events[1]->ended_before, 5);
	read_report_free(&report);
}
END_TEST

START_TEST(test_second_session_inherits_nothing)
{
	struct read_report report;

	wire_color(wire_event("e", false), RED, 0, 0);
	memory_display_fill(place.display, (struct rect){0, 0, 10, 10}, RED);
	place.params.max_passes = 4;
	for (int i = 0; i < 2; i++) {
		struct session *session = start(true);

		wait_event(SESSION_ENDED);
		session_free(session);
	}
	ck_assert_int_eq(place.id, 2);
	read_report(place.store, 2, NULL, 4096, &report);
	ck_assert_int_eq(report.overview->frame_count, 4);
	ck_assert_int_eq(report.aggregates->condition_profile->conditions[0]->check_count, 4);
	ck_assert_uint_eq(count_occurrences(&report), 4);
	read_report_free(&report);
}
END_TEST

START_TEST(test_without_a_report)
{
	struct session *session;
	uint8_t *data;
	int64_t *ids;
	size_t size, count;

	wire_color(wire_event("e", false), RED, 0, 0);
	place.params.max_passes = 20;
	session = start(false);
	wait_event(SESSION_ENDED);
	ck_assert_int_eq(live_of(session).passes, 20);
	ck_assert_int_eq(session_snapshot_overview(session, &data, &size), -ENODATA);
	ck_assert_int_eq(session_snapshot_aggregates(session, &data, &size), -ENODATA);
	session_free(session);
	ck_assert_int_eq(store_ids(place.store, &ids, &count, NULL), 0);
	ck_assert_uint_eq(count, 0);
	free(ids);
}
END_TEST

// Everything that would be measured with a report happens without one: checks that prepare a picture, actions, pauses,
// limiter and frame waits, a stop.
static void run_all_kinds(bool report)
{
	struct picture *icon = checkers(16, 12, 4);
	Condprof__Event *event = wire_event("icon", false);
	struct session *session;

	event->has_keep_detecting = event->keep_detecting = event->has_refresh = event->refresh = true;
	wire_image(event, picture_view(icon));
	wire_click(event, "c0", 0);
	wire_pause(event, MS / 10);
	wire_color(wire_event("red", false), RED, 0, 0);
	event = wire_event("enough", true);
	wire_timer(event, 30 * MS, false);
	wire_stop(event, "enough", CONDPROF__RESULT__RESULT_OK);
	memory_display_fill(place.display, (struct rect){0, 0, 100, 80}, 0x404040);
	memory_display_draw(place.display, 40, 50, picture_view(icon));
	session = start(report);
	wait_event(SESSION_ENDED);
	ck_assert_int_eq(live_of(session).reason, CONDPROF__END_REASON__REASON_STOP_ACTION);
	ck_assert_int_gt(memory_display_count(place.display, MEMORY_PRESS), 0);
	session_free(session);
	picture_free(icon);
}

START_TEST(test_without_a_report_no_measuring_clock)
{
	measuring_forbidden = true;
	run_all_kinds(false);
	measuring_forbidden = false;
}
END_TEST

START_TEST(test_with_a_report_the_measuring_clock)
{
	measuring_reads = 0;
	run_all_kinds(true);
	ck_assert_int_gt(measuring_reads, 100);
}
END_TEST

START_TEST(test_stop_action_says_failed)
{
	Condprof__Event *event = wire_event("e", true);
	struct read_report report;
	struct session *session;
	struct session_live live;

	wire_timer(event, 5 * MS, false);
	wire_stop(event, "gave up", CONDPROF__RESULT__RESULT_FAILED);
	session = start(true);
	wait_event(SESSION_ENDED);
	live = live_of(session);
	ck_assert_int_eq(live.state, CONDPROF__SESSION_STATE__FINISHED);
	ck_assert_int_eq(live.result, CONDPROF__SESSION_RESULT__SESSION_FAILED);
	ck_assert_str_eq(live.reason_text, "gave up");
	session_free(session);
	read_report(place.store, place.id, NULL, 4096, &report);
	ck_assert_int_eq(report.overview->reason, CONDPROF__END_REASON__REASON_STOP_ACTION);
	ck_assert_int_eq(report.overview->result, CONDPROF__SESSION_RESULT__SESSION_FAILED);
	ck_assert_str_eq(report.overview->reason_text, "gave up");
	read_report_free(&report);
}
END_TEST

static void fail_after_some(struct memory_display *display, void *context)
{
	(void)context;
	if (display->waits > 10)
		atomic_store(&display->status, SCREEN_FAILED);
}

START_TEST(test_screen_fails)
{
	struct read_report report;
	struct session *session;
	struct session_live live;

	wire_color(wire_event("e", false), RED, 0, 0);
	place.display->on_wait = fail_after_some;
	session = start(true);
	wait_event(SESSION_ENDED);
	live = live_of(session);
	ck_assert_int_eq(live.state, CONDPROF__SESSION_STATE__FAILED);
	ck_assert_int_eq(live.reason, CONDPROF__END_REASON__REASON_SOURCE_FAILED);
	ck_assert_str_eq(live.reason_text, "memory: told to fail");
	session_free(session);
	read_report(place.store, place.id, NULL, 4096, &report); // the report is kept
	ck_assert_int_eq(report.overview->state, CONDPROF__SESSION_STATE__FAILED);
	ck_assert_int_eq(report.overview->frame_count, 10);
	read_report_free(&report);
}
END_TEST

START_TEST(test_input_fails)
{
	Condprof__Event *event = wire_event("e", false);
	struct session *session;

	wire_color(event, 0, 0, 0);
	wire_click(event, "c0", 0);
	atomic_store(&place.display->input_error, EPIPE);
	session = start(true);
	wait_event(SESSION_ENDED);
	ck_assert_int_eq(place.display->fit_width, 100);
	ck_assert_int_eq(live_of(session).reason, CONDPROF__END_REASON__REASON_INPUT_FAILED);
	ck_assert_int_eq(live_of(session).state, CONDPROF__SESSION_STATE__FAILED);
	session_free(session);
}
END_TEST

static void next_picture(struct memory_display *display, void *context)
{
	int *left = context;

	atomic_fetch_add(&display->serial, 1);
	if (--*left < 0)
		atomic_store(&display->status, SCREEN_ENDED);
}

START_TEST(test_replay_by_pass)
{
	struct read_report report;
	struct session *session;
	int left = 30;

	wire_timer(wire_event("only triggers", true), 3600 * NSEC_PER_SEC, false);
	place.display->by_pass = place.display->replay = true;
	place.display->on_wait = next_picture;
	place.display->context = &left;
	place.params.period_ns = 0;
	session = start(true);
	wait_event(SESSION_ENDED);
	ck_assert_int_eq(live_of(session).reason, CONDPROF__END_REASON__REASON_SOURCE_ENDED);
	session_free(session);
	read_report(place.store, place.id, NULL, 4096, &report);
	ck_assert_int_eq(report.overview->frame_count, 30); // one picture a counted pass, though nobody looks
	ck_assert_int_eq(report.overview->frames, 30);
	ck_assert_int_eq(report.overview->time->safety_wait_ns, 0);
	read_report_free(&report);
}
END_TEST

// --- detection -------------------------------------------------------------------------------------------------------

/// Where the icon is drawn, and the screen's size, change on the way.
struct moving {
	struct picture *icon;
	int pass;
};

static void move_icon(struct memory_display *display, void *context)
{
	struct moving *moving = context;

	if (++moving->pass != 4)
		return;
	picture_free(display->picture);
	ck_assert_int_eq(picture_new(200, 160, &display->picture), 0);
	memory_display_fill(display, (struct rect){0, 0, 200, 160}, 0x404040);
	memory_display_draw(display, 150, 120, picture_view(moving->icon));
	atomic_fetch_add(&display->serial, 1);
}

START_TEST(test_image_and_a_size_change)
{
	struct moving moving = {.icon = checkers(16, 12, 4)};
	Condprof__Event *event = wire_event("e", false);
	struct session *session;
	char log[4096];

	wire_image(event, picture_view(moving.icon));
	wire_click(event, "c0", 0);
	memory_display_fill(place.display, (struct rect){0, 0, 100, 80}, 0x404040);
	memory_display_draw(place.display, 40, 50, picture_view(moving.icon));
	place.display->on_wait = move_icon;
	place.display->context = &moving;
	place.params.max_passes = 5;
	session = start(true);
	wait_event(SESSION_ENDED);
	session_free(session);
	memory_display_log(place.display, log, sizeof(log));
	ck_assert_str_eq(log, "move 48 56; press; release; move 48 56; press; release; move 48 56; press; release; "
			      "move 158 126; press; release; move 158 126; press; release; release-all; release-all");
	// An input of another size was told.
	ck_assert_int_eq(place.display->fit_width, 200);
	ck_assert_int_eq(place.display->fit_height, 160);
	picture_free(moving.icon);
}
END_TEST

START_TEST(test_quality_changes_with_the_size)
{
	struct moving moving = {.icon = checkers(16, 12, 4)};
	Condprof__Event *event = wire_event("e", false);
	struct read_report report;
	struct session *session;

	// at 100 px nothing is reduced, at 200 px by two: the template is made anew
	wire_image(event, picture_view(moving.icon));
	wire_click(event, "c0", 0);
	w.scenario.has_quality = true;
	w.scenario.quality = 100;
	memory_display_fill(place.display, (struct rect){0, 0, 100, 80}, 0x404040);
	memory_display_draw(place.display, 40, 50, picture_view(moving.icon));
	place.display->on_wait = move_icon;
	place.display->context = &moving;
	place.params.max_passes = 5;
	session = start(true);
	wait_event(SESSION_ENDED);
	session_free(session);
	read_report(place.store, place.id, NULL, 4096, &report);
	ck_assert_int_eq(report.aggregates->condition_profile->conditions[0]->fulfilled_count, 5);
	ck_assert_int_eq(report.overview->frame_width, 200);
	read_report_free(&report);
	picture_free(moving.icon);
}
END_TEST

START_TEST(test_not_evaluable_is_said)
{
	struct picture *wide = checkers(160, 10, 5);
	const Condprof__ConditionDetail *detail;
	struct read_report report;
	struct session *session;

	wire_image(wire_event("too wide", false), picture_view(wide));
	wire_color(wire_event("outside", false), RED, 95, 0);
	place.params.max_passes = 3;
	session = start(true);
	wait_event(SESSION_ENDED);
	ck_assert_int_eq(live_of(session).reason, CONDPROF__END_REASON__REASON_PASSES);
	session_free(session);
	read_report(place.store, place.id, NULL, 4096, &report);
	detail = report.aggregates->condition_details->conditions[0];
	ck_assert_int_eq(detail->not_evaluable_count, 3);
	ck_assert_str_eq(detail->not_evaluable_why,
			 "its image of 160x10 px is larger than its search area of 100x80 px");
	detail = report.aggregates->condition_details->conditions[1];
	ck_assert_str_eq(detail->not_evaluable_why, "its area [95, 0, 10, 10] is not inside the frame of 100x80 px");
	read_report_free(&report);
	picture_free(wide);
}
END_TEST

// --- stopping and looking --------------------------------------------------------------------------------------------

START_TEST(test_stop_in_a_long_press)
{
	Condprof__Event *event = wire_event("e", false);
	struct session *session;
	struct session_live live;
	uint64_t progress;

	wire_color(event, 0, 0, 0);
	wire_click(event, "c0", 3600 * NSEC_PER_SEC);
	session = start(true);
	wait_event(SESSION_OPENED);
	while (memory_display_count(place.display, MEMORY_PRESS) == 0)
		sched_yield();
	ck_assert_int_eq(live_of(session).state, CONDPROF__SESSION_STATE__RUNNING);
	// in a wait that a stop ends every look sees progress, however long it lasts
	do
		progress = live_of(session).progress;
	while (live_of(session).progress == progress);
	progress = live_of(session).progress;
	ck_assert_uint_ne(live_of(session).progress, progress);
	session_stop(session, CONDPROF__END_REASON__REASON_DAEMON_STOPPED);
	session_stop(session, CONDPROF__END_REASON__REASON_STOPPED);
	wait_event(SESSION_ENDED);
	live = live_of(session);
	ck_assert_int_eq(live.reason, CONDPROF__END_REASON__REASON_DAEMON_STOPPED);
	ck_assert_int_eq(live.state, CONDPROF__SESSION_STATE__FINISHED);
	ck_assert(!place.display->pressed);
	session_free(session);
}
END_TEST

// Noise, so that nothing can be left out, and large enough to compute for far longer than this test may take.
static void fill_with_noise(struct picture *picture)
{
	uint32_t random = 1;

	for (int y = 0; y < picture->height; y++) {
		for (int x = 0; x < picture->width; x++) {
			random = random * 1664525 + 1013904223;
			memcpy(picture->pixels + y * picture->stride + 4 * x, &random, sizeof(random));
			picture->pixels[y * picture->stride + 4 * x + 3] = 0xff;
		}
	}
}

// Whether the first event's turn has come: its check then begins at once.
static bool evaluates(struct session *session)
{
	Condprof__DebugReportMessage *message;
	uint8_t *data;
	size_t size;
	bool result;

	ck_assert_int_eq(session_snapshot_aggregates(session, &data, &size), 0);
	message = condprof__debug_report_message__unpack(NULL, size, data);
	free(data);
	result = message->condition_details->events[0]->evaluated > 0;
	condprof__debug_report_message__free_unpacked(message, NULL);
	return result;
}

START_TEST(test_stop_in_a_computing_check)
{
	struct picture *wanted;
	struct session *session;

	ck_assert_int_eq(picture_new(500, 500, &wanted), 0);
	fill_with_noise(wanted);
	memset(wanted->pixels, 0x55, 4000);
	wire_image(wire_event("e", false), picture_view(wanted));
	picture_free(place.display->picture);
	ck_assert_int_eq(picture_new(3000, 3000, &place.display->picture), 0);
	fill_with_noise(place.display->picture);
	session = start(true);
	wait_event(SESSION_OPENED);
	while (!evaluates(session))
		sched_yield();
	session_stop(session, CONDPROF__END_REASON__REASON_STOPPED);
	wait_event(SESSION_ENDED);
	ck_assert_int_eq(live_of(session).passes, 1);
	session_free(session);
	picture_free(wanted);
}
END_TEST

static void wait_hanging(void)
{
	while (!hangs)
		sched_yield();
}

// What an abandoned thread does once it comes back: nothing but giving back its screen.
static void let_it_end(int closes)
{
	let_go = true;
	while (place.display->closes < closes)
		sched_yield();
}

static void hanging_session(bool report, struct session **ret)
{
	Condprof__Event *event = wire_event("see red", false);

	wire_color(event, RED, 20, 30);
	wire_click(event, "c0", 0);
	memory_display_fill(place.display, (struct rect){20, 30, 30, 40}, RED);
	checks_before_hanging = 2;
	hangs = let_go = false;
	*ret = start(report);
	wait_hanging();
}

START_TEST(test_a_hanging_check_is_seen)
{
	struct session *session;
	uint64_t before, after;
	char text[REASON_TEXT_SIZE];

	hanging_session(true, &session);
	ck_assert(session_progress(session, &before));
	ck_assert(session_progress(session, &after));
	ck_assert_uint_eq(before, after);
	session_stuck_text(session, 60 * NSEC_PER_SEC, text, sizeof(text));
	ck_assert_str_eq(text, "no progress for 60 s; what was checked last is “c0” of event “see red”");
	// it comes back within its grace: an ordinary end, by its own thread
	session_stop_stuck(session, text);
	let_go = true;
	wait_event(SESSION_ENDED);
	ck_assert(!session_progress(session, &after));
	ck_assert_int_eq(session_abandon(session), -EALREADY);
	ck_assert_int_eq(live_of(session).state, CONDPROF__SESSION_STATE__FAILED);
	ck_assert_int_eq(live_of(session).reason, CONDPROF__END_REASON__REASON_CHECK_STUCK);
	ck_assert_str_eq(live_of(session).reason_text, text);
	session_free(session);
}
END_TEST

START_TEST(test_a_wait_is_no_hanging)
{
	Condprof__Event *event = wire_event("pauses", false);
	struct session *session;
	uint64_t before, after;

	wire_color(event, RED, 0, 0);
	wire_pause(event, 1000 * NSEC_PER_SEC);
	memory_display_fill(place.display, (struct rect){0, 0, 30, 40}, RED);
	session = start(true);
	wait_event(SESSION_OPENED);
	while (!evaluates(session))
		sched_yield();
	ck_assert(session_progress(session, &before));
	do
		ck_assert(session_progress(session, &after));
	while (after == before); // not in its wait yet, at first
	session_stop(session, CONDPROF__END_REASON__REASON_STOPPED);
	wait_event(SESSION_ENDED);
	session_free(session);
}
END_TEST

// The report is there, the input is let go, and what the thread wants to do when it comes back is not done.
START_TEST(test_abandoned)
{
	struct read_report report;
	struct session *session;
	struct session_live live;
	size_t calls;

	hanging_session(true, &session);
	session_stop_stuck(session, "stuck");
	ck_assert_int_eq(session_abandon(session), 0);
	wait_event(SESSION_ENDED);
	ck_assert_int_eq(session_abandon(session), -EALREADY);
	live = live_of(session);
	ck_assert_int_eq(live.state, CONDPROF__SESSION_STATE__FAILED);
	ck_assert_int_eq(live.reason, CONDPROF__END_REASON__REASON_CHECK_STUCK);
	ck_assert_str_eq(live.reason_text, "stuck");
	ck_assert_str_eq(live.report_error, "");
	ck_assert_int_eq(live.passes, 2);
	calls = place.display->n_calls;
	ck_assert_uint_eq(memory_display_count(place.display, MEMORY_PRESS), 2);
	ck_assert_uint_ge(memory_display_count(place.display, MEMORY_RELEASE_ALL), 1);

	read_report(place.store, place.id, NULL, 4096, &report);
	ck_assert_int_eq(report.overview->state, CONDPROF__SESSION_STATE__FAILED);
	ck_assert_int_eq(report.overview->reason, CONDPROF__END_REASON__REASON_CHECK_STUCK);
	ck_assert_int_eq(report.overview->frame_count, 2);
	ck_assert_int_eq(report.overview->time->duration_ns, live.duration_ns);
	adds_up(report.overview);
	ck_assert_uint_eq(count_occurrences(&report), 2);
	ck_assert_int_eq(report.aggregates->condition_profile->conditions[0]->check_count, 2);
	read_report_free(&report);

	session_free(session); // the thread is still in its check
	let_it_end(1);
	ck_assert_uint_eq(place.display->n_calls, calls);
}
END_TEST

START_TEST(test_abandoned_and_back_before_it_is_freed)
{
	struct session *session;

	hanging_session(false, &session);
	session_stop(session, CONDPROF__END_REASON__REASON_STOPPED);
	ck_assert_int_eq(session_abandon(session), 0);
	wait_event(SESSION_ENDED);
	let_it_end(1);
	ck_assert_int_eq(live_of(session).reason, CONDPROF__END_REASON__REASON_STOPPED);
	session_free(session);
}
END_TEST

// Its thread wakes in the very moment in which it is abandoned: the two take input and report away from each other.
START_TEST(test_abandoned_as_it_comes_back)
{
	struct session *session;
	int r;

	hanging_session(_i % 2, &session);
	session_stop(session, CONDPROF__END_REASON__REASON_STOPPED);
	let_go = true;
	for (volatile int i = 0; i < _i * 2000; i++) // another moment each time
		;
	r = session_abandon(session);
	ck_assert_msg(r == 0 || r == -EALREADY, "%d", r);
	wait_event(SESSION_ENDED);
	ck_assert_int_eq(live_of(session).reason, CONDPROF__END_REASON__REASON_STOPPED);
	ck_assert(!place.display->pressed);
	session_free(session);
	let_it_end(1);
}
END_TEST

START_TEST(test_emit)
{
	Condprof__Event *event = wire_event("e", true);
	struct session *session;

	wire_broadcast(event, "give-up");
	wire_stop(event, "told to", CONDPROF__RESULT__RESULT_OK);
	session = start(true);
	wait_event(SESSION_OPENED);
	ck_assert(!session_emit(session, "other"));
	ck_assert(session_emit(session, "give-up"));
	wait_event(SESSION_ENDED);
	ck_assert_str_eq(live_of(session).reason_text, "told to");
	ck_assert(!session_emit(session, "give-up")); // nobody waits any more
	session_free(session);
}
END_TEST

START_TEST(test_snapshots_of_a_running_session)
{
	Condprof__Event *event = wire_event("pauses", true);
	struct session *session;

	wire_timer(event, 0, true);
	wire_pause(event, 3600 * NSEC_PER_SEC);
	session = start(true);
	wait_event(SESSION_OPENED);
	for (int64_t pauses = 0, before = -1; pauses < MS || before < 0;) {
		Condprof__DebugReportOverview *overview;
		Condprof__DebugReportMessage *message;
		uint8_t *data;
		size_t size;

		ck_assert_int_eq(session_snapshot_overview(session, &data, &size), 0);
		overview = condprof__debug_report_overview__unpack(NULL, size, data);
		ck_assert_ptr_nonnull(overview);
		free(data);
		ck_assert_int_eq(overview->state, CONDPROF__SESSION_STATE__RUNNING);
		ck_assert(!overview->has_result && !overview->has_ended_unix_ns && !overview->has_reason);
		adds_up(overview);
		before = pauses;
		pauses = overview->time->pauses_ns; // the one in progress counts up to now
		ck_assert_int_ge(pauses, before);
		condprof__debug_report_overview__free_unpacked(overview, NULL);

		ck_assert_int_eq(session_snapshot_aggregates(session, &data, &size), 0);
		message = condprof__debug_report_message__unpack(NULL, size, data);
		ck_assert_ptr_nonnull(message);
		free(data);
		ck_assert_uint_eq(message->condition_profile->n_conditions, 1);
		condprof__debug_report_message__free_unpacked(message, NULL);
	}
	session_stop(session, CONDPROF__END_REASON__REASON_STOPPED);
	wait_event(SESSION_ENDED);
	session_free(session);
}
END_TEST

// --- sessions that do not come to be ---------------------------------------------------------------------------------

static void check_open_failed(struct session *session, Condprof__Code code)
{
	struct session_live live;
	int64_t *ids;
	size_t count;

	wait_event(SESSION_OPEN_FAILED);
	ck_assert_int_eq(session_error(session)->code, code);
	ck_assert_str_ne(session_error(session)->message, "");
	live = live_of(session);
	ck_assert_int_eq(live.state, CONDPROF__SESSION_STATE__FAILED);
	session_free(session);
	ck_assert_int_eq(place.events[SESSION_OPENED] + place.events[SESSION_ENDED], 0);
	ck_assert_int_eq(store_ids(place.store, &ids, &count, NULL), 0);
	ck_assert_uint_eq(count, 0); // nothing of a report is left
	free(ids);
}

START_TEST(test_screen_does_not_open)
{
	wire_color(wire_event("e", false), RED, 0, 0);
	atomic_store(&place.display->open_error, EACCES);
	check_open_failed(start(true), CONDPROF__CODE__SCREEN_FAILED);
	ck_assert_int_eq(place.display->closes, 0);
}
END_TEST

static int open_hopeless(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
			 struct input **ret, struct error *error)
{
	(void)rest;
	(void)config;
	(void)wait;
	(void)ret;
	return error_set(error, CONDPROF__CODE__INPUT_FAILED, EACCES, "hopeless");
}

START_TEST(test_input_does_not_open)
{
	static const struct input_ops ops = {.scheme = "hopeless", .summary = "", .open = open_hopeless};

	input_register(&ops);
	wire_color(wire_event("e", false), RED, 0, 0);
	place.params.input_uri = "hopeless:";
	check_open_failed(start(true), CONDPROF__CODE__INPUT_FAILED);
	ck_assert_int_eq(place.display->closes, 1); // the screen was
}
END_TEST

static _Atomic int hanging;

static int open_hanging(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
			struct screen **ret, struct error *error)
{
	struct pollfd wake = {.fd = wait->wake_fd, .events = POLLIN};

	(void)rest;
	(void)config;
	(void)ret;
	(void)error;
	atomic_store(&hanging, 1);
	poll(&wake, 1, -1);
	return -EINTR;
}

START_TEST(test_stop_while_it_opens)
{
	static const struct screen_ops ops = {.scheme = "hanging", .summary = "", .open = open_hanging};
	struct session *session;

	screen_register(&ops);
	wire_color(wire_event("e", false), RED, 0, 0);
	place.params.screen_uri = "hanging:";
	session = start(true);
	while (!atomic_load(&hanging))
		sched_yield();
	ck_assert_int_eq(live_of(session).state, CONDPROF__SESSION_STATE__STARTING);
	ck_assert(!session_emit(session, "x"));
	session_stop(session, CONDPROF__END_REASON__REASON_STOPPED);
	check_open_failed(session, CONDPROF__CODE__ALREADY_ENDED);
}
END_TEST

START_TEST(test_an_image_that_quality_makes_flat)
{
	struct picture *icon = checkers(4, 4, 1);

	wire_image(wire_event("e", false), picture_view(icon));
	w.scenario.has_quality = true;
	w.scenario.quality = 25;
	check_open_failed(start(true), CONDPROF__CODE__BAD_SCENARIO);
	picture_free(icon);
}
END_TEST

START_TEST(test_refused_at_once)
{
	static const struct {
		const char *screen;
		Condprof__Code code;
		const char *says;
	} rows[] = {
		{"nonsense", CONDPROF__CODE__BAD_REQUEST, ""},
		{"wayland:", CONDPROF__CODE__UNSUPPORTED, "not supported yet"},
		{"replay:/somewhere?loop=1&clock=virtual", CONDPROF__CODE__BAD_REQUEST, "clock=virtual"},
	};

	wire_color(wire_event("e", false), RED, 0, 0);
	place.params.scenario = wire_decode();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct session *session;
		struct error error = {0};

		place.params.screen_uri = rows[i].screen;
		ck_assert_int_lt(session_start(&place.params, &session, &error), 0);
		ck_assert_msg(error.code == rows[i].code, "%s: %s", rows[i].screen, error.message);
		ck_assert_msg(strstr(error.message, rows[i].says), "%s", error.message);
	}
	scenario_free(place.params.scenario); // not taken
}
END_TEST

START_TEST(test_many_sessions_stopped_at_any_moment)
{
	Condprof__Event *event = wire_event("e", false);

	wire_color(event, 0, 0, 0);
	wire_click(event, "c0", 0);
	for (int i = 0; i < 40; i++) {
		struct session *session = start(i % 4 != 0);

		for (int j = 0; j < i * 20; j++)
			sched_yield();
		session_stop(session, CONDPROF__END_REASON__REASON_STOPPED);
		pthread_mutex_lock(&place.lock);
		while (!place.events[SESSION_ENDED] && !place.events[SESSION_OPEN_FAILED])
			pthread_cond_wait(&place.changed, &place.lock);
		pthread_mutex_unlock(&place.lock);
		ck_assert_int_eq(live_of(session).reason, CONDPROF__END_REASON__REASON_STOPPED);
		session_free(session);
		ck_assert(!place.display->pressed);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("session");
	TCase *tcase = tcase_create("session");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_a_session_and_its_report);
	tcase_add_test(tcase, test_second_session_inherits_nothing);
	tcase_add_test(tcase, test_without_a_report);
	tcase_add_test(tcase, test_without_a_report_no_measuring_clock);
	tcase_add_test(tcase, test_with_a_report_the_measuring_clock);
	tcase_add_test(tcase, test_stop_action_says_failed);
	tcase_add_test(tcase, test_screen_fails);
	tcase_add_test(tcase, test_input_fails);
	tcase_add_test(tcase, test_replay_by_pass);
	tcase_add_test(tcase, test_image_and_a_size_change);
	tcase_add_test(tcase, test_quality_changes_with_the_size);
	tcase_add_test(tcase, test_not_evaluable_is_said);
	tcase_add_test(tcase, test_stop_in_a_long_press);
	tcase_add_test(tcase, test_stop_in_a_computing_check);
	tcase_add_test(tcase, test_a_hanging_check_is_seen);
	tcase_add_test(tcase, test_a_wait_is_no_hanging);
	tcase_add_test(tcase, test_abandoned);
	tcase_add_test(tcase, test_abandoned_and_back_before_it_is_freed);
	tcase_add_loop_test(tcase, test_abandoned_as_it_comes_back, 0, 20);
	tcase_add_test(tcase, test_emit);
	tcase_add_test(tcase, test_snapshots_of_a_running_session);
	tcase_add_test(tcase, test_screen_does_not_open);
	tcase_add_test(tcase, test_input_does_not_open);
	tcase_add_test(tcase, test_stop_while_it_opens);
	tcase_add_test(tcase, test_an_image_that_quality_makes_flat);
	tcase_add_test(tcase, test_refused_at_once);
	tcase_add_test(tcase, test_many_sessions_stopped_at_any_moment);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
