// SPDX-License-Identifier: GPL-3.0-or-later
/// The folder may hold anything a person put there: only regular files with a possible name count, nothing else is
/// followed, opened or believed, and a new file takes the place of whatever has its name but a folder.
#include "config.h"

#include "daemon/report/installed.h"

#include "daemon/report/disk.h"
#include "daemon/report/store-internal.h"
#include "proto/installed.h"
#include "proto/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_SCENARIOS "scenarios"
#define FILE_ENDING ".pb"
#define FILE_NEW ".new" // no name of a scenario begins with a dot
#define LISTED_MAX 4096U

struct file_name {
	char text[INSTALLED_NAME_MAX_BYTES + sizeof(FILE_ENDING)];
};

static struct file_name file_of(const char *name)
{
	struct file_name file;

	snprintf(file.text, sizeof(file.text), "%.*s%s", (int)INSTALLED_NAME_MAX_BYTES, name, FILE_ENDING);
	return file;
}

/// The name of a scenario whose file this would be. @return whether it is one's
static bool name_of(const char *file, char name[INSTALLED_NAME_MAX_BYTES + 1])
{
	size_t length = strlen(file), ending = strlen(FILE_ENDING);

	if (length <= ending || length - ending > INSTALLED_NAME_MAX_BYTES ||
	    strcmp(file + length - ending, FILE_ENDING) != 0)
		return false;
	memcpy(name, file, length - ending);
	name[length - ending] = '\0';
	return installed_name_valid(name);
}

static int io_error(const struct store *store, struct error *error, int r, const char *name, const char *what)
{
	return error_set(error, CONDPROF__CODE__IO, -r, "%s/%s%s%s%s: %s: %s%s", store->path, FOLDER_SCENARIOS,
			 name ? "/" : "", name ? name : "", name ? FILE_ENDING : "", what, strerror(-r),
			 disk_advice(r));
}

static int open_folder(const struct store *store)
{
	return disk_open_folder(store->fd, FOLDER_SCENARIOS);
}

static int make_folder(const struct store *store)
{
	if (mkdirat(store->fd, FOLDER_SCENARIOS, 0700) == 0)
		fsync(store->fd);
	else if (errno != EEXIST)
		return -errno;
	return open_folder(store);
}

// --- looking -------------------------------------------------------------------------------------------------------

void installed_scenario_clear(struct installed_scenario *scenario)
{
	free(scenario->scenario);
	*scenario = (struct installed_scenario){.bytes = 0};
}

void installed_list_clear(struct installed_list *list)
{
	while (list->count)
		installed_scenario_clear(&list->items[--list->count]);
	free(list->items);
	*list = (struct installed_list){0};
}

/// What is known of one by its file alone.
static int look_at(struct store *store, int folder, const char *name, struct installed_scenario *ret)
{
	CLEANUP_CLOSE int fd = disk_open_file(folder, file_of(name).text);
	struct installed_scenario scenario = {.bytes = 0};
	struct stat info;

	if (fd < 0)
		return fd;
	if (fstat(fd, &info) < 0)
		return -errno;
	snprintf(scenario.name, sizeof(scenario.name), "%s", name);
	scenario.scenario = scenario_name_of_file(fd, store->window);
	scenario.bytes = (uint64_t)info.st_size;
	scenario.installed_unix_ns = info.st_mtim.tv_sec * NSEC_PER_SEC + info.st_mtim.tv_nsec;
	*ret = scenario;
	return 0;
}

struct listing {
	struct store *store;
	struct installed_list list;
	size_t room;
};

static int add(void *context, int folder, const char *file)
{
	struct listing *listing = context;
	struct installed_list *list = &listing->list;
	struct installed_scenario scenario;
	char name[INSTALLED_NAME_MAX_BYTES + 1];

	if (list->count == LISTED_MAX || !name_of(file, name) || look_at(listing->store, folder, name, &scenario) < 0)
		return 0;
	if (list->count == listing->room) {
		size_t room = listing->room ? 2 * listing->room : 16;
		struct installed_scenario *items = reallocarray(list->items, room, sizeof(*items));

		if (!items) {
			installed_scenario_clear(&scenario);
			return -ENOMEM;
		}
		list->items = items;
		listing->room = room;
	}
	list->items[list->count++] = scenario;
	return 0;
}

static int compare_names(const void *left, const void *right)
{
	const struct installed_scenario *a = left, *b = right;

	return strcmp(a->name, b->name);
}

int installed_list(struct store *store, struct installed_list *ret, struct error *error)
{
	CLEANUP_CLOSE int folder = open_folder(store);
	struct listing listing = {.store = store};
	int r = folder == -ENOENT ? 0 : folder < 0 ? folder : disk_each(folder, add, &listing);

	if (r < 0) {
		installed_list_clear(&listing.list);
		return io_error(store, error, r, NULL, "the installed scenarios cannot be listed");
	}
	if (listing.list.count)
		qsort(listing.list.items, listing.list.count, sizeof(*listing.list.items), compare_names);
	*ret = listing.list;
	return 0;
}

