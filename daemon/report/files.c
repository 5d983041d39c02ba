// SPDX-License-Identifier: GPL-3.0-or-later
/// A session's folder from its making to its closing. Always holds: while it has its id it is complete, and either
/// locked or read as interrupted; closing needs neither a free block nor a new name.
#include "config.h"

#include "daemon/log/log.h"
#include "daemon/report/disk.h"
#include "daemon/report/files.h"

#include "proto/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool report_segment_number(const char *name, uint32_t *ret)
{
	static const char prefix[] = "messages.";
	uint32_t number = 0;
	size_t digits = 0;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return false;
	name += sizeof(prefix) - 1;
	for (; name[digits] >= '0' && name[digits] <= '9' && digits < 9; digits++)
		number = number * 10 + (uint32_t)(name[digits] - '0');
	if (digits < 4 || strcmp(name + digits, ".pb") != 0 || number == 0 || (digits > 4 && name[0] == '0'))
		return false;
	*ret = number;
	return true;
}

bool report_file_known(const char *name)
{
	static const char *const names[] = {
		FILE_LOCK,           FILE_SCENARIO, FILE_MESSAGES,     FILE_MESSAGES_NEW, FILE_CHECKPOINT,
		FILE_CHECKPOINT_NEW, FILE_OVERVIEW, FILE_OVERVIEW_NEW, FILE_RESERVE,
	};
	uint32_t number;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return report_segment_number(name, &number);
}

// --- removing --------------------------------------------------------------------------------------------------------

static int remove_known(void *context, int fd, const char *name)
{
	(void)context;
	if (report_file_known(name) && unlinkat(fd, name, 0) < 0 && errno != ENOENT && errno != EISDIR)
		return -errno;
	return 0;
}

static void keep_what_is_not_ours(int reports_fd, const char *trash)
{
	char kept[NAME_MAX + 1];

	snprintf(kept, sizeof(kept), "%s.kept", trash + strlen(FOLDER_TRASH_PREFIX));
	renameat2(reports_fd, trash, reports_fd, kept, RENAME_NOREPLACE);
}

