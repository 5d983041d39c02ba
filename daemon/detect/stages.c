// SPDX-License-Identifier: GPL-3.0-or-later
// Ruling out positions, a row of boxes at a time: see stages.h for what, pattern.h for why.
#include "daemon/detect/stages.h"

#include <string.h>

// More than floats are off by in the scan kernels.
#define FLOAT_SLACK 1e-5

// stage.next when the running sums stand for no row.
#define NOWHERE (-2)

static struct boxes boxes_of(const struct detect_frame *frame, int shift)
{
	const struct level *level = &frame->levels[shift];

	return shift ? (struct boxes){level->means, level->sums, level->stride}
		     : (struct boxes){frame->gray, NULL, frame->gray_stride};
}

// The first place of a row, moved to the left as far as makes it begin a word of the map.
static int first_place(const struct search *search, int shift)
{
	return (search->positions.left >> shift) & ~((SCAN_BLOCK >> shift) - 1);
}

struct stage stage_make(const struct search *search, const struct pattern_set *set, const struct column_sums *columns)
{
	return (struct stage){
		.set = set,
		.boxes = boxes_of(search->frame, set->shift),
		.columns = columns,
		.next = NOWHERE,
	};
}

double stage_cost(const struct pattern_set *set, int places)
{
	double vectors = (places + 15) / 16, lanes = set->shift ? 1 : SCAN_PATTERNS;
	double group = (double)set->scan_rows * set->quads * SCAN_PATTERNS * vectors + 400;

	return set->groups * group + lanes * 8 * (places + set->columns) + 400;
}

int stage_rows(const struct stage *stage)
{
	return stage->set->shift ? 1 << stage->set->shift : SCAN_PATTERNS;
}

static ptrdiff_t box_at(const struct stage *stage, int row)
{
	const struct pattern_set *set = stage->set;

	return (row + set->first + set->row) * stage->boxes.stride + stage->left + set->first + set->column;
}

static void add_boxes(const struct search *search, const struct stage *stage, int row, int sign)
{
	ptrdiff_t at = box_at(stage, row);

	search->kernels->add_boxes(stage->boxes.means + at, stage->boxes.sums ? stage->boxes.sums + at : NULL,
				   2 * stage->set->shift, stage->count + stage->set->columns - 1, sign, stage->columns);
}

void stage_begin_at(struct stage *stage, int left, int count)
{
	stage->left = left;
	stage->count = count;
	stage->next = NOWHERE;
}

void stage_norms(const struct search *search, struct stage *stage, int row, float *ret_norm, float *ret_rest)
{
	const struct pattern_set *set = stage->set;
	size_t size = (size_t)(stage->count + set->columns - 1) * sizeof(int64_t);

	if (row == stage->next) {
		add_boxes(search, stage, row + set->rows - 1, 1);
		add_boxes(search, stage, row - 1, -1);
	} else if (row != stage->next - 1) {
		memset(stage->columns->sum, 0, size);
		memset(stage->columns->squares, 0, size);
		if (stage->boxes.sums)
			memset(stage->columns->rests, 0, size);
		for (int j = 0; j < set->rows; j++)
			add_boxes(search, stage, row + j, 1);
	}
	stage->next = row + 1;
	if (!stage->boxes.sums && ret_rest) {
		memset(ret_rest, 0, (size_t)(stage->count + SCAN_BLOCK) * sizeof(*ret_rest));
		ret_rest = NULL;
	}
	search->kernels->norms(stage->columns, set->columns, set->rows, stage->count, ret_norm, ret_rest);
}

// What the patterns of a group ask for at the bar as it is now. False: nothing can be ruled out in one of them.
static bool set_bars(const struct search *search, const struct pattern_set *set, int group, struct scan *scan)
{
	for (int p = 0; p < SCAN_PATTERNS; p++) {
		const struct pattern *pattern = &set->patterns[set->shift ? group * SCAN_PATTERNS + p : 0];
		double cosine = pattern_cosine(pattern, search->bar);

		scan->rest_scale[p] = (float)(pattern->rounded * (1 + FLOAT_SLACK));
		scan->norm_scale[p] = (float)((cosine * pattern->length - pattern->error) * (1 - FLOAT_SLACK));
		if (cosine <= 0 || scan->norm_scale[p] <= 0)
			return false;
	}
	return true;
}

