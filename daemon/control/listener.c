// SPDX-License-Identifier: GPL-3.0-or-later
// A lock file beside the socket decides who may take a stale one over: two daemons that start at the same time would
// otherwise both find it stale, and the second would unlink the first one's. The socket itself is open to everybody;
// who may do what is decided by the peer's credentials, so that others get a reason and not just a closed door.
#include "config.h"

#include "daemon/control/listener.h"

#include "daemon/control/control.h"
#include "daemon/system/notify.h"
#include "daemon/system/paths.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG ((int)CLIENTS_MAX) // that connect at once and are not accepted yet
#define ACCEPTS_A_TURN 16U
#define RETRY_NS (200 * NSEC_PER_MSEC)
// Whoever connects as fast as it can would have this thread for itself: more than these wait for the next interval.
#define ACCEPTS_AN_INTERVAL 64U
#define INTERVAL_NS (20 * NSEC_PER_MSEC)

struct listener {
	struct control *control;
	int fd, lock_fd;
	char path[PATH_MAX]; ///< empty: handed over
	dev_t device;        ///< of the socket file
	ino_t inode;
	struct loop_watch *watch;
	struct loop_timer *retry;
	bool out_of_descriptors; ///< and said so
	bool slowed;             ///< until `retry`
	int64_t interval_ns;     ///< when it began
	unsigned accepted;       ///< in it
};

static int make_address(const char *path, struct sockaddr_un *ret, struct error *error)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret->sun_path))
		return error_set(error, CONDPROF__CODE__INTERNAL, ENAMETOOLONG,
				 "the socket path %s is longer than %zu bytes; choose a shorter one with --socket",
				 path, sizeof(ret->sun_path) - 1);
	strcpy(ret->sun_path, path);
	return 0;
}

