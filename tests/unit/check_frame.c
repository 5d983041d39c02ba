// SPDX-License-Identifier: GPL-3.0-or-later
/// Framing byte by byte, the capped allocator, and strings from outside.
#include "proto/control.pb-c.h"
#include "proto/frame.h"
#include "proto/limits.h"
#include "proto/scenario.pb-c.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *bytes;
	size_t size, max;
	int r;
	size_t header, body;
} headers[] = {
	{"", 0, 100, 0, 0, 0},
	{"\x00", 1, 100, 1, 1, 0},
	{"\x64", 1, 100, 1, 1, 100},
	{"\x65", 1, 100, -EMSGSIZE, 0, 0},
	{"\x80", 1, 100, 0, 0, 0},
	{"\xac\x02", 2, 300, 1, 2, 300},
	{"\xac\x02", 2, 299, -EMSGSIZE, 0, 0},
	{"\x80\x80\x04", 3, FRAME_MAX_BYTES, 1, 3, FRAME_MAX_BYTES},
	{"\x81\x80\x04", 3, FRAME_MAX_BYTES, -EMSGSIZE, 0, 0},
	// larger already, whatever follows
	{"\xff\xff\xff", 3, FRAME_MAX_BYTES, -EMSGSIZE, 0, 0},
	{"\x85\x80\x00", 3, 100, 1, 3, 5},
	{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, SIZE_MAX, 1, 10, SIZE_MAX},
	{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10, 100, -EBADMSG, 0, 0},
	{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, 100, -EBADMSG, 0, 0},
};

START_TEST(peek)
{
	size_t header = 77, body = 88;
	int r = frame_peek((const uint8_t *)headers[_i].bytes, headers[_i].size, headers[_i].max, &header, &body);

	ck_assert_int_eq(r, headers[_i].r);
	ck_assert_uint_eq(header, r == 1 ? headers[_i].header : 77);
	ck_assert_uint_eq(body, r == 1 ? headers[_i].body : 88);
}
END_TEST

START_TEST(header_round_trip)
{
	static const size_t bodies[] = {0, 1, 127, 128, 16383, 16384, 65536, UINT32_MAX, SIZE_MAX};
	uint8_t out[FRAME_HEADER_MAX];
	size_t header = 0, body = 0;
	size_t length = frame_put_header(out, bodies[_i]);

	ck_assert_int_eq(frame_peek(out, length, SIZE_MAX, &header, &body), 1);
	ck_assert_uint_eq(header, length);
	ck_assert_uint_eq(body, bodies[_i]);
	ck_assert_int_eq(frame_peek(out, length - 1, SIZE_MAX, &header, &body), 0);
}
END_TEST

START_TEST(golden_frame)
{
	// A Request {id: 7, hello {major: 1, minor: 0, client: "ctl"}}, written by hand.
	static const uint8_t golden[] = {13, 0x08, 7, 0x12, 9, 0x08, 1, 0x10, 0, 0x1a, 3, 'c', 't', 'l'};
	Condprof__Hello hello = CONDPROF__HELLO__INIT;
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	uint8_t out[sizeof(golden)];

	hello.has_major = hello.has_minor = true;
	hello.major = 1;
	hello.client = (char[]){"ctl"};
	request.has_id = true;
	request.id = 7;
	request.body_case = CONDPROF__REQUEST__BODY_HELLO;
	request.hello = &hello;
	ck_assert_uint_eq(frame_size(&request.base), sizeof(golden));
	ck_assert_uint_eq(frame_pack(&request.base, out), sizeof(golden));
	ck_assert_mem_eq(out, golden, sizeof(golden));
}
END_TEST

START_TEST(large_frame)
{
	static uint8_t data[CHUNK_MAX_BYTES];
	Condprof__Chunk chunk = CONDPROF__CHUNK__INIT;
	size_t header, body;

	chunk.has_data = true;
	chunk.data = (ProtobufCBinaryData){sizeof(data), data};
	size_t size = frame_size(&chunk.base);
	uint8_t *out = malloc(size);

	ck_assert_uint_eq(frame_pack(&chunk.base, out), size);
	ck_assert_int_eq(frame_peek(out, size, FRAME_MAX_BYTES, &header, &body), 1);
	ck_assert_uint_eq(header + body, size);
	free(out);
}
END_TEST

static int unpack_request(const void *data, size_t size, struct capped_allocator *capped)
{
	ProtobufCMessage *message = NULL;
	int r = message_unpack(&condprof__request__descriptor, data, size, capped, &message);

	ck_assert(r == 0 || !message);
	if (r == 0)
		protobuf_c_message_free_unpacked(message, NULL);
	return r;
}

START_TEST(amplification_is_capped)
{
	// A scenario of a million empty events, 2 bytes each on the wire.
	static uint8_t bytes[2 * 1024 * 1024];
	struct capped_allocator capped;
	ProtobufCMessage *message = NULL;

	for (size_t i = 0; i < sizeof(bytes); i += 2)
		bytes[i] = 10 << 3 | 2;
	capped_allocator_init(&capped, 1024 * 1024, 1000000);
	ck_assert_int_eq(message_unpack(&condprof__scenario__descriptor, bytes, sizeof(bytes), &capped, &message),
			 -EMSGSIZE);
	ck_assert(capped.exhausted);
	capped_allocator_init(&capped, 1024 * 1024 * 1024, 100);
	ck_assert_int_eq(message_unpack(&condprof__scenario__descriptor, bytes, sizeof(bytes), &capped, &message),
			 -EMSGSIZE);
	ck_assert_ptr_null(message);
}
END_TEST

