// SPDX-License-Identifier: GPL-3.0-or-later
// How a session comes into the table: its needs are checked, the worker makes its folder and starts its thread, and
// what that thread says first answers whoever asked for it.
#include "config.h"

#include "daemon/control/sandbox.h"
#include "daemon/control/sessions-internal.h"
#include "daemon/control/status.h"

#include "daemon/control/messenger.h"
#include "daemon/input/input.h"
#include "daemon/report/store.h"
#include "daemon/report/writer.h"
#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

// --- beginning -----------------------------------------------------------------------------------------------------

static void on_starter_gone(struct exchange *exchange)
{
	struct session_entry *entry = exchange->context;

	entry->starter = NULL;
}

/// For the line about its start.
static struct log_about start_about(const struct session_entry *entry, enum log_message message)
{
	return (struct log_about){
		.message = message,
		.session = entry->record.id,
		.scenario = entry->record.scenario,
		.has_peer = true,
		.uid = entry->starter_peer.uid,
		.pid = entry->starter_peer.pid,
		.every = message == LOG_MESSAGE_STARTED,
	};
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
	const struct log_about about = start_about(entry, LOG_MESSAGE_NOT_STARTED);

	log_about(LOG_LEVEL_NOTICE, &about, "\"%s\" did not start, for user %u, process %d: %s",
		  entry->record.scenario ? entry->record.scenario : "a scenario", about.uid, (int)about.pid,
		  error->message);
	if (entry->stop_reason) {
		live.state = CONDPROF__SESSION_STATE__FINISHED;
		live.result = CONDPROF__SESSION_RESULT__SESSION_OK;
		live.reason = entry->stop_reason;
	}
	snprintf(live.reason_text, sizeof(live.reason_text), "did not start: %.200s", error->message);
	session_facts_fill(&entry->record, &live, &facts);
	session_entry_over(entry, &facts);
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
		session_entry_place(entry);
	status_tell(entry->sessions);
	if (session && entry->stop_reason)
		session_stop(session, entry->stop_reason);
}

static void on_opened(struct mail *mail)
{
	struct session_mail *said = CONTAINER_OF(mail, struct session_mail, mail);
	struct session_entry *entry = said->entry;

	take_made(entry, said->session);
	entry->state = RUNNING;
	stuck_watch_wake(entry->sessions->control->stuck);
	const struct log_about about = start_about(entry, LOG_MESSAGE_STARTED);

	log_about(LOG_LEVEL_NOTICE, &about, "runs \"%s\" on %s%s, for user %u, process %d", entry->record.scenario,
		  entry->record.screen, entry->record.dry_run ? ", dry run" : "", about.uid, (int)about.pid);
	session_rotation_started(entry);
	answer_started(entry);
}

static void on_open_failed(struct mail *mail)
{
	struct session_mail *said = CONTAINER_OF(mail, struct session_mail, mail);

	take_made(said->entry, said->session);
	entry_failed(said->entry, &said->entry->made.error);
}

/// On the session's thread.
static void on_session_event(void *context, struct session *session, enum session_event event)
{
	struct session_entry *entry = context;
	struct session_mail *mails[] = {
		[SESSION_OPENED] = &entry->opened,
		[SESSION_OPEN_FAILED] = &entry->open_failed,
		[SESSION_ROTATED] = &entry->rotated,
		[SESSION_ENDED] = &entry->ended,
	};

	if (event == SESSION_OPEN_FAILED) {
		// `made.error` is the creating job's own only when that failed, and then there is no session.
		entry->made.error = *session_error(session);
		sandbox_explain(entry->record.screen, entry->record.input, &entry->made.error);
	}
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
	struct session_rotation *rotation = &entry->rotation; // more reports are made of it
	int r = scenario_encode_kept(entry->scenario, entry->upload->data, entry->upload->size, &run,
				     &rotation->scenario, &rotation->scenario_size);

	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "cannot encode the kept scenario: %s",
				 strerror(-r));
	rotation->reserve_bytes = session_reserve_bytes(entry->scenario);
	rotation->scenario_ns = entry->scenario->rotate_ns;
	return store_create(entry->sessions->control->store, entry->made.id, rotation->scenario,
			    rotation->scenario_size, rotation->reserve_bytes, ret, error);
}

