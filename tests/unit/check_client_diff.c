// SPDX-License-Identifier: GPL-3.0-or-later
/// Two reports held against each other: the statistics by tables and closed forms, matching, rules, and what diff
/// prints of two reports made by hand (tests/support/make_reports.py) byte for byte.
#include "client/report/diff.h"
#include "client/report/statistics.h"
#include "client/view/diff.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// --- quantiles -------------------------------------------------------------------------------------------------------

/// As printed in any table of the distribution.
static const struct {
	double p, degrees, value;
} table[] = {
	{0.975, 1, 12.706},   {0.975, 2, 4.303},   {0.975, 3, 3.182},   {0.975, 4, 2.776},   {0.975, 5, 2.571},
	{0.975, 10, 2.228},   {0.975, 20, 2.086},  {0.975, 30, 2.042},  {0.975, 60, 2.000},  {0.975, 120, 1.980},
	{0.975, 1000, 1.962}, {0.95, 1, 6.314},    {0.95, 7, 1.895},    {0.95, 29, 1.699},   {0.995, 1, 63.657},
	{0.995, 9, 3.250},    {0.995, 100, 2.626}, {0.9995, 3, 12.924}, {0.9995, 15, 4.073}, {0.025, 10, -2.228},
	{0.75, 6, 0.718},     {0.5, 4, 0},         {0.6, 12, 0.259},    {0.975, 1e5, 1.960}, {0.975, INFINITY, 1.960},
};

START_TEST(student_is_as_tabulated)
{
	ck_assert_double_eq_tol(student_quantile(table[_i].p, table[_i].degrees), table[_i].value, 0.00051);
}
END_TEST

START_TEST(normal_is_as_tabulated)
{
	ck_assert_double_eq_tol(normal_quantile(0.975), 1.959963984540054, 1e-12);
	ck_assert_double_eq_tol(normal_quantile(0.9), 1.2815515655446004, 1e-12);
	ck_assert_double_eq_tol(normal_quantile(0.001), -3.090232306167813, 1e-11);
	ck_assert_double_eq_tol(normal_quantile(0.5), 0, 1e-12);
}
END_TEST

/// With one, two and four degrees the quantile has a closed form.
START_TEST(student_closed_forms)
{
	for (double p = 0.501; p < 0.99999; p += (1 - p) / 7) {
		double alpha = 4 * p * (1 - p), q = cos(acos(sqrt(alpha)) / 3) / sqrt(alpha);
		double one = tan(M_PI * (p - 0.5)), two = 2 * (p - 0.5) * sqrt(2 / alpha), four = 2 * sqrt(q - 1);

		ck_assert_double_eq_tol(student_quantile(p, 1), one, 1e-9 * one);
		ck_assert_double_eq_tol(student_quantile(p, 2), two, 1e-9 * two);
		ck_assert_double_eq_tol(student_quantile(p, 4), four, 1e-9 * four + 1e-9);
		ck_assert_double_eq_tol(student_quantile(1 - p, 2), -two, 1e-7 * two);
	}
}
END_TEST

/// P(0 < T < t) by Simpson's rule.
static double student_integral(double t, double degrees)
{
	const int steps = 20000;
	double factor = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(degrees * M_PI), sum = 0;

	for (int i = 0; i <= steps; i++) {
		double x = t * i / steps, value = pow(1 + x * x / degrees, -(degrees + 1) / 2);

		sum += value * (i == 0 || i == steps ? 1 : i % 2 ? 4 : 2);
	}
	return factor * sum * t / steps / 3;
}

/// Degrees that are not whole, and where the fraction gives way to the expansion.
START_TEST(student_by_integration)
{
	static const double degrees[] = {1.5, 2.5, 9.99, 24.94, 333.3, 1999, 2000.5, 2100, 20000};

	for (size_t i = 0; i < ARRAY_SIZE(degrees); i++)
		ck_assert_double_eq_tol(student_integral(student_quantile(0.975, degrees[i]), degrees[i]), 0.475, 1e-9);
}
END_TEST

