// SPDX-License-Identifier: GPL-3.0-or-later
//
// Decodes scenario, overview and aggregates, and joins them. All of it may come from a file that somebody sent: ids may
// repeat or be unknown, counts negative, sums too large, parts missing. A damaged part counts as missing and is noted.
#include "config.h"

#include "client/report/report.h"

#include "client/report/histogram.h"
#include "client/report/occurrence.h"
#include "proto/frame.h"
#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PART_MAX_BYTES (256U * 1024U * 1024U)
#define UNPACKED_MAX_BYTES (256U * 1024U * 1024U)
#define UNPACKED_MAX_ALLOCATIONS 2000000U
#define UNKNOWN_NAME_SIZE 24U

/// The bytes of scenario, overview and aggregates, as they come.
struct part_bytes {
	uint8_t *data;
	size_t size, capacity;
	bool too_large;
};
#define PARTS_KEPT CONDPROF__REPORT_PART__PART_MESSAGES

static int64_t add_saturated(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t ms_to_ns(int64_t ms)
{
	int64_t ns;

	return __builtin_mul_overflow(ms, NSEC_PER_MSEC, &ns) ? INT64_MAX : ns;
}

static const char *condition_kind(const Condprof__Condition *condition)
{
	switch (condition->kind_case) {
	case CONDPROF__CONDITION__KIND_IMAGE:
		return "image";
	case CONDPROF__CONDITION__KIND_COLOR:
		return "color";
	case CONDPROF__CONDITION__KIND_TEXT:
		return "text";
	case CONDPROF__CONDITION__KIND_NUMBER:
		return "number";
	case CONDPROF__CONDITION__KIND_TIMER:
		return "timer";
	case CONDPROF__CONDITION__KIND_COUNTER:
		return "counter";
	case CONDPROF__CONDITION__KIND_BROADCAST:
		return "broadcast";
	default:
		return NULL;
	}
}

// --- reading ---------------------------------------------------------------------------------------------------------

static int keep_piece(struct part_bytes *part, const uint8_t *data, size_t size)
{
	if (part->too_large || size > PART_MAX_BYTES - part->size) {
		part->too_large = true;
		return 0;
	}
	if (size > part->capacity - part->size) {
		size_t capacity = MAX(2 * part->capacity, part->size + size);
		uint8_t *bigger = realloc(part->data, capacity);

		if (!bigger)
			return -ENOMEM;
		part->data = bigger;
		part->capacity = capacity;
	}
	if (size > 0)
		memcpy(part->data + part->size, data, size);
	part->size += size;
	return 0;
}

static int read_parts(struct report_source *source, struct part_bytes parts[PARTS_KEPT], struct error *error)
{
	Condprof__ReportPart part;
	const uint8_t *data;
	size_t size;
	int r;

	while ((r = source->next(source, &part, &data, &size, error)) > 0) {
		if ((unsigned)part >= PARTS_KEPT)
			break;
		r = keep_piece(&parts[part], data, size);
		if (r < 0)
			return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	return MIN(r, 0);
}

/// NULL when there is none, or damaged: then `damage` is noted.
static ProtobufCMessage *unpack_part(const ProtobufCMessageDescriptor *type, const struct part_bytes *part,
				     struct report *report, int damage)
{
	struct capped_allocator capped;
	ProtobufCMessage *message = NULL;

	capped_allocator_init(&capped, UNPACKED_MAX_BYTES, UNPACKED_MAX_ALLOCATIONS);
	if (part->size > 0 && !part->too_large)
		message = protobuf_c_message_unpack(type, &capped.base, part->size, part->data);
	if (!message && (part->size > 0 || part->too_large))
		report->damage |= damage;
	return message;
}

static ProtobufCMessage *or_empty(ProtobufCMessage *message, const ProtobufCMessageDescriptor *type)
{
	struct capped_allocator capped;

	capped_allocator_init(&capped, UNPACKED_MAX_BYTES, UNPACKED_MAX_ALLOCATIONS);
	return message ? message : protobuf_c_message_unpack(type, &capped.base, 0, (const uint8_t *)"");
}

static int unpack_parts(struct report *report, const struct part_bytes parts[PARTS_KEPT])
{
	const ProtobufCMessageDescriptor *scenario = &condprof__scenario__descriptor,
					 *overview = &condprof__debug_report_overview__descriptor;

	report->scenario = (Condprof__Scenario *)or_empty(
		unpack_part(scenario, &parts[CONDPROF__REPORT_PART__PART_SCENARIO], report, DAMAGE_SCENARIO), scenario);
	report->overview = (Condprof__DebugReportOverview *)or_empty(
		unpack_part(overview, &parts[CONDPROF__REPORT_PART__PART_OVERVIEW], report, DAMAGE_OVERVIEW), overview);
	report->aggregates = (Condprof__DebugReportMessage *)unpack_part(&condprof__debug_report_message__descriptor,
									 &parts[CONDPROF__REPORT_PART__PART_AGGREGATES],
									 report, DAMAGE_AGGREGATES);
	if (report->aggregates)
		report->details = report->aggregates->condition_details;
	return report->scenario && report->overview ? 0 : -ENOMEM;
}

// --- conditions and events -------------------------------------------------------------------------------------------

static const Condprof__ConditionProfile *profile_of(const struct report *report)
{
	const Condprof__DebugReportMessage *message = report->aggregates;

	return message && message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_CONDITION_PROFILE
		       ? message->condition_profile
		       : NULL;
}

static void add_events(struct report *report, Condprof__Event *const *events, size_t n, bool trigger)
{
	for (size_t i = 0; i < n; i++) {
		report->events[report->n_events++] = (struct report_event){
			.id = events[i]->id,
			.name = events[i]->name ? events[i]->name : "",
			.known = true,
			.id_given = events[i]->id_given,
			.definition = events[i],
			.trigger = trigger,
			.first_condition = report->n_conditions,
			.n_conditions = events[i]->n_conditions,
		};
		for (size_t k = 0; k < events[i]->n_conditions; k++) {
			const Condprof__Condition *condition = events[i]->conditions[k];

			report->conditions[report->n_conditions++] = (struct report_condition){
				.id = condition->id,
				.id_given = condition->id_given,
				.definition = condition,
				.name = condition->name ? condition->name : "",
				.kind = condition_kind(condition),
				.event = report->n_events - 1,
			};
		}
	}
}

static size_t count_conditions(Condprof__Event *const *events, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += events[i]->n_conditions;
	return count;
}

/// Takes room for what the scenario has and, at worst, as many again that only the aggregates know.
static int take_room(struct report *report)
{
	const Condprof__Scenario *scenario = report->scenario;
	const Condprof__ConditionProfile *profile = profile_of(report);
	size_t conditions = count_conditions(scenario->screen_events, scenario->n_screen_events) +
			    count_conditions(scenario->trigger_events, scenario->n_trigger_events),
	       events = scenario->n_screen_events + scenario->n_trigger_events,
	       more_conditions = profile ? profile->n_conditions : 0,
	       more_events = report->details ? report->details->n_events : 0;

	report->conditions = calloc(conditions + more_conditions + 1, sizeof(*report->conditions));
	report->events = calloc(events + more_events + 1, sizeof(*report->events));
	report->names = calloc(more_conditions + more_events + 1, UNKNOWN_NAME_SIZE);
	return report->conditions && report->events && report->names ? 0 : -ENOMEM;
}

/// An id and where it stands, for look-ups.
struct id_place {
	int64_t id;
	size_t place;
};

static int compare_ids(const void *a, const void *b)
{
	const struct id_place *left = a, *right = b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return (left->place > right->place) - (left->place < right->place);
}

/// The first place of an id, or SIZE_MAX.
static size_t find_id(const struct id_place *places, size_t n, int64_t id)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && places[low].id == id ? places[low].place : SIZE_MAX;
}

static struct id_place *condition_places(const struct report *report)
{
	struct id_place *places = calloc(report->n_conditions + 1, sizeof(*places));

	for (size_t i = 0; places && i < report->n_conditions; i++)
		places[i] = (struct id_place){report->conditions[i].id, i};
	if (places)
		qsort(places, report->n_conditions, sizeof(*places), compare_ids);
	return places;
}

static struct id_place *event_places(const struct report *report)
{
	struct id_place *places = calloc(report->n_events + 1, sizeof(*places));

	for (size_t i = 0; places && i < report->n_events; i++)
		places[i] = (struct id_place){report->events[i].id, i};
	if (places)
		qsort(places, report->n_events, sizeof(*places), compare_ids);
	return places;
}

static const char *unknown_name(struct report *report, size_t *used, int64_t id)
{
	char *name = (char *)report->names + UNKNOWN_NAME_SIZE * (*used)++;

	snprintf(name, UNKNOWN_NAME_SIZE, "#%" PRId64, id);
	return name;
}

static void take_timing(struct report_condition *condition, const Condprof__ConditionTiming *timing)
{
	if (condition->measured)
		return; // an id that comes twice: the first one counts
	condition->measured = true;
	condition->checks = MAX(timing->check_count, 0);
	condition->fulfilled = MAX(timing->fulfilled_count, 0);
	condition->total_ns = condition->checks > 0 ? MAX(timing->total_duration_ns, 0) : 0;
	condition->min_ns = timing->min_duration_ns;
	condition->max_ns = timing->max_duration_ns;
}

static int join_conditions(struct report *report, size_t *names_used)
{
	const Condprof__ConditionProfile *profile = profile_of(report);
	size_t known = report->n_conditions;
	CLEANUP_FREE struct id_place *places = condition_places(report);

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; profile && i < profile->n_conditions; i++) {
		const Condprof__ConditionTiming *timing = profile->conditions[i];
		size_t place = find_id(places, known, timing->condition_id);

		if (place == SIZE_MAX) {
			place = report->n_conditions++;
			report->conditions[place] = (struct report_condition){
				.id = timing->condition_id,
				.name = unknown_name(report, names_used, timing->condition_id),
				.event = REPORT_NO_EVENT,
			};
		}
		take_timing(&report->conditions[place], timing);
	}
	return 0;
}

