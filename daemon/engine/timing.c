// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of a session, updated in place by the engine's thread and read by others while it goes on.
//
// How readers get fields that agree: a writer makes the sequence odd, changes fields, makes it even again. A reader
// takes the sequence before and after; when it was odd or has changed, it tries again. All fields are atomics: the
// writer's stores release and the reader's loads acquire, which orders them against the sequence without fences (that
// ThreadSanitizer would not understand); on x86 these are plain moves. There is one writer, so that adding needs no
// locked instruction.
#include "daemon/engine/timing.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

typedef _Atomic int64_t figure;

#define READ(field) atomic_load_explicit(&(field), memory_order_acquire)
#define WRITE(field, value) atomic_store_explicit(&(field), (value), memory_order_release)
#define ADD(field, value) WRITE(field, atomic_load_explicit(&(field), memory_order_relaxed) + (value))

#define CACHE_LINE 64
#define NOT_RUNNING INT64_MIN // site_since before the start and after the end

// What every check touches is in the first cache line, and one bucket.
struct condition_slot {
	_Alignas(CACHE_LINE) _Atomic uint32_t sequence;
	_Atomic uint32_t last;                              // bits of the last check
	figure checks, total_ns, min_ns, max_ns, fulfilled; // max_ns: -1 before the first check
	_Atomic uint64_t squares_low, squares_high; // ns²: the sum of whole numbers, exact however many are added

	figure max_pass, max_begin, reused, reused_ns, shared_ns;
	figure not_evaluable;
	_Atomic int frame_width, frame_height;
	_Atomic double last_confidence, last_value; // where its bits say so

	figure matches;
	_Atomic int match_width, match_height, match_left, match_top, match_right, match_bottom;
	figure buckets[HISTOGRAM_SLOTS];
};

enum { LAST_FULFILLED = 1, LAST_REUSED = 2, LAST_CONFIDENCE = 4, LAST_VALUE = 8 };

static_assert(TIME_ENGINE < 5 && TIME_CONDITIONS < 5, "both beside site and site_since");

struct event_slot {
	_Atomic uint32_t sequence; // of what an occurrence changes
	figure fulfilled, first_ns, last_ns, detecting_ns, checking_ns, acting_ns;
	figure evaluated, not_reached[NOT_REACHED_REASONS]; // each true on its own
};

struct timing {
	const struct scenario *scenario;
	measuring_clock clock;
	figure start_ns, clock_pair_ns;
	figure frozen_ns; // 0: no
	struct condition_slot *conditions;
	struct event_slot *events;

	// a check's part of it in one cache line
	_Alignas(CACHE_LINE) _Atomic uint32_t site_sequence;
	figure site, site_since;
	figure site_ns[TIME_SITES];

	int64_t pass_processing_ns; // processing when the pass began; the engine's thread only
	_Atomic uint32_t pass_sequence;
	figure passes, pass_total_ns, pass_min_ns, pass_max_ns;
	figure pass_time[HISTOGRAM_SLOTS], lateness[HISTOGRAM_SLOTS];

	_Atomic uint32_t gap_sequence;
	figure gap_count, gap_at_ns[GAPS_MAX], gap_ns[GAPS_MAX];

	_Atomic uint32_t abandoned_event, abandoned_from; // once at most: it ends the session
};

// @return for write_end(): reading it back would wait for the store
static uint32_t write_begin(_Atomic uint32_t *sequence)
{
	uint32_t value = atomic_load_explicit(sequence, memory_order_relaxed);

	WRITE(*sequence, value + 1);
	return value + 2;
}

static void write_end(_Atomic uint32_t *sequence, uint32_t value)
{
	WRITE(*sequence, value);
}

// Waits for an even sequence. A writer that was preempted in between gets its turn by the yield.
static uint32_t read_begin(_Atomic uint32_t *sequence)
{
	uint32_t value;

	for (unsigned int tries = 0; (value = READ(*sequence)) & 1; tries++) {
		if (tries > 100)
			sched_yield();
	}
	return value;
}

static bool read_again(_Atomic uint32_t *sequence, uint32_t begin)
{
	return atomic_load_explicit(sequence, memory_order_relaxed) != begin;
}

