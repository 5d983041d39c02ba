// SPDX-License-Identifier: GPL-3.0-or-later
/// The state folder: reports/<id>/, the lock, the ids, retention. Called by the worker thread (open: by main). Calls do
/// file I/O and may wait for the disk, never for a person.
#ifndef CONDPROF_STORE_H
#define CONDPROF_STORE_H

#include "proto/control.pb-c.h"
#include "proto/errors.h"
#include "proto/report.pb-c.h"

#include <sys/types.h>

struct store;
struct report_files; ///< a running session's folder: open, locked, with its reserve

/// A field left 0 means the default.
struct store_limits {
	uint64_t max_reports; ///< default 1,000
	uint64_t max_bytes;   ///< default 2 GiB, reserves counted
};

/// Creates the folder (0700) when missing and locks it. -EBUSY: another daemon has it.
/// @param limits NULL: the defaults
int store_open(const char *path, const struct store_limits *limits, struct store **ret, struct error *error);
struct store *store_close(struct store *store);
/// Other limits from now on; the next store_vacuum() meets them. A field left 0 means the default.
void store_set_limits(struct store *store, const struct store_limits *limits);

/// Takes the next id: fsynced, so it never repeats, whatever is deleted or killed. Also for --no-report sessions.
int store_next_id(struct store *store, int64_t *ret_id, struct error *error);

/// Makes a session's folder: scenario.pb (as given), the lock, the reserve for the largest overview, aggregate message
/// and checkpoint together. Old reports give way first (retention).
int store_create(struct store *store, int64_t id, const uint8_t *scenario, size_t scenario_size, size_t reserve_bytes,
		 struct report_files **ret, struct error *error);
/// Gives up a folder whose session never ran: removes it.
struct report_files *report_files_discard(struct report_files *files);

/// Why a session of which an overview.pb is there counts as interrupted.
#define REPORT_DAMAGED_TEXT "its overview.pb is damaged, this is its last checkpoint"

/// What is kept of one report. Strings and bytes are the caller's: store_entry_free().
struct store_entry {
	int64_t id;
	Condprof__DebugReportOverview *overview; ///< NULL: none readable (interrupted before its first checkpoint)
	char *scenario_name;                     ///< from scenario.pb where the overview has none; may be NULL
	bool interrupted;                        ///< no overview.pb and no lock: overview is of the checkpoint
	bool damaged;                            ///< interrupted, because its overview.pb cannot be read
	bool running;                            ///< locked
	uint64_t bytes;
	int64_t created_unix_ns; ///< of the folder
};
void store_entry_free(struct store_entry *entry);

/// Ids of all reports, ascending. *ret is the caller's.
int store_ids(struct store *store, int64_t **ret, size_t *ret_count, struct error *error);
/// -ENOENT: NO_SUCH_SESSION.
int store_read_entry(struct store *store, int64_t id, struct store_entry *ret, struct error *error);
/// -ENOENT, -EBUSY (running).
int store_delete(struct store *store, int64_t id, struct error *error);
/// Retention now: oldest first, never a running one, never the newest.
int store_vacuum(struct store *store, struct error *error);

/// What a reader wants of the messages; see ReportRequest. INT64_MIN / INT64_MAX / 0: no bound.
struct report_filter {
	int64_t since_ns, until_ns;
	const int64_t *event_ids;
	size_t n_event_ids;
	int64_t first, last;
};

/// Reads one report piece by piece, in the order of ReportPart; works on finished, interrupted, running and old ones,
/// in constant memory. The overview of an interrupted one says so, and is there even before the first checkpoint.
struct report_reader;
int report_reader_open(struct store *store, int64_t id, bool messages, const struct report_filter *filter,
		       struct report_reader **ret, struct error *error);
/// Overview and aggregates to use instead of the folder's own, for a running session (copied). Before the first read.
int report_reader_use_snapshot(struct report_reader *reader, const uint8_t *overview, size_t overview_size,
			       const uint8_t *aggregates, size_t aggregates_size);
/// The next piece. @return bytes put to out (at most `size`), 0: the end; negative errno. *ret_part says what they are.
ssize_t report_reader_next(struct report_reader *reader, uint8_t *out, size_t size, Condprof__ReportPart *ret_part,
			   struct error *error);
struct report_reader *report_reader_close(struct report_reader *reader);

#endif
