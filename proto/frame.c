// SPDX-License-Identifier: GPL-3.0-or-later
/// Framing, and unpacking what comes from outside. Always holds: no length is believed before it was compared with what
/// is allowed and with what is there, and nothing is allocated for it before that.
#include "proto/frame.h"
#include "proto/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

/// @return bytes read, 0: more are needed, -EBADMSG: longer than 64 bits. `*ret` is what was read so far in any case.
static int varint_read(const uint8_t *data, size_t size, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size && i < FRAME_HEADER_MAX; i++) {
		if (i == FRAME_HEADER_MAX - 1 && data[i] > 1)
			return -EBADMSG;
		value |= (uint64_t)(data[i] & 0x7f) << (7 * i);
		*ret = value;
		if (!(data[i] & 0x80))
			return (int)i + 1;
	}
	return 0;
}

int frame_peek(const uint8_t *data, size_t size, size_t max_body, size_t *ret_header, size_t *ret_body)
{
	uint64_t body = 0;
	int header = varint_read(data, size, &body);

	if (header < 0)
		return header;
	if (body > max_body) // more bytes can only make it larger
		return -EMSGSIZE;
	if (header == 0)
		return 0;
	*ret_header = (size_t)header;
	*ret_body = (size_t)body;
	return 1;
}

size_t frame_put_header(uint8_t out[FRAME_HEADER_MAX], size_t body)
{
	size_t length = 0;

	for (; body >= 0x80; body >>= 7)
		out[length++] = (uint8_t)(body | 0x80);
	out[length++] = (uint8_t)body;
	return length;
}

size_t frame_size(const ProtobufCMessage *message)
{
	uint8_t header[FRAME_HEADER_MAX];
	size_t body = protobuf_c_message_get_packed_size(message);

	return frame_put_header(header, body) + body;
}

size_t frame_pack(const ProtobufCMessage *message, uint8_t *out)
{
	uint8_t header[FRAME_HEADER_MAX];
	size_t length = frame_put_header(header, protobuf_c_message_get_packed_size(message));

	memcpy(out, header, length);
	return length + protobuf_c_message_pack(message, out + length);
}

static void *capped_alloc(void *data, size_t size)
{
	struct capped_allocator *capped = data;

	if (capped->count_left == 0 || size > capped->bytes_left) {
		capped->exhausted = true;
		return NULL;
	}
	capped->count_left--;
	capped->bytes_left -= size;
	return malloc(size);
}

static void capped_free(void *data, void *pointer)
{
	(void)data;
	free(pointer);
}

void capped_allocator_init(struct capped_allocator *capped, size_t bytes, size_t count)
{
	*capped = (struct capped_allocator){
		.base = {.alloc = capped_alloc, .free = capped_free, .allocator_data = capped},
		.bytes_left = bytes,
		.count_left = count,
	};
}

static const void *member_at(const ProtobufCMessage *message, size_t offset)
{
	return (const char *)message + offset;
}

/// How many values a string or message field has, and where the pointers to them are.
static size_t field_values(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			   const void *const **ret_values)
{
	const void *member = member_at(message, field->offset);

	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		*ret_values = *(const void *const *const *)member;
		return *(const size_t *)member_at(message, field->quantifier_offset);
	}
	if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
	    *(const uint32_t *)member_at(message, field->quantifier_offset) != field->id)
		return 0; // the union holds another member
	*ret_values = member;
	return 1;
}

static bool field_strings_valid(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const void *const *values = NULL;
	size_t count = field_values(message, field, &values);

	for (size_t i = 0; i < count; i++) {
		if (!values[i])
			continue;
		if (field->type == PROTOBUF_C_TYPE_MESSAGE ? !message_strings_valid(values[i])
							   : !utf8_valid(values[i], strlen(values[i])))
			return false;
	}
	return true;
}

bool message_strings_valid(const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;

	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];

		if ((field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE) &&
		    !field_strings_valid(message, field))
			return false;
	}
	return true;
}

/// One field on the wire: its number, and of WIRE_BYTES what it holds.
struct wire_field {
	uint32_t number;
	enum wire_type type;
	const uint8_t *bytes;
	size_t size;
};

