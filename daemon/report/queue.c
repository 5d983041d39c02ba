// SPDX-License-Identifier: GPL-3.0-or-later
/// Only the producer writes head and watermark, only the consumer writes tail. The watermark needs no order of its own:
/// it is written before head goes into the next lap, and read after head was seen there.
#include "config.h"

#include "daemon/report/queue.h"

#include <errno.h>

/// An empty queue begins again at its front when it has got this far: a session with few messages then touches few
/// pages.
#define REWIND_BYTES (64U * 1024U)

int queue_init(struct queue *queue, size_t capacity)
{
	size_t power = 64;

	while (power < capacity)
		power *= 2;
	*queue = (struct queue){.bytes = malloc(power), .capacity = power};
	return queue->bytes ? 0 : -ENOMEM;
}

void queue_deinit(struct queue *queue)
{
	free(queue->bytes);
	queue->bytes = NULL;
}

uint8_t *queue_reserve(struct queue *queue, size_t size)
{
	size_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
	size_t tail = atomic_load(&queue->tail);
	size_t offset = head & (queue->capacity - 1);
	bool fits = size <= queue->capacity - offset && head + size - tail <= queue->capacity;
	bool rewind = head == tail && offset >= REWIND_BYTES && size <= offset;

	if (fits && !rewind) {
		if (offset == 0) // the lap before was filled to its end
			atomic_store_explicit(&queue->watermark, queue->capacity, memory_order_relaxed);
		queue->reserved = head;
		return queue->bytes + offset;
	}
	size_t next_lap = head - offset + queue->capacity;
	if (offset == 0 || size > queue->capacity || next_lap + size - tail > queue->capacity)
		return NULL;
	atomic_store_explicit(&queue->watermark, offset, memory_order_relaxed);
	queue->reserved = next_lap;
	return queue->bytes;
}

void queue_commit(struct queue *queue, size_t size)
{
	atomic_store(&queue->head, queue->reserved + size);
}

size_t queue_used(const struct queue *queue)
{
	size_t tail = atomic_load(&queue->tail);

	return atomic_load(&queue->head) - tail;
}

size_t queue_peek(struct queue *queue, const uint8_t **ret)
{
	size_t head = atomic_load(&queue->head);
	size_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
	size_t offset = tail & (queue->capacity - 1);

	if (head == tail)
		return 0;
	if (head - tail > queue->capacity - offset) {
		size_t watermark = atomic_load_explicit(&queue->watermark, memory_order_relaxed);

		if (offset < watermark) {
			*ret = queue->bytes + offset;
			return watermark - offset;
		}
		tail += queue->capacity - offset;
		atomic_store(&queue->tail, tail);
		offset = 0;
	}
	*ret = queue->bytes + offset;
	return head - tail;
}

void queue_consume(struct queue *queue, size_t size)
{
	atomic_store(&queue->tail, atomic_load_explicit(&queue->tail, memory_order_relaxed) + size);
}

bool queue_empty(const struct queue *queue)
{
	return atomic_load(&queue->head) == atomic_load_explicit(&queue->tail, memory_order_relaxed);
}
