// SPDX-License-Identifier: GPL-3.0-or-later
// Replays: every mode, and every kind of folder that is not what it should be. Each picture of a test folder has one
// colour that says which it is.
#include "config.h"

#include "daemon/screen/screen.h"
#include "daemon/screen/wait.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

static char folder[PATH_MAX];

static const char *at(const char *name)
{
	static char path[PATH_MAX + 300];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
	close(fd);
}

static void write_picture(const char *name, uint8_t value, int width, int height)
{
	struct picture *picture;
	uint8_t *data;
	size_t size;
	struct error error;

	ck_assert_int_eq(picture_new(width, height, &picture), 0);
	memset(picture->pixels, value, (size_t)picture->stride * (size_t)height);
	ck_assert_int_eq(png_encode(picture_view(picture), &data, &size, &error), 0);
	write_file(at(name), data, size);
	free(data);
	picture_free(picture);
}

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/condprof-replay-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void teardown(void)
{
	remove_folder();
}

static struct screen_wait patience(void)
{
	return (struct screen_wait){.wake_fd = -1, .deadline_ns = wait_now_ns() + 60 * NSEC_PER_SEC};
}

static int try_open(const char *options, const char *const *allowed, struct screen **ret, struct error *error)
{
	char uri[PATH_MAX + 64];
	struct screen_config config = {.frame_folders = allowed};
	struct screen_wait wait = patience();

	snprintf(uri, sizeof(uri), "replay:%s%s", folder, options);
	return screen_open(uri, &config, &wait, ret, error);
}

static struct screen *open_replay(const char *options)
{
	struct screen *screen = NULL;
	struct error error = {0};
	int r = try_open(options, NULL, &screen, &error);

	ck_assert_msg(r == 0, "%s", error.message);
	return screen;
}

static void expect_no_open(const char *const *allowed, int result, const char *part)
{
	struct screen *screen = NULL;
	struct error error = {0};
	int r = try_open("", allowed, &screen, &error);

	ck_assert_msg(r == result, "%d %s", r, error.message);
	ck_assert_msg(strstr(error.message, part), "%s", error.message);
	ck_assert_ptr_null(screen);
}

// One pass.
static enum screen_status pass(struct screen *screen, struct frame *ret)
{
	struct screen_wait wait = patience();
	enum screen_status status = screen->ops->wait(screen, &wait);

	return status == SCREEN_OK ? screen->ops->get(screen, &wait, ret) : status;
}

static void expect_picture(struct screen *screen, uint8_t value)
{
	struct frame frame = {0};
	enum screen_status status = pass(screen, &frame);

	ck_assert_msg(status == SCREEN_OK, "status %d: %s", status, screen->failure.message);
	ck_assert_uint_eq(frame.view.pixels[0], value);
}

static void expect_failure(struct screen *screen, const char *part)
{
	struct frame frame;

	ck_assert_int_eq(pass(screen, &frame), SCREEN_FAILED);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_FAILED);
	ck_assert_int_eq(screen->failure.code, CONDPROF__CODE__SCREEN_FAILED);
	ck_assert_msg(strstr(screen->failure.message, part), "%s", screen->failure.message);
}

static void write_pictures(int count)
{
	char name[32];

	for (int i = 1; i <= count; i++) {
		snprintf(name, sizeof(name), "%03d.png", i);
		write_picture(name, (uint8_t)i, 16, 8);
	}
}

START_TEST(test_by_pass)
{
	struct frame frame;

	write_pictures(9);
	struct screen *screen = open_replay("");
	ck_assert(!screen->live && screen->by_pass);
	ck_assert_int_eq(screen->width, 16);
	ck_assert_int_eq(screen->height, 8);
	for (uint8_t i = 1; i <= 9; i++)
		expect_picture(screen, i);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_ENDED);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_ENDED);
	screen_close(screen);
}
END_TEST

START_TEST(test_refresh_keeps_the_picture)
{
	struct screen_wait wait = patience();
	struct frame first, again;

	write_pictures(3);
	struct screen *screen = open_replay("?step=pass");
	ck_assert_int_eq(screen->ops->refresh(screen, &wait, &first), SCREEN_OK);
	ck_assert_int_eq(screen->ops->refresh(screen, &wait, &again), SCREEN_OK);
	ck_assert(again.view.pixels == first.view.pixels && again.serial == first.serial);
	ck_assert_int_eq(pass(screen, &again), SCREEN_OK);
	ck_assert(again.serial != first.serial && again.view.pixels[0] == 2);
	ck_assert_int_eq(screen->ops->refresh(screen, &wait, &again), SCREEN_OK);
	ck_assert_uint_eq(again.view.pixels[0], 2);
	expect_picture(screen, 3);
	screen_close(screen);
}
END_TEST

