// SPDX-License-Identifier: GPL-3.0-or-later
// Requests about sessions that run: stop, status, wait, rotate, emit. One that names a session that has ended is
// answered from memory, or from its folder by the worker.
#include "config.h"

#include "daemon/control/handlers.h"

#include "daemon/control/audit.h"
#include "daemon/control/kept.h"
#include "daemon/control/replies.h"
#include "daemon/control/rotation.h"
#include "daemon/control/sessions.h"
#include "daemon/control/stream.h"
#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/// A look into the store for a session that doesn't run.
struct lookup {
	struct stream stream;
	struct control *control;
	int64_t id;
	bool to_stop; ///< that it ended is then the answer
	int result;
	struct error error;
	struct store_entry entry;
};

static int already_ended(int64_t id, struct error *error)
{
	return error_set(error, CONDPROF__CODE__ALREADY_ENDED, ESRCH, "session %" PRId64 " has ended already", id);
}

static void lookup_step(struct stream *stream)
{
	struct lookup *lookup = (struct lookup *)stream;

	lookup->result = store_read_entry(lookup->control->store, lookup->id, &lookup->entry, &lookup->error);
}

static void lookup_stepped(struct stream *stream)
{
	struct lookup *lookup = (struct lookup *)stream;
	Condprof__Session session, *sessions = &session;

	if (!lookup->result && lookup->to_stop)
		lookup->result = already_ended(lookup->id, &lookup->error);
	if (stream->exchange && lookup->result < 0) {
		exchange_fail(stream->exchange, &lookup->error);
	} else if (stream->exchange) {
		kept_session(&lookup->entry, &session);
		reply_sessions(stream->exchange, &sessions, 1, true);
	}
	store_entry_free(&lookup->entry);
	stream_end(stream);
}

static int look_up(struct control *control, struct exchange *exchange, int64_t id, bool to_stop, struct error *error)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	if (!lookup)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	lookup->stream = (struct stream){.step = lookup_step, .stepped = lookup_stepped};
	lookup->control = control;
	lookup->id = id;
	lookup->to_stop = to_stop;
	stream_begin(&lookup->stream, control->worker, exchange);
	return 0;
}

/// Answers about a session that is not in the table.
static int answer_ended(struct control *control, struct exchange *exchange, int64_t id, struct error *error)
{
	const struct session_record *record = sessions_remembered(control->sessions, id);
	struct session_facts facts;
	Condprof__Session *session = &facts.message;

	if (!record)
		return look_up(control, exchange, id, false, error);
	session_record_facts(record, &facts);
	reply_sessions(exchange, &session, 1, true);
	return 0;
}

