// SPDX-License-Identifier: GPL-3.0-or-later
// Clicks and keys for an X server by its XTEST extension, which gives it a pointer and a keyboard of its own beside the
// real ones. What they hold down outlives the connection: so all of it is counted here and released at the end, and
// what a killed daemon left is released at open. Releasing what only a person's own device holds does nothing.
//
// Requests are only sent, never waited for, and only while the server reads: so a hung one blocks nobody. A change of
// the keyboard's layout is read again before the next key, on a thread, in bounded time.
#include "config.h"

#include "daemon/input/keyboard.h"
#include "daemon/input/kinds.h"
#include "daemon/input/strokes.h"
#include "daemon/input/text.h"
#include "daemon/log/log.h"
#include "daemon/screen/wait.h"
#include "daemon/screen/x11_connect.h"

#include <errno.h>
#include <poll.h>
#include <xcb/xcbext.h>
#include <xcb/xtest.h>
#include <xkbcommon/xkbcommon.h>

#define BUTTONS 5           // that the core protocol can ask for
#define STROKES_A_FLUSH 32U // a few kilobytes, far from what a socket takes
#define SERVER_PATIENCE_NS (5 * NSEC_PER_SEC)
#define SYNCHRONIZE_NS (200 * NSEC_PER_MSEC)
#define REBIND_NS (200 * NSEC_PER_MSEC) // in which a client has looked up a bound key that it was sent

struct x11_input {
	struct input input;
	struct x11_link link;
	int wake_fd;
	struct keyboard *keyboard;
	bool button_held;
	bool unsettled; // a key was sent that may have locked something
	struct strokes strokes;
};

static int fail(struct x11_input *x11, int errno_value, const char *what)
{
	return error_set(&x11->input.failure, CONDPROF__CODE__INPUT_FAILED, errno_value, "%s: %s", x11->link.name,
			 what);
}

// --- sending --------------------------------------------------------------------------------------------------------

static void read_events(struct x11_input *x11)
{
	xcb_generic_event_t *event;

	while ((event = xcb_poll_for_event(x11->link.xcb))) {
		keyboard_event(x11->keyboard, event);
		free(event);
	}
}

static int check_connection(struct x11_input *x11)
{
	return xcb_connection_has_error(x11->link.xcb) ? fail(x11, EPIPE, x11_broken_text(x11->link.xcb)) : 0;
}

// Waits until the socket takes more, which it does at once unless the server has not read for long.
static int await_room(struct x11_input *x11)
{
	int fd = xcb_get_file_descriptor(x11->link.xcb);

	if (wait_for_fd(fd, POLLOUT, &(struct screen_wait){.wake_fd = -1}) == SCREEN_OK)
		return check_connection(x11);
	struct screen_wait wait = {.wake_fd = x11->wake_fd, .deadline_ns = wait_now_ns() + SERVER_PATIENCE_NS};
	switch (wait_for_fd(fd, POLLOUT, &wait)) {
	case SCREEN_OK:
		return check_connection(x11);
	case SCREEN_INTERRUPTED:
		return fail(x11, EINTR, "interrupted, the X server takes no input");
	default:
		return fail(x11, ETIMEDOUT, "the X server takes no input any more");
	}
}

static int begin(struct x11_input *x11)
{
	read_events(x11);
	int r = check_connection(x11);
	return r < 0 ? r : await_room(x11);
}

static int flush(struct x11_input *x11)
{
	xcb_flush(x11->link.xcb);
	return check_connection(x11);
}

static void send(struct x11_input *x11, uint8_t type, uint8_t detail, int x, int y)
{
	xcb_test_fake_input(x11->link.xcb, type, detail, XCB_CURRENT_TIME, x11->link.screen->root, (int16_t)x,
			    (int16_t)y, 0);
}

