// SPDX-License-Identifier: GPL-3.0-or-later
// What a session opens before its first pass, in this order: the screen may say what is drawn by lot, which the
// recording begins with; every broadcast must reach the first pass; and the report begins last, so that no opening is
// measured.
#include "config.h"

#include "daemon/engine/session-internal.h"

#include "daemon/screen/wait.h"
#include "proto/limits.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static int opening_failed(struct session *session, int r, const char *what, Condprof__Code code, struct error *error)
{
	if (ending_requested(&session->ending))
		return error_set(error, CONDPROF__CODE__ALREADY_ENDED, EINTR, "stopped before its %s was open", what);
	if (r == -ETIMEDOUT && !error->message[0])
		return error_set(error, code, ETIMEDOUT,
				 "the %s did not open within %d s: is what it is on still answering?", what,
				 (int)(OPEN_TIMEOUT_NS / NSEC_PER_SEC));
	if (!error->message[0])
		return error_set(error, code, -r, "the %s could not be opened: %s", what, strerror(-r));
	return r;
}

static int open_ends(struct session *session, const struct screen_wait *wait, struct error *error)
{
	struct input *input = NULL;
	int r;

	r = screen_open(session->screen_uri, session->p.screen_config, wait, &session->screen, error);
	if (r < 0)
		return opening_failed(session, r, "screen", CONDPROF__CODE__SCREEN_FAILED, error);
	// a dry run touches nothing, and opening an input may: what somebody else holds down would be released
	r = input_open(session->p.dry_run ? "log:" : session->input_uri, session->p.screen_config, wait, &input, error);
	if (r < 0)
		return opening_failed(session, r, "input", CONDPROF__CODE__INPUT_FAILED, error);
	if (session->screen->ops->pass) // a recording: what is drawn by lot is drawn as it was
		session->p.random_seed = session->screen->random_seed;
	r = guarded_input_new(input, &session->input);
	if (r < 0)
		input_close(input);
	return r < 0 ? error_set(error, CONDPROF__CODE__INTERNAL, -r, "no memory for the input") : 0;
}

static int open_tape(struct session *session, struct error *error)
{
	const struct scenario *scenario = session->scenario;
	CLEANUP_FREE struct tape_broadcast *broadcasts = calloc(scenario->n_broadcasts + 1U, sizeof(*broadcasts));
	struct tape_params params = {
		.path = session->record,
		.frame_folders = session->p.screen_config ? session->p.screen_config->frame_folders : NULL,
		.max_bytes = session->p.record_max_bytes,
		.scenario_name = scenario->name,
		.random_seed = session->p.random_seed,
		.session_id = session->p.id,
		.started_unix_ns = clock_ns(CLOCK_REALTIME),
		.broadcasts = broadcasts,
		.n_broadcasts = scenario->n_broadcasts,
	};

	if (!session->record)
		return 0;
	if (!broadcasts)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the recording");
	for (uint32_t i = 0; i < scenario->n_broadcasts; i++)
		broadcasts[i] = (struct tape_broadcast){scenario->broadcasts[i].name, scenario->broadcasts[i].bus};
	return tape_open(&params, &session->run.tape, error);
}

static int open_recorder(struct session *session, struct error *error)
{
	struct session_report *report = session->report;
	int r;

	if (!report->timing)
		return 0;
	r = session_report_open(report, session->p.files, error);
	if (r < 0)
		return r;
	session->p.files = NULL;
	session->processor->p.recorder = report->recorder;
	return 0;
}

static int make_processor(struct session *session, struct error *error)
{
	bool report = session->p.writer && session->p.files;
	struct processor_params params = {
		.scenario = session->scenario,
		.clock = &session->clock,
		.screen = session->screen,
		.input = session->input,
		.ending = &session->ending,
		.recorder_gate = &session->recorder_gate,
		.secrets = session->p.secrets,
		.messenger = session->p.messenger,
		.tape = session->run.tape,
		.suspend = suspend_clock_boottime,
		.session_id = session->p.id,
		.period_ns = session->p.period_ns,
		.max_passes = session->p.max_passes,
		.max_duration_ns = session->p.max_duration_ns,
		.random_seed = session->p.random_seed,
		.dry_run = session->p.dry_run,
		.records = report,
	};
	int r;

	engine_clock_init_monotonic(&session->clock);
	r = detector_new(session->scenario, report ? measuring_clock_monotonic : NULL, &session->ending.requested,
			 &session->detector, error);
	if (r < 0)
		return r;
	params.detector = session->detector;
	r = report ? session_report_measure(session->report, error) : 0;
	if (r < 0)
		return r;
	params.timing = session->report->timing;
	r = processor_new(&params, &session->processor);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "no memory or descriptor for the session: %s",
				 strerror(-r));
	session->run.progress = &session->processor->progress;
	return processor_prepare(session->processor, error);
}

static void on_received(void *context, uint32_t broadcast)
{
	struct session *session = context;

	if (!session->screen->ops->pass) // a recording that is played has its own
		processor_receive(session->processor, broadcast);
}

/// After this every broadcast reaches the first pass.
static int open_messenger(struct session *session, const struct screen_wait *wait, struct error *error)
{
	struct messenger *messenger = session->p.messenger;
	struct messenger_failure failure = {NO_INDEX, NO_INDEX};
	int r;

	if (!messenger)
		return 0;
	r = messenger->ops->open(messenger, on_received, session, wait, &failure, error);
	if (r < 0 && failure.broadcast != NO_INDEX)
		scenario_condition_place(session->scenario,
					 scenario_broadcast_condition(session->scenario, failure.broadcast),
					 "broadcast", error);
	else if (r < 0 && failure.action != NO_INDEX)
		scenario_action_place(session->scenario, failure.action, "signal", error);
	return r < 0 ? opening_failed(session, r, "D-Bus", CONDPROF__CODE__BUS_FAILED, error) : 0;
}

int session_open(struct session *session, struct error *error)
{
	const struct screen_wait wait = {
		.wake_fd = session->ending.wake_fd,
		.deadline_ns = clock_ns(CLOCK_MONOTONIC) + OPEN_TIMEOUT_NS,
	};
	int r;

	r = open_ends(session, &wait, error);
	if (r < 0)
		return r;
	r = open_tape(session, error);
	if (r == 0)
		r = make_processor(session, error);
	if (r < 0)
		return r;
	r = open_messenger(session, &wait, error);
	if (r < 0)
		return r;
	if (ending_requested(&session->ending))
		return error_set(error, CONDPROF__CODE__ALREADY_ENDED, EINTR, "stopped before its first pass");
	session_report_begin(session->report);
	return open_recorder(session, error);
}