// --- means -----------------------------------------------------------------------------------------------------------

/// Two samples whose comparison is printed in textbooks: t = 2.46 with 24.9 degrees of freedom, p = 0.021.
START_TEST(welch_of_the_textbook)
{
	const struct sample first = {15, 20.82, 7.9}, second = {15, 22.98, 3.8};
	struct mean_difference means;

	compare_means(&first, &second, &means);
	ck_assert_double_eq_tol(means.difference, 2.16, 1e-9);
	ck_assert_double_eq_tol(means.degrees, 24.94, 0.01);
	ck_assert_double_eq_tol(means.low, 2.16 - 2.0597 * sqrt(0.78), 1e-3);
	ck_assert_double_eq_tol(means.high, 2.16 + 2.0597 * sqrt(0.78), 1e-3);
	ck_assert(means.exceeds_spread);
	compare_means(&second, &first, &means);
	ck_assert(means.exceeds_spread && means.high < 0);
}
END_TEST

START_TEST(welch_at_its_edges)
{
	const struct sample still = {10, 5, 0}, other = {20, 6, 0}, wide = {2, 5, 1e6}, huge = {3, 9, 1e308};
	struct mean_difference means;

	compare_means(&still, &still, &means);
	ck_assert(!means.exceeds_spread && means.low == 0 && means.high == 0 && isinf(means.degrees));
	compare_means(&still, &other, &means);
	ck_assert(means.exceeds_spread && means.low == 1 && means.high == 1);
	compare_means(&wide, &still, &means);
	ck_assert(!means.exceeds_spread);
	ck_assert_double_eq_tol(means.degrees, 1, 1e-12); // only the one of two values spreads
	compare_means(&huge, &huge, &means);
	ck_assert(!means.exceeds_spread && means.degrees >= 1);
}
END_TEST

START_TEST(samples)
{
	struct sample sample;

	ck_assert(sample_of(4, 4000, 500.0 * 500 + 1500.0 * 1500 + 2 * 1000.0 * 1000, &sample));
	ck_assert_double_eq_tol(sample.mean, 1000, 1e-9);
	ck_assert_double_eq_tol(sample.variance, 500000.0 / 3, 1e-6);
	ck_assert(sample_of(3, 3, 2.9999, &sample) && sample.variance == 0);
	ck_assert(!sample_of(1, 5, 25, &sample));
	ck_assert(!sample_of(0, 0, 0, &sample));
	ck_assert(!sample_of(9, 9, NAN, &sample) && !sample_of(9, 9, INFINITY, &sample));
}
END_TEST

// --- percentiles -----------------------------------------------------------------------------------------------------

START_TEST(percentile_intervals)
{
	int64_t buckets[200], low, high;
	Condprof__Histogram histogram = CONDPROF__HISTOGRAM__INIT;

	for (size_t i = 0; i < ARRAY_SIZE(buckets); i++)
		buckets[i] = 10;
	histogram.first_bucket = 80;
	histogram.buckets = buckets;
	histogram.n_buckets = ARRAY_SIZE(buckets);
	// 2000 values, ten a bucket: the median's ranks are 1000 - 43.8 and 1000 + 43.8, so 956 and 1045
	ck_assert_int_eq(percentile_interval(&histogram, 500, 0, INT64_MAX, &low, &high), 0);
	ck_assert_int_eq(low, (int64_t)floor(exp2((80 + 95) / 8.0)));
	ck_assert_int_eq(high, (int64_t)ceil(exp2((80 + 104 + 1) / 8.0)));
	ck_assert_int_eq(percentile_interval(&histogram, 500, low + 7, low + 9, &low, &high), 0);
	ck_assert_int_eq(high - low, 2);
	// the 99th percentile of a hundred has nothing above it
	histogram.n_buckets = 10;
	ck_assert_int_eq(percentile_interval(&histogram, 990, 0, INT64_MAX, &low, &high), -ENODATA);
	histogram.n_buckets = 0;
	ck_assert_int_eq(percentile_interval(&histogram, 500, 0, INT64_MAX, &low, &high), -ENODATA);
	histogram.zero = -1;
	ck_assert_int_eq(percentile_interval(&histogram, 500, 0, INT64_MAX, &low, &high), -EBADMSG);
	histogram.zero = 1000;
	histogram.overflow = 1000;
	ck_assert_int_eq(percentile_interval(&histogram, 250, 0, INT64_MAX, &low, &high), 0);
	ck_assert(low == 0 && high == 0);
	ck_assert_int_eq(percentile_interval(&histogram, 750, 0, INT64_MAX, &low, &high), 0);
	ck_assert(low == INT64_C(1) << 36 && high == INT64_MAX);
}
END_TEST

