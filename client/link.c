// SPDX-License-Identifier: GPL-3.0-or-later
//
// ssh has our end of a socket pair as its standard input and output, and our standard error as its own: it asks for
// passwords on the terminal, as always, and says itself what it fails at. Until the bridge has answered, ssh is ended
// with us, also when it waits for a password; afterwards it ends because its input does.
#include "config.h"

#include "client/link.h"

#include "client/bridge.h"
#include "client/ssh.h"
#include "proto/utf8.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define NOISE_MAX (64U * 1024U)            // bytes that the far login may print
#define END_PATIENCE_NS (1 * NSEC_PER_SEC) // for an ssh whose link has ended
#define SSH_FAILED 255

struct link {
	char *host; ///< as given
	pid_t pid;  ///< 0: waited for
	int pid_fd;
	int status;     ///< of waitpid(), once pid is 0
	bool connected; ///< the bridge has answered
};

static int out_of_memory(struct error *error)
{
	return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
}

/// Waits for one descriptor. @return 0; -ETIMEDOUT; another negative errno
static int wait_for(int fd, short events, int64_t deadline_ns)
{
	struct pollfd watched = {.fd = fd, .events = events};

	for (;;) {
		int64_t left = deadline_ns - clock_ns(CLOCK_MONOTONIC);
		struct timespec timeout = {left / NSEC_PER_SEC, left % NSEC_PER_SEC};
		int n;

		if (left <= 0)
			return -ETIMEDOUT;
		n = ppoll(&watched, 1, deadline_ns == INT64_MAX ? NULL : &timeout, NULL);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

// --- ssh
// ---------------------------------------------------------------------------------------------------------------

static int spawn(char **words, int end, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, plain;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	sigemptyset(&none);
	sigemptyset(&plain);
	sigaddset(&plain, SIGPIPE);
	sigaddset(&plain, SIGCHLD);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &plain);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
	if (!r)
		r = posix_spawnp(ret, words[0], &actions, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int start_ssh(struct link *link, char **words, int *ret_fd, struct error *error)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, errno, "socketpair: %s", strerror(errno));
	signal(SIGCHLD, SIG_DFL); // ignored, nobody could be waited for
	int r = spawn(words, ends[1], &link->pid);
	close(ends[1]);
	if (r < 0) {
		link->pid = 0;
		close(ends[0]);
		return error_set(error, CONDPROF__CODE__INTERNAL, EIO,
				 "cannot run %s: %s; install openssh-client, or name another program with CONDPROF_SSH",
				 error_quote(words[0]).text, strerror(-r));
	}
	link->pid_fd = pidfd_open(link->pid, 0);
	*ret_fd = ends[0];
	return 0;
}

/// @return whether ssh has ended by then
static bool wait_for_end(struct link *link, int64_t deadline_ns)
{
	while (link->pid) {
		pid_t pid = waitpid(link->pid, &link->status, WNOHANG);

		if (pid > 0 || (pid < 0 && errno != EINTR))
			link->pid = 0;
		else if (clock_ns(CLOCK_MONOTONIC) >= deadline_ns)
			break;
		else if (link->pid_fd >= 0)
			wait_for(link->pid_fd, POLLIN, deadline_ns);
		else
			poll(NULL, 0, 10);
	}
	return !link->pid;
}

static bool ended_by_itself(const struct link *link, int code)
{
	return !link->pid && WIFEXITED(link->status) && WEXITSTATUS(link->status) == code;
}

struct link *link_close(struct link *link)
{
	if (!link)
		return NULL;
	if (link->pid && !link->connected) {
		kill(link->pid, SIGTERM);
		kill(link->pid, SIGCONT);
		if (!wait_for_end(link, clock_ns(CLOCK_MONOTONIC) + END_PATIENCE_NS)) {
			kill(link->pid, SIGKILL);
			wait_for_end(link, INT64_MAX);
		}
	}
	if (link->pid_fd >= 0)
		close(link->pid_fd);
	free(link->host);
	free(link);
	return NULL;
}

int link_lost(struct link *link, struct error *error)
{
	bool ended = wait_for_end(link, clock_ns(CLOCK_MONOTONIC) + END_PATIENCE_NS);

	if (ended && WIFEXITED(link->status) && WEXITSTATUS(link->status) != SSH_FAILED)
		return error_set(error, CONDPROF__CODE__INTERNAL, ECONNRESET, "%s: the daemon has gone away",
				 link->host);
	if (ended && WIFSIGNALED(link->status))
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOTCONN,
				 "the link to %s is lost: ssh was ended by signal %d", link->host,
				 WTERMSIG(link->status));
	return error_set(error, CONDPROF__CODE__INTERNAL, ENOTCONN, "the link to %s is lost", link->host);
}

