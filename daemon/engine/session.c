// SPDX-License-Identifier: GPL-3.0-or-later
// A session's thread, and the calls by which others speak to it.
//
// Phases go one way only. What is made while opening (processor, figures) is published by the phase RUNNING, with
// release, and stays until session_free(), so that snapshots need no lock. After a rotation `report` is the new one and
// `previous` the one before, until session_close_rotated(): whoever still speaks of its id finds it there.
//
// Whoever moves the phase from RUNNING to CLOSING closes the session: its own thread, or session_abandon() when that
// hangs. An abandoned thread has its processor, screen and scenario to itself, finds the gates to input and report
// shut, and frees everything when it comes to its end after all. If it never does, that memory is what is lost.
#include "config.h"

#include "daemon/engine/session-internal.h"

#include "daemon/engine/aggregates.h"
#include "daemon/report/store.h"
#include "daemon/screen/wait.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define GATE_PATIENCE_NS (1 * NSEC_PER_SEC) // for a call that the hanging thread may be in the middle of
#define FOREVER_NS (INT64_C(1000000000) * NSEC_PER_SEC)
#define TIMER_SLACK_NS 1000UL // of the limiter's wait; the kernel's default is 50 us

size_t session_reserve_bytes(const struct scenario *scenario)
{
	return 2 * aggregates_most_bytes(scenario); // the checkpoint holds both as well
}

// --- snapshots -------------------------------------------------------------------------------------------------------

static bool begun(struct session *session)
{
	int phase = atomic_load(&session->phase);

	return phase != OPENING && phase != OPEN_FAILED;
}

/// The report of this id, while the session knows it; NULL: none. 0: the one it writes to.
static struct session_report *find_report(struct session *session, int64_t id)
{
	// this one first: a rotation puts a report into `previous` before it goes from here
	struct session_report *report = atomic_load(&session->report);

	if (!id || report->id == id)
		return report;
	report = atomic_load(&session->previous);
	return report && report->id == id ? report : NULL;
}

int session_snapshot_overview_of(struct session *session, int64_t id, uint8_t **ret, size_t *ret_size)
{
	struct session_report *report = find_report(session, id);

	if (!begun(session) || !report || !report->timing)
		return -ENODATA;
	return session_report_overview(report, session_report_losses(report), ret, ret_size);
}

int session_snapshot_aggregates_of(struct session *session, int64_t id, uint8_t **ret, size_t *ret_size)
{
	struct session_report *report = find_report(session, id);

	if (!begun(session) || !report || !report->timing)
		return -ENODATA;
	return session_report_aggregates(report, ret, ret_size);
}

int session_snapshot_overview(struct session *session, uint8_t **ret, size_t *ret_size)
{
	return session_snapshot_overview_of(session, 0, ret, ret_size);
}

int session_snapshot_aggregates(struct session *session, uint8_t **ret, size_t *ret_size)
{
	return session_snapshot_aggregates_of(session, 0, ret, ret_size);
}

// --- rotation --------------------------------------------------------------------------------------------------------

static void thread_name(int64_t id, char ret[16])
{
	char name[32];

	snprintf(name, sizeof(name), "engine-%" PRId64, id);
	memcpy(ret, name, 15);
	ret[15] = '\0';
}

/// Whoever speaks of the session does so by the id that runs now. On its thread.
static void name_session(struct session *session, int64_t id)
{
	char name[16];

	thread_name(id, name);
	pthread_setname_np(pthread_self(), name);
	if (session->run.tape)
		tape_name(session->run.tape, id);
	if (session->p.messenger)
		session->p.messenger->ops->name(session->p.messenger, id);
}

static void on_taken(struct rotation_target *target)
{
	struct session_report *to = (struct session_report *)target;
	struct session *session = to->context;
	struct session_report *from = session->report;

	session_report_rotate(from, to);
	name_session(session, to->id);
	atomic_store(&session->previous, from);
	atomic_store(&session->report, to);
	session->p.notify(session->p.context, session, SESSION_ROTATED);
}

static int make_report(struct session *session, int64_t id, struct session_report **ret)
{
	int r = session_report_new(&session->run, id, ret);

	if (r < 0)
		return r;
	(*ret)->context = session;
	(*ret)->target = (struct rotation_target){.session_id = id, .taken = on_taken};
	return 0;
}

static int cannot_rotate(struct session *session, int r, struct error *error)
{
	if (r == -ENOMEM)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for another report");
	if (r == -EBUSY)
		return error_set(error, CONDPROF__CODE__BUSY, EBUSY, "its report is being rotated already");
	return error_set(error, CONDPROF__CODE__ALREADY_ENDED, ESHUTDOWN, "session %" PRId64 " has ended already",
			 atomic_load(&session->report)->id);
}

