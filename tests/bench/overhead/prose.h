// SPDX-License-Identifier: GPL-3.0-or-later
/// Text for people: lines of at most 120 columns, and numbers as they are read.
#ifndef CONDPROF_BENCH_OVERHEAD_PROSE_H
#define CONDPROF_BENCH_OVERHEAD_PROSE_H

#include "proto/base.h"

#include <stdio.h>

/// Prints a paragraph. @param lead in front of its first line: "- "; the other lines are indented by as much
void prose(FILE *out, const char *lead, const char *format, ...) PRINTF_LIKE(3, 4);

#define PERCENT_SIZE 32U

/// "+1.25 %", "−0.30 %": with a minus sign that no line is broken at. @return out
const char *prose_percent(double percent, char out[PERCENT_SIZE]);
/// As it is shown: what rounds to nothing is not below it.
bool prose_is_negative(double percent);

#endif
