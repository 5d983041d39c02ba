// SPDX-License-Identifier: GPL-3.0-or-later
/// What the client makes of figures and names: units, widths, harmless names, numbers from the command line.
#include "client/quantity.h"
#include "client/render/format.h"
#include "client/render/width.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define MS NSEC_PER_MSEC
#define S NSEC_PER_SEC

static const struct {
	int64_t ns;
	const char *text;
} durations[] = {
	{0, "0 ns"},
	{1, "1 ns"},
	{999, "999 ns"},
	{1000, "1.00 µs"},
	{1235, "1.24 µs"},
	{9994, "9.99 µs"},
	{9996, "10.0 µs"},
	{99949, "99.9 µs"},
	{99951, "100 µs"},
	{999499, "999 µs"},
	{999500, "1.00 ms"},
	{226 * MS, "226 ms"},
	{999 * MS + 499999, "999 ms"},
	{999 * MS + 500000, "1.00 s"},
	{1040 * MS, "1.04 s"},
	{59 * S + 949 * MS, "59.9 s"},
	{59 * S + 950 * MS, "1 m 00 s"},
	{60 * S, "1 m 00 s"},
	{134 * S, "2 m 14 s"},
	{134 * S + 500 * MS, "2 m 15 s"},
	{3599 * S + 499 * MS, "59 m 59 s"},
	{3599 * S + 500 * MS, "1 h 00 m 00 s"},
	{3725 * S, "1 h 02 m 05 s"},
	{86399 * S, "23 h 59 m 59 s"},
	{86400 * S, "1 d 00 h 00 m"},
	{86400 * S + 29 * S + 999 * MS, "1 d 00 h 00 m"},
	{86400 * S + 30 * S, "1 d 00 h 01 m"},
	{2 * 86400 * S - 1, "2 d 00 h 00 m"},
	{INT64_C(400) * 86400 * S + 3600 * S * 5 + 60 * S * 7, "400 d 05 h 07 m"},
	{-1040 * MS, "-1.04 s"},
	{-1, "-1 ns"},
	{INT64_MAX, "106751 d 23 h 47 m"},
	{INT64_MIN, "-106751 d 23 h 47 m"},
};

START_TEST(duration)
{
	char text[FORMAT_SIZE];

	ck_assert_str_eq(format_duration(durations[_i].ns, false, false, text), durations[_i].text);
}
END_TEST

START_TEST(duration_signed_and_ascii)
{
	char text[FORMAT_SIZE];

	ck_assert_str_eq(format_duration(1040 * MS, true, false, text), "+1.04 s");
	ck_assert_str_eq(format_duration(-134 * S, true, false, text), "-2 m 14 s");
	ck_assert_str_eq(format_duration(0, true, false, text), "+0 ns");
	ck_assert_str_eq(format_duration(1235, false, true, text), "1.24 us");
}
END_TEST

static const struct {
	double share;
	const char *text;
} shares[] = {
	{0, "0.0 %"},      {1e-9, "<0.1 %"},   {0.0004, "<0.1 %"},  {0.0006, "0.1 %"},
	{0.123, "12.3 %"}, {0.9994, "99.9 %"}, {0.9996, ">99.9 %"}, {1, "100.0 %"},
};

START_TEST(share)
{
	char text[FORMAT_SIZE];

	ck_assert_str_eq(format_share(shares[_i].share, text), shares[_i].text);
}
END_TEST

static const struct {
	double percent;
	const char *text;
} changes[] = {
	{0, "0.0 %"},         {-0.04, "0.0 %"},      {12.34, "+12.3 %"},      {-100, "-100.0 %"},
	{999.94, "+999.9 %"}, {33258.6, "+33259 %"}, {6.5e8, "+650000000 %"}, {1e300, "+1e+300 %"},
};

START_TEST(change)
{
	char text[FORMAT_SIZE];

	ck_assert_str_eq(format_change(changes[_i].percent, text), changes[_i].text);
}
END_TEST

static const struct {
	int64_t bytes;
	const char *text;
} sizes[] = {
	{0, "0 B"},
	{1023, "1023 B"},
	{1024, "1.0 KiB"},
	{18042, "17.6 KiB"},
	{1048570, "1.0 MiB"},
	{INT64_C(2) << 30, "2.0 GiB"},
	{INT64_MAX, "8388608.0 TiB"},
	{-1, "-1 B"},
};

START_TEST(bytes)
{
	char text[FORMAT_SIZE];

	ck_assert_str_eq(format_bytes(sizes[_i].bytes, text), sizes[_i].text);
}
END_TEST

