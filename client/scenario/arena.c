// SPDX-License-Identifier: GPL-3.0-or-later
//
// Memory that is given back all at once. Small pieces share blocks, large ones get a block of their own, so that an
// image costs no copy of the rest.
#include "config.h"

#include "client/scenario/arena.h"

#include <stdalign.h>
#include <string.h>

#define BLOCK_BYTES (32U * 1024U)
#define OWN_BLOCK_BYTES (BLOCK_BYTES / 4)

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	alignas(max_align_t) uint8_t data[];
};

static struct arena_block *block_new(size_t size)
{
	struct arena_block *block = calloc(1, sizeof(*block) + size);

	if (block)
		block->size = size;
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	struct arena_block *block = arena->blocks;
	if (!block || block->size - block->used < size) {
		block = block_new(MAX(size, size < OWN_BLOCK_BYTES ? BLOCK_BYTES : size));
		if (!block)
			return NULL;
		if (arena->blocks && size >= OWN_BLOCK_BYTES) { // the open block stays first
			block->next = arena->blocks->next;
			arena->blocks->next = block;
		} else {
			block->next = arena->blocks;
			arena->blocks = block;
		}
	}
	void *memory = block->data + block->used;
	block->used += size;
	return memory;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	if (size > 0 && count > SIZE_MAX / 2 / size)
		return NULL;
	return arena_alloc(arena, MAX(count * size, 1U));
}

char *arena_string(struct arena *arena, const char *text, size_t size)
{
	char *copy = arena_alloc(arena, size + 1);

	if (copy && size > 0)
		memcpy(copy, text, size);
	return copy;
}

void arena_clear(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *block = arena->blocks;

		arena->blocks = block->next;
		free(block);
	}
}
