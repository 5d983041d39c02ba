// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers in texts, likeness of texts, and reading both from pictures: the number table and the hit rates of
// docs/DETECTION.md. With CONDPROF_OCR_TABLE set, the hit rates are printed as that table.
#include "config.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "daemon/detect/detect.h"
#include "daemon/detect/number.h"
#include "daemon/detect/wanted.h"
#include "proto/limits.h"

// --- numbers ---------------------------------------------------------------------------------------------------------

#define NONE NAN   // a token that is no number
#define ABSENT -99 // no token

static const struct {
	const char *text;
	double comma, dot, automatic;
} numbers[] = {
	// the table of docs/DETECTION.md
	{"1.234.567,890", 1234567.89, NONE, 1234567.89},
	{"42,588", 42.588, 42588, 42588},
	{"1.234.567", 1234567, NONE, 1234567},
	{"1-2", NONE, NONE, NONE},
	{"-", ABSENT, ABSENT, ABSENT},
	// one separator
	{"1,234.5", NONE, 1234.5, 1234.5},
	{"1,5", 1.5, 15, 1.5},
	{"1,2345", 1.2345, 12345, 1.2345},
	{"1.234", 1234, 1.234, 1.234},
	{"0.75", 75, 0.75, 0.75},
	{"1,234,567", NONE, 1234567, 1234567},
	{"1,234,567.5", NONE, 1234567.5, 1234567.5},
	{"1.5,2.5", NONE, NONE, NONE},
	{"1.234,567.8", NONE, NONE, NONE},
	{".5", NONE, 0.5, 0.5},
	{",5", 0.5, NONE, 0.5},
	{"42.", 42, 42, 42},
	{"42,", 42, 42, 42},
	{"1..5", NONE, NONE, NONE},
	// blanks group
	{"12 500", 12500, 12500, 12500},
	{"1 234,5", 1234.5, 12345, 1234.5},
	{"1 234 567.25", 123456725, 1234567.25, 1234567.25},
	{"12\xc2\xa0"
	 "500",
	 12500, 12500, 12500},
	{"  7  ", 7, 7, 7},
	// signs
	{"-17", -17, -17, -17},
	{"+17", 17, 17, 17},
	{"- 17", -17, -17, -17},
	{"\xe2\x88\x92"
	 "3",
	 -3, -3, -3},
	{"17-", NONE, NONE, NONE},
	{"--17", NONE, NONE, NONE},
	{"+-17", NONE, NONE, NONE},
	// the first token decides
	{"Retry 3 of 10", 3, 3, 3},
	{"a - b 4", 4, 4, 4},
	{"HP 42/100", 42, 42, 42},
	{"99%", 99, 99, 99},
	{"$1,000", 1, 1000, 1000},
	{"1-2 then 5", NONE, NONE, NONE},
	{"v1.5b", 15, 1.5, 1.5},
	{"1e5", 1, 1, 1},
	{"0x10", 0, 0, 0},
	{"nan inf", ABSENT, ABSENT, ABSENT},
	{"", ABSENT, ABSENT, ABSENT},
	{". , + -", ABSENT, ABSENT, ABSENT},
	{"\xff"
	 "5\xff"
	 "6",
	 5, 5, 5},
	{"-0", -0.0, -0.0, -0.0},
};

static void expect_number(const char *text, enum detect_format format, double expected)
{
	double value = 12345;
	enum number_found found = number_find(text, strlen(text), format, &value);

	if (expected == ABSENT)
		ck_assert_msg(found == NUMBER_NO_TOKEN, "“%s” %d: %d", text, format, found);
	else if (isnan(expected))
		ck_assert_msg(found == NUMBER_BAD, "“%s” %d: %d %g", text, format, found, value);
	else
		ck_assert_msg(found == NUMBER_READ && value == expected && signbit(value) == signbit(expected),
			      "“%s” %d: %d %.17g", text, format, found, value);
	if (found != NUMBER_READ)
		ck_assert_double_eq(value, 12345);
}

START_TEST(number_table)
{
	expect_number(numbers[_i].text, DETECT_FORMAT_COMMA, numbers[_i].comma);
	expect_number(numbers[_i].text, DETECT_FORMAT_DOT, numbers[_i].dot);
	expect_number(numbers[_i].text, DETECT_FORMAT_AUTO, numbers[_i].automatic);
}
END_TEST