START_TEST(counts)
{
	char text[FORMAT_SIZE];

	ck_assert_str_eq(format_count(1, "pass", "passes", text), "1 pass");
	ck_assert_str_eq(format_count(0, "pass", "passes", text), "0 passes");
	ck_assert_str_eq(format_count(INT64_MIN, "pass", "passes", text), "-9223372036854775808 passes");
}
END_TEST

static const double numbers[] = {0, 1, -1, 0.1, 1e300, 1.0 / 3, 123456789.125, 5e-324, 0.1 + 0.2};

START_TEST(number_reads_back)
{
	char text[FORMAT_SIZE];

	ck_assert(strtod(format_number(numbers[_i], text), NULL) == numbers[_i]);
	ck_assert_str_eq(format_number(0.1, text), "0.1");
	ck_assert_str_eq(format_number(3, text), "3");
	ck_assert_str_eq(format_number(-NAN, text), "NaN");
	ck_assert_str_eq(format_number(INFINITY, text), "Infinity");
	ck_assert_str_eq(format_number(-INFINITY, text), "-Infinity");
}
END_TEST

START_TEST(moments)
{
	char text[FORMAT_SIZE];

	ck_assert_str_eq(format_rfc3339(INT64_C(1772367296789) * MS, text), "2026-03-01T12:14:56.789Z");
	ck_assert_str_eq(format_rfc3339(0, text), "1970-01-01T00:00:00.000Z");
	ck_assert_str_eq(format_rfc3339(-1, text), "1969-12-31T23:59:59.999Z");
	setenv("TZ", "UTC-2", 1);
	tzset();
	ck_assert_str_eq(format_local(INT64_C(1772367296789) * MS, text), "2026-03-01 14:14:56");
}
END_TEST

static const struct {
	const char *given, *clean, *ascii;
	int width; // of clean
} names[] = {
	{"", "", "", 0},
	{"popup.png", "popup.png", "popup.png", 9},
	{"\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m", "\\x1b[31mred\\x1b[0m", 18},
	{"a\nb\tc\r", "a\\nb\\tc\\r", "a\\nb\\tc\\r", 9},
	{"\x7f\xc2\x9b", "\\x7f\\x9b", "\\x7f\\x9b", 8},
	{"漢字", "漢字", "??", 4},
	{"e\xcc\x81", "e\xcc\x81", "e?", 1},
	{"a\xe2\x80\xae"
	 "b",
	 "a\\u202eb", "a\\u202eb", 8},
	{"\xe2\x80\x8b", "\\u200b", "\\u200b", 6},
	{"\xef\xbb\xbf", "\\ufeff", "\\ufeff", 6},
	{"\xe2\x80\xa8", "\\u2028", "\\u2028", 6},
	{"\xff\xc0\xaf", "\\xff\\xc0\\xaf", "\\xff\\xc0\\xaf", 12},
	{"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80", 12},
	{"cut\xe6\xbc", "cut\\xe6\\xbc", "cut\\xe6\\xbc", 11},
	{"\xf3\xa0\x81\x81", "\\U000e0041", "\\U000e0041", 10},
};

START_TEST(clean_names)
{
	CLEANUP_FREE char *clean = text_clean(names[_i].given);
	CLEANUP_FREE char *ascii = text_clean_ascii(names[_i].given);

	ck_assert_str_eq(clean, names[_i].clean);
	ck_assert_str_eq(ascii, names[_i].ascii);
	ck_assert_int_eq(text_width(clean), names[_i].width);
}
END_TEST

/// No byte below 32 and no 127 comes through, whatever goes in.
START_TEST(clean_never_lets_controls_through)
{
	uint32_t state = (uint32_t)_i + 1;
	char given[64];

	for (size_t i = 0; i < sizeof(given) - 1; i++) {
		state = state * 1103515245 + 12345;
		given[i] = (char)(state >> 16);
	}
	given[sizeof(given) - 1] = 0;
	CLEANUP_FREE char *clean = text_clean(given);
	for (const char *at = clean; *at; at++)
		ck_assert_msg((unsigned char)*at >= 32 && *at != 127, "byte %d", *at);
	ck_assert_int_ge(text_width(clean), 0);
}
END_TEST

static const struct {
	const char *text;
	int columns;
	const char *mark, *cut;
} cuts[] = {
	{"short", 5, "…", "short"},
	{"longer", 5, "…", "long…"},
	{"longer", 5, "..", "lon.."},
	{"漢字漢字", 8, "…", "漢字漢字"},
	{"漢字漢字", 6, "…", "漢字…"},
	{"漢字漢字", 5, "…", "漢字…"},
	{"漢字", 1, "…", "…"},
	{"ab", 1, "..", "a"},
	{"e\xcc\x81tait", 3, "…", "e\xcc\x81t…"},
};