// floor(2^(63 + k/8)): the bounds within a power of two, as far left as they go. An integer is above a bound exactly
// when it is above its floor, so comparing integers decides exactly.
#define BOUND_0 UINT64_C(0x8000000000000000)
#define BOUND_1 UINT64_C(0x8b95c1e3ea8bd6e6)
#define BOUND_2 UINT64_C(0x9837f0518db8a96f)
#define BOUND_3 UINT64_C(0xa5fed6a9b15138ea)
#define BOUND_4 UINT64_C(0xb504f333f9de6484)
#define BOUND_5 UINT64_C(0xc5672a115506dadd)
#define BOUND_6 UINT64_C(0xd744fccad69d6af4)
#define BOUND_7 UINT64_C(0xeac0c6e7dd24392e)

// For each sixteenth of a power of two: how many bounds lie below it, and the next one; none has two inside.
static const uint32_t bounds_below[16] = {0, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7, 8, 8};
static const uint64_t next_bound[16] = {
	BOUND_0, BOUND_1, BOUND_2, BOUND_2, BOUND_3, BOUND_4, BOUND_4,    BOUND_5,
	BOUND_5, BOUND_6, BOUND_6, BOUND_7, BOUND_7, BOUND_7, UINT64_MAX, UINT64_MAX,
};

uint32_t histogram_slot(int64_t ns)
{
	if (ns <= 1)
		return ns < 1 ? 0 : 1;
	if (ns > INT64_C(1) << 36)
		return HISTOGRAM_SLOTS - 1;

	uint32_t exponent = 63 - (uint32_t)__builtin_clzll((uint64_t)ns);
	uint64_t left = (uint64_t)ns << (63 - exponent);
	uint32_t sixteenth = left >> 59 & 15;

	return 8 * exponent + bounds_below[sixteenth] + (left > next_bound[sixteenth]);
}

int timing_new(const struct scenario *scenario, measuring_clock clock, struct timing **ret)
{
	struct timing *timing = aligned_alloc(CACHE_LINE, sizeof(*timing));

	if (!timing)
		return -ENOMEM;
	memset((void *)timing, 0, sizeof(*timing));
	timing->scenario = scenario;
	timing->clock = clock;
	timing->conditions = aligned_alloc(CACHE_LINE, MAX(scenario->n_conditions, 1U) * sizeof(*timing->conditions));
	timing->events = calloc(MAX(scenario->n_events, 1U), sizeof(*timing->events));
	if (!timing->conditions || !timing->events) {
		timing_free(timing);
		return -ENOMEM;
	}
	// written now, so that no check pays for a page's first use
	memset((void *)timing->conditions, 0, scenario->n_conditions * sizeof(*timing->conditions));
	for (uint32_t i = 0; i < scenario->n_conditions; i++) {
		WRITE(timing->conditions[i].min_ns, INT64_MAX);
		WRITE(timing->conditions[i].max_ns, -1);
	}
	WRITE(timing->pass_min_ns, INT64_MAX);
	WRITE(timing->site_since, NOT_RUNNING);
	WRITE(timing->clock_pair_ns, -1);
	WRITE(timing->abandoned_event, NO_INDEX);
	*ret = timing;
	return 0;
}

struct timing *timing_free(struct timing *timing)
{
	if (!timing)
		return NULL;
	free(timing->conditions);
	free(timing->events);
	free(timing);
	return NULL;
}

// What two reads cost: the best of a few rounds, because whatever disturbs one only adds.
static int64_t measure_clock_pair(measuring_clock clock)
{
	int64_t best = INT64_MAX;

	for (int round = 0; round < 5; round++) {
		int64_t begin = clock();

		for (int i = 0; i < 39; i++)
			clock();
		best = MIN(best, clock() - begin);
	}
	return best / 20;
}

void timing_start(struct timing *timing)
{
	WRITE(timing->clock_pair_ns, measure_clock_pair(timing->clock));

	int64_t now = timing->clock();

	WRITE(timing->start_ns, now);
	uint32_t sequence = write_begin(&timing->site_sequence);
	WRITE(timing->site, TIME_OTHER);
	WRITE(timing->site_since, now);
	write_end(&timing->site_sequence, sequence);
}

