// SPDX-License-Identifier: GPL-3.0-or-later
//
// Scenario files: what each mistake is told as and where, what a good file becomes, images, places, excerpts. The
// tables are in tests/data/scenarios.
#include "config.h"

#include "client/scenario/keys.h"
#include "client/scenario/load.h"
#include "client/scenario/source.h"
#include "daemon/scenario/scenario.h"
#include "proto/limits.h"
#include "tests/support/message_text.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct scenario_load_options without_images = {.without_images = true};

/// A whole file below tests/data/scenarios. The caller's.
static char *read_data(const char *name)
{
	char path[300], *text = NULL;
	size_t size;

	snprintf(path, sizeof(path), "scenarios/%s", name);
	struct error error = {0};
	ck_assert_msg(source_read(unit_data(path), &text, &size, &error) == 0, "%s", error.message);
	text = realloc(text, size + 1);
	ck_assert_ptr_nonnull(text);
	text[size] = '\0';
	return text;
}

static char *data_folder(void)
{
	return strdup(unit_data("scenarios"));
}

static struct scenario_file *load(const char *text, const struct scenario_load_options *options)
{
	struct scenario_file *file = NULL;
	struct error error = {0};
	char *folder = data_folder();
	int r = scenario_load_text("test.yaml", text, strlen(text), folder, options, &file, &error);

	ck_assert_msg(r == 0, "%d: %s", r, error.message);
	free(folder);
	return file;
}

/// What was found, a line each, in the form of mistakes.txt. The caller's.
static char *list_diagnostics(const struct scenario_file *file, enum diagnostic_severity severity)
{
	char *text = NULL;
	size_t size, count, kept = 0;
	FILE *out = open_memstream(&text, &size);
	const struct diagnostic *items = scenario_file_diagnostics(file, &count);

	for (size_t i = 0; i < count; i++) {
		if (items[i].severity != severity)
			continue;
		kept++;
		fprintf(out, "%u:%u: %s\n", items[i].line, items[i].column, items[i].message);
	}
	if (severity == DIAGNOSTIC_ERROR && scenario_file_errors(file) > kept)
		fprintf(out, "+%zu\n", scenario_file_errors(file) - kept);
	fclose(out);
	return text;
}

// --- the tables --------------------------------------------------------------------------------

struct table_case {
	char title[120];
	char *text, *expected; ///< point into the table
};

/// Cuts the next case out of a table. @return where to go on, NULL: there is none
static char *next_case(char *at, struct table_case *ret)
{
	char *title = strncmp(at, "## ", 3) ? strstr(at, "\n## ") : at;

	if (!title)
		return NULL;
	title += *title == '\n' ? 4 : 3;
	char *line_end = strchr(title, '\n'), *arrow = strstr(line_end, "\n>>\n");
	ck_assert_msg(arrow != NULL, "no >> in %.40s", title);
	snprintf(ret->title, sizeof(ret->title), "%.*s", (int)(line_end - title), title);
	ret->text = line_end + 1;
	if (arrow == line_end)
		ret->text = arrow + 4 + strlen(arrow + 4); // an empty file
	else
		arrow[1] = '\0';
	ret->expected = arrow + 4;
	char *end = strstr(ret->expected, "\n\n## ");
	if (!strncmp(ret->expected, "\n## ", 4)) { // nothing is expected
		ret->expected[0] = '\0';
		return ret->expected + 1;
	}
	if (!end)
		return ret->expected + strlen(ret->expected);
	end[1] = '\0';
	return end + 2;
}

static void check_table(const char *name, enum diagnostic_severity severity,
			const struct scenario_load_options *options, unsigned expected_cases)
{
	char *table = read_data(name);
	struct table_case row;
	unsigned cases = 0;

	for (char *at = table; (at = next_case(at, &row)); cases++) {
		struct scenario_file *file = load(row.text, options);
		if (severity == DIAGNOSTIC_WARNING) {
			ck_assert_msg(scenario_file_errors(file) == 0, "%s: has mistakes", row.title);
			scenario_file_warn(file);
		}
		char *found = list_diagnostics(file, severity);
		ck_assert_msg(!strcmp(found, row.expected), "%s: found\n%s\ninstead of\n%s", row.title, found,
			      row.expected);
		free(found);
		scenario_file_free(file);
	}
	ck_assert_uint_ge(cases, expected_cases);
	free(table);
}

