// SPDX-License-Identifier: GPL-3.0-or-later
// A session's thread, and the calls by which others speak to it.
//
// Phases go one way only. What is made while opening (processor, timing) is published by the phase RUNNING, with
// release, and stays until session_free(), so that snapshots need no lock. The recorder goes earlier: the lock is for
// it and for texts, and is held for a few loads.
//
// Whoever moves the phase from RUNNING to CLOSING closes the session: its own thread, or session_abandon() when that
// hangs. An abandoned thread has its processor, screen and scenario to itself, finds the gates to input and report
// shut, and frees everything when it comes to its end after all. If it never does, that memory is what is lost.
#include "config.h"

#include "daemon/engine/session.h"

#include "daemon/engine/aggregates.h"
#include "daemon/engine/guard.h"
#include "daemon/engine/processor.h"
#include "daemon/report/store.h"
#include "daemon/screen/wait.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define GATE_PATIENCE_NS (1 * NSEC_PER_SEC) // for a call that the hanging thread may be in the middle of
#define TIMER_SLACK_NS 1000UL               // of the limiter's wait; the kernel's default is 50 us

enum phase { OPENING, RUNNING, CLOSING, ENDED, OPEN_FAILED };

/// What the report had to give up.
struct losses {
	int64_t occurrences, dropped_occurrences, dropped_segments;
};

struct session {
	struct session_params p;
	struct scenario *scenario;
	char *screen_uri, *input_uri;
	pthread_t thread;
	struct ending ending;
	_Atomic int phase;

	struct engine_clock clock;
	struct detector *detector;
	struct screen *screen;
	struct input *input; // a guarded one
	struct gate recorder_gate;
	struct timing *timing; // NULL: no report
	struct processor *processor;
	_Atomic int64_t started_unix_ns, ended_unix_ns, start_ns, end_ns; // 0: not yet; the last two monotonic
	_Atomic bool closed;                                              // the ending is final: overviews tell it
	_Atomic uint64_t looks;                                           // of session_live(), during waits
	_Atomic bool abandoned;
	_Atomic int references; // when abandoned: its thread's, and session_free()'s

	pthread_mutex_t lock;      // of what follows
	struct recorder *recorder; // NULL: none, or closed
	struct losses lost;        // when it was closed
	struct error error;        // why opening failed
	char report_error[256];
};

static int64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

size_t session_reserve_bytes(const struct scenario *scenario)
{
	return 2 * aggregates_most_bytes(scenario); // the checkpoint holds both as well
}

// --- snapshots -------------------------------------------------------------------------------------------------------

static struct losses read_losses(const struct recorder *recorder)
{
	return (struct losses){
		recorder_lost(recorder),
		recorder_dropped_occurrences(recorder),
		recorder_dropped_segments(recorder),
	};
}

static struct losses losses(struct session *session)
{
	struct losses now;

	pthread_mutex_lock(&session->lock);
	now = session->recorder ? read_losses(session->recorder) : session->lost;
	pthread_mutex_unlock(&session->lock);
	return now;
}

static Condprof__SessionState final_state(Condprof__EndReason reason)
{
	return ending_result(reason) == CONDPROF__SESSION_RESULT__SESSION_OK ? CONDPROF__SESSION_STATE__FINISHED
									     : CONDPROF__SESSION_STATE__FAILED;
}

static int make_overview(struct session *session, struct losses lost, uint8_t **ret, size_t *ret_size)
{
	struct overview_facts facts = {
		.session_id = session->p.id,
		.period_ns = session->p.period_ns,
		.state = CONDPROF__SESSION_STATE__RUNNING,
		.ended = atomic_load(&session->closed),
		.started_unix_ns = atomic_load(&session->started_unix_ns),
		.ended_unix_ns = atomic_load(&session->ended_unix_ns),
		.lost_occurrences = lost.occurrences,
		.dropped_occurrences = lost.dropped_occurrences,
		.dropped_segments = lost.dropped_segments,
	};

	if (facts.ended) {
		ending_get(&session->ending, &facts.ending);
		facts.state = final_state(facts.ending.reason);
	}
	return overview_encode(session->scenario, session->timing, &session->processor->progress, &facts, ret,
			       ret_size);
}

