// SPDX-License-Identifier: GPL-3.0-or-later
//
// A message of the first reports has milliseconds, one of ours nanoseconds too: the better figure is taken. A message
// that cannot be unpacked is left out and noted; a sequence that is none any more ends there.
#include "config.h"

#include "client/report/occurrence.h"

#include "client/report/fields.h"
#include "client/report/frames.h"
#include "proto/frame.h"

#include <errno.h>
#include <math.h>

#define UNPACKED_MAX_BYTES (256U * 1024U * 1024U)
#define UNPACKED_MAX_ALLOCATIONS 2000000U

Condprof__DebugReportMessage *report_message_unpack(const uint8_t *data, size_t size)
{
	struct capped_allocator capped;

	capped_allocator_init(&capped, UNPACKED_MAX_BYTES, UNPACKED_MAX_ALLOCATIONS);
	return condprof__debug_report_message__unpack(&capped.base, size, data);
}

static int64_t ms_to_ns(int64_t ms)
{
	int64_t ns;

	if (__builtin_mul_overflow(ms, NSEC_PER_MSEC, &ns))
		return ms < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static int64_t done_at(const Condprof__DebugReportMessage *message)
{
	return message->has_actions_completed_at_ns ? message->actions_completed_at_ns
						    : ms_to_ns(message->relative_timestamp_ms);
}

static bool event_of(const Condprof__DebugReportMessage *message, int64_t *ret)
{
	if (message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT)
		*ret = message->image_event->event_id;
	else if (message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_TRIGGER_EVENT)
		*ret = message->trigger_event->event_id;
	else
		return false;
	return true;
}

static bool place_fits(int64_t event_id, int64_t at_ns, const struct report_query *query)
{
	if (at_ns < query->since_ns || at_ns >= query->until_ns)
		return false;
	for (size_t i = 0; i < query->n_event_ids; i++)
		if (query->event_ids[i] == event_id)
			return true;
	return query->n_event_ids == 0;
}

bool occurrence_fits(const Condprof__DebugReportMessage *message, const struct report_query *query)
{
	int64_t event_id;

	return event_of(message, &event_id) && place_fits(event_id, done_at(message), query);
}

/// The id of a packed ImageEventMessage or TriggerEventMessage. @return 0, -EBADMSG
static int packed_event_id(const struct scanned_field *event, int64_t *ret)
{
	struct field_scan scan = {event->bytes, event->size};
	struct scanned_field field;
	int r;

	while ((r = fields_next(&scan, &field)) > 0)
		if (field.number == 1 && !field.bytes)
			*ret = (int64_t)field.value;
	return r;
}

struct scanned_message {
	uint32_t payload; ///< the number of its field; 0: none
	int64_t event_id, at_ns;
};

/// @return 0, -EBADMSG
static int message_scan(const uint8_t *data, size_t size, struct scanned_message *ret)
{
	struct field_scan scan = {data, size};
	struct scanned_field field;
	int64_t ms = 0, at_ns = 0;
	bool has_at = false;
	int r;

	*ret = (struct scanned_message){0};
	while ((r = fields_next(&scan, &field)) > 0) {
		if (field.number >= 2 && field.number <= 5 && field.bytes) {
			ret->payload = field.number;
			ret->event_id = 0;
			if (field.number <= 3 && packed_event_id(&field, &ret->event_id) < 0)
				return -EBADMSG;
		} else if (field.number == 1 && !field.bytes) {
			ms = (int64_t)field.value;
		} else if (field.number == 7 && !field.bytes) {
			at_ns = (int64_t)field.value;
			has_at = true;
		}
	}
	ret->at_ns = has_at ? at_ns : ms_to_ns(ms);
	return r;
}

bool message_bytes_fit(const uint8_t *data, size_t size, const struct report_query *query)
{
	struct scanned_message message;

	if (message_scan(data, size, &message) < 0)
		return true;
	return (message.payload == 2 || message.payload == 3) && place_fits(message.event_id, message.at_ns, query);
}

/// No event is chosen: how things stood is about none.
static bool beginning_fits(int64_t at_ns, const struct report_query *query)
{
	return query->n_event_ids == 0 && at_ns >= query->since_ns && at_ns < query->until_ns;
}

bool beginning_bytes_fit(const uint8_t *data, size_t size, const struct report_query *query)
{
	struct scanned_message message;

	return message_scan(data, size, &message) == 0 && message.payload == 4 && beginning_fits(message.at_ns, query);
}

static struct maybe acting_ns(const Condprof__DebugReportMessage *message)
{
	int64_t ns;

	if (!message->has_detected_at_ns || !message->has_actions_completed_at_ns ||
	    __builtin_sub_overflow(message->actions_completed_at_ns, message->detected_at_ns, &ns))
		return maybe_if(false, 0);
	return maybe_if(ns >= 0, ns);
}

/// Room for an occurrence's conditions, kept from one to the next.
struct condition_room {
	struct occurrence_condition *items;
	size_t n;
};

static bool make_room(struct condition_room *room, size_t n)
{
	if (n <= room->n)
		return true;
	struct occurrence_condition *items = reallocarray(room->items, n, sizeof(*items));
	if (!items)
		return false;
	room->items = items;
	room->n = n;
	return true;
}

static bool take_image_event(const Condprof__ImageEventMessage *event, struct condition_room *room,
			     struct occurrence *ret)
{
	if (!make_room(room, event->n_condition_results))
		return false;
	for (size_t i = 0; i < event->n_condition_results; i++) {
		const Condprof__ImageConditionResult *result = event->condition_results[i];

		room->items[i] = (struct occurrence_condition){
			.id = result->condition_id,
			.fulfilled = result->is_fulfilled,
			.duration_ns = result->has_duration_ns
					       ? maybe_if(true, result->duration_ns)
					       : maybe_if(result->has_duration_ms, ms_to_ns(result->duration_ms)),
			.has_confidence = result->has_confidence_rate && !result->no_confidence &&
					  isfinite(result->confidence_rate),
			.confidence = result->confidence_rate,
			.has_value = result->has_value,
			.value = result->value,
		};
	}
	*ret = (struct occurrence){
		.event_id = event->event_id,
		.pass = event->has_pass ? maybe_if(true, event->pass)
					: maybe_if(event->has_frame_number, event->frame_number),
		.detecting_ns = maybe_if(event->has_detecting_ns, event->detecting_ns),
		.checking_ns = event->has_checking_ns ? maybe_if(true, event->checking_ns)
						      : maybe_if(event->has_duration_ms, ms_to_ns(event->duration_ms)),
		.n_conditions = event->n_condition_results,
		.n_counters = event->n_counter_changes,
		.counters = event->counter_changes,
		.n_states = event->n_event_state_changes,
		.states = event->event_state_changes,
		.n_actions = event->n_actions,
		.actions = event->actions,
	};
	return true;
}

static bool take_trigger_event(const Condprof__TriggerEventMessage *event, struct condition_room *room,
			       struct occurrence *ret)
{
	if (!make_room(room, event->n_condition_results))
		return false;
	for (size_t i = 0; i < event->n_condition_results; i++) {
		const Condprof__TriggerConditionResult *result = event->condition_results[i];

		room->items[i] = (struct occurrence_condition){
			.id = result->condition_id,
			.fulfilled = result->is_fulfilled,
			.duration_ns = maybe_if(result->has_duration_ns, result->duration_ns),
		};
	}
	*ret = (struct occurrence){
		.event_id = event->event_id,
		.pass = maybe_if(event->has_pass, event->pass),
		.detecting_ns = maybe_if(event->has_detecting_ns, event->detecting_ns),
		.checking_ns = maybe_if(event->has_checking_ns, event->checking_ns),
		.n_conditions = event->n_condition_results,
		.n_counters = event->n_counter_changes,
		.counters = event->counter_changes,
		.n_states = event->n_event_state_changes,
		.states = event->event_state_changes,
		.n_actions = event->n_actions,
		.actions = event->actions,
	};
	return true;
}

struct walk {
	struct report *report;
	const struct report_query *query;
	int (*each)(void *context, const struct occurrence *occurrence);
	void *context;
	struct frames frames;
	struct condition_room room;
	bool begun; ///< something came before
};

/// Every segment begins with how things stood; only what has nothing before it is of interest. A part of the report may
/// begin with any of them: then it is known of the report's very first alone, by its time.
static bool take_beginning(const struct walk *walk, const Condprof__DebugReportMessage *message, struct occurrence *ret)
{
	const Condprof__DebugReportOverview *overview = walk->report->overview;
	bool from_start = walk->query->since_ns == INT64_MIN && walk->query->last == 0;
	int64_t at_ns = done_at(message);

	if (walk->begun || message->payload_case != CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT ||
	    !beginning_fits(at_ns, walk->query))
		return false;
	*ret = (struct occurrence){
		.at_ns = at_ns,
		.n_values = message->counters_init->n_counters,
		.values = message->counters_init->counters,
	};
	if (at_ns == 0 && (message->event_states || overview->continues_session > 0)) {
		ret->kind = ENTRY_CONTINUES;
		ret->n_states = message->event_states ? message->event_states->n_events : 0;
		ret->states = message->event_states ? message->event_states->events : NULL;
	} else if (from_start && overview->dropped_segments > 0) {
		ret->kind = ENTRY_AFTER_DROPPED;
	}
	return ret->kind != ENTRY_OCCURRENCE;
}

static int take_message(struct walk *walk, const uint8_t *body, size_t size)
{
	Condprof__DebugReportMessage *message = report_message_unpack(body, size);
	struct occurrence occurrence;
	bool room = true;
	int r = 0;

	if (!message) {
		walk->report->damage |= DAMAGE_MESSAGES;
		return 0;
	}
	if (occurrence_fits(message, walk->query)) {
		room = message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT
			       ? take_image_event(message->image_event, &walk->room, &occurrence)
			       : take_trigger_event(message->trigger_event, &walk->room, &occurrence);
		occurrence.conditions = walk->room.items;
		occurrence.at_ns = done_at(message);
		occurrence.acting_ns = acting_ns(message);
		r = room ? walk->each(walk->context, &occurrence) : -ENOMEM;
		walk->begun = true;
	} else if (take_beginning(walk, message, &occurrence)) {
		r = walk->each(walk->context, &occurrence);
		walk->begun = true;
	} else if (message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT) {
		walk->begun = true;
	}
	condprof__debug_report_message__free_unpacked(message, NULL);
	return r;
}

static int take_piece(struct walk *walk, const uint8_t *data, size_t size)
{
	const uint8_t *frame, *body;
	size_t frame_size, body_size;
	int r = frames_add(&walk->frames, data, size);

	while (r == 0) {
		r = frames_next(&walk->frames, &frame, &frame_size, &body, &body_size);
		if (r <= 0)
			break;
		r = take_message(walk, body, body_size);
	}
	return r;
}

int report_each_occurrence(struct report_source *source, struct report *report, const struct report_query *query,
			   int (*each)(void *context, const struct occurrence *occurrence), void *context,
			   struct error *error)
{
	struct walk walk = {.report = report, .query = query, .each = each, .context = context};
	Condprof__ReportPart part;
	const uint8_t *data;
	size_t size;
	bool broken = false;
	int r;

	while ((r = source->next(source, &part, &data, &size, error)) > 0) {
		if (part != CONDPROF__REPORT_PART__PART_MESSAGES || broken)
			continue;
		r = take_piece(&walk, data, size);
		broken = r == -EBADMSG;
		if (r != 0 && !broken)
			break;
	}
	if (broken || frames_torn(&walk.frames))
		report->damage |= DAMAGE_MESSAGES;
	if (r == -ENOMEM)
		error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	frames_clear(&walk.frames);
	free(walk.room.items);
	return r;
}
