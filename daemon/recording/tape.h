// SPDX-License-Identifier: GPL-3.0-or-later
/// Records a session into a folder while it runs. The engine's thread tells what its decisions hung on: it copies a new
/// frame into one of a few buffers and puts numbers into a ring, both taken before, and never waits for the disk. A
/// thread of the tape finds out what has changed in a frame, compresses and writes it. When it is too slow for a live
/// screen, frames are dropped and the recording says that it is not exact; a replay waits instead.
#ifndef CONDPROF_TAPE_H
#define CONDPROF_TAPE_H

#include "daemon/picture/picture.h"

struct tape;

struct tape_broadcast {
	const char *name;
	int bus;
};

struct tape_params {
	const char *path;                 ///< absolute; made (mode 0700) where it is not there, else empty
	const char *const *frame_folders; ///< NULL: anywhere; else NULL-terminated: only below one of these
	int64_t max_bytes;                ///< of the folder's files; what would go beyond ends the recording
	const char *scenario_name;
	uint64_t random_seed;
	int64_t session_id; ///< for the journal
	int64_t started_unix_ns;
	const struct tape_broadcast *broadcasts; ///< copied
	uint32_t n_broadcasts;
};

/// Makes the folder and begins. May block as long as its file system does. Errors (BAD_REQUEST, DENIED, IO) name the
/// path and what to do.
int tape_open(const struct tape_params *params, struct tape **ret, struct error *error);

// --- the engine's thread; nothing here fails -------------------------------------------------------------------------

/// A pass begins; whatever was told of the one before and not ended is forgotten. @param number 0: before the first one
void tape_pass_begin(struct tape *tape, int64_t number);
/// The pass decided by this time, ns since the session's start.
void tape_reference(struct tape *tape, int64_t ns);
/// The pass looked for a frame, or refreshed: this picture, or none (view.pixels NULL). @param serial as the screen's
void tape_frame(struct tape *tape, struct picture_view view, uint64_t serial);
/// @param broadcast index in the parameters' broadcasts
void tape_broadcast(struct tape *tape, uint32_t broadcast);
/// The session was seen to end at the pass's look of this number. @param stopped_check 0: no check stopped midway
void tape_stop(struct tape *tape, uint32_t look, uint32_t stopped_check);
/// All of the pass is told.
void tape_pass_end(struct tape *tape);

/// For a screen that can wait: until there is room for a pass and its frame, or wake_fd is readable.
void tape_wait_room(struct tape *tape, int wake_fd);

// --- any thread ------------------------------------------------------------------------------------------------------

/// From now on the journal is told of this session.
void tape_name(struct tape *tape, int64_t session_id);

struct tape_figures {
	int64_t passes, frames, bytes;
	int64_t dropped_frames, dropped_passes;
	char cut_short[160]; ///< why nothing more is recorded; empty: nothing of that kind
};

/// Each true on its own while it is recorded; together once it is finished.
void tape_figures(struct tape *tape, struct tape_figures *ret);

const char *tape_path(const struct tape *tape);

/// In the place of an engine's thread that does not come back: writes what was handed over, and the end, and waits for
/// that, for 2 s at most. What the thread still tells, if it comes back, is heard by nobody. Not while the tape may be
/// freed; nothing when it is finished.
void tape_abandon(struct tape *tape);

/// The engine's thread, or once it is gone. Writes what is left, and the end: waits for the disk, for 20 s at most;
/// then its thread goes on alone. Figures stay.
void tape_finish(struct tape *tape);
struct tape *tape_free(struct tape *tape);

#endif
