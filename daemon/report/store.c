// SPDX-License-Identifier: GPL-3.0-or-later
/// The state folder as a whole. One daemon at a time has it; only its worker thread is in here, but sessions that run
/// write to their folders meanwhile, and a person may do anything to any of them.
#include "config.h"

#include "daemon/report/disk.h"
#include "daemon/report/files.h"
#include "daemon/report/installed.h"
#include "daemon/report/store-internal.h"

#include "daemon/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct store_limits default_limits = {.max_reports = 1000, .max_bytes = UINT64_C(2) << 30};

static int io_error(const struct store *store, struct error *error, int r, const char *what)
{
	return error_set(error, CONDPROF__CODE__IO, -r, "%s: %s: %s%s", store->path, what, strerror(-r),
			 disk_advice(r));
}

static int no_such_session(struct error *error, int64_t id)
{
	return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ENOENT, "there is no session %" PRId64, id);
}

// --- opening ---------------------------------------------------------------------------------------------------------

static int make_parents(const char *path)
{
	CLEANUP_FREE char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int open_folders(struct store *store)
{
	int r = store->path[0] ? make_parents(store->path) : -ENOENT;

	if (r < 0)
		return r;
	store->fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->fd < 0)
		return -errno;
	store->lock_fd = disk_create_file(store->fd, FILE_LOCK, 0);
	if (store->lock_fd < 0)
		return store->lock_fd;
	r = disk_lock(store->lock_fd);
	if (r < 0)
		return r;
	if (mkdirat(store->fd, FOLDER_REPORTS, 0700) < 0 && errno != EEXIST)
		return -errno;
	store->reports_fd = disk_open_folder(store->fd, FOLDER_REPORTS);
	return store->reports_fd < 0 ? store->reports_fd : 0;
}

static int highest_id(void *context, int fd, const char *name)
{
	struct store *store = context;
	int64_t id;

	(void)fd;
	for (const char *const *prefix = (const char *const[]){"", FOLDER_NEW_PREFIX, FOLDER_TRASH_PREFIX, NULL};
	     *prefix; prefix++) {
		size_t length = strlen(*prefix);

		if (strncmp(name, *prefix, length) == 0 && disk_parse_id(name + length, &id))
			store->last_id = MAX(store->last_id, id);
	}
	return 0;
}

/// The mark, or where it is missing or damaged the highest id in sight.
static int read_mark(struct store *store)
{
	CLEANUP_FREE uint8_t *text = NULL;
	size_t size = 0;
	int r = disk_read_file(store->fd, FILE_IDS, 64, &text, &size);

	if (r < 0 && r != -ENOENT && r != -EFBIG && r != -EINVAL && r != -ELOOP)
		return r;
	if (r == 0) {
		text[size] = '\0';
		text[strcspn((char *)text, "\n")] = '\0';
		if (!disk_parse_id((char *)text, &store->last_id) && strcmp((char *)text, "0") != 0)
			r = -EINVAL;
	}
	if (r < 0 && r != -ENOENT)
		log_warning("%s/%s is damaged: session ids go on after the highest that is kept", store->path,
			    FILE_IDS);
	return disk_each(store->reports_fd, highest_id, store);
}

static int write_mark(struct store *store, int64_t id)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%" PRId64 "\n", id);

	return disk_swap_file(store->fd, FILE_IDS_NEW, FILE_IDS, text, (size_t)length);
}

static int open_error(const struct store *store, struct error *error, int r)
{
	if (r == -EBUSY)
		return error_set(error, CONDPROF__CODE__IO, EBUSY,
				 "the state folder %s is in use by another condprofd: stop that one, or give this one "
				 "another with --state-dir",
				 store->path);
	return error_set(error, CONDPROF__CODE__IO, -r,
			 "the state folder %s cannot be opened: %s; it must be a folder that condprofd may write to",
			 store->path, strerror(-r));
}

void store_set_limits(struct store *store, const struct store_limits *limits)
{
	store->limits.max_reports = limits->max_reports ? limits->max_reports : default_limits.max_reports;
	store->limits.max_bytes = limits->max_bytes ? limits->max_bytes : default_limits.max_bytes;
}

