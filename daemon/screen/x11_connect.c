// SPDX-License-Identifier: GPL-3.0-or-later
// A server that accepts and never answers would hold up the library for ever, so all of it happens on a thread that can
// be left alone. And the library says a refusal to stderr only: so the first connection is a few bytes of our own,
// which bring the server's reason home; it stays open until the real one stands, since a server without clients may
// reset.
#include "config.h"

#include "daemon/screen/x11_connect.h"

#include "daemon/screen/xauthority.h"
#include "proto/limits.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define TCP_PORT_BASE 6000
#define DISPLAY_MAX 59535 // its port is 65535

struct target {
	char host[HOST_NAME_MAX + 1]; // empty: this one, by a Unix socket
	int display, screen;
};

struct request {
	const struct x11_user *user;
	struct target target;
	struct x11_link link;      // name and code
	char xauthority[PATH_MAX]; // empty: none
	bool xauthority_configured;
};

// --- names ----------------------------------------------------------------------------------------------------------

static bool parse_number(const char **text, int max, int *ret)
{
	int value = 0;

	if (**text < '0' || **text > '9')
		return false;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		value = value * 10 + (**text - '0');
		if (value > max)
			return false;
	}
	*ret = value;
	return true;
}

static bool is_local_host(const char *host)
{
	const char *slash = strrchr(host, '/');

	return !*host || strcmp(slash ? slash + 1 : host, "unix") == 0;
}

// [HOST]:DISPLAY[.SCREEN], where HOST may be in brackets, after tcp/, or one of the names of "this one".
static bool parse_display(const char *name, struct target *ret)
{
	struct target target = {0};
	const char *colon = strrchr(name, ':');
	const char *rest = colon ? colon + 1 : NULL;

	if (!colon || !parse_number(&rest, DISPLAY_MAX, &target.display))
		return false;
	if (*rest == '.') {
		rest++;
		if (!parse_number(&rest, 255, &target.screen))
			return false;
	}
	const char *host = strncmp(name, "tcp/", 4) == 0 ? name + 4 : name;
	size_t length = (size_t)(colon - host);
	if (length > 1 && *host == '[' && host[length - 1] == ']') {
		host++;
		length -= 2;
	}
	if (*rest || length >= sizeof(target.host))
		return false;
	memcpy(target.host, host, length);
	if (is_local_host(target.host))
		target.host[0] = '\0';
	*ret = target;
	return !strchr(target.host, '/');
}

int x11_check(const char *rest, struct error *error)
{
	struct target target;

	if (!*rest || parse_display(rest, &target))
		return 0;
	return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
			 "\"%.200s\" is no X display: write x11:[HOST]:NUMBER[.SCREEN], as x11::0", rest);
}

void x11_device(const char *rest, char *out, size_t size)
{
	const char *display = *rest ? rest : getenv("DISPLAY");
	struct target target;

	if (display && parse_display(display, &target))
		snprintf(out, size, "x11:%s:%d", target.host, target.display);
	else
		snprintf(out, size, "x11:%s", rest);
}

// --- sockets --------------------------------------------------------------------------------------------------------

static int fail(const struct request *request, int errno_value, const char *what, struct error *error)
{
	return error_set(error, request->link.code, errno_value, "%s: %s", request->link.name, what);
}

// The call is told of the socket before anything is waited for. @return the descriptor or -errno
static int connect_to(struct blocking_call *call, const struct sockaddr *address, socklen_t size)
{
	CLEANUP_CLOSE int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval limit = {.tv_sec = OPEN_TIMEOUT_NS / NSEC_PER_SEC};

	if (fd < 0)
		return -errno;
	int r = blocking_on_socket(call, fd);
	if (r < 0)
		return r;
	// A Unix socket with a full queue is not woken by a shutdown.
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do {
		r = connect(fd, address, size) < 0 ? -errno : 0;
	} while (r == -EINTR);
	if (r < 0)
		return r;
	return take_fd(&fd);
}

static int connect_local(struct blocking_call *call, int display)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length = snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/.X11-unix/X%d", display);
	int fd = connect_to(call, (const struct sockaddr *)&address, sizeof(address));

	if (fd >= 0 || fd == -ECANCELED)
		return fd;
	// The abstract one second: anybody can make it.
	memmove(address.sun_path + 1, address.sun_path, (size_t)length);
	address.sun_path[0] = '\0';
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	int second = connect_to(call, (const struct sockaddr *)&address, size);
	return second >= 0 ? second : fd;
}

static int connect_tcp(struct blocking_call *call, const struct target *target, const char **ret_why)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *all = NULL;
	char port[16];
	int fd = -EHOSTUNREACH;

	snprintf(port, sizeof(port), "%d", TCP_PORT_BASE + target->display);
	int r = getaddrinfo(target->host, port, &hints, &all);
	if (r != 0) {
		*ret_why = gai_strerror(r);
		return fd;
	}
	for (const struct addrinfo *one = all; one && fd < 0 && fd != -ECANCELED; one = one->ai_next)
		fd = connect_to(call, one->ai_addr, one->ai_addrlen);
	freeaddrinfo(all);
	return fd;
}

