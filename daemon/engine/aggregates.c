// SPDX-License-Identifier: GPL-3.0-or-later
// Encoding of figures. Memory is taken here freely: none of this runs on the engine's thread.
#include "daemon/engine/aggregates.h"

#include "daemon/engine/detector.h"
#include "daemon/engine/processor.h"
#include "proto/limits.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static int pack(const ProtobufCMessage *message, uint8_t **ret, size_t *ret_size)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	uint8_t *data = malloc(MAX(size, (size_t)1));

	if (!data)
		return -ENOMEM;
	*ret_size = protobuf_c_message_pack(message, data);
	*ret = data;
	return 0;
}

/// A histogram message and the room for its buckets.
struct histogram_message {
	Condprof__Histogram message;
	int64_t buckets[HISTOGRAM_BUCKETS];
};

// @param ret points into itself
static void fill_histogram(const struct histogram *histogram, struct histogram_message *ret)
{
	uint32_t first = 0, end = HISTOGRAM_BUCKETS;

	while (first < end && !histogram->slots[1 + first])
		first++;
	while (end > first && !histogram->slots[end])
		end--;
	condprof__histogram__init(&ret->message);
	ret->message.has_zero = ret->message.has_first_bucket = ret->message.has_overflow = true;
	ret->message.zero = histogram->slots[0];
	ret->message.overflow = histogram->slots[HISTOGRAM_SLOTS - 1];
	ret->message.first_bucket = first < end ? (int32_t)first : 0;
	ret->message.n_buckets = end - first;
	ret->message.buckets = ret->buckets;
	memcpy(ret->buckets, &histogram->slots[1 + first], (end - first) * sizeof(int64_t));
}

// --- overview --------------------------------------------------------------------------------------------------------

static void fill_time(const struct session_figures *figures, Condprof__SessionTime *time)
{
	const int64_t *ns = figures->site_ns;

	condprof__session_time__init(time);
	time->has_duration_ns = time->has_frame_wait_ns = time->has_frame_get_ns = time->has_processing_ns =
		time->has_conditions_ns = time->has_actions_ns = time->has_pauses_ns = time->has_engine_ns =
			time->has_limiter_wait_ns = time->has_safety_wait_ns = time->has_report_wait_ns =
				time->has_other_ns = true;
	time->duration_ns = figures->duration_ns;
	time->frame_wait_ns = ns[TIME_FRAME_WAIT];
	time->frame_get_ns = ns[TIME_FRAME_GET];
	time->conditions_ns = ns[TIME_CONDITIONS];
	time->pauses_ns = ns[TIME_PAUSES];
	time->actions_ns = ns[TIME_ACTIONS] + ns[TIME_PAUSES];
	time->engine_ns = ns[TIME_ENGINE];
	time->processing_ns = time->conditions_ns + time->actions_ns + time->engine_ns;
	time->limiter_wait_ns = ns[TIME_LIMITER_WAIT];
	time->safety_wait_ns = ns[TIME_SAFETY_WAIT];
	time->report_wait_ns = ns[TIME_REPORT_WAIT];
	time->other_ns = ns[TIME_OTHER];
}

static void count_occurrences(const struct scenario *scenario, struct timing *timing, Condprof__DebugReportOverview *o)
{
	int64_t screen = 0, trigger = 0;

	for (uint32_t i = 0; i < scenario->n_events; i++) {
		struct event_figures figures;

		timing_event_figures(timing, i, &figures);
		*(scenario->events[i].trigger ? &trigger : &screen) += figures.fulfilled;
	}
	o->has_image_event_fulfilled_count = o->has_trigger_event_fulfilled_count = true;
	o->image_event_fulfilled_count = (int32_t)MIN(screen, (int64_t)INT32_MAX);
	o->trigger_event_fulfilled_count = (int32_t)MIN(trigger, (int64_t)INT32_MAX);
}

