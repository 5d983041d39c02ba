// SPDX-License-Identifier: GPL-3.0-or-later
/// Scenario messages of clients of any kind. A scenario that was accepted is walked through: every index must be in its
/// array, every pointer there; and its kept copy must be made.
#include "tests/fuzz/fuzz.h"

#include "daemon/scenario/scenario.h"
#include "proto/limits.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void check_operand(const struct scenario *scenario, const struct operand *operand)
{
	FUZZ_ASSERT(operand->counter == NO_INDEX ? isfinite(operand->number) : operand->counter < scenario->n_counters);
}

static void check_condition(const struct scenario *scenario, const struct condition *condition)
{
	FUZZ_ASSERT(condition->name[0] != '\0' && condition->id > 0);
	FUZZ_ASSERT(condition->threshold >= 0 && condition->threshold <= 100);
	FUZZ_ASSERT(condition->area.left <= condition->area.right && condition->area.top <= condition->area.bottom);
	switch (condition->kind) {
	case CONDITION_IMAGE:
		FUZZ_ASSERT(condition->image.image && condition->image.image->width > 0);
		break;
	case CONDITION_TEXT:
		FUZZ_ASSERT(condition->ocr.text[strspn(condition->ocr.text, " ")] != '\0' &&
			    condition->ocr.languages[0] != '\0');
		break;
	case CONDITION_NUMBER:
		FUZZ_ASSERT(condition->ocr.languages[0] != '\0');
		check_operand(scenario, &condition->ocr.operand);
		break;
	case CONDITION_TIMER:
		FUZZ_ASSERT(condition->timer.duration_ns >= 0);
		break;
	case CONDITION_COUNTER:
		FUZZ_ASSERT(condition->counter.counter < scenario->n_counters);
		check_operand(scenario, &condition->counter.operand);
		break;
	case CONDITION_BROADCAST:
		FUZZ_ASSERT(condition->broadcast < scenario->n_broadcasts);
		break;
	default:
		FUZZ_ASSERT(condition->kind == CONDITION_COLOR || condition->kind == CONDITION_TEXT ||
			    condition->kind == CONDITION_NUMBER);
		break;
	}
}

static void check_text(const struct scenario *scenario, uint32_t first, uint32_t count)
{
	FUZZ_ASSERT(first <= scenario->n_text_parts && count <= scenario->n_text_parts - first);
	for (uint32_t i = first; i < first + count; i++)
		FUZZ_ASSERT(scenario->text_parts[i].literal || scenario->text_parts[i].counter < scenario->n_counters);
}

static void check_action(const struct scenario *scenario, const struct event *event, const struct action *action)
{
	switch (action->kind) {
	case CONDPROF__ACTION_KIND__ACTION_CLICK:
		FUZZ_ASSERT(!event->trigger || action->click.target == CLICK_POSITION);
		FUZZ_ASSERT(action->click.target != CLICK_CONDITION ||
			    action->click.condition - event->first_condition < event->conditions);
		break;
	case CONDPROF__ACTION_KIND__ACTION_SWIPE:
		FUZZ_ASSERT(action->swipe.points >= 2 && action->swipe.first_point <= scenario->n_points &&
			    action->swipe.points <= scenario->n_points - action->swipe.first_point);
		break;
	case CONDPROF__ACTION_KIND__ACTION_KEY:
		FUZZ_ASSERT(action->keys.count >= 1 && action->keys.count <= KEY_COMBINATION_MAX);
		break;
	case CONDPROF__ACTION_KIND__ACTION_TYPE:
	case CONDPROF__ACTION_KIND__ACTION_NOTIFY:
	case CONDPROF__ACTION_KIND__ACTION_STOP:
		check_text(scenario, action->text.first_part, action->text.parts);
		break;
	case CONDPROF__ACTION_KIND__ACTION_SIGNAL:
		break; // checked by the bus's own rules when it is decoded
	case CONDPROF__ACTION_KIND__ACTION_COUNTER:
		FUZZ_ASSERT(action->counter.counter < scenario->n_counters);
		check_operand(scenario, &action->counter.operand);
		break;
	case CONDPROF__ACTION_KIND__ACTION_EVENT_STATE:
		FUZZ_ASSERT(action->event_state.first_event <= scenario->n_event_refs &&
			    action->event_state.events <= scenario->n_event_refs - action->event_state.first_event);
		break;
	default:
		FUZZ_ASSERT(action->kind == CONDPROF__ACTION_KIND__ACTION_PAUSE && action->pause_ns >= 0);
		break;
	}
}

static void check_event(const struct scenario *scenario, const struct event *event)
{
	FUZZ_ASSERT(event->name[0] != '\0' && event->id > 0 && event->cooldown_ns >= 0 && event->conditions > 0);
	FUZZ_ASSERT(event->first_condition + event->conditions <= scenario->n_conditions);
	FUZZ_ASSERT(event->first_action + event->actions <= scenario->n_actions);
	for (uint32_t i = 0; i < event->conditions; i++) {
		const struct condition *condition = &scenario->conditions[event->first_condition + i];

		FUZZ_ASSERT(&scenario->events[condition->event] == event);
		FUZZ_ASSERT((condition->kind >= CONDITION_TIMER) == event->trigger);
		check_condition(scenario, condition);
	}
	for (uint32_t i = 0; i < event->actions; i++)
		check_action(scenario, event, &scenario->actions[event->first_action + i]);
}

static void check_model(const struct scenario *scenario)
{
	FUZZ_ASSERT(scenario->name[0] != '\0' && scenario->period_ns >= 0 && scenario->n_events > 0);
	for (uint32_t i = 0; i < scenario->n_events; i++)
		check_event(scenario, &scenario->events[i]);
	for (uint32_t i = 0; i < scenario->n_event_refs; i++)
		FUZZ_ASSERT(scenario->event_refs[i] < scenario->n_events);
}

static void check_problems(const struct scenario_problems *problems)
{
	FUZZ_ASSERT(problems->count > 0);
	for (size_t i = 0; i < problems->count && i < SCENARIO_MAX_PROBLEMS; i++)
		FUZZ_ASSERT(problems->items[i].message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scenario *scenario = NULL;
	struct scenario_problems problems;
	const struct scenario_run run = {.screen = "replay:x", .has_rate = true, .rate_passes = 7, .rate_per_ns = 1};
	uint8_t *kept = NULL;
	size_t kept_size = 0;
	int r = scenario_decode(data, size, &scenario, &problems);

	FUZZ_ASSERT((r == 0) == (scenario != NULL));
	FUZZ_ASSERT(r == 0 || r == -EINVAL || r == -EBADMSG || r == -EMSGSIZE || r == -EBUSY);
	if (r == -EINVAL || r == -EBUSY)
		check_problems(&problems);
	if (!scenario)
		return 0;
	check_model(scenario);
	FUZZ_ASSERT(scenario_encode_kept(scenario, data, size, &run, &kept, &kept_size) == 0);
	free(kept);
	scenario_free(scenario);
	return 0;
}
