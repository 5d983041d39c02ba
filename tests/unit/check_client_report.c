// SPDX-License-Identifier: GPL-3.0-or-later
/// Reports of every shape, made by hand (tests/support/make_reports.py), in every view, byte for byte (golden.h); and
/// how occurrences and rows are chosen.
#include "client/report/frames.h"
#include "client/report/histogram.h"
#include "client/report/report.h"
#include "client/view/report.h"
#include "client/view/session.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// --- percentiles -----------------------------------------------------------------------------------------------------

static Condprof__Histogram histogram_of(int first, int64_t *buckets, size_t n, int64_t zero, int64_t overflow)
{
	Condprof__Histogram histogram = CONDPROF__HISTOGRAM__INIT;

	histogram.first_bucket = first;
	histogram.buckets = buckets;
	histogram.n_buckets = n;
	histogram.zero = zero;
	histogram.overflow = overflow;
	return histogram;
}

static const struct {
	Condprof__SessionState state;
	bool has_result;
	Condprof__SessionResult result;
	Condprof__EndReason reason;
	const char *text;
} ends[] = {
	{CONDPROF__SESSION_STATE__FINISHED, true, CONDPROF__SESSION_RESULT__SESSION_OK,
	 CONDPROF__END_REASON__REASON_STOPPED, "session 7 finished, ok, after 2.00 s and 1 pass: it was stopped: why"},
	{CONDPROF__SESSION_STATE__FINISHED, true, CONDPROF__SESSION_RESULT__SESSION_FAILED,
	 CONDPROF__END_REASON__REASON_STOPPED,
	 "session 7 finished, failed, after 2.00 s and 1 pass: it was stopped: why"},
	{CONDPROF__SESSION_STATE__FAILED, true, CONDPROF__SESSION_RESULT__SESSION_FAILED,
	 CONDPROF__END_REASON__REASON_SOURCE_FAILED,
	 "session 7 failed after 2.00 s and 1 pass: the screen failed: why"},
	{CONDPROF__SESSION_STATE__INTERRUPTED, false, CONDPROF__SESSION_RESULT__SESSION_OK,
	 CONDPROF__END_REASON__REASON_DAEMON_DIED,
	 "session 7 interrupted after 2.00 s and 1 pass: the daemon died: why"},
};

START_TEST(ends_in_a_sentence)
{
	Condprof__Session session = CONDPROF__SESSION__INIT;

	session.id = 7;
	session.has_reason = true;
	session.passes = 1;
	session.duration_ns = 2000000000;
	session.reason_text = (char[]){"why"};
	session.state = ends[_i].state;
	session.has_result = ends[_i].has_result;
	session.result = ends[_i].result;
	session.reason = ends[_i].reason;
	char *text = ended_session_sentence(&session, false);
	ck_assert_str_eq(text, ends[_i].text);
	free(text);
}
END_TEST

START_TEST(percentile_is_the_bucket_of_the_nth)
{
	int64_t buckets[] = {1, 98, 1}, ns;
	Condprof__Histogram histogram = histogram_of(80, buckets, 3, 0, 0);

	// Bucket 80 is (1024, 1117] ns, its geometric middle 1024 * 2^(1/16).
	ck_assert_int_eq(histogram_percentile(&histogram, 10, 0, INT64_MAX, &ns), 0);
	ck_assert_int_eq(ns, llround(exp2(80.5 / 8)));
	ck_assert_int_eq(histogram_percentile(&histogram, 500, 0, INT64_MAX, &ns), 0);
	ck_assert_int_eq(ns, llround(exp2(81.5 / 8)));
	// The 99th of a hundred is still in the second, the 99.1st is the 100th.
	ck_assert_int_eq(histogram_percentile(&histogram, 990, 0, INT64_MAX, &ns), 0);
	ck_assert_int_eq(ns, llround(exp2(81.5 / 8)));
	ck_assert_int_eq(histogram_percentile(&histogram, 991, 0, INT64_MAX, &ns), 0);
	ck_assert_int_eq(ns, llround(exp2(82.5 / 8)));
}
END_TEST

