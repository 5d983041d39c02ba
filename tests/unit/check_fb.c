// SPDX-License-Identifier: GPL-3.0-or-later
// The framebuffer screen, on a file that stands for the device's memory: depths, panning, changes of mode, and devices
// that say what cannot be.
#include "config.h"

#include "daemon/screen/fb.h"
#include "daemon/screen/screen.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static const struct screen_wait no_wait = {.wake_fd = -1};

// The device: what it says of itself, and its memory.
static struct {
	struct fb_fix_screeninfo fixed;
	struct fb_var_screeninfo variable;
	int memory_fd, describe_error;
	bool maps;
} device;

static int fake_open(const char *path)
{
	if (strcmp(path, "/dev/fb0") != 0)
		return -ENOENT;
	if (device.maps)
		return fcntl(device.memory_fd, F_DUPFD_CLOEXEC, 3);
	// A device that can be read and not mapped.
	int fd = memfd_create("unmapped", MFD_CLOEXEC);
	uint8_t bytes[4096];
	ssize_t n;

	for (off_t done = 0; (n = pread(device.memory_fd, bytes, sizeof(bytes), done)) > 0; done += n)
		ck_assert_int_eq(pwrite(fd, bytes, (size_t)n, done), n);
	return fd;
}

static int fake_describe(int fd, struct fb_fix_screeninfo *ret_fixed, struct fb_var_screeninfo *ret_variable)
{
	(void)fd;
	if (device.describe_error)
		return -device.describe_error;
	*ret_fixed = device.fixed;
	*ret_variable = device.variable;
	return 0;
}

static const struct fb_kernel fake = {.open = fake_open, .describe = fake_describe};

static void set_fields(unsigned bits, unsigned red, unsigned green, unsigned blue)
{
	device.variable.bits_per_pixel = bits;
	device.variable.blue = (struct fb_bitfield){.offset = 0, .length = blue};
	device.variable.green = (struct fb_bitfield){.offset = blue, .length = green};
	device.variable.red = (struct fb_bitfield){.offset = blue + green, .length = red};
}

// Memory of two screens, one above the other; rows are padded.
static void set_mode(unsigned width, unsigned height, unsigned bits)
{
	device.variable = (struct fb_var_screeninfo){
		.xres = width, .yres = height, .xres_virtual = width, .yres_virtual = 2 * height};
	if (bits == 16)
		set_fields(16, 5, 6, 5);
	else
		set_fields(bits, 8, 8, 8);
	device.fixed = (struct fb_fix_screeninfo){.type = FB_TYPE_PACKED_PIXELS,
						  .visual = FB_VISUAL_TRUECOLOR,
						  .line_length = width * bits / 8 + 12,
						  .smem_len = (width * bits / 8 + 12) * 2 * height};
	ck_assert_int_eq(ftruncate(device.memory_fd, 0), 0);
	ck_assert_int_eq(ftruncate(device.memory_fd, device.fixed.smem_len), 0);
}

static void put_pixel(unsigned x, unsigned y, uint32_t value)
{
	uint8_t bytes[4] = {value & 0xff, value >> 8 & 0xff, value >> 16 & 0xff, value >> 24};
	size_t size = device.variable.bits_per_pixel / 8;

	ck_assert_int_eq(pwrite(device.memory_fd, bytes, size, (off_t)y * device.fixed.line_length + (off_t)(x * size)),
			 (ssize_t)size);
}

static uint32_t pixel_at(const struct frame *frame, int x, int y)
{
	const uint8_t *pixel = frame->view.pixels + y * frame->view.stride + x * (ptrdiff_t)4;

	return (uint32_t)pixel[2] << 16 | (uint32_t)pixel[1] << 8 | pixel[0];
}

static void setup(void)
{
	memset(&device, 0, sizeof(device));
	device.memory_fd = memfd_create("fb", MFD_CLOEXEC);
	device.maps = true;
	fb_use_kernel(&fake);
}

static void teardown(void)
{
	close(device.memory_fd);
	fb_use_kernel(NULL);
}

static struct screen *open_fb(void)
{
	struct screen *screen = NULL;
	struct error error = {0};
	int r = screen_open("fb:", NULL, &no_wait, &screen, &error);

