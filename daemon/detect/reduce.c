// SPDX-License-Identifier: GPL-3.0-or-later
// Area averaging in integers: rows first, all channels of a source row side by side, then columns.
#include "daemon/detect/reduce.h"

#include <string.h>

#include "daemon/detect/kernels.h"

/// The four channels of a pixel.
typedef uint32_t channels32 __attribute__((vector_size(16)));

/// Up to this, sums of a column fit 16 bits (255 * 255) and those of a pixel 32.
#define DEN_SMALL 255
/// Up to this, sums of a pixel fit 32 bits: 4096² * 255.
#define DEN_MIDDLE 4096

struct span reduce_span(int result, int side, int num, int den)
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

// Rounded division without dividing: half a unit keeps the product away from whole numbers by more than it is off.
static uint8_t quotient(double sum, double half, double reciprocal)
{
	return (uint8_t)((sum + half + 0.5) * reciprocal);
}

static void write_pixel(const uint64_t sums[4], uint64_t total, uint8_t *ret)
{
	double half = (double)(total / 2), reciprocal = 1 / (double)total;

	for (int c = 0; c < 3; c++)
		ret[c] = quotient((double)sums[c], half, reciprocal);
	ret[3] = 255;
}

static channels32 load_small(const uint16_t *sums)
{
	uint16_t four[4];

	memcpy(four, sums, sizeof(four));
	return (channels32){four[0], four[1], four[2], four[3]};
}

static channels32 load(const uint32_t *sums)
{
	channels32 c;

	memcpy(&c, sums, sizeof(c));
	return c;
}

static void write_channels(channels32 sum, uint64_t total, uint8_t *ret)
{
	write_pixel((uint64_t[]){sum[0], sum[1], sum[2], 0}, total, ret);
}

// One result pixel from sums that begin at its first source column. Three ways, by how large sums may become.
static void average_small(const struct span *span, const uint16_t *sums, uint64_t total, uint8_t *ret)
{
	channels32 sum = load_small(sums) * span->head;

	for (int i = span->first + 1; i < span->last; i++)
		sum += load_small(sums += 4) * span->body;
	if (span->last > span->first)
		sum += load_small(sums + 4) * span->tail;
	write_channels(sum, total, ret);
}

static void average(const struct span *span, const uint32_t *sums, uint64_t total, uint8_t *ret)
{
	channels32 sum = load(sums) * span->head;

	for (int i = span->first + 1; i < span->last; i++)
		sum += load(sums += 4) * span->body;
	if (span->last > span->first)
		sum += load(sums + 4) * span->tail;
	write_channels(sum, total, ret);
}

static void average_large(const struct span *span, const uint32_t *sums, uint64_t total, uint8_t *ret)
{
	uint64_t sum[4] = {0};

	for (int i = span->first; i <= span->last; i++, sums += 4)
		for (int c = 0; c < 3; c++)
			sum[c] += (uint64_t)sums[c] * span_weight(span, i);
	write_pixel(sum, total, ret);
}

// Sums over the source rows of a result row, from source column `first` on.
static void add_rows(const struct reduction *r, struct picture_view source, const struct span *rows, int first,
		     int count)
{
	for (int i = rows->first; i <= rows->last; i++) {
		const uint8_t *bytes = source.pixels + i * source.stride + 4 * (ptrdiff_t)first;
		uint32_t weight = span_weight(rows, i);

		if (r->den <= DEN_SMALL)
			kernels()->weigh_small(bytes, (uint16_t)weight, (uint16_t *)(void *)r->row, count);
		else
			kernels()->weigh(bytes, weight, r->row, count);
	}
}

void reduce_part(const struct reduction *reduction, struct picture_view source, struct rect part, uint8_t *ret,
		 ptrdiff_t ret_stride)
{
	const struct span *columns = reduction->columns;
	int first = columns[part.left].first, count = 4 * (columns[part.right - 1].last - first + 1);

	for (int y = part.top; y < part.bottom; y++) {
		struct span rows = reduce_span(y, source.height, reduction->num, reduction->den);

		memset(reduction->row, 0, (size_t)count * sizeof(*reduction->row));
		add_rows(reduction, source, &rows, first, count);
		for (int x = part.left; x < part.right; x++) {
			ptrdiff_t at = 4 * (ptrdiff_t)(columns[x].first - first);
			uint64_t total = (uint64_t)rows.total * columns[x].total;
			uint8_t *pixel = ret + y * ret_stride + 4 * (ptrdiff_t)x;

			if (reduction->den <= DEN_SMALL)
				average_small(&columns[x], (const uint16_t *)(const void *)reduction->row + at, total,
					      pixel);
			else if (reduction->den <= DEN_MIDDLE)
				average(&columns[x], reduction->row + at, total, pixel);
			else
				average_large(&columns[x], reduction->row + at, total, pixel);
		}
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
		struct span rows = reduce_span(y, source.height, num, den);

		for (int x = 0; x < width; x++) {
			struct span columns = reduce_span(x, source.width, num, den);

			reduce_template_pixel(source, &columns, &rows, ret + y * ret_stride + 4 * (ptrdiff_t)x);
		}
	}
}
