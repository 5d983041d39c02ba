// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: what is kept of a frame, and the steps that prepare it. Reduced px are called px here; source px
/// are said so.
#ifndef CONDPROF_DETECT_FRAME_H
#define CONDPROF_DETECT_FRAME_H

#include "daemon/detect/detect.h"
#include "daemon/detect/kernels.h"

/// The largest boxes are 1 << BOX_SHIFT_MAX px wide.
#define BOX_SHIFT_MAX 4

/// How many candidates a search keeps at once when colours decide among them.
#define SEARCH_LIST_MAX 4096

struct candidate {
	double score;
	int x, y; ///< left top corner; x -1: none
};

/// The frame in boxes, from its left top corner; those cut off by its right or lower edge are left out.
struct level {
	int width, height; ///< boxes
	ptrdiff_t stride;  ///< elements, of both
	uint8_t *means;    ///< rounded half up
	uint16_t *sums;
};

/// What a search writes to.
struct frame_scratch {
	struct column_sums all, some; ///< of a whole row of boxes; of SCAN_BLOCK places
	float *norm[4], *rest[4];     ///< a place each
	uint64_t *bits[4];            ///< survivors, a bit a place, one array after the other
	size_t bits_size;             ///< bytes of one of them
	uint64_t *map;                ///< positions in question: rows of map_words, a bit each
	int map_words;
	uint16_t *rows[2];      ///< of sums
	struct candidate *list; ///< SEARCH_LIST_MAX
};

struct detect_frame {
	int source_width, source_height, quality;
	int num, den;               ///< the reduction
	int width, height;          ///< after it
	struct picture_view source; ///< of the current frame
	struct picture_view pixels; ///< the source itself, or the reduced copy once it is ready

	uint8_t *reduced;      ///< BGRA; NULL without reduction
	uint64_t *reduced_row; ///< scratch of the reduction
	uint8_t *gray;         ///< SCAN_PATTERNS more rows than the frame
	ptrdiff_t gray_stride;
	struct level levels[BOX_SHIFT_MAX + 1]; ///< by shift; [0] is not used: that is gray
	uint64_t *put_out; ///< a bit a position, rows of put_out_stride words; zero between searches
	ptrdiff_t put_out_stride;
	struct frame_scratch scratch;
	void *memory; ///< all of the above

	uint32_t ready;        ///< 1 << detect_part
	uint32_t levels_ready; ///< 1 << shift
	detect_clock clock;
};

/// Makes the part ready and notes in `ret` that it was used and, when it was made now, how long that took.
void frame_need(struct detect_frame *frame, enum detect_part part, struct detect_result *ret);

/// The same for boxes of 1 << shift px, 1 to BOX_SHIFT_MAX.
void frame_need_boxes(struct detect_frame *frame, int shift, struct detect_result *ret);

/// The area of a query in reduced px, grown for an exact search. False: not evaluable.
bool frame_area(const struct detect_frame *frame, const struct detect_query *query, struct rect *ret);

/// Back to source px: round(v / ratio).
int frame_to_source(const struct detect_frame *frame, int v);

/// Fills centre and place of the result from a rectangle in reduced px.
void frame_place(const struct detect_frame *frame, struct rect place, struct detect_result *ret);

#endif
