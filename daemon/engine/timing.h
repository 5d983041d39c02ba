// SPDX-License-Identifier: GPL-3.0-or-later
/// The figures of one session: what docs/debug-report-performance-timing.md promises. One thread (the engine's) writes;
/// any thread may take a snapshot meanwhile: every field is an atomic access, and a sequence count a condition makes
/// its fields agree. All memory is taken by timing_new().
///
/// Session time. At every moment the session is at exactly one site; going to another one reads the clock once and
/// books what has passed to the one that is left. So the parts add up to the duration by construction, none can be
/// negative, and the two remainders (engine, other) are what lies between the measured sites.
#ifndef CONDPROF_TIMING_H
#define CONDPROF_TIMING_H

#include "daemon/engine/clock.h"
#include "daemon/scenario/scenario.h"

#define HISTOGRAM_BUCKETS 288U                   ///< 8 a power of two, 1 ns to 2^36 ns
#define HISTOGRAM_SLOTS (HISTOGRAM_BUCKETS + 2U) ///< [0] zero, [1 + i] bucket i, [last] overflow

/// The slot that counts a duration of `ns` >= 0: bucket i holds (2^(i/8), 2^((i+1)/8)], exactly; 1 ns is in bucket 0.
uint32_t histogram_slot(int64_t ns);

enum not_reached { NOT_REACHED_DISABLED, NOT_REACHED_COOLING_DOWN, NOT_REACHED_REASONS };

/// Where the session's time goes; each site is entered where it happens.
enum time_site {
	TIME_OTHER, ///< outside of passes: starting, ending, seams
	TIME_FRAME_WAIT,
	TIME_FRAME_GET,
	TIME_ENGINE,     ///< in a pass: walking events, states, recording
	TIME_CONDITIONS, ///< by timing_check_begin() only
	TIME_ACTIONS,    ///< all but the pauses
	TIME_PAUSES,
	TIME_LIMITER_WAIT,
	TIME_SAFETY_WAIT,
	TIME_REPORT_WAIT,
	TIME_SITES,
};

struct timing;

/// @param clock read from here on, by the engine's thread and by snapshots
int timing_new(const struct scenario *scenario, measuring_clock clock, struct timing **ret);
struct timing *timing_free(struct timing *timing);

// --- the engine's thread ---------------------------------------------------------------------------------------------

/// The session begins now, at TIME_OTHER; before, the cost of two reads of the clock is measured.
void timing_start(struct timing *timing);
/// The session is over now: snapshots stand still.
void timing_finish(struct timing *timing);

/// The figures of `from` end and those of `to`, a new one, begin: with one reading of the clock and at the same site,
/// so that no time is lost and none is counted twice. @return what the clock said
int64_t timing_continue(struct timing *from, struct timing *to);

/// Books what has passed and goes on at `site`. @return what the clock said, ns
int64_t timing_enter(struct timing *timing, enum time_site site);

/// What a check came to.
struct check_result {
	bool fulfilled;
	bool reused;         ///< nothing it looks at had changed
	bool has_confidence; ///< a screen condition's, where the check knows it
	bool has_value;      ///< a number condition's: a number was read
	double confidence, value;
};

/// Immediately before a verifier call. @return what the clock said
int64_t timing_check_begin(struct timing *timing);
/// Immediately after it returned; goes on at TIME_ENGINE. These two are the only clock reads around a check.
/// @param begin of timing_check_begin(); pass from 1
/// @return what the clock said
int64_t timing_check_end(struct timing *timing, uint32_t condition, int64_t begin, int64_t pass,
			 const struct check_result *result);
/// Of an earlier check of this condition, `ns` were preparation that another one now used too.
void timing_shared(struct timing *timing, uint32_t condition, int64_t ns);
/// The check just counted could not be evaluated on a frame of this size; the first such size is kept.
void timing_not_evaluable(struct timing *timing, uint32_t condition, int width, int height);

