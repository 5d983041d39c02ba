// SPDX-License-Identifier: GPL-3.0-or-later
// The pass, step by step as docs/ARCHITECTURE.md has it, and the loop around it.
#include "daemon/engine/processor.h"

#include "daemon/engine/executor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FRAME_WAIT_LEAST_NS NSEC_PER_MSEC // also when the next pass is due already
#define FRAME_WAIT_UNLIMITED_NS (100 * NSEC_PER_MSEC)
#define FRAME_WAIT_BY_PASS_NS NSEC_PER_SEC // a replay's next picture is on its way
#define GAP_LEAST_NS NSEC_PER_MSEC         // less is jitter between two clock reads

// --- memory ----------------------------------------------------------------------------------------------------------

static uint32_t most_conditions(const struct scenario *scenario)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < scenario->n_events; i++)
		most = MAX(most, scenario->events[i].conditions);
	return most;
}

static uint32_t most_points(const struct scenario *scenario)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < scenario->n_actions; i++) {
		if (scenario->actions[i].kind == CONDPROF__ACTION_KIND__ACTION_SWIPE)
			most = MAX(most, scenario->actions[i].swipe.points);
	}
	return most;
}

static int take_memory(struct processor *processor)
{
	const struct scenario *scenario = processor->p.scenario;
	int r;

	if ((processor->p.recorder || processor->p.records) && occurrence_new(scenario, &processor->occurrence) < 0)
		return -ENOMEM;
	processor->verification.outcomes = calloc(most_conditions(scenario), sizeof(struct outcome));
	processor->not_evaluable_said = calloc(MAX(scenario->n_conditions, 1U), sizeof(bool));
	processor->swipe_points = calloc(most_points(scenario), sizeof(struct point));
	if (!processor->verification.outcomes || !processor->not_evaluable_said || !processor->swipe_points)
		return -ENOMEM;
	r = rotation_init(&processor->rotation, processor->p.ending->wake_fd, processor->occurrence != NULL);
	if (r < 0)
		return r;
	return states_init(&processor->states, scenario, processor->clock);
}

int processor_new(const struct processor_params *params, struct processor **ret)
{
	struct processor *processor = calloc(1, sizeof(*processor));
	int r;

	if (!processor)
		return -ENOMEM;
	processor->p = *params;
	processor->random = params->random_seed;
	processor->clock = params->clock;
	if (rerun_init(&processor->rerun_memory, params->clock, params->tape, params->screen)) {
		processor->rerun = &processor->rerun_memory;
		processor->clock = &processor->rerun->clock;
	}
	processor->progress.checking = NO_INDEX;
	processor->rotation = ROTATION_NONE;
	r = take_memory(processor);
	if (r < 0) {
		processor_free(processor);
		return r;
	}
	*ret = processor;
	return 0;
}

struct processor *processor_free(struct processor *processor)
{
	if (!processor)
		return NULL;
	states_deinit(&processor->states);
	rotation_deinit(&processor->rotation);
	occurrence_free(processor->occurrence);
	free(processor->verification.outcomes);
	free(processor->not_evaluable_said);
	free(processor->swipe_points);
	free(processor);
	return NULL;
}

// --- ending and waiting ----------------------------------------------------------------------------------------------

void processor_end(struct processor *processor, Condprof__EndReason reason, const char *text)
{
	ending_request(processor->p.ending, reason, ending_result(reason), text);
}

static bool is_ending(struct processor *processor)
{
	if (ending_requested(processor->p.ending))
		return true;
	if (processor->end_ns == INT64_MAX || engine_clock_now(processor->p.clock) < processor->end_ns)
		return false;
	processor_end(processor, CONDPROF__END_REASON__REASON_DURATION, NULL);
	return true;
}

bool processor_ending(struct processor *processor)
{
	bool seen = is_ending(processor);

	return processor->rerun ? rerun_look(processor, seen) : seen;
}

