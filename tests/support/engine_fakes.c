// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/engine_fakes.h"

#include "daemon/log/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#define MAKER_CONDITIONS 20000U
#define MAKER_EVENTS 10000U
#define MAKER_ACTIONS 20000U
#define MAKER_OTHERS 2000U
#define MAKER_NAMES (1024U * 1024U)

static void *take(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		abort();
	return memory;
}

// --- scenarios -------------------------------------------------------------------------------------------------------

struct maker *maker_new(void)
{
	struct maker *maker = take(1, sizeof(*maker));
	struct scenario *s = &maker->scenario;

	maker->names = take(MAKER_NAMES, 1);
	s->name = "test";
	s->events = take(MAKER_EVENTS, sizeof(*s->events));
	s->conditions = take(MAKER_CONDITIONS, sizeof(*s->conditions));
	s->actions = take(MAKER_ACTIONS, sizeof(*s->actions));
	s->counters = take(MAKER_OTHERS, sizeof(*s->counters));
	s->broadcasts = take(MAKER_OTHERS, sizeof(*s->broadcasts));
	s->points = take(MAKER_OTHERS, sizeof(*s->points));
	s->text_parts = take(MAKER_OTHERS, sizeof(*s->text_parts));
	s->event_refs = take(MAKER_OTHERS, sizeof(*s->event_refs));
	return maker;
}

struct maker *maker_free(struct maker *maker)
{
	if (!maker)
		return NULL;
	free(maker->names);
	free(maker->scenario.events);
	free(maker->scenario.conditions);
	free(maker->scenario.actions);
	free(maker->scenario.counters);
	free(maker->scenario.broadcasts);
	free(maker->scenario.points);
	free(maker->scenario.text_parts);
	free(maker->scenario.event_refs);
	free(maker);
	return NULL;
}

static const char *keep_name(struct maker *maker, const char *name)
{
	size_t size = strlen(name) + 1;
	char *kept = maker->names + maker->names_used;

	if (maker->names_used + size > MAKER_NAMES)
		abort();
	memcpy(kept, name, size);
	maker->names_used += size;
	return kept;
}

struct event *maker_event(struct maker *maker, const char *name, bool trigger, bool any)
{
	struct scenario *s = &maker->scenario;
	struct event *event = &s->events[s->n_events++];

	if (!trigger)
		s->screen_events = s->n_events;
	*event = (struct event){
		.id = s->n_events,
		.name = keep_name(maker, name),
		.trigger = trigger,
		.any = any,
		.enabled = true,
		.first_condition = s->n_conditions,
		.first_action = s->n_actions,
	};
	return event;
}

struct condition *maker_condition(struct maker *maker, const char *name, enum condition_kind kind)
{
	struct scenario *s = &maker->scenario;
	struct condition *condition = &s->conditions[s->n_conditions++];

	*condition = (struct condition){
		.id = s->n_conditions,
		.name = keep_name(maker, name),
		.kind = kind,
		.event = s->n_events - 1,
		.present = true,
		.area = {0, 0, 10, 10},
	};
	s->events[s->n_events - 1].conditions++;
	return condition;
}

struct action *maker_action(struct maker *maker, Condprof__ActionKind kind)
{
	struct scenario *s = &maker->scenario;
	struct action *action = &s->actions[s->n_actions++];

	action->kind = kind;
	s->events[s->n_events - 1].actions++;
	return action;
}

uint32_t maker_counter(struct maker *maker, const char *name, double value)
{
	struct scenario *s = &maker->scenario;

	for (uint32_t i = 0; i < s->n_counters; i++) {
		if (!strcmp(s->counters[i].name, name))
			return i;
	}
	s->counters[s->n_counters] = (struct counter){keep_name(maker, name), value};
	return s->n_counters++;
}

