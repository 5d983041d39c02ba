// SPDX-License-Identifier: GPL-3.0-or-later
// A keyboard and a pointer (or a touch screen) of our own in the kernel: for consoles, kiosks without X, and Wayland.
// The kernel knows keys, not symbols: which key gives a symbol is the layout's matter, which must be the one that the
// other side uses. Positions go over a fixed range, the middle of each pixel of the frame, so that any size fits.
//
// The kernel releases what a device holds when it goes, so a killed daemon leaves nothing behind. Events that come
// faster than a program reads are lost to it, hence the pause after each stroke of a text.
#include "config.h"

#include "daemon/input/uinput.h"

#include "daemon/input/kinds.h"
#include "daemon/input/strokes.h"
#include "daemon/input/text.h"
#include "daemon/screen/uri.h"
#include "daemon/screen/wait.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/uinput.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define DEVICE "/dev/uinput"
#define STROKE_PAUSE_NS (4 * NSEC_PER_MSEC)
#define KEYCODE_OFFSET 8 // xkb's keycodes are the kernel's and 8

struct uinput_options {
	char layout[32], variant[32]; // empty: the environment's, or us
	bool touch;
};

struct uinput {
	struct input input;
	struct uinput_options options;
	int keyboard_fd, pointer_fd;
	int wake_fd;
	struct layout *layout;
	struct strokes strokes;
	int width, height; // px, of the frame
	int x, y;          // of the axes, the last position
	bool pressed;
	int error; // of sending, since it was looked at
};

static int fail(struct uinput *uinput, int errno_value, const char *what)
{
	return error_set(&uinput->input.failure, CONDPROF__CODE__INPUT_FAILED, errno_value, "uinput: %s", what);
}

// --- the kernel
// -------------------------------------------------------------------------------------------------------

static bool allow_keys(int fd)
{
	for (unsigned key = KEY_ESC; key < LAYOUT_KEYCODES - KEYCODE_OFFSET; key++) {
		if (ioctl(fd, UI_SET_KEYBIT, key) < 0)
			return false;
	}
	return true;
}

static bool allow_axis(int fd, uint16_t axis)
{
	struct uinput_abs_setup setup = {.code = axis, .absinfo = {.maximum = UINPUT_POSITIONS - 1}};

	return ioctl(fd, UI_SET_ABSBIT, axis) == 0 && ioctl(fd, UI_ABS_SETUP, &setup) == 0;
}

static bool allow_positions(int fd, enum uinput_device device)
{
	if (device == UINPUT_TOUCH && ioctl(fd, UI_SET_PROPBIT, INPUT_PROP_DIRECT) < 0)
		return false;
	// Without a second button nobody takes it for a mouse.
	if (device == UINPUT_POINTER && ioctl(fd, UI_SET_KEYBIT, BTN_RIGHT) < 0)
		return false;
	return ioctl(fd, UI_SET_EVBIT, EV_ABS) == 0 &&
	       ioctl(fd, UI_SET_KEYBIT, device == UINPUT_TOUCH ? BTN_TOUCH : BTN_LEFT) == 0 && allow_axis(fd, ABS_X) &&
	       allow_axis(fd, ABS_Y);
}

