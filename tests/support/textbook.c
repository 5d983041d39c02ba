// SPDX-License-Identifier: GPL-3.0-or-later
// The definitions of docs/DETECTION.md in double precision: see textbook.h. Shares no code with the matcher.
#include "tests/support/textbook.h"

#include <math.h>
#include <string.h>

struct plain {
	double *zero_mean; ///< template's gray less its mean, 0 where transparent
	double *counts;    ///< 1 or 0
	double energy;
	int n;
};

static int gray_at(struct picture_view view, int x, int y)
{
	const uint8_t *p = view.pixels + y * view.stride + 4 * (ptrdiff_t)x;

	return (9798 * p[2] + 19235 * p[1] + 3735 * p[0] + 16384) >> 15;
}

static void *take(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		abort();
	return memory;
}

static struct plain prepare(struct picture_view image)
{
	size_t size = (size_t)image.width * (size_t)image.height;
	struct plain p = {.zero_mean = take(size, sizeof(double)), .counts = take(size, sizeof(double))};
	double mean = 0;

	for (int y = 0; y < image.height; y++) {
		for (int x = 0; x < image.width; x++) {
			bool opaque = image.pixels[y * image.stride + 4 * x + 3] == 255;
			p.counts[y * image.width + x] = opaque;
			p.n += opaque;
			mean += opaque ? gray_at(image, x, y) : 0;
		}
	}
	mean /= p.n;
	for (int y = 0; y < image.height; y++) {
		for (int x = 0; x < image.width; x++) {
			double d = p.counts[y * image.width + x] ? gray_at(image, x, y) - mean : 0;
			p.zero_mean[y * image.width + x] = d;
			p.energy += d * d;
		}
	}
	return p;
}

// One window in two turns, as the formula is written. Grays are small integers: the mean is the only rounding before
// the products.
static double score(const double *frame, int frame_width, const struct plain *t, int width, int height)
{
	double sum = 0, product = 0, energy = 0, mean, low = 255, high = 0;

	for (int y = 0; y < height; y++) {
		for (int x = 0; x < width; x++) {
			double v = frame[y * frame_width + x], c = t->counts[y * width + x];
			sum += c * v;
			low = c * v < low && c != 0 ? v : low;
			high = c * v > high ? v : high;
		}
	}
	if (low >= high)
		return 0;
	mean = sum / t->n;
	for (int y = 0; y < height; y++) {
		for (int x = 0; x < width; x++) {
			double d = (frame[y * frame_width + x] - mean) * t->counts[y * width + x];
			product += d * t->zero_mean[y * width + x];
			energy += d * d;
		}
	}
	return product / sqrt(energy * t->energy);
}

static void hsv(int r, int g, int b, int *h, int *s, int *v)
{
	int max = r > g ? (r > b ? r : b) : (g > b ? g : b), min = r < g ? (r < b ? r : b) : (g < b ? g : b);
	int d = max - min, n;
	int hd = d ? (int)rint(180.0 * 4096 / (6.0 * d)) : 0, sv = max ? (int)rint(255.0 * 4096 / max) : 0;

	if (max == r)
		n = g - b;
	else if (max == g)
		n = b - r + 2 * d;
	else
		n = r - g + 4 * d;
	*h = (n * hd + 2048) >> 12;
	if (*h < 0)
		*h += 180;
	*s = (d * sv + 2048) >> 12;
	*v = max;
}

static int image_hue(struct picture_view image)
{
	double sums[3] = {0}, n = 0;
	int h, s, v;

	for (int y = 0; y < image.height; y++) {
		for (int x = 0; x < image.width; x++) {
			const uint8_t *p = image.pixels + y * image.stride + 4 * (ptrdiff_t)x;
			if (p[3] != 255)
				continue;
			n++;
			for (int c = 0; c < 3; c++)
				sums[c] += p[c];
		}
	}
	hsv((int)floor(sums[2] / n + 0.5), (int)floor(sums[1] / n + 0.5), (int)floor(sums[0] / n + 0.5), &h, &s, &v);
	return h;
}

static void mean_hsv(struct picture_view pixels, int left, int top, struct picture_view image, int hue0, double ret[3])
{
	double n = 0;

	ret[0] = ret[1] = ret[2] = 0;
	for (int y = 0; y < image.height; y++) {
		for (int x = 0; x < image.width; x++) {
			const uint8_t *p = pixels.pixels + (top + y) * pixels.stride + 4 * (ptrdiff_t)(left + x);
			int h, s, v;
			if (image.pixels[y * image.stride + 4 * x + 3] != 255)
				continue;
			hsv(p[2], p[1], p[0], &h, &s, &v);
			ret[0] += (h - hue0 + 90 + 180) % 180 - 90;
			ret[1] += s;
			ret[2] += v;
			n++;
		}
	}
	for (int i = 0; i < 3; i++)
		ret[i] /= n;
	ret[0] += hue0;
}

double textbook_colour(struct picture_view frame, struct picture_view image, int x, int y)
{
	int hue0 = image_hue(image);
	double a[3], b[3], dh;

	mean_hsv(image, 0, 0, image, hue0, a);
	mean_hsv(frame, x, y, image, hue0, b);
	dh = fabs(a[0] - b[0]);
	if (dh >= 180)
		dh -= 180;
	if (dh > 90)
		dh = 180 - dh;
	return (dh / 90 + fabs(a[1] - b[1]) / 255 + fabs(a[2] - b[2]) / 255) * 100 / 3;
}

