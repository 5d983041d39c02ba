// SPDX-License-Identifier: GPL-3.0-or-later
// From a token to a double: see number.h. First what the token says is written down in ASCII without blanks, then it is
// decided which separator is decimal, at last digits are put together for strtod().
#include "config.h"

#include "daemon/detect/number.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#include "proto/utf8.h"

/// A longer token is no number that anybody shows.
#define TOKEN_MAX 400

struct token {
	char text[TOKEN_MAX + 1]; // digits + - . , only
	size_t length;
	bool too_long;
};

// @return one of "0123456789+-., ", or 0: no part of a token
static char part_of_token(const char *text, size_t size, size_t *ret_bytes)
{
	uint32_t point = 0;

	*ret_bytes = MAX(utf8_character(text, size, &point), 1U);
	if (point == 0x2212)
		return '-';
	if (point == 0xa0 || point == 0x2009 || point == 0x202f || point == '\t')
		return ' ';
	return point && point < 0x80 && strchr("0123456789+-., ", (int)point) ? (char)point : '\0';
}

// @return whether the token has a digit
static bool next_token(const char *text, size_t size, size_t *position, struct token *token)
{
	bool has_digit = false;

	token->length = 0;
	token->too_long = false;
	while (*position < size) {
		size_t bytes;
		char c = part_of_token(text + *position, size - *position, &bytes);

		*position += bytes;
		if (!c)
			break;
		has_digit |= c >= '0' && c <= '9';
		if (c == ' ')
			continue;
		if (token->length < TOKEN_MAX)
			token->text[token->length++] = c;
		else
			token->too_long = true;
	}
	token->text[token->length] = '\0';
	return has_digit;
}

static size_t count(const char *text, char c)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == c;
	return n;
}

static char decimal_separator(const char *text, enum detect_format format)
{
	size_t dots = count(text, '.'), commas = count(text, ',');

	if (format != DETECT_FORMAT_AUTO)
		return format == DETECT_FORMAT_COMMA ? ',' : '.';
	if (dots && commas)
		return strrchr(text, ',') > strrchr(text, '.') ? ',' : '.';
	if (commas == 1) {
		const char *after = strchr(text, ',') + 1;

		return strspn(after, "0123456789") == 3 && !after[3] ? '.' : ',';
	}
	return dots > 1 ? ',' : '.';
}

// Writes the token as strtod() takes it. @param out as large as the token
static bool normalize(const char *text, char decimal, char *out)
{
	const char *begin = text;
	bool seen_decimal = false;

	for (; *text; text++) {
		bool digit = *text >= '0' && *text <= '9';

		if (digit || (text == begin && (*text == '+' || *text == '-'))) {
			*out++ = *text;
		} else if (*text == decimal) {
			if (seen_decimal)
				return false;
			seen_decimal = true;
			*out++ = '.';
		} else if ((*text != '.' && *text != ',') || seen_decimal || text == begin || text[-1] < '0' ||
			   text[-1] > '9') {
			return false;
		}
	}
	*out = '\0';
	return true;
}

static bool to_double(const char *text, double *ret)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); // the C locale itself: nothing is made
	char *end;
	double value = plain ? strtod_l(text, &end, plain) : NAN;

	if (!isfinite(value) || *end)
		return false;
	*ret = value;
	return true;
}

enum number_found number_find(const char *text, size_t size, enum detect_format format, double *ret)
{
	char plain[TOKEN_MAX + 1];
	struct token token;
	size_t position = 0;

	while (position < size) {
		if (!next_token(text, size, &position, &token))
			continue;
		if (token.too_long || !normalize(token.text, decimal_separator(token.text, format), plain) ||
		    !to_double(plain, ret))
			return NUMBER_BAD;
		return NUMBER_READ;
	}
	return NUMBER_NO_TOKEN;
}
