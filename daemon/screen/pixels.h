// SPDX-License-Identifier: GPL-3.0-or-later
/// The pixels of X servers and framebuffers and how they become ours: each pixel is looked up channel by channel,
/// unless they are the same already.
#ifndef CONDPROF_PIXELS_H
#define CONDPROF_PIXELS_H

#include "daemon/picture/picture.h"

#define PIXEL_CHANNEL_BITS_MAX 10

struct pixels {
	int bits_per_pixel; ///< 16, 24 or 32
	int pad_bits;       ///< rows are padded to a multiple of these
	bool big_endian;
	bool direct; ///< 32 bits B G R x already
	struct pixel_channel {
		uint32_t mask;
		unsigned shift;
		uint8_t value[1 << PIXEL_CHANNEL_BITS_MAX]; ///< to 8 bits, rounded
	} channels[3];                                      ///< blue, green, red: as the bytes of a pixel of ours
	uint32_t words[1 << 16];                            ///< of 16 bits: the whole pixel
};

/// @return 0, or -ENOTSUP for what no colour visual of today looks like
int pixels_init(struct pixels *format, int bits_per_pixel, int pad_bits, bool big_endian, uint32_t red_mask,
		uint32_t green_mask, uint32_t blue_mask);

/// Bytes of a row.
ptrdiff_t pixels_stride(const struct pixels *format, int width);

/// Converts rows `stride` bytes apart into all of `picture`.
void pixels_convert(const struct pixels *format, const uint8_t *rows, ptrdiff_t stride, struct picture *picture);

#endif
