// SPDX-License-Identifier: GPL-3.0-or-later
/// The state folder: ids that never repeat, locks, what is listed, deleting, retention, and folders that anything may
/// have happened to.
#include "config.h"

#include "daemon/log/log.h"
#include "daemon/report/disk.h"
#include "daemon/report/files.h"
#include "proto/frame.h"
#include "proto/io.h"
#include "tests/support/unit.h"
#include "tests/unit/report_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct store *store;

static void open_again(const struct store_limits *limits)
{
	struct error error = {0};

	store = store_close(store);
	ck_assert_msg(store_open(fixture_path("."), limits, &store, &error) == 0, "%s", error.message);
}

static void setup(void)
{
	log_set_level(LOG_LEVEL_ERROR);
	fixture_folder();
	open_again(NULL);
}

static void teardown(void)
{
	store = store_close(store);
	fixture_remove();
}

static int64_t next_id(void)
{
	struct error error = {0};
	int64_t id = 0;

	ck_assert_msg(store_next_id(store, &id, &error) == 0, "%s", error.message);
	return id;
}

static struct report_files *create(int64_t id, size_t reserve)
{
	struct report_files *files = NULL;
	struct error error = {0};
	const uint8_t *scenario;
	size_t size;

	scenario = fake_scenario(&size);
	ck_assert_msg(store_create(store, id, scenario, size, reserve, &files, &error) == 0, "%s", error.message);
	return files;
}

/// A report with an overview that says `passes`, and `bytes` of messages.
static int64_t make_finished(int64_t passes, size_t bytes)
{
	Condprof__DebugReportOverview overview = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT;
	int64_t id = next_id();
	struct report_files *files = create(id, 1000);
	CLEANUP_FREE uint8_t *zeros = calloc(1, bytes + 1);
	uint8_t packed[64];

	overview.has_frame_count = true;
	overview.frame_count = passes;
	size_t size = frame_pack(&overview.base, packed);
	ck_assert_int_eq(io_write_at(files->messages_fd, zeros, bytes, 0), 0);
	report_files_free_reserve(files, size);
	ck_assert_int_eq(report_files_overview(files, packed, size), 0);
	report_files_finish(files, true);
	report_files_free(files);
	return id;
}

