// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/screen/folder.h"

#include "daemon/recording/folder.h"
#include "daemon/recording/format.h"
#include "proto/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define HEADER_BYTES 64U // of a PNG file, more than enough for its size

static int fail(struct error *error, int errno_value, const char *path, const char *what)
{
	return error_set(error, CONDPROF__CODE__SCREEN_FAILED, errno_value, "replay: %.400s: %s", path, what);
}

static int fail_file(struct error *error, int errno_value, const struct folder *folder, const char *name,
		     const char *what)
{
	return error_set(error, CONDPROF__CODE__SCREEN_FAILED, errno_value, "replay: %.300s/%.255s: %s", folder->path,
			 name, what);
}

static bool is_png_name(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && strcasecmp(name + length - 4, ".png") == 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct folder *folder, const char *name, size_t *capacity)
{
	if (folder->count == *capacity) {
		size_t larger = MAX(*capacity * 2, (size_t)64);
		char **names = realloc(folder->names, larger * sizeof(*names));

		if (!names)
			return -ENOMEM;
		folder->names = names;
		*capacity = larger;
	}
	char *copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	folder->names[folder->count++] = copy;
	return 0;
}

static int list_names(struct folder *folder, struct error *error)
{
	size_t capacity = 0;
	int duplicate = fcntl(folder->fd, F_DUPFD_CLOEXEC, 3), r = 0;
	DIR *directory = duplicate >= 0 ? fdopendir(duplicate) : NULL;

	if (!directory) {
		r = errno;
		if (duplicate >= 0)
			close(duplicate);
		return fail(error, r, folder->path, strerror(r));
	}
	const struct dirent *entry;
	while (r == 0 && (errno = 0, entry = readdir(directory))) {
		bool maybe_file = entry->d_type == DT_REG || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;

		if (maybe_file && is_png_name(entry->d_name))
			r = folder->count < FOLDER_MAX_FILES ? add_name(folder, entry->d_name, &capacity) : -EFBIG;
	}
	if (r == 0)
		r = -errno;
	closedir(directory);
	if (r == -EFBIG)
		return fail(error, EFBIG, folder->path, "has more than 1,000,000 PNG files");
	if (r < 0)
		return fail(error, -r, folder->path, strerror(-r));
	if (folder->count == 0)
		return fail(error, ENOENT, folder->path, "has no PNG file (a name that ends in .png)");
	qsort(folder->names, folder->count, sizeof(*folder->names), compare_names);
	return 0;
}

static int file_size(const struct folder *folder, const char *name, int fd, size_t *ret, struct error *error)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return fail_file(error, errno, folder, name, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return fail_file(error, EINVAL, folder, name, "is not a regular file");
	if (status.st_size > FOLDER_MAX_FILE_BYTES)
		return fail_file(error, EFBIG, folder, name, "is larger than 512 MiB");
	*ret = (size_t)status.st_size;
	return 0;
}

static int open_file(const struct folder *folder, const char *name, struct error *error)
{
	int links = folder->restricted ? O_NOFOLLOW : 0;
	int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | links);

	if (fd >= 0)
		return fd;
	int r = errno;
	if (r == ELOOP && folder->restricted)
		return fail_file(error, r, folder, name, "is a symbolic link, which frame-folders doesn't allow");
	if (r == ENOENT)
		return fail_file(error, r, folder, name, "the file is gone; it was there when the session began");
	return fail_file(error, r, folder, name, strerror(r));
}

static int reserve_buffer(struct folder *folder, size_t size)
{
	if (size <= folder->buffer_size)
		return 0;
	uint8_t *buffer = realloc(folder->buffer, size);
	if (!buffer)
		return -ENOMEM;
	folder->buffer = buffer;
	folder->buffer_size = size;
	return 0;
}

