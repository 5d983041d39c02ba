// SPDX-License-Identifier: GPL-3.0-or-later
//
// A report's folder, read without a daemon: so that a report somebody sent is enough. It may be finished, running,
// interrupted, torn, old or hostile: only regular files are read, nothing is believed, memory stays bounded.
#include "config.h"

#include "client/report/fields.h"
#include "client/report/frames.h"
#include "client/report/occurrence.h"
#include "client/report/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE_BYTES (64U * 1024U)
#define SEGMENTS_MAX 10000U

// What the daemon calls them.
#define FILE_SCENARIO "scenario.pb"
#define FILE_OVERVIEW "overview.pb"
#define FILE_CHECKPOINT "checkpoint.pb"
#define FILE_MESSAGES "messages.pb"
#define FILE_LOCK "lock"

/// messages.NNNN.pb, or messages.pb: the last.
struct message_file {
	uint32_t number;
	char name[32];
};

/// Messages of one file after the other.
struct message_files {
	int folder_fd;
	struct message_file *files;
	size_t n, next;
	int fd;
	struct frames frames;
	uint8_t piece[PIECE_BYTES];
};

struct folder_source {
	struct report_source base;
	int fd;
	struct report_query query;
	int64_t *event_ids;
	Condprof__ReportPart part;
	bool part_begun;
	uint8_t *bytes; ///< the part that is given out at once: overview, aggregates
	size_t n_bytes;
	int scenario_fd;
	struct message_files files;
	int64_t skip; ///< occurrences that fit, but are not among the last
};