static void fill_ending(const struct overview_facts *facts, Condprof__DebugReportOverview *o)
{
	o->has_session_id = o->has_state = o->has_started_unix_ns = true;
	o->has_period_ns = o->has_lost_occurrences = o->has_dropped_occurrences = o->has_dropped_segments = true;
	o->session_id = facts->session_id;
	o->period_ns = facts->period_ns;
	o->state = facts->state;
	o->started_unix_ns = facts->started_unix_ns;
	o->lost_occurrences = facts->lost_occurrences;
	o->dropped_occurrences = facts->dropped_occurrences;
	o->dropped_segments = facts->dropped_segments;
	o->has_continues_session = facts->continues_session != 0;
	o->continues_session = facts->continues_session;
	o->has_continued_by = facts->continued_by != 0;
	o->continued_by = facts->continued_by;
	o->screen = (char *)(uintptr_t)facts->screen;
	o->input = (char *)(uintptr_t)facts->input;
	o->has_dry_run = facts->screen && facts->input;
	o->dry_run = facts->dry_run;
	if (!facts->ended)
		return;
	o->has_reason = o->has_result = o->has_ended_unix_ns = true;
	o->reason = facts->ending.reason;
	o->result = facts->ending.result;
	o->reason_text = (char *)facts->ending.text;
	o->ended_unix_ns = facts->ended_unix_ns;
}

struct recording_message {
	Condprof__Recording message;
	struct tape_figures figures;
};

static void fill_recording(struct tape *tape, struct recording_message *recording, Condprof__DebugReportOverview *o)
{
	Condprof__Recording *message = &recording->message;
	const struct tape_figures *figures = &recording->figures;

	if (!tape)
		return;
	tape_figures(tape, &recording->figures);
	condprof__recording__init(message);
	message->folder = (char *)tape_path(tape);
	message->has_passes = message->has_frames = message->has_bytes = message->has_dropped_frames =
		message->has_dropped_passes = true;
	message->passes = figures->passes;
	message->frames = figures->frames;
	message->bytes = figures->bytes;
	message->dropped_frames = figures->dropped_frames;
	message->dropped_passes = figures->dropped_passes;
	message->cut_short = *figures->cut_short ? (char *)figures->cut_short : NULL;
	o->recording = message;
}

static void fill_progress(const struct progress *progress, Condprof__DebugReportOverview *o)
{
	o->has_frames = o->has_missed_passes = true;
	o->frames = atomic_load_explicit(&progress->frames, memory_order_relaxed);
	o->missed_passes = atomic_load_explicit(&progress->missed, memory_order_relaxed);
	o->frame_width = atomic_load_explicit(&progress->frame_width, memory_order_relaxed);
	o->frame_height = atomic_load_explicit(&progress->frame_height, memory_order_relaxed);
	o->has_frame_width = o->has_frame_height = o->frame_width > 0;
}

static void fill_figures(const struct session_figures *figures, const Condprof__SessionTime *time,
			 Condprof__DebugReportOverview *o)
{
	int64_t passes = figures->passes;

	o->has_duration_ms = o->has_frame_count = o->has_average_frame_processing_duration_ms =
		o->has_active_detection_duration_ns = o->has_execution_limiter_wait_duration_ns = o->has_gap_count =
			true;
	o->duration_ms = figures->duration_ns / NSEC_PER_MSEC;
	o->frame_count = passes;
	o->average_frame_processing_duration_ms =
		passes ? (figures->pass_total_ns / passes + NSEC_PER_MSEC / 2) / NSEC_PER_MSEC : 0;
	o->active_detection_duration_ns = time->processing_ns;
	o->execution_limiter_wait_duration_ns = time->limiter_wait_ns;
	o->has_clock_pair_ns = figures->clock_pair_ns >= 0;
	o->clock_pair_ns = figures->clock_pair_ns;
	o->gap_count = figures->gap_count;
}

/// Everything an overview points to.
struct overview_parts {
	struct recording_message recording;
	struct session_figures figures;
	Condprof__SessionTime time;
	struct histogram_message lateness;
	Condprof__Gap gaps[GAPS_MAX], *gap_refs[GAPS_MAX];
	char **counter_names;
};

