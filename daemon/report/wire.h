// SPDX-License-Identifier: GPL-3.0-or-later
/// Walks the fields of protobuf messages without decoding them: in memory, or in a file through a small window.
/// Payloads that nobody asks about are stepped over unread, so a scan costs little and takes constant memory. What it
/// reads may be anything: every length is checked against what encloses it.
#ifndef CONDPROF_WIRE_H
#define CONDPROF_WIRE_H

#include "proto/base.h"

#define WIRE_WINDOW_BYTES (64U * 1024U)

/// Bytes [0, limit) of a file, or of memory.
struct wire {
	int fd; ///< -1: memory
	uint64_t limit;
	const uint8_t *data; ///< bytes [base, base + length)
	uint64_t base;
	size_t length;
	uint8_t *window; ///< WIRE_WINDOW_BYTES, the caller's; files only
	int error;       ///< a negative errno when reading failed; everything then looks cut short
};

void wire_memory(struct wire *wire, const void *data, size_t size);
void wire_file(struct wire *wire, int fd, uint64_t limit, uint8_t *window);

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;      ///< of a varint or fixed field
	uint64_t begin, end; ///< of a bytes field
};

/// The field at *position of a message that ends at `end`. @return 1, 0: no more, -EBADMSG: no field
int wire_next(struct wire *wire, uint64_t *position, uint64_t end, struct wire_field *ret);

/// The delimited message at `position`. @return 1: [*ret_begin, *ret_end) is its body, and whole; 0: the end, or a
/// message cut short; -EBADMSG: no length
int wire_delimited(struct wire *wire, uint64_t position, uint64_t *ret_begin, uint64_t *ret_end);

/// Copies [begin, begin + size). @return 0 or -EBADMSG: not there
int wire_copy(struct wire *wire, uint64_t begin, void *out, size_t size);

/// What a DebugReportMessage is, without its details.
enum message_kind {
	MESSAGE_OCCURRENCE, ///< image_event or trigger_event
	MESSAGE_COUNTERS_INIT,
	MESSAGE_AGGREGATES, ///< condition_profile or condition_details
	MESSAGE_OTHER,
};

struct message_summary {
	enum message_kind kind;
	int64_t event_id; ///< of an occurrence; 0 when it says none
	int64_t at_ns;    ///< actions done, else what is nearest to it
	int64_t relative_ms;
	bool at_exact;       ///< at_ns was there, not made of relative_ms
	uint64_t begin, end; ///< its payload: the event's or the counters_init's fields
};

/// @return 0 or -EBADMSG
int message_summarize(struct wire *wire, uint64_t begin, uint64_t end, struct message_summary *ret);

/// Encodes a varint field, or a varint of its own. @return bytes, at most 10 (20 with its tag)
size_t wire_put_varint(uint8_t *out, uint64_t value);
size_t wire_put_varint_field(uint8_t *out, uint32_t number, uint64_t value);

#endif
