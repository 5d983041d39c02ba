// SPDX-License-Identifier: GPL-3.0-or-later
/// PNG files of every kind, whole and broken; the digest. The files are made here by libpng, from samples whose 8-bit
/// BGRA values are computed from the PNG specification.
#include "config.h"

#include "daemon/picture/picture.h"
#include "proto/limits.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WIDTH 13
#define HEIGHT 9

struct bytes {
	uint8_t *data;
	size_t size;
};

static void append(png_structp png, png_bytep data, size_t size)
{
	struct bytes *out = png_get_io_ptr(png);

	out->data = realloc(out->data, out->size + size);
	memcpy(out->data + out->size, data, size);
	out->size += size;
}

static void no_flush(png_structp png)
{
	(void)png;
}

struct kind {
	int colour_type, depth, channels;
	bool transparent; ///< with a tRNS chunk
};

static const struct kind kinds[] = {
	{PNG_COLOR_TYPE_GRAY, 1, 1, false},        {PNG_COLOR_TYPE_GRAY, 2, 1, false},
	{PNG_COLOR_TYPE_GRAY, 4, 1, true},         {PNG_COLOR_TYPE_GRAY, 8, 1, false},
	{PNG_COLOR_TYPE_GRAY, 8, 1, true},         {PNG_COLOR_TYPE_GRAY, 16, 1, false},
	{PNG_COLOR_TYPE_GRAY, 16, 1, true},        {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 2, false},
	{PNG_COLOR_TYPE_GRAY_ALPHA, 16, 2, false}, {PNG_COLOR_TYPE_PALETTE, 1, 1, false},
	{PNG_COLOR_TYPE_PALETTE, 2, 1, true},      {PNG_COLOR_TYPE_PALETTE, 4, 1, false},
	{PNG_COLOR_TYPE_PALETTE, 8, 1, true},      {PNG_COLOR_TYPE_RGB, 8, 3, false},
	{PNG_COLOR_TYPE_RGB, 8, 3, true},          {PNG_COLOR_TYPE_RGB, 16, 3, false},
	{PNG_COLOR_TYPE_RGB, 16, 3, true},         {PNG_COLOR_TYPE_RGB_ALPHA, 8, 4, false},
	{PNG_COLOR_TYPE_RGB_ALPHA, 16, 4, false},
};

static unsigned sample(const struct kind *kind, int x, int y, int channel)
{
	unsigned value = (unsigned)(x * 7919 + y * 104729 + channel * 611953 + 12345);

	return value & ((1U << kind->depth) - 1);
}

static void put_sample(const struct kind *kind, uint8_t *row, int index, unsigned value)
{
	int bit = index * kind->depth;

	if (kind->depth == 16)
		row[bit / 8 + 1] = (uint8_t)value;
	if (kind->depth == 16)
		value >>= 8;
	row[bit / 8] |= (uint8_t)(value << (kind->depth < 8 ? 8 - kind->depth - bit % 8 : 0));
}

static png_color palette_colour(unsigned index)
{
	return (png_color){(uint8_t)(index * 37), (uint8_t)(index * 101 + 5), (uint8_t)(255 - index)};
}

/// The one colour, or with a palette the first two entries, that is transparent.
static void set_transparency(png_structp png, png_infop info, const struct kind *kind)
{
	png_color_16 key = {.gray = (uint16_t)sample(kind, 1, 1, 0),
			    .red = (uint16_t)sample(kind, 1, 1, 0),
			    .green = (uint16_t)sample(kind, 1, 1, 1),
			    .blue = (uint16_t)sample(kind, 1, 1, 2)};
	static const uint8_t alpha[] = {0, 77};

	if (kind->colour_type == PNG_COLOR_TYPE_PALETTE)
		png_set_tRNS(png, info, alpha, 2, NULL);
	else
		png_set_tRNS(png, info, NULL, 0, &key);
}

static struct bytes make_png(const struct kind *kind, int interlace)
{
	static uint8_t rows[HEIGHT][WIDTH * 8];
	png_bytep row_list[HEIGHT];
	png_color palette[256];
	struct bytes out = {NULL, 0};
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png_create_info_struct(png);

