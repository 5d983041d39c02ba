// SPDX-License-Identifier: GPL-3.0-or-later
/// The daemon's configuration: `key = value` lines of one file and of the drop-ins beside it, read once into an object
/// that never changes afterwards; a reload makes another one. condprofd.conf(5) documents every key.
#ifndef CONDPROF_CONFIGURATION_H
#define CONDPROF_CONFIGURATION_H

#include "daemon/log/log.h"

#include <sys/types.h>

/// Belongs to nobody in particular: configuration_ref() and configuration_unref(), all on one thread.
struct configuration {
	unsigned references;
	char *control_group, *observe_group; ///< names; NULL: nobody but root and the daemon's user
	gid_t control_gid, observe_gid;      ///< only with a name
	char **frame_folders;                ///< NULL-terminated absolute paths; NULL: anywhere
	char *xauthority;                    ///< NULL: the environment's
	char *secrets_file;                  ///< NULL: none
	struct log_levels log_levels;
	uint64_t max_reports;        ///< kept by retention
	uint64_t max_report_bytes;   ///< of all reports together
	uint64_t max_messages_bytes; ///< of the messages of one report
	uint64_t record_max_bytes;   ///< of one recording
	int64_t rotate_ns;           ///< reports of sessions whose scenario says nothing of it; 0: never
};

/// The configuration when no file says anything.
int configuration_new(struct configuration **ret);

/// Reads `path`, then the drop-ins PATH.d/*.conf in name order; a later line wins over an earlier file's.
/// @param must_exist false: a missing file is the same as an empty one
/// @param ret_mistakes on -EINVAL: lines "file:line: what is wrong", the caller's to free
/// @return 0, -EINVAL (mistakes), -ENOMEM
int configuration_load(const char *path, bool must_exist, struct configuration **ret, char **ret_mistakes);

/// The same for one file's text, without drop-ins and environment.
/// @param name in front of what is wrong
int configuration_parse(const char *name, const char *data, size_t data_size, struct configuration **ret,
			char **ret_mistakes);

struct configuration *configuration_ref(struct configuration *configuration);
struct configuration *configuration_unref(struct configuration *configuration);

/// Names of all keys, in the man page's order. @param ret_count how many
const char *const *configuration_keys(size_t *ret_count);

#endif
