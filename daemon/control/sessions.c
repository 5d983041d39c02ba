// SPDX-License-Identifier: GPL-3.0-or-later
// See sessions.h. Who holds what: the entry owns upload and scenario until session_start() took the scenario; the
// session is freed (its thread joined) by the worker, once it ended and no job has it pinned; then the entry goes.
// What the creating job makes stands in `made` until the loop's thread takes it over: when the job is delivered, or
// before, when the session's own first word comes earlier.
#include "config.h"

#include "daemon/control/sessions.h"

#include "daemon/control/replies.h"
#include "daemon/input/input.h"
#include "daemon/report/store.h"
#include "daemon/report/writer.h"
#include "daemon/system/notify.h"
#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct session_mail {
	struct mail mail;
	struct session_entry *entry;
	struct session *session;
};

enum entry_state { CREATING, OPENING, RUNNING, OVER };

struct session_entry {
	TAILQ_ENTRY(session_entry) link;
	struct sessions *sessions;
	enum entry_state state;
	struct session_record record;
	struct configuration *configuration; ///< what screen_config points into
	struct screen_config screen_config;
	bool shared_input;
	char **broadcasts;
	struct upload *upload;     ///< until the session was started
	struct scenario *scenario; ///< the same
	struct exchange *starter;  ///< Begin's, until answered; NULL: its client is gone
	bool wait;
	struct session *session;
	Condprof__EndReason stop_reason; ///< asked for; REASON_NONE: not
	struct job job;                  ///< creating, then freeing
	bool job_in_flight;
	struct {
		int result;
		struct error error;
		int64_t id;
		struct session *session;
	} made; ///< by the creating job
	struct session_mail opened, open_failed, ended;
	LIST_HEAD(, waiter) waiters;
	unsigned pins;
};

TAILQ_HEAD(entries, session_entry);

struct sessions {
	struct control *control;
	struct entries entries; ///< by ascending id, those without one last
	unsigned count;
	struct session_record remembered[SESSIONS_REMEMBERED];
	unsigned next_remembered;
	int64_t newest;
	bool newest_no_report;
};

struct session_wait {
	struct exchange *exchange;
	LIST_HEAD(, waiter) waiters;
};

/// One session that one exchange waits for.
struct waiter {
	LIST_ENTRY(waiter) of_entry, of_wait;
	struct session_wait *wait;
	struct session_entry *entry;
};

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

static void fill_facts(const struct session_record *record, const struct session_live *live, struct session_facts *ret)
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
}

void session_record_facts(const struct session_record *record, struct session_facts *ret)
{
	fill_facts(record, &record->live, ret);
}

/// As the session itself says it.
static void final_facts(const struct session_entry *entry, struct session_facts *ret)
{
	struct session_live live;

	session_live(entry->session, &live);
	fill_facts(&entry->record, &live, ret);
}