	memset(rows, 0, sizeof(rows));
	for (int y = 0; y < HEIGHT; y++) {
		row_list[y] = rows[y];
		for (int i = 0; i < WIDTH * kind->channels; i++)
			put_sample(kind, rows[y], i, sample(kind, i / kind->channels, y, i % kind->channels));
	}
	for (unsigned i = 0; i < 256; i++)
		palette[i] = palette_colour(i);
	png_set_write_fn(png, &out, append, no_flush);
	png_set_IHDR(png, info, WIDTH, HEIGHT, kind->depth, kind->colour_type, interlace, 0, 0);
	if (kind->colour_type == PNG_COLOR_TYPE_PALETTE)
		png_set_PLTE(png, info, palette, 1 << kind->depth);
	if (kind->transparent)
		set_transparency(png, info, kind);
	png_set_gAMA(png, info, 1.0); // to be left out of account
	png_write_info(png, info);
	png_write_image(png, row_list);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	return out;
}

static uint8_t to_8(const struct kind *kind, unsigned value)
{
	unsigned max = (1U << kind->depth) - 1;

	return (uint8_t)((value * 255 + max / 2) / max);
}

static void expected_pixel(const struct kind *kind, int x, int y, uint8_t bgra[4])
{
	unsigned first = sample(kind, x, y, 0);
	bool colour = kind->colour_type & PNG_COLOR_MASK_COLOR, keyed = true;

	for (int i = 0; i < 3; i++) {
		unsigned value = sample(kind, x, y, colour ? 2 - i : 0);

		bgra[i] = to_8(kind, value);
		keyed = keyed && value == sample(kind, 1, 1, colour ? 2 - i : 0);
	}
	bgra[3] = 255;
	if (kind->colour_type & PNG_COLOR_MASK_ALPHA)
		bgra[3] = to_8(kind, sample(kind, x, y, kind->channels - 1));
	else if (kind->transparent && keyed)
		bgra[3] = 0;
	if (kind->colour_type == PNG_COLOR_TYPE_PALETTE) {
		png_color entry = palette_colour(first);

		bgra[0] = entry.blue;
		bgra[1] = entry.green;
		bgra[2] = entry.red;
		bgra[3] = !kind->transparent || first > 1 ? 255 : first == 0 ? 0 : 77;
	}
}

START_TEST(every_kind)
{
	const struct kind *kind = &kinds[_i / 2];
	struct bytes png = make_png(kind, _i % 2 ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE);
	struct picture *picture = NULL;
	struct error error = {.message = ""};
	int width = 0, height = 0;

	ck_assert_int_eq(png_peek_size(png.data, png.size, &width, &height, &error), 0);
	ck_assert_int_eq(width, WIDTH);
	ck_assert_int_eq(height, HEIGHT);
	ck_assert_msg(png_decode(png.data, png.size, &picture, &error) == 0, "%s", error.message);
	ck_assert_int_eq(picture->width, WIDTH);
	ck_assert_int_eq(picture->height, HEIGHT);
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			uint8_t expected[4];

			expected_pixel(kind, x, y, expected);
			ck_assert_mem_eq(picture->pixels + y * picture->stride + 4 * x, expected, 4);
		}
	picture_free(picture);
	free(png.data);
}
END_TEST

START_TEST(cut_anywhere)
{
	struct bytes png = make_png(&kinds[17], _i ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE);

	for (size_t size = 0; size < png.size; size++) {
		uint8_t *cut = malloc(size ? size : 1); // of its own, so that a read past its end is seen
		struct picture *picture = NULL;
		struct error error = {.message = ""};

		memcpy(cut, png.data, size);
		ck_assert_int_eq(png_decode(cut, size, &picture, &error), -EBADMSG);
		ck_assert_ptr_null(picture);
		ck_assert_int_eq(error.code, CONDPROF__CODE__BAD_SCENARIO);
		ck_assert_str_ne(error.message, "");
		ck_assert_int_eq(png_decode(cut, size, &picture, NULL), -EBADMSG);
		free(cut);
	}
	free(png.data);
}
END_TEST

START_TEST(any_byte_broken)
{
	struct bytes png = make_png(&kinds[12], PNG_INTERLACE_NONE);
	int refused = 0;

	for (size_t at = 0; at < png.size; at++) {
		struct picture *picture = NULL;

		png.data[at] ^= 0x55;
		refused += png_decode(png.data, png.size, &picture, NULL) < 0;
		picture_free(picture);
		png.data[at] ^= 0x55;
	}
	ck_assert_int_gt(refused, (int)png.size / 2);
	free(png.data);
}
END_TEST

static void put_be32(uint8_t *out, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(value >> (24 - 8 * i));
}

