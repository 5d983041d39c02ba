// SPDX-License-Identifier: GPL-3.0-or-later
/// The figures of an interval: exact differences, never negative, and not known where one of the two snapshots does not
/// know.
#include "client/report/interval.h"
#include "tests/support/unit.h"

#include <math.h>

#define CONDITIONS 3

/// A snapshot by hand.
struct fake {
	struct report report;
	Condprof__DebugReportOverview overview;
	Condprof__SessionTime time;
	Condprof__DebugReportMessage aggregates;
	Condprof__ConditionDetails details;
	Condprof__Histogram pass_time;
	int64_t buckets[2];
	struct report_condition conditions[CONDITIONS];
};

/// Everything `n` times: a pass takes 1 ms, of 10 ms; the second condition is the most expensive; the third never runs.
static void fake_fill(struct fake *fake, int64_t n)
{
	*fake = (struct fake){.overview = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT,
			      .time = CONDPROF__SESSION_TIME__INIT,
			      .aggregates = CONDPROF__DEBUG_REPORT_MESSAGE__INIT,
			      .details = CONDPROF__CONDITION_DETAILS__INIT,
			      .pass_time = CONDPROF__HISTOGRAM__INIT};
	fake->report.overview = &fake->overview;
	fake->report.aggregates = &fake->aggregates;
	fake->report.details = &fake->details;
	fake->report.conditions = fake->conditions;
	fake->report.n_conditions = CONDITIONS;
	fake->report.session.has_passes = fake->report.session.has_duration_ns = true;
	fake->report.session.passes = n;
	fake->report.session.duration_ns = n * 10 * NSEC_PER_MSEC;
	fake->overview.time = &fake->time;
	fake->time.has_processing_ns = true;
	fake->time.processing_ns = n * NSEC_PER_MSEC;
	fake->overview.has_missed_passes = fake->overview.has_lost_occurrences = true;
	fake->overview.missed_passes = 2 * n;
	fake->overview.has_image_event_fulfilled_count = fake->overview.has_trigger_event_fulfilled_count = true;
	fake->overview.image_event_fulfilled_count = (int32_t)n;
	fake->overview.trigger_event_fulfilled_count = (int32_t)(3 * n);
	fake->buckets[0] = n;
	fake->pass_time.buckets = fake->buckets;
	fake->pass_time.n_buckets = 1;
	fake->pass_time.first_bucket = 150;
	fake->details.pass_time = &fake->pass_time;
	fake->details.has_pass_time_total_ns = true;
	fake->details.pass_time_total_ns = n * NSEC_PER_MSEC;
	for (int i = 0; i < CONDITIONS; i++)
		fake->conditions[i] =
			(struct report_condition){.id = i + 1, .event = REPORT_NO_EVENT, .measured = true};
	fake->conditions[0].checks = n;
	fake->conditions[0].fulfilled = n / 2;
	fake->conditions[0].total_ns = 1000 * n;
	fake->conditions[1].checks = 2 * n;
	fake->conditions[1].total_ns = 3001 * n;
}

static struct fake before, after;

static void setup(void)
{
	fake_fill(&before, 100);
	fake_fill(&after, 130);
}

static void assert_known(struct maybe figure, int64_t value)
{
	ck_assert(figure.known);
	ck_assert_int_eq(figure.value, value);
}

START_TEST(differences_are_exact)
{
	struct interval interval;
	double share;

	ck_assert_int_eq(interval_between(&before.report, &after.report, &interval), 0);
	assert_known(interval.duration_ns, 300 * NSEC_PER_MSEC);
	assert_known(interval.passes, 30);
	assert_known(interval.missed_passes, 60);
	assert_known(interval.occurrences, 120);
	assert_known(interval.lost_occurrences, 0);
	assert_known(interval.processing_ns, 30 * NSEC_PER_MSEC);
	assert_known(interval.pass_mean_ns, NSEC_PER_MSEC);
	assert_known(interval.checks, 90);
	assert_known(interval.conditions_ns, 30 * 4001);
	ck_assert_uint_eq(interval.dearest, 1);
	assert_known(interval.conditions[0].fulfilled, 15);
	assert_known(interval.conditions[0].average_ns, 1000);
	assert_known(interval.conditions[1].average_ns, 1501); // 1500.5 is rounded
	assert_known(interval.conditions[2].checks, 0);
	ck_assert(!interval.conditions[2].average_ns.known);
	ck_assert(fabs(interval.conditions[1].share - 3001.0 / 4001) < 1e-12);
	ck_assert(interval.conditions[2].share == 0);
	ck_assert(interval_rate(&interval, &share) && fabs(share - 100) < 1e-9);
	ck_assert(interval_processing_share(&interval, &share) && fabs(share - 0.1) < 1e-12);
	interval_clear(&interval);
}
END_TEST

START_TEST(without_an_earlier_one_it_is_the_session)
{
	struct interval interval;

	ck_assert_int_eq(interval_between(NULL, &after.report, &interval), 0);
	assert_known(interval.passes, 130);
	assert_known(interval.checks, 390);
	assert_known(interval.occurrences, 520);
	assert_known(interval.conditions[1].total_ns, 3001 * 130);
	interval_clear(&interval);
}
END_TEST

