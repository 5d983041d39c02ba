// SPDX-License-Identifier: GPL-3.0-or-later
/// The values of a session's counters, followed from its messages: what a new segment's counters_init says. Knows only
/// what went by; used by the writer's thread alone.
#ifndef CONDPROF_COUNTERS_H
#define CONDPROF_COUNTERS_H

#include "daemon/report/wire.h"

struct counter_value {
	char *name;
	double value;
};

/// Zeroed is empty.
struct counters {
	struct counter_value *items;
	size_t count, room;
	int64_t relative_ms, at_ns; ///< of the newest message that went by
};

void counters_free(struct counters *counters);
/// Takes over what a message says. @return 0, -EBADMSG or -ENOMEM: some of it may be missing then
int counters_follow(struct counters *counters, struct wire *wire, const struct message_summary *summary);
/// A delimited DebugReportMessage with all values. *ret is the caller's.
int counters_pack(const struct counters *counters, uint8_t **ret, size_t *ret_size);

#endif