START_TEST(percentile_is_clamped)
{
	int64_t buckets[] = {3}, ns;
	Condprof__Histogram histogram = histogram_of(80, buckets, 1, 0, 0);

	ck_assert_int_eq(histogram_percentile(&histogram, 500, 1080, 1090, &ns), 0);
	ck_assert_int_eq(ns, 1080);
	ck_assert_int_eq(histogram_percentile(&histogram, 500, 1030, 1040, &ns), 0);
	ck_assert_int_eq(ns, 1040);
}
END_TEST

START_TEST(percentile_of_zero_and_overflow)
{
	int64_t ns;
	Condprof__Histogram histogram = histogram_of(0, NULL, 0, 1, 1);

	ck_assert_int_eq(histogram_percentile(&histogram, 500, 0, 99 * NSEC_PER_SEC, &ns), 0);
	ck_assert_int_eq(ns, 0);
	ck_assert_int_eq(histogram_percentile(&histogram, 900, 0, 99 * NSEC_PER_SEC, &ns), 0);
	ck_assert_int_eq(ns, 99 * NSEC_PER_SEC);
}
END_TEST

START_TEST(wrong_histograms)
{
	int64_t negative[] = {1, -1}, huge[] = {INT64_MAX, 1}, ns = 77;
	int64_t many[HISTOGRAM_BUCKET_COUNT + 1] = {0};
	const Condprof__Histogram wrong[] = {
		histogram_of(0, negative, 2, 0, 0),
		histogram_of(0, huge, 2, 0, 0),
		histogram_of(-1, huge, 1, 0, 0),
		histogram_of(288, huge, 1, 0, 0),
		histogram_of(0, many, 289, 0, 0),
		histogram_of(0, NULL, 0, -1, 0),
		histogram_of(0, NULL, 0, INT64_MAX, INT64_MAX),
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		ck_assert_int_eq(histogram_percentile(&wrong[i], 500, 0, 1, &ns), -EBADMSG);
	const Condprof__Histogram nothing = histogram_of(0, NULL, 0, 0, 0);
	ck_assert_int_eq(histogram_percentile(&nothing, 500, 0, 1, &ns), -ENODATA);
	ck_assert_int_eq(ns, 77);
}
END_TEST

/// Against the definition, on counts of every size.
START_TEST(percentile_ranks)
{
	int64_t buckets[HISTOGRAM_BUCKET_COUNT], ns;

	for (int n = 1; n <= HISTOGRAM_BUCKET_COUNT; n += 7) {
		for (int i = 0; i < n; i++)
			buckets[i] = 1;
		Condprof__Histogram histogram = histogram_of(0, buckets, (size_t)n, 0, 0);
		for (int per_mille = 1; per_mille <= 1000; per_mille += 37) {
			int rank = (n * per_mille + 999) / 1000;

			ck_assert_int_eq(histogram_percentile(&histogram, per_mille, 0, INT64_MAX, &ns), 0);
			ck_assert_int_eq(ns, llround(exp2((rank - 1 + 0.5) / 8)));
		}
	}
}
END_TEST

// --- frames ----------------------------------------------------------------------------------------------------------

START_TEST(frames_in_pieces)
{
	static const uint8_t data[] = {2, 'a', 'b', 0, 1, 'c', 3, 'd', 'e'};
	static const size_t sizes[] = {2, 0, 1};
	const uint8_t *frame, *body;
	size_t frame_size, body_size, found = 0;
	struct frames frames = {0};

	for (size_t at = 0; at < sizeof(data); at += (size_t)_i) {
		ck_assert_int_eq(frames_add(&frames, data + at, MIN((size_t)_i, sizeof(data) - at)), 0);
		while (frames_next(&frames, &frame, &frame_size, &body, &body_size) > 0) {
			ck_assert_uint_eq(body_size, sizes[found++]);
			ck_assert_uint_eq(frame_size, body_size + 1);
		}
	}
	ck_assert_uint_eq(found, 3);
	ck_assert(frames_torn(&frames));
	frames_clear(&frames);
}
END_TEST

START_TEST(frames_do_not_believe_lengths)
{
	static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0x7f, 'a'};
	const uint8_t *frame, *body;
	size_t frame_size, body_size;
	struct frames frames = {0};

	ck_assert_int_eq(frames_add(&frames, huge, sizeof(huge)), 0);
	ck_assert_int_eq(frames_next(&frames, &frame, &frame_size, &body, &body_size), -EBADMSG);
	ck_assert_uint_le(frames.capacity, 100);
	frames_clear(&frames);
}
END_TEST