static int join_condition_details(struct report *report)
{
	CLEANUP_FREE struct id_place *places = condition_places(report);

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; report->details && i < report->details->n_conditions; i++) {
		const Condprof__ConditionDetail *detail = report->details->conditions[i];
		size_t place = find_id(places, report->n_conditions, detail->condition_id);

		if (place != SIZE_MAX && !report->conditions[place].detail)
			report->conditions[place].detail = detail;
	}
	return 0;
}

static int join_events(struct report *report, size_t *names_used)
{
	size_t known = report->n_events;
	CLEANUP_FREE struct id_place *places = event_places(report);

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; report->details && i < report->details->n_events; i++) {
		const Condprof__EventDetail *detail = report->details->events[i];
		size_t place = find_id(places, known, detail->event_id);

		if (place == SIZE_MAX) {
			place = report->n_events++;
			report->events[place] = (struct report_event){
				.id = detail->event_id,
				.name = unknown_name(report, names_used, detail->event_id),
			};
		}
		if (!report->events[place].detail)
			report->events[place].detail = detail;
	}
	return 0;
}

static void add_up(struct report *report)
{
	for (size_t i = 0; i < report->n_conditions; i++) {
		const struct report_condition *condition = &report->conditions[i];

		if (!condition->measured)
			continue;
		report->conditions_total_ns = add_saturated(report->conditions_total_ns, condition->total_ns);
		if (condition->event == REPORT_NO_EVENT)
			continue;
		struct maybe *sum = &report->events[condition->event].conditions_ns;
		*sum = maybe_if(true, add_saturated(sum->value, condition->total_ns));
	}
	if (report->conditions_total_ns <= 0)
		return;
	for (size_t i = 0; i < report->n_conditions; i++)
		report->conditions[i].share =
			(double)report->conditions[i].total_ns / (double)report->conditions_total_ns;
	for (size_t i = 0; i < report->n_events; i++)
		report->events[i].share =
			(double)report->events[i].conditions_ns.value / (double)report->conditions_total_ns;
}

