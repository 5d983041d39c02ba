// SPDX-License-Identifier: GPL-3.0-or-later
/// The messages: every one with every field goes there and comes back, and the fixed field numbers of the report are
/// held by bytes that were written by hand from the table in docs/ARCHITECTURE.md, not by the code under test.
#include "config.h"

#include "proto/control.pb-c.h"
#include "proto/frame.h"
#include "proto/report.pb-c.h"
#include "proto/scenario.pb-c.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- every field of every message
// --------------------------------------------------------------------------------------

/// A variant chooses members of oneofs and values; so many reach every member of nested oneofs.
#define VARIANTS 280

static const ProtobufCMessageDescriptor *seen[100];
static size_t n_seen;

static void note_seen(const ProtobufCMessageDescriptor *descriptor)
{
	for (size_t i = 0; i < n_seen; i++)
		if (seen[i] == descriptor)
			return;
	ck_assert_uint_lt(n_seen, ARRAY_SIZE(seen));
	seen[n_seen++] = descriptor;
}

static size_t size_of(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return 8;
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	default:
		return 4;
	}
}

static ProtobufCMessage *make_message(const ProtobufCMessageDescriptor *descriptor, int variant);

/// A value that tells from its neighbours, now small, now large, now negative.
static void set_value(void *member, const ProtobufCFieldDescriptor *field, int variant)
{
	uint64_t value = (uint64_t)field->id * 1000003 * (uint64_t)(variant + 1) << (variant % 23);
	const ProtobufCEnumDescriptor *values = field->descriptor;
	ProtobufCBinaryData *bytes = member;
	char text[64];

	switch (field->type) {
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)member = (variant + (int)field->id) % 2;
		break;
	case PROTOBUF_C_TYPE_ENUM:
		*(int *)member = values->values[(unsigned)variant % values->n_values].value;
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)member = ldexp((double)value, -20) * (variant % 2 ? -1 : 1);
		break;
	case PROTOBUF_C_TYPE_STRING:
		snprintf(text, sizeof(text), "%s €%d", field->name, variant);
		*(char **)member = strdup(text);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		*bytes = (ProtobufCBinaryData){3, calloc(1, 3)};
		bytes->data[1] = (uint8_t)variant;
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		*(ProtobufCMessage **)member = make_message(field->descriptor, variant);
		break;
	default:
		value = variant % 3 ? value : -value;
		if (size_of(field) == 8)
			*(uint64_t *)member = value;
		else
			*(uint32_t *)member = (uint32_t)value;
		break;
	}
}

/// Whether the variant chooses this member of its oneof.
static bool is_chosen(const ProtobufCMessageDescriptor *descriptor, const ProtobufCFieldDescriptor *field, int variant)
{
	int members = 0, position = 0;

	if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
		return true;
	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *other = &descriptor->fields[i];

		if (!(other->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
		    other->quantifier_offset != field->quantifier_offset)
			continue;
		position = other == field ? members : position;
		members++;
	}
	return variant % members == position;
}

static void set_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, int variant)
{
	char *base = (char *)message, *member = base + field->offset, *quantifier = base + field->quantifier_offset;

	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		size_t count = 1 + (size_t)variant % 3;
		char *list = calloc(count, size_of(field));

		for (size_t i = 0; i < count; i++)
			set_value(list + i * size_of(field), field, variant + (int)i);
		*(void **)member = list;
		*(size_t *)quantifier = count;
		return;
	}
	set_value(member, field, variant);
	if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		*(uint32_t *)quantifier = field->id;
	else if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
		*(protobuf_c_boolean *)quantifier = true;
}

static ProtobufCMessage *make_message(const ProtobufCMessageDescriptor *descriptor, int variant)
{
	ProtobufCMessage *message = calloc(1, descriptor->sizeof_message);

	note_seen(descriptor);
	protobuf_c_message_init(descriptor, message);
	for (unsigned i = 0; i < descriptor->n_fields; i++)
		if (is_chosen(descriptor, &descriptor->fields[i], variant))
			set_field(message, &descriptor->fields[i], variant);
	return message;
}

static void compare_messages(const ProtobufCMessage *a, const ProtobufCMessage *b);

