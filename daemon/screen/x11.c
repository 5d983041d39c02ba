// SPDX-License-Identifier: GPL-3.0-or-later
// The root window of an X server as a screen. A picture is asked for when a pass wants one, into shared memory where
// the server can (a descriptor of ours is passed, which works across namespaces), else over the connection.
//
// Nothing here waits for the server without a deadline and a wake fd. Shared memory: the reply is 32 bytes, and it is
// polled for. Without: the library reads a long reply in one blocking go, so a courier thread waits for it; while the
// courier has work, the connection is the courier's alone. A picture that came too late is the next pass's.
// A change of resolution arrives as the root window's ConfigureNotify, before any reply of the new size.
#include "config.h"

#include "daemon/log/log.h"
#include "daemon/screen/kinds.h"
#include "daemon/screen/pixels.h"
#include "daemon/screen/wait.h"
#include "daemon/screen/x11_connect.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <xcb/shm.h>
#include <xcb/xcbext.h>

#define RETRIES_MAX 4 // of one get, when the resolution changes under it
#define LATE_NS NSEC_PER_SEC

struct courier {
	pthread_t thread;
	bool runs;
	atomic_bool quit;
	int order_fd, done_fd; // eventfds: whose turn it is
	// Of whoever's turn it is:
	xcb_get_image_reply_t *reply;
	xcb_generic_error_t *error;
};

struct x11_screen {
	struct screen screen;
	struct x11_link link;
	struct pixels format;
	int width, height; // px, the root window's, as far as events were read
	bool shared;       // by shared memory
	xcb_shm_seg_t segment;
	uint8_t *memory; // of the segment, NULL: none
	size_t memory_size;
	struct courier courier;
	// A picture that was asked for and has not come yet, and its size.
	bool pending, arrived;
	unsigned sequence;
	int64_t asked_ns;
	int pending_width, pending_height;
	xcb_get_image_reply_t *reply; // of the frame given out last, without shared memory
	struct picture *converted;    // where the format is not ours
	uint64_t serial;
};

static enum screen_status fail(struct x11_screen *x11, const char *what)
{
	error_set(&x11->screen.failure, CONDPROF__CODE__SCREEN_FAILED, EIO, "%s: %s", x11->link.name, what);
	return SCREEN_FAILED;
}

static size_t picture_bytes(const struct x11_screen *x11, int width, int height)
{
	return (size_t)pixels_stride(&x11->format, width) * (size_t)height;
}

// --- shared memory --------------------------------------------------------------------------------------------------

static void drop_memory(struct x11_screen *x11)
{
	if (!x11->memory)
		return;
	munmap(x11->memory, x11->memory_size);
	xcb_shm_detach(x11->link.xcb, x11->segment);
	x11->memory = NULL;
	x11->memory_size = 0;
}

