// SPDX-License-Identifier: GPL-3.0-or-later
/// What makes a run repeatable. A run's decisions hang on its frames, on broadcasts, on random numbers, and on two
/// things of no order: what time it was each time a decision asked, and when its end was noticed. A recorded run tells
/// all of that to a tape as it happens; a run that plays a recording takes it from there instead of from the clock, and
/// so decides the same, as fast as it can. Neither kind changes what a run does otherwise.
///
/// Decisions ask a clock of their own (processor_decides_at() and the states' clock); limiter, time limit and frame
/// waits ask the engine clock. Looks at the end are counted, within a pass: a recording says at which one it was seen.
#ifndef CONDPROF_RERUN_H
#define CONDPROF_RERUN_H

#include "daemon/engine/clock.h"
#include "daemon/recording/tape.h"
#include "daemon/screen/screen.h"

struct processor;

/// The processor's part.
struct rerun {
	struct engine_clock clock; ///< of the decisions
	struct engine_clock *real; ///< the engine clock
	struct tape *tape;         ///< NULL: nothing is recorded
	bool plays;                ///< a recording
	struct screen_pass pass;   ///< with plays: the one that runs
	size_t next_reference;     ///< of it
	int64_t last_ns;           ///< with plays: the last time given; since the session's start
	int64_t start_ns;          ///< with a tape: the engine clock at the session's start
	bool started;
	int64_t turns;          ///< of the loop, begun
	uint32_t looks, checks; ///< in this pass
	uint32_t stopped_check; ///< the check that the end stopped midway, from 1
	bool stop_told;
};

/// @param tape NULL: nothing is recorded. @return whether this run is of one of the two kinds
bool rerun_init(struct rerun *rerun, struct engine_clock *real, struct tape *tape, const struct screen *screen);

/// The engine's thread. Before the first pass, around what is decided there.
bool rerun_start(struct processor *processor);
void rerun_started(struct processor *processor);
/// A pass begins; with plays it is fetched. @return false: the session ends, for the reason that it now has
bool rerun_pass(struct processor *processor);
void rerun_pass_end(struct processor *processor);
/// The end was looked at, and this seen. @return what counts
bool rerun_look(struct processor *processor, bool seen);
/// A check of a screen condition begins. @return true: in the run that is played the end stopped it midway
bool rerun_stops_check(struct processor *processor);
/// The end stopped the check that was begun last.
void rerun_check_stopped(struct processor *processor);
/// The pass's frame or a refresh's. @param frame NULL: there was none
void rerun_frame(struct processor *processor, const struct frame *frame);
/// Whether the pass that is played looks for a frame at all.
bool rerun_looks_for_frame(const struct rerun *rerun);
/// Around states_take_broadcasts().
void rerun_receive(struct processor *processor);
void rerun_received(struct processor *processor);

#endif
