// SPDX-License-Identifier: GPL-3.0-or-later
// The figures: buckets, arithmetic, the time tree, what a report makes of them, and snapshots while they are written.
#include "daemon/engine/aggregates.h"
#include "tests/support/engine_fakes.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

// --- histogram -------------------------------------------------------------------------------------------------------

// n^8, exactly: 32-bit digits, lowest first.
struct big {
	uint32_t digits[10];
};

static struct big multiply(const struct big *a, const struct big *b)
{
	struct big product = {0};

	for (int i = 0; i < 10; i++) {
		uint64_t carry = 0;

		for (int j = 0; i + j < 10; j++) {
			uint64_t t = (uint64_t)a->digits[i] * b->digits[j] + product.digits[i + j] + carry;

			product.digits[i + j] = (uint32_t)t;
			carry = t >> 32;
		}
	}
	return product;
}

// Whether n <= 2^(eighths/8), by n^8 <= 2^eighths.
static bool at_most(uint64_t n, uint32_t eighths)
{
	struct big x = {{(uint32_t)n, (uint32_t)(n >> 32)}};

	for (int i = 0; i < 3; i++)
		x = multiply(&x, &x);
	for (int i = 9; i >= 0; i--) {
		uint32_t bound = (uint32_t)i == eighths / 32 ? UINT32_C(1) << eighths % 32 : 0;

		if (x.digits[i] != bound)
			return x.digits[i] < bound;
	}
	return true;
}

static uint32_t expected_slot(uint64_t n)
{
	if (n == 0)
		return 0;
	for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
		if (at_most(n, bucket + 1))
			return 1 + bucket;
	}
	return HISTOGRAM_SLOTS - 1;
}

START_TEST(test_bucket_bounds)
{
	for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
		uint64_t near = (uint64_t)exp2((bucket + 1) / 8.0);

		for (uint64_t n = near > 3 ? near - 3 : 0; n <= near + 3; n++)
			ck_assert_msg(histogram_slot((int64_t)n) == expected_slot(n), "%llu ns is in slot %u, not %u",
				      (unsigned long long)n, histogram_slot((int64_t)n), expected_slot(n));
	}
}
END_TEST

START_TEST(test_bucket_examples)
{
	ck_assert_uint_eq(histogram_slot(0), 0);
	ck_assert_uint_eq(histogram_slot(1), 1); // its lower bound is inclusive
	ck_assert_uint_eq(histogram_slot(2), 1 + 7);
	for (uint32_t exponent = 1; exponent <= 36; exponent++) {
		int64_t n = INT64_C(1) << exponent;

		// a power of two is the upper bound of its bucket
		ck_assert_uint_eq(histogram_slot(n), 8 * exponent);
		if (exponent < 36)
			ck_assert_uint_gt(histogram_slot(n + 1), 8 * exponent);
	}
	ck_assert_uint_eq(histogram_slot(INT64_C(1) << 36), HISTOGRAM_BUCKETS);
	ck_assert_uint_eq(histogram_slot((INT64_C(1) << 36) + 1), HISTOGRAM_SLOTS - 1);
	ck_assert_uint_eq(histogram_slot(INT64_MAX), HISTOGRAM_SLOTS - 1);
}
END_TEST

START_TEST(test_bucket_all_small)
{
	for (uint64_t n = 0; n < 3000; n++)
		ck_assert_uint_eq(histogram_slot((int64_t)n), expected_slot(n));
}
END_TEST

// --- arithmetic ------------------------------------------------------------------------------------------------------

static struct maker *two_events(void)
{
	struct maker *maker = maker_new();

	maker_event(maker, "first", false, false);
	maker_image(maker, "a", true);
	maker_image(maker, "b", true);
	maker_event(maker, "second", true, true);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	return maker;
}

static struct timing *new_timing(const struct maker *maker)
{
	struct timing *timing;

	ck_assert_int_eq(timing_new(&maker->scenario, stepped_clock, &timing), 0);
	return timing;
}

// A check of exactly `ns` on the stepped clock.
static void check_with(struct timing *timing, uint32_t condition, int64_t ns, int64_t pass,
		       const struct check_result *result)
{
	int64_t begin = timing_check_begin(timing);

	stepped_clock_now_ns += ns - stepped_clock_step_ns;
	timing_check_end(timing, condition, begin, pass, result);
}

static void check_of(struct timing *timing, uint32_t condition, int64_t ns, int64_t pass, bool fulfilled, bool reused)
{
	check_with(timing, condition, ns, pass, &(struct check_result){.fulfilled = fulfilled, .reused = reused});
}

static int64_t histogram_sum(const struct histogram *histogram)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++)
		sum += histogram->slots[i];
	return sum;
}

