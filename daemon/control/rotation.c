// SPDX-License-Identifier: GPL-3.0-or-later
// A rotation, step by step. The worker takes the next id and makes its folder, figures and recorder (PREPARING), then
// asks the engine (ASKED). The engine changes over between two passes and says so: from that mail on the entry has the
// new id, and what is left of the old report is a `closing` of its own, which the worker closes. So a rotation that
// fails does so before anything has changed, and the next one may begin while an old report is still being closed.
//
// Whatever runs on the worker has the entry pinned. The mail may come before the job's own: TAKEN waits for that.
//
// The time between two is counted by the boot-time clock, from when the report began: a device that sleeps loses no
// day. One that is late by less than an interval does not move those after it.
#include "config.h"

#include "daemon/control/rotation.h"

#include "daemon/control/sessions-internal.h"

#include "daemon/control/status.h"
#include "daemon/report/store.h"
#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#define RETRY_NS (60 * NSEC_PER_SEC) // after an automatic one failed, or the interval where that is shorter

/// What is left to do about a report that was rotated.
struct closing {
	struct job job;
	struct session_entry *entry;
	int64_t id, next_id;
	struct rotation_requests requests;
	struct session_live live;
	int result;
	struct error error;
};

// --- who waits -------------------------------------------------------------------------------------------------------

static void on_client_gone(struct exchange *exchange)
{
	((struct rotation_request *)exchange->context)->exchange = NULL;
}

static int add_request(struct rotation_requests *requests, struct exchange *exchange, struct error *error)
{
	struct rotation_request *request = malloc(sizeof(*request));

	if (!request)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	request->exchange = exchange;
	exchange->context = request;
	exchange->gone = on_client_gone;
	LIST_INSERT_HEAD(requests, request, link);
	return 0;
}

/// The next one that waits, taken off the list and freed. NULL: none
static struct exchange *take_request(struct rotation_requests *requests)
{
	struct rotation_request *request;
	struct exchange *exchange = NULL;

	while (!exchange && (request = LIST_FIRST(requests))) {
		LIST_REMOVE(request, link);
		exchange = request->exchange;
		free(request);
	}
	if (exchange)
		exchange->gone = NULL;
	return exchange;
}

static void move_requests(struct rotation_requests *from, struct rotation_requests *to)
{
	struct rotation_request *request;

	LIST_INIT(to);
	while ((request = LIST_FIRST(from))) {
		LIST_REMOVE(request, link);
		LIST_INSERT_HEAD(to, request, link);
	}
}

static void fail_requests(struct rotation_requests *requests, const struct error *error)
{
	struct exchange *exchange;

	while ((exchange = take_request(requests)))
		exchange_fail(exchange, error);
}

// --- every so often --------------------------------------------------------------------------------------------------

static int64_t interval_ns(const struct session_entry *entry)
{
	const struct session_rotation *rotation = &entry->rotation;

	if (entry->record.no_report)
		return 0;
	return rotation->scenario_ns ? rotation->scenario_ns : entry->sessions->control->configuration->rotate_ns;
}

