// SPDX-License-Identifier: GPL-3.0-or-later
//
// The small languages of scenario files: durations, rates, percentages, colours, comparisons, texts with counters.
#include "config.h"

#include "client/scenario/value.h"
#include "proto/limits.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

START_TEST(durations)
{
	static const struct {
		const char *text;
		int64_t ns; ///< -1: refused
	} rows[] = {
		{"0 ms", 0},
		{"0ns", 0},
		{"1ns", 1},
		{"1 us", 1000},
		{"1 µs", 1000},
		{"1μs", 1000},
		{"1 ms", 1000000},
		{"1 s", 1000000000},
		{"1min", 60000000000},
		{"1  h", 3600000000000},
		{"1.5 s", 1500000000},
		{"0.000000001 s", 1},
		{".5 s", 500000000},
		{"1. s", 1000000000},
		{"1.50000000000000000000 ms", 1500000},
		{"0.00000000001 h", 36},
		{"0.0001 us", -1},
		{"0.00028125 h", 1012500000},
		{"0.0000000000009765625 h", -1},
		{"1.0 ns", 1},
		{"1.1 ns", -1},
		{"876000 h", INT64_C(3153600000000000000)},
		{"876000.1 h", -1},
		{"876001 h", -1},
		{"18446744073709551616 ns", -1},
		{"99999999999999999999999999999999999999 ns", -1},
		{"0.00000000000000000000000000000000000000000000001 s", -1},
		{"0.0000000000000000000000000000000000000000000000 s", 0},
		{"", -1},
		{"s", -1},
		{"3", -1},
		{"3 m", -1},
		{"3 sec", -1},
		{"-3 s", -1},
		{"+3 s", -1},
		{"1e3 s", -1},
		{"1,5 s", -1},
		{"3 s ", -1},
		{"3 s 4", -1},
		{" 3 s", -1},
		{"1..5 s", -1},
		{"0x3 s", -1},
		{"3\ts", -1},
		{"3 S", -1},
		{". s", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct value_problem problem = {""};
		int64_t ns = -1;
		int r = value_duration(rows[i].text, &duration_short, &ns, &problem);

		ck_assert_msg(ns == rows[i].ns && r == (rows[i].ns < 0 ? -EINVAL : 0), "%s: %d, %lld: %s", rows[i].text,
			      r, (long long)ns, problem.message);
		ck_assert_msg((r == 0) == !problem.message[0], "%s", rows[i].text);
	}
}
END_TEST

START_TEST(durations_as_text)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{0, "0 s"},
		{1, "1 ns"},
		{999, "999 ns"},
		{1000, "1 us"},
		{1001, "1.001 us"},
		{1500000, "1.5 ms"},
		{50000000, "50 ms"},
		{1000000001, "1000000.001 us"},
		{1001000000, "1.001 s"},
		{60000000000, "1 min"},
		{90000000000, "90 s"},
		{3600000000000, "1 h"},
		{INT64_C(86400) * 1000000000, "24 h"},
		{SCENARIO_MAX_DURATION_NS, "876000 h"},
		{5400000000000, "90 min"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[48];
		int64_t ns = -1;
		struct value_problem problem;

		ck_assert_str_eq(duration_text(rows[i].ns, text, sizeof(text)), rows[i].text);
		ck_assert_int_eq(value_duration(text, &duration_short, &ns, &problem), 0);
		ck_assert_int_eq(ns, rows[i].ns);
	}
}
END_TEST