uint32_t maker_broadcast(struct maker *maker, const char *name)
{
	struct scenario *s = &maker->scenario;

	for (uint32_t i = 0; i < s->n_broadcasts; i++) {
		if (!strcmp(s->broadcasts[i].name, name))
			return i;
	}
	s->broadcasts[s->n_broadcasts] = (struct broadcast){keep_name(maker, name), CONDPROF__BUS__BUS_NONE};
	return s->n_broadcasts++;
}

void maker_event_ref(struct maker *maker, struct action *action, uint32_t event)
{
	struct scenario *s = &maker->scenario;

	if (!action->event_state.events)
		action->event_state.first_event = s->n_event_refs;
	action->event_state.events++;
	s->event_refs[s->n_event_refs++] = event;
}

void maker_point(struct maker *maker, struct action *action, int x, int y)
{
	struct scenario *s = &maker->scenario;

	if (!action->swipe.points)
		action->swipe.first_point = s->n_points;
	action->swipe.points++;
	s->points[s->n_points++] = (struct point){x, y};
}

void maker_text(struct maker *maker, struct action *action, const char *literal, uint32_t counter)
{
	struct scenario *s = &maker->scenario;

	if (!action->text.parts)
		action->text.first_part = s->n_text_parts;
	action->text.parts++;
	s->text_parts[s->n_text_parts++] = (struct text_part){literal ? keep_name(maker, literal) : NULL, counter};
}

struct condition *maker_image(struct maker *maker, const char *name, bool present)
{
	static struct picture too_large = {.width = 20, .height = 20, .stride = 80}; // for its area, 10x10
	struct condition *condition = maker_condition(maker, name, CONDITION_IMAGE);

	condition->image.image = &too_large;
	condition->present = present;
	condition->search = CONDPROF__SEARCH__SEARCH_AREA;
	return condition;
}

struct condition *maker_timer(struct maker *maker, const char *name, int64_t ns, bool repeat)
{
	struct condition *condition = maker_condition(maker, name, CONDITION_TIMER);

	condition->timer.duration_ns = ns;
	condition->timer.repeat = repeat;
	return condition;
}

struct condition *maker_compare(struct maker *maker, const char *name, const char *counter,
				Condprof__Comparison comparison, double value)
{
	struct condition *condition = maker_condition(maker, name, CONDITION_COUNTER);

	condition->counter.counter = maker_counter(maker, counter, 0);
	condition->counter.comparison = comparison;
	condition->counter.operand = (struct operand){value, NO_INDEX};
	return condition;
}

struct action *maker_click(struct maker *maker, int x, int y, int64_t press_ns)
{
	struct action *action = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_CLICK);

	action->click.target = CLICK_POSITION;
	action->click.x = x;
	action->click.y = y;
	action->click.press_ns = press_ns;
	return action;
}

struct action *maker_pause(struct maker *maker, int64_t ns)
{
	struct action *action = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_PAUSE);

	action->pause_ns = ns;
	return action;
}

struct action *maker_count(struct maker *maker, const char *counter, Condprof__CounterOperation operation, double value)
{
	struct action *action = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_COUNTER);

	action->counter.counter = maker_counter(maker, counter, 0);
	action->counter.operation = operation;
	action->counter.operand = (struct operand){value, NO_INDEX};
	return action;
}

struct action *maker_change(struct maker *maker, Condprof__StateChange change, uint32_t event)
{
	struct action *action = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_EVENT_STATE);

	action->event_state.change = change;
	if (event == NO_INDEX)
		action->event_state.all = true;
	else
		maker_event_ref(maker, action, event);
	return action;
}

struct action *maker_stop(struct maker *maker, const char *text, Condprof__SessionResult result)
{
	struct action *action = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_STOP);

	action->text.result = result;
	maker_text(maker, action, text, 0);
	return action;
}

