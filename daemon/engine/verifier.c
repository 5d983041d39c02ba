// SPDX-License-Identifier: GPL-3.0-or-later
// One check is one call of verify_condition(); verify_measured() is the only place that calls it, and all it adds with
// a report is two reads of the clock around it.
#include "daemon/engine/processor.h"
#include "daemon/log/log.h"

static bool verify_screen(struct processor *processor, uint32_t condition, struct outcome *outcome,
			  struct detect_result *result)
{
	const struct condition *c = &processor->p.scenario->conditions[condition];

	if (processor->rerun && rerun_stops_check(processor))
		*result = (struct detect_result){.stopped = true};
	else
		processor->p.detector->ops->check(processor->p.detector, condition, result);
	if (processor->rerun && result->stopped)
		rerun_check_stopped(processor);
	outcome->matched = result->evaluable && !result->stopped && result->found;
	if (result->evaluable && !result->stopped && result->has_score) {
		outcome->check.has_confidence = true;
		outcome->check.confidence = MIN(MAX(result->score, 0.0), 1.0); // a correlation may be below 0
	}
	outcome->check.reused = result->reused;
	outcome->x = result->x;
	outcome->y = result->y;
	outcome->place = result->place;
	if (outcome->matched && result->has_value) {
		outcome->check.has_value = true;
		outcome->check.value = result->value;
	}
	if (c->kind == CONDITION_NUMBER)
		return outcome->check.has_value && states_compare(outcome->check.value, c->ocr.comparison,
								  states_operand(&processor->states, &c->ocr.operand));
	// not evaluable: neither fulfilled nor its negation
	return result->evaluable && !result->stopped && result->found == c->present;
}

static bool verify_condition(struct processor *processor, uint32_t condition, int64_t reference_ns,
			     struct outcome *outcome, struct detect_result *result)
{
	const struct states *states = &processor->states;
	const struct condition *c = &processor->p.scenario->conditions[condition];

	switch (c->kind) {
	case CONDITION_IMAGE:
	case CONDITION_COLOR:
	case CONDITION_TEXT:
	case CONDITION_NUMBER:
		return verify_screen(processor, condition, outcome, result);
	case CONDITION_TIMER:
		return reference_ns > states->timer_end_ns[condition];
	case CONDITION_COUNTER:
		return states_compare(states->counters[c->counter.counter], c->counter.comparison,
				      states_operand(states, &c->counter.operand));
	case CONDITION_BROADCAST:
		return states_broadcast(states, c->broadcast);
	case CONDITION_KINDS:
		break;
	}
	return false;
}

// Preparation belongs to the check that did it. What another check of the pass uses too is shared: this much would move
// to that check if the order changed.
static void credit_preparation(struct processor *processor, const struct detect_result *result)
{
	for (int i = 0; i < result->n_shared; i++)
		timing_shared(processor->p.timing, result->shared[i].asker, result->shared[i].ns);
}

static void note_match(struct processor *processor, uint32_t condition, struct rect place)
{
	struct picture_view view = processor->frame.view;

	timing_match(processor->p.timing, condition, place, view.width, view.height);
}

static void not_evaluable(struct processor *processor, uint32_t condition)
{
	const struct condition *c = &processor->p.scenario->conditions[condition];
	struct picture_view view = processor->frame.view;
	char why[192];

	if (processor->p.timing)
		timing_not_evaluable(processor->p.timing, condition, view.width, view.height);
	if (processor->not_evaluable_said[condition])
		return;
	processor->not_evaluable_said[condition] = true;
	detector_why_not(c, view.width, view.height, why, sizeof(why));
	log_line(LOG_LEVEL_WARNING, processor->p.session_id,
		 "condition “%s” of event “%s” cannot be evaluated: %s; it counts as not fulfilled", c->name,
		 processor->p.scenario->events[c->event].name, why);
}

static void verify_measured(struct processor *processor, uint32_t condition, int64_t reference_ns,
			    struct outcome *outcome)
{
	struct timing *timing = processor->p.timing;
	bool on_screen = processor->p.scenario->conditions[condition].kind < CONDITION_TIMER;
	struct detect_result result;
	int64_t begin, end;

	outcome->matched = false;
	outcome->check = (struct check_result){0};
	if (timing) {
		begin = timing_check_begin(timing);
		outcome->check.fulfilled = verify_condition(processor, condition, reference_ns, outcome, &result);
		end = timing_check_end(timing, condition, begin, processor->pass, &outcome->check);
		outcome->duration_ns = end - begin;
		if (!processor->verification.reached)
			processor->verification.begin_ns = begin;
		processor->verification.end_ns = end;
		if (on_screen)
			credit_preparation(processor, &result);
		if (outcome->matched && processor->p.scenario->conditions[condition].kind == CONDITION_IMAGE)
			note_match(processor, condition, outcome->place);
	} else {
		outcome->check.fulfilled = verify_condition(processor, condition, reference_ns, outcome, &result);
	}
	if (on_screen && !result.evaluable && !result.stopped)
		not_evaluable(processor, condition);
}

bool verify_event(struct processor *processor, uint32_t event)
{
	const struct event *e = &processor->p.scenario->events[event];
	struct verification *verification = &processor->verification;
	int64_t reference_ns = processor->states.has_timers[event] ? processor_decides_at(processor) : 0;

	verification->event = event;
	verification->reached = 0;
	if (processor->p.timing)
		timing_event_evaluated(processor->p.timing, event);
	while (verification->reached < e->conditions) {
		uint32_t condition = e->first_condition + verification->reached;
		struct outcome *outcome = &verification->outcomes[verification->reached];

		processor_step(processor);
		atomic_store_explicit(&processor->progress.checking, condition, memory_order_relaxed);
		verify_measured(processor, condition, reference_ns, outcome);
		verification->reached++;
		if (outcome->check.fulfilled == e->any) {
			if (e->any)
				states_timers_fulfilled(&processor->states, event, condition, reference_ns);
			return e->any;
		}
		if (verification->reached < e->conditions && processor_stopping(processor)) {
			if (processor->p.timing)
				timing_event_abandoned(processor->p.timing, event,
						       e->first_condition + verification->reached);
			return false;
		}
	}
	if (e->any)
		return false;
	states_timers_fulfilled(&processor->states, event, NO_INDEX, reference_ns);
	return true;
}