// The picture of a pass stays as it is while later ones are decoded.
START_TEST(test_view_is_stable)
{
	struct screen_wait wait = patience();
	struct frame frame;

	write_pictures(30);
	struct screen *screen = open_replay("");
	for (int i = 1; i <= 20; i++) {
		ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
		if (i % 5 == 0)
			ck_assert_int_eq(screen->ops->wait(screen, &wait), SCREEN_OK);
		for (int y = 0; y < 8; y++)
			ck_assert_uint_eq(frame.view.pixels[y * frame.view.stride + 4], (unsigned)i);
	}
	screen_close(screen);
}
END_TEST

START_TEST(test_loop)
{
	write_pictures(3);
	struct screen *screen = open_replay("?loop=1");
	for (int i = 0; i < 20; i++)
		expect_picture(screen, (uint8_t)(i % 3 + 1));
	screen_close(screen);
	// More slots than pictures.
	remove_folder();
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	write_pictures(1);
	screen = open_replay("?loop=1");
	for (int i = 0; i < 20; i++)
		expect_picture(screen, 1);
	screen_close(screen);
}
END_TEST

START_TEST(test_name_order)
{
	write_picture("b.png", 2, 4, 4);
	write_picture("a.png", 1, 4, 4);
	write_picture("c.PNG", 3, 4, 4);
	write_picture("10.png", 10, 4, 4);
	write_picture("9.png", 9, 4, 4);
	write_file(at("notes.txt"), "no", 2);
	write_file(at(".png"), "no", 2);
	ck_assert_int_eq(mkdir(at("folder.png"), 0700), 0);
	struct screen *screen = open_replay("");
	write_picture("0.png", 7, 4, 4); // too late: the order was taken at open
	expect_picture(screen, 10);
	expect_picture(screen, 9);
	expect_picture(screen, 1);
	expect_picture(screen, 2);
	expect_picture(screen, 3);
	struct frame frame;
	ck_assert_int_eq(pass(screen, &frame), SCREEN_ENDED);
	screen_close(screen);
}
END_TEST

START_TEST(test_mixed_sizes)
{
	struct frame frame;

	write_picture("1.png", 1, 16, 8);
	write_picture("2.png", 2, 5, 30);
	write_picture("3.png", 3, 200, 100);
	struct screen *screen = open_replay("");
	expect_picture(screen, 1);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	ck_assert(frame.view.width == 5 && frame.view.height == 30 && screen->width == 5 && screen->height == 30);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	ck_assert(frame.view.width == 200 && frame.view.height == 100);
	screen_close(screen);
}
END_TEST

// Large pictures are read ahead one at a time, and come all the same.
START_TEST(test_large)
{
	for (int i = 1; i <= 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d.png", i);
		write_picture(name, (uint8_t)i, 5000, 4000);
	}
	struct screen *screen = open_replay("");
	for (uint8_t i = 1; i <= 3; i++)
		expect_picture(screen, i);
	screen_close(screen);
}
END_TEST

START_TEST(test_bad_folder)
{
	expect_no_open(NULL, -ENOENT, "has no PNG file");
	write_file(at("a.txt"), "text", 4);
	expect_no_open(NULL, -ENOENT, "has no PNG file");
	write_file(at("a.png"), "text", 4);
	struct screen *screen = NULL;
	struct error error;
	ck_assert_int_lt(try_open("", NULL, &screen, &error), 0);
	ck_assert_int_eq(error.code, CONDPROF__CODE__SCREEN_FAILED);
	ck_assert_ptr_nonnull(strstr(error.message, "/a.png: "));
	ck_assert_int_lt(try_open("/a.txt", NULL, &screen, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.message, strerror(ENOTDIR)));
	remove_folder();
	expect_no_open(NULL, -ENOENT, strerror(ENOENT));
	ck_assert_int_eq(mkdir(folder, 0700), 0);
}
END_TEST