START_TEST(numbers_of_any_length)
{
	char digits[1000];

	memset(digits, '9', sizeof(digits));
	digits[300] = '\0';
	expect_number(digits, DETECT_FORMAT_AUTO, 1e300);
	digits[300] = '9';
	digits[320] = '\0'; // over the largest double
	expect_number(digits, DETECT_FORMAT_AUTO, NONE);
	digits[320] = '9';
	digits[999] = '\0';
	expect_number(digits, DETECT_FORMAT_AUTO, NONE);
	memset(digits, '0', 999);
	expect_number(digits, DETECT_FORMAT_AUTO, NONE);
}
END_TEST

// --- likeness --------------------------------------------------------------------------------------------------------

static const struct {
	const char *wanted, *line;
	bool ignore_case;
	size_t distance;
} lines[] = {
	{"Sign in", "Sign in", false, 0},
	{"Sign in", "Signin", false, 1},
	{"Sign in", "sign in", false, 1},
	{"Sign in", "SIGN IN", true, 0},
	{"Sign in", "Sign im", false, 1},
	{"Sign in", "Sign in now", false, 4},
	{"Sign in", "", false, 7},
	{"Sign in", "something else altogether", false, 7},
	{"  Sign in ", "Sign in\n", false, 0},
	{"kitten", "sitting", false, 3},
	{"Gr\xc3\xbc\xc3\x9f"
	 "e",
	 "Gr\xc3\xbc\xc3\x9f"
	 "e",
	 false, 0},
	{"Gr\xc3\xbc\xc3\x9f"
	 "e",
	 "Grusse", false, 3}, // ü → u, ß → ss
	{"GR\xc3\x9c\xc3\x9f"
	 "E",
	 "gr\xc3\xbc\xc3\x9f"
	 "e",
	 true, 0}, // Ü and ü
	{"\xce\xa3\xce\xbf\xcf\x86\xcf\x8c\xcf\x82", "\xcf\x83\xce\xbf\xcf\x86\xcf\x8c\xcf\x83", true,
	 0},                                               // final sigma
	{"\xd0\x94\xd0\x90", "\xd0\xb4\xd0\xb0", true, 0}, // ДА and да
	{"\xe2\x84\xaa", "k", true, 0},                    // the kelvin sign
	{"\xc4\xb0", "i", true, 1},                        // dotted capital I is Turkish
	{"ab", "a\xff", false, 1},
	{"\xef\xbf\xbd", "\xff", false, 1},
};

START_TEST(distances)
{
	struct detect_wanted *wanted;

	ck_assert_int_eq(detect_wanted_new(lines[_i].wanted, lines[_i].ignore_case, &wanted), 0);
	for (int again = 0; again < 2; again++)
		ck_assert_uint_eq(wanted_distance(wanted, lines[_i].line, strlen(lines[_i].line)), lines[_i].distance);
	detect_wanted_free(wanted);
}
END_TEST

START_TEST(long_texts)
{
	char text[TEXT_MAX_BYTES + 1];
	struct detect_wanted *wanted;

	memset(text, 'x', TEXT_MAX_BYTES);
	text[TEXT_MAX_BYTES] = '\0';
	ck_assert_int_eq(detect_wanted_new(text, true, &wanted), 0);
	ck_assert_uint_eq(wanted_length(wanted), TEXT_MAX_BYTES);
	ck_assert_uint_eq(wanted_distance(wanted, text, TEXT_MAX_BYTES), 0);
	ck_assert_uint_eq(wanted_distance(wanted, text, TEXT_MAX_BYTES - 96), 96);
	detect_wanted_free(wanted);
	ck_assert_int_eq(detect_wanted_new("  ", true, &wanted), -EINVAL);
}
END_TEST

// --- reading ---------------------------------------------------------------------------------------------------------

#ifdef HAVE_TESSERACT

#ifndef EVERY
#define EVERY 1 // of so many lines of the pictures one is read
#endif

#define SIZES 7
static const int sizes[SIZES] = {12, 14, 16, 20, 24, 32, 48};

struct sheet_line {
	char picture[32], kind[8], what[64];
	int x, y, width, height, size;
};

struct hits {
	int lines, read, found;
};

static struct detect_reader *reader_of(const char *languages)
{
	struct detect_reader *reader;
	struct error error = {0};

	ck_assert_msg(detect_reader_new(languages, &reader, &error) == 0, "%s", error.message);
	return reader;
}

static struct picture *load(const char *name)
{
	struct picture *picture;
	struct error error;
	char path[64];

