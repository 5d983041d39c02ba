// SPDX-License-Identifier: GPL-3.0-or-later
/// From recorder_push() to a report that reads whole: queue, writer, segments, checkpoints, closing, bad disks.
#include "config.h"

#include "daemon/report/files.h"
#include "daemon/report/recorder.h"
#include "proto/frame.h"
#include "tests/support/unit.h"
#include "tests/unit/report_fixture.h"

#include <errno.h>
#include <string.h>

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

static Suite *suite(void)
{
	Suite *s = suite_create("recorder");
	TCase *tests = tcase_create("recorder");

	tcase_add_test(tests, whole_report);
	suite_add_tcase(s, tests);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
