// SPDX-License-Identifier: GPL-3.0-or-later
/// What state a report is in: an overview makes it finished, a lock running, neither interrupted. Whatever is damaged
/// reads as if it were not there.
#include "config.h"

#include "daemon/report/disk.h"
#include "daemon/report/files.h"
#include "daemon/report/store-internal.h"

#include "proto/frame.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/// Room for the fields of an interrupted report behind its overview.
#define EXTRA_BYTES 128U

static int unpack(struct report_state *state)
{
	struct capped_allocator capped;
	ProtobufCMessage *message = NULL;
	int r;

	capped_allocator_init(&capped, OVERVIEW_MAX_UNPACKED_BYTES, OVERVIEW_MAX_ALLOCATIONS);
	r = message_unpack(&condprof__debug_report_overview__descriptor, state->bytes, state->size, &capped, &message);
	if (r == 0)
		state->overview = (Condprof__DebugReportOverview *)message;
	return r;
}

/// The first delimited message of the file.
static int read_first(int fd, const char *name, uint8_t *window, struct report_state *state)
{
	CLEANUP_CLOSE int file = disk_open_file(fd, name);
	struct wire wire;
	struct stat info;
	uint64_t begin, end;

	if (file < 0)
		return file;
	if (fstat(file, &info) < 0)
		return -errno;
	wire_file(&wire, file, (uint64_t)info.st_size, window);
	if (wire_delimited(&wire, 0, &begin, &end) <= 0)
		return wire.error < 0 ? wire.error : -EBADMSG;
	if (end - begin > OVERVIEW_MAX_BYTES)
		return -EFBIG;
	state->size = (size_t)(end - begin);
	state->bytes = malloc(state->size + EXTRA_BYTES);
	if (!state->bytes)
		return -ENOMEM;
	return wire_copy(&wire, begin, state->bytes, state->size);
}

/// Its bytes and what was unpacked of them: of a field that comes twice the last one counts.
static void mark_interrupted(struct report_state *state)
{
	Condprof__DebugReportOverview *overview = state->overview;

	overview->has_state = overview->has_reason = true;
	overview->state = CONDPROF__SESSION_STATE__INTERRUPTED;
	overview->reason = CONDPROF__END_REASON__REASON_DAEMON_DIED;
	state->size += wire_put_varint_field(state->bytes + state->size, 51, overview->state);
	state->size += wire_put_varint_field(state->bytes + state->size, 52, overview->reason);
}

/// The session ended, but how is lost: it is not as if the daemon had died.
static int mark_damaged(struct report_state *state)
{
	char *text = strdup(REPORT_DAMAGED_TEXT);

	static_assert(sizeof(REPORT_DAMAGED_TEXT) < EXTRA_BYTES - 32, "it fits behind the overview");
	if (!text)
		return -ENOMEM;
	free(state->overview->reason_text);
	state->overview->reason_text = text;
	state->size += wire_put_varint(state->bytes + state->size, 53 << 3 | 2);
	state->size += wire_put_varint(state->bytes + state->size, strlen(text));
	memcpy(state->bytes + state->size, text, strlen(text));
	state->size += strlen(text);
	return 0;
}

static int read_overview(int fd, const char *name, uint8_t *window, bool interrupted, struct report_state *state)
{
	int r = read_first(fd, name, window, state);

	if (r == 0)
		r = unpack(state);
	if (r == 0 && interrupted)
		mark_interrupted(state);
	if (r < 0) {
		free(state->bytes);
		state->bytes = NULL;
		state->size = 0;
	}
	return r;
}

bool report_is_running(int fd)
{
	CLEANUP_CLOSE int lock = disk_open_file(fd, FILE_LOCK);

	return lock >= 0 && disk_locked(lock);
}

int report_state_read(int fd, uint8_t *window, struct report_state *ret)
{
	struct report_state state = {0};
	int r = read_overview(fd, FILE_OVERVIEW, window, false, &state);

	if (r < 0 && r != -ENOMEM) {
		state.running = report_is_running(fd);
		// It may have been finished between the two looks.
		if (!state.running) {
			r = read_overview(fd, FILE_OVERVIEW, window, false, &state);
			state.interrupted = r < 0;
			state.damaged = r < 0 && r != -ENOENT;
		}
		if (!state.overview && r != -ENOMEM)
			r = read_overview(fd, FILE_CHECKPOINT, window, state.interrupted, &state);
		if (state.overview && state.damaged)
			r = mark_damaged(&state);
	}
	if (r == -ENOMEM) {
		report_state_free(&state);
		return r;
	}
	*ret = state;
	return 0;
}

void report_state_free(struct report_state *state)
{
	free(state->bytes);
	if (state->overview)
		condprof__debug_report_overview__free_unpacked(state->overview, NULL);
	*state = (struct report_state){0};
}

static int add_bytes(void *context, int fd, const char *name)
{
	uint64_t *bytes = context;
	struct stat info;

	if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
		*bytes += disk_bytes_of(&info);
	return 0;
}

uint64_t report_bytes(int fd)
{
	uint64_t bytes = 0;

	disk_each(fd, add_bytes, &bytes);
	return bytes;
}

/// Scenario.name; it comes first in every scenario.pb that we wrote.
char *scenario_name_of_file(int file, uint8_t *window)
{
	struct wire_field field;
	struct stat info;
	struct wire wire;
	uint64_t at = 0;
	char name[NAME_MAX_BYTES + 1];

	if (fstat(file, &info) < 0)
		return NULL;
	wire_file(&wire, file, (uint64_t)info.st_size, window);
	while (wire_next(&wire, &at, wire.limit, &field) > 0) {
		size_t size = (size_t)(field.end - field.begin);

		if (field.number != 1 || field.type != WIRE_BYTES)
			continue;
		if (size > NAME_MAX_BYTES || wire_copy(&wire, field.begin, name, size) < 0 || !utf8_valid(name, size))
			return NULL;
		return strndup(name, size);
	}
	return NULL;
}

char *report_scenario_name(int fd, uint8_t *window)
{
	CLEANUP_CLOSE int file = disk_open_file(fd, FILE_SCENARIO);

	return file < 0 ? NULL : scenario_name_of_file(file, window);
}

/// scenario.pb is written once, when the session's folder is made.
int64_t report_created_ns(int fd)
{
	struct stat info;

	if (fstatat(fd, FILE_SCENARIO, &info, AT_SYMLINK_NOFOLLOW) < 0 && fstat(fd, &info) < 0)
		return 0;
	return info.st_mtim.tv_sec * NSEC_PER_SEC + info.st_mtim.tv_nsec;
}

int report_interrupted_overview(int fd, int64_t id, bool damaged, uint8_t *window, uint8_t **ret, size_t *ret_size)
{
	char text[] = REPORT_DAMAGED_TEXT;
	CLEANUP_FREE char *name = report_scenario_name(fd, window);
	Condprof__DebugReportOverview overview = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT;

	overview.has_session_id = overview.has_state = overview.has_reason = true;
	overview.session_id = id;
	overview.state = CONDPROF__SESSION_STATE__INTERRUPTED;
	overview.reason = CONDPROF__END_REASON__REASON_DAEMON_DIED;
	overview.reason_text = damaged ? text : NULL;
	overview.scenario_name = name;
	overview.started_unix_ns = report_created_ns(fd);
	overview.has_started_unix_ns = overview.started_unix_ns != 0;
	size_t size = protobuf_c_message_get_packed_size(&overview.base);
	uint8_t *bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	*ret_size = protobuf_c_message_pack(&overview.base, bytes);
	*ret = bytes;
	return 0;
}
