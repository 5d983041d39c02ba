// SPDX-License-Identifier: GPL-3.0-or-later
/// Reading reports: of every age and in every state, whole and damaged, filtered in every way, in pieces of any size.
/// Some are made here byte by byte, so that a mistake in what writes them can't hide one in what reads them.
#include "config.h"

#include "daemon/log/log.h"
#include "proto/frame.h"
#include "tests/support/unit.h"
#include "tests/unit/report_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct store *store;

static void setup(void)
{
	struct error error = {0};

	log_set_level(LOG_LEVEL_ERROR);
	ck_assert_msg(store_open(fixture_folder(), NULL, &store, &error) == 0, "%s", error.message);
}

static void teardown(void)
{
	store = store_close(store);
	fixture_remove();
}

static void put_file(const char *name, const void *data, size_t size)
{
	mkdir(fixture_path("reports/1"), 0700);
	fixture_write(fixture_path("reports/1/%s", name), data, size);
}

#define PUT_BYTES(name, bytes) put_file(name, bytes, sizeof(bytes) - 1)

// --- reports of every age, byte by byte ------------------------------------------------------------------------------

/* clang-format off */
/// The first shape: overview without 8 and 9, messages without 5 to 7, counters as integers and doubles.
#define FIRST_OVERVIEW \
	"\x12" "\x08\x03" "\x10\xc8\xdc\x03" "\x18\xd8\x04" "\x20\x04" "\x28\x01" "\x30\x00" "\x3a\x01" "n"
#define FIRST_INIT "\x12" "\x08\x00" "\x22\x0e" "\x0a\x0c" "\x0a\x01" "n" "\x11\x00\x00\x00\x00\x00\x00\x00\x40"
#define FIRST_IMAGE \
	"\x3d" "\x08\xdc\x0b" "\x12\x38" \
		"\x08\x0b" "\x10\x07" "\x18\x0f" \
		"\x22\x0f" "\x08\x15" "\x10\x06" "\x19\xc3\xf5\x28\x5c\x8f\xc2\xed\x3f" "\x20\x01" \
		"\x2a\x19" "\x0a\x01" "n" "\x10\x02" "\x18\x03" \
			"\x21\x00\x00\x00\x00\x00\x00\x00\x40" "\x29\x00\x00\x00\x00\x00\x00\x08\x40" \
		"\x32\x04" "\x08\x0c" "\x10\x01"
#define FIRST_TRIGGER "\x0d" "\x08\x80\x7d" "\x1a\x08" "\x08\x0c" "\x12\x04" "\x08\x16" "\x10\x01"

/// The timed shape: 5 to 7, overview 8 and 9, nothing from 50 on.
#define TIMED_OVERVIEW \
	"\x18" "\x08\x07" "\x10\xa0\x1f" "\x18\x28" "\x20\x05" "\x28\x01" "\x30\x00" "\x40\x80\xb1\x91\x64" "\x48\x80\x86\xf7\x84\x0d"
#define TIMED_IMAGE \
	"\x17" "\x08\xdc\x0b" "\x12\x06" "\x08\x01" "\x10\x07" "\x18\x0f" "\x30\x80\x9c\xc9\x9b\x05" "\x38\x90\xff\xaf\xcb\x05"
#define TIMED_PROFILE_BODY \
	"\x08\xa0\x1f" "\x2a\x25" \
		"\x0a\x15" "\x08\x01" "\x10\x04" "\x18\x01" "\x20\x80\xda\xc4\x09" "\x28\xc0\x96\xb1\x02" "\x30\xc0\x96\xb1\x02" \
		"\x0a\x0c" "\x08\x02" "\x10\x00" "\x18\x00" "\x20\x00" "\x28\x00" "\x30\x00"
#define TIMED_PROFILE "\x2a" TIMED_PROFILE_BODY