// Sealed, so that the server cannot cut what we read.
static int make_memory(size_t size)
{
	CLEANUP_CLOSE int fd = memfd_create("condprof-x11", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return -errno;
	return take_fd(&fd);
}

// Passes a segment of that size to the server. The server's opinion comes with the first picture.
static int attach_memory(struct x11_screen *x11, size_t size)
{
	CLEANUP_CLOSE int fd = make_memory(size);

	if (fd < 0)
		return fd;
	void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	drop_memory(x11);
	x11->memory = memory;
	x11->memory_size = size;
	x11->segment = xcb_generate_id(x11->link.xcb);
	xcb_shm_attach_fd(x11->link.xcb, x11->segment, take_fd(&fd), 0);
	return 0;
}

// --- without --------------------------------------------------------------------------------------------------------

static void poke(int fd)
{
	if (write(fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
		abort(); // an eventfd of ours that is read each time
}

static bool take(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) == sizeof(count);
}

static void *courier_thread(void *argument)
{
	struct x11_screen *x11 = argument;
	struct courier *courier = &x11->courier;

	while (take(courier->order_fd) && !courier->quit) {
		xcb_get_image_cookie_t cookie =
			xcb_get_image(x11->link.xcb, XCB_IMAGE_FORMAT_Z_PIXMAP, x11->link.screen->root, 0, 0,
				      (uint16_t)x11->pending_width, (uint16_t)x11->pending_height, UINT32_MAX);

		courier->reply = xcb_get_image_reply(x11->link.xcb, cookie, &courier->error);
		poke(courier->done_fd);
	}
	return NULL;
}

static int start_courier(struct x11_screen *x11)
{
	struct courier *courier = &x11->courier;

	if (courier->runs)
		return 0;
	courier->order_fd = eventfd(0, EFD_CLOEXEC);
	courier->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = courier->order_fd < 0 || courier->done_fd < 0 ? -errno : 0;
	if (r == 0)
		r = wait_start_thread(&courier->thread, "x11-courier", courier_thread, x11);
	courier->runs = r == 0;
	return r;
}

// Whatever it waits for ends with the connection.
static void stop_courier(struct x11_screen *x11)
{
	struct courier *courier = &x11->courier;

	if (courier->runs) {
		courier->quit = true;
		shutdown(xcb_get_file_descriptor(x11->link.xcb), SHUT_RDWR);
		poke(courier->order_fd);
		pthread_join(courier->thread, NULL);
	}
	free(courier->reply);
	free(courier->error);
	if (courier->order_fd >= 0)
		close(courier->order_fd);
	if (courier->done_fd >= 0)
		close(courier->done_fd);
}

// --- capture --------------------------------------------------------------------------------------------------------

// Takes the root window's new size from the events that came. Reads what the socket has, without waiting.
static void read_events(struct x11_screen *x11)
{
	xcb_generic_event_t *event;

	while ((event = xcb_poll_for_event(x11->link.xcb))) {
		if ((event->response_type & 0x7f) == XCB_CONFIGURE_NOTIFY) {
			const xcb_configure_notify_event_t *configure = (const xcb_configure_notify_event_t *)event;

			if (configure->window == x11->link.screen->root) {
				x11->width = configure->width;
				x11->height = configure->height;
			}
		}
		free(event);
	}
}

static enum screen_status check_size(struct x11_screen *x11)
{
	if (x11->width < 1 || x11->height < 1)
		return fail(x11, "the screen has no size");
	if (x11->width > PICTURE_MAX_SIDE || x11->height > PICTURE_MAX_SIDE ||
	    (int64_t)x11->width * x11->height > PICTURE_MAX_PIXELS)
		return fail(x11, "the screen is larger than pictures may be");
	return SCREEN_OK;
}

static enum screen_status ask_shared(struct x11_screen *x11)
{
	size_t size = picture_bytes(x11, x11->width, x11->height);
	xcb_shm_get_image_cookie_t cookie;

	if (size > x11->memory_size && attach_memory(x11, size) < 0)
		return fail(x11, "no memory for a picture of the screen");
	cookie = xcb_shm_get_image(x11->link.xcb, x11->link.screen->root, 0, 0, (uint16_t)x11->width,
				   (uint16_t)x11->height, UINT32_MAX, XCB_IMAGE_FORMAT_Z_PIXMAP, x11->segment, 0);
	x11->sequence = cookie.sequence;
	xcb_flush(x11->link.xcb);
	return SCREEN_OK;
}

static enum screen_status ask(struct x11_screen *x11)
{
	enum screen_status status = SCREEN_OK;

	read_events(x11);
	if (xcb_connection_has_error(x11->link.xcb))
		return fail(x11, x11_broken_text(x11->link.xcb));
	status = check_size(x11);
	if (status != SCREEN_OK)
		return status;
	x11->pending_width = x11->width;
	x11->pending_height = x11->height;
	if (x11->shared) {
		status = ask_shared(x11);
	} else if (start_courier(x11) < 0) {
		status = fail(x11, "no thread could be started");
	} else {
		poke(x11->courier.order_fd);
	}
	x11->pending = status == SCREEN_OK;
	x11->asked_ns = wait_now_ns();
	return status;
}

// The picture that was asked for could not be had: because the screen has another size by now, or because shared memory
// doesn't work with this server, or for good. OK: ask again.
static enum screen_status after_error(struct x11_screen *x11, unsigned code)
{
	char text[96];

	if (xcb_connection_has_error(x11->link.xcb))
		return fail(x11, x11_broken_text(x11->link.xcb));
	if (x11->width != x11->pending_width || x11->height != x11->pending_height)
		return SCREEN_OK;
	if (x11->shared) {
		log_notice("%s: no shared memory with this X server (error %u), pictures are slower", x11->link.name,
			   code);
		x11->shared = false;
		drop_memory(x11);
		return SCREEN_OK;
	}
	snprintf(text, sizeof(text), "the X server gives no picture of its screen (error %u)", code);
	return fail(x11, text);
}

static enum screen_status await_shared(struct x11_screen *x11, const struct screen_wait *wait)
{
	for (;;) {
		xcb_generic_error_t *error = NULL;
		void *reply = NULL;

		read_events(x11);
		if (xcb_poll_for_reply(x11->link.xcb, x11->sequence, &reply, &error)) {
			unsigned code = error ? error->error_code : 0;

			x11->pending = false;
			x11->arrived = reply != NULL;
			free(reply);
			free(error);
			return x11->arrived ? SCREEN_OK : after_error(x11, code);
		}
		enum screen_status status = wait_for_fd(xcb_get_file_descriptor(x11->link.xcb), POLLIN, wait);
		if (status != SCREEN_OK)
			return status;
	}
}

static enum screen_status await_courier(struct x11_screen *x11, const struct screen_wait *wait)
{
	struct courier *courier = &x11->courier;
	enum screen_status status = wait_for_fd(courier->done_fd, POLLIN, wait);

	if (status != SCREEN_OK)
		return status;
	if (!take(courier->done_fd))
		return SCREEN_STALLED;
	unsigned code = courier->error ? courier->error->error_code : 0;
	free(courier->error);
	courier->error = NULL;
	x11->pending = false;
	read_events(x11);
	if (!courier->reply)
		return after_error(x11, code);
	free(x11->reply);
	x11->reply = TAKE_POINTER(courier->reply);
	if ((size_t)xcb_get_image_data_length(x11->reply) < picture_bytes(x11, x11->pending_width, x11->pending_height))
		return fail(x11, "the X server gave a picture that is too short");
	x11->arrived = true;
	return SCREEN_OK;
}

static enum screen_status await(struct x11_screen *x11, const struct screen_wait *wait)
{
	return x11->shared ? await_shared(x11, wait) : await_courier(x11, wait);
}

// Asks for a picture unless one is on its way, and waits for it.
static enum screen_status capture(struct x11_screen *x11, const struct screen_wait *wait)
{
	enum screen_status status = SCREEN_OK;

	for (int i = 0; i < RETRIES_MAX && status == SCREEN_OK && !x11->arrived; i++) {
		if (!x11->pending)
			status = ask(x11);
		if (status == SCREEN_OK)
			status = await(x11, wait);
	}
	return status == SCREEN_OK && !x11->arrived ? SCREEN_STALLED : status;
}

// --- the screen's calls ---------------------------------------------------------------------------------------------

// A picture that came late, while nobody waited, may be of long ago when passes did not look in between.
static enum screen_status drop_outdated(struct x11_screen *x11)
{
	x11->arrived = false;
	if (!x11->pending || wait_now_ns() - x11->asked_ns < LATE_NS)
		return SCREEN_OK;
	enum screen_status status = await(x11, &(struct screen_wait){.wake_fd = -1});
	x11->arrived = false;
	return status == SCREEN_STALLED ? SCREEN_OK : status;
}

static enum screen_status x11_wait(struct screen *screen, const struct screen_wait *wait)
{
	struct x11_screen *x11 = (struct x11_screen *)screen;
	enum screen_status status = drop_outdated(x11);

	if (status == SCREEN_OK && x11->pending)
		return capture(x11, wait);
	if (status == SCREEN_OK && xcb_connection_has_error(x11->link.xcb))
		return fail(x11, x11_broken_text(x11->link.xcb));
	return status;
}

static enum screen_status convert(struct x11_screen *x11, const uint8_t *pixels)
{
	struct picture *picture = x11->converted;

	if (!picture || picture->width != x11->screen.width || picture->height != x11->screen.height) {
		x11->converted = picture_free(picture);
		if (picture_new(x11->screen.width, x11->screen.height, &x11->converted) < 0)
			return fail(x11, "no memory for a picture of the screen");
	}
	pixels_convert(&x11->format, pixels, pixels_stride(&x11->format, x11->screen.width), x11->converted);
	return SCREEN_OK;
}

static enum screen_status x11_get(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct x11_screen *x11 = (struct x11_screen *)screen;
	enum screen_status status = capture(x11, wait);

	if (status != SCREEN_OK)
		return status;
	x11->arrived = false;
	screen->width = x11->pending_width;
	screen->height = x11->pending_height;
	const uint8_t *pixels = x11->shared ? x11->memory : xcb_get_image_data(x11->reply);
	struct picture_view view = {pixels, screen->width, screen->height, pixels_stride(&x11->format, screen->width)};
	if (!x11->format.direct) {
		status = convert(x11, pixels);
		if (status != SCREEN_OK)
			return status;
		view = picture_view(x11->converted);
	}
	ret->view = view;
	ret->serial = ++x11->serial;
	return SCREEN_OK;
}

static struct x11_screen *x11_free(struct x11_screen *x11)
{
	stop_courier(x11);
	if (x11->memory)
		munmap(x11->memory, x11->memory_size);
	free(x11->reply);
	picture_free(x11->converted);
	free(x11);
	return NULL;
}

static void x11_discard(void *result)
{
	struct x11_screen *x11 = result;
	xcb_connection_t *xcb = x11->link.xcb;

	x11_free(x11);
	xcb_disconnect(xcb);
}

static struct screen *x11_close(struct screen *screen)
{
	x11_discard(screen);
	return NULL;
}

// --- open: blocking calls, on the thread for that -------------------------------------------------------------------

static const xcb_format_t *find_format(const struct x11_link *link)
{
	xcb_format_iterator_t all = xcb_setup_pixmap_formats_iterator(xcb_get_setup(link->xcb));

	for (; all.rem > 0; xcb_format_next(&all)) {
		if (all.data->depth == link->screen->root_depth)
			return all.data;
	}
	return NULL;
}

static const xcb_visualtype_t *find_visual(const struct x11_link *link)
{
	xcb_depth_iterator_t depths = xcb_screen_allowed_depths_iterator(link->screen);

	for (; depths.rem > 0; xcb_depth_next(&depths)) {
		xcb_visualtype_iterator_t visuals = xcb_depth_visuals_iterator(depths.data);

		for (; visuals.rem > 0; xcb_visualtype_next(&visuals)) {
			if (visuals.data->visual_id == link->screen->root_visual)
				return visuals.data;
		}
	}
	return NULL;
}

static int init_format(struct x11_screen *x11, struct error *error)
{
	const xcb_format_t *format = find_format(&x11->link);
	const xcb_visualtype_t *visual = find_visual(&x11->link);
	bool big_endian = xcb_get_setup(x11->link.xcb)->image_byte_order == XCB_IMAGE_ORDER_MSB_FIRST;
	int r = -ENOTSUP;

	if (format && visual &&
	    (visual->_class == XCB_VISUAL_CLASS_TRUE_COLOR || visual->_class == XCB_VISUAL_CLASS_DIRECT_COLOR))
		r = pixels_init(&x11->format, format->bits_per_pixel, format->scanline_pad, big_endian,
				visual->red_mask, visual->green_mask, visual->blue_mask);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__SCREEN_FAILED, ENOTSUP,
				 "%s: pictures of depth %d with this visual are not supported: run the X server at "
				 "depth 16, 24 or 30",
				 x11->link.name, x11->link.screen->root_depth);
	return 0;
}

static int follow_size(struct x11_screen *x11, struct error *error)
{
	const uint32_t mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY;
	xcb_connection_t *xcb = x11->link.xcb;

	xcb_change_window_attributes(xcb, x11->link.screen->root, XCB_CW_EVENT_MASK, &mask);
	xcb_get_geometry_reply_t *geometry =
		xcb_get_geometry_reply(xcb, xcb_get_geometry(xcb, x11->link.screen->root), NULL);
	if (!geometry)
		return error_set(error, CONDPROF__CODE__SCREEN_FAILED, EIO, "%s: %s", x11->link.name,
				 x11_broken_text(xcb));
	x11->width = geometry->width;
	x11->height = geometry->height;
	free(geometry);
	return 0;
}

// Whether descriptors can be passed: by a Unix socket, to a server with version 1.2 of the extension.
static bool has_shared_memory(const struct x11_link *link)
{
	const xcb_query_extension_reply_t *extension = xcb_get_extension_data(link->xcb, &xcb_shm_id);

	if (!link->local || !extension || !extension->present)
		return false;
	xcb_shm_query_version_reply_t *version =
		xcb_shm_query_version_reply(link->xcb, xcb_shm_query_version(link->xcb), NULL);
	bool can =
		version && (version->major_version > 1 || (version->major_version == 1 && version->minor_version >= 2));
	free(version);
	return can;
}

static int build(const struct x11_link *link, void **ret, struct error *error)
{
	struct x11_screen *x11 = calloc(1, sizeof(*x11));

	if (!x11)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	x11->link = *link;
	x11->courier.order_fd = x11->courier.done_fd = -1;
	int r = init_format(x11, error);
	if (r == 0)
		r = follow_size(x11, error);
	if (r < 0) {
		x11_free(x11);
		return r;
	}
	x11->shared = has_shared_memory(link);
	x11->screen = (struct screen){.ops = &x11_screen_ops, .live = true, .width = x11->width, .height = x11->height};
	*ret = x11;
	return 0;
}

static int open_x11(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
		    struct screen **ret, struct error *error)
{
	static const struct x11_user user = {
		.code = CONDPROF__CODE__SCREEN_FAILED, .build = build, .discard = x11_discard};
	void *x11 = NULL;
	int r = x11_open(&user, rest, config, wait, &x11, error);

	if (r < 0)
		return r;
	*ret = x11;
	return 0;
}

const struct screen_ops x11_screen_ops = {
	.scheme = "x11",
	.summary = "the root window of an X display",
	.check = x11_check,
	.open = open_x11,
	.close = x11_close,
	.wait = x11_wait,
	.get = x11_get,
	.refresh = x11_get,
};
