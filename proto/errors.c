// SPDX-License-Identifier: GPL-3.0-or-later
/// Errors on their way to a person. Whatever goes in, the message is one line of valid UTF-8: it is put into protobuf
/// strings, journals and terminals as it is.
#include "proto/errors.h"
#include "proto/utf8.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const code_names[] = {
	[CONDPROF__CODE__INTERNAL] = "internal",
	[CONDPROF__CODE__BAD_FRAME] = "bad-frame",
	[CONDPROF__CODE__TOO_LARGE] = "too-large",
	[CONDPROF__CODE__BAD_REQUEST] = "bad-request",
	[CONDPROF__CODE__UNSUPPORTED] = "unsupported",
	[CONDPROF__CODE__VERSION] = "version",
	[CONDPROF__CODE__DENIED] = "denied",
	[CONDPROF__CODE__BUSY] = "busy",
	[CONDPROF__CODE__NO_SUCH_SESSION] = "no-such-session",
	[CONDPROF__CODE__NO_SUCH_NAME] = "no-such-name",
	[CONDPROF__CODE__AMBIGUOUS] = "ambiguous",
	[CONDPROF__CODE__ALREADY_ENDED] = "already-ended",
	[CONDPROF__CODE__BAD_SCENARIO] = "bad-scenario",
	[CONDPROF__CODE__SCREEN_FAILED] = "screen-failed",
	[CONDPROF__CODE__INPUT_FAILED] = "input-failed",
	[CONDPROF__CODE__STILL_RUNNING] = "still-running",
	[CONDPROF__CODE__IO] = "io",
	[CONDPROF__CODE__STOPPING_DAEMON] = "stopping-daemon",
	[CONDPROF__CODE__BUS_FAILED] = "bus-failed",
};
static_assert(ARRAY_SIZE(code_names) == CONDPROF__CODE__BUS_FAILED + 1, "a name for every code");

int error_set(struct error *error, Condprof__Code code, int errno_value, const char *format, ...)
{
	char message[sizeof(error->message)]; // not at once into place: the arguments may point into *error
	va_list arguments;

	if (!error)
		return -errno_value;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	utf8_make_printable(message);
	strcpy(error->message, message);
	error->code = code;
	error->place[0] = '\0';
	return -errno_value;
}

void error_place(struct error *error, const char *format, ...)
{
	char place[sizeof(error->place)];
	va_list arguments;

	if (!error)
		return;
	va_start(arguments, format);
	vsnprintf(place, sizeof(place), format, arguments);
	va_end(arguments);
	utf8_make_printable(place);
	strcpy(error->place, place);
}

const char *error_code_name(Condprof__Code code)
{
	size_t index = (size_t)code;

	return index < ARRAY_SIZE(code_names) ? code_names[index] : "unknown";
}

struct error_quotation error_quote(const char *text)
{
	static const char ellipsis[] = "…";
	struct error_quotation ret;
	size_t room = sizeof(ret.text) - sizeof(ellipsis);
	bool cut = strnlen(text, room + 1) > room;

	memcpy(ret.text, text, strnlen(text, room));
	ret.text[strnlen(text, room)] = '\0';
	utf8_make_printable(ret.text);
	if (cut)
		strcat(ret.text, ellipsis);
	return ret;
}

#define WORD_MAX 64U

static uint8_t folded(char letter)
{
	return (uint8_t)tolower((unsigned char)letter);
}

/// The pattern of an edit distance: for every byte, the places of the word that have it, as bits.
struct word_bits {
	uint64_t of_byte[256];
	size_t length;
};

static void word_bits_init(struct word_bits *bits, const char *word, size_t length)
{
	memset(bits, 0, sizeof(*bits));
	bits->length = length;
	for (size_t i = 0; i < length; i++)
		bits->of_byte[folded(word[i])] |= UINT64_C(1) << i;
}

/// Edits (insert, delete, replace, swap neighbours) from the word to `candidate`: the columns of the usual matrix as
/// bit vectors of differences (Myers 1999; with swaps, Hyyrö 2003), so that a hostile list of names costs no more than
/// its length. `match` etc. are the names of the literature: D0, HP, HN, VP, VN.
static size_t edit_distance(const struct word_bits *word, const char *candidate, size_t length)
{
	uint64_t last = UINT64_C(1) << (word->length - 1);
	uint64_t up = ~UINT64_C(0), down = 0, diagonal = 0, previous_match = 0;
	size_t distance = word->length;

	for (size_t i = 0; i < length; i++) {
		uint64_t match = word->of_byte[folded(candidate[i])];
		uint64_t swapped = ((~diagonal & match) << 1) & previous_match;

		diagonal = (((match & up) + up) ^ up) | match | down | swapped;
		uint64_t right_up = down | ~(diagonal | up);
		uint64_t right_down = diagonal & up;

		distance += (right_up & last) != 0;
		distance -= (right_down & last) != 0;
		right_up = right_up << 1 | 1;
		up = right_down << 1 | ~(diagonal | right_up);
		down = diagonal & right_up;
		previous_match = match;
	}
	return distance;
}

const char *nearest_word(const char *word, const char *const *candidates, size_t count)
{
	size_t length = strnlen(word, WORD_MAX + 1), best = SIZE_MAX;
	const char *ret = NULL;
	struct word_bits bits;

	if (length == 0 || length > WORD_MAX)
		return NULL;
	word_bits_init(&bits, word, length);
	for (size_t i = 0; i < count && candidates[i]; i++) {
		size_t other = strnlen(candidates[i], 2 * WORD_MAX);
		size_t longer = MAX(length, other), allowed = longer / 3;

		if (longer - MIN(length, other) > allowed)
			continue;
		size_t distance = edit_distance(&bits, candidates[i], other);
		if (distance <= allowed && distance < best) {
			best = distance;
			ret = candidates[i];
		}
	}
	return ret;
}
