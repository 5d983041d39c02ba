// SPDX-License-Identifier: GPL-3.0-or-later
// URIs of screens and inputs, their errors, the log input, and the memory kinds that other tests stand on.
#include "config.h"

#include "daemon/screen/wait.h"
#include "tests/support/memory_ends.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/eventfd.h>
#include <sys/socket.h>

static const struct screen_wait soon = {.wake_fd = -1};

struct uri_case {
	const char *uri;
	int result;
	Condprof__Code code;
	const char *part; // of the message
};

#define BAD CONDPROF__CODE__BAD_REQUEST
#define NOT_HAD CONDPROF__CODE__UNSUPPORTED

static const struct uri_case screen_uris[] = {
	{"replay:/tmp", 0, 0, NULL},
	{"replay:/tmp?", 0, 0, NULL},
	{"replay:/tmp?step=pass", 0, 0, NULL},
	{"replay:/tmp?fps=10", 0, 0, NULL},
	{"replay:/tmp?fps=0.5&loop=1", 0, 0, NULL},
	{"replay:/tmp/what?is?loop=0", 0, 0, NULL},
	{"", -EINVAL, BAD, "no screen was named"},
	{NULL, -EINVAL, BAD, "write x11:DISPLAY"},
	{"x11", -EINVAL, BAD, "write x11:DISPLAY"},
	{":0", -EINVAL, BAD, "write x11:DISPLAY"},
	{"/tmp/frames", -EINVAL, BAD, "replay:DIR"},
	{"http://example.org", -EINVAL, BAD, "is no screen: write"},
	{"repaly:/tmp", -EINVAL, BAD, "did you mean \"replay:\"?"},
	{"replay:", -EINVAL, BAD, "names no folder"},
	{"replay:?loop=1", -EINVAL, BAD, "names no folder"},
	{"replay:frames", -EINVAL, BAD, "not an absolute path"},
	{"replay:/tmp?fps", -EINVAL, BAD, "option \"fps\" has no value"},
	{"replay:/tmp?fps=", -EINVAL, BAD, "fps is a number"},
	{"replay:/tmp?fps=0", -EINVAL, BAD, "fps is a number"},
	{"replay:/tmp?fps=-1", -EINVAL, BAD, "fps is a number"},
	{"replay:/tmp?fps=1001", -EINVAL, BAD, "fps is a number"},
	{"replay:/tmp?fps=nan", -EINVAL, BAD, "not \"nan\""},
	{"replay:/tmp?fps=1e2", -EINVAL, BAD, "fps is a number"},
	{"replay:/tmp?fps=1.2.3", -EINVAL, BAD, "fps is a number"},
	{"replay:/tmp?step=2", -EINVAL, BAD, "step can only be \"pass\""},
	{"replay:/tmp?loop=yes", -EINVAL, BAD, "loop is 0 or 1"},
	{"replay:/tmp?lop=1", -EINVAL, BAD, "did you mean \"loop\"?"},
	{"replay:/tmp?speed=1", -EINVAL, BAD, "unknown option \"speed\"; there are"},
	{"replay:/tmp?loop=1&loop=1", -EINVAL, BAD, "option \"loop\" is there twice"},
	{"replay:/tmp?loop=1&", -EINVAL, BAD, "unknown option \"\""},
	{"replay:/tmp?step=pass&fps=3", -EINVAL, BAD, "exclude each other"},
	{"replay:/tmp?clock=real", -EINVAL, BAD, "clock can only be"},
	{"replay:/tmp?clock=virtual", 0, 0, NULL},
	{"replay:/tmp?clock=virtual&fps=3", -EINVAL, BAD, "without fps and loop"},
	{"replay:/tmp?clock=virtual&loop=1", -EINVAL, BAD, "without fps and loop"},
	{"fb:", 0, 0, NULL},
	{"fb:/dev/fb1", 0, 0, NULL},
	{"fb:0", -EINVAL, BAD, "write fb:/dev/fb0"},
	{"vnc:host", -ENOTSUP, NOT_HAD, "screen \"vnc:\" is not supported yet"},
	{"wayland:", -ENOTSUP, NOT_HAD, "screen \"wayland:\" is not supported yet"},
};