static const struct {
	uint32_t width, height;
	int r;
	const char *why;
} sizes[] = {
	{0, 10, -EBADMSG, "no pixels"},
	{10, 0, -EBADMSG, "no pixels"},
	{PICTURE_MAX_SIDE + 1, 1, -EMSGSIZE, "16385x1 px"},
	{1, PICTURE_MAX_SIDE + 1, -EMSGSIZE, "too large"},
	{UINT32_MAX, UINT32_MAX, -EMSGSIZE, "too large"},
	{PICTURE_MAX_SIDE, PICTURE_MAX_SIDE, -EMSGSIZE, "67 million"},
	// allowed, but no file this short can hold it: refused before memory is taken
	{8192, 8192, -EBADMSG, "too short for its size"},
	{4096, 4096, -EBADMSG, "too short for its size"},
};

START_TEST(bombs)
{
	struct bytes png = make_png(&kinds[13], PNG_INTERLACE_NONE);
	struct picture *picture = NULL;
	struct error error;

	put_be32(png.data + 16, sizes[_i].width);
	put_be32(png.data + 20, sizes[_i].height);
	ck_assert_int_eq(png_decode(png.data, png.size, &picture, &error), sizes[_i].r);
	ck_assert_msg(strstr(error.message, sizes[_i].why) != NULL, "%s", error.message);
	ck_assert_ptr_null(picture);
	free(png.data);
}
END_TEST