// --- golden reports --------------------------------------------------------------------------------------------------

static const char *const shapes[] = {"finished",      "first-shape", "timed-shape", "torn",   "empty",
				     "never-checked", "hostile",     "continued",   "dropped"};

static void show(struct render *render, enum view_kind view, struct report *report, const char *shape)
{
	const struct view_options options = {0};
	struct report_query query = {.messages = true, .since_ns = INT64_MIN, .until_ns = INT64_MAX};
	struct report_source *source;
	struct timeline_view timeline;
	struct error error = {0};

	view_report_begin(render, view, report);
	if (view == VIEW_OVERVIEW)
		ck_assert_int_eq(view_overview(render, report), 0);
	if (view == VIEW_CONDITIONS)
		ck_assert_int_eq(view_conditions(render, report, &options), 0);
	if (view == VIEW_EVENTS)
		ck_assert_int_eq(view_events(render, report, &options), 0);
	if (view == VIEW_TIMELINE) {
		source = golden_source(shape, &query);
		view_timeline_begin(&timeline, render, report);
		ck_assert_int_eq(
			report_each_occurrence(source, report, &query, view_timeline_occurrence, &timeline, &error), 0);
		view_timeline_end(&timeline);
		report_source_close(source);
	}
	view_report_end(render, report);
}

START_TEST(printed)
{
	const char *shape = shapes[_i / VIEW_KINDS];
	enum view_kind view = (enum view_kind)(_i % VIEW_KINDS);
	char name[128];

	snprintf(name, sizeof(name), "%s.%s", shape, view_names[view]);
	for (size_t i = 0; i < GOLDEN_OUTPUTS; i++) {
		struct report *report = golden_report(shape);
		struct golden golden = golden_begin(i);

		show(golden.render, view, report, shape);
		golden_end(&golden, name);
		report_free(report);
	}
}
END_TEST

// --- choosing --------------------------------------------------------------------------------------------------------

static void names_of(const struct report *report, const struct view_options *options, bool events, char *out,
		     size_t size)
{
	size_t *indices, n, length = 0;

	ck_assert_int_eq(events ? view_select_events(report, options, &indices, &n)
				: view_select_conditions(report, options, &indices, &n),
			 0);
	*out = 0;
	for (size_t i = 0; i < n; i++)
		length += (size_t)snprintf(out + length, size - length, "%s%s", i > 0 ? "," : "",
					   events ? report->events[indices[i]].name
						  : report->conditions[indices[i]].name);
	free(indices);
}

static const struct {
	enum sort_key sort;
	bool events;
	int64_t top;
	struct view_filter filter;
	const char *names;
} choices[] = {
	{SORT_DEFAULT, false, 0, {0}, "error icon,popup,retries,30 s,orange,restart,go"},
	{SORT_ORDER, false, 0, {0}, "popup,orange,error icon,restart,30 s,retries,go"},
	{SORT_NAME, false, 0, {0}, "30 s,error icon,go,orange,popup,restart,retries"},
	{SORT_CHECKS, false, 3, {0}, "popup,30 s,error icon"},
	{SORT_FULFILLED, false, 1, {0}, "popup"},
	{SORT_AVERAGE, false, 0, {0}, "error icon,popup,orange,retries,30 s,restart,go"},
	{SORT_MAX, false, 2, {0}, "error icon,popup"},
	{SORT_MIN, false, 0, {0}, "error icon,popup,orange,retries,30 s,restart,go"},
	{SORT_P50, false, 2, {0}, "error icon,popup"},
	{SORT_P90, false, 3, {0}, "error icon,popup,orange"},
	{SORT_P99, false, 3, {0}, "error icon,popup,orange"},
	{SORT_SHARE, false, 1, {0}, "error icon"},
	{SORT_DEFAULT, false, 0, {FILTER_TEXT, "RETR"}, "retries"},
	{SORT_DEFAULT, false, 0, {FILTER_TEXT, "give"}, "retries,30 s"},
	{SORT_DEFAULT, false, 0, {FILTER_NAME, "give"}, ""},
	{SORT_DEFAULT, false, 0, {FILTER_EVENT, "error"}, "error icon,restart"},
	{SORT_DEFAULT, false, 0, {FILTER_KIND, "image"}, "error icon,popup,restart"},
	{SORT_DEFAULT, false, 0, {FILTER_KIND, "trigger"}, "retries,30 s,go"},
	{SORT_TOTAL, true, 0, {0}, "error,close popup,give up,told"},
	{SORT_ORDER, true, 0, {0}, "close popup,error,give up,told"},
	{SORT_FULFILLED, true, 2, {0}, "close popup,give up"},
	{SORT_NAME, true, 0, {FILTER_KIND, "screen"}, "close popup,error"},
	{SORT_NAME, true, 0, {FILTER_KIND, "timer"}, "give up"},
};