/// Its secrets by name, each once.
static int name_secrets(const struct scenario *scenario, const char **names, uint32_t *actions, uint32_t *ret_count,
			struct error *error)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < scenario->n_actions; i++) {
		const struct action *action = &scenario->actions[i];
		uint32_t k = 0;

		if (action->kind != CONDPROF__ACTION_KIND__ACTION_TYPE || !action->text.secret)
			continue;
		while (k < count && strcmp(names[k], action->text.secret))
			k++;
		if (k < count)
			continue;
		if (count == SCENARIO_MAX_SECRETS) {
			error_set(error, CONDPROF__CODE__TOO_LARGE, EMSGSIZE, "a scenario types %u secrets at the most",
				  SCENARIO_MAX_SECRETS);
			scenario_action_place(scenario, i, "type", error);
			return -EMSGSIZE;
		}
		names[count] = action->text.secret;
		actions[count++] = i;
	}
	*ret_count = count;
	return 0;
}

static int read_secrets(const struct session_entry *entry, const struct scenario *scenario, struct secrets **ret,
			struct error *error)
{
	const struct secret_source source = {
		.credentials = secure_getenv("CREDENTIALS_DIRECTORY"),
		.file = entry->configuration->secrets_file,
	};
	const char *names[SCENARIO_MAX_SECRETS];
	uint32_t actions[SCENARIO_MAX_SECRETS], count = 0, failed;
	int r = name_secrets(scenario, names, actions, &count, error);

	// a dry run types nothing
	if (r < 0 || !count || entry->record.dry_run)
		return r;
	r = secrets_read(&source, names, count, ret, &failed, error);
	if (r < 0)
		scenario_action_place(scenario, actions[failed], "type", error);
	return r;
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
		.record = options->record,
		.record_max_bytes = (int64_t)MIN(entry->configuration->record_max_bytes, (uint64_t)INT64_MAX),
		.max_passes = options->max_passes,
		.max_duration_ns = options->max_duration_ns,
		.period_ns = options->has_period ? options->period_ns : scenario->period_ns,
		.writer = files ? entry->sessions->control->writer : NULL,
		.files = files,
		.notify = on_session_event,
		.context = entry,
	};
	int r = bus_messenger_new(entry->sessions->control->bus, scenario, entry->made.id, entry->record.dry_run,
				  &params.messenger, error);

	if (!r)
		r = read_secrets(entry, scenario, &params.secrets, error);
	if (!r)
		r = session_start(&params, &entry->made.session, error);
	if (r < 0) {
		secrets_free(params.secrets);
		messenger_free(params.messenger);
		scenario_free(scenario);
	}
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
		session_entry_free_when_unused(entry);
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
	entry->starter_peer = upload->peer;
	entry->wait = upload->options.wait;
	entry->configuration = configuration_ref(configuration);
	entry->screen_config.xauthority = configuration->xauthority;
	entry->screen_config.frame_folders = (const char *const *)configuration->frame_folders;
	entry->opened = (struct session_mail){.mail.deliver = on_opened, .entry = entry};
	entry->open_failed = (struct session_mail){.mail.deliver = on_open_failed, .entry = entry};
	entry->ended = (struct session_mail){.mail.deliver = session_entry_on_ended, .entry = entry};
	LIST_INIT(&entry->waiters);
	session_rotation_init(entry);
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
	session_entry_insert(entry);
	if (!r)
		r = begin(entry, &error);
	if (r < 0)
		entry_failed(entry, &error);
}
