// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/report_fixture.h"

#include "daemon/report/recorder.h"
#include "proto/frame.h"
#include "proto/scenario.pb-c.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// --- folders ---------------------------------------------------------------------------------------------------------

static char folder[PATH_MAX / 2];

const char *fixture_folder(void)
{
	const char *base = getenv("TMPDIR");

	fixture_remove();
	snprintf(folder, sizeof(folder), "%s/condprof-report-XXXXXX", base ? base : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	return folder;
}

const char *fixture_path(const char *format, ...)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];
	int length = snprintf(path, PATH_MAX, "%s/", folder);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path + length, PATH_MAX - (size_t)length, format, arguments);
	va_end(arguments);
	return path;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
	(void)info, (void)type, (void)ftw;
	remove(path);
	return 0;
}

void fixture_remove(void)
{
	if (folder[0])
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	folder[0] = '\0';
}

void fixture_write(const char *path, const void *data, size_t size)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
}

bool fixture_exists(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0;
}

uint64_t fixture_size(const char *path)
{
	struct stat info;

	ck_assert_msg(lstat(path, &info) == 0, "%s: %s", path, strerror(errno));
	return (uint64_t)info.st_size;
}

// --- the session -----------------------------------------------------------------------------------------------------

static int pack(const ProtobufCMessage *message, uint8_t **ret, size_t *ret_size)
{
	*ret_size = protobuf_c_message_get_packed_size(message);
	*ret = malloc(*ret_size + 1);
	if (!*ret)
		return -ENOMEM;
	protobuf_c_message_pack(message, *ret);
	return 0;
}

static int fake_overview(void *context, uint8_t **ret, size_t *ret_size)
{
	struct fake_session *session = context;
	Condprof__DebugReportOverview overview = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT;
	CLEANUP_FREE char *text = malloc(session->padding + 1);

	if (session->hold)
		sem_wait(session->hold);
	if (session->fail_overview)
		return session->fail_overview;
	memset(text, 'x', session->padding);
	text[session->padding] = '\0';
	overview.has_session_id = true;
	overview.session_id = session->id;
	overview.has_state = true;
	overview.state = CONDPROF__SESSION_STATE__RUNNING;
	overview.has_frame_count = true;
	overview.frame_count = atomic_load(&session->pushed);
	overview.scenario_name = (char *)FAKE_SCENARIO_NAME;
	overview.reason_text = text;
	atomic_fetch_add(&session->overviews, 1);
	return pack(&overview.base, ret, ret_size);
}

static int fake_aggregates(void *context, uint8_t **ret, size_t *ret_size)
{
	struct fake_session *session = context;
	size_t count = session->n_conditions;
	CLEANUP_FREE Condprof__ConditionTiming *timings = calloc(count + 1, sizeof(*timings));
	CLEANUP_FREE Condprof__ConditionTiming **list = calloc(count + 1, sizeof(Condprof__ConditionTiming *));
	Condprof__ConditionProfile profile = CONDPROF__CONDITION_PROFILE__INIT;
	Condprof__ConditionDetails details = CONDPROF__CONDITION_DETAILS__INIT;
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;

	if (session->fail_aggregates)
		return session->fail_aggregates;
	for (size_t i = 0; i < count; i++) {
		condprof__condition_timing__init(&timings[i]);
		timings[i].has_condition_id = timings[i].has_check_count = true;
		timings[i].condition_id = (int64_t)i + 1;
		timings[i].check_count = atomic_load(&session->pushed);
		list[i] = &timings[i];
	}
	profile.conditions = list;
	profile.n_conditions = count;
	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_CONDITION_PROFILE;
	message.condition_profile = &profile;
	message.condition_details = &details;
	atomic_fetch_add(&session->aggregates, 1);
	return pack(&message.base, ret, ret_size);
}

struct report_source fake_source(struct fake_session *session)
{
	return (struct report_source){fake_overview, fake_aggregates, session};
}

const uint8_t *fake_scenario(size_t *ret_size)
{
	static uint8_t bytes[256];
	Condprof__Scenario scenario = CONDPROF__SCENARIO__INIT;

	scenario.name = (char *)FAKE_SCENARIO_NAME;
	scenario.screen = (char *)"replay:/frames";
	*ret_size = condprof__scenario__pack(&scenario, bytes);
	return bytes;
}

/// An occurrence and all that hangs on it, by value.
struct occurrence {
	Condprof__DebugReportMessage message;
	Condprof__ImageEventMessage event;
	Condprof__ImageConditionResult result;
	Condprof__ImageConditionResult *results[1];
	Condprof__CounterStateChange change;
	Condprof__CounterStateChange *changes[1];
};

static const Condprof__DebugReportMessage *make_occurrence(struct occurrence *occurrence, int64_t n)
{
	Condprof__DebugReportMessage *message = &occurrence->message;
	Condprof__ImageEventMessage *event = &occurrence->event;

	condprof__debug_report_message__init(message);
	condprof__image_event_message__init(event);
	condprof__image_condition_result__init(&occurrence->result);
	condprof__counter_state_change__init(&occurrence->change);
	occurrence->results[0] = &occurrence->result;
	occurrence->changes[0] = &occurrence->change;
	occurrence->result.has_condition_id = true;
	occurrence->result.condition_id = n;
	occurrence->change.name = (char *)"seen";
	occurrence->change.has_new_value = true;
	occurrence->change.new_value = (double)n;
	event->has_event_id = true;
	event->event_id = 1 + n % 3;
	event->n_condition_results = event->n_counter_changes = 1;
	event->condition_results = occurrence->results;
	event->counter_changes = occurrence->changes;
	message->has_relative_timestamp_ms = message->has_actions_completed_at_ns = true;
	message->relative_timestamp_ms = n;
	message->actions_completed_at_ns = n * NSEC_PER_MSEC;
	message->payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT;
	message->image_event = event;
	return message;
}