// --- rules -----------------------------------------------------------------------------------------------------------

START_TEST(rules_are_parsed)
{
	static const struct {
		const char *text;
		enum diff_metric metric;
		double percent;
	} good[] = {
		{"average>+10%", METRIC_AVERAGE, 10},
		{"p50>+0%", METRIC_P50, 0},
		{"p90>+2.5%", METRIC_P90, 2.5},
		{"p99 > +200 %", METRIC_P99, 200},
	};
	static const char *const bad[] = {
		"",
		"average",
		"average>",
		"average>10%",
		"average>+10",
		"average>+%",
		"average>+10%%",
		"average>+-1%",
		"average<+1%",
		"average>=+1%",
		"max>+10%",
		"mean>+10%",
		"averages>+1%",
		"average>+1.%",
		"average>+.5%",
		"average>+1e3%",
		"average>+1,5%",
		"average>+10% and",
		"av>+10%",
		">+10%",
		"average>+9999999999%",
	};
	struct diff_rule rule;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		ck_assert_int_eq(diff_rule_parse(good[i].text, &rule), 0);
		ck_assert(rule.metric == good[i].metric && rule.text == good[i].text);
		ck_assert_double_eq_tol(rule.percent, good[i].percent, 1e-12);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(diff_rule_parse(bad[i], &rule) == -EINVAL, "%s", bad[i]);
}
END_TEST

static const struct {
	const char *rule, *condition; ///< by its new name
	int64_t min_checks;
	enum diff_verdict verdict;
} judgements[] = {
	{"average>+10%", "new name", 30, VERDICT_WORSE},
	{"average>+25%", "new name", 30, VERDICT_FINE}, // 24.9 %
	{"average>+10%", "new name", 101, VERDICT_TOO_FEW},
	{"average>+10%", "spread", 30, VERDICT_FINE}, // 22 %, and the spread explains it
	{"average>+0%", "faster", 30, VERDICT_FINE},
	{"average>+10%", "few", 30, VERDICT_TOO_FEW},
	{"average>+10%", "few", 10, VERDICT_WORSE},
	{"average>+10%", "never", 1, VERDICT_TOO_FEW},
	{"p50>+10%", "new name", 30, VERDICT_WORSE},
	{"p50>+40%", "new name", 30, VERDICT_FINE},
	{"p99>+10%", "new name", 30, VERDICT_TOO_FEW}, // a hundred checks do not bound it
	{"p90>+0%", "spread", 30, VERDICT_FINE},
};

