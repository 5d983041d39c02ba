// SPDX-License-Identifier: GPL-3.0-or-later
// Area averaging in integers. Lengths are measured in units of which a source pixel has `num` and a result pixel
// `den`, so that every overlap is a whole number.
#include "daemon/detect/reduce.h"

#include <string.h>

/// The source pixels that make up one result pixel, in one direction.
struct span {
	int first, last;           ///< inclusive
	uint32_t head, body, tail; ///< weight of the first, of those between, of the last
	uint32_t total;
};

static struct span span_of(int result, int side, int num, int den)
{
	int64_t from = (int64_t)result * den, to = MIN(from + den, (int64_t)side * num);
	struct span span = {
		.first = (int)(from / num),
		.last = (int)((to - 1) / num),
		.body = (uint32_t)num,
		.total = (uint32_t)(to - from),
	};

	span.head = (uint32_t)(MIN(((int64_t)span.first + 1) * num, to) - from);
	span.tail = span.last == span.first ? span.head : (uint32_t)(to - (int64_t)span.last * num);
	return span;
}

static uint32_t span_weight(const struct span *span, int i)
{
	return i == span->first ? span->head : i == span->last ? span->tail : span->body;
}

int reduce_side(int side, int num, int den)
{
	int64_t reduced = ((int64_t)side * num * 2 + den) / (2 * (int64_t)den);

	return (int)MAX(reduced, 1);
}

size_t reduce_scratch(int ret_width)
{
	return 3 * (size_t)ret_width;
}

// Adds one source row, averaged in x, to the sums of a result row.
static void add_row(const uint8_t *source, int source_width, int num, int den, uint32_t weight, uint64_t *sums,
		    int width)
{
	for (int x = 0; x < width; x++) {
		struct span span = span_of(x, source_width, num, den);
		const uint8_t *p = source + 4 * (ptrdiff_t)span.first;
		uint32_t b = span.head * p[0], g = span.head * p[1], r = span.head * p[2];

		for (int i = span.first + 1; i <= span.last; i++) {
			uint32_t w = i == span.last ? span.tail : span.body;
			p += 4;
			b += w * p[0];
			g += w * p[1];
			r += w * p[2];
		}
		sums[3 * x] += (uint64_t)weight * b;
		sums[3 * x + 1] += (uint64_t)weight * g;
		sums[3 * x + 2] += (uint64_t)weight * r;
	}
}

static void write_row(const uint64_t *sums, int source_width, int num, int den, uint32_t rows, uint8_t *ret, int width)
{
	for (int x = 0; x < width; x++) {
		uint64_t total = (uint64_t)rows * span_of(x, source_width, num, den).total;

		for (int c = 0; c < 3; c++)
			ret[4 * x + c] = (uint8_t)((sums[3 * x + c] + total / 2) / total);
		ret[4 * x + 3] = 255;
	}
}

void reduce_picture(struct picture_view source, int num, int den, uint64_t *scratch, uint8_t *ret, ptrdiff_t ret_stride)
{
	int width = reduce_side(source.width, num, den), height = reduce_side(source.height, num, den);

	for (int y = 0; y < height; y++) {
		struct span rows = span_of(y, source.height, num, den);

		memset(scratch, 0, reduce_scratch(width) * sizeof(*scratch));
		for (int i = rows.first; i <= rows.last; i++)
			add_row(source.pixels + i * source.stride, source.width, num, den, span_weight(&rows, i),
				scratch, width);
		write_row(scratch, source.width, num, den, rows.total, ret + y * ret_stride, width);
	}
}

static void reduce_template_pixel(struct picture_view source, const struct span *columns, const struct span *rows,
				  uint8_t *ret)
{
	uint64_t sums[3] = {0}, counted = 0, total = (uint64_t)columns->total * rows->total;

	for (int y = rows->first; y <= rows->last; y++) {
		const uint8_t *p = source.pixels + y * source.stride + 4 * (ptrdiff_t)columns->first;

		for (int x = columns->first; x <= columns->last; x++, p += 4) {
			uint64_t weight = (uint64_t)span_weight(rows, y) * span_weight(columns, x);
			if (p[3] != 255)
				continue;
			counted += weight;
			for (int c = 0; c < 3; c++)
				sums[c] += weight * p[c];
		}
	}
	memset(ret, 0, 4);
	if (counted * 2 < total)
		return;
	for (int c = 0; c < 3; c++)
		ret[c] = (uint8_t)((sums[c] + counted / 2) / counted);
	ret[3] = 255;
}

void reduce_template(struct picture_view source, int num, int den, uint8_t *ret, ptrdiff_t ret_stride)
{
	int width = reduce_side(source.width, num, den), height = reduce_side(source.height, num, den);

	for (int y = 0; y < height; y++) {
		struct span rows = span_of(y, source.height, num, den);

		for (int x = 0; x < width; x++) {
			struct span columns = span_of(x, source.width, num, den);

			reduce_template_pixel(source, &columns, &rows, ret + y * ret_stride + 4 * (ptrdiff_t)x);
		}
	}
}