static void random_conditions(struct maker *maker, bool trigger)
{
	for (long n = 1 + random() % 4; n > 0; n--) {
		if (!trigger)
			maker_image(maker, "i", random() % 2);
		else if (random() % 2)
			maker_timer(maker, "t", random() % 50 * NSEC_PER_MSEC, random() % 2);
		else if (random() % 2)
			maker_compare(maker, "c", "n", (Condprof__Comparison)(random() % 6), (double)(random() % 5));
		else
			maker_condition(maker, "b", CONDITION_BROADCAST)->broadcast = maker_broadcast(maker, "go");
	}
}

static void random_actions(struct maker *maker, uint32_t n_events)
{
	for (long n = random() % 4; n > 0; n--) {
		switch (random() % 4) {
		case 0:
			maker_pause(maker, random() % 10 * NSEC_PER_MSEC);
			break;
		case 1:
			maker_count(maker, "n", (Condprof__CounterOperation)(random() % 3), (double)(random() % 3));
			break;
		case 2:
			maker_change(maker, (Condprof__StateChange)(random() % 3), (uint32_t)random() % n_events);
			break;
		default:
			maker_click(maker, (int)(random() % 100), 5, random() % 3 * NSEC_PER_MSEC);
			break;
		}
	}
}

struct maker *maker_random(void)
{
	struct maker *maker = maker_new();
	uint32_t screens = (uint32_t)random() % 5, triggers = 1 + (uint32_t)random() % 4;

	for (uint32_t i = 0; i < screens + triggers; i++) {
		struct event *event = maker_event(maker, "e", i >= screens, random() % 2);

		event->enabled = random() % 4 != 0;
		event->keep_detecting = i < screens && random() % 2;
		event->refresh = i < screens && random() % 2;
		event->cooldown_ns = i < screens ? random() % 30 * NSEC_PER_MSEC : 0;
		random_conditions(maker, i >= screens);
		random_actions(maker, screens + triggers);
	}
	return maker;
}

void maker_keeps_session(struct maker *maker)
{
	maker_event(maker, "keeps the session", true, false);
	maker_compare(maker, "c", "never", CONDPROF__COMPARISON__EQUAL, 1);
}

// --- detector --------------------------------------------------------------------------------------------------------

static int fake_resize(struct detector *detector, int width, int height, struct error *error)
{
	struct fake_detector *d = (struct fake_detector *)detector;

	d->resizes++;
	d->width = width;
	d->height = height;
	if (d->resize_result < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -d->resize_result, "as told");
	return 0;
}

static void fake_begin(struct detector *detector, struct picture_view view)
{
	struct fake_detector *d = (struct fake_detector *)detector;

	if (view.width != d->width || view.height != d->height)
		abort(); // the engine owes us a resize
	d->begins++;
}

static void fake_check(struct detector *detector, uint32_t condition, struct detect_result *ret)
{
	struct fake_detector *d = (struct fake_detector *)detector;
	const struct fake_answer *answer = &d->answers[condition];

	d->checks[condition]++;
	*ret = (struct detect_result){
		.found = answer->found,
		.evaluable = !answer->not_evaluable,
		.has_score = answer->found && !answer->not_evaluable,
		.score = answer->score,
		.x = answer->x,
		.y = answer->y,
		.place = answer->place,
		.shared = answer->shared,
		.n_shared = answer->n_shared,
	};
	stepped_clock_now_ns += answer->takes_ns;
	if (d->on_check)
		d->on_check(d, condition, ret);
}

static struct detector *fake_free(struct detector *detector)
{
	fake_detector_free((struct fake_detector *)detector);
	return NULL;
}

struct fake_detector *fake_detector_new(uint32_t conditions)
{
	static const struct detector_ops ops = {fake_resize, fake_begin, fake_check, fake_free};
	struct fake_detector *d = take(1, sizeof(*d));

	d->base.ops = &ops;
	d->answers = take(MAX(conditions, 1U), sizeof(*d->answers));
	d->checks = take(MAX(conditions, 1U), sizeof(*d->checks));
	return d;
}

