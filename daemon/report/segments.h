// SPDX-License-Identifier: GPL-3.0-or-later
/// The messages of a running session on disk: messages.pb grows to a segment's size, then becomes messages.NNNN.pb;
/// beyond the cap the oldest segment is dropped and its occurrences are counted. What a full disk refuses is lost and
/// counted; messages.pb always ends with a whole message, or is cut back to one before anything else is written.
#ifndef CONDPROF_SEGMENTS_H
#define CONDPROF_SEGMENTS_H

#include "daemon/report/counters.h"
#include "daemon/report/files.h"
#include "daemon/report/writer.h"

struct segment {
	uint32_t number;
	uint64_t bytes;
	int64_t occurrences;
};

struct segments {
	struct report_files *files; ///< borrowed
	struct writer_limits limits;
	struct counters counters;
	struct segment open;    ///< messages.pb
	struct segment *closed; ///< the oldest first
	size_t n_closed, room_closed;
	uint64_t closed_bytes;
	uint64_t cut_at;      ///< size of messages.pb that calls for the next one
	uint32_t keep_number; ///< segments from here on are not dropped: the aggregates are in the first of them
	bool torn;            ///< the file is longer than open.bytes
	bool resync;          ///< occurrences were lost: the counters' values come before the next message
	int error;            ///< of the last write, 0: it went well
	int64_t lost;         ///< occurrences that the disk refused
	int64_t dropped_occurrences, dropped_segments;
};

void segments_init(struct segments *segments, struct report_files *files, const struct writer_limits *limits);
void segments_free(struct segments *segments);

/// Appends whole delimited messages from the front of `data`, at least `least` bytes of them where there are so many.
/// @return bytes dealt with: written, or lost and counted (segments->error says why)
size_t segments_append(struct segments *segments, const uint8_t *data, size_t size, size_t least);
/// Appends one message that must not be lost. @return 0 or a negative errno: nothing of it is in the file
int segments_append_one(struct segments *segments, const uint8_t *data, size_t size);
/// Before the aggregates of `size` bytes are appended: from the segment that they come into, none is dropped.
void segments_closing(struct segments *segments, size_t size);
int segments_sync(struct segments *segments);

#endif
