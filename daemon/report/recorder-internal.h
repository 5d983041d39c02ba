// SPDX-License-Identifier: GPL-3.0-or-later
/// What recorder and writer share. The engine's thread owns the producer's part, the writer's thread the consumer's;
/// what both touch is atomic, or under the writer's mutex.
#ifndef CONDPROF_RECORDER_INTERNAL_H
#define CONDPROF_RECORDER_INTERNAL_H

#include "daemon/report/queue.h"
#include "daemon/report/recorder.h"
#include "daemon/report/segments.h"

#include "proto/limits.h"

/// Counters that messages lost in the queue had changed: they go into the queue before the next message.
struct lost_counters {
	char names[SCENARIO_MAX_COUNTERS][NAME_MAX_BYTES + 1];
	Condprof__CounterInit inits[SCENARIO_MAX_COUNTERS];
	Condprof__CounterInit *list[SCENARIO_MAX_COUNTERS];
	size_t count;
	int64_t relative_ms, at_ns;
};

struct recorder {
	struct queue queue;
	struct writer *writer;
	struct report_source source;
	atomic_llong lost_queue, lost_disk, dropped_occurrences, dropped_segments;

	// the engine's thread
	struct lost_counters *lost;
	int room_fd; ///< eventfd: there is room again
	atomic_bool waits_for_room;

	// the writer's thread
	struct report_files *files;
	struct segments segments;
	int64_t checkpoint_due_ns;
	int checkpoint_result;
	int64_t warned_ns; ///< when losses were last logged, and how many had been by then
	int64_t warned_lost, warned_lost_disk;

	// under the writer's mutex
	struct recorder *next;
	bool closing, closed, discard; ///< discard: with `closing`
	struct error *close_error;
	int close_result;
};

/// There is something to write: in a while, or, urgent, at once. A system call only if the writer sleeps. Any thread.
void writer_poke(struct writer *writer, bool urgent);
int writer_attach(struct writer *writer, struct recorder *recorder);
/// Has the recorder closed and waits for that.
int writer_close_recorder(struct writer *writer, struct recorder *recorder, struct error *error);

#endif
