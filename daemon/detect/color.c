// SPDX-License-Identifier: GPL-3.0-or-later
// The color condition: is the mean colour of an area near enough to a colour?
#include <math.h>

#include "daemon/detect/colour.h"
#include "daemon/detect/frame.h"
#include "daemon/detect/memory.h"

static double difference(const int64_t sums[3], int64_t count, uint32_t rgb)
{
	// In integers up to the one division, so that the exact colour has no difference at all.
	int64_t d = 0;

	for (int c = 0; c < 3; c++)
		d += llabs(sums[c] - count * (int64_t)((rgb >> (8 * c)) & 0xff));
	return (double)d / (double)(count * 765);
}

static void compute(struct detect_frame *frame, uint32_t rgb, const struct detect_query *query, struct rect area,
		    struct detect_result *ret)
{
	int width = area.right - area.left, height = area.bottom - area.top;
	int64_t sums[3];
	double diff;

	frame_need(frame, MADE_REDUCED, area, ret);
	colour_sums(frame->pixels.pixels + area.top * frame->pixels.stride + 4 * (ptrdiff_t)area.left,
		    frame->pixels.stride, width, height, NULL, 0, sums);
	diff = difference(sums, (int64_t)width * height, rgb);
	ret->has_score = true;
	ret->score = 1 - diff;
	ret->found = diff * 100 <= query->threshold;
	frame_place(frame, area, ret);
}

void detect_color(struct detect_frame *frame, uint32_t rgb, const struct detect_query *query, struct detect_result *ret)
{
	struct detect_question question = {
		.rgb = rgb,
		.area = query->area,
		.exact = query->exact,
		.best = query->best,
		.threshold = query->threshold,
	};
	struct rect area;

	*ret = (struct detect_result){0};
	frame_check(frame, query);
	if (!frame_has_pixels(frame) || !frame_area(frame, query, &area))
		return;
	ret->evaluable = true;
	if (query->memory && memory_recall(query->memory, frame, &question, area, ret))
		return;
	compute(frame, rgb, query, area, ret);
	if (query->memory)
		memory_keep(query->memory, frame, ret);
}
