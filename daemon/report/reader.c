// SPDX-License-Identifier: GPL-3.0-or-later
/// Gives out the parts of a report one after the other. A part is a range of a file, or memory; the messages are a
/// timeline.
#include "config.h"

#include "daemon/report/disk.h"
#include "daemon/report/files.h"
#include "daemon/report/store-internal.h"
#include "daemon/report/timeline.h"

#include "proto/io.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/// Largest aggregates of a checkpoint that is copied, because a running session may write over it.
#define AGGREGATES_MAX_BYTES (64U * 1024U * 1024U)

/// Owned memory, or [at, end) of an open file; absent: neither.
struct part {
	uint8_t *memory;
	int fd;
	uint64_t at, end;
};

struct report_reader {
	int64_t id;
	int fd; ///< its folder
	bool with_messages;
	struct part parts[CONDPROF__REPORT_PART__PART_MESSAGES];
	struct timeline *timeline;
	Condprof__ReportPart part; ///< being given out
};

static void part_clear(struct part *part)
{
	free(part->memory);
	cleanup_close(&part->fd);
	*part = (struct part){.fd = -1};
}

static int read_error(const struct report_reader *reader, struct error *error, int r)
{
	if (r == -ENOENT)
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT,
				 "the report of session %" PRId64 " was removed while it was read", reader->id);
	return error_set(error, CONDPROF__CODE__IO, -r, "the report of session %" PRId64 " cannot be read: %s",
			 reader->id, strerror(-r));
}

// --- opening ---------------------------------------------------------------------------------------------------------

static int open_scenario(struct report_reader *reader)
{
	struct part *part = &reader->parts[CONDPROF__REPORT_PART__PART_SCENARIO];
	struct stat info;

	part->fd = disk_open_file(reader->fd, FILE_SCENARIO);
	if (part->fd < 0)
		return 0;
	if (fstat(part->fd, &info) < 0)
		return -errno;
	part->end = (uint64_t)info.st_size;
	return 0;
}

/// The second message of the checkpoint.
static int open_checkpoint(struct report_reader *reader, uint8_t *window, struct part *part)
{
	CLEANUP_CLOSE int fd = disk_open_file(reader->fd, FILE_CHECKPOINT);
	struct message_summary summary;
	struct stat info;
	struct wire wire;
	uint64_t begin, end;

	if (fd < 0)
		return 0;
	if (fstat(fd, &info) < 0)
		return -errno;
	wire_file(&wire, fd, (uint64_t)info.st_size, window);
	if (wire_delimited(&wire, 0, &begin, &end) <= 0 || wire_delimited(&wire, end, &begin, &end) <= 0 ||
	    message_summarize(&wire, begin, end, &summary) < 0 || summary.kind != MESSAGE_AGGREGATES)
		return wire.error;
	part->fd = take_fd(&fd);
	part->at = begin;
	part->end = end;
	return 0;
}

/// A running session writes over the checkpoint before the last one.
static int part_to_memory(struct part *part)
{
	uint64_t size = part->end - part->at;

	if (part->fd < 0)
		return 0;
	if (size > AGGREGATES_MAX_BYTES)
		return -EFBIG;
	part->memory = malloc((size_t)size + 1);
	if (!part->memory)
		return -ENOMEM;
	ssize_t n = io_read_at(part->fd, part->memory, (size_t)size, part->at);
	close(take_fd(&part->fd));
	if (n < 0)
		return (int)n;
	part->at = 0;
	part->end = (uint64_t)n;
	return 0;
}

static int open_aggregates(struct report_reader *reader, uint8_t *window, bool running)
{
	struct part *part = &reader->parts[CONDPROF__REPORT_PART__PART_AGGREGATES];
	struct timeline *timeline = NULL;
	int r = 0;

	if (!running) {
		r = timeline_open(reader->fd, false, NULL, &timeline);
		if (r == 0)
			r = timeline_find_aggregates(timeline, &part->fd, &part->at, &part->end);
		timeline_close(timeline);
	}
	if (r != 0)
		return MIN(r, 0);
	r = open_checkpoint(reader, window, part);
	return r < 0 || !running ? r : part_to_memory(part);
}