	snprintf(path, sizeof(path), "ocr/%s", name);
	ck_assert_msg(png_read(AT_FDCWD, unit_data(path), &picture, &error) == 0, "%s: %s", name, error.message);
	return picture;
}

static struct detect_frame *frame_of(struct picture_view view, int quality)
{
	struct detect_frame *frame;

	ck_assert_int_eq(detect_frame_new(&frame), 0);
	ck_assert_int_eq(detect_frame_reserve(frame, view.width, view.height, quality), 0);
	detect_frame_begin(frame, view);
	return frame;
}

static struct detect_query query_of(const struct sheet_line *line)
{
	return (struct detect_query){
		.area = {line->x, line->y, line->x + line->width, line->y + line->height},
		.threshold = 20,
	};
}

static bool next_line(FILE *list, struct sheet_line *ret)
{
	return fscanf(list, "%31s %d %d %d %d %d %7s %63[^\n]", ret->picture, &ret->x, &ret->y, &ret->width,
		      &ret->height, &ret->size, ret->kind, ret->what) == 8;
}

static FILE *open_list(void)
{
	FILE *list = fopen(unit_data("ocr/lines.txt"), "r");

	ck_assert_ptr_nonnull(list);
	return list;
}

static enum detect_format format_named(const char *name)
{
	return !strcmp(name, "dot")     ? DETECT_FORMAT_DOT
	       : !strcmp(name, "comma") ? DETECT_FORMAT_COMMA
					: DETECT_FORMAT_AUTO;
}

static void read_text(struct detect_frame *frame, struct detect_reader *reader, const struct sheet_line *line,
		      struct detect_result *ret)
{
	struct detect_query query = query_of(line);
	struct detect_wanted *wanted;

	ck_assert_int_eq(detect_wanted_new(line->what, false, &wanted), 0);
	detect_text(frame, reader, wanted, &query, ret);
	detect_wanted_free(wanted);
	ck_assert(ret->evaluable && ret->has_score && !ret->has_value && !ret->stopped);
}

static void read_line(struct detect_frame *frame, struct detect_reader *reader, const struct sheet_line *line,
		      struct hits *hits)
{
	struct detect_query query = query_of(line);
	enum detect_format format = format_named(line->kind);
	struct detect_result result;
	double expected;

	hits->lines++;
	if (!strcmp(line->kind, "text")) {
		read_text(frame, reader, line, &result);
		hits->read += result.score == 1;
		hits->found += result.found;
	} else {
		ck_assert_int_eq(number_find(line->what, strlen(line->what), format, &expected), NUMBER_READ);
		detect_number(frame, reader, format, &query, &result);
		ck_assert(result.evaluable && !result.has_score && result.found == result.has_value);
		hits->read += result.found && result.value == expected;
	}
	if (getenv("CONDPROF_OCR_TABLE") &&
	    !(result.found && (result.has_value ? result.value == expected : result.score == 1)))
		fprintf(stderr, "%s %d “%s”: %g %g\n", line->picture, line->size, line->what, result.score,
			result.value);
	if (result.found) {
		ck_assert_int_ge(result.place.left, query.area.left);
		ck_assert_int_le(result.place.right, query.area.right);
		ck_assert_int_ge(result.place.top, query.area.top);
		ck_assert_int_le(result.place.bottom, query.area.bottom);
	}
}

static int size_index(int size)
{
	int i = 0;

	while (i < SIZES - 1 && sizes[i] != size)
		i++;
	return i;
}

static void print_table(struct hits (*hits)[2])
{
	if (!getenv("CONDPROF_OCR_TABLE"))
		return;
	fprintf(stderr, "| px | texts read exactly | found at 20 %% | numbers read |\n|---|---|---|---|\n");
	for (int i = 0; i < SIZES; i++)
		fprintf(stderr, "| %d | %d of %d | %d of %d | %d of %d |\n", sizes[i], hits[i][0].read,
			hits[i][0].lines, hits[i][0].found, hits[i][0].lines, hits[i][1].read, hits[i][1].lines);
}

