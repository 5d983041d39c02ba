// SPDX-License-Identifier: GPL-3.0-or-later
// What of the screen x11: needs no X server: names, X authority files, pixel formats, and peers that are no X server.
#include "config.h"

#include "daemon/screen/pixels.h"
#include "daemon/screen/screen.h"
#include "daemon/screen/wait.h"
#include "daemon/screen/xauthority.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

static struct screen_wait patience(void)
{
	return (struct screen_wait){.wake_fd = -1, .deadline_ns = wait_now_ns() + 60 * NSEC_PER_SEC};
}

static struct screen_wait at_most(int64_t ms)
{
	return (struct screen_wait){.wake_fd = -1, .deadline_ns = wait_now_ns() + ms * NSEC_PER_MSEC};
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

static const char *const bad_displays[] = {"x11:0",      "x11::",      "x11::x",    "x11::0.", "x11::0.0.0",
					   "x11::0?a=b", "x11::99999", "x11:a/b:0", "x11::-1", "x11:: 0"};
static const char *const good_displays[] = {
	"x11:",       "x11::0",          "x11::12.1",      "x11:host:0", "x11:localhost:10.0",
	"x11:unix:0", "x11:host/unix:0", "x11:tcp/host:0", "x11:[::1]:0"};

START_TEST(test_display_names)
{
	struct error error;

	for (size_t i = 0; i < ARRAY_SIZE(bad_displays); i++) {
		ck_assert_msg(screen_check_uri(bad_displays[i], &error) == -EINVAL, "%s", bad_displays[i]);
		expect_text(error.message, "is no X display");
	}
	for (size_t i = 0; i < ARRAY_SIZE(good_displays); i++)
		ck_assert_msg(screen_check_uri(good_displays[i], &error) == 0, "%s", good_displays[i]);
}
END_TEST

START_TEST(test_nobody_there)
{
	struct screen_wait wait = patience();
	struct error error = expect_no_screen("x11::59000", NULL, &wait, -ENOENT);

	expect_text(error.message, "no X server runs there");
	unsetenv("DISPLAY");
	error = expect_no_screen("x11:", NULL, &wait, -EINVAL);
	expect_text(error.message, "no DISPLAY");
	setenv("DISPLAY", "nonsense", 1);
	error = expect_no_screen("x11:", NULL, &wait, -EINVAL);
	expect_text(error.message, "\"nonsense\"");
	error = expect_no_screen("x11:127.0.0.1:59000", NULL, &wait, -ECONNREFUSED);
	expect_text(error.message, strerror(ECONNREFUSED));
}
END_TEST

// A listener that never answers, on a display number of TCP.
static int listen_silently(int *ret_display)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_display = ntohs(address.sin_port) - 6000;
	return fd;
}

START_TEST(test_server_that_never_answers)
{
	int display, fd = listen_silently(&display), wake = eventfd(1, EFD_CLOEXEC);
	char uri[64];
	struct screen_wait wait = at_most(50);

	snprintf(uri, sizeof(uri), "x11:127.0.0.1:%d", display);
	struct error error = expect_no_screen(uri, NULL, &wait, -ETIMEDOUT);
	expect_text(error.message, "does not answer");
	wait = (struct screen_wait){.wake_fd = wake, .deadline_ns = INT64_MAX};
	expect_no_screen(uri, NULL, &wait, -EINTR);
	close(wake);
	close(fd);
}
END_TEST

// The answer comes in pieces and is nonsense, or the connection is closed at once.
START_TEST(test_server_of_another_kind)
{
	int display, fd = listen_silently(&display);
	char uri[64];
	struct screen_wait wait = patience();

	snprintf(uri, sizeof(uri), "x11:127.0.0.1:%d", display);
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 2; i++) {
			int client = accept(fd, NULL, NULL);
			char bytes[512];

			if (i == 0 && read(client, bytes, sizeof(bytes)) > 0)
				(void)!write(client, "\0\5\13\0\0\0\2\0go a\n", 13);
			close(client);
		}
		_exit(0);
	}
	struct error error = expect_no_screen(uri, NULL, &wait, -EACCES);
	expect_text(error.message, "the X server refuses: ");
	expect_no_screen(uri, NULL, &wait, -EPIPE);
	waitpid(child, NULL, 0);
	close(fd);
}
END_TEST

