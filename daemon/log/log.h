// SPDX-License-Identifier: GPL-3.0-or-later
/// Logging for every thread: a line is formatted into a bounded queue and written by the log thread, the only one that
/// touches the journal and stderr. A full queue drops lines and counts them; nobody ever waits. Faults that repeat are
/// held back and counted (repeats.h).
#ifndef CONDPROF_LOG_H
#define CONDPROF_LOG_H

#include "daemon/log/messages.h"
#include "proto/base.h"

#include <sys/types.h>

enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7
};

/// The folder that a line comes from; LOG_MAIN: none of the others.
enum log_module {
	LOG_MAIN,
	LOG_BUS,
	LOG_CONTROL,
	LOG_DETECT,
	LOG_ENGINE,
	LOG_INPUT,
	LOG_REPORT,
	LOG_SCENARIO,
	LOG_SCREEN,
	LOG_SYSTEM,
	LOG_MODULES,
};

struct log_levels {
	enum log_level of[LOG_MODULES];
};

/// Starts the log thread. Before that and after log_stop() lines go to stderr directly.
/// @return 0 or a negative errno (-EBUSY: it runs already); then lines keep going to stderr directly
int log_start(void);
/// Writes what is queued (waits for 2 s at most) and ends the thread.
void log_stop(void);

/// "LEVEL", "MODULE:LEVEL" or several of them, with blanks or commas between: "info engine:debug". A module that is not
/// named has the level that stands alone, else info; the last word about one counts.
/// @param ret_wrong the first word that is none of these, cut to fit
/// @return whether all of them are
bool log_levels_parse(const char *text, struct log_levels *ret, char *ret_wrong, size_t wrong_size);
/// Lines above their module's level are not even formatted. Default: info everywhere.
void log_set_levels(const struct log_levels *levels);
/// One level for all.
void log_set_level(enum log_level level);
bool log_enabled_in(const char *file, enum log_level level);
#define log_enabled(level) log_enabled_in(__FILE__, level)

/// Lines given up so far because the queue was full. The log thread says so too, once it can.
uint64_t log_lost(void);

/// Where lines go: as they are to a terminal; with the priority in front ("<6>", as sd-daemon(3) has it) to a file or
/// pipe; natively to the journal, when fd 2 is the journal's.
enum log_target { LOG_TO_TERMINAL, LOG_TO_STDERR, LOG_TO_JOURNAL };
/// @param journal_stream value of JOURNAL_STREAM ("device:inode"), or NULL
enum log_target log_target_of(int fd, const char *journal_stream);

/// What a line is about: fields in the journal. All copied.
struct log_about {
	enum log_message message; ///< LOG_MESSAGE_NONE: no MESSAGE_ID=
	int64_t session;          ///< CONDPROF_SESSION=, and the beginning of the line ("session 7: …"); 0: none
	const char *scenario;     ///< CONDPROF_SCENARIO=; NULL: none
	const char *reason;       ///< CONDPROF_REASON=, why a session ended, as in JSON; NULL: none
	bool has_peer;            ///< CONDPROF_UID= and CONDPROF_PID=: who asked for it
	uid_t uid;
	pid_t pid;
	bool every; ///< not to be held back, however often it comes: a person wrote it
};

/// One line, whatever is in it: control characters become blanks, what is over about 1,000 bytes is cut. Keeps errno.
/// @param file __FILE__, which says the module
/// @param about NULL: nothing
void log_write(const char *file, enum log_level level, const struct log_about *about, const char *format, ...)
	PRINTF_LIKE(4, 5);

#define log_about(level, about, ...) log_write(__FILE__, level, about, __VA_ARGS__)
/// @param session_id 0: none
#define log_line(level, session_id, ...)                                                                               \
	log_write(__FILE__, level, &(struct log_about){.session = (session_id)}, __VA_ARGS__)
#define log_error(...) log_write(__FILE__, LOG_LEVEL_ERROR, NULL, __VA_ARGS__)
#define log_warning(...) log_write(__FILE__, LOG_LEVEL_WARNING, NULL, __VA_ARGS__)
#define log_notice(...) log_write(__FILE__, LOG_LEVEL_NOTICE, NULL, __VA_ARGS__)
#define log_info(...) log_write(__FILE__, LOG_LEVEL_INFO, NULL, __VA_ARGS__)
#define log_debug(...)                                                                                                 \
	do {                                                                                                           \
		if (log_enabled(LOG_LEVEL_DEBUG))                                                                      \
			log_write(__FILE__, LOG_LEVEL_DEBUG, NULL, __VA_ARGS__);                                       \
	} while (0)

#endif
