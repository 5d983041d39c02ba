// SPDX-License-Identifier: GPL-3.0-or-later
/// Delimited messages out of pieces of any size. Memory grows with what has really come, never with what a length
/// claims.
#ifndef CONDPROF_REPORT_FRAMES_H
#define CONDPROF_REPORT_FRAMES_H

#include "proto/base.h"

#define REPORT_MESSAGE_MAX_BYTES (64U * 1024U * 1024U) ///< of any message of a report

struct frames {
	uint8_t *data;
	size_t at, filled, capacity;
};

/// Adds a piece. @return 0, -ENOMEM
int frames_add(struct frames *frames, const uint8_t *data, size_t size);

/// Takes the next whole message. *ret_frame is with its length, *ret_body without; valid until the next call.
/// @return 1; 0: more has to come; -EBADMSG: this is no sequence of messages (any more)
int frames_next(struct frames *frames, const uint8_t **ret_frame, size_t *ret_frame_size, const uint8_t **ret_body,
		size_t *ret_body_size);

/// Whether the last message was not whole.
bool frames_torn(const struct frames *frames);

void frames_clear(struct frames *frames);

#endif
