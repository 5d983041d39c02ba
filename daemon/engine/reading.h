// SPDX-License-Identifier: GPL-3.0-or-later
/// What a session's text and number conditions need besides pixels: a reader a set of languages, a prepared text a text
/// condition. All of it is made before the session's first pass, on its own thread; a scenario without such conditions
/// needs none of it and opens no library.
#ifndef CONDPROF_READING_H
#define CONDPROF_READING_H

#include "daemon/detect/detect.h"
#include "daemon/scenario/scenario.h"

struct reading;

/// @param scenario must outlive it
/// @return 0, or a negative errno value with an error, which has a place where it is about a condition
int reading_new(const struct scenario *scenario, struct reading **ret, struct error *error);
struct reading *reading_free(struct reading *reading);

/// Takes the memory for the areas that lie in frames of this size. @return 0, -ENOMEM
int reading_reserve(struct reading *reading, int width, int height);

/// Checks a text or number condition. @param query of this condition. @param ret always filled
void reading_check(struct reading *reading, uint32_t condition, struct detect_frame *frame,
		   const struct detect_query *query, struct detect_result *ret);

#endif
