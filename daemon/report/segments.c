// SPDX-License-Identifier: GPL-3.0-or-later
/// Messages are gathered to batches, one write each; a batch ends where a segment is full. Always holds: open.bytes is
/// the end of the last whole message in messages.pb, and the next write begins there, after the tail of a failed one
/// (`torn`) was cut off. Counters are followed whether or not a message could be written, so their values are right
/// after a loss too.
#include "config.h"

#include "daemon/report/disk.h"
#include "daemon/report/segments.h"

#include "proto/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define CUT_RETRY_BYTES (256U * 1024U)

void segments_init(struct segments *segments, struct report_files *files, const struct writer_limits *limits)
{
	*segments = (struct segments){
		.files = files, .limits = *limits, .cut_at = limits->segment_bytes, .keep_number = UINT32_MAX};
}

void segments_free(struct segments *segments)
{
	counters_free(&segments->counters);
	free(segments->closed);
	*segments = (struct segments){0};
}

// --- writing ---------------------------------------------------------------------------------------------------------

/// A tail that a failed write left is cut off before anything is put behind it.
static int mend(struct segments *segments)
{
	if (segments->torn && ftruncate(segments->files->messages_fd, (off_t)segments->open.bytes) < 0)
		return -errno;
	segments->torn = false;
	return 0;
}

