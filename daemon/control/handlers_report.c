// SPDX-License-Identifier: GPL-3.0-or-later
// Requests about what is kept: list, report, delete. All of them read the state folder, so all of them are streams of
// steps on the worker.
#include "config.h"

#include "daemon/control/handlers.h"

#include "daemon/control/kept.h"
#include "daemon/control/replies.h"
#include "daemon/control/rotation.h"
#include "daemon/control/sessions.h"
#include "daemon/control/stream.h"
#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LIST_A_STEP 16U ///< reports read in a step
#define DELETE_A_STEP 8U
#define DELETE_MAX 4096U ///< sessions in one request
#define EVENT_IDS_MAX 4096U

static int out_of_memory(struct error *error)
{
	return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
}

// --- list ----------------------------------------------------------------------------------------------------------

/// What one step gives: reports, and the sessions of the table that stand between them. Made when the listing's turn
/// comes, so that one that waits for it costs next to nothing.
struct list_page {
	struct store_entry entries[LIST_A_STEP];
	Condprof__Session kept[LIST_A_STEP];
	struct session_facts facts[SESSIONS_MAX + LIST_A_STEP];
	Condprof__Session *sessions[SESSIONS_MAX + LIST_A_STEP];
	size_t n_entries, n_facts, n_sessions;
};

struct listing {
	struct stream stream;
	struct control *control;
	int64_t *ids; ///< of all reports, ascending
	size_t n_ids, next;
	int64_t last_id; ///< sent
	struct list_page *page;
	bool complete;
	int result;
	struct error error;
};

static int begin_listing(struct listing *listing)
{
	listing->page = calloc(1, sizeof(*listing->page));
	if (!listing->page)
		return out_of_memory(&listing->error);
	return store_ids(listing->control->store, &listing->ids, &listing->n_ids, &listing->error);
}

static void list_step(struct stream *stream)
{
	struct listing *listing = (struct listing *)stream;
	struct list_page *page;

	if (!listing->page)
		listing->result = begin_listing(listing);
	page = listing->page;
	while (!listing->result && listing->next < listing->n_ids && page->n_entries < LIST_A_STEP) {
		int64_t id = listing->ids[listing->next++];
		struct error error;
		int r = store_read_entry(listing->control->store, id, &page->entries[page->n_entries], &error);

		if (!r)
			page->n_entries++;
		else if (r != -ENOENT)
			log_line(LOG_LEVEL_WARNING, id, "cannot list its report: %s", error.message);
	}
	listing->complete = listing->next >= listing->n_ids;
}

static struct session_facts *add_facts(struct list_page *page)
{
	struct session_facts *facts = &page->facts[page->n_facts++];

	page->sessions[page->n_sessions++] = &facts->message;
	return facts;
}

/// Adds the sessions of the table with an id above the last one sent and below `before`.
static void add_running(struct listing *listing, int64_t before)
{
	struct session_entry *entry = NULL;

	while ((entry = sessions_next(listing->control->sessions, entry))) {
		int64_t id = session_entry_id(entry);

		if (id > listing->last_id && id < before) {
			session_entry_facts(entry, add_facts(listing->page));
			listing->last_id = id;
		}
	}
}

/// A report: what the table says of its session wins, then what is remembered, if it still ran when it was read.
static void add_kept(struct listing *listing, size_t index)
{
	struct list_page *page = listing->page;
	const struct store_entry *kept = &page->entries[index];
	const struct sessions *sessions = listing->control->sessions;
	const struct session_entry *entry = sessions_find(sessions, kept->id);
	const struct session_record *record = kept->running ? sessions_remembered(sessions, kept->id) : NULL;

	if (sessions_prepare(sessions, kept->id)) {
		return; // nobody has been told of it yet
	} else if (entry) {
		session_entry_facts(entry, add_facts(page));
	} else if (record) {
		session_record_facts(record, add_facts(page));
	} else {
		kept_session(kept, &page->kept[index]);
		page->sessions[page->n_sessions++] = &page->kept[index];
	}
	listing->last_id = kept->id;
}

static void clear_page(struct list_page *page)
{
	while (page->n_entries)
		store_entry_free(&page->entries[--page->n_entries]);
	page->n_facts = page->n_sessions = 0;
}

static void send_page(struct listing *listing)
{
	struct list_page *page = listing->page;

	for (size_t i = 0; i < page->n_entries; i++) {
		add_running(listing, page->entries[i].id);
		add_kept(listing, i);
	}
	if (listing->complete)
		add_running(listing, INT64_MAX);
	reply_sessions(listing->stream.exchange, page->sessions, page->n_sessions, listing->complete);
	clear_page(page);
}