	ck_assert_msg(r == 0, "%s", error.message);
	ck_assert(screen->live && !screen->by_pass);
	return screen;
}

static void get(struct screen *screen, struct frame *frame)
{
	ck_assert_int_eq(screen->ops->wait(screen, &no_wait), SCREEN_OK);
	enum screen_status status = screen->ops->get(screen, &no_wait, frame);

	ck_assert_msg(status == SCREEN_OK, "%s", screen->failure.message);
}

static void check_depth(unsigned bits, uint32_t value, uint32_t wanted)
{
	struct frame frame;

	set_mode(40, 30, bits);
	put_pixel(0, 0, value);
	put_pixel(39, 29, value);
	put_pixel(17, 3, value);
	struct screen *screen = open_fb();
	ck_assert_int_eq(screen->width, 40);
	ck_assert_int_eq(screen->height, 30);
	get(screen, &frame);
	for (int y = 0; y < 30; y++) {
		for (int x = 0; x < 40; x++) {
			bool put = (x == 0 && y == 0) || (x == 39 && y == 29) || (x == 17 && y == 3);

			if (pixel_at(&frame, x, y) != (put ? wanted : 0))
				ck_abort_msg("%u bits, at %d, %d: %06x", bits, x, y, pixel_at(&frame, x, y));
		}
	}
	screen_close(screen);
}

START_TEST(test_depths)
{
	check_depth(32, 0x00123456, 0x123456);
	check_depth(24, 0x123456, 0x123456);
	check_depth(16, 0xf81f, 0xff00ff);
	check_depth(16, 0x0400, 0x008200);
}
END_TEST

START_TEST(test_not_mapped)
{
	device.maps = false;
	set_mode(40, 30, 32);
	device.fixed.smem_len = 0;
	put_pixel(39, 29, 0xabcdef);
	put_pixel(2, 31, 0x111111);
	struct screen *screen = open_fb();
	struct frame frame;
	get(screen, &frame);
	ck_assert_uint_eq(pixel_at(&frame, 39, 29), 0xabcdef);
	device.variable.yoffset = 30;
	get(screen, &frame);
	ck_assert_uint_eq(pixel_at(&frame, 2, 1), 0x111111);
	screen_close(screen);
}
END_TEST

START_TEST(test_other_order)
{
	struct frame frame;

	set_mode(8, 8, 32);
	device.variable.red.offset = 0;
	device.variable.blue.offset = 16;
	put_pixel(3, 4, 0x00332211);
	struct screen *screen = open_fb();
	get(screen, &frame);
	ck_assert_uint_eq(pixel_at(&frame, 3, 4), 0x112233);
	screen_close(screen);
}
END_TEST

// A program that flips between two halves of the memory, and one that scrolls sideways.
START_TEST(test_panning)
{
	struct frame first, second;

	set_mode(40, 30, 32);
	put_pixel(5, 5, 0x111111);
	put_pixel(5, 35, 0x222222);
	struct screen *screen = open_fb();
	get(screen, &first);
	ck_assert_uint_eq(pixel_at(&first, 5, 5), 0x111111);
	device.variable.yoffset = 30;
	get(screen, &second);
	ck_assert_uint_eq(pixel_at(&second, 5, 5), 0x222222);
	ck_assert_uint_ne(second.serial, first.serial);
	device.variable.yoffset = 29;
	device.variable.xoffset = 2;
	get(screen, &second);
	ck_assert_uint_eq(pixel_at(&second, 3, 6), 0x222222);
	screen_close(screen);
}
END_TEST

START_TEST(test_picture_is_a_copy)
{
	struct frame frame;

	set_mode(16, 16, 32);
	struct screen *screen = open_fb();
	get(screen, &frame);
	put_pixel(1, 1, 0xffffff);
	ck_assert_uint_eq(pixel_at(&frame, 1, 1), 0);
	ck_assert_int_eq(screen->ops->refresh(screen, &no_wait, &frame), SCREEN_OK);
	ck_assert_uint_eq(pixel_at(&frame, 1, 1), 0xffffff);
	screen_close(screen);
}
END_TEST

