// SPDX-License-Identifier: GPL-3.0-or-later
/// The command line: the tables hold together, and words are understood wherever they stand.
#include "client/verbs.h"
#include "proto/limits.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#define WORDS_MAX 12

/// Splits at blanks; _ stands for a blank in a word.
static enum exit_code parse(const char *line, struct client *ret)
{
	static char buffer[256];
	char *argv[WORDS_MAX] = {(char[]){"condprofctl"}}, *rest = buffer;
	int argc = 1;

	snprintf(buffer, sizeof(buffer), "%s", line);
	for (char *word = strtok_r(buffer, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		for (char *at = word; (at = strchr(at, '_'));)
			*at = ' ';
		argv[argc++] = word;
	}
	return client_parse(argc, argv, ret);
}

static const struct {
	const char *line, *verb, *arguments, *option, *value;
} good[] = {
	{"status", "status", "", NULL, NULL},
	{"status 12", "status", "12", NULL, NULL},
	{"--json status 12", "status", "12", "--json", ""},
	{"status --json 12", "status", "12", "--json", ""},
	{"status 12 --json", "status", "12", "--json", ""},
	{"--socket /a/b status", "status", "", "--socket", "/a/b"},
	{"--socket=/a/b status", "status", "", "--socket", "/a/b"},
	{"--socket status status", "status", "", "--socket", "status"},
	{"--view events report", "report", "", "--view", "events"},
	{"report latest --view=events", "report", "latest", "--view", "events"},
	{"report --event a --event b_c", "report", "", "--event", "b c"},
	{"-q list", "list", "", "--quiet", ""},
	{"list -q", "list", "", "--quiet", ""},
	{"delete 1 2 3", "delete", "1,2,3", NULL, NULL},
	{"emit -- --wait", "emit", "--wait", NULL, NULL},
	{"-- emit -x", "emit", "-x", NULL, NULL},
	{"start a.yaml --wait --rate 5/s", "start", "a.yaml", "--rate", "5/s"},
	{"report ./12 --since=", "report", "./12", "--since", ""},
};

START_TEST(understood)
{
	struct client client;
	char arguments[128] = "";

	ck_assert_int_eq(parse(good[_i].line, &client), EXIT_DONE);
	ck_assert_str_eq(client.verb->name, good[_i].verb);
	for (int i = 0; i < client.n_arguments; i++) {
		strcat(arguments, i > 0 ? "," : "");
		strcat(arguments, client.arguments[i]);
	}
	ck_assert_str_eq(arguments, good[_i].arguments);
	if (good[_i].option)
		ck_assert_pstr_eq(client_option(&client, good[_i].option), good[_i].value);
	else
		ck_assert_uint_eq(client.n_given, 0);
	client_clear(&client);
}
END_TEST

static const char *const bad[] = {
	"",
	"--",
	"statu",
	"status 1 2",
	"start",
	"emit",
	"delete",
	"diff 1",
	"--bla status",
	"status --bla",
	"status --wait",
	"--wait status",
	"status --socket",
	"status --json=yes",
	"--output xml status",
	"--output html status",
	"--output prometheus list",
	"--json --output html report",
	"--json --output text status",
	"--timeout 5 status",
	"--timeout 0s status",
	"--timeout -5s status",
	"-H",
	"bridge x",
	"start a.yaml --record",
	"rotate 1 2",
	"diff 1 2 3",
	"advise 1 2",
	"try",
	"tune",
	"tune a.yaml 1 2",
	"capture",
	"capture a.png b.png",
	"install",
	"install a.yaml --name",
	"scenarios x",
	"remove",
	"remove a b",
	"-x status",
	"-qq status",
	"Status",
	"--Json status",
};

START_TEST(refused)
{
	struct client client;

	ck_assert_msg(parse(bad[_i], &client) == EXIT_USAGE, "%s", bad[_i]);
	client_clear(&client);
}
END_TEST

START_TEST(several_values)
{
	struct client client;

	ck_assert_int_eq(parse("--event a report --event b --event c", &client), EXIT_DONE);
	ck_assert_str_eq(client_option_at(&client, "--event", 0), "a");
	ck_assert_str_eq(client_option_at(&client, "--event", 2), "c");
	ck_assert_ptr_null(client_option_at(&client, "--event", 3));
	client_clear(&client);
}
END_TEST

START_TEST(deadline)
{
	struct timespec now;
	struct client client;

	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t now_ns = now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
	ck_assert_int_eq(parse("status", &client), EXIT_DONE);
	ck_assert_int_ge(client.deadline_ns, now_ns + CLIENT_DEFAULT_TIMEOUT_NS);
	client_wait_for_ever(&client);
	ck_assert(client.deadline_ns == INT64_MAX);
	client_clear(&client);
	ck_assert_int_eq(parse("status --timeout 200000h", &client), EXIT_DONE);
	ck_assert_int_ge(client.deadline_ns, now_ns);
	client_wait_for_ever(&client);
	ck_assert(client.deadline_ns != INT64_MAX);
	client_clear(&client);
	ck_assert_int_eq(parse("status --timeout 2562047h", &client), EXIT_DONE);
	ck_assert(client.deadline_ns == INT64_MAX);
	client_clear(&client);
}
END_TEST

START_TEST(outputs)
{
	struct client client;

	ck_assert_int_eq(parse("status", &client), EXIT_DONE);
	ck_assert_int_eq(client.output, OUTPUT_TEXT);
	client_clear(&client);
	ck_assert_int_eq(parse("status --json --output json", &client), EXIT_DONE);
	ck_assert_int_eq(client.output, OUTPUT_JSON);
	client_clear(&client);
	ck_assert_int_eq(parse("--output csv -q status", &client), EXIT_DONE);
	ck_assert_int_eq(client.output, OUTPUT_CSV);
	ck_assert(client.quiet);
	client_clear(&client);
}
END_TEST

/// An option's name means one thing: whether it takes an argument must not depend on the verb, which may come later.
START_TEST(tables_hold_together)
{
	for (size_t i = 0; i < verb_count; i++) {
		ck_assert_ptr_eq(verb_find(verbs[i].name), &verbs[i]);
		ck_assert_int_le(verbs[i].min_arguments, verbs[i].max_arguments);
		ck_assert(*verbs[i].help && strchr(verbs[i].help, '.') == NULL);
		for (const struct option_row *a = verbs[i].options; a && a->name; a++) {
			ck_assert(strncmp(a->name, "--", 2) == 0);
			for (const struct option_row *b = global_options; b->name; b++)
				ck_assert_str_ne(a->name, b->name);
			for (size_t k = 0; k < verb_count; k++)
				for (const struct option_row *b = verbs[k].options; b && b->name; b++)
					ck_assert(strcmp(a->name, b->name) != 0 || !a->argument == !b->argument);
		}
	}
	ck_assert_ptr_null(verb_find("stat"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("client command line");
	TCase *test = tcase_create("parse");

	tcase_add_loop_test(test, understood, 0, ARRAY_SIZE(good));
	tcase_add_loop_test(test, refused, 0, ARRAY_SIZE(bad));
	tcase_add_test(test, several_values);
	tcase_add_test(test, deadline);
	tcase_add_test(test, outputs);
	tcase_add_test(test, tables_hold_together);
	suite_add_tcase(suite, test);
	return unit_run(suite);
}