static int wait_for(struct exchange *exchange, struct session_entry *entry, struct error *error)
{
	struct session_wait *wait;

	if (session_wait_new(exchange, &wait) < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	if (entry && session_wait_add(wait, entry) < 0) {
		session_wait_cancel(wait);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	session_wait_go(wait);
	return 0;
}

static int stop_all(struct control *control, struct exchange *exchange, struct error *error)
{
	struct session_entry *entry = NULL;
	struct session_wait *wait;

	if (session_wait_new(exchange, &wait) < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	while ((entry = sessions_next(control->sessions, entry)))
		if (session_wait_add(wait, entry) < 0) {
			session_wait_cancel(wait);
			return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
		}
	audit_stop(connection_peer(exchange->connection), true, 0, NULL);
	sessions_stop_all(control->sessions, CONDPROF__END_REASON__REASON_STOPPED);
	session_wait_go(wait);
	return 0;
}

int handle_stop(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		struct error *error)
{
	const Condprof__StopRequest *stop = request->stop;
	struct session_entry *entry;
	struct session_facts facts;
	struct peer peer;
	int r;

	if (stop->has_all && stop->all)
		return stop->has_session ? error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
						     "stop: a session or all, not both")
					 : stop_all(control, exchange, error);
	if (stop->has_session) {
		entry = sessions_find(control->sessions, stop->session);
		if (!entry && sessions_remembered(control->sessions, stop->session))
			return already_ended(stop->session, error);
		if (!entry)
			return look_up(control, exchange, stop->session, true, error);
	} else {
		r = sessions_only(control->sessions, &entry, error);
		if (r < 0)
			return r;
	}
	peer = *connection_peer(exchange->connection); // which may go with its answer
	r = wait_for(exchange, entry, error);
	if (r < 0)
		return r;
	session_entry_facts(entry, &facts);
	audit_stop(&peer, false, facts.message.id, facts.message.scenario);
	session_entry_stop(entry, CONDPROF__END_REASON__REASON_STOPPED);
	return 0;
}

static int answer_all(struct control *control, struct exchange *exchange, struct error *error)
{
	CLEANUP_FREE struct session_facts *facts = calloc(SESSIONS_MAX, sizeof(*facts));
	Condprof__Session *sessions[SESSIONS_MAX];
	struct session_entry *entry = NULL;
	size_t count = 0;

	if (!facts)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	while (count < SESSIONS_MAX && (entry = sessions_next(control->sessions, entry))) {
		session_entry_facts(entry, &facts[count]);
		sessions[count] = &facts[count].message;
		count++;
	}
	reply_sessions(exchange, sessions, count, true);
	return 0;
}

int handle_status(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		  struct error *error)
{
	const Condprof__StatusRequest *status = request->status;
	struct session_facts facts;
	Condprof__Session *session = &facts.message;
	struct session_entry *entry;

	if (!status->has_session)
		return answer_all(control, exchange, error);
	entry = sessions_find(control->sessions, status->session);
	if (!entry)
		return answer_ended(control, exchange, status->session, error);
	session_entry_facts(entry, &facts);
	reply_sessions(exchange, &session, 1, true);
	return 0;
}

int handle_wait(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		struct error *error)
{
	const Condprof__WaitRequest *wait = request->wait;
	struct session_entry *entry;
	int r;

	if (wait->has_session) {
		entry = sessions_find(control->sessions, wait->session);
		return entry ? wait_for(exchange, entry, error) : answer_ended(control, exchange, wait->session, error);
	}
	r = sessions_only(control->sessions, &entry, error);
	return r < 0 ? r : wait_for(exchange, entry, error);
}

int handle_rotate(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		  struct error *error)
{
	const Condprof__RotateRequest *rotate = request->rotate;
	struct session_entry *entry;
	int r;

	if (!rotate->has_session) {
		r = sessions_only(control->sessions, &entry, error);
		return r < 0 ? r : session_entry_rotate(entry, exchange, error);
	}
	entry = sessions_find(control->sessions, rotate->session);
	if (entry)
		return session_entry_rotate(entry, exchange, error);
	if (sessions_remembered(control->sessions, rotate->session))
		return already_ended(rotate->session, error);
	return look_up(control, exchange, rotate->session, true, error);
}

// --- emit ----------------------------------------------------------------------------------------------------------

/// The names that running sessions wait for, for the error. @return how many, each counted once a session
static size_t awaited_names(const struct sessions *sessions, char *out, size_t size)
{
	struct session_entry *entry = NULL;
	size_t count = 0, length = 0;

	while ((entry = sessions_next(sessions, entry))) {
		for (const char *const *name = session_entry_broadcasts(entry); session_entry_runs(entry) && *name;
		     name++) {
			if (length < size)
				length += (size_t)snprintf(out + length, size - length, "%s%.80s", count ? ", " : "",
							   *name);
			count++;
		}
	}
	if (length >= size && size > 4)
		strcpy(out + size - 4, "...");
	return count;
}

static int nobody_waits(struct control *control, const char *broadcast, struct error *error)
{
	struct session_entry *entry = NULL;
	char names[400] = "";
	const char *bus = strchr(broadcast, '.') ? "; a D-Bus signal is sent on its bus, as by dbus-send" : "";

	while ((entry = sessions_next(control->sessions, entry)) && !session_entry_runs(entry))
		;
	if (!entry)
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ESRCH, "no session is running");
	if (!awaited_names(control->sessions, names, sizeof(names)))
		return error_set(error, CONDPROF__CODE__NO_SUCH_NAME, ENOENT,
				 "no running session waits for any broadcast of condprofctl emit%s", bus);
	return error_set(error, CONDPROF__CODE__NO_SUCH_NAME, ENOENT,
			 "no running session waits for '%.80s', only for: %s%s", broadcast, names, bus);
}

int handle_emit(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		struct error *error)
{
	const char *broadcast = request->emit->broadcast;
	Condprof__Emitted emitted = CONDPROF__EMITTED__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;
	struct session_entry *entry = NULL;
	int64_t ids[SESSIONS_MAX];

	if (!broadcast || !*broadcast || strlen(broadcast) > NAME_MAX_BYTES)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "a broadcast has a name of 1 to %u bytes",
				 NAME_MAX_BYTES);
	while ((entry = sessions_next(control->sessions, entry)))
		if (session_entry_runs(entry) && session_entry_emit(entry, broadcast) &&
		    emitted.n_sessions < SESSIONS_MAX)
			ids[emitted.n_sessions++] = session_entry_id(entry);
	if (!emitted.n_sessions)
		return nobody_waits(control, broadcast, error);
	emitted.sessions = ids;
	reply.body_case = CONDPROF__REPLY__BODY_EMITTED;
	reply.emitted = &emitted;
	exchange_finish(exchange, &reply);
	return 0;
}
