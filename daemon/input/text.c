// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/input/text.h"

#include "proto/utf8.h"

#include <string.h>
#include <xkbcommon/xkbcommon.h>

static uint32_t keysym_of(uint32_t character)
{
	if (character == '\n')
		return XKB_KEY_Return;
	if (character < ' ' && character != '\t' && character != '\r' && character != '\b' && character != 0x1b)
		return XKB_KEY_NoSymbol;
	return xkb_utf32_to_keysym(character);
}

uint32_t text_take_keysym(const char **text)
{
	while (**text) {
		uint32_t character = 0;
		size_t bytes = utf8_character(*text, strlen(*text), &character);
		uint32_t keysym = bytes ? keysym_of(character) : XKB_KEY_NoSymbol;

		*text += MAX(bytes, (size_t)1);
		if (keysym != XKB_KEY_NoSymbol)
			return keysym;
	}
	return XKB_KEY_NoSymbol;
}