static void compare_values(const void *a, const void *b, const ProtobufCFieldDescriptor *field)
{
	const ProtobufCBinaryData *x = a, *y = b;

	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		ck_assert_str_eq(*(char *const *)a, *(char *const *)b);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		ck_assert_uint_eq(x->len, y->len);
		ck_assert_mem_eq(x->data, y->data, x->len);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		compare_messages(*(ProtobufCMessage *const *)a, *(ProtobufCMessage *const *)b);
		break;
	default:
		ck_assert_mem_eq(a, b, size_of(field));
		break;
	}
}

static void compare_fields(const ProtobufCMessage *a, const ProtobufCMessage *b, const ProtobufCFieldDescriptor *field)
{
	const char *x = (const char *)a, *y = (const char *)b;

	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		size_t count = *(const size_t *)(x + field->quantifier_offset);

		ck_assert_uint_eq(count, *(const size_t *)(y + field->quantifier_offset));
		for (size_t i = 0; i < count; i++)
			compare_values(*(char *const *)(x + field->offset) + i * size_of(field),
				       *(char *const *)(y + field->offset) + i * size_of(field), field);
		return;
	}
	if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
		uint32_t set = *(const uint32_t *)(x + field->quantifier_offset);

		ck_assert_uint_eq(set, *(const uint32_t *)(y + field->quantifier_offset));
		if (set != field->id)
			return;
	} else if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE) {
		ck_assert_int_eq(*(const protobuf_c_boolean *)(y + field->quantifier_offset), true);
	}
	compare_values(x + field->offset, y + field->offset, field);
}

static void compare_messages(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
	ck_assert_ptr_eq(a->descriptor, b->descriptor);
	ck_assert_uint_eq(b->n_unknown_fields, 0);
	for (unsigned i = 0; i < a->descriptor->n_fields; i++)
		compare_fields(a, b, &a->descriptor->fields[i]);
}

static const ProtobufCMessageDescriptor *const roots[] = {
	&condprof__request__descriptor,
	&condprof__reply__descriptor,
	&condprof__scenario__descriptor,
	&condprof__debug_report_message__descriptor,
	&condprof__debug_report_overview__descriptor,
};

static void check_round_trip(const ProtobufCMessageDescriptor *root, int variant)
{
	ProtobufCMessage *message = make_message(root, variant), *back = NULL;
	size_t size = frame_size(message), header = 0, body = 0;
	uint8_t *packed = malloc(size);
	struct capped_allocator capped;

	ck_assert_uint_eq(frame_pack(message, packed), size);
	ck_assert_int_eq(frame_peek(packed, size, size, &header, &body), 1);
	ck_assert_uint_eq(header + body, size);
	capped_allocator_init(&capped, 1024 * 1024, 10000);
	ck_assert_int_eq(message_unpack(root, packed + header, body, &capped, &back), 0);
	compare_messages(message, back);
	ck_assert(message_strings_valid(back));
	protobuf_c_message_free_unpacked(back, NULL);
	protobuf_c_message_free_unpacked(message, NULL);
	free(packed);
}

START_TEST(every_message_comes_back)
{
	for (int variant = 0; variant < VARIANTS; variant++)
		check_round_trip(roots[_i], variant);
}
END_TEST

static size_t count_messages(const char *file)
{
	const char *top = getenv("top_srcdir");
	char path[4096], line[300];
	size_t count = 0;

	snprintf(path, sizeof(path), "%s/proto/%s", top ? top : ".", file);
	FILE *in = fopen(path, "re");

	ck_assert_msg(in != NULL, "%s", path);
	while (fgets(line, sizeof(line), in))
		count += strncmp(line, "message ", 8) == 0;
	fclose(in);
	return count;
}

START_TEST(none_was_left_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		for (int variant = 0; variant < VARIANTS; variant++)
			protobuf_c_message_free_unpacked(make_message(roots[i], variant), NULL);
	ck_assert_uint_eq(n_seen, count_messages("control.proto") + count_messages("scenario.proto") +
					  count_messages("report.proto"));
}
END_TEST

// --- the report's field numbers, by hand
// -------------------------------------------------------------------------------

