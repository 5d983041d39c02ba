// SPDX-License-Identifier: GPL-3.0-or-later
/// What is wrong with a scenario file, in the order of the file, and how it is shown.
#ifndef CONDPROF_SCENARIO_DIAGNOSTICS_H
#define CONDPROF_SCENARIO_DIAGNOSTICS_H

#include "client/scenario/load.h"
#include "client/scenario/source.h"
#include "proto/limits.h"

#define DIAGNOSTIC_MESSAGE_BYTES 640

struct diagnostics {
	const struct source *source;
	struct diagnostic items[2 * SCENARIO_MAX_PROBLEMS]; ///< as many mistakes and as many warnings are kept
	size_t count;
	size_t errors, warnings; ///< found in all
	bool out_of_memory;      ///< one could not be kept
};

/// `start` and `end` are characters from the text's start.
void diagnostics_add(struct diagnostics *list, enum diagnostic_severity severity, size_t start, size_t end,
		     const char *format, ...) PRINTF_LIKE(5, 6);

/// The same at a byte of the text.
void diagnostics_add_at_byte(struct diagnostics *list, size_t offset, const char *message);

/// The same of the file as a whole.
void diagnostics_add_whole(struct diagnostics *list, enum diagnostic_severity severity, const char *format, ...)
	PRINTF_LIKE(3, 4);

/// Whether one more mistake would still be kept: costly hints are only made then.
bool diagnostics_wanted(const struct diagnostics *list);

/// Puts them in the order of the file.
void diagnostics_sort(struct diagnostics *list);

void diagnostics_print(const struct diagnostics *list, bool ascii, FILE *out);
void diagnostics_clear(struct diagnostics *list);

#endif