int report_folder_empty(int reports_fd, const char *trash)
{
	CLEANUP_CLOSE int fd = disk_open_folder(reports_fd, trash);
	int r;

	if (fd < 0)
		return fd;
	r = disk_each(fd, remove_known, NULL);
	if (r < 0)
		return r;
	if (unlinkat(reports_fd, trash, AT_REMOVEDIR) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -errno;
	keep_what_is_not_ours(reports_fd, trash);
	return 0;
}

static int remove_named(int reports_fd, const char *name, int64_t id)
{
	char trash[64];

	snprintf(trash, sizeof(trash), FOLDER_TRASH_PREFIX "%" PRId64, id);
	if (renameat(reports_fd, name, reports_fd, trash) < 0) {
		// The trash of a kill before may still be there, under the same name.
		if ((errno != ENOTEMPTY && errno != EEXIST) || report_folder_empty(reports_fd, trash) < 0 ||
		    renameat(reports_fd, name, reports_fd, trash) < 0)
			return -errno;
	}
	fsync(reports_fd);
	return report_folder_empty(reports_fd, trash);
}

int report_folder_remove(int reports_fd, int64_t id)
{
	char name[32];

	snprintf(name, sizeof(name), "%" PRId64, id);
	return remove_named(reports_fd, name, id);
}

// --- making ----------------------------------------------------------------------------------------------------------

static int write_scenario(int fd, const void *scenario, size_t size)
{
	CLEANUP_CLOSE int file = disk_create_file(fd, FILE_SCENARIO, O_EXCL);

	if (file < 0)
		return file;
	int r = io_write_at(file, scenario, size, 0);
	if (r < 0)
		return r;
	return fsync(file) < 0 ? -errno : 0;
}

static int make_reserve(struct report_files *files, uint64_t bytes)
{
	files->reserve_bytes = bytes + RESERVE_SLACK_BYTES;
	files->reserve_least = bytes / 2 + RESERVE_SLACK_BYTES;
	files->reserve_fd = disk_create_file(files->fd, FILE_RESERVE, O_EXCL);
	if (files->reserve_fd < 0)
		return files->reserve_fd;
	int r = disk_allocate(files->reserve_fd, files->reserve_bytes);
	if (r != -EOPNOTSUPP)
		return r;
	// No reason to run nothing.
	log_line(LOG_LEVEL_NOTICE, files->id,
		 "the state folder's file system promises no room ahead: a full disk may cost the report's figures");
	return 0;
}

static int fill_folder(struct report_files *files, const void *scenario, size_t scenario_size, uint64_t reserve_bytes)
{
	int r;

	files->lock_fd = disk_create_file(files->fd, FILE_LOCK, O_EXCL);
	if (files->lock_fd < 0)
		return files->lock_fd;
	r = disk_lock(files->lock_fd);
	if (r < 0)
		return r;
	r = write_scenario(files->fd, scenario, scenario_size);
	if (r < 0)
		return r;
	files->messages_fd = disk_create_file(files->fd, FILE_MESSAGES, O_EXCL);
	if (files->messages_fd < 0)
		return files->messages_fd;
	r = make_reserve(files, reserve_bytes);
	if (r < 0)
		return r;
	return fsync(files->fd) < 0 ? -errno : 0;
}

/// The folder gets its id when it is whole and locked: nobody ever takes it for an interrupted one.
static int publish(struct report_files *files, const char *new_name)
{
	char name[32];

	snprintf(name, sizeof(name), "%" PRId64, files->id);
	if (renameat2(files->reports_fd, new_name, files->reports_fd, name, RENAME_NOREPLACE) < 0) {
		if (errno != EINVAL && errno != ENOSYS)
			return -errno;
		if (faccessat(files->reports_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return -EEXIST;
		if (renameat(files->reports_fd, new_name, files->reports_fd, name) < 0)
			return -errno;
	}
	return fsync(files->reports_fd) < 0 ? -errno : 0;
}

static int make_folder(struct report_files *files, const void *scenario, size_t scenario_size, uint64_t reserve_bytes)
{
	char new_name[64];
	int r;

	snprintf(new_name, sizeof(new_name), FOLDER_NEW_PREFIX "%" PRId64, files->id);
	if (mkdirat(files->reports_fd, new_name, 0700) < 0)
		return -errno;
	files->fd = disk_open_folder(files->reports_fd, new_name);
	r = files->fd < 0 ? files->fd : fill_folder(files, scenario, scenario_size, reserve_bytes);
	if (r == 0)
		r = publish(files, new_name);
	if (r < 0)
		remove_named(files->reports_fd, new_name, files->id);
	return r;
}

int report_files_create(int reports_fd, int64_t id, const void *scenario, size_t scenario_size, uint64_t reserve_bytes,
			struct report_files **ret)
{
	struct report_files *files = malloc(sizeof(*files));
	int r;

	if (!files)
		return -ENOMEM;
	*files = (struct report_files){.id = id, .fd = -1, .lock_fd = -1, .messages_fd = -1, .reserve_fd = -1};
	files->reports_fd = fcntl(reports_fd, F_DUPFD_CLOEXEC, 0);
	r = files->reports_fd < 0 ? -errno : make_folder(files, scenario, scenario_size, reserve_bytes);
	if (r < 0) {
		report_files_free(files);
		return r;
	}
	*ret = files;
	return 0;
}

struct report_files *report_files_free(struct report_files *files)
{
	if (!files)
		return NULL;
	cleanup_close(&files->messages_fd);
	cleanup_close(&files->reserve_fd);
	cleanup_close(&files->lock_fd);
	cleanup_close(&files->fd);
	cleanup_close(&files->reports_fd);
	free(files);
	return NULL;
}

// --- checkpoint and closing ------------------------------------------------------------------------------------------

/// Gives the checkpoint's share of the reserve away; it then lives on in the checkpoint's two files.
static bool lend_reserve(struct report_files *files)
{
	if (files->reserve_fd < 0 || files->reserve_bytes <= files->reserve_least ||
	    ftruncate(files->reserve_fd, (off_t)files->reserve_least) < 0)
		return false;
	files->reserve_bytes = files->reserve_least;
	return true;
}

int report_files_checkpoint(struct report_files *files, const void *data, size_t size)
{
	int r = disk_swap_file(files->fd, FILE_CHECKPOINT_NEW, FILE_CHECKPOINT, data, size);

	if ((r == -ENOSPC || r == -EDQUOT) && lend_reserve(files))
		r = disk_swap_file(files->fd, FILE_CHECKPOINT_NEW, FILE_CHECKPOINT, data, size);
	return r;
}

void report_files_free_reserve(struct report_files *files, size_t overview_bytes)
{
	uint64_t keep = (uint64_t)overview_bytes + 4096;

	unlinkat(files->fd, FILE_CHECKPOINT_NEW, 0);
	if (files->reserve_fd >= 0 && keep < files->reserve_bytes && ftruncate(files->reserve_fd, (off_t)keep) == 0)
		files->reserve_bytes = keep;
}

/// What is left of the reserve becomes the overview: no new block, no new name is needed for it.
static int overview_in_reserve(struct report_files *files, const void *data, size_t size)
{
	int r;

	if (files->reserve_fd < 0)
		return -ENOENT;
	r = disk_fill(files->reserve_fd, data, size);
	if (r == 0 && renameat(files->fd, FILE_RESERVE, files->fd, FILE_OVERVIEW) < 0)
		r = -errno;
	close(take_fd(&files->reserve_fd));
	if (r < 0)
		return r;
	return fsync(files->fd) < 0 ? -errno : 0;
}

int report_files_overview(struct report_files *files, const void *data, size_t size)
{
	int r = overview_in_reserve(files, data, size);

	if (r == 0)
		return 0;
	unlinkat(files->fd, FILE_RESERVE, 0);
	return disk_write_file(files->fd, FILE_OVERVIEW_NEW, FILE_OVERVIEW, data, size);
}

void report_files_finish(struct report_files *files, bool whole)
{
	static const char *const gone[] = {FILE_RESERVE, FILE_CHECKPOINT_NEW, FILE_MESSAGES_NEW, FILE_OVERVIEW_NEW};

	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		unlinkat(files->fd, gone[i], 0);
	if (whole)
		unlinkat(files->fd, FILE_CHECKPOINT, 0);
	unlinkat(files->fd, FILE_LOCK, 0);
	cleanup_close(&files->lock_fd);
	files->lock_fd = -1;
}