void session_entry_facts(const struct session_entry *entry, struct session_facts *ret)
{
	struct session_live live = {.state = CONDPROF__SESSION_STATE__STARTING};

	if (entry->session)
		session_live(entry->session, &live);
	// Its end is on its way here: until then nobody who waits for it has been told.
	if (is_over(live.state)) {
		live.state = CONDPROF__SESSION_STATE__STOPPING;
		live.ended_unix_ns = 0;
	}
	fill_facts(&entry->record, &live, ret);
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

/// Moves an entry that got its id to its place.
static void place_by_id(struct session_entry *entry)
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

static void tell_status(const struct sessions *sessions)
{
	if (!sessions->control->stopping)
		notify_status("%u session%s", sessions->count, sessions->count == 1 ? "" : "s");
}

// --- waiting -------------------------------------------------------------------------------------------------------

static void waiter_free(struct waiter *waiter)
{
	LIST_REMOVE(waiter, of_entry);
	LIST_REMOVE(waiter, of_wait);
	free(waiter);
}

static void wait_free(struct session_wait *wait)
{
	while (!LIST_EMPTY(&wait->waiters))
		waiter_free(LIST_FIRST(&wait->waiters));
	free(wait);
}

static void on_waiting_client_gone(struct exchange *exchange)
{
	wait_free(exchange->context);
}

void session_wait_cancel(struct session_wait *wait)
{
	wait->exchange->gone = NULL;
	wait_free(wait);
}

int session_wait_new(struct exchange *exchange, struct session_wait **ret)
{
	struct session_wait *wait = calloc(1, sizeof(*wait));

	if (!wait)
		return -ENOMEM;
	wait->exchange = exchange;
	LIST_INIT(&wait->waiters);
	exchange->context = wait;
	exchange->gone = on_waiting_client_gone;
	*ret = wait;
	return 0;
}

int session_wait_add(struct session_wait *wait, struct session_entry *entry)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return -ENOMEM;
	waiter->wait = wait;
	waiter->entry = entry;
	LIST_INSERT_HEAD(&entry->waiters, waiter, of_entry);
	LIST_INSERT_HEAD(&wait->waiters, waiter, of_wait);
	return 0;
}

static void wait_reply(struct session_wait *wait, Condprof__Session **sessions, size_t count)
{
	bool last = LIST_EMPTY(&wait->waiters);

	reply_sessions(wait->exchange, sessions, count, last);
	if (last)
		wait_free(wait);
}

void session_wait_go(struct session_wait *wait)
{
	if (LIST_EMPTY(&wait->waiters))
		wait_reply(wait, NULL, 0);
}

static void answer_waiters(struct session_entry *entry, struct session_facts *facts)
{
	Condprof__Session *session = &facts->message;
	struct waiter *waiter;

	while ((waiter = LIST_FIRST(&entry->waiters))) {
		struct session_wait *wait = waiter->wait;

		waiter_free(waiter);
		wait_reply(wait, &session, 1);
	}
}

// --- the end of an entry -------------------------------------------------------------------------------------------

static void entry_free(struct session_entry *entry)
{
	upload_free(entry->upload);
	scenario_free(entry->scenario);
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
	tell_status(sessions);
	control_session_gone(sessions->control);
}

static void free_when_unused(struct session_entry *entry)
{
	if (entry->state != OVER || entry->pins || entry->job_in_flight)
		return;
	entry->job_in_flight = true;
	entry->job.run = run_freeing;
	entry->job.done = freed;
	worker_submit(entry->sessions->control->worker, &entry->job);
}

static void remember(struct session_entry *entry, const struct session_live *live)
{
	struct sessions *sessions = entry->sessions;
	struct session_record *place = &sessions->remembered[sessions->next_remembered];

	if (!entry->record.id)
		return;
	sessions->next_remembered = (sessions->next_remembered + 1) % SESSIONS_REMEMBERED;
	record_clear(place);
	*place = entry->record;
	place->live = *live;
	entry->record = (struct session_record){.id = 0};
}

/// The session is no more: those who wait hear of it, and what is left of the entry goes to the worker.
static void entry_over(struct session_entry *entry, struct session_facts *facts)
{
	TAILQ_REMOVE(&entry->sessions->entries, entry, link);
	entry->state = OVER;
	answer_waiters(entry, facts);
	remember(entry, &facts->live);
	free_when_unused(entry);
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
	free_when_unused(entry);
}

// --- beginning -----------------------------------------------------------------------------------------------------

static void on_starter_gone(struct exchange *exchange)
{
	struct session_entry *entry = exchange->context;

	entry->starter = NULL;
}

