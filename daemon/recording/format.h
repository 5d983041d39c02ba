// SPDX-License-Identifier: GPL-3.0-or-later
/// What both ends of a recording agree on; proto/recording.proto has the messages.
#ifndef CONDPROF_RECORDING_FORMAT_H
#define CONDPROF_RECORDING_FORMAT_H

#include <inttypes.h>
#include <stdio.h>

#define RECORDING_FILE "recording.pb"
#define RECORDING_VERSION 1U
#define RECORDING_FRAMES_MAX 1000000U
#define RECORDING_MESSAGE_MAX_BYTES (4U * 1024 * 1024) ///< a pass of the most decisions stays far below
#define RECORDING_REFERENCES_MAX 65536U                ///< of a pass
#define RECORDING_NAME_SIZE 32U

/// The PNG file of a frame; it is in name order with the others.
static inline void recording_frame_name(uint32_t number, char out[RECORDING_NAME_SIZE])
{
	snprintf(out, RECORDING_NAME_SIZE, "frame-%08" PRIu32 ".png", number);
}

#endif