static int ask(struct session *session, struct session_report *report, struct report_files **files, struct error *error)
{
	int r = session_report_measure(report, error);

	if (r < 0)
		return r;
	report->continues_session = atomic_load(&session->report)->id;
	r = session_report_open(report, *files, error);
	if (r < 0)
		return r;
	*files = NULL;
	report->target.timing = report->timing;
	report->target.recorder = report->recorder;
	r = rotation_ask(&session->processor->rotation, &report->target);
	return r < 0 ? cannot_rotate(session, r, error) : 0;
}

int session_rotate(struct session *session, int64_t id, struct report_files **files, struct error *error)
{
	struct session_report *report;
	int r;

	if (atomic_load(&session->phase) != RUNNING)
		return cannot_rotate(session, -ESHUTDOWN, error);
	if (atomic_load(&session->previous))
		return cannot_rotate(session, -EBUSY, error);
	r = make_report(session, id, &report);
	if (r < 0)
		return cannot_rotate(session, r, error);
	r = ask(session, report, files, error);
	if (r < 0)
		session_report_free(report);
	return r;
}

/// When no more passes are made, or the thread hangs in one.
static void take_back_rotation(struct session *session)
{
	session_report_free((struct session_report *)rotation_end(&session->processor->rotation));
}

int session_close_rotated(struct session *session, struct session_live *ret, struct error *error)
{
	struct session_report *report = atomic_load(&session->previous);
	int r;

	if (!report)
		return -ENOENT;
	r = session_report_close(report, error);
	session_live_of(session, report->id, ret);
	atomic_store(&session->previous, NULL);
	session_report_free(report);
	return r;
}

// --- the thread ------------------------------------------------------------------------------------------------------

// Its memory stays until nobody can be in a call of it: whoever abandons the session may come at the same time.
static void leave_messenger(struct session *session)
{
	if (session->p.messenger)
		session->p.messenger->ops->leave(session->p.messenger);
}

static void close_ends(struct session *session)
{
	leave_messenger(session);
	session->p.secrets = secrets_free(session->p.secrets);
	session->input = input_close(session->input);
	session->screen = screen_close(session->screen);
}

// Of an abandoned session: whoever abandoned it may be taking the input away just now, and has the pointer.
static void close_abandoned(struct session *session)
{
	leave_messenger(session);
	session->p.secrets = secrets_free(session->p.secrets);
	guarded_input_take_away(session->input, FOREVER_NS);
	session->screen = screen_close(session->screen);
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

	return atomic_compare_exchange_strong(&session->phase, &phase, CLOSING);
}

static void destroy(struct session *session)
{
	struct scenario *scenario = session->scenario;

	session_report_free(session->previous); // these look into the scenario
	session_report_free(session->report);
	processor_free(session->processor);
	detector_free(session->detector);
	messenger_free(session->p.messenger);
	input_close(session->input); // of an abandoned one
	scenario_free(scenario);
	ending_deinit(&session->ending);
	gate_deinit(&session->recorder_gate);
	tape_free(session->run.tape);
	free(session->screen_uri);
	free(session->input_uri);
	free(session->record);
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
	struct ending_reason ending;
	struct error error = {0};

	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	if (session_open(session, &error) < 0) {
		close_ends(session);
		if (session->run.tape) // here, where it may wait for the disk
			tape_finish(session->run.tape);
		session->p.files = report_files_discard(session->p.files);
		session->error = error;
		notify(session, OPEN_FAILED, SESSION_OPEN_FAILED);
		return NULL;
	}
	notify(session, RUNNING, SESSION_OPENED);
	processor_run(session->processor);
	if (!begin_closing(session)) {
		close_abandoned(session);
		unref(session);
		return NULL;
	}
	session_report_end(session->report, NULL);
	take_back_rotation(session);
	close_ends(session);
	if (session->run.tape)
		tape_finish(session->run.tape);
	ending_get(&session->ending, &ending); // an input that fails as it closes may have had its say
	session_report_end(session->report, &ending);
	session_report_close(session->report, &error);
	notify(session, ENDED, SESSION_ENDED);
	return NULL;
}

// --- for others ------------------------------------------------------------------------------------------------------

/// What would never come must not be waited for.
static int check_buses(const struct session_params *params, struct error *error)
{
	const struct scenario *scenario = params->scenario;
	uint32_t i = 0;

	while (i < scenario->n_broadcasts && scenario->broadcasts[i].bus == CONDPROF__BUS__BUS_NONE)
		i++;
	if (params->messenger || i == scenario->n_broadcasts)
		return 0;
	error_set(error, CONDPROF__CODE__UNSUPPORTED, ENOTSUP, "this session has no D-Bus to wait for \"%s\" on",
		  error_quote(scenario->broadcasts[i].name).text);
	scenario_condition_place(scenario, scenario_broadcast_condition(scenario, i), "bus", error);
	return -ENOTSUP;
}