START_TEST(test_arithmetic)
{
	static const int64_t durations[] = {70, 5, 1, 900000007, 0, 5, 68719476736, 68719476737, 12345678901, 64};
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct condition_figures f;
	int64_t total = 0;
	long double squares = 0;

	stepped_clock_reset(1);
	timing_start(timing);
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		check_of(timing, 1, durations[i], (int64_t)i + 1, i % 3 == 0, i == 2);
		total += durations[i];
		squares += (long double)durations[i] * (long double)durations[i];
	}
	timing_condition_figures(timing, 1, &f);
	ck_assert_int_eq(f.checks, ARRAY_SIZE(durations));
	ck_assert_int_eq(f.fulfilled, 4);
	ck_assert_int_eq(f.total_ns, total);
	ck_assert_int_eq(f.min_ns, 0);
	ck_assert_int_eq(f.max_ns, 68719476737);
	ck_assert_int_eq(f.max_pass, 8);
	ck_assert_int_eq(f.reused, 1);
	ck_assert_int_eq(f.reused_ns, 1);
	ck_assert(fabsl((long double)f.squares_ns2 - squares) <= 1e-12L * squares);
	ck_assert_int_eq(histogram_sum(&f.histogram), f.checks);
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
		ck_assert_int_eq(f.histogram.slots[expected_slot((uint64_t)durations[i])], durations[i] == 5 ? 2 : 1);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

// Durations from 0 ns to 100 s, each power of two alike, and both sides of every bucket's bound.
#define KNOWN_DURATIONS 4096U
#define HUNDRED_SECONDS (100 * NSEC_PER_SEC)

struct known {
	int64_t durations[KNOWN_DURATIONS];
	uint32_t slots[KNOWN_DURATIONS];
};

static void known_init(struct known *known)
{
	srandom(11);
	for (uint32_t i = 0; i < KNOWN_DURATIONS; i++) {
		int64_t ns = (int64_t)exp2((double)random() / RAND_MAX * log2(1e11));

		if (i < 2 * HISTOGRAM_BUCKETS)
			ns = (int64_t)exp2((double)(i / 2 + 1) / 8) + i % 2;
		known->durations[i] = MIN(ns, HUNDRED_SECONDS);
	}
	known->durations[KNOWN_DURATIONS - 2] = 0;
	known->durations[KNOWN_DURATIONS - 1] = HUNDRED_SECONDS;
	for (uint32_t i = 0; i < KNOWN_DURATIONS; i++)
		known->slots[i] = expected_slot((uint64_t)known->durations[i]);
}

// What a condition's figures have to be, by whole numbers.
struct expected {
	int64_t checks, fulfilled, total_ns, min_ns, max_ns, max_pass, max_at_ns;
	unsigned __int128 squares_ns2;
	int64_t slots[HISTOGRAM_SLOTS];
};

static void expect_check(struct expected *expected, int64_t ns, uint32_t slot, int64_t pass, int64_t at_ns,
			 bool fulfilled)
{
	if (!expected->checks || ns < expected->min_ns)
		expected->min_ns = ns;
	if (!expected->checks || ns > expected->max_ns) {
		expected->max_ns = ns;
		expected->max_pass = pass;
		expected->max_at_ns = at_ns;
	}
	expected->checks++;
	expected->fulfilled += fulfilled;
	expected->total_ns += ns;
	expected->squares_ns2 += (unsigned __int128)((uint64_t)ns) * (uint64_t)ns;
	expected->slots[slot]++;
}

static void compare_figures(struct timing *timing, uint32_t condition, const struct expected *expected)
{
	long double squares = (long double)expected->squares_ns2;
	struct condition_figures f;

	timing_condition_figures(timing, condition, &f);
	ck_assert_int_eq(f.checks, expected->checks);
	ck_assert_int_eq(f.fulfilled, expected->fulfilled);
	ck_assert_int_eq(f.total_ns, expected->total_ns);
	ck_assert_int_eq(f.min_ns, expected->min_ns);
	ck_assert_int_eq(f.max_ns, expected->max_ns);
	ck_assert_int_eq(f.max_pass, expected->max_pass);
	ck_assert_int_eq(f.max_at_ns, expected->max_at_ns);
	ck_assert(fabsl((long double)f.squares_ns2 - squares) <= 1e-12L * squares);
	ck_assert_int_eq(histogram_sum(&f.histogram), f.checks);
	ck_assert_mem_eq(f.histogram.slots, expected->slots, sizeof(expected->slots));
}

