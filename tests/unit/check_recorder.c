// SPDX-License-Identifier: GPL-3.0-or-later
/// From recorder_push() to a report that reads whole: queue, writer, segments, checkpoints, closing, bad disks.
#include "config.h"

#include "daemon/log/log.h"
#include "daemon/report/files.h"
#include "daemon/report/recorder.h"
#include "proto/frame.h"
#include "tests/support/unit.h"
#include "tests/unit/report_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct store *store;
static struct writer *writer;

static void start(const struct writer_limits *limits)
{
	struct error error = {0};

	ck_assert_msg(store_open(fixture_folder(), NULL, &store, &error) == 0, "%s", error.message);
	ck_assert_int_eq(writer_start(limits, &writer, &error), 0);
}

static void finish(void)
{
	writer = writer_stop(writer);
	store = store_close(store);
	fixture_remove();
}

static void begin(struct fake_session *session, size_t queue_bytes)
{
	struct report_source source = fake_source(session);
	struct report_files *files = NULL;
	struct error error = {0};
	const uint8_t *scenario;
	size_t size;

	scenario = fake_scenario(&size);
	ck_assert_int_eq(store_next_id(store, &session->id, &error), 0);
	ck_assert_msg(store_create(store, session->id, scenario, size, 100000, &files, &error) == 0, "%s",
		      error.message);
	ck_assert_int_eq(recorder_open(writer, files, &source, queue_bytes, &session->recorder, &error), 0);
	ck_assert_int_eq(fake_push_init(session), 0);
}

static void end(struct fake_session *session)
{
	struct error error = {0};

	ck_assert_msg(recorder_close(session->recorder, &error) == 0, "%s", error.message);
	session->recorder = NULL;
}

static void begin_held(struct fake_session *session, size_t queue_bytes, sem_t *hold)
{
	sem_init(hold, 0, 0);
	session->hold = hold;
	begin(session, queue_bytes);
}

static void release(sem_t *hold)
{
	for (int i = 0; i < 1000; i++)
		sem_post(hold);
}

