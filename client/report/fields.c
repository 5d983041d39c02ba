// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "client/report/fields.h"

#include <errno.h>

enum wire_type { WIRE_VARINT = 0, WIRE_8_BYTES = 1, WIRE_BYTES = 2, WIRE_4_BYTES = 5 };

static bool take_varint(struct field_scan *scan, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < scan->left && i < 10; i++) {
		value |= (uint64_t)(scan->data[i] & 0x7f) << 7 * i;
		if (scan->data[i] & 0x80)
			continue;
		scan->data += i + 1;
		scan->left -= i + 1;
		*ret = value;
		return true;
	}
	return false;
}

int fields_next(struct field_scan *scan, struct scanned_field *ret)
{
	uint64_t tag, size = 0;

	if (scan->left == 0)
		return 0;
	if (!take_varint(scan, &tag))
		return -EBADMSG;
	*ret = (struct scanned_field){.number = tag >> 3};
	switch (tag & 7) {
	case WIRE_VARINT:
		return take_varint(scan, &ret->value) ? 1 : -EBADMSG;
	case WIRE_8_BYTES:
		size = 8;
		break;
	case WIRE_4_BYTES:
		size = 4;
		break;
	case WIRE_BYTES:
		if (!take_varint(scan, &size))
			return -EBADMSG;
		ret->bytes = scan->data;
		ret->size = size;
		break;
	default:
		return -EBADMSG;
	}
	if (size > scan->left)
		return -EBADMSG;
	scan->data += size;
	scan->left -= size;
	return 1;
}