START_TEST(test_ten_million_checks)
{
	static struct known known;
	static struct expected expected[2];
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct session_figures s;
	uint64_t next = 1;
	int64_t start;

	memset(expected, 0, sizeof(expected));
	known_init(&known);
	stepped_clock_reset(0);
	timing_start(timing);
	start = timing_start_ns(timing);
	for (int64_t i = 0; i < 10000000; i++) {
		next = next * 6364136223846793005U + 1442695040888963407U;
		uint32_t known_index = next >> 52;
		int64_t ns = known.durations[known_index], pass = i / 2 + 1;

		if (i % 2 == 0)
			timing_pass_begin(timing);
		stepped_clock_now_ns += 3;
		expect_check(&expected[i % 2], ns, known.slots[known_index], pass, stepped_clock_now_ns - start,
			     next >> 51 & 1);
		check_of(timing, i % 2, ns, pass, next >> 51 & 1, false);
		if (i % 2)
			timing_pass_end(timing, true);
	}
	timing_finish(timing);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(expected[i].min_ns, 0);
		ck_assert_int_eq(expected[i].max_ns, HUNDRED_SECONDS);
		compare_figures(timing, i, &expected[i]);
	}
	timing_session_figures(timing, &s);
	ck_assert_int_eq(s.passes, 5000000);
	ck_assert_int_eq(s.site_ns[TIME_CONDITIONS], expected[0].total_ns + expected[1].total_ns);
	ck_assert_int_eq(s.site_ns[TIME_ENGINE], 3 * 10000000);
	ck_assert_int_eq(s.pass_total_ns, s.duration_ns);
	ck_assert_int_eq(s.site_ns[TIME_CONDITIONS] + s.site_ns[TIME_ENGINE], s.duration_ns);
	ck_assert_int_eq(s.duration_ns, stepped_clock_now_ns - start);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

// The same duration again and again: where sums of rounded numbers drift to one side.
START_TEST(test_squares_do_not_drift)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct condition_figures f;
	long double squares = 1e7L * 123456789.0L * 123456789.0L;

	stepped_clock_reset(0);
	timing_start(timing);
	for (int64_t i = 0; i < 10000000; i++)
		check_of(timing, 0, 123456789, i + 1, false, false);
	timing_condition_figures(timing, 0, &f);
	ck_assert_int_eq(f.total_ns, INT64_C(1234567890000000));
	ck_assert(fabsl((long double)f.squares_ns2 - squares) <= 1e-15L * squares);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_max_tells_the_first_time)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct condition_figures f;
	int64_t begin;

	stepped_clock_reset(1);
	timing_start(timing);
	check_of(timing, 0, 10, 1, false, false);
	begin = stepped_clock_now_ns + 1;
	check_of(timing, 0, 20, 2, false, false);
	check_of(timing, 0, 20, 3, false, false);
	timing_condition_figures(timing, 0, &f);
	ck_assert_int_eq(f.max_pass, 2);
	ck_assert_int_eq(f.max_at_ns, begin - timing_start_ns(timing));
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_zero_durations)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct condition_figures f;

	stepped_clock_reset(0);
	timing_start(timing);
	for (int64_t pass = 1; pass <= 3; pass++)
		check_of(timing, 0, 0, pass, true, false);
	timing_condition_figures(timing, 0, &f);
	ck_assert_int_eq(f.checks, 3);
	ck_assert_int_eq(f.total_ns, 0);
	ck_assert_int_eq(f.min_ns, 0);
	ck_assert_int_eq(f.max_ns, 0);
	ck_assert_int_eq(f.max_pass, 1);
	ck_assert_int_eq(f.histogram.slots[0], 3);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_matches)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct condition_figures f;

	timing_condition_figures(timing, 0, &f);
	ck_assert_int_eq(f.matches, 0);
	timing_match(timing, 0, (struct rect){10, 20, 30, 40}, 100, 80);
	timing_match(timing, 0, (struct rect){11, 18, 31, 38}, 100, 80);
	timing_match(timing, 0, (struct rect){9, 19, 29, 39}, 100, 80);
	timing_condition_figures(timing, 0, &f);
	ck_assert_int_eq(f.matches, 3);
	ck_assert(f.match_bounds.left == 9 && f.match_bounds.top == 18 && f.match_bounds.right == 31 &&
		  f.match_bounds.bottom == 40);
	ck_assert(f.match_width == 100 && f.match_height == 80);

	// places on frames of another size mean something else
	timing_match(timing, 0, (struct rect){50, 50, 70, 70}, 200, 160);
	timing_condition_figures(timing, 0, &f);
	ck_assert_int_eq(f.matches, 1);
	ck_assert(f.match_bounds.left == 50 && f.match_bounds.top == 50 && f.match_bounds.right == 70 &&
		  f.match_bounds.bottom == 70);
	ck_assert(f.match_width == 200 && f.match_height == 160);
	timing_condition_figures(timing, 1, &f);
	ck_assert_int_eq(f.matches, 0);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_clock_pair)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct session_figures figures;

	stepped_clock_reset(17);
	timing_session_figures(timing, &figures);
	ck_assert_int_lt(figures.clock_pair_ns, 0); // not measured is not 0
	timing_start(timing);
	timing_session_figures(timing, &figures);
	ck_assert_int_eq(figures.clock_pair_ns, 34);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_second_session_inherits_nothing)
{
	struct maker *maker = two_events();

	for (int session = 0; session < 2; session++) {
		struct timing *timing = new_timing(maker);
		struct condition_figures f;
		struct event_figures e;
		struct session_figures s;

		stepped_clock_reset(1);
		timing_start(timing);
		timing_condition_figures(timing, 0, &f);
		timing_event_figures(timing, 0, &e);
		timing_session_figures(timing, &s);
		ck_assert_int_eq(f.checks + f.fulfilled + f.total_ns + f.max_ns + f.reused + f.shared_ns, 0);
		ck_assert_int_eq(f.not_evaluable + f.short_circuited + histogram_sum(&f.histogram), 0);
		ck_assert_int_eq(e.evaluated + e.fulfilled + e.detecting_ns + e.acting_ns + e.ended_before, 0);
		ck_assert_int_eq(s.passes + s.gap_count + histogram_sum(&s.pass_time), 0);

		timing_pass_begin(timing);
		timing_event_evaluated(timing, 0);
		check_of(timing, 0, 100, 1, true, true);
		timing_shared(timing, 0, 7);
		timing_not_evaluable(timing, 0, 10, 10);
		timing_occurrence(timing, 0, 1, 2, 3, stepped_clock());
		timing_gap(timing, 5);
		timing_pass_end(timing, true);
		timing_finish(timing);
		timing_free(timing);
	}
	maker_free(maker);
}
END_TEST

