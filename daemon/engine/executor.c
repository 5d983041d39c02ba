// SPDX-License-Identifier: GPL-3.0-or-later
// One function an action kind, by a table. All waiting is processor_wait(), so that a stop ends it.
#include "daemon/engine/executor.h"

#include "daemon/engine/processor.h"
#include "daemon/log/log.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SWIPE_STEP_NS (8 * NSEC_PER_MSEC) // how often a swipe moves the pointer

static uint64_t next_random(struct processor *processor)
{
	uint64_t z = processor->random += UINT64_C(0x9e3779b97f4a7c15); // splitmix64

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

// Positions may be anything an int holds; what would go beyond stays at the edge.
static int add_px(int a, int b)
{
	int sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return b > 0 ? INT_MAX : INT_MIN;
}

static int random_offset(struct processor *processor)
{
	return (int)(next_random(processor) % (2 * RANDOM_POSITION_PX + 1)) - RANDOM_POSITION_PX;
}

static int64_t vary_duration(struct processor *processor, int64_t ns)
{
	if (!processor->p.scenario->randomize || ns <= 0)
		return ns;

	double more = (double)(next_random(processor) >> 11) * 0x1p-53 * RANDOM_DURATION_PERCENT / 100;

	return time_add(ns, (int64_t)fmin((double)ns * more, 0x1p62));
}

// @param match where the position may not leave once it is inside; NULL: anywhere
static struct point vary_position(struct processor *processor, struct point p, const struct rect *match)
{
	if (!processor->p.scenario->randomize)
		return p;

	struct point q = {add_px(p.x, random_offset(processor)), add_px(p.y, random_offset(processor))};

	if (match && p.x >= match->left && p.x < match->right && p.y >= match->top && p.y < match->bottom) {
		q.x = MIN(MAX(q.x, match->left), match->right - 1);
		q.y = MIN(MAX(q.y, match->top), match->bottom - 1);
	}
	return q;
}

// After a call to the input. Its failure ends the session.
static bool input_done(struct processor *processor, int r)
{
	if (r >= 0)
		return true;
	ending_request(processor->p.ending, CONDPROF__END_REASON__REASON_INPUT_FAILED,
		       CONDPROF__SESSION_RESULT__SESSION_FAILED,
		       processor->p.input->failure.message[0] ? processor->p.input->failure.message : strerror(-r));
	return false;
}

// --- click and swipe -------------------------------------------------------------------------------------------------

static const struct outcome *click_outcome(const struct processor *processor, const struct action *action)
{
	const struct verification *verification = &processor->verification;
	const struct event *event = &processor->p.scenario->events[verification->event];

	for (uint32_t i = 0; i < verification->reached; i++) {
		const struct condition *condition = &processor->p.scenario->conditions[event->first_condition + i];
		const struct outcome *outcome = &verification->outcomes[i];
		bool meant = action->click.target == CLICK_FOUND
				     ? condition->present
				     : event->first_condition + i == action->click.condition;

		if (meant && outcome->matched)
			return outcome;
	}
	return NULL;
}

// @return false: there is no match to click
static bool click_position(struct processor *processor, const struct action *action, struct point *ret)
{
	const struct outcome *outcome = NULL;
	struct point p = {action->click.x, action->click.y};

	if (action->click.target != CLICK_POSITION) {
		outcome = click_outcome(processor, action);
		if (!outcome)
			return false;
		p = (struct point){outcome->x, outcome->y};
	}
	p.x = add_px(p.x, action->click.offset_x);
	p.y = add_px(p.y, action->click.offset_y);
	*ret = vary_position(processor, p, outcome ? &outcome->place : NULL);
	return true;
}

static void do_click(struct processor *processor, const struct action *action)
{
	struct input *input = processor->p.input;
	int64_t press_ns = vary_duration(processor, action->click.press_ns);
	struct point p;

	if (!click_position(processor, action, &p)) {
		occurrence_action_skipped(processor->occurrence);
		return;
	}
	occurrence_action_position(processor->occurrence, p.x, p.y);
	if (processor->p.dry_run)
		return;
	if (!input_done(processor, input->ops->pointer_move(input, p.x, p.y)) ||
	    !input_done(processor, input->ops->pointer_press(input)))
		return;
	if (press_ns > 0)
		processor_wait(processor, time_add(processor_decides_at(processor), press_ns));
	input_done(processor, input->ops->pointer_release(input));
}

static int between(int a, int b, double share)
{
	return (int)lround((1 - share) * a + share * b);
}

static double leg_length(struct point a, struct point b)
{
	return hypot((double)b.x - a.x, (double)b.y - a.y);
}

// Moves from a to b between two moments, in steps. @return false: interrupted, or the input failed
static bool swipe_leg(struct processor *processor, struct point a, struct point b, int64_t begin, int64_t end)
{
	struct input *input = processor->p.input;
	int64_t steps = MAX((end - begin) / SWIPE_STEP_NS, 1);

	for (int64_t i = 1; i <= steps; i++) {
		double share = (double)i / (double)steps;
		int64_t at = i == steps ? end : begin + (int64_t)((double)(end - begin) * share);

		if (!processor_wait(processor, at))
			return false;
		if (!input_done(processor,
				input->ops->pointer_move(input, between(a.x, b.x, share), between(a.y, b.y, share))))
			return false;
	}
	return true;
}

static void swipe_along(struct processor *processor, const struct point *points, uint32_t count, int64_t duration_ns)
{
	int64_t begin = processor_decides_at(processor);
	int64_t from = begin;
	double total = 0, done = 0;

	for (uint32_t i = 1; i < count; i++)
		total += leg_length(points[i - 1], points[i]);
	for (uint32_t i = 1; i < count; i++) {
		done += leg_length(points[i - 1], points[i]);

		double share = total > 0 ? done / total : (double)i / (count - 1);
		int64_t to = i == count - 1 ? time_add(begin, duration_ns)
					    : time_add(begin, (int64_t)((double)duration_ns * share));

		if (!swipe_leg(processor, points[i - 1], points[i], from, to))
			return;
		from = to;
	}
}

static void do_swipe(struct processor *processor, const struct action *action)
{
	struct input *input = processor->p.input;
	int64_t duration_ns = vary_duration(processor, action->swipe.duration_ns);
	struct point *points = processor->swipe_points;

	for (uint32_t i = 0; i < action->swipe.points; i++)
		points[i] =
			vary_position(processor, processor->p.scenario->points[action->swipe.first_point + i], NULL);
	occurrence_action_position(processor->occurrence, points[0].x, points[0].y);
	if (processor->p.dry_run)
		return;
	if (!input_done(processor, input->ops->pointer_move(input, points[0].x, points[0].y)) ||
	    !input_done(processor, input->ops->pointer_press(input)))
		return;
	swipe_along(processor, points, action->swipe.points, duration_ns);
	input_done(processor, input->ops->pointer_release(input));
}

// --- keys and texts --------------------------------------------------------------------------------------------------

static void do_key(struct processor *processor, const struct action *action)
{
	struct input *input = processor->p.input;
	uint32_t pressed = 0;

	if (processor->p.dry_run)
		return;
	while (pressed < action->keys.count &&
	       input_done(processor, input->ops->key_press(input, action->keys.keysyms[pressed])))
		pressed++;
	while (pressed > 0)
		input_done(processor, input->ops->key_release(input, action->keys.keysyms[--pressed]));
}

// Up to 15 digits, as people write them. What is no number has no sign, whatever its sign bit says.
static int format_counter(double value, char *to, size_t room)
{
	return isnan(value) ? snprintf(to, room, "nan") : snprintf(to, room, "%.15g", value);
}

// Puts a text with counters together in processor->text.
static const char *format_text(struct processor *processor, const struct action *action)
{
	const struct scenario *scenario = processor->p.scenario;
	size_t used = 0;

	processor->text[0] = '\0';
	for (uint32_t i = 0; i < action->text.parts; i++) {
		const struct text_part *part = &scenario->text_parts[action->text.first_part + i];
		char *to = processor->text + used;
		size_t room = sizeof(processor->text) - used;
		int n = part->literal ? snprintf(to, room, "%s", part->literal)
				      : format_counter(processor->states.counters[part->counter], to, room);

		if (n < 0 || (size_t)n >= room)
			break; // cannot be: the buffer holds the longest text there may be
		used += (size_t)n;
	}
	return processor->text;
}

static void do_type(struct processor *processor, const struct action *action)
{
	struct input *input = processor->p.input;
	const char *text;

	if (processor->p.dry_run)
		return;
	// a secret goes to the input from where it is kept, and nowhere else
	text = action->text.secret ? secrets_value(processor->p.secrets, action->text.secret)
				   : format_text(processor, action);
	if (!text) {
		occurrence_action_skipped(processor->occurrence);
		return;
	}
	processor_set_waiting(processor, true); // a long text takes its time between strokes, which a stop ends
	input_done(processor, input->ops->type(input, text));
	processor_set_waiting(processor, false);
}

static void do_notify(struct processor *processor, const struct action *action)
{
	static const enum log_level levels[] = {
		[CONDPROF__LEVEL__LEVEL_DEBUG] = LOG_LEVEL_DEBUG,
		[CONDPROF__LEVEL__LEVEL_INFO] = LOG_LEVEL_INFO,
		[CONDPROF__LEVEL__LEVEL_NOTICE] = LOG_LEVEL_NOTICE,
		[CONDPROF__LEVEL__LEVEL_WARNING] = LOG_LEVEL_WARNING,
		[CONDPROF__LEVEL__LEVEL_ERROR] = LOG_LEVEL_ERROR,
	};
	const struct log_about about = {
		.message = LOG_MESSAGE_NOTIFY,
		.session = processor->p.session_id,
		.scenario = processor->p.scenario->name,
		.every = true,
	};
	struct messenger *messenger = processor->p.messenger;
	const char *text = format_text(processor, action);

	occurrence_action_text(processor->occurrence, text);
	if (processor->p.dry_run)
		return;
	log_about(levels[action->text.level], &about, "%s", text);
	if (messenger)
		messenger->ops->notify(messenger, action->text.level, text);
}

static void do_signal(struct processor *processor, const struct action *action)
{
	struct messenger *messenger = processor->p.messenger;

	occurrence_action_text(processor->occurrence, action->signal.signal);
	if (processor->p.dry_run)
		return;
	if (!messenger || !messenger->ops->signal(messenger, (uint32_t)(action - processor->p.scenario->actions)))
		occurrence_action_skipped(processor->occurrence);
}

static void do_stop(struct processor *processor, const struct action *action)
{
	ending_request(processor->p.ending, CONDPROF__END_REASON__REASON_STOP_ACTION, action->text.result,
		       format_text(processor, action));
}

// --- pause, counter, event states ------------------------------------------------------------------------------------

static void do_pause(struct processor *processor, const struct action *action)
{
	int64_t now = processor_decides_at(processor);

	processor_wait(processor, time_add(now, vary_duration(processor, action->pause_ns)));
}

static void do_counter(struct processor *processor, const struct action *action)
{
	double *counter = &processor->states.counters[action->counter.counter];
	double operand = states_operand(&processor->states, &action->counter.operand);
	double old_value = *counter;

	switch (action->counter.operation) {
	case CONDPROF__COUNTER_OPERATION__ADD:
		*counter += operand;
		break;
	case CONDPROF__COUNTER_OPERATION__SUBTRACT:
		*counter -= operand;
		break;
	default:
		*counter = operand;
		break;
	}
	occurrence_counter_change(processor->occurrence, action->counter.counter, old_value, *counter);
}

static void change_event(struct processor *processor, uint32_t event, Condprof__StateChange change)
{
	bool enabled = change == CONDPROF__STATE_CHANGE__ENABLE ||
		       (change == CONDPROF__STATE_CHANGE__TOGGLE && !processor->states.enabled[event]);

	if (states_set_enabled(&processor->states, event, enabled))
		occurrence_event_state_change(processor->occurrence, event, enabled);
}

static void do_event_state(struct processor *processor, const struct action *action)
{
	const struct scenario *scenario = processor->p.scenario;

	if (action->event_state.all) {
		for (uint32_t i = 0; i < scenario->n_events; i++)
			change_event(processor, i, action->event_state.change);
		return;
	}
	for (uint32_t i = 0; i < action->event_state.events; i++)
		change_event(processor, scenario->event_refs[action->event_state.first_event + i],
			     action->event_state.change);
}

// --- all of them -----------------------------------------------------------------------------------------------------

static const struct {
	void (*run)(struct processor *processor, const struct action *action);
	enum time_site site;
} kinds[] = {
	[CONDPROF__ACTION_KIND__ACTION_CLICK] = {do_click, TIME_ACTIONS},
	[CONDPROF__ACTION_KIND__ACTION_SWIPE] = {do_swipe, TIME_ACTIONS},
	[CONDPROF__ACTION_KIND__ACTION_PAUSE] = {do_pause, TIME_PAUSES},
	[CONDPROF__ACTION_KIND__ACTION_KEY] = {do_key, TIME_ACTIONS},
	[CONDPROF__ACTION_KIND__ACTION_TYPE] = {do_type, TIME_ACTIONS},
	[CONDPROF__ACTION_KIND__ACTION_COUNTER] = {do_counter, TIME_ACTIONS},
	[CONDPROF__ACTION_KIND__ACTION_EVENT_STATE] = {do_event_state, TIME_ACTIONS},
	[CONDPROF__ACTION_KIND__ACTION_NOTIFY] = {do_notify, TIME_ACTIONS},
	[CONDPROF__ACTION_KIND__ACTION_SIGNAL] = {do_signal, TIME_ACTIONS},
	[CONDPROF__ACTION_KIND__ACTION_STOP] = {do_stop, TIME_ACTIONS},
};
static_assert(ARRAY_SIZE(kinds) == CONDPROF__ACTION_KIND__ACTION_STOP + 1, "a row an action kind");

int64_t execute_actions(struct processor *processor, uint32_t event)
{
	const struct event *e = &processor->p.scenario->events[event];
	int64_t since = 0;

	occurrence_begin(processor->occurrence);
	for (uint32_t i = 0; i < e->actions; i++) {
		const struct action *action = &processor->p.scenario->actions[e->first_action + i];
		int64_t now = processor_enter(processor, kinds[action->kind].site);

		// one action's end is the next one's beginning
		if (i && processor->p.timing)
			occurrence_action_duration(processor->occurrence, now - since);
		since = now;
		processor_step(processor);
		occurrence_action(processor->occurrence, action->kind);
		if (processor_stopping(processor))
			occurrence_action_skipped(processor->occurrence);
		else
			kinds[action->kind].run(processor, action);
	}

	int64_t done = processor_enter(processor, TIME_ENGINE);

	if (e->actions && processor->p.timing)
		occurrence_action_duration(processor->occurrence, done - since);
	return done;
}
