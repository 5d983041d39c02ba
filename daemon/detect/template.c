// SPDX-License-Identifier: GPL-3.0-or-later
// Preparing a template: reduction, gray, which pixels count, its sums and its mean colour. Once a session.
#include "daemon/detect/template.h"

#include <errno.h>
#include <string.h>

#include "daemon/detect/frame.h"
#include "daemon/detect/reduce.h"
#include "proto/limits.h"

struct detect_template *detect_template_free(struct detect_template *template_)
{
	if (template_) {
		free(template_->gray);
		free(template_->mask);
		free(template_->pixels);
		for (int shift = 0; shift <= BOX_SHIFT_MAX; shift++)
			pattern_set_clear(&template_->sets[shift]);
		for (int i = 0; i < BANDS; i++)
			pattern_set_clear(&template_->bands[i]);
	}
	free(template_);
	return NULL;
}

void detect_template_size(const struct detect_template *template_, int *ret_width, int *ret_height)
{
	*ret_width = template_->width;
	*ret_height = template_->height;
}

static int take_memory(struct detect_template *t)
{
	t->stride = t->width + KERNEL_PADDING;
	t->gray = calloc((size_t)t->height, (size_t)t->stride);
	t->mask = calloc((size_t)t->height, (size_t)t->stride);
	t->pixels = calloc((size_t)t->height, 4 * (size_t)t->width);
	return t->gray && t->mask && t->pixels ? 0 : -ENOMEM;
}

static void fill_planes(struct detect_template *t, struct picture_view view)
{
	for (int y = 0; y < t->height; y++) {
		const uint8_t *p = view.pixels + y * view.stride;
		uint8_t *gray = t->gray + y * t->stride, *mask = t->mask + y * t->stride;

		kernels()->gray_row(p, gray, t->width);
		for (int x = 0; x < t->width; x++) {
			mask[x] = p[4 * x + 3] == 255 ? 0xff : 0;
			gray[x] &= mask[x];
			t->whole.count += mask[x] & 1;
			t->whole.sum += gray[x];
			t->whole.squares += gray[x] * gray[x];
		}
	}
}

static void add_row_moments(const struct detect_template *t, int y, struct moments *m)
{
	for (int x = 0; x < t->width; x++) {
		int v = t->gray[y * t->stride + x];
		m->count += t->mask ? t->mask[y * t->stride + x] & 1 : 1;
		m->sum += v;
		m->squares += v * v;
	}
}

// After 1/8, 1/4 and 1/2 of the rows, where these rows hold some of the variance.
static void fill_checkpoints(struct detect_template *t)
{
	double whole = moments_variance(&t->whole) / (double)t->whole.count;

	for (int part = 8; part >= 2; part /= 2) {
		struct checkpoint c = {.rows = t->height / part};
		if (c.rows < 1 || (t->n_checkpoints && t->checkpoints[t->n_checkpoints - 1].rows == c.rows))
			continue;
		for (int y = 0; y < c.rows; y++)
			add_row_moments(t, y, &c.part);
		if (!c.part.count)
			continue;
		c.variance = moments_variance(&c.part);
		c.share = c.variance / (double)c.part.count / whole;
		if (c.share > 0)
			t->checkpoints[t->n_checkpoints++] = c;
	}
}

// Templates larger than this are compared by their colours' means alone: four bytes a pixel are not worth it.
#define PIXELS_KEPT_MAX (1024 * 1024)

// A bar of 0.9 asks for a share of 0.19 at least, one of 0.8 for 0.36, one of 0.6 for 0.64, and each for some more.
static const double band_shares[BANDS] = {0.22, 0.41, 0.72};

static int rows_holding(const struct detect_template *t, double share)
{
	struct moments m = {0};
	int y = 0;

	while (y < t->height && moments_variance(&m) * (double)t->whole.count <
					share * moments_variance(&t->whole) * (double)m.count + (m.count == 0))
		add_row_moments(t, y++, &m);
	return y;
}

