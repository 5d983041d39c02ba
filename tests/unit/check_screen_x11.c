// SPDX-License-Identifier: GPL-3.0-or-later
// The screen x11: against real servers: every pixel, with shared memory and without, at all depths, through changes of
// resolution, and what happens when a server hangs, dies, refuses or never answers.
#include "config.h"

#include "daemon/screen/screen.h"
#include "daemon/screen/wait.h"
#include "tests/support/unit.h"
#include "tests/support/xvfb.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

static struct xvfb *xvfb;

static void teardown(void)
{
	xvfb = xvfb_stop(xvfb);
}

static struct screen_wait patience(void)
{
	return (struct screen_wait){.wake_fd = -1, .deadline_ns = wait_now_ns() + 60 * NSEC_PER_SEC};
}

static struct screen_wait at_most(int64_t ms)
{
	return (struct screen_wait){.wake_fd = -1, .deadline_ns = wait_now_ns() + ms * NSEC_PER_MSEC};
}

static struct screen *open_screen(const char *uri, const char *authority)
{
	struct screen_config config = {.xauthority = authority && *authority ? authority : NULL};
	struct screen_wait wait = patience();
	struct screen *screen = NULL;
	struct error error = {0};
	int r = screen_open(uri, &config, &wait, &screen, &error);

	ck_assert_msg(r == 0, "%s", error.message);
	return screen;
}

static struct error expect_no_screen(const char *uri, const char *authority, const struct screen_wait *wait, int result)
{
	struct screen_config config = {.xauthority = authority};
	struct screen *screen = NULL;
	struct error error = {0};
	int r = screen_open(uri, &config, wait, &screen, &error);

	ck_assert_msg(r == result, "%d: %s", r, error.message);
	ck_assert_int_eq(error.code, CONDPROF__CODE__SCREEN_FAILED);
	ck_assert_ptr_null(screen);
	return error;
}

#define expect_text(text, part) ck_assert_msg(strstr(text, part), "%s", text)

static enum screen_status pass(struct screen *screen, struct frame *ret)
{
	struct screen_wait wait = patience();
	enum screen_status status = screen->ops->wait(screen, &wait);

	return status == SCREEN_OK ? screen->ops->get(screen, &wait, ret) : status;
}

// --- pixels ---------------------------------------------------------------------------------------------------------

static unsigned reduced(unsigned value, unsigned bits)
{
	unsigned top = (1U << bits) - 1, level = (value * top + 127) / 255;

	return (level * 255 + top / 2) / top;
}

// Every pixel, as a screen of that depth can show it.
static void expect_model(const struct frame *frame, int depth)
{
	const struct picture *model = xvfb->model;
	const unsigned bits[3] = {depth == 16 ? 5 : 8, depth == 16 ? 6 : 8, depth == 16 ? 5 : 8};

	ck_assert_int_eq(frame->view.width, model->width);
	ck_assert_int_eq(frame->view.height, model->height);
	for (int y = 0; y < model->height; y++) {
		const uint8_t *got = frame->view.pixels + y * frame->view.stride,
			      *wanted = model->pixels + y * model->stride;

		for (int x = 0; x < model->width; x++, got += 4, wanted += 4) {
			// An assertion a pixel would keep the runner busy for minutes.
			for (int i = 0; i < 3; i++) {
				if (got[i] != reduced(wanted[i], bits[i]))
					ck_abort_msg("at %d, %d channel %d: %d, wanted %u", x, y, i, got[i],
						     reduced(wanted[i], bits[i]));
			}
		}
	}
}

static bool has_shared_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;

	while (fgets(line, sizeof(line), maps))
		found = found || strstr(line, "memfd:condprof-x11");
	fclose(maps);
	return found;
}