START_TEST(every_mistake_is_told)
{
	check_table("mistakes.txt", DIAGNOSTIC_ERROR, &without_images, 50);
}
END_TEST

START_TEST(every_warning_is_told)
{
	check_table("warnings.txt", DIAGNOSTIC_WARNING, NULL, 8);
}
END_TEST

// --- good files --------------------------------------------------------------------------------

/// Whether NAME.yaml makes the message in NAME.txt.
static void check_message(const char *name)
{
	char yaml_name[80], text_name[80];

	snprintf(yaml_name, sizeof(yaml_name), "%s.yaml", name);
	snprintf(text_name, sizeof(text_name), "%s.txt", name);
	char *yaml = read_data(yaml_name), *expected = read_data(text_name);
	struct scenario_file *file = load(yaml, &without_images);
	char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);

	ck_assert_str_eq(found, "");
	free(found);
	found = message_text(&scenario_file_message(file)->base);
	ck_assert_str_eq(found, expected);
	free(found);
	free(expected);
	free(yaml);
	scenario_file_free(file);
}

START_TEST(all_keys_make_the_message)
{
	check_message("all-keys");
}
END_TEST

START_TEST(the_message_is_what_is_packed)
{
	char *yaml = read_data("all-keys.yaml");
	struct scenario_file *file = load(yaml, NULL);
	uint8_t *data = NULL;
	size_t size = 0;
	struct error error = {0};

	ck_assert_msg(scenario_file_pack(file, &data, &size, &error) == 0, "%s", error.message);
	Condprof__Scenario *unpacked = condprof__scenario__unpack(NULL, size, data);
	ck_assert_ptr_nonnull(unpacked);
	char *before = message_text(&scenario_file_message(file)->base), *after = message_text(&unpacked->base);
	ck_assert_str_eq(before, after);
	ck_assert_ptr_nonnull(strstr(after, "png: 410 bytes"));
	free(before);
	free(after);
	condprof__scenario__free_unpacked(unpacked, NULL);
	free(data);
	free(yaml);
	scenario_file_free(file);
}
END_TEST

/// Block and flow, quotes of both kinds, folded and literal texts, documents with their marks: all the same.
START_TEST(styles_make_no_difference)
{
	static const char *const styles[] = {
		"scenario: a b\ntrigger-events:\n- event: e\n  conditions:\n  - timer: 1 s\n    repeat: true\n  "
		"actions:\n  - stop: x y\n",
		"{scenario: a b, trigger-events: [{event: e, conditions: [{timer: 1 s, repeat: true}], actions: [stop: "
		"x y]}]}",
		"{\"scenario\": \"a b\", \"trigger-events\": [{\"event\": \"e\", \"conditions\": [{\"timer\": \"1 s\", "
		"\"repeat\": \"true\"}], \"actions\": [{\"stop\": \"x y\"}]}]}",
		"---\n'scenario': 'a b'\n'trigger-events': [{event: 'e', conditions: [{timer: '1 s', repeat: true}], "
		"actions: [stop: 'x y']}]\n...\n",
		"scenario: a\n  b\ntrigger-events:\n  - event: >-\n      e\n    conditions: [\n {timer: 1s,\n repeat: "
		"true\n }]\n"
		"    actions: [stop: \"x\\\n      \\ y\"]\n",
		"\xef\xbb\xbfscenario: a b\r\ntrigger-events:\r\n- event: |-\r\n    e\r\n  conditions:\r\n  - {timer: "
		"1000.0 ms, "
		"repeat: true}\r\n  actions:\r\n  - stop: x y\r\n",
		"? scenario\n: a b\n? trigger-events\n: - {event: e, conditions: [{timer: 1000000000ns, repeat: "
		"true}], "
		"actions: [{stop: x y}]}\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		struct scenario_file *file = load(styles[i], NULL);
		char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);

		ck_assert_msg(!*found, "style %zu: %s", i, found);
		free(found);
		const Condprof__Scenario *message = scenario_file_message(file);
		ck_assert_str_eq(message->name, "a b");
		ck_assert_str_eq(message->trigger_events[0]->name, "e");
		ck_assert_int_eq(message->trigger_events[0]->conditions[0]->timer->duration_ns, NSEC_PER_SEC);
		ck_assert(message->trigger_events[0]->conditions[0]->timer->repeat);
		ck_assert_str_eq(message->trigger_events[0]->actions[0]->stop->text[0]->literal, "x y");
		scenario_file_free(file);
	}
}
END_TEST