static int encode_overview(const struct scenario *scenario, struct overview_parts *parts, struct timing *timing,
			   const struct progress *progress, const struct overview_facts *facts, uint8_t **ret,
			   size_t *ret_size)
{
	Condprof__DebugReportOverview o = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT;

	timing_session_figures(timing, &parts->figures);
	fill_time(&parts->figures, &parts->time);
	fill_histogram(&parts->figures.lateness, &parts->lateness);
	for (uint32_t i = 0; i < parts->figures.n_gaps; i++) {
		condprof__gap__init(&parts->gaps[i]);
		parts->gaps[i].has_at_ns = parts->gaps[i].has_duration_ns = true;
		parts->gaps[i].at_ns = parts->figures.gaps[i].at_ns;
		parts->gaps[i].duration_ns = parts->figures.gaps[i].duration_ns;
		parts->gap_refs[i] = &parts->gaps[i];
	}
	for (uint32_t i = 0; i < scenario->n_counters; i++)
		parts->counter_names[i] = (char *)scenario->counters[i].name;

	o.has_scenario_id = true;
	o.scenario_id = scenario->id;
	o.scenario_name = (char *)scenario->name;
	o.n_counters_name = scenario->n_counters;
	o.counters_name = parts->counter_names;
	fill_figures(&parts->figures, &parts->time, &o);
	count_occurrences(scenario, timing, &o);
	fill_ending(facts, &o);
	fill_progress(progress, &o);
	fill_recording(facts->tape, &parts->recording, &o);
	o.time = &parts->time;
	o.n_gaps = parts->figures.n_gaps;
	o.gaps = parts->gap_refs;
	o.lateness = &parts->lateness.message;
	return pack(&o.base, ret, ret_size);
}

int overview_encode(const struct scenario *scenario, struct timing *timing, const struct progress *progress,
		    const struct overview_facts *facts, uint8_t **ret, size_t *ret_size)
{
	CLEANUP_FREE struct overview_parts *parts = calloc(1, sizeof(*parts));
	CLEANUP_FREE char **names = calloc(MAX(scenario->n_counters, 1U), sizeof(char *));

	if (!parts || !names)
		return -ENOMEM;
	parts->counter_names = names;
	return encode_overview(scenario, parts, timing, progress, facts, ret, ret_size);
}

// --- the closing message ---------------------------------------------------------------------------------------------

/// One condition's two messages.
struct condition_parts {
	Condprof__ConditionTiming timing;
	Condprof__ConditionDetail detail;
	Condprof__Histogram histogram;
	int64_t *buckets;
	char *why;
};

struct by_id {
	int64_t id;
	uint32_t index;
};

/// Everything the closing message points to. Arrays are in ascending order of ids.
struct closing_parts {
	struct by_id *condition_order, *event_order;
	struct condition_parts *conditions;
	Condprof__ConditionTiming **timing_refs;
	Condprof__ConditionDetail **detail_refs;
	Condprof__EventDetail *events, **event_refs;
	uint32_t n_conditions;
};

static int compare_ids(const void *a, const void *b)
{
	int64_t x = ((const struct by_id *)a)->id, y = ((const struct by_id *)b)->id;

	return (x > y) - (x < y);
}

static void closing_free(struct closing_parts *parts)
{
	for (uint32_t i = 0; parts->conditions && i < parts->n_conditions; i++) {
		free(parts->conditions[i].buckets);
		free(parts->conditions[i].why);
	}
	free(parts->condition_order);
	free(parts->event_order);
	free(parts->conditions);
	free(parts->timing_refs);
	free(parts->detail_refs);
	free(parts->events);
	free(parts->event_refs);
}

static bool closing_take(const struct scenario *scenario, struct closing_parts *parts)
{
	size_t conditions = MAX(scenario->n_conditions, 1U), events = MAX(scenario->n_events, 1U);

	*parts = (struct closing_parts){
		.condition_order = calloc(conditions, sizeof(struct by_id)),
		.event_order = calloc(events, sizeof(struct by_id)),
		.conditions = calloc(conditions, sizeof(struct condition_parts)),
		.timing_refs = calloc(conditions, sizeof(Condprof__ConditionTiming *)),
		.detail_refs = calloc(conditions, sizeof(Condprof__ConditionDetail *)),
		.events = calloc(events, sizeof(Condprof__EventDetail)),
		.event_refs = calloc(events, sizeof(Condprof__EventDetail *)),
		.n_conditions = scenario->n_conditions,
	};
	if (!parts->condition_order || !parts->event_order || !parts->conditions || !parts->timing_refs ||
	    !parts->detail_refs || !parts->events || !parts->event_refs)
		return false;
	for (uint32_t i = 0; i < scenario->n_conditions; i++)
		parts->condition_order[i] = (struct by_id){scenario->conditions[i].id, i};
	for (uint32_t i = 0; i < scenario->n_events; i++)
		parts->event_order[i] = (struct by_id){scenario->events[i].id, i};
	qsort(parts->condition_order, scenario->n_conditions, sizeof(struct by_id), compare_ids);
	qsort(parts->event_order, scenario->n_events, sizeof(struct by_id), compare_ids);
	return true;
}