static int make_device(enum uinput_device device)
{
	static const char *const names[] = {
		[UINPUT_KEYBOARD] = "condprof keyboard",
		[UINPUT_POINTER] = "condprof pointer",
		[UINPUT_TOUCH] = "condprof touch screen",
	};
	static_assert(ARRAY_SIZE(names) == UINPUT_DEVICES, "a name a device");
	struct uinput_setup setup = {.id = {.bustype = BUS_VIRTUAL, .version = 1}};
	CLEANUP_CLOSE int fd = open(DEVICE, O_WRONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	snprintf(setup.name, sizeof(setup.name), "%s", names[device]);
	if (ioctl(fd, UI_SET_EVBIT, EV_KEY) < 0 ||
	    !(device == UINPUT_KEYBOARD ? allow_keys(fd) : allow_positions(fd, device)) ||
	    ioctl(fd, UI_DEV_SETUP, &setup) < 0 || ioctl(fd, UI_DEV_CREATE) < 0)
		return -errno;
	return take_fd(&fd);
}

static const struct uinput_kernel real_kernel = {.make = make_device, .settle_ns = 500 * NSEC_PER_MSEC};
static const struct uinput_kernel *kernel = &real_kernel;

void uinput_use_kernel(const struct uinput_kernel *replacement)
{
	kernel = replacement ? replacement : &real_kernel;
}

// --- sending
// ----------------------------------------------------------------------------------------------------------

// All that belongs together, in one piece.
static void send(struct uinput *uinput, int fd, const struct input_event *events, size_t count)
{
	ssize_t size = (ssize_t)(count * sizeof(*events)), n;

	do {
		n = write(fd, events, (size_t)size);
	} while (n < 0 && errno == EINTR);
	if (n != size && !uinput->error)
		uinput->error = n < 0 ? errno : EIO;
}

static int sent(struct uinput *uinput)
{
	int error = uinput->error;

	uinput->error = 0;
	return error ? fail(uinput, error, strerror(error)) : 0;
}

static void send_key(void *context, uint8_t keycode, bool down)
{
	struct uinput *uinput = context;
	const struct input_event events[] = {
		{.type = EV_KEY, .code = (uint16_t)(keycode - KEYCODE_OFFSET), .value = down},
		{.type = EV_SYN, .code = SYN_REPORT},
	};

	send(uinput, uinput->keyboard_fd, events, ARRAY_SIZE(events));
}

static uint8_t modifier_key(void *context, enum layout_modifier modifier)
{
	const struct uinput *uinput = context;

	return layout_modifier_key(uinput->layout, modifier);
}

// --- pointer
// ----------------------------------------------------------------------------------------------------------

static void uinput_fit(struct input *input, int width, int height)
{
	struct uinput *uinput = (struct uinput *)input;

	uinput->width = width;
	uinput->height = height;
}

// The middle of the pixel; what lies outside is at the edge.
static int axis_position(int position, int size)
{
	int64_t inside = MAX(MIN(position, size - 1), 0);

	return (int)((2 * inside + 1) * UINPUT_POSITIONS / (2 * (int64_t)size));
}

static void send_position(struct uinput *uinput)
{
	const struct input_event events[] = {
		{.type = EV_ABS, .code = ABS_X, .value = uinput->x},
		{.type = EV_ABS, .code = ABS_Y, .value = uinput->y},
		{.type = EV_SYN, .code = SYN_REPORT},
	};

	send(uinput, uinput->pointer_fd, events, ARRAY_SIZE(events));
}

// A finger that is up is nowhere: its position comes with the touch.
static int uinput_move(struct input *input, int x, int y)
{
	struct uinput *uinput = (struct uinput *)input;

	if (uinput->width < 1)
		return fail(uinput, EINVAL, "the screen's size is not known yet");
	uinput->x = axis_position(x, uinput->width);
	uinput->y = axis_position(y, uinput->height);
	if (!uinput->options.touch || uinput->pressed)
		send_position(uinput);
	return sent(uinput);
}

static void send_press(struct uinput *uinput, bool down)
{
	const struct input_event events[] = {
		{.type = EV_ABS, .code = ABS_X, .value = uinput->x},
		{.type = EV_ABS, .code = ABS_Y, .value = uinput->y},
		{.type = EV_KEY, .code = uinput->options.touch ? BTN_TOUCH : BTN_LEFT, .value = down},
		{.type = EV_SYN, .code = SYN_REPORT},
	};
	size_t first = down && uinput->options.touch ? 0 : 2;

	uinput->pressed = down;
	send(uinput, uinput->pointer_fd, events + first, ARRAY_SIZE(events) - first);
}

static int uinput_press(struct input *input)
{
	struct uinput *uinput = (struct uinput *)input;

	send_press(uinput, true);
	return sent(uinput);
}

static int uinput_release(struct input *input)
{
	struct uinput *uinput = (struct uinput *)input;

	send_press(uinput, false);
	return sent(uinput);
}

// --- keys
// -------------------------------------------------------------------------------------------------------------

// The message does not say which: it may be of a secret.
static int find_stroke(struct uinput *uinput, uint32_t keysym, struct layout_stroke *ret)
{
	if (layout_find(uinput->layout, keysym, ret) < 0 || ret->keycode <= KEYCODE_OFFSET)
		return fail(uinput, EINVAL,
			    "the keyboard layout has no key for what is to be typed; uinput:?layout=NAME names another "
			    "one");
	return 0;
}

static int uinput_key_press(struct input *input, uint32_t keysym)
{
	struct uinput *uinput = (struct uinput *)input;
	struct layout_stroke stroke;
	int r = find_stroke(uinput, keysym, &stroke);

	if (r < 0)
		return r;
	if (strokes_hold(&uinput->strokes, keysym, &stroke) < 0)
		return fail(uinput, ENOSPC, "too many keys are held down");
	return sent(uinput);
}

static int uinput_key_release(struct input *input, uint32_t keysym)
{
	struct uinput *uinput = (struct uinput *)input;

	strokes_let_go(&uinput->strokes, keysym);
	return sent(uinput);
}

static int pause_after_stroke(struct uinput *uinput)
{
	struct screen_wait wait = {.wake_fd = uinput->wake_fd, .deadline_ns = wait_now_ns() + STROKE_PAUSE_NS};

	return wait_for_fd(-1, 0, &wait) == SCREEN_INTERRUPTED ? fail(uinput, EINTR, "interrupted") : 0;
}

static int uinput_type(struct input *input, const char *utf8)
{
	struct uinput *uinput = (struct uinput *)input;
	uint32_t keysym;
	int r = 0;

	while (r == 0 && (keysym = text_take_keysym(&utf8))) {
		struct layout_stroke stroke;

		r = find_stroke(uinput, keysym, &stroke);
		if (r < 0)
			break;
		strokes_press(&uinput->strokes, &stroke);
		strokes_release(&uinput->strokes, &stroke);
		r = sent(uinput);
		if (r == 0)
			r = pause_after_stroke(uinput);
	}
	return r;
}

static int uinput_release_all(struct input *input)
{
	struct uinput *uinput = (struct uinput *)input;

	strokes_release_all(&uinput->strokes);
	if (uinput->pressed)
		send_press(uinput, false);
	return sent(uinput);
}

static struct input *uinput_close(struct input *input)
{
	struct uinput *uinput = (struct uinput *)input;

	if (uinput->keyboard_fd >= 0 && uinput->pointer_fd >= 0)
		uinput_release_all(input);
	if (uinput->keyboard_fd >= 0)
		close(uinput->keyboard_fd);
	if (uinput->pointer_fd >= 0)
		close(uinput->pointer_fd);
	layout_free(uinput->layout);
	free(uinput);
	return NULL;
}

// --- open
// -------------------------------------------------------------------------------------------------------------

static int set_name(char *out, size_t size, const char *what, const char *value, struct error *error)
{
	size_t length = strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	if (length == 0 || value[length] || length >= size)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "uinput: \"%.60s\" is no %s of a keyboard",
				 value, what);
	memcpy(out, value, length + 1);
	return 0;
}

