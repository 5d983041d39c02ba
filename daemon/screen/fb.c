// SPDX-License-Identifier: GPL-3.0-or-later
// A framebuffer device as a screen: what is shown now, copied row by row out of its memory. Mode and panning are asked
// for before each picture, so changes of resolution and depth, and programs that flip between two halves, are followed.
// Only framebuffer devices are opened, whatever a scenario names.
#include "config.h"

#include "daemon/screen/fb.h"

#include "daemon/screen/kinds.h"
#include "daemon/screen/pixels.h"
#include "proto/io.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define FB_MAJOR 29 // of the kernel's list of devices
#define DEFAULT_DEVICE "/dev/fb0"

struct fb_screen {
	struct screen screen;
	char path[128];
	int fd;
	struct fb_fix_screeninfo fixed;
	struct fb_var_screeninfo variable;
	const uint8_t *memory; // NULL: the driver maps none, it is read
	size_t memory_size;
	uint8_t *rows; // then: what was read
	size_t rows_size;
	struct pixels *pixels;
	struct picture *picture;
	uint64_t serial;
};

// --- the kernel
// -------------------------------------------------------------------------------------------------------

static int open_device(const char *path)
{
	// Looked at before it is opened, which does something already with a tape, or a hardware watchdog.
	CLEANUP_CLOSE int found = open(path, O_PATH | O_CLOEXEC);
	struct stat status;
	char link[64];

	if (found < 0 || fstat(found, &status) < 0)
		return -errno;
	if (!S_ISCHR(status.st_mode) || major(status.st_rdev) != FB_MAJOR)
		return -ENODEV;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	CLEANUP_CLOSE int fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : take_fd(&fd);
}

static int describe_device(int fd, struct fb_fix_screeninfo *ret_fixed, struct fb_var_screeninfo *ret_variable)
{
	struct fb_fix_screeninfo fixed;
	struct fb_var_screeninfo variable;

	if (ioctl(fd, FBIOGET_VSCREENINFO, &variable) < 0 || ioctl(fd, FBIOGET_FSCREENINFO, &fixed) < 0)
		return -errno;
	*ret_fixed = fixed;
	*ret_variable = variable;
	return 0;
}

static const struct fb_kernel real_kernel = {.open = open_device, .describe = describe_device};
static const struct fb_kernel *kernel = &real_kernel;

void fb_use_kernel(const struct fb_kernel *replacement)
{
	kernel = replacement ? replacement : &real_kernel;
}

// --- mode
// -------------------------------------------------------------------------------------------------------------

static int fail(struct error *error, const struct fb_screen *fb, int errno_value, const char *what)
{
	return error_set(error, CONDPROF__CODE__SCREEN_FAILED, errno_value, "fb:%s: %s", fb->path, what);
}

static uint32_t mask_of(const struct fb_bitfield *field)
{
	if (field->length == 0 || field->length > 16 || field->offset > 31 || field->offset + field->length > 32 ||
	    field->msb_right)
		return 0;
	return ((1U << field->length) - 1) << field->offset;
}

static int check_mode(const struct fb_screen *fb, const struct fb_fix_screeninfo *fixed,
		      const struct fb_var_screeninfo *variable, struct error *error)
{
	uint64_t width = variable->xres, height = variable->yres;
	bool colour = fixed->visual == FB_VISUAL_TRUECOLOR || fixed->visual == FB_VISUAL_DIRECTCOLOR;

	if (fixed->type != FB_TYPE_PACKED_PIXELS || !colour || variable->nonstd || variable->grayscale)
		return fail(error, fb, ENOTSUP,
			    "its pixels are not packed colours: choose a mode of 16, 24 or 32 bits");
	if (width < 1 || height < 1)
		return fail(error, fb, EIO, "it has no size");
	if (width > PICTURE_MAX_SIDE || height > PICTURE_MAX_SIDE || width * height > PICTURE_MAX_PIXELS)
		return fail(error, fb, EMSGSIZE, "it is larger than pictures may be");
	if ((variable->xoffset + width) * variable->bits_per_pixel > (uint64_t)fixed->line_length * 8)
		return fail(error, fb, EIO, "its rows are shorter than its width");
	return 0;
}

