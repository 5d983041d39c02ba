// SPDX-License-Identifier: GPL-3.0-or-later
/// What every command of condprofctl works with: the parsed command line, the way to say an error, the exit codes.
///
/// Data goes to standard output, everything else to standard error. A command returns its exit code; whoever finds an
/// error prints it once, with client_fail() or client_fail_error(), and returns what that returned.
#ifndef CONDPROF_CLIENT_H
#define CONDPROF_CLIENT_H

#include "client/render/render.h"
#include "proto/errors.h"

/// The numbers are promised in condprofctl(1).
enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_DAEMON = 3, ///< not running, or gone meanwhile; or the session has ended
	EXIT_NOT_FOUND = 4,
	EXIT_TIMED_OUT = 5,
	EXIT_PROTOCOL = 6,
	EXIT_DENIED = 7,
	EXIT_SSH = 255, ///< with -H: ssh's own
};

struct client;
struct connection;

/// An option of a verb, or a global one. A table of them ends with a row without a name.
struct option_row {
	const char *name;       ///< "--screen"
	const char *short_name; ///< "-q", or NULL
	const char *argument;   ///< what stands after it in the help, NULL: it takes none
	const char *help;
	bool later; ///< known, but not built yet: a plain refusal
};

/// A command.
struct verb {
	const char *name;
	int min_arguments, max_arguments;
	const char *arguments;                        ///< in the help
	const char *help;                             ///< one line
	const struct option_row *options;             ///< NULL: none
	enum exit_code (*run)(struct client *client); ///< NULL: not built yet
	bool waits;                                   ///< without --timeout it may take as long as it takes
	bool hidden;                                  ///< for no person
	bool whole; ///< its answer can be a document of its own kind: --output html, prometheus
};

struct given_option {
	const struct option_row *option;
	const char *value; ///< NULL: it takes none
};

/// One run of the program. Strings are argv's.
struct client {
	const struct verb *verb;
	const char *const *arguments; ///< n_arguments of them
	int n_arguments;
	void *storage; ///< of arguments
	struct given_option *given;
	size_t n_given;
	enum output_kind output;
	bool quiet;
	bool utf8;           ///< the locale's character set
	int64_t deadline_ns; ///< on CLOCK_MONOTONIC; INT64_MAX: none
};

/// The value of the last `name` ("--screen") given, or NULL. For an option without argument: "" when given.
const char *client_option(const struct client *client, const char *name);
bool client_flag(const struct client *client, const char *name);
/// Of an option that may stand several times, the value number `index`, or NULL.
const char *client_option_at(const struct client *client, const char *name, size_t index);

/// Puts the deadline off for good, unless --timeout was given: for a wait that is known only at run time.
void client_wait_for_ever(struct client *client);

/// Prints "condprofctl: …" to standard error. @return code
enum exit_code client_fail(const struct client *client, enum exit_code code, const char *format, ...) PRINTF_LIKE(3, 4);
/// The same for an error that came back as a negative errno value with `error` filled. @return the code that fits
enum exit_code client_fail_error(const struct client *client, int r, const struct error *error);
/// The exit code of a failure; see connection.h for the errno values.
enum exit_code client_exit_code(int r, const struct error *error);

/// A remark on standard error, not with --quiet.
void client_note(const struct client *client, const char *format, ...) PRINTF_LIKE(2, 3);

/// Whether the daemon is on another machine (-H): folders in screen URIs and the like are that machine's then.
bool client_is_remote(const struct client *client);

/// Connects and greets, here or through ssh. The command's time begins when ssh has logged in, unless --timeout was
/// given.
/// @return as connection_open() and link_open(); -EINVAL: the command line
int client_open(const struct client *client, struct connection **ret, struct error *error);
/// The same. @return EXIT_DONE, or the code after the error was printed
enum exit_code client_connect(const struct client *client, struct connection **ret);

/// What the command prints to: standard output, as the command line and the terminal want it. Never NULL.
struct render *client_render(const struct client *client);
/// Ends the output and frees it. @return EXIT_DONE; EXIT_FAILED when standard output took it not (printed)
enum exit_code client_render_done(const struct client *client, struct render *render);

/// Columns of the terminal behind `fd`: $COLUMNS where it is a number, else what the terminal says, else 80.
int client_terminal_width(int fd);

/// An option's whole number from 1 up; *ret stays as it is without the option. @return EXIT_DONE; EXIT_USAGE (printed)
enum exit_code client_number_option(const struct client *client, const char *name, int64_t *ret);

/// A session's id as argument `index`. @return EXIT_DONE; EXIT_USAGE (printed)
enum exit_code client_session_argument(const struct client *client, int index, int64_t *ret);

#endif