int session_snapshot_overview(struct session *session, uint8_t **ret, size_t *ret_size)
{
	int phase = atomic_load(&session->phase);

	if (phase == OPENING || phase == OPEN_FAILED || !session->timing)
		return -ENODATA;
	return make_overview(session, losses(session), ret, ret_size);
}

int session_snapshot_aggregates(struct session *session, uint8_t **ret, size_t *ret_size)
{
	int phase = atomic_load(&session->phase);

	if (phase == OPENING || phase == OPEN_FAILED || !session->timing)
		return -ENODATA;
	return aggregates_encode(session->scenario, session->timing, ret, ret_size);
}

// The writer's thread asks, from recorder_open() to the end of recorder_close(), and fills in what it knows was lost.
static int source_overview(void *context, uint8_t **ret, size_t *ret_size)
{
	return make_overview(context, (struct losses){0}, ret, ret_size);
}

static int source_aggregates(void *context, uint8_t **ret, size_t *ret_size)
{
	struct session *session = context;

	return aggregates_encode(session->scenario, session->timing, ret, ret_size);
}

// --- opening ---------------------------------------------------------------------------------------------------------

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

static int open_ends(struct session *session, struct error *error)
{
	struct screen_wait wait = {
		.wake_fd = session->ending.wake_fd,
		.deadline_ns = read_clock(CLOCK_MONOTONIC) + OPEN_TIMEOUT_NS,
	};
	struct input *input = NULL;
	int r;

	r = screen_open(session->screen_uri, session->p.screen_config, &wait, &session->screen, error);
	if (r < 0)
		return opening_failed(session, r, "screen", CONDPROF__CODE__SCREEN_FAILED, error);
	// a dry run touches nothing, and opening an input may: what somebody else holds down would be released
	r = input_open(session->p.dry_run ? "log:" : session->input_uri, session->p.screen_config, &wait, &input,
		       error);
	if (r < 0)
		return opening_failed(session, r, "input", CONDPROF__CODE__INPUT_FAILED, error);
	r = guarded_input_new(input, &session->input);
	if (r < 0)
		input_close(input);
	return r < 0 ? error_set(error, CONDPROF__CODE__INTERNAL, -r, "no memory for the input") : 0;
}