static int join(struct report *report)
{
	const Condprof__Scenario *scenario = report->scenario;
	size_t names_used = 0;
	int r = take_room(report);

	if (r < 0)
		return r;
	add_events(report, scenario->screen_events, scenario->n_screen_events, false);
	add_events(report, scenario->trigger_events, scenario->n_trigger_events, true);
	r = join_conditions(report, &names_used);
	if (r == 0)
		r = join_condition_details(report);
	if (r == 0)
		r = join_events(report, &names_used);
	if (r < 0)
		return r;
	add_up(report);
	report->conditions_by_id = condition_places(report);
	report->events_by_id = event_places(report);
	return report->conditions_by_id && report->events_by_id ? 0 : -ENOMEM;
}

/// Overviews of the app that this format comes from have no state: they were written at the end.
static void describe_session(struct report *report)
{
	const Condprof__DebugReportOverview *overview = report->overview;
	Condprof__Session *session = &report->session;
	bool empty = (report->damage & DAMAGE_OVERVIEW) != 0;

	condprof__session__init(session);
	session->has_id = overview->has_session_id;
	session->id = overview->session_id;
	session->scenario = overview->scenario_name ? overview->scenario_name : report->scenario->name;
	session->has_state = overview->has_state || !empty;
	session->state = overview->has_state ? overview->state : CONDPROF__SESSION_STATE__FINISHED;
	session->has_reason = overview->has_reason;
	session->reason = overview->reason;
	session->reason_text = overview->reason_text;
	session->has_result = overview->has_result;
	session->result = overview->result;
	session->started_unix_ns = overview->started_unix_ns;
	session->ended_unix_ns = overview->ended_unix_ns;
	struct maybe duration = report_time(report).duration;
	session->has_duration_ns = duration.known;
	session->duration_ns = duration.value;
	session->has_passes = overview->has_frame_count;
	session->passes = overview->frame_count;
	// older overviews do not tell; the scenario that is kept beside them does, as run
	session->screen = overview->screen ? overview->screen : report->scenario->screen;
	session->input = overview->input ? overview->input : report->scenario->input;
	session->has_dry_run = overview->has_dry_run || report->scenario->has_dry_run;
	session->dry_run = overview->has_dry_run ? overview->dry_run : report->scenario->dry_run;
}