struct fake_detector *fake_detector_free(struct fake_detector *d)
{
	if (!d)
		return NULL;
	free(d->answers);
	free(d->checks);
	free(d);
	return NULL;
}

// --- screen ----------------------------------------------------------------------------------------------------------

static enum screen_status wait_for(const struct screen_wait *wait)
{
	struct pollfd wake = {.fd = wait->wake_fd, .events = POLLIN};
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);

	int64_t left = wait->deadline_ns - (now.tv_sec * NSEC_PER_SEC + now.tv_nsec);

	return poll(&wake, 1, (int)MAX(left / NSEC_PER_MSEC, 0)) > 0 ? SCREEN_INTERRUPTED : SCREEN_STALLED;
}

static enum screen_status fake_wait(struct screen *screen, const struct screen_wait *wait)
{
	struct fake_screen *s = (struct fake_screen *)screen;

	s->waits++;
	s->wait_deadline_ns = wait->deadline_ns;
	stepped_clock_now_ns += s->wait_takes_ns;
	if (s->on_wait)
		s->on_wait(s);
	return s->blocks ? wait_for(wait) : s->wait_status;
}

static void give(struct fake_screen *s, struct frame *ret)
{
	*ret = (struct frame){.view = {s->pixels, s->width, s->height, 4 * (ptrdiff_t)s->width}, .serial = s->serial};
	s->base.width = s->width;
	s->base.height = s->height;
}

static enum screen_status fake_get(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct fake_screen *s = (struct fake_screen *)screen;

	(void)wait;
	s->gets++;
	stepped_clock_now_ns += s->get_takes_ns;
	if (s->get_status == SCREEN_OK)
		give(s, ret);
	return s->get_status;
}

static enum screen_status fake_refresh(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct fake_screen *s = (struct fake_screen *)screen;

	(void)wait;
	s->refreshes++;
	if (s->refresh_status == SCREEN_OK)
		give(s, ret);
	return s->refresh_status;
}

void fake_screen_init(struct fake_screen *screen)
{
	static const struct screen_ops ops = {
		.scheme = "fake", .summary = "for tests", .wait = fake_wait, .get = fake_get, .refresh = fake_refresh};

	*screen = (struct fake_screen){.base = {.ops = &ops, .live = true}, .width = 64, .height = 48, .serial = 1};
}

// --- input -----------------------------------------------------------------------------------------------------------

static int note(struct input *input, const char *call, int held, const char *format, ...) PRINTF_LIKE(4, 5);
static int note(struct input *input, const char *call, int held, const char *format, ...)
{
	struct fake_input *i = (struct fake_input *)input;
	va_list arguments;
	int n;

	if (i->fails && !strcmp(i->fails, call)) {
		error_set(&input->failure, CONDPROF__CODE__INPUT_FAILED, EPIPE, "%s fails as told", call);
		return -EPIPE;
	}
	i->held += held;
	i->most_held = MAX(i->most_held, i->held);
	n = snprintf(i->log + i->used, sizeof(i->log) - i->used, "%s", call);
	i->used = MIN(i->used + (size_t)n, sizeof(i->log) - 1);
	va_start(arguments, format);
	n = vsnprintf(i->log + i->used, sizeof(i->log) - i->used, format, arguments);
	va_end(arguments);
	i->used = MIN(i->used + (size_t)n, sizeof(i->log) - 1);
	return 0;
}

static int fake_move(struct input *input, int x, int y)
{
	return note(input, "move", 0, " %d,%d|", x, y);
}

static int fake_press(struct input *input)
{
	int r = note(input, "press", 1, "|");

	atomic_fetch_add(&((struct fake_input *)input)->pressed, 1);
	return r;
}

static int fake_release(struct input *input)
{
	return note(input, "release", -1, "|");
}

static int fake_key_press(struct input *input, uint32_t keysym)
{
	return note(input, "key", 1, " %x|", keysym);
}

static int fake_key_release(struct input *input, uint32_t keysym)
{
	return note(input, "unkey", -1, " %x|", keysym);
}