// --- the time tree ---------------------------------------------------------------------------------------------------

static void adds_up(const struct session_figures *figures)
{
	int64_t sum = 0;

	for (int i = 0; i < TIME_SITES; i++) {
		ck_assert_int_ge(figures->site_ns[i], 0);
		sum += figures->site_ns[i];
	}
	ck_assert_int_eq(sum, figures->duration_ns);
}

START_TEST(test_sites)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct session_figures figures;
	int64_t expected[TIME_SITES] = {0}, start, now;
	enum time_site at = TIME_OTHER;

	srandom(7);
	stepped_clock_reset(3);
	timing_start(timing);
	start = now = timing_start_ns(timing);
	for (int i = 0; i < 10000; i++) {
		enum time_site to = (enum time_site)(random() % TIME_SITES);
		int64_t then;

		stepped_clock_now_ns += random() % 1000;
		then = timing_enter(timing, to);
		expected[at] += then - now;
		now = then;
		at = to;
	}
	timing_finish(timing);
	expected[at] += stepped_clock_now_ns - now;
	timing_session_figures(timing, &figures);
	adds_up(&figures);
	ck_assert_int_eq(figures.duration_ns, stepped_clock_now_ns - start);
	for (int i = 0; i < TIME_SITES; i++)
		ck_assert_int_eq(figures.site_ns[i], expected[i]);

	// after the end nothing moves, whatever the clock does
	stepped_clock_now_ns += 1000000;
	timing_session_figures(timing, &figures);
	ck_assert_int_eq(figures.site_ns[at], expected[at]);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_wait_in_progress_counts)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct session_figures figures;

	stepped_clock_reset(0);
	timing_session_figures(timing, &figures);
	ck_assert_int_eq(figures.duration_ns, 0); // not begun
	timing_start(timing);
	timing_enter(timing, TIME_LIMITER_WAIT);
	stepped_clock_now_ns += 500;
	timing_session_figures(timing, &figures);
	ck_assert_int_eq(figures.site_ns[TIME_LIMITER_WAIT], 500);
	ck_assert_int_eq(figures.duration_ns, 500);
	stepped_clock_now_ns += 250;
	timing_session_figures(timing, &figures);
	ck_assert_int_eq(figures.site_ns[TIME_LIMITER_WAIT], 750);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