static const struct uri_case input_uris[] = {
	{"log:", 0, 0, NULL},
	{"uinput:", 0, 0, NULL},
	{"uinput:?layout=de&variant=neo&touch=1", 0, 0, NULL},
	{"uinput:/dev/uinput", -EINVAL, BAD, "takes options only"},
	{"uinput:?layout=../x", -EINVAL, BAD, "is no layout"},
	{"uinput:?variant=neo", -EINVAL, BAD, "needs its layout"},
	{"uinput:?touch=2", -EINVAL, BAD, "touch is 0 or 1"},
	{"uinput:?layot=de", -EINVAL, BAD, "did you mean \"layout\"?"},
	{"uinput:?x=de", -EINVAL, BAD, "there are layout=, variant=, touch="},
	{"log:file", -EINVAL, BAD, "takes nothing after the colon"},
	{"lag:", -EINVAL, BAD, "did you mean \"log:\"?"},
	{"", -EINVAL, BAD, "no input was named"},
	{"replay:/tmp", -EINVAL, BAD, "is no input: write x11:DISPLAY"},
	{"vnc:", -ENOTSUP, NOT_HAD, "input \"vnc:\" is not supported yet"},
};

static void check_uri(const struct uri_case *one, int (*function)(const char *uri, struct error *error))
{
	struct error error = {0};

	ck_assert_msg(function(one->uri, &error) == one->result, "%s: %s", one->uri, error.message);
	if (one->result == 0)
		return;
	ck_assert_msg(error.code == one->code, "%s: code %d", one->uri, error.code);
	ck_assert_msg(strstr(error.message, one->part), "%s: %s", one->uri, error.message);
}

START_TEST(test_screen_uri)
{
	check_uri(&screen_uris[_i], screen_check_uri);
}
END_TEST

START_TEST(test_input_uri)
{
	check_uri(&input_uris[_i], input_check_uri);
}
END_TEST

START_TEST(test_uri_too_long)
{
	char uri[8192];
	struct error error;

	memset(uri, 'a', sizeof(uri) - 1);
	memcpy(uri, "replay:/", 8);
	uri[sizeof(uri) - 1] = '\0';
	ck_assert_int_eq(screen_check_uri(uri, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "longer than 4096"));
	ck_assert_int_eq(screen_check_uri(uri, NULL), -EINVAL);
}
END_TEST

START_TEST(test_open_checks_the_uri)
{
	struct screen *screen = NULL;
	struct input *input = NULL;
	struct error error;

	ck_assert_int_eq(screen_open("replay:/tmp?fps=0", NULL, &soon, &screen, &error), -EINVAL);
	ck_assert_int_eq(input_open("log:x", NULL, &soon, &input, &error), -EINVAL);
	ck_assert_ptr_null(screen);
	ck_assert_ptr_null(input);
	ck_assert_ptr_null(screen_close(NULL));
	ck_assert_ptr_null(input_close(NULL));
}
END_TEST