START_TEST(cut)
{
	char text[64];

	strcpy(text, cuts[_i].text);
	text_cut(text, cuts[_i].columns, cuts[_i].mark);
	ck_assert_str_eq(text, cuts[_i].cut);
	ck_assert_int_le(text_width(text), cuts[_i].columns);
}
END_TEST

static const struct {
	const char *text;
	int r;
	int64_t ns;
} parsed[] = {
	{"5s", 0, 5 * S},
	{"5 s", 0, 5 * S},
	{"1.5s", 0, 1500 * MS},
	{"250 ms", 0, 250 * MS},
	{"3us", 0, 3000},
	{"3µs", 0, 3000},
	{"7ns", 0, 7},
	{"2min", 0, 120 * S},
	{"1h", 0, 3600 * S},
	{"0 ms", 0, 0},
	{".5s", 0, 500 * MS},
	{"5", -EINVAL, 0},
	{"", -EINVAL, 0},
	{"s", -EINVAL, 0},
	{"-5s", -EINVAL, 0},
	{"5 sec", -EINVAL, 0},
	{"5s ", -EINVAL, 0},
	{"1.2.3s", -EINVAL, 0},
	{".s", -EINVAL, 0},
	{"1e3s", -EINVAL, 0},
	{"nan s", -EINVAL, 0},
	{"9223372037s", -ERANGE, 0},
	{"99999999999999999999h", -ERANGE, 0},
};

START_TEST(parse_duration)
{
	int64_t ns = 77;

	ck_assert_int_eq(duration_parse(parsed[_i].text, &ns), parsed[_i].r);
	ck_assert_int_eq(ns, parsed[_i].r ? 77 : parsed[_i].ns);
}
END_TEST

START_TEST(parse_rate)
{
	double passes = -1;
	int64_t per_ns = -1;

	ck_assert_int_eq(rate_parse("10/s", &passes, &per_ns), 0);
	ck_assert(passes == 10 && per_ns == S);
	ck_assert_int_eq(rate_parse("0.5 / min", &passes, &per_ns), 0);
	ck_assert(passes == 0.5 && per_ns == 60 * S);
	ck_assert_int_eq(rate_parse("unlimited", &passes, &per_ns), 0);
	ck_assert(passes == 0);
	ck_assert_int_eq(rate_parse("0/s", &passes, &per_ns), -EINVAL);
	ck_assert_int_eq(rate_parse("10", &passes, &per_ns), -EINVAL);
	ck_assert_int_eq(rate_parse("10/h", &passes, &per_ns), -EINVAL);
	ck_assert_int_eq(rate_parse("/s", &passes, &per_ns), -EINVAL);
	ck_assert_int_eq(rate_parse("", &passes, &per_ns), -EINVAL);
}
END_TEST

START_TEST(parse_count)
{
	int64_t count = 77;

	ck_assert_int_eq(count_parse("12", 1, &count), 0);
	ck_assert_int_eq(count, 12);
	ck_assert_int_eq(count_parse("9223372036854775807", 1, &count), 0);
	ck_assert(count == INT64_MAX);
	ck_assert_int_eq(count_parse("9223372036854775808", 1, &count), -ERANGE);
	ck_assert_int_eq(count_parse("0", 1, &count), -ERANGE);
	ck_assert_int_eq(count_parse("", 1, &count), -EINVAL);
	ck_assert_int_eq(count_parse("+1", 1, &count), -EINVAL);
	ck_assert_int_eq(count_parse("1x", 1, &count), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client text");
	TCase *test = tcase_create("units");

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return puts("1..0 # SKIP the locale C.UTF-8 is missing") < 0;
	tcase_add_loop_test(test, duration, 0, ARRAY_SIZE(durations));
	tcase_add_test(test, duration_signed_and_ascii);
	tcase_add_loop_test(test, share, 0, ARRAY_SIZE(shares));
	tcase_add_loop_test(test, change, 0, ARRAY_SIZE(changes));
	tcase_add_loop_test(test, bytes, 0, ARRAY_SIZE(sizes));
	tcase_add_test(test, counts);
	tcase_add_loop_test(test, number_reads_back, 0, ARRAY_SIZE(numbers));
	tcase_add_test(test, moments);
	suite_add_tcase(suite, test);
	test = tcase_create("width");
	tcase_add_loop_test(test, clean_names, 0, ARRAY_SIZE(names));
	tcase_add_loop_test(test, clean_never_lets_controls_through, 0, 200);
	tcase_add_loop_test(test, cut, 0, ARRAY_SIZE(cuts));
	suite_add_tcase(suite, test);
	test = tcase_create("quantity");
	tcase_add_loop_test(test, parse_duration, 0, ARRAY_SIZE(parsed));
	tcase_add_test(test, parse_rate);
	tcase_add_test(test, parse_count);
	suite_add_tcase(suite, test);
	return unit_run(suite);
}