#define HALF 0, 0, 0, 0, 0, 0, 0xe0, 0x3f   // 0.5
#define MINUS_TWO 0, 0, 0, 0, 0, 0, 0, 0xc0 // -2.0
#define VARINT(field) ((field) << 3)
#define FIXED64(field) ((field) << 3 | 1)
#define BYTES(field) ((field) << 3 | 2)
#define VARINT_50(above) 0x90 + 8 * (above), 3 // the fields 50 to 65, two bytes each
#define BYTES_50(above) 0x92 + 8 * (above), 3

/// Compares the packed message with bytes written by hand, and that these bytes give the message.
static void check_golden(const ProtobufCMessage *message, const uint8_t *golden, size_t size)
{
	uint8_t packed[512];

	ck_assert_uint_le(protobuf_c_message_get_packed_size(message), sizeof(packed));
	ck_assert_uint_eq(protobuf_c_message_pack(message, packed), size);
	ck_assert_mem_eq(packed, golden, size);
	ProtobufCMessage *back = protobuf_c_message_unpack(message->descriptor, NULL, size, golden);
	ck_assert_ptr_nonnull(back);
	ck_assert_uint_eq(protobuf_c_message_pack(back, packed), size);
	ck_assert_mem_eq(packed, golden, size);
	protobuf_c_message_free_unpacked(back, NULL);
}

#define SET(message, field, value) ((message).has_##field = true, (message).field = (value))

START_TEST(golden_image_event)
{
	// clang-format off
	static const uint8_t golden[] = {
		VARINT(1), 0x88, 0x27,                   // relative_timestamp_ms 5000
		BYTES(2), 75,                            // image_event
		VARINT(1), 3,                            //   event_id
		VARINT(2), 4,                            //   duration_ms
		VARINT(3), 5,                            //   frame_number
		BYTES(4), 21,                            //   condition_results
		VARINT(1), 6,                            //     condition_id
		VARINT(2), 7,                            //     duration_ms
		FIXED64(3), HALF,                        //     confidence_rate
		VARINT(4), 1,                            //     is_fulfilled
		VARINT_50(0), 8,                         //     duration_ns
		VARINT_50(1), 1,                         //     no_confidence
		BYTES(5), 25,                            //   counter_changes
		BYTES(1), 1, 'n',                        //     name
		VARINT(2), 1,                            //     old (deprecated)
		VARINT(3), 2,                            //     new (deprecated)
		FIXED64(4), HALF,                        //     old
		FIXED64(5), MINUS_TWO,                   //     new
		BYTES(6), 4, VARINT(1), 9, VARINT(2), 1, // event_state_changes: event_id, new_value
		VARINT_50(0), 5,                         //   pass
		VARINT_50(1), 10,                        //   checking_ns
		BYTES_50(2), 4,                          //   actions
		VARINT(2), 3,                            //     x -2, as sint32
		VARINT(3), 4,                            //     y 2
		VARINT(6), 11,                           // detected_at_ns
		VARINT(7), 12,                           // actions_completed_at_ns
	};
	// clang-format on
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	Condprof__ImageEventMessage image_event = CONDPROF__IMAGE_EVENT_MESSAGE__INIT;
	Condprof__ImageConditionResult result = CONDPROF__IMAGE_CONDITION_RESULT__INIT, *results[] = {&result};
	Condprof__CounterStateChange counter = CONDPROF__COUNTER_STATE_CHANGE__INIT, *counters[] = {&counter};
	Condprof__EventStateChange state = CONDPROF__EVENT_STATE_CHANGE__INIT, *states[] = {&state};
	Condprof__ActionResult action = CONDPROF__ACTION_RESULT__INIT, *actions[] = {&action};

	SET(message, relative_timestamp_ms, 5000);
	SET(message, detected_at_ns, 11);
	SET(message, actions_completed_at_ns, 12);
	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT;
	message.image_event = &image_event;
	SET(image_event, event_id, 3);
	SET(image_event, duration_ms, 4);
	SET(image_event, frame_number, 5);
	SET(image_event, pass, 5);
	SET(image_event, checking_ns, 10);
	image_event.n_condition_results = image_event.n_counter_changes = image_event.n_event_state_changes =
		image_event.n_actions = 1;
	image_event.condition_results = results;
	image_event.counter_changes = counters;
	image_event.event_state_changes = states;
	image_event.actions = actions;
	SET(result, condition_id, 6);
	SET(result, duration_ms, 7);
	SET(result, confidence_rate, 0.5);
	SET(result, is_fulfilled, true);
	SET(result, duration_ns, 8);
	SET(result, no_confidence, true);
	counter.name = (char[]){"n"};
	SET(counter, old_value_deprecated, 1);
	SET(counter, new_value_deprecated, 2);
	SET(counter, old_value, 0.5);
	SET(counter, new_value, -2);
	SET(state, event_id, 9);
	SET(state, new_value, true);
	SET(action, x, -2);
	SET(action, y, 2);
	check_golden(&message.base, golden, sizeof(golden));
}
END_TEST