// Waits until the server has done all that it was sent, within bounds, and looks at the events that came of it.
static void synchronize(struct x11_input *x11, int wake_fd)
{
	xcb_connection_t *xcb = x11->link.xcb;
	struct screen_wait wait = {.wake_fd = wake_fd, .deadline_ns = wait_now_ns() + SYNCHRONIZE_NS};
	unsigned sequence = xcb_get_input_focus(xcb).sequence;
	xcb_generic_error_t *error = NULL;
	void *reply = NULL;

	xcb_flush(xcb);
	for (;;) {
		read_events(x11);
		if (xcb_poll_for_reply(xcb, sequence, &reply, &error))
			break;
		if (wait_for_fd(xcb_get_file_descriptor(xcb), POLLIN, &wait) != SCREEN_OK)
			break;
	}
	free(reply);
	free(error);
}

// --- pointer --------------------------------------------------------------------------------------------------------

static int x11_move(struct input *input, int x, int y)
{
	struct x11_input *x11 = (struct x11_input *)input;
	int r = begin(x11);

	if (r < 0)
		return r;
	send(x11, XCB_MOTION_NOTIFY, 0, MAX(MIN(x, INT16_MAX), INT16_MIN), MAX(MIN(y, INT16_MAX), INT16_MIN));
	return flush(x11);
}

static int x11_press(struct input *input)
{
	struct x11_input *x11 = (struct x11_input *)input;
	int r = begin(x11);

	if (r < 0)
		return r;
	send(x11, XCB_BUTTON_PRESS, XCB_BUTTON_INDEX_1, 0, 0);
	x11->button_held = true;
	return flush(x11);
}

static int x11_release(struct input *input)
{
	struct x11_input *x11 = (struct x11_input *)input;
	int r = begin(x11);

	if (r < 0)
		return r;
	send(x11, XCB_BUTTON_RELEASE, XCB_BUTTON_INDEX_1, 0, 0);
	x11->button_held = false;
	return flush(x11);
}

// --- keys -----------------------------------------------------------------------------------------------------------

static void send_key(void *context, uint8_t keycode, bool down)
{
	send(context, down ? XCB_KEY_PRESS : XCB_KEY_RELEASE, keycode, 0, 0);
}

static uint8_t modifier_key(void *context, enum layout_modifier modifier)
{
	const struct x11_input *x11 = context;

	return keyboard_modifier_key(x11->keyboard, modifier);
}

static int run_load(struct blocking_call *call, void *argument, void **ret, struct error *error)
{
	struct x11_input *x11 = argument;
	int r = blocking_on_socket(call, xcb_get_file_descriptor(x11->link.xcb));

	(void)ret;
	(void)error;
	return r < 0 ? r : keyboard_load(x11->keyboard);
}

// Reads the layout again where somebody changed it.
static int refresh_keyboard(struct x11_input *x11)
{
	static const struct blocking_work work = {.name = "x11-keyboard", .run = run_load};
	struct screen_wait wait = {.wake_fd = x11->wake_fd, .deadline_ns = wait_now_ns() + SERVER_PATIENCE_NS};
	struct error error;
	void *nothing;

	if (!keyboard_is_stale(x11->keyboard))
		return 0;
	int r = blocking_call(&work, x11, &wait, &nothing, &error);
	if (r == -EINTR)
		return fail(x11, EINTR, "interrupted");
	return r < 0 ? fail(x11, -r, "the X server does not tell its keyboard's layout") : 0;
}

// Caps Lock and its like, and what chooses a layout.
static bool locks(uint32_t keysym)
{
	return keysym == XKB_KEY_Caps_Lock || keysym == XKB_KEY_Shift_Lock || keysym == XKB_KEY_Num_Lock ||
	       keysym == XKB_KEY_Scroll_Lock || keysym == XKB_KEY_Mode_switch ||
	       (keysym >= XKB_KEY_ISO_Lock && keysym <= XKB_KEY_ISO_Level5_Lock);
}

static int begin_keys(struct x11_input *x11)
{
	int r = begin(x11);

	if (r == 0 && x11->unsettled) {
		synchronize(x11, x11->wake_fd);
		x11->unsettled = false;
	}
	return r < 0 ? r : refresh_keyboard(x11);
}

// All that has to be bound is bound at once, as far as there are spare keys, so that clients see one change and not
// many.
static void bind_text(struct x11_input *x11, const char *text)
{
	struct layout_stroke stroke;
	uint32_t keysym;

	while (keyboard_has_free(x11->keyboard) && (keysym = text_take_keysym(&text))) {
		if (keyboard_find(x11->keyboard, keysym, &stroke) < 0)
			keyboard_bind(x11->keyboard, keysym);
	}
}

