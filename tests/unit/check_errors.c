// SPDX-License-Identifier: GPL-3.0-or-later
/// Messages are one line of valid UTF-8 whatever goes in; the nearest word is the one a plain matrix finds.
#include "proto/errors.h"
#include "proto/installed.h"
#include "proto/limits.h"
#include "proto/utf8.h"
#include "tests/support/unit.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

START_TEST(message_is_filled)
{
	struct error error = {.place = "old"};

	ck_assert_int_eq(error_set(&error, CONDPROF__CODE__IO, ENOSPC, "%s is full (%d)", "/var", 3), -ENOSPC);
	ck_assert_int_eq(error.code, CONDPROF__CODE__IO);
	ck_assert_str_eq(error.message, "/var is full (3)");
	ck_assert_str_eq(error.place, "");
	error_place(&error, "screen-events[%d]", 2);
	ck_assert_str_eq(error.place, "screen-events[2]");
	ck_assert_int_eq(error_set(NULL, CONDPROF__CODE__IO, EIO, "nobody asks"), -EIO);
	error_place(NULL, "x");
}
END_TEST

START_TEST(message_may_quote_itself)
{
	struct error error;

	error_set(&error, CONDPROF__CODE__IO, EIO, "it broke");
	error_place(&error, "conditions[0]");
	error_place(&error, "screen-events[1].%s", error.place);
	ck_assert_str_eq(error.place, "screen-events[1].conditions[0]");
	error_set(&error, CONDPROF__CODE__IO, EIO, "cannot start: %s", error.message);
	ck_assert_str_eq(error.message, "cannot start: it broke");
}
END_TEST

START_TEST(message_is_printable)
{
	struct error error;
	char many[2000];

	error_set(&error, CONDPROF__CODE__IO, EIO,
		  "a\nb\x1b[31mc\xff"
		  "d\xc2\x85"
		  "e");
	ck_assert_str_eq(error.message, "a b [31mc?d e");
	for (size_t i = 0; i + 3 < sizeof(many); i += 3)
		memcpy(many + i, "€", 4);
	for (int shift = 0; shift < 3; shift++) {
		error_set(&error, CONDPROF__CODE__IO, EIO, "%.*s%s", shift, "xx", many);
		ck_assert(utf8_valid(error.message, strlen(error.message)));
		ck_assert_uint_gt(strlen(error.message), sizeof(error.message) - 5);
		ck_assert_ptr_null(strchr(error.message, '?'));
	}
}
END_TEST

static const struct {
	const char *name;
	bool valid;
} installed_names[] = {
	{"kiosk", true},    {"9", true},         {"A.b_c-9", true}, {"a..", true},    {"yaml", true},
	{"a.yaml.b", true}, {"", false},         {".", false},      {"..", false},    {".a", false},
	{"-a", false},      {"_a", false},       {"a/b", false},    {"a b", false},   {"a.yaml", false},
	{"a\n", false},     {"\xc3\xa4", false}, {"a:b", false},    {".yaml", false}, {"a@b", false},
};

START_TEST(names_of_installed_scenarios)
{
	char longest[INSTALLED_NAME_MAX_BYTES + 2];

	for (size_t i = 0; i < ARRAY_SIZE(installed_names); i++)
		ck_assert_msg(installed_name_valid(installed_names[i].name) == installed_names[i].valid, "%s",
			      installed_names[i].name);
	memset(longest, 'x', sizeof(longest));
	longest[INSTALLED_NAME_MAX_BYTES] = '\0';
	ck_assert(installed_name_valid(longest));
	longest[INSTALLED_NAME_MAX_BYTES] = 'x';
	longest[INSTALLED_NAME_MAX_BYTES + 1] = '\0';
	ck_assert(!installed_name_valid(longest));
	for (int c = 1; c < 256; c++) {
		const char name[] = {'a', (char)c, '\0'};
		bool wanted = strchr("._-", c) || (c < 128 && isalnum(c));

		ck_assert_msg(installed_name_valid(name) == wanted, "%d", c);
	}
}
END_TEST

START_TEST(words_are_shortened)
{
	char many[600];

	ck_assert_str_eq(error_quote("popup").text, "popup");
	ck_assert_str_eq(error_quote("a\tb").text, "a b");
	memset(many, 'x', sizeof(many));
	many[sizeof(many) - 1] = '\0';
	ck_assert_uint_lt(strlen(error_quote(many).text), 84);
	ck_assert_str_eq(error_quote(many).text + 80, "…");
	for (size_t i = 0; i + 4 < sizeof(many); i += 3)
		memcpy(many + i, "€", 4);
	ck_assert(utf8_valid(error_quote(many).text, strlen(error_quote(many).text)));
}
END_TEST