int report_load(struct report_source *source, struct report **ret, struct error *error)
{
	struct part_bytes parts[PARTS_KEPT] = {0};
	struct report *report CLEANUP(report_cleanup) = calloc(1, sizeof(*report));
	int r = report ? read_parts(source, parts, error) : -ENOMEM;

	if (r == 0)
		r = unpack_parts(report, parts);
	for (size_t i = 0; i < PARTS_KEPT; i++)
		free(parts[i].data);
	if (r == 0)
		r = join(report);
	if (r == -ENOMEM)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	if (r < 0)
		return r;
	describe_session(report);
	*ret = TAKE_POINTER(report);
	return 0;
}

struct report *report_free(struct report *report)
{
	if (!report)
		return NULL;
	if (report->scenario)
		condprof__scenario__free_unpacked(report->scenario, NULL);
	if (report->overview)
		condprof__debug_report_overview__free_unpacked(report->overview, NULL);
	if (report->aggregates)
		condprof__debug_report_message__free_unpacked(report->aggregates, NULL);
	free(report->conditions);
	free(report->events);
	free(report->names);
	free(report->conditions_by_id);
	free(report->events_by_id);
	free(report);
	return NULL;
}

// --- look-ups and figures --------------------------------------------------------------------------------------------

const struct report_event *report_event_by_id(const struct report *report, int64_t id)
{
	size_t place = find_id(report->events_by_id, report->n_events, id);

	return place == SIZE_MAX ? NULL : &report->events[place];
}

