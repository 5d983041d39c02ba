// SPDX-License-Identifier: GPL-3.0-or-later
/// The control thread's event loop: descriptors and timers. loop.c is the only file that knows libevent, and everything
/// here is for the loop's own thread; other threads reach it by the mailbox. Nothing wakes the loop but a descriptor
/// that is ready or a timer that is set.
#ifndef CONDPROF_LOOP_H
#define CONDPROF_LOOP_H

#include "proto/base.h"

struct loop;
struct loop_watch;
struct loop_timer;

#define LOOP_READ 1U
#define LOOP_WRITE 2U

int loop_new(struct loop **ret);
/// After every watch and timer was freed.
struct loop *loop_free(struct loop *loop);
/// Runs until loop_quit(). @return 0, or -EIO
int loop_run(struct loop *loop);
void loop_quit(struct loop *loop);
/// One turn: what is ready now, without waiting.
void loop_turn(struct loop *loop);
/// CLOCK_MONOTONIC, ns.
int64_t loop_now_ns(void);

/// @param ready LOOP_READ and LOOP_WRITE; an error or a hangup of the descriptor counts as both
typedef void (*loop_watch_call)(void *context, unsigned ready);
/// Begins without interest. The descriptor stays the caller's and must outlive the watch.
int loop_watch_new(struct loop *loop, int fd, loop_watch_call call, void *context, struct loop_watch **ret);
/// @param interest LOOP_READ, LOOP_WRITE, both or 0. Costs nothing when unchanged.
void loop_watch_set(struct loop_watch *watch, unsigned interest);
struct loop_watch *loop_watch_free(struct loop_watch *watch);

typedef void (*loop_timer_call)(void *context);
int loop_timer_new(struct loop *loop, loop_timer_call call, void *context, struct loop_timer **ret);
/// Runs once, `after_ns` from now; 0: in the next turn, after the descriptors that are ready. Replaces an earlier time.
void loop_timer_set(struct loop_timer *timer, int64_t after_ns);
void loop_timer_clear(struct loop_timer *timer);
struct loop_timer *loop_timer_free(struct loop_timer *timer);

#endif
