// SPDX-License-Identifier: GPL-3.0-or-later
/// Logging for every thread: a line is formatted into a bounded queue and written by the log thread, the only one that
/// touches the journal and stderr. A full queue drops lines and counts them; nobody ever waits.
#ifndef CONDPROF_LOG_H
#define CONDPROF_LOG_H

#include "proto/base.h"

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_NOTICE = 5, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

/// Starts the log thread. Before that and after log_stop() lines go to stderr directly.
/// @return 0 or a negative errno (-EBUSY: it runs already); then lines keep going to stderr directly
int log_start(void);
/// Writes what is queued (waits for 2 s at most) and ends the thread.
void log_stop(void);
/// Lines above this level are not even formatted. Default LOG_LEVEL_INFO.
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

/// Lines given up so far because the queue was full. The log thread says so too, once it can.
uint64_t log_lost(void);

/// Where lines go: as they are to a terminal; with the priority in front ("<6>", as sd-daemon(3) has it) to a file or
/// pipe; natively to the journal, when fd 2 is the journal's.
enum log_target { LOG_TO_TERMINAL, LOG_TO_STDERR, LOG_TO_JOURNAL };
/// @param journal_stream value of JOURNAL_STREAM ("device:inode"), or NULL
enum log_target log_target_of(int fd, const char *journal_stream);

/// One line, whatever is in it: control characters become blanks, what is over about 1,000 bytes is cut. Keeps errno.
/// @param session id for the field CONDPROF_SESSION= and the beginning of the line ("session 7: …"), 0: none
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