START_TEST(unpack_says_why)
{
	static const uint8_t good[] = {0x08, 7, 0x12, 5, 0x1a, 3, 'c', 't', 'l'};
	struct capped_allocator capped;

	capped_allocator_init(&capped, 4096, 100);
	ck_assert_int_eq(unpack_request(good, sizeof(good), &capped), 0);
	ck_assert_uint_lt(capped.bytes_left, 4096);
	for (size_t cut = 1; cut < sizeof(good); cut++) {
		capped_allocator_init(&capped, 4096, 100);
		int r = unpack_request(good, cut, &capped);
		ck_assert_int_eq(r, cut == 2 ? 0 : -EBADMSG);
	}
	capped_allocator_init(&capped, 4096, 1);
	ck_assert_int_eq(unpack_request(good, sizeof(good), &capped), -EMSGSIZE);
	capped_allocator_init(&capped, 4096, 100);
	ck_assert_int_eq(unpack_request("\x08", 1, &capped), -EBADMSG);
	ck_assert_int_eq(unpack_request("\x0b", 1, &capped), -EBADMSG);      // groups are not ours
	ck_assert_int_eq(unpack_request("\x0a\x01x", 3, &capped), -EBADMSG); // id as bytes
	ck_assert_int_eq(unpack_request("\x00\x01", 2, &capped), -EBADMSG);  // no field has the number 0
}
END_TEST

START_TEST(bad_strings_are_refused)
{
	static const char *const texts[] = {"a\xff",    "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
					    "\xe2\x82", "\x80"};
	Condprof__Hello hello = CONDPROF__HELLO__INIT;
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	uint8_t packed[64];
	struct capped_allocator capped;

	request.body_case = CONDPROF__REQUEST__BODY_HELLO;
	request.hello = &hello;
	hello.client = (char[]){"fine: \xf0\x9f\x96\xa5 \xe2\x82\xac"};
	ck_assert(message_strings_valid(&request.base));
	char text[8];
	strcpy(text, texts[_i]);
	hello.client = text;
	ck_assert(!message_strings_valid(&request.base));
	capped_allocator_init(&capped, 4096, 100);
	ck_assert_int_eq(unpack_request(packed, protobuf_c_message_pack(&request.base, packed), &capped), -EILSEQ);
}
END_TEST

START_TEST(nul_in_a_string_is_refused)
{
	static const uint8_t bytes[] = {0x12, 5, 0x1a, 3, 'c', 0, 'l'};
	struct capped_allocator capped;

	capped_allocator_init(&capped, 4096, 100);
	ck_assert_int_eq(unpack_request(bytes, sizeof(bytes), &capped), -EILSEQ);
}
END_TEST

START_TEST(other_member_of_a_oneof_is_no_string)
{
	Condprof__Operand operand = CONDPROF__OPERAND__INIT;
	Condprof__CounterCondition condition = CONDPROF__COUNTER_CONDITION__INIT;

	operand.value_case = CONDPROF__OPERAND__VALUE_NUMBER;
	operand.number = 3.5; // no pointer
	condition.operand = &operand;
	ck_assert(message_strings_valid(&condition.base));
}
END_TEST

START_TEST(bad_string_has_a_place)
{
	Condprof__Scenario scenario = CONDPROF__SCENARIO__INIT;
	Condprof__Event events[3] = {CONDPROF__EVENT__INIT, CONDPROF__EVENT__INIT, CONDPROF__EVENT__INIT};
	Condprof__Event *event_list[] = {&events[0], &events[1], &events[2]};
	Condprof__Condition condition = CONDPROF__CONDITION__INIT;
	Condprof__Condition *conditions[] = {&condition};
	Condprof__ImageCondition image = CONDPROF__IMAGE_CONDITION__INIT;
	uint8_t packed[256];
	char place[64], small[20];

	image.file = (char[]){"\xff.png"};
	condition.kind_case = CONDPROF__CONDITION__KIND_IMAGE;
	condition.image = &image;
	events[2].n_conditions = 1;
	events[2].conditions = conditions;
	scenario.n_screen_events = 3;
	scenario.screen_events = event_list;
	size_t size = protobuf_c_message_pack(&scenario.base, packed);

	ck_assert_int_eq(wire_strings_check(scenario.base.descriptor, packed, size, place, sizeof(place)), -EILSEQ);
	ck_assert_str_eq(place, "screen-events[2].conditions[0].image.file");
	ck_assert_int_eq(wire_strings_check(scenario.base.descriptor, packed, size, small, sizeof(small)), -EILSEQ);
	ck_assert_str_eq(small, "screen-events[2].co");
	image.file = (char[]){"x.png"};
	size = protobuf_c_message_pack(&scenario.base, packed);
	ck_assert_int_eq(wire_strings_check(scenario.base.descriptor, packed, size, place, sizeof(place)), 0);
	ck_assert_str_eq(place, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frame");
	TCase *tests = tcase_create("frame");

	tcase_add_loop_test(tests, peek, 0, (int)ARRAY_SIZE(headers));
	tcase_add_loop_test(tests, header_round_trip, 0, 9);
	tcase_add_test(tests, golden_frame);
	tcase_add_test(tests, large_frame);
	tcase_add_test(tests, amplification_is_capped);
	tcase_add_test(tests, unpack_says_why);
	tcase_add_loop_test(tests, bad_strings_are_refused, 0, 6);
	tcase_add_test(tests, nul_in_a_string_is_refused);
	tcase_add_test(tests, other_member_of_a_oneof_is_no_string);
	tcase_add_test(tests, bad_string_has_a_place);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