// Inlined into the two calls around a check, where a call more shows.
static inline __attribute__((always_inline)) int64_t go_to(struct timing *timing, enum time_site site)
{
	int64_t now = timing->clock();
	int64_t left = atomic_load_explicit(&timing->site, memory_order_relaxed);
	int64_t since = atomic_load_explicit(&timing->site_since, memory_order_relaxed);

	uint32_t sequence = write_begin(&timing->site_sequence);
	ADD(timing->site_ns[left], now - since);
	WRITE(timing->site, (int64_t)site);
	WRITE(timing->site_since, now);
	write_end(&timing->site_sequence, sequence);
	return now;
}

void timing_finish(struct timing *timing)
{
	timing_enter(timing, TIME_OTHER);
	uint32_t sequence = write_begin(&timing->site_sequence);
	WRITE(timing->site_since, NOT_RUNNING);
	write_end(&timing->site_sequence, sequence);
}

void timing_freeze(struct timing *timing)
{
	if (!READ(timing->frozen_ns))
		WRITE(timing->frozen_ns, timing->clock());
}

int64_t timing_continue(struct timing *from, struct timing *to)
{
	int64_t now = from->clock();
	int64_t site = atomic_load_explicit(&from->site, memory_order_relaxed);
	int64_t since = atomic_load_explicit(&from->site_since, memory_order_relaxed);
	uint32_t sequence;

	sequence = write_begin(&from->site_sequence);
	ADD(from->site_ns[site], now - since);
	WRITE(from->site_since, NOT_RUNNING);
	write_end(&from->site_sequence, sequence);

	WRITE(to->clock_pair_ns, READ(from->clock_pair_ns));
	WRITE(to->start_ns, now);
	sequence = write_begin(&to->site_sequence);
	WRITE(to->site, site);
	WRITE(to->site_since, now);
	write_end(&to->site_sequence, sequence);
	return now;
}

int64_t timing_enter(struct timing *timing, enum time_site site)
{
	return go_to(timing, site);
}

int64_t timing_check_begin(struct timing *timing)
{
	return go_to(timing, TIME_CONDITIONS);
}

static void add_square(struct condition_slot *slot, int64_t duration)
{
	unsigned __int128 sum = (unsigned __int128)(uint64_t)duration * (uint64_t)duration;

	sum += (unsigned __int128)atomic_load_explicit(&slot->squares_high, memory_order_relaxed) << 64 |
	       atomic_load_explicit(&slot->squares_low, memory_order_relaxed);
	WRITE(slot->squares_low, (uint64_t)sum);
	WRITE(slot->squares_high, (uint64_t)(sum >> 64));
}

static void count_check(struct condition_slot *slot, int64_t begin, int64_t duration, int64_t pass)
{
	ADD(slot->checks, 1);
	ADD(slot->total_ns, duration);
	add_square(slot, duration);
	if (duration < atomic_load_explicit(&slot->min_ns, memory_order_relaxed))
		WRITE(slot->min_ns, duration);
	if (duration > atomic_load_explicit(&slot->max_ns, memory_order_relaxed)) {
		WRITE(slot->max_ns, duration);
		WRITE(slot->max_pass, pass);
		WRITE(slot->max_begin, begin);
	}
	ADD(slot->buckets[histogram_slot(duration)], 1);
}

static void keep_last(struct condition_slot *slot, const struct check_result *result)
{
	uint32_t bits = (result->fulfilled ? LAST_FULFILLED : 0U) | (result->reused ? LAST_REUSED : 0U) |
			(result->has_confidence ? LAST_CONFIDENCE : 0U) | (result->has_value ? LAST_VALUE : 0U);

	WRITE(slot->last, bits);
	if (result->has_confidence)
		WRITE(slot->last_confidence, result->confidence);
	if (result->has_value)
		WRITE(slot->last_value, result->value);
}

int64_t timing_check_end(struct timing *timing, uint32_t condition, int64_t begin, int64_t pass,
			 const struct check_result *result)
{
	int64_t end = go_to(timing, TIME_ENGINE);
	struct condition_slot *slot = &timing->conditions[condition];

	uint32_t sequence = write_begin(&slot->sequence);
	count_check(slot, begin, end - begin, pass);
	if (result->fulfilled)
		ADD(slot->fulfilled, 1);
	if (result->reused) {
		ADD(slot->reused, 1);
		ADD(slot->reused_ns, end - begin);
	}
	keep_last(slot, result);
	write_end(&slot->sequence, sequence);
	return end;
}

