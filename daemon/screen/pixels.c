// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/screen/pixels.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static int init_channel(struct pixels *format, size_t index, uint32_t mask)
{
	if (mask == 0)
		return -ENOTSUP;
	unsigned shift = (unsigned)__builtin_ctz(mask);
	uint32_t top = mask >> shift;
	if (top >= 1U << PIXEL_CHANNEL_BITS_MAX || (top & (top + 1)) != 0)
		return -ENOTSUP; // too wide, or with a hole
	format->channels[index].mask = mask;
	format->channels[index].shift = shift;
	for (uint32_t value = 0; value <= top; value++)
		format->channels[index].value[value] = (uint8_t)((value * 255 + top / 2) / top);
	return 0;
}

static inline uint32_t convert_pixel(const struct pixel_channel *blue, const struct pixel_channel *green,
				     const struct pixel_channel *red, uint32_t pixel)
{
	return (uint32_t)blue->value[(pixel & blue->mask) >> blue->shift] |
	       (uint32_t)green->value[(pixel & green->mask) >> green->shift] << 8 |
	       (uint32_t)red->value[(pixel & red->mask) >> red->shift] << 16 | 0xff000000U;
}

static void init_words(struct pixels *format)
{
	const struct pixel_channel *channels = format->channels;

	for (uint32_t word = 0; word < ARRAY_SIZE(format->words); word++)
		format->words[word] = convert_pixel(&channels[0], &channels[1], &channels[2], word);
}

int pixels_init(struct pixels *format, int bits_per_pixel, int pad_bits, bool big_endian, uint32_t red_mask,
		uint32_t green_mask, uint32_t blue_mask)
{
	uint32_t all = red_mask | green_mask | blue_mask;
	bool known = bits_per_pixel == 16 || bits_per_pixel == 24 || bits_per_pixel == 32;

	if (!known || (pad_bits != 8 && pad_bits != 16 && pad_bits != 32))
		return -ENOTSUP;
	if (bits_per_pixel < 32 && all >> bits_per_pixel != 0)
		return -ENOTSUP;
	format->bits_per_pixel = bits_per_pixel;
	format->pad_bits = pad_bits;
	format->big_endian = big_endian;
	format->direct = bits_per_pixel == 32 && !big_endian && red_mask == 0xff0000 && green_mask == 0xff00 &&
			 blue_mask == 0xff;
	int r = init_channel(format, 0, blue_mask);
	if (r == 0)
		r = init_channel(format, 1, green_mask);
	if (r == 0)
		r = init_channel(format, 2, red_mask);
	if (r == 0 && bits_per_pixel == 16)
		init_words(format);
	return r;
}

ptrdiff_t pixels_stride(const struct pixels *format, int width)
{
	ptrdiff_t bits = (ptrdiff_t)width * format->bits_per_pixel;

	return (bits + format->pad_bits - 1) / format->pad_bits * format->pad_bits / 8;
}

static inline void store(uint8_t *to, uint32_t pixel)
{
	const uint8_t bytes[4] = {pixel & 0xff, pixel >> 8 & 0xff, pixel >> 16 & 0xff, pixel >> 24};

	memcpy(to, bytes, sizeof(bytes));
}

// Called with constants for the first two, so that a loop is made for each.
static inline uint32_t load(int bytes, bool big_endian, const uint8_t *pixel)
{
	uint32_t word;

	if (bytes == 2)
		return big_endian ? (uint32_t)pixel[0] << 8 | pixel[1] : (uint32_t)pixel[1] << 8 | pixel[0];
	if (bytes == 3)
		return big_endian ? (uint32_t)pixel[0] << 16 | (uint32_t)pixel[1] << 8 | pixel[2]
				  : (uint32_t)pixel[2] << 16 | (uint32_t)pixel[1] << 8 | pixel[0];
	memcpy(&word, pixel, sizeof(word));
	return big_endian ? be32toh(word) : le32toh(word);
}

static inline void convert_row(const struct pixels *format, int bytes, bool big_endian, const uint8_t *from,
			       uint8_t *to, int width)
{
	const struct pixel_channel *blue = &format->channels[0], *green = &format->channels[1],
				   *red = &format->channels[2];

	for (int x = 0; x < width; x++, from += bytes, to += 4) {
		uint32_t pixel = load(bytes, big_endian, from);

		store(to, bytes == 2 ? format->words[pixel] : convert_pixel(blue, green, red, pixel));
	}
}

static void convert(const struct pixels *format, const uint8_t *from, uint8_t *to, int width)
{
	switch (format->bits_per_pixel) {
	case 16:
		format->big_endian ? convert_row(format, 2, true, from, to, width)
				   : convert_row(format, 2, false, from, to, width);
		break;
	case 24:
		format->big_endian ? convert_row(format, 3, true, from, to, width)
				   : convert_row(format, 3, false, from, to, width);
		break;
	default:
		format->big_endian ? convert_row(format, 4, true, from, to, width)
				   : convert_row(format, 4, false, from, to, width);
		break;
	}
}

void pixels_convert(const struct pixels *format, const uint8_t *rows, ptrdiff_t stride, struct picture *picture)
{
	for (int y = 0; y < picture->height; y++) {
		const uint8_t *from = rows + y * stride;
		uint8_t *to = picture->pixels + y * picture->stride;

		if (format->direct)
			memcpy(to, from, (size_t)picture->width * 4);
		else
			convert(format, from, to, picture->width);
	}
}