/// Waits for what another thread is about to do.
#define WAIT_UNTIL(condition)                                                                                          \
	do {                                                                                                           \
		for (int ms_ = 0; !(condition); ms_++) {                                                               \
			if (ms_ > 60000)                                                                               \
				ck_abort_msg("in vain: %s", #condition);                                               \
			poll(NULL, 0, 1);                                                                              \
		}                                                                                                      \
	} while (0)

static double counter_of(const Condprof__DebugReportMessage *message, const char *name)
{
	const Condprof__CountersInitMessage *init = message->counters_init;

	ck_assert_int_eq(message->payload_case, CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT);
	for (size_t i = 0; i < init->n_counters; i++) {
		if (strcmp(init->counters[i]->name, name) == 0)
			return init->counters[i]->initial_value;
	}
	return NAN;
}

/// Occurrences ascend, and every counters_init knows the value of "seen" before the next occurrence, lost ones counted
/// in.
static void check_counters(const struct read_report *report, bool complete)
{
	int64_t last = 0;
	double seen = 0;

	for (size_t i = 0; i < report->n_messages; i++) {
		const Condprof__DebugReportMessage *message = report->messages[i];
		int64_t n = occurrence_number(message);

		if (n == 0) {
			seen = counter_of(message, "seen");
			if (seen < (double)last || message->relative_timestamp_ms < last)
				ck_abort_msg("counters_init says %g after occurrence %lld", seen, (long long)last);
			continue;
		}
		if (n <= last || (complete && n != (int64_t)seen + 1))
			ck_abort_msg("occurrence %lld after %lld, seen = %g", (long long)n, (long long)last, seen);
		seen = (double)n;
		last = n;
	}
}

// --- the good days ---------------------------------------------------------------------------------------------------

START_TEST(whole_report)
{
	struct fake_session session = {.n_conditions = 12};
	struct read_report report;
	struct store_entry entry;

	start(NULL);
	begin(&session, RECORDER_QUEUE_BYTES);
	for (int64_t n = 1; n <= 1000; n++)
		ck_assert_int_eq(fake_push(&session, n), 0);
	end(&session);
	read_report(store, session.id, NULL, 1000, &report);
	ck_assert_uint_eq(report.n_messages, 1001);
	ck_assert_int_eq(report.messages[0]->payload_case, CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT);
	for (int64_t n = 1; n <= 1000; n++)
		ck_assert_int_eq(occurrence_number(report.messages[n]), n);
	ck_assert_uint_eq(report.aggregates->condition_profile->n_conditions, 12);
	ck_assert_int_eq(report.overview->frame_count, 1000);
	ck_assert_int_eq(report.overview->lost_occurrences, 0);
	ck_assert_uint_eq(report.sizes[0], fixture_size(fixture_path("reports/1/scenario.pb")));
	ck_assert_int_eq(store_read_entry(store, session.id, &entry, NULL), 0);
	ck_assert(!entry.running && !entry.interrupted);
	ck_assert_str_eq(entry.overview->scenario_name, FAKE_SCENARIO_NAME);
	store_entry_free(&entry);
	read_report_free(&report);
	finish();
}
END_TEST

/// Full segments become numbered ones, the oldest goes beyond the cap, and nothing is lost without being counted.
START_TEST(segments_and_cap)
{
	static const struct writer_limits limits = {.segment_bytes = 4096, .messages_bytes = 5 * 4096};
	struct fake_session session = {.n_conditions = 12};
	struct read_report report;
	char name[32];

	start(&limits);
	begin(&session, RECORDER_QUEUE_BYTES);
	for (int64_t n = 1; n <= 2000; n++)
		ck_assert_int_eq(fake_push(&session, n), 0);
	end(&session);
	read_report(store, session.id, NULL, 4096, &report);
	ck_assert_int_gt(report.overview->dropped_segments, 5);
	ck_assert_int_eq((int64_t)report.n_occurrences + report.overview->dropped_occurrences, 2000);
	ck_assert_int_eq(report.overview->lost_occurrences, 0);
	check_counters(&report, true);
	ck_assert_int_eq(occurrence_number(report.messages[report.n_messages - 1]), 2000);
	ck_assert_double_eq(counter_of(report.messages[0], "other"), 2.5);
	ck_assert_double_eq(counter_of(report.messages[0], "seen"), (double)report.overview->dropped_occurrences);
	uint64_t bytes = fixture_size(fixture_path("reports/1/messages.pb"));
	for (int64_t i = 1, seen = 0; seen < 4 && i < 1000; i++) {
		snprintf(name, sizeof(name), "reports/1/messages.%04d.pb", (int)i);
		if (!fixture_exists(fixture_path("%s", name)))
			continue;
		ck_assert_int_gt(i, report.overview->dropped_segments);
		ck_assert_uint_le(fixture_size(fixture_path("%s", name)), 4096);
		bytes += fixture_size(fixture_path("%s", name));
		seen++;
	}
	ck_assert_uint_le(bytes, limits.messages_bytes);
	read_report_free(&report);
	finish();
}
END_TEST

/// The aggregates go before what is still queued, so that a full disk costs occurrences first.
START_TEST(aggregates_before_the_queue)
{
	struct fake_session session = {.n_conditions = 3};
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct read_report report;
	size_t header, body;
	sem_t hold;

	start(NULL);
	begin_held(&session, RECORDER_QUEUE_BYTES, &hold);
	for (int64_t n = 1; n <= 10; n++)
		fake_push(&session, n);
	release(&hold);
	end(&session);
	read_report(store, session.id, NULL, 4096, &report);
	ck_assert_uint_eq(report.n_occurrences, 10);
	ck_assert_ptr_nonnull(report.aggregates->condition_details);
	bytes = calloc(1, 4096);
	int fd = open(fixture_path("reports/1/messages.pb"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_gt(read(fd, bytes, 4096), 0);
	close(fd);
	// The writer may have taken the queue up to here before it saw that the session ends; the aggregates are in
	// there once.
	size_t found = 0, messages = 0;
	for (const uint8_t *at = bytes; frame_peek(at, 100, 4096, &header, &body) == 1 && body > 0;
	     at += header + body) {
		found += body == report.sizes[2] && memcmp(at + header, report.parts[2], body) == 0;
		messages++;
	}
	ck_assert_uint_eq(found, 1);
	ck_assert_uint_eq(messages, 12);
	read_report_free(&report);
	finish();
}
END_TEST

START_TEST(checkpoints_come_in_time)
{
	static const struct writer_limits limits = {
		.segment_bytes = 1 << 20, .messages_bytes = 1 << 22, .checkpoint_ns = 20 * NSEC_PER_MSEC};
	struct fake_session session = {.n_conditions = 3};
	struct read_report report;
	struct store_entry entry;

	start(&limits);
	begin(&session, RECORDER_QUEUE_BYTES);
	WAIT_UNTIL(fixture_exists(fixture_path("reports/1/checkpoint.pb")));
	for (int64_t n = 1; n <= 5; n++)
		fake_push(&session, n);
	long long before = atomic_load(&session.aggregates);
	WAIT_UNTIL(atomic_load(&session.aggregates) > before + 2);
	ck_assert_int_eq(store_read_entry(store, session.id, &entry, NULL), 0);
	ck_assert(entry.running && !entry.interrupted);
	ck_assert_int_eq(entry.overview->state, CONDPROF__SESSION_STATE__RUNNING);
	ck_assert_int_eq(entry.overview->frame_count, 5);
	store_entry_free(&entry);
	read_report(store, session.id, NULL, 10, &report);
	ck_assert_uint_eq(report.n_occurrences, 5);
	ck_assert_int_eq(report.aggregates->condition_profile->conditions[2]->check_count, 5);
	read_report_free(&report);
	end(&session);
	ck_assert(!fixture_exists(fixture_path("reports/1/checkpoint.pb")));
	ck_assert(!fixture_exists(fixture_path("reports/1/checkpoint.tmp")));
	finish();
}
END_TEST

START_TEST(no_aggregates)
{
	struct fake_session session = {.fail_aggregates = -ENODATA};
	struct read_report report;

	start(NULL);
	begin(&session, RECORDER_QUEUE_BYTES);
	fake_push(&session, 1);
	end(&session);
	read_report(store, session.id, NULL, 10, &report);
	ck_assert_ptr_null(report.aggregates);
	ck_assert_uint_eq(report.n_occurrences, 1);
	read_report_free(&report);
	finish();
}
END_TEST

// --- a slow writer ---------------------------------------------------------------------------------------------------

START_TEST(full_queue)
{
	struct fake_session session = {.n_conditions = 3};
	struct read_report report;
	int64_t lost = 0, n = 1;
	sem_t hold;

	log_set_level(LOG_LEVEL_ERROR);
	start(NULL);
	begin_held(&session, 4096, &hold);
	for (; n <= 500; n++)
		lost += fake_push(&session, n) == -ENOBUFS;
	ck_assert_int_gt(lost, 300);
	ck_assert_int_eq(recorder_lost(session.recorder), lost);
	release(&hold);
	ck_assert_int_eq(fake_push_patiently(&session, n), 0);
	end(&session);
	read_report(store, session.id, NULL, 1000, &report);
	ck_assert_int_eq(report.overview->lost_occurrences, lost);
	ck_assert_uint_eq(report.n_occurrences, (size_t)(501 - lost));
	check_counters(&report, true);
	// behind the loss: the values at the time of the last occurrence that was lost
	const Condprof__DebugReportMessage *resync = report.messages[report.n_messages - 2];
	ck_assert_double_eq(counter_of(resync, "seen"), 500);
	ck_assert_int_eq(resync->actions_completed_at_ns, 500 * NSEC_PER_MSEC);
	ck_assert_int_eq(occurrence_number(report.messages[report.n_messages - 1]), 501);
	read_report_free(&report);
	finish();
}
END_TEST

static void *release_later(void *argument)
{
	poll(NULL, 0, 30);
	release(argument);
	return NULL;
}

/// A replay waits and loses nothing.
START_TEST(waits_for_room)
{
	struct fake_session session = {.n_conditions = 3};
	struct read_report report;
	pthread_t helper;
	sem_t hold;

	start(NULL);
	begin_held(&session, 4096, &hold);
	pthread_create(&helper, NULL, release_later, &hold);
	for (int64_t n = 1; n <= 5000; n++)
		ck_assert_int_eq(fake_push_patiently(&session, n), 0);
	pthread_join(helper, NULL);
	end(&session);
	read_report(store, session.id, NULL, 60000, &report);
	ck_assert_uint_eq(report.n_occurrences, 5000);
	check_counters(&report, true);
	read_report_free(&report);
	finish();
}
END_TEST

/// A stop ends the wait; a message that never fits is not waited for.
START_TEST(wait_is_interruptible)
{
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	Condprof__CountersInitMessage init = CONDPROF__COUNTERS_INIT_MESSAGE__INIT;
	Condprof__CounterInit counter = CONDPROF__COUNTER_INIT__INIT, *list[] = {&counter};
	struct fake_session session = {.n_conditions = 3};
	char name[3000];
	int wake = eventfd(0, EFD_CLOEXEC);
	sem_t hold;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	counter.name = name;
	init.counters = list;
	init.n_counters = 1;
	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT;
	message.counters_init = &init;
	start(NULL);
	begin_held(&session, 4096, &hold);
	ck_assert_int_eq(recorder_wait_room(session.recorder, &message, wake), 0);
	name[1500] = '\0';
	while (recorder_push(session.recorder, &message) == 0)
		;
	ck_assert_int_eq(eventfd_write(wake, 1), 0);
	ck_assert_int_eq(recorder_wait_room(session.recorder, &message, wake), -EINTR);
	release(&hold);
	WAIT_UNTIL(recorder_push(session.recorder, &message) == 0);
	end(&session);
	close(wake);
	finish();
}
END_TEST

// --- bad disks -------------------------------------------------------------------------------------------------------

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/// Writes that fail midway leave whole messages; what is lost is counted; writing goes on when there is room, with the
/// values of the counters first. (check keeps its own notes in a file: under the limit, few assertions.)
START_TEST(disk_full_for_a_while)
{
	struct fake_session session = {.n_conditions = 3};
	struct read_report report;

	log_set_level(LOG_LEVEL_ERROR);
	start(NULL);
	begin(&session, RECORDER_QUEUE_BYTES);
	limit_file_size(1000001);
	for (int64_t n = 1; n <= 60000; n++)
		fake_push_patiently(&session, n);
	WAIT_UNTIL(recorder_lost(session.recorder) > 5000);
	for (int64_t n = 60001; n <= 60100; n++)
		fake_push(&session, n);
	uint64_t size = fixture_size(fixture_path("reports/1/messages.pb"));
	limit_file_size(RLIM_INFINITY);
	ck_assert_uint_le(size, 1000001);
	ck_assert_uint_gt(size, 999000);
	read_report(store, session.id, NULL, 1000, &report);
	ck_assert_int_le((int64_t)report.n_occurrences, 60000 - 5000);
	read_report_free(&report);
	for (int64_t n = 60101; n <= 60200; n++)
		ck_assert_int_eq(fake_push(&session, n), 0);
	end(&session);
	read_report(store, session.id, NULL, 1000, &report);
	ck_assert_int_eq(report.overview->lost_occurrences + (int64_t)report.n_occurrences, 60200);
	ck_assert_int_gt(report.overview->lost_occurrences, 5000);
	ck_assert_int_eq(occurrence_number(report.messages[report.n_messages - 1]), 60200);
	check_counters(&report, true);
	ck_assert_uint_eq(report.aggregates->condition_profile->n_conditions, 3);
	read_report_free(&report);
	finish();
}
END_TEST

/// No room even for the aggregates: said, and the checkpoint has them.
START_TEST(aggregates_do_not_fit)
{
	struct fake_session session = {.n_conditions = 3};
	struct read_report report;
	struct error error = {0};

	log_set_level(LOG_LEVEL_ERROR);
	start(NULL);
	begin(&session, RECORDER_QUEUE_BYTES);
	for (int64_t n = 1; n <= 60000; n++)
		fake_push_patiently(&session, n);
	WAIT_UNTIL(fixture_size(fixture_path("reports/1/messages.pb")) > 1500000);
	limit_file_size(1000000);
	int r = recorder_close(session.recorder, &error);
	limit_file_size(RLIM_INFINITY);
	ck_assert_int_eq(r, -EFBIG);
	ck_assert_ptr_nonnull(strstr(error.message, "aggregates"));
	read_report(store, session.id, NULL, 1000, &report);
	ck_assert_int_eq(report.overview->frame_count, 60000);
	ck_assert_int_eq(report.aggregates->condition_profile->conditions[0]->check_count, 60000);
	ck_assert_int_eq(report.overview->lost_occurrences + (int64_t)report.n_occurrences, 60000);
	read_report_free(&report);
	store = store_close(store);
	// also after the next start
	ck_assert_int_eq(store_open(fixture_path("."), NULL, &store, NULL), 0);
	read_report(store, session.id, NULL, 1000, &report);
	ck_assert_ptr_nonnull(report.aggregates);
	read_report_free(&report);
	finish();
}
END_TEST

/// No overview: the report counts as interrupted, with the last checkpoint's figures.
START_TEST(overview_fails)
{
	struct fake_session session = {.n_conditions = 3};
	struct read_report report;
	struct error error = {0};
	struct store_entry entry;

	log_set_level(LOG_LEVEL_ERROR);
	start(NULL);
	begin(&session, RECORDER_QUEUE_BYTES);
	fake_push(&session, 1);
	WAIT_UNTIL(fixture_exists(fixture_path("reports/1/checkpoint.pb")));
	session.fail_overview = -ENOMEM;
	ck_assert_int_eq(recorder_close(session.recorder, &error), -ENOMEM);
	ck_assert_ptr_nonnull(strstr(error.message, "overview.pb"));
	ck_assert_int_eq(store_read_entry(store, session.id, &entry, NULL), 0);
	ck_assert(entry.interrupted && !entry.running);
	ck_assert_int_eq(entry.overview->state, CONDPROF__SESSION_STATE__INTERRUPTED);
	ck_assert_int_eq(entry.overview->reason, CONDPROF__END_REASON__REASON_DAEMON_DIED);
	store_entry_free(&entry);
	read_report(store, session.id, NULL, 1000, &report);
	ck_assert_int_eq(report.overview->state, CONDPROF__SESSION_STATE__INTERRUPTED);
	ck_assert_uint_eq(report.n_occurrences, 1);
	ck_assert_ptr_nonnull(report.aggregates);
	read_report_free(&report);
	finish();
}
END_TEST

/// The folder vanishes under a running session: the session still ends, with an error.
START_TEST(folder_vanishes)
{
	struct fake_session session = {.n_conditions = 3};
	struct error error = {0};

	log_set_level(LOG_LEVEL_ERROR);
	start(NULL);
	begin(&session, RECORDER_QUEUE_BYTES);
	fake_push(&session, 1);
	WAIT_UNTIL(fixture_exists(fixture_path("reports/1/checkpoint.pb")));
	ck_assert_int_eq(rename(fixture_path("reports/1"), fixture_path("elsewhere")), 0);
	for (const char *const *name = (const char *const[]){"lock", "scenario.pb", "messages.pb", "checkpoint.pb",
							     "checkpoint.tmp", "reserve", NULL};
	     *name; name++)
		unlink(fixture_path("elsewhere/%s", *name));
	ck_assert_int_eq(rmdir(fixture_path("elsewhere")), 0);
	fake_push(&session, 2);
	ck_assert_int_eq(recorder_close(session.recorder, &error), -ENOENT);
	finish();
}
END_TEST

// --- everything at once ----------------------------------------------------------------------------------------------

#define STRESS_SESSIONS 4
#define STRESS_PUSHES 20000

static void *produce(void *argument)
{
	struct fake_session *session = argument;

	for (int64_t n = 1; n <= STRESS_PUSHES; n++) {
		if (session->id % 2 && n % 100 != 0)
			fake_push_patiently(session, n);
		else
			fake_push(session, n);
	}
	return NULL;
}

/// Several engines push, the writer cuts and drops, this thread reads and lists: what is read is always whole.
START_TEST(stress)
{
	static const struct writer_limits limits = {
		.segment_bytes = 50000, .messages_bytes = 300000, .checkpoint_ns = 5 * NSEC_PER_MSEC};
	struct fake_session sessions[STRESS_SESSIONS];
	pthread_t threads[STRESS_SESSIONS];
	struct read_report report;

	log_set_level(LOG_LEVEL_ERROR);
	start(&limits);
	memset(sessions, 0, sizeof(sessions));
	for (int i = 0; i < STRESS_SESSIONS; i++) {
		sessions[i].n_conditions = 20;
		begin(&sessions[i], 32768);
		pthread_create(&threads[i], NULL, produce, &sessions[i]);
	}
	for (int i = 0; i < 200; i++) {
		struct fake_session *session = &sessions[i % STRESS_SESSIONS];
		struct store_entry entry;

		ck_assert_int_eq(store_read_entry(store, session->id, &entry, NULL), 0);
		ck_assert(entry.running);
		store_entry_free(&entry);
		read_report(store, session->id, NULL, 10000, &report);
		check_counters(&report, false);
		read_report_free(&report);
	}
	for (int i = 0; i < STRESS_SESSIONS; i++) {
		pthread_join(threads[i], NULL);
		end(&sessions[i]);
		read_report(store, sessions[i].id, NULL, 10000, &report);
		check_counters(&report, true);
		ck_assert_int_eq((int64_t)report.n_occurrences + report.overview->lost_occurrences +
					 report.overview->dropped_occurrences,
				 STRESS_PUSHES);
		read_report_free(&report);
	}
	finish();
}
END_TEST

// --- kill -9 ---------------------------------------------------------------------------------------------------------

#define KILLS 60

/// Runs short sessions for ever, two at a time, and tells of each that was closed.
static void run_until_killed(int closed_fd)
{
	static const struct writer_limits limits = {
		.segment_bytes = 3000, .messages_bytes = 20000, .checkpoint_ns = 1 * NSEC_PER_MSEC};
	struct error error = {0};

	ck_assert_msg(store_open(fixture_path("."), NULL, &store, &error) == 0, "%s", error.message);
	ck_assert_int_eq(writer_start(&limits, &writer, &error), 0);
	for (;;) {
		struct fake_session sessions[2] = {{.n_conditions = 5}, {.n_conditions = 50}};

		begin(&sessions[0], 8192);
		begin(&sessions[1], 8192);
		for (int64_t n = 1; n <= 100; n++) {
			fake_push_patiently(&sessions[0], n);
			fake_push_patiently(&sessions[1], n);
		}
		for (int i = 0; i < 2; i++) {
			end(&sessions[i]);
			if (write(closed_fd, &sessions[i].id, sizeof(sessions[i].id)) < 0)
				_exit(1);
		}
	}
}

static void check_after_kill(int64_t id, bool was_closed)
{
	struct store_entry entry;
	struct read_report report;

	ck_assert_int_eq(store_read_entry(store, id, &entry, NULL), 0);
	ck_assert(!entry.running);
	ck_assert(!entry.interrupted || !was_closed);
	ck_assert_ptr_nonnull(entry.overview ? entry.overview->scenario_name : entry.scenario_name);
	read_report(store, id, NULL, 500, &report);
	check_counters(&report, true);
	ck_assert_uint_gt(report.sizes[0], 0);
	if (!entry.interrupted) {
		ck_assert_int_eq(report.overview->frame_count, 100);
		ck_assert_int_eq((int64_t)report.n_occurrences + report.overview->dropped_occurrences, 100);
		ck_assert_int_eq(report.aggregates->condition_profile->conditions[4]->check_count, 100);
	} else {
		ck_assert_int_eq(report.overview->state, CONDPROF__SESSION_STATE__INTERRUPTED);
		ck_assert_str_eq(report.overview->scenario_name, FAKE_SCENARIO_NAME);
		ck_assert(!entry.overview || report.aggregates);
	}
	read_report_free(&report);
	store_entry_free(&entry);
}

static void check_all_after_kill(const int64_t *closed, size_t n_closed, int64_t *last_id)
{
	int64_t *ids = NULL, id;
	size_t count = 0, finished = 0;

	ck_assert_int_eq(store_open(fixture_path("."), NULL, &store, NULL), 0);
	ck_assert_int_eq(store_ids(store, &ids, &count, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		bool was_closed = false;

		for (size_t k = 0; k < n_closed; k++)
			was_closed |= closed[k] == ids[i];
		finished += was_closed;
		check_after_kill(ids[i], was_closed);
	}
	ck_assert_uint_eq(finished, n_closed);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(store_delete(store, ids[i], NULL), 0);
	ck_assert_int_eq(store_next_id(store, &id, NULL), 0);
	ck_assert_int_gt(id, *last_id);
	ck_assert(count == 0 || id > ids[count - 1]);
	*last_id = id;
	free(ids);
	store = store_close(store);
}

START_TEST(killed_at_any_moment)
{
	int64_t last_id = 0, closed[1000];
	unsigned random = 1;

	fixture_folder();
	for (int i = 0; i < KILLS; i++) {
		int fds[2];
		ssize_t n;

		ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
		pid_t child = fork();
		if (child == 0) {
			close(fds[0]);
			run_until_killed(fds[1]);
		}
		close(fds[1]);
		random = random * 1103515245U + 12345U;
		usleep((random >> 16) % 40000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		n = read(fds[0], closed, sizeof(closed));
		ck_assert_int_ge(n, 0);
		close(fds[0]);
		check_all_after_kill(closed, (size_t)n / sizeof(*closed), &last_id);
	}
	fixture_remove();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("recorder");
	TCase *tests = tcase_create("recorder");

	tcase_set_timeout(tests, 300);
	tcase_add_test(tests, whole_report);
	tcase_add_test(tests, segments_and_cap);
	tcase_add_test(tests, aggregates_before_the_queue);
	tcase_add_test(tests, checkpoints_come_in_time);
	tcase_add_test(tests, no_aggregates);
	tcase_add_test(tests, full_queue);
	tcase_add_test(tests, waits_for_room);
	tcase_add_test(tests, wait_is_interruptible);
	tcase_add_test(tests, disk_full_for_a_while);
	tcase_add_test(tests, aggregates_do_not_fit);
	tcase_add_test(tests, overview_fails);
	tcase_add_test(tests, folder_vanishes);
	tcase_add_test(tests, stress);
	tcase_add_test(tests, killed_at_any_moment);
	suite_add_tcase(s, tests);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
