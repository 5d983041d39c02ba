// SPDX-License-Identifier: GPL-3.0-or-later
/// Varint-delimited framing, the same on the socket and in the report files: the body's length as a base-128 varint,
/// then the body.
#ifndef CONDPROF_FRAME_H
#define CONDPROF_FRAME_H

#include "proto/base.h"

#include <protobuf-c/protobuf-c.h>

#define FRAME_HEADER_MAX 10U  ///< bytes a length may take on disk; on the socket 3 are enough

/// Looks for a frame's header at the start of `data`.
/// @param max_body the largest body allowed
/// @param ret_header bytes of the header
/// @param ret_body bytes of the body
/// @return 1: header complete (the body may not be); 0: more bytes needed; -EMSGSIZE: body larger than max_body;
///         -EBADMSG: not a varint
int frame_peek(const uint8_t *data, size_t size, size_t max_body, size_t *ret_header, size_t *ret_body);

/// Writes the header of a body of `body` bytes. @return bytes written, at most FRAME_HEADER_MAX
size_t frame_put_header(uint8_t out[FRAME_HEADER_MAX], size_t body);

/// Bytes of the whole frame that `message` makes.
size_t frame_size(const ProtobufCMessage *message);

/// Packs header and body to `out`, which has frame_size() bytes. Allocates nothing. @return bytes written
size_t frame_pack(const ProtobufCMessage *message, uint8_t *out);

/// An allocator for unpacking what comes from outside: stops at a number of bytes and of allocations, because small
/// submessages amplify (a frame of empty submessages takes 67 times its size uncapped).
struct capped_allocator {
	ProtobufCAllocator base;  ///< give &capped.base to protobuf-c
	size_t bytes_left;
	size_t count_left;
	bool exhausted;  ///< a limit was met (not: the machine had no memory)
};

/// `bytes` and `count` bound one unpack; freeing gives nothing back.
void capped_allocator_init(struct capped_allocator *capped, size_t bytes, size_t count);

/// Whether every string of the message and its submessages is valid UTF-8 without NUL: protobuf-c does not check.
/// A NUL on the wire shows only as a shorter string here: message_unpack() looks at the wire.
bool message_strings_valid(const ProtobufCMessage *message);

/// Looks through a message on the wire for a string with bad UTF-8 or a NUL. Allocates nothing.
/// @param ret_place where the first one is, as in "screen-events[2].conditions[0].name"; empty: none; may be NULL
/// @return 0, -EILSEQ: a bad string; -EBADMSG: not a message of this kind
int wire_strings_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size, char *ret_place,
		       size_t place_size);

/// What is to be done with every message from outside: looks at its strings, and unpacks it with the capped allocator.
/// Freed by the message's own free_unpacked with NULL.
/// @return 0, -EILSEQ: a bad string; -EBADMSG: not a message of this kind; -EMSGSIZE: larger than the caps; -ENOMEM
int message_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
		   struct capped_allocator *capped, ProtobufCMessage **ret);

#endif
