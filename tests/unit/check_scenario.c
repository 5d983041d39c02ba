// SPDX-License-Identifier: GPL-3.0-or-later
/// Decoding scenarios: one good scenario with a bit of everything, and a change at a time that must be refused, with
/// its place and its reason.
#include "config.h"

#include "daemon/scenario/decoder.h"
#include "daemon/scenario/scenario.h"
#include "proto/limits.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xkbcommon/xkbcommon-keysyms.h>

#define TEXT(literal) ((char *)(uintptr_t)(literal))

/// The good scenario: screen events "popup" (image "ok", color "spot") and "later" (image "there"), trigger event
/// "give up" (timer, counter, broadcast).
static struct {
	Condprof__Scenario scenario;
	Condprof__Rate rate;
	Condprof__Counter retries, total;
	Condprof__Event popup, later, give_up;
	Condprof__Condition ok, spot, there, timer, many, reset;
	Condprof__ImageCondition ok_image, there_image;
	Condprof__ColorCondition spot_color;
	Condprof__TextCondition text;
	Condprof__NumberCondition number;
	Condprof__TimerCondition timer_timer;
	Condprof__CounterCondition many_counter;
	Condprof__BroadcastCondition reset_broadcast;
	Condprof__Area area;
	Condprof__Point at, position, offset, points[3];
	Condprof__Operand three, retries_operand;
	Condprof__Action click, swipe, pause, key, type, add, disable, notify, stop;
	Condprof__ClickAction click_click;
	Condprof__SwipeAction swipe_swipe;
	Condprof__PauseAction pause_pause;
	Condprof__KeyAction key_key;
	Condprof__TypeAction type_type;
	Condprof__CounterAction add_counter;
	Condprof__EventStateAction disable_state;
	Condprof__NotifyAction notify_notify;
	Condprof__SignalAction signal;
	Condprof__StopAction stop_stop;
	Condprof__TextPart try_part, retries_part;
	uint8_t *png; ///< 8 x 6 px, with contrast
	size_t png_size;
} f;

static Condprof__Counter *counters[] = {&f.retries, &f.total};
static Condprof__Event *screen_events[] = {&f.popup, &f.later}, *trigger_events[] = {&f.give_up};
static Condprof__Condition *popup_conditions[] = {&f.ok, &f.spot}, *later_conditions[] = {&f.there},
			   *give_up_conditions[] = {&f.timer, &f.many, &f.reset};
static Condprof__Action *popup_actions[] = {&f.click, &f.swipe, &f.pause,   &f.key,
					    &f.type,  &f.add,   &f.disable, &f.notify},
			*give_up_actions[] = {&f.stop};
static Condprof__Point *point_list[] = {&f.points[0], &f.points[1], &f.points[2]};
static Condprof__TextPart *text_parts[] = {&f.try_part, &f.retries_part};
static char *event_list[] = {TEXT("later"), TEXT("give up")};
static char *language_list[] = {TEXT("eng"), TEXT("script/Latin"), TEXT("chi_sim")};

static void make_png(int width, int height, bool flat, uint8_t **ret, size_t *ret_size)
{
	struct picture *picture = NULL;

	ck_assert_int_eq(picture_new(width, height, &picture), 0);
	for (int i = 0; i < width * height * 4; i++)
		picture->pixels[i] = flat ? (uint8_t)(40 * (i % 4)) : (uint8_t)(i * 7);
	ck_assert_int_eq(png_encode(picture_view(picture), ret, ret_size, NULL), 0);
	picture_free(picture);
}

static void set_point(Condprof__Point *point, int x, int y)
{
	condprof__point__init(point);
	point->has_x = point->has_y = true;
	point->x = x;
	point->y = y;
}

static void set_area(Condprof__Area *area, int x, int y, int width, int height)
{
	condprof__area__init(area);
	area->has_x = area->has_y = area->has_width = area->has_height = true;
	area->x = x;
	area->y = y;
	area->width = width;
	area->height = height;
}

static void init_conditions(void)
{
	condprof__image_condition__init(&f.ok_image);
	f.ok_image.file = TEXT("ok.png");
	f.ok_image.has_png = true;
	f.ok_image.png = (ProtobufCBinaryData){f.png_size, f.png};
	f.there_image = f.ok_image;
	f.there_image.has_search = true;
	f.there_image.search = CONDPROF__SEARCH__SEARCH_EXACT;
	f.there_image.at = &f.at;
	set_point(&f.at, 100, 40);
	set_area(&f.area, 10, 20, 30, 5);
	condprof__color_condition__init(&f.spot_color);
	f.spot_color.has_rgb = true;
	f.spot_color.rgb = 0xff8800;
	f.spot_color.area = &f.area;
	condprof__text_condition__init(&f.text);
	f.text.text = TEXT("Sign in");
	f.text.area = &f.area;
	f.text.n_languages = 3;
	f.text.languages = language_list;
	condprof__number_condition__init(&f.number);
	f.number.operand = &f.retries_operand;
	f.number.area = &f.area;
	condprof__timer_condition__init(&f.timer_timer);
	f.timer_timer.has_duration_ns = true;
	f.timer_timer.duration_ns = 30 * NSEC_PER_SEC;
	condprof__counter_condition__init(&f.many_counter);
	f.many_counter.counter = TEXT("retries");
	f.many_counter.comparison = CONDPROF__COMPARISON__GREATER_OR_EQUAL;
	f.many_counter.has_comparison = true;
	f.many_counter.operand = &f.three;
	condprof__broadcast_condition__init(&f.reset_broadcast);
	f.reset_broadcast.broadcast = TEXT("reset");
	condprof__operand__init(&f.three);
	f.three.value_case = CONDPROF__OPERAND__VALUE_NUMBER;
	f.three.number = 3;
	condprof__operand__init(&f.retries_operand);
	f.retries_operand.value_case = CONDPROF__OPERAND__VALUE_COUNTER;
	f.retries_operand.counter = TEXT("retries");
}

static Condprof__Condition condition(const char *name, int kind, void *message)
{
	Condprof__Condition ret = CONDPROF__CONDITION__INIT;

	ret.name = (char *)(uintptr_t)name;
	ret.kind_case = (Condprof__Condition__KindCase)kind;
	ret.image = message;
	return ret;
}

static Condprof__Action action(int kind, void *message)
{
	Condprof__Action ret = CONDPROF__ACTION__INIT;

	ret.kind_case = (Condprof__Action__KindCase)kind;
	ret.click = message;
	return ret;
}

static void init_actions(void)
{
	condprof__click_action__init(&f.click_click);
	f.click_click.target_case = CONDPROF__CLICK_ACTION__TARGET_CONDITION;
	f.click_click.condition = TEXT("ok");
	set_point(&f.position, 0, 0);
	set_point(&f.offset, 0, -4);
	f.click_click.offset = &f.offset;
	condprof__swipe_action__init(&f.swipe_swipe);
	for (int i = 0; i < 3; i++)
		set_point(&f.points[i], 10 * i, 0);
	f.swipe_swipe.n_points = 3;
	f.swipe_swipe.points = point_list;
	condprof__pause_action__init(&f.pause_pause);
	f.pause_pause.has_duration_ns = true;
	f.pause_pause.duration_ns = NSEC_PER_MSEC;
	condprof__key_action__init(&f.key_key);
	f.key_key.keys = TEXT("alt+F4");
	condprof__text_part__init(&f.try_part);
	f.try_part.part_case = CONDPROF__TEXT_PART__PART_LITERAL;
	f.try_part.literal = TEXT("try ");
	condprof__text_part__init(&f.retries_part);
	f.retries_part.part_case = CONDPROF__TEXT_PART__PART_COUNTER;
	f.retries_part.counter = TEXT("retries");
	condprof__type_action__init(&f.type_type);
	f.type_type.n_text = 2;
	f.type_type.text = text_parts;
	condprof__counter_action__init(&f.add_counter);
	f.add_counter.counter = TEXT("total");
	f.add_counter.operand = &f.retries_operand;
	condprof__event_state_action__init(&f.disable_state);
	f.disable_state.change = CONDPROF__STATE_CHANGE__DISABLE;
	f.disable_state.has_change = true;
	f.disable_state.n_events = 2;
	f.disable_state.events = event_list;
	condprof__notify_action__init(&f.notify_notify);
	f.notify_notify.n_text = 2;
	f.notify_notify.text = text_parts;
	condprof__signal_action__init(&f.signal);
	f.signal.signal = TEXT("org.example.Kiosk.Closed");
	f.signal.path = TEXT("/org/example");
	condprof__stop_action__init(&f.stop_stop);
	f.stop_stop.n_text = 1;
	f.stop_stop.text = text_parts;
	f.stop_stop.has_result = true;
	f.stop_stop.result = CONDPROF__RESULT__RESULT_FAILED;
}

