// SPDX-License-Identifier: GPL-3.0-or-later
// The table of sessions-internal.h: what is said of an entry, how it is found, and how it leaves.
#include "config.h"

#include "daemon/control/sessions-internal.h"

#include "daemon/control/audit.h"
#include "daemon/control/status.h"

#include "daemon/report/store.h"
#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

// --- records and facts ---------------------------------------------------------------------------------------------

static void record_clear(struct session_record *record)
{
	free(record->scenario);
	free(record->screen);
	free(record->input);
	*record = (struct session_record){0};
}

static bool is_over(Condprof__SessionState state)
{
	return state == CONDPROF__SESSION_STATE__FINISHED || state == CONDPROF__SESSION_STATE__FAILED;
}

void session_facts_fill(const struct session_record *record, const struct session_live *live, struct session_facts *ret)
{
	Condprof__Session *message = &ret->message;

	ret->live = *live;
	condprof__session__init(message);
	message->has_id = message->has_state = message->has_reason = message->has_duration_ns = true;
	message->has_passes = message->has_lost_occurrences = message->has_no_report = message->has_dry_run = true;
	message->id = record->id;
	message->scenario = record->scenario;
	message->screen = record->screen;
	message->input = record->input;
	message->no_report = record->no_report;
	message->dry_run = record->dry_run;
	message->state = live->state;
	message->reason = live->reason;
	message->reason_text = ret->live.reason_text[0] ? ret->live.reason_text : NULL;
	message->report_error = ret->live.report_error[0] ? ret->live.report_error : NULL;
	message->has_result = is_over(live->state);
	message->result = live->result;
	message->has_started_unix_ns = live->started_unix_ns != 0;
	message->started_unix_ns = live->started_unix_ns;
	message->has_ended_unix_ns = live->ended_unix_ns != 0;
	message->ended_unix_ns = live->ended_unix_ns;
	message->duration_ns = live->duration_ns;
	message->passes = live->passes;
	message->lost_occurrences = live->lost_occurrences;
	message->has_continues_session = record->continues_session != 0;
	message->continues_session = record->continues_session;
	message->has_continued_by = record->continued_by != 0;
	message->continued_by = record->continued_by;
}

void session_record_facts(const struct session_record *record, struct session_facts *ret)
{
	session_facts_fill(record, &record->live, ret);
}

/// As the session itself says it.
static void final_facts(const struct session_entry *entry, struct session_facts *ret)
{
	struct session_live live;

	session_live(entry->session, &live);
	session_facts_fill(&entry->record, &live, ret);
}

void session_entry_facts(const struct session_entry *entry, struct session_facts *ret)
{
	struct session_live live = {.state = CONDPROF__SESSION_STATE__STARTING};

	if (entry->session)
		session_live_of(entry->session, entry->record.id, &live);
	// What has just happened is on its way here: until then it goes by the id it had, and nobody who waits for its
	// end has been told.
	if (is_over(live.state) && live.reason == CONDPROF__END_REASON__REASON_ROTATED) {
		live.state = CONDPROF__SESSION_STATE__RUNNING;
		live.reason = CONDPROF__END_REASON__REASON_NONE;
		live.ended_unix_ns = 0;
	}
	if (is_over(live.state)) {
		live.state = CONDPROF__SESSION_STATE__STOPPING;
		live.ended_unix_ns = 0;
	}
	session_facts_fill(&entry->record, &live, ret);
}

// --- the table -----------------------------------------------------------------------------------------------------

int sessions_new(struct control *control, struct sessions **ret)
{
	struct sessions *sessions = calloc(1, sizeof(*sessions));

	if (!sessions)
		return -ENOMEM;
	sessions->control = control;
	TAILQ_INIT(&sessions->entries);
	*ret = sessions;
	return 0;
}

struct sessions *sessions_free(struct sessions *sessions)
{
	if (!sessions)
		return NULL;
	for (size_t i = 0; i < SESSIONS_REMEMBERED; i++)
		record_clear(&sessions->remembered[i]);
	free(sessions);
	return NULL;
}

unsigned sessions_count(const struct sessions *sessions)
{
	return sessions->count;
}