static int set_layout(void *context, const char *value, struct error *error)
{
	struct uinput_options *options = context;

	return set_name(options->layout, sizeof(options->layout), "layout", value, error);
}

static int set_variant(void *context, const char *value, struct error *error)
{
	struct uinput_options *options = context;

	return set_name(options->variant, sizeof(options->variant), "variant", value, error);
}

static int set_touch(void *context, const char *value, struct error *error)
{
	struct uinput_options *options = context;

	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "uinput: touch is 0 or 1, not \"%.60s\"",
				 value);
	options->touch = *value == '1';
	return 0;
}

static int parse(const char *rest, struct uinput_options *ret, struct error *error)
{
	static const struct uri_option table[] = {
		{"layout", set_layout}, {"variant", set_variant}, {"touch", set_touch}};
	struct uinput_options options = {0};

	if (*rest && *rest != '?')
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "uinput: takes options only, as uinput:?layout=de, not \"%.100s\"", rest);
	int r = uri_set_options("uinput", *rest ? rest + 1 : "", table, ARRAY_SIZE(table), &options, NULL, error);
	if (r == 0 && *options.variant && !*options.layout)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "uinput: a variant needs its layout");
	if (r == 0)
		*ret = options;
	return r;
}

static int uinput_check(const char *rest, struct error *error)
{
	struct uinput_options options;

	return parse(rest, &options, error);
}

