// SPDX-License-Identifier: GPL-3.0-or-later
// Edit distance to a fixed text: see wanted.h. One row of the table is kept, over the wanted text; the line is walked
// once, decoded as it goes.
#include "config.h"

#include "daemon/detect/wanted.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wctype.h>

#include "proto/utf8.h"

#define NO_CHARACTER UINT32_MAX // equal to nothing

struct detect_wanted {
	bool ignore_case;
	size_t length;
	uint32_t *row;     // length + 1 distances
	uint32_t points[]; // folded, where case is ignored
};

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t unicode; // 0: there is none

static void make_locale(void)
{
	unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

uint32_t fold_case(uint32_t point)
{
	if (point < 0x80)
		return point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point;
	// dotted and dotless i have no simple folding: only Turkish would fold them
	if (point == 0x130 || point == 0x131 || !unicode)
		return point;
	return (uint32_t)towlower_l((wint_t)towupper_l((wint_t)point, unicode), unicode);
}

static void trim(const char **text, size_t *size)
{
	while (*size && strchr(" \t\r\n", **text)) {
		(*text)++;
		(*size)--;
	}
	while (*size && strchr(" \t\r\n", (*text)[*size - 1]))
		(*size)--;
}

static uint32_t next_point(const char *text, size_t size, bool ignore_case, size_t *ret_bytes)
{
	uint32_t point = NO_CHARACTER;
	size_t bytes = utf8_character(text, size, &point);

	*ret_bytes = MAX(bytes, 1U);
	if (!bytes)
		return NO_CHARACTER;
	return ignore_case ? fold_case(point) : point;
}

int detect_wanted_new(const char *text, bool ignore_case, struct detect_wanted **ret)
{
	size_t size = strlen(text), bytes;
	struct detect_wanted *wanted;

	pthread_once(&locale_once, make_locale);
	trim(&text, &size);
	if (!size)
		return -EINVAL;
	wanted = calloc(1, sizeof(*wanted) + size * sizeof(wanted->points[0]));
	if (!wanted)
		return -ENOMEM;
	wanted->ignore_case = ignore_case;
	for (size_t i = 0; i < size; i += bytes)
		wanted->points[wanted->length++] = next_point(text + i, size - i, ignore_case, &bytes);
	wanted->row = calloc(wanted->length + 1, sizeof(wanted->row[0]));
	if (!wanted->row)
		return detect_wanted_free(wanted), -ENOMEM;
	*ret = wanted;
	return 0;
}

struct detect_wanted *detect_wanted_free(struct detect_wanted *wanted)
{
	if (wanted)
		free(wanted->row);
	free(wanted);
	return NULL;
}

size_t wanted_length(const struct detect_wanted *wanted)
{
	return wanted->length;
}

size_t wanted_distance(struct detect_wanted *wanted, const char *line, size_t size)
{
	uint32_t *row = wanted->row;
	size_t bytes;

	trim(&line, &size);
	for (size_t i = 0; i <= wanted->length; i++)
		row[i] = (uint32_t)i;
	for (size_t at = 0; at < size; at += bytes) {
		uint32_t point = next_point(line + at, size - at, wanted->ignore_case, &bytes);
		uint32_t diagonal = row[0]++;

		for (size_t i = 0; i < wanted->length; i++) {
			uint32_t replaced = diagonal + (point != wanted->points[i]);
			uint32_t other = MIN(row[i], row[i + 1]) + 1;

			diagonal = row[i + 1];
			row[i + 1] = MIN(replaced, other);
		}
	}
	return MIN(row[wanted->length], wanted->length);
}