int sessions_admit(const struct sessions *sessions, struct error *error)
{
	if (sessions->control->stopping)
		return error_set(error, CONDPROF__CODE__STOPPING_DAEMON, ESHUTDOWN, "the daemon is stopping");
	if (sessions->count >= SESSIONS_MAX)
		return error_set(error, CONDPROF__CODE__BUSY, EBUSY,
				 "%u sessions run already, which is the most; stop one", SESSIONS_MAX);
	return 0;
}

struct session_entry *sessions_next(const struct sessions *sessions, const struct session_entry *after)
{
	struct session_entry *entry = after ? TAILQ_NEXT(after, link) : TAILQ_FIRST(&sessions->entries);

	while (entry && !entry->record.id)
		entry = TAILQ_NEXT(entry, link);
	return entry;
}

struct session_entry *sessions_find(const struct sessions *sessions, int64_t id)
{
	struct session_entry *entry = NULL;

	while ((entry = sessions_next(sessions, entry)))
		if (entry->record.id == id)
			return entry;
	return NULL;
}

int sessions_only(const struct sessions *sessions, struct session_entry **ret, struct error *error)
{
	struct session_entry *first = sessions_next(sessions, NULL), *entry;
	char ids[256];
	size_t length = 0;

	if (!first)
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ESRCH, "no session is running");
	if (!sessions_next(sessions, first)) {
		*ret = first;
		return 0;
	}
	for (entry = first; entry && length < sizeof(ids); entry = sessions_next(sessions, entry))
		length += (size_t)snprintf(ids + length, sizeof(ids) - length, "%s%" PRId64, entry == first ? "" : ", ",
					   entry->record.id);
	return error_set(error, CONDPROF__CODE__AMBIGUOUS, EINVAL, "several sessions are running (%s%s): say which",
			 ids, length < sizeof(ids) ? "" : "…");
}

const struct session_record *sessions_remembered(const struct sessions *sessions, int64_t id)
{
	for (size_t i = 0; i < SESSIONS_REMEMBERED; i++)
		if (id && sessions->remembered[i].id == id)
			return &sessions->remembered[i];
	return NULL;
}

int64_t sessions_newest(const struct sessions *sessions, bool *ret_no_report)
{
	*ret_no_report = sessions->newest_no_report;
	return sessions->newest;
}

void session_entry_place(struct session_entry *entry)
{
	struct entries *entries = &entry->sessions->entries;
	struct session_entry *other;

	TAILQ_REMOVE(entries, entry, link);
	TAILQ_FOREACH(other, entries, link)
	if (!other->record.id || other->record.id > entry->record.id)
		break;
	if (other)
		TAILQ_INSERT_BEFORE(other, entry, link);
	else
		TAILQ_INSERT_TAIL(entries, entry, link);
	if (entry->record.id > entry->sessions->newest) {
		entry->sessions->newest = entry->record.id;
		entry->sessions->newest_no_report = entry->record.no_report;
	}
}

void session_entry_insert(struct session_entry *entry)
{
	TAILQ_INSERT_TAIL(&entry->sessions->entries, entry, link);
	entry->sessions->count++;
	status_tell(entry->sessions);
}

// --- the end of an entry -------------------------------------------------------------------------------------------

static void entry_free(struct session_entry *entry)
{
	upload_free(entry->upload);
	scenario_free(entry->scenario);
	session_rotation_free(entry);
	record_clear(&entry->record);
	for (char **name = entry->broadcasts; name && *name; name++)
		free(*name);
	free(entry->broadcasts);
	configuration_unref(entry->configuration);
	free(entry);
}

/// All that is large goes here, on the worker: giving back many pages takes its time.
static void run_freeing(struct job *job)
{
	struct session_entry *entry = CONTAINER_OF(job, struct session_entry, job);
	struct error error;

	entry->session = session_free(entry->session);
	entry->scenario = scenario_free(entry->scenario);
	if (entry->upload)
		upload_drop_data(entry->upload);
	malloc_trim(0);
	if (entry->made.id && store_vacuum(entry->sessions->control->store, &error) < 0)
		log_warning("cannot remove old reports: %s", error.message);
}