static int fake_type(struct input *input, const char *text)
{
	return note(input, "type", 0, " %s|", text);
}

static int fake_release_all(struct input *input)
{
	return note(input, "release_all", -((struct fake_input *)input)->held, "|");
}

void fake_input_init(struct fake_input *input)
{
	static const struct input_ops ops = {
		.scheme = "fake",
		.summary = "for tests",
		.pointer_move = fake_move,
		.pointer_press = fake_press,
		.pointer_release = fake_release,
		.key_press = fake_key_press,
		.key_release = fake_key_release,
		.type = fake_type,
		.release_all = fake_release_all,
	};

	*input = (struct fake_input){.base = {.ops = &ops}};
}

// --- clocks ----------------------------------------------------------------------------------------------------------

int64_t stepped_clock_now_ns, stepped_clock_step_ns = 1;
int64_t stepped_clock_reads;

int64_t stepped_clock(void)
{
	stepped_clock_reads++;
	stepped_clock_now_ns += stepped_clock_step_ns;
	return stepped_clock_now_ns;
}

void stepped_clock_reset(int64_t step_ns)
{
	stepped_clock_now_ns = 1000000;
	stepped_clock_step_ns = step_ns;
	stepped_clock_reads = 0;
}

struct ending *coupled_clock_stopped;
int64_t coupled_clock_stop_at_ns;

static int64_t coupled_now(struct engine_clock *clock)
{
	return clock->virtual_now_ns;
}

static int64_t coupled_now_at(struct engine_clock *clock, int64_t deadline_ns)
{
	(void)clock;
	return deadline_ns;
}

static int coupled_wait(struct engine_clock *clock, int64_t deadline_ns, int wake_fd)
{
	bool stops = coupled_clock_stopped && coupled_clock_stop_at_ns < deadline_ns;
	int64_t until = stops ? coupled_clock_stop_at_ns : deadline_ns;

	(void)wake_fd;
	if (until > clock->virtual_now_ns) {
		stepped_clock_now_ns += until - clock->virtual_now_ns;
		clock->virtual_now_ns = until;
	}
	if (!stops)
		return 0;
	ending_request(coupled_clock_stopped, CONDPROF__END_REASON__REASON_STOPPED,
		       CONDPROF__SESSION_RESULT__SESSION_OK, NULL);
	return 1;
}

void coupled_clock_init(struct engine_clock *clock)
{
	static const struct engine_clock_ops ops = {coupled_now, coupled_wait, coupled_now_at};

	*clock = (struct engine_clock){.ops = &ops, .virtual_now_ns = NSEC_PER_SEC};
	coupled_clock_stopped = NULL;
	coupled_clock_stop_at_ns = 0;
}

int64_t aborting_clock(void)
{
	fprintf(stderr, "the measuring clock was read\n");
	abort();
}

// --- recorder --------------------------------------------------------------------------------------------------------

static struct fake_recorder recorder_state;

struct recorder *fake_recorder(void)
{
	return (struct recorder *)&recorder_state;
}

struct fake_recorder *fake_recorder_state(void)
{
	return &recorder_state;
}

void fake_recorder_reset(void)
{
	for (size_t i = 0; i < recorder_state.count; i++)
		condprof__debug_report_message__free_unpacked(recorder_state.messages[i], NULL);
	free(recorder_state.messages);
	recorder_state = (struct fake_recorder){0};
}

int recorder_push(struct recorder *recorder, const Condprof__DebugReportMessage *message)
{
	struct fake_recorder *r = (struct fake_recorder *)recorder;
	size_t size = condprof__debug_report_message__get_packed_size(message);
	static uint8_t packed[16 * 1024 * 1024];

	if (r->full) {
		r->lost++;
		return -ENOBUFS;
	}
	if (size > sizeof(packed))
		abort();
	condprof__debug_report_message__pack(message, packed);
	if (r->counting_only) {
		r->counted++;
		return 0;
	}
	if (r->count == r->room) {
		r->room = 2 * r->room + 16;
		r->messages = realloc(r->messages, r->room * sizeof(struct Condprof__DebugReportMessage *));
		if (!r->messages)
			abort();
	}
	r->messages[r->count] = condprof__debug_report_message__unpack(NULL, size, packed);
	if (!r->messages[r->count++])
		abort();
	return 0;
}

