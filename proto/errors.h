// SPDX-License-Identifier: GPL-3.0-or-later
/// An error on its way to a person: what is wrong and what to do next, and the place in the scenario it is about.
#ifndef CONDPROF_ERRORS_H
#define CONDPROF_ERRORS_H

#include "proto/base.h"
#include "proto/control.pb-c.h"

/// Owned by the caller, by value; needs no freeing.
struct error {
	Condprof__Code code;
	char place[192];    ///< empty: none
	char message[640];  ///< one sentence or two, no trailing newline; always UTF-8 on one line
};

/// Fills `error` (may be NULL) and returns -errno_value, so that `return error_set(…)` reads well. What does not fit is
/// cut; control characters and broken UTF-8 in the arguments do no harm.
/// @param errno_value positive errno value
int error_set(struct error *error, Condprof__Code code, int errno_value, const char *format, ...) PRINTF_LIKE(4, 5);

/// Sets the place of an error already filled. `error` may be NULL.
void error_place(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/// The code's name on the wire and in messages, e.g. "no-such-session". Never NULL.
const char *error_code_name(Condprof__Code code);

/// A word from outside, shortened to be quoted in a message: error_quote(name).text, valid to the end of the full expression.
struct error_quotation {
	char text[84];
};
struct error_quotation error_quote(const char *text);

/// Of `candidates` (NULL-terminated or `count` long) the one most like `word`, or NULL when none is near enough to be
/// what was meant: at most a third of the letters differ. Upper and lower case are alike; neighbours that changed places
/// count once. Linear in the candidates, whatever is in them; words of more than 64 bytes have no nearest one.
const char *nearest_word(const char *word, const char *const *candidates, size_t count);

#endif