void timing_shared(struct timing *timing, uint32_t condition, int64_t ns)
{
	struct condition_slot *slot = &timing->conditions[condition];

	uint32_t sequence = write_begin(&slot->sequence);
	ADD(slot->shared_ns, ns);
	write_end(&slot->sequence, sequence);
}

void timing_not_evaluable(struct timing *timing, uint32_t condition, int width, int height)
{
	struct condition_slot *slot = &timing->conditions[condition];

	uint32_t sequence = write_begin(&slot->sequence);
	if (!atomic_load_explicit(&slot->not_evaluable, memory_order_relaxed)) {
		WRITE(slot->frame_width, width);
		WRITE(slot->frame_height, height);
	}
	ADD(slot->not_evaluable, 1);
	write_end(&slot->sequence, sequence);
}

static int peek(const _Atomic int *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

void timing_match(struct timing *timing, uint32_t condition, struct rect place, int width, int height)
{
	struct condition_slot *slot = &timing->conditions[condition];
	bool anew = peek(&slot->match_width) != width || peek(&slot->match_height) != height;

	uint32_t sequence = write_begin(&slot->sequence);
	if (anew) {
		WRITE(slot->match_width, width);
		WRITE(slot->match_height, height);
		WRITE(slot->matches, 0);
	}
	if (anew || place.left < peek(&slot->match_left))
		WRITE(slot->match_left, place.left);
	if (anew || place.top < peek(&slot->match_top))
		WRITE(slot->match_top, place.top);
	if (anew || place.right > peek(&slot->match_right))
		WRITE(slot->match_right, place.right);
	if (anew || place.bottom > peek(&slot->match_bottom))
		WRITE(slot->match_bottom, place.bottom);
	ADD(slot->matches, 1);
	write_end(&slot->sequence, sequence);
}

void timing_event_evaluated(struct timing *timing, uint32_t event)
{
	ADD(timing->events[event].evaluated, 1);
}

void timing_event_not_reached(struct timing *timing, uint32_t event, enum not_reached why)
{
	ADD(timing->events[event].not_reached[why], 1);
}

void timing_event_abandoned(struct timing *timing, uint32_t event, uint32_t first_unreached)
{
	WRITE(timing->abandoned_from, first_unreached);
	WRITE(timing->abandoned_event, event);
}

void timing_occurrence(struct timing *timing, uint32_t event, int64_t detecting_ns, int64_t checking_ns,
		       int64_t acting_ns, int64_t done)
{
	struct event_slot *slot = &timing->events[event];
	int64_t at = done - timing_start_ns(timing);

	uint32_t sequence = write_begin(&slot->sequence);
	if (!atomic_load_explicit(&slot->fulfilled, memory_order_relaxed))
		WRITE(slot->first_ns, at);
	WRITE(slot->last_ns, at);
	ADD(slot->fulfilled, 1);
	ADD(slot->detecting_ns, detecting_ns);
	ADD(slot->checking_ns, checking_ns);
	ADD(slot->acting_ns, acting_ns);
	write_end(&slot->sequence, sequence);
}

static int64_t processing(const struct timing *timing)
{
	return READ(timing->site_ns[TIME_ENGINE]) + READ(timing->site_ns[TIME_CONDITIONS]) +
	       READ(timing->site_ns[TIME_ACTIONS]) + READ(timing->site_ns[TIME_PAUSES]);
}

void timing_pass_begin(struct timing *timing)
{
	timing_enter(timing, TIME_ENGINE);
	timing->pass_processing_ns = processing(timing);
}

void timing_pass_end(struct timing *timing, bool counted)
{
	timing_enter(timing, TIME_OTHER);
	if (!counted)
		return;

	int64_t ns = processing(timing) - timing->pass_processing_ns;

	uint32_t sequence = write_begin(&timing->pass_sequence);
	ADD(timing->passes, 1);
	ADD(timing->pass_total_ns, ns);
	if (ns < atomic_load_explicit(&timing->pass_min_ns, memory_order_relaxed))
		WRITE(timing->pass_min_ns, ns);
	if (ns > atomic_load_explicit(&timing->pass_max_ns, memory_order_relaxed))
		WRITE(timing->pass_max_ns, ns);
	ADD(timing->pass_time[histogram_slot(ns)], 1);
	write_end(&timing->pass_sequence, sequence);
}

void timing_lateness(struct timing *timing, int64_t ns)
{
	ADD(timing->lateness[histogram_slot(ns)], 1);
}

int64_t timing_gap(struct timing *timing, int64_t ns)
{
	int64_t at = timing->clock() - timing_start_ns(timing);
	int64_t count = atomic_load_explicit(&timing->gap_count, memory_order_relaxed);

	uint32_t sequence = write_begin(&timing->gap_sequence);
	if (count < GAPS_MAX) {
		WRITE(timing->gap_at_ns[count], at);
		WRITE(timing->gap_ns[count], ns);
	}
	WRITE(timing->gap_count, count + 1);
	write_end(&timing->gap_sequence, sequence);
	return at;
}

int64_t timing_start_ns(const struct timing *timing)
{
	return READ(timing->start_ns);
}

// --- any thread ------------------------------------------------------------------------------------------------------

static void read_histogram(const figure *slots, struct histogram *ret)
{
	for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++)
		ret->slots[i] = READ(slots[i]);
}