#ifdef HAVE_X11
START_TEST(test_one_device_has_many_names)
{
	static const char *const same[] = {"x11::7",     "x11::07",        "x11::7.0", "x11::7.1",
					   "x11:unix:7", "x11:tcp/unix:7", "x11:"},
				 *const others[] = {"x11::70", "x11::8", "x11:host:7", "log:"};
	char wanted[64], device[64];

	setenv("DISPLAY", ":7.0", 1);
	input_device(same[0], wanted, sizeof(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		input_device(same[i], device, sizeof(device));
		ck_assert_str_eq(device, wanted);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		input_device(others[i], device, sizeof(device));
		ck_assert_str_ne(device, wanted);
	}
	unsetenv("DISPLAY");
	input_device("x11:", device, sizeof(device));
	ck_assert_str_ne(device, wanted);
}
END_TEST
#endif

START_TEST(test_implied_input)
{
	char uri[64];

	input_for_screen("x11::7", uri, sizeof(uri));
	ck_assert_str_eq(uri, "x11::7");
	input_for_screen("fb:/dev/fb0", uri, sizeof(uri));
	ck_assert_str_eq(uri, "uinput:");
	input_for_screen("replay:/tmp?loop=1", uri, sizeof(uri));
	ck_assert_str_eq(uri, "log:");
}
END_TEST

static bool among(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

START_TEST(test_schemes)
{
	ck_assert(among(screen_schemes(), "replay"));
	ck_assert(among(screen_schemes(), "fb"));
	ck_assert(among(input_schemes(), "log"));
	ck_assert(among(input_schemes(), "uinput"));
	ck_assert(!among(screen_schemes(), "vnc"));
	ck_assert(!among(screen_schemes(), "memory"));
	memory_ends_register();
	memory_ends_register();
	ck_assert(among(screen_schemes(), "memory"));
	ck_assert(among(input_schemes(), "memory"));
}
END_TEST

START_TEST(test_log_input)
{
	struct input *input = NULL;
	struct error error;

	ck_assert_int_eq(input_open("log:", NULL, &soon, &input, &error), 0);
	ck_assert(input->shared);
	ck_assert_int_eq(input->ops->pointer_move(input, -5, 100000), 0);
	ck_assert_int_eq(input->ops->pointer_press(input), 0);
	ck_assert_int_eq(input->ops->pointer_release(input), 0);
	ck_assert_int_eq(input->ops->key_press(input, 'a'), 0);
	ck_assert_int_eq(input->ops->key_release(input, 'a'), 0);
	ck_assert_int_eq(input->ops->type(input, "grüße"), 0);
	ck_assert_int_eq(input->ops->release_all(input), 0);
	ck_assert_ptr_null(input_close(input));
}
END_TEST

START_TEST(test_memory_screen)
{
	struct memory_display *display = memory_display_new("one", 8, 4);
	struct screen *screen = NULL;
	struct error error;
	struct frame frame;

	memory_ends_register();
	ck_assert_int_eq(screen_open("memory:two", NULL, &soon, &screen, &error), -ENOENT);
	ck_assert_int_eq(screen_open("memory:one", NULL, &soon, &screen, &error), 0);
	memory_display_fill(display, (struct rect){2, 1, 100, 2}, 0x102030);
	ck_assert_int_eq(screen->ops->wait(screen, &soon), SCREEN_OK);
	ck_assert_int_eq(screen->ops->get(screen, &soon, &frame), SCREEN_OK);
	ck_assert_int_eq(frame.view.width, 8);
	const uint8_t *pixel = frame.view.pixels + frame.view.stride + (ptrdiff_t)2 * 4;
	ck_assert(pixel[0] == 0x30 && pixel[1] == 0x20 && pixel[2] == 0x10 && pixel[-4] == 0);
	display->status = SCREEN_STALLED;
	ck_assert_int_eq(screen->ops->wait(screen, &soon), SCREEN_STALLED);
	display->status = SCREEN_FAILED;
	ck_assert_int_eq(screen->ops->wait(screen, &soon), SCREEN_FAILED);
	ck_assert_str_ne(screen->failure.message, "");
	screen_close(screen);
	ck_assert_int_eq(display->closes, 1);
	memory_display_free(display);
}
END_TEST

START_TEST(test_memory_input)
{
	struct memory_display *display = memory_display_new("keys", 8, 4);
	struct input *input = NULL;
	struct error error;
	char log[256];

	memory_ends_register();
	ck_assert_int_eq(input_open("memory:keys", NULL, &soon, &input, &error), 0);
	ck_assert_int_eq(input->ops->pointer_move(input, 1, -2), 0);
	ck_assert_int_eq(input->ops->pointer_press(input), 0);
	ck_assert_int_eq(input->ops->key_press(input, 0x61), 0);
	ck_assert(display->pressed);
	ck_assert_int_eq(input->ops->type(input, "hi"), 0);
	display->input_error = EPIPE;
	ck_assert_int_eq(input->ops->pointer_release(input), -EPIPE);
	ck_assert_str_ne(input->failure.message, "");
	display->input_error = 0;
	input_close(input);
	memory_display_log(display, log, sizeof(log));
	ck_assert_str_eq(log, "move 1 -2; press; key-press 0x61; type hi; release-all");
	ck_assert(!display->pressed);
	ck_assert_uint_eq(memory_display_count(display, MEMORY_MOVE), 1);
	memory_display_free(display);
}
END_TEST

// --- waiting --------------------------------------------------------------------------------------------------------

START_TEST(test_wait_for_fd)
{
	int wake = eventfd(0, EFD_CLOEXEC), fd = eventfd(0, EFD_CLOEXEC);
	uint64_t one = 1;
	struct screen_wait wait = {.wake_fd = wake, .deadline_ns = wait_now_ns() + 20 * NSEC_PER_MSEC};

	ck_assert_int_eq(wait_for_fd(fd, POLLIN, &wait), SCREEN_STALLED);
	ck_assert_int_ge(wait_now_ns(), wait.deadline_ns);
	ck_assert_int_eq(write(fd, &one, sizeof(one)), sizeof(one));
	ck_assert_int_eq(wait_for_fd(fd, POLLIN, &wait), SCREEN_OK);
	ck_assert_int_eq(write(wake, &one, sizeof(one)), sizeof(one));
	ck_assert_int_eq(wait_for_fd(fd, POLLIN, &wait), SCREEN_INTERRUPTED);
	wait.deadline_ns = INT64_MAX;
	ck_assert_int_eq(wait_for_fd(-1, 0, &wait), SCREEN_INTERRUPTED);
	close(wake);
	close(fd);
}
END_TEST

static atomic_int discarded, freed;
static int begun_fd = -1; // told when a call is about to block

static void count_discarded(void *result)
{
	free(result);
	discarded++;
}

static void count_freed(void *argument)
{
	close(*(int *)argument);
	free(argument);
	freed++;
}

// Reads a byte from a socket, which may take for ever, and gives it back.
static int read_byte(struct blocking_call *call, void *argument, void **ret, struct error *error)
{
	int fd = *(int *)argument;
	char byte = 0;

	if (blocking_on_socket(call, fd) < 0)
		return -ECANCELED;
	if (begun_fd >= 0)
		ck_assert_int_eq(eventfd_write(begun_fd, 1), 0);
	if (read(fd, &byte, 1) == 1 && byte == '!')
		return error_set(error, CONDPROF__CODE__IO, EIO, "as told");
	char *result = malloc(1);
	*result = byte;
	*ret = result;
	return 0;
}

static const struct blocking_work byte_work = {
	.name = "byte", .run = read_byte, .discard = count_discarded, .free_argument = count_freed};

static int make_pair(int **ret_argument)
{
	int fds[2], *argument = malloc(sizeof(*argument));

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	*argument = fds[1];
	*ret_argument = argument;
	return fds[0];
}

START_TEST(test_blocking_call)
{
	int *argument;
	int fd = make_pair(&argument);
	struct screen_wait wait = {.wake_fd = -1, .deadline_ns = wait_now_ns() + 60 * NSEC_PER_SEC};
	void *result = NULL;
	struct error error = {0};

	ck_assert_int_eq(write(fd, "x", 1), 1);
	ck_assert_int_eq(blocking_call(&byte_work, argument, &wait, &result, &error), 0);
	ck_assert_int_eq(*(char *)result, 'x');
	free(result);
	close(fd);
	fd = make_pair(&argument);
	ck_assert_int_eq(write(fd, "!", 1), 1);
	ck_assert_int_eq(blocking_call(&byte_work, argument, &wait, &result, &error), -EIO);
	ck_assert_str_eq(error.message, "as told");
	ck_assert_int_eq(freed, 2);
	ck_assert_int_eq(discarded, 0);
	close(fd);
}
END_TEST

static void await(atomic_int *counter, int value)
{
	while (*counter < value)
		usleep(200);
}

START_TEST(test_blocking_call_left_alone)
{
	int *argument;
	int fd = make_pair(&argument);
	struct screen_wait wait = {.wake_fd = eventfd(0, EFD_CLOEXEC), .deadline_ns = INT64_MAX};
	void *result = NULL;
	struct error error;

	// Interrupted while it blocks: it ends, and its result goes.
	begun_fd = wait.wake_fd;
	ck_assert_int_eq(blocking_call(&byte_work, argument, &wait, &result, &error), -EINTR);
	await(&freed, 1);
	await(&discarded, 1);
	close(fd);
	// Perhaps before it blocks: then it does not begin to.
	begun_fd = -1;
	fd = make_pair(&argument);
	wait = (struct screen_wait){.wake_fd = -1, .deadline_ns = wait_now_ns() + 10 * NSEC_PER_MSEC};
	ck_assert_int_eq(blocking_call(&byte_work, argument, &wait, &result, &error), -ETIMEDOUT);
	ck_assert_ptr_null(result);
	await(&freed, 2);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ends");
	TCase *uris = tcase_create("uris"), *kinds = tcase_create("kinds"), *waits = tcase_create("waits");

	tcase_add_loop_test(uris, test_screen_uri, 0, (int)ARRAY_SIZE(screen_uris));
	tcase_add_loop_test(uris, test_input_uri, 0, (int)ARRAY_SIZE(input_uris));
	tcase_add_test(uris, test_uri_too_long);
	tcase_add_test(uris, test_open_checks_the_uri);
#ifdef HAVE_X11
	tcase_add_test(uris, test_one_device_has_many_names);
#endif
	tcase_add_test(uris, test_implied_input);
	tcase_add_test(kinds, test_schemes);
	tcase_add_test(kinds, test_log_input);
	tcase_add_test(kinds, test_memory_screen);
	tcase_add_test(kinds, test_memory_input);
	tcase_add_test(waits, test_wait_for_fd);
	tcase_add_test(waits, test_blocking_call);
	tcase_add_test(waits, test_blocking_call_left_alone);
	suite_add_tcase(suite, uris);
	suite_add_tcase(suite, kinds);
	suite_add_tcase(suite, waits);
	return unit_run(suite);
}