/// YAML 1.1 would make booleans, numbers and nothing of these.
START_TEST(plain_words_are_names)
{
	static const char *const words[] = {"n",    "on",         "A0",   "1.0",   "yes",    "no",  "~",
					    "null", "true",       "0x1F", "1_000", "1e3",    "=",   "--",
					    "3:30", "2001-01-01", ".5",   "+1",    "on off", "a#b", "naïve"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		char yaml[512];

		snprintf(yaml, sizeof(yaml),
			 "scenario: %s\ntrigger-events:\n- event: %s\n  conditions:\n  - broadcast: %s\n  - timer: 1 "
			 "s\n    name: x%s\n",
			 words[i], words[i], words[i], words[i]);
		struct scenario_file *file = load(yaml, NULL);
		char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);
		ck_assert_msg(!*found, "%s: %s", words[i], found);
		const Condprof__Scenario *message = scenario_file_message(file);
		ck_assert_str_eq(message->name, words[i]);
		ck_assert_str_eq(message->trigger_events[0]->name, words[i]);
		ck_assert_str_eq(message->trigger_events[0]->conditions[0]->broadcast->broadcast, words[i]);
		ck_assert_str_eq(message->trigger_events[0]->conditions[0]->name, words[i]);
		ck_assert_str_eq(message->trigger_events[0]->conditions[1]->name + 1, words[i]);
		free(found);
		scenario_file_free(file);
	}
}
END_TEST

/// What the file leaves out is left out of the message: the defaults are the message's.
START_TEST(defaults_are_absent)
{
	check_message("defaults");
}
END_TEST

START_TEST(replay_folders_become_absolute)
{
	static const struct {
		const char *screen;
		bool remote;
		const char *expected; ///< after the folder; NULL: a mistake
	} rows[] = {
		{"replay:frames", false, "/frames"},
		{"replay:./frames?loop=1", false, "/frames?loop=1"},
		{"replay:../x", false, "/../x"},
		{"replay:frames", true, NULL},
		{"replay:", false, NULL},
		{"replay:?fps=3", false, NULL},
	};
	char *folder = data_folder(), *real = realpath(folder, NULL);

	ck_assert_ptr_nonnull(real);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char yaml[200], expected[5000];
		const struct scenario_load_options options = {.remote = rows[i].remote};

		snprintf(yaml, sizeof(yaml),
			 "scenario: x\nscreen: \"%s\"\ntrigger-events: [{event: f, conditions: [timer: 1 s]}]\n",
			 rows[i].screen);
		struct scenario_file *file = load(yaml, &options);
		if (rows[i].expected) {
			snprintf(expected, sizeof(expected), "replay:%s%s", real, rows[i].expected);
			ck_assert_uint_eq(scenario_file_errors(file), 0);
			ck_assert_str_eq(scenario_file_message(file)->screen, expected);
		} else {
			ck_assert_uint_eq(scenario_file_errors(file), 1);
			ck_assert_ptr_null(scenario_file_message(file));
		}
		scenario_file_free(file);
	}
	free(real);
	free(folder);
}
END_TEST

// --- images ------------------------------------------------------------------------------------

START_TEST(bad_images_are_refused)
{
	static const char *const rows[][2] = {
		{"missing.png", "5:17: the image “missing.png”: cannot open it: No such file or directory\n"},
		{"frames", "5:17: the image “frames”: not a file\n"},
		{"flat.png", "5:17: the image “flat.png”: one flat colour: use a color condition instead\n"},
		{"flat-where-opaque.png",
		 "5:17: the image “flat-where-opaque.png”: one flat colour: use a color condition instead\n"},
		{"transparent.png",
		 "5:17: the image “transparent.png”: no pixel of it is opaque, so there is nothing to look for: "
		 "cut it again without transparency\n"},
		{"/dev/null", "5:17: the image “/dev/null”: not a file\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char yaml[300];

		snprintf(yaml, sizeof(yaml),
			 "scenario: x\nscreen-events:\n- event: e\n  conditions:\n      - {image: %s, name: a}\n"
			 "      - {image: %s, name: b}\n",
			 rows[i][0], rows[i][0]);
		struct scenario_file *file = load(yaml, NULL);
		char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);
		ck_assert_str_eq(found, rows[i][1]); // once, however often it is named
		free(found);
		scenario_file_free(file);
	}
}
END_TEST