static void link_items(void)
{
	f.ok = condition("ok", CONDPROF__CONDITION__KIND_IMAGE, &f.ok_image);
	f.there = condition("there", CONDPROF__CONDITION__KIND_IMAGE, &f.there_image);
	f.spot = condition("spot", CONDPROF__CONDITION__KIND_COLOR, &f.spot_color);
	f.timer = condition("30 s", CONDPROF__CONDITION__KIND_TIMER, &f.timer_timer);
	f.many = condition("many", CONDPROF__CONDITION__KIND_COUNTER, &f.many_counter);
	f.reset = condition("reset", CONDPROF__CONDITION__KIND_BROADCAST, &f.reset_broadcast);
	f.click = action(CONDPROF__ACTION__KIND_CLICK, &f.click_click);
	f.swipe = action(CONDPROF__ACTION__KIND_SWIPE, &f.swipe_swipe);
	f.pause = action(CONDPROF__ACTION__KIND_PAUSE, &f.pause_pause);
	f.key = action(CONDPROF__ACTION__KIND_KEY, &f.key_key);
	f.type = action(CONDPROF__ACTION__KIND_TYPE, &f.type_type);
	f.add = action(CONDPROF__ACTION__KIND_COUNTER, &f.add_counter);
	f.disable = action(CONDPROF__ACTION__KIND_EVENT_STATE, &f.disable_state);
	f.notify = action(CONDPROF__ACTION__KIND_NOTIFY, &f.notify_notify);
	f.stop = action(CONDPROF__ACTION__KIND_STOP, &f.stop_stop);
}

static Condprof__Event event(const char *name, Condprof__Condition **conditions, size_t n_conditions,
			     Condprof__Action **actions, size_t n_actions)
{
	Condprof__Event ret = CONDPROF__EVENT__INIT;

	ret.name = (char *)(uintptr_t)name;
	ret.n_conditions = n_conditions;
	ret.conditions = conditions;
	ret.n_actions = n_actions;
	ret.actions = actions;
	return ret;
}

static void init(void)
{
	make_png(8, 6, false, &f.png, &f.png_size);
	init_conditions();
	init_actions();
	link_items();
	f.popup = event("popup", popup_conditions, 2, popup_actions, ARRAY_SIZE(popup_actions));
	f.later = event("later", later_conditions, 1, NULL, 0);
	f.give_up = event("give up", give_up_conditions, 3, give_up_actions, 1);
	condprof__counter__init(&f.retries);
	f.retries.name = TEXT("retries");
	condprof__counter__init(&f.total);
	f.total.name = TEXT("total");
	f.total.has_initial_value = true;
	f.total.initial_value = 2.5;
	condprof__rate__init(&f.rate);
	f.rate.has_passes = f.rate.has_per_ns = true;
	f.rate.passes = 30;
	f.rate.per_ns = 60 * NSEC_PER_SEC;
	condprof__scenario__init(&f.scenario);
	f.scenario.name = TEXT("kiosk");
	f.scenario.rate = &f.rate;
	f.scenario.n_counters = 2;
	f.scenario.counters = counters;
	f.scenario.n_screen_events = 2;
	f.scenario.screen_events = screen_events;
	f.scenario.n_trigger_events = 1;
	f.scenario.trigger_events = trigger_events;
}

static void clear(void)
{
	free(f.png);
}

static struct scenario_problems problems;

static int decode_message(Condprof__Scenario *message, struct scenario **ret)
{
	size_t size = condprof__scenario__get_packed_size(message);
	uint8_t *packed = malloc(size);

	condprof__scenario__pack(message, packed);
	int r = scenario_decode(packed, size, ret, &problems);
	free(packed);
	return r;
}

static struct scenario *decode_good(void)
{
	struct scenario *scenario = NULL;
	int r = decode_message(&f.scenario, &scenario);

	ck_assert_msg(r == 0, "%d %s: %s", r, problems.items[0].place, problems.items[0].message);
	ck_assert_uint_eq(problems.count, 0);
	return scenario;
}

START_TEST(settings)
{
	struct scenario *scenario = decode_good();

	ck_assert_str_eq(scenario->name, "kiosk");
	ck_assert_int_eq(scenario->id, 0);
	ck_assert_ptr_null(scenario->screen);
	ck_assert_int_eq(scenario->period_ns, 2 * NSEC_PER_SEC);
	ck_assert_uint_eq(scenario->n_counters, 2);
	ck_assert_str_eq(scenario->counters[1].name, "total");
	ck_assert_double_eq(scenario->counters[1].initial_value, 2.5);
	ck_assert_double_eq(scenario->counters[0].initial_value, 0);
	scenario_free(scenario);
	f.scenario.rate = NULL;
	f.scenario.screen = TEXT("x11::0");
	f.scenario.has_id = true;
	f.scenario.id = -5;
	f.scenario.quality = 1200;
	f.scenario.has_quality = true;
	f.scenario.rotate_ns = 3600 * NSEC_PER_SEC;
	f.scenario.has_rotate_ns = true;
	scenario = decode_good();
	ck_assert_int_eq(scenario->period_ns, 100 * NSEC_PER_MSEC);
	ck_assert_str_eq(scenario->screen, "x11::0");
	ck_assert_int_eq(scenario->id, -5);
	ck_assert_int_eq(scenario->quality, 1200);
	ck_assert_int_eq(scenario->rotate_ns, 3600 * NSEC_PER_SEC);
	scenario_free(scenario);
	ck_assert_ptr_null(scenario_free(NULL));
}
END_TEST

START_TEST(events)
{
	struct scenario *scenario = decode_good();
	const struct event *e = scenario->events;

	ck_assert_uint_eq(scenario->n_events, 3);
	ck_assert_uint_eq(scenario->screen_events, 2);
	ck_assert_str_eq(e[0].name, "popup");
	ck_assert(!e[0].trigger && !e[1].trigger && e[2].trigger);
	ck_assert(e[0].enabled && !e[0].any && !e[0].keep_detecting);
	ck_assert_uint_eq(e[0].first_condition, 0);
	ck_assert_uint_eq(e[0].conditions, 2);
	ck_assert_uint_eq(e[2].first_condition, 3);
	ck_assert_uint_eq(e[2].conditions, 3);
	ck_assert_uint_eq(e[2].first_action, 8);
	ck_assert_uint_eq(e[2].actions, 1);
	for (uint32_t i = 0; i < scenario->n_conditions; i++) {
		const struct event *of = &e[scenario->conditions[i].event];

		ck_assert(i >= of->first_condition && i < of->first_condition + of->conditions);
	}
	scenario_free(scenario);
	f.popup.has_match = f.popup.has_enabled = f.popup.has_cooldown_ns = f.popup.has_keep_detecting = true;
	f.popup.match = CONDPROF__MATCH__MATCH_ANY;
	f.popup.enabled = false;
	f.popup.cooldown_ns = 5;
	f.popup.keep_detecting = true;
	scenario = decode_good();
	e = scenario->events;
	ck_assert(e[0].any && !e[0].enabled && e[0].keep_detecting);
	ck_assert_int_eq(e[0].cooldown_ns, 5);
	scenario_free(scenario);
}
END_TEST

