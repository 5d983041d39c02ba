// SPDX-License-Identifier: GPL-3.0-or-later
// Reusing results while pixels stay: see memory.h.
#include "daemon/detect/memory.h"

#include "daemon/detect/stopwatch.h"

#include <errno.h>
#include <string.h>

/// Fewer tiles than this in an area are not worth the frame's copy.
#define TILES_WORTH 16

struct detect_memory {
	struct detect_question question;
	struct rect place;     ///< source px compared
	struct rect tiles;     ///< those of them that are whole tiles, empty: none; or all tiles around them
	uint64_t reserved_for; ///< frame->generation that `edges` was taken for
	uint8_t *edges;        ///< own copy of the rest of the place; NULL: the tiles cover all of it
	uint64_t kept_in;      ///< number of the frame the result is of; 0: none
	struct detect_result result;
	bool has_hint;
	int hint_x, hint_y;
};

int detect_memory_new(struct detect_memory **ret)
{
	struct detect_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	*ret = memory;
	return 0;
}

struct detect_memory *detect_memory_free(struct detect_memory *memory)
{
	if (memory)
		free(memory->edges);
	free(memory);
	return NULL;
}

void detect_memory_forget(struct detect_memory *memory)
{
	memory->kept_in = 0;
	memory->has_hint = false;
}

static int round_up(int v, int to)
{
	return (v + to - 1) / to * to;
}

// The whole tiles of a place. Tiles cut off by the frame's right or lower edge are whole there.
static struct rect whole_tiles(const struct detect_frame *frame, const struct rect *place)
{
	struct rect t = {
		round_up(place->left, TILE_WIDTH),
		round_up(place->top, TILE_HEIGHT),
		place->right == frame->source_width ? place->right : place->right / TILE_WIDTH * TILE_WIDTH,
		place->bottom == frame->source_height ? place->bottom : place->bottom / TILE_HEIGHT * TILE_HEIGHT,
	};

	if (t.left >= t.right || t.top >= t.bottom ||
	    (int64_t)(t.right - t.left) * (t.bottom - t.top) < TILES_WORTH * TILE_WIDTH * TILE_HEIGHT)
		return (struct rect){0};
	return t;
}

// The tiles a place has a part in.
static struct rect covering_tiles(const struct detect_frame *frame, const struct rect *place)
{
	return (struct rect){
		place->left / TILE_WIDTH * TILE_WIDTH,
		place->top / TILE_HEIGHT * TILE_HEIGHT,
		MIN(round_up(place->right, TILE_WIDTH), frame->source_width),
		MIN(round_up(place->bottom, TILE_HEIGHT), frame->source_height),
	};
}

// The parts of the place outside its whole tiles. @return how many, up to 4
static int edges_of(const struct rect *place, const struct rect *tiles, struct rect ret[4])
{
	int n = 0;

	if (tiles->left == tiles->right) {
		ret[0] = *place;
		return 1;
	}
	if (place->top < tiles->top)
		ret[n++] = (struct rect){place->left, place->top, place->right, tiles->top};
	if (tiles->bottom < place->bottom)
		ret[n++] = (struct rect){place->left, tiles->bottom, place->right, place->bottom};
	if (place->left < tiles->left)
		ret[n++] = (struct rect){place->left, tiles->top, tiles->left, tiles->bottom};
	if (tiles->right < place->right)
		ret[n++] = (struct rect){tiles->right, tiles->top, place->right, tiles->bottom};
	return n;
}

// Source px that a part of the reduced frame is made of.
static struct rect to_source(const struct detect_frame *frame, struct rect part)
{
	int num = frame->num, den = frame->den;

	return (struct rect){
		(int)((int64_t)part.left * den / num),
		(int)((int64_t)part.top * den / num),
		(int)MIN(((int64_t)part.right * den + num - 1) / num, frame->source_width),
		(int)MIN(((int64_t)part.bottom * den + num - 1) / num, frame->source_height),
	};
}

static bool same_rect(const struct rect *a, const struct rect *b)
{
	return a->left == b->left && a->top == b->top && a->right == b->right && a->bottom == b->bottom;
}

static size_t bytes_of_edges(const struct rect *place, const struct rect *tiles)
{
	struct rect edges[4];
	size_t size = 0;

	for (int i = edges_of(place, tiles, edges); i > 0; i--)
		size += 4 * (size_t)(edges[i - 1].right - edges[i - 1].left) *
			(size_t)(edges[i - 1].bottom - edges[i - 1].top);
	return size;
}