static void freed(struct job *job)
{
	struct session_entry *entry = CONTAINER_OF(job, struct session_entry, job);
	struct sessions *sessions = entry->sessions;

	entry_free(entry);
	sessions->count--;
	status_tell(sessions);
	control_session_gone(sessions->control);
}

void session_entry_free_when_unused(struct session_entry *entry)
{
	if (entry->state != OVER || entry->pins || entry->job_in_flight)
		return;
	entry->job_in_flight = true;
	entry->job.run = run_freeing;
	entry->job.done = freed;
	worker_submit(entry->sessions->control->worker, &entry->job);
}

/// @param record its strings are taken over
static void remember(struct sessions *sessions, struct session_record *record, const struct session_live *live)
{
	struct session_record *place = &sessions->remembered[sessions->next_remembered];

	if (!record->id)
		return;
	sessions->next_remembered = (sessions->next_remembered + 1) % SESSIONS_REMEMBERED;
	record_clear(place);
	*place = *record;
	place->live = *live;
	*record = (struct session_record){.id = 0};
}

void sessions_remember_copy(struct session_entry *entry, int64_t next_id, const struct session_live *live)
{
	struct session_record copy = entry->record;

	copy.continued_by = next_id;
	copy.scenario = strdup(copy.scenario);
	copy.screen = strdup(copy.screen);
	copy.input = strdup(copy.input);
	if (copy.scenario && copy.screen && copy.input)
		remember(entry->sessions, &copy, live);
	record_clear(&copy); // the folder knows it as well
}

void sessions_remember_ended(struct sessions *sessions, int64_t id, const struct session_live *live)
{
	for (size_t i = 0; i < SESSIONS_REMEMBERED; i++) {
		if (sessions->remembered[i].id == id)
			sessions->remembered[i].live = *live;
	}
}

void session_entry_over(struct session_entry *entry, struct session_facts *facts)
{
	TAILQ_REMOVE(&entry->sessions->entries, entry, link);
	entry->state = OVER;
	session_rotation_over(entry);
	session_waits_answer(entry, facts);
	remember(entry->sessions, &entry->record, &facts->live);
	session_entry_free_when_unused(entry);
}

void session_entry_on_ended(struct mail *mail)
{
	struct session_mail *said = CONTAINER_OF(mail, struct session_mail, mail);
	struct session_facts facts;
	char reason[32];

	final_facts(said->entry, &facts);
	const struct log_about about = {
		.message = LOG_MESSAGE_ENDED,
		.session = said->entry->record.id,
		.scenario = said->entry->record.scenario,
		.reason = audit_reason_name(facts.live.reason, reason),
		.every = true,
	};

	log_about(facts.live.state == CONDPROF__SESSION_STATE__FAILED ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, &about,
		  "ended after %" PRId64 " %s, %s%s%s", facts.live.passes, facts.live.passes == 1 ? "pass" : "passes",
		  reason, facts.live.reason_text[0] ? ": " : "", facts.live.reason_text);
	session_entry_over(said->entry, &facts);
}

struct session *session_entry_pin(struct session_entry *entry)
{
	if (!entry->session)
		return NULL;
	entry->pins++;
	return entry->session;
}

void session_entry_unpin(struct session_entry *entry)
{
	entry->pins--;
	session_entry_free_when_unused(entry);
}

// --- what is done with one -----------------------------------------------------------------------------------------

int64_t session_entry_id(const struct session_entry *entry)
{
	return entry->record.id;
}

bool session_entry_runs(const struct session_entry *entry)
{
	return entry->state == RUNNING;
}

void session_entry_stop(struct session_entry *entry, Condprof__EndReason reason)
{
	if (!entry->stop_reason)
		entry->stop_reason = reason;
	if (entry->session)
		session_stop(entry->session, reason);
}

void sessions_stop_all(struct sessions *sessions, Condprof__EndReason reason)
{
	struct session_entry *entry;

	TAILQ_FOREACH(entry, &sessions->entries, link)
	session_entry_stop(entry, reason);
}

const char *const *session_entry_broadcasts(const struct session_entry *entry)
{
	return (const char *const *)entry->broadcasts;
}

bool session_entry_emit(struct session_entry *entry, const char *broadcast)
{
	return session_emit(entry->session, broadcast);
}
