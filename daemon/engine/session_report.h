// SPDX-License-Identifier: GPL-3.0-or-later
/// One report of a session: where its figures are, who writes it, when it began and how it ended. A session has one
/// at a time, and another one after each rotation. Which thread may do what is said at each call; what is read by
/// others while the engine goes on is atomic, or under the report's lock.
#ifndef CONDPROF_SESSION_REPORT_H
#define CONDPROF_SESSION_REPORT_H

#include "daemon/engine/processor.h"

/// What all reports of a session have in common; lives as long as the session.
struct session_run {
	const struct scenario *scenario;
	int64_t period_ns;
	struct writer *writer;           ///< NULL: no report is kept
	const struct progress *progress; ///< of the whole run; NULL before there is a processor
	struct tape *tape;               ///< NULL: it is not recorded
	const char *screen, *input;      ///< the session's
	bool dry_run;
};

/// Counts of the whole run at one moment: a report has the difference of two.
struct run_counts {
	int64_t passes, frames, missed;
	int frame_width, frame_height; ///< of the last one
};

/// What a report had to give up.
struct losses {
	int64_t occurrences, dropped_occurrences, dropped_segments;
};

struct session_report {
	struct rotation_target target; ///< first
	const struct session_run *run;
	void *context; ///< the session's

	int64_t id, continues_session; ///< 0: it is the first
	struct timing *timing;         ///< NULL: nothing is kept

	_Atomic int64_t continued_by;              ///< 0: nobody
	_Atomic int64_t started_unix_ns, start_ns; ///< 0: not yet; the second monotonic
	_Atomic int64_t ended_unix_ns, end_ns;     ///< the same
	struct run_counts at_start, at_end;        ///< the second once `ended`
	struct ending_reason ending;               ///< once `ended`
	_Atomic bool ended;                        ///< everything above is final
	pthread_mutex_t lock;                      ///< of what follows
	struct recorder *recorder;                 ///< NULL: none, or closed
	struct losses lost;                        ///< when it was closed
	char error[256];                           ///< why it is not whole
};

int session_report_new(const struct session_run *run, int64_t id, struct session_report **ret);
/// Takes memory for the figures.
int session_report_measure(struct session_report *report, struct error *error);
/// Opens its recorder. @param files handed over on success
int session_report_open(struct session_report *report, struct report_files *files, struct error *error);

/// The engine's thread: it begins, the first of its session.
void session_report_begin(struct session_report *report);
/// The engine's thread: one ends and the next begins, at this moment.
void session_report_rotate(struct session_report *from, struct session_report *to);
/// The engine's thread, or its session's: it has ended.
void session_report_end(struct session_report *report, const struct ending_reason *ending);

/// Waits for the writer. Any thread but the engine's, unless the session is over. @return 0, also when there is nothing
/// to close; the error is kept, too
int session_report_close(struct session_report *report, struct error *error);
/// Closes what was not: a report that never began leaves nothing.
struct session_report *session_report_free(struct session_report *report);

// Any thread, while the report exists.
struct losses session_report_losses(struct session_report *report);
int64_t session_report_passes(struct session_report *report);
int64_t session_report_duration_ns(struct session_report *report);
int session_report_overview(struct session_report *report, struct losses lost, uint8_t **ret, size_t *ret_size);
int session_report_aggregates(struct session_report *report, uint8_t **ret, size_t *ret_size);

#endif