static bool listed(int64_t id)
{
	int64_t *ids = NULL;
	size_t count = 0;
	bool found = false;

	ck_assert_int_eq(store_ids(store, &ids, &count, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		ck_assert(i == 0 || ids[i - 1] < ids[i]);
		found |= ids[i] == id;
	}
	free(ids);
	return found;
}

static struct store_entry read_entry(int64_t id)
{
	struct store_entry entry = {0};
	struct error error = {0};

	ck_assert_msg(store_read_entry(store, id, &entry, &error) == 0, "%s", error.message);
	ck_assert_int_eq(entry.id, id);
	return entry;
}

// --- ids -------------------------------------------------------------------------------------------------------------

START_TEST(ids_never_repeat)
{
	ck_assert_int_eq(next_id(), 1);
	int64_t newest = make_finished(5, 10);
	ck_assert_int_eq(newest, 2);
	ck_assert_int_eq(store_delete(store, newest, NULL), 0);
	ck_assert(!listed(newest));
	open_again(NULL);
	ck_assert_int_eq(next_id(), 3);
	open_again(NULL);
	ck_assert_int_eq(next_id(), 4);
}
END_TEST

/// Whatever has become of the mark: ids go on above every folder, also half-made and half-removed ones.
START_TEST(ids_with_damaged_mark)
{
	static const char *const marks[] = {"", "\n", "x", "-5\n", "12x\n", "007\n", "99999999999999999999\n", NULL};

	ck_assert_int_eq(mkdir(fixture_path("reports/41"), 0700), 0);
	ck_assert_int_eq(mkdir(fixture_path("reports/.trash-43"), 0700), 0);
	for (size_t i = 0; marks[i]; i++) {
		fixture_write(fixture_path("ids"), marks[i], strlen(marks[i]));
		ck_assert_int_eq(mkdir(fixture_path("reports/.new-%zu", 50 + i), 0700), 0);
		open_again(NULL);
		ck_assert_int_eq(next_id(), 51 + (int64_t)i);
		ck_assert(!fixture_exists(fixture_path("reports/.trash-43")));
	}
	unlink(fixture_path("ids"));
	ck_assert_int_eq(mkdir(fixture_path("ids"), 0700), 0);
	open_again(NULL);
	rmdir(fixture_path("ids"));
	ck_assert_int_eq(symlink("/etc/passwd", fixture_path("ids")), 0);
	open_again(NULL);
	ck_assert_int_eq(next_id(), 42);
	// A mark that is lower than a folder does not count either.
	fixture_write(fixture_path("ids"), "7\n", 2);
	open_again(NULL);
	ck_assert_int_eq(next_id(), 42);
}
END_TEST

START_TEST(ids_run_out)
{
	int64_t id = 5;

	fixture_write(fixture_path("ids"), "9223372036854775806\n", 20);
	open_again(NULL);
	ck_assert_int_eq(next_id(), INT64_MAX);
	ck_assert_int_eq(store_next_id(store, &id, NULL), -EOVERFLOW);
	ck_assert_int_eq(id, 5);
}
END_TEST

/// A temporary file of a write that was cut short is no mark; nor does it matter what has its name.
START_TEST(ids_torn_write)
{
	ck_assert_int_eq(next_id(), 1);
	fixture_write(fixture_path("ids.tmp"), "98765432100", 11);
	open_again(NULL);
	ck_assert_int_eq(next_id(), 2);
	open_again(NULL);
	ck_assert_int_eq(next_id(), 3);
	unlink(fixture_path("ids.tmp"));
	ck_assert_int_eq(symlink("/etc/passwd", fixture_path("ids.tmp")), 0);
	open_again(NULL);
	ck_assert_int_eq(next_id(), 4);
	ck_assert_int_eq(next_id(), 5);
	ck_assert_uint_eq(fixture_size(fixture_path("ids")), 2);
	ck_assert_uint_eq(fixture_size(fixture_path("ids.tmp")), 2);
}
END_TEST

// --- the folder and its locks ----------------------------------------------------------------------------------------

START_TEST(one_daemon_a_folder)
{
	struct store *second = NULL;
	struct error error = {0};

	ck_assert_int_eq(store_open(fixture_path("."), NULL, &second, &error), -EBUSY);
	ck_assert_ptr_nonnull(strstr(error.message, "--state-dir"));
	ck_assert_ptr_null(second);
	open_again(NULL);
}
END_TEST

/// The lock of a daemon that was killed is nobody's.
START_TEST(lock_of_a_killed_daemon)
{
	int ready[2];
	char byte;

	store = store_close(store);
	ck_assert_int_eq(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		open_again(NULL);
		create(next_id(), 1000);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(store_open(fixture_path("."), NULL, &store, NULL), -EBUSY);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	open_again(NULL);
	struct store_entry entry = read_entry(1);
	ck_assert(entry.interrupted && !entry.running);
	ck_assert_ptr_null(entry.overview);
	ck_assert_str_eq(entry.scenario_name, FAKE_SCENARIO_NAME);
	store_entry_free(&entry);
	ck_assert(!fixture_exists(fixture_path("reports/1/reserve")));
}
END_TEST

START_TEST(folder_is_made)
{
	static const char *const paths[] = {"a/b/c", "a/b/c/", "d//e"};
	struct store *other = NULL;
	struct stat info;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		ck_assert_int_eq(store_open(fixture_path("%s", paths[i]), NULL, &other, NULL), 0);
		ck_assert_int_eq(stat(fixture_path("%s/reports", paths[i]), &info), 0);
		ck_assert_uint_eq(info.st_mode & 0777, 0700);
		ck_assert_int_eq(stat(fixture_path("%s", paths[i]), &info), 0);
		ck_assert_uint_eq(info.st_mode & 0777, 0700);
		other = store_close(other);
	}
}
END_TEST

START_TEST(folder_cannot_be_made)
{
	struct store *other = NULL;
	struct error error = {0};

	ck_assert_int_eq(store_open("", NULL, &other, &error), -ENOENT);
	ck_assert_int_eq(store_open("/proc/nowhere", NULL, &other, &error), -ENOENT);
	fixture_write(fixture_path("file"), "x", 1);
	ck_assert_int_eq(store_open(fixture_path("file"), NULL, &other, &error), -ENOTDIR);
	ck_assert_int_eq(store_open(fixture_path("file/x"), NULL, &other, &error), -ENOTDIR);
	ck_assert_ptr_nonnull(strstr(error.message, "file/x"));
	// reports as a symlink leads elsewhere: refused
	ck_assert_int_eq(mkdir(fixture_path("s"), 0700), 0);
	ck_assert_int_eq(symlink("/tmp", fixture_path("s/reports")), 0);
	ck_assert_int_lt(store_open(fixture_path("s"), NULL, &other, &error), 0);
	ck_assert_ptr_null(other);
}
END_TEST

// --- a session's folder ----------------------------------------------------------------------------------------------

START_TEST(new_report)
{
	int64_t id = next_id();
	struct report_files *files = create(id, 300000), *second = NULL;
	struct store_entry entry = read_entry(id);
	struct stat info;

	ck_assert(entry.running && !entry.interrupted);
	ck_assert_uint_ge(entry.bytes, 300000);
	ck_assert_int_ne(entry.created_unix_ns, 0);
	store_entry_free(&entry);
	ck_assert_int_eq(stat(fixture_path("reports/1"), &info), 0);
	ck_assert_uint_eq(info.st_mode & 0777, 0700);
	ck_assert_int_eq(stat(fixture_path("reports/1/scenario.pb"), &info), 0);
	ck_assert_uint_eq(info.st_mode & 0777, 0600);
	ck_assert_int_eq(stat(fixture_path("reports/1/reserve"), &info), 0);
	ck_assert_uint_ge((uint64_t)info.st_blocks * 512, 300000);
	ck_assert_int_eq(store_delete(store, id, NULL), -EBUSY);
	ck_assert_int_eq(store_create(store, id, (const uint8_t *)"", 0, 0, &second, NULL), -EEXIST);
	ck_assert_ptr_null(second);
	ck_assert(listed(id));
	report_files_discard(files);
	ck_assert(!listed(id));
	ck_assert_int_eq(store_read_entry(store, id, &entry, NULL), -ENOENT);
	report_files_discard(NULL);
}
END_TEST

START_TEST(no_room_for_a_reserve)
{
	struct report_files *files = NULL;
	struct error error = {0};
	int r = store_create(store, next_id(), (const uint8_t *)"", 0, (size_t)1 << 60, &files, &error);

	ck_assert_int_lt(r, 0);
	ck_assert_ptr_null(files);
	ck_assert(!listed(1) && !fixture_exists(fixture_path("reports/.new-1")));
	ck_assert(!fixture_exists(fixture_path("reports/.trash-1")));
}
END_TEST

/// The second checkpoint writes over the blocks of the first, and neither is ever half a file.
START_TEST(checkpoints)
{
	struct report_files *files = create(next_id(), 100000);
	CLEANUP_FREE uint8_t *data = NULL, *large = calloc(1, 50000);
	size_t size;

	for (size_t n = 50000; n > 10000; n -= 7000) {
		memset(large, (int)(n >> 8), n);
		ck_assert_int_eq(report_files_checkpoint(files, large, n), 0);
		ck_assert_int_eq(disk_read_file(files->fd, "checkpoint.pb", 60000, &data, &size), 0);
		ck_assert_uint_eq(size, n);
		ck_assert_mem_eq(data, large, n);
		free(TAKE_POINTER(data));
	}
	report_files_discard(files);
}
END_TEST

/// The overview takes the place of the reserve; when that is gone, a file of its own.
START_TEST(overview_in_place)
{
	struct report_files *files = create(next_id(), 100000);
	CLEANUP_FREE uint8_t *large = calloc(1, 200000);

	if (_i == 1)
		close(take_fd(&files->reserve_fd));
	report_files_free_reserve(files, _i == 2 ? 200000 : 5000);
	ck_assert_int_eq(report_files_overview(files, large, _i == 2 ? 200000 : 5000), 0);
	ck_assert_uint_eq(fixture_size(fixture_path("reports/1/overview.pb")), _i == 2 ? 200000 : 5000);
	report_files_finish(files, true);
	ck_assert(!fixture_exists(fixture_path("reports/1/reserve")));
	ck_assert(!fixture_exists(fixture_path("reports/1/lock")));
	report_files_free(files);
}
END_TEST

// --- deleting --------------------------------------------------------------------------------------------------------

START_TEST(delete_one)
{
	int64_t id = make_finished(3, 100);
	struct error error = {0};

	ck_assert_int_eq(store_delete(store, id + 1, &error), -ENOENT);
	ck_assert_int_eq(error.code, CONDPROF__CODE__NO_SUCH_SESSION);
	ck_assert_int_eq(store_delete(store, 0, NULL), -ENOENT);
	ck_assert_int_eq(store_delete(store, -1, NULL), -ENOENT);
	ck_assert_int_eq(store_delete(store, id, NULL), 0);
	ck_assert_int_eq(store_delete(store, id, NULL), -ENOENT);
	ck_assert(!fixture_exists(fixture_path("reports/1")) && !fixture_exists(fixture_path("reports/.trash-1")));
}
END_TEST

/// A kill in the middle of a delete: the trash of it is in nobody's way, and goes at the next start.
START_TEST(delete_after_a_kill)
{
	int64_t id = make_finished(3, 100);

	ck_assert_int_eq(mkdir(fixture_path("reports/.trash-%" PRId64, id), 0700), 0);
	fixture_write(fixture_path("reports/.trash-%" PRId64 "/messages.0007.pb", id), "x", 1);
	ck_assert_int_eq(store_delete(store, id, NULL), 0);
	ck_assert(!fixture_exists(fixture_path("reports/.trash-%" PRId64, id)));
	ck_assert_int_eq(mkdir(fixture_path("reports/.trash-9"), 0700), 0);
	fixture_write(fixture_path("reports/.trash-9/overview.pb"), "x", 1);
	ck_assert_int_eq(mkdir(fixture_path("reports/.new-10"), 0700), 0);
	fixture_write(fixture_path("reports/.new-10/scenario.pb"), "x", 1);
	ck_assert(!listed(9) && !listed(10));
	open_again(NULL);
	ck_assert(!fixture_exists(fixture_path("reports/.trash-9")));
	ck_assert(!fixture_exists(fixture_path("reports/.new-10")));
}
END_TEST

/// What is not ours in a report's folder is never removed with it.
START_TEST(delete_leaves_what_is_not_ours)
{
	int64_t id = make_finished(3, 100);

	fixture_write(fixture_path("reports/1/notes.txt"), "mine", 4);
	ck_assert_int_eq(mkdir(fixture_path("reports/1/messages.0009.pb"), 0700), 0);
	ck_assert_int_eq(store_delete(store, id, NULL), 0);
	ck_assert(!listed(id));
	ck_assert_uint_eq(fixture_size(fixture_path("reports/1.kept/notes.txt")), 4);
	ck_assert(!fixture_exists(fixture_path("reports/1.kept/overview.pb")));
	open_again(NULL);
	ck_assert_uint_eq(fixture_size(fixture_path("reports/1.kept/notes.txt")), 4);
	ck_assert_int_eq(next_id(), 2);
}
END_TEST

// --- retention -------------------------------------------------------------------------------------------------------

START_TEST(retention_by_count)
{
	open_again(&(struct store_limits){.max_reports = 3});
	fixture_write(fixture_path("reports/readme"), "x", 1);
	ck_assert_int_eq(mkdir(fixture_path("reports/01"), 0700), 0);
	for (int i = 1; i <= 5; i++)
		ck_assert_int_eq(make_finished(i, 10), i);
	ck_assert(!listed(1) && !listed(2) && listed(3) && listed(4) && listed(5));
	// a running one stays, however old
	struct report_files *files = create(next_id(), 1000);
	for (int i = 7; i <= 9; i++)
		ck_assert_int_eq(make_finished(i, 10), i);
	ck_assert(listed(6) && !listed(7) && listed(8) && listed(9));
	ck_assert_uint_eq(fixture_size(fixture_path("reports/readme")), 1);
	ck_assert(fixture_exists(fixture_path("reports/01")));
	report_files_discard(files);
}
END_TEST

START_TEST(retention_by_bytes)
{
	open_again(&(struct store_limits){.max_bytes = 1000000});
	make_finished(1, 200000);
	make_finished(2, 400000);
	make_finished(3, 200000);
	// a reserve counts from the start: both of the older ones go for it
	struct report_files *files = create(next_id(), 600000);
	ck_assert(!listed(1) && !listed(2) && listed(3) && listed(4));
	report_files_discard(files);
	// the newest stays, be it ever so large
	make_finished(5, 3000000);
	ck_assert_int_eq(store_vacuum(store, NULL), 0);
	ck_assert(!listed(3) && listed(5));
	make_finished(6, 10);
	ck_assert(listed(5));
	ck_assert_int_eq(store_vacuum(store, NULL), 0);
	ck_assert(!listed(5) && listed(6));
}
END_TEST

// --- damaged folders -------------------------------------------------------------------------------------------------

static void read_all_of(int64_t id)
{
	struct read_report report;

	read_report(store, id, NULL, 100, &report);
	read_report_free(&report);
}

START_TEST(damaged_folders)
{
	static const char *const files[] = {"overview.pb", "checkpoint.pb",    "scenario.pb",
					    "messages.pb", "messages.0001.pb", "lock"};
	int64_t id = 100;

	fixture_write(fixture_path("reports/7"), "a file", 6);
	ck_assert_int_eq(symlink("/etc", fixture_path("reports/8")), 0);
	ck_assert_int_eq(mkdir(fixture_path("reports/18446744073709551617"), 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		for (int kind = 0; kind < 5; kind++, id++) {
			const char *path = fixture_path("reports/%" PRId64 "/%s", id, files[i]);

			ck_assert_int_eq(mkdir(fixture_path("reports/%" PRId64, id), 0700), 0);
			if (kind == 0)
				ck_assert_int_eq(mkdir(path, 0700), 0);
			else if (kind == 1)
				ck_assert_int_eq(mkfifo(path, 0600), 0);
			else if (kind == 2)
				ck_assert_int_eq(symlink("/etc/passwd", path), 0);
			else
				fixture_write(path, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", kind == 3 ? 0 : 10);
		}
	}
	open_again(NULL);
	ck_assert(!listed(7) && !listed(8) && listed(100) && listed(id - 1));
	ck_assert_int_eq(store_read_entry(store, 7, &(struct store_entry){0}, NULL), -ENOENT);
	ck_assert_int_eq(store_read_entry(store, 8, &(struct store_entry){0}, NULL), -ENOENT);
	while (--id >= 100) {
		struct store_entry entry = read_entry(id);

		ck_assert(entry.interrupted && !entry.running);
		ck_assert_ptr_null(entry.overview);
		store_entry_free(&entry);
		read_all_of(id);
	}
	ck_assert_int_eq(store_vacuum(store, NULL), 0);
}
END_TEST

/// An overview that amplifies when it is unpacked, or says what is no text, is as good as none.
START_TEST(hostile_overviews)
{
	CLEANUP_FREE uint8_t *bytes = malloc(3000000);
	size_t size = 3000000 - 8;
	size_t header = frame_put_header(bytes, size);

	ck_assert_int_eq(mkdir(fixture_path("reports/5"), 0700), 0);
	for (size_t i = 0; i < size / 2; i++)
		memcpy(bytes + header + 2 * i, "\x3a", 2); // empty counters_name
	fixture_write(fixture_path("reports/5/overview.pb"), bytes, header + size);
	struct store_entry entry = read_entry(5);
	ck_assert_ptr_null(entry.overview);
	store_entry_free(&entry);
	fixture_write(fixture_path("reports/5/overview.pb"), "\x03\x3a\x01\xff", 4);
	entry = read_entry(5);
	ck_assert_ptr_null(entry.overview);
	store_entry_free(&entry);
	fixture_write(fixture_path("reports/5/overview.pb"), "\x03\x3a\x01z", 4);
	entry = read_entry(5);
	ck_assert_ptr_nonnull(entry.overview);
	ck_assert(!entry.interrupted);
	store_entry_free(&entry);
}
END_TEST

START_TEST(segment_names)
{
	static const struct {
		const char *name;
		uint32_t number;
	} names[] = {
		{"messages.0001.pb", 1},
		{"messages.9999.pb", 9999},
		{"messages.10000.pb", 10000},
		{"messages.01000.pb", 0},
		{"messages.0000.pb", 0},
		{"messages.001.pb", 0},
		{"messages.0001.pb.bak", 0},
		{"messages.1234567890.pb", 0},
		{"messages.pb", 0},
		{"messages.-001.pb", 0},
		{"messages.123456789.pb", 123456789},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint32_t number = 0;

		ck_assert_msg(report_segment_number(names[i].name, &number) == (names[i].number > 0), "%s",
			      names[i].name);
		ck_assert_uint_eq(number, names[i].number);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("store");
	TCase *tests = tcase_create("store");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, ids_never_repeat);
	tcase_add_test(tests, ids_with_damaged_mark);
	tcase_add_test(tests, ids_run_out);
	tcase_add_test(tests, ids_torn_write);
	tcase_add_test(tests, one_daemon_a_folder);
	tcase_add_test(tests, lock_of_a_killed_daemon);
	tcase_add_test(tests, folder_is_made);
	tcase_add_test(tests, folder_cannot_be_made);
	tcase_add_test(tests, new_report);
	tcase_add_test(tests, no_room_for_a_reserve);
	tcase_add_test(tests, checkpoints);
	tcase_add_loop_test(tests, overview_in_place, 0, 3);
	tcase_add_test(tests, delete_one);
	tcase_add_test(tests, delete_after_a_kill);
	tcase_add_test(tests, delete_leaves_what_is_not_ours);
	tcase_add_test(tests, retention_by_count);
	tcase_add_test(tests, retention_by_bytes);
	tcase_add_test(tests, damaged_folders);
	tcase_add_test(tests, hostile_overviews);
	tcase_add_test(tests, segment_names);
	suite_add_tcase(s, tests);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
