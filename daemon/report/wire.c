// SPDX-License-Identifier: GPL-3.0-or-later
/// The window: `data` holds [base, base + length) of the file and is read anew from wherever something is asked that is
/// not in it, so a scan that goes forward reads each byte about once. Nothing is believed before it was compared with
/// the end of what encloses it.
#include "config.h"

#include "daemon/report/disk.h"
#include "daemon/report/wire.h"

#include "proto/io.h"

#include <errno.h>
#include <string.h>

void wire_memory(struct wire *wire, const void *data, size_t size)
{
	*wire = (struct wire){.fd = -1, .limit = size, .data = data, .length = size};
}

void wire_file(struct wire *wire, int fd, uint64_t limit, uint8_t *window)
{
	*wire = (struct wire){.fd = fd, .limit = limit, .data = window, .window = window};
}

/// Up to `size` bytes (at most a window) at `position`, in *ret; fewer only at the end of everything.
static size_t fetch(struct wire *wire, uint64_t position, size_t size, const uint8_t **ret)
{
	if (position >= wire->limit)
		return 0;
	size = (size_t)MIN((uint64_t)size, wire->limit - position);
	if (position < wire->base || position + size > wire->base + wire->length) {
		if (wire->fd < 0 || wire->error < 0)
			return 0;
		ssize_t n = io_read_at(wire->fd, wire->window,
				       (size_t)MIN((uint64_t)WIRE_WINDOW_BYTES, wire->limit - position), position);
		wire->base = position;
		wire->length = n > 0 ? (size_t)n : 0;
		if (n < 0)
			wire->error = (int)n;
		size = MIN(size, wire->length);
	}
	*ret = wire->data + (position - wire->base);
	return size;
}

static int varint_slow(struct wire *wire, uint64_t position, uint64_t end, uint64_t *ret)
{
	const uint8_t *data;
	size_t room = position < end ? (size_t)MIN((uint64_t)10, end - position) : 0;
	size_t size = room ? fetch(wire, position, room, &data) : 0;
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++) {
		value |= (uint64_t)(data[i] & 0x7f) << (7 * i);
		if (!(data[i] & 0x80)) {
			if (i == 9 && data[i] > 1)
				return -EBADMSG;
			*ret = value;
			return (int)i + 1;
		}
	}
	return size == 10 ? -EBADMSG : 0;
}

/// A varint at `position` that ends before `end`. Returns its bytes, 0: cut short, -EBADMSG: too long. Most have a byte
/// or two, and are in the window: the scan of a report is made of these.
static inline int varint(struct wire *wire, uint64_t position, uint64_t end, uint64_t *ret)
{
	uint64_t offset = position - wire->base;

	if (position >= wire->base && offset + 1 < wire->length && position + 1 < end) {
		const uint8_t *data = wire->data + offset;

		if (!(data[0] & 0x80)) {
			*ret = data[0];
			return 1;
		}
		if (!(data[1] & 0x80)) {
			*ret = (uint64_t)(data[0] & 0x7f) | (uint64_t)data[1] << 7;
			return 2;
		}
	}
	return varint_slow(wire, position, end, ret);
}

static int fixed(struct wire *wire, uint64_t position, uint64_t end, size_t size, uint64_t *ret)
{
	const uint8_t *data;

	if (end - position < size || fetch(wire, position, size, &data) < size)
		return -EBADMSG;
	*ret = 0;
	for (size_t i = 0; i < size; i++)
		*ret |= (uint64_t)data[i] << (8 * i);
	return (int)size;
}

