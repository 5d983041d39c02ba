// SPDX-License-Identifier: GPL-3.0-or-later
// libevent behind loop.h. Its messages go to our log. A watch is two events, one a direction, so that changing the
// interest never re-assigns an event that is pending.
#include "daemon/control/loop.h"

#include "daemon/log/log.h"

#include <errno.h>
#include <event2/event.h>
#include <time.h>

struct loop {
	struct event_base *base;
};

struct loop_watch {
	struct event *read, *write;
	unsigned interest;
	loop_watch_call call;
	void *context;
};

struct loop_timer {
	struct event *event;
	loop_timer_call call;
	void *context;
};

static void bridge_log(int severity, const char *message)
{
	if (severity >= EVENT_LOG_WARN)
		log_warning("libevent: %s", message);
	else
		log_debug("libevent: %s", message);
}

int loop_new(struct loop **ret)
{
	CLEANUP_FREE struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	event_set_log_callback(bridge_log);
	loop->base = event_base_new();
	if (!loop->base)
		return -ENOMEM;
	*ret = TAKE_POINTER(loop);
	return 0;
}

struct loop *loop_free(struct loop *loop)
{
	if (!loop)
		return NULL;
	event_base_free(loop->base);
	libevent_global_shutdown();
	free(loop);
	return NULL;
}

int loop_run(struct loop *loop)
{
	return event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY) < 0 ? -EIO : 0;
}

void loop_quit(struct loop *loop)
{
	event_base_loopbreak(loop->base);
}

void loop_turn(struct loop *loop)
{
	event_base_loop(loop->base, EVLOOP_NONBLOCK);
}

int64_t loop_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void on_watch(evutil_socket_t fd, short what, void *context)
{
	struct loop_watch *watch = context;

	(void)fd;
	watch->call(watch->context, (what & EV_READ ? LOOP_READ : 0U) | (what & EV_WRITE ? LOOP_WRITE : 0U));
}

int loop_watch_new(struct loop *loop, int fd, loop_watch_call call, void *context, struct loop_watch **ret)
{
	struct loop_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	*watch = (struct loop_watch){.call = call, .context = context};
	watch->read = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_watch, watch);
	watch->write = event_new(loop->base, fd, EV_WRITE | EV_PERSIST, on_watch, watch);
	if (!watch->read || !watch->write) {
		loop_watch_free(watch);
		return -ENOMEM;
	}
	*ret = watch;
	return 0;
}

static void watch_direction(struct event *event, bool wanted)
{
	if (wanted)
		event_add(event, NULL);
	else
		event_del(event);
}

void loop_watch_set(struct loop_watch *watch, unsigned interest)
{
	unsigned changed = watch->interest ^ interest;

	if (changed & LOOP_READ)
		watch_direction(watch->read, interest & LOOP_READ);
	if (changed & LOOP_WRITE)
		watch_direction(watch->write, interest & LOOP_WRITE);
	watch->interest = interest;
}

struct loop_watch *loop_watch_free(struct loop_watch *watch)
{
	if (!watch)
		return NULL;
	if (watch->read)
		event_free(watch->read);
	if (watch->write)
		event_free(watch->write);
	free(watch);
	return NULL;
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
	struct loop_timer *timer = context;

	(void)fd;
	(void)what;
	timer->call(timer->context);
}

int loop_timer_new(struct loop *loop, loop_timer_call call, void *context, struct loop_timer **ret)
{
	CLEANUP_FREE struct loop_timer *timer = calloc(1, sizeof(*timer));

	if (!timer)
		return -ENOMEM;
	*timer = (struct loop_timer){.call = call, .context = context};
	timer->event = evtimer_new(loop->base, on_timer, timer);
	if (!timer->event)
		return -ENOMEM;
	*ret = TAKE_POINTER(timer);
	return 0;
}

void loop_timer_set(struct loop_timer *timer, int64_t after_ns)
{
	// Rounded up: a timer that came early would only be set again.
	int64_t after_us = (MAX(after_ns, 0) + NSEC_PER_USEC - 1) / NSEC_PER_USEC;
	struct timeval after = {.tv_sec = after_us / 1000000, .tv_usec = after_us % 1000000};

	evtimer_add(timer->event, &after);
}

void loop_timer_clear(struct loop_timer *timer)
{
	evtimer_del(timer->event);
}

struct loop_timer *loop_timer_free(struct loop_timer *timer)
{
	if (!timer)
		return NULL;
	event_free(timer->event);
	free(timer);
	return NULL;
}