// What no server at hand has: 24 bits packed, and the other byte order.
START_TEST(test_format)
{
	static const uint8_t packed[] = {1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0};
	static const uint8_t swapped[] = {0, 0x11, 0x22, 0x33, 0, 0x44, 0x55, 0x66};
	static const uint8_t words[] = {0xf8, 0x00, 0x07, 0xe0, 0x00, 0x1f, 0, 0};
	static struct pixels format;
	struct picture *picture;

	ck_assert_int_eq(picture_new(2, 2, &picture), 0);
	ck_assert_int_eq(pixels_init(&format, 24, 32, false, 0xff0000, 0xff00, 0xff), 0);
	ck_assert_int_eq(pixels_stride(&format, 2), 8);
	pixels_convert(&format, packed, pixels_stride(&format, picture->width), picture);
	ck_assert(picture->pixels[0] == 1 && picture->pixels[2] == 3 && picture->pixels[4] == 4);
	ck_assert(picture->pixels[picture->stride] == 7 && picture->pixels[picture->stride + 6] == 12);
	picture_free(picture);
	ck_assert_int_eq(picture_new(2, 1, &picture), 0);
	ck_assert_int_eq(pixels_init(&format, 32, 32, true, 0xff0000, 0xff00, 0xff), 0);
	ck_assert(!format.direct);
	pixels_convert(&format, swapped, pixels_stride(&format, picture->width), picture);
	ck_assert(picture->pixels[0] == 0x33 && picture->pixels[1] == 0x22 && picture->pixels[2] == 0x11);
	ck_assert(picture->pixels[4] == 0x66 && picture->pixels[6] == 0x44);
	picture_free(picture);
	ck_assert_int_eq(picture_new(3, 1, &picture), 0);
	ck_assert_int_eq(pixels_init(&format, 16, 32, true, 0xf800, 0x7e0, 0x1f), 0);
	ck_assert_int_eq(pixels_stride(&format, 3), 8);
	pixels_convert(&format, words, pixels_stride(&format, picture->width), picture);
	ck_assert(picture->pixels[2] == 255 && picture->pixels[1] == 0 && picture->pixels[5] == 255);
	ck_assert(picture->pixels[8] == 255 && picture->pixels[10] == 0);
	picture_free(picture);
	ck_assert_int_eq(pixels_init(&format, 8, 32, false, 0xe0, 0x1c, 0x3), -ENOTSUP);
	ck_assert_int_eq(pixels_init(&format, 32, 32, false, 0, 0, 0), -ENOTSUP);
	ck_assert_int_eq(pixels_init(&format, 32, 32, false, 0xf0f000, 0xf00, 0xff), -ENOTSUP);
	ck_assert_int_eq(pixels_init(&format, 16, 32, false, 0xff0000, 0xff00, 0xff), -ENOTSUP);
	ck_assert_int_eq(pixels_init(&format, 32, 32, false, 0xfff00000, 0xffc00, 0x3ff), -ENOTSUP);
}
END_TEST

// --- X authority files ----------------------------------------------------------------------------------------------

static void put_counted(FILE *file, const char *data, size_t size)
{
	fputc((int)(size >> 8), file);
	fputc((int)size & 0xff, file);
	fwrite(data, 1, size, file);
}

static void put_entry(FILE *file, int family, const char *address, size_t address_size, const char *number,
		      const char *name, const char *cookie)
{
	fputc(family >> 8, file);
	fputc(family & 0xff, file);
	put_counted(file, address, address_size);
	put_counted(file, number, strlen(number));
	put_counted(file, name, strlen(name));
	put_counted(file, cookie, strlen(cookie));
}

START_TEST(test_authority_entries)
{
	char path[] = "/tmp/condprof-xauth-XXXXXX", host[256] = "";
	FILE *file = fdopen(mkstemp(path), "w");
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const struct sockaddr local = {.sa_family = AF_UNIX};
	struct x_cookie cookie = {0};

	gethostname(host, sizeof(host) - 1);
	put_entry(file, 256, "another-host", 12, "1", "MIT-MAGIC-COOKIE-1", "wrong host");
	put_entry(file, 256, host, strlen(host), "1", "XDM-AUTHORIZATION-1", "wrong kind");
	put_entry(file, 256, host, strlen(host), "1", "MIT-MAGIC-COOKIE-1", "local one");
	put_entry(file, 0, "\x0a\0\0\1", 4, "1", "MIT-MAGIC-COOKIE-1", "by address");
	put_entry(file, 256, host, strlen(host), "", "MIT-MAGIC-COOKIE-1", "any number");
	fclose(file);
	ck_assert_int_eq(xauthority_find(path, &local, 1, &cookie), 0);
	ck_assert_uint_eq(cookie.data_size, 9);
	ck_assert_int_eq(memcmp(cookie.data, "local one", 9), 0);
	ck_assert_int_eq(xauthority_find(path, (const struct sockaddr *)&in6, 1, &cookie), 0);
	ck_assert_int_eq(memcmp(cookie.data, "local one", 9), 0);
	ck_assert_int_eq(xauthority_find(path, (const struct sockaddr *)&in, 1, &cookie), 0);
	ck_assert_int_eq(memcmp(cookie.data, "by address", 10), 0);
	ck_assert_int_eq(xauthority_find(path, (const struct sockaddr *)&in, 2, &cookie), -ENODATA);
	ck_assert_int_eq(xauthority_find(path, &local, 77, &cookie), 0);
	ck_assert_int_eq(memcmp(cookie.data, "any number", 10), 0);
	ck_assert_int_eq(xauthority_find("/tmp", &local, 1, &cookie), -EBADMSG);
	unlink(path);
	ck_assert_int_eq(xauthority_find(path, &local, 1, &cookie), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("x11 connect");
	TCase *names = tcase_create("names"), *peers = tcase_create("peers");

	tcase_add_test(names, test_display_names);
	tcase_add_test(names, test_authority_entries);
	tcase_add_test(names, test_format);
	tcase_add_test(peers, test_nobody_there);
	tcase_add_test(peers, test_server_that_never_answers);
	tcase_add_test(peers, test_server_of_another_kind);
	suite_add_tcase(suite, names);
	suite_add_tcase(suite, peers);
	return unit_run(suite);
}