static int connect_socket(struct blocking_call *call, const struct request *request, struct error *error)
{
	const struct target *target = &request->target;
	const char *why = NULL;
	int fd = *target->host ? connect_tcp(call, target, &why) : connect_local(call, target->display);

	if (fd >= 0)
		return fd;
	if (!*target->host && (fd == -ENOENT || fd == -ECONNREFUSED))
		return error_set(error, request->link.code, -fd, "%s: no X server runs there (/tmp/.X11-unix/X%d: %s)",
				 request->link.name, target->display, strerror(-fd));
	return error_set(error, request->link.code, -fd, "%s: cannot connect to the X server: %s", request->link.name,
			 why ? why : strerror(-fd));
}

// --- cookie ---------------------------------------------------------------------------------------------------------

static int find_cookie(const struct request *request, int fd, struct x_cookie *ret, struct error *error)
{
	struct sockaddr_storage peer = {.ss_family = AF_UNIX};
	socklen_t size = sizeof(peer);

	if (!*request->xauthority)
		return 0;
	getpeername(fd, (struct sockaddr *)&peer, &size);
	int r = xauthority_find(request->xauthority, (const struct sockaddr *)&peer, request->target.display, ret);
	// A server may ask for no cookie; then nobody misses an entry, or the file that the environment names.
	if (r == 0 || r == -ENODATA || !request->xauthority_configured)
		return 0;
	return error_set(error, request->link.code, -r, "%s: the configuration's xauthority, %.300s: %s",
			 request->link.name, request->xauthority, r == -EBADMSG ? "no X authority file" : strerror(-r));
}

// --- the server's answer --------------------------------------------------------------------------------------------

static bool send_all(int fd, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = send(fd, (const char *)data + done, size - done, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool receive_all(int fd, void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = recv(fd, (char *)data + done, size - done, 0);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static size_t put_padded(uint8_t *out, const void *data, size_t size)
{
	memcpy(out, data, size);
	return (size + 3) & ~(size_t)3;
}

static bool send_setup(int fd, const struct x_cookie *cookie)
{
	const uint16_t one = 1;
	xcb_setup_request_t setup = {.byte_order = *(const uint8_t *)&one ? 'l' : 'B',
				     .protocol_major_version = X_PROTOCOL,
				     .protocol_minor_version = X_PROTOCOL_REVISION,
				     .authorization_protocol_name_len = (uint16_t)cookie->name_size,
				     .authorization_protocol_data_len = (uint16_t)cookie->data_size};
	uint8_t bytes[sizeof(setup) + sizeof(cookie->name) + sizeof(cookie->data)] = {0};
	size_t size = sizeof(setup);

	memcpy(bytes, &setup, sizeof(setup));
	size += put_padded(bytes + size, cookie->name, cookie->name_size);
	size += put_padded(bytes + size, cookie->data, cookie->data_size);
	return send_all(fd, bytes, size);
}

static void make_printable(char *text)
{
	size_t length = strlen(text);

	while (length > 0 && (unsigned char)text[length - 1] <= ' ')
		text[--length] = '\0';
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			*text = '?';
	}
}

static int refused(const struct request *request, const char *reason, const struct x_cookie *cookie,
		   struct error *error)
{
	const char *file = *request->xauthority ? request->xauthority : "no X authority file";
	const char *entry =
		cookie->name_size > 0 ? "its entry for this display was not taken" : "no entry for this display";

	return error_set(error, request->link.code, EACCES, "%s: the X server refuses: %.150s (%.200s: %s; %s)",
			 request->link.name, reason, file, entry,
			 request->xauthority_configured ? "named by the configuration key xauthority"
							: "the configuration key xauthority names another file");
}

// Asks on a connection of our own, which is left open.
static int ask_server(const struct request *request, int fd, const struct x_cookie *cookie, struct error *error)
{
	xcb_setup_failed_t answer;
	char reason[256] = "";

	if (!send_setup(fd, cookie) || !receive_all(fd, &answer, sizeof(answer)))
		return fail(request, EPIPE, "the X server closed the connection", error);
	if (answer.status == 1)
		return 0;
	size_t size = answer.status == 0 ? answer.reason_len : answer.length * (size_t)4;
	if (!receive_all(fd, reason, MIN(size, sizeof(reason) - 1)))
		reason[0] = '\0';
	make_printable(reason);
	return refused(request, *reason ? reason : "no reason given", cookie, error);
}

// --- the connection -------------------------------------------------------------------------------------------------

static xcb_screen_t *find_screen(xcb_connection_t *xcb, int number)
{
	xcb_screen_iterator_t all = xcb_setup_roots_iterator(xcb_get_setup(xcb));

	while (all.rem > 0 && number-- > 0)
		xcb_screen_next(&all);
	return all.rem > 0 ? all.data : NULL;
}

static bool is_local_socket(int fd)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);

	return getsockname(fd, (struct sockaddr *)&name, &size) == 0 && name.ss_family == AF_UNIX;
}