START_TEST(golden_trigger_event)
{
	// clang-format off
	static const uint8_t golden[] = {
		BYTES(3), 23,                  // trigger_event
		VARINT(1), 3,                  //   event_id
		BYTES(2), 7, VARINT(1), 4, VARINT(2), 1,
		VARINT_50(0), 5,               // condition_results: id, is_fulfilled, duration_ns
		BYTES(5), 3, BYTES(1), 1, 'n', //   counter_changes
		BYTES(6), 2, VARINT(2), 0,     //   event_state_changes
		VARINT_50(0), 6,               //   pass
	};
	// clang-format on
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	Condprof__TriggerEventMessage event = CONDPROF__TRIGGER_EVENT_MESSAGE__INIT;
	Condprof__TriggerConditionResult result = CONDPROF__TRIGGER_CONDITION_RESULT__INIT, *results[] = {&result};
	Condprof__CounterStateChange counter = CONDPROF__COUNTER_STATE_CHANGE__INIT, *counters[] = {&counter};
	Condprof__EventStateChange state = CONDPROF__EVENT_STATE_CHANGE__INIT, *states[] = {&state};

	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_TRIGGER_EVENT;
	message.trigger_event = &event;
	SET(event, event_id, 3);
	SET(event, pass, 6);
	event.n_condition_results = event.n_counter_changes = event.n_event_state_changes = 1;
	event.condition_results = results;
	event.counter_changes = counters;
	event.event_state_changes = states;
	SET(result, condition_id, 4);
	SET(result, is_fulfilled, true);
	SET(result, duration_ns, 5);
	counter.name = (char[]){"n"};
	SET(state, new_value, false);
	check_golden(&message.base, golden, sizeof(golden));
}
END_TEST

START_TEST(golden_counters_init)
{
	// clang-format off
	static const uint8_t golden[] = {
		BYTES(4), 14, BYTES(1), 12, BYTES(1), 1, 'n', FIXED64(2), MINUS_TWO,
	};
	// clang-format on
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	Condprof__CountersInitMessage init = CONDPROF__COUNTERS_INIT_MESSAGE__INIT;
	Condprof__CounterInit counter = CONDPROF__COUNTER_INIT__INIT, *counters[] = {&counter};

	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT;
	message.counters_init = &init;
	init.n_counters = 1;
	init.counters = counters;
	counter.name = (char[]){"n"};
	SET(counter, initial_value, -2);
	check_golden(&message.base, golden, sizeof(golden));
}
END_TEST

START_TEST(golden_aggregates)
{
	// clang-format off
	static const uint8_t golden[] = {
		BYTES(5), 15,              // condition_profile
		BYTES(1), 13,              //   conditions
		VARINT(1), 1,              //     condition_id
		VARINT(2), 2,              //     check_count
		VARINT(3), 3,              //     fulfilled_count
		VARINT(4), 0xac, 0x02,     //     total_duration_ns 300
		VARINT(5), 5,              //     min_duration_ns
		VARINT(6), 6,              //     max_duration_ns
		BYTES_50(0), 4,            // condition_details
		BYTES(1), 2, VARINT(1), 1, //   conditions: condition_id
	};
	// clang-format on
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	Condprof__ConditionProfile profile = CONDPROF__CONDITION_PROFILE__INIT;
	Condprof__ConditionTiming timing = CONDPROF__CONDITION_TIMING__INIT, *timings[] = {&timing};
	Condprof__ConditionDetails details = CONDPROF__CONDITION_DETAILS__INIT;
	Condprof__ConditionDetail detail = CONDPROF__CONDITION_DETAIL__INIT, *detail_list[] = {&detail};

	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_CONDITION_PROFILE;
	message.condition_profile = &profile;
	message.condition_details = &details;
	profile.n_conditions = details.n_conditions = 1;
	profile.conditions = timings;
	details.conditions = detail_list;
	SET(timing, condition_id, 1);
	SET(timing, check_count, 2);
	SET(timing, fulfilled_count, 3);
	SET(timing, total_duration_ns, 300);
	SET(timing, min_duration_ns, 5);
	SET(timing, max_duration_ns, 6);
	SET(detail, condition_id, 1);
	check_golden(&message.base, golden, sizeof(golden));
}
END_TEST

