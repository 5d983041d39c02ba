// SPDX-License-Identifier: GPL-3.0-or-later
/// Finding things by name while a scenario is decoded. Sorted, not hashed: names come from outside, and no choice of
/// them may make it slow.
#ifndef CONDPROF_NAMES_H
#define CONDPROF_NAMES_H

#include "proto/base.h"

struct name_index {
	const char *const *names; ///< by index, as given; lives as long as this
	uint32_t *order;          ///< indexes, by name, then by index
	uint32_t count;
};

/// @return 0 or -ENOMEM
int name_index_init(struct name_index *index, const char *const *names, uint32_t count);
void name_index_clear(struct name_index *index);

/// The first one of that name, or UINT32_MAX.
uint32_t name_index_find(const struct name_index *index, const char *name);

#endif
