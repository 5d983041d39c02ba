// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/support/xvfb.h"

#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

bool xvfb_is_installed(void)
{
	return system("command -v Xvfb >/dev/null 2>&1") == 0;
}

// An entry for any host and display, so that it can be written before the display is known.
static void write_authority(char *path, size_t size)
{
	static const uint8_t head[] = {0xff, 0xff, 0, 0, 0, 0, 0, 18};
	uint8_t cookie[16] = "sixteen octets.";
	const char *tmp = getenv("TMPDIR");

	snprintf(path, size, "%s/condprof-xauth-XXXXXX", tmp && strlen(tmp) < 32 ? tmp : "/tmp");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, head, sizeof(head)), sizeof(head));
	ck_assert_int_eq(write(fd, "MIT-MAGIC-COOKIE-1\0\020", 20), 20);
	ck_assert_int_eq(write(fd, cookie, sizeof(cookie)), sizeof(cookie));
	close(fd);
}

static void run_server(int ready_fd, pid_t parent, const char *geometry, const char *option, const char *argument,
		       const char *authority)
{
	char number[16];
	const char *arguments[16] = {"Xvfb",   "-displayfd", number, "-screen", "0",
				     geometry, "-nolisten",  "tcp",  "-noreset"};
	size_t count = 9;

	snprintf(number, sizeof(number), "%d", ready_fd);
	fcntl(ready_fd, F_SETFD, 0);
	if (option)
		arguments[count++] = option;
	if (argument)
		arguments[count++] = argument;
	if (*authority) {
		arguments[count++] = "-auth";
		arguments[count++] = authority;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execvp("Xvfb", (char *const *)arguments);
	_exit(127);
}

static int read_display(int fd)
{
	char text[16] = "";
	size_t done = 0;

	while (done < sizeof(text) - 1 && !strchr(text, '\n')) {
		ssize_t n = read(fd, text + done, sizeof(text) - 1 - done);

		ck_assert_msg(n > 0, "Xvfb did not start");
		done += (size_t)n;
	}
	return atoi(text);
}

static void connect_client(struct xvfb *xvfb)
{
	char name[16];
	char cookie_name[] = "MIT-MAGIC-COOKIE-1", cookie[16] = "sixteen octets.";
	xcb_auth_info_t auth = {18, cookie_name, 16, cookie};

	snprintf(name, sizeof(name), ":%d", xvfb->display);
	xvfb->xcb =
		*xvfb->authority ? xcb_connect_to_display_with_auth_info(name, &auth, NULL) : xcb_connect(name, NULL);
	ck_assert_int_eq(xcb_connection_has_error(xvfb->xcb), 0);
	xvfb->screen = xcb_setup_roots_iterator(xcb_get_setup(xvfb->xcb)).data;
	ck_assert_int_eq(picture_new(xvfb->screen->width_in_pixels, xvfb->screen->height_in_pixels, &xvfb->model), 0);
}

struct xvfb *xvfb_start(const char *geometry, const char *option, const char *argument, bool with_authority)
{
	struct xvfb *xvfb = calloc(1, sizeof(*xvfb));
	int fds[2];

	ck_assert_ptr_nonnull(xvfb);
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	if (with_authority)
		write_authority(xvfb->authority, sizeof(xvfb->authority));
	pid_t parent = getpid();
	xvfb->pid = fork();
	ck_assert_int_ge(xvfb->pid, 0);
	if (xvfb->pid == 0)
		run_server(fds[1], parent, geometry, option, argument, xvfb->authority);
	close(fds[1]);
	xvfb->display = read_display(fds[0]);
	close(fds[0]);
	snprintf(xvfb->uri, sizeof(xvfb->uri), "x11::%d", xvfb->display);
	connect_client(xvfb);
	return xvfb;
}

// A killed server leaves its lock and its socket behind.
static void remove_traces(int display)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/.X%d-lock", display);
	unlink(path);
	snprintf(path, sizeof(path), "/tmp/.X11-unix/X%d", display);
	unlink(path);
}

struct xvfb *xvfb_stop(struct xvfb *xvfb)
{
	int status = 0;

	if (!xvfb)
		return NULL;
	if (xvfb->xcb)
		xcb_disconnect(xvfb->xcb);
	kill(xvfb->pid, SIGCONT);
	kill(xvfb->pid, SIGTERM);
	waitpid(xvfb->pid, &status, 0);
	if (WIFSIGNALED(status))
		remove_traces(xvfb->display);
	if (*xvfb->authority)
		unlink(xvfb->authority);
	picture_free(xvfb->model);
	free(xvfb);
	return NULL;
}

static uint32_t mask_pixel(uint32_t value, uint32_t mask)
{
	unsigned shift = (unsigned)__builtin_ctz(mask);
	uint32_t top = mask >> shift;

	return (value * top + 127) / 255 << shift;
}

