// SPDX-License-Identifier: GPL-3.0-or-later
// The input x11: against a real server, with a real client that tells what arrives.
#include "config.h"

#include "daemon/input/input.h"
#include "daemon/screen/wait.h"
#include "tests/support/unit.h"
#include "tests/support/xvfb.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xkbcommon/xkbcommon-keysyms.h>

static struct xvfb *xvfb;
static struct {
	pid_t pid;
	FILE *out;
	int stdin_fd;
} client;

static void stop_client(void)
{
	if (!client.pid)
		return;
	close(client.stdin_fd);
	fclose(client.out);
	waitpid(client.pid, NULL, 0);
	client.pid = 0;
}

static void teardown(void)
{
	stop_client();
	xvfb = xvfb_stop(xvfb);
}

// The next line of the client, without its newline.
static const char *next_line(void)
{
	static char line[256];

	if (!fgets(line, sizeof(line), client.out))
		ck_abort_msg("the client is gone");
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static void expect_line(const char *wanted)
{
	const char *line = next_line();

	ck_assert_msg(strcmp(line, wanted) == 0, "got \"%s\", wanted \"%s\"", line, wanted);
}

static void start_client(void)
{
	const char *top = getenv("top_builddir");
	char path[512], display[16];
	int in[2], out[2];

	snprintf(path, sizeof(path), "%s/tests/support/x11_button", top ? top : ".");
	snprintf(display, sizeof(display), ":%d", xvfb->display);
	ck_assert_int_eq(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	client.pid = fork();
	if (client.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl(path, path, display, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	client.stdin_fd = in[1];
	client.out = fdopen(out[0], "r");
	expect_line("READY 220 140 160 60");
}

static void start(void)
{
	xvfb = xvfb_start("640x480x24", NULL, NULL, false);
	start_client();
}

static struct input *open_with(const struct screen_wait *wait)
{
	struct input *input = NULL;
	struct error error = {0};
	int r = input_open(xvfb->uri, NULL, wait, &input, &error);

	ck_assert_msg(r == 0, "%s", error.message);
	return input;
}

static struct input *open_input(void)
{
	struct screen_wait wait = {.wake_fd = -1, .deadline_ns = wait_now_ns() + 60 * NSEC_PER_SEC};

	return open_with(&wait);
}

static void expect_ok(struct input *input, int r)
{
	ck_assert_msg(r == 0, "%d: %s", r, input->failure.message);
}

// --- pointer --------------------------------------------------------------------------------------------------------

static void pointer_now(int *ret_x, int *ret_y, unsigned *ret_mask)
{
	xcb_query_pointer_reply_t *reply =
		xcb_query_pointer_reply(xvfb->xcb, xcb_query_pointer(xvfb->xcb, xvfb->screen->root), NULL);

	ck_assert_ptr_nonnull(reply);
	*ret_x = reply->root_x;
	*ret_y = reply->root_y;
	*ret_mask = reply->mask;
	free(reply);
}

// Waits until the server has done what another connection asked for.
static void await_pointer(int x, int y, unsigned mask)
{
	int now_x, now_y;
	unsigned now_mask;
	int64_t end_ns = wait_now_ns() + 60 * NSEC_PER_SEC;

	do {
		pointer_now(&now_x, &now_y, &now_mask);
		ck_assert_msg(wait_now_ns() < end_ns, "pointer at %d, %d, mask %x", now_x, now_y, now_mask);
	} while (now_x != x || now_y != y || now_mask != mask);
}

static size_t count_keys_down(void)
{
	xcb_query_keymap_reply_t *reply = xcb_query_keymap_reply(xvfb->xcb, xcb_query_keymap(xvfb->xcb), NULL);
	size_t count = 0;

	ck_assert_ptr_nonnull(reply);
	for (size_t i = 0; i < sizeof(reply->keys); i++)
		count += (size_t)__builtin_popcount(reply->keys[i]);
	free(reply);
	return count;
}

static void await_keys_down(size_t count)
{
	int64_t end_ns = wait_now_ns() + 60 * NSEC_PER_SEC;

	while (count_keys_down() != count)
		ck_assert_msg(wait_now_ns() < end_ns, "%zu keys are down", count_keys_down());
}

START_TEST(test_click)
{
	start();
	struct input *input = open_input();
	ck_assert(!input->shared);
	expect_ok(input, input->ops->pointer_move(input, 250, 160));
	expect_ok(input, input->ops->pointer_press(input));
	expect_line("press 1 250 160");
	expect_ok(input, input->ops->pointer_release(input));
	expect_line("release 1 250 160");
	expect_line("colour 22aa44");
	expect_ok(input, input->ops->pointer_press(input));
	expect_ok(input, input->ops->pointer_move(input, 379, 199));
	expect_ok(input, input->ops->pointer_release(input));
	expect_line("press 1 250 160");
	expect_line("release 1 379 199");
	expect_line("colour 2266cc");
	ck_assert_ptr_null(input_close(input));
}
END_TEST

START_TEST(test_positions_outside)
{
	start();
	struct input *input = open_input();
	expect_ok(input, input->ops->pointer_move(input, 100, 100));
	await_pointer(100, 100, 0);
	expect_ok(input, input->ops->pointer_move(input, -50, 100000));
	await_pointer(0, 479, 0);
	expect_ok(input, input->ops->pointer_move(input, 1 << 30, -(1 << 30)));
	await_pointer(639, 0, 0);
	input_close(input);
}
END_TEST

START_TEST(test_close_releases)
{
	start();
	struct input *input = open_input();
	expect_ok(input, input->ops->pointer_move(input, 10, 10));
	expect_ok(input, input->ops->pointer_press(input));
	expect_ok(input, input->ops->key_press(input, XKB_KEY_Control_L));
	expect_ok(input, input->ops->key_press(input, XKB_KEY_A));
	await_pointer(10, 10, XCB_BUTTON_MASK_1 | XCB_MOD_MASK_CONTROL | XCB_MOD_MASK_SHIFT);
	await_keys_down(3);
	input_close(input);
	// Close waits for the server, so nobody has to wait here.
	int x, y;
	unsigned mask;
	pointer_now(&x, &y, &mask);
	ck_assert_uint_eq(mask, 0);
	ck_assert_uint_eq(count_keys_down(), 0);
}
END_TEST

START_TEST(test_release_all)
{
	start();
	struct input *input = open_input();
	expect_ok(input, input->ops->pointer_press(input));
	expect_ok(input, input->ops->key_press(input, XKB_KEY_Alt_L));
	expect_ok(input, input->ops->key_press(input, XKB_KEY_F4));
	expect_line("key Alt_L");
	expect_line("key F4");
	expect_ok(input, input->ops->release_all(input));
	expect_line("key-up F4");
	expect_line("key-up Alt_L");
	await_pointer(320, 240, 0);
	ck_assert_uint_eq(count_keys_down(), 0);
	expect_ok(input, input->ops->release_all(input));
	expect_ok(input, input->ops->key_release(input, XKB_KEY_F4));
	input_close(input);
}
END_TEST

// What a killed daemon left pressed is released by the next one.
START_TEST(test_leftovers)
{
	start();
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		struct input *input = open_input();
		bool ok = input->ops->pointer_move(input, 30, 40) == 0 && input->ops->pointer_press(input) == 0 &&
			  input->ops->key_press(input, XKB_KEY_Shift_L) == 0 &&
			  input->ops->key_press(input, XKB_KEY_x) == 0;
		if (ok)
			pause();
		_exit(1);
	}
	await_pointer(30, 40, XCB_BUTTON_MASK_1 | XCB_MOD_MASK_SHIFT);
	await_keys_down(2);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	struct input *input = open_input();
	await_pointer(30, 40, 0);
	await_keys_down(0);
	input_close(input);
}
END_TEST

// --- keys -----------------------------------------------------------------------------------------------------------

static void press_and_release(struct input *input, const uint32_t *keysyms, size_t count)
{
	for (size_t i = 0; i < count; i++)
		expect_ok(input, input->ops->key_press(input, keysyms[i]));
	while (count-- > 0)
		expect_ok(input, input->ops->key_release(input, keysyms[count]));
}

START_TEST(test_keys)
{
	start();
	struct input *input = open_input();
	press_and_release(input, (uint32_t[]){XKB_KEY_Alt_L, XKB_KEY_F4}, 2);
	expect_line("key Alt_L");
	expect_line("key F4");
	expect_line("key-up F4");
	expect_line("key-up Alt_L");
	press_and_release(input, (uint32_t[]){XKB_KEY_Control_L, XKB_KEY_plus}, 2);
	expect_line("key Control_L");
	expect_line("key Shift_L");
	expect_line("key plus U+002B");
	expect_line("key-up plus");
	next_line(); // Shift, by whatever name
	expect_line("key-up Control_L");
	press_and_release(input, (uint32_t[]){XKB_KEY_Delete}, 1);
	expect_line("key Delete U+007F");
	expect_line("key-up Delete");
	input_close(input);
}
END_TEST

// The same modifier held by the scenario and needed for a symbol: it stays down as long as anybody wants it.
START_TEST(test_shared_modifier)
{
	start();
	struct input *input = open_input();
	expect_ok(input, input->ops->key_press(input, XKB_KEY_Shift_L));
	expect_line("key Shift_L");
	expect_ok(input, input->ops->key_press(input, XKB_KEY_A));
	expect_line("key A U+0041");
	expect_ok(input, input->ops->key_release(input, XKB_KEY_A));
	expect_line("key-up A");
	expect_ok(input, input->ops->key_press(input, XKB_KEY_B));
	expect_line("key B U+0042");
	expect_ok(input, input->ops->key_release(input, XKB_KEY_Shift_L));
	expect_ok(input, input->ops->key_release(input, XKB_KEY_B));
	expect_line("key-up B");
	input_close(input);
	ck_assert_uint_eq(count_keys_down(), 0);
}
END_TEST

// A key that no layout has.
START_TEST(test_unmapped_key)
{
	start();
	struct input *input = open_input();
	press_and_release(input, (uint32_t[]){XKB_KEY_Control_L, XKB_KEY_Cyrillic_ya}, 2);
	expect_line("key Control_L");
	expect_line("key Cyrillic_ya U+044F");
	expect_line("key-up Cyrillic_ya");
	expect_line("key-up Control_L");
	ck_assert_int_lt(input->ops->key_press(input, XKB_KEY_NoSymbol), 0);
	ck_assert_str_ne(input->failure.message, "");
	input_close(input);
}
END_TEST

START_TEST(test_too_many_keys)
{
	start();
	struct input *input = open_input();
	int r = 0;

	for (int i = 0; i < 100 && r == 0; i++)
		r = input->ops->key_press(input, XKB_KEY_a);
	ck_assert_int_eq(r, -ENOSPC);
	input_close(input);
	ck_assert_uint_eq(count_keys_down(), 0);
}
END_TEST

// --- text -----------------------------------------------------------------------------------------------------------

// Collects the characters of key lines until there are as many as wanted.
static void expect_text(const uint32_t *wanted, size_t count)
{
	for (size_t i = 0; i < count;) {
		const char *line = next_line(), *mark = strstr(line, " U+");

		if (strncmp(line, "key ", 4) != 0 || !mark)
			continue;
		uint32_t got = (uint32_t)strtoul(mark + 3, NULL, 16);
		ck_assert_msg(got == wanted[i], "character %zu: %s, wanted U+%04X", i, line, wanted[i]);
		i++;
	}
}

static void check_text(struct input *input, const char *text)
{
	uint32_t wanted[512];
	size_t count = 0;

	for (const unsigned char *c = (const unsigned char *)text; *c; count++) {
		int more = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc0 ? 1 : 0;
		uint32_t value = more ? *c & (0x3fU >> more) : *c;

		for (c++; more-- > 0; c++)
			value = value << 6 | (*c & 0x3f);
		wanted[count] = value == '\n' ? '\r' : value;
	}
	expect_ok(input, input->ops->type(input, text));
	expect_text(wanted, count);
}

START_TEST(test_type)
{
	start();
	struct input *input = open_input();
	check_text(input, "Hello, World! 123 ~`@#$%^&*()_+-={}[]|\\:\";'<>?,./\n");
	check_text(input, "aaAA  bbBB\t");
	check_text(input, "");
	input_close(input);
	ck_assert_uint_eq(count_keys_down(), 0);
}
END_TEST

START_TEST(test_type_unicode)
{
	start();
	struct input *input = open_input();
	check_text(input, "Grüße, Ärger & Öl: ñ Ñ é É ß €");
	check_text(input, "привет Привет");
	check_text(input, "日本語 ∑ ☃");
	check_text(input, "😀é😀É");
	input_close(input);
}
END_TEST

static size_t put_ideographs(char *text, unsigned first, unsigned count)
{
	size_t used = 0;

	for (unsigned character = first; character < first + count; character++) {
		text[used++] = (char)(0xe0 | character >> 12);
		text[used++] = (char)(0x80 | (character >> 6 & 0x3f));
		text[used++] = (char)(0x80 | (character & 0x3f));
	}
	text[used] = '\0';
	return used;
}

// More characters than there are spare keys: the keys are bound again, after some time for those who still look up.
START_TEST(test_type_many)
{
	char text[1024];

	start();
	struct input *input = open_input();
	for (unsigned i = 0; i < 12; i++) {
		put_ideographs(text, 0x4e00 + i * 20, 20);
		check_text(input, text);
	}
	put_ideographs(text, 0x5000, 250);
	int64_t before_ns = wait_now_ns();
	expect_ok(input, input->ops->type(input, text));
	ck_assert_int_ge(wait_now_ns() - before_ns, 200 * NSEC_PER_MSEC);
	input_close(input);
}
END_TEST

START_TEST(test_type_skips_what_is_no_text)
{
	start();
	struct input *input = open_input();
	expect_ok(input, input->ops->type(input, "a\x01\xff\xc3"
						 "b"));
	expect_text((uint32_t[]){'a', 'b'}, 2);
	input_close(input);
}
END_TEST

START_TEST(test_caps_lock)
{
	start();
	struct input *input = open_input();
	press_and_release(input, (uint32_t[]){XKB_KEY_Caps_Lock}, 1);
	expect_line("key Caps_Lock");
	expect_line("key-up Caps_Lock");
	check_text(input, "Hello é É ü 1!");
	await_pointer(320, 240, XCB_MOD_MASK_LOCK);
	press_and_release(input, (uint32_t[]){XKB_KEY_Caps_Lock}, 1);
	check_text(input, "Hello é É ü 1!");
	input_close(input);
}
END_TEST

static void set_layout(const char *layout)
{
	char command[128];

	snprintf(command, sizeof(command), "setxkbmap -display :%d %s", xvfb->display, layout);
	ck_assert_int_eq(system(command), 0);
}

// Somebody changes the layout in mid-session.
START_TEST(test_layouts)
{
	if (system("command -v setxkbmap >/dev/null 2>&1") != 0)
		return;
	start();
	struct input *input = open_input();
	check_text(input, "yz-é€");
	set_layout("de");
	check_text(input, "yz-ÄÖ@€[]é\n");
	set_layout("ru");
	check_text(input, "привет hello");
	set_layout("fr");
	check_text(input, "azerty 123 éà");
	set_layout("us");
	check_text(input, "yz-é€");
	input_close(input);
}
END_TEST

// What was bound for a session is gone after it.
START_TEST(test_bindings_are_taken_back)
{
	start();
	struct input *input = open_input();
	check_text(input, "日本語");
	input_close(input);
	const xcb_setup_t *setup = xcb_get_setup(xvfb->xcb);
	uint8_t count = (uint8_t)(setup->max_keycode - setup->min_keycode + 1);
	xcb_get_keyboard_mapping_reply_t *reply = xcb_get_keyboard_mapping_reply(
		xvfb->xcb, xcb_get_keyboard_mapping(xvfb->xcb, setup->min_keycode, count), NULL);
	ck_assert_ptr_nonnull(reply);
	const xcb_keysym_t *symbols = xcb_get_keyboard_mapping_keysyms(reply);
	for (int i = 0; i < xcb_get_keyboard_mapping_keysyms_length(reply); i++)
		ck_assert(symbols[i] < 0x01000000 || symbols[i] > 0x0110ffff);
	free(reply);
}
END_TEST

// --- bad days -------------------------------------------------------------------------------------------------------

START_TEST(test_killed)
{
	start();
	struct input *input = open_input();
	expect_ok(input, input->ops->pointer_press(input));
	kill(xvfb->pid, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)xvfb->pid, NULL, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(input->ops->pointer_release(input), -EPIPE);
	ck_assert_ptr_nonnull(strstr(input->failure.message, "the X server is gone"));
	ck_assert_ptr_nonnull(strstr(input->failure.message, xvfb->uri));
	ck_assert_int_eq(input->failure.code, CONDPROF__CODE__INPUT_FAILED);
	ck_assert_int_eq(input->ops->type(input, "x"), -EPIPE);
	ck_assert_int_eq(input->ops->release_all(input), -EPIPE);
	ck_assert_ptr_null(input_close(input));
}
END_TEST

// A server that hangs takes what its socket takes, then it is said; a stop ends the wait; close is not held up.
START_TEST(test_hang)
{
	int wake = eventfd(0, EFD_CLOEXEC), r = 0;
	struct screen_wait wait = {.wake_fd = wake, .deadline_ns = wait_now_ns() + 60 * NSEC_PER_SEC};

	xvfb = xvfb_start("640x480x24", NULL, NULL, false);
	struct input *input = open_with(&wait);
	kill(xvfb->pid, SIGSTOP);
	expect_ok(input, input->ops->pointer_press(input));
	expect_ok(input, input->ops->type(input, "abc"));
	ck_assert_int_eq(eventfd_write(wake, 1), 0);
	for (int i = 0; i < 1000000 && r == 0; i++)
		r = input->ops->pointer_move(input, i % 100, 1);
	ck_assert_int_eq(r, -EINTR);
	int64_t before_ns = wait_now_ns();
	input_close(input);
	ck_assert_int_lt(wait_now_ns() - before_ns, 5 * NSEC_PER_SEC);
	close(wake);
}
END_TEST

START_TEST(test_no_extension)
{
	struct screen_wait wait = {.wake_fd = -1, .deadline_ns = wait_now_ns() + 60 * NSEC_PER_SEC};
	struct input *input = NULL;
	struct error error = {0};

	xvfb = xvfb_start("640x480x24", "-tst", NULL, false);
	ck_assert_int_eq(input_open(xvfb->uri, NULL, &wait, &input, &error), -ENOTSUP);
	ck_assert_msg(strstr(error.message, "no XTEST extension"), "%s", error.message);
	ck_assert_int_eq(error.code, CONDPROF__CODE__INPUT_FAILED);
}
END_TEST

START_TEST(test_no_server)
{
	struct screen_wait wait = {.wake_fd = -1, .deadline_ns = wait_now_ns() + 60 * NSEC_PER_SEC};
	struct input *input = NULL;
	struct error error = {0};

	ck_assert_int_eq(input_open("x11::59000", NULL, &wait, &input, &error), -ENOENT);
	ck_assert_int_eq(error.code, CONDPROF__CODE__INPUT_FAILED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("input x11");
	TCase *pointer = tcase_create("pointer"), *keys = tcase_create("keys"), *text = tcase_create("text"),
	      *days = tcase_create("bad days");
	TCase *all[] = {pointer, keys, text, days};

	if (!xvfb_is_installed()) {
		puts("1..0 # SKIP Xvfb is not installed");
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		tcase_add_checked_fixture(all[i], NULL, teardown);
		suite_add_tcase(suite, all[i]);
	}
	tcase_add_test(pointer, test_click);
	tcase_add_test(pointer, test_positions_outside);
	tcase_add_test(pointer, test_close_releases);
	tcase_add_test(pointer, test_release_all);
	tcase_add_test(pointer, test_leftovers);
	tcase_add_test(keys, test_keys);
	tcase_add_test(keys, test_shared_modifier);
	tcase_add_test(keys, test_unmapped_key);
	tcase_add_test(keys, test_too_many_keys);
	tcase_add_test(text, test_type);
	tcase_add_test(text, test_type_unicode);
	tcase_add_test(text, test_type_many);
	tcase_add_test(text, test_type_skips_what_is_no_text);
	tcase_add_test(text, test_caps_lock);
	tcase_add_test(text, test_layouts);
	tcase_add_test(text, test_bindings_are_taken_back);
	tcase_add_test(days, test_killed);
	tcase_add_test(days, test_hang);
	tcase_add_test(days, test_no_extension);
	tcase_add_test(days, test_no_server);
	return unit_run(suite);
}
