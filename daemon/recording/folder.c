// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/recording/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// What the descriptor really is, without any symbolic link.
static int real_path(int fd, char out[PATH_MAX])
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, out, PATH_MAX - 1);
	if (length < 0)
		return -errno;
	out[length] = '\0';
	return 0;
}

static bool is_below(const char *path, const char *top)
{
	size_t length = strlen(top);

	if (length == 1)
		return true; // "/"
	return strncmp(path, top, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool folder_is_allowed(int fd, const char *const *allowed)
{
	char path[PATH_MAX], top[PATH_MAX];

	if (!allowed)
		return true;
	if (real_path(fd, path) < 0)
		return false;
	for (; *allowed; allowed++) {
		CLEANUP_CLOSE int top_fd = open(*allowed, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (top_fd >= 0 && real_path(top_fd, top) >= 0 && is_below(path, top))
			return true;
	}
	return false;
}

bool folder_is_written_below(const char *path, const char *const *allowed)
{
	if (!allowed)
		return true;
	for (; *allowed; allowed++)
		if (is_below(path, *allowed) && !strstr(path, "/.."))
			return true;
	return false;
}

static int fail(struct error *error, Condprof__Code code, int errno_value, const char *path, const char *what)
{
	return error_set(error, code, errno_value, "--record: %s: %s", error_quote(path).text, what);
}

static int not_allowed(struct error *error, const char *path)
{
	return fail(error, CONDPROF__CODE__DENIED, EPERM, path,
		    "it is in none of the folders that the configuration key frame-folders names");
}

static bool is_empty(int fd)
{
	int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *directory = duplicate >= 0 ? fdopendir(duplicate) : NULL;
	const struct dirent *entry;
	bool empty = directory != NULL;

	if (!directory && duplicate >= 0)
		close(duplicate);
	while (empty && (entry = readdir(directory)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (directory)
		closedir(directory);
	return empty;
}

static int open_folder(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

// The folder's last name without slashes behind it. @return NULL: there is none
static char *last_name(char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	char *slash = strrchr(path, '/');
	if (!slash || !slash[1] || strcmp(slash + 1, ".") == 0 || strcmp(slash + 1, "..") == 0)
		return NULL;
	*slash = '\0';
	return slash + 1;
}

static int take_folder(const char *path, int parent, const char *name, const char *const *allowed, struct error *error)
{
	struct stat info;
	int fd = open_folder(parent, name);

	// What is there that is no folder, or not for the daemon's user, is said only of where the client may name it.
	if (fd < 0 && !folder_is_allowed(parent, allowed))
		return not_allowed(error, path);
	if (fd == -ENOENT) {
		if (mkdirat(parent, name, 0700) < 0)
			return fail(error, CONDPROF__CODE__IO, errno, path, strerror(errno));
		fd = open_folder(parent, name);
	}
	if (fd == -ENOTDIR && fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
		return fail(error, CONDPROF__CODE__BAD_REQUEST, ELOOP, path, "it is a symbolic link: name a folder");
	if (fd == -ENOTDIR)
		return fail(error, CONDPROF__CODE__BAD_REQUEST, ENOTDIR, path, "it is no folder");
	if (fd < 0)
		return fail(error, CONDPROF__CODE__IO, -fd, path, strerror(-fd));
	int r = 0;
	if (!folder_is_allowed(fd, allowed))
		r = not_allowed(error, path);
	else if (!is_empty(fd))
		r = fail(error, CONDPROF__CODE__BAD_REQUEST, ENOTEMPTY, path,
			 "the folder is not empty: a recording needs one of its own, name one that is not there yet");
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int recording_make_folder(const char *path, const char *const *allowed, int *ret_fd, struct error *error)
{
	char copy[PATH_MAX];

	if (path[0] != '/')
		return fail(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, path, "it is not an absolute path");
	if (strlen(path) >= sizeof(copy))
		return fail(error, CONDPROF__CODE__BAD_REQUEST, ENAMETOOLONG, path, "the path is too long");
	strcpy(copy, path);
	const char *name = last_name(copy);
	if (!name)
		return fail(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, path, "it names no folder");
	CLEANUP_CLOSE int parent = open(*copy ? copy : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0 && !folder_is_written_below(path, allowed))
		return not_allowed(error, path);
	if (parent < 0 && errno == ENOENT)
		return fail(error, CONDPROF__CODE__BAD_REQUEST, ENOENT, path,
			    "what it lies in is not there: make that first");
	if (parent < 0)
		return fail(error, CONDPROF__CODE__IO, errno, path, strerror(errno));
	int fd = take_folder(path, parent, name, allowed, error);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}
