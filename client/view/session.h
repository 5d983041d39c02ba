// SPDX-License-Identifier: GPL-3.0-or-later
/// A session as a row: what status, list, stop, start --wait and every report say of it, in the same words and names.
#ifndef CONDPROF_VIEW_SESSION_H
#define CONDPROF_VIEW_SESSION_H

#include "client/render/render.h"
#include "proto/control.pb-c.h"

enum session_field {
	SESSION_ID,
	SESSION_SCENARIO,
	SESSION_STATE,
	SESSION_RESULT,
	SESSION_REASON_CODE,
	SESSION_REASON_TEXT,
	SESSION_STARTED,
	SESSION_ENDED,
	SESSION_DURATION,
	SESSION_PASSES,
	SESSION_FIELDS,
};

/// Names for machines: the same everywhere. Titles: for a table.
extern const struct field session_fields[SESSION_FIELDS];

/// The cells hold pointers into `session`.
void session_cells(const Condprof__Session *session, struct cell cells[SESSION_FIELDS]);

/// {sessions: […]} of all.
void view_sessions(struct render *render, const Condprof__Session *const *sessions, size_t n, const char *empty);

/// {session: {…}} of one that has ended; for people a line like "finished: ok after 2 m 14 s, 134 passes: …".
void view_ended_session(struct render *render, const Condprof__Session *session);

/// One whose report was rotated, and the session that goes on: both ids.
/// @param whole {session: {…}, continued_by: …} rather than a table of two columns
void view_rotated_session(struct render *render, const Condprof__Session *closed, int64_t next, bool whole);

/// "session 5 finished, ok, after 2 m 14 s and 134 passes: it was stopped". The caller's. NULL: out of memory
char *ended_session_sentence(const Condprof__Session *session, bool ascii);

/// Names as in JSON; "unknown" for what this version does not know.
const char *session_state_name(Condprof__SessionState state);
/// What people read of the result: ", ok" or ", failed" behind "finished", and nothing where the state says it all.
const char *session_result_words(const Condprof__Session *session);
const char *end_reason_name(Condprof__EndReason reason);
/// For people: what the code means.
const char *end_reason_sentence(Condprof__EndReason reason);

/// Whether waiting for it should count as failed: it did, or its stop action said so.
bool session_failed(const Condprof__Session *session);

#endif
