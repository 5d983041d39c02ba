// SPDX-License-Identifier: GPL-3.0-or-later
/// Old reports give way: oldest first, never a running one, never the newest. And what a killed daemon left half-made
/// or half-removed is removed at start. Whatever has a name that is not ours is left alone.
#include "config.h"

#include "daemon/report/disk.h"
#include "daemon/report/files.h"
#include "daemon/report/store-internal.h"

#include "daemon/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_finished(int fd)
{
	struct stat info;

	return fstatat(fd, FILE_OVERVIEW, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
}

// --- at start --------------------------------------------------------------------------------------------------------

static bool has_prefix(const char *name, const char *prefix)
{
	int64_t id;
	size_t length = strlen(prefix);

	return strncmp(name, prefix, length) == 0 && disk_parse_id(name + length, &id);
}

/// What a session needs only while it runs.
static void sweep_report(int reports_fd, const char *name)
{
	static const char *const gone[] = {FILE_RESERVE, FILE_CHECKPOINT_NEW, FILE_MESSAGES_NEW, FILE_OVERVIEW_NEW};
	CLEANUP_CLOSE int fd = disk_open_folder(reports_fd, name);

	if (fd < 0 || report_is_running(fd))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		unlinkat(fd, gone[i], 0);
	if (is_finished(fd))
		unlinkat(fd, FILE_LOCK, 0);
}

static int sweep_one(void *context, int fd, const char *name)
{
	struct store *store = context;
	int64_t id;
	int r = 0;

	if (has_prefix(name, FOLDER_NEW_PREFIX) || has_prefix(name, FOLDER_TRASH_PREFIX))
		r = report_folder_empty(fd, name);
	else if (disk_parse_id(name, &id))
		sweep_report(fd, name);
	if (r < 0)
		log_warning("%s/%s/%s cannot be removed: %s", store->path, FOLDER_REPORTS, name, strerror(-r));
	return 0;
}

void store_sweep(struct store *store)
{
	disk_each(store->reports_fd, sweep_one, store);
}

// --- deleting --------------------------------------------------------------------------------------------------------

int store_delete(struct store *store, int64_t id, struct error *error)
{
	CLEANUP_CLOSE int fd = store_open_report(store, id);

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT, "there is no session %" PRId64, id);
	if (fd >= 0 && report_is_running(fd))
		return error_set(error, CONDPROF__CODE__STILL_RUNNING, EBUSY,
				 "session %" PRId64 " is still running: stop it first", id);
	int r = report_folder_remove(store->reports_fd, id);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__IO, -r, "%s: report %" PRId64 " cannot be removed: %s",
				 store->path, id, strerror(-r));
	return 0;
}

// --- retention -------------------------------------------------------------------------------------------------------

static bool may_go(struct store *store, int64_t id)
{
	CLEANUP_CLOSE int fd = store_open_report(store, id);

	return fd >= 0 && !report_is_running(fd);
}

static int measure(struct store *store, const int64_t *ids, size_t count, uint64_t **ret_sizes, uint64_t *ret_total)
{
	uint64_t *sizes = calloc(count + 1, sizeof(*sizes));

	if (!sizes)
		return -ENOMEM;
	*ret_total = 0;
	for (size_t i = 0; i < count; i++) {
		CLEANUP_CLOSE int fd = store_open_report(store, ids[i]);

		sizes[i] = fd >= 0 ? report_bytes(fd) : 0;
		*ret_total += sizes[i];
	}
	*ret_sizes = sizes;
	return 0;
}

/// One that cannot be removed stands in nobody's way.
static bool give_way(struct store *store, int64_t id, uint64_t bytes)
{
	if (!may_go(store, id))
		return false;
	int r = report_folder_remove(store->reports_fd, id);
	if (r < 0) {
		log_warning("%s: report %" PRId64 " should make room, but cannot be removed: %s", store->path, id,
			    strerror(-r));
		return false;
	}
	log_info("report %" PRId64 " was removed to make room (%" PRIu64 " KiB)", id, bytes / 1024);
	return true;
}

int store_make_room(struct store *store, uint64_t more_reports, uint64_t more_bytes, struct error *error)
{
	CLEANUP_FREE int64_t *ids = NULL;
	CLEANUP_FREE uint64_t *sizes = NULL;
	uint64_t total, left;
	size_t count;
	int r = store_ids(store, &ids, &count, error);

	if (r < 0)
		return r;
	if (measure(store, ids, count, &sizes, &total) < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory to look through the reports");
	left = count;
	for (size_t i = 0; i + 1 < count; i++) {
		if (left + more_reports <= store->limits.max_reports && total + more_bytes <= store->limits.max_bytes)
			break;
		if (!give_way(store, ids[i], sizes[i]))
			continue;
		left--;
		total -= sizes[i];
	}
	return 0;
}

int store_vacuum(struct store *store, struct error *error)
{
	return store_make_room(store, 0, 0, error);
}
