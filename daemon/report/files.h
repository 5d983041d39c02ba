// SPDX-License-Identifier: GPL-3.0-or-later
/// The folder of one running session: open, locked, with its reserve. The store makes it, the writer fills and closes
/// it. Its names are fixed; a folder is only seen under its id when it is complete, and gone in one step when it is
/// removed.
#ifndef CONDPROF_FILES_H
#define CONDPROF_FILES_H

#include "proto/base.h"

#define FILE_LOCK "lock"
#define FILE_SCENARIO "scenario.pb"
#define FILE_MESSAGES "messages.pb"
#define FILE_MESSAGES_NEW "messages.tmp"
#define FILE_CHECKPOINT "checkpoint.pb"
#define FILE_CHECKPOINT_NEW "checkpoint.tmp"
#define FILE_OVERVIEW "overview.pb"
#define FILE_OVERVIEW_NEW "overview.tmp"
#define FILE_RESERVE "reserve"
#define FILE_SEGMENT_FORMAT "messages.%04u.pb"
#define FOLDER_NEW_PREFIX ".new-"
#define FOLDER_TRASH_PREFIX ".trash-"

/// Room for roundings to whole blocks, and for the folder itself.
#define RESERVE_SLACK_BYTES (32U * 1024U)

struct report_files {
	int64_t id;
	int reports_fd; ///< STATE/reports
	int fd;         ///< its own folder
	int lock_fd;
	int messages_fd;        ///< messages.pb
	int reserve_fd;         ///< -1: used up
	uint64_t reserve_bytes; ///< size of the reserve now
	uint64_t reserve_least; ///< what closing needs of it; the rest may be lent to checkpoints
};

/// Makes the folder under its id. The store has seen to the id and to retention.
/// @return -EEXIST, -ENOSPC, …
int report_files_create(int reports_fd, int64_t id, const void *scenario, size_t scenario_size, uint64_t reserve_bytes,
			struct report_files **ret);
/// Lets the lock go and closes everything; the folder stays.
struct report_files *report_files_free(struct report_files *files);

/// Replaces checkpoint.pb, whole or not at all. On a full disk it lives on the room of the one before and on its share
/// of the reserve.
int report_files_checkpoint(struct report_files *files, const void *data, size_t size);
/// First step of closing: frees the reserve but for `overview_bytes`, and what checkpoints were written to.
void report_files_free_reserve(struct report_files *files, size_t overview_bytes);
/// Last step: puts overview.pb in place. Afterwards the report is finished.
int report_files_overview(struct report_files *files, const void *data, size_t size);
/// What only a running session needs goes, the lock last. Without an overview (`whole` false) the checkpoint stays, and
/// the report counts as interrupted.
void report_files_finish(struct report_files *files, bool whole);

/// `messages.NNNN.pb`. @return whether `name` is one
bool report_segment_number(const char *name, uint32_t *ret);
/// Whether a file of this name in a report's folder is ours to remove.
bool report_file_known(const char *name);

/// Removes a report's folder: renamed first, so that a kill leaves no half of it under its name. Files that are not
/// ours are not removed: the folder then stays as <id>.kept. @return 0 or a negative errno: it is still there, or its
/// trash is
int report_folder_remove(int reports_fd, int64_t id);
/// The second half: of a folder already renamed.
int report_folder_empty(int reports_fd, const char *trash);

#endif
