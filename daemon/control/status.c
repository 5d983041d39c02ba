// SPDX-License-Identifier: GPL-3.0-or-later
#include "daemon/control/status.h"

#include "daemon/control/sessions-internal.h"
#include "daemon/system/notify.h"

#include <inttypes.h>
#include <stdio.h>

static size_t add_session(char *out, size_t size, const struct session_record *record, bool first)
{
	int n = snprintf(out, size, "%s%" PRId64 " %.80s", first ? ": " : ", ", record->id,
			 record->scenario ? record->scenario : "");

	return n < 0 ? 0 : (size_t)n;
}

void status_tell(const struct sessions *sessions)
{
	const struct session_entry *entry = NULL;
	char list[200] = "";
	size_t used = 0;

	if (sessions->control->stopping)
		return;
	while ((entry = sessions_next(sessions, entry)) && used < sizeof(list))
		used += add_session(list + used, sizeof(list) - used, &entry->record, !used);
	if (!sessions->count)
		notify_status("no session runs");
	else
		notify_status("%u session%s%s%s", sessions->count, sessions->count == 1 ? "" : "s", list,
			      used < sizeof(list) ? "" : "…");
}
