// SPDX-License-Identifier: GPL-3.0-or-later
/// The pixels of an X server and how they become ours: where they are the same nothing is done, else every pixel is
/// looked up channel by channel. Knows nothing of connections.
#ifndef CONDPROF_X11_FORMAT_H
#define CONDPROF_X11_FORMAT_H

#include "daemon/picture/picture.h"

#define X11_CHANNEL_BITS_MAX 10

struct x11_format {
	int bits_per_pixel; ///< 16, 24 or 32
	int pad_bits;       ///< rows are padded to a multiple of these
	bool big_endian;
	bool direct; ///< 32 bits B G R x already
	struct x11_channel {
		uint32_t mask;
		unsigned shift;
		uint8_t value[1 << X11_CHANNEL_BITS_MAX]; ///< to 8 bits, rounded
	} channels[3];                                    ///< blue, green, red: as the bytes of a pixel of ours
	uint32_t words[1 << 16];                          ///< of 16 bits: the whole pixel
};

/// @return 0, or -ENOTSUP for what no colour visual of today looks like
int x11_format_init(struct x11_format *format, int bits_per_pixel, int pad_bits, bool big_endian, uint32_t red_mask,
		    uint32_t green_mask, uint32_t blue_mask);

/// Bytes of a row.
ptrdiff_t x11_format_stride(const struct x11_format *format, int width);

/// Converts the rows of `pixels` into all of `picture`.
void x11_format_convert(const struct x11_format *format, const uint8_t *pixels, struct picture *picture);

#endif
