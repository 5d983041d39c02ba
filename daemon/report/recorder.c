// SPDX-License-Identifier: GPL-3.0-or-later
/// The producer's side. A message that finds no room is lost at once; the counters it changed are kept aside and go
/// into the queue, as a counters_init, before the next message that fits: so that what is written never has a hole in
/// their story.
#include "config.h"

#include "daemon/report/recorder-internal.h"

#include "proto/frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

static struct recorder *recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return NULL;
	queue_deinit(&recorder->queue);
	segments_free(&recorder->segments);
	free(recorder->lost);
	if (recorder->room_fd >= 0)
		close(recorder->room_fd);
	free(recorder);
	return NULL;
}

static int recorder_new(size_t queue_bytes, struct recorder **ret)
{
	struct recorder *recorder = aligned_alloc(CACHE_LINE_BYTES, sizeof(*recorder));
	int r;

	if (!recorder)
		return -ENOMEM;
	memset(recorder, 0, sizeof(*recorder));
	recorder->room_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = recorder->room_fd < 0 ? -errno : queue_init(&recorder->queue, queue_bytes);
	if (r == 0) {
		recorder->lost = malloc(sizeof(*recorder->lost));
		r = recorder->lost ? 0 : -ENOMEM;
	}
	if (r < 0) {
		recorder_free(recorder);
		return r;
	}
	recorder->lost->count = 0;
	*ret = recorder;
	return 0;
}

int recorder_open(struct writer *writer, struct report_files *files, const struct report_source *source,
		  size_t queue_bytes, struct recorder **ret, struct error *error)
{
	struct recorder *recorder;
	int r = recorder_new(queue_bytes, &recorder);

	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "no memory for the queue of the report");
	recorder->writer = writer;
	recorder->source = *source;
	recorder->files = files;
	writer_attach(writer, recorder);
	*ret = recorder;
	return 0;
}

// --- losses ----------------------------------------------------------------------------------------------------------

static void remember_counter(struct lost_counters *lost, const char *name, double value)
{
	size_t i = 0;

	while (i < lost->count && strcmp(lost->names[i], name) != 0)
		i++;
	if (i == SCENARIO_MAX_COUNTERS || strlen(name) > NAME_MAX_BYTES)
		return;
	if (i == lost->count) {
		strcpy(lost->names[i], name);
		condprof__counter_init__init(&lost->inits[i]);
		lost->inits[i].name = lost->names[i];
		lost->inits[i].has_initial_value = true;
		lost->list[i] = &lost->inits[i];
		lost->count++;
	}
	lost->inits[i].initial_value = value;
}

static void remember_changes(struct lost_counters *lost, Condprof__CounterStateChange *const *changes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (changes[i]->name)
			remember_counter(lost, changes[i]->name, changes[i]->new_value);
	}
}

static void remember_inits(struct lost_counters *lost, const Condprof__CountersInitMessage *init)
{
	for (size_t i = 0; i < init->n_counters; i++) {
		if (init->counters[i]->name)
			remember_counter(lost, init->counters[i]->name, init->counters[i]->initial_value);
	}
}

static int lose(struct recorder *recorder, const Condprof__DebugReportMessage *message)
{
	struct lost_counters *lost = recorder->lost;

	lost->relative_ms = message->relative_timestamp_ms;
	lost->at_ns = message->actions_completed_at_ns;
	switch (message->payload_case) {
	case CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT:
		remember_changes(lost, message->image_event->counter_changes, message->image_event->n_counter_changes);
		break;
	case CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_TRIGGER_EVENT:
		remember_changes(lost, message->trigger_event->counter_changes,
				 message->trigger_event->n_counter_changes);
		break;
	case CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT:
		remember_inits(lost, message->counters_init);
		return -ENOBUFS;
	default:
		return -ENOBUFS;
	}
	atomic_fetch_add_explicit(&recorder->lost_queue, 1, memory_order_relaxed);
	return -ENOBUFS;
}

// --- pushing ---------------------------------------------------------------------------------------------------------

static bool put(struct recorder *recorder, const Condprof__DebugReportMessage *message)
{
	size_t size = frame_size(&message->base);
	uint8_t *out = queue_reserve(&recorder->queue, size);

	if (!out)
		return false;
	frame_pack(&message->base, out);
	queue_commit(&recorder->queue, size);
	return true;
}

static bool put_lost_counters(struct recorder *recorder)
{
	struct lost_counters *lost = recorder->lost;
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	Condprof__CountersInitMessage init = CONDPROF__COUNTERS_INIT_MESSAGE__INIT;

	init.n_counters = lost->count;
	init.counters = lost->list;
	message.has_relative_timestamp_ms = true;
	message.relative_timestamp_ms = lost->relative_ms;
	message.has_actions_completed_at_ns = true;
	message.actions_completed_at_ns = lost->at_ns;
	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT;
	message.counters_init = &init;
	if (!put(recorder, &message))
		return false;
	lost->count = 0;
	return true;
}

int recorder_push(struct recorder *recorder, const Condprof__DebugReportMessage *message)
{
	if ((recorder->lost->count > 0 && !put_lost_counters(recorder)) || !put(recorder, message))
		return lose(recorder, message);
	writer_poke(recorder->writer, queue_used(&recorder->queue) > recorder->queue.capacity / 2);
	return 0;
}

static bool has_room(struct recorder *recorder, size_t size)
{
	return size > recorder->queue.capacity / 2 || queue_reserve(&recorder->queue, size);
}

int recorder_wait_room(struct recorder *recorder, const Condprof__DebugReportMessage *message, int wake_fd)
{
	size_t size = frame_size(&message->base);
	int r = 0;

	while (!has_room(recorder, size)) {
		struct pollfd fds[] = {{.fd = recorder->room_fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
		uint64_t count;

		atomic_store(&recorder->waits_for_room, true);
		if (has_room(recorder, size))
			break;
		writer_poke(recorder->writer, true);
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents) {
			r = -EINTR;
			break;
		}
		if (read(recorder->room_fd, &count, sizeof(count)) < 0)
			continue;
	}
	atomic_store(&recorder->waits_for_room, false);
	return r;
}

int64_t recorder_lost(const struct recorder *recorder)
{
	return atomic_load_explicit(&recorder->lost_queue, memory_order_relaxed) +
	       atomic_load_explicit(&recorder->lost_disk, memory_order_relaxed);
}

int64_t recorder_dropped_occurrences(const struct recorder *recorder)
{
	return atomic_load_explicit(&recorder->dropped_occurrences, memory_order_relaxed);
}

int64_t recorder_dropped_segments(const struct recorder *recorder)
{
	return atomic_load_explicit(&recorder->dropped_segments, memory_order_relaxed);
}

int recorder_close_counted(struct recorder *recorder, struct recorder_losses *ret_losses, struct error *error)
{
	int r = writer_close_recorder(recorder->writer, recorder, error);

	*ret_losses = (struct recorder_losses){
		.occurrences = recorder_lost(recorder),
		.dropped_occurrences = recorder_dropped_occurrences(recorder),
		.dropped_segments = recorder_dropped_segments(recorder),
	};
	recorder_free(recorder);
	return r;
}

struct recorder *recorder_discard(struct recorder *recorder)
{
	struct error error;

	if (!recorder)
		return NULL;
	recorder->discard = true; // nobody looks before it is closing
	writer_close_recorder(recorder->writer, recorder, &error);
	return recorder_free(recorder);
}

int recorder_close(struct recorder *recorder, struct error *error)
{
	struct recorder_losses losses;

	return recorder_close_counted(recorder, &losses, error);
}
