// SPDX-License-Identifier: GPL-3.0-or-later
/// PNG in and out by libpng.
///
/// libpng reports errors by longjmp. Everything a run owns is a member of a struct that its caller keeps, and the one
/// function that calls setjmp looks at none of its own locals after a jump: so nothing leaks, and nothing is read that
/// the jump left undefined. Sizes are looked at in the header, by hand, before libpng is asked for anything.
#include "config.h"

#include "daemon/picture/picture.h"
#include "proto/io.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_MEMORY_MAX (1024U * 1024U) ///< what a compressed text or profile may take
#define DEFLATE_RATIO_MAX 1032U          ///< deflate can't do better: a shorter file can't hold its picture
#define ENCODE_LEVEL 3                   ///< of zlib: screens compress well, and recording must keep pace

static int damaged(struct error *error, const char *why)
{
	return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EBADMSG, "this PNG is damaged: %s; save it again", why);
}

static uint32_t get_be32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/// The header's facts.
struct header {
	uint32_t width, height;
	uint8_t depth, colour_type;
};

static int check_header(const void *data, size_t size, struct header *ret, struct error *error)
{
	const uint8_t *bytes = data;

	if (size < 8 || png_sig_cmp(bytes, 0, 8) != 0)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EBADMSG,
				 size == 0 ? "this file is empty, not a PNG" : "this is not a PNG file");
	// length and type of the first chunk, which must be IHDR: 13 bytes and a checksum
	if (size < 8 + 8 + 13 + 4)
		return damaged(error, "it ends within its header");
	if (get_be32(bytes + 8) != 13 || memcmp(bytes + 12, "IHDR", 4) != 0)
		return damaged(error, "its header is not where it must be");
	*ret = (struct header){get_be32(bytes + 16), get_be32(bytes + 20), bytes[24], bytes[25]};
	if (ret->width == 0 || ret->height == 0)
		return damaged(error, "it has no pixels");
	if (ret->width > PICTURE_MAX_SIDE || ret->height > PICTURE_MAX_SIDE ||
	    (uint64_t)ret->width * ret->height > PICTURE_MAX_PIXELS)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, EMSGSIZE,
				 "this picture is too large: %ux%u px; a side may have %d px, all of it %d million",
				 ret->width, ret->height, PICTURE_MAX_SIDE, PICTURE_MAX_PIXELS / 1000000);
	return 0;
}

/// A small file that claims a huge picture is refused before there is memory for the picture.
static int check_plausible(const struct header *header, size_t size, struct error *error)
{
	static const uint8_t channels[] = {[0] = 1, [2] = 3, [3] = 1, [4] = 2, [6] = 4};
	uint64_t bits = header->colour_type < ARRAY_SIZE(channels) ? channels[header->colour_type] * header->depth : 1;
	uint64_t least = ((uint64_t)header->width * bits / 8 * header->height) / DEFLATE_RATIO_MAX;

	if (size < least)
		return damaged(error, "it is too short for its size");
	return 0;
}

int png_peek_size(const void *data, size_t size, int *ret_width, int *ret_height, struct error *error)
{
	struct header header;
	int r = check_header(data, size, &header, error);

	if (r < 0)
		return r;
	*ret_width = (int)header.width;
	*ret_height = (int)header.height;
	return 0;
}

/// What a run, in or out, owns and knows.
struct run {
	png_structp png;
	png_infop info;
	const uint8_t *in; ///< decoding: what is left
	size_t in_size;
	uint8_t *out; ///< encoding: what was written
	size_t out_size, out_room;
	struct picture *picture;
	struct picture_view view;
	bool no_memory;
	char why[128];
};

static void PNGCBAPI on_error(png_structp png, png_const_charp why)
{
	struct run *run = png_get_error_ptr(png);

	snprintf(run->why, sizeof(run->why), "%s", why);
	png_longjmp(png, 1);
}

static void PNGCBAPI on_warning(png_structp png, png_const_charp why)
{
	(void)png;
	(void)why;
}

static void PNGCBAPI on_read(png_structp png, png_bytep out, size_t size)
{
	struct run *run = png_get_io_ptr(png);

	if (size > run->in_size)
		png_error(png, "it ends too early");
	memcpy(out, run->in, size);
	run->in += size;
	run->in_size -= size;
}

static png_voidp PNGCBAPI on_malloc(png_structp png, png_alloc_size_t size)
{
	struct run *run = png_get_mem_ptr(png);
	void *memory = malloc(size);

	if (!memory)
		run->no_memory = true;
	return memory;
}

static void PNGCBAPI on_free(png_structp png, png_voidp memory)
{
	(void)png;
	free(memory);
}

/// Everything becomes 8 bits of B, G, R, A.
static void set_transforms(png_structp png, png_infop info)
{
	png_set_expand(png);
	png_set_scale_16(png);
	if (!(png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR))
		png_set_gray_to_rgb(png);
	png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER); // where there is none
	png_set_bgr(png);
}

