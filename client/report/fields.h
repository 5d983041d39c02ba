// SPDX-License-Identifier: GPL-3.0-or-later
/// The fields of a packed protobuf message, one after the other, without unpacking or copying anything: to choose among
/// very many messages. Bytes may come from anywhere; nothing outside of them is read.
#ifndef CONDPROF_REPORT_FIELDS_H
#define CONDPROF_REPORT_FIELDS_H

#include "proto/base.h"

struct field_scan {
	const uint8_t *data;
	size_t left;
};

struct scanned_field {
	uint64_t number;
	uint64_t value;       ///< of a varint
	const uint8_t *bytes; ///< of what has a length: `size` of them; else NULL
	size_t size;
};

/// @return 1, 0: the end, -EBADMSG: this is no message
int fields_next(struct field_scan *scan, struct scanned_field *ret);

#endif
