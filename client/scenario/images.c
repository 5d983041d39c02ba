// SPDX-License-Identifier: GPL-3.0-or-later
//
// Reads the images that a scenario names and puts their bytes into the message, each file once however many conditions
// look for it. An image that could never be found (flat, or nothing of it opaque) is a mistake here already.
#include "config.h"

#include "client/scenario/file.h"
#include "daemon/picture/picture.h"
#include "proto/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/// A file that was read, or tried: then data is NULL, and it was said once.
struct image {
	uint8_t *data; ///< the arena's
	size_t size;
	size_t pixels;
};

struct reader {
	struct scenario_file *file;
	struct names paths;
	struct image *images;
	size_t bytes, pixels; ///< of all conditions together
	bool too_much;        ///< that was said
};

static int read_file(struct arena *arena, int fd, size_t size, uint8_t **ret)
{
	uint8_t *data = arena_alloc(arena, MAX(size, 1U));

	if (!data)
		return -ENOMEM;
	ssize_t n = io_read(fd, data, size);
	if (n < 0)
		return (int)n;
	if ((size_t)n < size)
		return -EIO; // shrank meanwhile
	*ret = data;
	return 0;
}

/// @param path absolute
static int open_and_read(struct scenario_file *file, const char *path, struct image *image, struct error *error)
{
	struct stat status;
	int fd CLEANUP_CLOSE = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_set(error, CONDPROF__CODE__IO, errno, "cannot open it: %s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return error_set(error, CONDPROF__CODE__IO, EINVAL, "not a file");
	if (status.st_size > SCENARIO_MAX_BYTES)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, EFBIG,
				 "larger than a whole scenario may be (%u MiB)", SCENARIO_MAX_BYTES / (1024U * 1024U));
	image->size = (size_t)status.st_size;
	int r = read_file(&file->arena, fd, image->size, &image->data);
	if (r == -ENOMEM)
		file->out_of_memory = true;
	return r < 0 ? error_set(error, CONDPROF__CODE__IO, -r, "cannot read it: %s", strerror(-r)) : 0;
}

static uint32_t gray_of(const uint8_t *bgra)
{
	return (9798U * bgra[2] + 19235U * bgra[1] + 3735U * bgra[0] + 16384U) >> 15;
}

int scenario_check_image(struct picture_view view, struct error *error)
{
	bool any = false;
	uint32_t first = 0;

	for (int y = 0; y < view.height; y++) {
		const uint8_t *row = view.pixels + y * view.stride;

		for (int x = 0; x < view.width; x++) {
			const uint8_t *pixel = row + (ptrdiff_t)4 * x;
			if (pixel[3] != 255)
				continue;
			if (any && gray_of(pixel) != first)
				return 0;
			first = gray_of(pixel);
			any = true;
		}
	}
	if (!any)
		return error_set(
			error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
			"no pixel of it is opaque, so there is nothing to look for: cut it again without transparency");
	return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL, "one flat colour: use a color condition instead");
}

static int take_file(struct scenario_file *file, const char *path, struct image *image, struct error *error)
{
	struct picture *picture = NULL;
	int r = open_and_read(file, path, image, error);

	if (r == 0)
		r = png_decode(image->data, image->size, &picture, error);
	if (r == 0) {
		image->pixels = (size_t)picture->width * (size_t)picture->height;
		r = scenario_check_image(picture_view(picture), error);
	}
	file->out_of_memory |= r == -ENOMEM;
	picture_free(picture);
	return r;
}

/// The file's folder and the name in it, or the name when it is absolute.
static char *path_of(struct scenario_file *file, const char *name)
{
	size_t folder = file->folder && name[0] != '/' ? strlen(file->folder) : 0, size = folder + strlen(name) + 2;
	char *path = file_alloc(file, size, 1);

	if (path)
		snprintf(path, size, "%.*s%s%s", (int)folder, folder ? file->folder : "", folder ? "/" : "", name);
	return path;
}

/// The image of a path; read at its first mention.
static struct image *find_image(struct reader *reader, const struct node *node, const char *name)
{
	struct scenario_file *file = reader->file;
	char *path = path_of(file, name), word[QUOTED_BYTES];
	struct error error = {0};
	uint32_t index = reader->paths.count;

	if (!path)
		return NULL;
	if (!names_add(&reader->paths, path, strlen(path), index, &index))
		return &reader->images[index];
	struct image *image = &reader->images[index];
	if (take_file(file, path, image, &error) < 0) {
		node_error(file, node, "the image “%s”: %s", name_text(name, word), error.message);
		image->data = NULL;
	}
	return image;
}

static void take_image(struct reader *reader, const struct node *mapping, Condprof__ImageCondition *message)
{
	struct scenario_file *file = reader->file;
	const struct node *node = node_find(mapping, "image");

	if (!message->file)
		return;
	if (!file->folder && message->file[0] != '/') {
		node_error(file, node, "images cannot be read from here: a relative path has no meaning");
		return;
	}
	struct image *image = find_image(reader, node, message->file);
	if (!image || !image->data)
		return;
	reader->bytes += image->size;
	reader->pixels += image->pixels;
	bool too_many_bytes = reader->bytes > SCENARIO_MAX_BYTES,
	     too_many_pixels = reader->pixels > TEMPLATES_MAX_PIXELS;
	if ((too_many_bytes || too_many_pixels) && !reader->too_much) {
		reader->too_much = true;
		node_error(file, node, "with this image the scenario's images take more than %u %s",
			   too_many_bytes ? SCENARIO_MAX_BYTES / (1024U * 1024U)
					  : TEMPLATES_MAX_PIXELS / (1024U * 1024U),
			   too_many_bytes ? "MiB" : "million pixels");
	}
	message->has_png = true;
	message->png = (ProtobufCBinaryData){image->size, image->data};
}

static void read_event(struct reader *reader, size_t index)
{
	const Condprof__Event *event = reader->file->message->screen_events[index];
	const struct node *conditions = node_find(event_node(reader->file, false, index), "conditions");

	for (size_t i = 0; i < event->n_conditions && !reader->file->out_of_memory; i++)
		if (event->conditions[i]->kind_case == CONDPROF__CONDITION__KIND_IMAGE)
			take_image(reader, node_item(conditions, (uint32_t)i), event->conditions[i]->image);
}

void scenario_read_images(struct scenario_file *file)
{
	struct reader reader = {.file = file};
	size_t conditions = 0;

	for (size_t i = 0; i < file->message->n_screen_events; i++)
		conditions += file->message->screen_events[i]->n_conditions;
	reader.images = file_alloc(file, conditions, sizeof(*reader.images));
	if (names_reserve(&reader.paths, &file->arena, (uint32_t)conditions) < 0)
		file->out_of_memory = true;
	for (size_t i = 0; i < file->message->n_screen_events && !file->out_of_memory; i++)
		read_event(&reader, i);
}
