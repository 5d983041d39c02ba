// SPDX-License-Identifier: GPL-3.0-or-later
//
// What commands share: errors to exit codes, the connection as the command line wants it, the output as the terminal
// wants it.
#include "config.h"

#include "client/client.h"

#include "client/connection.h"
#include "client/link.h"
#include "client/quantity.h"
#include "client/render/width.h"
#include "proto/limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define LOGIN_TIMEOUT_NS (30 * NSEC_PER_SEC)

const char *client_option_at(const struct client *client, const char *name, size_t index)
{
	for (size_t i = 0; i < client->n_given; i++)
		if (strcmp(client->given[i].option->name, name) == 0 && index-- == 0)
			return client->given[i].value ? client->given[i].value : "";
	return NULL;
}

const char *client_option(const struct client *client, const char *name)
{
	const char *last = NULL, *value;

	for (size_t i = 0; (value = client_option_at(client, name, i)); i++)
		last = value;
	return last;
}

bool client_flag(const struct client *client, const char *name)
{
	return client_option(client, name);
}

void client_wait_for_ever(struct client *client)
{
	if (!client_option(client, "--timeout"))
		client->deadline_ns = INT64_MAX;
}

static void print_line(const char *prefix, const char *format, va_list arguments) PRINTF_LIKE(2, 0);
static void print_line(const char *prefix, const char *format, va_list arguments)
{
	CLEANUP_FREE char *text = NULL;

	if (vasprintf(&text, format, arguments) < 0) {
		text = NULL;
		return;
	}
	CLEANUP_FREE char *clean = text_clean(text);
	fprintf(stderr, "%s%s\n", prefix, clean ? clean : "out of memory");
}

enum exit_code client_fail(const struct client *client, enum exit_code code, const char *format, ...)
{
	va_list arguments;

	(void)client;
	va_start(arguments, format);
	print_line("condprofctl: ", format, arguments);
	va_end(arguments);
	return code;
}

void client_note(const struct client *client, const char *format, ...)
{
	va_list arguments;

	if (client->quiet)
		return;
	va_start(arguments, format);
	print_line("", format, arguments);
	va_end(arguments);
}

static const enum exit_code code_of_reply[] = {
	[CONDPROF__CODE__INTERNAL] = EXIT_FAILED,
	[CONDPROF__CODE__BAD_FRAME] = EXIT_PROTOCOL,
	[CONDPROF__CODE__TOO_LARGE] = EXIT_FAILED,
	[CONDPROF__CODE__BAD_REQUEST] = EXIT_FAILED,
	[CONDPROF__CODE__UNSUPPORTED] = EXIT_FAILED,
	[CONDPROF__CODE__VERSION] = EXIT_PROTOCOL,
	[CONDPROF__CODE__DENIED] = EXIT_DENIED,
	[CONDPROF__CODE__BUSY] = EXIT_FAILED,
	[CONDPROF__CODE__NO_SUCH_SESSION] = EXIT_NOT_FOUND,
	[CONDPROF__CODE__NO_SUCH_NAME] = EXIT_NOT_FOUND,
	[CONDPROF__CODE__AMBIGUOUS] = EXIT_USAGE,
	[CONDPROF__CODE__ALREADY_ENDED] = EXIT_NO_DAEMON,
	[CONDPROF__CODE__BAD_SCENARIO] = EXIT_FAILED,
	[CONDPROF__CODE__SCREEN_FAILED] = EXIT_FAILED,
	[CONDPROF__CODE__INPUT_FAILED] = EXIT_FAILED,
	[CONDPROF__CODE__STILL_RUNNING] = EXIT_FAILED,
	[CONDPROF__CODE__IO] = EXIT_FAILED,
	[CONDPROF__CODE__STOPPING_DAEMON] = EXIT_NO_DAEMON,
	[CONDPROF__CODE__BUS_FAILED] = EXIT_FAILED,
};
static_assert(ARRAY_SIZE(code_of_reply) == CONDPROF__CODE__BUS_FAILED + 1, "every code has its exit code");

enum exit_code client_exit_code(int r, const struct error *error)
{
	switch (r) {
	case 0:
		return EXIT_DONE;
	case -EREMOTEIO:
		return (size_t)error->code < ARRAY_SIZE(code_of_reply) ? code_of_reply[error->code] : EXIT_FAILED;
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -ENOTCONN:
		return EXIT_NO_DAEMON;
	case -ENOENT:
	case -ENOTDIR:
		return EXIT_NOT_FOUND;
	case -EACCES:
	case -EPERM:
		return EXIT_DENIED;
	case -ETIMEDOUT:
		return EXIT_TIMED_OUT;
	case -EPROTO:
		return EXIT_PROTOCOL;
	case -EINVAL:
		return EXIT_USAGE;
	case -ENOLINK:
		return EXIT_SSH;
	default:
		return EXIT_FAILED;
	}
}

