// SPDX-License-Identifier: GPL-3.0-or-later
/// Plain system calls with the flags that make them safe in a folder anybody may have been at. Always holds: a name is
/// opened relative to a folder's descriptor and never through a symlink; interrupted calls are taken up again; what is
/// put in place was synced before.
#include "config.h"

#include "daemon/report/disk.h"

#include "proto/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int disk_open_folder(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int regular_only(int fd)
{
	struct stat info;
	int r = 0;

	if (fstat(fd, &info) < 0)
		r = -errno;
	else if (!S_ISREG(info.st_mode))
		r = -EINVAL;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int disk_open_file(int at, const char *name)
{
	// O_NONBLOCK: the name may be a FIFO that nobody writes to.
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : regular_only(fd);
}

int disk_create_file(int at, const char *name, int flags)
{
	int fd = openat(at, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags, 0600);

	return fd < 0 ? -errno : regular_only(fd);
}

int disk_read_file(int at, const char *name, size_t max, uint8_t **ret, size_t *ret_size)
{
	CLEANUP_CLOSE int fd = disk_open_file(at, name);

	return fd < 0 ? fd : io_read_file(fd, max, ret, ret_size);
}

/// Over what is there: blocks the file has are used again.
int disk_fill(int fd, const void *data, size_t size)
{
	int r = io_write_at(fd, data, size, 0);

	if (r < 0)
		return r;
	if (ftruncate(fd, (off_t)size) < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

static int write_synced(int at, const char *name, const void *data, size_t size)
{
	CLEANUP_CLOSE int fd = disk_create_file(at, name, 0);

	return fd < 0 ? fd : disk_fill(fd, data, size);
}

int disk_write_file(int at, const char *temporary, const char *name, const void *data, size_t size)
{
	int r = write_synced(at, temporary, data, size);

	if (r == 0 && renameat(at, temporary, at, name) < 0)
		r = -errno;
	if (r < 0) {
		unlinkat(at, temporary, 0);
		return r;
	}
	return fsync(at) < 0 ? -errno : 0;
}

int disk_swap_file(int at, const char *temporary, const char *name, const void *data, size_t size)
{
	int r = write_synced(at, temporary, data, size);

	// Something else had the name, and changed places with a file of ours.
	if ((r == -ELOOP || r == -EISDIR || r == -EINVAL || r == -ENXIO) &&
	    (unlinkat(at, temporary, 0) == 0 || unlinkat(at, temporary, AT_REMOVEDIR) == 0))
		r = write_synced(at, temporary, data, size);
	if (r < 0)
		return r;
	if (renameat2(at, temporary, at, name, RENAME_EXCHANGE) < 0 && renameat(at, temporary, at, name) < 0)
		return -errno;
	return fsync(at) < 0 ? -errno : 0;
}

int disk_allocate(int fd, uint64_t size)
{
	struct stat info;
	int r;

	do
		r = posix_fallocate(fd, 0, (off_t)size);
	while (r == EINTR);
	if (r != 0)
		return -r;
	if (fstat(fd, &info) < 0)
		return -errno;
	return (uint64_t)info.st_blocks * 512U < size ? -EOPNOTSUPP : 0;
}

uint64_t disk_bytes_of(const struct stat *info)
{
	uint64_t blocks = info->st_blocks > 0 ? (uint64_t)info->st_blocks * 512U : 0;
	uint64_t size = info->st_size > 0 ? (uint64_t)info->st_size : 0;

	return MAX(blocks, size);
}

int disk_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

bool disk_locked(int fd)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int disk_each(int fd, int (*each)(void *context, int fd, const char *name), void *context)
{
	// A descriptor of its own: the position of a folder's descriptor is shared by its duplicates.
	int own = disk_open_folder(fd, ".");
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	int r = own < 0 ? own : dir ? 0 : -errno;

	if (!dir) {
		if (own >= 0)
			close(own);
		return r;
	}
	while (r == 0) {
		errno = 0;
		struct dirent *entry = readdir(dir);
		if (!entry) {
			r = -errno;
			break;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = each(context, fd, entry->d_name);
	}
	closedir(dir);
	return r;
}

const char *disk_advice(int r)
{
	switch (-r) {
	case ENOSPC:
	case EDQUOT:
		return "; make room there";
	case ENOENT:
	case ENOTDIR:
		return "; the folder was removed under the daemon: restart condprofd, which makes it anew";
	case EACCES:
	case EPERM:
	case EROFS:
		return "; condprofd must be able to write there";
	default:
		return "";
	}
}

bool disk_parse_id(const char *name, int64_t *ret)
{
	int64_t id = 0;

	if (name[0] < '1' || name[0] > '9')
		return false;
	for (const char *digit = name; *digit; digit++) {
		if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(id, 10, &id) ||
		    __builtin_add_overflow(id, *digit - '0', &id))
			return false;
	}
	*ret = id;
	return true;
}