int wire_next(struct wire *wire, uint64_t *position, uint64_t end, struct wire_field *ret)
{
	uint64_t at = *position, tag;
	struct wire_field field = {0};
	int n;

	if (at >= end)
		return 0;
	n = varint(wire, at, end, &tag);
	if (n <= 0 || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
		return -EBADMSG;
	at += (uint64_t)n;
	field.number = (uint32_t)(tag >> 3);
	field.type = (enum wire_type)(tag & 7);
	if (field.type == WIRE_FIXED64 || field.type == WIRE_FIXED32)
		n = fixed(wire, at, end, field.type == WIRE_FIXED64 ? 8 : 4, &field.value);
	else if (field.type == WIRE_VARINT || field.type == WIRE_BYTES)
		n = varint(wire, at, end, &field.value);
	else
		return -EBADMSG;
	if (n <= 0)
		return -EBADMSG;
	at += (uint64_t)n;
	if (field.type == WIRE_BYTES) {
		if (field.value > end - at)
			return -EBADMSG;
		field.begin = at;
		field.end = at += field.value;
	}
	*ret = field;
	*position = at;
	return 1;
}

int wire_delimited(struct wire *wire, uint64_t position, uint64_t *ret_begin, uint64_t *ret_end)
{
	uint64_t size;
	int n = varint(wire, position, wire->limit, &size);

	if (n <= 0)
		return n;
	if (size > wire->limit - position - (uint64_t)n)
		return 0;
	*ret_begin = position + (uint64_t)n;
	*ret_end = *ret_begin + size;
	return 1;
}

int wire_copy(struct wire *wire, uint64_t begin, void *out, size_t size)
{
	uint8_t *to = out;

	while (size > 0) {
		const uint8_t *data;
		size_t n = fetch(wire, begin, MIN(size, (size_t)WIRE_WINDOW_BYTES), &data);

		if (n == 0)
			return wire->error < 0 ? wire->error : -EBADMSG;
		memcpy(to, data, n);
		to += n;
		begin += n;
		size -= n;
	}
	return 0;
}

/// The event's id is the first field that anybody writes; the rest of the event is not looked at.
static int event_id(struct wire *wire, struct message_summary *summary)
{
	uint64_t at = summary->begin;
	struct wire_field field;
	int r;

	while ((r = wire_next(wire, &at, summary->end, &field)) > 0) {
		if (field.number == 1 && field.type == WIRE_VARINT) {
			summary->event_id = (int64_t)field.value;
			return 0;
		}
	}
	return r;
}

static void summarize_bytes(const struct wire_field *field, struct message_summary *summary)
{
	switch (field->number) {
	case 2:
	case 3:
		summary->kind = MESSAGE_OCCURRENCE;
		break;
	case 4:
		summary->kind = MESSAGE_COUNTERS_INIT;
		break;
	case 5:
	case 50:
		summary->kind = MESSAGE_AGGREGATES;
		return;
	default:
		return;
	}
	summary->begin = field->begin;
	summary->end = field->end;
}

static void summarize_varint(const struct wire_field *field, struct message_summary *summary)
{
	if (field->number == 1)
		summary->relative_ms = (int64_t)field->value;
	if (field->number == 7) {
		summary->at_ns = (int64_t)field->value;
		summary->at_exact = true;
	}
}

int message_summarize(struct wire *wire, uint64_t begin, uint64_t end, struct message_summary *ret)
{
	struct message_summary summary = {.kind = MESSAGE_OTHER};
	struct wire_field field;
	int r;

	while ((r = wire_next(wire, &begin, end, &field)) > 0) {
		if (field.type == WIRE_BYTES)
			summarize_bytes(&field, &summary);
		else if (field.type == WIRE_VARINT)
			summarize_varint(&field, &summary);
	}
	if (r == 0 && summary.kind == MESSAGE_OCCURRENCE)
		r = event_id(wire, &summary);
	if (r < 0)
		return r;
	if (!summary.at_exact && __builtin_mul_overflow(summary.relative_ms, NSEC_PER_MSEC, &summary.at_ns))
		summary.at_ns = summary.relative_ms < 0 ? INT64_MIN : INT64_MAX;
	*ret = summary;
	return 0;
}

size_t wire_put_varint(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	while (value >= 0x80) {
		out[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	out[n++] = (uint8_t)value;
	return n;
}

size_t wire_put_varint_field(uint8_t *out, uint32_t number, uint64_t value)
{
	size_t n = wire_put_varint(out, (uint64_t)number << 3);

	return n + wire_put_varint(out + n, value);
}