START_TEST(choose)
{
	struct report *report = golden_report("finished");
	const struct view_options options = {
		.sort = choices[_i].sort,
		.top = choices[_i].top,
		.filters = &choices[_i].filter,
		.n_filters = choices[_i].filter.text ? 1 : 0,
	};
	char names[512];

	names_of(report, &options, choices[_i].events, names, sizeof(names));
	ck_assert_str_eq(names, choices[_i].names);
	report_free(report);
}
END_TEST

struct seen {
	int count;
	int64_t first_ns, last_ns;
};

static int count_occurrence(void *context, const struct occurrence *occurrence)
{
	struct seen *seen = context;

	if (seen->count++ == 0)
		seen->first_ns = occurrence->at_ns;
	seen->last_ns = occurrence->at_ns;
	return 0;
}

static int64_t give_up_id[] = {2};

static const struct {
	struct report_query query;
	struct seen seen;
} queries[] = {
	{{true, INT64_MIN, INT64_MAX, NULL, 0, 0}, {4, 2 * NSEC_PER_SEC, 3900 * NSEC_PER_SEC}},
	{{true, INT64_MIN, INT64_MAX, NULL, 0, 2}, {2, 137040 * NSEC_PER_MSEC, 3900 * NSEC_PER_SEC}},
	{{true, INT64_MIN, INT64_MAX, NULL, 0, 99}, {4, 2 * NSEC_PER_SEC, 3900 * NSEC_PER_SEC}},
	{{true, 3040 * NSEC_PER_MSEC, 3900 * NSEC_PER_SEC, NULL, 0, 0},
	 {2, 3040 * NSEC_PER_MSEC, 137040 * NSEC_PER_MSEC}},
	{{true, INT64_MIN, INT64_MAX, give_up_id, 1, 0}, {2, 137040 * NSEC_PER_MSEC, 3900 * NSEC_PER_SEC}},
	{{true, INT64_MIN, 138 * NSEC_PER_SEC, give_up_id, 1, 1}, {1, 137040 * NSEC_PER_MSEC, 137040 * NSEC_PER_MSEC}},
	{{true, 4000 * NSEC_PER_SEC, INT64_MAX, NULL, 0, 5}, {0, 0, 0}},
};

START_TEST(queried)
{
	struct report *report = golden_report("finished");
	struct report_source *source = golden_source("finished", &queries[_i].query);
	struct error error = {0};
	struct seen seen = {0};

	ck_assert_int_eq(report_each_occurrence(source, report, &queries[_i].query, count_occurrence, &seen, &error),
			 0);
	ck_assert_int_eq(seen.count, queries[_i].seen.count);
	ck_assert_int_eq(seen.first_ns, queries[_i].seen.first_ns);
	ck_assert_int_eq(seen.last_ns, queries[_i].seen.last_ns);
	ck_assert_int_eq(report->damage, 0);
	report_source_close(source);
	report_free(report);
}
END_TEST

/// Choosing by the outermost fields comes to the same as unpacking.
START_TEST(bytes_fit_as_messages_do)
{
	struct report_source *source = golden_source(shapes[_i], &queries[0].query);
	int fitting = 0;
	Condprof__ReportPart part;
	const uint8_t *data, *frame, *body;
	size_t size, frame_size, body_size;
	struct frames frames = {0};
	struct error error = {0};

	while (source->next(source, &part, &data, &size, &error) > 0) {
		ck_assert_int_eq(frames_add(&frames, data, size), 0);
		while (frames_next(&frames, &frame, &frame_size, &body, &body_size) > 0) {
			Condprof__DebugReportMessage *message = report_message_unpack(body, body_size);

			for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
				bool fits = !message || occurrence_fits(message, &queries[i].query);

				ck_assert_int_eq(message_bytes_fit(body, body_size, &queries[i].query), fits);
				fitting += fits;
			}
			if (message)
				condprof__debug_report_message__free_unpacked(message, NULL);
		}
	}
	ck_assert(fitting == 17 || strcmp(shapes[_i], "finished") != 0);
	frames_clear(&frames);
	report_source_close(source);
}
END_TEST

