// SPDX-License-Identifier: GPL-3.0-or-later
/// The engine below the session: passes over a scenario, on whatever clock, screen, input and detector it is given. One
/// thread runs it; what others may read or ask for is said to be so. Everything is allocated by processor_new(): a pass
/// allocates nothing, locks nothing and makes no system call but the waits, the source's and the input's own, and one
/// to wake the writer for an occurrence or the bus thread for what an action sends.
///
/// timing and recorder are two switches: either may be NULL. Without timing the measuring clock isn't read.
#ifndef CONDPROF_PROCESSOR_H
#define CONDPROF_PROCESSOR_H

#include "daemon/engine/clock.h"
#include "daemon/engine/detector.h"
#include "daemon/engine/ending.h"
#include "daemon/engine/guard.h"
#include "daemon/engine/limiter.h"
#include "daemon/engine/messenger.h"
#include "daemon/engine/occurrence.h"
#include "daemon/engine/rerun.h"
#include "daemon/engine/rotation.h"
#include "daemon/engine/states.h"
#include "daemon/engine/timing.h"
#include "daemon/engine/verifier.h"
#include "daemon/input/input.h"
#include "daemon/report/recorder.h"
#include "daemon/screen/screen.h"
#include "daemon/secret/secret.h"
#include "proto/limits.h"

/// All but period, limits and switches must outlive the processor.
struct processor_params {
	const struct scenario *scenario;
	struct engine_clock *clock;
	struct detector *detector;
	struct screen *screen;
	struct input *input;
	struct ending *ending;
	const struct secrets *secrets;       ///< what scenario types by name; NULL: none
	struct messenger *messenger;         ///< NULL: signals and notifications go nowhere
	struct timing *timing;               ///< NULL: nothing is measured
	struct recorder *recorder;           ///< NULL: no occurrences
	struct tape *tape;                   ///< NULL: the run is not recorded
	struct gate *recorder_gate;          ///< entered for each call of the recorder; NULL: nobody takes it away
	suspend_clock suspend;               ///< looked at once a pass, with timing; NULL: gaps aren't looked for
	int64_t session_id;                  ///< for the journal
	int64_t period_ns;                   ///< 0: unlimited
	int64_t max_passes, max_duration_ns; ///< 0: no end
	uint64_t random_seed;
	bool dry_run;
	bool records; ///< a recorder comes before processor_start(): takes memory for occurrences
};

/// What other threads may see, each figure true on its own.
struct progress {
	_Atomic int64_t passes;                ///< counted ones
	_Atomic int64_t missed;                ///< deadlines of the limiter
	_Atomic int64_t frames;                ///< pictures taken from the source
	_Atomic int frame_width, frame_height; ///< of the last one; 0: none yet
	_Atomic uint64_t steps;                ///< changes with every pass, check begun and wait
	_Atomic bool waiting;                  ///< in a wait that a stop ends: nothing is stuck
	_Atomic uint32_t checking;             ///< the condition checked last; NO_INDEX: none yet
};

struct processor {
	struct processor_params p;
	struct progress progress;
	struct states states;
	struct limiter limiter;
	struct verification verification;
	struct occurrence *occurrence; ///< NULL without a recorder

	struct rotation rotation;
	struct rerun rerun_memory;
	struct rerun *rerun;        ///< NULL: nothing is recorded, and no recording is played
	struct engine_clock *clock; ///< of decisions

	int64_t pass;          ///< the one that runs, from 1 in every report
	int64_t passes_before; ///< of the run, in the reports before this one
	int64_t end_ns;        ///< on the engine clock; INT64_MAX: no end
	struct frame frame;
	bool frame_usable;                   ///< this pass has a picture
	int detector_width, detector_height; ///< px it is ready for; 0: none yet
	bool *not_evaluable_said;            ///< a condition: its journal line is written

	int64_t previous_done_ns; ///< measuring clock: the last occurrence, or the start
	int64_t suspended_ns;     ///< suspend clock, as last seen
	uint64_t random;
	struct point *swipe_points;    ///< of the action that runs; as many as the longest swipe has
	char text[8 * TEXT_MAX_BYTES]; ///< of the action that runs: a counter of 3 bytes becomes 22 at most
};

int processor_new(const struct processor_params *params, struct processor **ret);
struct processor *processor_free(struct processor *processor);

/// Gets the detector ready, where the screen knows its size already; else the first frame does.
int processor_prepare(struct processor *processor, struct error *error);

/// The session begins: timers, limiter and time limit count from here, and the recorder gets the counters' first
/// values.
void processor_start(struct processor *processor);

/// One pass, steps 1 to 5. @return whether another one is to follow; if not, the ending has a reason
bool processor_pass(struct processor *processor);

/// Step 6: holds the loop to its rate. @return false: the session ends
bool processor_limit(struct processor *processor);

/// Start, passes and limiter until the end; then everything held is released.
void processor_run(struct processor *processor);

/// Any thread. @return whether the scenario waits for it
bool processor_emit(struct processor *processor, const char *broadcast);
/// Any thread: a broadcast came by its bus. @param broadcast its index
void processor_receive(struct processor *processor, uint32_t broadcast);

// --- for the other files of this folder ------------------------------------------------------------------------------

/// Whether the session is to end, by a stop or its time limit.
bool processor_ending(struct processor *processor);
/// The same, by a stop alone.
static inline bool processor_stopping(struct processor *processor)
{
	bool seen = ending_requested(processor->p.ending);

	return processor->rerun ? rerun_look(processor, seen) : seen;
}
/// Ends the session for a reason that always has the same result.
void processor_end(struct processor *processor, Condprof__EndReason reason, const char *text);

/// The time that a decision goes by.
static inline int64_t processor_decides_at(struct processor *processor)
{
	return engine_clock_now(processor->clock);
}

/// Waits on the engine clock until a deadline, the session's end or a stop. @return whether the deadline was reached
bool processor_wait(struct processor *processor, int64_t deadline_ns);

static inline int64_t processor_enter(struct processor *processor, enum time_site site)
{
	return processor->p.timing ? timing_enter(processor->p.timing, site) : 0;
}

static inline void processor_step(struct processor *processor)
{
	uint64_t steps = atomic_load_explicit(&processor->progress.steps, memory_order_relaxed);

	atomic_store_explicit(&processor->progress.steps, steps + 1, memory_order_relaxed);
}

/// Around work that a stop ends at once, however long it takes.
void processor_set_waiting(struct processor *processor, bool waiting);

static inline void progress_add(_Atomic int64_t *figure, int64_t value)
{
	int64_t now = atomic_load_explicit(figure, memory_order_relaxed);

	atomic_store_explicit(figure, now + value, memory_order_relaxed);
}

#endif