// The scan of a stage at box row `row`, but for the group: with norms and places.
static struct scan prepare_scan(const struct search *search, struct stage *stage, int row)
{
	const struct pattern_set *set = stage->set;
	const struct frame_scratch *scratch = &search->frame->scratch;
	int last = (search->positions.bottom - 1) >> set->shift;
	struct scan scan = {
		.means = stage->boxes.means + box_at(stage, row),
		.stride = stage->boxes.stride,
		.rows = set->scan_rows,
		.quads = set->quads,
		.count = stage->count,
		.unit = (float)(1 << 2 * set->shift),
	};

	for (int p = 0; p < SCAN_PATTERNS; p++) {
		int norms = set->shift ? 0 : p; // side 1: the patterns stand for four rows of positions
		scan.norm[p] = scratch->norm[norms];
		scan.rest[p] = scratch->rest[norms];
		scan.survivors[p] = scratch->bits[p];
		if (norms == p && row + norms <= last)
			stage_norms(search, stage, row + norms, scratch->norm[norms], scratch->rest[norms]);
	}
	return scan;
}

static const int8_t *weights_of(const struct pattern_set *set, int group)
{
	return set->weights + (size_t)group * (size_t)set->scan_rows * (size_t)set->quads * (size_t)(4 * SCAN_PATTERNS);
}

