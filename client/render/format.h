// SPDX-License-Identifier: GPL-3.0-or-later
/// Figures as text: for people with three digits and a fitting unit, for machines exactly.
#ifndef CONDPROF_RENDER_FORMAT_H
#define CONDPROF_RENDER_FORMAT_H

#include "client/render/render.h"

#define FORMAT_SIZE 64U ///< room that every function here needs

/// "0 ns", "85 ns", "1.24 µs", "226 ms", "59.9 s", "2 m 14 s", "1 h 02 m 05 s", "3 d 04 h 12 m". @param plus with its
/// sign when it is not negative. @return out
char *format_duration(int64_t ns, bool plus, bool ascii, char out[FORMAT_SIZE]);

/// "12.3 %", "<0.1 %". @return out
char *format_share(double share, char out[FORMAT_SIZE]);

/// "+12.3 %", "-0.4 %", "0.0 %", "+33260 %": a change. @return out
char *format_change(double percent, char out[FORMAT_SIZE]);

/// "1 pass", "25 passes". @return out
char *format_count(int64_t count, const char *one, const char *several, char out[FORMAT_SIZE]);

/// "512 B", "17.6 KiB", "2.0 GiB". @return out
char *format_bytes(int64_t bytes, char out[FORMAT_SIZE]);

/// The words of what is no finite number: Infinity, -Infinity, NaN. NULL: it is one
const char *format_not_finite(double number);

/// The shortest decimal that reads back as the same double, or the word. @return out
char *format_number(double number, char out[FORMAT_SIZE]);

/// UTC with milliseconds: 2026-03-01T12:34:56.789Z. @return out
char *format_rfc3339(int64_t unix_ns, char out[FORMAT_SIZE]);

/// Local time: 2026-03-01 12:34:56. @return out
char *format_local(int64_t unix_ns, char out[FORMAT_SIZE]);

/// A cell for people, clean and with room for text_cut(); the caller's. NULL: out of memory
char *format_cell(struct cell cell, const struct field *field, const struct render_style *style);

#endif
