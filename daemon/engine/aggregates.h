// SPDX-License-Identifier: GPL-3.0-or-later
/// Figures as the report keeps them: the overview, and the closing message with every condition's and event's. Made
/// while the engine runs (checkpoints, reports of a running session) or at the end; by any thread, never by the
/// engine's.
#ifndef CONDPROF_AGGREGATES_H
#define CONDPROF_AGGREGATES_H

#include "daemon/engine/ending.h"
#include "daemon/engine/timing.h"
#include "daemon/recording/tape.h"

struct progress;

/// What an overview says besides figures.
struct overview_facts {
	int64_t session_id;
	int64_t period_ns; ///< of the limiter; 0: unlimited
	Condprof__SessionState state;
	struct ending_reason ending; ///< told when `ended`
	bool ended;
	int64_t started_unix_ns, ended_unix_ns;
	int64_t lost_occurrences, dropped_occurrences, dropped_segments;
	int64_t continues_session, continued_by; ///< of a rotated run; 0: none
	struct tape *tape;                       ///< NULL: the run is not recorded
	const char *screen, *input;              ///< NULL: not told, and then `dry_run` isn't either
	bool dry_run;
};

/// @param ret packed DebugReportOverview, undelimited; the caller's
int overview_encode(const struct scenario *scenario, struct timing *timing, const struct progress *progress,
		    const struct overview_facts *facts, uint8_t **ret, size_t *ret_size);

/// @param ret packed DebugReportMessage with condition_profile and condition_details, undelimited; the caller's
int aggregates_encode(const struct scenario *scenario, struct timing *timing, uint8_t **ret, size_t *ret_size);

/// Bytes that the largest overview and closing message of this scenario can take together: every bucket of every
/// histogram in use, with a thousand million checks a condition.
size_t aggregates_most_bytes(const struct scenario *scenario);

#endif