static bool same_mode(const struct fb_screen *fb, const struct fb_fix_screeninfo *fixed,
		      const struct fb_var_screeninfo *variable)
{
	const struct fb_var_screeninfo *before = &fb->variable;

	return fb->picture && fb->fixed.line_length == fixed->line_length && fb->fixed.smem_len == fixed->smem_len &&
	       before->xres == variable->xres && before->yres == variable->yres &&
	       before->bits_per_pixel == variable->bits_per_pixel && before->red.offset == variable->red.offset &&
	       before->red.length == variable->red.length && before->green.offset == variable->green.offset &&
	       before->green.length == variable->green.length && before->blue.offset == variable->blue.offset &&
	       before->blue.length == variable->blue.length;
}

static void unmap(struct fb_screen *fb)
{
	if (fb->memory)
		munmap((void *)(uintptr_t)fb->memory, fb->memory_size);
	fb->memory = NULL;
	fb->memory_size = 0;
}

// Its memory, or where the driver maps none, room for what is read.
static int map(struct fb_screen *fb, const struct fb_fix_screeninfo *fixed, const struct fb_var_screeninfo *variable)
{
	unmap(fb);
	void *memory = fixed->smem_len ? mmap(NULL, fixed->smem_len, PROT_READ, MAP_SHARED, fb->fd, 0) : MAP_FAILED;
	if (memory != MAP_FAILED) {
		fb->memory = memory;
		fb->memory_size = fixed->smem_len;
		return 0;
	}
	size_t size = (size_t)fixed->line_length * variable->yres;
	uint8_t *rows = realloc(fb->rows, size);
	if (!rows)
		return -ENOMEM;
	fb->rows = rows;
	fb->rows_size = size;
	return 0;
}

static int set_mode(struct fb_screen *fb, const struct fb_fix_screeninfo *fixed,
		    const struct fb_var_screeninfo *variable, struct error *error)
{
	int r = check_mode(fb, fixed, variable, error);

	if (r < 0)
		return r;
	if (pixels_init(fb->pixels, (int)variable->bits_per_pixel, 8, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
			mask_of(&variable->red), mask_of(&variable->green), mask_of(&variable->blue)) < 0)
		return fail(error, fb, ENOTSUP,
			    "pixels of this form are not supported: choose a mode of 16, 24 or 32 bits");
	fb->picture = picture_free(fb->picture);
	if (map(fb, fixed, variable) < 0 || picture_new((int)variable->xres, (int)variable->yres, &fb->picture) < 0)
		return fail(error, fb, ENOMEM, "no memory for a picture of the screen");
	fb->fixed = *fixed;
	fb->screen.width = (int)variable->xres;
	fb->screen.height = (int)variable->yres;
	return 0;
}

// Looks what is shown now, and where in the memory.
static int look(struct fb_screen *fb, struct error *error)
{
	struct fb_fix_screeninfo fixed;
	struct fb_var_screeninfo variable;
	int r = kernel->describe(fb->fd, &fixed, &variable);

	if (r < 0)
		return fail(error, fb, -r, strerror(-r));
	r = same_mode(fb, &fixed, &variable) ? check_mode(fb, &fixed, &variable, error)
					     : set_mode(fb, &fixed, &variable, error);
	if (r < 0)
		return r;
	fb->variable = variable;
	return 0;
}

// --- pictures -------------------------------------------------------------------------------------------------------

static int read_rows(struct fb_screen *fb, uint64_t offset, size_t size)
{
	ssize_t n = io_read_at(fb->fd, fb->rows, size, offset);

	return n < 0 ? (int)n : (size_t)n < size ? -EIO : 0;
}

