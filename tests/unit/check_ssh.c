// SPDX-License-Identifier: GPL-3.0-or-later
/// Hosts are what they look like or refused; CONDPROF_SSH is cut as its manual says, whatever is in it.
#include "client/ssh.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *text, *user, *host;
	int port;
} hosts[] = {
	{"rig", NULL, "rig", 0},
	{"a.b-c_d:1", NULL, "a.b-c_d", 1},
	{"me@rig:65535", "me", "rig", 65535},
	{"m.e+x@y@rig", "m.e+x@y", "rig", 0},
	{"[::1]", NULL, "::1", 0},
	{"me@[fe80::1%eth0.7]:22", "me", "fe80::1%eth0.7", 22},
	{"192.0.2.7", NULL, "192.0.2.7", 0},
};

START_TEST(good_hosts)
{
	struct ssh_host host;
	struct error error;

	ck_assert_int_eq(ssh_host_parse(hosts[_i].text, &host, &error), 0);
	ck_assert_pstr_eq(host.user, hosts[_i].user);
	ck_assert_str_eq(host.host, hosts[_i].host);
	ck_assert_int_eq(host.port, hosts[_i].port);
	ssh_host_clear(&host);
}
END_TEST

/// In place of the question mark: no byte but those of names comes through, wherever it stands.
START_TEST(bad_bytes)
{
	static const char *const forms[] = {"?rig", "r?g", "rig?", "?me@rig", "m?@rig", "[?::1]", "[::1?]", "r:?2"};
	struct ssh_host host;
	char text[32];

	for (size_t form = 0; form < ARRAY_SIZE(forms); form++)
		for (int c = 1; c < 256; c++) {
			strcpy(text, forms[form]);
			*strchr(text, '?') = (char)c;
			if (ssh_host_parse(text, &host, NULL) < 0)
				continue;
			ck_assert_msg((c < 128 && strchr("._-+@:%[]", c)) || (c >= '0' && c <= '9') ||
					      (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'),
				      "%s", text);
			ck_assert_msg(host.host[0] != '-' && (!host.user || host.user[0] != '-'), "%s", text);
			ck_assert_msg(!strpbrk(host.host, "@[]+") && (!host.user || !strpbrk(host.user, ":[]%")), "%s",
				      text);
			ssh_host_clear(&host);
		}
}
END_TEST

static const struct {
	const char *text;
	const char *words[6];
} splits[] = {
	{"ssh", {"ssh"}},
	{"  ssh\t-F\n x ", {"ssh", "-F", "x"}},
	{"'a b' \"c d\" e\\ f", {"a b", "c d", "e f"}},
	{"-o'X Y'=\"z\"", {"-oX Y=z"}},
	{"'' \"\"", {"", ""}},
	{"\"a\\\"b\\\\c\\d\" '\\'", {"a\"b\\c\\d", "\\"}},
	{"$HOME `x` * ~ | ;", {"$HOME", "`x`", "*", "~", "|", ";"}},
	{"a\\", {"a\\"}},
	{"a\\'b \"it's\"", {"a'b", "it's"}},
};

START_TEST(split_words)
{
	char **words CLEANUP(ssh_words_cleanup) = NULL;
	size_t i = 0;

	ck_assert_int_eq(ssh_words_split(splits[_i].text, &words), 0);
	for (; i < ARRAY_SIZE(splits[_i].words) && splits[_i].words[i]; i++)
		ck_assert_pstr_eq(words[i], splits[_i].words[i]);
	ck_assert_ptr_null(words[i]);
}
END_TEST

START_TEST(no_words)
{
	static const char *const bad[] = {"", " \t\n", "'", "a 'b", "\"", "a\"b", "\"a\\\"", "'a' \"'"};
	char **words = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(ssh_words_split(bad[i], &words) == -EINVAL, "%s", bad[i]);
}
END_TEST

/// As many words as fit, and any text at all: nothing is written past its end.
START_TEST(any_text)
{
	static const char letters[] = "a \t\n'\"\\$";
	unsigned state = 1;

	for (int turn = 0; turn < 20000; turn++) {
		char text[24];
		char **words CLEANUP(ssh_words_cleanup) = NULL;
		size_t length = (state = state * 1103515245U + 12345U) >> 16 & 15, bytes = 0;

		for (size_t i = 0; i < length; i++)
			text[i] = letters[((state = state * 1103515245U + 12345U) >> 16) % (sizeof(letters) - 1)];
		text[length] = '\0';
		if (ssh_words_split(text, &words) < 0)
			continue;
		ck_assert_ptr_nonnull(words[0]);
		for (char **word = words; *word; word++)
			bytes += strlen(*word);
		ck_assert_uint_le(bytes, length);
	}
}
END_TEST

START_TEST(the_command)
{
	struct ssh_host host CLEANUP(ssh_host_clear) = {0};
	char **words CLEANUP(ssh_words_cleanup) = NULL;
	struct error error;
	size_t n = 0;

	ck_assert_int_eq(ssh_host_parse("me@rig:22", &host, &error), 0);
	ck_assert_int_eq(ssh_command(&host, "my-ssh -F file", true, &words, &error), 0);
	ck_assert_str_eq(words[0], "my-ssh");
	ck_assert_str_eq(words[2], "file");
	while (words[n])
		n++;
	ck_assert_str_eq(words[n - 1], "condprofctl bridge");
	ck_assert_str_eq(words[n - 2], "rig");
	ck_assert_str_eq(words[n - 3], "--");
	words = ssh_words_free(words);
	ck_assert_int_eq(ssh_command(&host, "", false, &words, &error), 0);
	ck_assert_str_eq(words[0], "ssh");
	words = ssh_words_free(words);
	ck_assert_int_eq(ssh_command(&host, "'", false, &words, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "CONDPROF_SSH"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ssh");
	TCase *tests = tcase_create("command");

	tcase_add_loop_test(tests, good_hosts, 0, ARRAY_SIZE(hosts));
	tcase_add_test(tests, bad_bytes);
	tcase_add_loop_test(tests, split_words, 0, ARRAY_SIZE(splits));
	tcase_add_test(tests, no_words);
	tcase_add_test(tests, any_text);
	tcase_add_test(tests, the_command);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