START_TEST(hit_rates)
{
	struct detect_reader *reader = reader_of("eng");
	struct hits hits[SIZES][2] = {0}, all[2] = {0};
	struct picture *picture = NULL;
	struct detect_frame *frame = NULL;
	struct sheet_line line;
	char shown[32] = "";
	FILE *list = open_list();

	for (int number = 0; next_line(list, &line); number++) {
		if (number % EVERY)
			continue;
		if (strcmp(shown, line.picture)) {
			detect_frame_free(frame);
			picture_free(picture);
			picture = load(line.picture);
			frame = frame_of(picture_view(picture), 0);
			strcpy(shown, line.picture);
		}
		read_line(frame, reader, &line, &hits[size_index(line.size)][strcmp(line.kind, "text") ? 1 : 0]);
	}
	fclose(list);
	print_table(hits);
	for (int i = 0; i < SIZES; i++)
		for (int k = 0; k < 2; k++) {
			all[k].lines += hits[i][k].lines;
			all[k].read += hits[i][k].read;
			all[k].found += hits[i][k].found;
		}
	ck_assert_int_eq(all[0].lines + all[1].lines, (252 + EVERY - 1) / EVERY);
	ck_assert_int_ge(all[0].read, all[0].lines - 2);
	ck_assert_int_eq(all[0].found, all[0].lines);
	ck_assert_int_ge(all[1].read, all[1].lines - 3);
	detect_frame_free(frame);
	picture_free(picture);
	detect_reader_free(reader);
}
END_TEST

// --- what else holds of reading --------------------------------------------------------------------------------------

/// The picture of one line, and everything to read it.
struct stand {
	struct detect_reader *reader;
	struct picture *picture;
	struct detect_frame *frame;
};

static struct stand *stand_new(const char *picture, int quality)
{
	struct stand *stand = calloc(1, sizeof(*stand));

	ck_assert_ptr_nonnull(stand);
	stand->reader = reader_of("eng");
	stand->picture = load(picture);
	stand->frame = frame_of(picture_view(stand->picture), quality);
	return stand;
}

static void stand_free(struct stand *stand)
{
	detect_frame_free(stand->frame);
	picture_free(stand->picture);
	detect_reader_free(stand->reader);
	free(stand);
}

// The first line of a kind and size in a picture.
static struct sheet_line find_line(const char *picture, const char *kind, int size)
{
	FILE *list = open_list();
	struct sheet_line line;

	while (next_line(list, &line) &&
	       (strcmp(line.picture, picture) || strcmp(line.kind, kind) || line.size != size))
		;
	fclose(list);
	ck_assert_str_eq(line.picture, picture);
	ck_assert_str_eq(line.kind, kind);
	return line;
}

static struct detect_result look_for(struct stand *stand, const char *text, const struct detect_query *query)
{
	struct detect_wanted *wanted;
	struct detect_result result;

	ck_assert_int_eq(detect_wanted_new(text, true, &wanted), 0);
	detect_text(stand->frame, stand->reader, wanted, query, &result);
	detect_wanted_free(wanted);
	return result;
}

START_TEST(where_and_how_like)
{
	struct stand *stand = stand_new("sans-light.png", 0);
	struct sheet_line line = find_line("sans-light.png", "text", 48);
	struct detect_query query = query_of(&line);
	struct detect_result result = look_for(stand, line.what, &query);

	ck_assert(result.found);
	ck_assert_double_eq(result.score, 1);
	// the line's own box: 6 px of paper are around the letters
	ck_assert_int_gt(result.place.left, line.x);
	ck_assert_int_lt(result.place.right, line.x + line.width);
	ck_assert_int_eq(result.x, result.place.left + (result.place.right - result.place.left) / 2);
	ck_assert_int_eq(result.y, result.place.top + (result.place.bottom - result.place.top) / 2);
	ck_assert_int_lt(abs(result.x - (line.x + line.width / 2)), 8);

	ck_assert_str_eq(result.text, line.what);

	line.what[0] = '#';
	result = look_for(stand, line.what, &query);
	ck_assert(result.found); // one letter in seven or more
	ck_assert_double_eq_tol(result.score, 1 - 1.0 / (double)strlen(line.what), 1e-12);
	query.threshold = 0;
	ck_assert(!look_for(stand, line.what, &query).found);
	query.threshold = 100.0 / (double)strlen(line.what);
	ck_assert(look_for(stand, line.what, &query).found); // exactly at the threshold
	result = look_for(stand, "qqqqqqqqqqqqqqqqqqqqqqqqqq", &query);
	ck_assert(result.evaluable && !result.found && result.has_score);
	stand_free(stand);
}
END_TEST

