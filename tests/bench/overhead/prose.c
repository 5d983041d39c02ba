// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/bench/overhead/prose.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define COLUMNS 120U

// Characters of UTF-8.
static size_t width(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += (text[i] & 0xc0) != 0x80;
	return count;
}

static void wrap(FILE *out, const char *lead, const char *text)
{
	size_t indent = strlen(lead), column = indent;

	fputs(lead, out);
	while (*text) {
		size_t length = strcspn(text, " "), columns = width(text, length);

		if (column > indent && column + 1 + columns > COLUMNS) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		column += columns + (column > indent);
		fprintf(out, "%s%.*s", column > indent + columns ? " " : "", (int)length, text);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void prose(FILE *out, const char *lead, const char *format, ...)
{
	CLEANUP_FREE char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (text)
		wrap(out, lead, text);
}

bool prose_is_negative(double percent)
{
	return percent < -0.005;
}

const char *prose_percent(double percent, char out[PERCENT_SIZE])
{
	snprintf(out, PERCENT_SIZE, "%s%.2f %%", prose_is_negative(percent) ? "−" : "+",
		 fabs(percent) < 0.005 ? 0 : fabs(percent));
	return out;
}