static void check_pixels(const char *geometry, int depth, const char *option, const char *argument)
{
	struct frame frame;
	uint64_t serial = 0;

	xvfb = xvfb_start(geometry, option, argument, false);
	struct screen *screen = open_screen(xvfb->uri, NULL);
	ck_assert(screen->live && !screen->by_pass);
	ck_assert_int_eq(screen->width, xvfb->model->width);
	ck_assert_int_eq(screen->height, xvfb->model->height);
	for (unsigned seed = 1; seed <= 3; seed++) {
		xvfb_draw_pattern(xvfb, seed);
		ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
		ck_assert_uint_ne(frame.serial, serial);
		serial = frame.serial;
		expect_model(&frame, depth);
		ck_assert(has_shared_memory() == !option);
	}
	xvfb_fill(xvfb, (struct rect){3, 5, 4, 6}, 0xffffff);
	struct screen_wait wait = patience();
	ck_assert_int_eq(screen->ops->refresh(screen, &wait, &frame), SCREEN_OK);
	expect_model(&frame, depth);
	ck_assert_ptr_null(screen_close(screen));
}

START_TEST(test_pixels_24)
{
	check_pixels("333x211x24", 24, NULL, NULL);
}
END_TEST

START_TEST(test_pixels_24_plain)
{
	check_pixels("333x211x24", 24, "-extension", "MIT-SHM");
}
END_TEST

START_TEST(test_pixels_16)
{
	check_pixels("333x211x16", 16, NULL, NULL);
}
END_TEST

START_TEST(test_pixels_16_plain)
{
	check_pixels("333x211x16", 16, "-extension", "MIT-SHM");
}
END_TEST

START_TEST(test_pixels_30)
{
	check_pixels("333x211x30", 30, NULL, NULL);
}
END_TEST

START_TEST(test_depth_8)
{
	struct screen_wait wait = patience();

	xvfb = xvfb_start("64x64x8", NULL, NULL, false);
	struct error error = expect_no_screen(xvfb->uri, NULL, &wait, -ENOTSUP);
	expect_text(error.message, "depth 8");
}
END_TEST

// --- resolution -----------------------------------------------------------------------------------------------------

static void check_resize(const char *option, const char *argument)
{
	static const int sizes[][2] = {{320, 240}, {500, 300}, {64, 64}, {640, 480}};
	struct frame frame;

	if (system("command -v xrandr >/dev/null 2>&1") != 0)
		return;
	xvfb = xvfb_start("640x480x24", option, argument, false);
	struct screen *screen = open_screen(xvfb->uri, NULL);
	xvfb_draw_pattern(xvfb, 9);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	expect_model(&frame, 24);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		xvfb_resize(xvfb, sizes[i][0], sizes[i][1]);
		xvfb_draw_pattern(xvfb, (unsigned)i);
		ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
		expect_model(&frame, 24);
		ck_assert(screen->width == sizes[i][0] && screen->height == sizes[i][1]);
	}
	screen_close(screen);
}

START_TEST(test_resize)
{
	check_resize(NULL, NULL);
}
END_TEST

START_TEST(test_resize_plain)
{
	check_resize("-extension", "MIT-SHM");
}
END_TEST

// --- bad days -------------------------------------------------------------------------------------------------------

static void check_killed(const char *option, const char *argument)
{
	struct frame frame;

	xvfb = xvfb_start("320x200x24", option, argument, false);
	struct screen *screen = open_screen(xvfb->uri, NULL);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	kill(xvfb->pid, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)xvfb->pid, NULL, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_FAILED);
	expect_text(screen->failure.message, "the X server is gone");
	expect_text(screen->failure.message, xvfb->uri);
	ck_assert_int_eq(screen->failure.code, CONDPROF__CODE__SCREEN_FAILED);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_FAILED);
	screen_close(screen);
}

START_TEST(test_killed)
{
	check_killed(NULL, NULL);
}
END_TEST

START_TEST(test_killed_plain)
{
	check_killed("-extension", "MIT-SHM");
}
END_TEST

// Killed while a picture is awaited.
static void check_killed_waiting(const char *option, const char *argument)
{
	struct frame frame;

	xvfb = xvfb_start("320x200x24", option, argument, false);
	struct screen *screen = open_screen(xvfb->uri, NULL);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	kill(xvfb->pid, SIGSTOP);
	struct screen_wait wait = at_most(10);
	ck_assert_int_eq(screen->ops->get(screen, &wait, &frame), SCREEN_STALLED);
	kill(xvfb->pid, SIGKILL);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_FAILED);
	expect_text(screen->failure.message, "the X server is gone");
	screen_close(screen);
}