static int fill_patterns(struct detect_template *t)
{
	size_t stride = (size_t)t->width + 1;
	CLEANUP_FREE uint32_t *prefix = calloc((size_t)t->height + 1, stride * sizeof(*prefix));
	struct template_planes planes = {
		.gray = t->gray,
		.mask = t->mask,
		.stride = t->stride,
		.width = t->width,
		.height = t->height,
		.prefix = prefix,
		.energy = moments_variance(&t->whole) / (double)t->whole.count,
	};
	int r = 0;

	if (!prefix)
		return -ENOMEM;
	for (int y = 0; y < t->height; y++)
		for (int x = 0; x < t->width; x++)
			prefix[(size_t)(y + 1) * stride + (size_t)x + 1] =
				prefix[(size_t)(y + 1) * stride + (size_t)x] +
				prefix[(size_t)y * stride + (size_t)x + 1] - prefix[(size_t)y * stride + (size_t)x] +
				t->gray[y * t->stride + x];
	for (int shift = 1; shift <= BOX_SHIFT_MAX && r == 0; shift++)
		r = pattern_set_make(&planes, shift, 0, &t->sets[shift]);
	if (r == 0 && !t->mask)
		r = pattern_set_whole(&planes, &t->sets[0]);
	for (int i = 0; i < BANDS && r == 0; i++)
		r = pattern_set_make(&planes, 0, rows_holding(t, band_shares[i]), &t->bands[i]);
	return r;
}

static void fill_colour(struct detect_template *t, struct picture_view view)
{
	int64_t sums[3], n = t->whole.count;

	colour_sums(view.pixels, view.stride, t->width, t->height, t->mask, t->stride, sums);
	t->hue0 = colour_hue((int)((2 * sums[2] + n) / (2 * n)), (int)((2 * sums[1] + n) / (2 * n)),
			     (int)((2 * sums[0] + n) / (2 * n)));
	t->colour = colour_mean(view.pixels, view.stride, t->width, t->height, t->mask, t->stride, t->hue0);
}

static int prepare(struct detect_template *t, struct picture_view view, bool reduced, struct error *error)
{
	fill_planes(t, view);
	if (t->whole.count == 0)
		return error_set(
			error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
			"no pixel of this image is opaque, so there is nothing to look for: cut it again without "
			"transparency");
	if (moments_variance(&t->whole) == 0)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL, "%s",
				 reduced ? "reduced by `quality`, this image is of one flat gray: use a higher "
					   "quality, a larger "
					   "image, or a color condition"
					 : "this image is one flat colour: use a color condition");
	fill_checkpoints(t);
	fill_colour(t, view);
	if (t->whole.count == (int64_t)t->width * t->height) {
		free(t->mask);
		t->mask = NULL;
	}
	if (t->whole.count > PIXELS_KEPT_MAX) {
		free(t->pixels);
		t->pixels = NULL;
	}
	return fill_patterns(t);
}

static void take_pixels(struct detect_template *t, struct picture_view image, int num, int den)
{
	ptrdiff_t stride = 4 * (ptrdiff_t)t->width;

	if (num != den) {
		reduce_template(image, num, den, t->pixels, stride);
		return;
	}
	for (int y = 0; y < t->height; y++)
		memcpy(t->pixels + y * stride, image.pixels + y * image.stride, (size_t)stride);
}

int detect_template_new(struct picture_view image, int ratio_num, int ratio_den, struct detect_template **ret,
			struct error *error)
{
	struct detect_template *t;
	int r;

	if (ratio_num < 1 || ratio_den < ratio_num || image.width < 1 || image.height < 1 ||
	    image.width > PICTURE_MAX_SIDE || image.height > PICTURE_MAX_SIDE ||
	    (int64_t)image.width * image.height > PICTURE_MAX_PIXELS)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL,
				 "an image of %dx%d px cannot be looked for", image.width, image.height);
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->source_width = image.width;
	t->source_height = image.height;
	t->width = reduce_side(image.width, ratio_num, ratio_den);
	t->height = reduce_side(image.height, ratio_num, ratio_den);
	r = take_memory(t);
	if (r == 0) {
		take_pixels(t, image, ratio_num, ratio_den);
		r = prepare(t, (struct picture_view){t->pixels, t->width, t->height, 4 * (ptrdiff_t)t->width},
			    ratio_num != ratio_den, error);
	}
	if (r < 0) {
		detect_template_free(t);
		return r;
	}
	*ret = t;
	return 0;
}