int fake_push(struct fake_session *session, int64_t n)
{
	struct occurrence occurrence;

	atomic_fetch_add(&session->pushed, 1);
	return recorder_push(session->recorder, make_occurrence(&occurrence, n));
}

int fake_push_patiently(struct fake_session *session, int64_t n)
{
	struct occurrence occurrence;
	const Condprof__DebugReportMessage *message = make_occurrence(&occurrence, n);

	atomic_fetch_add(&session->pushed, 1);
	if (recorder_wait_room(session->recorder, message, -1) != 0)
		ck_abort_msg("waiting for room in vain");
	return recorder_push(session->recorder, message);
}

int fake_push_init(struct fake_session *session)
{
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	Condprof__CountersInitMessage init = CONDPROF__COUNTERS_INIT_MESSAGE__INIT;
	Condprof__CounterInit seen = CONDPROF__COUNTER_INIT__INIT, other = CONDPROF__COUNTER_INIT__INIT;
	Condprof__CounterInit *counters[] = {&seen, &other};

	seen.name = (char *)"seen";
	other.name = (char *)"other";
	seen.has_initial_value = other.has_initial_value = true;
	other.initial_value = 2.5;
	init.counters = counters;
	init.n_counters = ARRAY_SIZE(counters);
	message.has_relative_timestamp_ms = true;
	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT;
	message.counters_init = &init;
	return recorder_push(session->recorder, &message);
}

// --- reading ---------------------------------------------------------------------------------------------------------

/// Room for `more` things of one size behind `used`, a power of two of them: one more a time is a copy a time where
/// realloc() always moves, as under sanitizers.
static void *grow(void *array, size_t used, size_t more, size_t size)
{
	size_t had = 1, room = 1;

	while (had < used)
		had *= 2;
	while (room < used + more)
		room *= 2;
	if (array && room == had)
		return array;
	array = reallocarray(array, room, size);
	ck_assert_ptr_nonnull(array);
	return array;
}

static void split_messages(struct read_report *report)
{
	const uint8_t *at = report->parts[3], *end = report->sizes[3] ? at + report->sizes[3] : at;

	while (at < end) {
		size_t header, body;

		ck_assert_int_eq(frame_peek(at, (size_t)(end - at), SIZE_MAX, &header, &body), 1);
		ck_assert_uint_le(header + body, (size_t)(end - at));
		Condprof__DebugReportMessage *message = condprof__debug_report_message__unpack(NULL, body, at + header);
		ck_assert_ptr_nonnull(message);
		report->messages = grow(report->messages, report->n_messages, 1, sizeof(*report->messages));
		report->messages[report->n_messages++] = message;
		report->n_occurrences += occurrence_number(message) != 0;
		at += header + body;
	}
}

void read_report_rest(struct report_reader *reader, size_t piece, struct read_report *ret)
{
	CLEANUP_FREE uint8_t *buffer = malloc(piece);
	Condprof__ReportPart part, last = 0;
	struct error error = {0};
	ssize_t n;

	*ret = (struct read_report){0};
	while ((n = report_reader_next(reader, buffer, piece, &part, &error)) > 0) {
		ck_assert_int_ge(part, last);
		last = part;
		ret->parts[part] = grow(ret->parts[part], ret->sizes[part], (size_t)n, 1);
		memcpy(ret->parts[part] + ret->sizes[part], buffer, (size_t)n);
		ret->sizes[part] += (size_t)n;
	}
	ck_assert_msg(n == 0, "%s", error.message);
	if (ret->parts[1])
		ret->overview = condprof__debug_report_overview__unpack(NULL, ret->sizes[1], ret->parts[1]);
	if (ret->parts[2])
		ret->aggregates = condprof__debug_report_message__unpack(NULL, ret->sizes[2], ret->parts[2]);
	ck_assert(!ret->parts[1] == !ret->overview && !ret->parts[2] == !ret->aggregates);
	split_messages(ret);
}

void read_report(struct store *store, int64_t id, const struct report_filter *filter, size_t piece,
		 struct read_report *ret)
{
	struct report_reader *reader = NULL;
	struct error error = {0};
	int r = report_reader_open(store, id, true, filter, &reader, &error);

	ck_assert_msg(r == 0, "%s", error.message);
	read_report_rest(reader, piece, ret);
	report_reader_close(reader);
}

void read_report_free(struct read_report *report)
{
	for (size_t i = 0; i < ARRAY_SIZE(report->parts); i++)
		free(report->parts[i]);
	for (size_t i = 0; i < report->n_messages; i++)
		condprof__debug_report_message__free_unpacked(report->messages[i], NULL);
	free(report->messages);
	if (report->overview)
		condprof__debug_report_overview__free_unpacked(report->overview, NULL);
	if (report->aggregates)
		condprof__debug_report_message__free_unpacked(report->aggregates, NULL);
	*report = (struct read_report){0};
}

int64_t occurrence_number(const Condprof__DebugReportMessage *message)
{
	if (message->payload_case != CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT)
		return 0;
	return message->relative_timestamp_ms;
}
