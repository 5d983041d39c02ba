// SPDX-License-Identifier: GPL-3.0-or-later
/// Logging for every thread: a line is formatted into a bounded queue and written by the log thread, the only one that
/// touches the journal and stderr. A full queue drops lines and counts them; nobody ever waits.
#ifndef CONDPROF_LOG_H
#define CONDPROF_LOG_H

#include "proto/base.h"

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_NOTICE = 5, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

/// Starts the log thread. Before that and after log_stop() lines go to stderr directly.
int log_start(void);
/// Writes what is queued (waits for 2 s at most) and ends the thread.
void log_stop(void);
/// Lines above this level are not even formatted. Default LOG_LEVEL_INFO.
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

/// @param session id for the field CONDPROF_SESSION=, 0: none
void log_line(enum log_level level, int64_t session, const char *format, ...) PRINTF_LIKE(3, 4);

#define log_error(...) log_line(LOG_LEVEL_ERROR, 0, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, 0, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, 0, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, 0, __VA_ARGS__)
#define log_debug(...)                                        \
	do {                                                  \
		if (log_enabled(LOG_LEVEL_DEBUG))             \
			log_line(LOG_LEVEL_DEBUG, 0, __VA_ARGS__); \
	} while (0)

#endif