START_TEST(conditions)
{
	struct scenario *scenario = decode_good();
	const struct condition *c = scenario->conditions;

	ck_assert_uint_eq(scenario->n_conditions, 6);
	ck_assert_int_eq(c[0].kind, CONDITION_IMAGE);
	ck_assert_str_eq(c[0].name, "ok");
	ck_assert_str_eq(c[0].image.file, "ok.png");
	ck_assert(c[0].present);
	ck_assert_double_eq(c[0].threshold, 4);
	ck_assert_int_eq(c[0].image.image->width, 8);
	ck_assert_int_eq(c[0].search, CONDPROF__SEARCH__SEARCH_SCREEN);
	ck_assert_int_eq(c[1].kind, CONDITION_COLOR);
	ck_assert_uint_eq(c[1].rgb, 0xff8800);
	ck_assert_mem_eq(&c[1].area, &((struct rect){10, 20, 40, 25}), sizeof(struct rect));
	ck_assert_int_eq(c[2].search, CONDPROF__SEARCH__SEARCH_EXACT);
	ck_assert_mem_eq(&c[2].area, &((struct rect){100, 40, 108, 46}), sizeof(struct rect));
	ck_assert_int_eq(c[3].timer.duration_ns, 30 * NSEC_PER_SEC);
	ck_assert_int_eq(c[4].kind, CONDITION_COUNTER);
	ck_assert_uint_eq(c[4].counter.counter, 0);
	ck_assert_int_eq(c[4].counter.comparison, CONDPROF__COMPARISON__GREATER_OR_EQUAL);
	ck_assert_double_eq(c[4].counter.operand.number, 3);
	ck_assert_uint_eq(c[4].counter.operand.counter, NO_INDEX);
	ck_assert_uint_eq(scenario->n_broadcasts, 1);
	ck_assert_str_eq(scenario->broadcasts[c[5].broadcast].name, "reset");
	ck_assert_str_eq(condition_kind_name(CONDITION_BROADCAST), "broadcast");
	scenario_free(scenario);
}
END_TEST

START_TEST(actions)
{
	struct scenario *scenario = decode_good();
	const struct action *a = scenario->actions;

	ck_assert_uint_eq(scenario->n_actions, 9);
	ck_assert_int_eq(a[0].click.target, CLICK_CONDITION);
	ck_assert_uint_eq(a[0].click.condition, 0);
	ck_assert_int_eq(a[0].click.offset_y, -4);
	ck_assert_int_eq(a[0].click.press_ns, 50 * NSEC_PER_MSEC);
	ck_assert_uint_eq(a[1].swipe.points, 3);
	ck_assert_int_eq(scenario->points[a[1].swipe.first_point + 2].x, 20);
	ck_assert_int_eq(a[1].swipe.duration_ns, 300 * NSEC_PER_MSEC);
	ck_assert_int_eq(a[2].pause_ns, NSEC_PER_MSEC);
	ck_assert_uint_eq(a[3].keys.count, 2);
	ck_assert_uint_eq(a[3].keys.keysyms[1], XKB_KEY_F4);
	ck_assert_uint_eq(a[4].text.parts, 2);
	ck_assert_str_eq(scenario->text_parts[a[4].text.first_part].literal, "try ");
	ck_assert_ptr_null(scenario->text_parts[a[4].text.first_part + 1].literal);
	ck_assert_uint_eq(scenario->text_parts[a[4].text.first_part + 1].counter, 0);
	ck_assert_uint_eq(a[5].counter.counter, 1);
	ck_assert_uint_eq(a[5].counter.operand.counter, 0);
	ck_assert_int_eq(a[6].event_state.change, CONDPROF__STATE_CHANGE__DISABLE);
	ck_assert_uint_eq(a[6].event_state.events, 2);
	ck_assert_uint_eq(scenario->event_refs[a[6].event_state.first_event], 1);
	ck_assert_uint_eq(scenario->event_refs[a[6].event_state.first_event + 1], 2);
	ck_assert_int_eq(a[7].text.level, CONDPROF__LEVEL__LEVEL_INFO);
	ck_assert_int_eq(a[8].kind, CONDPROF__ACTION_KIND__ACTION_STOP);
	ck_assert_int_eq(a[8].text.result, CONDPROF__SESSION_RESULT__SESSION_FAILED);
	scenario_free(scenario);
}
END_TEST

static void broken(int r)
{
	ck_assert_int_eq(r, -EINVAL);
	ck_assert_uint_gt(problems.count, 0);
}

#define CHANGE(name, change)                                                                                           \
	static void name(void)                                                                                         \
	{                                                                                                              \
		change;                                                                                                \
	}

static char long_text[5000];

static uint8_t *spare_png;
static size_t spare_png_size;

static void use_spare_png(int width, int height, bool flat)
{
	make_png(width, height, flat, &spare_png, &spare_png_size);
	f.ok_image.png = (ProtobufCBinaryData){spare_png_size, spare_png};
}

