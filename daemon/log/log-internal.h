// SPDX-License-Identifier: GPL-3.0-or-later
/// What the files of this folder share: log.c (the queue, its thread), journal.c (a line as fields), levels.c.
#ifndef CONDPROF_LOG_INTERNAL_H
#define CONDPROF_LOG_INTERNAL_H

#include "daemon/log/log.h"

#define LOG_TEXT_BYTES 1024U ///< a line to stderr stays below PIPE_BUF: never torn, never mixed with another's
#define LOG_SCENARIO_BYTES 128U
#define LOG_REASON_BYTES 32U

/// A line on its way.
struct line {
	enum log_level level;
	enum log_module module;
	enum log_message message;
	int64_t session; ///< 0: none
	bool has_peer;
	uid_t uid;
	pid_t pid;
	char scenario[LOG_SCENARIO_BYTES], reason[LOG_REASON_BYTES]; ///< empty: none
	char text[LOG_TEXT_BYTES];
};

enum log_module log_module_of(const char *file);
const char *log_module_name(enum log_module module);

/// Sends it with all its fields. May wait for the journal. @return what sd_journal_sendv() does
int journal_write(const struct line *line);

#endif
