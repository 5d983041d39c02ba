// SPDX-License-Identifier: GPL-3.0-or-later
//
// bridge: what condprofctl -H runs on the other machine. Greets, connects to the daemon's socket as it is told, and
// then carries bytes both ways and looks at none of them. It ends with its standard input: then the near side is gone,
// and the daemon is to notice.
#include "config.h"

#include "client/bridge.h"
#include "client/commands.h"
#include "client/connection.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/// One direction.
struct flow {
	int from, to;
	size_t begin, end; ///< of what is still to be written
	bool ended;        ///< nothing more comes
	bool broken;       ///< nobody takes it any more: what comes is thrown away
	uint8_t data[64 * 1024];
};

// --- the first lines -------------------------------------------------------------------------------------------------

/// A byte at a time, since what follows the line is not for us yet; it is short.
/// @return its length; -1: there is none
static ssize_t read_line(char *line, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = read(STDIN_FILENO, line + length, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		if (line[length] == '\n') {
			line[length] = '\0';
			return (ssize_t)length;
		}
		length++;
	}
	return -1;
}

static enum exit_code say(const char *words, const char *sentence)
{
	return printf("%s%s\n", words, sentence) > 0 && fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
}

static const char *word_of(int r)
{
	if (r == -ECONNREFUSED)
		return BRIDGE_REFUSED BRIDGE_NO_DAEMON " ";
	return r == -EACCES ? BRIDGE_REFUSED BRIDGE_DENIED " " : BRIDGE_REFUSED BRIDGE_FAILED " ";
}

static int connect_daemon(const char *path, int *ret, struct error *error)
{
	struct socket_paths paths;
	int r = socket_paths_find(path, &paths);

	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	r = connection_socket(&paths, clock_ns(CLOCK_MONOTONIC) + CLIENT_DEFAULT_TIMEOUT_NS, ret, error);
	socket_paths_clear(&paths);
	return r;
}

/// @param ret the daemon's socket
static enum exit_code greet(int *ret)
{
	char line[BRIDGE_LINE_MAX];
	size_t length = strlen(BRIDGE_CONNECT);
	struct error error = {0};

	if (say("\n" BRIDGE_GREETING, BRIDGE_VERSION) != EXIT_DONE || read_line(line, sizeof(line)) < 0)
		return EXIT_FAILED;
	if (strncmp(line, BRIDGE_CONNECT, length) != 0 ||
	    (line[length] && (line[length] != ' ' || !line[length + 1]))) {
		say(BRIDGE_REFUSED BRIDGE_FAILED " ", "this is no line that the bridge knows");
		return EXIT_FAILED;
	}
	int r = connect_daemon(line[length] ? line + length + 1 : NULL, ret, &error);
	if (r < 0) {
		say(word_of(r), error.message[0] ? error.message : strerror(-r));
		return EXIT_FAILED;
	}
	return say(BRIDGE_CONNECTED, "");
}

// --- bytes -----------------------------------------------------------------------------------------------------------

static bool later(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void fill(struct flow *flow)
{
	ssize_t n = read(flow->from, flow->data, sizeof(flow->data));

	if (n > 0)
		flow->end = flow->broken ? 0 : (size_t)n;
	else if (n == 0 || !later())
		flow->ended = true;
}

static void drain(struct flow *flow)
{
	ssize_t n = write(flow->to, flow->data + flow->begin, flow->end - flow->begin);

	if (n < 0 && later())
		return;
	flow->broken = n < 0;
	flow->begin = n < 0 ? flow->end : flow->begin + (size_t)n;
	if (flow->begin == flow->end)
		flow->begin = flow->end = 0;
}

static bool has_more(const struct flow *flow)
{
	return flow->begin < flow->end;
}

static bool is_over(const struct flow *flow)
{
	return flow->ended && !has_more(flow);
}

/// One turn. A daemon that closes says why before: so when it takes no more, it is read to its end all the same.
/// @return whether it goes on
static bool carry(struct flow *up, struct flow *down)
{
	struct flow *flows[] = {up, down};
	struct pollfd fds[4];

	// Each direction waits for bytes or for room. Of standard output we also want to know when nobody reads it.
	for (size_t i = 0; i < ARRAY_SIZE(flows); i++) {
		bool full = has_more(flows[i]);

		fds[2 * i] = (struct pollfd){.fd = flows[i]->ended || full ? -1 : flows[i]->from, .events = POLLIN};
		fds[2 * i + 1] =
			(struct pollfd){.fd = full || i == 1 ? flows[i]->to : -1, .events = full ? POLLOUT : 0};
	}
	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return errno == EINTR;
	for (size_t i = 0; i < ARRAY_SIZE(flows); i++) {
		if (fds[2 * i].revents)
			fill(flows[i]);
		if (has_more(flows[i]))
			drain(flows[i]);
	}
	return !(fds[3].revents & (POLLERR | POLLHUP | POLLNVAL)) && !down->broken && !is_over(up) && !is_over(down);
}

static int set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	return fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

static void carry_all(int socket)
{
	static struct flow up, down; // too large for a stack

	up = (struct flow){.from = STDIN_FILENO, .to = socket};
	down = (struct flow){.from = socket, .to = STDOUT_FILENO};
	signal(SIGPIPE, SIG_IGN);
	set_nonblocking(STDIN_FILENO, true);
	set_nonblocking(STDOUT_FILENO, true);
	set_nonblocking(socket, true);
	while (carry(&up, &down))
		;
	set_nonblocking(STDIN_FILENO, false);
	set_nonblocking(STDOUT_FILENO, false);
}

enum exit_code cmd_bridge(struct client *client)
{
	CLEANUP_CLOSE int socket = -1;

	if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO))
		return client_fail(client, EXIT_USAGE,
				   "bridge is what condprofctl -H runs on the other machine; it is of no use by hand");
	enum exit_code code = greet(&socket);
	if (code == EXIT_DONE)
		carry_all(socket);
	return code;
}