static enum screen_status fb_wait(struct screen *screen, const struct screen_wait *wait)
{
	(void)screen;
	(void)wait;
	return SCREEN_OK;
}

static int copy(struct fb_screen *fb, struct error *error)
{
	const struct fb_var_screeninfo *variable = &fb->variable;
	uint64_t line = fb->fixed.line_length, offset = variable->yoffset * line;
	size_t left = (size_t)variable->xoffset * variable->bits_per_pixel / 8;
	uint64_t size = line * (variable->yres - 1) + left + (uint64_t)variable->xres * variable->bits_per_pixel / 8;
	const uint8_t *rows = fb->memory ? fb->memory + offset : fb->rows;

	if (fb->memory && offset + size > fb->memory_size)
		return fail(error, fb, EIO, "it shows what is not in its memory");
	int r = fb->memory ? 0 : read_rows(fb, offset, (size_t)size);
	if (r < 0)
		return fail(error, fb, -r, strerror(-r));
	pixels_convert(fb->pixels, rows + left, (ptrdiff_t)line, fb->picture);
	return 0;
}

static enum screen_status fb_get(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct fb_screen *fb = (struct fb_screen *)screen;
	int r = look(fb, &screen->failure);

	(void)wait;
	if (r == 0)
		r = copy(fb, &screen->failure);
	if (r < 0)
		return SCREEN_FAILED;
	ret->view = picture_view(fb->picture);
	ret->serial = ++fb->serial;
	return SCREEN_OK;
}

static struct screen *fb_close(struct screen *screen)
{
	struct fb_screen *fb = (struct fb_screen *)screen;

	unmap(fb);
	if (fb->fd >= 0)
		close(fb->fd);
	free(fb->rows);
	free(fb->pixels);
	picture_free(fb->picture);
	free(fb);
	return NULL;
}

// --- open
// -------------------------------------------------------------------------------------------------------------

static int fb_check(const char *rest, struct error *error)
{
	if (*rest && *rest != '/')
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "\"%.100s\" is no framebuffer: write fb:/dev/fb0", rest);
	if (strlen(rest) >= sizeof(((struct fb_screen *)NULL)->path))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "fb: the device's name is too long");
	return 0;
}

static int open_failed(const struct fb_screen *fb, int r, struct error *error)
{
	if (r == -ENODEV)
		return fail(error, fb, ENODEV, "is no framebuffer device");
	if (r == -ENOENT)
		return fail(error, fb, ENOENT,
			    "there is none: ls /dev/fb* shows which there are; without any the kernel has no "
			    "framebuffer for "
			    "this display");
	if (r == -EACCES || r == -EPERM)
		return fail(error, fb, -r,
			    "the daemon's user may not read it: it should be in the device's group, video");
	return fail(error, fb, -r, strerror(-r));
}

static int fb_open(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
		   struct screen **ret, struct error *error)
{
	struct fb_screen *fb = calloc(1, sizeof(*fb));

	(void)config;
	(void)wait;
	if (!fb || !(fb->pixels = calloc(1, sizeof(*fb->pixels)))) {
		free(fb);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	fb->screen = (struct screen){.ops = &fb_screen_ops, .live = true};
	snprintf(fb->path, sizeof(fb->path), "%s", *rest ? rest : DEFAULT_DEVICE);
	fb->fd = kernel->open(fb->path);
	int r = fb->fd < 0 ? open_failed(fb, fb->fd, error) : look(fb, error);
	if (r < 0) {
		fb_close(&fb->screen);
		return r;
	}
	*ret = &fb->screen;
	return 0;
}

const struct screen_ops fb_screen_ops = {
	.scheme = "fb",
	.summary = "a framebuffer device",
	.check = fb_check,
	.open = fb_open,
	.close = fb_close,
	.wait = fb_wait,
	.get = fb_get,
	.refresh = fb_get,
};