void processor_set_waiting(struct processor *processor, bool waiting)
{
	processor_step(processor);
	atomic_store_explicit(&processor->progress.waiting, waiting, memory_order_relaxed);
}

static bool wait_for(struct processor *processor, struct engine_clock *clock, int64_t deadline_ns, int64_t end_ns,
		     int wake_fd)
{
	int woken;

	processor_set_waiting(processor, true);
	woken = clock->ops->wait(clock, MIN(deadline_ns, end_ns), wake_fd);
	processor_set_waiting(processor, false);
	return !woken && (deadline_ns < end_ns || !is_ending(processor));
}

// The time limit as the decisions' clock has it.
static int64_t decisions_end_ns(const struct processor *processor)
{
	const struct rerun *rerun = processor->rerun;

	return processor->end_ns == INT64_MAX || !rerun || rerun->plays ? processor->end_ns
									: processor->end_ns - rerun->start_ns;
}

bool processor_wait(struct processor *processor, int64_t deadline_ns)
{
	bool reached = wait_for(processor, processor->clock, deadline_ns, decisions_end_ns(processor),
				processor->p.ending->wake_fd);

	return processor->rerun ? !rerun_look(processor, !reached) : reached;
}

// --- step 2: the frame -----------------------------------------------------------------------------------------------

static struct screen_wait frame_deadline(const struct processor *processor)
{
	struct engine_clock *clock = processor->p.clock;
	int64_t now = engine_clock_now(clock);
	int64_t deadline;

	if (processor->p.screen->by_pass)
		deadline = time_add(now, FRAME_WAIT_BY_PASS_NS);
	else if (processor->limiter.period_ns)
		deadline = MAX(limiter_next(&processor->limiter), time_add(now, FRAME_WAIT_LEAST_NS));
	else
		deadline = time_add(now, FRAME_WAIT_UNLIMITED_NS);
	return (struct screen_wait){
		.wake_fd = processor->p.ending->wake_fd,
		.deadline_ns = clock->ops->monotonic(clock, MIN(deadline, processor->end_ns)),
	};
}

// Positions are in the frame's pixels: an input that is another size needs to know.
static void fit_input(struct processor *processor, int width, int height)
{
	struct input *input = processor->p.input;

	if (input->ops->fit && width > 0 && height > 0)
		input->ops->fit(input, width, height);
}

static int fit_detector(struct processor *processor, int width, int height, struct error *error)
{
	struct detector *detector = processor->p.detector;
	int r;

	if (width == processor->detector_width && height == processor->detector_height)
		return 0;
	r = detector->ops->resize(detector, width, height, error);
	if (r < 0)
		return r;
	processor->detector_width = width;
	processor->detector_height = height;
	return 0;
}

int processor_prepare(struct processor *processor, struct error *error)
{
	const struct screen *screen = processor->p.screen;

	fit_input(processor, screen->width, screen->height);
	if (screen->width <= 0 || screen->height <= 0 || !processor->p.scenario->screen_events)
		return 0;
	return fit_detector(processor, screen->width, screen->height, error);
}

static bool use_frame(struct processor *processor, const struct frame *frame)
{
	struct progress *progress = &processor->progress;
	struct error error = {0};

	if (!progress->frames || frame->serial != processor->frame.serial)
		progress_add(&progress->frames, 1);
	if (frame->view.width != processor->frame.view.width || frame->view.height != processor->frame.view.height)
		fit_input(processor, frame->view.width, frame->view.height);
	processor->frame = *frame;
	atomic_store_explicit(&progress->frame_width, frame->view.width, memory_order_relaxed);
	atomic_store_explicit(&progress->frame_height, frame->view.height, memory_order_relaxed);
	if (fit_detector(processor, frame->view.width, frame->view.height, &error) < 0) {
		processor_end(processor, CONDPROF__END_REASON__REASON_INTERNAL, error.message);
		return false;
	}
	processor->p.detector->ops->begin(processor->p.detector, frame->view);
	processor->frame_usable = true;
	return true;
}