/// Writes as far as it goes. *ret_written tells how far, also on failure.
static int write_far(int fd, const uint8_t *data, size_t size, uint64_t offset, size_t *ret_written)
{
	size_t done = 0;

	*ret_written = 0;
	while (done < size) {
		ssize_t n = pwrite(fd, data + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
		*ret_written = done;
	}
	return 0;
}

/// Bytes of the whole messages in the first `size` bytes, and the occurrences in them.
static size_t whole_messages(const uint8_t *data, size_t size, int64_t *ret_occurrences)
{
	uint64_t at = 0, begin, end;
	struct message_summary summary;
	struct wire wire;

	*ret_occurrences = 0;
	wire_memory(&wire, data, size);
	while (wire_delimited(&wire, at, &begin, &end) > 0) {
		if (message_summarize(&wire, begin, end, &summary) == 0 && summary.kind == MESSAGE_OCCURRENCE)
			++*ret_occurrences;
		at = end;
	}
	return (size_t)at;
}

/// Writes a batch of whole messages; of a write that fails in the middle the whole ones stay. Returns occurrences kept.
static int64_t write_batch(struct segments *segments, const uint8_t *data, size_t size, int64_t occurrences)
{
	size_t written = 0;
	int r = mend(segments);

	if (r == 0)
		r = write_far(segments->files->messages_fd, data, size, segments->open.bytes, &written);
	if (r < 0) {
		size_t whole = whole_messages(data, written, &occurrences);

		segments->torn = segments->torn || written > whole;
		written = whole;
	}
	segments->error = r;
	segments->open.bytes += written;
	segments->open.occurrences += occurrences;
	if (r < 0)
		mend(segments);
	return occurrences;
}

/// After a loss a reader cannot know the counters: their values come first, as they are before the next batch. Until
/// that succeeds batches are lost too.
static void write_resync(struct segments *segments)
{
	CLEANUP_FREE uint8_t *data = NULL;
	size_t size;
	int r = 0;

	if (!segments->resync)
		return;
	if (segments->counters.count > 0)
		r = counters_pack(&segments->counters, &data, &size);
	if (r < 0)
		segments->error = r;
	else if (data)
		write_batch(segments, data, size, 0);
	segments->resync = r < 0 || (data && segments->error < 0);
}

static void flush(struct segments *segments, const uint8_t *data, size_t size, int64_t occurrences)
{
	int64_t kept = 0;

	if (size == 0)
		return;
	if (!segments->resync)
		kept = write_batch(segments, data, size, occurrences);
	if (segments->error < 0) {
		segments->lost += occurrences - kept;
		segments->resync = true;
	}
}

// --- cutting ---------------------------------------------------------------------------------------------------------

static int remember_closed(struct segments *segments)
{
	if (segments->n_closed == segments->room_closed) {
		size_t room = segments->room_closed ? 2 * segments->room_closed : 16;
		struct segment *closed = reallocarray(segments->closed, room, sizeof(*closed));

		if (!closed)
			return -ENOMEM;
		segments->closed = closed;
		segments->room_closed = room;
	}
	return 0;
}

static void drop_oldest(struct segments *segments)
{
	char name[32];
	struct segment oldest = segments->closed[0];

	snprintf(name, sizeof(name), FILE_SEGMENT_FORMAT, oldest.number);
	unlinkat(segments->files->fd, name, 0);
	segments->n_closed--;
	memmove(segments->closed, segments->closed + 1, segments->n_closed * sizeof(*segments->closed));
	segments->closed_bytes -= oldest.bytes;
	segments->dropped_occurrences += oldest.occurrences;
	segments->dropped_segments++;
}

static void hold_cap(struct segments *segments)
{
	while (segments->n_closed > 0 &&
	       segments->closed_bytes + segments->open.bytes > segments->limits.messages_bytes)
		drop_oldest(segments);
}

/// The next messages.pb under its temporary name, with the counters' values.
static int make_next(struct segments *segments, uint64_t *ret_bytes)
{
	CLEANUP_CLOSE int fd = -1;
	CLEANUP_FREE uint8_t *data = NULL;
	size_t size;
	int r = counters_pack(&segments->counters, &data, &size);

	if (r < 0)
		return r;
	fd = disk_create_file(segments->files->fd, FILE_MESSAGES_NEW, O_TRUNC);
	if (fd < 0)
		return fd;
	r = io_write_at(fd, data, size, 0);
	if (r < 0) {
		unlinkat(segments->files->fd, FILE_MESSAGES_NEW, 0);
		return r;
	}
	*ret_bytes = size;
	return take_fd(&fd);
}

/// A kill between the two renames leaves no messages.pb: readers know that.
static int rename_segments(int fd, uint32_t number)
{
	char name[32];

	snprintf(name, sizeof(name), FILE_SEGMENT_FORMAT, number);
	if (renameat(fd, FILE_MESSAGES, fd, name) < 0)
		return -errno;
	if (renameat(fd, FILE_MESSAGES_NEW, fd, FILE_MESSAGES) < 0) {
		int r = -errno;
		renameat(fd, name, fd, FILE_MESSAGES);
		return r;
	}
	return 0;
}

static int start_next(struct segments *segments)
{
	uint64_t bytes = 0;
	int fd = mend(segments);

	if (fd == 0)
		fd = remember_closed(segments);
	if (fd == 0)
		fd = make_next(segments, &bytes);
	if (fd < 0)
		return fd;
	int r = rename_segments(segments->files->fd, segments->open.number + 1);
	if (r < 0) {
		close(fd);
		return r;
	}
	fdatasync(segments->files->messages_fd);
	close(segments->files->messages_fd);
	segments->files->messages_fd = fd;
	segments->open.number++;
	segments->closed[segments->n_closed++] = segments->open;
	segments->closed_bytes += segments->open.bytes;
	segments->open.bytes = bytes;
	segments->open.occurrences = 0;
	return 0;
}

/// On failure messages.pb grows on for a while.
static void cut(struct segments *segments)
{
	if (start_next(segments) < 0) {
		segments->cut_at = segments->open.bytes + CUT_RETRY_BYTES;
		return;
	}
	segments->cut_at = segments->limits.segment_bytes;
	segments->resync = false;
	hold_cap(segments);
}

static bool full(const struct segments *segments, size_t more)
{
	return segments->open.occurrences > 0 && segments->open.bytes + more > segments->cut_at;
}

static void begin_batch(struct segments *segments, size_t first)
{
	if (full(segments, first))
		cut(segments);
	write_resync(segments);
}

size_t segments_append(struct segments *segments, const uint8_t *data, size_t size, size_t least)
{
	uint64_t from = 0, at = 0, begin, end;
	struct message_summary summary;
	int64_t occurrences = 0;
	struct wire wire;

	wire_memory(&wire, data, size);
	while (at < least && wire_delimited(&wire, at, &begin, &end) > 0) {
		if (occurrences > 0 && segments->open.bytes + (end - from) > segments->cut_at) {
			flush(segments, data + from, (size_t)(at - from), occurrences);
			from = at;
			occurrences = 0;
		}
		if (from == at)
			begin_batch(segments, (size_t)(end - at));
		if (message_summarize(&wire, begin, end, &summary) == 0) {
			counters_follow(&segments->counters, &wire, &summary);
			occurrences += summary.kind == MESSAGE_OCCURRENCE;
		}
		at = end;
	}
	flush(segments, data + from, (size_t)(at - from), occurrences);
	hold_cap(segments);
	return (size_t)at;
}

int segments_append_one(struct segments *segments, const uint8_t *data, size_t size)
{
	write_batch(segments, data, size, 0);
	return segments->error;
}

void segments_closing(struct segments *segments, size_t size)
{
	if (full(segments, size))
		cut(segments);
	segments->keep_number = segments->open.number + 1;
}

int segments_sync(struct segments *segments)
{
	return fdatasync(segments->files->messages_fd) < 0 ? -errno : 0;
}
