// SPDX-License-Identifier: GPL-3.0-or-later
//
// Numbers from the command line. Nothing here depends on the locale: the decimal sign is a point, digits are ASCII.
#include "config.h"

#include "client/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
	{"ns", 1},
	{"us", NSEC_PER_USEC},
	{"\xc2\xb5s", NSEC_PER_USEC},
	{"\xce\xbcs", NSEC_PER_USEC},
	{"ms", NSEC_PER_MSEC},
	{"s", NSEC_PER_SEC},
	{"min", 60 * NSEC_PER_SEC},
	{"h", 3600 * NSEC_PER_SEC},
};

/// Digits with at most one point, at least one digit. @return what follows, or NULL
static const char *decimal_parse(const char *text, long double *ret)
{
	long double value = 0, scale = 1;
	bool point = false, digits = false;

	for (; isdigit((unsigned char)*text) || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		digits = true;
		value = value * 10 + (*text - '0');
		if (point)
			scale *= 10;
	}
	if (!digits || isinf(value) || isinf(scale))
		return NULL;
	*ret = value / scale;
	return text;
}

int duration_parse(const char *text, int64_t *ret_ns)
{
	long double value;
	const char *rest = decimal_parse(text, &value);

	if (!rest)
		return -EINVAL;
	while (*rest == ' ')
		rest++;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(rest, units[i].name) != 0)
			continue;
		value = roundl(value * units[i].ns);
		if (value >= 0x1p63L)
			return -ERANGE;
		*ret_ns = (int64_t)value;
		return 0;
	}
	return -EINVAL;
}

int rate_parse(const char *text, double *ret_passes, int64_t *ret_per_ns)
{
	long double passes;
	int64_t per_ns;

	if (strcmp(text, "unlimited") == 0) {
		*ret_passes = 0;
		*ret_per_ns = NSEC_PER_SEC;
		return 0;
	}
	const char *rest = decimal_parse(text, &passes);
	if (!rest || passes <= 0)
		return -EINVAL;
	while (*rest == ' ')
		rest++;
	if (*rest++ != '/')
		return -EINVAL;
	while (*rest == ' ')
		rest++;
	if (strcmp(rest, "s") == 0)
		per_ns = NSEC_PER_SEC;
	else if (strcmp(rest, "min") == 0)
		per_ns = 60 * NSEC_PER_SEC;
	else
		return -EINVAL;
	*ret_passes = (double)passes;
	*ret_per_ns = per_ns;
	return 0;
}

int count_parse(const char *text, int64_t least, int64_t *ret)
{
	int64_t value = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
			return -ERANGE;
	}
	if (value < least)
		return -ERANGE;
	*ret = value;
	return 0;
}