START_TEST(best_of_the_lines)
{
	struct stand *stand = stand_new("mono-dark.png", 0);
	struct sheet_line first = find_line("mono-dark.png", "text", 20),
			  second = find_line("mono-dark.png", "text", 24);
	struct detect_query query = {.area = {0, first.y, MIN(first.width, second.width), second.y + second.height},
				     .threshold = 50};
	struct detect_result result = look_for(stand, second.what, &query);

	ck_assert(result.found);
	ck_assert_int_ge(result.place.top, second.y);
	result = look_for(stand, first.what, &query);
	ck_assert(result.found);
	ck_assert_int_le(result.place.bottom, second.y);
	stand_free(stand);
}
END_TEST

START_TEST(nothing_to_read)
{
	struct stand *stand = stand_new("sans-dark.png", 0);
	struct detect_query query = {.area = {700, 0, 790, 30}, .threshold = 20};
	struct detect_result result = look_for(stand, "OK", &query);

	ck_assert(result.evaluable && !result.found && result.has_score && !result.text);
	ck_assert_double_eq(result.score, 0);
	query.threshold = 100; // anything is alike enough: the whole area
	result = look_for(stand, "OK", &query);
	ck_assert(result.found);
	ck_assert_int_eq(result.x, 745);
	detect_number(stand->frame, stand->reader, DETECT_FORMAT_AUTO, &query, &result);
	ck_assert(result.evaluable && !result.found && !result.has_value && !result.has_score);
	for (int width = 1; width < 5; width++) { // hardly any pixels
		query.area = (struct rect){3, 3, 3 + width, 4};
		ck_assert(look_for(stand, "OK", &query).evaluable);
	}
	stand_free(stand);
}
END_TEST

START_TEST(not_evaluable)
{
	static const struct rect areas[] = {{-1, 0, 10, 10},  {0, -1, 10, 10}, {0, 0, 801, 10},
					    {0, 0, 10, 5000}, {5, 5, 5, 10},   {5, 5, 4, 10}};
	struct stand *stand = stand_new("sans-dark.png", 0);
	struct detect_query query = {.threshold = 100};
	struct detect_result result;

	for (size_t i = 0; i < ARRAY_SIZE(areas); i++) {
		query.area = areas[i];
		ck_assert(!look_for(stand, "OK", &query).evaluable);
		detect_number(stand->frame, stand->reader, DETECT_FORMAT_AUTO, &query, &result);
		ck_assert(!result.evaluable && !result.found && !result.has_value);
	}
	stand_free(stand);
}
END_TEST

// Reading is of the pixels as they are, whatever the quality; what was read before changes nothing.
START_TEST(same_answers)
{
	struct stand *stand = stand_new("serif-light.png", 0), *reduced = stand_new("serif-light.png", 200);
	struct sheet_line text = find_line("serif-light.png", "text", 14);
	struct sheet_line number = find_line("serif-light.png", "auto", 16);
	struct detect_query query = query_of(&text), number_query = query_of(&number);
	struct detect_result first = look_for(stand, "sgnin", &query), second, value, same;

	detect_number(stand->frame, stand->reader, DETECT_FORMAT_AUTO, &number_query, &value);
	for (int i = 0; i < 3; i++) {
		second = look_for(i == 2 ? reduced : stand, "sgnin", &query);
		ck_assert_double_eq(second.score, first.score);
		ck_assert_mem_eq(&second.place, &first.place, sizeof(first.place));
		detect_number(i == 2 ? reduced->frame : stand->frame, stand->reader, DETECT_FORMAT_AUTO, &number_query,
			      &same);
		ck_assert(same.has_value == value.has_value);
		ck_assert_double_eq(same.value, value.value);
	}
	stand_free(stand);
	stand_free(reduced);
}
END_TEST