static void fill_map(struct picture_view frame, struct picture_view image, struct textbook *book)
{
	struct plain t = prepare(image);
	int width = book->area.right - book->area.left, height = book->area.bottom - book->area.top;
	double *gray = take((size_t)width * (size_t)height, sizeof(double));

	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			gray[y * width + x] = gray_at(frame, book->area.left + x, book->area.top + y);
	for (int y = 0; y < book->rows; y++)
		for (int x = 0; x < book->columns; x++)
			book->scores[y * book->columns + x] =
				score(gray + y * width + x, width, &t, image.width, image.height);
	free(gray);
	free(t.zero_mean);
	free(t.counts);
}

// The highest that is left, first in row order among what differs by rounding only; -1: none. Whether another place
// would do as well (by rounding, not by equality) is noted.
static int highest(const struct textbook *book, const uint8_t *out, bool *ambiguous)
{
	int best = -1;

	for (int i = 0; i < book->columns * book->rows; i++)
		if (!out[i] && (best < 0 || book->scores[i] > book->scores[best] + TEXTBOOK_ROUNDING))
			best = i;
	for (int i = 0; best >= 0 && i < book->columns * book->rows; i++)
		if (!out[i] && i != best && book->scores[i] != book->scores[best] &&
		    fabs(book->scores[i] - book->scores[best]) <= 2 * TEXTBOOK_ROUNDING)
			*ambiguous = true;
	return best;
}

static void put_out(const struct textbook *book, int at, struct picture_view image, uint8_t *out)
{
	int left = at % book->columns, top = at / book->columns;

	for (int y = top; y < top + image.height && y < book->rows; y++)
		for (int x = left; x < left + image.width && x < book->columns; x++)
			out[y * book->columns + x] = 1;
}

static void choose(struct picture_view frame, struct picture_view image, double threshold, struct textbook *book)
{
	uint8_t *out = take((size_t)book->columns * (size_t)book->rows, 1);
	double wanted = 1 - threshold / 100;

	for (bool first = true;; first = false) {
		int at = highest(book, out, &book->ambiguous);
		if (at < 0 || (!first && book->scores[at] < wanted - TEXTBOOK_ROUNDING))
			break;
		int x = book->area.left + at % book->columns, y = book->area.top + at / book->columns;
		double colour = textbook_colour(frame, image, x, y), score = book->scores[at];
		book->ambiguous |= fabs(score - wanted) <= 2 * TEXTBOOK_ROUNDING ||
				   (score >= wanted && fabs(colour - threshold) <= TEXTBOOK_ROUNDING);
		if (first) {
			book->best_score = score;
			book->best_x = x;
			book->best_y = y;
			book->best_colour = colour;
		}
		if (score < wanted - TEXTBOOK_ROUNDING)
			break;
		if (colour <= threshold) {
			book->found = true;
			book->score = score;
			book->colour = colour;
			book->x = x;
			book->y = y;
			break;
		}
		put_out(book, at, image, out);
	}
	free(out);
}

void textbook_look(struct picture_view frame, struct picture_view image, struct rect area, double threshold,
		   struct textbook *ret)
{
	*ret = (struct textbook){.area = area};
	if (area.left < 0 || area.top < 0 || area.right > frame.width || area.bottom > frame.height ||
	    area.right - area.left < image.width || area.bottom - area.top < image.height)
		return;
	ret->columns = area.right - area.left - image.width + 1;
	ret->rows = area.bottom - area.top - image.height + 1;
	ret->scores = take((size_t)ret->columns * (size_t)ret->rows, sizeof(double));
	fill_map(frame, image, ret);
	choose(frame, image, threshold, ret);
}

void textbook_free(struct textbook *textbook)
{
	free(textbook->scores);
	textbook->scores = NULL;
}

double textbook_score(const struct textbook *textbook, int x, int y)
{
	return textbook->scores[(y - textbook->area.top) * textbook->columns + x - textbook->area.left];
}

static double overlap(double from, double to, int i)
{
	return fmax(0, fmin(to, i + 1) - fmax(from, i));
}

struct picture_view textbook_reduce(struct picture_view source, int num, int den, uint8_t **ret_pixels)
{
	double step = (double)den / num;
	int width = (int)fmax(1, floor((double)source.width * num / den + 0.5));
	int height = (int)fmax(1, floor((double)source.height * num / den + 0.5));
	uint8_t *pixels = take((size_t)width * (size_t)height, 4);

	for (int y = 0; y < height; y++) {
		for (int x = 0; x < width; x++) {
			double sums[4] = {0};
			for (int j = (int)(y * step); j < source.height && j < (y + 1) * step; j++) {
				for (int i = (int)(x * step); i < source.width && i < (x + 1) * step; i++) {
					double w = overlap(x * step, (x + 1) * step, i) *
						   overlap(y * step, (y + 1) * step, j);
					const uint8_t *p = source.pixels + j * source.stride + 4 * (ptrdiff_t)i;
					for (int c = 0; c < 3; c++)
						sums[c] += w * p[c];
					sums[3] += w;
				}
			}
			for (int c = 0; c < 3; c++)
				pixels[4 * (y * width + x) + c] = (uint8_t)floor(sums[c] / sums[3] + 0.5 + 1e-9);
			pixels[4 * (y * width + x) + 3] = 255;
		}
	}
	*ret_pixels = pixels;
	return (struct picture_view){pixels, width, height, 4 * (ptrdiff_t)width};
}