// A thread that hung is given up: what it does afterwards makes no part of the tree less than nothing.
START_TEST(test_frozen_while_it_comes_back)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct session_figures figures;
	int64_t sum = 0;

	stepped_clock_reset(0);
	timing_start(timing);
	timing_check_begin(timing);
	stepped_clock_now_ns += 500;
	timing_freeze(timing);
	stepped_clock_now_ns += 250;
	timing_session_figures(timing, &figures);
	ck_assert_int_eq(figures.site_ns[TIME_CONDITIONS], 500);
	ck_assert_int_eq(figures.duration_ns, 500);
	timing_enter(timing, TIME_ENGINE);
	stepped_clock_now_ns += 100;
	timing_session_figures(timing, &figures);
	ck_assert_int_eq(figures.site_ns[TIME_CONDITIONS], 750);
	ck_assert_int_eq(figures.site_ns[TIME_ENGINE], 0);
	for (int i = 0; i < TIME_SITES; i++)
		sum += figures.site_ns[i];
	ck_assert_int_eq(figures.duration_ns, sum);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_passes)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct session_figures figures;

	stepped_clock_reset(0);
	timing_start(timing);
	for (int64_t ns = 1; ns <= 100; ns++) {
		timing_pass_begin(timing);
		stepped_clock_now_ns += ns;
		timing_enter(timing, TIME_FRAME_WAIT);
		stepped_clock_now_ns += 1000; // no part of processing
		timing_enter(timing, TIME_PAUSES);
		stepped_clock_now_ns += 10; // one
		timing_pass_end(timing, ns % 2 == 0);
		stepped_clock_now_ns += 5000;
	}
	timing_session_figures(timing, &figures);
	adds_up(&figures);
	ck_assert_int_eq(figures.passes, 50);
	ck_assert_int_eq(figures.pass_total_ns, 50 * 51 + 50 * 10);
	ck_assert_int_eq(figures.pass_min_ns, 12);
	ck_assert_int_eq(figures.pass_max_ns, 110);
	ck_assert_int_eq(histogram_sum(&figures.pass_time), 50);
	ck_assert_int_eq(figures.site_ns[TIME_ENGINE] + figures.site_ns[TIME_PAUSES], 100 * 101 / 2 + 1000);

	// a pass in progress is in the tree, and in no figure of passes: else a mean could be above the maximum
	timing_pass_begin(timing);
	stepped_clock_now_ns += 1000000;
	timing_session_figures(timing, &figures);
	ck_assert_int_eq(figures.site_ns[TIME_ENGINE] + figures.site_ns[TIME_PAUSES], 100 * 101 / 2 + 1000 + 1000000);
	ck_assert_int_eq(figures.passes, 50);
	ck_assert_int_eq(figures.pass_total_ns, 50 * 51 + 50 * 10);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_gaps)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct session_figures figures;

	stepped_clock_reset(10);
	timing_start(timing);
	for (int64_t i = 1; i <= 130; i++)
		ck_assert_int_eq(timing_gap(timing, i), 10 * i);
	timing_session_figures(timing, &figures);
	ck_assert_int_eq(figures.gap_count, 130);
	ck_assert_uint_eq(figures.n_gaps, GAPS_MAX);
	ck_assert_int_eq(figures.gaps[99].duration_ns, 100);
	ck_assert_int_eq(figures.gaps[99].at_ns, 1000);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

// --- what the report makes of it -------------------------------------------------------------------------------------

static Condprof__DebugReportMessage *closing_message(const struct maker *maker, struct timing *timing)
{
	Condprof__DebugReportMessage *message;
	CLEANUP_FREE uint8_t *data = NULL;
	size_t size;

	ck_assert_int_eq(aggregates_encode(&maker->scenario, timing, &data, &size), 0);
	ck_assert_uint_le(size, aggregates_most_bytes(&maker->scenario));
	message = condprof__debug_report_message__unpack(NULL, size, data);
	ck_assert_ptr_nonnull(message);
	return message;
}

