// SPDX-License-Identifier: GPL-3.0-or-later
/// The session table: every session from the moment its scenario was accepted until its report is closed, and for a
/// while what is known of those that ended. All transitions happen on the loop's thread; what a session says from its
/// own thread comes by the mailbox.
///
///     CREATING (worker: id, folder, thread) → OPENING (its thread: screen, input) → RUNNING → gone
#ifndef CONDPROF_SESSIONS_H
#define CONDPROF_SESSIONS_H

#include "daemon/control/control.h"
#include "daemon/control/upload.h"
#include "daemon/engine/session.h"

#define SESSIONS_REMEMBERED 64U ///< ended ones; also those that made no report

/// What is said of a session.
struct session_record {
	int64_t id;
	char *scenario, *screen, *input;
	bool dry_run, no_report;
	int64_t continues_session, continued_by; ///< of a rotated run; 0: none
	struct session_live live;                ///< of an entry: filled by session_entry_facts()
};

/// A Session message and what its pointers point to, besides the record.
struct session_facts {
	Condprof__Session message;
	struct session_live live;
};

struct session_entry;
struct sessions;

int sessions_new(struct control *control, struct sessions **ret);
/// When none is left.
struct sessions *sessions_free(struct sessions *sessions);

/// How many have not ended, those without an id yet counted.
unsigned sessions_count(const struct sessions *sessions);
/// Whether another one may begin now; else BUSY or STOPPING_DAEMON.
int sessions_admit(const struct sessions *sessions, struct error *error);
/// Begins a session: takes both over, and answers the upload's exchange when it runs, or with what went wrong.
void sessions_begin(struct sessions *sessions, struct upload *upload, struct scenario *scenario);
/// Ends all of them.
void sessions_stop_all(struct sessions *sessions, Condprof__EndReason reason);

/// Walks the sessions that have an id and have not ended, by ascending id. NULL: the first, and at the end.
struct session_entry *sessions_next(const struct sessions *sessions, const struct session_entry *after);
struct session_entry *sessions_find(const struct sessions *sessions, int64_t id);
/// The session that a request without an id means: the only one. NO_SUCH_SESSION, AMBIGUOUS.
int sessions_only(const struct sessions *sessions, struct session_entry **ret, struct error *error);
/// Of those that ended, NULL: not remembered.
const struct session_record *sessions_remembered(const struct sessions *sessions, int64_t id);
/// The highest id that was given since this daemon began; 0: none. *ret_no_report: that one keeps no report.
int64_t sessions_newest(const struct sessions *sessions, bool *ret_no_report);

int64_t session_entry_id(const struct session_entry *entry);
/// Whether it makes passes: emitting and snapshots make sense.
bool session_entry_runs(const struct session_entry *entry);
void session_entry_facts(const struct session_entry *entry, struct session_facts *ret);
void session_record_facts(const struct session_record *record, struct session_facts *ret);
void session_entry_stop(struct session_entry *entry, Condprof__EndReason reason);
/// NULL-terminated names of the broadcasts that its scenario waits for (without a bus).
const char *const *session_entry_broadcasts(const struct session_entry *entry);
bool session_entry_emit(struct session_entry *entry, const char *broadcast);

/// Keeps the session itself from being freed while the worker reads it. NULL: none yet.
struct session *session_entry_pin(struct session_entry *entry);
void session_entry_unpin(struct session_entry *entry);

/// Waiting for sessions to end: one Sessions reply a session, when its report is closed; the last of them marked.
struct session_wait;
/// @param exchange taken over
int session_wait_new(struct exchange *exchange, struct session_wait **ret);
int session_wait_add(struct session_wait *wait, struct session_entry *entry);
/// No more are added. Answers at once when none was.
void session_wait_go(struct session_wait *wait);
/// Gives the waiting up again; the exchange is the handler's as before.
void session_wait_cancel(struct session_wait *wait);

#endif
