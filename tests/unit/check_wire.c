// SPDX-License-Identifier: GPL-3.0-or-later
/// The field scanner against protobuf-c, and the ring between two threads.
#include "config.h"

#include "daemon/report/queue.h"
#include "daemon/report/wire.h"
#include "proto/frame.h"
#include "proto/report.pb-c.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

// --- the scanner -----------------------------------------------------------------------------------------------------

static const struct {
	const char *bytes;
	size_t size;
	int r;
	enum message_kind kind;
	int64_t event_id, at_ns;
} messages[] = {
	{"", 0, 0, MESSAGE_OTHER, 0, 0},
	{"\x08\x05", 2, 0, MESSAGE_OTHER, 0, 5000000},
	// image_event {event_id 7}, then both stamps: the exact one counts, wherever it stands
	{"\x12\x02\x08\x07\x08\x05\x38\x09", 8, 0, MESSAGE_OCCURRENCE, 7, 9},
	{"\x38\x09\x08\x05\x1a\x02\x08\x07", 8, 0, MESSAGE_OCCURRENCE, 7, 9},
	{"\x1a\x00", 2, 0, MESSAGE_OCCURRENCE, 0, 0},
	// the id comes after another field
	{"\x12\x04\x10\x01\x08\x07", 6, 0, MESSAGE_OCCURRENCE, 7, 0},
	{"\x22\x00", 2, 0, MESSAGE_COUNTERS_INIT, 0, 0},
	{"\x2a\x00", 2, 0, MESSAGE_AGGREGATES, 0, 0},
	{"\x92\x03\x00", 3, 0, MESSAGE_AGGREGATES, 0, 0},
	{"\x9a\x03\x00", 3, 0, MESSAGE_OTHER, 0, 0},
	// a negative time, and one that does not fit nanoseconds
	{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 0, MESSAGE_OTHER, 0, -1000000},
	{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, 0, MESSAGE_OTHER, 0, INT64_MAX},
	{"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, 0, MESSAGE_OTHER, 0, INT64_MIN},
	// fixed fields are stepped over
	{"\x41\x01\x02\x03\x04\x05\x06\x07\x08\x4d\x01\x02\x03\x04\x38\x03", 16, 0, MESSAGE_OTHER, 0, 3},
	// damage
	{"\x12", 1, -EBADMSG, 0, 0, 0},
	{"\x12\x03\x08\x07", 4, -EBADMSG, 0, 0, 0},
	{"\x12\x01\x08", 3, -EBADMSG, 0, 0, 0},
	{"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, -EBADMSG, 0, 0, 0},
	{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, -EBADMSG, 0, 0, 0},
	{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, -EBADMSG, 0, 0, 0},
	{"\x08\x80", 2, -EBADMSG, 0, 0, 0},
	{"\x41\x01\x02", 3, -EBADMSG, 0, 0, 0},
	{"\x00\x01", 2, -EBADMSG, 0, 0, 0},
	{"\x13", 1, -EBADMSG, 0, 0, 0},
	{"\x0f", 1, -EBADMSG, 0, 0, 0},
};

START_TEST(summaries)
{
	struct message_summary summary = {.event_id = 77};
	struct wire wire;

	wire_memory(&wire, messages[_i].bytes, messages[_i].size);
	ck_assert_int_eq(message_summarize(&wire, 0, messages[_i].size, &summary), messages[_i].r);
	if (messages[_i].r < 0) {
		ck_assert_int_eq(summary.event_id, 77);
		return;
	}
	ck_assert_int_eq(summary.kind, messages[_i].kind);
	ck_assert_int_eq(summary.event_id, messages[_i].event_id);
	ck_assert_int_eq(summary.at_ns, messages[_i].at_ns);
}
END_TEST

/// A file of messages from a few bytes to several windows: scanned in memory and in the file, both must see the same.
START_TEST(file_and_memory)
{
	static const size_t sizes[] = {
		0, 1, 100, WIRE_WINDOW_BYTES - 20, WIRE_WINDOW_BYTES - 3, WIRE_WINDOW_BYTES, 100, 200000, 300000, 5};
	static uint8_t data[1000000], window[WIRE_WINDOW_BYTES];
	size_t size = 0;
	int fd = memfd_create("messages", MFD_CLOEXEC);
	struct wire memory, file;
	uint64_t at = 0, begins[2], ends[2];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint8_t header[FRAME_HEADER_MAX], tag[FRAME_HEADER_MAX];
		size_t n_tag = frame_put_header(tag, sizes[i]);
		size_t body = 1 + n_tag + sizes[i] + 2;
		size_t n = frame_put_header(header, body);

		memcpy(data + size, header, n);
		data[size + n] = 0x7a; // an unknown field of that size, then the time
		memcpy(data + size + n + 1, tag, n_tag);
		memset(data + size + n + 1 + n_tag, (int)i + 1, sizes[i]);
		data[size + n + body - 2] = 0x38;
		data[size + n + body - 1] = (uint8_t)(i + 1);
		size += n + body;
	}
	ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
	wire_memory(&memory, data, size);
	wire_file(&file, fd, size, window);
	for (;; count++) {
		struct message_summary seen[2];
		static uint8_t copies[2][400000];
		int r = wire_delimited(&memory, at, &begins[0], &ends[0]);

		ck_assert_int_eq(wire_delimited(&file, at, &begins[1], &ends[1]), r);
		if (r == 0)
			break;
		ck_assert_uint_eq(begins[0], begins[1]);
		ck_assert_uint_eq(ends[0], ends[1]);
		ck_assert_int_eq(message_summarize(&memory, begins[0], ends[0], &seen[0]), 0);
		ck_assert_int_eq(message_summarize(&file, begins[0], ends[0], &seen[1]), 0);
		ck_assert_int_eq(seen[0].at_ns, (int64_t)count + 1);
		ck_assert_int_eq(seen[1].at_ns, (int64_t)count + 1);
		size_t n = (size_t)(ends[0] - begins[0]);
		ck_assert_int_eq(wire_copy(&memory, begins[0], copies[0], n), 0);
		ck_assert_int_eq(wire_copy(&file, begins[0], copies[1], n), 0);
		ck_assert_mem_eq(copies[0], copies[1], n);
		at = ends[0];
	}
	ck_assert_uint_eq(count, ARRAY_SIZE(sizes));
	ck_assert_uint_eq(at, size);
	ck_assert_int_eq(wire_copy(&file, size - 1, window, 2), -EBADMSG);
	close(fd);
}
END_TEST

START_TEST(unreadable_file)
{
	static uint8_t window[WIRE_WINDOW_BYTES];
	uint64_t begin, end;
	struct wire wire;

	wire_file(&wire, 0x7fffffff, 10, window);
	ck_assert_int_eq(wire_delimited(&wire, 0, &begin, &end), 0);
	ck_assert_int_eq(wire.error, -EBADF);
	ck_assert_int_eq(wire_copy(&wire, 0, &begin, 1), -EBADF);
}
END_TEST

START_TEST(put_varints)
{
	static const uint64_t values[] = {0, 1, 127, 128, 300, INT64_MAX, UINT64_MAX};
	uint8_t out[20];
	uint64_t at = 0;
	struct wire_field field;
	struct wire wire;

	size_t n = wire_put_varint_field(out, 66, values[_i]);
	wire_memory(&wire, out, n);
	ck_assert_int_eq(wire_next(&wire, &at, n, &field), 1);
	ck_assert_uint_eq(field.number, 66);
	ck_assert_uint_eq(field.value, values[_i]);
	ck_assert_int_eq(wire_next(&wire, &at, n, &field), 0);
}
END_TEST

// --- the ring --------------------------------------------------------------------------------------------------------

#define PIECE_MAX 300U

/// Pieces whose length and bytes follow from their number, so that the consumer can check each.
static size_t piece_size(uint64_t n)
{
	return 2 + (size_t)(n * 2654435761U >> 7) % (PIECE_MAX - 2);
}

static void fill(uint8_t *out, uint64_t n)
{
	size_t size = piece_size(n);

	out[0] = (uint8_t)size;
	out[1] = (uint8_t)(size >> 8);
	memset(out + 2, (int)(n & 0xff), size - 2);
}

static bool produce(struct queue *queue, uint64_t n)
{
	uint8_t *out = queue_reserve(queue, piece_size(n));

	if (!out)
		return false;
	fill(out, n);
	queue_commit(queue, piece_size(n));
	return true;
}

static bool piece_right(const uint8_t *data, size_t size, uint64_t n)
{
	size_t piece = piece_size(n);

	if (size < piece || (data[0] | (size_t)data[1] << 8) != piece)
		return false;
	for (size_t i = 2; i < piece; i++) {
		if (data[i] != (n & 0xff))
			return false;
	}
	return true;
}

/// Takes what is ready, checks it. Returns pieces. (ck_assert writes to a pipe each time: only for what is wrong.)
static uint64_t consume(struct queue *queue, uint64_t next)
{
	const uint8_t *data;
	size_t size = queue_peek(queue, &data), at = 0;
	uint64_t count = 0;

	for (; at < size; count++) {
		if (!piece_right(data + at, size - at, next + count))
			ck_abort_msg("piece %llu is not what was put in", (unsigned long long)(next + count));
		at += piece_size(next + count);
	}
	queue_consume(queue, size);
	return count;
}

/// In turns, at random: what is not refused comes out whole and in order, and half a capacity always fits when it is
/// empty.
START_TEST(ring_in_turns)
{
	static const size_t capacities[] = {1024, 4096, 200000};
	uint64_t made = 0, taken = 0, random = 12345;
	struct queue queue;

	ck_assert_int_eq(queue_init(&queue, capacities[_i]), 0);
	ck_assert_ptr_null(queue_reserve(&queue, queue.capacity + 1));
	for (int turn = 0; turn < 20000; turn++) {
		random = random * 6364136223846793005U + 1442695040888963407U;
		for (uint64_t n = random >> 60; n > 0 && produce(&queue, made); n--)
			made++;
		if (random >> 40 & 1)
			taken += consume(&queue, taken);
		if (queue_empty(&queue) != (made == taken) ||
		    (made == taken && !queue_reserve(&queue, queue.capacity / 2)))
			ck_abort_msg("%llu in, %llu out", (unsigned long long)made, (unsigned long long)taken);
	}
	while (taken < made)
		taken += consume(&queue, taken);
	ck_assert_uint_gt(made, 10000);
	queue_deinit(&queue);
}
END_TEST

/// Fills laps exactly to their ends: the next lap must not be read by the watermark of one before.
START_TEST(ring_exact_laps)
{
	const uint8_t *data;
	struct queue queue;
	size_t size = 0;

	ck_assert_int_eq(queue_init(&queue, 64), 0);
	for (int i = 0; i < 50; i++) {
		size_t piece = i % 3 == 0 ? 64 : i % 3 == 1 ? 40 : 32;
		uint8_t *out = queue_reserve(&queue, piece);

		if (out) {
			memset(out, i, piece);
			queue_commit(&queue, piece);
		}
		while ((size = queue_peek(&queue, &data)) > 0) {
			for (size_t k = 0; k < size; k++)
				ck_assert_int_eq(data[k], i);
			queue_consume(&queue, MIN(size, (size_t)32));
		}
	}
	queue_deinit(&queue);
}
END_TEST

#define RACED_PIECES 200000U

static void *produce_all(void *argument)
{
	struct queue *queue = argument;

	for (uint64_t n = 0; n < RACED_PIECES; n++) {
		while (!produce(queue, n))
			sched_yield();
	}
	return NULL;
}

START_TEST(ring_raced)
{
	pthread_t producer;
	struct queue queue;
	uint64_t taken = 0;

	ck_assert_int_eq(queue_init(&queue, _i ? 1U << 20 : 1024), 0);
	ck_assert_int_eq(pthread_create(&producer, NULL, produce_all, &queue), 0);
	while (taken < RACED_PIECES) {
		uint64_t count = consume(&queue, taken);

		if (count == 0)
			sched_yield();
		taken += count;
	}
	pthread_join(producer, NULL);
	ck_assert(queue_empty(&queue));
	queue_deinit(&queue);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("wire");
	TCase *scanner = tcase_create("scanner"), *ring = tcase_create("ring");

	tcase_add_loop_test(scanner, summaries, 0, ARRAY_SIZE(messages));
	tcase_add_test(scanner, file_and_memory);
	tcase_add_test(scanner, unreadable_file);
	tcase_add_loop_test(scanner, put_varints, 0, 7);
	suite_add_tcase(s, scanner);
	tcase_add_loop_test(ring, ring_in_turns, 0, 3);
	tcase_add_test(ring, ring_exact_laps);
	tcase_add_loop_test(ring, ring_raced, 0, 2);
	suite_add_tcase(s, ring);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