CHANGE(no_scenario_name, f.scenario.name = NULL)
CHANGE(empty_scenario_name, f.scenario.name = TEXT(""))
CHANGE(long_scenario_name, f.scenario.name = long_text)
CHANGE(escape_in_name, f.scenario.name = TEXT("a\x1b[2J"))
CHANGE(long_screen, f.scenario.screen = long_text)
CHANGE(escape_in_screen, f.scenario.screen = TEXT("x11:\x1b"))
CHANGE(negative_rate, f.rate.passes = -1)
CHANGE(nan_rate, f.rate.passes = NAN)
CHANGE(infinite_rate, f.rate.passes = INFINITY)
CHANGE(rate_without_time, f.rate.has_per_ns = false)
CHANGE(fast_rate, f.rate.passes = 1e12)
CHANGE(slow_rate, f.rate.passes = 1e-9)
CHANGE(negative_quality, f.scenario.has_quality = true; f.scenario.quality = -1)
CHANGE(huge_quality, f.scenario.has_quality = true; f.scenario.quality = 20000)
CHANGE(negative_rotate, f.scenario.has_rotate_ns = true; f.scenario.rotate_ns = INT64_MIN)
CHANGE(fast_rotate, f.scenario.has_rotate_ns = true; f.scenario.rotate_ns = 1)
CHANGE(no_events, f.scenario.n_screen_events = f.scenario.n_trigger_events = 0)
CHANGE(nameless_counter, f.total.name = NULL)
CHANGE(number_counter, f.total.name = TEXT("12"))
CHANGE(hex_counter, f.total.name = TEXT("0x1F"))
CHANGE(exponent_counter, f.total.name = TEXT("-1e5 "))
CHANGE(infinity_counter, f.total.name = TEXT("Infinity"))
CHANGE(same_counter, f.total.name = TEXT("retries"))
CHANGE(nan_counter, f.total.initial_value = NAN)
CHANGE(nameless_event, f.later.name = NULL)
CHANGE(event_all, f.later.name = TEXT("all"))
CHANGE(same_event, f.later.name = TEXT("popup"); event_list[0] = TEXT("popup"))
CHANGE(same_event_elsewhere, f.give_up.name = TEXT("popup"); event_list[1] = TEXT("popup"))
CHANGE(event_id_zero, f.later.has_id = true)
CHANGE(event_id_negative, f.give_up.has_id = true; f.give_up.id = -3)
CHANGE(event_id_twice, f.give_up.has_id = f.later.has_id = true; f.give_up.id = f.later.id = 7)
CHANGE(bad_match, f.later.has_match = true; f.later.match = (Condprof__Match)9)
CHANGE(negative_cooldown, f.later.has_cooldown_ns = true; f.later.cooldown_ns = -1)
CHANGE(long_cooldown, f.later.has_cooldown_ns = true; f.later.cooldown_ns = INT64_MAX)
CHANGE(trigger_cooldown, f.give_up.has_cooldown_ns = true; f.give_up.cooldown_ns = 1)
CHANGE(trigger_keep, f.give_up.has_keep_detecting = true; f.give_up.keep_detecting = true)
CHANGE(trigger_refresh, f.give_up.has_refresh = true; f.give_up.refresh = true)
CHANGE(no_conditions, f.later.n_conditions = 0)
CHANGE(nameless_condition, f.spot.name = NULL)
CHANGE(condition_found, f.spot.name = TEXT("found"))
CHANGE(same_condition, f.spot.name = TEXT("ok"))
CHANGE(condition_id_zero, f.there.has_id = true)
CHANGE(condition_id_twice, f.there.has_id = f.reset.has_id = true; f.there.id = f.reset.id = 1)
CHANGE(no_kind, f.spot.kind_case = CONDPROF__CONDITION__KIND__NOT_SET)
CHANGE(timer_on_screen, popup_conditions[1] = &f.timer)
CHANGE(color_in_trigger, give_up_conditions[1] = &f.spot)
CHANGE(no_png, f.ok_image.has_png = false)
CHANGE(empty_png, f.ok_image.png.len = 0)
CHANGE(cut_png, f.ok_image.png.len -= 20)
CHANGE(flat_png, use_spare_png(5, 5, true))
CHANGE(one_pixel_png, use_spare_png(1, 1, false))
CHANGE(bad_search, f.ok_image.has_search = true; f.ok_image.search = (Condprof__Search)5)
CHANGE(search_without_area, f.ok_image.has_search = true; f.ok_image.search = CONDPROF__SEARCH__SEARCH_AREA)
CHANGE(area_without_search, f.ok_image.area = &f.area)
CHANGE(exact_without_at, f.there_image.at = NULL)
CHANGE(at_without_exact, f.ok_image.at = &f.at)
CHANGE(negative_at, f.at.x = -1; f.at.has_x = true)
CHANGE(far_at, f.at.y = INT32_MAX; f.at.has_y = true)
CHANGE(negative_threshold, f.ok_image.has_threshold = true; f.ok_image.threshold = -0.1)
CHANGE(large_threshold, f.spot_color.has_threshold = true; f.spot_color.threshold = 100.5)
CHANGE(nan_threshold, f.spot_color.has_threshold = true; f.spot_color.threshold = NAN)
CHANGE(no_rgb, f.spot_color.has_rgb = false)
CHANGE(large_rgb, f.spot_color.rgb = 0x1000000)
CHANGE(no_area, f.spot_color.area = NULL)
CHANGE(empty_area, f.area.width = 0)
CHANGE(negative_area, f.area.x = -1)
CHANGE(overflowing_area, f.area.x = f.area.width = INT32_MAX)
CHANGE(timer_without_duration, f.timer_timer.has_duration_ns = false)
CHANGE(negative_timer, f.timer_timer.duration_ns = -1)
CHANGE(unknown_counter, f.many_counter.counter = TEXT("retires"))
CHANGE(far_counter, f.many_counter.counter = TEXT("elephant"))
CHANGE(no_counter, f.many_counter.counter = NULL)
CHANGE(bad_comparison, f.many_counter.comparison = (Condprof__Comparison)6)
CHANGE(no_operand, f.many_counter.operand = NULL)
CHANGE(empty_operand, f.three.value_case = CONDPROF__OPERAND__VALUE__NOT_SET)
CHANGE(nan_operand, f.three.number = NAN)
CHANGE(unknown_operand, f.many_counter.operand = &f.retries_operand; f.retries_operand.counter = TEXT("Totals"))
CHANGE(nameless_broadcast, f.reset_broadcast.broadcast = NULL)
CHANGE(bad_bus, f.reset_broadcast.has_bus = true; f.reset_broadcast.bus = (Condprof__Bus)3)
CHANGE(bus_without_member, f.reset_broadcast.has_bus = true; f.reset_broadcast.bus = CONDPROF__BUS__BUS_SYSTEM)
CHANGE(bus_injection, bus_without_member();
       f.reset_broadcast.broadcast = TEXT("org.example.Kiosk.A',type='method_call"))
CHANGE(with_signal, f.pause = action(CONDPROF__ACTION__KIND_SIGNAL, &f.signal))
CHANGE(signal_without_name, with_signal(); f.signal.signal = NULL)
CHANGE(signal_of_two_parts, with_signal(); f.signal.signal = TEXT("Kiosk.Closed"))
CHANGE(signal_long, with_signal(); f.signal.signal = long_text)
CHANGE(signal_without_path, with_signal(); f.signal.path = NULL)
CHANGE(signal_bad_path, with_signal(); f.signal.path = TEXT("/org/example/"))
CHANGE(signal_bad_bus, with_signal(); f.signal.has_bus = true; f.signal.bus = (Condprof__Bus)3)
CHANGE(with_secret, f.type_type.n_text = 0; f.type_type.secret = TEXT("pin"))
CHANGE(secret_as_path, with_secret(); f.type_type.secret = TEXT("../shadow"))
CHANGE(secret_dots, with_secret(); f.type_type.secret = TEXT(".."))
CHANGE(secret_empty, with_secret(); f.type_type.secret = TEXT(""))
CHANGE(secret_long, with_secret(); f.type_type.secret = long_text)
CHANGE(no_action_kind, f.pause.kind_case = CONDPROF__ACTION__KIND__NOT_SET)
CHANGE(click_nothing, f.click_click.target_case = CONDPROF__CLICK_ACTION__TARGET__NOT_SET)
CHANGE(click_unknown, f.click_click.condition = TEXT("spto"))
CHANGE(click_of_other_event, f.click_click.condition = TEXT("there"))
CHANGE(click_absent, f.ok_image.has_present = true; f.ok_image.present = false)
CHANGE(click_not_found, f.click_click.target_case = CONDPROF__CLICK_ACTION__TARGET_FOUND; f.click_click.found = false)
CHANGE(click_far, f.click_click.target_case = CONDPROF__CLICK_ACTION__TARGET_POSITION;
       f.click_click.position = &f.position; f.position.has_x = true; f.position.x = INT32_MIN)
CHANGE(click_far_offset, f.offset.y = 2000000)
CHANGE(negative_press, f.click_click.has_press_ns = true; f.click_click.press_ns = -1)
CHANGE(click_in_trigger, give_up_actions[0] = &f.click)
CHANGE(found_in_trigger, give_up_actions[0] = &f.click; f.popup.n_actions = 0;
       f.click_click.target_case = CONDPROF__CLICK_ACTION__TARGET_FOUND; f.click_click.found = true)
CHANGE(short_swipe, f.swipe_swipe.n_points = 1)
CHANGE(far_swipe, f.points[2].y = 2000000)
CHANGE(negative_swipe, f.swipe_swipe.has_duration_ns = true; f.swipe_swipe.duration_ns = -1)
CHANGE(pause_without_duration, f.pause_pause.has_duration_ns = false)
CHANGE(long_pause, f.pause_pause.duration_ns = INT64_MAX)
CHANGE(bad_key, f.key_key.keys = TEXT("alt+Retrun"))
CHANGE(no_key, f.key_key.keys = NULL)
CHANGE(type_nothing, f.type_type.n_text = 0)
CHANGE(type_empty, f.type_type.n_text = 1; f.try_part.literal = TEXT(""))
CHANGE(type_both, f.type_type.secret = TEXT("pin"))
CHANGE(type_long, f.try_part.literal = long_text)
CHANGE(type_escape, f.try_part.literal = TEXT("a\x1b"))
CHANGE(type_unknown, f.retries_part.counter = TEXT("retrys"))
CHANGE(bad_part, f.retries_part.part_case = CONDPROF__TEXT_PART__PART__NOT_SET)
CHANGE(count_unknown, f.add_counter.counter = TEXT("totl"))
CHANGE(bad_operation, f.add_counter.has_operation = true; f.add_counter.operation = (Condprof__CounterOperation)3)
CHANGE(set_nothing, f.add_counter.has_operation = true; f.add_counter.operation = CONDPROF__COUNTER_OPERATION__SET;
       f.add_counter.operand = NULL)