static void read_last(const struct condition_slot *slot, struct check_result *ret)
{
	uint32_t bits = READ(slot->last);

	*ret = (struct check_result){
		.fulfilled = bits & LAST_FULFILLED,
		.reused = bits & LAST_REUSED,
		.has_confidence = bits & LAST_CONFIDENCE,
		.has_value = bits & LAST_VALUE,
		.confidence = READ(slot->last_confidence),
		.value = READ(slot->last_value),
	};
}

static void read_condition(const struct timing *timing, const struct condition_slot *slot,
			   struct condition_figures *ret)
{
	ret->checks = READ(slot->checks);
	ret->fulfilled = READ(slot->fulfilled);
	ret->total_ns = READ(slot->total_ns);
	ret->min_ns = READ(slot->min_ns);
	ret->max_ns = MAX(READ(slot->max_ns), 0);
	ret->max_pass = READ(slot->max_pass);
	ret->max_at_ns = READ(slot->max_begin) - timing_start_ns(timing);
	ret->squares_ns2 = (double)((unsigned __int128)READ(slot->squares_high) << 64 | READ(slot->squares_low));
	ret->reused = READ(slot->reused);
	ret->reused_ns = READ(slot->reused_ns);
	ret->shared_ns = READ(slot->shared_ns);
	read_last(slot, &ret->last);
	ret->not_evaluable = READ(slot->not_evaluable);
	ret->frame_width = READ(slot->frame_width);
	ret->frame_height = READ(slot->frame_height);
	ret->matches = READ(slot->matches);
	ret->match_width = READ(slot->match_width);
	ret->match_height = READ(slot->match_height);
	ret->match_bounds = (struct rect){READ(slot->match_left), READ(slot->match_top), READ(slot->match_right),
					  READ(slot->match_bottom)};
	read_histogram(slot->buckets, &ret->histogram);
}

// Evaluations of its event less its own checks; of an evaluation in progress it may be one too many.
static int64_t short_circuited(struct timing *timing, uint32_t condition, int64_t evaluated, int64_t checks)
{
	uint32_t event = timing->scenario->conditions[condition].event;

	if (READ(timing->abandoned_event) == event && condition >= READ(timing->abandoned_from))
		evaluated--;
	return MAX(evaluated - checks, 0);
}

void timing_condition_figures(struct timing *timing, uint32_t condition, struct condition_figures *ret)
{
	struct condition_slot *slot = &timing->conditions[condition];
	struct event_slot *event = &timing->events[timing->scenario->conditions[condition].event];
	int64_t evaluated;
	uint32_t sequence;
	int tries = 0;

	do {
		evaluated = READ(event->evaluated);
		sequence = read_begin(&slot->sequence);
		read_condition(timing, slot, ret);
		// the event's count is outside of the sequence: asked for again when it went on meanwhile, but not for
		// ever
	} while (read_again(&slot->sequence, sequence) || (READ(event->evaluated) != evaluated && tries++ < 10));
	ret->short_circuited = short_circuited(timing, condition, evaluated, ret->checks);
}