START_TEST(test_change_of_mode)
{
	struct frame frame;

	set_mode(40, 30, 32);
	struct screen *screen = open_fb();
	get(screen, &frame);
	set_mode(64, 20, 16);
	put_pixel(63, 19, 0xffff);
	get(screen, &frame);
	ck_assert(frame.view.width == 64 && frame.view.height == 20 && screen->width == 64 && screen->height == 20);
	ck_assert_uint_eq(pixel_at(&frame, 63, 19), 0xffffff);
	screen_close(screen);
}
END_TEST

static void expect_failure(const char *part)
{
	struct screen *screen = NULL;
	struct error error = {0};

	ck_assert_int_lt(screen_open("fb:", NULL, &no_wait, &screen, &error), 0);
	ck_assert_int_eq(error.code, CONDPROF__CODE__SCREEN_FAILED);
	ck_assert_msg(strstr(error.message, part) && strstr(error.message, "fb:/dev/fb0"), "%s", error.message);
}

START_TEST(test_impossible_modes)
{
	set_mode(40, 30, 32);
	device.fixed.visual = FB_VISUAL_PSEUDOCOLOR;
	expect_failure("16, 24 or 32 bits");
	set_mode(40, 30, 32);
	device.fixed.type = FB_TYPE_PLANES;
	expect_failure("16, 24 or 32 bits");
	set_mode(40, 30, 32);
	set_fields(8, 3, 3, 2);
	expect_failure("16, 24 or 32 bits");
	set_mode(40, 30, 32);
	device.variable.red.length = 0;
	expect_failure("16, 24 or 32 bits");
	set_mode(40, 30, 32);
	device.variable.red.offset = UINT32_MAX;
	expect_failure("16, 24 or 32 bits");
	set_mode(40, 30, 32);
	device.variable.xres = 0;
	expect_failure("no size");
	device.variable.xres = UINT32_MAX;
	expect_failure("larger than");
	set_mode(40, 30, 32);
	device.fixed.line_length = 8;
	expect_failure("shorter than its width");
	set_mode(40, 30, 32);
	device.variable.xoffset = UINT32_MAX;
	expect_failure("shorter than its width");
	device.describe_error = ENODEV;
	expect_failure(strerror(ENODEV));
}
END_TEST

START_TEST(test_failures_in_mid_session)
{
	struct frame frame;

	set_mode(40, 30, 32);
	struct screen *screen = open_fb();
	get(screen, &frame);
	device.variable.yoffset = 31;
	ck_assert_int_eq(screen->ops->get(screen, &no_wait, &frame), SCREEN_FAILED);
	ck_assert_msg(strstr(screen->failure.message, "not in its memory"), "%s", screen->failure.message);
	device.variable.yoffset = UINT32_MAX;
	ck_assert_int_eq(screen->ops->get(screen, &no_wait, &frame), SCREEN_FAILED);
	device.variable.yoffset = 0;
	get(screen, &frame);
	device.describe_error = ENODEV;
	ck_assert_int_eq(screen->ops->get(screen, &no_wait, &frame), SCREEN_FAILED);
	ck_assert_int_eq(screen->failure.code, CONDPROF__CODE__SCREEN_FAILED);
	screen_close(screen);
}
END_TEST

// The real kernel: nothing but a framebuffer is opened.
START_TEST(test_other_files)
{
	static const char *const uris[] = {"fb:/dev/null", "fb:/etc/passwd", "fb:/tmp", "fb:/dev/nothing-of-that-name"};
	struct screen *screen = NULL;

	fb_use_kernel(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(uris); i++) {
		struct error error = {0};
		int r = screen_open(uris[i], NULL, &no_wait, &screen, &error);

		ck_assert_int_eq(r, i < 3 ? -ENODEV : -ENOENT);
		ck_assert_msg(strstr(error.message, i < 3 ? "is no framebuffer device" : "there is none: ls /dev/fb*"), "%s",
			      error.message);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fb");
	TCase *tcase = tcase_create("fb");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_depths);
	tcase_add_test(tcase, test_not_mapped);
	tcase_add_test(tcase, test_other_order);
	tcase_add_test(tcase, test_panning);
	tcase_add_test(tcase, test_picture_is_a_copy);
	tcase_add_test(tcase, test_change_of_mode);
	tcase_add_test(tcase, test_impossible_modes);
	tcase_add_test(tcase, test_failures_in_mid_session);
	tcase_add_test(tcase, test_other_files);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
