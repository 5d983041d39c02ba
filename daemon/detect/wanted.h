// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: how like a line that was read is to the text that is wanted.
///
/// similarity = 1 - edit distance / length of the wanted text, both in code points, at least 0. Insertions, deletions
/// and replacements count one each. Blanks at both ends count on neither side. A comparison costs the product of both
/// lengths, which is little beside what reading a line costs, and allocates nothing.
#ifndef CONDPROF_DETECT_WANTED_H
#define CONDPROF_DETECT_WANTED_H

#include "daemon/detect/detect.h"

/// Code points in the wanted text; > 0.
size_t wanted_length(const struct detect_wanted *wanted);

/// The edit distance of a line of UTF-8 to the wanted text, at most its length: more makes no difference. Bytes that
/// are no UTF-8 count as one wrong letter each.
size_t wanted_distance(struct detect_wanted *wanted, const char *line, size_t size);

/// Simple case folding of a code point.
uint32_t fold_case(uint32_t point);

#endif