// --- the bridge ------------------------------------------------------------------------------------------------------

/// Lines from the far side.
struct lines {
	int fd;
	int64_t deadline_ns;
	char data[BRIDGE_LINE_MAX];
	size_t filled, taken;       ///< of data; taken: the last line, with its newline
	size_t seen;                ///< bytes in all
	char last[BRIDGE_LINE_MAX]; ///< the last line of noise that was not empty
};

/// The next line, without its newline; of one that is too long its end. Valid until the next call.
/// @return 0; -ENODATA: the end; -ETIMEDOUT; -EFBIG: NOISE_MAX bytes have come
static int next_line(struct lines *lines, char **ret)
{
	char *end;

	lines->filled -= lines->taken;
	memmove(lines->data, lines->data + lines->taken, lines->filled);
	lines->taken = 0;
	while (!(end = memchr(lines->data, '\n', lines->filled))) {
		if (lines->filled == sizeof(lines->data)) // nothing of ours is as long
			lines->filled = 0;
		int r = wait_for(lines->fd, POLLIN, lines->deadline_ns);
		if (r < 0)
			return r;
		ssize_t n = read(lines->fd, lines->data + lines->filled, sizeof(lines->data) - lines->filled);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ENODATA;
		lines->filled += (size_t)n;
		lines->seen += (size_t)n;
		if (lines->seen > NOISE_MAX)
			return -EFBIG;
	}
	*end = '\0';
	lines->taken = (size_t)(end - lines->data) + 1;
	*ret = lines->data;
	return 0;
}

/// Where the noise has no newline at its end, as that of nologin(8) has.
static void keep_last(struct lines *lines, const char *line)
{
	if (*line)
		snprintf(lines->last, sizeof(lines->last), "%s", line);
}

static int timed_out(const struct link *link, struct error *error)
{
	return error_set(error, CONDPROF__CODE__INTERNAL, ETIMEDOUT, "%s: no answer in time (--timeout)", link->host);
}

/// ssh or the far login has ended before the bridge said a word.
static int no_bridge(struct link *link, const struct lines *lines, struct error *error)
{
	const char *last = lines->last;

	if (!wait_for_end(link, MIN(lines->deadline_ns, clock_ns(CLOCK_MONOTONIC) + END_PATIENCE_NS)))
		return timed_out(link, error);
	if (ended_by_itself(link, SSH_FAILED))
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOLINK,
				 "ssh could not log in to %s; what it said stands above", link->host);
	if (!WIFEXITED(link->status))
		return error_set(error, CONDPROF__CODE__INTERNAL, ECONNRESET, "ssh to %s was ended by signal %d",
				 link->host, WTERMSIG(link->status));
	if (ended_by_itself(link, 127) || ended_by_itself(link, 126))
		return error_set(
			error, CONDPROF__CODE__INTERNAL, ECONNREFUSED,
			"%s has no condprofctl that a login without a terminal finds: install condprof there, or "
			"put it in the PATH that sshd gives",
			link->host);
	if (ended_by_itself(link, 2)) // its usage error
		return error_set(error, CONDPROF__CODE__VERSION, EPROTO,
				 "the condprofctl on %s is too old for -H: update it", link->host);
	return error_set(error, CONDPROF__CODE__INTERNAL, ECONNREFUSED,
			 "%s: the login ended with exit status %d before condprofctl ran there%s%s", link->host,
			 WEXITSTATUS(link->status), *last ? "; it said: " : "", *last ? error_quote(last).text : "");
}

