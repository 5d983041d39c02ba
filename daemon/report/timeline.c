// SPDX-License-Identifier: GPL-3.0-or-later
/// First the files are found, then, where only the last N are wanted, all that fits is counted; then messages are
/// copied out as they are. A second look at a file that grew meanwhile changes nothing: what comes first is as it was.
#include "config.h"

#include "daemon/report/timeline.h"

#include "daemon/report/disk.h"
#include "daemon/report/files.h"
#include "daemon/report/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/// messages.NNNN.pb, or messages.pb as number 0.
struct timeline_file {
	uint32_t number;
	ino_t inode;
	int64_t matches; ///< occurrences that fit the filter; -1: not counted
};

struct timeline {
	int folder_fd;
	bool running;
	struct report_filter filter;
	int64_t *event_ids;          ///< sorted
	int newest_fd;               ///< messages.pb, -1: none
	struct timeline_file *files; ///< in the order of reading
	size_t n_files, room_files;

	size_t next; ///< file to be opened next
	int fd;      ///< the open file, -1: none
	struct wire wire;
	uint64_t at; ///< the next message
	uint64_t copy_at, copy_end;
	int64_t skip, left; ///< occurrences that fit: to be left out first, then to be given
	uint8_t window[WIRE_WINDOW_BYTES];
};

// --- which files -----------------------------------------------------------------------------------------------------

static int add_file(struct timeline *timeline, uint32_t number, ino_t inode)
{
	if (timeline->n_files == timeline->room_files) {
		size_t room = timeline->room_files ? 2 * timeline->room_files : 16;
		struct timeline_file *files = reallocarray(timeline->files, room, sizeof(*files));

		if (!files)
			return -ENOMEM;
		timeline->files = files;
		timeline->room_files = room;
	}
	timeline->files[timeline->n_files++] = (struct timeline_file){number, inode, -1};
	return 0;
}

static int add_segment(void *context, int fd, const char *name)
{
	struct stat info;
	uint32_t number;

	if (!report_segment_number(name, &number) || fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(info.st_mode))
		return 0;
	return add_file(context, number, info.st_ino);
}

static int compare_files(const void *left, const void *right)
{
	uint32_t a = ((const struct timeline_file *)left)->number, b = ((const struct timeline_file *)right)->number;

	return (a > b) - (a < b);
}

/// messages.pb is opened before the others are listed. If it was cut in between it is also one of those, and what comes
/// after it is newer than this stream.
static int list_files(struct timeline *timeline)
{
	struct stat info = {0};
	int r;

	timeline->newest_fd = disk_open_file(timeline->folder_fd, FILE_MESSAGES);
	if (timeline->newest_fd >= 0 && fstat(timeline->newest_fd, &info) < 0)
		return -errno;
	r = disk_each(timeline->folder_fd, add_segment, timeline);
	if (r < 0)
		return r;
	if (timeline->n_files > 0)
		qsort(timeline->files, timeline->n_files, sizeof(*timeline->files), compare_files);
	for (size_t i = 0; timeline->newest_fd >= 0 && i < timeline->n_files; i++) {
		if (timeline->files[i].inode == info.st_ino)
			timeline->n_files = i;
	}
	return timeline->newest_fd < 0 ? 0 : add_file(timeline, 0, info.st_ino);
}