static int connect_library(struct blocking_call *call, struct request *request, struct x_cookie *cookie,
			   struct error *error)
{
	xcb_auth_info_t auth = {.namelen = (int)cookie->name_size,
				.name = cookie->name,
				.datalen = (int)cookie->data_size,
				.data = (char *)cookie->data};
	int fd = connect_socket(call, request, error);

	if (fd < 0)
		return fd;
	request->link.local = is_local_socket(fd);
	request->link.xcb = xcb_connect_to_fd(fd, cookie->name_size > 0 ? &auth : NULL);
	if (xcb_connection_has_error(request->link.xcb)) {
		xcb_disconnect(request->link.xcb);
		return fail(request, EPIPE, "the X server accepted a connection and closed it", error);
	}
	request->link.screen = find_screen(request->link.xcb, request->target.screen);
	if (!request->link.screen) {
		xcb_disconnect(request->link.xcb);
		return fail(request, ENOENT, "the X server has no screen of that number", error);
	}
	return 0;
}

static int run_open(struct blocking_call *call, void *argument, void **ret, struct error *error)
{
	struct request *request = argument;
	struct x_cookie cookie = {0};
	CLEANUP_CLOSE int probe = connect_socket(call, request, error);
	int r = probe < 0 ? probe : find_cookie(request, probe, &cookie, error);

	if (r == 0)
		r = ask_server(request, probe, &cookie, error);
	if (r == 0)
		r = connect_library(call, request, &cookie, error);
	explicit_bzero(&cookie, sizeof(cookie));
	if (r < 0)
		return r;
	r = request->user->build(&request->link, ret, error);
	if (r < 0)
		xcb_disconnect(request->link.xcb);
	return r;
}

// --- from the caller's thread ---------------------------------------------------------------------------------------

static void find_xauthority(struct request *request, const char *configured)
{
	const char *environment = getenv("XAUTHORITY"), *home = getenv("HOME");

	request->xauthority_configured = configured != NULL;
	if (configured)
		snprintf(request->xauthority, sizeof(request->xauthority), "%s", configured);
	else if (environment && *environment)
		snprintf(request->xauthority, sizeof(request->xauthority), "%s", environment);
	else if (home && *home)
		snprintf(request->xauthority, sizeof(request->xauthority), "%s/.Xauthority", home);
}

static int request_new(const struct x11_user *user, const char *rest, const struct screen_config *config,
		       struct request **ret, struct error *error)
{
	const char *display = *rest ? rest : getenv("DISPLAY");

	if (!display || !*display)
		return error_set(error, user->code, EINVAL,
				 "x11: the daemon's environment has no DISPLAY: name the display, as x11::0");
	struct request *request = calloc(1, sizeof(*request));
	if (!request)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	request->user = user;
	request->link.code = user->code;
	snprintf(request->link.name, sizeof(request->link.name), "x11:%s", display);
	find_xauthority(request, config->xauthority);
	if (!parse_display(display, &request->target)) {
		free(request);
		return error_set(error, user->code, EINVAL,
				 "x11: the environment's DISPLAY, \"%.200s\", is no X display", display);
	}
	*ret = request;
	return 0;
}

int x11_open(const struct x11_user *user, const char *rest, const struct screen_config *config,
	     const struct screen_wait *wait, void **ret, struct error *error)
{
	const struct blocking_work work = {
		.name = "x11-open", .run = run_open, .discard = user->discard, .free_argument = free};
	struct request *request = NULL;
	int r = request_new(user, rest, config, &request, error);

	if (r < 0)
		return r;
	struct x11_link link = request->link;
	r = blocking_call(&work, request, wait, ret, error);
	if (r == -ETIMEDOUT)
		return error_set(error, user->code, ETIMEDOUT, "%s: the X server does not answer", link.name);
	if (r == -EINTR)
		return error_set(error, user->code, EINTR, "%s: interrupted", link.name);
	return r;
}

const char *x11_broken_text(xcb_connection_t *xcb)
{
	switch (xcb_connection_has_error(xcb)) {
	case XCB_CONN_CLOSED_EXT_NOTSUPPORTED:
		return "the X server lacks an extension";
	case XCB_CONN_CLOSED_MEM_INSUFFICIENT:
		return "out of memory";
	case XCB_CONN_CLOSED_FDPASSING_FAILED:
		return "the X server took no file descriptor";
	default:
		return "the X server is gone";
	}
}
