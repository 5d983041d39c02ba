// SPDX-License-Identifier: GPL-3.0-or-later
/// Checks an event's conditions in their order, until they have decided it. The boundary of every measured check is in
/// here: the clock is read immediately before the call for a condition and immediately after it.
#ifndef CONDPROF_VERIFIER_H
#define CONDPROF_VERIFIER_H

#include "daemon/engine/timing.h"
#include "daemon/picture/picture.h"

struct processor;

/// What a check of one condition came to.
struct outcome {
	struct check_result check;
	bool matched; ///< a screen condition that was found: where
	int x, y;     ///< centre, px of the frame
	struct rect place;
	int64_t duration_ns; ///< with timing
};

/// Of the event looked at last.
struct verification {
	struct outcome *outcomes; ///< as many as the largest event has conditions
	uint32_t event;
	uint32_t reached;         ///< conditions checked: the first so many
	int64_t begin_ns, end_ns; ///< with timing: before its first and after its last check
};

/// @return whether the event is fulfilled. processor->verification tells the rest; a fulfilled event's timers have been
///         set anew
bool verify_event(struct processor *processor, uint32_t event);

#endif
