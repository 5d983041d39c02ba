// SPDX-License-Identifier: GPL-3.0-or-later
/// A ring of bytes between one producer and one consumer thread, without locks. What is put in lies in one piece, so
/// that messages are packed straight into it and written straight out of it: the ring holds the file's own bytes.
///
/// head and tail count bytes since the start and never wrap; a lap is one capacity. A piece that would cross the lap's
/// end begins the next lap instead; the lap's watermark then says where its bytes end. One watermark is enough: head is
/// never more than a capacity ahead of tail, so it cannot leave a lap before tail has left the one before it.
#ifndef CONDPROF_QUEUE_H
#define CONDPROF_QUEUE_H

#include "proto/base.h"

#include <stdalign.h>
#include <stdatomic.h>

#define CACHE_LINE_BYTES 64

struct queue {
	uint8_t *bytes;
	size_t capacity; ///< a power of two
	alignas(CACHE_LINE_BYTES) atomic_size_t head;
	atomic_size_t watermark; ///< offset in the lap, valid while head is a lap ahead of tail
	size_t reserved;         ///< the producer's own: where the piece being made begins
	alignas(CACHE_LINE_BYTES) atomic_size_t tail;
};

/// @param capacity rounded up to a power of two. A piece of up to half of it always fits an empty queue
int queue_init(struct queue *queue, size_t capacity);
void queue_deinit(struct queue *queue);

/// Producer: `size` > 0 bytes to fill, or NULL: no room now.
uint8_t *queue_reserve(struct queue *queue, size_t size);
/// Producer: hands over what was reserved. Sequentially consistent with what both sides do before they sleep.
void queue_commit(struct queue *queue, size_t size);

/// Consumer: bytes ready in one piece at *ret, a whole number of pieces; 0: none.
size_t queue_peek(struct queue *queue, const uint8_t **ret);
/// Consumer: gives `size` bytes of them back.
void queue_consume(struct queue *queue, size_t size);
bool queue_empty(const struct queue *queue);

/// Either: bytes in use, about.
size_t queue_used(const struct queue *queue);

#endif
