// SPDX-License-Identifier: GPL-3.0-or-later
/// A tape from inside: what its two threads hand each other. Between them are a ring of entries, handed over a whole
/// pass at a time, and a few buffers for frames, each of one side alone (its state says whose). A pass for which the
/// ring has no room is taken back.
#ifndef CONDPROF_TAPE_INTERNAL_H
#define CONDPROF_TAPE_INTERNAL_H

#include "daemon/recording/tape.h"

#include <pthread.h>
#include <stdatomic.h>

#define ENTRIES 65536U // a power of two
#define BUFFERS 8U
#define BUFFERS_MAX_BYTES (64 * 1024 * 1024) // of all of them together, but two at least
#define LEAST_PASS_ENTRIES 1024U             // room that tape_wait_room() waits for

enum entry_kind {
	ENTRY_PASS,      // value: its number
	ENTRY_REFERENCE, // value: ns
	ENTRY_FRAME,     // small: buffer + 1; 0: none
	ENTRY_SAME,      // the frame of before
	ENTRY_DROPPED,   // a frame for which no buffer was free
	ENTRY_BROADCAST, // small: index
	ENTRY_STOP,      // small: look, value: check
	ENTRY_PASS_END,
	ENTRY_CLOSE,
};

struct entry {
	uint32_t kind, small;
	int64_t value;
};

struct buffer {
	uint8_t *pixels;
	size_t size;
	int width, height;
	_Atomic bool filled; // the tape's thread has it
};

struct tape {
	_Atomic int64_t session_id; // for the journal
	int64_t max_bytes;
	int fd; // the folder
	char *path;
	pthread_t thread;
	atomic_int references; // the session's and the thread's: the last one frees it

	struct entry *entries;
	_Atomic uint32_t head, tail; // handed over, taken
	int ready_fd, space_fd;      // eventfds
	_Atomic bool thread_waits, engine_waits;
	_Atomic bool finished;  // somebody has begun to end it: the engine's side, or who abandons that
	_Atomic bool abandoned; // nothing more is taken of what comes
	struct buffer buffers[BUFFERS];

	// the engine's thread's
	uint32_t next;   // where the pass being told goes on
	bool taken_back; // there was no room for it
	uint64_t serial; // of the last frame, + 1; 0: none counts
	const uint8_t *last_pixels;
	uint32_t used[BUFFERS], n_used; // buffers of this pass

	// the tape's thread's
	int file;
	struct picture *picture; // as recorded so far
	uint32_t frame;          // its number; 0: none
	struct pass {
		int64_t number, last_reference;
		int64_t *references;
		uint32_t n_references;
		uint32_t frames[64], n_frames;
		uint32_t *broadcasts, n_broadcasts, broadcasts_room;
		uint32_t stop_look, stopped_check;
		bool inexact, stopped;
	} pass;

	_Atomic int64_t passes, frames, bytes, dropped_frames, dropped_passes;
	_Atomic bool cut; // cut_short says why: nothing is recorded any more
	char cut_short[160];
};

void tape_unref(struct tape *tape);

/// The tape's thread.
void *tape_thread(void *argument);
/// Before the thread there is: the first message. A failure shows as `cut`.
void tape_write_header(struct tape *tape, const struct tape_params *params);

#endif