START_TEST(test_closing_message)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	Condprof__DebugReportMessage *message;
	const Condprof__ConditionDetail *detail;
	const Condprof__ConditionTiming *t;
	const Condprof__EventDetail *event;

	maker->scenario.conditions[0].id = 300; // order is by id, not by place
	maker->scenario.conditions[1].id = 2;
	maker->scenario.conditions[2].id = 40;
	maker->scenario.events[0].id = 9;
	stepped_clock_reset(1);
	timing_start(timing);
	for (int64_t pass = 1; pass <= 4; pass++) {
		timing_pass_begin(timing);
		timing_event_evaluated(timing, 0);
		check_with(timing, 0, 100 * pass, pass,
			   &(struct check_result){.has_confidence = pass != 2, .confidence = 0.25 * (double)pass});
		timing_pass_end(timing, true);
	}
	timing_not_evaluable(timing, 0, 5, 5);
	timing_match(timing, 0, (struct rect){-1, 2, 33, 44}, 1280, 720);
	timing_event_not_reached(timing, 1, NOT_REACHED_DISABLED);
	timing_event_not_reached(timing, 1, NOT_REACHED_COOLING_DOWN);
	timing_occurrence(timing, 0, 11, 22, 33, timing_start_ns(timing) + 44);
	timing_finish(timing);

	message = closing_message(maker, timing);
	ck_assert_int_eq(message->payload_case, CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_CONDITION_PROFILE);
	ck_assert_uint_eq(message->condition_profile->n_conditions, 3);
	ck_assert_int_eq(message->condition_profile->conditions[0]->condition_id, 2);
	ck_assert_int_eq(message->condition_profile->conditions[1]->condition_id, 40);
	t = message->condition_profile->conditions[2];
	ck_assert_int_eq(t->condition_id, 300);
	ck_assert_int_eq(t->check_count, 4);
	ck_assert_int_eq(t->total_duration_ns, 1000);
	ck_assert_int_eq(t->min_duration_ns, 100);
	ck_assert_int_eq(t->max_duration_ns, 400);

	detail = message->condition_details->conditions[2];
	ck_assert_int_eq(detail->condition_id, 300);
	ck_assert_int_eq(detail->max_pass, 4);
	ck_assert_int_eq(detail->not_evaluable_count, 1);
	ck_assert_int_eq(detail->match_count, 1);
	ck_assert(detail->match_left == -1 && detail->match_top == 2 && detail->match_right == 33 &&
		  detail->match_bottom == 44);
	ck_assert(detail->match_frame_width == 1280 && detail->match_frame_height == 720);
	ck_assert(detail->has_last_fulfilled && !detail->last_fulfilled && !detail->has_last_value);
	ck_assert(detail->has_last_confidence && detail->last_confidence == 1);
	ck_assert_str_eq(detail->not_evaluable_why, "its area [0, 0, 10, 10] is not inside the frame of 5x5 px");
	ck_assert_int_eq(detail->histogram->first_bucket, (int32_t)histogram_slot(100) - 1);
	ck_assert_uint_eq(detail->histogram->n_buckets, histogram_slot(400) - histogram_slot(100) + 1);
	ck_assert_int_eq(detail->histogram->buckets[0], 1);

	// never reached, in an event that was decided before it
	detail = message->condition_details->conditions[0];
	ck_assert_int_eq(detail->short_circuited_count, 4);
	ck_assert(!detail->has_max_pass && !detail->has_max_at_ns && !detail->not_evaluable_why);
	ck_assert(detail->match_count == 0 && !detail->has_match_left && !detail->has_match_frame_height);
	ck_assert(!detail->has_last_fulfilled && !detail->has_last_confidence); // never checked: nothing, not "no"
	ck_assert_uint_eq(detail->histogram->n_buckets, 0);
	ck_assert_int_eq(message->condition_profile->conditions[0]->check_count, 0);
	ck_assert_int_eq(message->condition_profile->conditions[0]->min_duration_ns, 0);

	ck_assert_uint_eq(message->condition_details->n_events, 2);
	event = message->condition_details->events[1];
	ck_assert_int_eq(event->event_id, 9);
	ck_assert_int_eq(event->evaluated, 4);
	ck_assert_int_eq(event->fulfilled, 1);
	ck_assert_int_eq(event->first_ns, 44);
	ck_assert_int_eq(event->detecting_ns + event->checking_ns + event->acting_ns, 66);
	event = message->condition_details->events[0];
	ck_assert_int_eq(event->disabled, 1);
	ck_assert_int_eq(event->cooling_down, 1);
	ck_assert_int_eq(event->ended_before, 2);
	ck_assert(!event->has_first_ns && !event->has_last_ns);
	ck_assert_int_eq(message->condition_details->pass_time_min_ns, 102);
	ck_assert_int_eq(message->condition_details->pass_time_total_ns, 100 + 200 + 300 + 400 + 4 * 2);
	condprof__debug_report_message__free_unpacked(message, NULL);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_overview)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	struct progress progress = {.frames = 7, .missed = 3, .frame_width = 64, .frame_height = 48};
	struct overview_facts facts = {.session_id = 12,
				       .period_ns = 100 * NSEC_PER_MSEC,
				       .state = CONDPROF__SESSION_STATE__FINISHED,
				       .ended = true,
				       .ending = {CONDPROF__END_REASON__REASON_PASSES, 0, ""},
				       .started_unix_ns = 5,
				       .ended_unix_ns = 6,
				       .lost_occurrences = 9,
				       .screen = "replay:/frames",
				       .input = "log:",
				       .dry_run = true};
	Condprof__DebugReportOverview *o;
	CLEANUP_FREE uint8_t *data = NULL;
	size_t size;

	maker->scenario.id = 77;
	stepped_clock_reset(0);
	timing_start(timing);
	for (int i = 0; i < 4; i++) {
		timing_pass_begin(timing);
		stepped_clock_now_ns += 5 * NSEC_PER_MSEC;
		timing_enter(timing, TIME_CONDITIONS);
		stepped_clock_now_ns += 2 * NSEC_PER_MSEC;
		timing_enter(timing, TIME_PAUSES);
		stepped_clock_now_ns += NSEC_PER_MSEC;
		timing_pass_end(timing, true);
		timing_enter(timing, TIME_LIMITER_WAIT);
		stepped_clock_now_ns += 100 * NSEC_PER_MSEC;
		timing_enter(timing, TIME_OTHER);
		timing_lateness(timing, 50000);
		stepped_clock_now_ns += 3;
	}
	timing_occurrence(timing, 0, 0, 0, 0, 0);
	timing_occurrence(timing, 1, 0, 0, 0, 0);
	timing_occurrence(timing, 1, 0, 0, 0, 0);
	timing_finish(timing);
	ck_assert_int_eq(overview_encode(&maker->scenario, timing, &progress, &facts, &data, &size), 0);
	o = condprof__debug_report_overview__unpack(NULL, size, data);
	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(o->scenario_id, 77);
	ck_assert_int_eq(o->duration_ms, 432);
	ck_assert_int_eq(o->frame_count, 4);
	ck_assert_int_eq(o->average_frame_processing_duration_ms, 8);
	ck_assert_int_eq(o->image_event_fulfilled_count, 1);
	ck_assert_int_eq(o->trigger_event_fulfilled_count, 2);
	ck_assert_uint_eq(o->n_counters_name, 1);
	ck_assert_str_eq(o->counters_name[0], "n");
	ck_assert_int_eq(o->active_detection_duration_ns, 32 * NSEC_PER_MSEC);
	ck_assert_int_eq(o->execution_limiter_wait_duration_ns, 400 * NSEC_PER_MSEC);
	ck_assert_int_eq(o->frames, 7);
	ck_assert_int_eq(o->missed_passes, 3);
	ck_assert_int_eq(o->lost_occurrences, 9);
	ck_assert_int_eq(o->reason, CONDPROF__END_REASON__REASON_PASSES);
	ck_assert_int_eq(o->time->processing_ns, o->time->conditions_ns + o->time->actions_ns + o->time->engine_ns);
	ck_assert_int_eq(o->time->pauses_ns, 4 * NSEC_PER_MSEC);
	ck_assert_int_eq(o->time->actions_ns, 4 * NSEC_PER_MSEC);
	ck_assert_int_eq(o->time->other_ns, 12);
	ck_assert_int_eq(o->time->duration_ns, o->time->processing_ns + o->time->limiter_wait_ns + o->time->other_ns);
	ck_assert_int_eq(o->lateness->buckets[0], 4);
	ck_assert_int_eq(o->period_ns, 100 * NSEC_PER_MSEC);
	ck_assert_str_eq(o->screen, "replay:/frames");
	ck_assert_str_eq(o->input, "log:");
	ck_assert(o->has_dry_run && o->dry_run);
	condprof__debug_report_overview__free_unpacked(o, NULL);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