// @return whether the pass goes on
static bool take_status(struct processor *processor, enum screen_status status, const struct frame *frame)
{
	switch (status) {
	case SCREEN_OK:
		return use_frame(processor, frame);
	case SCREEN_STALLED:
	case SCREEN_INTERRUPTED:
		return !processor_ending(processor);
	case SCREEN_ENDED:
		processor_end(processor, CONDPROF__END_REASON__REASON_SOURCE_ENDED, NULL);
		return false;
	case SCREEN_FAILED:
		break;
	}
	processor_end(processor, CONDPROF__END_REASON__REASON_SOURCE_FAILED, processor->p.screen->failure.message);
	return false;
}

static bool take_frame(struct processor *processor)
{
	struct screen *screen = processor->p.screen;
	struct screen_wait wait;
	struct frame frame = {0};
	enum screen_status status;

	processor->frame_usable = false;
	// without screen events a live picture serves nobody; a replay goes on, to come to its end
	if (!processor->p.scenario->screen_events && screen->live)
		return true;
	if (processor->rerun && !rerun_looks_for_frame(processor->rerun))
		return true;
	wait = frame_deadline(processor);
	processor_enter(processor, TIME_FRAME_WAIT);
	processor_set_waiting(processor, true);
	status = screen->ops->wait(screen, &wait);
	processor_set_waiting(processor, false);
	if (status == SCREEN_OK) {
		processor_enter(processor, TIME_FRAME_GET);
		status = screen->ops->get(screen, &wait, &frame);
	}
	processor_enter(processor, TIME_ENGINE);
	if (processor->rerun)
		rerun_frame(processor, status == SCREEN_OK ? &frame : NULL);
	return take_status(processor, status, &frame);
}

static bool refresh_frame(struct processor *processor)
{
	struct screen *screen = processor->p.screen;
	struct screen_wait wait = frame_deadline(processor);
	struct frame frame = {0};
	enum screen_status status;

	processor_enter(processor, TIME_FRAME_GET);
	status = screen->ops->refresh(screen, &wait, &frame);
	processor_enter(processor, TIME_ENGINE);
	if (processor->rerun)
		rerun_frame(processor, status == SCREEN_OK ? &frame : NULL);
	if (status == SCREEN_OK && frame.serial == processor->frame.serial &&
	    frame.view.pixels == processor->frame.view.pixels)
		return true; // the same picture: what is prepared of it stays
	if (status == SCREEN_FAILED)
		return take_status(processor, status, &frame);
	// no newer one now, and the old one is given back: the pass has no usable frame any more
	return status == SCREEN_OK && use_frame(processor, &frame);
}

// --- steps 4 and 5: events -------------------------------------------------------------------------------------------

static bool may_record(struct processor *processor)
{
	return !processor->p.recorder_gate || gate_enter(processor->p.recorder_gate);
}

static void recorded(struct processor *processor)
{
	if (processor->p.recorder_gate)
		gate_leave(processor->p.recorder_gate);
}

static void give(struct processor *processor, const Condprof__DebugReportMessage *message)
{
	if (!processor->p.recorder || !may_record(processor))
		return;
	recorder_push(processor->p.recorder, message);
	recorded(processor);
}

static void push(struct processor *processor, const Condprof__DebugReportMessage *message)
{
	// only a replay may wait: a live screen would go on meanwhile
	if (!processor->p.screen->live && may_record(processor)) {
		processor_enter(processor, TIME_REPORT_WAIT);
		processor_set_waiting(processor, true);
		recorder_wait_room(processor->p.recorder, message, processor->p.ending->wake_fd);
		recorded(processor);
		processor_set_waiting(processor, false);
		processor_enter(processor, TIME_ENGINE);
	}
	give(processor, message);
}