/// A regular file, or a negative errno: a FIFO or device would hold us up.
static int open_file(int folder_fd, const char *name)
{
	int fd = openat(folder_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat info;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

static ssize_t read_piece(int fd, uint8_t *out)
{
	ssize_t n;

	do
		n = read(fd, out, PIECE_BYTES);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

// --- messages --------------------------------------------------------------------------------------------------------

static int compare_files(const void *a, const void *b)
{
	const struct message_file *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

static void add_segments(struct message_files *files, DIR *folder)
{
	const struct dirent *entry;
	uint32_t number;

	while ((entry = readdir(folder)) && files->n < SEGMENTS_MAX) {
		struct message_file *file = &files->files[files->n];
		int length = 0;

		if (sscanf(entry->d_name, "messages.%9" SCNu32 ".pb%n", &number, &length) != 1 || length < 16 ||
		    entry->d_name[length])
			continue;
		file->number = number;
		memcpy(file->name, entry->d_name, (size_t)length + 1);
		files->n++;
	}
}

/// messages.0001.pb, … in order, then messages.pb.
static int list_files(struct message_files *files)
{
	int fd = openat(files->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder) {
		int r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	files->files = calloc(SEGMENTS_MAX + 1, sizeof(*files->files));
	if (files->files)
		add_segments(files, folder);
	closedir(folder);
	if (!files->files)
		return -ENOMEM;
	qsort(files->files, files->n, sizeof(*files->files), compare_files);
	strcpy(files->files[files->n++].name, FILE_MESSAGES);
	return 0;
}

static void files_rewind(struct message_files *files)
{
	if (files->fd >= 0)
		close(take_fd(&files->fd));
	files->next = 0;
	frames_clear(&files->frames);
}

/// The next whole message. A file that is torn or none any more ends there, and the next one follows.
/// @return 1, 0: the end, negative errno
static int files_next(struct message_files *files, const uint8_t **ret_frame, size_t *ret_frame_size,
		      const uint8_t **ret_body, size_t *ret_body_size)
{
	for (;;) {
		int r = files->fd < 0 ? -EBADMSG
				      : frames_next(&files->frames, ret_frame, ret_frame_size, ret_body, ret_body_size);
		if (r > 0)
			return r;
		ssize_t n = r < 0 ? 0 : read_piece(files->fd, files->piece);
		if (n < 0)
			return (int)n;
		if (n > 0) {
			r = frames_add(&files->frames, files->piece, (size_t)n);
			if (r < 0)
				return r;
			continue;
		}
		if (files->fd >= 0)
			close(take_fd(&files->fd));
		frames_clear(&files->frames);
		if (files->next == files->n)
			return 0;
		files->fd = open_file(files->folder_fd, files->files[files->next++].name);
	}
}

/// When nothing is left out all fit, also those that are no occurrences: they are told apart by whoever reads them.
static bool message_fits(const uint8_t *body, size_t size, const struct report_query *query)
{
	if (query->since_ns == INT64_MIN && query->until_ns == INT64_MAX && query->n_event_ids == 0 && query->last == 0)
		return true;
	return message_bytes_fit(body, size, query);
}

/// What comes before the first occurrence of all is given with it.
static bool beginning_is_wanted(const struct folder_source *source, const uint8_t *body, size_t size)
{
	return source->skip == 0 && beginning_bytes_fit(body, size, &source->query);
}

/// How many of those that fit come before the last ones.
static int count_skipped(struct folder_source *source)
{
	const uint8_t *frame, *body;
	size_t frame_size, body_size;
	int64_t count = 0;
	int r;

	if (source->query.last <= 0)
		return 0;
	while ((r = files_next(&source->files, &frame, &frame_size, &body, &body_size)) > 0)
		count += message_fits(body, body_size, &source->query);
	files_rewind(&source->files);
	source->skip = MAX(count - source->query.last, 0);
	return r;
}

static int next_occurrence(struct folder_source *source, const uint8_t **ret_data, size_t *ret_size)
{
	const uint8_t *body;
	size_t body_size;
	int r;

	while ((r = files_next(&source->files, ret_data, ret_size, &body, &body_size)) > 0) {
		if (!message_fits(body, body_size, &source->query)) {
			if (beginning_is_wanted(source, body, body_size))
				break;
			continue;
		}
		if (source->skip == 0)
			break;
		source->skip--;
	}
	return r;
}

// --- overview and aggregates -----------------------------------------------------------------------------------------

/// Of a file of delimited messages the one number `index`, copied. @return 0, -ENOENT and the like, -EBADMSG
static int read_message(int folder_fd, const char *name, int index, uint8_t **ret, size_t *ret_size)
{
	struct frames frames CLEANUP(frames_clear) = {0};
	CLEANUP_CLOSE int fd = open_file(folder_fd, name);
	uint8_t piece[PIECE_BYTES];
	const uint8_t *frame, *body = NULL;
	size_t frame_size, body_size = 0;
	int r = 0;

	if (fd < 0)
		return fd;
	for (int found = 0; found <= index;) {
		r = frames_next(&frames, &frame, &frame_size, &body, &body_size);
		if (r > 0) {
			found++;
			continue;
		}
		ssize_t n = r < 0 ? r : read_piece(fd, piece);
		if (n <= 0)
			return n < 0 ? (int)n : -EBADMSG;
		r = frames_add(&frames, piece, (size_t)n);
		if (r < 0)
			return r;
	}
	uint8_t *copy = malloc(body_size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, body, body_size);
	*ret = copy;
	*ret_size = body_size;
	return 0;
}

static bool is_locked(int folder_fd)
{
	CLEANUP_CLOSE int fd = open_file(folder_fd, FILE_LOCK);
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/// What the daemon says of a report that it finds unfinished, too: of a field that comes twice the last counts.
static int mark_interrupted(struct folder_source *source)
{
	Condprof__DebugReportOverview mark = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT;
	uint8_t *bytes;

	mark.has_state = mark.has_reason = true;
	mark.state = CONDPROF__SESSION_STATE__INTERRUPTED;
	mark.reason = CONDPROF__END_REASON__REASON_DAEMON_DIED;
	size_t size = condprof__debug_report_overview__get_packed_size(&mark);
	bytes = realloc(source->bytes, source->n_bytes + size);
	if (!bytes)
		return -ENOMEM;
	condprof__debug_report_overview__pack(&mark, bytes + source->n_bytes);
	source->bytes = bytes;
	source->n_bytes += size;
	return 0;
}

static bool is_damage(int r)
{
	return r == -ENOENT || r == -EBADMSG || r == -EINVAL;
}

/// The overview, or a checkpoint's: then the session runs, or was interrupted.
static int take_overview(struct folder_source *source)
{
	int r = read_message(source->fd, FILE_OVERVIEW, 0, &source->bytes, &source->n_bytes);

	if (!is_damage(r))
		return r;
	bool running = is_locked(source->fd);
	// It may have been finished between the two looks.
	r = read_message(source->fd, FILE_OVERVIEW, 0, &source->bytes, &source->n_bytes);
	if (!is_damage(r))
		return r;
	r = read_message(source->fd, FILE_CHECKPOINT, 0, &source->bytes, &source->n_bytes);
	if (r < 0 && !is_damage(r))
		return r;
	return running ? 0 : mark_interrupted(source);
}

/// Whether a DebugReportMessage has field 5: without unpacking, for there may be very many that have not.
static bool has_profile(const uint8_t *data, size_t size)
{
	struct field_scan scan = {data, size};
	struct scanned_field field;

	while (fields_next(&scan, &field) > 0)
		if (field.number == 5)
			return field.bytes;
	return false;
}

/// The last closing message among the messages, else the checkpoint's.
static int take_aggregates(struct folder_source *source)
{
	const uint8_t *frame, *body;
	size_t frame_size, body_size;
	int r;

	while ((r = files_next(&source->files, &frame, &frame_size, &body, &body_size)) > 0) {
		if (!has_profile(body, body_size))
			continue;
		uint8_t *copy = realloc(source->bytes, body_size + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, body, body_size);
		source->bytes = copy;
		source->n_bytes = body_size;
	}
	files_rewind(&source->files);
	if (r < 0 || source->bytes)
		return r;
	r = read_message(source->fd, FILE_CHECKPOINT, 1, &source->bytes, &source->n_bytes);
	return is_damage(r) ? 0 : r;
}

// --- the source ------------------------------------------------------------------------------------------------------

static int begin_part(struct folder_source *source)
{
	switch (source->part) {
	case CONDPROF__REPORT_PART__PART_SCENARIO:
		source->scenario_fd = open_file(source->fd, FILE_SCENARIO);
		return 0;
	case CONDPROF__REPORT_PART__PART_OVERVIEW:
		return take_overview(source);
	case CONDPROF__REPORT_PART__PART_AGGREGATES:
		return take_aggregates(source);
	case CONDPROF__REPORT_PART__PART_MESSAGES:
		return count_skipped(source);
	default:
		return 0;
	}
}

/// The rest of the current part, a piece of it. @return 1, 0: no more of it, negative errno
static int next_of_part(struct folder_source *source, const uint8_t **ret_data, size_t *ret_size)
{
	if (source->part == CONDPROF__REPORT_PART__PART_MESSAGES)
		return next_occurrence(source, ret_data, ret_size);
	if (source->part == CONDPROF__REPORT_PART__PART_SCENARIO) {
		ssize_t n = source->scenario_fd < 0 ? 0 : read_piece(source->scenario_fd, source->files.piece);

		*ret_data = source->files.piece;
		*ret_size = (size_t)MAX(n, 0);
		return n > 0 ? 1 : (int)n;
	}
	*ret_data = source->bytes;
	*ret_size = source->n_bytes;
	source->n_bytes = 0;
	return *ret_size > 0;
}

static int folder_next(struct report_source *base, Condprof__ReportPart *ret_part, const uint8_t **ret_data,
		       size_t *ret_size, struct error *error)
{
	struct folder_source *source = (struct folder_source *)base;
	Condprof__ReportPart end =
		source->query.messages ? CONDPROF__REPORT_PART__PART_MESSAGES : CONDPROF__REPORT_PART__PART_AGGREGATES;
	int r = 0;

	while (source->part <= end) {
		if (!source->part_begun) {
			free(TAKE_POINTER(source->bytes));
			source->n_bytes = 0;
			r = begin_part(source);
			source->part_begun = true;
		}
		if (r == 0)
			r = next_of_part(source, ret_data, ret_size);
		if (r != 0)
			break;
		source->part++;
		source->part_begun = false;
	}
	if (r < 0)
		return error_set(error, CONDPROF__CODE__IO, -r, "the report can't be read: %s", strerror(-r));
	*ret_part = source->part;
	return r;
}

static struct report_source *folder_close(struct report_source *base)
{
	struct folder_source *source = (struct folder_source *)base;

	files_rewind(&source->files);
	free(source->files.files);
	free(source->event_ids);
	free(source->bytes);
	if (source->scenario_fd >= 0)
		close(source->scenario_fd);
	if (source->fd >= 0)
		close(source->fd);
	free(source);
	return NULL;
}

static bool looks_like_report(int fd)
{
	static const char *const names[] = {FILE_OVERVIEW, FILE_CHECKPOINT, FILE_SCENARIO, FILE_MESSAGES};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (faccessat(fd, names[i], F_OK, 0) == 0)
			return true;
	return false;
}

static int copy_query(struct folder_source *source, const struct report_query *query)
{
	source->query = *query;
	if (query->n_event_ids == 0)
		return 0;
	source->event_ids = calloc(query->n_event_ids, sizeof(*source->event_ids));
	if (!source->event_ids)
		return -ENOMEM;
	memcpy(source->event_ids, query->event_ids, query->n_event_ids * sizeof(*source->event_ids));
	source->query.event_ids = source->event_ids;
	return 0;
}

int report_source_folder(const char *path, const struct report_query *query, struct report_source **ret,
			 struct error *error)
{
	struct folder_source *source = calloc(1, sizeof(*source));
	struct report_source *base CLEANUP(report_source_cleanup) = source ? &source->base : NULL;
	int r;

	if (!source)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	source->base = (struct report_source){folder_next, folder_close};
	source->scenario_fd = source->files.fd = -1;
	source->fd = source->files.folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (source->fd < 0)
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, errno, "%s: %s", path, strerror(errno));
	if (!looks_like_report(source->fd))
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT,
				 "%s is no report: it has none of a report's files (overview.pb, messages.pb, …)",
				 path);
	if (query->messages)
		source->part = CONDPROF__REPORT_PART__PART_MESSAGES;
	r = copy_query(source, query);
	if (r == 0)
		r = list_files(&source->files);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__IO, -r, "%s: %s", path, strerror(-r));
	*ret = TAKE_POINTER(base);
	return 0;
}
