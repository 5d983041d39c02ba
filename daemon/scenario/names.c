// SPDX-License-Identifier: GPL-3.0-or-later
/// A sorted index of names: n log n to make, log n to ask.
#include "config.h"

#include "daemon/scenario/names.h"

#include <errno.h>
#include <string.h>

static int compare(const void *a, const void *b, void *names_pointer)
{
	const char *const *names = names_pointer;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int r = strcmp(names[i], names[k]);

	return r != 0 ? r : (i > k) - (i < k);
}

int name_index_init(struct name_index *index, const char *const *names, uint32_t count)
{
	*index = (struct name_index){.names = names, .count = count};
	index->order = calloc(MAX(count, 1U), sizeof(index->order[0]));
	if (!index->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		index->order[i] = i;
	qsort_r(index->order, count, sizeof(index->order[0]), compare, (void *)(uintptr_t)names);
	return 0;
}

void name_index_clear(struct name_index *index)
{
	free(index->order);
	*index = (struct name_index){.count = 0};
}

/// The place in `order` of the first name that is not before `name`.
static uint32_t lower_bound(const struct name_index *index, const char *name)
{
	uint32_t low = 0, high = index->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(index->names[index->order[middle]], name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t name_index_find(const struct name_index *index, const char *name)
{
	uint32_t place = lower_bound(index, name);

	if (place == index->count || strcmp(index->names[index->order[place]], name) != 0)
		return UINT32_MAX;
	return index->order[place];
}