/// The session never ran.
static void entry_failed(struct session_entry *entry, const struct error *error)
{
	struct session_facts facts;
	struct session_live live = {.state = CONDPROF__SESSION_STATE__FAILED,
				    .result = CONDPROF__SESSION_RESULT__SESSION_FAILED};
	struct exchange *starter = entry->starter;

	entry->starter = NULL;
	if (starter)
		exchange_fail(starter, error);
	log_line(LOG_LEVEL_NOTICE, entry->record.id, "\"%s\" did not start: %s",
		 entry->record.scenario ? entry->record.scenario : "a scenario", error->message);
	if (entry->stop_reason) {
		live.state = CONDPROF__SESSION_STATE__FINISHED;
		live.result = CONDPROF__SESSION_RESULT__SESSION_OK;
		live.reason = entry->stop_reason;
	}
	snprintf(live.reason_text, sizeof(live.reason_text), "did not start: %.200s", error->message);
	fill_facts(&entry->record, &live, &facts);
	entry_over(entry, &facts);
}

static void answer_started(struct session_entry *entry)
{
	struct exchange *starter = entry->starter;
	Condprof__Started started = CONDPROF__STARTED__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;
	struct session_wait *wait;

	if (!starter)
		return;
	entry->starter = NULL;
	started.has_session = true;
	started.session = entry->record.id;
	reply.body_case = CONDPROF__REPLY__BODY_STARTED;
	reply.started = &started;
	starter->gone = NULL;
	if (!entry->wait || session_wait_new(starter, &wait) < 0) {
		exchange_finish(starter, &reply);
		return;
	}
	if (session_wait_add(wait, entry) < 0) {
		session_wait_cancel(wait);
		exchange_finish(starter, &reply);
		return;
	}
	exchange_reply(starter, &reply);
}

/// Takes over what the creating job made.
static void take_made(struct session_entry *entry, struct session *session)
{
	if (entry->state != CREATING)
		return;
	entry->state = OPENING;
	entry->record.id = entry->made.id;
	entry->session = session;
	if (entry->record.id)
		place_by_id(entry);
	if (session && entry->stop_reason)
		session_stop(session, entry->stop_reason);
}

static void on_opened(struct mail *mail)
{
	struct session_mail *said = CONTAINER_OF(mail, struct session_mail, mail);
	struct session_entry *entry = said->entry;

	take_made(entry, said->session);
	entry->state = RUNNING;
	log_line(LOG_LEVEL_INFO, entry->record.id, "runs \"%s\" on %s%s", entry->record.scenario, entry->record.screen,
		 entry->record.dry_run ? ", dry run" : "");
	answer_started(entry);
}

static void on_open_failed(struct mail *mail)
{
	struct session_mail *said = CONTAINER_OF(mail, struct session_mail, mail);

	take_made(said->entry, said->session);
	entry_failed(said->entry, session_error(said->session));
}

static void on_ended(struct mail *mail)
{
	struct session_mail *said = CONTAINER_OF(mail, struct session_mail, mail);
	struct session_facts facts;

	final_facts(said->entry, &facts);
	log_line(facts.live.state == CONDPROF__SESSION_STATE__FAILED ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO,
		 said->entry->record.id, "ended after %" PRId64 " %s%s%s", facts.live.passes,
		 facts.live.passes == 1 ? "pass" : "passes", facts.live.reason_text[0] ? ": " : "",
		 facts.live.reason_text);
	entry_over(said->entry, &facts);
}

/// On the session's thread.
static void on_session_event(void *context, struct session *session, enum session_event event)
{
	struct session_entry *entry = context;
	struct session_mail *mails[] = {
		[SESSION_OPENED] = &entry->opened,
		[SESSION_OPEN_FAILED] = &entry->open_failed,
		[SESSION_ENDED] = &entry->ended,
	};

	mails[event]->session = session;
	mailbox_post(entry->sessions->control->mailbox, &mails[event]->mail);
}

