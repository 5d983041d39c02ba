// SPDX-License-Identifier: GPL-3.0-or-later
/// The engine's end of a report: packs messages into a bounded queue that the writer thread empties. Lock-free,
/// allocates nothing after recorder_open(). Full: the message is lost and counted.
#ifndef CONDPROF_RECORDER_H
#define CONDPROF_RECORDER_H

#include "proto/errors.h"
#include "proto/report.pb-c.h"

struct writer;
struct report_files;
struct recorder;

/// Where the writer takes checkpoints from, on its own thread, while the engine runs. Packed, undelimited; malloc'ed.
/// Called from recorder_open() on (the first checkpoint is written at once), the last time while recorder_close()
/// waits. Neither may wait for the thread that calls recorder_open() or recorder_close().
struct report_source {
	/// DebugReportOverview. The writer fills in lost_occurrences, dropped_occurrences and dropped_segments itself.
	int (*overview)(void *context, uint8_t **ret, size_t *ret_size);
	/// DebugReportMessage with 5 and 50. -ENODATA: there is none, and none is missing.
	int (*aggregates)(void *context, uint8_t **ret, size_t *ret_size);
	void *context;
};

/// The first message pushed is a counters_init; what later segments begin with, the writer follows from the messages.
/// @param files handed over on success
/// @param source copied
/// @param queue_bytes capacity of the queue; RECORDER_QUEUE_BYTES in the product. A message may have half of it
int recorder_open(struct writer *writer, struct report_files *files, const struct report_source *source,
		  size_t queue_bytes, struct recorder **ret, struct error *error);
#define RECORDER_QUEUE_BYTES (4U * 1024U * 1024U)

/// Queues a message. One thread at a time. @return 0, or -ENOBUFS: lost (an occurrence is already counted)
int recorder_push(struct recorder *recorder, const Condprof__DebugReportMessage *message);
/// Waits until `message` would fit or wake_fd (-1: none) is readable: only for replays (report wait). @return 0 or
/// -EINTR; at once, without a system call, when it fits, or never will.
int recorder_wait_room(struct recorder *recorder, const Condprof__DebugReportMessage *message, int wake_fd);
/// Occurrences lost in the queue or for want of disk. Any thread.
int64_t recorder_lost(const struct recorder *recorder);
/// Occurrences and segments given up for the size cap. Any thread.
int64_t recorder_dropped_occurrences(const struct recorder *recorder);
int64_t recorder_dropped_segments(const struct recorder *recorder);

/// Ends the report and frees the recorder: the aggregates are written first, then what is queued, then the overview (by
/// source), atomically, and the lock is let go. Waits for the writer. @return 0 or what went wrong; the report is then
/// as whole as can be
int recorder_close(struct recorder *recorder, struct error *error);

/// Gives up a report whose session never wrote to it: its folder goes, and the recorder. Waits for the writer.
struct recorder *recorder_discard(struct recorder *recorder);

/// What a report is without.
struct recorder_losses {
	int64_t occurrences; ///< as recorder_lost()
	int64_t dropped_occurrences, dropped_segments;
};
/// recorder_close(), and the losses up to the very end; *ret_losses is filled in any case.
int recorder_close_counted(struct recorder *recorder, struct recorder_losses *ret_losses, struct error *error);

#endif
