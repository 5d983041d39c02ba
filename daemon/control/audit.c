// SPDX-License-Identifier: GPL-3.0-or-later
#include "daemon/control/audit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REASON_PREFIX "REASON_"

void audit_refused(const struct peer *peer, const char *what, const char *why)
{
	const struct log_about about = {
		.message = LOG_MESSAGE_REFUSED,
		.has_peer = true,
		.uid = peer->uid,
		.pid = peer->pid,
	};

	log_about(LOG_LEVEL_NOTICE, &about, "user %u, process %d is refused%s%s: %s", peer->uid, (int)peer->pid,
		  what ? " " : "", what ? what : "", why);
}

void audit_stop(const struct peer *peer, bool all, int64_t session, const char *scenario)
{
	const struct log_about about = {
		.message = LOG_MESSAGE_STOP_ASKED,
		.session = session,
		.scenario = scenario,
		.has_peer = true,
		.uid = peer->uid,
		.pid = peer->pid,
		.every = true,
	};

	log_about(LOG_LEVEL_NOTICE, &about, "%s for user %u, process %d", all ? "stops all sessions" : "stops",
		  peer->uid, (int)peer->pid);
}

void audit_scenario(const struct peer *peer, const char *what, const char *name, uint64_t bytes)
{
	const struct log_about about = {
		.message = LOG_MESSAGE_SCENARIOS,
		.has_peer = true,
		.uid = peer->uid,
		.pid = peer->pid,
		.every = true,
	};

	log_about(LOG_LEVEL_NOTICE, &about, "%s the scenario \"%s\" (%" PRIu64 " bytes), for user %u, process %d", what,
		  name, bytes, peer->uid, (int)peer->pid);
}

const char *audit_reason_name(Condprof__EndReason reason, char out[32])
{
	const ProtobufCEnumValue *value =
		protobuf_c_enum_descriptor_get_value(&condprof__end_reason__descriptor, (int)reason);
	const char *name = value ? value->name : "";

	if (!strncmp(name, REASON_PREFIX, strlen(REASON_PREFIX)))
		name += strlen(REASON_PREFIX);
	snprintf(out, 32, "%s", name);
	for (char *c = out; *c; c++)
		*c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
	return out;
}