// Moves bit i to bit 2i; the upper half is lost.
static uint64_t spread(uint64_t bits)
{
	bits &= 0xffffffff;
	bits = (bits | bits << 16) & UINT64_C(0x0000ffff0000ffff);
	bits = (bits | bits << 8) & UINT64_C(0x00ff00ff00ff00ff);
	bits = (bits | bits << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	bits = (bits | bits << 2) & UINT64_C(0x3333333333333333);
	return (bits | bits << 1) & UINT64_C(0x5555555555555555);
}

static uint64_t *map_row(const struct map *map, int y)
{
	return map->bits + (size_t)(y - map->top) * (size_t)map->words;
}

// Enters the survivors of the places from `left` into a row: place X is position X * side + phase.
static void enter(uint64_t *row, const uint64_t *bits, int left, int count, int shift, int phase)
{
	for (int word = 0; word * 64 < count; word++) {
		size_t at = ((size_t)left + (size_t)word * 64) << shift;
		uint64_t *to = row + at / 64;
		for (int piece = 0; bits[word] && piece < 1 << shift; piece++) {
			uint64_t wide = bits[word] >> (piece * (64 >> shift));
			for (int i = 0; i < shift; i++)
				wide = spread(wide);
			wide <<= phase;
			to[piece] |= wide << at % 64;
			if (at % 64)
				to[piece + 1] |= wide >> (64 - at % 64);
		}
	}
}

void stage_enter(const struct map *map, int y, const uint64_t *bits, int left, int count, int shift, int phase)
{
	enter(map_row(map, y), bits, left, count, shift, phase);
}

void stage_trim(const struct search *search, const struct map *map)
{
	int left = search->positions.left, right = search->positions.right;

	for (int j = 0; j < map->rows; j++) {
		uint64_t *row = map->bits + (size_t)j * (size_t)map->words;
		row[left / 64] &= ~UINT64_C(0) << (left % 64);
		row[right / 64] &= ~(~UINT64_C(0) << (right % 64));
		for (int word = right / 64 + 1; word < map->words; word++)
			row[word] = 0;
	}
}

bool stage_first(struct search *search, struct stage *stage, const struct map *map)
{
	const struct pattern_set *set = stage->set;
	int side = 1 << set->shift, row = map->top >> set->shift;
	bool any = false;
	struct scan scan;

	stage->left = first_place(search, set->shift);
	stage->count = ((search->positions.right - 1) >> set->shift) - stage->left + 1;
	scan = prepare_scan(search, stage, row);
	search->work += stage_cost(set, stage->count);
	memset(map->bits, 0, (size_t)map->rows * (size_t)map->words * sizeof(*map->bits));
	for (int group = 0; group < set->groups; group++) {
		scan.weights = weights_of(set, group);
		if (!set_bars(search, set, group, &scan))
			memset(scan.survivors[0], 0xff, search->frame->scratch.bits_size * SCAN_PATTERNS);
		else if (!search->kernels->scan(&scan))
			continue;
		any = true;
		for (int p = 0; p < SCAN_PATTERNS; p++) {
			int phase = group * SCAN_PATTERNS + p, y = set->shift ? row * side + phase / side : row + p;
			if (y >= search->positions.top && y < search->positions.bottom)
				enter(map_row(map, y), scan.survivors[p], stage->left, stage->count, set->shift,
				      set->shift ? phase % side : 0);
		}
	}
	stage_trim(search, map);
	return any;
}

// ---- later stages: only where enough is left ---------------------------------------------------------------------

// Rows of positions a group of patterns stands for, from the first row of its box row.
static void group_rows(const struct pattern_set *set, int group, int *ret_first, int *ret_count)
{
	int side = 1 << set->shift;

	*ret_first = group * SCAN_PATTERNS / side;
	*ret_count = side < SCAN_PATTERNS ? SCAN_PATTERNS / side : 1;
}

// Bits of a row of the map that are a phase of this group: four beside each other, or all.
static uint64_t group_mask(const struct pattern_set *set, int group)
{
	uint64_t bits = set->shift > 2 ? 0xf : ~UINT64_C(0);

	for (int width = 1 << set->shift; width > 4 && width < 64; width *= 2)
		bits |= bits << width;
	return set->shift > 2 ? bits << group * SCAN_PATTERNS % (1 << set->shift) : bits;
}

static int count_bits(const struct map *map, int y, int rows, int word, int words, uint64_t mask)
{
	int n = 0;

	for (int j = 0; j < rows; j++)
		for (int i = 0; i < words; i++)
			n += __builtin_popcountll(map_row(map, y + j)[word + i] & mask);
	return n;
}

static void keep_survivors(const struct pattern_set *set, const struct scan *scan, int group, int row, int word,
			   const struct map *map)
{
	int side = 1 << set->shift, first, rows;
	uint64_t others = ~group_mask(set, group);

	group_rows(set, group, &first, &rows);
	for (int j = 0; j < rows; j++) {
		uint64_t kept[1 << BOX_SHIFT_MAX] = {0};
		uint64_t *to = map_row(map, row * side + first + j) + word;

		for (int p = 0; p < SCAN_PATTERNS; p++) {
			int phase = group * SCAN_PATTERNS + p;
			if (phase / side == first + j)
				enter(kept, scan->survivors[p], 0, SCAN_BLOCK, set->shift, phase % side);
		}
		for (int i = 0; i < side; i++)
			to[i] &= kept[i] | others;
	}
}

static void narrow_block(struct search *search, struct stage *stage, int row, const struct map *map)
{
	const struct pattern_set *set = stage->set;
	int side = 1 << set->shift, word = stage->left * side / 64, first, rows;
	int worth = MAX(set->worth * stage->count / SCAN_BLOCK, 2);
	struct scan scan;
	bool prepared = false;

	for (int group = 0; group < set->groups; group++) {
		group_rows(set, group, &first, &rows);
		if (count_bits(map, row * side + first, rows, word, side, group_mask(set, group)) < worth)
			continue;
		if (!prepared) {
			stage->next = NOWHERE;
			scan = prepare_scan(search, stage, row);
			prepared = true;
			search->work += set->rows * (SCAN_BLOCK + set->columns) / 4;
		}
		search->work += (double)set->scan_rows * set->quads * SCAN_PATTERNS * (SCAN_BLOCK / 16);
		scan.weights = weights_of(set, group);
		if (!set_bars(search, set, group, &scan))
			continue;
		search->kernels->scan(&scan);
		keep_survivors(set, &scan, group, row, word, map);
	}
}

void stage_narrow(struct search *search, struct stage *stage, const struct map *map)
{
	int shift = stage->set->shift, last = (search->positions.right - 1) >> shift;

	for (int row = map->top >> shift; row << shift < map->top + map->rows; row++) {
		if (row << shift >= search->positions.bottom || search_stop_asked(search))
			return;
		for (int left = first_place(search, shift); left <= last; left += SCAN_BLOCK) {
			stage->left = left;
			stage->count = MIN(SCAN_BLOCK, last - left + 1);
			narrow_block(search, stage, row, map);
		}
	}
}