START_TEST(nothing_happened)
{
	struct interval interval;
	double number;

	ck_assert_int_eq(interval_between(&after.report, &after.report, &interval), 0);
	assert_known(interval.passes, 0);
	assert_known(interval.checks, 0);
	ck_assert(!interval.pass_mean_ns.known);
	ck_assert(!interval.conditions[0].average_ns.known);
	ck_assert_uint_eq(interval.dearest, INTERVAL_NO_CONDITION);
	ck_assert(!interval_rate(&interval, &number));
	ck_assert(!interval_processing_share(&interval, &number));
	interval_clear(&interval);
}
END_TEST

/// The overview's counts of occurrences end where 32 bits do; those of the events do not.
START_TEST(occurrences_beyond_32_bits)
{
	static struct report_event events[2];
	static Condprof__EventDetail details[2][2];
	struct fake *fakes[] = {&before, &after};
	struct interval interval;

	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 2; k++) {
			condprof__event_detail__init(&details[i][k]);
			details[i][k].fulfilled = (INT64_C(3) << 30) + 1000 * i + k;
		}
		fakes[i]->overview.trigger_event_fulfilled_count = INT32_MAX;
		fakes[i]->report.events = events;
		fakes[i]->report.n_events = 2;
	}
	events[0] = (struct report_event){.known = true, .trigger = true, .detail = &details[0][0]};
	events[1] = (struct report_event){.known = true, .detail = &details[0][1]}; // no trigger event
	assert_known(report_occurrences(&before.report, true), INT64_C(3) << 30);
	assert_known(report_occurrences(&before.report, false), 100);
	struct report_event later = {.known = true, .trigger = true, .detail = &details[1][0]};
	after.report.events = &later;
	after.report.n_events = 1;
	ck_assert_int_eq(interval_between(&before.report, &after.report, &interval), 0);
	assert_known(interval.occurrences, 1000 + 30);
	interval_clear(&interval);
	after.report.n_events = 0; // it says "so many or more", and nothing else does
	ck_assert(!report_occurrences(&after.report, true).known);
}
END_TEST

START_TEST(what_shrinks_is_not_known)
{
	struct interval interval;

	ck_assert_int_eq(interval_between(&after.report, &before.report, &interval), 0);
	ck_assert(!interval.duration_ns.known && !interval.passes.known && !interval.checks.known);
	ck_assert(!interval.conditions[0].checks.known && !interval.conditions[0].average_ns.known);
	ck_assert(interval.conditions[0].share == 0);
	interval_clear(&interval);
}
END_TEST

START_TEST(what_one_does_not_have_is_not_known)
{
	struct interval interval;
	double number;

	before.report.aggregates = NULL;
	before.report.details = NULL;
	before.overview.has_missed_passes = false;
	before.overview.has_trigger_event_fulfilled_count = false;
	for (int i = 0; i < CONDITIONS; i++)
		before.conditions[i].measured = false;
	after.time.has_processing_ns = false;
	ck_assert_int_eq(interval_between(&before.report, &after.report, &interval), 0);
	assert_known(interval.passes, 30);
	ck_assert(!interval.missed_passes.known && !interval.occurrences.known && !interval.pass_mean_ns.known);
	ck_assert(!interval.checks.known && !interval.conditions_ns.known && !interval.conditions[0].checks.known);
	ck_assert(!interval_processing_share(&interval, &number));
	interval_clear(&interval);
}
END_TEST

/// With aggregates, a condition that they do not list was not checked before.
START_TEST(a_condition_that_is_new)
{
	struct interval interval;

	before.conditions[1].measured = false;
	ck_assert_int_eq(interval_between(&before.report, &after.report, &interval), 0);
	assert_known(interval.conditions[1].checks, 260);
	interval_clear(&interval);
	after.conditions[0].measured = false;
	ck_assert_int_eq(interval_between(&before.report, &after.report, &interval), 0);
	ck_assert(!interval.conditions[0].checks.known);
	assert_known(interval.checks, 260);
	ck_assert(interval.conditions[0].share == 0 && interval.conditions[1].share == 1);
	interval_clear(&interval);
}
END_TEST

START_TEST(sums_that_are_too_large_are_not_known)
{
	struct interval interval;

	for (int i = 0; i < 2; i++)
		after.conditions[i].total_ns = INT64_MAX;
	ck_assert_int_eq(interval_between(NULL, &after.report, &interval), 0);
	ck_assert(!interval.conditions_ns.known);
	ck_assert(interval.conditions[0].share == 0);
	after.report.session.passes = INT64_MIN;
	interval_clear(&interval);
	ck_assert_int_eq(interval_between(&before.report, &after.report, &interval), 0);
	ck_assert(!interval.passes.known);
	interval_clear(&interval);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("interval");
	TCase *tests = tcase_create("interval");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, differences_are_exact);
	tcase_add_test(tests, without_an_earlier_one_it_is_the_session);
	tcase_add_test(tests, nothing_happened);
	tcase_add_test(tests, occurrences_beyond_32_bits);
	tcase_add_test(tests, what_shrinks_is_not_known);
	tcase_add_test(tests, what_one_does_not_have_is_not_known);
	tcase_add_test(tests, a_condition_that_is_new);
	tcase_add_test(tests, sums_that_are_too_large_are_not_known);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