CHANGE(bad_change, f.disable_state.change = (Condprof__StateChange)3)
CHANGE(no_event, f.disable_state.n_events = 0)
CHANGE(all_and_some, f.disable_state.has_all = f.disable_state.all = true)
CHANGE(unknown_event, event_list[1] = TEXT("Give-Up"))
CHANGE(notify_nothing, f.notify_notify.n_text = 0)
CHANGE(bad_level, f.notify_notify.has_level = true; f.notify_notify.level = (Condprof__Level)-1)
CHANGE(bad_result, f.stop_stop.result = (Condprof__Result)2)

static const struct {
	void (*change)(void);
	const char *place, *message;
} refused[] = {
	{no_scenario_name, "scenario", "needs a name"},
	{empty_scenario_name, "scenario", "needs a name"},
	{long_scenario_name, "scenario", "256 bytes"},
	{escape_in_name, "scenario", "control characters"},
	{long_screen, "screen", "4096 bytes"},
	{escape_in_screen, "screen", "control characters"},
	{negative_rate, "rate", "10/s"},
	{nan_rate, "rate", "10/s"},
	{infinite_rate, "rate", "10/s"},
	{rate_without_time, "rate", "needs a time"},
	{fast_rate, "rate", "unlimited"},
	{slow_rate, "rate", "too slow"},
	{negative_quality, "quality", "16384"},
	{huge_quality, "quality", "16384"},
	{negative_rotate, "rotate", "negative"},
	{fast_rotate, "rotate", "1 s"},
	{no_events, "", "needs an event"},
	{nameless_counter, "counters[1]", "needs a name"},
	{number_counter, "counters[1]", "\"12\": that reads as a number"},
	{hex_counter, "counters[1]", "reads as a number"},
	{exponent_counter, "counters[1]", "reads as a number"},
	{infinity_counter, "counters[1]", "reads as a number"},
	{same_counter, "counters[1]", "an earlier counter is called \"retries\""},
	{nan_counter, "counters[1]", "not a value"},
	{nameless_event, "screen-events[1].event", "needs a name"},
	{event_all, "screen-events[1].event", "disable: all"},
	{same_event, "screen-events[1].event", "an earlier event is called \"popup\""},
	{same_event_elsewhere, "trigger-events[0].event", "an earlier event is called \"popup\""},
	{event_id_zero, "screen-events[1].id", "from 1"},
	{event_id_negative, "trigger-events[0].id", "from 1"},
	{event_id_twice, "trigger-events[0].id", "7 is the id of another"},
	{bad_match, "screen-events[1].match", "9 is no Match"},
	{negative_cooldown, "screen-events[1].cooldown", "negative"},
	{long_cooldown, "screen-events[1].cooldown", "100 years"},
	{trigger_cooldown, "trigger-events[0].cooldown", "screen events only"},
	{trigger_keep, "trigger-events[0].keep-detecting", "screen events only"},
	{trigger_refresh, "trigger-events[0].refresh", "screen events only"},
	{no_conditions, "screen-events[1].conditions", "needs a condition"},
	{nameless_condition, "screen-events[0].conditions[1].name", "needs a name"},
	{condition_found, "screen-events[0].conditions[1].name", "click: found"},
	{same_condition, "screen-events[0].conditions[1].name", "name: of its own"},
	{condition_id_zero, "screen-events[1].conditions[0].id", "from 1"},
	{condition_id_twice, "trigger-events[0].conditions[2].id", "1 is the id"},
	{no_kind, "screen-events[0].conditions[1]", "no kind"},
	{timer_on_screen, "screen-events[0].conditions[1].timer", "trigger event"},
	{color_in_trigger, "trigger-events[0].conditions[1].color", "screen event"},
	{no_png, "screen-events[0].conditions[0].image", "is missing"},
	{empty_png, "screen-events[0].conditions[0].image", "empty"},
	{cut_png, "screen-events[0].conditions[0].image", "damaged"},
	{flat_png, "screen-events[0].conditions[0].image", "use a color condition"},
	{one_pixel_png, "screen-events[0].conditions[0].image", "use a color condition"},
	{bad_search, "screen-events[0].conditions[0].search", "5 is no Search"},
	{search_without_area, "screen-events[0].conditions[0].search", "area is missing"},
	{area_without_search, "screen-events[0].conditions[0].search", "not in one"},
	{exact_without_at, "screen-events[1].conditions[0].at", "at: [x, y]"},
	{at_without_exact, "screen-events[0].conditions[0].at", "search: exact"},
	{negative_at, "screen-events[1].conditions[0].at", "no frame"},
	{far_at, "screen-events[1].conditions[0].at", "no frame"},
	{negative_threshold, "screen-events[0].conditions[0].threshold", "-0.1"},
	{large_threshold, "screen-events[0].conditions[1].threshold", "100.5"},
	{nan_threshold, "screen-events[0].conditions[1].threshold", "nan"},
	{no_rgb, "screen-events[0].conditions[1].color", "#rrggbb"},
	{large_rgb, "screen-events[0].conditions[1].color", "#rrggbb"},
	{no_area, "screen-events[0].conditions[1].area", "missing"},
	{empty_area, "screen-events[0].conditions[1].area", "from 1"},
	{negative_area, "screen-events[0].conditions[1].area", "no frame"},
	{overflowing_area, "screen-events[0].conditions[1].area", "no frame"},
	{timer_without_duration, "trigger-events[0].conditions[0].timer", "needs a duration"},
	{negative_timer, "trigger-events[0].conditions[0].timer", "negative"},
	{unknown_counter, "trigger-events[0].conditions[1].counter", "\"retires\"; did you mean \"retries\"?"},
	{far_counter, "trigger-events[0].conditions[1].counter", "\"elephant\"; list it under counters"},
	{no_counter, "trigger-events[0].conditions[1].counter", "missing"},
	{bad_comparison, "trigger-events[0].conditions[1].is", "6 is no Comparison"},
	{no_operand, "trigger-events[0].conditions[1].is", "missing"},
	{empty_operand, "trigger-events[0].conditions[1].is", "missing"},
	{nan_operand, "trigger-events[0].conditions[1].is", "nan"},
	{unknown_operand, "screen-events[0].actions[5].add", "did you mean \"total\"?"},
	{nameless_broadcast, "trigger-events[0].conditions[2].broadcast", "needs a name"},
	{bad_bus, "trigger-events[0].conditions[2].bus", "3 is no Bus"},
	{bus_without_member, "trigger-events[0].conditions[2].broadcast", "is no D-Bus signal"},
	{bus_injection, "trigger-events[0].conditions[2].broadcast", "is no D-Bus signal"},
	{signal_without_name, "screen-events[0].actions[2].signal", "needs a name"},
	{signal_of_two_parts, "screen-events[0].actions[2].signal", "is no D-Bus signal"},
	{signal_long, "screen-events[0].actions[2].signal", "too long"},
	{signal_without_path, "screen-events[0].actions[2].path", "no D-Bus object's path"},
	{signal_bad_path, "screen-events[0].actions[2].path", "no D-Bus object's path"},
	{signal_bad_bus, "screen-events[0].actions[2].bus", "3 is no Bus"},
	{secret_as_path, "screen-events[0].actions[4].type", "no secret's name"},
	{secret_dots, "screen-events[0].actions[4].type", "no secret's name"},
	{secret_empty, "screen-events[0].actions[4].type", "no secret's name"},
	{secret_long, "screen-events[0].actions[4].type", "no secret's name"},
	{no_action_kind, "screen-events[0].actions[2]", "no kind"},
	{click_nothing, "screen-events[0].actions[0].click", "found, or [x, y]"},
	{click_unknown, "screen-events[0].actions[0].click", "did you mean \"spot\"?"},
	{click_of_other_event, "screen-events[0].actions[0].click", "\"there\"; click a condition of this event"},
	{click_absent, "screen-events[0].actions[0].click", "present: false"},
	{click_not_found, "screen-events[0].actions[0].click", "found"},
	{click_far, "screen-events[0].actions[0].click", "too far"},
	{click_far_offset, "screen-events[0].actions[0].offset", "too far"},
	{negative_press, "screen-events[0].actions[0].press", "negative"},
	{click_in_trigger, "trigger-events[0].actions[0].click", "only click a position"},
	{found_in_trigger, "trigger-events[0].actions[0].click", "only click a position"},
	{short_swipe, "screen-events[0].actions[1].swipe", "two points"},
	{far_swipe, "screen-events[0].actions[1].swipe", "too far"},
	{negative_swipe, "screen-events[0].actions[1].duration", "negative"},
	{pause_without_duration, "screen-events[0].actions[2].pause", "needs a duration"},
	{long_pause, "screen-events[0].actions[2].pause", "100 years"},
	{bad_key, "screen-events[0].actions[3].key", "did you mean \"Return\"?"},
	{no_key, "screen-events[0].actions[3].key", "a key is missing"},
	{type_nothing, "screen-events[0].actions[4].type", "missing"},
	{type_empty, "screen-events[0].actions[4].type", "missing"},
	{type_both, "screen-events[0].actions[4].type", "not both"},
	{type_long, "screen-events[0].actions[4].type", "too long"},
	{type_escape, "screen-events[0].actions[4].type", "control characters"},
	{type_unknown, "screen-events[0].actions[4].type", "did you mean \"retries\"?"},
	{bad_part, "screen-events[0].actions[4].type", "neither"},
	{count_unknown, "screen-events[0].actions[5].counter", "did you mean \"total\"?"},
	{bad_operation, "screen-events[0].actions[5].counter", "3 is no CounterOperation"},
	{set_nothing, "screen-events[0].actions[5].set", "missing"},
	{bad_change, "screen-events[0].actions[6].enable", "3 is no StateChange"},
	{no_event, "screen-events[0].actions[6].disable", "or all"},
	{all_and_some, "screen-events[0].actions[6].disable", "not both"},
	{unknown_event, "screen-events[0].actions[6].disable", "did you mean \"give up\"?"},
	{notify_nothing, "screen-events[0].actions[7].notify", "missing"},
	{bad_level, "screen-events[0].actions[7].level", "-1 is no Level"},
	{bad_result, "trigger-events[0].actions[0].result", "2 is no Result"},
};