/// Skips what the far login prints.
static int find_bridge(struct link *link, struct lines *lines, struct error *error)
{
	size_t length = strlen(BRIDGE_GREETING);
	char *line;
	int r;

	while ((r = next_line(lines, &line)) == 0) {
		if (strncmp(line, BRIDGE_GREETING, length) == 0) {
			if (strcmp(line + length, BRIDGE_VERSION) == 0)
				return 0;
			return error_set(error, CONDPROF__CODE__VERSION, EPROTO,
					 "the bridge on %s is of version %s, this condprofctl's of " BRIDGE_VERSION
					 ": install the same version of both",
					 link->host, error_quote(line + length).text);
		}
		keep_last(lines, line);
	}
	if (r == -ETIMEDOUT)
		return timed_out(link, error);
	if (r == -EFBIG)
		return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO,
				 "%s prints more than %u KiB at login, and no bridge: does a login file there print "
				 "without asking whether there is a terminal?",
				 link->host, NOISE_MAX / 1024U);
	lines->data[MIN(lines->filled, sizeof(lines->data) - 1)] = '\0';
	keep_last(lines, lines->data);
	return no_bridge(link, lines, error);
}

static int ask_for_socket(struct link *link, int fd, const char *socket, struct error *error)
{
	CLEANUP_FREE char *line = NULL;
	int length = asprintf(&line, BRIDGE_CONNECT "%s%s\n", socket ? " " : "", socket ? socket : "");

	if (length < 0) {
		line = NULL;
		return out_of_memory(error);
	}
	// It fits into the socket's buffer, which is empty.
	return send(fd, line, (size_t)length, MSG_NOSIGNAL) == length ? 0 : link_lost(link, error);
}

static int refused(const struct link *link, char *line, struct error *error)
{
	static const struct {
		const char *word;
		int errno_value;
		Condprof__Code code;
	} words[] = {
		{BRIDGE_NO_DAEMON, ECONNREFUSED, CONDPROF__CODE__INTERNAL},
		{BRIDGE_DENIED, EACCES, CONDPROF__CODE__DENIED},
		{BRIDGE_FAILED, EIO, CONDPROF__CODE__INTERNAL},
	};
	char *sentence = line + strlen(BRIDGE_REFUSED), *word = strsep(&sentence, " ");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(word, words[i].word) == 0)
			return error_set(error, words[i].code, words[i].errno_value, "%s: %s", link->host,
					 sentence ? sentence : "refused");
	return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "%s: the bridge refuses for a reason unknown here",
			 link->host);
}

static int read_answer(struct link *link, struct lines *lines, struct error *error)
{
	char *line;
	int r = next_line(lines, &line);

	if (r == -ETIMEDOUT)
		return timed_out(link, error);
	if (r < 0)
		return link_lost(link, error);
	if (strncmp(line, BRIDGE_REFUSED, strlen(BRIDGE_REFUSED)) == 0)
		return refused(link, line, error);
	if (strcmp(line, BRIDGE_CONNECTED) == 0 && lines->filled == lines->taken)
		return 0;
	return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "%s: the bridge does not speak as one", link->host);
}

static int find_daemon(struct link *link, int fd, const struct link_params *params, struct error *error)
{
	struct lines lines = {.fd = fd, .deadline_ns = params->deadline_ns};
	int r = find_bridge(link, &lines, error);

	if (r == 0)
		r = ask_for_socket(link, fd, params->socket, error);
	if (r == 0)
		r = read_answer(link, &lines, error);
	return r;
}

int link_open(const struct link_params *params, struct link **ret, int *ret_fd, struct error *error)
{
	struct ssh_host host CLEANUP(ssh_host_clear) = {0};
	char **words CLEANUP(ssh_words_cleanup) = NULL;
	CLEANUP_CLOSE int fd = -1;
	int r = ssh_host_parse(params->host, &host, error);

	if (r == 0)
		r = ssh_command(&host, getenv("CONDPROF_SSH"), params->quiet, &words, error);
	if (r < 0)
		return r;
	struct link *link = calloc(1, sizeof(*link));
	if (!link)
		return out_of_memory(error);
	link->pid_fd = -1;
	link->host = strdup(params->host);
	r = link->host ? start_ssh(link, words, &fd, error) : out_of_memory(error);
	if (r == 0)
		r = find_daemon(link, fd, params, error);
	if (r < 0) {
		cleanup_close(&fd);
		fd = -1;
		link_close(link);
		return r;
	}
	link->connected = true;
	*ret = link;
	*ret_fd = take_fd(&fd);
	return 0;
}