/// What a report goes on from comes once, first, and only where nothing is missing before it.
static const struct {
	const char *shape;
	struct report_query query;
	enum entry_kind first;
	int count;
} beginnings[] = {
	{"continued", {true, INT64_MIN, INT64_MAX, NULL, 0, 0}, ENTRY_CONTINUES, 5},
	{"continued", {true, 0, INT64_MAX, NULL, 0, 0}, ENTRY_CONTINUES, 5},
	{"continued", {true, INT64_MIN, INT64_MAX, NULL, 0, 4}, ENTRY_CONTINUES, 5},
	{"continued", {true, INT64_MIN, 1, NULL, 0, 0}, ENTRY_CONTINUES, 1},
	{"continued", {true, INT64_MIN, INT64_MAX, NULL, 0, 3}, ENTRY_OCCURRENCE, 3},
	{"continued", {true, INT64_MIN, INT64_MAX, NULL, 0, 2}, ENTRY_OCCURRENCE, 2},
	{"continued", {true, 1, INT64_MAX, NULL, 0, 0}, ENTRY_OCCURRENCE, 4},
	{"continued", {true, 3040 * NSEC_PER_MSEC + 1, INT64_MAX, NULL, 0, 0}, ENTRY_OCCURRENCE, 2},
	{"continued", {true, INT64_MIN, INT64_MAX, give_up_id, 1, 0}, ENTRY_OCCURRENCE, 2},
	{"dropped", {true, INT64_MIN, INT64_MAX, NULL, 0, 0}, ENTRY_AFTER_DROPPED, 4},
	{"dropped", {true, 0, INT64_MAX, NULL, 0, 0}, ENTRY_OCCURRENCE, 3},
	{"dropped", {true, INT64_MIN, INT64_MAX, NULL, 0, 2}, ENTRY_OCCURRENCE, 2},
	{"finished", {true, INT64_MIN, INT64_MAX, NULL, 0, 0}, ENTRY_OCCURRENCE, 4},
	{"first-shape", {true, INT64_MIN, INT64_MAX, NULL, 0, 0}, ENTRY_OCCURRENCE, 1},
};

struct entries {
	int count;
	enum entry_kind first;
};

static int note_entry(void *context, const struct occurrence *occurrence)
{
	struct entries *entries = context;

	if (entries->count++ == 0)
		entries->first = occurrence->kind;
	else
		ck_assert_int_eq(occurrence->kind, ENTRY_OCCURRENCE);
	return 0;
}

START_TEST(begun)
{
	struct report *report = golden_report(beginnings[_i].shape);
	struct report_source *source = golden_source(beginnings[_i].shape, &beginnings[_i].query);
	struct error error = {0};
	struct entries entries = {0};

	ck_assert_int_eq(report_each_occurrence(source, report, &beginnings[_i].query, note_entry, &entries, &error),
			 0);
	ck_assert_int_eq(entries.count, beginnings[_i].count);
	ck_assert_int_eq(entries.first, beginnings[_i].first);
	report_source_close(source);
	report_free(report);
}
END_TEST

START_TEST(torn_bytes_fit)
{
	// at 7 ms, an image event of id 2; then everything that is no message
	static const uint8_t whole[] = {0x08, 7, 0x12, 2, 0x08, 2}, later[] = {0x12, 2, 0x08, 2, 0x38, 9};
	const struct report_query in_time = {.since_ns = 7 * NSEC_PER_MSEC,
					     .until_ns = 8 * NSEC_PER_MSEC,
					     .event_ids = give_up_id,
					     .n_event_ids = 1},
				  early = {.since_ns = 0, .until_ns = 10};

	ck_assert(message_bytes_fit(whole, sizeof(whole), &in_time));
	ck_assert(!message_bytes_fit(whole, 2, &in_time));
	ck_assert(message_bytes_fit(whole, 3, &in_time) && message_bytes_fit(whole, 4, &in_time));
	ck_assert(message_bytes_fit(whole, 1, &in_time));
	ck_assert(message_bytes_fit((const uint8_t *)"\x0b", 1, &in_time));
	ck_assert(!message_bytes_fit(whole, 0, &in_time));
	ck_assert(message_bytes_fit(later, sizeof(later), &early) &&
		  !message_bytes_fit(later, sizeof(later), &in_time));
}
END_TEST