static int load_layout(struct uinput *uinput, struct error *error)
{
	const struct uinput_options *options = &uinput->options;
	const struct xkb_rule_names names = {.layout = *options->layout ? options->layout : NULL,
					     .variant = *options->layout ? options->variant : NULL};
	struct xkb_context *context = xkb_context_new(XKB_CONTEXT_NO_FLAGS);

	if (!context)
		return error_set(error, CONDPROF__CODE__INPUT_FAILED, ENOENT,
				 "uinput: no keyboard layouts: is xkb-data installed?");
	xkb_context_set_log_level(context, XKB_LOG_LEVEL_CRITICAL);
	struct xkb_keymap *keymap = xkb_keymap_new_from_names(context, &names, XKB_KEYMAP_COMPILE_NO_FLAGS);
	xkb_context_unref(context);
	if (!keymap)
		return error_set(
			error, CONDPROF__CODE__INPUT_FAILED, ENOENT, "uinput: there is no keyboard layout \"%s\"%s%s%s",
			*options->layout ? options->layout : "us", *options->variant ? " with a variant \"" : "",
			options->variant, *options->variant ? "\"" : "");
	return layout_new(keymap, &uinput->layout);
}

static int make_failed(int r, struct error *error)
{
	const char *why = strerror(-r);

	if (r == -ENOENT || r == -ENODEV)
		why = "there is none: load the kernel's module uinput";
	if (r == -EACCES || r == -EPERM)
		why = "the daemon's user may not write to it";
	return error_set(error, CONDPROF__CODE__INPUT_FAILED, -r, "uinput: " DEVICE ": %s", why);
}

static int make_devices(struct uinput *uinput, const struct screen_wait *wait, struct error *error)
{
	uinput->keyboard_fd = kernel->make(UINPUT_KEYBOARD);
	if (uinput->keyboard_fd < 0)
		return make_failed(uinput->keyboard_fd, error);
	uinput->pointer_fd = kernel->make(uinput->options.touch ? UINPUT_TOUCH : UINPUT_POINTER);
	if (uinput->pointer_fd < 0)
		return make_failed(uinput->pointer_fd, error);
	struct screen_wait settle = {.wake_fd = wait->wake_fd,
				     .deadline_ns = MIN(wait_now_ns() + kernel->settle_ns, wait->deadline_ns)};
	if (wait_for_fd(-1, 0, &settle) == SCREEN_INTERRUPTED)
		return error_set(error, CONDPROF__CODE__INPUT_FAILED, EINTR, "uinput: interrupted");
	return 0;
}

static int uinput_open(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
		       struct input **ret, struct error *error)
{
	struct uinput *uinput = calloc(1, sizeof(*uinput));

	(void)config;
	if (!uinput)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	uinput->input.ops = &uinput_input_ops;
	uinput->keyboard_fd = uinput->pointer_fd = -1;
	uinput->wake_fd = wait->wake_fd;
	uinput->strokes = (struct strokes){.send = send_key, .modifier_key = modifier_key, .context = uinput};
	int r = parse(rest, &uinput->options, error);
	if (r == 0)
		r = load_layout(uinput, error);
	if (r == 0)
		r = make_devices(uinput, wait, error);
	if (r < 0) {
		uinput_close(&uinput->input);
		return r;
	}
	*ret = &uinput->input;
	return 0;
}

const struct input_ops uinput_input_ops = {
	.scheme = "uinput",
	.summary = "a keyboard and a pointer of the kernel's",
	.check = uinput_check,
	.open = uinput_open,
	.close = uinput_close,
	.fit = uinput_fit,
	.pointer_move = uinput_move,
	.pointer_press = uinput_press,
	.pointer_release = uinput_release,
	.key_press = uinput_key_press,
	.key_release = uinput_key_release,
	.type = uinput_type,
	.release_all = uinput_release_all,
};
