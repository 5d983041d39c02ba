// SPDX-License-Identifier: GPL-3.0-or-later
/// UTF-8: one decoder, and the checks made of it. Nothing here reads past the size or the NUL it was given.
#include "proto/utf8.h"

#include <string.h>

/// What follows the lead byte: how many bytes, and the range of the first of them (Unicode 15, table 3-7).
struct lead {
	uint8_t first, last;
	uint8_t trail;
	uint8_t low, high;
};

static const struct lead leads[] = {
	{0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf}, {0xe1, 0xec, 2, 0x80, 0xbf},
	{0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf}, {0xf0, 0xf0, 3, 0x90, 0xbf},
	{0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

static const struct lead *find_lead(uint8_t byte)
{
	for (size_t i = 0; i < ARRAY_SIZE(leads); i++)
		if (byte >= leads[i].first && byte <= leads[i].last)
			return &leads[i];
	return NULL;
}

size_t utf8_character(const void *data, size_t size, uint32_t *ret_code_point)
{
	const uint8_t *bytes = data;
	uint32_t code_point = bytes[0];
	size_t length = 1;

	if (bytes[0] >= 0x80) {
		const struct lead *lead = find_lead(bytes[0]);

		if (!lead || size < lead->trail + 1U || bytes[1] < lead->low || bytes[1] > lead->high)
			return 0;
		code_point = bytes[0] & (0x3fU >> lead->trail);
		for (length = 1; length <= lead->trail; length++) {
			if ((bytes[length] & 0xc0) != 0x80)
				return 0;
			code_point = code_point << 6 | (bytes[length] & 0x3fU);
		}
	}
	if (ret_code_point)
		*ret_code_point = code_point;
	return length;
}

bool utf8_valid(const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t at = 0; at < size;) {
		size_t length = utf8_character(bytes + at, size - at, NULL);

		if (length == 0 || bytes[at] == 0)
			return false;
		at += length;
	}
	return true;
}

static bool is_control(uint32_t code_point)
{
	return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
}

bool utf8_has_control(const char *text, bool allow_layout)
{
	size_t size = strlen(text);

	for (size_t at = 0; at < size;) {
		uint32_t code_point = 0;
		size_t length = utf8_character(text + at, size - at, &code_point);

		if (length > 0 && is_control(code_point) &&
		    !(allow_layout && (code_point == '\t' || code_point == '\n')))
			return true;
		at += MAX(length, 1U);
	}
	return false;
}

/// Whether `size` bytes at the end of a text could have become one character, had the text not been cut.
static bool is_cut_character(const char *text, size_t size)
{
	const struct lead *lead = find_lead((uint8_t)text[0]);

	if (!lead || size > lead->trail)
		return false;
	for (size_t i = 1; i < size; i++)
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t utf8_copy(char *to, size_t room, const char *text)
{
	size_t length = strnlen(text, room - 1);

	while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	memcpy(to, text, length);
	to[length] = '\0';
	return length;
}

void utf8_make_printable(char *text)
{
	size_t size = strlen(text), out = 0;

	for (size_t at = 0; at < size;) {
		uint32_t code_point = 0;
		size_t length = utf8_character(text + at, size - at, &code_point);

		if (length == 0 && is_cut_character(text + at, size - at))
			break;
		if (length == 0 || is_control(code_point)) {
			text[out++] = length == 0 ? '?' : ' ';
			at += MAX(length, 1U);
			continue;
		}
		memmove(text + out, text + at, length);
		out += length;
		at += length;
	}
	text[out] = '\0';
}