START_TEST(rule_on_a_pair)
{
	struct report *base = golden_report("compared-base"), *new = golden_report("compared-new");
	struct report_diff *diff;
	struct diff_rule rule;
	bool found = false;

	ck_assert_int_eq(diff_rule_parse(judgements[_i].rule, &rule), 0);
	ck_assert_int_eq(report_diff_new(base, new, &diff), 0);
	for (size_t i = 0; i < diff->n_common_conditions; i++) {
		const struct condition_pair *pair = &diff->conditions[i];

		if (strcmp(pair->new->name, judgements[_i].condition) != 0)
			continue;
		found = true;
		ck_assert_int_eq(diff_rule_apply(&rule, diff, pair, judgements[_i].min_checks), judgements[_i].verdict);
	}
	ck_assert(found);
	for (size_t i = diff->n_common_conditions; i < diff->n_conditions; i++)
		ck_assert_int_eq(diff_rule_apply(&rule, diff, &diff->conditions[i], 1), VERDICT_NOT_KNOWN);
	report_diff_free(diff);
	report_free(base);
	report_free(new);
}
END_TEST

/// Averages of a few nanoseconds are judged and printed by what they are, not by what they are rounded to.
START_TEST(percent_of_short_checks)
{
	Condprof__ConditionDetail base_detail = CONDPROF__CONDITION_DETAIL__INIT, new_detail = base_detail;
	struct report_condition base = {.measured = true, .checks = 1000, .total_ns = 50490, .detail = &base_detail},
				new = {.measured = true, .checks = 1000, .total_ns = 55500, .detail = &new_detail};
	struct report_diff diff = {0};
	struct condition_pair pair = {
		.base = &base, .new = &new, .has_means = true, .means = {.difference = 5.01, .exceeds_spread = true}};
	struct diff_rule rule;
	double percent;

	ck_assert_int_eq(condition_average(&base).value, 50);
	ck_assert_int_eq(condition_average(&new).value, 56); // 12 % more, it seems
	ck_assert(diff_pair_percent(&diff, &pair, METRIC_AVERAGE, &percent));
	ck_assert_double_eq_tol(percent, 501.0 / 50.49, 1e-9);
	ck_assert_int_eq(diff_rule_parse("average>+10%", &rule), 0);
	ck_assert_int_eq(diff_rule_apply(&rule, &diff, &pair, 30), VERDICT_FINE);
	new.total_ns = 55540;
	ck_assert_int_eq(diff_rule_apply(&rule, &diff, &pair, 30), VERDICT_WORSE);
	base.total_ns = 54500;
	new.total_ns = 54501; // 55 ns both, and 0.002 % more
	ck_assert_int_eq(diff_rule_parse("average>+0%", &rule), 0);
	ck_assert_int_eq(diff_rule_apply(&rule, &diff, &pair, 30), VERDICT_WORSE);
	base.total_ns = new.total_ns = 0;
	ck_assert(!diff_pair_percent(&diff, &pair, METRIC_AVERAGE, &percent));
	ck_assert_int_eq(diff_rule_apply(&rule, &diff, &pair, 30), VERDICT_FINE);
	base.checks = 0;
	ck_assert(!diff_pair_percent(&diff, &pair, METRIC_AVERAGE, &percent));
	pair.base = NULL;
	ck_assert(!diff_pair_percent(&diff, &pair, METRIC_AVERAGE, &percent));
}
END_TEST

// --- matching --------------------------------------------------------------------------------------------------------

static void matches_of(const struct report_diff *diff, char *out, size_t size)
{
	size_t length = 0;

	*out = 0;
	for (size_t i = 0; i < diff->n_conditions; i++) {
		const struct condition_pair *pair = &diff->conditions[i];

		length += (size_t)snprintf(out + length, size - length, "%s%s=%s%s%s", i > 0 ? "," : "",
					   pair->base ? pair->base->name : "", pair->new ? pair->new->name : "",
					   pair->by_id ? "!" : "", pair->redefined ? "~" : "");
	}
}

