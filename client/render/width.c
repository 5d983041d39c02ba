// SPDX-License-Identifier: GPL-3.0-or-later
//
// UTF-8 is not decoded by the C library: names are UTF-8 in every locale, and what isn't must come out visibly.
#include "config.h"

#include "client/render/width.h"

#include "proto/utf8.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

size_t utf8_next(const char *text, int32_t *ret)
{
	uint32_t c;
	size_t length = utf8_character(text, strnlen(text, 4), &c);

	*ret = length > 0 ? (int32_t)c : -1;
	return MAX(length, 1U);
}

/// What moves the cursor, turns the direction round or can't be seen.
static bool is_unsafe(int32_t c)
{
	static const struct {
		int32_t first, last;
	} ranges[] = {
		{0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},      {0x180e, 0x180e},
		{0x200b, 0x200c}, {0x200e, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},    {0xfeff, 0xfeff},
		{0xfff9, 0xfffb}, {0xe000, 0xf8ff}, {0xe0000, 0xe007f}, {0xf0000, 0x10ffff},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

#define ESCAPE_MAX 10 // \U0010ffff

static size_t escape(int32_t c, unsigned char byte, char *out)
{
	static const char short_names[] = "\aa\bb\tt\nn\vv\ff\rr";

	for (const char *name = short_names; *name; name += 2)
		if (c == *name)
			return (size_t)sprintf(out, "\\%c", name[1]);
	if (c < 0x100)
		return (size_t)sprintf(out, "\\x%02x", c < 0 ? byte : (unsigned)c);
	return (size_t)sprintf(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
}

/// A printable ASCII character: most are, and they need no look-up.
static bool is_plain(char c)
{
	return c >= 0x20 && c < 0x7f;
}

static char *clean(const char *text, bool ascii)
{
	char *result = malloc(strlen(text) * ESCAPE_MAX + TEXT_CUT_ROOM + 1), *out = result;
	int32_t c;

	if (!result)
		return NULL;
	while (*text) {
		if (is_plain(*text)) {
			*out++ = *text++;
			continue;
		}
		size_t length = utf8_next(text, &c);
		if (c < 0 || is_unsafe(c) || wcwidth((wchar_t)c) < 0) {
			out += escape(c, (unsigned char)*text, out);
		} else if (ascii && c >= 0x80) {
			*out++ = '?';
		} else {
			memcpy(out, text, length);
			out += length;
		}
		text += length;
	}
	*out = 0;
	return result;
}

char *text_clean(const char *text)
{
	return clean(text, false);
}

char *text_clean_ascii(const char *text)
{
	return clean(text, true);
}

static int width_of(int32_t c)
{
	int width = c < 0 ? 1 : wcwidth((wchar_t)c);

	return MAX(width, 0);
}

int text_width(const char *text)
{
	int width = 0;
	int32_t c;

	while (*text) {
		if (is_plain(*text)) {
			text++;
			width++;
			continue;
		}
		text += utf8_next(text, &c);
		width += width_of(c);
	}
	return width;
}

void text_cut(char *text, int columns, const char *mark)
{
	int room = columns - text_width(mark), width = 0;
	int32_t c;

	if (text_width(text) <= columns)
		return;
	if (room < 0) {
		mark = "";
		room = columns;
	}
	while (*text) {
		size_t length = utf8_next(text, &c);
		if (width + width_of(c) > room)
			break;
		width += width_of(c);
		text += length;
	}
	strcpy(text, mark);
}