START_TEST(golden_overview)
{
	// clang-format off
	static const uint8_t golden[] = {
		VARINT(1), 1,     // scenario_id
		VARINT(2), 2,     // duration_ms
		VARINT(3), 3,     // frame_count
		VARINT(4), 4,     // average_frame_processing_duration_ms
		VARINT(5), 5,     // image_event_fulfilled_count
		VARINT(6), 6,     // trigger_event_fulfilled_count
		BYTES(7), 1, 'n', // counters_name
		VARINT(8), 8,     // active_detection_duration_ns
		VARINT(9), 9,     // execution_limiter_wait_duration_ns
		VARINT_50(0), 7,  // session_id
		VARINT_50(1), 3,  // state
		VARINT_50(2), 2,  // reason
		VARINT_50(4), 0,  // result
	};
	// clang-format on
	Condprof__DebugReportOverview overview = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT;
	char name[] = "n", *names[] = {name};

	SET(overview, scenario_id, 1);
	SET(overview, duration_ms, 2);
	SET(overview, frame_count, 3);
	SET(overview, average_frame_processing_duration_ms, 4);
	SET(overview, image_event_fulfilled_count, 5);
	SET(overview, trigger_event_fulfilled_count, 6);
	overview.n_counters_name = 1;
	overview.counters_name = names;
	SET(overview, active_detection_duration_ns, 8);
	SET(overview, execution_limiter_wait_duration_ns, 9);
	SET(overview, session_id, 7);
	SET(overview, state, CONDPROF__SESSION_STATE__FINISHED);
	SET(overview, reason, CONDPROF__END_REASON__REASON_STOP_ACTION);
	SET(overview, result, CONDPROF__SESSION_RESULT__SESSION_OK);
	check_golden(&overview.base, golden, sizeof(golden));
}
END_TEST

START_TEST(golden_error)
{
	// Reply {id 7, error {code VERSION, message "old"}}: understood by every version, so these numbers never
	// change.
	static const uint8_t golden[] = {VARINT(1), 7, BYTES(4), 7, VARINT(1), 5, BYTES(2), 3, 'o', 'l', 'd'};
	Condprof__Reply reply = CONDPROF__REPLY__INIT;
	Condprof__Error error = CONDPROF__ERROR__INIT;

	SET(reply, id, 7);
	reply.body_case = CONDPROF__REPLY__BODY_ERROR;
	reply.error = &error;
	SET(error, code, CONDPROF__CODE__VERSION);
	error.message = (char[]){"old"};
	check_golden(&reply.base, golden, sizeof(golden));
}
END_TEST

START_TEST(golden_hello_reply)
{
	static const uint8_t golden[] = {VARINT(1), 7, BYTES(3), 4, VARINT(1), 1, VARINT(2), 0};
	Condprof__Reply reply = CONDPROF__REPLY__INIT;
	Condprof__HelloReply hello = CONDPROF__HELLO_REPLY__INIT;

	SET(reply, id, 7);
	reply.body_case = CONDPROF__REPLY__BODY_HELLO;
	reply.hello = &hello;
	SET(hello, major, 1);
	SET(hello, minor, 0);
	check_golden(&reply.base, golden, sizeof(golden));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("messages");
	TCase *tests = tcase_create("messages");

	tcase_add_loop_test(tests, every_message_comes_back, 0, (int)ARRAY_SIZE(roots));
	tcase_add_test(tests, none_was_left_out);
	tcase_add_test(tests, golden_image_event);
	tcase_add_test(tests, golden_trigger_event);
	tcase_add_test(tests, golden_counters_init);
	tcase_add_test(tests, golden_aggregates);
	tcase_add_test(tests, golden_overview);
	tcase_add_test(tests, golden_error);
	tcase_add_test(tests, golden_hello_reply);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