/// The run itself; in here libpng may jump. @return 0 or a negative errno
static int decode(struct run *run)
{
	if (setjmp(png_jmpbuf(run->png)))
		return run->no_memory ? -ENOMEM : -EBADMSG;
	png_set_read_fn(run->png, run, on_read);
	png_set_user_limits(run->png, PICTURE_MAX_SIDE, PICTURE_MAX_SIDE);
	png_set_chunk_malloc_max(run->png, CHUNK_MEMORY_MAX);
	png_set_chunk_cache_max(run->png, 8);
	// only pixels and their transparency are wanted: no profiles, no texts
	png_set_keep_unknown_chunks(run->png, PNG_HANDLE_CHUNK_NEVER,
				    (png_const_bytep) "iCCP\0zTXt\0iTXt\0tEXt\0eXIf\0sPLT", 6);
	png_read_info(run->png, run->info);
	set_transforms(run->png, run->info);
	int passes = png_set_interlace_handling(run->png);

	png_read_update_info(run->png, run->info);
	if (png_get_rowbytes(run->png, run->info) != (size_t)run->picture->stride)
		png_error(run->png, "its rows have an odd size");
	for (int pass = 0; pass < passes; pass++)
		for (int y = 0; y < run->picture->height; y++)
			png_read_row(run->png, run->picture->pixels + y * run->picture->stride, NULL);
	png_read_end(run->png, NULL);
	return 0;
}

int png_decode(const void *data, size_t size, struct picture **ret, struct error *error)
{
	struct run run = {.in = data, .in_size = size};
	struct header header;
	int r = check_header(data, size, &header, error);

	if (r == 0)
		r = check_plausible(&header, size, error);
	if (r < 0)
		return r;
	run.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &run, on_error, on_warning, &run, on_malloc, on_free);
	run.info = run.png ? png_create_info_struct(run.png) : NULL;
	r = run.info ? picture_new((int)header.width, (int)header.height, &run.picture) : -ENOMEM;
	if (r == 0)
		r = decode(&run);
	png_destroy_read_struct(&run.png, &run.info, NULL);
	if (r == 0)
		*ret = TAKE_POINTER(run.picture);
	picture_free(run.picture);
	if (r == -EBADMSG)
		return damaged(error, run.why);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "there is no memory for a picture of %ux%u px",
				 header.width, header.height);
	return 0;
}

static int file_failed(struct error *error, const char *path, int errno_value)
{
	return error_set(error, CONDPROF__CODE__IO, errno_value, "cannot read %s: %s", error_quote(path).text,
			 strerrordesc_np(errno_value));
}

static int read_whole(int fd, const char *path, uint8_t **ret, size_t *ret_size, struct error *error)
{
	int r = io_read_file(fd, PNG_MAX_BYTES, ret, ret_size);

	if (r == -EINVAL)
		return error_set(error, CONDPROF__CODE__IO, EINVAL, "%s is not a regular file", error_quote(path).text);
	if (r == -EFBIG)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, EMSGSIZE, "%s is too large: a PNG may have %u MiB",
				 error_quote(path).text, PNG_MAX_BYTES >> 20);
	return r < 0 ? file_failed(error, path, -r) : 0;
}

int png_read(int dir_fd, const char *path, struct picture **ret, struct error *error)
{
	// O_NONBLOCK: a fifo must not hold us up
	CLEANUP_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	CLEANUP_FREE uint8_t *data = NULL;
	size_t size = 0;

	if (fd < 0)
		return file_failed(error, path, errno);
	int r = read_whole(fd, path, &data, &size, error);

	if (r < 0)
		return r;
	r = png_decode(data, size, ret, error);
	if (r < 0 && error)
		error_set(error, error->code, 0, "%s: %s", error_quote(path).text, error->message);
	return r;
}

static void PNGCBAPI on_write(png_structp png, png_bytep data, size_t size)
{
	struct run *run = png_get_io_ptr(png);

	if (size > run->out_room - run->out_size) {
		size_t room = MAX(2 * run->out_room, run->out_size + size);
		uint8_t *out = realloc(run->out, room);

		if (!out) {
			run->no_memory = true;
			png_error(png, "no memory");
		}
		run->out = out;
		run->out_room = room;
	}
	memcpy(run->out + run->out_size, data, size);
	run->out_size += size;
}

static void PNGCBAPI on_flush(png_structp png)
{
	(void)png;
}

static int encode(struct run *run)
{
	if (setjmp(png_jmpbuf(run->png)))
		return run->no_memory ? -ENOMEM : -EIO;
	png_set_write_fn(run->png, run, on_write, on_flush);
	png_set_compression_level(run->png, ENCODE_LEVEL);
	png_set_filter(run->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
	png_set_IHDR(run->png, run->info, (png_uint_32)run->view.width, (png_uint_32)run->view.height, 8,
		     PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(run->png, run->info);
	png_set_filler(run->png, 0, PNG_FILLER_AFTER);
	png_set_bgr(run->png);
	for (int y = 0; y < run->view.height; y++)
		png_write_row(run->png, run->view.pixels + y * run->view.stride);
	png_write_end(run->png, NULL);
	return 0;
}

int png_encode(struct picture_view view, uint8_t **ret_data, size_t *ret_size, struct error *error)
{
	struct run run = {.view = view};

	if (view.width < 1 || view.height < 1 || view.width > PICTURE_MAX_SIDE || view.height > PICTURE_MAX_SIDE)
		return error_set(error, CONDPROF__CODE__INTERNAL, EINVAL, "a picture of %dx%d px cannot be a PNG",
				 view.width, view.height);
	run.png =
		png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &run, on_error, on_warning, &run, on_malloc, on_free);
	run.info = run.png ? png_create_info_struct(run.png) : NULL;
	int r = run.info ? encode(&run) : -ENOMEM;

	png_destroy_write_struct(&run.png, &run.info);
	if (r < 0) {
		free(run.out);
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "cannot encode a PNG: %s",
				 r == -ENOMEM ? "no memory" : run.why);
	}
	*ret_data = run.out;
	*ret_size = run.out_size;
	return 0;
}
