// SPDX-License-Identifier: GPL-3.0-or-later
/// What the service manager is told and what it gives: readiness, a line of status, the watchdog, the activation
/// socket. Without a service manager all of it does nothing.
#ifndef CONDPROF_NOTIFY_H
#define CONDPROF_NOTIFY_H

#include "proto/errors.h"

void notify_ready(void);
void notify_stopping(void);
/// The configuration is being read again. Follows notify_ready().
void notify_reloading(void);
/// It was, well or not. @return false: the service manager takes nothing just now, say it again
bool notify_reloaded(void);
/// A line for `systemctl status`.
void notify_status(const char *format, ...) PRINTF_LIKE(1, 2);
void notify_watchdog(void);
/// How often notify_watchdog() is wanted, ns; 0: never.
int64_t notify_watchdog_interval_ns(void);

/// The listening socket that the service manager hands over, or -1 when it has none for us.
/// @return 0, or -EINVAL with an error when what it hands over is not one listening Unix stream socket
int activation_socket(int *ret_fd, struct error *error);

#endif