// No spare key is left: they begin anew, once those who were sent them have looked up what they meant.
static int reuse_spares(struct x11_input *x11)
{
	struct screen_wait wait = {.wake_fd = x11->wake_fd,
				   .deadline_ns = keyboard_last_used_ns(x11->keyboard) + REBIND_NS};

	xcb_flush(x11->link.xcb);
	if (wait_for_fd(-1, 0, &wait) == SCREEN_INTERRUPTED)
		return fail(x11, EINTR, "interrupted");
	keyboard_reuse(x11->keyboard);
	return 0;
}

// The stroke for a keysym; where no key gives it, a spare key is bound to it first, and others to what `rest` needs.
static int make_stroke(struct x11_input *x11, uint32_t keysym, const char *rest, struct layout_stroke *ret)
{
	if (keyboard_find(x11->keyboard, keysym, ret) == 0)
		return 0;
	int r = keyboard_has_free(x11->keyboard) ? 0 : reuse_spares(x11);
	if (r < 0)
		return r;
	r = keyboard_bind(x11->keyboard, keysym);
	if (r == -ENOSPC)
		return fail(x11, ENOSPC, "the keyboard has no key for a symbol, and no spare key to bind it to");
	if (r < 0)
		return fail(x11, -r, "there is no such key");
	bind_text(x11, rest);
	return keyboard_find(x11->keyboard, keysym, ret);
}

static int x11_key_press(struct input *input, uint32_t keysym)
{
	struct x11_input *x11 = (struct x11_input *)input;
	struct layout_stroke stroke;
	int r = begin_keys(x11);

	if (r == 0)
		r = make_stroke(x11, keysym, "", &stroke);
	if (r < 0)
		return r;
	if (strokes_hold(&x11->strokes, keysym, &stroke) < 0)
		return fail(x11, ENOSPC, "too many keys are held down");
	keyboard_used(x11->keyboard, &stroke, wait_now_ns());
	x11->unsettled = x11->unsettled || locks(keysym);
	return flush(x11);
}

static int x11_key_release(struct input *input, uint32_t keysym)
{
	struct x11_input *x11 = (struct x11_input *)input;
	int r = begin(x11);

	if (r < 0)
		return r;
	if (strokes_let_go(&x11->strokes, keysym))
		x11->unsettled = x11->unsettled || locks(keysym);
	return flush(x11);
}

static int x11_type(struct input *input, const char *utf8)
{
	struct x11_input *x11 = (struct x11_input *)input;
	int r = begin_keys(x11);
	uint32_t keysym;

	if (r < 0)
		return r;
	for (unsigned n = 1; (keysym = text_take_keysym(&utf8)); n++) {
		struct layout_stroke stroke;

		r = make_stroke(x11, keysym, utf8, &stroke);
		if (r < 0)
			break;
		strokes_press(&x11->strokes, &stroke);
		strokes_release(&x11->strokes, &stroke);
		keyboard_used(x11->keyboard, &stroke, wait_now_ns());
		if (n % STROKES_A_FLUSH == 0 && ((r = flush(x11)) < 0 || (r = await_room(x11)) < 0))
			break;
	}
	int flushed = flush(x11);
	return r < 0 ? r : flushed;
}

static int x11_release_all(struct input *input)
{
	struct x11_input *x11 = (struct x11_input *)input;
	int r = begin(x11);

	if (r < 0)
		return r;
	strokes_release_all(&x11->strokes);
	if (x11->button_held)
		send(x11, XCB_BUTTON_RELEASE, XCB_BUTTON_INDEX_1, 0, 0);
	x11->button_held = false;
	return flush(x11);
}

// --- close ----------------------------------------------------------------------------------------------------------

static void discard(void *result)
{
	struct x11_input *x11 = result;

	keyboard_free(x11->keyboard);
	xcb_disconnect(x11->link.xcb);
	free(x11);
}

static struct input *x11_close(struct input *input)
{
	struct x11_input *x11 = (struct x11_input *)input;

