// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "client/report/frames.h"

#include "proto/frame.h"

#include <errno.h>
#include <string.h>

int frames_add(struct frames *frames, const uint8_t *data, size_t size)
{
	if (frames->at > 0) {
		memmove(frames->data, frames->data + frames->at, frames->filled - frames->at);
		frames->filled -= frames->at;
		frames->at = 0;
	}
	if (size > frames->capacity - frames->filled) {
		size_t capacity = MAX(2 * frames->capacity, frames->filled + size);
		uint8_t *bigger = realloc(frames->data, capacity);

		if (!bigger)
			return -ENOMEM;
		frames->data = bigger;
		frames->capacity = capacity;
	}
	if (size > 0)
		memcpy(frames->data + frames->filled, data, size);
	frames->filled += size;
	return 0;
}

int frames_next(struct frames *frames, const uint8_t **ret_frame, size_t *ret_frame_size, const uint8_t **ret_body,
		size_t *ret_body_size)
{
	size_t left = frames->filled - frames->at, header, body;
	if (left == 0)
		return 0;
	int r = frame_peek(frames->data + frames->at, left, REPORT_MESSAGE_MAX_BYTES, &header, &body);

	if (r < 0)
		return -EBADMSG;
	if (r == 0 || left - header < body)
		return 0;
	*ret_frame = frames->data + frames->at;
	*ret_frame_size = header + body;
	*ret_body = *ret_frame + header;
	*ret_body_size = body;
	frames->at += header + body;
	return 1;
}

bool frames_torn(const struct frames *frames)
{
	return frames->at < frames->filled;
}

void frames_clear(struct frames *frames)
{
	free(frames->data);
	*frames = (struct frames){0};
}