static void list_stepped(struct stream *stream)
{
	struct listing *listing = (struct listing *)stream;

	if (!stream->exchange) {
		stream_end(stream);
		return;
	}
	if (listing->result < 0) {
		stream_fail(stream, &listing->error);
		return;
	}
	send_page(listing);
	if (listing->complete)
		stream_end(stream);
	else
		stream_next(stream);
}

static void list_close(struct stream *stream)
{
	struct listing *listing = (struct listing *)stream;

	if (listing->page)
		clear_page(listing->page);
	free(listing->page);
	free(listing->ids);
}

int handle_list(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		struct error *error)
{
	struct listing *listing = calloc(1, sizeof(*listing));

	(void)request;
	if (!listing)
		return out_of_memory(error);
	listing->stream =
		(struct stream){.is_long = true, .step = list_step, .stepped = list_stepped, .close = list_close};
	listing->control = control;
	stream_begin(&listing->stream, control->worker, exchange);
	return 0;
}

// --- report --------------------------------------------------------------------------------------------------------

struct reporting {
	struct stream stream;
	struct control *control;
	int64_t id; ///< 0: the one started last, not looked for yet
	bool found; ///< the id stands
	bool messages;
	struct report_filter filter;
	int64_t *event_ids;          ///< of the filter
	struct session_entry *entry; ///< pinned, while `session` is read
	struct session *session;
	struct report_reader *reader;
	uint8_t *data; ///< CHUNK_MAX_BYTES, from when the reader is opened
	ssize_t size;  ///< of data; 0: the end
	Condprof__ReportPart part;
	int result;
	struct error error;
};

/// The newest report there is, by the folder.
static int find_newest(struct reporting *reporting)
{
	CLEANUP_FREE int64_t *ids = NULL;
	size_t count;
	int r = store_ids(reporting->control->store, &ids, &count, &reporting->error);

	if (r < 0)
		return r;
	if (!count)
		return error_set(&reporting->error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT, "no report is kept yet");
	reporting->id = ids[count - 1];
	return 0;
}

static int use_snapshot(struct reporting *reporting)
{
	CLEANUP_FREE uint8_t *overview = NULL, *aggregates = NULL;
	size_t overview_size, aggregates_size;
	int r = session_snapshot_overview_of(reporting->session, reporting->id, &overview, &overview_size);

	if (!r)
		r = session_snapshot_aggregates_of(reporting->session, reporting->id, &aggregates, &aggregates_size);
	if (!r)
		r = report_reader_use_snapshot(reporting->reader, overview, overview_size, aggregates, aggregates_size);
	return r < 0 ? error_set(&reporting->error, CONDPROF__CODE__INTERNAL, -r,
				 "cannot take a snapshot of session %" PRId64 ": %s", reporting->id, strerror(-r))
		     : 0;
}

static int open_reader(struct reporting *reporting)
{
	int r;

	reporting->data = malloc(CHUNK_MAX_BYTES);
	if (!reporting->data)
		return out_of_memory(&reporting->error);
	r = report_reader_open(reporting->control->store, reporting->id, reporting->messages, &reporting->filter,
			       &reporting->reader, &reporting->error);

	return !r && reporting->session ? use_snapshot(reporting) : r;
}

static void report_step(struct stream *stream)
{
	struct reporting *reporting = (struct reporting *)stream;

	if (!reporting->found) {
		reporting->found = true;
		reporting->result = reporting->id ? 0 : find_newest(reporting);
		return;
	}
	if (!reporting->reader)
		reporting->result = open_reader(reporting);
	if (reporting->result < 0)
		return;
	reporting->size = report_reader_next(reporting->reader, reporting->data, CHUNK_MAX_BYTES, &reporting->part,
					     &reporting->error);
	reporting->result = (int)MIN(reporting->size, 0);
}

static void send_piece(struct reporting *reporting)
{
	Condprof__ReportChunk chunk = CONDPROF__REPORT_CHUNK__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;

	chunk.has_session = true;
	chunk.session = reporting->id;
	reply.body_case = CONDPROF__REPLY__BODY_REPORT;
	reply.report = &chunk;
	if (!reporting->size) {
		stream_finish(&reporting->stream, &reply);
		return;
	}
	chunk.has_part = chunk.has_data = true;
	chunk.part = reporting->part;
	chunk.data = (ProtobufCBinaryData){.data = reporting->data, .len = (size_t)reporting->size};
	exchange_reply(reporting->stream.exchange, &reply);
	stream_next(&reporting->stream);
}