START_TEST(refusals)
{
	struct scenario *scenario = NULL;

	memset(long_text, 'x', sizeof(long_text) - 1);
	refused[_i].change();
	broken(decode_message(&f.scenario, &scenario));
	ck_assert_ptr_null(scenario);
	ck_assert_msg(strcmp(problems.items[0].place, refused[_i].place) == 0, "%s: %s", problems.items[0].place,
		      problems.items[0].message);
	ck_assert_msg(strstr(problems.items[0].message, refused[_i].message) != NULL, "%s", problems.items[0].message);
	ck_assert_int_eq(problems.items[0].code, CONDPROF__CODE__BAD_SCENARIO);
	free(spare_png);
}
END_TEST

CHANGE(with_text, f.spot = condition("spot", CONDPROF__CONDITION__KIND_TEXT, &f.text))
CHANGE(with_number, f.spot = condition("spot", CONDPROF__CONDITION__KIND_NUMBER, &f.number))

CHANGE(text_without_text, with_text(); f.text.text = NULL)
CHANGE(text_of_blanks, with_text(); f.text.text = TEXT("  "))
CHANGE(text_of_two_lines, with_text(); f.text.text = TEXT("a\nb"))
CHANGE(path_as_language, with_text(); language_list[1] = TEXT("../../etc/passwd"))
CHANGE(number_without_operand, with_number(); f.number.operand = NULL)
CHANGE(number_without_area, with_number(); f.number.area = NULL)
CHANGE(number_format, with_number(); f.number.has_format = true; f.number.format = (Condprof__NumberFormat)3)

static const struct {
	void (*change)(void);
	const char *place, *message;
} wrong_to_read[] = {
	{text_without_text, "screen-events[0].conditions[1].text", "missing"},
	{text_of_blanks, "screen-events[0].conditions[1].text", "blank"},
	{text_of_two_lines, "screen-events[0].conditions[1].text", "one line"},
	{path_as_language, "screen-events[0].conditions[1].language", "no language"},
	{number_without_operand, "screen-events[0].conditions[1].number", "missing"},
	{number_without_area, "screen-events[0].conditions[1].area", "missing"},
	{number_format, "screen-events[0].conditions[1].format", "3 is no NumberFormat"},
};

START_TEST(mistakes_in_what_is_read)
{
	struct scenario *scenario = NULL;

	wrong_to_read[_i].change();
	broken(decode_message(&f.scenario, &scenario));
	ck_assert_uint_eq(problems.count, 1);
	ck_assert_str_eq(problems.items[0].place, wrong_to_read[_i].place);
	ck_assert_ptr_nonnull(strstr(problems.items[0].message, wrong_to_read[_i].message));
}
END_TEST

START_TEST(what_is_fine)
{
	struct scenario *scenario = NULL;
	Condprof__Condition *all[] = {&f.ok, &f.spot};

	f.timer_timer.duration_ns = 0; // 0 ms is legal
	f.many.name = TEXT("ok");      // unique in the event only
	f.retries.name = TEXT("on");   // any text is a name
	f.many_counter.counter = f.retries_operand.counter = f.retries_part.counter = f.retries.name;
	f.rate.passes = 0; // unlimited
	f.later.n_actions = 0;
	f.ok_image.has_threshold = true;
	f.ok_image.threshold = 100;
	f.spot_color.has_threshold = true;
	f.spot_color.threshold = 0;
	f.click_click.target_case = CONDPROF__CLICK_ACTION__TARGET_FOUND;
	f.click_click.found = true;
	f.popup.conditions = all;
	scenario = decode_good();
	ck_assert_int_eq(scenario->period_ns, 0);
	ck_assert_int_eq(scenario->actions[0].click.target, CLICK_FOUND);
	scenario_free(scenario);
}
END_TEST

START_TEST(buses_and_secrets_are_fine)
{
	with_signal();
	with_secret();
	f.reset_broadcast.has_bus = true;
	f.reset_broadcast.bus = CONDPROF__BUS__BUS_SESSION;
	f.reset_broadcast.broadcast = TEXT("org.example.Kiosk.Reset");
	struct scenario *scenario = decode_good();

	ck_assert_uint_eq(scenario->n_broadcasts, 1);
	ck_assert_int_eq(scenario->broadcasts[0].bus, CONDPROF__BUS__BUS_SESSION);
	ck_assert_int_eq(scenario->actions[2].signal.bus, CONDPROF__BUS__BUS_SYSTEM); // none would send nothing
	ck_assert_str_eq(scenario->actions[2].signal.path, "/org/example");
	ck_assert_str_eq(scenario->actions[4].text.secret, "pin");
	scenario_free(scenario);
}
END_TEST