START_TEST(test_fifo_and_links)
{
	write_picture("1.png", 1, 4, 4);
	ck_assert_int_eq(symlink("1.png", at("2.png")), 0);
	ck_assert_int_eq(symlink("/nowhere/at/all", at("3.png")), 0);
	struct screen *screen = open_replay("");
	expect_picture(screen, 1);
	expect_picture(screen, 1);
	expect_failure(screen, "/3.png: the file is gone");
	screen_close(screen);
	unlink(at("2.png"));
	ck_assert_int_eq(symlink("/dev/zero", at("2.png")), 0);
	screen = open_replay("");
	expect_picture(screen, 1);
	expect_failure(screen, "/2.png: is not a regular file");
	screen_close(screen);
}
END_TEST

START_TEST(test_broken_in_the_middle)
{
	static const char *const breakages[] = {"", "nothing of a PNG file"};
	uint8_t bytes[4096];

	write_pictures(8);
	for (size_t i = 0; i < ARRAY_SIZE(breakages); i++) {
		write_file(at("005.png"), breakages[i], strlen(breakages[i]));
		struct screen *screen = open_replay("");
		for (uint8_t n = 1; n <= 4; n++)
			expect_picture(screen, n);
		expect_failure(screen, "/005.png: ");
		screen_close(screen);
	}
	int fd = open(at("004.png"), O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	close(fd);
	write_file(at("005.png"), bytes, (size_t)size - 20);
	struct screen *screen = open_replay("?loop=1");
	for (uint8_t n = 1; n <= 4; n++)
		expect_picture(screen, n);
	expect_failure(screen, "/005.png: ");
	screen_close(screen);
}
END_TEST

START_TEST(test_vanishing_folder)
{
	struct frame frame;

	write_pictures(60);
	struct screen *screen = open_replay("?loop=1");
	expect_picture(screen, 1);
	remove_folder();
	enum screen_status status = SCREEN_OK;
	for (int i = 0; i < 60 && status == SCREEN_OK; i++)
		status = pass(screen, &frame);
	ck_assert_int_eq(status, SCREEN_FAILED);
	ck_assert_msg(strstr(screen->failure.message, "the file is gone"), "%s", screen->failure.message);
	ck_assert_ptr_nonnull(strstr(screen->failure.message, folder));
	screen_close(screen);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
}
END_TEST

// Another folder under the same name is not the one that was opened.
START_TEST(test_replaced_folder)
{
	char aside[PATH_MAX + 8];

	write_pictures(20);
	struct screen *screen = open_replay("");
	snprintf(aside, sizeof(aside), "%s.aside", folder);
	ck_assert_int_eq(rename(folder, aside), 0);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	for (uint8_t i = 1; i <= 20; i++)
		expect_picture(screen, i);
	screen_close(screen);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(rename(aside, folder), 0);
}
END_TEST

START_TEST(test_frame_folders)
{
	char parent[PATH_MAX], near[PATH_MAX + 8], link[PATH_MAX + 8], inner[PATH_MAX + 16];

	write_pictures(3);
	snprintf(parent, sizeof(parent), "%s", folder);
	snprintf(near, sizeof(near), "%.*s", (int)strlen(folder) - 1,
		 folder); // a prefix of the name, not a folder above
	snprintf(inner, sizeof(inner), "%s/inner", folder);
	snprintf(link, sizeof(link), "%s.link", folder);
	ck_assert_int_eq(mkdir(inner, 0700), 0);
	const char *const none[] = {NULL}, *const same[] = {"/nowhere", parent, NULL}, *const prefix[] = {near, NULL};
	const char *const only_inner[] = {inner, NULL}, *const root[] = {"/", NULL}, *const by_link[] = {link, NULL};
	struct screen *screen = NULL;
	struct error error;

	expect_no_open(none, -EPERM, "frame-folders");
	expect_no_open(prefix, -EPERM, "frame-folders");
	expect_no_open(only_inner, -EPERM, "frame-folders");
	ck_assert_int_eq(try_open("/inner/..", only_inner, &screen, &error), -EPERM);
	ck_assert_int_eq(error.code, CONDPROF__CODE__DENIED);
	ck_assert_int_eq(try_open("", same, &screen, &error), 0);
	screen_close(screen);
	ck_assert_int_eq(try_open("/inner/..", same, &screen, &error), 0);
	screen_close(screen);
	ck_assert_int_eq(try_open("", root, &screen, &error), 0);
	screen_close(screen);
	// An allowed folder may be named by a link; a link in an allowed folder leads nowhere else.
	ck_assert_int_eq(symlink(folder, link), 0);
	ck_assert_int_eq(try_open("", by_link, &screen, &error), 0);
	screen_close(screen);
	unlink(link);
	ck_assert_int_eq(symlink("..", at("inner/up")), 0);
	ck_assert_int_eq(try_open("/inner/up", only_inner, &screen, &error), -EPERM);
}
END_TEST

START_TEST(test_frame_folders_links)
{
	char inner[PATH_MAX + 16];
	struct screen *screen = NULL;
	struct error error;

	write_picture("1.png", 1, 4, 4);
	snprintf(inner, sizeof(inner), "%s/inner", folder);
	ck_assert_int_eq(mkdir(inner, 0700), 0);
	write_picture("inner/1.png", 2, 4, 4);
	ck_assert_int_eq(symlink("../1.png", at("inner/2.png")), 0);
	const char *const only_inner[] = {inner, NULL};
	ck_assert_int_eq(try_open("/inner", only_inner, &screen, &error), 0);
	expect_picture(screen, 2);
	expect_failure(screen, "/2.png: is a symbolic link");
	screen_close(screen);
	ck_assert_int_eq(try_open("/inner", NULL, &screen, &error), 0);
	expect_picture(screen, 2);
	expect_picture(screen, 1);
	screen_close(screen);
}
END_TEST

// --- by time --------------------------------------------------------------------------------------------------------

static void wait_until(int64_t deadline_ns)
{
	wait_for_fd(-1, 0, &(struct screen_wait){.wake_fd = -1, .deadline_ns = deadline_ns});
}

START_TEST(test_by_time)
{
	struct frame frame;
	const int64_t period_ns = 50 * NSEC_PER_MSEC;

	write_pictures(10);
	struct screen *screen = open_replay("?fps=20");
	ck_assert(!screen->by_pass && !screen->live);
	int64_t before_ns = wait_now_ns();
	expect_picture(screen, 1);
	int64_t after_ns = wait_now_ns();
	enum screen_status status;
	int last = 1;
	while ((status = pass(screen, &frame)) == SCREEN_OK) {
		int64_t now_ns = wait_now_ns();
		int value = frame.view.pixels[0];

		// Never before its time; whether it is there in time is the machine's business.
		ck_assert_int_le(value - 1, (now_ns - before_ns) / period_ns);
		ck_assert_int_ge(value, last);
		last = value;
		wait_until(now_ns + 5 * NSEC_PER_MSEC);
	}
	ck_assert_int_eq(status, SCREEN_ENDED);
	ck_assert_int_ge(wait_now_ns() - before_ns, 10 * period_ns);
	ck_assert_int_ge(after_ns, before_ns);
	screen_close(screen);
}
END_TEST

// A pass that comes late finds the newest picture, not the next.
START_TEST(test_by_time_skips)
{
	struct frame frame;

	write_pictures(200);
	struct screen *screen = open_replay("?fps=200");
	int64_t before_ns = wait_now_ns();
	expect_picture(screen, 1);
	wait_until(before_ns + 400 * NSEC_PER_MSEC);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	int value = frame.view.pixels[0];
	ck_assert_int_gt(value, 5);
	ck_assert_int_le(value - 1, (wait_now_ns() - before_ns) / (5 * NSEC_PER_MSEC));
	wait_until(before_ns + 1200 * NSEC_PER_MSEC);
	while (pass(screen, &frame) == SCREEN_OK)
		wait_until(wait_now_ns() + NSEC_PER_MSEC);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_ENDED);
	screen_close(screen);
}
END_TEST

