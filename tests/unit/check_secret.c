// SPDX-License-Identifier: GPL-3.0-or-later
/// Secrets: from which files they come, what is a secret, what is refused and how it is said, and where they are kept.
/// No message may hold a part of one.
#include "daemon/secret/locked.h"
#include "daemon/secret/secret.h"
#include "proto/limits.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char folder[64], credentials[80], file[80];
static struct secret_source source;
static struct error error;

static void setup(void)
{
	strcpy(folder, "/tmp/condprof-secret-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(credentials, sizeof(credentials), "%s/credentials", folder);
	snprintf(file, sizeof(file), "%s/secrets", folder);
	ck_assert_int_eq(mkdir(credentials, 0700), 0);
	source = (struct secret_source){credentials, file};
	error = (struct error){.code = 0};
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static void write_bytes(const char *path, const void *data, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void write_credential(const char *name, const void *data, size_t size)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", credentials, name);
	write_bytes(path, data, size, 0400);
}

static void write_file(const char *text)
{
	write_bytes(file, text, strlen(text), 0600);
}

static struct secrets *read_names(const char *const *names, uint32_t count)
{
	struct secrets *secrets = NULL;
	uint32_t failed;

	ck_assert_msg(secrets_read(&source, names, count, &secrets, &failed, &error) == 0, "%s", error.message);
	return secrets;
}

static void expect(const char *name, const char *value)
{
	struct secrets *secrets = read_names(&name, 1);

	ck_assert_str_eq(secrets_value(secrets, name), value);
	ck_assert_ptr_null(secrets_value(secrets, "another"));
	secrets_free(secrets);
}

/// The error speaks of `part`, and of nothing of what is secret.
static void refuse(const char *name, const char *part)
{
	struct secrets *secrets = NULL;
	uint32_t failed = 9;

	ck_assert_int_lt(secrets_read(&source, &name, 1, &secrets, &failed, &error), 0);
	ck_assert_ptr_null(secrets);
	ck_assert_uint_eq(failed, 0);
	ck_assert_int_eq(error.code, CONDPROF__CODE__BAD_SCENARIO);
	ck_assert_msg(strstr(error.message, part) != NULL, "'%s' is not in '%s'", part, error.message);
	ck_assert_msg(!strstr(error.message, "hunter"), "%s", error.message);
}

// --- credentials ----------------------------------------------------------------------------------------------------

START_TEST(a_credential_is_its_whole_file)
{
	write_credential("a", "hunter2", 7);
	expect("a", "hunter2");
	write_credential("b", "hunter2\n", 8);
	expect("b", "hunter2");
	write_credential("c", "hunter2\r\n", 9);
	expect("c", "hunter2");
	write_credential("d", " hun\nter\t2\n\n", 12);
	expect("d", " hun\nter\t2\n");
	write_credential("e", "h\xc3\xbcnter€", 10);
	expect("e", "hünter€");
}
END_TEST

START_TEST(the_longest_one)
{
	char text[TEXT_MAX_BYTES + 2], value[TEXT_MAX_BYTES + 1];

	memset(text, 'x', sizeof(text));
	text[TEXT_MAX_BYTES] = '\n';
	write_credential("long", text, TEXT_MAX_BYTES + 1);
	memset(value, 'x', TEXT_MAX_BYTES);
	value[TEXT_MAX_BYTES] = '\0';
	expect("long", value);
	text[TEXT_MAX_BYTES] = 'x';
	write_credential("longer", text, TEXT_MAX_BYTES + 1);
	refuse("longer", "the secret \"longer\" is longer than 4096 bytes");
}
END_TEST

static const struct {
	const char *bytes;
	size_t size;
	const char *part;
} bad_values[] = {
	{"", 0, "the secret \"bad\" is empty"},
	{"\n", 1, "the secret \"bad\" is empty"},
	{"\r\n", 2, "the secret \"bad\" is empty"},
	{"hunter\xff", 7, "the secret \"bad\" is not UTF-8"},
	{"hunter\0002", 8, "has a NUL in it"},
	{"hunter\xc3\xbc\x1b", 9, "has control characters other than tab and newline"},
	{"hunter\rhunter", 13, "has control characters"},
};

START_TEST(what_is_no_secret)
{
	write_credential("bad", bad_values[_i].bytes, bad_values[_i].size);
	write_file("bad = hunter3\n"); // what is there but wrong is not looked for elsewhere
	refuse("bad", bad_values[_i].part);
}
END_TEST

START_TEST(a_credential_that_is_no_file)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/fifo", credentials);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refuse("fifo", "the credential \"fifo\" is not a regular file");
	snprintf(path, sizeof(path), "%s/link", credentials);
	ck_assert_int_eq(symlink("/etc/hostname", path), 0);
	refuse("link", "the credential \"link\" cannot be read");
	snprintf(path, sizeof(path), "%s/folder", credentials);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	refuse("folder", "the credential \"folder\" is not a regular file");
}
END_TEST

