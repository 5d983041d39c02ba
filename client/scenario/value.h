// SPDX-License-Identifier: GPL-3.0-or-later
/// The small languages inside a scenario file's values: durations, rates, colours, comparisons, numbers, texts with
/// counters. All take a NUL-terminated text and return 0, or -EINVAL with a phrase that says what is wrong and fits
/// after "…: ".
#ifndef CONDPROF_SCENARIO_VALUE_H
#define CONDPROF_SCENARIO_VALUE_H

#include "client/scenario/arena.h"
#include "proto/scenario.pb-c.h"

struct value_problem {
	char message[256];
};

/// What durations of some kind are mostly like: for what is said of wrong ones.
struct duration_habit {
	const char *example, *units[2];
};
extern const struct duration_habit duration_short; ///< moments of a pass: ms, s
extern const struct duration_habit duration_long;  ///< of a day: h, min

/// 500 ms, 1.5s, 24 h. 0 to SCENARIO_MAX_DURATION_NS.
int value_duration(const char *text, const struct duration_habit *habit, int64_t *ret_ns,
		   struct value_problem *problem);

/// 10/s, 30/min, unlimited (passes 0).
int value_rate(const char *text, double *ret_passes, int64_t *ret_per_ns, struct value_problem *problem);

/// 4, 0.5 or 4 %: 0 to 100.
int value_percent(const char *text, double *ret, struct value_problem *problem);

/// #rrggbb.
int value_color(const char *text, uint32_t *ret_rgb, struct value_problem *problem);

/// A whole number in [min, max].
int value_integer(const char *text, int64_t min, int64_t max, int64_t *ret, struct value_problem *problem);

/// A finite decimal number.
int value_number(const char *text, double *ret, struct value_problem *problem);

/// Whether C would read it as a number, infinities, NaNs and hexadecimal included: no counter is called so.
bool value_reads_as_number(const char *text);

/// true or false.
int value_bool(const char *text, bool *ret, struct value_problem *problem);

/// ">= 3": the comparison, and where the operand begins.
int value_comparison(const char *text, Condprof__Comparison *ret, const char **ret_operand,
		     struct value_problem *problem);

/// A piece of a text: what stands literally, or a counter's name between braces.
struct value_part {
	bool counter;
	char *text;    ///< the arena's
	size_t offset; ///< of the text in what was given, bytes; a counter's name without its brace
};

/// “try {retries} of {{3}}”: braces stand doubled for themselves. Parts are the arena's.
/// @param problem_offset where in the text it is wrong, bytes
/// @return 0, -EINVAL or -ENOMEM
int value_parts(struct arena *arena, const char *text, struct value_part **ret, size_t *ret_count,
		struct value_problem *problem, size_t *problem_offset);

/// interface.member or a D-Bus object path.
int value_bus_member(const char *text, struct value_problem *problem);
int value_bus_path(const char *text, struct value_problem *problem);

/// Writes the shortest text that reads as this number again.
char *number_text(double number, char *out, size_t size);

/// Writes a duration as a scenario file would, in the largest unit that keeps it exact and short: "1.5 s".
char *duration_text(int64_t ns, char *out, size_t size);

#endif