START_TEST(test_by_time_still)
{
	struct screen_wait no_wait = {.wake_fd = -1, .deadline_ns = 0};
	struct frame first, again;

	write_pictures(2);
	struct screen *screen = open_replay("?fps=0.01&loop=1");
	ck_assert_int_eq(pass(screen, &first), SCREEN_OK);
	ck_assert_int_eq(screen->ops->wait(screen, &no_wait), SCREEN_OK);
	ck_assert_int_eq(screen->ops->get(screen, &no_wait, &again), SCREEN_OK);
	ck_assert_uint_eq(first.serial, again.serial);
	ck_assert_int_eq(screen->ops->refresh(screen, &no_wait, &again), SCREEN_OK);
	ck_assert_uint_eq(first.serial, again.serial);
	screen_close(screen);
}
END_TEST

START_TEST(test_by_time_loops)
{
	struct frame frame;
	uint64_t last = 0;

	write_pictures(3);
	struct screen *screen = open_replay("?fps=1000&loop=1");
	int64_t end_ns = wait_now_ns() + 60 * NSEC_PER_SEC;
	while (last < 30 && wait_now_ns() < end_ns) {
		ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
		ck_assert_uint_ge(frame.serial, last);
		last = frame.serial;
		ck_assert_uint_eq(frame.view.pixels[0], (last - 1) % 3 + 1);
	}
	ck_assert_uint_ge(last, 30);
	screen_close(screen);
}
END_TEST