START_TEST(broken_pngs_say_why)
{
	static const char *const names[] = {"torn.png", "not-a.png"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char yaml[300], beginning[100];

		snprintf(yaml, sizeof(yaml), "scenario: x\nscreen-events: [{event: e, conditions: [image: %s]}]\n",
			 names[i]);
		snprintf(beginning, sizeof(beginning), "2:48: the image “%s”: ", names[i]);
		struct scenario_file *file = load(yaml, NULL);
		char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);
		ck_assert_msg(!strncmp(found, beginning, strlen(beginning)), "%s", found);
		ck_assert_uint_gt(strlen(found), strlen(beginning) + 10);
		free(found);
		scenario_file_free(file);
	}
}
END_TEST

START_TEST(images_need_a_folder)
{
	static const char yaml[] = "scenario: x\nscreen-events: [{event: e, conditions: [image: icon.png]}]\n";
	struct scenario_file *file = NULL;

	ck_assert_int_eq(scenario_load_text("-", yaml, strlen(yaml), NULL, NULL, &file, NULL), 0);
	char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);
	ck_assert_str_eq(found, "2:48: images cannot be read from here: a relative path has no meaning\n");
	free(found);
	scenario_file_free(file);
}
END_TEST

/// 128 million pixels are too many, and 64 MiB of files; the same file counts each time it is sent.
START_TEST(images_have_a_limit_together)
{
	char *yaml = NULL;
	size_t size;
	FILE *out = open_memstream(&yaml, &size);

	fputs("scenario: x\nscreen-events:\n- event: e\n  conditions:\n", out);
	// own_screen_a.png is 320 x 240: 128 Mi pixels are 1747.6 of them
	for (int i = 0; i < 1960; i++)
		fprintf(out, "  - {image: frames/first.PNG, name: c%d}\n", i);
	fclose(out);
	struct scenario_file *file = load(yaml, NULL);
	char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);
	ck_assert_str_eq(found, "1752:13: with this image the scenario's images take more than 128 million pixels\n");
	free(found);
	scenario_file_free(file);
	free(yaml);
}
END_TEST

// --- places ------------------------------------------------------------------------------------

static const char placed[] = "scenario: x\n"
			     "counters: {a: 1, b: 2}\n"
			     "screen-events:\n"
			     "  - event: e\n"
			     "    conditions:\n"
			     "      - {image: icon.png, threshold: 3, at: [1, 2], search: exact}\n"
			     "    actions:\n"
			     "      - click: [1, 2]\n"
			     "      - pause: 1 s\n"
			     "trigger-events:\n"
			     "  - {event: f, conditions: [timer: 1 s]}\n";

START_TEST(places_are_found)
{
	static const struct {
		const char *place;
		uint32_t line, column; ///< 0: none
	} rows[] = {
		{"scenario", 1, 11},
		{"counters", 2, 11},
		{"counters[1]", 2, 18},
		{"counters.b", 2, 21},
		{"counters[7]", 2, 11},
		{"screen-events", 4, 3},
		{"screen-events[0]", 4, 5},
		{"screen-events[0].event", 4, 12},
		{"screen-events[0].cooldown", 4, 5}, // not in the file: the event
		{"screen-events[0].conditions[0].image", 6, 17},
		{"screen-events[0].conditions[0].threshold", 6, 38},
		{"screen-events[0].conditions[0].image.threshold", 6, 38},
		{"screen-events[0].conditions[0].at[1]", 6, 49},
		{"screen-events[0].conditions[0].present", 6, 9},
		{"screen-events[0].conditions[5].image", 6, 7},
		{"screen-events[0].actions[1]", 9, 9},
		{"screen-events[0].actions[1].pause", 9, 16},
		{"screen-events[0].actions[0].click[1]", 8, 20},
		{"trigger-events[0].conditions[0].timer", 11, 36},
		{"trigger-events[9]", 11, 3},
		{"trigger-events[x", 11, 3},
		{"rate", 0, 0},
		{"", 0, 0},
		{"[0]", 1, 1},
		{"..", 0, 0},
	};
	struct scenario_file *file = load(placed, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t line = 0, column = 0;
		int r = scenario_locate(file, rows[i].place, &line, &column);

		ck_assert_msg((r == 0) == (rows[i].line > 0) && line == rows[i].line && column == rows[i].column,
			      "%s: %d, %u:%u", rows[i].place, r, line, column);
	}
	scenario_file_free(file);
}
END_TEST

