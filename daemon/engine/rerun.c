// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/engine/rerun.h"

#include "daemon/engine/processor.h"

#include <poll.h>

#define PASS_WAIT_NS NSEC_PER_SEC // the recording's next pass is on its way

// --- the decisions' clock --------------------------------------------------------------------------------------------

static struct rerun *rerun_of(struct engine_clock *clock)
{
	return CONTAINER_OF(clock, struct rerun, clock);
}

// A run that asks oftener than the recorded one did stays at the last time: it is another scenario, or has other
// options.
static int64_t rerun_now(struct engine_clock *clock)
{
	struct rerun *rerun = rerun_of(clock);
	int64_t now;

	if (rerun->plays) {
		if (rerun->next_reference < rerun->pass.n_references) {
			int64_t reference = rerun->pass.references_ns[rerun->next_reference++];

			rerun->last_ns = MAX(rerun->last_ns, reference);
		}
		now = rerun->last_ns;
	} else {
		now = rerun->real->ops->now(rerun->real);
		if (!rerun->started)
			rerun->start_ns = now;
		rerun->started = true;
		now -= rerun->start_ns;
	}
	if (rerun->tape)
		tape_reference(rerun->tape, now);
	return now;
}

// Played waits pass at once; a stop by somebody is still seen.
static int rerun_wait(struct engine_clock *clock, int64_t deadline_ns, int wake_fd)
{
	struct rerun *rerun = rerun_of(clock);
	struct pollfd wake = {.fd = wake_fd, .events = POLLIN};

	if (!rerun->plays)
		return rerun->real->ops->wait(rerun->real, time_add(deadline_ns, rerun->start_ns), wake_fd);
	if (wake_fd >= 0 && poll(&wake, 1, 0) > 0)
		return 1;
	rerun->last_ns = MAX(rerun->last_ns, deadline_ns);
	return 0;
}

static int64_t rerun_monotonic(struct engine_clock *clock, int64_t deadline_ns)
{
	struct rerun *rerun = rerun_of(clock);

	return rerun->real->ops->monotonic(rerun->real, deadline_ns);
}

bool rerun_init(struct rerun *rerun, struct engine_clock *real, struct tape *tape, const struct screen *screen)
{
	static const struct engine_clock_ops ops = {rerun_now, rerun_wait, rerun_monotonic};

	*rerun = (struct rerun){.clock.ops = &ops, .real = real, .tape = tape, .plays = screen->ops->pass != NULL};
	return rerun->tape || rerun->plays;
}

// --- passes ----------------------------------------------------------------------------------------------------------

static enum screen_status fetch(struct processor *processor)
{
	struct rerun *rerun = processor->rerun;
	struct screen *screen = processor->p.screen;
	enum screen_status status;

	processor_enter(processor, TIME_FRAME_WAIT);
	processor_set_waiting(processor, true);
	do {
		struct screen_wait wait = {
			.wake_fd = processor->p.ending->wake_fd,
			.deadline_ns = rerun->real->ops->monotonic(rerun->real,
								   rerun->real->ops->now(rerun->real) + PASS_WAIT_NS),
		};
		status = screen->ops->pass(screen, &wait, &rerun->pass);
	} while (status == SCREEN_STALLED);
	processor_set_waiting(processor, false);
	processor_enter(processor, TIME_ENGINE);
	rerun->next_reference = 0;
	return status;
}

static bool take_pass(struct processor *processor)
{
	switch (fetch(processor)) {
	case SCREEN_OK:
		return true;
	case SCREEN_ENDED:
		processor_end(processor, CONDPROF__END_REASON__REASON_SOURCE_ENDED, NULL);
		return false;
	case SCREEN_FAILED:
		processor_end(processor, CONDPROF__END_REASON__REASON_SOURCE_FAILED,
			      processor->p.screen->failure.message);
		return false;
	default: // interrupted: the ending has its reason
		return false;
	}
}

static void begin_turn(struct processor *processor)
{
	struct rerun *rerun = processor->rerun;

	rerun->looks = rerun->checks = rerun->stopped_check = 0;
	if (!rerun->tape)
		return;
	if (!processor->p.screen->live) { // what can wait, does: its recording is exact
		processor_enter(processor, TIME_REPORT_WAIT);
		processor_set_waiting(processor, true);
		tape_wait_room(rerun->tape, processor->p.ending->wake_fd);
		processor_set_waiting(processor, false);
		processor_enter(processor, TIME_ENGINE);
	}
	tape_pass_begin(rerun->tape, rerun->turns);
}

bool rerun_start(struct processor *processor)
{
	begin_turn(processor);
	return !processor->rerun->plays || take_pass(processor);
}

void rerun_started(struct processor *processor)
{
	if (processor->rerun->tape)
		tape_pass_end(processor->rerun->tape);
}

bool rerun_pass(struct processor *processor)
{
	processor->rerun->turns++;
	begin_turn(processor);
	return !processor->rerun->plays || take_pass(processor);
}

static void tell_stop(struct rerun *rerun, uint32_t look)
{
	if (rerun->stop_told)
		return;
	rerun->stop_told = true;
	tape_stop(rerun->tape, look, rerun->stopped_check);
}

void rerun_pass_end(struct processor *processor)
{
	struct rerun *rerun = processor->rerun;

	if (!rerun->tape)
		return;
	if (rerun->stopped_check) // and nobody looked after it: whoever looks next sees it
		tell_stop(rerun, rerun->looks + 1);
	tape_pass_end(rerun->tape);
}

// --- the end ---------------------------------------------------------------------------------------------------------

bool rerun_look(struct processor *processor, bool seen)
{
	struct rerun *rerun = processor->rerun;

	rerun->looks++;
	if (rerun->plays && rerun->looks == rerun->pass.stop_look) {
		processor_end(processor, CONDPROF__END_REASON__REASON_SOURCE_ENDED, NULL);
		seen = true;
	}
	if (seen && rerun->tape)
		tell_stop(rerun, rerun->looks);
	return seen;
}

bool rerun_stops_check(struct processor *processor)
{
	struct rerun *rerun = processor->rerun;

	rerun->checks++;
	return rerun->plays && rerun->checks == rerun->pass.stopped_check;
}

void rerun_check_stopped(struct processor *processor)
{
	processor->rerun->stopped_check = processor->rerun->checks;
}

// --- frames and broadcasts -------------------------------------------------------------------------------------------

void rerun_frame(struct processor *processor, const struct frame *frame)
{
	static const struct picture_view none = {0};

	if (processor->rerun->tape)
		tape_frame(processor->rerun->tape, frame ? frame->view : none, frame ? frame->serial : 0);
}

bool rerun_looks_for_frame(const struct rerun *rerun)
{
	return !rerun->plays || rerun->pass.looks;
}

void rerun_receive(struct processor *processor)
{
	const struct rerun *rerun = processor->rerun;

	for (size_t i = 0; rerun->plays && i < rerun->pass.n_received; i++) {
		const struct screen_broadcast *broadcast = &rerun->pass.broadcasts[rerun->pass.received[i]];

		states_receive_named(&processor->states, broadcast->name, (Condprof__Bus)broadcast->bus);
	}
}

void rerun_received(struct processor *processor)
{
	const struct states *states = &processor->states;

	for (uint32_t i = 0; processor->rerun->tape && i < states->scenario->n_broadcasts; i++) {
		if (states_broadcast(states, i))
			tape_broadcast(processor->rerun->tape, i);
	}
}
