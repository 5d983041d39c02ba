// SPDX-License-Identifier: GPL-3.0-or-later
// The uinput input, on pipes that stand for the kernel's devices: the events that come out of them.
#include "config.h"

#include "daemon/input/input.h"
#include "daemon/input/uinput.h"
#include "daemon/screen/wait.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <xkbcommon/xkbcommon-keysyms.h>

static struct {
	int read_fd[UINPUT_DEVICES];
	int fail_with;
	enum uinput_device fail_for;
} kernel_side;

static int fake_make(enum uinput_device device)
{
	int fds[2];

	if (kernel_side.fail_with && device == kernel_side.fail_for)
		return -kernel_side.fail_with;
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	kernel_side.read_fd[device] = fds[0];
	return fds[1];
}

static const struct uinput_kernel fake = {.make = fake_make, .settle_ns = 0};

static void setup(void)
{
	memset(&kernel_side, 0, sizeof(kernel_side));
	uinput_use_kernel(&fake);
	unsetenv("XKB_DEFAULT_LAYOUT");
}

static struct screen_wait patience(void)
{
	return (struct screen_wait){.wake_fd = -1, .deadline_ns = wait_now_ns() + 60 * NSEC_PER_SEC};
}

static int try_open(const char *uri, struct input **ret, struct error *error)
{
	struct screen_wait wait = patience();

	return input_open(uri, NULL, &wait, ret, error);
}

static struct input *open_uinput(const char *uri)
{
	struct input *input = NULL;
	struct error error = {0};
	int r = try_open(uri, &input, &error);

	ck_assert_msg(r == 0, "%s", error.message);
	ck_assert(!input->shared);
	return input;
}

static const char *name_of(const struct input_event *event)
{
	static char name[32];

	if (event->type == EV_ABS)
		snprintf(name, sizeof(name), "%c=%d", event->code == ABS_X ? 'x' : 'y', event->value);
	else if (event->type == EV_SYN)
		snprintf(name, sizeof(name), ".");
	else
		snprintf(name, sizeof(name), "%c%d", event->value ? '+' : '-', event->code);
	return name;
}

// "x=1 y=2 . +30 . -30 ." and so on: all that came since.
static void expect_events(enum uinput_device device, const char *wanted)
{
	char got[512] = "";
	struct input_event event;

	while (read(kernel_side.read_fd[device], &event, sizeof(event)) == sizeof(event)) {
		ck_assert_int_lt((int)strlen(got), 480);
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", *got ? " " : "", name_of(&event));
	}
	ck_assert_msg(strcmp(got, wanted) == 0, "got \"%s\", wanted \"%s\"", got, wanted);
}

static void expect_ok(struct input *input, int r)
{
	ck_assert_msg(r == 0, "%d: %s", r, input->failure.message);
}

START_TEST(test_click)
{
	struct input *input = open_uinput("uinput:");

	input->ops->fit(input, 1024, 512);
	expect_ok(input, input->ops->pointer_move(input, 0, 0));
	expect_events(UINPUT_POINTER, "x=32 y=64 .");
	expect_ok(input, input->ops->pointer_move(input, 1023, 511));
	expect_events(UINPUT_POINTER, "x=65504 y=65472 .");
	expect_ok(input, input->ops->pointer_press(input));
	expect_ok(input, input->ops->pointer_release(input));
	expect_events(UINPUT_POINTER, "+272 . -272 .");
	expect_ok(input, input->ops->pointer_move(input, -5, 1 << 30));
	expect_events(UINPUT_POINTER, "x=32 y=65472 .");
	ck_assert_ptr_null(input_close(input));
	expect_events(UINPUT_POINTER, "");
	expect_events(UINPUT_KEYBOARD, "");
}
END_TEST

// Whoever maps the range to the screen gets every pixel back.
START_TEST(test_every_pixel)
{
	static const int sizes[] = {1, 2, 3, 640, 1280, 1366, 1920, 3840, 16384};
	struct input *input = open_uinput("uinput:");

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		input->ops->fit(input, sizes[i], sizes[i]);
		for (int x = 0; x < sizes[i]; x++) {
			struct input_event events[3];

			int r = input->ops->pointer_move(input, x, x);
			ssize_t n = read(kernel_side.read_fd[UINPUT_POINTER], events, sizeof(events));
			if (r != 0 || n != sizeof(events) ||
			    (int64_t)events[0].value * sizes[i] / UINPUT_POSITIONS != x)
				ck_abort_msg("%d of %d", x, sizes[i]);
		}
	}
	input_close(input);
}
END_TEST

START_TEST(test_touch)
{
	struct input *input = open_uinput("uinput:?touch=1");

	input->ops->fit(input, 1024, 1024);
	expect_ok(input, input->ops->pointer_move(input, 1, 2));
	expect_events(UINPUT_TOUCH, "");
	expect_ok(input, input->ops->pointer_press(input));
	expect_events(UINPUT_TOUCH, "x=96 y=160 +330 .");
	expect_ok(input, input->ops->pointer_move(input, 3, 2));
	expect_events(UINPUT_TOUCH, "x=224 y=160 .");
	input_close(input);
	expect_events(UINPUT_TOUCH, "-330 .");
}
END_TEST

START_TEST(test_unknown_size)
{
	struct input *input = open_uinput("uinput:");

	ck_assert_int_eq(input->ops->pointer_move(input, 1, 1), -EINVAL);
	ck_assert_ptr_nonnull(strstr(input->failure.message, "size is not known"));
	input_close(input);
}
END_TEST

