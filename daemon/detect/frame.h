// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: what is kept of a frame, and the steps that prepare it. Reduced px are called px here; source px
/// are said so.
#ifndef CONDPROF_DETECT_FRAME_H
#define CONDPROF_DETECT_FRAME_H

#include "daemon/detect/detect.h"

/// Planes of bytes may be read this far beyond their last pixel of a row: vector loads need no care at the right edge.
#define PLANE_PADDING 64

struct detect_frame {
	int source_width, source_height, quality;
	int num, den;               ///< the reduction
	int width, height;          ///< after it
	struct picture_view source; ///< of the current frame
	struct picture_view pixels; ///< the source itself, or the reduced copy once it is ready

	uint8_t *reduced;      ///< BGRA; NULL without reduction
	uint64_t *reduced_row; ///< scratch of the reduction
	uint8_t *gray;
	ptrdiff_t gray_stride;
	uint64_t *put_out; ///< a bit a position, rows of put_out_stride words; zero between searches
	ptrdiff_t put_out_stride;

	uint32_t ready; ///< 1 << detect_part
	detect_clock clock;
};

/// Makes the part ready and notes in `ret` that it was used and, when it was made now, how long that took.
void frame_need(struct detect_frame *frame, enum detect_part part, struct detect_result *ret);

/// The area of a query in reduced px, grown for an exact search. False: not evaluable.
bool frame_area(const struct detect_frame *frame, const struct detect_query *query, struct rect *ret);

/// Back to source px: round(v / ratio).
int frame_to_source(const struct detect_frame *frame, int v);

/// Fills centre and place of the result from a rectangle in reduced px.
void frame_place(const struct detect_frame *frame, struct rect place, struct detect_result *ret);

/// 8-bit gray of a row of BGRA pixels; alpha is ignored.
void gray_row(const uint8_t *bgra, uint8_t *ret_gray, int width);

#endif