START_TEST(test_by_time_broken)
{
	struct frame frame;
	enum screen_status status;

	write_pictures(3);
	write_file(at("002.png"), "x", 1);
	struct screen *screen = open_replay("?fps=50");
	expect_picture(screen, 1);
	// It may be skipped where the machine is late, then the end comes.
	while ((status = pass(screen, &frame)) == SCREEN_OK)
		wait_until(wait_now_ns() + NSEC_PER_MSEC);
	ck_assert(status == SCREEN_ENDED || strstr(screen->failure.message, "/002.png: "));
	screen_close(screen);
}
END_TEST

// --- stops ----------------------------------------------------------------------------------------------------------

START_TEST(test_interrupted)
{
	int wake = eventfd(1, EFD_CLOEXEC);
	struct screen_wait woken = {.wake_fd = wake, .deadline_ns = INT64_MAX};
	enum screen_status status = SCREEN_OK;
	struct screen *screen = NULL;
	struct error error;
	char uri[PATH_MAX + 16];

	write_picture("1.png", 1, 3000, 3000);
	write_picture("2.png", 1, 3000, 3000);
	screen = open_replay("?loop=1");
	for (int i = 0; i < 1000 && status == SCREEN_OK; i++) {
		struct frame frame;

		status = screen->ops->wait(screen, &woken);
		if (status == SCREEN_OK)
			status = screen->ops->get(screen, &woken, &frame);
	}
	ck_assert_int_eq(status, SCREEN_INTERRUPTED);
	screen_close(screen);
	snprintf(uri, sizeof(uri), "replay:%s", folder);
	int r = screen_open(uri, NULL, &woken, &screen, &error);
	ck_assert(r == -EINTR || r == 0);
	if (r == 0)
		screen_close(screen);
	close(wake);
}
END_TEST

START_TEST(test_close_at_any_time)
{
	write_pictures(5);
	for (int i = 0; i < 50; i++) {
		struct screen *screen = open_replay(i % 2 ? "?loop=1" : "?fps=1000&loop=1");

		for (int n = 0; n < i % 7; n++) {
			struct frame frame;

			ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
		}
		ck_assert_ptr_null(screen_close(screen));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replay");
	TCase *passes = tcase_create("by pass"), *folders = tcase_create("folders"), *times = tcase_create("by time"),
	      *stops = tcase_create("stops");
	TCase *all[] = {passes, folders, times, stops};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		tcase_add_checked_fixture(all[i], setup, teardown);
		suite_add_tcase(suite, all[i]);
	}
	tcase_add_test(passes, test_by_pass);
	tcase_add_test(passes, test_refresh_keeps_the_picture);
	tcase_add_test(passes, test_view_is_stable);
	tcase_add_test(passes, test_loop);
	tcase_add_test(passes, test_name_order);
	tcase_add_test(passes, test_mixed_sizes);
	tcase_add_test(passes, test_large);
	tcase_add_test(folders, test_bad_folder);
	tcase_add_test(folders, test_fifo_and_links);
	tcase_add_test(folders, test_broken_in_the_middle);
	tcase_add_test(folders, test_vanishing_folder);
	tcase_add_test(folders, test_replaced_folder);
	tcase_add_test(folders, test_frame_folders);
	tcase_add_test(folders, test_frame_folders_links);
	tcase_add_test(times, test_by_time);
	tcase_add_test(times, test_by_time_skips);
	tcase_add_test(times, test_by_time_still);
	tcase_add_test(times, test_by_time_loops);
	tcase_add_test(times, test_by_time_broken);
	tcase_add_test(stops, test_interrupted);
	tcase_add_test(stops, test_close_at_any_time);
	return unit_run(suite);
}
