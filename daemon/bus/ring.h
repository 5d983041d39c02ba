// SPDX-License-Identifier: GPL-3.0-or-later
/// Places in an array that one thread fills and another empties, without locks. Both counts only grow; the array's
/// length is a power of two.
#ifndef CONDPROF_BUS_RING_H
#define CONDPROF_BUS_RING_H

#include "proto/base.h"

#include <stdatomic.h>

struct ring {
	_Atomic uint32_t head, tail; ///< filled so far, emptied so far
};

/// The filling side: whether *ret_place may be filled; then ring_filled().
static inline bool ring_room(const struct ring *ring, uint32_t length, uint32_t *ret_place)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	*ret_place = head % length;
	return head - atomic_load_explicit(&ring->tail, memory_order_acquire) < length;
}

static inline void ring_filled(struct ring *ring)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

/// The emptying side: whether *ret_place is filled; then ring_emptied().
static inline bool ring_first(const struct ring *ring, uint32_t length, uint32_t *ret_place)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	*ret_place = tail % length;
	return tail != atomic_load_explicit(&ring->head, memory_order_acquire);
}

static inline void ring_emptied(struct ring *ring)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
}

#endif