/// Ours: a running session's overview {session_id 1, state RUNNING}, and aggregates with 5 and 50.
#define OUR_OVERVIEW "\x06" "\x90\x03\x01" "\x98\x03\x01"
#define OUR_AGGREGATES_BODY "\x2a\x00" "\x92\x03\x00"
#define OUR_AGGREGATES "\x05" OUR_AGGREGATES_BODY
/* clang-format on */

START_TEST(first_shape)
{
	struct read_report report;
	struct store_entry entry;

	PUT_BYTES("overview.pb", FIRST_OVERVIEW);
	PUT_BYTES("messages.pb", FIRST_INIT FIRST_IMAGE FIRST_TRIGGER);
	read_report(store, 1, NULL, 7, &report);
	ck_assert_uint_eq(report.sizes[0], 0);
	ck_assert_ptr_null(report.aggregates);
	ck_assert_int_eq(report.overview->duration_ms, 61000);
	ck_assert(!report.overview->has_active_detection_duration_ns);
	ck_assert(!report.overview->has_execution_limiter_wait_duration_ns);
	ck_assert(!report.overview->has_state);
	ck_assert_uint_eq(report.n_messages, 3);
	ck_assert(!report.messages[1]->has_actions_completed_at_ns);
	ck_assert_double_eq(report.messages[1]->image_event->condition_results[0]->confidence_rate, 0.93);
	ck_assert_int_eq(report.messages[1]->image_event->event_state_changes[0]->event_id, 12);
	ck_assert_int_eq(report.messages[2]->trigger_event->condition_results[0]->condition_id, 22);
	read_report_free(&report);
	ck_assert_int_eq(store_read_entry(store, 1, &entry, NULL), 0);
	ck_assert(!entry.running && !entry.interrupted);
	ck_assert_ptr_null(entry.scenario_name);
	store_entry_free(&entry);
	// filters go by the milliseconds that are there
	struct report_filter filter = {.since_ns = 1500 * NSEC_PER_MSEC, .until_ns = 16000 * NSEC_PER_MSEC};
	read_report(store, 1, &filter, 100, &report);
	ck_assert_uint_eq(report.n_messages, 1);
	ck_assert_int_eq(report.messages[0]->image_event->event_id, 11);
	read_report_free(&report);
}
END_TEST

START_TEST(timed_shape)
{
	struct read_report report;

	PUT_BYTES("overview.pb", TIMED_OVERVIEW);
	PUT_BYTES("messages.pb", TIMED_IMAGE TIMED_PROFILE);
	read_report(store, 1, NULL, 1000, &report);
	ck_assert_int_eq(report.overview->active_detection_duration_ns, 210 * NSEC_PER_MSEC);
	ck_assert_int_eq(report.overview->execution_limiter_wait_duration_ns, 3500 * NSEC_PER_MSEC);
	ck_assert_uint_eq(report.n_messages, 1);
	ck_assert_int_eq(report.messages[0]->detected_at_ns, 1400 * NSEC_PER_MSEC);
	ck_assert_int_eq(report.messages[0]->actions_completed_at_ns, 1500250000);
	ck_assert_uint_eq(report.sizes[2], sizeof(TIMED_PROFILE_BODY) - 1);
	ck_assert_mem_eq(report.parts[2], TIMED_PROFILE_BODY, report.sizes[2]);
	ck_assert_int_eq(report.aggregates->condition_profile->conditions[0]->total_duration_ns, 20 * NSEC_PER_MSEC);
	read_report_free(&report);
	// not the milliseconds, where nanoseconds are there
	struct report_filter filter = {.since_ns = 1500 * NSEC_PER_MSEC, .until_ns = 1500250001};
	read_report(store, 1, &filter, 100, &report);
	ck_assert_uint_eq(report.n_messages, 1);
	read_report_free(&report);
	filter.until_ns--;
	read_report(store, 1, &filter, 100, &report);
	ck_assert_uint_eq(report.n_messages, 0);
	ck_assert_ptr_nonnull(report.aggregates);
	read_report_free(&report);
}
END_TEST