START_TEST(test_largest_scenario)
{
	struct maker *maker = maker_new();
	struct timing *timing;
	Condprof__DebugReportMessage *message;

	for (uint32_t i = 0; i < SCENARIO_MAX_EVENTS; i++) {
		maker_event(maker, "e", true, true);
		maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
		maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	}
	ck_assert_uint_eq(maker->scenario.n_conditions, SCENARIO_MAX_CONDITIONS);
	timing = new_timing(maker);
	stepped_clock_reset(1);
	timing_start(timing);
	for (uint32_t i = 0; i < SCENARIO_MAX_CONDITIONS; i++)
		check_of(timing, i, i, 1, false, false);
	message = closing_message(maker, timing);
	ck_assert_uint_eq(message->condition_profile->n_conditions, SCENARIO_MAX_CONDITIONS);
	for (uint32_t i = 0; i < SCENARIO_MAX_CONDITIONS; i++)
		ck_assert_int_eq(message->condition_profile->conditions[i]->total_duration_ns, i);
	condprof__debug_report_message__free_unpacked(message, NULL);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

// Every bucket in use, and numbers as large as they get.
START_TEST(test_reserve_is_enough)
{
	struct maker *maker = two_events();
	struct timing *timing = new_timing(maker);
	Condprof__DebugReportMessage *message;

	for (uint32_t i = 0; i < 3; i++)
		maker->scenario.conditions[i].id = INT64_MAX - i;
	stepped_clock_reset(1);
	stepped_clock_now_ns = INT64_C(1) << 61;
	timing_start(timing);
	for (int round = 0; round < 20000; round++) {
		for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket += 1 + (round > 0) * 7)
			check_of(timing, 0, (int64_t)exp2(bucket / 8.0), INT64_MAX, true, true);
	}
	timing_not_evaluable(timing, 0, INT_MAX, INT_MAX);
	timing_match(timing, 0, (struct rect){INT_MIN, INT_MIN, INT_MAX, INT_MAX}, INT_MAX, INT_MAX);
	message = closing_message(maker, timing); // asserts that it fits
	ck_assert_uint_gt(message->condition_details->conditions[2]->histogram->n_buckets, 280);
	condprof__debug_report_message__free_unpacked(message, NULL);
	timing_free(timing);
	maker_free(maker);
}
END_TEST

// --- snapshots while the engine writes -------------------------------------------------------------------------------

struct writing {
	struct timing *timing;
	_Atomic bool stop;
	int64_t checks;
};

