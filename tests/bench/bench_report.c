// SPDX-License-Identifier: GPL-3.0-or-later
// What a report costs the engine, and how fast kept ones are listed and read: in a state folder below TMPDIR.
#include "config.h"

#include "daemon/log/log.h"
#include "daemon/report/recorder.h"
#include "daemon/report/store.h"
#include "daemon/report/writer.h"
#include "tests/bench/bench.h"

#include <ftw.h>
#include <string.h>

#define OCCURRENCES 1000000
#define REPORTS 1000
#define MS 1e6

static struct store *store;
static struct writer *writer;
static char folder[256];

static void must(int r, const struct error *error)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_report: %s\n", error->message);
	exit(1);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
	(void)info, (void)type, (void)ftw;
	return remove(path);
}

static int nothing_yet(void *context, uint8_t **ret, size_t *ret_size)
{
	(void)context;
	*ret = calloc(1, 1000); // an unknown field, so that it has a size
	memcpy(*ret, "\xaa\x7f\xe4\x07", 4);
	*ret_size = 1000;
	return *ret ? 0 : -1;
}

static int some_aggregates(void *context, uint8_t **ret, size_t *ret_size)
{
	int r = nothing_yet(context, ret, ret_size);

	if (r == 0)
		memcpy(*ret, "\x2a\x00\xaa\x7f\xe2\x07", 6); // an empty condition_profile
	return r;
}

static struct recorder *begin(int64_t *ret_id)
{
	struct report_source source = {nothing_yet, some_aggregates, NULL};
	struct report_files *files = NULL;
	struct recorder *recorder = NULL;
	struct error error = {0};

	must(store_next_id(store, ret_id, &error), &error);
	must(store_create(store, *ret_id, (const uint8_t *)"", 0, 20000, &files, &error), &error);
	must(recorder_open(writer, files, &source, RECORDER_QUEUE_BYTES, &recorder, &error), &error);
	return recorder;
}

static void end(struct recorder *recorder)
{
	struct error error = {0};

	must(recorder_close(recorder, &error), &error);
}

// One of four conditions and two actions, as a usual event has them.
static void push(struct recorder *recorder, int64_t n, bool patiently)
{
	static Condprof__ImageConditionResult results[4];
	static Condprof__ImageConditionResult *list[] = {&results[0], &results[1], &results[2], &results[3]};
	static Condprof__ActionResult actions[2];
	static Condprof__ActionResult *action_list[] = {&actions[0], &actions[1]};
	Condprof__ImageEventMessage event = CONDPROF__IMAGE_EVENT_MESSAGE__INIT;
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;

	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		condprof__image_condition_result__init(&results[i]);
		results[i].has_condition_id = results[i].has_is_fulfilled = results[i].has_confidence_rate = true;
		results[i].condition_id = (int64_t)i;
		results[i].has_duration_ns = true;
		results[i].duration_ns = 8000000 + n;
		condprof__action_result__init(&actions[i / 2]);
	}
	event.has_event_id = event.has_pass = true;
	event.event_id = 1 + n % 7;
	event.pass = n;
	event.n_condition_results = ARRAY_SIZE(list);
	event.condition_results = list;
	event.n_actions = ARRAY_SIZE(action_list);
	event.actions = action_list;
	message.has_actions_completed_at_ns = message.has_detected_at_ns = true;
	message.actions_completed_at_ns = message.detected_at_ns = n * 10 * NSEC_PER_MSEC;
	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT;
	message.image_event = &event;
	if (patiently)
		recorder_wait_room(recorder, &message, -1);
	recorder_push(recorder, &message);
}

static int64_t record(void)
{
	int64_t id, cpu, begun;
	struct recorder *recorder = begin(&id);

	bench_title("recording: occurrences of four conditions and two actions, as fast as can be, none lost");
	cpu = bench_cpu_ns();
	begun = bench_now_ns();
	for (int64_t n = 1; n <= OCCURRENCES; n++)
		push(recorder, n, true);
	bench_print("cost of one to the engine", (double)(bench_cpu_ns() - cpu) / OCCURRENCES, "ns");
	bench_print("written a second", OCCURRENCES / ((double)(bench_now_ns() - begun) / 1e9), "");
	bench_print("lost", (double)recorder_lost(recorder), "");
	begun = bench_now_ns();
	end(recorder);
	bench_print("closing it", (double)(bench_now_ns() - begun) / MS, "ms");
	return id;
}

static void read_some(int64_t id, const char *what, struct report_filter filter)
{
	static uint8_t piece[48 * 1024];
	struct report_reader *reader = NULL;
	Condprof__ReportPart part;
	struct error error = {0};
	int64_t begun = bench_now_ns();
	size_t bytes = 0;
	ssize_t n;

	must(report_reader_open(store, id, true, &filter, &reader, &error), &error);
	while ((n = report_reader_next(reader, piece, sizeof(piece), &part, &error)) > 0)
		bytes += (size_t)n;
	must((int)n, &error);
	report_reader_close(reader);
	printf("  %-40s %14.6g ms for %zu KiB\n", what, (double)(bench_now_ns() - begun) / MS, bytes / 1024);
}

static void read_it(int64_t id)
{
	static const int64_t event = 3;
	const struct report_filter all = {.since_ns = INT64_MIN, .until_ns = INT64_MAX};
	struct report_filter filter = all;

	bench_title("reading that report");
	read_some(id, "all of it", all);
	filter.last = 10;
	read_some(id, "the last 10", filter);
	filter.last = 100000;
	read_some(id, "the last 100,000", filter);
	filter = all;
	filter.first = 10;
	read_some(id, "the first 10", filter);
	filter = all;
	filter.event_ids = &event;
	filter.n_event_ids = 1;
	read_some(id, "one event of seven", filter);
}

static void list(void)
{
	int64_t *ids = NULL, id, begun = bench_now_ns();
	struct error error = {0};
	size_t count = 0;

	bench_title("many reports");
	for (int i = 1; i < REPORTS; i++)
		end(begin(&id));
	bench_print("a session's folder, made and closed", (double)(bench_now_ns() - begun) / MS / (REPORTS - 1), "ms");
	begun = bench_now_ns();
	must(store_ids(store, &ids, &count, &error), &error);
	for (size_t i = 0; i < count; i++) {
		struct store_entry entry;

		must(store_read_entry(store, ids[i], &entry, &error), &error);
		store_entry_free(&entry);
	}
	printf("  %-40s %14.6g ms for %zu reports\n", "listing", (double)(bench_now_ns() - begun) / MS, count);
	begun = bench_now_ns();
	must(store_vacuum(store, &error), &error);
	bench_print("retention, with nothing to remove", (double)(bench_now_ns() - begun) / MS, "ms");
	free(ids);
}

int main(void)
{
	const char *base = getenv("TMPDIR");
	struct error error = {0};

	log_set_level(LOG_LEVEL_ERROR);
	snprintf(folder, sizeof(folder), "%s/condprof-bench-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(folder))
		return 1;
	must(store_open(folder, NULL, &store, &error), &error);
	must(writer_start(NULL, &writer, &error), &error);
	int64_t id = record();
	read_it(id);
	list();
	writer_stop(writer);
	store_close(store);
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
