// SPDX-License-Identifier: GPL-3.0-or-later
/// Rotating the reports of running sessions: asked for by a client, or every so often by the scenario or the
/// configuration. An entry's part of it is embedded in the entry. See rotation.c for its states.
#ifndef CONDPROF_CONTROL_ROTATION_H
#define CONDPROF_CONTROL_ROTATION_H

#include "daemon/control/exchange.h"
#include "daemon/control/loop.h"
#include "daemon/control/worker.h"

#include <stdatomic.h>

struct session_entry;
struct sessions;
struct closing;

/// One client that waits for a rotation.
struct rotation_request {
	LIST_ENTRY(rotation_request) link;
	struct exchange *exchange; ///< NULL: its client is gone
};
LIST_HEAD(rotation_requests, rotation_request);

enum rotation_state {
	ROTATION_IDLE,
	ROTATION_PREPARING, ///< the worker makes the next report
	ROTATION_ASKED,     ///< the engine goes on in it when its pass is done
	ROTATION_TAKEN,     ///< it has, and the worker's job is on its way back
};

struct session_rotation {
	enum rotation_state state;
	struct job job;
	struct {
		int result;
		struct error error;
		atomic_llong id; ///< 0: none; of a report that nobody may see yet
	} next;                  ///< by the job
	struct closing *closing; ///< memory for what follows, taken beforehand
	struct rotation_requests requests;

	// what reports are made from: by the job that made the first one
	uint8_t *scenario; ///< as kept; NULL: no reports
	size_t scenario_size, reserve_bytes;

	// every so often
	int64_t scenario_ns;      ///< by the scenario; 0: by the configuration
	int64_t begun_ns, due_ns; ///< boot-time clock: of the report; 0: never
	bool automatic;           ///< the rotation in progress is
	int timer_fd;             ///< -1: none
	struct loop_watch *timer;
};

void session_rotation_init(struct session_entry *entry);
void session_rotation_free(struct session_entry *entry);
/// The session makes passes from now on.
void session_rotation_started(struct session_entry *entry);
/// The session is no more: whoever waits for a rotation that did not come hears of it.
void session_rotation_over(struct session_entry *entry);

/// Begins a rotation, or joins the one that has not been taken yet; answers when the old report is closed.
/// @param exchange taken over on success
int session_entry_rotate(struct session_entry *entry, struct exchange *exchange, struct error *error);
/// What its mail `rotated` does.
void session_entry_on_rotated(struct mail *mail);

/// Whether a report of this id is being made for a rotation: there is no such session yet.
bool sessions_prepare(const struct sessions *sessions, int64_t id);
/// The configuration's interval may be another one.
void sessions_rotation_reloaded(struct sessions *sessions);

#endif
