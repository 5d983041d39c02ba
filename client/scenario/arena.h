// SPDX-License-Identifier: GPL-3.0-or-later
/// Memory that is given back all at once: what a scenario file's tree and message are made of.
#ifndef CONDPROF_SCENARIO_ARENA_H
#define CONDPROF_SCENARIO_ARENA_H

#include "proto/base.h"

struct arena_block;

/// Zero-initialise.
struct arena {
	struct arena_block *blocks;
};

/// Zeroed memory, aligned for anything. NULL: out of memory.
void *arena_alloc(struct arena *arena, size_t size);

/// An array of `count` zeroed elements; NULL also when the product overflows. `count` may be 0.
void *arena_array(struct arena *arena, size_t count, size_t size);

/// A copy with a terminating NUL.
char *arena_string(struct arena *arena, const char *text, size_t size);

void arena_clear(struct arena *arena);

#endif