/// Cut off at every byte: what comes out is always the whole messages before the cut.
START_TEST(torn)
{
	static const char bytes[] = FIRST_INIT FIRST_IMAGE TIMED_IMAGE FIRST_TRIGGER;
	const size_t ends[] = {sizeof(FIRST_INIT) - 1, sizeof(FIRST_INIT FIRST_IMAGE) - 1,
			       sizeof(FIRST_INIT FIRST_IMAGE TIMED_IMAGE) - 1, sizeof(bytes) - 1};
	struct read_report report;

	for (size_t size = 0; size < sizeof(bytes); size++) {
		size_t whole = 0;

		while (whole < ARRAY_SIZE(ends) && ends[whole] <= size)
			whole++;
		put_file("messages.pb", bytes, size);
		put_file("checkpoint.pb", OUR_OVERVIEW OUR_AGGREGATES,
			 MIN(size, sizeof(OUR_OVERVIEW OUR_AGGREGATES) - 1));
		read_report(store, 1, NULL, 1000, &report);
		ck_assert_uint_eq(report.n_messages, whole);
		ck_assert_mem_eq(report.parts[3] ? report.parts[3] : (uint8_t *)"", bytes, report.sizes[3]);
		ck_assert(!report.aggregates == (size < sizeof(OUR_OVERVIEW OUR_AGGREGATES) - 1));
		ck_assert_int_eq(report.overview->session_id, 1);
		ck_assert_int_eq(report.overview->state, CONDPROF__SESSION_STATE__INTERRUPTED);
		ck_assert_int_eq(report.overview->reason, CONDPROF__END_REASON__REASON_DAEMON_DIED);
		ck_assert(report.overview->has_started_unix_ns == (size < sizeof(OUR_OVERVIEW) - 1));
		read_report_free(&report);
	}
	// a torn overview is none; neither is this checkpoint
	put_file("overview.pb", TIMED_OVERVIEW, sizeof(TIMED_OVERVIEW) - 2);
	put_file("checkpoint.pb", OUR_OVERVIEW, 5);
	for (int checkpoint = 0; checkpoint < 2; checkpoint++) { // and that it was there is said, not a death
		struct store_entry entry;

		read_report(store, 1, NULL, 1000, &report);
		ck_assert_int_eq(report.overview->state, CONDPROF__SESSION_STATE__INTERRUPTED);
		ck_assert_str_eq(report.overview->reason_text, REPORT_DAMAGED_TEXT);
		read_report_free(&report);
		ck_assert_int_eq(store_read_entry(store, 1, &entry, NULL), 0);
		ck_assert(entry.interrupted && entry.damaged && !entry.overview == !checkpoint);
		store_entry_free(&entry);
		put_file("checkpoint.pb", OUR_OVERVIEW, sizeof(OUR_OVERVIEW) - 1);
	}
}
END_TEST

START_TEST(empty)
{
	struct read_report report;
	struct store_entry entry;

	for (int i = 0; i < 2; i++) {
		mkdir(fixture_path("reports/1"), 0700);
		read_report(store, 1, NULL, 1000, &report);
		ck_assert(!report.parts[0] && !report.parts[2] && !report.parts[3]);
		ck_assert_int_eq(report.overview->session_id, 1);
		ck_assert_int_eq(report.overview->state, CONDPROF__SESSION_STATE__INTERRUPTED);
		ck_assert_ptr_null(report.overview->scenario_name);
		ck_assert(!report.overview->has_frame_count);
		read_report_free(&report);
		ck_assert_int_eq(store_read_entry(store, 1, &entry, NULL), 0);
		ck_assert(entry.interrupted && !entry.overview && !entry.scenario_name);
		ck_assert(entry.damaged == (i == 1)); // an empty overview.pb
		store_entry_free(&entry);
		put_file("overview.pb", "", 0);
		put_file("checkpoint.pb", "", 0);
		put_file("messages.pb", "", 0);
		put_file("messages.0001.pb", "", 0);
		put_file("scenario.pb", "", 0);
	}
}
END_TEST