static int open_recorder(struct session *session, struct error *error)
{
	struct report_source source = {source_overview, source_aggregates, session};
	struct recorder *recorder;
	int r;

	if (!session->timing)
		return 0;
	r = recorder_open(session->p.writer, session->p.files, &source, RECORDER_QUEUE_BYTES, &recorder, error);
	if (r < 0)
		return r;
	session->p.files = NULL;
	pthread_mutex_lock(&session->lock);
	session->recorder = recorder;
	pthread_mutex_unlock(&session->lock);
	session->processor->p.recorder = recorder;
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
	if (report && timing_new(session->scenario, measuring_clock_monotonic, &session->timing) < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the figures of the report");
	params.timing = session->timing;
	if (processor_new(&params, &session->processor) < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the session");
	return processor_prepare(session->processor, error);
}

static int open_session(struct session *session, struct error *error)
{
	int r;

	r = open_ends(session, error);
	if (r < 0)
		return r;
	r = make_processor(session, error);
	if (r < 0)
		return r;
	if (ending_requested(&session->ending))
		return error_set(error, CONDPROF__CODE__ALREADY_ENDED, EINTR, "stopped before its first pass");
	atomic_store(&session->started_unix_ns, read_clock(CLOCK_REALTIME));
	atomic_store(&session->start_ns, read_clock(CLOCK_MONOTONIC));
	return open_recorder(session, error);
}

// --- the thread ------------------------------------------------------------------------------------------------------

static void close_ends(struct session *session)
{
	session->input = input_close(session->input);
	session->screen = screen_close(session->screen);
}

static void close_recorder(struct session *session)
{
	struct recorder *recorder;
	struct recorder_losses final;
	struct error error = {0};

	pthread_mutex_lock(&session->lock);
	recorder = TAKE_POINTER(session->recorder);
	if (recorder)
		session->lost = read_losses(recorder);
	pthread_mutex_unlock(&session->lock);
	if (!recorder)
		return;
	int r = recorder_close_counted(recorder, &final, &error);
	pthread_mutex_lock(&session->lock);
	session->lost = (struct losses){final.occurrences, final.dropped_occurrences, final.dropped_segments};
	if (r < 0)
		snprintf(session->report_error, sizeof(session->report_error), "%.*s",
			 (int)sizeof(session->report_error) - 1,
			 error.message[0] ? error.message : "the report could not be written whole");
	pthread_mutex_unlock(&session->lock);
}

static void notify(struct session *session, enum phase phase, enum session_event event)
{
	atomic_store(&session->phase, phase);
	session->p.notify(session->p.context, session, event);
}

/// Whether the session is the caller's to close.
static bool begin_closing(struct session *session)
{
	int phase = RUNNING;

	if (!atomic_compare_exchange_strong(&session->phase, &phase, CLOSING))
		return false;
	atomic_store(&session->end_ns, read_clock(CLOCK_MONOTONIC));
	atomic_store(&session->ended_unix_ns, read_clock(CLOCK_REALTIME));
	return true;
}

static void destroy(struct session *session)
{
	struct scenario *scenario = session->scenario;

	processor_free(session->processor); // these look into the scenario
	timing_free(session->timing);
	detector_free(session->detector);
	scenario_free(scenario);
	ending_deinit(&session->ending);
	gate_deinit(&session->recorder_gate);
	pthread_mutex_destroy(&session->lock);
	free(session->screen_uri);
	free(session->input_uri);
	free(session);
}

/// Of an abandoned session.
static void unref(struct session *session)
{
	if (atomic_fetch_sub(&session->references, 1) == 1)
		destroy(session);
}

static void *session_thread(void *argument)
{
	struct session *session = argument;
	struct error error = {0};

	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	if (open_session(session, &error) < 0) {
		close_ends(session);
		session->p.files = report_files_discard(session->p.files);
		pthread_mutex_lock(&session->lock);
		session->error = error;
		pthread_mutex_unlock(&session->lock);
		notify(session, OPEN_FAILED, SESSION_OPEN_FAILED);
		return NULL;
	}
	notify(session, RUNNING, SESSION_OPENED);
	processor_run(session->processor);
	if (!begin_closing(session)) {
		close_ends(session);
		unref(session);
		return NULL;
	}
	close_ends(session);
	atomic_store(&session->closed, true);
	close_recorder(session);
	notify(session, ENDED, SESSION_ENDED);
	return NULL;
}

// --- for others ------------------------------------------------------------------------------------------------------

static int check_params(const struct session_params *params, struct error *error)
{
	int r;

	r = screen_check_uri(params->screen_uri, error);
	if (r < 0)
		return r;
	r = input_check_uri(params->input_uri, error);
	if (r < 0)
		return r;
	return processor_check(params->scenario, error);
}

int session_start(const struct session_params *params, struct session **ret, struct error *error)
{
	struct session *session;
	char name[32];
	int r;

	r = check_params(params, error);
	if (r < 0)
		return r;
	session = calloc(1, sizeof(*session));
	if (!session)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the session");
	r = ending_init(&session->ending);
	if (r < 0) {
		free(session);
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "no descriptor for the session: %s",
				 strerror(-r));
	}
	pthread_mutex_init(&session->lock, NULL);
	gate_init(&session->recorder_gate);
	session->references = 2;
	session->p = *params;
	session->scenario = params->scenario;
	session->screen_uri = strdup(params->screen_uri);
	session->input_uri = strdup(params->input_uri);
	snprintf(name, sizeof(name), "engine-%lld", (long long)params->id);
	name[15] = '\0';
	r = session->screen_uri && session->input_uri
		    ? wait_start_thread(&session->thread, name, session_thread, session)
		    : -ENOMEM;
	if (r < 0) {
		session->scenario = NULL;
		destroy(session);
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "no thread for the session: %s", strerror(-r));
	}
	*ret = session;
	return 0;
}

void session_stop(struct session *session, Condprof__EndReason reason)
{
	ending_request(&session->ending, reason, ending_result(reason), NULL);
}

bool session_emit(struct session *session, const char *broadcast)
{
	return atomic_load(&session->phase) == RUNNING && processor_emit(session->processor, broadcast);
}

static Condprof__SessionState live_state(struct session *session, int phase, Condprof__EndReason reason)
{
	switch (phase) {
	case OPENING:
		return CONDPROF__SESSION_STATE__STARTING;
	case RUNNING:
		return ending_requested(&session->ending) ? CONDPROF__SESSION_STATE__STOPPING
							  : CONDPROF__SESSION_STATE__RUNNING;
	case CLOSING:
		return CONDPROF__SESSION_STATE__STOPPING;
	case ENDED:
		return final_state(reason);
	default:
		return CONDPROF__SESSION_STATE__FAILED;
	}
}

