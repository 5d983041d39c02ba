// SPDX-License-Identifier: GPL-3.0-or-later
/// Reads a recording. All of it may block; one thread. Nothing in the folder is believed: lengths, numbers, sizes and
/// places are checked, no symbolic link is followed.
#ifndef CONDPROF_RECORDED_H
#define CONDPROF_RECORDED_H

#include "daemon/picture/picture.h"
#include "proto/recording.pb-c.h"

#include <stdatomic.h>
#include <stdio.h>

struct recorded_frame {
	int width, height; ///< px, of the whole frame
	int x, y;          ///< where its file lies in it
	bool whole;
};

struct recorded {
	int fd;
	char *path; ///< for messages
	Condprof__RecordingHeader *header;
	struct recorded_frame *frames;
	uint32_t n_frames;
	int64_t passes;  ///< whole ones, but for the one before the first
	bool exact;      ///< nothing was dropped
	char *cut_short; ///< why it ends before its session did; NULL: it doesn't, as far as it tells
	bool ended;      ///< it has its end: the daemon did not die
	// for reading on
	FILE *file;
	Condprof__RecordingMessage *header_message;
	uint8_t *body; ///< of the message read last
	size_t body_room;
	int64_t size;            ///< of what is whole
	struct picture *picture; ///< frame `number`
	uint32_t number;         ///< 0: none
	const atomic_bool
		*quit; ///< of whoever reads: once it is true, a frame is not put together to its end; NULL: it is
};

/// Whether there is a recording in the folder.
bool recorded_is(int dir_fd);

/// Looks through it. @param path for messages. Errors: SCREEN_FAILED with a sentence
int recorded_open(int dir_fd, const char *path, struct recorded **ret, struct error *error);
struct recorded *recorded_close(struct recorded *recorded);

/// A frame, put together; fast when numbers go up by one. @param number from 1. @param ret the caller's
/// @return 0, -ECANCELED: told to quit, or another negative errno with a sentence
int recorded_frame(struct recorded *recorded, uint32_t number, struct picture **ret, struct error *error);

/// The next pass, with its references all since the session's start. @param ret the caller's, to be freed as a message.
/// @return 1, 0: there are no more, negative errno
int recorded_next_pass(struct recorded *recorded, Condprof__RecordingMessage **ret, struct error *error);

#endif
