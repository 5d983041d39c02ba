// SPDX-License-Identifier: GPL-3.0-or-later
/// The report's message about one occurrence, put together in memory that was taken at the session's start. Filled by
/// the executor as actions run, finished and handed to the recorder when they are done.
#ifndef CONDPROF_OCCURRENCE_H
#define CONDPROF_OCCURRENCE_H

#include "daemon/engine/verifier.h"
#include "daemon/scenario/scenario.h"
#include "proto/report.pb-c.h"

struct occurrence;
struct states;

/// Sized for the largest event of the scenario.
int occurrence_new(const struct scenario *scenario, struct occurrence **ret);
struct occurrence *occurrence_free(struct occurrence *occurrence);

/// Forgets the one before.
void occurrence_begin(struct occurrence *occurrence);

// The actions of the event, in order. NULL-safe: without a recorder there is no occurrence to fill.
void occurrence_action(struct occurrence *occurrence, Condprof__ActionKind kind);
void occurrence_action_position(struct occurrence *occurrence, int x, int y);
/// What it sends; copied, its beginning at least.
void occurrence_action_text(struct occurrence *occurrence, const char *text);
void occurrence_action_skipped(struct occurrence *occurrence);
void occurrence_action_duration(struct occurrence *occurrence, int64_t ns);
void occurrence_counter_change(struct occurrence *occurrence, uint32_t counter, double old_value, double new_value);
void occurrence_event_state_change(struct occurrence *occurrence, uint32_t event, bool enabled);

/// When things happened, ns since the session's start.
struct occurrence_times {
	int64_t detected_at_ns, done_at_ns, detecting_ns, checking_ns;
};

/// @param times NULL: not measured
/// @return the message, valid until the next begin
const Condprof__DebugReportMessage *occurrence_finish(struct occurrence *occurrence,
						      const struct verification *verification, int64_t pass,
						      const struct occurrence_times *times);

/// The first message of a report: every counter and its first value.
const Condprof__DebugReportMessage *occurrence_counters_init(struct occurrence *occurrence);

/// The same for a report that goes on where another one ended: the counters' values and the events' states as they are.
const Condprof__DebugReportMessage *occurrence_continued(struct occurrence *occurrence, const struct states *states);

#endif