static int open_parts(struct report_reader *reader, struct store *store, const struct report_filter *filter)
{
	struct report_state state;
	size_t size;
	int r = report_state_read(reader->fd, store->window, &state);

	if (r < 0)
		return r;
	struct part *overview = &reader->parts[CONDPROF__REPORT_PART__PART_OVERVIEW];
	overview->memory = TAKE_POINTER(state.bytes);
	overview->end = state.size;
	bool running = state.running, damaged = state.damaged;
	report_state_free(&state);
	if (!overview->memory && !running) {
		r = report_interrupted_overview(reader->fd, reader->id, damaged, store->window, &overview->memory,
						&size);
		if (r < 0)
			return r;
		overview->end = size;
	}
	r = open_scenario(reader);
	if (r == 0)
		r = open_aggregates(reader, store->window, running);
	if (r == 0 && reader->with_messages)
		r = timeline_open(reader->fd, running, filter, &reader->timeline);
	return r;
}

int report_reader_open(struct store *store, int64_t id, bool messages, const struct report_filter *filter,
		       struct report_reader **ret, struct error *error)
{
	struct report_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory to read a report");
	for (size_t i = 0; i < ARRAY_SIZE(reader->parts); i++)
		reader->parts[i].fd = -1;
	reader->id = id;
	reader->with_messages = messages;
	reader->fd = store_open_report(store, id);
	if (reader->fd == -ENOENT || reader->fd == -ENOTDIR || reader->fd == -ELOOP) {
		report_reader_close(reader);
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT, "there is no session %" PRId64, id);
	}
	r = reader->fd < 0 ? reader->fd : open_parts(reader, store, filter);
	if (r < 0) {
		r = read_error(reader, error, r);
		report_reader_close(reader);
		return r;
	}
	*ret = reader;
	return 0;
}

struct report_reader *report_reader_close(struct report_reader *reader)
{
	if (!reader)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(reader->parts); i++)
		part_clear(&reader->parts[i]);
	timeline_close(reader->timeline);
	cleanup_close(&reader->fd);
	free(reader);
	return NULL;
}

static int use_copy(struct part *part, const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	part_clear(part);
	part->memory = copy;
	part->at = 0;
	part->end = size;
	return 0;
}

int report_reader_use_snapshot(struct report_reader *reader, const uint8_t *overview, size_t overview_size,
			       const uint8_t *aggregates, size_t aggregates_size)
{
	int r = 0;

	if (overview)
		r = use_copy(&reader->parts[CONDPROF__REPORT_PART__PART_OVERVIEW], overview, overview_size);
	if (r == 0 && aggregates)
		r = use_copy(&reader->parts[CONDPROF__REPORT_PART__PART_AGGREGATES], aggregates, aggregates_size);
	return r;
}

// --- giving out ------------------------------------------------------------------------------------------------------

static ssize_t part_read(struct part *part, uint8_t *out, size_t size)
{
	size_t n = (size_t)MIN((uint64_t)size, part->end - part->at);

	if (n == 0)
		return 0;
	if (part->memory) {
		memcpy(out, part->memory + part->at, n);
	} else {
		ssize_t done = io_read_at(part->fd, out, n, part->at);
		if (done <= 0)
			return done;
		n = (size_t)done;
	}
	part->at += n;
	return (ssize_t)n;
}

ssize_t report_reader_next(struct report_reader *reader, uint8_t *out, size_t size, Condprof__ReportPart *ret_part,
			   struct error *error)
{
	ssize_t n = 0;

	for (; reader->part < CONDPROF__REPORT_PART__PART_MESSAGES; reader->part++) {
		n = part_read(&reader->parts[reader->part], out, size);
		if (n != 0)
			break;
		part_clear(&reader->parts[reader->part]);
	}
	if (n == 0 && reader->timeline)
		n = timeline_read(reader->timeline, out, size);
	if (n < 0)
		return read_error(reader, error, (int)n);
	*ret_part = reader->part;
	return n;
}
