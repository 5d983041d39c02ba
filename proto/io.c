// SPDX-License-Identifier: GPL-3.0-or-later
#include "proto/io.h"

#include <errno.h>
#include <sys/stat.h>

ssize_t io_read(int fd, void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (uint8_t *)data + done, size - done);

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

int io_write(int fd, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const uint8_t *)data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
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