static void fill_timing(const struct condition_figures *figures, int64_t id, Condprof__ConditionTiming *t)
{
	condprof__condition_timing__init(t);
	t->has_condition_id = t->has_check_count = t->has_fulfilled_count = t->has_total_duration_ns =
		t->has_min_duration_ns = t->has_max_duration_ns = true;
	t->condition_id = id;
	t->check_count = figures->checks;
	t->fulfilled_count = figures->fulfilled;
	t->total_duration_ns = figures->total_ns;
	t->min_duration_ns = figures->checks ? figures->min_ns : 0;
	t->max_duration_ns = figures->max_ns;
}

static void fill_detail(const struct condition_figures *figures, int64_t id, Condprof__ConditionDetail *d)
{
	condprof__condition_detail__init(d);
	d->has_condition_id = d->has_sum_of_squares_ns2 = d->has_reused_count = d->has_reused_duration_ns =
		d->has_shared_duration_ns = d->has_not_evaluable_count = d->has_short_circuited_count = true;
	d->condition_id = id;
	d->sum_of_squares_ns2 = figures->squares_ns2;
	d->has_max_pass = d->has_max_at_ns = figures->checks > 0;
	d->max_pass = figures->max_pass;
	d->max_at_ns = figures->max_at_ns;
	d->reused_count = figures->reused;
	d->reused_duration_ns = figures->reused_ns;
	d->shared_duration_ns = figures->shared_ns;
	d->not_evaluable_count = figures->not_evaluable;
	d->short_circuited_count = figures->short_circuited;
	d->has_match_left = d->has_match_top = d->has_match_right = d->has_match_bottom = d->has_match_frame_width =
		d->has_match_frame_height = figures->matches > 0;
	d->match_count = figures->matches;
	d->match_left = figures->match_bounds.left;
	d->match_top = figures->match_bounds.top;
	d->match_right = figures->match_bounds.right;
	d->match_bottom = figures->match_bounds.bottom;
	d->match_frame_width = figures->match_width;
	d->match_frame_height = figures->match_height;
	d->has_last_fulfilled = figures->checks > 0;
	d->last_fulfilled = figures->last.fulfilled;
	d->has_last_confidence = figures->checks > 0 && figures->last.has_confidence;
	d->last_confidence = figures->last.confidence;
	d->has_last_value = figures->checks > 0 && figures->last.has_value;
	d->last_value = figures->last.value;
}

// A copy of the buckets in use only: twenty thousand whole histograms would be 46 MB.
static int keep_histogram(const struct histogram *histogram, struct condition_parts *part)
{
	struct histogram_message whole;

	fill_histogram(histogram, &whole);
	part->histogram = whole.message;
	part->detail.histogram = &part->histogram;
	if (!whole.message.n_buckets)
		return 0;
	part->buckets = malloc(whole.message.n_buckets * sizeof(int64_t));
	if (!part->buckets)
		return -ENOMEM;
	memcpy(part->buckets, whole.buckets, whole.message.n_buckets * sizeof(int64_t));
	part->histogram.buckets = part->buckets;
	return 0;
}

static int fill_condition(const struct condition *condition, const struct condition_figures *figures,
			  struct condition_parts *part)
{
	fill_timing(figures, condition->id, &part->timing);
	fill_detail(figures, condition->id, &part->detail);
	part->detail.has_match_count = condition->kind == CONDITION_IMAGE;
	if (figures->not_evaluable) {
		char why[192];

		detector_why_not(condition, figures->frame_width, figures->frame_height, why, sizeof(why));
		part->why = strdup(why);
		if (!part->why)
			return -ENOMEM;
		part->detail.not_evaluable_why = part->why;
	}
	return keep_histogram(&figures->histogram, part);
}

