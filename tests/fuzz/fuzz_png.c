// SPDX-License-Identifier: GPL-3.0-or-later
/// PNG files from clients and replay folders. What could be decoded is encoded, and must come back the same but for its
/// alpha.
#include "tests/fuzz/fuzz.h"

#include "daemon/picture/picture.h"

#include <errno.h>
#include <string.h>

#define PIXELS_MAX (512 * 512) ///< larger ones only make it slow

static void check_round_trip(const struct picture *picture)
{
	struct picture *again = NULL;
	uint8_t *packed = NULL;
	size_t size = 0;

	FUZZ_ASSERT(png_encode(picture_view(picture), &packed, &size, NULL) == 0);
	FUZZ_ASSERT(png_decode(packed, size, &again, NULL) == 0);
	FUZZ_ASSERT(again->width == picture->width && again->height == picture->height);
	for (int y = 0; y < picture->height; y++)
		for (int x = 0; x < picture->width; x++)
			FUZZ_ASSERT(memcmp(picture->pixels + y * picture->stride + 4 * x,
					   again->pixels + y * again->stride + 4 * x, 3) == 0);
	picture_free(again);
	free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct picture *picture = NULL;
	struct error error = {.message = ""};
	int width = 0, height = 0;

	if (png_peek_size(data, size, &width, &height, &error) == 0 && (int64_t)width * height > PIXELS_MAX)
		return 0;
	int r = png_decode(data, size, &picture, &error);

	FUZZ_ASSERT((r == 0) == (picture != NULL));
	FUZZ_ASSERT(r == 0 || ((r == -EBADMSG || r == -EMSGSIZE) && error.message[0] != '\0'));
	if (!picture)
		return 0;
	FUZZ_ASSERT(picture->width == width && picture->height == height);
	picture_digest(picture_view(picture));
	check_round_trip(picture);
	picture_free(picture);
	return 0;
}