int recorder_wait_room(struct recorder *recorder, const Condprof__DebugReportMessage *message, int wake_fd)
{
	struct fake_recorder *r = (struct fake_recorder *)recorder;
	struct pollfd wake = {.fd = wake_fd, .events = POLLIN};

	(void)message;
	r->waits++;
	if (!r->blocks)
		return 0;
	poll(&wake, 1, -1);
	return -EINTR;
}

int64_t recorder_lost(const struct recorder *recorder)
{
	return ((const struct fake_recorder *)recorder)->lost;
}

int64_t recorder_dropped_occurrences(const struct recorder *recorder)
{
	(void)recorder;
	return 0;
}

int64_t recorder_dropped_segments(const struct recorder *recorder)
{
	(void)recorder;
	return 0;
}

// --- everything together ---------------------------------------------------------------------------------------------

struct stage *stage_new(struct maker *maker)
{
	struct stage *stage = take(1, sizeof(*stage));

	log_set_level(LOG_LEVEL_ERROR);
	stage->maker = maker;
	engine_clock_init_virtual(&stage->clock);
	stage->detector = fake_detector_new(maker->scenario.n_conditions);
	fake_screen_init(&stage->screen);
	fake_input_init(&stage->input);
	if (ending_init(&stage->ending) < 0)
		abort();
	fake_recorder_reset();
	stepped_clock_reset(1);
	if (timing_new(&maker->scenario, stepped_clock, &stage->timing) < 0)
		abort();
	stage->params = (struct processor_params){
		.scenario = &maker->scenario,
		.clock = &stage->clock,
		.detector = &stage->detector->base,
		.screen = &stage->screen.base,
		.input = &stage->input.base,
		.ending = &stage->ending,
		.timing = stage->timing,
		.recorder = fake_recorder(),
		.period_ns = 100 * NSEC_PER_MSEC,
		.random_seed = 1,
	};
	return stage;
}

void stage_begin(struct stage *stage)
{
	if (processor_new(&stage->params, &stage->processor) < 0)
		abort();
	processor_start(stage->processor);
}

bool stage_pass(struct stage *stage)
{
	return processor_pass(stage->processor);
}

struct stage *stage_free(struct stage *stage)
{
	processor_free(stage->processor);
	timing_free(stage->timing);
	ending_deinit(&stage->ending);
	fake_detector_free(stage->detector);
	maker_free(stage->maker);
	free(stage);
	fake_recorder_reset();
	return NULL;
}

int64_t stage_checks(struct stage *stage, uint32_t condition)
{
	struct condition_figures figures;

	timing_condition_figures(stage->timing, condition, &figures);
	return figures.checks;
}

Condprof__EndReason stage_reason(struct stage *stage)
{
	struct ending_reason reason;

	ending_get(&stage->ending, &reason);
	return reason.reason;
}

static bool is_occurrence(const Condprof__DebugReportMessage *message)
{
	return message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT ||
	       message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_TRIGGER_EVENT;
}

size_t stage_messages(void)
{
	size_t count = 0;

	for (size_t i = 0; i < recorder_state.count; i++)
		count += is_occurrence(recorder_state.messages[i]);
	return count;
}

const Condprof__DebugReportMessage *stage_message(size_t index)
{
	for (size_t i = 0; i < recorder_state.count; i++) {
		if (is_occurrence(recorder_state.messages[i]) && index-- == 0)
			return recorder_state.messages[i];
	}
	abort();
}