START_TEST(a_refusal_is_told_at_its_place)
{
	struct scenario_file *file = load(placed, NULL);

	scenario_file_add_problem(file, "trigger-events[0].conditions[0].timer", "too\x1b[31m long");
	scenario_file_add_problem(file, "screen-events[0].conditions[0].image", "too large");
	scenario_file_add_problem(file, "nowhere", "whatever");
	scenario_file_add_problem(file, NULL, "all of it");
	char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);
	ck_assert_str_eq(found, "0:0: nowhere: whatever\n0:0: all of it\n6:17: too large\n11:36: too\\x1b[31m long\n");
	free(found);
	scenario_file_free(file);
}
END_TEST

// --- how it is shown ---------------------------------------------------------------------------

static char *print_diagnostics(const char *yaml, bool ascii)
{
	const struct scenario_load_options options = {.without_images = true, .ascii = ascii};
	struct scenario_file *file = load(yaml, &options);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	scenario_file_print_diagnostics(file, out);
	fclose(out);
	scenario_file_free(file);
	return text;
}

START_TEST(excerpts_have_their_caret)
{
	static const struct {
		const char *yaml, *printed;
		bool ascii;
	} rows[] = {
		{"scenario: x\nrate: 10\ntrigger-events: [{event: e, conditions: [timer: 1 s]}]\n",
		 "test.yaml:2:7: error: “rate”: a rate needs a unit: “10/s” or “10/min”?\n"
		 "    2 | rate: 10\n"
		 "      |       ^~\n",
		 false},
		{"scenario: x\nrate: 10\ntrigger-events: [{event: e, conditions: [timer: 1 s]}]\n",
		 "test.yaml:2:7: error: \"rate\": a rate needs a unit: \"10/s\" or \"10/min\"?\n"
		 "    2 | rate: 10\n"
		 "      |       ^~\n",
		 true},
		// wide letters take two columns, combining ones none
		{"{scenario: 日本e\xcc\x81, rate: 10, trigger-events: [{event: e, conditions: [timer: 1 s]}]}\n",
		 "test.yaml:1:24: error: “rate”: a rate needs a unit: “10/s” or “10/min”?\n"
		 "    1 | {scenario: 日本e\xcc\x81, rate: 10, trigger-events: [{event: e, conditions: [timer: 1 s]}]}\n"
		 "      |                         ^~\n",
		 false},
		// tabs stay tabs, so that the caret stands right however wide they are
		{"{scenario: x,\trate:\t10, trigger-events: [{event: e, conditions: [timer: 1 s]}]}\n",
		 "test.yaml:1:21: error: “rate”: a rate needs a unit: “10/s” or “10/min”?\n"
		 "    1 | {scenario: x,\trate:\t10, trigger-events: [{event: e, conditions: [timer: 1 s]}]}\n"
		 "      |              \t     \t^~\n",
		 false},
		// a long line is cut at both ends
		{"{scenario: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, "
		 "rate: 10, "
		 "trigger-events: [{event: e, conditions: [timer: 1 s]}], screen: \"x11:\"}\n",
		 "test.yaml:1:108: error: “rate”: a rate needs a unit: “10/s” or “10/min”?\n"
		 "    1 | …aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, rate: 10, trigger-events: [{event: e, "
		 "conditions: "
		 "[timer…\n"
		 "      |                                                    ^~\n",
		 false},
		// a direction change cannot turn the excerpt round
		{"scenario: x\nrate: 10\xe2\x80\xae\ntrigger-events: [{event: e, conditions: [timer: 1 s]}]\n",
		 "test.yaml:2:7: error: “rate”: expected a rate like 10/s or 30/min, found “10\\u{202e}”\n"
		 "    2 | rate: 10\xef\xbf\xbd\n"
		 "      |       ^~~\n",
		 false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = print_diagnostics(rows[i].yaml, rows[i].ascii);

		ck_assert_str_eq(text, rows[i].printed);
		free(text);
	}
}
END_TEST

START_TEST(many_mistakes_are_counted)
{
	char *yaml = NULL;
	size_t size;
	FILE *out = open_memstream(&yaml, &size);

	fputs("scenario: x\ntrigger-events:\n- event: e\n  conditions: [timer: 1 s]\n  actions:\n", out);
	for (int i = 0; i < 1000; i++)
		fprintf(out, "  - enable: [no such event %d]\n", i);
	fclose(out);
	char *text = print_diagnostics(yaml, false);
	const char *end = "\ntest.yaml: 980 more mistakes\n";
	ck_assert_uint_gt(strlen(text), strlen(end));
	ck_assert_str_eq(text + strlen(text) - strlen(end), end);
	free(text);
	free(yaml);
}
END_TEST

// --- files -------------------------------------------------------------------------------------

START_TEST(what_is_no_text_is_said)
{
	static const struct {
		const char *text;
		size_t size;
		const char *expected;
	} rows[] = {
		{"scenario: a\xff\n", 13, "1:12: not UTF-8: byte 0xff; save the file as UTF-8\n"},
		{"scenario: \xed\xa0\x80\n", 14, "1:11: not UTF-8: byte 0xed; save the file as UTF-8\n"},
		{"scenario: \xc3\xa9\xc3", 13, "1:12: not UTF-8: byte 0xc3; save the file as UTF-8\n"},
		{"scenario: a\n\0x: y\n", 18, "2:1: a NUL byte: this is not a text file\n"},
		{"\xff\xfes\0c\0", 6, "1:1: this is UTF-16: save the file as UTF-8\n"},
		{"scenario: \x07\n", 12,
		 "1:11: the character U+0007 may not stand in a scenario file; in a text write it as \"\\x07\"\n"},
		{"scenario: \xef\xbb\xbf\n", 14,
		 "1:11: the character U+FEFF may not stand in a scenario file; in a text write it as \"\\ufeff\"\n"},
		{"a: b # \xe2\x80\xa8"
		 "c\n",
		 12, "1:8: the character U+2028 may not stand in a scenario file; in a text write it as \"\\u2028\"\n"},
		{"a: \xc2\x85\n", 6,
		 "1:4: the character U+0085 may not stand in a scenario file; in a text write it as \"\\x85\"\n"},
		{"a: b\rc: \x07\n", 10,
		 "2:4: the character U+0007 may not stand in a scenario file; in a text write it as \"\\x07\"\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scenario_file *file = NULL;

		ck_assert_int_eq(scenario_load_text("t", rows[i].text, rows[i].size, NULL, NULL, &file, NULL), 0);
		char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);
		ck_assert_str_eq(found, rows[i].expected);
		free(found);
		scenario_file_free(file);
	}
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
	char *folder = data_folder(), path[5000];
	struct scenario_file *file = NULL;
	struct error error = {0};
	char *large = calloc(1, YAML_MAX_BYTES + 1);

	snprintf(path, sizeof(path), "%s/nothing.yaml", folder);
	ck_assert_int_eq(scenario_load_file(path, NULL, &file, &error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.message, "No such file"));
	ck_assert_int_eq(scenario_load_file(folder, NULL, &file, &error), -EISDIR);
	ck_assert_int_eq(scenario_load_file("/dev/zero", NULL, &file, &error), -EFBIG);
	memset(large, '\n', YAML_MAX_BYTES + 1);
	ck_assert_int_eq(scenario_load_text("t", large, YAML_MAX_BYTES + 1, NULL, NULL, &file, &error), -EFBIG);
	ck_assert_ptr_null(file);
	ck_assert_int_eq(scenario_load_text("t", large, YAML_MAX_BYTES, NULL, NULL, &file, &error), 0);
	ck_assert_uint_eq(scenario_file_errors(file), 1);
	scenario_file_free(file);
	free(large);
	free(folder);
}
END_TEST

START_TEST(images_stand_beside_the_file)
{
	char folder[] = "/tmp/condprof-scenario-XXXXXX", path[200], image[200];
	struct scenario_file *file = NULL;
	struct error error = {0};

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.yaml", folder);
	snprintf(image, sizeof(image), "%s/b.png", folder);
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs("scenario: x\nscreen-events: [{event: e, conditions: [image: b.png]}]\n", out);
	fclose(out);
	ck_assert_int_eq(symlink(unit_data("scenarios/icon.png"), image), 0);
	char *target = realpath(image, NULL);
	if (!target) { // top_srcdir is relative: the link would be, too
		char *real = realpath(unit_data("scenarios/icon.png"), NULL);

		ck_assert_ptr_nonnull(real);
		ck_assert_int_eq(unlink(image), 0);
		ck_assert_int_eq(symlink(real, image), 0);
		free(real);
	}
	free(target);
	ck_assert_msg(scenario_load_file(path, NULL, &file, &error) == 0, "%s", error.message);
	ck_assert_uint_eq(scenario_file_errors(file), 0);
	ck_assert_uint_eq(scenario_file_message(file)->screen_events[0]->conditions[0]->image->png.len, 410);
	scenario_file_free(file);
	unlink(image);
	unlink(path);
	rmdir(folder);
}
END_TEST

/// A scenario as large as one may be: all its names are looked up, none by searching through the others.
START_TEST(ten_thousand_conditions)
{
	char *yaml = NULL;
	size_t size;
	FILE *out = open_memstream(&yaml, &size);

	fputs("scenario: x\ncounters: {a: 0}\ntrigger-events:\n- {event: e0, conditions: [\n", out);
	for (int i = 0; i < 10000; i++)
		fprintf(out, "{timer: 1 s, name: c%d, id: %d},\n", i, i + 1);
	fputs("]}\nscreen-events:\n", out);
	for (int i = 1; i < 5000; i++)
		fprintf(out,
			"- {event: e%d, conditions: [{color: \"#000000\", area: [0,0,1,1]}], actions: [enable: "
			"[e%d]]}\n",
			i, i - 1);
	fclose(out);
	ck_assert_uint_lt(size, YAML_MAX_BYTES);
	struct scenario_file *file = load(yaml, NULL);
	char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);
	ck_assert_str_eq(found, "");
	scenario_file_warn(file);
	ck_assert_uint_eq(scenario_file_message(file)->trigger_events[0]->n_conditions, 10000);
	ck_assert_uint_eq(scenario_file_message(file)->n_screen_events, 4999);
	free(found);
	scenario_file_free(file);
	free(yaml);
}
END_TEST