static void record_occurrence(struct processor *processor, uint32_t event, int64_t done)
{
	const struct verification *verification = &processor->verification;
	struct timing *timing = processor->p.timing;
	struct occurrence_times times;

	if (timing) {
		int64_t start = timing_start_ns(timing);

		times.checking_ns = verification->end_ns - verification->begin_ns;
		times.detecting_ns = verification->begin_ns - processor->previous_done_ns;
		times.detected_at_ns = verification->end_ns - start;
		times.done_at_ns = done - start;
		timing_occurrence(timing, event, times.detecting_ns, times.checking_ns, done - verification->end_ns,
				  done);
		processor->previous_done_ns = done;
	}
	if (processor->p.recorder)
		push(processor,
		     occurrence_finish(processor->occurrence, verification, processor->pass, timing ? &times : NULL));
}

static bool evaluate(struct processor *processor, uint32_t event)
{
	int64_t done;

	if (!verify_event(processor, event))
		return false;
	done = execute_actions(processor, event);
	states_start_cooldown(&processor->states, event);
	record_occurrence(processor, event, done);
	return true;
}

static void not_reached(struct processor *processor, uint32_t event, enum not_reached why)
{
	if (processor->p.timing)
		timing_event_not_reached(processor->p.timing, event, why);
}

static void trigger_events(struct processor *processor)
{
	const struct scenario *scenario = processor->p.scenario;

	for (uint32_t i = scenario->screen_events; i < scenario->n_events; i++) {
		if (processor_ending(processor))
			return;
		if (processor->states.enabled[i])
			evaluate(processor, i);
		else
			not_reached(processor, i, NOT_REACHED_DISABLED);
	}
}

static void screen_events(struct processor *processor)
{
	const struct scenario *scenario = processor->p.scenario;

	for (uint32_t i = 0; i < scenario->screen_events && !processor_ending(processor); i++) {
		const struct event *event = &scenario->events[i];

		if (!processor->states.enabled[i]) {
			not_reached(processor, i, NOT_REACHED_DISABLED);
			continue;
		}
		if (states_cooling_down(&processor->states, i)) {
			not_reached(processor, i, NOT_REACHED_COOLING_DOWN);
			continue;
		}
		if (!evaluate(processor, i))
			continue;
		if (!event->keep_detecting)
			return;
		if (event->refresh && !processor_ending(processor) && !refresh_frame(processor))
			return;
	}
}

// --- the pass --------------------------------------------------------------------------------------------------------

// The device slept when its boot-time clock has run ahead of the monotonic one.
static void look_for_gap(struct processor *processor)
{
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	Condprof__Gap gap = CONDPROF__GAP__INIT;
	int64_t suspended, slept;

	if (!processor->p.timing || !processor->p.suspend)
		return;
	suspended = processor->p.suspend();
	slept = suspended - processor->suspended_ns;
	processor->suspended_ns = MAX(suspended, processor->suspended_ns);
	if (slept < GAP_LEAST_NS)
		return;
	gap.has_at_ns = gap.has_duration_ns = true;
	gap.at_ns = timing_gap(processor->p.timing, slept);
	gap.duration_ns = slept;
	message.has_relative_timestamp_ms = true;
	message.relative_timestamp_ms = gap.at_ns / NSEC_PER_MSEC;
	message.gap = &gap;
	give(processor, &message);
}

// @return whether it is a counted pass: one that did not end in step 1 or 2
static bool run_pass(struct processor *processor)
{
	if (processor->rerun && !rerun_pass(processor))
		return false;
	if (!processor->states.n_enabled) {
		processor_end(processor, CONDPROF__END_REASON__REASON_ALL_EVENTS_DISABLED, NULL);
		return false;
	}
	look_for_gap(processor);
	if (!take_frame(processor))
		return false;
	if (processor->rerun)
		rerun_receive(processor);
	states_take_broadcasts(&processor->states);
	if (processor->rerun)
		rerun_received(processor);
	trigger_events(processor);
	if (processor->frame_usable)
		screen_events(processor);
	states_drop_broadcasts(&processor->states);
	return true;
}