START_TEST(rates)
{
	static const struct {
		const char *text;
		double passes; ///< -1: refused
		int64_t per_ns;
	} rows[] = {
		{"10/s", 10, NSEC_PER_SEC},
		{"30/min", 30, 60 * NSEC_PER_SEC},
		{"0.5/s", 0.5, NSEC_PER_SEC},
		{"10 / s", 10, NSEC_PER_SEC},
		{"unlimited", 0, NSEC_PER_SEC},
		{"1000000/s", 1000000, NSEC_PER_SEC},
		{"1000001/s", -1, 0},
		{"60000000/min", 60000000, 60 * NSEC_PER_SEC},
		{"0/s", -1, 0},
		{"0.0000000000001/min", -1, 0},
		{"-1/s", -1, 0},
		{"10", -1, 0},
		{"10/h", -1, 0},
		{"10/sec", -1, 0},
		{"/s", -1, 0},
		{"", -1, 0},
		{"10/", -1, 0},
		{"10s", -1, 0},
		{"inf/s", -1, 0},
		{"Unlimited", -1, 0},
		{"10/s ", -1, 0},
		{"1e2/s", -1, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct value_problem problem = {""};
		double passes = -1;
		int64_t per_ns = 0;
		int r = value_rate(rows[i].text, &passes, &per_ns, &problem);

		ck_assert_msg(r == (rows[i].passes < 0 ? -EINVAL : 0), "%s: %s", rows[i].text, problem.message);
		ck_assert_double_eq(passes, rows[i].passes);
		ck_assert_int_eq(per_ns, rows[i].per_ns);
	}
}
END_TEST

START_TEST(numbers)
{
	static const struct {
		const char *text;
		bool good;
		double number;
		bool reads_as_number;
	} rows[] = {
		{"0", true, 0, true},       {"-2.5", true, -2.5, true}, {"+3", true, 3, true},
		{"1e3", true, 1000, true},  {".5", true, 0.5, true},    {"5.", true, 5, true},
		{"1E-2", true, 0.01, true}, {"inf", false, 0, true},    {"nan", false, 0, true},
		{"0x10", false, 0, true},   {"1e999", false, 0, true},  {"", false, 0, false},
		{"x", false, 0, false},     {"1x", false, 0, false},    {"-", false, 0, false},
		{"1e", false, 0, false},    {"1,5", false, 0, false},   {"infinity", false, 0, true},
		{"1 ", false, 0, true},     {"--1", false, 0, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct value_problem problem;
		double number = 0;

		ck_assert_msg((value_number(rows[i].text, &number, &problem) == 0) == rows[i].good, "%s", rows[i].text);
		ck_assert_double_eq(number, rows[i].number);
		ck_assert_msg(value_reads_as_number(rows[i].text) == rows[i].reads_as_number, "%s", rows[i].text);
	}
}
END_TEST

START_TEST(percentages)
{
	static const struct {
		const char *text;
		double percent; ///< -1: refused
	} rows[] = {{"4", 4},    {"0.5", 0.5}, {"4 %", 4}, {"4%", 4},    {"100", 100}, {"0", 0},  {"-0", 0},
		    {"101", -1}, {"-1", -1},   {"", -1},   {"four", -1}, {"4 % ", -1}, {"%", -1}, {"1e1", -1}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct value_problem problem;
		double percent = -1;

		ck_assert_int_eq(value_percent(rows[i].text, &percent, &problem), rows[i].percent < 0 ? -EINVAL : 0);
		ck_assert_double_eq(percent, rows[i].percent);
	}
}
END_TEST

START_TEST(colours)
{
	static const char *const wrong[] = {"",         "#",       "ff8800",   "#fff", "#ff880",
					    "#ff88000", "#gg0000", "# ff8800", "red",  "##ff8800"};
	struct value_problem problem;
	uint32_t rgb = 0;

	ck_assert_int_eq(value_color("#ff8801", &rgb, &problem), 0);
	ck_assert_uint_eq(rgb, 0xff8801);
	ck_assert_int_eq(value_color("#AbCdEf", &rgb, &problem), 0);
	ck_assert_uint_eq(rgb, 0xabcdef);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		ck_assert_msg(value_color(wrong[i], &rgb, &problem) == -EINVAL, "%s", wrong[i]);
}
END_TEST

START_TEST(comparisons)
{
	static const struct {
		const char *text;
		int comparison; ///< -1: refused
		const char *operand;
	} rows[] = {
		{"== 3", CONDPROF__COMPARISON__EQUAL, "3"},
		{"!=3", CONDPROF__COMPARISON__NOT_EQUAL, "3"},
		{">=  retries", CONDPROF__COMPARISON__GREATER_OR_EQUAL, "retries"},
		{"<= a b", CONDPROF__COMPARISON__LESS_OR_EQUAL, "a b"},
		{"> -1", CONDPROF__COMPARISON__GREATER, "-1"},
		{"<.5", CONDPROF__COMPARISON__LESS, ".5"},
		{"3", -1, ""},
		{"= 3", -1, ""},
		{"=> 3", -1, ""},
		{"", -1, ""},
		{">=", -1, ""},
		{"<> 3", -1, ""},
		{"=== 3", -1, ""},
		{" == 3", -1, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct value_problem problem;
		Condprof__Comparison comparison = (Condprof__Comparison)77;
		const char *operand = "";
		int r = value_comparison(rows[i].text, &comparison, &operand, &problem);

		ck_assert_msg(r == (rows[i].comparison < 0 ? -EINVAL : 0), "%s", rows[i].text);
		ck_assert_str_eq(operand, rows[i].operand);
		if (r == 0)
			ck_assert_int_eq((int)comparison, rows[i].comparison);
	}
}
END_TEST

/// Parts as "literal|{counter}|…"
static void parts_as_text(const struct value_part *parts, size_t count, char *out)
{
	*out = '\0';
	for (size_t i = 0; i < count; i++)
		out += sprintf(out, parts[i].counter ? "%s{%s}" : "%s%s", i > 0 ? "|" : "", parts[i].text);
}

START_TEST(texts_with_counters)
{
	static const struct {
		const char *text, *parts; ///< NULL: refused
		size_t offset;
	} rows[] = {
		{"", "", 0},
		{"a", "a", 0},
		{"{a}", "{a}", 0},
		{"x {a} y", "x |{a}| y", 0},
		{"{a}{b c}", "{a}|{b c}", 0},
		{"{{a}}", "{a}", 0},
		{"{{{a}}}", "{|{a}|}", 0},
		{"}}{{", "}{", 0},
		{"a }", NULL, 2},
		{"{a", NULL, 0},
		{"x{", NULL, 1},
		{"{}", NULL, 0},
		{"{a{b}}", NULL, 0},
		{"{{a}", NULL, 3},
		{"ü{a}", "ü|{a}", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena = {0};
		struct value_part *parts = NULL;
		struct value_problem problem;
		size_t count = 0, offset = 0;
		char text[200];
		int r = value_parts(&arena, rows[i].text, &parts, &count, &problem, &offset);

		ck_assert_msg(r == (rows[i].parts ? 0 : -EINVAL), "%s", rows[i].text);
		if (r == 0) {
			parts_as_text(parts, count, text);
			ck_assert_str_eq(text, rows[i].parts);
		} else {
			ck_assert_msg(offset == rows[i].offset, "%s: %zu", rows[i].text, offset);
		}
		arena_clear(&arena);
	}
}
END_TEST

START_TEST(bus_names)
{
	static const char *const members[] = {"a.b.c", "org.example.Kiosk1._Closed"};
	static const char *const no_members[] = {"",     "a",      "a.b",     "a..b",   ".a.b",
						 "a.b.", "a.b.1c", "a.b.c-d", "a b.c.d"};
	static const char *const paths[] = {"/", "/a", "/org/example/_1"};
	static const char *const no_paths[] = {"", "a", "/a/", "//", "/a//b", "/a-b"};
	struct value_problem problem;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		ck_assert_msg(value_bus_member(members[i], &problem) == 0, "%s", members[i]);
	for (size_t i = 0; i < ARRAY_SIZE(no_members); i++)
		ck_assert_msg(value_bus_member(no_members[i], &problem) == -EINVAL, "%s", no_members[i]);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		ck_assert_msg(value_bus_path(paths[i], &problem) == 0, "%s", paths[i]);
	for (size_t i = 0; i < ARRAY_SIZE(no_paths); i++)
		ck_assert_msg(value_bus_path(no_paths[i], &problem) == -EINVAL, "%s", no_paths[i]);
}
END_TEST

static Suite *value_suite(void)
{
	Suite *suite = suite_create("values of scenario files");
	TCase *tests = tcase_create("values");

	tcase_add_test(tests, durations);
	tcase_add_test(tests, durations_as_text);
	tcase_add_test(tests, rates);
	tcase_add_test(tests, numbers);
	tcase_add_test(tests, percentages);
	tcase_add_test(tests, colours);
	tcase_add_test(tests, comparisons);
	tcase_add_test(tests, texts_with_counters);
	tcase_add_test(tests, bus_names);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return unit_run(value_suite());
}
