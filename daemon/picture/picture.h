// SPDX-License-Identifier: GPL-3.0-or-later
/// Pictures in memory, one pixel format for all: 32 bits a pixel, bytes B G R A (what X servers and framebuffers give).
#ifndef CONDPROF_PICTURE_H
#define CONDPROF_PICTURE_H

#include "proto/errors.h"

/// Somebody else's pixels. Alpha is meaningful for templates only.
struct picture_view {
	const uint8_t *pixels;  ///< row 0, pixel 0
	int width, height;      ///< px, >= 1 (0: no picture)
	ptrdiff_t stride;       ///< bytes from a row to the next, >= 4 * width; rows are 4-byte aligned
};

/// Left, top inclusive; right, bottom exclusive. px.
struct rect {
	int left, top, right, bottom;
};

/// Pixels of its own.
struct picture {
	uint8_t *pixels;
	int width, height;
	ptrdiff_t stride;
};

/// Black and transparent. -EINVAL: a side below 1; -EMSGSIZE: over PICTURE_MAX_*; -ENOMEM
int picture_new(int width, int height, struct picture **ret);
struct picture *picture_free(struct picture *picture);
struct picture_view picture_view(const struct picture *picture);

/// XXH64 of size and pixels as scenario.proto says (pixels_digest).
uint64_t picture_digest(struct picture_view view);

/// Decodes a PNG of any colour type to 8-bit BGRA, without gamma or colour profiles: the bytes as they are, 16 bits
/// rounded to 8. Sizes are checked against PICTURE_MAX_* before memory is taken; damaged or truncated files are errors, with
/// the reason.
/// @return 0, -EBADMSG: no PNG, or a damaged one; -EMSGSIZE: too large; -ENOMEM
int png_decode(const void *data, size_t size, struct picture **ret, struct error *error);
/// The same from a file. A regular file only.
/// @param dir_fd what a relative path is relative to, or AT_FDCWD
/// @return also the negative errno of the file
int png_read(int dir_fd, const char *path, struct picture **ret, struct error *error);
/// Width and height from the header alone. Errors as png_decode().
int png_peek_size(const void *data, size_t size, int *ret_width, int *ret_height, struct error *error);
/// Encodes RGB without alpha. *ret_data is the caller's, to be freed.
int png_encode(struct picture_view view, uint8_t **ret_data, size_t *ret_size, struct error *error);

#endif
