// SPDX-License-Identifier: GPL-3.0-or-later
#include "proto/io.h"

#include <errno.h>
#include <sys/stat.h>

#define HERE UINT64_MAX // where the file stands, if it stands anywhere

static ssize_t read_all(int fd, void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		void *to = (uint8_t *)data + done;
		ssize_t n =
			offset == HERE ? read(fd, to, size - done) : pread(fd, to, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int write_all(int fd, const void *data, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;) {
		const void *from = (const uint8_t *)data + done;
		ssize_t n = offset == HERE ? write(fd, from, size - done)
					   : pwrite(fd, from, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

ssize_t io_read(int fd, void *data, size_t size)
{
	return read_all(fd, data, size, HERE);
}

ssize_t io_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	return read_all(fd, data, size, offset);
}

int io_write(int fd, const void *data, size_t size)
{
	return write_all(fd, data, size, HERE);
}

int io_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	return write_all(fd, data, size, offset);
}

int io_read_file(int fd, size_t most, uint8_t **ret, size_t *ret_size)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if ((uint64_t)status.st_size > most)
		return -EFBIG;
	CLEANUP_FREE uint8_t *data = malloc((size_t)status.st_size + 1);
	if (!data)
		return -ENOMEM;
	ssize_t size = io_read(fd, data, (size_t)status.st_size);
	if (size < 0)
		return (int)size;
	*ret = TAKE_POINTER(data);
	*ret_size = (size_t)size;
	return 0;
}