/// The check just counted found its image at `place`, on a frame of this size.
void timing_match(struct timing *timing, uint32_t condition, struct rect place, int width, int height);

void timing_event_evaluated(struct timing *timing, uint32_t event);
void timing_event_not_reached(struct timing *timing, uint32_t event, enum not_reached why);
/// The evaluation of an event was cut short by a stop: its conditions from `first_unreached` on were not decided
/// against.
void timing_event_abandoned(struct timing *timing, uint32_t event, uint32_t first_unreached);
/// The event was fulfilled and its actions are done, at `done` (as the clock said).
void timing_occurrence(struct timing *timing, uint32_t event, int64_t detecting_ns, int64_t checking_ns,
		       int64_t acting_ns, int64_t done);

/// A pass begins, at TIME_ENGINE.
void timing_pass_begin(struct timing *timing);
/// It ends, at TIME_OTHER. @param counted whether it is one for --passes
void timing_pass_end(struct timing *timing, bool counted);
/// A pass was begun so long after its deadline.
void timing_lateness(struct timing *timing, int64_t ns);
/// The device slept for `ns`; noticed now. @return when, since the session's start
int64_t timing_gap(struct timing *timing, int64_t ns);

int64_t timing_start_ns(const struct timing *timing); ///< what the clock said at the start

/// Any thread: the part of the tree that runs now counts no further than to this moment. For a session whose thread
/// hangs.
void timing_freeze(struct timing *timing);

// --- any thread ------------------------------------------------------------------------------------------------------

struct histogram {
	int64_t slots[HISTOGRAM_SLOTS];
};

struct condition_figures {
	int64_t checks, fulfilled;
	int64_t total_ns, min_ns, max_ns; ///< min, max: nothing when checks == 0
	int64_t max_pass, max_at_ns;      ///< the pass; when that check began, since the session's start
	double squares_ns2;
	int64_t reused, reused_ns;
	int64_t shared_ns;
	struct check_result last; ///< of the last check; nothing when checks == 0
	int64_t not_evaluable;
	int frame_width, frame_height; ///< of the first frame on which it wasn't
	int64_t short_circuited;       ///< its event was evaluated and decided before it
	int64_t matches;               ///< on frames of the size below; an earlier size's are forgotten
	struct rect match_bounds;      ///< around their places
	int match_width, match_height; ///< of the frames
	struct histogram histogram;    ///< adds up to checks
};

struct event_figures {
	int64_t evaluated, fulfilled;
	int64_t not_reached[NOT_REACHED_REASONS];
	int64_t ended_before;      ///< passes that ended, or had no frame, before its turn
	int64_t first_ns, last_ns; ///< actions done, since the session's start; nothing when fulfilled == 0
	int64_t detecting_ns, checking_ns, acting_ns;
};

#define GAPS_MAX 100U

struct gap {
	int64_t at_ns, duration_ns;
};

struct session_figures {
	int64_t duration_ns; ///< = the sum of site_ns, the wait in progress counted up to now
	int64_t site_ns[TIME_SITES];
	int64_t clock_pair_ns;            ///< below 0: not measured yet
	int64_t passes;                   ///< counted ones; one in progress is not
	int64_t pass_total_ns;            ///< their processing time
	int64_t pass_min_ns, pass_max_ns; ///< nothing when passes == 0
	struct histogram pass_time, lateness;
	int64_t gap_count;
	uint32_t n_gaps; ///< the first ones
	struct gap gaps[GAPS_MAX];
};

void timing_condition_figures(struct timing *timing, uint32_t condition, struct condition_figures *ret);
void timing_event_figures(struct timing *timing, uint32_t event, struct event_figures *ret);
void timing_session_figures(struct timing *timing, struct session_figures *ret);
int64_t timing_duration_ns(struct timing *timing); ///< session_figures' duration alone; 0: not started yet

#endif