/// A file that ends in zeros, or in the middle of which nothing can be read: the rest of it is left out, the next file
/// is not.
START_TEST(damage_in_the_middle)
{
	static const char zeros[100000];
	struct read_report report;

	PUT_BYTES("messages.0001.pb",
		  FIRST_INIT FIRST_IMAGE "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" FIRST_IMAGE);
	PUT_BYTES("messages.0002.pb", FIRST_TRIGGER "\x03\xff\xff\xff" FIRST_TRIGGER "\xff\x7f");
	put_file("messages.pb", zeros, sizeof(zeros));
	read_report(store, 1, NULL, 1000, &report);
	ck_assert_uint_eq(report.n_messages, 4);
	ck_assert_uint_eq(report.sizes[3], sizeof(FIRST_INIT FIRST_IMAGE FIRST_TRIGGER FIRST_TRIGGER) - 1);
	ck_assert_mem_eq(report.parts[3], FIRST_INIT FIRST_IMAGE FIRST_TRIGGER FIRST_TRIGGER, report.sizes[3]);
	read_report_free(&report);
}
END_TEST

/// The newest aggregates count, wherever they are; in a report that was not closed the checkpoint's are the last
/// resort.
START_TEST(where_aggregates_are)
{
	struct read_report report;

	PUT_BYTES("checkpoint.pb", OUR_OVERVIEW OUR_AGGREGATES);
	PUT_BYTES("messages.pb", FIRST_IMAGE);
	read_report(store, 1, NULL, 3, &report);
	ck_assert_mem_eq(report.parts[2], OUR_AGGREGATES_BODY, report.sizes[2]);
	read_report_free(&report);
	PUT_BYTES("messages.0001.pb", FIRST_IMAGE TIMED_PROFILE FIRST_TRIGGER);
	read_report(store, 1, NULL, 3, &report);
	ck_assert_uint_eq(report.sizes[2], sizeof(TIMED_PROFILE_BODY) - 1);
	ck_assert_mem_eq(report.parts[2], TIMED_PROFILE_BODY, report.sizes[2]);
	ck_assert_uint_eq(report.n_messages, 3);
	read_report_free(&report);
	PUT_BYTES("messages.0002.pb", OUR_AGGREGATES);
	read_report(store, 1, NULL, 3, &report);
	ck_assert_mem_eq(report.parts[2], OUR_AGGREGATES_BODY, report.sizes[2]);
	read_report_free(&report);
}
END_TEST

START_TEST(no_such_report)
{
	struct report_reader *reader = NULL;
	struct error error = {0};

	ck_assert_int_eq(report_reader_open(store, 1, true, NULL, &reader, &error), -ENOENT);
	ck_assert_int_eq(error.code, CONDPROF__CODE__NO_SUCH_SESSION);
	ck_assert_ptr_null(reader);
	ck_assert_ptr_null(report_reader_close(NULL));
}
END_TEST

START_TEST(without_messages)
{
	struct report_reader *reader = NULL;
	struct read_report report;

	PUT_BYTES("overview.pb", TIMED_OVERVIEW);
	PUT_BYTES("messages.pb", TIMED_IMAGE TIMED_PROFILE);
	ck_assert_int_eq(report_reader_open(store, 1, false, NULL, &reader, NULL), 0);
	read_report_rest(reader, 10, &report);
	ck_assert_ptr_nonnull(report.overview);
	ck_assert_ptr_nonnull(report.aggregates);
	ck_assert_uint_eq(report.sizes[3], 0);
	read_report_free(&report);
	report_reader_close(reader);
}
END_TEST