/// Whether the session keeps a report at all, as far as this daemon knows.
static int check_kept(const struct control *control, int64_t id, struct error *error)
{
	const struct session_entry *entry = sessions_find(control->sessions, id);
	const struct session_record *record = sessions_remembered(control->sessions, id);
	struct session_facts facts;

	if (entry)
		session_entry_facts(entry, &facts);
	if ((entry && facts.message.no_report) || (record && record->no_report))
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT,
				 "session %" PRId64 " was started with --no-report and keeps none", id);
	if (sessions_prepare(control->sessions, id))
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT, "there is no session %" PRId64, id);
	return 0;
}

/// The newest folder may be of a session that is only going to be: the next one of a run whose report is being rotated.
static void leave_out_prepared(struct reporting *reporting)
{
	bool no_report;

	if (sessions_prepare(reporting->control->sessions, reporting->id))
		reporting->id = sessions_newest(reporting->control->sessions, &no_report);
}

/// A session that runs is read from memory: pinned for the one step that opens the reader.
static void pin(struct reporting *reporting)
{
	struct session_entry *entry = sessions_find(reporting->control->sessions, reporting->id);

	if (!entry || !session_entry_runs(entry))
		return;
	reporting->session = session_entry_pin(entry);
	reporting->entry = entry;
}

static void unpin(struct reporting *reporting)
{
	if (reporting->entry)
		session_entry_unpin(reporting->entry);
	reporting->entry = NULL;
	reporting->session = NULL;
}

static void report_stepped(struct stream *stream)
{
	struct reporting *reporting = (struct reporting *)stream;

	unpin(reporting);
	if (!stream->exchange) {
		stream_end(stream);
	} else if (reporting->result < 0) {
		stream_fail(stream, &reporting->error);
	} else if (!reporting->reader) {
		leave_out_prepared(reporting);
		pin(reporting);
		stream_step(stream); // one chunk, room or not: nobody stays pinned while a client takes its time
	} else {
		send_piece(reporting);
	}
}

static void report_close(struct stream *stream)
{
	struct reporting *reporting = (struct reporting *)stream;

	report_reader_close(reporting->reader);
	free(reporting->data);
	free(reporting->event_ids);
}

static int fill_filter(struct reporting *reporting, const Condprof__ReportRequest *request, struct error *error)
{
	struct report_filter *filter = &reporting->filter;

	if ((request->has_first && request->first < 0) || (request->has_last && request->last < 0))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "first and last are counts from 0");
	if (request->has_first && request->first && request->has_last && request->last)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "the first or the last occurrences, not both");
	if (request->n_event_ids > EVENT_IDS_MAX)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "at most %u event ids", EVENT_IDS_MAX);
	reporting->messages = request->has_messages && request->messages;
	*filter = (struct report_filter){
		.since_ns = request->has_since_ns ? request->since_ns : INT64_MIN,
		.until_ns = request->has_until_ns ? request->until_ns : INT64_MAX,
		.first = request->has_first ? request->first : 0,
		.last = request->has_last ? request->last : 0,
	};
	if (!request->n_event_ids)
		return 0;
	reporting->event_ids = malloc(request->n_event_ids * sizeof(*reporting->event_ids));
	if (!reporting->event_ids)
		return out_of_memory(error);
	memcpy(reporting->event_ids, request->event_ids, request->n_event_ids * sizeof(*reporting->event_ids));
	filter->event_ids = reporting->event_ids;
	filter->n_event_ids = request->n_event_ids;
	return 0;
}

/// Which session the request means. *ret 0: the newest report, to be looked for.
static int choose_session(const struct control *control, const Condprof__ReportRequest *request, int64_t *ret,
			  struct error *error)
{
	bool no_report;
	int64_t newest = sessions_newest(control->sessions, &no_report);
	int64_t id = request->has_session ? request->session : 0;

	if (request->has_session && id <= 0)
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT, "session ids count from 1");
	if (!request->has_session && no_report)
		id = newest;
	*ret = id;
	return id ? check_kept(control, id, error) : 0;
}