static void set_timer(struct session_entry *entry, int64_t due_ns)
{
	struct session_rotation *rotation = &entry->rotation;
	const struct itimerspec when = {
		.it_value = {.tv_sec = due_ns / NSEC_PER_SEC, .tv_nsec = due_ns % NSEC_PER_SEC}};

	rotation->due_ns = due_ns;
	if (rotation->timer_fd >= 0)
		timerfd_settime(rotation->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static int begin(struct session_entry *entry, bool automatic, struct error *error);

static void on_timer(void *context, unsigned ready)
{
	struct session_entry *entry = context;
	struct session_rotation *rotation = &entry->rotation;
	struct error error;
	uint64_t count;

	(void)ready;
	if (read(rotation->timer_fd, &count, sizeof(count)) < 0 || entry->state != RUNNING || entry->stop_reason)
		return;
	if (rotation->state != ROTATION_IDLE) {
		rotation->automatic = true; // one by request is under way and serves as well
		return;
	}
	if (begin(entry, true, &error) < 0) {
		log_line(LOG_LEVEL_WARNING, entry->record.id, "its report could not be rotated: %s", error.message);
		set_timer(entry, clock_ns(CLOCK_BOOTTIME) + RETRY_NS);
	}
}

static int make_timer(struct session_entry *entry)
{
	struct session_rotation *rotation = &entry->rotation;
	int r;

	if (rotation->timer)
		return 0;
	rotation->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (rotation->timer_fd < 0)
		return -errno;
	r = loop_watch_new(entry->sessions->control->loop, rotation->timer_fd, on_timer, entry, &rotation->timer);
	if (r < 0) {
		close(take_fd(&rotation->timer_fd));
		return r;
	}
	loop_watch_set(rotation->timer, LOOP_READ);
	return 0;
}

/// Has the next one come an interval after the report began.
static void arm(struct session_entry *entry)
{
	int64_t interval = interval_ns(entry);
	int r;

	if (!interval) {
		set_timer(entry, 0); // stands still
		return;
	}
	r = make_timer(entry);
	if (r < 0)
		log_line(LOG_LEVEL_WARNING, entry->record.id, "its report will not be rotated by itself: %s",
			 strerror(-r));
	else
		set_timer(entry, entry->rotation.begun_ns + interval);
}

void session_rotation_started(struct session_entry *entry)
{
	entry->rotation.begun_ns = clock_ns(CLOCK_BOOTTIME);
	arm(entry);
}

void sessions_rotation_reloaded(struct sessions *sessions)
{
	struct session_entry *entry;

	TAILQ_FOREACH(entry, &sessions->entries, link)
	{
		if (entry->state == RUNNING && !entry->rotation.scenario_ns)
			arm(entry);
	}
}

// --- the next report -------------------------------------------------------------------------------------------------

static int no_room(const struct session_entry *entry, struct error *error)
{
	return error_set(
		error, CONDPROF__CODE__IO, ENOSPC,
		"the state folder is full: another report needs %zu KiB from the start; make room there. Session "
		"%" PRId64 " goes on in the report it has",
		(entry->rotation.scenario_size + entry->rotation.reserve_bytes) / 1024 + 1, entry->record.id);
}

static int make_next(struct session_entry *entry, struct error *error)
{
	struct session_rotation *rotation = &entry->rotation;
	struct store *store = entry->sessions->control->store;
	struct report_files *files = NULL;
	int64_t id;
	int r = store_next_id(store, &id, error);

	if (r < 0)
		return r;
	atomic_store(&rotation->next.id, id);
	r = store_create(store, id, rotation->scenario, rotation->scenario_size, rotation->reserve_bytes, &files,
			 error);
	if (r == -ENOSPC || r == -EDQUOT)
		return no_room(entry, error);
	if (r < 0)
		return r;
	r = session_rotate(entry->session, id, &files, error);
	if (r < 0)
		report_files_discard(files);
	return r;
}

static void run_preparing(struct job *job)
{
	struct session_entry *entry = CONTAINER_OF(job, struct session_entry, rotation.job);

	entry->rotation.next.result = make_next(entry, &entry->rotation.next.error);
}

/// It did not come to it; everything is as before.
static void failed(struct session_entry *entry, const struct error *error)
{
	struct session_rotation *rotation = &entry->rotation;

	rotation->state = ROTATION_IDLE;
	atomic_store(&rotation->next.id, 0);
	free(TAKE_POINTER(rotation->closing));
	fail_requests(&rotation->requests, error);
	if (entry->state == OVER)
		return;
	log_line(LOG_LEVEL_WARNING, entry->record.id, "its report could not be rotated: %s", error->message);
	if (rotation->automatic && interval_ns(entry)) // a reload may have ended them meanwhile
		set_timer(entry, clock_ns(CLOCK_BOOTTIME) + MIN(interval_ns(entry), RETRY_NS));
}

static void ended_before(struct session_entry *entry)
{
	struct error error;

	error_set(&error, CONDPROF__CODE__ALREADY_ENDED, ESHUTDOWN, "the session ended before its report was rotated");
	failed(entry, &error);
}

/// Who asked after the change had come, and before the job did, wants the next one.
static void serve_late_requests(struct session_entry *entry)
{
	struct rotation_requests *requests = &entry->rotation.requests;
	struct error error;

	if (LIST_EMPTY(requests))
		return;
	if (entry->state == OVER)
		ended_before(entry);
	else if (begin(entry, false, &error) < 0)
		fail_requests(requests, &error);
}

static void prepared(struct job *job)
{
	struct session_entry *entry = CONTAINER_OF(job, struct session_entry, rotation.job);
	struct session_rotation *rotation = &entry->rotation;

	if (rotation->state == ROTATION_TAKEN) {
		rotation->state = ROTATION_IDLE;
		serve_late_requests(entry);
	} else if (entry->state == OVER || rotation->next.result == -ESHUTDOWN) {
		ended_before(entry);
	} else if (rotation->next.result < 0) {
		failed(entry, &rotation->next.error);
	} else {
		rotation->state = ROTATION_ASKED;
	}
	session_entry_unpin(entry);
}

static int begin(struct session_entry *entry, bool automatic, struct error *error)
{
	struct session_rotation *rotation = &entry->rotation;

	rotation->closing = calloc(1, sizeof(*rotation->closing));
	if (!rotation->closing)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	rotation->state = ROTATION_PREPARING;
	rotation->automatic = automatic;
	rotation->next.error = (struct error){0};
	rotation->job.run = run_preparing;
	rotation->job.done = prepared;
	session_entry_pin(entry);
	worker_submit(entry->sessions->control->worker, &rotation->job);
	return 0;
}

// --- the old report --------------------------------------------------------------------------------------------------

static void run_closing(struct job *job)
{
	struct closing *closing = CONTAINER_OF(job, struct closing, job);
	struct error error;

	closing->result = session_close_rotated(closing->entry->session, &closing->live, &closing->error);
	if (store_vacuum(closing->entry->sessions->control->store, &error) < 0)
		log_warning("cannot remove old reports: %s", error.message);
}

static void answer(struct closing *closing)
{
	const struct session_record *record = sessions_remembered(closing->entry->sessions, closing->id);
	Condprof__Rotated rotated = CONDPROF__ROTATED__INIT;
	struct session_facts facts;
	struct exchange *exchange;

	session_facts_fill(record ? record : &closing->entry->record, &closing->live, &facts);
	facts.message.id = closing->id;
	rotated.closed = &facts.message;
	rotated.has_session = true;
	rotated.session = closing->next_id;
	while ((exchange = take_request(&closing->requests))) {
		Condprof__Reply reply = CONDPROF__REPLY__INIT;

		reply.body_case = CONDPROF__REPLY__BODY_ROTATED;
		reply.rotated = &rotated;
		exchange_finish(exchange, &reply);
	}
}

static void closed(struct job *job)
{
	struct closing *closing = CONTAINER_OF(job, struct closing, job);
	struct session_entry *entry = closing->entry;

	sessions_remember_ended(entry->sessions, closing->id, &closing->live);
	log_line(closing->result < 0 ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, closing->id,
		 "rotated after %" PRId64 " passes%s%s", closing->live.passes, closing->result < 0 ? ": " : "",
		 closing->result < 0 ? closing->error.message : "");
	answer(closing);
	free(closing);
	session_entry_unpin(entry);
}

/// The next interval begins where this one ended, unless that was long ago.
static void count_anew(struct session_entry *entry)
{
	struct session_rotation *rotation = &entry->rotation;
	int64_t now_ns = clock_ns(CLOCK_BOOTTIME);
	bool in_time = rotation->automatic && now_ns - rotation->due_ns < interval_ns(entry) &&
		       rotation->due_ns > rotation->begun_ns;

	rotation->begun_ns = in_time ? rotation->due_ns : now_ns;
	arm(entry);
}

void session_entry_on_rotated(struct mail *mail)
{
	struct session_mail *said = CONTAINER_OF(mail, struct session_mail, mail);
	struct session_entry *entry = said->entry;
	struct session_rotation *rotation = &entry->rotation;
	struct closing *closing = TAKE_POINTER(rotation->closing);
	struct session_live live;

	closing->entry = entry;
	closing->id = entry->record.id;
	closing->next_id = atomic_exchange(&rotation->next.id, 0);
	move_requests(&rotation->requests, &closing->requests);
	session_live_of(entry->session, closing->id, &live);
	sessions_remember_copy(entry, closing->next_id, &live);
	entry->record.id = closing->next_id;
	entry->record.continues_session = closing->id;
	session_entry_place(entry);
	status_tell(entry->sessions);
	log_line(LOG_LEVEL_INFO, closing->id, "goes on as session %" PRId64, closing->next_id);
	rotation->state = rotation->state == ROTATION_PREPARING ? ROTATION_TAKEN : ROTATION_IDLE;
	count_anew(entry);
	closing->job.run = run_closing;
	closing->job.done = closed;
	session_entry_pin(entry);
	worker_submit(entry->sessions->control->worker, &closing->job);
}

// --- with the entry --------------------------------------------------------------------------------------------------

void session_rotation_init(struct session_entry *entry)
{
	entry->rotation.timer_fd = -1;
	LIST_INIT(&entry->rotation.requests);
	entry->rotated = (struct session_mail){.mail.deliver = session_entry_on_rotated, .entry = entry};
}

void session_rotation_over(struct session_entry *entry)
{
	struct session_rotation *rotation = &entry->rotation;

	rotation->timer = loop_watch_free(rotation->timer);
	cleanup_close(&rotation->timer_fd);
	rotation->timer_fd = -1;
	if (rotation->state == ROTATION_ASKED)
		ended_before(entry);
}

void session_rotation_free(struct session_entry *entry)
{
	free(entry->rotation.scenario);
}

bool sessions_prepare(const struct sessions *sessions, int64_t id)
{
	const struct session_entry *entry;

	TAILQ_FOREACH(entry, &sessions->entries, link)
	{
		if (atomic_load(&entry->rotation.next.id) == id)
			return true;
	}
	return false;
}

int session_entry_rotate(struct session_entry *entry, struct exchange *exchange, struct error *error)
{
	struct session_rotation *rotation = &entry->rotation;
	int64_t id = entry->record.id;
	int r;

	if (entry->record.no_report)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "session %" PRId64 " was started with --no-report: it has no report to rotate", id);
	if (entry->stop_reason)
		return error_set(error, CONDPROF__CODE__ALREADY_ENDED, ESHUTDOWN,
				 "session %" PRId64 " is being stopped: its report is closed by that", id);
	if (entry->state != RUNNING)
		return error_set(error, CONDPROF__CODE__BUSY, EAGAIN,
				 "session %" PRId64 " is still starting: its report has only just begun", id);
	r = add_request(&rotation->requests, exchange, error);
	if (r < 0)
		return r;
	if (rotation->state == ROTATION_IDLE && begin(entry, false, error) < 0) {
		take_request(&rotation->requests);
		return -ENOMEM;
	}
	return 0;
}