// A copy of the edges. False: there is no room for one.
static bool take_edges(struct detect_memory *memory, size_t size, size_t budget)
{
	uint8_t *copy = size <= budget ? realloc(memory->edges, MAX(size, 1)) : NULL;

	if (!copy) {
		free(memory->edges);
		memory->edges = NULL;
		return false;
	}
	memory->edges = copy;
	return true;
}

void detect_memory_reserve(struct detect_memory *memory, const struct detect_frame *frame, struct rect area, bool exact,
			   size_t *budget)
{
	struct detect_query query = {.area = area, .exact = exact};
	struct rect place;
	size_t size;

	detect_memory_forget(memory);
	memory->reserved_for = 0;
	if (!frame_area(frame, &query, &place))
		return; // never evaluable: nothing to remember
	place = to_source(frame, place);
	memory->place = place;
	memory->tiles = whole_tiles(frame, &place);
	size = bytes_of_edges(&place, &memory->tiles);
	if (take_edges(memory, size, budget ? *budget : SIZE_MAX)) {
		if (budget)
			*budget -= size;
	} else {
		memory->tiles = covering_tiles(frame, &place);
	}
	memory->reserved_for = frame->generation;
}

// ---- comparing ----------------------------------------------------------------------------------------------------

static size_t row_bytes(const struct rect *rect)
{
	return 4 * (size_t)(rect->right - rect->left);
}

static const uint8_t *source_at(const struct detect_frame *frame, int x, int y)
{
	return frame->source.pixels + y * frame->source.stride + 4 * (ptrdiff_t)x;
}

static uint8_t *kept_at(const struct detect_frame *frame, int x, int y)
{
	return frame->kept + (size_t)y * 4 * (size_t)frame->source_width + 4 * (size_t)x;
}

static bool same_pixels(const struct detect_frame *frame, const struct rect *part)
{
	for (int y = part->top; y < part->bottom; y++)
		if (memcmp(source_at(frame, part->left, y), kept_at(frame, part->left, y), row_bytes(part)))
			return false;
	return true;
}

// Compares tiles of one row of tiles that were not yet in this frame, and takes over those that differ.
static void compare_tiles(struct detect_frame *frame, int row, int first, int end)
{
	struct tile_history *tiles = frame->history + (ptrdiff_t)row * frame->source_tiles_across;
	struct rect part = {first * TILE_WIDTH, row * TILE_HEIGHT, MIN(end * TILE_WIDTH, frame->source_width),
			    MIN((row + 1) * TILE_HEIGHT, frame->source_height)};
	bool all_known = true, same;

	for (int i = first; i < end; i++)
		all_known = all_known && tiles[i].compared_in;
	same = all_known && same_pixels(frame, &part);
	for (int i = first; i < end; i++) {
		part.left = i * TILE_WIDTH;
		part.right = MIN(part.left + TILE_WIDTH, frame->source_width);
		if (!same && !(tiles[i].compared_in && same_pixels(frame, &part))) {
			for (int y = part.top; y < part.bottom; y++)
				memcpy(kept_at(frame, part.left, y), source_at(frame, part.left, y), row_bytes(&part));
			tiles[i].changed_in = frame->number;
		}
		tiles[i].compared_in = frame->number;
	}
}

#define HISTORY_STEP (sizeof(struct tile_history) / sizeof(struct tile_time))

static void compare_run(struct detect_frame *frame, int row, int first, int end, struct stopwatch *watch,
			struct detect_result *ret)
{
	struct tile_history *tiles = frame->history + (ptrdiff_t)row * frame->source_tiles_across;
	int64_t ns;

	stopwatch_start(watch);
	compare_tiles(frame, row, first, end);
	ret->prepared |= 1U << DETECT_CHANGES;
	if (!watch->clock)
		return;
	ns = stopwatch_lap(watch);
	ret->prepared_ns[DETECT_CHANGES] += ns;
	frame_took(frame, &tiles[first].time, end - first, HISTORY_STEP, ns);
	frame->compares_untold[row] = true;
}

// Tiles from `first` up to `end` that an earlier check compared: it is told, unless that is known to be done.
static void use_compared(struct detect_frame *frame, int row, int first, int end)
{
	struct tile_history *tiles = frame->history + (ptrdiff_t)row * frame->source_tiles_across;

	if (first == end || !frame->clock || !frame->compares_untold[row])
		return;
	if (frame_share(frame, &tiles[first].time, end - first, HISTORY_STEP) &&
	    end - first == frame->source_tiles_across)
		frame->compares_untold[row] = false;
}

