// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/screen/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

int64_t wait_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

enum screen_status wait_for_fd(int fd, short events, const struct screen_wait *wait)
{
	struct pollfd fds[] = {{.fd = wait->wake_fd, .events = POLLIN}, {.fd = fd, .events = events}};

	for (;;) {
		int64_t left_ns = MAX(wait->deadline_ns - wait_now_ns(), 0);
		struct timespec timeout = {.tv_sec = left_ns / NSEC_PER_SEC, .tv_nsec = left_ns % NSEC_PER_SEC};
		int r = ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL);

		if (r > 0 && fds[0].revents)
			return SCREEN_INTERRUPTED;
		if (r > 0)
			return SCREEN_OK;
		// Out of memory in the kernel, at worst: a stall, so that the caller comes again.
		if (r == 0 || errno != EINTR)
			return SCREEN_STALLED;
	}
}

int wait_start_thread(pthread_t *ret, const char *name, void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		return -r;
	pthread_setname_np(thread, name);
	*ret = thread;
	return 0;
}

// Both sides hold a reference; the one that lets go last frees it.
struct blocking_call {
	struct blocking_work work;
	void *argument;
	int done_fd; // eventfd
	pthread_mutex_t lock;
	// Under the lock:
	int references;
	bool done, abandoned;
	int socket_fd; // a duplicate, so that its number cannot mean another file by now; -1: none
	int result;
	void *value;
	struct error error;
};

static struct blocking_call *call_new(const struct blocking_work *work, void *argument)
{
	struct blocking_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (call->done_fd < 0) {
		free(call);
		return NULL;
	}
	call->work = *work;
	call->argument = argument;
	call->socket_fd = -1;
	call->references = 2;
	pthread_mutex_init(&call->lock, NULL);
	return call;
}

static void call_unref(struct blocking_call *call)
{
	pthread_mutex_lock(&call->lock);
	bool last = --call->references == 0;
	pthread_mutex_unlock(&call->lock);
	if (!last)
		return;
	if (call->socket_fd >= 0)
		close(call->socket_fd);
	close(call->done_fd);
	pthread_mutex_destroy(&call->lock);
	free(call);
}

int blocking_on_socket(struct blocking_call *call, int fd)
{
	int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (duplicate < 0)
		return -errno;
	pthread_mutex_lock(&call->lock);
	int before = call->socket_fd;
	bool abandoned = call->abandoned;
	call->socket_fd = duplicate;
	pthread_mutex_unlock(&call->lock);
	if (before >= 0)
		close(before);
	return abandoned ? -ECANCELED : 0;
}

static void *call_thread(void *argument)
{
	struct blocking_call *call = argument;
	const struct blocking_work *work = &call->work;
	struct error error = {0};
	void *value = NULL;
	int result = work->run(call, call->argument, &value, &error);

	if (work->free_argument)
		work->free_argument(call->argument);
	pthread_mutex_lock(&call->lock);
	bool abandoned = call->abandoned;
	call->done = true;
	call->result = result;
	call->value = value;
	call->error = error;
	pthread_mutex_unlock(&call->lock);
	if (abandoned && result >= 0 && call->work.discard)
		work->discard(value);
	if (write(call->done_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
		abort(); // an eventfd of ours that was never written before
	call_unref(call);
	return NULL;
}

// Under the lock: whether the call is over; else it is left alone from now on.
static bool call_finish(struct blocking_call *call)
{
	pthread_mutex_lock(&call->lock);
	bool done = call->done;
	if (!done) {
		call->abandoned = true;
		if (call->socket_fd >= 0)
			shutdown(call->socket_fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&call->lock);
	return done;
}

int blocking_call(const struct blocking_work *work, void *argument, const struct screen_wait *wait, void **ret,
		  struct error *error)
{
	struct blocking_call *call = call_new(work, argument);
	pthread_t thread;
	int r = call ? wait_start_thread(&thread, work->name, call_thread, call) : -ENOMEM;

	if (r < 0) {
		if (work->free_argument)
			work->free_argument(argument);
		if (call) {
			call->references = 1;
			call_unref(call);
		}
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "no thread could be started for %s", work->name);
	}
	pthread_detach(thread);
	enum screen_status status = wait_for_fd(call->done_fd, POLLIN, wait);

	bool in_time = call_finish(call);
	if (!in_time && !work->discard)
		wait_for_fd(call->done_fd, POLLIN, &(struct screen_wait){.wake_fd = -1, .deadline_ns = INT64_MAX});
	if (!in_time) {
		r = status == SCREEN_INTERRUPTED ? -EINTR : -ETIMEDOUT;
	} else {
		r = call->result;
		if (r < 0 && error)
			*error = call->error;
		if (r >= 0)
			*ret = call->value;
	}
	call_unref(call);
	return r;
}