// --- the file -------------------------------------------------------------------------------------------------------

static const char *const good_file = "# what the kiosk types\n"
				     "\n"
				     "plain = hunter2\n"
				     "  tight=hunter2  \n"
				     "blanks =   hun ter  2 \t\r\n"
				     "quoted = \"  hunter2 \"\n"
				     "escapes = \"a\\tb\\nc\\\"d\\\\e\"  \n"
				     "literal = hun\\ter\"2\n"
				     "equals = a=b = c # d\n"
				     "kiosk-1.door_A = über\n"
				     "last = hunter2";

static const struct {
	const char *name, *value;
} in_file[] = {
	{"plain", "hunter2"},      {"tight", "hunter2"},         {"blanks", "hun ter  2"},
	{"quoted", "  hunter2 "},  {"escapes", "a\tb\nc\"d\\e"}, {"literal", "hun\\ter\"2"},
	{"equals", "a=b = c # d"}, {"kiosk-1.door_A", "über"},   {"last", "hunter2"},
};

START_TEST(lines_of_the_file)
{
	write_file(good_file);
	expect(in_file[_i].name, in_file[_i].value);
}
END_TEST

START_TEST(several_at_once_credentials_first)
{
	const char *const names[] = {"last", "quoted", "plain"};
	struct secrets *secrets;

	write_file(good_file);
	write_credential("plain", "from the credential", 19);
	secrets = read_names(names, ARRAY_SIZE(names));
	ck_assert_str_eq(secrets_value(secrets, "last"), "hunter2");
	ck_assert_str_eq(secrets_value(secrets, "quoted"), "  hunter2 ");
	ck_assert_str_eq(secrets_value(secrets, "plain"), "from the credential");
	secrets_free(secrets);
}
END_TEST

static const struct {
	const char *text, *part;
} bad_files[] = {
	{"hunter2\n", "/secrets:1: expected NAME = VALUE"},
	{"other = hunter\nhunter2", "/secrets:2: expected NAME = VALUE"},
	{"= hunter2\n", "/secrets:1: expected"},
	{"na me = hunter2\n", "/secrets:1: expected"},
	{"../x = hunter2\n", "/secrets:1: expected"},
	{"other = \"hunter2\n", "/secrets:1: expected"},
	{"other = \"hunter2\" hunter\n", "/secrets:1: expected"},
	{"other = \"hun\\qter\"\n", "/secrets:1: expected"},
	{"other = \"hunter\\", "/secrets:1: expected"},
	{"other = \"", "/secrets:1: expected"},
	{"bad = hunter2\nbad = hunter3\n", "/secrets:2: \"bad\" stands twice"},
	{"bad =\n", "the secret \"bad\" is empty"},
	{"bad = \"\"\n", "the secret \"bad\" is empty"},
	{"bad = hunter\xff\n", "the secret \"bad\" is not UTF-8"},
	{"bad = hunter\x1b[2J\n", "the secret \"bad\" has control characters"},
	{"bade = hunter2\nba = hunter2\nBAD = hunter2\n", "there is no secret \"bad\""},
	{"", "there is no secret \"bad\""},
};

START_TEST(mistakes_in_the_file)
{
	write_file(bad_files[_i].text);
	refuse("bad", bad_files[_i].part);
}
END_TEST

START_TEST(who_may_read_the_file)
{
	static const mode_t modes[] = {0604, 0640, 0620, 0660, 0644, 0601};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		write_bytes(file, good_file, strlen(good_file), modes[i]);
		refuse("plain", "can be read by others: chmod it to 0600");
	}
	write_bytes(file, good_file, strlen(good_file), 0400);
	expect("plain", "hunter2");
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(file, 65534, 65534), 0);
		refuse("plain", "belongs to somebody else");
	}
}
END_TEST

