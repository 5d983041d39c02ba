// SPDX-License-Identifier: GPL-3.0-or-later
/// A session from inside: what its thread and the calls of others share.
#ifndef CONDPROF_SESSION_INTERNAL_H
#define CONDPROF_SESSION_INTERNAL_H

#include "daemon/engine/guard.h"
#include "daemon/engine/processor.h"
#include "daemon/engine/session.h"
#include "daemon/engine/session_report.h"

enum phase { OPENING, RUNNING, CLOSING, ENDED, OPEN_FAILED };

struct session {
	struct session_params p;
	struct scenario *scenario;
	char *screen_uri, *input_uri;
	char *record; // folder; NULL: it is not recorded
	pthread_t thread;
	struct ending ending;
	_Atomic int phase;

	struct engine_clock clock;
	struct detector *detector;
	struct screen *screen;
	struct input *input; // a guarded one
	struct gate recorder_gate;
	struct processor *processor;
	struct session_run run;
	struct session_report *_Atomic report;   // the one it writes to, or would
	struct session_report *_Atomic previous; // rotated and not closed yet; NULL: none
	_Atomic uint64_t looks;                  // of session_live(), during waits
	_Atomic bool abandoned;
	_Atomic int references; // when abandoned: its thread's, and session_free()'s
	struct error error;     // why opening failed: final with the phase
};

/// Everything up to the first pass, on the session's thread: screen, input, recording, figures, D-Bus, report. What was
/// opened until something failed stays the session's.
int session_open(struct session *session, struct error *error);

#endif