static int open_number(const struct timeline *timeline, uint32_t number)
{
	char name[32];

	if (number == 0) {
		int fd = fcntl(timeline->newest_fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	snprintf(name, sizeof(name), FILE_SEGMENT_FORMAT, number);
	return disk_open_file(timeline->folder_fd, name);
}

static void close_file(struct timeline *timeline)
{
	if (timeline->fd >= 0)
		close(take_fd(&timeline->fd));
}

/// Returns 0, or -ENOENT and the like.
static int open_file(struct timeline *timeline, size_t index)
{
	struct stat info;

	close_file(timeline);
	timeline->fd = open_number(timeline, timeline->files[index].number);
	if (timeline->fd < 0)
		return timeline->fd;
	if (fstat(timeline->fd, &info) < 0)
		return -errno;
	wire_file(&timeline->wire, timeline->fd, (uint64_t)info.st_size, timeline->window);
	timeline->at = 0;
	return 0;
}

// --- which messages --------------------------------------------------------------------------------------------------

/// The next whole message of the open file that can be read. Returns 1, 0: there is none, negative errno.
static int next_in_file(struct timeline *timeline, uint64_t *ret_start, uint64_t *ret_body,
			struct message_summary *ret_summary)
{
	uint64_t end;

	for (;;) {
		*ret_start = timeline->at;
		if (wire_delimited(&timeline->wire, timeline->at, ret_body, &end) <= 0)
			return timeline->wire.error;
		timeline->at = end;
		if (*ret_body < end && message_summarize(&timeline->wire, *ret_body, end, ret_summary) == 0)
			return 1;
		if (timeline->wire.error < 0)
			return timeline->wire.error;
	}
}

static int compare_ids(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static bool fits(const struct timeline *timeline, const struct message_summary *summary)
{
	const struct report_filter *filter = &timeline->filter;

	if (summary->kind == MESSAGE_AGGREGATES || summary->at_ns < filter->since_ns ||
	    (filter->until_ns != INT64_MAX && summary->at_ns >= filter->until_ns))
		return false;
	if (filter->n_event_ids == 0)
		return true;
	return summary->kind == MESSAGE_OCCURRENCE &&
	       bsearch(&summary->event_id, timeline->event_ids, filter->n_event_ids, sizeof(*timeline->event_ids),
		       compare_ids);
}

/// Whether a message that fits is within first and last.
static bool is_wanted(struct timeline *timeline, const struct message_summary *summary)
{
	if (summary->kind != MESSAGE_OCCURRENCE)
		return timeline->skip == 0;
	if (timeline->skip > 0) {
		timeline->skip--;
		return false;
	}
	timeline->left--;
	return true;
}

static int count_file(struct timeline *timeline, struct timeline_file *file)
{
	struct message_summary summary;
	uint64_t start, body;
	int r;

	file->matches = 0;
	while ((r = next_in_file(timeline, &start, &body, &summary)) > 0)
		file->matches += summary.kind == MESSAGE_OCCURRENCE && fits(timeline, &summary);
	return r;
}

/// A file of a running session may have been dropped for the size cap; of any other the report is gone.
static int missing(const struct timeline *timeline, int r)
{
	return r == -ENOENT && timeline->running ? 0 : r;
}

/// Which ones are the last can only be known by counting all.
static int count_all(struct timeline *timeline, int64_t *ret)
{
	int64_t total = 0;

	for (size_t i = 0; i < timeline->n_files; i++) {
		int r = open_file(timeline, i);

		r = r < 0 ? missing(timeline, r) : count_file(timeline, &timeline->files[i]);
		if (r < 0)
			return r;
		total += MAX(timeline->files[i].matches, 0);
	}
	close_file(timeline);
	*ret = total;
	return 0;
}

static int find_range(struct timeline *timeline)
{
	int64_t total;

	timeline->left = timeline->filter.first > 0 ? timeline->filter.first : INT64_MAX;
	if (timeline->filter.last <= 0)
		return 0;
	int r = count_all(timeline, &total);
	if (r < 0)
		return r;
	total = MIN(total, timeline->left);
	timeline->left = MIN(total, timeline->filter.last);
	timeline->skip = total - timeline->left;
	return 0;
}

// --- the stream ------------------------------------------------------------------------------------------------------

/// Files in which everything is left out are not opened again.
static int open_next(struct timeline *timeline)
{
	while (timeline->next < timeline->n_files) {
		size_t index = timeline->next++;
		int64_t matches = timeline->files[index].matches;

		if (matches >= 0 && timeline->skip > 0 && matches <= timeline->skip) {
			timeline->skip -= matches;
			continue;
		}
		int r = open_file(timeline, index);
		if (r == 0)
			return 1;
		timeline->skip -= MIN(timeline->skip, MAX(matches, 0));
		r = missing(timeline, r);
		if (r < 0)
			return r;
	}
	return 0;
}

/// Finds the next message to give out. Returns 1, 0: the end, negative errno.
static int next_message(struct timeline *timeline)
{
	struct message_summary summary;
	uint64_t start, body;
	int r;

	while (timeline->left > 0) {
		if (timeline->fd < 0) {
			r = open_next(timeline);
			if (r <= 0)
				return r;
		}
		r = next_in_file(timeline, &start, &body, &summary);
		if (r < 0)
			return r;
		if (r == 0) {
			close_file(timeline);
		} else if (fits(timeline, &summary) && is_wanted(timeline, &summary)) {
			timeline->copy_at = start;
			timeline->copy_end = timeline->at;
			return 1;
		}
	}
	return 0;
}

ssize_t timeline_read(struct timeline *timeline, uint8_t *out, size_t size)
{
	size_t done = 0;

	while (done < size) {
		if (timeline->copy_at == timeline->copy_end) {
			int r = next_message(timeline);

			if (r < 0 && done == 0)
				return r;
			if (r <= 0)
				break;
		}
		size_t n = (size_t)MIN((uint64_t)(size - done), timeline->copy_end - timeline->copy_at);
		int r = wire_copy(&timeline->wire, timeline->copy_at, out + done, n);
		if (r < 0)
			return r;
		timeline->copy_at += n;
		done += n;
	}
	return (ssize_t)done;
}

static int find_in_file(struct timeline *timeline, uint64_t *ret_begin, uint64_t *ret_end)
{
	struct message_summary summary;
	uint64_t start, body;
	int found = 0, r;

	while ((r = next_in_file(timeline, &start, &body, &summary)) > 0) {
		if (summary.kind == MESSAGE_AGGREGATES) {
			*ret_begin = body;
			*ret_end = timeline->at;
			found = 1;
		}
	}
	return r < 0 ? r : found;
}

int timeline_find_aggregates(struct timeline *timeline, int *ret_fd, uint64_t *ret_begin, uint64_t *ret_end)
{
	int found = 0;

	for (size_t i = timeline->n_files; i-- > 0 && found == 0;) {
		int r = open_file(timeline, i);

		found = r < 0 ? missing(timeline, r) : find_in_file(timeline, ret_begin, ret_end);
	}
	if (found > 0)
		*ret_fd = take_fd(&timeline->fd);
	close_file(timeline);
	return found;
}

static int copy_filter(struct timeline *timeline, const struct report_filter *filter)
{
	if (!filter) {
		timeline->filter = (struct report_filter){.since_ns = INT64_MIN, .until_ns = INT64_MAX};
		return 0;
	}
	timeline->filter = *filter;
	timeline->event_ids = calloc(filter->n_event_ids + 1, sizeof(*timeline->event_ids));
	if (!timeline->event_ids)
		return -ENOMEM;
	if (filter->n_event_ids > 0) {
		memcpy(timeline->event_ids, filter->event_ids, filter->n_event_ids * sizeof(*timeline->event_ids));
		qsort(timeline->event_ids, filter->n_event_ids, sizeof(*timeline->event_ids), compare_ids);
	}
	timeline->filter.event_ids = timeline->event_ids;
	return 0;
}

int timeline_open(int folder_fd, bool running, const struct report_filter *filter, struct timeline **ret)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	int r;

	if (!timeline)
		return -ENOMEM;
	timeline->folder_fd = folder_fd;
	timeline->running = running;
	timeline->fd = timeline->newest_fd = -1;
	r = copy_filter(timeline, filter);
	if (r == 0)
		r = list_files(timeline);
	if (r == 0)
		r = find_range(timeline);
	if (r < 0) {
		timeline_close(timeline);
		return r;
	}
	*ret = timeline;
	return 0;
}

struct timeline *timeline_close(struct timeline *timeline)
{
	if (!timeline)
		return NULL;
	close_file(timeline);
	cleanup_close(&timeline->newest_fd);
	free(timeline->files);
	free(timeline->event_ids);
	free(timeline);
	return NULL;
}