START_TEST(figures)
{
	struct report *report = golden_report("finished");
	const struct report_condition *popup = report_condition_by_id(report, 1),
				      *icon = report_condition_by_id(report, 41),
				      *restart = report_condition_by_id(report, 3);
	double variance = 0;

	for (int i = 0; i < 100; i++)
		variance += (i - 49.5) * (i - 49.5) * 1e6 / 99;
	ck_assert_int_eq(condition_average(popup).value, 8049500);
	ck_assert_int_eq(condition_deviation(popup).value, llround(sqrt(variance)));
	ck_assert(!condition_average(restart).known && !condition_deviation(restart).known &&
		  !condition_percentile(restart, 500).known);
	ck_assert_double_eq_tol(popup->share + icon->share, 1, 1e-5);
	ck_assert_int_eq(event_mean_gap(report_event_by_name(report, "close popup")).value, 1040 * NSEC_PER_MSEC);
	ck_assert(!event_mean_gap(report_event_by_name(report, "error")).known);
	ck_assert_ptr_null(report_condition_by_id(report, 42));
	report_free(report);
}
END_TEST

START_TEST(no_report)
{
	struct report_source *source = NULL;
	struct error error = {0};
	char template[] = "/tmp/condprof-XXXXXX";
	char *folder = mkdtemp(template);
	const struct report_query query = REPORT_QUERY_ALL;

	ck_assert_int_eq(report_source_folder("/nonexistent/12", &query, &source, &error), -ENOENT);
	ck_assert_int_eq(report_source_folder("/dev/null", &query, &source, &error), -ENOTDIR);
	ck_assert_int_eq(report_source_folder(folder, &query, &source, &error), -ENOENT);
	ck_assert_ptr_null(source);
	ck_assert_ptr_nonnull(strstr(error.message, "is no report"));
	rmdir(folder);
}
END_TEST

/// A FIFO where a file should be must not hold us up.
START_TEST(no_regular_files)
{
	char template[] = "/tmp/condprof-XXXXXX", path[64];
	char *folder = mkdtemp(template);
	static const char *const names[] = {"scenario.pb", "overview.pb", "checkpoint.pb", "messages.pb", "lock"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		ck_assert_int_eq(mkfifo(path, 0600), 0);
	}
	struct report *report = golden_report(folder);
	ck_assert_int_eq(report->session.state, CONDPROF__SESSION_STATE__INTERRUPTED);
	ck_assert_uint_eq(report->n_conditions, 0);
	report_free(report);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client report");
	TCase *test = tcase_create("histogram");

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return puts("1..0 # SKIP the locale C.UTF-8 is missing") < 0;
	tcase_add_loop_test(test, ends_in_a_sentence, 0, ARRAY_SIZE(ends));
	tcase_add_test(test, percentile_is_the_bucket_of_the_nth);
	tcase_add_test(test, percentile_is_clamped);
	tcase_add_test(test, percentile_of_zero_and_overflow);
	tcase_add_test(test, wrong_histograms);
	tcase_add_test(test, percentile_ranks);
	suite_add_tcase(suite, test);
	test = tcase_create("frames");
	tcase_add_loop_test(test, frames_in_pieces, 1, 10);
	tcase_add_test(test, frames_do_not_believe_lengths);
	suite_add_tcase(suite, test);
	test = tcase_create("reports");
	tcase_add_loop_test(test, printed, 0, ARRAY_SIZE(shapes) * VIEW_KINDS);
	tcase_add_loop_test(test, choose, 0, ARRAY_SIZE(choices));
	tcase_add_loop_test(test, queried, 0, ARRAY_SIZE(queries));
	tcase_add_loop_test(test, bytes_fit_as_messages_do, 0, ARRAY_SIZE(shapes));
	tcase_add_loop_test(test, begun, 0, ARRAY_SIZE(beginnings));
	tcase_add_test(test, torn_bytes_fit);
	tcase_add_test(test, figures);
	tcase_add_test(test, no_report);
	tcase_add_test(test, no_regular_files);
	suite_add_tcase(suite, test);
	return unit_run(suite);
}
