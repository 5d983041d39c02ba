// SPDX-License-Identifier: GPL-3.0-or-later
/// The lines that programs look for in the journal, by MESSAGE_ID=. condprofd(8) lists them; an id never changes its
/// meaning.
#ifndef CONDPROF_LOG_MESSAGES_H
#define CONDPROF_LOG_MESSAGES_H

enum log_message {
	LOG_MESSAGE_NONE,
	LOG_MESSAGE_UP,             ///< the daemon listens
	LOG_MESSAGE_STOPPING,       ///< it was told to stop
	LOG_MESSAGE_STARTED,        ///< a session runs: who started it
	LOG_MESSAGE_NOT_STARTED,    ///< one did not start, and why
	LOG_MESSAGE_STOP_ASKED,     ///< who asked for its end
	LOG_MESSAGE_ENDED,          ///< it has ended, and why
	LOG_MESSAGE_STUCK,          ///< it made no progress
	LOG_MESSAGE_INTERRUPTED,    ///< sessions that a daemon before this one left
	LOG_MESSAGE_REFUSED,        ///< somebody may not do what was asked
	LOG_MESSAGE_RELOADED,       ///< the configuration was read again
	LOG_MESSAGE_RELOAD_REFUSED, ///< it has mistakes
	LOG_MESSAGE_LOST,           ///< lines that came faster than they could be written
	LOG_MESSAGE_REPEATED,       ///< lines that were held back
	LOG_MESSAGE_NOTIFY,         ///< a scenario's `notify` action
	LOG_MESSAGE_SCENARIOS,      ///< a scenario was installed or removed, and by whom
	LOG_MESSAGES,
};

/// 32 hexadecimal digits; NULL for LOG_MESSAGE_NONE.
const char *log_message_id(enum log_message message);

#endif