START_TEST(reused_while_nothing_changes)
{
	struct stand *stand = stand_new("sans-light.png", 0);
	struct sheet_line text = find_line("sans-light.png", "text", 32),
			  number = find_line("sans-light.png", "auto", 24);
	struct detect_query query[2] = {query_of(&text), query_of(&number)};
	struct picture_view view = picture_view(stand->picture);
	struct detect_result result[2], again;
	struct detect_wanted *wanted;
	size_t budget = SIZE_MAX;

	ck_assert_int_eq(detect_wanted_new(text.what, false, &wanted), 0);
	for (int pass = 0; pass < 4; pass++) {
		for (int i = 0; i < 2; i++) {
			if (pass == 0) {
				ck_assert_int_eq(detect_memory_new(&query[i].memory), 0);
				detect_memory_reserve(query[i].memory, stand->frame, query[i].area, false, &budget);
			}
			if (i == 0)
				detect_text(stand->frame, stand->reader, wanted, &query[i], &again);
			else
				detect_number(stand->frame, stand->reader, DETECT_FORMAT_AUTO, &query[i], &again);
			ck_assert(again.reused == (pass == 1 || pass == 2));
			ck_assert(!again.text == again.reused);
			if (pass == 0)
				result[i] = again;
			ck_assert(again.found == result[i].found && again.has_value == result[i].has_value);
			ck_assert_double_eq(again.value, result[i].value);
			ck_assert_double_eq(again.score, result[i].score);
			// one pixel of paper in each area
			if (pass == 2)
				stand->picture->pixels[(query[i].area.top + 1) * view.stride +
						       4 * (query[i].area.left + 1)] ^= 1;
		}
		detect_frame_begin(stand->frame, view);
	}
	for (int i = 0; i < 2; i++)
		detect_memory_free(query[i].memory);
	detect_wanted_free(wanted);
	stand_free(stand);
}
END_TEST

START_TEST(stops)
{
	struct stand *stand = stand_new("serif-dark.png", 0);
	int stop = 1;
	struct detect_query query = {.area = {0, 0, 800, 400}, .threshold = 100, .stop = &stop};
	struct detect_result result = look_for(stand, "OK", &query);

	ck_assert(result.evaluable && result.stopped && !result.found && !result.has_score);
	detect_number(stand->frame, stand->reader, DETECT_FORMAT_AUTO, &query, &result);
	ck_assert(result.stopped && !result.found && !result.has_value);
	stop = 0;
	ck_assert(look_for(stand, "OK", &query).found); // the reader is fit for more
	stand_free(stand);
}
END_TEST

static void *read_a_line(void *argument)
{
	struct stand *stand = argument;
	struct sheet_line line = find_line("mono-light.png", "text", 48);
	struct detect_query query = query_of(&line);
	static int stop;
	struct detect_result result;

	query.area = (struct rect){0, 0, 790, 60};
	query.stop = &stop;
	result = look_for(stand, line.what, &query);
	ck_assert(!result.stopped);
	return NULL;
}

START_TEST(readers_on_two_threads)
{
	struct stand *stands[2] = {stand_new("mono-light.png", 0), stand_new("sans-dark.png", 0)};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_a_line, stands[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		stand_free(stands[i]);
}
END_TEST

static const struct {
	const char *languages, *package;
} missing[] = {
	{"xyz", "package tesseract-ocr-xyz"},
	{"eng+xyz", "package tesseract-ocr-xyz"},
	{"xyz_old+eng", "package tesseract-ocr-xyz-old"},
	{"script/Nowhere", "package tesseract-ocr-script-nowhere"},
};

START_TEST(missing_languages)
{
	struct detect_reader *reader = NULL;
	struct error error = {0};

	ck_assert_int_eq(detect_reader_new(missing[_i].languages, &reader, &error), -ENOENT);
	ck_assert_ptr_null(reader);
	ck_assert_int_eq(error.code, CONDPROF__CODE__UNSUPPORTED);
	ck_assert_msg(strstr(error.message, missing[_i].package) != NULL, "%s", error.message);
}
END_TEST

static Suite *reading_suite(Suite *suite)
{
	TCase *tests = tcase_create("reading");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, hit_rates);
	tcase_add_test(tests, where_and_how_like);
	tcase_add_test(tests, best_of_the_lines);
	tcase_add_test(tests, nothing_to_read);
	tcase_add_test(tests, not_evaluable);
	tcase_add_test(tests, same_answers);
	tcase_add_test(tests, reused_while_nothing_changes);
	tcase_add_test(tests, stops);
	tcase_add_test(tests, readers_on_two_threads);
	tcase_add_loop_test(tests, missing_languages, 0, (int)ARRAY_SIZE(missing));
	suite_add_tcase(suite, tests);
	return suite;
}

#else

static Suite *reading_suite(Suite *suite)
{
	return suite;
}

#endif

int main(void)
{
	Suite *suite = suite_create("text");
	TCase *tests = tcase_create("pure");

	detect_reader_init_process();
	tcase_add_loop_test(tests, number_table, 0, (int)ARRAY_SIZE(numbers));
	tcase_add_test(tests, numbers_of_any_length);
	tcase_add_loop_test(tests, distances, 0, (int)ARRAY_SIZE(lines));
	tcase_add_test(tests, long_texts);
	suite_add_tcase(suite, tests);
	return unit_run(reading_suite(suite));
}