const struct report_condition *report_condition_by_id(const struct report *report, int64_t id)
{
	size_t place = find_id(report->conditions_by_id, report->n_conditions, id);

	return place == SIZE_MAX ? NULL : &report->conditions[place];
}

const struct report_event *report_event_by_name(const struct report *report, const char *name)
{
	for (size_t i = 0; i < report->n_events; i++)
		if (strcmp(report->events[i].name, name) == 0)
			return &report->events[i];
	return NULL;
}

struct maybe condition_average(const struct report_condition *condition)
{
	if (!condition->measured || condition->checks == 0)
		return maybe_if(false, 0);
	return maybe_if(true, (int64_t)(((__int128)condition->total_ns + condition->checks / 2) / condition->checks));
}

struct maybe condition_deviation(const struct report_condition *condition)
{
	const Condprof__ConditionDetail *detail = condition->detail;

	if (!condition->measured || condition->checks < 2 || !detail || !detail->has_sum_of_squares_ns2)
		return maybe_if(false, 0);
	long double n = condition->checks, total = condition->total_ns,
		    variance = (detail->sum_of_squares_ns2 - total * total / n) / (n - 1);
	if (!(variance > 0)) // a difference of large numbers: rounding may leave less than nothing
		variance = 0;
	long double deviation = roundl(sqrtl(variance));
	return maybe_if(deviation < 0x1p63L, deviation < 0x1p63L ? (int64_t)deviation : 0);
}

struct maybe condition_percentile(const struct report_condition *condition, int per_mille)
{
	int64_t ns;

	if (!condition->measured || condition->checks == 0 || !condition->detail || !condition->detail->histogram ||
	    histogram_percentile(condition->detail->histogram, per_mille, condition->min_ns, condition->max_ns, &ns) <
		    0)
		return maybe_if(false, 0);
	return maybe_if(true, ns);
}

struct last_check condition_last(const struct report_condition *condition)
{
	const Condprof__ConditionDetail *detail = condition->detail;

	if (!detail || !condition->measured || condition->checks <= 0 || !detail->has_last_fulfilled)
		return (struct last_check){0};
	return (struct last_check){
		.known = true,
		.fulfilled = detail->last_fulfilled,
		.has_confidence = detail->has_last_confidence,
		.has_value = detail->has_last_value,
		.confidence = detail->last_confidence,
		.value = detail->last_value,
	};
}

bool condition_match_area(const struct report_condition *condition, struct report_area *ret)
{
	const Condprof__ConditionDetail *detail = condition->detail;
	struct report_area area = {0};

	if (!detail || detail->match_count <= 0 || !detail->has_match_right || !detail->has_match_bottom ||
	    __builtin_sub_overflow(detail->match_right, detail->match_left, &area.width) ||
	    __builtin_sub_overflow(detail->match_bottom, detail->match_top, &area.height) || area.width <= 0 ||
	    area.height <= 0)
		return false;
	area.x = detail->match_left;
	area.y = detail->match_top;
	*ret = area;
	return true;
}

/// Of the passes that are complete, where the report has them apart.
static struct maybe complete_passes_mean(const Condprof__ConditionDetails *details)
{
	int64_t count;

	if (!details || !details->pass_time || !details->has_pass_time_total_ns || details->pass_time_total_ns < 0 ||
	    histogram_count(details->pass_time, &count) < 0 || count == 0)
		return maybe_if(false, 0);
	return maybe_if(true, details->pass_time_total_ns / count);
}

struct maybe report_pass_mean(const struct report *report)
{
	const Condprof__DebugReportOverview *overview = report->overview;
	struct maybe processing = report_time(report).processing;
	struct maybe mean = complete_passes_mean(report->details);

	if (mean.known)
		return mean;
	if (!overview->has_frame_count || overview->frame_count <= 0)
		return maybe_if(false, 0);
	if (processing.known)
		return maybe_if(true, processing.value / overview->frame_count);
	return maybe_if(overview->has_average_frame_processing_duration_ms,
			ms_to_ns(overview->average_frame_processing_duration_ms));
}

