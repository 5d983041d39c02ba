// SPDX-License-Identifier: GPL-3.0-or-later
/// See installed.h. No locale is asked: a letter is one of 52.
#include "proto/installed.h"

#include "proto/limits.h"

#include <string.h>

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define FILE_ENDING ".yaml"

bool installed_name_valid(const char *name)
{
	size_t length = strnlen(name, INSTALLED_NAME_MAX_BYTES + 1), ending = strlen(FILE_ENDING);

	if (length == 0 || length > INSTALLED_NAME_MAX_BYTES || !strchr(LETTERS_AND_DIGITS, name[0]))
		return false;
	if (length > ending && strcmp(name + length - ending, FILE_ENDING) == 0)
		return false;
	return strspn(name, LETTERS_AND_DIGITS "._-") == length;
}
