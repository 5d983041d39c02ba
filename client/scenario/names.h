// SPDX-License-Identifier: GPL-3.0-or-later
/// A set of names, each with a number: looked up in constant time, so that a file of 10,000 conditions is checked in
/// one go through it.
#ifndef CONDPROF_SCENARIO_NAMES_H
#define CONDPROF_SCENARIO_NAMES_H

#include "client/scenario/arena.h"

struct name {
	const char *text; ///< not ours; NUL-terminated
	size_t size;
	uint32_t value;
};

/// Zero-initialise. Memory is the arena's.
struct names {
	struct name *slots; ///< text NULL: free
	uint32_t mask;
	const char **list; ///< in the order they were added: for nearest_word
	uint32_t count;
};

/// Makes room for `count` names, forgetting what was in. @return 0 or -ENOMEM
int names_reserve(struct names *names, struct arena *arena, uint32_t count);

/// @param ret_value the value of the one that is there; may be NULL
/// @return false: it was there already
bool names_add(struct names *names, const char *text, size_t size, uint32_t value, uint32_t *ret_value);

bool names_find(const struct names *names, const char *text, size_t size, uint32_t *ret_value);

/// The name most like this one; NULL: none is near.
const char *names_nearest(const struct names *names, const char *text);

#endif