enum exit_code client_fail_error(const struct client *client, int r, const struct error *error)
{
	const char *message = error->message[0] ? error->message : strerror(-r);

	return error->place[0] ? client_fail(client, client_exit_code(r, error), "%s: %s", error->place, message)
			       : client_fail(client, client_exit_code(r, error), "%s", message);
}

bool client_is_remote(const struct client *client)
{
	return client_flag(client, "--host");
}

/// How long a login may take: with a terminal, somebody may be asked for a password on it.
static int64_t login_deadline_ns(const struct client *client)
{
	int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (terminal >= 0)
		close(terminal);
	if (client_option(client, "--timeout"))
		return client->deadline_ns;
	return terminal >= 0 ? INT64_MAX : clock_ns(CLOCK_MONOTONIC) + LOGIN_TIMEOUT_NS;
}

static int open_remote(const struct client *client, const char *socket, struct connection **ret, struct error *error)
{
	struct link_params params = {
		.host = client_option(client, "--host"),
		.socket = socket,
		.quiet = client->quiet,
		.deadline_ns = login_deadline_ns(client),
	};
	int64_t deadline_ns = client->deadline_ns;
	struct link *link;
	int fd;

	if (socket && (*socket != '/' || strchr(socket, '\n')))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "--socket %s: with -H it is a path on that machine, and absolute",
				 error_quote(socket).text);
	int r = link_open(&params, &link, &fd, error);
	if (r < 0)
		return r;
	if (!client_option(client, "--timeout") && deadline_ns != INT64_MAX)
		deadline_ns = clock_ns(CLOCK_MONOTONIC) + CLIENT_DEFAULT_TIMEOUT_NS;
	return connection_open_link(link, fd, deadline_ns, ret, error);
}

int client_open(const struct client *client, struct connection **ret, struct error *error)
{
	const char *path = client_option(client, "--socket");
	struct socket_paths paths;

	if (path && !*path)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "--socket is empty: it needs the path of the daemon's socket");
	if (client_is_remote(client))
		return open_remote(client, path, ret, error);
	int r = socket_paths_find(path, &paths);

	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	r = connection_open(&paths, client->deadline_ns, ret, error);
	socket_paths_clear(&paths);
	return r;
}

enum exit_code client_connect(const struct client *client, struct connection **ret)
{
	struct error error = {0};
	int r = client_open(client, ret, &error);

	return r < 0 ? client_fail_error(client, r, &error) : EXIT_DONE;
}

int client_terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int64_t width;

	if (columns && count_parse(columns, 1, &width) == 0 && width <= 10000)
		return (int)width;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

struct render *client_render(const struct client *client)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	bool terminal = isatty(STDOUT_FILENO);
	struct render_style style = {.ascii = !client->utf8};

	if (terminal) {
		style.width = client_terminal_width(STDOUT_FILENO);
		style.colour = !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
		style.escape_8bit = style.ascii;
	}
	struct render *render = render_new(client->output, stdout, &style);
	if (!render) {
		client_fail(client, EXIT_FAILED, "out of memory");
		exit(EXIT_FAILED);
	}
	return render;
}

enum exit_code client_render_done(const struct client *client, struct render *render)
{
	int r = render_finish(render);

	render_free(render);
	if (r == -EPIPE)
		return EXIT_FAILED; // whoever read has had enough
	return r < 0 ? client_fail(client, EXIT_FAILED, "can't write to standard output: %s", strerror(-r)) : EXIT_DONE;
}

enum exit_code client_number_option(const struct client *client, const char *name, int64_t *ret)
{
	const char *text = client_option(client, name);

	if (text && count_parse(text, 1, ret) < 0)
		return client_fail(client, EXIT_USAGE, "%s %s: a whole number from 1 up is needed", name, text);
	return EXIT_DONE;
}

enum exit_code client_session_argument(const struct client *client, int index, int64_t *ret)
{
	const char *text = client->arguments[index];

	if (count_parse(text, 1, ret) < 0)
		return client_fail(client, EXIT_USAGE, "%s is not a session's id: condprofctl list shows them", text);
	return EXIT_DONE;
}
