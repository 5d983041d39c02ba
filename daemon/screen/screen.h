// SPDX-License-Identifier: GPL-3.0-or-later
/// Where frames come from: one small table of functions a kind. Opened and used by one session's engine thread; a kind
/// may have a thread of its own behind it. After open and the first frame of a size a get allocates nothing.
///
/// URIs: replay:DIR[?step=pass|fps=N][&loop=1][&clock=virtual], x11:[DISPLAY], fb:[DEVICE], memory:NAME (tests
/// and benches only).
#ifndef CONDPROF_SCREEN_H
#define CONDPROF_SCREEN_H

#include "daemon/picture/picture.h"

/// What bounds a call that may wait: it comes back at the deadline, or as soon as wake_fd is readable (never read
/// here).
struct screen_wait {
	int wake_fd;         ///< -1: none
	int64_t deadline_ns; ///< CLOCK_MONOTONIC
};

enum screen_status {
	SCREEN_OK,
	SCREEN_STALLED,     ///< the deadline came first; ask again in the next pass
	SCREEN_INTERRUPTED, ///< the wake fd
	SCREEN_ENDED,       ///< a replay has no more pictures
	SCREEN_FAILED,      ///< for good; screen_error() says why
};

struct frame {
	struct picture_view view; ///< valid until the next get, refresh or close
	uint64_t serial;          ///< changes when the source gave another picture
	const char *name;         ///< of its file, where it has one, until the screen is closed; others leave it alone
};

/// A pass as it was recorded, for screens that play a session again. All of it is valid until the next one.
struct screen_pass {
	int64_t number;               ///< of the turn of the loop, from 1; 0: what came before the first one
	const int64_t *references_ns; ///< by what times it decided, in order; since the session's start
	size_t n_references;
	bool looks; ///< it looked for a frame at all: wait and get tell what came of it
	const struct screen_broadcast {
		const char *name;
		int bus;          ///< as Bus of scenario.proto
	} * broadcasts;           ///< all that may be received
	const uint32_t *received; ///< indexes of those that were, for this pass
	size_t n_received;
	uint32_t stop_look;     ///< the look at which the session was seen to end; 0: it wasn't in this pass
	uint32_t stopped_check; ///< the check of the pass that this stopped midway, from 1; 0: none
};

struct screen;

/// What the daemon's configuration says about screens.
struct screen_config {
	const char *xauthority;           ///< path, or NULL: the environment's
	const char *const *frame_folders; ///< NULL: anywhere; else NULL-terminated: replay: only below these
};

struct screen_ops {
	const char *scheme;  ///< "x11"
	const char *summary; ///< for --version and errors
	/// Whether `rest`, what follows "scheme:", makes sense, without touching anything. NULL: it always does.
	/// -EINVAL, -ENOTSUP
	int (*check)(const char *rest, struct error *error);
	/// Blocks at most until wait->deadline_ns or its wake fd (-EINTR, -ETIMEDOUT). `rest` was checked.
	int (*open)(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
		    struct screen **ret, struct error *error);
	struct screen *(*close)(struct screen *screen);
	/// Waits until there is a picture for this pass: OK, then get will not wait for the source.
	enum screen_status (*wait)(struct screen *screen, const struct screen_wait *wait);
	/// Takes the picture of this pass (the newest; a still screen gives the last one again).
	enum screen_status (*get)(struct screen *screen, const struct screen_wait *wait, struct frame *ret);
	/// Takes a newer picture within the pass; a replay by pass gives the same again.
	enum screen_status (*refresh)(struct screen *screen, const struct screen_wait *wait, struct frame *ret);
	/// Of what plays a session again: goes on to the next pass, which wait, get and refresh are then about. NULL:
	/// the others.
	enum screen_status (*pass)(struct screen *screen, const struct screen_wait *wait, struct screen_pass *ret);
};

/// First member of every kind's own struct.
struct screen {
	const struct screen_ops *ops;
	bool live;    ///< false: a replay (report wait allowed, no safety wait)
	bool by_pass; ///< a replay that gives the next picture a pass: get is called even when no screen event looks
	int width, height;    ///< px, of the last picture; known after open where the kind knows
	uint64_t pictures;    ///< how many there are before it ends or begins again; 0: not known
	uint64_t random_seed; ///< with ops->pass: of the session that is played again
	struct error failure; ///< after SCREEN_FAILED
};

/// Opens a screen by its URI. Errors: UNSUPPORTED (not built, not supported yet), SCREEN_FAILED, BAD_REQUEST (URI).
int screen_open(const char *uri, const struct screen_config *config, const struct screen_wait *wait,
		struct screen **ret, struct error *error);
struct screen *screen_close(struct screen *screen);

/// Whether the URI can be meant at all (scheme known, options right), without opening. @return 0 or -EINVAL, -ENOTSUP
int screen_check_uri(const char *uri, struct error *error);

/// "replay x11 …", NULL-terminated, what was built.
const char *const *screen_schemes(void);

/// Lets tests and benches add a kind (memory:). Before any open.
void screen_register(const struct screen_ops *ops);

#endif
