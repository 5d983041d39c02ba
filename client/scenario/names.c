// SPDX-License-Identifier: GPL-3.0-or-later
//
// An open-addressed hash table that never grows: its size is known from the file before the first name comes.
#include "config.h"

#include "client/scenario/names.h"

#include "proto/errors.h"

#include <errno.h>
#include <string.h>

#define NEAREST_MAX_BYTES 64 ///< longer ones get no hint: comparing costs their length times all the others'

static uint32_t hash(const char *text, size_t size)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(h ^ h >> 32);
}

int names_reserve(struct names *names, struct arena *arena, uint32_t count)
{
	uint32_t room = 4;

	while (room < 2 * (uint64_t)count)
		room *= 2;
	struct name *slots = arena_array(arena, room, sizeof(*slots));
	const char **list = arena_array(arena, count, sizeof(*list));
	if (!slots || !list)
		return -ENOMEM;
	*names = (struct names){.slots = slots, .mask = room - 1, .list = list};
	return 0;
}

static struct name *slot_of(const struct names *names, const char *text, size_t size)
{
	uint32_t at = hash(text, size) & names->mask;

	while (names->slots[at].text &&
	       (names->slots[at].size != size || memcmp(names->slots[at].text, text, size) != 0))
		at = (at + 1) & names->mask;
	return &names->slots[at];
}

bool names_add(struct names *names, const char *text, size_t size, uint32_t value, uint32_t *ret_value)
{
	struct name *slot = slot_of(names, text, size);

	if (slot->text) {
		if (ret_value)
			*ret_value = slot->value;
		return false;
	}
	*slot = (struct name){text, size, value};
	names->list[names->count++] = text;
	return true;
}

bool names_find(const struct names *names, const char *text, size_t size, uint32_t *ret_value)
{
	const struct name *slot = names->slots ? slot_of(names, text, size) : NULL;

	if (!slot || !slot->text)
		return false;
	if (ret_value)
		*ret_value = slot->value;
	return true;
}

const char *names_nearest(const struct names *names, const char *text)
{
	return strlen(text) > NEAREST_MAX_BYTES ? NULL : nearest_word(text, names->list, names->count);
}