/// @return bytes of the whole field, or -EBADMSG
static ssize_t wire_field_read(const uint8_t *data, size_t size, struct wire_field *ret)
{
	uint64_t tag = 0, value = 0;
	int header = varint_read(data, size, &tag), more = 0;

	if (header <= 0 || tag > UINT32_MAX || tag >> 3 == 0) // no field has the number 0
		return -EBADMSG;
	size_t left = size - (size_t)header, payload = 0;

	ret->number = (uint32_t)(tag >> 3);
	ret->type = tag & 7;
	switch (ret->type) {
	case WIRE_FIXED64:
		payload = 8;
		break;
	case WIRE_FIXED32:
		payload = 4;
		break;
	case WIRE_VARINT:
	case WIRE_BYTES:
		more = varint_read(data + header, left, &value);
		if (more <= 0)
			return -EBADMSG;
		left -= (size_t)more;
		payload = ret->type == WIRE_BYTES ? value : 0;
		break;
	default:
		return -EBADMSG;
	}
	if (payload > left)
		return -EBADMSG;
	ret->bytes = data + header + more;
	ret->size = payload;
	return (ssize_t)((size_t)header + (size_t)more + payload);
}

/// The way down to a message on the wire: what a place is made of. Descriptors are not recursive, so it is short.
struct wire_path {
	const struct wire_path *parent;
	const ProtobufCFieldDescriptor *field;
	const uint8_t *siblings; ///< the message this field is in, up to the field
	size_t siblings_size;
};

static size_t count_before(const struct wire_path *path)
{
	struct wire_field field;
	size_t count = 0;

	for (size_t at = 0; at < path->siblings_size;) {
		ssize_t length = wire_field_read(path->siblings + at, path->siblings_size - at, &field);

		if (length < 0)
			break;
		count += field.number == path->field->id;
		at += (size_t)length;
	}
	return count;
}

static size_t put_place(const struct wire_path *path, char *out, size_t size)
{
	size_t at = path->parent ? put_place(path->parent, out, size) : 0;
	int written;

	if (at >= size)
		return at;
	if (path->field->label == PROTOBUF_C_LABEL_REPEATED)
		written = snprintf(out + at, size - at, "%s%s[%zu]", at ? "." : "", path->field->name,
				   count_before(path));
	else
		written = snprintf(out + at, size - at, "%s%s", at ? "." : "", path->field->name);
	for (char *c = out + at; *c; c++)
		if (*c == '_')
			*c = '-';
	return at + (size_t)MAX(written, 0);
}

/// @param ret_bad the path of the first bad string, written to `place`
static int check_message(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
			 const struct wire_path *parent, char *place, size_t place_size)
{
	for (size_t at = 0; at < size;) {
		struct wire_field wire;
		ssize_t length = wire_field_read(data + at, size - at, &wire);
		int r = 0;

		if (length < 0)
			return (int)length;
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field(descriptor, wire.number);
		struct wire_path path = {parent, field, data, at};

		if (field && wire.type == WIRE_BYTES && field->type == PROTOBUF_C_TYPE_MESSAGE) {
			r = check_message(field->descriptor, wire.bytes, wire.size, &path, place, place_size);
		} else if (field && wire.type == WIRE_BYTES && field->type == PROTOBUF_C_TYPE_STRING &&
			   !utf8_valid(wire.bytes, wire.size)) {
			put_place(&path, place, place_size);
			r = -EILSEQ;
		}
		if (r < 0)
			return r;
		at += (size_t)length;
	}
	return 0;
}

int wire_strings_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size, char *ret_place,
		       size_t place_size)
{
	char unused[1];

	if (!ret_place || place_size == 0) {
		ret_place = unused;
		place_size = sizeof(unused);
	}
	ret_place[0] = '\0';
	return check_message(descriptor, data, size, NULL, ret_place, place_size);
}

int message_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
		   struct capped_allocator *capped, ProtobufCMessage **ret)
{
	int r = wire_strings_check(descriptor, data, size, NULL, 0);

	if (r < 0)
		return r;
	errno = 0;
	ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &capped->base, size, data);

	if (message) {
		*ret = message;
		return 0;
	}
	if (capped->exhausted)
		return -EMSGSIZE;
	return errno == ENOMEM ? -ENOMEM : -EBADMSG;
}