/// There is none of that name: says so, and which one was perhaps meant.
static int no_such_name(struct store *store, const char *name, struct error *error)
{
	struct installed_list list = {0};
	const char *near = NULL;
	int r = installed_list(store, &list, NULL);
	CLEANUP_FREE const char **names = calloc(list.count + 1, sizeof(*names));

	for (size_t i = 0; names && i < list.count; i++)
		names[i] = list.items[i].name;
	if (r == 0 && names)
		near = nearest_word(name, names, list.count);
	if (near)
		r = error_set(error, CONDPROF__CODE__NO_SUCH_NAME, ENOENT,
			      "no scenario is installed as \"%s\"; did you mean \"%s\"?", name, near);
	else
		r = error_set(error, CONDPROF__CODE__NO_SUCH_NAME, ENOENT, "no scenario is installed as \"%s\"%s", name,
			      list.count ? "" : "; none is installed");
	installed_list_clear(&list);
	return r;
}

// --- installing and removing ---------------------------------------------------------------------------------------

/// What the others take.
struct census {
	const char *name; ///< not counted, but noticed
	bool there;
	size_t count;
	uint64_t bytes;
};

static int count_file(void *context, int folder, const char *file)
{
	struct census *census = context;
	char name[INSTALLED_NAME_MAX_BYTES + 1];
	struct stat info;

	if (!name_of(file, name) || fstatat(folder, file, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode))
		return 0;
	if (strcmp(name, census->name) == 0) {
		census->there = true;
		return 0;
	}
	census->count++;
	census->bytes += (uint64_t)info.st_size;
	return 0;
}

static int check_limits(const struct census *census, size_t size, struct error *error)
{
	if (census->count >= INSTALLED_MAX)
		return error_set(error, CONDPROF__CODE__BUSY, EBUSY,
				 "%u scenarios are installed, which is the most; remove one first", INSTALLED_MAX);
	if (census->bytes > INSTALLED_MAX_BYTES_ALL || size > INSTALLED_MAX_BYTES_ALL - census->bytes)
		return error_set(error, CONDPROF__CODE__BUSY, EBUSY,
				 "the installed scenarios may have %u MiB together; remove one first",
				 (unsigned)(INSTALLED_MAX_BYTES_ALL >> 20));
	return 0;
}

/// Whatever it is: no scenario.
static void drop_new(int folder)
{
	if (unlinkat(folder, FILE_NEW, 0) < 0 && errno == EISDIR)
		unlinkat(folder, FILE_NEW, AT_REMOVEDIR);
}

int installed_write(struct store *store, const char *name, const uint8_t *data, size_t size,
		    struct installed_scenario *ret, bool *ret_replaced, struct error *error)
{
	CLEANUP_CLOSE int folder = make_folder(store);
	struct census census = {.name = name};
	int r = folder < 0 ? folder : disk_each(folder, count_file, &census);

	if (r < 0)
		return io_error(store, error, r, NULL, "the folder of installed scenarios cannot be opened");
	r = check_limits(&census, size, error);
	if (r < 0)
		return r;
	drop_new(folder);
	r = disk_write_file(folder, FILE_NEW, file_of(name).text, data, size);
	if (r == 0)
		r = look_at(store, folder, name, ret);
	if (r < 0)
		return io_error(store, error, r, name, "cannot be installed");
	*ret_replaced = census.there;
	return 0;
}

int installed_remove(struct store *store, const char *name, struct installed_scenario *ret, struct error *error)
{
	CLEANUP_CLOSE int folder = open_folder(store);
	struct installed_scenario scenario = {.bytes = 0};

	if (folder == -ENOENT)
		return no_such_name(store, name, error);
	if (folder < 0)
		return io_error(store, error, folder, NULL, "the folder of installed scenarios cannot be opened");
	snprintf(scenario.name, sizeof(scenario.name), "%s", name);
	look_at(store, folder, name, &scenario); // what is damaged goes as well
	if (unlinkat(folder, file_of(name).text, 0) < 0) {
		int r = -errno;

		installed_scenario_clear(&scenario);
		return r == -ENOENT ? no_such_name(store, name, error)
				    : io_error(store, error, r, name, "cannot be removed");
	}
	fsync(folder);
	*ret = scenario;
	return 0;
}

void installed_sweep(struct store *store)
{
	CLEANUP_CLOSE int folder = open_folder(store);

	if (folder >= 0)
		drop_new(folder);
}

// --- starting ------------------------------------------------------------------------------------------------------

static int damaged(const struct store *store, const char *name, struct error *error)
{
	return error_set(error, CONDPROF__CODE__IO, EBADMSG,
			 "%s/%s/%s%s is damaged: install the scenario again, or remove it", store->path,
			 FOLDER_SCENARIOS, name, FILE_ENDING);
}

int installed_open(struct store *store, const char *name, int *ret_fd, size_t *ret_size, struct error *error)
{
	CLEANUP_CLOSE int folder = open_folder(store);
	CLEANUP_CLOSE int fd = folder < 0 ? folder : disk_open_file(folder, file_of(name).text);
	struct stat info;

	if (fd == -ENOENT)
		return no_such_name(store, name, error);
	if (fd == -EINVAL || fd == -ELOOP || fd == -ENXIO)
		return damaged(store, name, error);
	if (fd < 0)
		return io_error(store, error, fd, name, "cannot be opened");
	if (fstat(fd, &info) < 0 || info.st_size < 1 || (uint64_t)info.st_size > SCENARIO_MAX_BYTES)
		return damaged(store, name, error);
	*ret_size = (size_t)info.st_size;
	*ret_fd = take_fd(&fd);
	return 0;
}

int installed_read(struct store *store, const char *name, int fd, uint8_t *data, size_t size, struct error *error)
{
	ssize_t n = io_read_at(fd, data, size, 0);

	if (n < 0)
		return io_error(store, error, (int)n, name, "cannot be read");
	return (size_t)n == size ? 0 : damaged(store, name, error);
}