START_TEST(test_keys)
{
	struct input *input = open_uinput("uinput:?layout=us");

	expect_ok(input, input->ops->key_press(input, XKB_KEY_Alt_L));
	expect_ok(input, input->ops->key_press(input, XKB_KEY_F4));
	expect_ok(input, input->ops->key_release(input, XKB_KEY_F4));
	expect_ok(input, input->ops->key_release(input, XKB_KEY_Alt_L));
	expect_events(UINPUT_KEYBOARD, "+56 . +62 . -62 . -56 .");
	expect_ok(input, input->ops->key_press(input, XKB_KEY_plus));
	expect_ok(input, input->ops->key_press(input, XKB_KEY_A));
	expect_ok(input, input->ops->key_release(input, XKB_KEY_plus));
	expect_ok(input, input->ops->release_all(input));
	expect_events(UINPUT_KEYBOARD, "+42 . +13 . +30 . -13 . -42 . -30 .");
	expect_ok(input, input->ops->key_release(input, XKB_KEY_A));
	expect_events(UINPUT_KEYBOARD, "");
	ck_assert_int_eq(input->ops->key_press(input, XKB_KEY_Cyrillic_ya), -EINVAL);
	input_close(input);
}
END_TEST

START_TEST(test_type)
{
	struct input *input = open_uinput("uinput:?layout=us");

	expect_ok(input, input->ops->type(input, "aA!\n"));
	expect_events(UINPUT_KEYBOARD, "+30 . -30 . +42 . +30 . -30 . -42 . +42 . +2 . -2 . -42 . +28 . -28 .");
	// Not by the keys that a few keyboards have for them alone.
	expect_ok(input, input->ops->type(input, "(*"));
	expect_events(UINPUT_KEYBOARD, "+42 . +10 . -10 . -42 . +42 . +9 . -9 . -42 .");
	ck_assert_int_eq(input->ops->type(input, "x\u00e9y"), -EINVAL);
	expect_events(UINPUT_KEYBOARD, "+45 . -45 .");
	ck_assert_ptr_nonnull(strstr(input->failure.message, "uinput:?layout=NAME"));
	input_close(input);
	input = open_uinput("uinput:?layout=de");
	expect_ok(input, input->ops->type(input, "yz\u00e4\u20ac"));
	expect_events(UINPUT_KEYBOARD, "+44 . -44 . +21 . -21 . +40 . -40 . +100 . +18 . -18 . -100 .");
	input_close(input);
}
END_TEST

START_TEST(test_close_releases)
{
	struct input *input = open_uinput("uinput:");

	expect_ok(input, input->ops->pointer_press(input));
	expect_ok(input, input->ops->key_press(input, XKB_KEY_x));
	expect_events(UINPUT_KEYBOARD, "+45 .");
	expect_events(UINPUT_POINTER, "+272 .");
	input_close(input);
	expect_events(UINPUT_KEYBOARD, "-45 .");
	expect_events(UINPUT_POINTER, "-272 .");
}
END_TEST

START_TEST(test_device_goes)
{
	struct input *input = open_uinput("uinput:");

	signal(SIGPIPE, SIG_IGN);
	close(kernel_side.read_fd[UINPUT_POINTER]);
	ck_assert_int_eq(input->ops->pointer_press(input), -EPIPE);
	ck_assert_int_eq(input->failure.code, CONDPROF__CODE__INPUT_FAILED);
	expect_ok(input, input->ops->type(input, "a"));
	input_close(input);
}
END_TEST

START_TEST(test_stop_ends_a_text)
{
	struct input *input = NULL;
	struct error error;
	struct screen_wait wait = {.wake_fd = eventfd(0, EFD_CLOEXEC), .deadline_ns = INT64_MAX};

	ck_assert_int_eq(input_open("uinput:", NULL, &wait, &input, &error), 0);
	ck_assert_int_eq(eventfd_write(wait.wake_fd, 1), 0);
	ck_assert_int_eq(input->ops->type(input, "abc"), -EINTR);
	expect_events(UINPUT_KEYBOARD, "+30 . -30 .");
	expect_ok(input, input->ops->release_all(input));
	input_close(input);
	close(wait.wake_fd);
}
END_TEST

static void expect_no_open(const char *uri, int result, const char *part)
{
	struct input *input = NULL;
	struct error error = {0};

	ck_assert_int_eq(try_open(uri, &input, &error), result);
	ck_assert_msg(strstr(error.message, part), "%s", error.message);
	ck_assert_int_eq(error.code, CONDPROF__CODE__INPUT_FAILED);
	ck_assert_ptr_null(input);
}

START_TEST(test_open_fails)
{
	expect_no_open("uinput:?layout=nonsense", -ENOENT, "no keyboard layout \"nonsense\"");
	expect_no_open("uinput:?layout=de&variant=nonsense", -ENOENT, "variant \"nonsense\"");
	kernel_side.fail_with = ENOENT;
	expect_no_open("uinput:", -ENOENT, "module uinput");
	kernel_side.fail_with = EACCES;
	kernel_side.fail_for = UINPUT_POINTER;
	expect_no_open("uinput:", -EACCES, "may not write");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("uinput");
	TCase *tcase = tcase_create("uinput");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, test_click);
	tcase_add_test(tcase, test_every_pixel);
	tcase_add_test(tcase, test_touch);
	tcase_add_test(tcase, test_unknown_size);
	tcase_add_test(tcase, test_keys);
	tcase_add_test(tcase, test_type);
	tcase_add_test(tcase, test_close_releases);
	tcase_add_test(tcase, test_device_goes);
	tcase_add_test(tcase, test_stop_ends_a_text);
	tcase_add_test(tcase, test_open_fails);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
