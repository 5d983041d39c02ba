// SPDX-License-Identifier: GPL-3.0-or-later
// libsystemd's notify protocol. A message is one datagram to the service manager's socket; failures are not worth a
// word.
#include "config.h"

#include "daemon/system/notify.h"

#include "proto/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <time.h>

void notify_ready(void)
{
	sd_notify(0, "READY=1");
}

/// sd_notify() waits while the service manager's queue is full, and the control thread must not: a line that finds no
/// room is dropped; mostly the next one tells the same or better. @return whether it was not
static bool notify_now(const char *line)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	CLEANUP_CLOSE int fd = -1;

	if (length < 2 || length >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return true; // nobody wants to know
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd >= 0 && sendto(fd, line, strlen(line), MSG_NOSIGNAL, (struct sockaddr *)&address,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '/'))) >= 0;
}

void notify_stopping(void)
{
	notify_now("STOPPING=1");
}

void notify_reloading(void)
{
	struct timespec now;
	char lines[80];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(lines, sizeof(lines), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
		 (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	notify_now(lines);
}

bool notify_reloaded(void)
{
	return notify_now("READY=1");
}

void notify_status(const char *format, ...)
{
	char line[512] = "STATUS=";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line + strlen(line), sizeof(line) - strlen(line), format, arguments);
	va_end(arguments);
	// A line of its own is another field: names come from outside.
	utf8_make_printable(line);
	notify_now(line);
}

void notify_watchdog(void)
{
	notify_now("WATCHDOG=1");
}

int64_t notify_watchdog_interval_ns(void)
{
	uint64_t usec;

	if (sd_watchdog_enabled(0, &usec) <= 0)
		return 0;
	return (int64_t)MIN(usec, UINT64_C(3600000000)) * NSEC_PER_USEC / 2;
}

int activation_socket(int *ret_fd, struct error *error)
{
	int count = sd_listen_fds(1);

	if (count < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -count, "cannot take over the activation socket");
	if (!count) {
		*ret_fd = -1;
		return 0;
	}
	if (count > 1 || sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_STREAM, 1, NULL, 0) <= 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, EINVAL,
				 "the service manager handed over %d descriptors; one listening Unix stream socket is "
				 "expected (ListenStream= of the socket unit)",
				 count);
	*ret_fd = SD_LISTEN_FDS_START;
	return 0;
}