// Whether no pixel of whole tiles changed since frame `since`. Compares all of them, whatever it finds: after this the
// frame's copy stands for the current frame there.
static bool tiles_unchanged(struct detect_frame *frame, const struct rect *place, uint64_t since,
			    struct detect_result *ret)
{
	int first = place->left / TILE_WIDTH, end = round_up(place->right, TILE_WIDTH) / TILE_WIDTH;
	struct stopwatch watch = {.clock = frame->clock};
	bool unchanged = true;

	for (int row = place->top / TILE_HEIGHT; row * TILE_HEIGHT < place->bottom; row++) {
		struct tile_history *tiles = frame->history + (ptrdiff_t)row * frame->source_tiles_across;

		for (int i = first; i < end;) {
			int from = i;
			while (i < end && tiles[i].compared_in == frame->number)
				i++;
			use_compared(frame, row, from, i);
			from = i;
			while (i < end && tiles[i].compared_in != frame->number)
				i++;
			if (i > from)
				compare_run(frame, row, from, i, &watch, ret);
		}
		for (int i = first; i < end; i++)
			unchanged = unchanged && tiles[i].changed_in <= since;
	}
	return unchanged;
}

static bool edges_unchanged(const struct detect_memory *memory, const struct detect_frame *frame)
{
	const uint8_t *copy = memory->edges;
	struct rect edges[4];
	int n = edges_of(&memory->place, &memory->tiles, edges);

	for (int i = 0; i < n; i++) {
		for (int y = edges[i].top; y < edges[i].bottom; y++, copy += row_bytes(&edges[i]))
			if (memcmp(copy, source_at(frame, edges[i].left, y), row_bytes(&edges[i])))
				return false;
	}
	return true;
}

static void copy_edges(struct detect_memory *memory, const struct detect_frame *frame)
{
	uint8_t *copy = memory->edges;
	struct rect edges[4];
	int n = edges_of(&memory->place, &memory->tiles, edges);

	for (int i = 0; i < n; i++)
		for (int y = edges[i].top; y < edges[i].bottom; y++, copy += row_bytes(&edges[i]))
			memcpy(copy, source_at(frame, edges[i].left, y), row_bytes(&edges[i]));
}

static bool unchanged(const struct detect_memory *memory, struct detect_frame *frame, struct detect_result *ret)
{
	bool same = true;

	if (memory->tiles.left != memory->tiles.right) {
		same = tiles_unchanged(frame, &memory->tiles, memory->kept_in, ret);
		ret->used |= 1U << DETECT_CHANGES;
		ret->shared = frame->shared;
		ret->n_shared = frame->n_shared;
	}
	return same && memory->kept_in && edges_unchanged(memory, frame);
}

// ---- a check ------------------------------------------------------------------------------------------------------

static bool same_question(const struct detect_question *a, const struct detect_question *b)
{
	return a->template_ == b->template_ && a->rgb == b->rgb && a->wanted == b->wanted && a->format == b->format &&
	       a->exact == b->exact && a->best == b->best && a->threshold == b->threshold &&
	       same_rect(&a->area, &b->area);
}

bool memory_recall(struct detect_memory *memory, struct detect_frame *frame, const struct detect_question *question,
		   struct rect place, struct detect_result *ret)
{
	struct detect_result compared = {.evaluable = true};
	struct rect source = to_source(frame, place);

	*ret = compared;
	if (memory->reserved_for != frame->generation || !same_rect(&source, &memory->place)) {
		detect_memory_forget(memory);
		return false;
	}
	if (!same_question(&memory->question, question))
		detect_memory_forget(memory);
	memory->question = *question;
	if (!unchanged(memory, frame, &compared)) {
		*ret = compared;
		return false;
	}
	*ret = memory->result;
	ret->reused = true;
	ret->used = compared.used;
	ret->prepared = compared.prepared;
	memcpy(ret->prepared_ns, compared.prepared_ns, sizeof(ret->prepared_ns));
	ret->shared = compared.shared;
	ret->n_shared = compared.n_shared;
	return true;
}

void memory_keep(struct detect_memory *memory, struct detect_frame *frame, const struct detect_result *result)
{
	if (memory->reserved_for != frame->generation)
		return;
	if (result->stopped) {
		memory->kept_in = 0;
		return;
	}
	memory->result = *result;
	memory->kept_in = frame->number;
	copy_edges(memory, frame);
}

bool memory_hint(const struct detect_memory *memory, const struct detect_frame *frame, int *ret_x, int *ret_y)
{
	if (!memory->has_hint || memory->reserved_for != frame->generation)
		return false;
	*ret_x = memory->hint_x;
	*ret_y = memory->hint_y;
	return true;
}

void memory_set_hint(struct detect_memory *memory, int x, int y)
{
	memory->has_hint = true;
	memory->hint_x = x;
	memory->hint_y = y;
}