void timing_event_figures(struct timing *timing, uint32_t event, struct event_figures *ret)
{
	struct event_slot *slot = &timing->events[event];
	uint32_t sequence;

	do {
		sequence = read_begin(&slot->sequence);
		ret->fulfilled = READ(slot->fulfilled);
		ret->first_ns = READ(slot->first_ns);
		ret->last_ns = READ(slot->last_ns);
		ret->detecting_ns = READ(slot->detecting_ns);
		ret->checking_ns = READ(slot->checking_ns);
		ret->acting_ns = READ(slot->acting_ns);
	} while (read_again(&slot->sequence, sequence));
	ret->evaluated = READ(slot->evaluated);
	for (int i = 0; i < NOT_REACHED_REASONS; i++)
		ret->not_reached[i] = READ(slot->not_reached[i]);
	// every counted pass is one of the four; of a pass in progress the other three may be known already
	ret->ended_before = READ(timing->passes) - ret->evaluated;
	for (int i = 0; i < NOT_REACHED_REASONS; i++)
		ret->ended_before -= ret->not_reached[i];
	ret->ended_before = MAX(ret->ended_before, 0);
}

// Of the part that began at `since`. A thread that came back after the freeze may have begun one later than that.
static int64_t in_progress(struct timing *timing, int64_t since)
{
	int64_t frozen_ns = READ(timing->frozen_ns);

	// the clock is read after `since` was, so it cannot be before it
	return frozen_ns ? MAX(frozen_ns - since, 0) : timing->clock() - since;
}

// @return their sum
static int64_t read_sites(struct timing *timing, int64_t site_ns[TIME_SITES])
{
	int64_t sum = 0;
	int64_t site, since;
	uint32_t sequence;

	do {
		sequence = read_begin(&timing->site_sequence);
		for (int i = 0; i < TIME_SITES; i++)
			site_ns[i] = READ(timing->site_ns[i]);
		site = READ(timing->site);
		since = READ(timing->site_since);
	} while (read_again(&timing->site_sequence, sequence));

	if (since != NOT_RUNNING)
		site_ns[site] += in_progress(timing, since);
	for (int i = 0; i < TIME_SITES; i++)
		sum += site_ns[i];
	return sum;
}

int64_t timing_duration_ns(struct timing *timing)
{
	int64_t site_ns[TIME_SITES];

	return read_sites(timing, site_ns);
}

static void read_passes(struct timing *timing, struct session_figures *ret)
{
	uint32_t sequence;

	do {
		sequence = read_begin(&timing->pass_sequence);
		ret->passes = READ(timing->passes);
		ret->pass_total_ns = READ(timing->pass_total_ns);
		ret->pass_min_ns = READ(timing->pass_min_ns);
		ret->pass_max_ns = READ(timing->pass_max_ns);
		read_histogram(timing->pass_time, &ret->pass_time);
	} while (read_again(&timing->pass_sequence, sequence));
	read_histogram(timing->lateness, &ret->lateness);
}

static void read_gaps(struct timing *timing, struct session_figures *ret)
{
	uint32_t sequence;

	do {
		sequence = read_begin(&timing->gap_sequence);
		ret->gap_count = READ(timing->gap_count);
		ret->n_gaps = (uint32_t)MIN(ret->gap_count, (int64_t)GAPS_MAX);
		for (uint32_t i = 0; i < ret->n_gaps; i++)
			ret->gaps[i] = (struct gap){READ(timing->gap_at_ns[i]), READ(timing->gap_ns[i])};
	} while (read_again(&timing->gap_sequence, sequence));
}

void timing_session_figures(struct timing *timing, struct session_figures *ret)
{
	ret->duration_ns = read_sites(timing, ret->site_ns);
	read_passes(timing, ret);
	read_gaps(timing, ret);
	ret->clock_pair_ns = READ(timing->clock_pair_ns);
}
