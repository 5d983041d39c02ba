// SPDX-License-Identifier: GPL-3.0-or-later
/// What the files of the session table share: sessions.c (the table, and an entry's end), starting.c (its beginning),
/// waits.c (who waits for its end). Loop's thread, but for what jobs run on the worker.
///
/// Who holds what: the entry owns upload and scenario until session_start() took the scenario; the session is freed
/// (its thread joined) by the worker, once it ended and no job has it pinned; then the entry goes. What the creating
/// job makes stands in `made` until the loop's thread takes it over: when the job is delivered, or before, when the
/// session's own first word comes earlier.
#ifndef CONDPROF_SESSIONS_INTERNAL_H
#define CONDPROF_SESSIONS_INTERNAL_H

#include "daemon/control/rotation.h"
#include "daemon/control/sessions.h"
#include "daemon/control/stuck.h"

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
	struct peer starter_peer;            ///< who asked for it
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
	struct job job;                  ///< creating, perhaps abandoning, then freeing
	bool job_in_flight;
	struct {
		int result;
		struct error error;
		int64_t id;
		struct session *session;
	} made; ///< by the creating job
	struct session_mail opened, open_failed, rotated, ended;
	struct session_rotation rotation;
	LIST_HEAD(, waiter) waiters;
	unsigned pins;
	struct stuck_state stuck;
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

// sessions.c
void session_facts_fill(const struct session_record *record, const struct session_live *live,
			struct session_facts *ret);
/// Puts an entry into the table, without an id yet.
void session_entry_insert(struct session_entry *entry);
/// Moves an entry that got its id to its place.
void session_entry_place(struct session_entry *entry);
/// The session is no more: those who wait hear of it, and what is left of the entry goes to the worker.
void session_entry_over(struct session_entry *entry, struct session_facts *facts);
/// Keeps what is known of a session whose report was rotated: `entry` goes on as `next_id`.
void sessions_remember_copy(struct session_entry *entry, int64_t next_id, const struct session_live *live);
/// What it came to in the end, if it is remembered.
void sessions_remember_ended(struct sessions *sessions, int64_t id, const struct session_live *live);
/// What its mail `ended` does.
void session_entry_on_ended(struct mail *mail);
/// Gives an entry that is over to the worker, when nobody needs it any more.
void session_entry_free_when_unused(struct session_entry *entry);

// waits.c
/// Tells all who wait for this entry.
void session_waits_answer(struct session_entry *entry, struct session_facts *facts);

#endif