/// For a running session the engine's own figures take the place of the checkpoint's.
START_TEST(snapshot)
{
	struct report_reader *reader = NULL;
	struct read_report report;
	uint8_t overview[] = {0x18, 99}, aggregates[] = {0x2a, 0};

	PUT_BYTES("checkpoint.pb", OUR_OVERVIEW OUR_AGGREGATES);
	PUT_BYTES("messages.pb", TIMED_IMAGE);
	ck_assert_int_eq(report_reader_open(store, 1, true, NULL, &reader, NULL), 0);
	ck_assert_int_eq(report_reader_use_snapshot(reader, overview, sizeof(overview), aggregates, sizeof(aggregates)),
			 0);
	memset(overview, 0xff, sizeof(overview));
	memset(aggregates, 0xff, sizeof(aggregates));
	read_report_rest(reader, 1000, &report);
	ck_assert_int_eq(report.overview->frame_count, 99);
	ck_assert_ptr_null(report.aggregates->condition_details);
	ck_assert_uint_eq(report.n_messages, 1);
	read_report_free(&report);
	report_reader_close(reader);
}
END_TEST

// --- filters ---------------------------------------------------------------------------------------------------------

#define FILTERED 300

/// A report in many segments, by the real writer.
static void record(struct fake_session *session, size_t segment_bytes)
{
	struct writer_limits limits = {
		.segment_bytes = segment_bytes, .messages_bytes = UINT64_MAX / 4, .checkpoint_ns = NSEC_PER_SEC};
	struct report_source source = fake_source(session);
	struct report_files *files = NULL;
	struct writer *writer = NULL;
	struct error error = {0};
	size_t size;
	const uint8_t *scenario = fake_scenario(&size);

	ck_assert_int_eq(store_next_id(store, &session->id, &error), 0);
	ck_assert_int_eq(store_create(store, session->id, scenario, size, 4000000, &files, &error), 0);
	ck_assert_int_eq(writer_start(&limits, &writer, &error), 0);
	ck_assert_int_eq(recorder_open(writer, files, &source, 1 << 20, &session->recorder, &error), 0);
	fake_push_init(session);
	for (int64_t n = 1; n <= FILTERED; n++)
		fake_push_patiently(session, n);
	ck_assert_int_eq(recorder_close(session->recorder, &error), 0);
	writer_stop(writer);
}

/// What the filter means, said once more: over the whole list, in memory.
static size_t filter_list(const struct read_report *all, const struct report_filter *filter, int64_t *ret_numbers)
{
	size_t count = 0, skip = 0;

	for (size_t i = 0; i < all->n_messages; i++) {
		int64_t n = occurrence_number(all->messages[i]), at = n * NSEC_PER_MSEC;
		bool event = filter->n_event_ids == 0;

		for (size_t k = 0; k < filter->n_event_ids; k++)
			event |= filter->event_ids[k] == 1 + n % 3;
		if (n > 0 && event && at >= filter->since_ns &&
		    (filter->until_ns == INT64_MAX || at < filter->until_ns))
			ret_numbers[count++] = n;
	}
	if (filter->first > 0)
		count = MIN(count, (size_t)filter->first);
	if (filter->last > 0 && (size_t)filter->last < count)
		skip = count - (size_t)filter->last;
	memmove(ret_numbers, ret_numbers + skip, (count - skip) * sizeof(*ret_numbers));
	return count - skip;
}

static void check_filter(const struct read_report *all, int64_t id, const struct report_filter *filter, size_t piece)
{
	int64_t numbers[FILTERED];
	size_t count = filter_list(all, filter, numbers), seen = 0;
	struct read_report report;

	read_report(store, id, filter, piece, &report);
	ck_assert_uint_eq(report.n_occurrences, count);
	for (size_t i = 0; i < report.n_messages; i++) {
		int64_t n = occurrence_number(report.messages[i]);

		if (n != 0 && n != numbers[seen++])
			ck_abort_msg("occurrence %" PRId64 " instead of %" PRId64, n, numbers[seen - 1]);
		if (n == 0 && filter->n_event_ids > 0)
			ck_abort_msg("something else than the events asked for");
	}
	ck_assert_ptr_nonnull(report.aggregates);
	read_report_free(&report);
}