static int lock_path(struct listener *listener, const char *path, struct error *error)
{
	char lock[PATH_MAX];

	if ((size_t)snprintf(lock, sizeof(lock), "%s.lock", path) >= sizeof(lock))
		return error_set(error, CONDPROF__CODE__INTERNAL, ENAMETOOLONG, "the path %s is too long", path);
	listener->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (listener->lock_fd < 0)
		return error_set(error, CONDPROF__CODE__IO, errno, "cannot make %s: %s", lock, strerror(errno));
	if (flock(listener->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(
			error, CONDPROF__CODE__BUSY, EADDRINUSE,
			"another condprofd listens on %s already; stop it, or use another --socket and --state-dir",
			path);
	return 0;
}

/// Removes a socket file that nobody listens on; anything else stays. @return 0 when the path is free
static int remove_stale(const struct sockaddr_un *address, struct error *error)
{
	CLEANUP_CLOSE int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat status;

	if (lstat(address->sun_path, &status) < 0)
		return 0;
	if (!S_ISSOCK(status.st_mode))
		return error_set(error, CONDPROF__CODE__IO, EEXIST, "%s exists and is not a socket; remove it",
				 address->sun_path);
	if (probe < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, errno, "cannot make a socket: %s", strerror(errno));
	if (!connect(probe, (const struct sockaddr *)address, sizeof(*address)) || errno != ECONNREFUSED)
		return error_set(error, CONDPROF__CODE__BUSY, EADDRINUSE,
				 "something listens on %s already; stop it, or use another --socket",
				 address->sun_path);
	if (unlink(address->sun_path) < 0 && errno != ENOENT)
		return error_set(error, CONDPROF__CODE__IO, errno, "cannot remove the stale socket %s: %s",
				 address->sun_path, strerror(errno));
	log_notice("took over the stale socket %s", address->sun_path);
	return 0;
}

static int bind_path(struct listener *listener, const char *path, struct error *error)
{
	struct sockaddr_un address;
	struct stat status;
	int r = make_address(path, &address, error);

	if (!r)
		r = lock_path(listener, path, error);
	if (!r)
		r = remove_stale(&address, error);
	if (r < 0)
		return r;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0 || bind(listener->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(path, 0666) < 0 || lstat(path, &status) < 0 || listen(listener->fd, BACKLOG) < 0)
		return error_set(error, CONDPROF__CODE__IO, errno, "cannot listen on %s: %s", path, strerror(errno));
	strcpy(listener->path, path);
	listener->device = status.st_dev;
	listener->inode = status.st_ino;
	return 0;
}

static int open_socket(struct listener *listener, const char *path, struct error *error)
{
	char standard[PATH_MAX];
	int r = activation_socket(&listener->fd, error);

	if (r < 0)
		return r;
	if (listener->fd >= 0) {
		// The others of the socket's owner (systemd) may use it blocking or not; we must not.
		fcntl(listener->fd, F_SETFL, fcntl(listener->fd, F_GETFL) | O_NONBLOCK);
		return 0;
	}
	if (path)
		return bind_path(listener, path, error);
	r = path_default_socket(standard, sizeof(standard), error);
	if (!r)
		r = path_make_parents(standard, geteuid() ? 0700 : 0755, error);
	return r < 0 ? r : bind_path(listener, standard, error);
}

static unsigned clients_of(const struct control *control, const struct peer *peer)
{
	unsigned count = 0;

	for (const struct connection *other = LIST_FIRST(&control->connections); other; other = connection_next(other))
		if (peer->access == ACCESS_NONE ? connection_peer(other)->access == ACCESS_NONE
						: connection_peer(other)->uid == peer->uid)
			count++;
	return count;
}

/// No user but root and the daemon's own may take more than half of the places, and strangers only a few.
static bool within_quota(const struct control *control, const struct peer *peer)
{
	return peer->privileged ||
	       clients_of(control, peer) < (peer->access == ACCESS_NONE ? STRANGERS_MAX : CLIENTS_MAX / 2);
}

static void take_client(struct control *control, int fd)
{
	struct connection *connection;
	struct peer peer;
	int r = access_of_peer(fd, control->configuration, &peer);

	if (r < 0)
		log_warning("cannot tell who a client is: %s", strerror(-r));
	if (r < 0 || !within_quota(control, &peer) || connection_new(control, fd, &peer, &connection) < 0)
		close(fd);
}

static void pause_accepting(struct listener *listener, int why)
{
	if (!listener->out_of_descriptors)
		log_warning("no more clients for now: %s", strerror(why));
	listener->out_of_descriptors = true;
	loop_watch_set(listener->watch, 0);
	loop_timer_set(listener->retry, RETRY_NS);
}

/// @return whether there are too many just now
static bool slow_down(struct listener *listener)
{
	int64_t now = loop_now_ns();

	if (now - listener->interval_ns >= INTERVAL_NS) {
		listener->interval_ns = now;
		listener->accepted = 0;
	}
	if (listener->accepted < ACCEPTS_AN_INTERVAL)
		return false;
	listener->slowed = true;
	loop_watch_set(listener->watch, 0);
	loop_timer_set(listener->retry, listener->interval_ns + INTERVAL_NS - now);
	return true;
}

static void accept_clients(struct listener *listener)
{
	if (slow_down(listener))
		return;
	for (unsigned n = 0; n < ACCEPTS_A_TURN; n++) {
		if (listener->control->n_connections >= CLIENTS_MAX) {
			loop_watch_set(listener->watch, 0);
			return;
		}
		int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			listener->accepted++;
			take_client(listener->control, fd);
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			listener->out_of_descriptors = false;
			return;
		} else if (errno != ECONNABORTED && errno != EINTR) {
			pause_accepting(listener, errno);
			return;
		}
	}
}

static void on_ready(void *context, unsigned ready)
{
	(void)ready;
	accept_clients(context);
}

static void on_retry(void *context)
{
	struct listener *listener = context;

	listener->slowed = false;
	loop_watch_set(listener->watch, LOOP_READ);
}

void listener_client_left(struct listener *listener)
{
	if (listener && !listener->slowed)
		loop_watch_set(listener->watch, LOOP_READ);
}

int listener_new(struct control *control, const char *path, struct listener **ret, struct error *error)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	int r;

	if (!listener)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	listener->control = control;
	listener->fd = listener->lock_fd = -1;
	r = open_socket(listener, path, error);
	if (!r && (loop_watch_new(control->loop, listener->fd, on_ready, listener, &listener->watch) < 0 ||
		   loop_timer_new(control->loop, on_retry, listener, &listener->retry) < 0))
		r = error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	if (r < 0) {
		listener_free(listener);
		return r;
	}
	loop_watch_set(listener->watch, LOOP_READ);
	*ret = listener;
	return 0;
}

static void remove_own_file(const struct listener *listener)
{
	struct stat status;

	if (listener->path[0] && !lstat(listener->path, &status) && status.st_dev == listener->device &&
	    status.st_ino == listener->inode)
		unlink(listener->path);
}

struct listener *listener_free(struct listener *listener)
{
	if (!listener)
		return NULL;
	loop_watch_free(listener->watch);
	loop_timer_free(listener->retry);
	remove_own_file(listener);
	if (listener->fd >= 0)
		close(listener->fd);
	if (listener->lock_fd >= 0)
		close(listener->lock_fd);
	free(listener);
	return NULL;
}

const char *listener_name(const struct listener *listener)
{
	return listener->path[0] ? listener->path : "the socket handed over by the service manager";
}
