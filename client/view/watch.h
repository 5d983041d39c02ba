// SPDX-License-Identifier: GPL-3.0-or-later
/// A session as watch follows it: a row an interval for people and CSV, an object an interval in JSON.
#ifndef CONDPROF_VIEW_WATCH_H
#define CONDPROF_VIEW_WATCH_H

#include "client/render/render.h"
#include "client/report/interval.h"
#include "proto/control.pb-c.h"

/// What is known at the end of an interval.
struct watch_state {
	const Condprof__Session *session;
	const struct report *report; ///< the later snapshot
	struct interval interval;
	struct interval total; ///< since the session's start
	int64_t number;        ///< of the interval, from 1
};

/// Says what follows, and begins the table. Its head is written with the first row.
void view_watch_begin(struct render *render, const Condprof__Session *session, int64_t interval_ns);
void view_watch_row(struct render *render, const struct watch_state *state);
void view_watch_end(struct render *render);

/// {session, interval, conditions} on a line of its own. @return 0, -ENOMEM; errors of `out` stick to it
int view_watch_line(FILE *out, const struct watch_state *state);

#endif