struct maybe report_pass_percentile(const struct report *report, int per_mille)
{
	const Condprof__ConditionDetails *details = report->details;
	int64_t ns;

	if (!details || !details->pass_time || !details->has_pass_time_min_ns || !details->has_pass_time_max_ns ||
	    histogram_percentile(details->pass_time, per_mille, details->pass_time_min_ns, details->pass_time_max_ns,
				 &ns) < 0)
		return maybe_if(false, 0);
	return maybe_if(true, ns);
}

struct maybe report_lateness_percentile(const struct report *report, int per_mille)
{
	const Condprof__Histogram *lateness = report->overview->lateness;
	int64_t ns;

	// Its extremes are not kept: what lies beyond the last bucket is not known.
	if (!lateness || histogram_percentile(lateness, per_mille, 0, INT64_MAX, &ns) < 0 || ns == INT64_MAX)
		return maybe_if(false, 0);
	return maybe_if(true, ns);
}

struct maybe report_occurrences(const struct report *report, bool trigger)
{
	const Condprof__DebugReportOverview *overview = report->overview;
	bool known = trigger ? overview->has_trigger_event_fulfilled_count : overview->has_image_event_fulfilled_count;
	int64_t count = trigger ? overview->trigger_event_fulfilled_count : overview->image_event_fulfilled_count,
		sum = 0;

	if (count != INT32_MAX)
		return maybe_if(known, count);
	for (size_t i = 0; i < report->n_events; i++)
		if (report->events[i].known && report->events[i].trigger == trigger && report->events[i].detail)
			sum = add_saturated(sum, MAX(report->events[i].detail->fulfilled, 0));
	return maybe_if(sum >= INT32_MAX, sum);
}

struct maybe event_mean_gap(const struct report_event *event)
{
	const Condprof__EventDetail *detail = event->detail;
	int64_t span;

	if (!detail || detail->fulfilled < 2 || !detail->has_first_ns || !detail->has_last_ns ||
	    __builtin_sub_overflow(detail->last_ns, detail->first_ns, &span))
		return maybe_if(false, 0);
	return maybe_if(true, span / (detail->fulfilled - 1));
}

static struct report_time time_of_ours(const Condprof__SessionTime *time)
{
	return (struct report_time){
		.duration = maybe_if(time->has_duration_ns, time->duration_ns),
		.frame_wait = maybe_if(time->has_frame_wait_ns, time->frame_wait_ns),
		.frame_get = maybe_if(time->has_frame_get_ns, time->frame_get_ns),
		.processing = maybe_if(time->has_processing_ns, time->processing_ns),
		.conditions = maybe_if(time->has_conditions_ns, time->conditions_ns),
		.actions = maybe_if(time->has_actions_ns, time->actions_ns),
		.pauses = maybe_if(time->has_pauses_ns, time->pauses_ns),
		.engine = maybe_if(time->has_engine_ns, time->engine_ns),
		.limiter_wait = maybe_if(time->has_limiter_wait_ns, time->limiter_wait_ns),
		.safety_wait = maybe_if(time->has_safety_wait_ns, time->safety_wait_ns),
		.report_wait = maybe_if(time->has_report_wait_ns, time->report_wait_ns),
		.other = maybe_if(time->has_other_ns, time->other_ns),
	};
}

/// The two fields have no presence in the format they come from: reports that predate them have 0 in both.
struct report_time report_time(const struct report *report)
{
	const Condprof__DebugReportOverview *overview = report->overview;
	bool timed = overview->active_detection_duration_ns != 0 || overview->execution_limiter_wait_duration_ns != 0;

	if (overview->time)
		return time_of_ours(overview->time);
	return (struct report_time){
		.duration = maybe_if(overview->has_duration_ms, ms_to_ns(overview->duration_ms)),
		.processing = maybe_if(timed, overview->active_detection_duration_ns),
		.limiter_wait = maybe_if(timed, overview->execution_limiter_wait_duration_ns),
	};
}
