// SPDX-License-Identifier: GPL-3.0-or-later
/// Pictures in memory, and the digest that says whether two are the same. Rows stand one behind the other.
#include "daemon/picture/picture.h"
#include "proto/limits.h"

#include <errno.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY // for a state on the stack
#include <xxhash.h>

int picture_new(int width, int height, struct picture **ret)
{
	if (width < 1 || height < 1)
		return -EINVAL;
	if (width > PICTURE_MAX_SIDE || height > PICTURE_MAX_SIDE || (int64_t)width * height > PICTURE_MAX_PIXELS)
		return -EMSGSIZE;
	struct picture *picture = malloc(sizeof(*picture));
	// calloc: pages that are never touched cost nothing, and no decoder's failure shows old memory
	uint8_t *pixels = calloc((size_t)height, (size_t)width * 4);

	if (!picture || !pixels) {
		free(picture);
		free(pixels);
		return -ENOMEM;
	}
	*picture = (struct picture){.pixels = pixels, .width = width, .height = height, .stride = (ptrdiff_t)width * 4};
	*ret = picture;
	return 0;
}

struct picture *picture_free(struct picture *picture)
{
	if (picture)
		free(picture->pixels);
	free(picture);
	return NULL;
}

struct picture_view picture_view(const struct picture *picture)
{
	return (struct picture_view){picture->pixels, picture->width, picture->height, picture->stride};
}

static void put_le32(uint8_t out[static 4], uint32_t value)
{
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

uint64_t picture_digest(struct picture_view view)
{
	uint8_t size[8], swapped[4 * 256];
	XXH64_state_t digest;

	put_le32(size, (uint32_t)view.width);
	put_le32(size + 4, (uint32_t)view.height);
	XXH64_reset(&digest, 0);
	XXH64_update(&digest, size, sizeof(size));
	for (int y = 0; y < view.height; y++) {
		const uint8_t *row = view.pixels + y * view.stride;

		for (int x = 0; x < view.width; x += 256) {
			int count = MIN(256, view.width - x);

			for (int i = 0; i < count; i++) {
				const uint8_t *pixel = row + 4 * (x + i);

				swapped[4 * i] = pixel[2];
				swapped[4 * i + 1] = pixel[1];
				swapped[4 * i + 2] = pixel[0];
				swapped[4 * i + 3] = pixel[3];
			}
			XXH64_update(&digest, swapped, (size_t)count * 4);
		}
	}
	return XXH64_digest(&digest);
}