int store_open(const char *path, const struct store_limits *limits, struct store **ret, struct error *error)
{
	struct store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the report store");
	store->fd = store->reports_fd = store->lock_fd = -1;
	store_set_limits(store, limits ? limits : &default_limits);
	store->path = strdup(path);
	r = store->path ? open_folders(store) : -ENOMEM;
	if (r == 0)
		r = read_mark(store);
	if (r < 0) {
		open_error(store, error, r);
		store_close(store);
		return r;
	}
	store_sweep(store);
	installed_sweep(store);
	// From here on there are two files, and a full disk is no reason to be without an id.
	if (faccessat(store->fd, FILE_IDS_NEW, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && write_mark(store, store->last_id) == 0)
		write_mark(store, store->last_id);
	*ret = store;
	return 0;
}

struct store *store_close(struct store *store)
{
	if (!store)
		return NULL;
	cleanup_close(&store->reports_fd);
	cleanup_close(&store->lock_fd);
	cleanup_close(&store->fd);
	free(store->path);
	free(store);
	return NULL;
}

// --- ids and new reports ---------------------------------------------------------------------------------------------

int store_next_id(struct store *store, int64_t *ret_id, struct error *error)
{
	int r;

	if (store->last_id == INT64_MAX)
		return io_error(store, error, -EOVERFLOW, "no session id is left");
	r = write_mark(store, store->last_id + 1);
	if (r < 0)
		return io_error(store, error, r, "the next session id cannot be written");
	*ret_id = ++store->last_id;
	return 0;
}

int store_create(struct store *store, int64_t id, const uint8_t *scenario, size_t scenario_size, size_t reserve_bytes,
		 struct report_files **ret, struct error *error)
{
	int r = store_make_room(store, 1, (uint64_t)scenario_size + reserve_bytes, error);

	if (r < 0)
		return r;
	r = report_files_create(store->reports_fd, id, scenario, scenario_size, reserve_bytes, ret);
	if (r == -ENOSPC || r == -EDQUOT)
		return error_set(
			error, CONDPROF__CODE__IO, -r,
			"%s is full: a report of this session needs %zu KiB from the start; make room there, or "
			"start it with --no-report",
			store->path, (scenario_size + reserve_bytes + RESERVE_SLACK_BYTES) / 1024 + 1);
	return r < 0 ? io_error(store, error, r, "the folder of the new session cannot be made") : 0;
}

struct report_files *report_files_discard(struct report_files *files)
{
	if (files) {
		report_folder_remove(files->reports_fd, files->id);
		report_files_free(files);
	}
	return NULL;
}

// --- looking ---------------------------------------------------------------------------------------------------------

struct id_list {
	int64_t *ids;
	size_t count, room;
};

static int add_id(void *context, int fd, const char *name)
{
	struct id_list *list = context;
	struct stat info;
	int64_t id;

	if (!disk_parse_id(name, &id) || fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(info.st_mode))
		return 0;
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		int64_t *ids = reallocarray(list->ids, room, sizeof(*ids));

		if (!ids)
			return -ENOMEM;
		list->ids = ids;
		list->room = room;
	}
	list->ids[list->count++] = id;
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

int store_ids(struct store *store, int64_t **ret, size_t *ret_count, struct error *error)
{
	struct id_list list = {0};
	int r = disk_each(store->reports_fd, add_id, &list);

	if (r < 0) {
		free(list.ids);
		return io_error(store, error, r, "the reports cannot be listed");
	}
	if (list.count > 0)
		qsort(list.ids, list.count, sizeof(*list.ids), compare_ids);
	*ret = list.ids;
	*ret_count = list.count;
	return 0;
}

int store_open_report(const struct store *store, int64_t id)
{
	char name[32];

	snprintf(name, sizeof(name), "%" PRId64, id);
	return id > 0 ? disk_open_folder(store->reports_fd, name) : -ENOENT;
}

int store_read_entry(struct store *store, int64_t id, struct store_entry *ret, struct error *error)
{
	CLEANUP_CLOSE int fd = store_open_report(store, id);
	struct store_entry entry = {.id = id};
	struct report_state state;
	int r;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return no_such_session(error, id);
	r = fd < 0 ? fd : report_state_read(fd, store->window, &state);
	if (r < 0)
		return io_error(store, error, r, "a report cannot be opened");
	entry.overview = TAKE_POINTER(state.overview);
	entry.running = state.running;
	entry.interrupted = state.interrupted;
	entry.damaged = state.damaged;
	report_state_free(&state);
	if (!entry.overview || !entry.overview->scenario_name)
		entry.scenario_name = report_scenario_name(fd, store->window);
	entry.bytes = report_bytes(fd);
	entry.created_unix_ns = report_created_ns(fd);
	*ret = entry;
	return 0;
}

void store_entry_free(struct store_entry *entry)
{
	if (entry->overview)
		condprof__debug_report_overview__free_unpacked(entry->overview, NULL);
	free(entry->scenario_name);
	*entry = (struct store_entry){0};
}
