// SPDX-License-Identifier: GPL-3.0-or-later
//
// Rounding is done on integers: a duration never shows as 1000 µs or 60.0 s because a decimal was rounded up.
#include "config.h"

#include "client/render/format.h"

#include "client/render/width.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

/// Below a minute: a value of three digits in the unit that fits. @return false: it rounds to a minute
static bool format_short(uint64_t ns, bool ascii, char *out, size_t size)
{
	static const struct {
		const char *name, *ascii_name;
		uint64_t ns, limit;
	} units[] = {
		{"µs", "us", NSEC_PER_USEC, 1000},
		{"ms", "ms", NSEC_PER_MSEC, 1000},
		{"s", "s", NSEC_PER_SEC, 60},
	};
	static const uint64_t powers[] = {1, 10, 100};

	if (ns < 1000) {
		snprintf(out, size, "%" PRIu64 " ns", ns);
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (ns >= units[i].ns * units[i].limit)
			continue;
		for (int decimals = 2; decimals >= 0; decimals--) {
			uint64_t power = powers[decimals], scaled = (ns * power + units[i].ns / 2) / units[i].ns;

			if (decimals > 0 && scaled >= 1000)
				continue; // four digits
			if (scaled >= units[i].limit * power)
				break; // rounds to the next unit
			const char *unit = ascii ? units[i].ascii_name : units[i].name;
			if (decimals > 0)
				snprintf(out, size, "%" PRIu64 ".%0*" PRIu64 " %s", scaled / power, decimals,
					 scaled % power, unit);
			else
				snprintf(out, size, "%" PRIu64 " %s", scaled, unit);
			return true;
		}
	}
	return false;
}

static void format_long(uint64_t ns, char *out, size_t size)
{
	uint64_t s = ns / NSEC_PER_SEC + (ns % NSEC_PER_SEC >= NSEC_PER_SEC / 2);

	if (s >= 86400) // without seconds: then the minute is what is rounded to
		s = ns / NSEC_PER_SEC + 30;

	uint64_t days = s / 86400;
	unsigned hours = s / 3600 % 24, minutes = s / 60 % 60, seconds = s % 60;

	if (days > 0)
		snprintf(out, size, "%" PRIu64 " d %02u h %02u m", days, hours, minutes);
	else if (hours > 0)
		snprintf(out, size, "%u h %02u m %02u s", hours, minutes, seconds);
	else
		snprintf(out, size, "%u m %02u s", minutes, seconds);
}

char *format_duration(int64_t ns, bool plus, bool ascii, char out[FORMAT_SIZE])
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	const char *sign = ns < 0 ? "-" : plus ? "+" : "";

	strcpy(out, sign);
	if (!format_short(size, ascii, out + strlen(sign), FORMAT_SIZE - 1))
		format_long(size, out + strlen(sign), FORMAT_SIZE - 1);
	return out;
}

char *format_share(double share, char out[FORMAT_SIZE])
{
	if (share > 0 && share < 0.0005)
		strcpy(out, "<0.1 %");
	else if (share < 1 && share >= 0.9995)
		strcpy(out, ">99.9 %");
	else
		snprintf(out, FORMAT_SIZE, "%.1f %%", share * 100);
	return out;
}

char *format_change(double percent, char out[FORMAT_SIZE])
{
	double size = fabs(percent);

	if (size < 0.05)
		strcpy(out, "0.0 %");
	else
		snprintf(out, FORMAT_SIZE, size < 1000 ? "%+.1f %%" : size < 1e9 ? "%+.0f %%" : "%+.2g %%", percent);
	return out;
}

char *format_count(int64_t count, const char *one, const char *several, char out[FORMAT_SIZE])
{
	snprintf(out, FORMAT_SIZE, "%" PRId64 " %s", count, count == 1 ? one : several);
	return out;
}

char *format_bytes(int64_t bytes, char out[FORMAT_SIZE])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(out, FORMAT_SIZE, "%" PRId64 " B", bytes);
		return out;
	}
	while (size >= 1023.95 && i + 1 < ARRAY_SIZE(units)) {
		size /= 1024;
		i++;
	}
	snprintf(out, FORMAT_SIZE, "%.1f %s", size, units[i]);
	return out;
}

const char *format_not_finite(double number)
{
	if (isnan(number))
		return "NaN"; // its sign means nothing
	return !isinf(number) ? NULL : number > 0 ? "Infinity" : "-Infinity";
}

char *format_number(double number, char out[FORMAT_SIZE])
{
	const char *word = format_not_finite(number);

	if (word)
		return strcpy(out, word);
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, FORMAT_SIZE, "%.*g", digits, number);
		if (strtod(out, NULL) == number)
			break;
	}
	return out;
}

static time_t split_seconds(int64_t unix_ns, int *ret_ms)
{
	int64_t ms = unix_ns / NSEC_PER_MSEC - (unix_ns % NSEC_PER_MSEC < 0), rest = ms % 1000;

	*ret_ms = (int)(rest < 0 ? rest + 1000 : rest);
	return (time_t)((ms - *ret_ms) / 1000);
}

char *format_rfc3339(int64_t unix_ns, char out[FORMAT_SIZE])
{
	struct tm tm;
	int ms;
	time_t seconds = split_seconds(unix_ns, &ms);
	size_t length = strftime(out, FORMAT_SIZE, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));

	snprintf(out + length, FORMAT_SIZE - length, ".%03dZ", ms);
	return out;
}

char *format_local(int64_t unix_ns, char out[FORMAT_SIZE])
{
	struct tm tm;
	int ms;
	time_t seconds = split_seconds(unix_ns, &ms);

	strftime(out, FORMAT_SIZE, "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &tm));
	return out;
}

/// A number for people: whole ones without an exponent. @param decimals 0: as many as it has
static char *format_readable(double number, int decimals, char out[FORMAT_SIZE])
{
	const char *word = format_not_finite(number);

	if (word)
		strcpy(out, word);
	else if (decimals > 0 && fabs(number) < 1e15)
		snprintf(out, FORMAT_SIZE, "%.*f", decimals, number);
	else if (fabs(number) < 1e15 && number == floor(number))
		snprintf(out, FORMAT_SIZE, "%.0f", number);
	else
		snprintf(out, FORMAT_SIZE, "%.10g", number);
	return out;
}

/// A copy with the room that text_cut() needs.
static char *copy(const char *text)
{
	char *result = malloc(strlen(text) + TEXT_CUT_ROOM + 1);

	return result ? strcpy(result, text) : NULL;
}

char *format_cell(struct cell cell, const struct field *field, const struct render_style *style)
{
	char text[FORMAT_SIZE];

	switch (cell.kind) {
	case CELL_NULL:
	case CELL_HISTOGRAM:
		return copy(style->ascii ? "-" : "–");
	case CELL_TEXT:
		return style->escape_8bit ? text_clean_ascii(cell.text) : text_clean(cell.text);
	case CELL_FLAG:
		return copy(cell.flag ? (field->yes ? field->yes : "yes") : (field->no ? field->no : "no"));
	case CELL_COUNT:
		snprintf(text, sizeof(text), "%" PRId64, cell.integer);
		break;
	case CELL_NUMBER:
		format_readable(cell.number, field->decimals, text);
		break;
	case CELL_DURATION:
		format_duration(cell.integer, field->plus, style->ascii, text);
		break;
	case CELL_SHARE:
		format_share(cell.number, text);
		break;
	case CELL_MOMENT:
		format_local(cell.integer, text);
		break;
	}
	return copy(text);
}