static int check_params(const struct session_params *params, struct error *error)
{
	int r;

	r = screen_check_uri(params->screen_uri, error);
	if (r < 0)
		return r;
	r = input_check_uri(params->input_uri, error);
	if (r < 0)
		return r;
	return check_buses(params, error);
}

int session_start(const struct session_params *params, struct session **ret, struct error *error)
{
	struct session_report *report = NULL;
	struct session *session;
	char name[16];
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
	gate_init(&session->recorder_gate);
	session->references = 2;
	session->p = *params;
	session->scenario = params->scenario;
	session->screen_uri = strdup(params->screen_uri);
	session->input_uri = strdup(params->input_uri);
	session->run = (struct session_run){
		.scenario = params->scenario,
		.period_ns = params->period_ns,
		.writer = params->writer,
		.screen = session->screen_uri,
		.input = session->input_uri,
		.dry_run = params->dry_run,
	};
	thread_name(params->id, name);
	session->record = params->record ? strdup(params->record) : NULL;
	r = session->screen_uri && session->input_uri && !session->record == !params->record
		    ? make_report(session, params->id, &report)
		    : -ENOMEM;
	session->report = report;
	if (!r)
		r = wait_start_thread(&session->thread, name, session_thread, session);
	if (r < 0) {
		session->scenario = NULL;
		session->p.messenger = NULL;
		session->p.secrets = NULL;
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

static Condprof__SessionState live_state(struct session *session, const struct session_report *report,
					 const struct ending_reason *ending)
{
	int phase = atomic_load(&session->phase);
	bool failed = ending_result(ending->reason) != CONDPROF__SESSION_RESULT__SESSION_OK;

	if (phase == OPENING)
		return CONDPROF__SESSION_STATE__STARTING;
	if (phase == OPEN_FAILED)
		return CONDPROF__SESSION_STATE__FAILED;
	if (phase == ENDED || report != atomic_load(&session->report))
		return failed ? CONDPROF__SESSION_STATE__FAILED : CONDPROF__SESSION_STATE__FINISHED;
	return phase == CLOSING || ending_requested(&session->ending) ? CONDPROF__SESSION_STATE__STOPPING
								      : CONDPROF__SESSION_STATE__RUNNING;
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

int session_live_of(struct session *session, int64_t id, struct session_live *ret)
{
	struct session_report *report = find_report(session, id);
	struct ending_reason ending;

	if (!report)
		return -ENOENT;
	if (atomic_load(&report->ended))
		ending = report->ending;
	else
		ending_get(&session->ending, &ending);
	*ret = (struct session_live){
		.state = live_state(session, report, &ending),
		.reason = ending.reason,
		.result = ending.result,
		.started_unix_ns = atomic_load(&report->started_unix_ns),
		.ended_unix_ns = atomic_load(&report->ended_unix_ns),
		.lost_occurrences = session_report_losses(report).occurrences,
	};
	memcpy(ret->reason_text, ending.text, sizeof(ret->reason_text));
	pthread_mutex_lock(&report->lock);
	memcpy(ret->report_error, report->error, sizeof(ret->report_error));
	pthread_mutex_unlock(&report->lock);
	if (!begun(session))
		return 0;
	ret->duration_ns = session_report_duration_ns(report);
	ret->passes = session_report_passes(report);
	ret->progress = live_progress(session);
	return 0;
}

void session_live(struct session *session, struct session_live *ret)
{
	session_live_of(session, 0, ret);
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

static void freeze(struct session *session)
{
	struct session_report *report = session->report;

	if (report->timing)
		timing_freeze(report->timing);
}

int session_abandon(struct session *session)
{
	struct ending_reason ending;
	struct error error;

	if (!begin_closing(session))
		return -EALREADY;
	atomic_store(&session->abandoned, true);
	take_back_rotation(session);
	freeze(session);
	leave_messenger(session);
	int r = guarded_input_take_away(session->input, GATE_PATIENCE_NS);
	bool shut = gate_shut(&session->recorder_gate, GATE_PATIENCE_NS);

	freeze(session); // a rotation may have been under way until the gate was shut
	if (session->run.tape)
		tape_abandon(session->run.tape);
	ending_get(&session->ending, &ending);
	session_report_end(session->report, &ending);
	if (shut)
		session_report_close(session->report, &error);
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
