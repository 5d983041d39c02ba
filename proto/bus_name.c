// SPDX-License-Identifier: GPL-3.0-or-later
// The D-Bus specification's "Valid Names", for the two kinds we use.
#include "proto/bus_name.h"

#include <string.h>

#define ELEMENT_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

enum bus_name_mistake bus_signal_name_check(const char *text)
{
	size_t elements = 0;

	for (const char *p = text;; p++) {
		size_t length = strspn(p, ELEMENT_CHARACTERS);

		if (length == 0 || (*p >= '0' && *p <= '9'))
			return BUS_NAME_MALFORMED;
		elements++;
		p += length;
		if (*p == '\0')
			break;
		if (*p != '.')
			return BUS_NAME_MALFORMED;
	}
	return elements < 3 || strlen(text) > BUS_NAME_MAX_BYTES ? BUS_NAME_SHORT : BUS_NAME_FINE;
}

bool bus_path_valid(const char *text)
{
	const char *p = text;

	if (!strcmp(text, "/"))
		return true;
	do {
		size_t length = *p == '/' ? strspn(p + 1, ELEMENT_CHARACTERS) : 0;

		if (length == 0)
			return false;
		p += 1 + length;
	} while (*p);
	return true;
}