START_TEST(codes_have_names)
{
	ck_assert_str_eq(error_code_name(CONDPROF__CODE__NO_SUCH_SESSION), "no-such-session");
	ck_assert_str_eq(error_code_name((Condprof__Code)99), "unknown");
	ck_assert_str_eq(error_code_name((Condprof__Code)-1), "unknown");
	for (unsigned i = 0; i < condprof__code__descriptor.n_values; i++) {
		const char *name = error_code_name((Condprof__Code)condprof__code__descriptor.values[i].value);
		const char *wire = condprof__code__descriptor.values[i].name;

		ck_assert_uint_eq(strlen(name), strlen(wire));
		for (size_t k = 0; wire[k]; k++)
			ck_assert_int_eq(name[k], wire[k] == '_' ? '-' : tolower((unsigned char)wire[k]));
	}
}
END_TEST

/// The textbook's matrix, to compare with.
static size_t distance(const char *a, const char *b)
{
	size_t matrix[70][140], n = strlen(a), m = strlen(b);

	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (i == 0 || j == 0) {
				matrix[i][j] = i + j;
				continue;
			}
			matrix[i][j] = MIN(MIN(matrix[i - 1][j], matrix[i][j - 1]) + 1,
					   matrix[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				matrix[i][j] = MIN(matrix[i][j], matrix[i - 2][j - 2] + 1);
		}
	return matrix[n][m];
}

static void random_word(char *out, size_t max, unsigned *seed)
{
	size_t length = 1 + (unsigned)rand_r(seed) % max;

	for (size_t i = 0; i < length; i++)
		out[i] = (char)('a' + rand_r(seed) % 3);
	out[length] = '\0';
}

START_TEST(nearest_is_the_nearest)
{
	unsigned seed = (unsigned)_i + 1;

	for (int round = 0; round < 300; round++) {
		char word[70], words[10][100];
		const char *list[11] = {NULL};
		size_t best = SIZE_MAX;

		random_word(word, 64, &seed);
		for (size_t i = 0; i < 10; i++) {
			random_word(words[i], i % 2 ? 96 : strlen(word), &seed);
			if (i % 3 == 0)
				strcpy(words[i], word);
			if (i % 3 == 0)
				words[i][(unsigned)rand_r(&seed) % strlen(word)] = 'z';
			list[i] = words[i];
			size_t d = distance(word, words[i]);
			if (d <= MAX(strlen(word), strlen(words[i])) / 3)
				best = MIN(best, d);
		}
		const char *nearest = nearest_word(word, list, SIZE_MAX);
		if (best == SIZE_MAX)
			ck_assert_ptr_null(nearest);
		else
			ck_assert_uint_eq(distance(word, nearest), best);
	}
}
END_TEST

START_TEST(nearest_words)
{
	static const char *const words[] = {"threshold", "cooldown", "keep-detecting", "present", "any", NULL};
	static const char *const short_words[] = {"x", "ok"};

	ck_assert_str_eq(nearest_word("treshold", words, SIZE_MAX), "threshold");
	ck_assert_str_eq(nearest_word("Threshold", words, 5), "threshold");
	ck_assert_str_eq(nearest_word("COOLDOWN", words, 5), "cooldown");
	ck_assert_str_eq(nearest_word("keep_detecting", words, 5), "keep-detecting");
	ck_assert_str_eq(nearest_word("ayn", words, 5), "any");
	ck_assert_ptr_null(nearest_word("elephant", words, 5));
	ck_assert_ptr_null(nearest_word("", words, 5));
	ck_assert_ptr_null(nearest_word("treshold", words, 0));
	ck_assert_ptr_null(nearest_word("y", short_words, 2));
	char many[300];
	memset(many, 'a', sizeof(many));
	many[299] = '\0';
	ck_assert_ptr_null(nearest_word(many, (const char *const[]){many}, 1));
	ck_assert_ptr_null(nearest_word("a", (const char *const[]){many}, 1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("errors");
	TCase *tests = tcase_create("errors");

	tcase_add_test(tests, message_is_filled);
	tcase_add_test(tests, message_may_quote_itself);
	tcase_add_test(tests, message_is_printable);
	tcase_add_test(tests, words_are_shortened);
	tcase_add_test(tests, names_of_installed_scenarios);
	tcase_add_test(tests, codes_have_names);
	tcase_add_loop_test(tests, nearest_is_the_nearest, 0, 8);
	tcase_add_test(tests, nearest_words);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
