// SPDX-License-Identifier: GPL-3.0-or-later
/// What the daemon does with the bytes of a client: frames, one after the other, each unpacked as a Request with the
/// capped allocator; what was understood is packed again and must come back the same.
#include "tests/fuzz/fuzz.h"

#include "proto/control.pb-c.h"
#include "proto/frame.h"
#include "proto/limits.h"

#include <errno.h>
#include <string.h>

static void check_round_trip(const ProtobufCMessage *message)
{
	size_t size = frame_size(message), header = 0, body = 0;
	uint8_t *packed = malloc(size), *again = malloc(size);
	struct capped_allocator capped;
	ProtobufCMessage *second = NULL;

	FUZZ_ASSERT(packed && again);
	FUZZ_ASSERT(frame_pack(message, packed) == size);
	FUZZ_ASSERT(frame_peek(packed, size, size, &header, &body) == 1 && header + body == size);
	capped_allocator_init(&capped, 16 * 1024 * 1024, 1024 * 1024);
	FUZZ_ASSERT(message_unpack(message->descriptor, packed + header, body, &capped, &second) == 0);
	FUZZ_ASSERT(frame_size(second) == size && frame_pack(second, again) == size);
	FUZZ_ASSERT(memcmp(packed, again, size) == 0);
	protobuf_c_message_free_unpacked(second, NULL);
	free(packed);
	free(again);
}

static void unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size)
{
	struct capped_allocator capped;
	ProtobufCMessage *message = NULL;

	capped_allocator_init(&capped, 256 * 1024, 2048);
	int r = message_unpack(descriptor, data, size, &capped, &message);

	FUZZ_ASSERT((r == 0) == (message != NULL));
	FUZZ_ASSERT(r == 0 || r == -EBADMSG || r == -EMSGSIZE || r == -EILSEQ);
	if (!message)
		return;
	FUZZ_ASSERT(message_strings_valid(message));
	check_round_trip(message);
	protobuf_c_message_free_unpacked(message, NULL);
}

#define FRAMES_MAX 64 ///< of one input: more of them only make it slow

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t header = 0, body = 0;

	for (int i = 0; i < FRAMES_MAX && frame_peek(data, size, FRAME_MAX_BYTES, &header, &body) == 1; i++) {
		FUZZ_ASSERT(header >= 1 && header <= FRAME_HEADER_MAX && body <= FRAME_MAX_BYTES);
		if (body > size - header)
			break;
		unpack(&condprof__request__descriptor, data + header, body);
		unpack(&condprof__reply__descriptor, data + header, body);
		data += header + body;
		size -= header + body;
	}
	return 0;
}