// Whoever watches for a session that is stuck compares two looks. In a wait that a stop ends nothing is stuck, however
// long it lasts: so each look says something new.
static uint64_t live_progress(struct session *session)
{
	const struct progress *progress = &session->processor->progress;

	if (atomic_load_explicit(&progress->waiting, memory_order_relaxed))
		atomic_fetch_add_explicit(&session->looks, 1, memory_order_relaxed);
	return atomic_load_explicit(&progress->steps, memory_order_relaxed) +
	       atomic_load_explicit(&session->looks, memory_order_relaxed);
}

void session_live(struct session *session, struct session_live *ret)
{
	int phase = atomic_load(&session->phase);
	int64_t start_ns = atomic_load(&session->start_ns), end_ns = atomic_load(&session->end_ns);
	struct ending_reason reason;

	ending_get(&session->ending, &reason);
	*ret = (struct session_live){
		.state = live_state(session, phase, reason.reason),
		.reason = reason.reason,
		.result = reason.result,
		.started_unix_ns = atomic_load(&session->started_unix_ns),
		.ended_unix_ns = atomic_load(&session->ended_unix_ns),
		.lost_occurrences = losses(session).occurrences,
	};
	memcpy(ret->reason_text, reason.text, sizeof(ret->reason_text));
	pthread_mutex_lock(&session->lock);
	memcpy(ret->report_error, session->report_error, sizeof(ret->report_error));
	pthread_mutex_unlock(&session->lock);
	if (phase == OPENING || phase == OPEN_FAILED)
		return;
	// with a report, what the report says, to the nanosecond: nobody is told two durations of one session
	ret->duration_ns = session->timing ? timing_duration_ns(session->timing)
					   : (end_ns ? end_ns : read_clock(CLOCK_MONOTONIC)) - start_ns;
	ret->passes = atomic_load_explicit(&session->processor->progress.passes, memory_order_relaxed);
	ret->progress = live_progress(session);
}

const struct error *session_error(const struct session *session)
{
	return &session->error;
}

// --- when it hangs ---------------------------------------------------------------------------------------------------

bool session_progress(struct session *session, uint64_t *ret)
{
	if (atomic_load(&session->phase) != RUNNING)
		return false;
	*ret = live_progress(session);
	return true;
}

void session_stuck_text(struct session *session, int64_t since_ns, char *out, size_t size)
{
	uint32_t index = atomic_load_explicit(&session->processor->progress.checking, memory_order_relaxed);
	int n = snprintf(out, size, "no progress for %d s", (int)(since_ns / NSEC_PER_SEC));

	if (index == NO_INDEX || n < 0 || (size_t)n >= size)
		return;
	const struct condition *condition = &session->scenario->conditions[index];

	snprintf(out + n, size - (size_t)n, "; what was checked last is “%.60s” of event “%.60s”", condition->name,
		 session->scenario->events[condition->event].name);
}

void session_stop_stuck(struct session *session, const char *text)
{
	Condprof__EndReason reason = CONDPROF__END_REASON__REASON_CHECK_STUCK;

	ending_request(&session->ending, reason, ending_result(reason), text);
}

int session_abandon(struct session *session)
{
	if (!begin_closing(session))
		return -EALREADY;
	atomic_store(&session->abandoned, true);
	if (session->timing)
		timing_freeze(session->timing);
	int r = guarded_input_take_away(session->input, GATE_PATIENCE_NS);

	atomic_store(&session->closed, true);
	if (gate_shut(&session->recorder_gate, GATE_PATIENCE_NS))
		close_recorder(session);
	else
		r = -EBUSY;
	notify(session, ENDED, SESSION_ENDED);
	return r;
}

// --- the end ---------------------------------------------------------------------------------------------------------

struct session *session_free(struct session *session)
{
	if (!session)
		return NULL;
	if (atomic_load(&session->abandoned)) {
		pthread_detach(session->thread);
		unref(session);
		return NULL;
	}
	pthread_join(session->thread, NULL);
	destroy(session);
	return NULL;
}