static int create_folder(struct session_entry *entry, uint64_t random_seed, struct report_files **ret,
			 struct error *error)
{
	const struct start_options *options = &entry->upload->options;
	const struct scenario_run run = {
		.dry_run = entry->record.dry_run,
		.screen = entry->record.screen,
		.input = entry->record.input,
		.has_rate = options->has_period,
		.rate_passes = options->rate_passes,
		.rate_per_ns = options->rate_per_ns,
		.random_seed = random_seed,
	};
	CLEANUP_FREE uint8_t *kept = NULL;
	size_t size;
	int r = scenario_encode_kept(entry->scenario, entry->upload->data, entry->upload->size, &run, &kept, &size);

	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "cannot encode the kept scenario: %s",
				 strerror(-r));
	return store_create(entry->sessions->control->store, entry->made.id, kept, size,
			    session_reserve_bytes(entry->scenario), ret, error);
}

static int start_session(struct session_entry *entry, uint64_t random_seed, struct report_files *files,
			 struct error *error)
{
	const struct start_options *options = &entry->upload->options;
	struct scenario *scenario = TAKE_POINTER(entry->scenario);
	struct session_params params = {
		.id = entry->made.id,
		.scenario = scenario,
		.screen_uri = entry->record.screen,
		.input_uri = entry->record.input,
		.screen_config = &entry->screen_config,
		.dry_run = entry->record.dry_run,
		.random_seed = random_seed,
		.max_passes = options->max_passes,
		.max_duration_ns = options->max_duration_ns,
		.period_ns = options->has_period ? options->period_ns : scenario->period_ns,
		.writer = files ? entry->sessions->control->writer : NULL,
		.files = files,
		.notify = on_session_event,
		.context = entry,
	};
	int r;

	if (scenario->rotate_ns > 0)
		log_line(LOG_LEVEL_WARNING, entry->made.id,
			 "\"rotate\" is not built yet: it has one report, however long it runs");
	r = session_start(&params, &entry->made.session, error);
	if (r < 0)
		scenario_free(scenario);
	return r;
}

static uint64_t new_random_seed(void)
{
	uint64_t seed;

	return getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed) ? seed : (uint64_t)loop_now_ns();
}

static void run_creating(struct job *job)
{
	struct session_entry *entry = CONTAINER_OF(job, struct session_entry, job);
	struct error *error = &entry->made.error;
	struct report_files *files = NULL;
	uint64_t random_seed = new_random_seed();
	int r = screen_check_uri(entry->record.screen, error);

	if (!r)
		r = input_check_uri(entry->record.input, error);
	if (!r)
		r = store_next_id(entry->sessions->control->store, &entry->made.id, error);
	if (!r && !entry->record.no_report)
		r = create_folder(entry, random_seed, &files, error);
	if (!r) {
		r = start_session(entry, random_seed, files, error);
		if (r < 0)
			report_files_discard(files);
	}
	upload_drop_data(entry->upload);
	entry->made.result = r;
}

static void created(struct job *job)
{
	struct session_entry *entry = CONTAINER_OF(job, struct session_entry, job);

	entry->job_in_flight = false;
	entry->upload = upload_free(entry->upload);
	take_made(entry, entry->made.session);
	if (entry->made.result < 0)
		entry_failed(entry, &entry->made.error);
	else
		free_when_unused(entry);
}

// --- what a session needs ------------------------------------------------------------------------------------------

static int input_taken(const struct session_record *other, const char *input, struct error *error)
{
	char who[64] = "a session that is starting";

	if (other->id)
		snprintf(who, sizeof(who), "session %" PRId64, other->id);
	return error_set(error, CONDPROF__CODE__INPUT_FAILED, EBUSY,
			 "%s uses the input %.200s already; stop it, or use --dry-run or --input log:", who, input);
}

static int check_input_free(const struct session_entry *entry, struct error *error)
{
	char key[TEXT_MAX_BYTES + 1], other_key[TEXT_MAX_BYTES + 1];
	const struct session_entry *other;

	if (entry->shared_input)
		return 0;
	input_device(entry->record.input, key, sizeof(key));
	TAILQ_FOREACH(other, &entry->sessions->entries, link)
	{
		if (other == entry || other->shared_input)
			continue;
		input_device(other->record.input, other_key, sizeof(other_key));
		if (!strcmp(key, other_key))
			return input_taken(&other->record, entry->record.input, error);
	}
	return 0;
}