// Reads at most `limit` bytes of the file into the buffer.
static int read_file(struct folder *folder, const char *name, size_t limit, size_t *ret_size, struct error *error)
{
	CLEANUP_CLOSE int fd = open_file(folder, name, error);
	size_t size = 0;
	int r = fd < 0 ? fd : file_size(folder, name, fd, &size, error);

	if (r < 0)
		return r;
	size = MIN(size, limit);
	if (reserve_buffer(folder, size) < 0)
		return fail_file(error, ENOMEM, folder, name, "out of memory");
	ssize_t n = io_read(fd, folder->buffer, size);
	if (n < 0)
		return fail_file(error, (int)-n, folder, name, strerror((int)-n));
	*ret_size = (size_t)n; // when it was cut meanwhile, the decoder says so
	return 0;
}

static int read_first_size(struct folder *folder, struct error *error)
{
	struct error why = {0};
	size_t size = 0;
	int r = read_file(folder, folder->names[0], HEADER_BYTES, &size, error);

	if (r < 0)
		return r;
	r = png_peek_size(folder->buffer, size, &folder->width, &folder->height, &why);
	return r < 0 ? fail_file(error, -r, folder, folder->names[0], why.message) : 0;
}

static int not_allowed(const char *path, struct error *error)
{
	return error_set(error, CONDPROF__CODE__DENIED, EPERM,
			 "replay: %.400s is in none of the folders that the configuration key frame-folders names",
			 path);
}

// A recording's files hold only what changed: its frames are put together.
static int open_recording(struct folder *folder, struct error *error)
{
	int r = recorded_open(folder->fd, folder->path, &folder->recorded, error);

	if (r < 0)
		return r;
	char name[RECORDING_NAME_SIZE];
	size_t capacity = 0;

	for (uint32_t i = 1; i <= folder->recorded->n_frames; i++) {
		recording_frame_name(i, name);
		if (add_name(folder, name, &capacity) < 0)
			return fail(error, ENOMEM, folder->path, "out of memory");
	}
	if (folder->count) {
		folder->width = folder->recorded->frames[0].width;
		folder->height = folder->recorded->frames[0].height;
	}
	return 0;
}

static int open_checked(const char *path, const char *const *allowed, struct folder *folder, struct error *error)
{
	folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->fd < 0 && !folder_is_written_below(path, allowed))
		return not_allowed(path, error);
	if (folder->fd < 0 && errno == EACCES)
		return fail(error, EACCES, path, "the daemon's user may not read this folder");
	if (folder->fd < 0)
		return fail(error, errno, path, strerror(errno));
	folder->restricted = allowed != NULL;
	if (!folder_is_allowed(folder->fd, allowed))
		return not_allowed(path, error);
	if (recorded_is(folder->fd))
		return open_recording(folder, error);
	int r = list_names(folder, error);
	return r < 0 ? r : read_first_size(folder, error);
}

int folder_open(const char *path, const char *const *allowed, struct folder **ret, struct error *error)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	if (!folder || !(folder->path = strdup(path))) {
		free(folder);
		return fail(error, ENOMEM, path, "out of memory");
	}
	int r = open_checked(path, allowed, folder, error);
	if (r < 0) {
		folder_close(folder);
		return r;
	}
	*ret = folder;
	return 0;
}

struct folder *folder_close(struct folder *folder)
{
	if (!folder)
		return NULL;
	for (size_t i = 0; folder->names && i < folder->count; i++)
		free(folder->names[i]);
	recorded_close(folder->recorded);
	free(folder->names);
	free(folder->buffer);
	free(folder->path);
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder);
	return NULL;
}

int folder_read(struct folder *folder, size_t index, struct picture **ret, struct error *error)
{
	const char *name = folder->recorded ? NULL : folder->names[index];
	struct error why = {0};
	size_t size = 0;
	int r;

	if (folder->recorded)
		return recorded_frame(folder->recorded, (uint32_t)index + 1, ret, error);
	r = read_file(folder, name, FOLDER_MAX_FILE_BYTES, &size, error);

	if (r < 0)
		return r;
	r = png_decode(folder->buffer, size, ret, &why);
	return r < 0 ? fail_file(error, -r, folder, name, why.message) : 0;
}