	if (x11_release_all(input) == 0) {
		int64_t used_ns = keyboard_last_used_ns(x11->keyboard);

		synchronize(x11, -1);
		// Whoever was sent a bound key looks it up before the binding goes.
		if (used_ns)
			wait_for_fd(-1, 0, &(struct screen_wait){.wake_fd = -1, .deadline_ns = used_ns + REBIND_NS});
		keyboard_unbind(x11->keyboard);
		if (used_ns)
			synchronize(x11, -1);
	}
	discard(x11);
	return NULL;
}

// --- open: blocking calls, on the thread for that -------------------------------------------------------------------

// What is down on the server's pointer and keyboard is released on ours.
static void release_leftovers(struct x11_input *x11)
{
	xcb_connection_t *xcb = x11->link.xcb;
	xcb_query_pointer_reply_t *pointer =
		xcb_query_pointer_reply(xcb, xcb_query_pointer(xcb, x11->link.screen->root), NULL);
	xcb_query_keymap_reply_t *keys = xcb_query_keymap_reply(xcb, xcb_query_keymap(xcb), NULL);
	unsigned count = 0;

	for (unsigned button = 1; pointer && button <= BUTTONS; button++) {
		if (pointer->mask & XCB_BUTTON_MASK_1 << (button - 1)) {
			send(x11, XCB_BUTTON_RELEASE, (uint8_t)button, 0, 0);
			count++;
		}
	}
	for (unsigned keycode = 0; keys && keycode < LAYOUT_KEYCODES; keycode++) {
		if (keys->keys[keycode / 8] & 1U << keycode % 8) {
			send(x11, XCB_KEY_RELEASE, (uint8_t)keycode, 0, 0);
			count++;
		}
	}
	if (count > 0)
		log_notice("%s: released %u buttons and keys that were down", x11->link.name, count);
	free(pointer);
	free(keys);
}

static int check_extension(const struct x11_link *link, struct error *error)
{
	const xcb_query_extension_reply_t *extension = xcb_get_extension_data(link->xcb, &xcb_test_id);

	if (!extension || !extension->present)
		return error_set(error, link->code, ENOTSUP, "%s: the X server has no XTEST extension", link->name);
	return 0;
}

static int build(const struct x11_link *link, void **ret, struct error *error)
{
	struct x11_input *x11 = calloc(1, sizeof(*x11));

	if (!x11)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	x11->link = *link;
	x11->input.ops = &x11_input_ops;
	x11->strokes = (struct strokes){.send = send_key, .modifier_key = modifier_key, .context = x11};
	int r = check_extension(link, error);
	if (r == 0) {
		r = keyboard_new(link->xcb, &x11->keyboard);
		if (r < 0)
			error_set(error, link->code, -r, "%s: %s", link->name,
				  r == -ENOTSUP ? "the X server has no XKEYBOARD extension"
						: "the X server does not tell its keyboard's layout");
	}
	if (r < 0) {
		free(x11);
		return r;
	}
	// Requests of ours work also while another client has the server grabbed.
	xcb_test_grab_control(link->xcb, 1);
	release_leftovers(x11);
	xcb_flush(link->xcb);
	*ret = x11;
	return 0;
}

static int open_x11(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
		    struct input **ret, struct error *error)
{
	static const struct x11_user user = {.code = CONDPROF__CODE__INPUT_FAILED, .build = build, .discard = discard};
	void *result = NULL;
	int r = x11_open(&user, rest, config, wait, &result, error);

	if (r < 0)
		return r;
	struct x11_input *x11 = result;
	x11->wake_fd = wait->wake_fd;
	*ret = &x11->input;
	return 0;
}

const struct input_ops x11_input_ops = {
	.scheme = "x11",
	.summary = "pointer and keyboard of an X display, by XTEST",
	.check = x11_check,
	.device = x11_device,
	.open = open_x11,
	.close = x11_close,
	.pointer_move = x11_move,
	.pointer_press = x11_press,
	.pointer_release = x11_release,
	.key_press = x11_key_press,
	.key_release = x11_key_release,
	.type = x11_type,
	.release_all = x11_release_all,
};