START_TEST(conditions_are_matched)
{
	struct report *base = golden_report("compared-base"), *new = golden_report("compared-new");
	struct report_diff *diff;
	char matches[512];

	ck_assert_int_eq(report_diff_new(base, new, &diff), 0);
	matches_of(diff, matches, sizeof(matches));
	ck_assert_str_eq(matches, "renamed=new name!,spread=spread,faster=faster~,few=few,never=never,gone=,went with "
				  "it=,=came");
	ck_assert_uint_eq(diff->n_common_events, 2);
	ck_assert_str_eq(diff->events[0].new->name, "new first");
	report_diff_free(diff);
	ck_assert_int_eq(report_diff_new(base, base, &diff), 0);
	ck_assert_uint_eq(diff->n_common_conditions, base->n_conditions);
	for (size_t i = 0; i < diff->n_conditions; i++) {
		ck_assert_ptr_eq(diff->conditions[i].base, diff->conditions[i].new);
		ck_assert(!diff->conditions[i].redefined && !diff->conditions[i].means.exceeds_spread);
	}
	report_diff_free(diff);
	report_free(base);
	report_free(new);
}
END_TEST

/// Numbers alone say nothing: without a scenario nothing is the same.
START_TEST(numbers_do_not_match)
{
	struct report *first = golden_report("timed-shape"), *second = golden_report("first-shape");
	struct report_diff *diff;

	ck_assert_int_eq(report_diff_new(first, second, &diff), 0);
	ck_assert_uint_eq(diff->n_common_conditions, 0);
	report_diff_free(diff);
	report_free(first);
	report_free(second);
}
END_TEST

// --- what it prints --------------------------------------------------------------------------------------------------

static const struct {
	const char *base, *new, *name;
} pairs[] = {
	{"compared-base", "compared-new", "compared.diff"},
	{"timed-shape", "finished", "timed-finished.diff"}, // one has no details
	{"hostile", "hostile", "hostile.diff"},
	{"empty", "torn", "empty-torn.diff"},
};

START_TEST(printed)
{
	struct report *base = golden_report(pairs[_i].base), *new = golden_report(pairs[_i].new);
	struct diff_rule rules[2];
	const struct diff_options options = {rules, 2, 30};
	struct report_diff *diff;

	ck_assert_int_eq(diff_rule_parse("average>+10%", &rules[0]), 0);
	ck_assert_int_eq(diff_rule_parse("p50>+10%", &rules[1]), 0);
	ck_assert_int_eq(report_diff_new(base, new, &diff), 0);
	for (size_t i = 0; i < GOLDEN_OUTPUTS; i++) {
		size_t failed, judged;
		struct golden golden = golden_begin(i);

		ck_assert_int_eq(view_diff(golden.render, diff, &options, &failed, &judged), 0);
		golden_end(&golden, pairs[_i].name);
		if (_i == 0)
			ck_assert(failed == 2 && judged == 6);
	}
	report_diff_free(diff);
	report_free(base);
	report_free(new);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client diff");
	TCase *test = tcase_create("statistics");

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return puts("1..0 # SKIP the locale C.UTF-8 is missing") < 0;
	tcase_add_loop_test(test, student_is_as_tabulated, 0, ARRAY_SIZE(table));
	tcase_add_test(test, normal_is_as_tabulated);
	tcase_add_test(test, student_closed_forms);
	tcase_add_test(test, student_by_integration);
	tcase_add_test(test, welch_of_the_textbook);
	tcase_add_test(test, welch_at_its_edges);
	tcase_add_test(test, samples);
	tcase_add_test(test, percentile_intervals);
	suite_add_tcase(suite, test);
	test = tcase_create("reports");
	tcase_add_test(test, rules_are_parsed);
	tcase_add_loop_test(test, rule_on_a_pair, 0, ARRAY_SIZE(judgements));
	tcase_add_test(test, percent_of_short_checks);
	tcase_add_test(test, conditions_are_matched);
	tcase_add_test(test, numbers_do_not_match);
	tcase_add_loop_test(test, printed, 0, ARRAY_SIZE(pairs));
	suite_add_tcase(suite, test);
	return unit_run(suite);
}
