// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: what is kept of a frame, and the steps that prepare it. Reduced px are called px here; source px
/// are said so.
#ifndef CONDPROF_DETECT_FRAME_H
#define CONDPROF_DETECT_FRAME_H

#include "daemon/detect/detect.h"
#include "daemon/detect/kernels.h"
#include "daemon/detect/reduce.h"

/// The largest boxes are 1 << BOX_SHIFT_MAX px wide.
#define BOX_SHIFT_MAX 4

/// Rows of positions looked at together at most.
#define MAP_ROWS (2 * SPECTRUM_SIDE)

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

/// Frames are prepared in tiles, each when some condition first looks at it. Boxes do not cross tiles.
#define TILE_WIDTH 32
#define TILE_HEIGHT 16

_Static_assert(TILE_WIDTH % (1 << BOX_SHIFT_MAX) == 0 && TILE_HEIGHT % (1 << BOX_SHIFT_MAX) == 0, "boxes fit tiles");

/// Whose check prepared something of a tile and how long that took; ns 0: nothing, or another one used it already.
struct tile_time {
	uint32_t asker, ns;
};

/// So many checks' preparation can be told to have been used at once; of more, by a later check.
#define SHARED_MAX 64

/// When a tile of source px was compared with the frame's copy, and when it last differed: numbers of frames, 0: never.
struct tile_history {
	uint64_t compared_in, changed_in;
	struct tile_time time; ///< of comparing it in this frame
};

/// For spectrum.h: planes of SPECTRUM_SIDE rows, [0] real, [1] imaginary parts.
struct spectrum_scratch {
	float *turns;
	float *plane[2], *products[2], *patterns[2][2];
	float *norms;
	double length[4]; ///< of the patterns
};

/// What a search writes to.
struct frame_scratch {
	struct column_sums all, some; ///< of a whole row of boxes; of SCAN_BLOCK places
	float *norm[4], *rest[4];     ///< a place each
	uint64_t *bits[4];            ///< survivors, a bit a place, one array after the other
	size_t bits_size;             ///< bytes of one of them
	uint64_t *map;                ///< positions in question: MAP_ROWS of map_words, a bit each
	int map_words;
	uint16_t *rows[2];      ///< of sums
	struct candidate *list; ///< SEARCH_LIST_MAX
	struct spectrum_scratch spectrum;
};

struct detect_frame {
	int source_width, source_height, quality;
	int num, den;               ///< the reduction
	int width, height;          ///< after it
	struct picture_view source; ///< of the current frame
	struct picture_view pixels; ///< the source itself, or the reduced copy once it is ready

	uint8_t *reduced; ///< BGRA; NULL without reduction
	struct reduction reduction;
	struct span *spans; ///< the reduction's columns
	uint8_t *gray;      ///< SCAN_PATTERNS more rows than the frame
	ptrdiff_t gray_stride;
	struct level levels[BOX_SHIFT_MAX + 1]; ///< by shift; [0] is not used: that is gray
	uint64_t *put_out; ///< a bit a position, rows of put_out_stride words; zero between searches
	ptrdiff_t put_out_stride;
	uint8_t *tiles; ///< a set of enum made each, rows of tiles_across
	int tiles_across, tiles_down;
	uint8_t *untold; ///< with a clock: a set of enum made each row of tiles, of which some time may not be told yet
	struct tile_time *times;      ///< with a clock: of every tile, once more for each bit of enum made
	uint8_t *kept;                ///< source pixels of compared tiles, as in the frame of tile_history.compared_in
	struct tile_history *history; ///< rows of source_tiles_across
	bool *compares_untold;        ///< the same as `untold`, a row of source tiles
	int source_tiles_across;
	uint64_t number;     ///< of the current frame, from 1
	uint64_t generation; ///< changes whenever memory was taken anew
	struct frame_scratch scratch;
	void *memory; ///< all of the above

	detect_clock clock;
	uint32_t asker; ///< of the current check
	struct detect_shared shared[SHARED_MAX];
	int n_shared;
};

/// What can be made of a tile.
enum made {
	MADE_REDUCED = 1,
	MADE_GRAY = 2,
	MADE_BOXES = 2, ///< MADE_BOXES << shift, shift 1 to BOX_SHIFT_MAX
};

#define MADE_KINDS (2 + BOX_SHIFT_MAX)

/// A check begins. Before anything else of it.
void frame_check(struct detect_frame *frame, const struct detect_query *query);

/// Tells that the check used something of `count` tiles, whose times are `step` apart. Only with a clock. Returns
/// whether all of it is told now: nothing is left for a later check to tell.
bool frame_share(struct detect_frame *frame, struct tile_time *time, int count, ptrdiff_t step);

/// Notes that something of `count` tiles took `ns`, each the same share of it. The tiles' times are `step` apart.
static inline void frame_took(const struct detect_frame *frame, struct tile_time *time, int count, ptrdiff_t step,
			      int64_t ns)
{
	int64_t share = MIN(ns / count, UINT32_MAX), rest = MIN(ns - share * (count - 1), UINT32_MAX);

	for (int i = 1; i < count; i++)
		time[i * step] = (struct tile_time){frame->asker, (uint32_t)share};
	*time = (struct tile_time){frame->asker, (uint32_t)rest};
}

/// Makes ready what is asked for (a set of enum made) of an area, as far as it is not, and notes in `ret` what was
/// used, what was made now and how long that took. Boxes are those that lie wholly in the frame.
void frame_need(struct detect_frame *frame, unsigned made, struct rect area, struct detect_result *ret);

/// Whether pixels of the reserved size are there.
bool frame_has_pixels(const struct detect_frame *frame);

/// The area of a query in reduced px, grown for an exact search. False: not evaluable.
bool frame_area(const struct detect_frame *frame, const struct detect_query *query, struct rect *ret);

/// Back to source px: round(v / ratio).
int frame_to_source(const struct detect_frame *frame, int v);

/// Fills centre and place of the result from a rectangle in reduced px.
void frame_place(const struct detect_frame *frame, struct rect place, struct detect_result *ret);

#endif