START_TEST(more_than_a_scenario_may_have)
{
	char *yaml = NULL;
	size_t size;
	FILE *out = open_memstream(&yaml, &size);

	fputs("scenario: x\ntrigger-events:\n", out);
	for (int i = 0; i < 10001; i++)
		fprintf(out, "- {event: e%d, conditions: [timer: 1s]}\n", i);
	fclose(out);
	struct scenario_file *file = load(yaml, NULL);
	char *found = list_diagnostics(file, DIAGNOSTIC_ERROR);
	ck_assert_str_eq(found, "0:0: 10001 events: a scenario has at most 10000\n");
	free(found);
	scenario_file_free(file);
	free(yaml);
}
END_TEST

START_TEST(the_summary_says_it_all)
{
	char *yaml = read_data("all-keys.yaml"), *expected = read_data("all-keys-summary.txt"), *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct scenario_file *file = load(yaml, NULL);

	scenario_print(file, out, 72);
	fclose(out);
	ck_assert_str_eq(text, expected);
	free(text);
	free(expected);
	free(yaml);
	scenario_file_free(file);
}
END_TEST

// --- the manual page ------------------------------------------------------------------------------------------------

/// The manual page without its backslashes. The caller's.
static char *read_manual(void)
{
	char *text = NULL, *out;
	size_t size;
	struct error error = {0};

	ck_assert_msg(source_read(unit_data("../../docs/condprof-scenario.5"), &text, &size, &error) == 0, "%s",
		      error.message);
	out = text;
	for (size_t i = 0; i < size; i++)
		if (text[i] != '\\')
			*out++ = text[i];
	*out = '\0';
	return text;
}

