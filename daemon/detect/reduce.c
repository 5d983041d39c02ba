// SPDX-License-Identifier: GPL-3.0-or-later
// Area averaging in integers: rows first, all channels of a source row side by side, then columns.
#include "daemon/detect/reduce.h"

#include <string.h>

/// The four channels of a pixel.
typedef uint32_t channels32 __attribute__((vector_size(16)));

/// Up to this the weights of a result pixel and its channels fit 32 bits: 4096² * 255.
#define DEN_SMALL 4096

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

// Adds source bytes to sums, in blocks that compilers make vectors of.
static void add_bytes(const uint8_t *bytes, uint32_t weight, uint32_t *sums, int count)
{
	int i = 0;

	for (; i + 16 <= count; i += 16)
		for (int j = 0; j < 16; j++)
			sums[i + j] += weight * bytes[i + j];
	for (; i < count; i++)
		sums[i] += weight * bytes[i];
}

static channels32 load(const uint32_t *sums)
{
	channels32 c;

	memcpy(&c, sums, sizeof(c));
	return c;
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

// One result pixel from sums that begin at source column `first`.
static void average_small(const struct span *span, const uint32_t *sums, uint64_t total, uint8_t *ret)
{
	channels32 sum = load(sums) * span->head;

	for (int i = span->first + 1; i < span->last; i++)
		sum += load(sums += 4) * span->body;
	if (span->last > span->first)
		sum += load(sums + 4) * span->tail;
	write_pixel((uint64_t[]){sum[0], sum[1], sum[2], 0}, total, ret);
}

static void average_large(const struct span *span, const uint32_t *sums, uint64_t total, uint8_t *ret)
{
	uint64_t sum[4] = {0};

	for (int i = span->first; i <= span->last; i++, sums += 4)
		for (int c = 0; c < 3; c++)
			sum[c] += (uint64_t)sums[c] * span_weight(span, i);
	write_pixel(sum, total, ret);
}

void reduce_part(const struct reduction *reduction, struct picture_view source, struct rect part, uint8_t *ret,
		 ptrdiff_t ret_stride)
{
	const struct span *columns = reduction->columns;
	int first = columns[part.left].first, count = 4 * (columns[part.right - 1].last - first + 1);

	for (int y = part.top; y < part.bottom; y++) {
		struct span rows = reduce_span(y, source.height, reduction->num, reduction->den);

		memset(reduction->row, 0, (size_t)count * sizeof(*reduction->row));
		for (int i = rows.first; i <= rows.last; i++)
			add_bytes(source.pixels + i * source.stride + 4 * (ptrdiff_t)first, span_weight(&rows, i),
				  reduction->row, count);
		for (int x = part.left; x < part.right; x++) {
			const uint32_t *sums = reduction->row + 4 * (ptrdiff_t)(columns[x].first - first);
			uint64_t total = (uint64_t)rows.total * columns[x].total;
			uint8_t *pixel = ret + y * ret_stride + 4 * (ptrdiff_t)x;

			if (reduction->den <= DEN_SMALL)
				average_small(&columns[x], sums, total, pixel);
			else
				average_large(&columns[x], sums, total, pixel);
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