START_TEST(filters)
{
	static const int64_t events[] = {3, 1, 99}, bounds[] = {INT64_MIN, 0, 1, 77, 299, 300, 301, INT64_MAX},
			     counts[] = {0, 1, 7, 150, 300, 1000, INT64_MAX};
	struct fake_session session = {.n_conditions = 3};
	struct read_report all;
	unsigned random = 7;

	record(&session, _i == 0 ? 1500 : 1 << 20);
	read_report(store, session.id, NULL, 999, &all);
	ck_assert_uint_eq(all.n_occurrences, FILTERED);
	for (int i = 0; i < 400; i++) {
		struct report_filter filter = {.event_ids = events};
		unsigned dice[6];

		for (size_t k = 0; k < ARRAY_SIZE(dice); k++) {
			random = random * 1103515245U + 12345U;
			dice[k] = random >> 16;
		}
		filter.since_ns = bounds[dice[0] % ARRAY_SIZE(bounds)];
		filter.until_ns = bounds[dice[1] % ARRAY_SIZE(bounds)];
		if (filter.since_ns > 0 && filter.since_ns < INT64_MAX)
			filter.since_ns *= NSEC_PER_MSEC;
		if (filter.until_ns > 0 && filter.until_ns < INT64_MAX)
			filter.until_ns = filter.until_ns * NSEC_PER_MSEC + 1;
		filter.n_event_ids = dice[2] % (ARRAY_SIZE(events) + 1);
		filter.first = counts[dice[3] % ARRAY_SIZE(counts)];
		filter.last = counts[dice[4] % ARRAY_SIZE(counts)];
		check_filter(&all, session.id, &filter, 1 + dice[5] % 5000);
	}
	read_report_free(&all);
}
END_TEST

/// Aggregates many times as large as the window they are read through.
START_TEST(large_aggregates)
{
	struct fake_session session = {.n_conditions = 20000};
	struct read_report report;

	record(&session, 1 << 20);
	read_report(store, session.id, NULL, 48 * 1024, &report);
	ck_assert_uint_gt(report.sizes[2], 100000);
	ck_assert_uint_eq(report.aggregates->condition_profile->n_conditions, 20000);
	ck_assert_int_eq(report.aggregates->condition_profile->conditions[19999]->check_count, FILTERED);
	ck_assert_uint_eq(report.n_occurrences, FILTERED);
	read_report_free(&report);
}
END_TEST

/// Removed while it is read: said, where something is missing for it.
START_TEST(removed_while_read)
{
	struct fake_session session = {.n_conditions = 3};
	struct report_reader *reader = NULL;
	Condprof__ReportPart part = 0;
	struct error error = {0};
	uint8_t piece[100];
	ssize_t n;

	record(&session, 1500);
	ck_assert_int_eq(report_reader_open(store, session.id, true, NULL, &reader, NULL), 0);
	while (part != CONDPROF__REPORT_PART__PART_MESSAGES)
		ck_assert_int_gt(report_reader_next(reader, piece, sizeof(piece), &part, &error), 0);
	ck_assert_int_eq(store_delete(store, session.id, NULL), 0);
	while ((n = report_reader_next(reader, piece, sizeof(piece), &part, &error)) > 0)
		;
	ck_assert_int_eq(n, -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.message, "removed"));
	report_reader_close(reader);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("reader");
	TCase *tests = tcase_create("reader");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, first_shape);
	tcase_add_test(tests, timed_shape);
	tcase_add_test(tests, torn);
	tcase_add_test(tests, empty);
	tcase_add_test(tests, damage_in_the_middle);
	tcase_add_test(tests, where_aggregates_are);
	tcase_add_test(tests, no_such_report);
	tcase_add_test(tests, without_messages);
	tcase_add_test(tests, snapshot);
	tcase_add_loop_test(tests, filters, 0, 2);
	tcase_add_test(tests, large_aggregates);
	tcase_add_test(tests, removed_while_read);
	suite_add_tcase(s, tests);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