static uint32_t pixel_of(const struct xvfb *xvfb, uint32_t rgb)
{
	const xcb_visualtype_t *visual = NULL;
	xcb_depth_iterator_t depths = xcb_screen_allowed_depths_iterator(xvfb->screen);

	for (; depths.rem > 0 && !visual; xcb_depth_next(&depths)) {
		xcb_visualtype_iterator_t visuals = xcb_depth_visuals_iterator(depths.data);

		for (; visuals.rem > 0 && !visual; xcb_visualtype_next(&visuals)) {
			if (visuals.data->visual_id == xvfb->screen->root_visual)
				visual = visuals.data;
		}
	}
	ck_assert_ptr_nonnull(visual);
	return mask_pixel(rgb >> 16 & 0xff, visual->red_mask) | mask_pixel(rgb >> 8 & 0xff, visual->green_mask) |
	       mask_pixel(rgb & 0xff, visual->blue_mask);
}

static void fill_model(struct picture *model, struct rect area, uint32_t rgb)
{
	for (int y = MAX(area.top, 0); y < MIN(area.bottom, model->height); y++) {
		for (int x = MAX(area.left, 0); x < MIN(area.right, model->width); x++) {
			uint8_t *pixel = model->pixels + y * model->stride + x * (ptrdiff_t)4;

			pixel[0] = rgb & 0xff;
			pixel[1] = rgb >> 8 & 0xff;
			pixel[2] = rgb >> 16 & 0xff;
		}
	}
}

static void fill(struct xvfb *xvfb, xcb_gcontext_t gc, struct rect area, uint32_t rgb)
{
	uint32_t pixel = pixel_of(xvfb, rgb);
	xcb_rectangle_t rectangle = {(int16_t)area.left, (int16_t)area.top, (uint16_t)(area.right - area.left),
				     (uint16_t)(area.bottom - area.top)};

	xcb_change_gc(xvfb->xcb, gc, XCB_GC_FOREGROUND, &pixel);
	xcb_poly_fill_rectangle(xvfb->xcb, xvfb->screen->root, gc, 1, &rectangle);
	fill_model(xvfb->model, area, rgb);
}

static xcb_gcontext_t begin(struct xvfb *xvfb)
{
	const uint32_t include_inferiors = XCB_SUBWINDOW_MODE_INCLUDE_INFERIORS;
	xcb_gcontext_t gc = xcb_generate_id(xvfb->xcb);

	xcb_create_gc(xvfb->xcb, gc, xvfb->screen->root, XCB_GC_SUBWINDOW_MODE, &include_inferiors);
	return gc;
}

static void finish(struct xvfb *xvfb, xcb_gcontext_t gc)
{
	xcb_free_gc(xvfb->xcb, gc);
	free(xcb_get_input_focus_reply(xvfb->xcb, xcb_get_input_focus(xvfb->xcb), NULL));
}

void xvfb_fill(struct xvfb *xvfb, struct rect area, uint32_t rgb)
{
	xcb_gcontext_t gc = begin(xvfb);

	fill(xvfb, gc, area, rgb);
	finish(xvfb, gc);
}

void xvfb_draw_pattern(struct xvfb *xvfb, unsigned seed)
{
	xcb_gcontext_t gc = begin(xvfb);
	int width = xvfb->model->width, height = xvfb->model->height;
	uint32_t state = seed * 2654435761U + 1;

	fill(xvfb, gc, (struct rect){0, 0, width, height}, state & 0xffffff);
	for (int i = 0; i < 400; i++) {
		uint32_t numbers[5];

		for (size_t n = 0; n < ARRAY_SIZE(numbers); n++) {
			state = state * 1664525U + 1013904223U;
			numbers[n] = state >> 8;
		}
		struct rect area = {(int)(numbers[0] % (uint32_t)width), (int)(numbers[1] % (uint32_t)height), 0, 0};
		area.right = area.left + 1 + (int)(numbers[2] % 60);
		area.bottom = area.top + 1 + (int)(numbers[3] % 40);
		fill(xvfb, gc, area, numbers[4] & 0xffffff);
	}
	finish(xvfb, gc);
}

void xvfb_resize(struct xvfb *xvfb, int width, int height)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "%s DISPLAY=:%d; export DISPLAY; name=test-%dx%d; "
		 "xrandr --newmode $name 30 %d %d %d %d %d %d %d %d 2>/dev/null; xrandr --addmode screen $name "
		 "2>/dev/null; "
		 "xrandr --output screen --mode $name >/dev/null",
		 "unset XAUTHORITY;", xvfb->display, width, height, width, width + 1, width + 2, width + 3, height,
		 height + 1, height + 2, height + 3);
	ck_assert_int_eq(system(command), 0);
	picture_free(xvfb->model);
	ck_assert_int_eq(picture_new(width, height, &xvfb->model), 0);
}
