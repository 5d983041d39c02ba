// SPDX-License-Identifier: GPL-3.0-or-later
/// One run of a scenario on a thread of its own: opens screen and input, runs passes, closes the report. Whoever
/// started it speaks to it only through these calls, all of which return at once and may come from any thread.
#ifndef CONDPROF_SESSION_H
#define CONDPROF_SESSION_H

#include "daemon/engine/clock.h"
#include "daemon/engine/messenger.h"
#include "daemon/input/input.h"
#include "daemon/report/recorder.h"
#include "daemon/scenario/scenario.h"
#include "daemon/secret/secret.h"

struct session;

/// Bytes that store_create() should hold in reserve for a session of this scenario: overview, closing message and
/// checkpoint, at their largest.
size_t session_reserve_bytes(const struct scenario *scenario);

enum session_event {
	SESSION_OPENED,      ///< screen and input are open; passes begin
	SESSION_OPEN_FAILED, ///< session_error() says why; ENDED does not follow, nothing of a report was begun
	SESSION_ROTATED,     ///< it writes to the next report from here on; the one before waits to be closed
	SESSION_ENDED,       ///< the report is closed, screen and input too; only session_free() remains
};

struct session_params {
	int64_t id;                                ///< 0 is fine where nothing is kept
	struct scenario *scenario;                 ///< handed over on success of session_start()
	const char *screen_uri, *input_uri;        ///< copied
	const struct screen_config *screen_config; ///< lives as long as the session
	bool dry_run;
	int64_t max_passes;      ///< 0: no end
	int64_t max_duration_ns; ///< 0: no end
	int64_t period_ns;       ///< of the limiter, the scenario's or the command line's; 0: unlimited
	uint64_t random_seed;    ///< for `randomize`; a recording that is played has its own
	const char *record;      ///< copied; folder to record the run in, NULL: none
	int64_t record_max_bytes;
	struct writer *writer;       ///< NULL: no report
	struct secrets *secrets;     ///< handed over on success; NULL: the scenario types none
	struct messenger *messenger; ///< handed over on success; NULL: the scenario needs none
	struct report_files *files;  ///< of the store, handed over on success; NULL: no report
	void (*notify)(void *context, struct session *session, enum session_event event); ///< on the session's thread
	void *context;
};

/// Refuses at once what the engine cannot run (UNSUPPORTED, with the place) and URIs that cannot be meant; the rest
/// comes by notify.
int session_start(const struct session_params *params, struct session **ret, struct error *error);

/// Ends it: interrupts every wait at once, a computing check within that check; held keys and buttons are released. The
/// first reason counts. Also before OPENED: then OPEN_FAILED follows or, where it came at the last moment, OPENED and
/// ENDED.
void session_stop(struct session *session, Condprof__EndReason reason);

/// What changes with every pass, check begun and action, and with every look at it during a wait that a stop ends.
/// @return false: it makes no passes (yet, or any longer), and cannot be stuck in one
bool session_progress(struct session *session, uint64_t *ret);
/// A sentence that says for how long there was no progress, and what is being checked.
void session_stuck_text(struct session *session, int64_t since_ns, char *out, size_t size);
/// Ends it as failed with the reason check-stuck; like session_stop() otherwise.
void session_stop_stuck(struct session *session, const char *text);
/// Closes it in place of its thread, which hangs: releases and closes the input, closes the report with what there is
/// (waits for the disk), notifies ENDED on the caller's thread. Its thread may end whenever it likes, with the memory
/// and the screen it holds; it does nothing any more that can be seen.
/// @return 0; -EALREADY: it ends by itself; -EBUSY: it hangs in a call of its input, which stays as it is
int session_abandon(struct session *session);

/// Hands a broadcast to the next pass. @return whether the scenario waits for this name (without a bus)
bool session_emit(struct session *session, const char *broadcast);

/// What status shows, as it stands now. All by value.
struct session_live {
	Condprof__SessionState state;
	Condprof__EndReason reason;
	Condprof__SessionResult result;
	char reason_text[256];
	char report_error[256];                 ///< empty: none
	int64_t started_unix_ns, ended_unix_ns; ///< 0: not yet
	int64_t duration_ns, passes, lost_occurrences;
	uint64_t progress; ///< changes with every pass, check begun and interruptible wait
};

void session_live(struct session *session, struct session_live *ret);
/// Why opening failed.
const struct error *session_error(const struct session *session);

/// Snapshots for a report of the running session: packed DebugReportOverview and DebugReportMessage (5 and 50),
/// undelimited; live waits counted up to now. *ret is the caller's. -ENODATA: no report is made.
int session_snapshot_overview(struct session *session, uint8_t **ret, size_t *ret_size);
int session_snapshot_aggregates(struct session *session, uint8_t **ret, size_t *ret_size);

// --- rotation --------------------------------------------------------------------------------------------------------

/// Makes the session's next report and has the engine go on in it at the end of its pass: then SESSION_ROTATED comes,
/// unless the session ends before; that it ended for good then leaves nothing of the new one. Any thread that may wait
/// for memory; one rotation at a time, and none before the one before was closed.
/// @param files of the store; *files becomes NULL when they were handed over, which may be also on failure
/// @return -ESHUTDOWN: the session has ended (or not begun); -EBUSY; -ENOMEM
int session_rotate(struct session *session, int64_t id, struct report_files **files, struct error *error);
/// After SESSION_ROTATED: closes the report before, which waits for the writer. *ret is filled with what its session
/// came to, unless there was none (-ENOENT). @return 0, or why it is not whole
int session_close_rotated(struct session *session, struct session_live *ret, struct error *error);

/// The same as above for one report: the one it writes to, or the one before until it is closed. Not while
/// session_close_rotated() runs. @param id 0: the one it writes to. @return -ENOENT, -ENODATA: it is not there
int session_live_of(struct session *session, int64_t id, struct session_live *ret);
int session_snapshot_overview_of(struct session *session, int64_t id, uint8_t **ret, size_t *ret_size);
int session_snapshot_aggregates_of(struct session *session, int64_t id, uint8_t **ret, size_t *ret_size);

/// Joins the thread, or leaves it to itself when it was abandoned: only after OPEN_FAILED or ENDED was notified.
struct session *session_free(struct session *session);

#endif