START_TEST(places)
{
	struct scenario *scenario = decode_good();
	struct error error = {0};

	scenario_condition_place(scenario, scenario_broadcast_condition(scenario, 0), "broadcast", &error);
	ck_assert_str_eq(error.place, "trigger-events[0].conditions[2].broadcast");
	ck_assert_uint_eq(scenario_broadcast_condition(scenario, 1), NO_INDEX);
	scenario_action_place(scenario, 4, NULL, &error);
	ck_assert_str_eq(error.place, "screen-events[0].actions[4]");
	scenario_action_place(scenario, scenario->n_actions - 1, "stop", &error);
	ck_assert_str_eq(error.place, "trigger-events[0].actions[0].stop");
	scenario_free(scenario);
}
END_TEST

START_TEST(broadcasts_are_listed_once)
{
	Condprof__BroadcastCondition other = CONDPROF__BROADCAST_CONDITION__INIT;
	Condprof__Condition a = condition("a", CONDPROF__CONDITION__KIND_BROADCAST, &f.reset_broadcast);
	Condprof__Condition b = condition("b", CONDPROF__CONDITION__KIND_BROADCAST, &other);
	Condprof__Condition *list[] = {&b, &f.reset, &a};

	other.broadcast = TEXT("a broadcast");
	f.give_up.conditions = list;
	struct scenario *scenario = decode_good();
	const struct condition *c = scenario->conditions + 3;

	ck_assert_uint_eq(scenario->n_broadcasts, 2);
	ck_assert_str_eq(scenario->broadcasts[c[0].broadcast].name, "a broadcast");
	ck_assert_str_eq(scenario->broadcasts[c[1].broadcast].name, "reset");
	ck_assert_uint_eq(c[2].broadcast, c[1].broadcast);
	scenario_free(scenario);
}
END_TEST

START_TEST(ids_are_filled_in)
{
	static const int64_t expected[] = {2, 4, 5, 1, 6, 3};

	f.later.has_id = f.timer.has_id = f.reset.has_id = true;
	f.later.id = 1;
	f.timer.id = 1;
	f.reset.id = 3;
	struct scenario *scenario = decode_good();

	ck_assert_int_eq(scenario->events[0].id, 2);
	ck_assert_int_eq(scenario->events[1].id, 1);
	ck_assert_int_eq(scenario->events[2].id, 3);
	ck_assert(!scenario->events[0].id_given && scenario->events[1].id_given);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(scenario->conditions[i].id, expected[i]);
	ck_assert(scenario->conditions[3].id_given && !scenario->conditions[4].id_given);
	scenario_free(scenario);
	f.later.id = INT64_MAX;
	scenario = decode_good();
	ck_assert_int_eq(scenario->events[1].id, INT64_MAX);
	ck_assert_int_eq(scenario->events[2].id, 2);
	scenario_free(scenario);
}
END_TEST

START_TEST(kept_copy)
{
	struct scenario *scenario = decode_good();
	size_t size = condprof__scenario__get_packed_size(&f.scenario), kept_size = 0;
	uint8_t *packed = malloc(size), *kept = NULL;

	condprof__scenario__pack(&f.scenario, packed);
	const struct scenario_run run = {.dry_run = true, .screen = "replay:/tmp", .input = "log:", .random_seed = 5};
	ck_assert_int_eq(scenario_encode_kept(scenario, packed, size, &run, &kept, &kept_size), 0);
	Condprof__Scenario *message = condprof__scenario__unpack(NULL, kept_size, kept);

	ck_assert_ptr_nonnull(message);
	ck_assert_str_eq(message->name, "kiosk");
	ck_assert_str_eq(message->screen, "replay:/tmp");
	ck_assert_str_eq(message->input, "log:");
	ck_assert(message->has_dry_run && message->dry_run);
	ck_assert_int_eq(message->trigger_events[0]->id, 3);
	ck_assert(message->trigger_events[0]->has_id_given && !message->trigger_events[0]->id_given);
	const Condprof__ImageCondition *image = message->screen_events[0]->conditions[0]->image;
	ck_assert_int_eq(message->screen_events[0]->conditions[0]->id, 1);
	ck_assert(!image->has_png);
	ck_assert_str_eq(image->file, "ok.png");
	ck_assert_int_eq(image->width, 8);
	ck_assert_uint_eq(image->pixels_digest, picture_digest(picture_view(scenario->conditions[0].image.image)));
	ck_assert_uint_eq(message->screen_events[0]->n_actions, 8);
	ck_assert_double_eq(message->rate->passes, 30);
	ck_assert(!message->has_random_seed);
	condprof__scenario__free_unpacked(message, NULL);
	free(kept);

	f.popup.n_conditions = 1;
	size = condprof__scenario__pack(&f.scenario, packed);
	kept = NULL;
	ck_assert_int_eq(scenario_encode_kept(scenario, packed, size, &run, &kept, &kept_size), -EBADMSG);
	ck_assert_ptr_null(kept);
	free(packed);
	scenario_free(scenario);
}
END_TEST

static Condprof__Scenario *kept_as_run(const struct scenario_run *run)
{
	struct scenario *scenario = decode_good();
	size_t size = condprof__scenario__get_packed_size(&f.scenario), kept_size = 0;
	uint8_t *packed = malloc(size), *kept = NULL;

	condprof__scenario__pack(&f.scenario, packed);
	ck_assert_int_eq(scenario_encode_kept(scenario, packed, size, run, &kept, &kept_size), 0);
	Condprof__Scenario *message = condprof__scenario__unpack(NULL, kept_size, kept);
	ck_assert_ptr_nonnull(message);
	free(kept);
	free(packed);
	scenario_free(scenario);
	return message;
}

/// The command line's rate instead of the scenario's, and the random seed where something is random.
START_TEST(kept_as_it_was_run)
{
	struct scenario_run run = {.has_rate = true, .rate_passes = 2.5, .rate_per_ns = NSEC_PER_SEC, .random_seed = 7};

	f.scenario.has_randomize = f.scenario.randomize = true;
	Condprof__Scenario *message = kept_as_run(&run);
	ck_assert_double_eq(message->rate->passes, 2.5);
	ck_assert_int_eq(message->rate->per_ns, NSEC_PER_SEC);
	ck_assert(message->has_random_seed && message->random_seed == 7);
	condprof__scenario__free_unpacked(message, NULL);

	f.scenario.rate = NULL; // the default, and run without a limit
	run.rate_passes = 0;
	message = kept_as_run(&run);
	ck_assert(message->rate->has_passes && message->rate->passes == 0 && !message->rate->has_per_ns);
	condprof__scenario__free_unpacked(message, NULL);
}
END_TEST

START_TEST(many_mistakes)
{
	Condprof__Action bad[30], *list[30];
	struct scenario *scenario = NULL;

	f.pause_pause.duration_ns = -1;
	for (int i = 0; i < 30; i++) {
		bad[i] = action(CONDPROF__ACTION__KIND_PAUSE, &f.pause_pause);
		list[i] = &bad[i];
	}
	f.later.n_actions = 30;
	f.later.actions = list;
	f.popup.n_actions = 0;
	broken(decode_message(&f.scenario, &scenario));
	ck_assert_uint_eq(problems.count, 30);
	ck_assert_str_eq(problems.items[19].place, "screen-events[1].actions[19].pause");
}
END_TEST

START_TEST(not_a_scenario)
{
	struct scenario *scenario = NULL;
	uint8_t *much = calloc(1, SCENARIO_MAX_BYTES + 1);
	static const uint8_t bad_name[] = {0x0a, 2, 'a', 0xff}, nul_name[] = {0x0a, 2, 'a', 0};

	ck_assert_int_eq(scenario_decode((const uint8_t *)"\xff", 1, &scenario, &problems), -EBADMSG);
	ck_assert_int_eq(scenario_decode(much, SCENARIO_MAX_BYTES + 1, &scenario, &problems), -EMSGSIZE);
	free(much);
	broken(scenario_decode(bad_name, sizeof(bad_name), &scenario, &problems));
	ck_assert_str_eq(problems.items[0].place, "name");
	ck_assert_ptr_nonnull(strstr(problems.items[0].message, "UTF-8"));
	broken(scenario_decode(nul_name, sizeof(nul_name), &scenario, &problems));
	broken(scenario_decode(NULL, 0, &scenario, &problems));
	ck_assert_ptr_null(scenario);
}
END_TEST

