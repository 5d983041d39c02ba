// SPDX-License-Identifier: GPL-3.0-or-later
//
// What commands share: errors to exit codes, the connection as the command line wants it, the output as the terminal
// wants it.
#include "config.h"

#include "client/client.h"

#include "client/connection.h"
#include "client/quantity.h"
#include "client/render/width.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

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
};
static_assert(ARRAY_SIZE(code_of_reply) == CONDPROF__CODE__STOPPING_DAEMON + 1, "every code has its exit code");

enum exit_code client_exit_code(int r, const struct error *error)
{
	switch (r) {
	case 0:
		return EXIT_DONE;
	case -EREMOTEIO:
		return (size_t)error->code < ARRAY_SIZE(code_of_reply) ? code_of_reply[error->code] : EXIT_FAILED;
	case -ECONNREFUSED:
	case -ECONNRESET:
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

enum exit_code client_connect(const struct client *client, struct connection **ret)
{
	struct socket_paths paths;
	struct error error = {0};
	const char *path = client_option(client, "--socket");

	if (path && !*path)
		return client_fail(client, EXIT_USAGE, "--socket is empty: it needs the path of the daemon's socket");
	int r = socket_paths_find(path, &paths);

	if (r < 0)
		return client_fail(client, EXIT_FAILED, "out of memory");
	r = connection_open(&paths, client->deadline_ns, ret, &error);
	socket_paths_clear(&paths);
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