static void check_manual(const char *manual, const struct key_set *const *sets, unsigned *keys)
{
	for (; *sets; sets++) {
		for (size_t i = 0; i < (*sets)->count; i++, (*keys)++) {
			char entry[80];

			snprintf(entry, sizeof(entry), ".BI \"%s: \" ", (*sets)->keys[i].name);
			ck_assert_msg(strstr(manual, entry) != NULL, "%s: the manual page does not tell \"%s\"",
				      (*sets)->what, (*sets)->keys[i].name);
		}
	}
}

START_TEST(the_manual_tells_every_key)
{
	char *manual = read_manual();
	unsigned keys = 0, entries = 0;

	check_manual(manual, scenario_key_sets, &keys);
	check_manual(manual, condition_key_sets, &keys);
	check_manual(manual, action_key_sets, &keys);
	ck_assert_uint_gt(keys, 70);
	// and no other: each entry is a key of some table
	for (const char *at = manual; (at = strstr(at, "\n.BI \"")); entries++) {
		const struct key_set *const *all[] = {scenario_key_sets, condition_key_sets, action_key_sets};
		char name[40] = "";
		bool known = false;

		at += 6;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ":"), at);
		for (size_t i = 0; i < ARRAY_SIZE(all); i++)
			for (const struct key_set *const *set = all[i]; *set; set++)
				known |= key_find(*set, name) != NULL;
		ck_assert_msg(known, "the manual page tells a key \"%s\" that nothing takes", name);
	}
	ck_assert_uint_gt(entries, 50);
	free(manual);
}
END_TEST

