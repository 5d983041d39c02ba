// SPDX-License-Identifier: GPL-3.0-or-later
//
// Walks a message by its descriptor. Handles what the project's messages use, and aborts on anything else.
#include "config.h"

#include "tests/support/message_text.h"

#include "proto/base.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_message(FILE *out, const ProtobufCMessage *message, int depth);

static void print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\' || *text == '\'')
			fprintf(out, "\\%c", *text);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (isprint((unsigned char)*text))
			fputc(*text, out);
		else
			fprintf(out, "\\%03o", (unsigned char)*text);
	}
	fputc('"', out);
}

static void print_double(FILE *out, double number)
{
	char text[40];
	int digits = 14;

	do
		snprintf(text, sizeof(text), "%.*g", ++digits, number);
	while (digits < 17 && strtod(text, NULL) != number);
	fputs(text, out);
}

static void print_value(FILE *out, const ProtobufCFieldDescriptor *field, const void *value, int depth)
{
	fprintf(out, "%*s%s", 2 * depth, "", field->name);
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		fputs(" {\n", out);
		print_message(out, *(const ProtobufCMessage *const *)value, depth + 1);
		fprintf(out, "%*s}\n", 2 * depth, "");
		return;
	case PROTOBUF_C_TYPE_STRING:
		fputs(": ", out);
		print_string(out, *(const char *const *)value);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		fprintf(out, ": %zu bytes", ((const ProtobufCBinaryData *)value)->len);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		fputs(*(const protobuf_c_boolean *)value ? ": true" : ": false", out);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		fprintf(out, ": %s",
			protobuf_c_enum_descriptor_get_value(field->descriptor, *(const int *)value)->name);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		fputs(": ", out);
		print_double(out, *(const double *)value);
		break;
	case PROTOBUF_C_TYPE_INT64:
		fprintf(out, ": %" PRId64, *(const int64_t *)value);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		fprintf(out, ": %" PRIu64, *(const uint64_t *)value);
		break;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
		fprintf(out, ": %" PRId32, *(const int32_t *)value);
		break;
	case PROTOBUF_C_TYPE_UINT32:
		fprintf(out, ": %" PRIu32, *(const uint32_t *)value);
		break;
	default:
		abort();
	}
	fputc('\n', out);
}

static size_t element_size(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
	case PROTOBUF_C_TYPE_STRING:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_INT64:
		return sizeof(int64_t);
	default:
		abort();
	}
}

static bool is_present(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const char *base = (const char *)message;

	if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return *(const uint32_t *)(const void *)(base + field->quantifier_offset) == field->id;
	if (field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING)
		return *(const void *const *)(const void *)(base + field->offset) != NULL;
	return *(const protobuf_c_boolean *)(const void *)(base + field->quantifier_offset);
}

static void print_message(FILE *out, const ProtobufCMessage *message, int depth)
{
	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		const char *member = (const char *)message + field->offset;

		if (field->label != PROTOBUF_C_LABEL_REPEATED) {
			if (is_present(message, field))
				print_value(out, field, member, depth);
			continue;
		}
		size_t count = *(const size_t *)(const void *)((const char *)message + field->quantifier_offset);
		for (size_t n = 0; n < count; n++)
			print_value(out, field, *(const char *const *)(const void *)member + n * element_size(field),
				    depth);
	}
}

char *message_text(const ProtobufCMessage *message)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_message(out, message, 0);
	return fclose(out) == 0 ? text : NULL;
}
