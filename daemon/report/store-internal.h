// SPDX-License-Identifier: GPL-3.0-or-later
/// What store, retention and reader share: the state folder, and what state a report's folder is in.
#ifndef CONDPROF_STORE_INTERNAL_H
#define CONDPROF_STORE_INTERNAL_H

#include "daemon/report/store.h"
#include "daemon/report/wire.h"

#define FOLDER_REPORTS "reports"
#define FILE_IDS "ids"
#define FILE_IDS_NEW "ids.tmp"

#define OVERVIEW_MAX_BYTES (4U * 1024U * 1024U)
#define OVERVIEW_MAX_UNPACKED_BYTES (8U * 1024U * 1024U)
#define OVERVIEW_MAX_ALLOCATIONS 20000U

struct store {
	int fd, reports_fd, lock_fd;
	char *path; ///< for messages
	struct store_limits limits;
	int64_t last_id;
	uint8_t window[WIRE_WINDOW_BYTES];
};

/// Whether a report is finished, running or interrupted, and its overview.
struct report_state {
	bool running, interrupted;
	bool damaged; ///< interrupted, because its overview.pb cannot be read
	uint8_t *bytes; ///< one DebugReportOverview, undelimited; NULL: none readable
	size_t size;
	Condprof__DebugReportOverview *overview; ///< the same, unpacked
};

/// @param window WIRE_WINDOW_BYTES to read through
/// @return 0; damaged files only leave less of it
int report_state_read(int fd, uint8_t *window, struct report_state *ret);
void report_state_free(struct report_state *state);
/// Whether its lock is held.
bool report_is_running(int fd);
/// What its folder takes on disk.
uint64_t report_bytes(int fd);

/// Of a file that is a Scenario message; the caller's, NULL: none.
char *scenario_name_of_file(int file, uint8_t *window);
/// Of scenario.pb; the caller's, NULL: none.
char *report_scenario_name(int fd, uint8_t *window);
/// When the session's folder was made; 0: not known.
int64_t report_created_ns(int fd);
/// What is known of a session that was interrupted before its first checkpoint, as a packed DebugReportOverview.
int report_interrupted_overview(int fd, int64_t id, bool damaged, uint8_t *window, uint8_t **ret, size_t *ret_size);

/// Opens a report's folder. @return the descriptor, or -ENOENT and the like
int store_open_report(const struct store *store, int64_t id);
/// Removes what a killed daemon left: half-made and half-removed folders, reserves of sessions that run no more.
void store_sweep(struct store *store);
/// Removes the oldest reports until `more_reports` and `more_bytes` fit as well.
int store_make_room(struct store *store, uint64_t more_reports, uint64_t more_bytes, struct error *error);

#endif
