// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "client/looking.h"

#include "client/scenario/uri.h"
#include "daemon/picture/picture.h"
#include "proto/io.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum exit_code take_screen(const struct client *client, char **ret)
{
	const char *text = client_option(client, "--screen");
	CLEANUP_FREE char *folder = NULL;
	struct error error = {0};

	if (!text)
		return EXIT_DONE;
	folder = getcwd(NULL, 0);
	int r = uri_for_daemon(text, false, folder, client_is_remote(client), ret, &error);
	return r < 0 ? client_fail(client, EXIT_USAGE, "--screen %s: %s", text, error.message) : EXIT_DONE;
}

// --- what comes from the daemon --------------------------------------------------------------------------------------

void incoming_clear(struct incoming *incoming)
{
	free(incoming->data);
	free(incoming->screen);
	*incoming = (struct incoming){0};
}

static int begin(struct incoming *incoming, const Condprof__Captured *captured, struct error *error)
{
	if (!captured->has_size || captured->size == 0 || captured->size > PNG_MAX_BYTES)
		return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "the daemon sent a picture without a size");
	if (captured->screen && !(incoming->screen = strdup(captured->screen)))
		return -ENOMEM;
	incoming->size = captured->size;
	incoming->width = captured->width;
	incoming->height = captured->height;
	incoming->data = malloc(incoming->size);
	return incoming->data ? 0 : -ENOMEM;
}

int incoming_add(struct incoming *incoming, const Condprof__Captured *captured, struct error *error)
{
	int r = incoming->data ? 0 : begin(incoming, captured, error);

	if (r < 0)
		return r;
	if (captured->data.len > incoming->size - incoming->filled)
		return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO,
				 "the daemon sent more of a picture than it has");
	if (captured->data.len)
		memcpy(incoming->data + incoming->filled, captured->data.data, captured->data.len);
	incoming->filled += captured->data.len;
	return incoming->filled == incoming->size;
}

// --- files -----------------------------------------------------------------------------------------------------------

static enum exit_code read_failed(const struct client *client, const char *path, int errno_value)
{
	return client_fail(client, errno_value == ENOENT || errno_value == ENOTDIR ? EXIT_NOT_FOUND : EXIT_FAILED,
			   "can't read %s: %s", path, strerror(errno_value));
}

enum exit_code read_png_file(const struct client *client, const char *path, size_t most, uint8_t **ret,
			     size_t *ret_size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	CLEANUP_FREE uint8_t *data = NULL;
	struct error error = {0};
	size_t size = 0;
	int width, height;

	if (fd < 0)
		return read_failed(client, path, errno);
	int r = io_read_file(fd, most, &data, &size);
	if (r == -EINVAL)
		return client_fail(client, EXIT_FAILED, "%s is not a file", path);
	if (r == -EFBIG)
		return client_fail(client, EXIT_FAILED,
				   "%s is too large: picture and scenario may have %u MiB together", path,
				   SCENARIO_MAX_BYTES / (1024U * 1024U));
	if (r < 0)
		return read_failed(client, path, -r);
	if (png_peek_size(data, size, &width, &height, &error) < 0)
		return client_fail(client, EXIT_FAILED, "%s: %s", path, error.message);
	*ret = TAKE_POINTER(data);
	*ret_size = size;
	return EXIT_DONE;
}

static enum exit_code write_standard_output(const struct client *client, const uint8_t *data, size_t size)
{
	if (isatty(STDOUT_FILENO))
		return client_fail(client, EXIT_USAGE,
				   "standard output is a terminal, where a PNG file is of no use: name a file");
	fflush(stdout);
	int r = io_write(STDOUT_FILENO, data, size);
	return r < 0 ? client_fail(client, EXIT_FAILED, "can't write to standard output: %s", strerror(-r)) : EXIT_DONE;
}

/// What is no regular file (a FIFO, /dev/null, a symbolic link) is written to; else the name gets a new file.
static bool is_written_to(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static int write_in_place(const char *path, const uint8_t *data, size_t size)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);

	return fd < 0 ? -errno : io_write(fd, data, size);
}

static int write_new(const char *path, const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *temporary = NULL;
	mode_t mask = umask(0);
	int r;

	umask(mask);
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	CLEANUP_CLOSE int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, 0666 & ~mask) < 0 ? -errno : io_write(fd, data, size);
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(temporary);
	return r;
}

/// The name promises another kind of picture.
static bool is_misleading(const char *path)
{
	static const char *const others[] = {".bmp", ".gif", ".jpeg", ".jpg", ".ppm", ".tif", ".tiff", ".webp"};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(others); i++)
		if (strcasecmp(dot, others[i]) == 0)
			return true;
	return false;
}

enum exit_code write_png_file(const struct client *client, const char *path, const uint8_t *data, size_t size)
{
	if (strcmp(path, "-") == 0)
		return write_standard_output(client, data, size);
	int r = is_written_to(path) ? write_in_place(path, data, size) : write_new(path, data, size);
	if (r < 0)
		return client_fail(client, EXIT_FAILED, "can't write %s: %s", path, strerror(-r));
	if (is_misleading(path))
		client_note(client, "%s is a PNG file, whatever its name says", path);
	return EXIT_DONE;
}