bool processor_pass(struct processor *processor)
{
	bool counted = false;

	if (processor_ending(processor))
		return false;
	processor_step(processor);
	processor->pass = processor->progress.passes - processor->passes_before + 1;
	if (processor->p.timing)
		timing_pass_begin(processor->p.timing);
	counted = run_pass(processor);
	if (processor->rerun)
		rerun_pass_end(processor);
	if (processor->p.timing)
		timing_pass_end(processor->p.timing, counted);
	if (counted)
		progress_add(&processor->progress.passes, 1);
	if (processor->p.max_passes && processor->progress.passes >= processor->p.max_passes)
		processor_end(processor, CONDPROF__END_REASON__REASON_PASSES, NULL);
	return !processor_stopping(processor);
}

// --- step 6: the limiter ---------------------------------------------------------------------------------------------

static bool wait_at(struct processor *processor, enum time_site site, int64_t deadline_ns)
{
	bool reached;

	if (deadline_ns <= engine_clock_now(processor->p.clock))
		return !processor_ending(processor);
	processor_enter(processor, site);
	// between two passes a rotation needn't wait for the next one
	while (!(reached = wait_for(processor, processor->p.clock, deadline_ns, processor->end_ns,
				    processor->rotation.wake_fd)) &&
	       !processor_ending(processor))
		rotation_woken(processor);
	processor_enter(processor, TIME_OTHER);
	return reached;
}

bool processor_limit(struct processor *processor)
{
	struct limiter *limiter = &processor->limiter;

	if (processor->rerun && processor->rerun->plays)
		return !processor_ending(processor); // its passes are when they were
	if (!limiter->period_ns) {
		bool go_on = !processor->p.screen->live ||
			     wait_at(processor, TIME_SAFETY_WAIT, time_add(limiter->deadline_ns, SAFETY_PERIOD_NS));

		if (processor->p.screen->live)
			limiter->deadline_ns = engine_clock_now(processor->p.clock);
		return go_on;
	}
	if (!wait_at(processor, TIME_LIMITER_WAIT, limiter_next(limiter)))
		return false;

	int64_t now = engine_clock_now(processor->p.clock);

	progress_add(&processor->progress.missed, limiter_advance(limiter, now));
	if (processor->p.timing)
		timing_lateness(processor->p.timing, now - limiter->deadline_ns);
	return true;
}

// --- the session -----------------------------------------------------------------------------------------------------

void processor_start(struct processor *processor)
{
	// first, since it measures the clock as well: what the limiter holds the session to is in its duration
	if (processor->p.timing)
		timing_start(processor->p.timing);

	int64_t now = engine_clock_now(processor->p.clock);

	processor->end_ns = processor->p.max_duration_ns ? time_add(now, processor->p.max_duration_ns) : INT64_MAX;
	limiter_start(&processor->limiter, processor->p.period_ns, now);
	if (processor->rerun)
		rerun_start(processor); // a recording that cannot be read says so again in the first pass
	states_start(&processor->states);
	if (processor->rerun) {
		rerun_started(processor);
		processor_enter(processor, TIME_OTHER);
	}
	if (processor->p.timing) {
		processor->previous_done_ns = timing_start_ns(processor->p.timing);
		processor->suspended_ns = INT64_MIN;
		for (int i = 0; i < 16 && processor->p.suspend; i++)
			processor->suspended_ns = MAX(processor->suspended_ns, processor->p.suspend());
	}
	if (processor->p.recorder)
		give(processor, occurrence_counters_init(processor->occurrence));
}

void processor_run(struct processor *processor)
{
	processor_start(processor);
	do {
		rotation_take(processor);
	} while (processor_pass(processor) && processor_limit(processor));
	// what a press held is let go already, unless the input failed meanwhile: then this is one more try
	processor->p.input->ops->release_all(processor->p.input);
	if (processor->p.timing)
		timing_finish(processor->p.timing);
}

bool processor_emit(struct processor *processor, const char *broadcast)
{
	return states_emit(&processor->states, broadcast);
}

void processor_receive(struct processor *processor, uint32_t broadcast)
{
	states_receive(&processor->states, broadcast);
}