START_TEST(not_a_png)
{
	static const char *const texts[] = {"",
					    "x",
					    "\xff\xd8\xff\xe0 JFIF",
					    "GIF89a",
					    "\x89PNG\r\n\x1a\n",
					    "\x89PNG\r\n\x1a\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
	struct picture *picture = NULL;
	struct error error = {.message = ""};
	int width = 77, height = 77;

	ck_assert_int_eq(png_decode(texts[_i], strlen(texts[_i]), &picture, &error), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(error.message, "PNG"));
	ck_assert_int_eq(png_peek_size(texts[_i], strlen(texts[_i]), &width, &height, &error), -EBADMSG);
	ck_assert_int_eq(width, 77);
}
END_TEST

static struct picture *noise(int width, int height)
{
	struct picture *picture = NULL;
	unsigned seed = 1;

	ck_assert_int_eq(picture_new(width, height, &picture), 0);
	for (int i = 0; i < width * height * 4; i++)
		picture->pixels[i] = (uint8_t)rand_r(&seed);
	return picture;
}

START_TEST(there_and_back)
{
	static const int round_sizes[][2] = {{1, 1}, {300, 1}, {1, 300}, {257, 101}};
	struct picture *picture = noise(round_sizes[_i][0], round_sizes[_i][1]), *back = NULL;
	uint8_t *data = NULL;
	size_t size = 0;

	ck_assert_int_eq(png_encode(picture_view(picture), &data, &size, NULL), 0);
	ck_assert_int_eq(png_decode(data, size, &back, NULL), 0);
	for (int i = 3; i < picture->width * picture->height * 4; i += 4)
		picture->pixels[i] = 255; // alpha is not kept
	ck_assert_mem_eq(back->pixels, picture->pixels, (size_t)picture->width * (size_t)picture->height * 4);
	free(data);
	picture_free(picture);
	picture_free(back);
}
END_TEST

START_TEST(part_of_a_picture)
{
	struct picture *picture = noise(40, 30), *back = NULL;
	struct picture_view part = {picture->pixels + 7 * picture->stride + 4 * 5, 20, 10, picture->stride};
	uint8_t *data = NULL;
	size_t size = 0;

	ck_assert_int_eq(png_encode(part, &data, &size, NULL), 0);
	ck_assert_int_eq(png_decode(data, size, &back, NULL), 0);
	for (int i = 3; i < 40 * 30 * 4; i += 4)
		picture->pixels[i] = 255;
	for (int y = 0; y < 10; y++)
		ck_assert_mem_eq(back->pixels + y * back->stride, part.pixels + y * part.stride, 80);
	ck_assert_uint_eq(picture_digest(part), picture_digest(picture_view(back)));
	free(data);
	picture_free(picture);
	picture_free(back);
}
END_TEST

START_TEST(cannot_encode_nothing)
{
	uint8_t *data = NULL;
	size_t size = 77;
	struct error error;

	ck_assert_int_eq(png_encode((struct picture_view){0}, &data, &size, &error), -EINVAL);
	ck_assert_ptr_null(data);
	ck_assert_uint_eq(size, 77);
}
END_TEST

START_TEST(digest)
{
	// 2 x 1 px, R G B A = 1 2 3 4, 5 6 7 8. The value is worked out by the XXH64 specification, over the bytes
	// 02 00 00 00 01 00 00 00 01 02 03 04 05 06 07 08.
	static const uint8_t pixels[] = {3, 2, 1, 4, 7, 6, 5, 8};
	struct picture_view view = {pixels, 2, 1, 8};

	ck_assert_uint_eq(picture_digest(view), UINT64_C(0xb913a003f77253bd));
	struct picture *picture = noise(600, 2);
	uint64_t before = picture_digest(picture_view(picture));
	picture->pixels[picture->stride + 4 * 599] ^= 1;
	ck_assert_uint_ne(picture_digest(picture_view(picture)), before);
	picture->pixels[picture->stride + 4 * 599] ^= 1;
	ck_assert_uint_eq(picture_digest(picture_view(picture)), before);
	picture_free(picture);
}
END_TEST

START_TEST(sizes_are_limited)
{
	struct picture *picture = NULL;

	ck_assert_int_eq(picture_new(0, 1, &picture), -EINVAL);
	ck_assert_int_eq(picture_new(1, -1, &picture), -EINVAL);
	ck_assert_int_eq(picture_new(PICTURE_MAX_SIDE + 1, 1, &picture), -EMSGSIZE);
	ck_assert_int_eq(picture_new(PICTURE_MAX_SIDE, PICTURE_MAX_SIDE, &picture), -EMSGSIZE);
	ck_assert_ptr_null(picture);
	ck_assert_ptr_null(picture_free(NULL));
	ck_assert_int_eq(picture_new(3, 2, &picture), 0);
	ck_assert_int_eq(picture->pixels[23], 0);
	picture_free(picture);
}
END_TEST

START_TEST(files)
{
	char folder[] = "/tmp/condprof-picture-XXXXXX";
	struct bytes png = make_png(&kinds[0], PNG_INTERLACE_NONE);
	struct picture *picture = NULL;
	struct error error;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	int dir = open(folder, O_RDONLY | O_DIRECTORY);
	int fd = openat(dir, "a.png", O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(fd, png.data, png.size), (ssize_t)png.size);
	close(fd);
	ck_assert_int_eq(png_read(dir, "a.png", &picture, &error), 0);
	ck_assert_int_eq(picture->width, WIDTH);
	picture = picture_free(picture);

	ck_assert_int_eq(png_read(dir, "b.png", &picture, &error), -ENOENT);
	ck_assert_str_eq(error.message, "cannot read b.png: No such file or directory");
	ck_assert_int_eq(mkfifoat(dir, "fifo", 0600), 0);
	ck_assert_int_eq(png_read(dir, "fifo", &picture, &error), -EINVAL);
	ck_assert_int_eq(png_read(dir, ".", &picture, &error), -EINVAL);
	ck_assert_int_eq(png_read(AT_FDCWD, "/dev/zero", &picture, &error), -EINVAL);
	fd = openat(dir, "big.png", O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(ftruncate(fd, (off_t)PNG_MAX_BYTES + 1), 0);
	close(fd);
	ck_assert_int_eq(png_read(dir, "big.png", &picture, &error), -EMSGSIZE);
	fd = openat(dir, "a.png", O_WRONLY);
	ck_assert_int_eq(ftruncate(fd, (off_t)png.size - 5), 0);
	close(fd);
	ck_assert_int_eq(png_read(dir, "a.png", &picture, &error), -EBADMSG);
	ck_assert_str_eq(error.message, "a.png: this PNG is damaged: it ends too early; save it again");
	ck_assert_ptr_null(picture);
	unlinkat(dir, "a.png", 0);
	unlinkat(dir, "big.png", 0);
	unlinkat(dir, "fifo", 0);
	rmdir(folder);
	close(dir);
	free(png.data);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("picture");
	TCase *tests = tcase_create("picture");

	tcase_add_loop_test(tests, every_kind, 0, 2 * (int)ARRAY_SIZE(kinds));
	tcase_add_loop_test(tests, cut_anywhere, 0, 2);
	tcase_add_test(tests, any_byte_broken);
	tcase_add_loop_test(tests, bombs, 0, (int)ARRAY_SIZE(sizes));
	tcase_add_loop_test(tests, not_a_png, 0, 6);
	tcase_add_loop_test(tests, there_and_back, 0, 4);
	tcase_add_test(tests, part_of_a_picture);
	tcase_add_test(tests, cannot_encode_nothing);
	tcase_add_test(tests, digest);
	tcase_add_test(tests, sizes_are_limited);
	tcase_add_test(tests, files);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