static void fill_event(const struct event_figures *figures, int64_t id, Condprof__EventDetail *e)
{
	condprof__event_detail__init(e);
	e->has_event_id = e->has_evaluated = e->has_fulfilled = e->has_disabled = e->has_cooling_down =
		e->has_ended_before = e->has_detecting_ns = e->has_checking_ns = e->has_acting_ns = true;
	e->event_id = id;
	e->evaluated = figures->evaluated;
	e->fulfilled = figures->fulfilled;
	e->disabled = figures->not_reached[NOT_REACHED_DISABLED];
	e->cooling_down = figures->not_reached[NOT_REACHED_COOLING_DOWN];
	e->ended_before = figures->ended_before;
	e->has_first_ns = e->has_last_ns = figures->fulfilled > 0;
	e->first_ns = figures->first_ns;
	e->last_ns = figures->last_ns;
	e->detecting_ns = figures->detecting_ns;
	e->checking_ns = figures->checking_ns;
	e->acting_ns = figures->acting_ns;
}

static int fill_closing(const struct scenario *scenario, struct timing *timing, struct closing_parts *parts)
{
	for (uint32_t i = 0; i < scenario->n_conditions; i++) {
		uint32_t index = parts->condition_order[i].index;
		struct condition_figures figures;
		int r;

		timing_condition_figures(timing, index, &figures);
		r = fill_condition(&scenario->conditions[index], &figures, &parts->conditions[i]);
		if (r < 0)
			return r;
		parts->timing_refs[i] = &parts->conditions[i].timing;
		parts->detail_refs[i] = &parts->conditions[i].detail;
	}
	for (uint32_t i = 0; i < scenario->n_events; i++) {
		struct event_figures figures;

		timing_event_figures(timing, parts->event_order[i].index, &figures);
		fill_event(&figures, parts->event_order[i].id, &parts->events[i]);
		parts->event_refs[i] = &parts->events[i];
	}
	return 0;
}

static int encode_closing(const struct scenario *scenario, struct timing *timing, struct closing_parts *parts,
			  const struct session_figures *figures, uint8_t **ret, size_t *ret_size)
{
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	Condprof__ConditionProfile profile = CONDPROF__CONDITION_PROFILE__INIT;
	Condprof__ConditionDetails details = CONDPROF__CONDITION_DETAILS__INIT;
	struct histogram_message pass_time;
	int r;

	r = fill_closing(scenario, timing, parts);
	if (r < 0)
		return r;
	profile.n_conditions = details.n_conditions = scenario->n_conditions;
	profile.conditions = parts->timing_refs;
	details.conditions = parts->detail_refs;
	details.n_events = scenario->n_events;
	details.events = parts->event_refs;
	fill_histogram(&figures->pass_time, &pass_time);
	details.pass_time = &pass_time.message;
	details.has_pass_time_total_ns = true;
	details.pass_time_total_ns = figures->pass_total_ns;
	details.has_pass_time_min_ns = details.has_pass_time_max_ns = figures->passes > 0;
	details.pass_time_min_ns = figures->pass_min_ns;
	details.pass_time_max_ns = figures->pass_max_ns;
	message.has_relative_timestamp_ms = true;
	message.relative_timestamp_ms = figures->duration_ns / NSEC_PER_MSEC;
	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_CONDITION_PROFILE;
	message.condition_profile = &profile;
	message.condition_details = &details;
	return pack(&message.base, ret, ret_size);
}

int aggregates_encode(const struct scenario *scenario, struct timing *timing, uint8_t **ret, size_t *ret_size)
{
	CLEANUP_FREE struct session_figures *figures = calloc(1, sizeof(*figures));
	struct closing_parts parts;
	int r = -ENOMEM;

	if (!figures)
		return -ENOMEM;
	timing_session_figures(timing, figures);
	if (closing_take(scenario, &parts))
		r = encode_closing(scenario, timing, &parts, figures, ret, ret_size);
	closing_free(&parts);
	return r;
}

size_t aggregates_most_bytes(const struct scenario *scenario)
{
	// numbers of a message: at most 10 bytes and one or two of tag each. A bucket of 1e9 / 288 checks takes 4
	// bytes.
	size_t histogram = 4 * HISTOGRAM_BUCKETS + 48;
	size_t condition = 6 * 12 + 21 * 12 + 192 + histogram;
	size_t event = 11 * 12 + 8;
	size_t names = strlen(scenario->name) + REASON_TEXT_SIZE;

	for (uint32_t i = 0; i < scenario->n_counters; i++)
		names += strlen(scenario->counters[i].name) + 4;
	return scenario->n_conditions * condition + scenario->n_events * event + names + 2 * histogram + GAPS_MAX * 26 +
	       PATH_MAX + 2 * TEXT_MAX_BYTES + sizeof(struct tape_figures) + 1024;
}