START_TEST(test_killed_waiting)
{
	check_killed_waiting(NULL, NULL);
}
END_TEST

START_TEST(test_killed_waiting_plain)
{
	check_killed_waiting("-extension", "MIT-SHM");
}
END_TEST

// A server that hangs is a stall, interruptible, and its answer is used when it goes on.
static void check_hang(const char *option, const char *argument)
{
	struct frame frame;
	int wake = eventfd(1, EFD_CLOEXEC);

	xvfb = xvfb_start("1000x800x24", option, argument, false);
	struct screen *screen = open_screen(xvfb->uri, NULL);
	xvfb_draw_pattern(xvfb, 5);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	kill(xvfb->pid, SIGSTOP);
	struct screen_wait wait = at_most(30);
	ck_assert_int_eq(screen->ops->wait(screen, &wait), SCREEN_OK);
	ck_assert_int_eq(screen->ops->get(screen, &wait, &frame), SCREEN_STALLED);
	ck_assert_int_ge(wait_now_ns(), wait.deadline_ns);
	for (int i = 0; i < 3; i++) {
		wait = at_most(20);
		ck_assert_int_eq(screen->ops->wait(screen, &wait), SCREEN_STALLED);
		ck_assert_int_ge(wait_now_ns(), wait.deadline_ns);
	}
	wait = (struct screen_wait){.wake_fd = wake, .deadline_ns = INT64_MAX};
	ck_assert_int_eq(screen->ops->wait(screen, &wait), SCREEN_INTERRUPTED);
	ck_assert_int_eq(screen->ops->get(screen, &wait, &frame), SCREEN_INTERRUPTED);
	kill(xvfb->pid, SIGCONT);
	wait = patience();
	ck_assert_int_eq(screen->ops->wait(screen, &wait), SCREEN_OK);
	ck_assert_int_eq(screen->ops->get(screen, &wait, &frame), SCREEN_OK);
	expect_model(&frame, 24);
	xvfb_draw_pattern(xvfb, 6);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	expect_model(&frame, 24);
	// A hung server doesn't hold up the end.
	kill(xvfb->pid, SIGSTOP);
	wait = at_most(20);
	ck_assert_int_eq(screen->ops->get(screen, &wait, &frame), SCREEN_STALLED);
	screen_close(screen);
	close(wake);
}

START_TEST(test_hang)
{
	check_hang(NULL, NULL);
}
END_TEST

START_TEST(test_hang_plain)
{
	check_hang("-extension", "MIT-SHM");
}
END_TEST

// A picture asked for long ago is not shown as if it were of now.
START_TEST(test_late_picture)
{
	struct frame frame;

	xvfb = xvfb_start("100x80x24", NULL, NULL, false);
	struct screen *screen = open_screen(xvfb->uri, NULL);
	xvfb_draw_pattern(xvfb, 5);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	kill(xvfb->pid, SIGSTOP);
	struct screen_wait wait = at_most(1);
	ck_assert_int_eq(screen->ops->get(screen, &wait, &frame), SCREEN_STALLED);
	kill(xvfb->pid, SIGCONT);
	xvfb_draw_pattern(xvfb, 6);
	wait = at_most(1100);
	ck_assert_int_eq(wait_for_fd(-1, 0, &wait), SCREEN_STALLED);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	expect_model(&frame, 24);
	screen_close(screen);
}
END_TEST

// --- who may, and who is there --------------------------------------------------------------------------------------