START_TEST(files_that_are_none)
{
	char text[SECRETS_FILE_MAX_BYTES], real[160];

	refuse("plain", "No such file");
	snprintf(real, sizeof(real), "%s/real", folder);
	write_bytes(real, good_file, strlen(good_file), 0600);
	ck_assert_int_eq(symlink(real, file), 0);
	refuse("plain", "it is a symbolic link");
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(mkfifo(file, 0600), 0);
	refuse("plain", "is not a regular file");
	ck_assert_int_eq(unlink(file), 0);
	memset(text, '\n', sizeof(text));
	write_bytes(file, text, sizeof(text), 0600);
	refuse("plain", "is not smaller than 32 KiB");
	memcpy(text + sizeof(text) - 20, "plain = hunter2", 15);
	write_bytes(file, text, sizeof(text) - 1, 0600);
	expect("plain", "hunter2");
	write_bytes(file, "plain = hunter\0002", 16, 0600);
	refuse("plain", "has a NUL byte");
}
END_TEST

START_TEST(nowhere_to_look)
{
	source = (struct secret_source){NULL, NULL};
	refuse("plain", "LoadCredential=");
	source.credentials = "/nonexistent";
	refuse("plain", "there is no secret \"plain\"");
}
END_TEST

START_TEST(which_one_failed)
{
	const char *const names[] = {"plain", "missing", "last"};
	struct secrets *secrets = NULL;
	uint32_t failed = 9;

	write_file(good_file);
	ck_assert_int_eq(secrets_read(&source, names, 3, &secrets, &failed, &error), -ENOENT);
	ck_assert_uint_eq(failed, 1);
	ck_assert_ptr_null(secrets);
}
END_TEST

// --- where they are kept --------------------------------------------------------------------------------------------

/// The flags of the mapping that has this address, as the kernel has them: " lo dd dc ".
static void flags_of(const void *address, char *out, size_t size)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	char line[512];
	bool inside = false;

	ck_assert_ptr_nonnull(maps);
	*out = '\0';
	while (fgets(line, sizeof(line), maps)) {
		uintptr_t from, to;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			inside = (uintptr_t)address >= from && (uintptr_t)address < to;
		else if (inside && !strncmp(line, "VmFlags:", 8))
			snprintf(out, size, "%s", line + 8);
	}
	fclose(maps);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

START_TEST(kept_where_nobody_looks)
{
	struct secrets *secrets;
	const char *name = "plain";
	char flags[512];

	write_file(good_file);
	secrets = read_names(&name, 1);
	flags_of(secrets_value(secrets, name), flags, sizeof(flags));
	ck_assert_msg(strstr(flags, " dd") != NULL, "in cores: %s", flags);
	ck_assert_msg(strstr(flags, " dc") != NULL, "in children: %s", flags);
#ifndef SANITIZED // they make nothing of mlock()
	ck_assert_msg(strstr(flags, " lo") != NULL, "not locked: %s", flags);
#endif
	secrets_free(secrets);
	ck_assert_ptr_null(secrets_free(NULL));
}
END_TEST

START_TEST(locked_memory)
{
	char *memory;

	ck_assert_int_eq(locked_new(0, &memory), 0);
	ck_assert_int_eq(memory[0], 0);
	memory[4095] = 1; // whole pages
	ck_assert_ptr_null(locked_free(memory, 0));
	ck_assert_ptr_null(locked_free(NULL, 10));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("secret");
	TCase *tests = tcase_create("secret");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_credential_is_its_whole_file);
	tcase_add_test(tests, the_longest_one);
	tcase_add_loop_test(tests, what_is_no_secret, 0, (int)ARRAY_SIZE(bad_values));
	tcase_add_test(tests, a_credential_that_is_no_file);
	tcase_add_loop_test(tests, lines_of_the_file, 0, (int)ARRAY_SIZE(in_file));
	tcase_add_test(tests, several_at_once_credentials_first);
	tcase_add_loop_test(tests, mistakes_in_the_file, 0, (int)ARRAY_SIZE(bad_files));
	tcase_add_test(tests, who_may_read_the_file);
	tcase_add_test(tests, files_that_are_none);
	tcase_add_test(tests, nowhere_to_look);
	tcase_add_test(tests, which_one_failed);
	tcase_add_test(tests, kept_where_nobody_looks);
	tcase_add_test(tests, locked_memory);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