static int copy_broadcasts(const struct scenario *scenario, char ***ret)
{
	char **names = calloc(scenario->n_broadcasts + 1U, sizeof(*names));
	size_t count = 0;

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < scenario->n_broadcasts; i++)
		if (scenario->broadcasts[i].bus == CONDPROF__BUS__BUS_NONE &&
		    !(names[count++] = strdup(scenario->broadcasts[i].name))) {
			while (count)
				free(names[--count]);
			free(names);
			return -ENOMEM;
		}
	*ret = names;
	return 0;
}

/// Screen and input by the command line, else by the scenario; the input else by the screen.
static int fill_record(struct session_entry *entry, struct error *error)
{
	struct start_options *options = &entry->upload->options;
	struct session_record *record = &entry->record;
	const char *screen = options->screen ? options->screen : entry->scenario->screen;
	const char *input = options->input ? options->input : entry->scenario->input;
	char implied[TEXT_MAX_BYTES + 1];

	if (!screen)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "no screen is named: write 'screen:' into the scenario, or use --screen");
	if (!input) {
		input_for_screen(screen, implied, sizeof(implied));
		input = implied;
	}
	record->dry_run = options->dry_run;
	record->no_report = options->no_report;
	record->scenario = strdup(entry->scenario->name);
	record->screen = strdup(screen);
	record->input = strdup(input);
	entry->shared_input = options->dry_run || !strncmp(input, "log:", 4);
	if (!record->scenario || !record->screen || !record->input ||
	    copy_broadcasts(entry->scenario, &entry->broadcasts) < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	return check_input_free(entry, error);
}

static struct session_entry *entry_new(struct sessions *sessions, struct upload *upload, struct scenario *scenario)
{
	struct session_entry *entry = calloc(1, sizeof(*entry));
	struct configuration *configuration = sessions->control->configuration;

	if (!entry)
		return NULL;
	entry->sessions = sessions;
	entry->upload = upload;
	entry->scenario = scenario;
	entry->wait = upload->options.wait;
	entry->configuration = configuration_ref(configuration);
	entry->screen_config.xauthority = configuration->xauthority;
	entry->screen_config.frame_folders = (const char *const *)configuration->frame_folders;
	entry->opened = (struct session_mail){.mail.deliver = on_opened, .entry = entry};
	entry->open_failed = (struct session_mail){.mail.deliver = on_open_failed, .entry = entry};
	entry->ended = (struct session_mail){.mail.deliver = on_ended, .entry = entry};
	LIST_INIT(&entry->waiters);
	return entry;
}

/// The entry is in the table; whatever is wrong with it, it leaves by the way of all entries.
static int begin(struct session_entry *entry, struct error *error)
{
	int r = fill_record(entry, error);

	if (r < 0)
		return r;
	entry->job_in_flight = true;
	entry->job.run = run_creating;
	entry->job.done = created;
	worker_submit(entry->sessions->control->worker, &entry->job);
	return 0;
}

void sessions_begin(struct sessions *sessions, struct upload *upload, struct scenario *scenario)
{
	struct session_entry *entry = entry_new(sessions, upload, scenario);
	struct error error;
	int r;

	if (!entry) {
		error_set(&error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
		if (upload->exchange)
			exchange_fail(upload->exchange, &error);
		upload_free(upload);
		scenario_free(scenario);
		return;
	}
	entry->starter = TAKE_POINTER(upload->exchange);
	if (entry->starter) {
		entry->starter->context = entry;
		entry->starter->gone = on_starter_gone;
	}
	r = sessions_admit(sessions, &error);
	TAILQ_INSERT_TAIL(&sessions->entries, entry, link);
	sessions->count++;
	tell_status(sessions);
	if (!r)
		r = begin(entry, &error);
	if (r < 0)
		entry_failed(entry, &error);
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
