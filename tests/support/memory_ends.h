// SPDX-License-Identifier: GPL-3.0-or-later
/// A screen and an input that are memory, for tests and benches of what stands above: the test draws and says what the
/// source does, the session looks; what the session does with the input is recorded.
///
/// Both are called memory:NAME, and NAME is that of a display made before. A get makes no system call and no
/// allocation. The picture is drawn in the hook, which runs on the session's thread at each wait for a frame, or before
/// the start.
#ifndef CONDPROF_TEST_MEMORY_ENDS_H
#define CONDPROF_TEST_MEMORY_ENDS_H

#include "daemon/input/input.h"

#include <pthread.h>
#include <stdatomic.h>

#define MEMORY_CALLS_MAX 4096U

enum memory_call_kind {
	MEMORY_MOVE,
	MEMORY_PRESS,
	MEMORY_RELEASE,
	MEMORY_KEY_PRESS,
	MEMORY_KEY_RELEASE,
	MEMORY_TYPE,
	MEMORY_RELEASE_ALL,
	MEMORY_CALL_KINDS,
};

struct memory_call {
	enum memory_call_kind kind;
	int x, y;        ///< of a move
	uint32_t keysym; ///< of a key
	char text[64];   ///< of type, cut off
	int64_t at_ns;   ///< CLOCK_MONOTONIC
};

struct memory_display {
	char name[32];
	struct picture *picture;
	_Atomic uint64_t serial; ///< raise it when another picture was drawn
	/// What wait and get answer; STALLED waits to the deadline, or for the wake fd, as a source would.
	_Atomic enum screen_status status;
	bool by_pass, replay; ///< what the screen says of itself; before it is opened
	void (*on_wait)(struct memory_display *display, void *context); ///< NULL: none
	void (*on_get)(struct memory_display *display, bool refresh, void *context);
	void *context;
	_Atomic int waits, gets, refreshes, opens, closes;
	_Atomic int input_error;           ///< 0, or the errno that the next calls of the input fail with
	_Atomic int fit_width, fit_height; ///< what the input was told last
	_Atomic int open_error;            ///< the same for open of either

	pthread_mutex_t lock;
	struct memory_call calls[MEMORY_CALLS_MAX]; ///< under the lock; later ones are only counted
	size_t n_calls;
	bool pressed;
	size_t keys_held;
};

/// Registers both kinds, once. Before any open.
void memory_ends_register(void);

/// A display of its own, all black; aborts where there is no memory. Freed by memory_display_free, after all sessions.
struct memory_display *memory_display_new(const char *name, int width, int height);
struct memory_display *memory_display_free(struct memory_display *display);

/// Fills an area (cut to the picture) with 0xRRGGBB.
void memory_display_fill(struct memory_display *display, struct rect area, uint32_t rgb);
/// Copies a picture to left, top (cut).
void memory_display_draw(struct memory_display *display, int left, int top, struct picture_view view);

/// A line of what was done so far: "move 10 20; press; release; type abc; key-press 0x61; release-all".
void memory_display_log(struct memory_display *display, char *out, size_t size);
size_t memory_display_count(struct memory_display *display, enum memory_call_kind kind);

#endif
