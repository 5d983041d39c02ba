// SPDX-License-Identifier: GPL-3.0-or-later
// libsystemd's notify protocol. A message is one datagram to the service manager's socket; failures are not worth a
// word.
#include "config.h"

#include "daemon/system/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

void notify_ready(void)
{
	sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

void notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void notify_status(const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	sd_notifyf(0, "STATUS=%s", text);
}

void notify_watchdog(void)
{
	sd_notify(0, "WATCHDOG=1");
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