START_TEST(test_authority)
{
	char wrong[80];
	struct screen_wait wait = patience();
	struct frame frame;

	xvfb = xvfb_start("64x64x24", NULL, NULL, true);
	struct screen *screen = open_screen(xvfb->uri, xvfb->authority);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	screen_close(screen);

	// The environment names it as well, where the configuration doesn't.
	setenv("XAUTHORITY", xvfb->authority, 1);
	screen_close(open_screen(xvfb->uri, NULL));
	setenv("XAUTHORITY", "/nowhere/at/all", 1);
	struct error error = expect_no_screen(xvfb->uri, NULL, &wait, -EACCES);
	expect_text(error.message, "no entry for this display");
	expect_text(error.message, "Authorization required");
	expect_text(error.message, "configuration key xauthority");
	unsetenv("XAUTHORITY");

	error = expect_no_screen(xvfb->uri, "/nowhere/at/all", &wait, -ENOENT);
	expect_text(error.message, "/nowhere/at/all");
	error = expect_no_screen(xvfb->uri, "/dev/null", &wait, -EBADMSG);
	expect_text(error.message, "no X authority file");

	// The right form, the wrong cookie.
	FILE *from = fopen(xvfb->authority, "re");
	char bytes[128];
	size_t size = fread(bytes, 1, sizeof(bytes), from);
	fclose(from);
	bytes[size - 1] ^= 1;
	snprintf(wrong, sizeof(wrong), "%s.wrong", xvfb->authority);
	FILE *to = fopen(wrong, "we");
	ck_assert_uint_eq(fwrite(bytes, 1, size, to), size);
	fclose(to);
	error = expect_no_screen(xvfb->uri, wrong, &wait, -EACCES);
	expect_text(error.message, "MIT-MAGIC-COOKIE-1");
	expect_text(error.message, "was not taken");
	ck_assert_int_eq(truncate(wrong, (off_t)size - 3), 0);
	expect_no_screen(xvfb->uri, wrong, &wait, -EBADMSG);
	unlink(wrong);
}
END_TEST

START_TEST(test_display_of_the_environment)
{
	char name[16];
	struct frame frame;
	struct screen_wait wait = patience();

	xvfb = xvfb_start("64x64x24", NULL, NULL, false);
	snprintf(name, sizeof(name), ":%d.0", xvfb->display);
	setenv("DISPLAY", name, 1);
	struct screen *screen = open_screen("x11:", NULL);
	ck_assert_int_eq(pass(screen, &frame), SCREEN_OK);
	screen_close(screen);
	snprintf(name, sizeof(name), "x11::%d.3", xvfb->display);
	struct error error = expect_no_screen(name, NULL, &wait, -ENOENT);
	expect_text(error.message, "no screen of that number");
}
END_TEST

START_TEST(test_hung_server_at_open)
{
	struct screen_wait wait = at_most(50);

	xvfb = xvfb_start("64x64x24", NULL, NULL, false);
	kill(xvfb->pid, SIGSTOP);
	struct error error = expect_no_screen(xvfb->uri, NULL, &wait, -ETIMEDOUT);
	expect_text(error.message, "does not answer");
	kill(xvfb->pid, SIGCONT);
	screen_close(open_screen(xvfb->uri, NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("screen x11");
	TCase *pixels = tcase_create("pixels"), *days = tcase_create("bad days"), *access_case = tcase_create("access");
	TCase *all[] = {pixels, days, access_case};

	if (!xvfb_is_installed()) {
		puts("1..0 # SKIP Xvfb is not installed");
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		tcase_add_checked_fixture(all[i], NULL, teardown);
		suite_add_tcase(suite, all[i]);
	}
	tcase_add_test(pixels, test_pixels_24);
	tcase_add_test(pixels, test_pixels_24_plain);
	tcase_add_test(pixels, test_pixels_16);
	tcase_add_test(pixels, test_pixels_16_plain);
	tcase_add_test(pixels, test_pixels_30);
	tcase_add_test(pixels, test_depth_8);
	tcase_add_test(pixels, test_resize);
	tcase_add_test(pixels, test_resize_plain);
	tcase_add_test(days, test_killed);
	tcase_add_test(days, test_killed_plain);
	tcase_add_test(days, test_killed_waiting);
	tcase_add_test(days, test_killed_waiting_plain);
	tcase_add_test(days, test_hang);
	tcase_add_test(days, test_hang_plain);
	tcase_add_test(days, test_late_picture);
	tcase_add_test(access_case, test_authority);
	tcase_add_test(access_case, test_display_of_the_environment);
	tcase_add_test(access_case, test_hung_server_at_open);
	return unit_run(suite);
}