int handle_report(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		  struct error *error)
{
	struct reporting *reporting;
	int64_t id = 0;
	int r = choose_session(control, request->report, &id, error);

	if (r < 0)
		return r;
	reporting = calloc(1, sizeof(*reporting));
	if (!reporting)
		return out_of_memory(error);
	r = fill_filter(reporting, request->report, error);
	if (r < 0) {
		free(reporting);
		return r;
	}
	reporting->stream =
		(struct stream){.is_long = true, .step = report_step, .stepped = report_stepped, .close = report_close};
	reporting->control = control;
	reporting->id = id;
	stream_begin(&reporting->stream, control->worker, exchange);
	return 0;
}

// --- delete --------------------------------------------------------------------------------------------------------

struct deleting {
	struct stream stream;
	struct control *control;
	int64_t *ids; ///< ascending, each once
	size_t n_ids, next;
	bool checked;
	int result;
	struct error error;
};

static int compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/// Nothing is deleted when one of them isn't there: a mistyped id costs no other report.
static int check_all_there(struct deleting *deleting)
{
	CLEANUP_FREE int64_t *ids = NULL;
	size_t count;
	int r = store_ids(deleting->control->store, &ids, &count, &deleting->error);

	for (size_t i = 0; !r && i < deleting->n_ids; i++)
		if (!count || !bsearch(&deleting->ids[i], ids, count, sizeof(*ids), compare_ids))
			r = error_set(&deleting->error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT,
				      "no report of session %" PRId64 " is kept; nothing was deleted",
				      deleting->ids[i]);
	return r;
}

static void delete_step(struct stream *stream)
{
	struct deleting *deleting = (struct deleting *)stream;

	if (!deleting->checked)
		deleting->result = check_all_there(deleting);
	deleting->checked = true;
	for (size_t n = 0; !deleting->result && n < DELETE_A_STEP && deleting->next < deleting->n_ids; n++) {
		deleting->result =
			store_delete(deleting->control->store, deleting->ids[deleting->next], &deleting->error);
		deleting->next += !deleting->result;
	}
}

static void delete_stepped(struct stream *stream)
{
	struct deleting *deleting = (struct deleting *)stream;
	Condprof__Deleted deleted = CONDPROF__DELETED__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;

	if (deleting->result < 0 && stream->exchange) {
		stream_fail(stream, &deleting->error);
	} else if (deleting->result < 0 || (!stream->exchange && deleting->next >= deleting->n_ids)) {
		stream_end(stream);
	} else if (deleting->next < deleting->n_ids) {
		stream_step(stream);
	} else {
		deleted.n_sessions = deleting->n_ids;
		deleted.sessions = deleting->ids;
		reply.body_case = CONDPROF__REPLY__BODY_DELETED;
		reply.deleted = &deleted;
		stream_finish(stream, &reply);
	}
}

static void delete_close(struct stream *stream)
{
	free(((struct deleting *)stream)->ids);
}

static int copy_ids(const struct control *control, const Condprof__DeleteRequest *request, struct deleting *deleting,
		    struct error *error)
{
	size_t kept = 0;

	if (!request->n_sessions || request->n_sessions > DELETE_MAX)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "delete takes 1 to %u sessions",
				 DELETE_MAX);
	deleting->ids = malloc(request->n_sessions * sizeof(*deleting->ids));
	if (!deleting->ids)
		return out_of_memory(error);
	memcpy(deleting->ids, request->sessions, request->n_sessions * sizeof(*deleting->ids));
	qsort(deleting->ids, request->n_sessions, sizeof(*deleting->ids), compare_ids);
	for (size_t i = 0; i < request->n_sessions; i++)
		if (!kept || deleting->ids[kept - 1] != deleting->ids[i])
			deleting->ids[kept++] = deleting->ids[i];
	deleting->n_ids = kept;
	for (size_t i = 0; i < kept; i++)
		if (sessions_find(control->sessions, deleting->ids[i]))
			return error_set(error, CONDPROF__CODE__STILL_RUNNING, EBUSY,
					 "session %" PRId64 " is still running; stop it first; nothing was deleted",
					 deleting->ids[i]);
	return 0;
}

int handle_delete(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		  struct error *error)
{
	struct deleting *deleting = calloc(1, sizeof(*deleting));
	int r = deleting ? copy_ids(control, request->delete_, deleting, error) : out_of_memory(error);

	if (r < 0) {
		if (deleting)
			free(deleting->ids);
		free(deleting);
		return r;
	}
	deleting->stream = (struct stream){.step = delete_step, .stepped = delete_stepped, .close = delete_close};
	deleting->control = control;
	stream_begin(&deleting->stream, control->worker, exchange);
	return 0;
}