static void *write_figures(void *argument)
{
	struct writing *writing = argument;
	uint64_t random = 1;

	for (int64_t pass = 1; !atomic_load(&writing->stop); pass++) {
		timing_pass_begin(writing->timing);
		timing_event_evaluated(writing->timing, 0);
		for (uint32_t condition = 0; condition < 2; condition++) {
			int64_t begin = timing_check_begin(writing->timing);

			random = random * 6364136223846793005U + 1442695040888963407U;
			timing_check_end(writing->timing, condition, begin, pass,
					 &(struct check_result){.fulfilled = random >> 63,
								.has_confidence = random >> 63,
								.confidence = (double)pass,
								.has_value = true,
								.value = (double)pass});
			writing->checks++;
		}
		timing_match(writing->timing, 0, (struct rect){-(int)(pass & 0xff), 0, (int)(pass & 0xff), 9}, 64,
			     48 + (int)(pass >> 8 & 1));
		timing_occurrence(writing->timing, 0, 1, 2, 3, timing_start_ns(writing->timing) + pass);
		timing_pass_end(writing->timing, true);
	}
	return NULL;
}

START_TEST(test_snapshots_while_writing)
{
	struct maker *maker = two_events();
	struct writing writing = {0};
	struct session_figures s;
	struct condition_figures f;
	struct event_figures e;
	int64_t before = 0;
	pthread_t thread;

	ck_assert_int_eq(timing_new(&maker->scenario, measuring_clock_monotonic, &writing.timing), 0);
	timing_start(writing.timing);
	ck_assert_int_eq(pthread_create(&thread, NULL, write_figures, &writing), 0);
	for (int i = 0; i < 3000; i++) {
		Condprof__DebugReportMessage *message;

		timing_condition_figures(writing.timing, i % 2, &f);
		ck_assert_int_eq(histogram_sum(&f.histogram), f.checks);
		ck_assert_int_le(f.fulfilled, f.checks);
		if (f.checks) {
			ck_assert_int_le(f.min_ns, f.max_ns);
			ck_assert_int_ge(f.total_ns, f.checks * f.min_ns);
			ck_assert_int_le(f.total_ns, f.checks * f.max_ns);
			ck_assert(f.squares_ns2 >= (double)f.max_ns * (double)f.max_ns * (1 - 1e-12));
		}
		ck_assert(f.last.fulfilled == f.last.has_confidence);
		ck_assert(!f.last.has_confidence || f.last.confidence == f.last.value); // of one check
		ck_assert_int_eq((int64_t)f.last.value, f.checks);
		ck_assert_int_eq(f.match_bounds.left, -f.match_bounds.right);
		ck_assert_int_le(f.match_bounds.right + 1, f.matches > 0 ? 256 : 1);
		timing_event_figures(writing.timing, 0, &e);
		ck_assert_int_eq(e.detecting_ns, e.fulfilled);
		ck_assert_int_eq(e.acting_ns, 3 * e.fulfilled);
		timing_session_figures(writing.timing, &s);
		adds_up(&s);
		ck_assert_int_ge(s.duration_ns, before);
		ck_assert_int_eq(histogram_sum(&s.pass_time), s.passes);
		ck_assert_int_le(s.pass_total_ns, s.passes * s.pass_max_ns);
		before = s.duration_ns;
		if (i % 100 == 0) {
			message = closing_message(maker, writing.timing);
			condprof__debug_report_message__free_unpacked(message, NULL);
		}
	}
	atomic_store(&writing.stop, true);
	pthread_join(thread, NULL);
	timing_finish(writing.timing);
	timing_condition_figures(writing.timing, 0, &f);
	before = f.total_ns;
	ck_assert_int_eq(2 * f.checks, writing.checks);
	timing_condition_figures(writing.timing, 1, &f);
	timing_session_figures(writing.timing, &s);
	ck_assert_int_eq(before + f.total_ns, s.site_ns[TIME_CONDITIONS]);
	timing_free(writing.timing);
	maker_free(maker);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("timing");
	TCase *tcase = tcase_create("figures");

	tcase_add_test(tcase, test_bucket_bounds);
	tcase_add_test(tcase, test_bucket_examples);
	tcase_add_test(tcase, test_bucket_all_small);
	tcase_add_test(tcase, test_arithmetic);
	tcase_add_test(tcase, test_ten_million_checks);
	tcase_add_test(tcase, test_squares_do_not_drift);
	tcase_add_test(tcase, test_max_tells_the_first_time);
	tcase_add_test(tcase, test_zero_durations);
	tcase_add_test(tcase, test_matches);
	tcase_add_test(tcase, test_clock_pair);
	tcase_add_test(tcase, test_second_session_inherits_nothing);
	tcase_add_test(tcase, test_sites);
	tcase_add_test(tcase, test_wait_in_progress_counts);
	tcase_add_test(tcase, test_frozen_while_it_comes_back);
	tcase_add_test(tcase, test_passes);
	tcase_add_test(tcase, test_gaps);
	tcase_add_test(tcase, test_closing_message);
	tcase_add_test(tcase, test_overview);
	tcase_add_test(tcase, test_largest_scenario);
	tcase_add_test(tcase, test_reserve_is_enough);
	tcase_add_test(tcase, test_snapshots_while_writing);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