// --- the daemon thinks the same ---------------------------------------------------------------------------------

/// Whether the daemon takes it, but for what it has not built yet; and every place it names is one of the file.
static void check_daemon_agrees(const char *title, const struct scenario_file *file)
{
	struct scenario_problems problems = {0};
	struct scenario *scenario = NULL;
	uint8_t *data = NULL;
	size_t size = 0;
	uint32_t line, column;

	ck_assert_int_eq(scenario_file_pack(file, &data, &size, NULL), 0);
	int r = scenario_decode(data, size, &scenario, &problems);
	ck_assert_msg(r == 0 || r == -EINVAL, "%s: %d", title, r);
	for (size_t i = 0; i < MIN(problems.count, SCENARIO_MAX_PROBLEMS); i++) {
		ck_assert_msg(problems.items[i].code == CONDPROF__CODE__UNSUPPORTED, "%s: %s: %s", title,
			      problems.items[i].place, problems.items[i].message);
		ck_assert_msg(scenario_locate(file, problems.items[i].place, &line, &column) == 0, "%s: %s", title,
			      problems.items[i].place);
	}
	scenario_free(scenario);
	free(data);
}

START_TEST(the_daemon_takes_what_is_right)
{
	static const char *const names[] = {"all-keys.yaml", "defaults.yaml", "../../../docs/demo/press-line.yaml"};
	char *table = read_data("warnings.txt");
	struct table_case row;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct scenario_file *file = NULL;
		struct error error = {0};
		char path[300];

		snprintf(path, sizeof(path), "scenarios/%s", names[i]);
		ck_assert_msg(scenario_load_file(unit_data(path), NULL, &file, &error) == 0, "%s", error.message);
		check_daemon_agrees(names[i], file);
		scenario_file_free(file);
	}
	for (char *at = table; (at = next_case(at, &row));) {
		struct scenario_file *file = load(row.text, NULL);

		check_daemon_agrees(row.title, file);
		scenario_file_free(file);
	}
	free(table);
}
END_TEST

static Suite *scenario_file_suite(void)
{
	Suite *suite = suite_create("scenario file");
	TCase *tests = tcase_create("scenario file");

	tcase_add_test(tests, every_mistake_is_told);
	tcase_add_test(tests, every_warning_is_told);
	tcase_add_test(tests, all_keys_make_the_message);
	tcase_add_test(tests, the_message_is_what_is_packed);
	tcase_add_test(tests, styles_make_no_difference);
	tcase_add_test(tests, plain_words_are_names);
	tcase_add_test(tests, defaults_are_absent);
	tcase_add_test(tests, replay_folders_become_absolute);
	tcase_add_test(tests, bad_images_are_refused);
	tcase_add_test(tests, broken_pngs_say_why);
	tcase_add_test(tests, images_need_a_folder);
	tcase_add_test(tests, images_have_a_limit_together);
	tcase_add_test(tests, places_are_found);
	tcase_add_test(tests, a_refusal_is_told_at_its_place);
	tcase_add_test(tests, excerpts_have_their_caret);
	tcase_add_test(tests, many_mistakes_are_counted);
	tcase_add_test(tests, what_is_no_text_is_said);
	tcase_add_test(tests, files_that_cannot_be_read);
	tcase_add_test(tests, images_stand_beside_the_file);
	tcase_add_test(tests, ten_thousand_conditions);
	tcase_add_test(tests, more_than_a_scenario_may_have);
	tcase_add_test(tests, the_summary_says_it_all);
	tcase_add_test(tests, the_manual_tells_every_key);
	tcase_add_test(tests, the_daemon_takes_what_is_right);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return unit_run(scenario_file_suite());
}