static const struct {
	size_t events, conditions, actions, counters;
	const char *message;
} over[] = {
	{SCENARIO_MAX_EVENTS + 1, 1, 0, 0, "10000 events at the most"},
	{2, SCENARIO_MAX_CONDITIONS / 2 + 1, 0, 0, "20000 conditions at the most"},
	{1, 1, SCENARIO_MAX_ACTIONS + 1, 0, "50000 actions at the most"},
	{1, 1, 0, SCENARIO_MAX_COUNTERS + 1, "1000 counters at the most"},
};

/// A scenario of so many things, each with a name of its own.
static int decode_many(size_t n_events, size_t per_event, size_t n_actions, size_t n_counters, struct scenario **ret)
{
	size_t all = n_events * per_event;
	Condprof__Event *event_items = calloc(n_events, sizeof(*event_items)),
			**event_ptrs = calloc(n_events, sizeof(void *));
	Condprof__Condition *items = calloc(all, sizeof(*items)), **pointers = calloc(all, sizeof(void *));
	Condprof__Action **action_ptrs = calloc(n_actions + 1, sizeof(void *));
	Condprof__Counter **counter_ptrs = calloc(n_counters + 1, sizeof(void *));
	char(*names)[40] = calloc(all + n_events, sizeof(*names));

	for (size_t i = 0; i < all; i++) {
		snprintf(names[i], sizeof(names[i]), "condition %zu", i);
		items[i] = condition(names[i], CONDPROF__CONDITION__KIND_COLOR, &f.spot_color);
		pointers[i] = &items[i];
	}
	for (size_t i = 0; i < n_actions; i++)
		action_ptrs[i] = &f.pause;
	for (size_t i = 0; i < n_counters; i++)
		counter_ptrs[i] = &f.retries;
	for (size_t i = 0; i < n_events; i++) {
		snprintf(names[all + i], sizeof(names[0]), "event %zu", i);
		event_items[i] =
			event(names[all + i], pointers + i * per_event, per_event, action_ptrs, i == 0 ? n_actions : 0);
		event_ptrs[i] = &event_items[i];
	}
	f.scenario.n_screen_events = n_events;
	f.scenario.screen_events = event_ptrs;
	f.scenario.n_trigger_events = 0;
	f.scenario.n_counters = n_counters;
	f.scenario.counters = counter_ptrs;
	int r = decode_message(&f.scenario, ret);
	free(event_items);
	free(event_ptrs);
	free(items);
	free(pointers);
	free(action_ptrs);
	free(counter_ptrs);
	free(names);
	return r;
}

START_TEST(limits)
{
	struct scenario *scenario = NULL;

	broken(decode_many(over[_i].events, over[_i].conditions, over[_i].actions, over[_i].counters, &scenario));
	ck_assert_int_eq(problems.items[0].code, CONDPROF__CODE__TOO_LARGE);
	ck_assert_msg(strstr(problems.items[0].message, over[_i].message) != NULL, "%s", problems.items[0].message);
}
END_TEST

START_TEST(large_ones)
{
	struct scenario *scenario = NULL;

	ck_assert_int_eq(decode_many(1, SCENARIO_MAX_CONDITIONS, 0, 0, &scenario), 0);
	ck_assert_int_eq(scenario->conditions[SCENARIO_MAX_CONDITIONS - 1].id, SCENARIO_MAX_CONDITIONS);
	scenario = scenario_free(scenario);
	ck_assert_int_eq(decode_many(SCENARIO_MAX_EVENTS, 2, SCENARIO_MAX_ACTIONS, 0, &scenario), 0);
	ck_assert_str_eq(scenario->events[SCENARIO_MAX_EVENTS - 1].name, "event 9999");
	scenario_free(scenario);
}
END_TEST

// The limit is for all scenarios that are not freed, whoever holds them.
START_TEST(too_many_pixels_together)
{
	struct scenario *first, *second = NULL;
	int64_t own;

	ck_assert_int_eq(scenario_pixels_held, 0);
	first = decode_good();
	own = scenario_pixels_held;
	ck_assert_int_ge(own, 8 * 8);
	scenario_pixels_held = TEMPLATES_MAX_PIXELS_ALL - own + 1;
	ck_assert_int_eq(decode_message(&f.scenario, &second), -EBUSY);
	ck_assert_ptr_null(second);
	ck_assert_uint_eq(problems.count, 1);
	ck_assert_int_eq(problems.items[0].code, CONDPROF__CODE__BUSY);
	ck_assert_ptr_nonnull(strstr(problems.items[0].message, "134 million pixels"));
	ck_assert_int_eq(scenario_pixels_held, TEMPLATES_MAX_PIXELS_ALL - own + 1);
	scenario_free(first); // and there is room again
	second = decode_good();
	scenario_free(second);
	ck_assert_int_eq(scenario_pixels_held, TEMPLATES_MAX_PIXELS_ALL - 2 * own + 1);
	scenario_pixels_held = 0;
}
END_TEST

START_TEST(too_many_pixels)
{
	struct scenario *scenario = NULL;
	Condprof__Condition items[3], *list[3];
	struct picture *picture = NULL;
	static const char *const names[] = {"a", "b", "c"};

	// a picture of 48 million pixels, three times: over 128 * 1024 * 1024
	ck_assert_int_eq(picture_new(8192, 6000, &picture), 0);
	memset(picture->pixels, 0x55, 4096);
	free(f.png);
	ck_assert_int_eq(png_encode(picture_view(picture), &f.png, &f.png_size, NULL), 0);
	picture_free(picture);
	f.ok_image.png = (ProtobufCBinaryData){f.png_size, f.png};
	for (int i = 0; i < 3; i++) {
		items[i] = condition(names[i], CONDPROF__CONDITION__KIND_IMAGE, &f.ok_image);
		list[i] = &items[i];
	}
	f.later.n_conditions = 3;
	f.later.conditions = list;
	f.scenario.n_screen_events = 1;
	f.scenario.screen_events = &screen_events[1];
	f.scenario.n_trigger_events = 0;
	broken(decode_message(&f.scenario, &scenario));
	ck_assert_uint_eq(problems.count, 1);
	ck_assert_int_eq(problems.items[0].code, CONDPROF__CODE__TOO_LARGE);
	ck_assert_str_eq(problems.items[0].place, "screen-events[0].conditions[2].image");
	ck_assert_int_eq(scenario_pixels_held, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scenario");
	TCase *tests = tcase_create("scenario");

	tcase_add_checked_fixture(tests, init, clear);
	tcase_add_test(tests, settings);
	tcase_add_test(tests, events);
	tcase_add_test(tests, conditions);
	tcase_add_test(tests, actions);
	tcase_add_loop_test(tests, refusals, 0, (int)ARRAY_SIZE(refused));
	tcase_add_loop_test(tests, mistakes_in_what_is_read, 0, (int)ARRAY_SIZE(wrong_to_read));
	tcase_add_test(tests, what_is_fine);
	tcase_add_test(tests, buses_and_secrets_are_fine);
	tcase_add_test(tests, places);
	tcase_add_test(tests, broadcasts_are_listed_once);
	tcase_add_test(tests, ids_are_filled_in);
	tcase_add_test(tests, kept_copy);
	tcase_add_test(tests, kept_as_it_was_run);
	tcase_add_test(tests, many_mistakes);
	tcase_add_test(tests, not_a_scenario);
	tcase_add_loop_test(tests, limits, 0, (int)ARRAY_SIZE(over));
	tcase_add_test(tests, large_ones);
	tcase_add_test(tests, too_many_pixels);
	tcase_add_test(tests, too_many_pixels_together);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
