// SPDX-License-Identifier: GPL-3.0-or-later
// Finding positions by score: first the cheap bounds of pattern.h over rows of positions at once, then exact sums for
// what survives, given up as soon as the rest of a window cannot help it. See docs/DETECTION.md.
#include "daemon/detect/search.h"

#include <math.h>
#include <string.h>

#include "daemon/detect/kernels.h"

bool candidate_before(const struct candidate *a, const struct candidate *b)
{
	if (a->score != b->score)
		return a->score > b->score;
	return a->y != b->y ? a->y < b->y : a->x < b->x;
}

// More than floats are off by in the scan kernels.
#define FLOAT_SLACK 1e-5

// ---- what was found so far ----------------------------------------------------------------------------------------

static void swap(struct candidate *a, struct candidate *b)
{
	struct candidate keep = *a;

	*a = *b;
	*b = keep;
}

// Restores the heap (the worst on top) from `at` downwards.
static void sift_down(struct candidate *heap, size_t count, size_t at)
{
	for (;;) {
		size_t worst = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
			if (candidate_before(&heap[worst], &heap[child]))
				worst = child;
		if (worst == at)
			return;
		swap(&heap[at], &heap[worst]);
		at = worst;
	}
}

static void sift_up(struct candidate *heap, size_t at)
{
	for (; at && candidate_before(&heap[(at - 1) / 2], &heap[at]); at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
}

static void keep(struct search *search, const struct candidate *candidate)
{
	if (!search->list) {
		if (search->best.x < 0 || candidate_before(candidate, &search->best)) {
			search->best = *candidate;
			search->bar = candidate->score;
		}
		return;
	}
	if (search->listed < SEARCH_LIST_MAX) {
		search->list[search->listed] = *candidate;
		sift_up(search->list, search->listed++);
	} else if (candidate_before(candidate, &search->list[0])) {
		search->list[0] = *candidate;
		sift_down(search->list, search->listed, 0);
	}
	if (search->listed == SEARCH_LIST_MAX)
		search->bar = search->list[0].score;
}

// ---- one position -------------------------------------------------------------------------------------------------

static bool is_put_out(const struct search *search, int x, int y)
{
	const struct detect_frame *frame = search->frame;

	return search->any_put_out && (frame->put_out[y * frame->put_out_stride + x / 64] >> (x % 64)) & 1;
}

// What a checkpoint asks of its rows' cosine, squared, at a bar; 0: nothing can be ruled out there.
static double checkpoint_asks(const struct checkpoint *at, double bar)
{
	double wanted = bar > 0 ? (bar * bar - (1 - at->share)) / at->share - BOUND_SLACK : 0;

	return wanted > 0 ? wanted : 0;
}

// Whether a window whose first rows gave `sums` can still reach the bar: the bound of pattern.h, with rows for boxes.
static bool can_reach(const struct checkpoint *at, const struct window_sums *sums, double asked)
{
	double c = score_covariance(&at->part, sums);

	return c > 0 && c * c >= asked * at->variance * score_variance(&at->part, sums);
}

static void look_at(struct search *search, int x, int y)
{
	const struct detect_template *t = search->template_;
	const uint8_t *window = search->frame->gray + y * search->frame->gray_stride + x;
	struct window_sums sums = {0};
	struct candidate candidate = {.x = x, .y = y};
	int row = 0;

	if (is_put_out(search, x, y) || (!search->list && x == search->best.x && y == search->best.y))
		return;
	for (int i = 0; i <= t->n_checkpoints; i++) {
		const struct checkpoint *at = i < t->n_checkpoints ? &t->checkpoints[i] : NULL;
		double asked = at ? checkpoint_asks(at, search->bar) : 0;
		int end = at ? at->rows : t->height;
		if (at && asked <= 0)
			continue;
		search->kernels->window(window + row * search->frame->gray_stride, search->frame->gray_stride,
					t->gray + row * t->stride, t->mask ? t->mask + row * t->stride : NULL,
					t->stride, t->width, end - row, &sums);
		row = end;
		if (at && !can_reach(at, &sums, asked))
			return;
	}
	candidate.score = score_of(&t->whole, &sums);
	if (candidate.score >= search->bar)
		keep(search, &candidate);
}

// From a new best position to the top of the hill it stands on: scores of near positions are alike, and the sooner the
// highest is known, the more of the others is ruled out. Strides grow as long as it goes up.
static void climb(struct search *search)
{
	static const int directions[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
	const struct rect *p = &search->positions;
	int direction = 0, stride = 1, failed = 0;

	while (failed < 4) {
		struct candidate from = search->best;
		int x = from.x + stride * directions[direction][0], y = from.y + stride * directions[direction][1];
		if (x >= p->left && x < p->right && y >= p->top && y < p->bottom)
			look_at(search, x, y);
		if (search->best.score > from.score) {
			failed = 0;
			stride *= 2;
		} else if (stride > 1) {
			stride = 1;
		} else {
			failed++;
			direction = (direction + 1) % 4;
		}
	}
}

static void look_and_climb(struct search *search, int x, int y)
{
	double before = search->best.score;

	look_at(search, x, y);
	if (!search->list && search->best.x >= 0 && search->best.score > before)
		climb(search);
}

bool search_stop_asked(const struct search *search)
{
	return search->query->stop && __atomic_load_n(search->query->stop, __ATOMIC_RELAXED);
}

#define ROWS_BETWEEN_STOPS 4

static bool look_everywhere(struct search *search)
{
	const struct rect *p = &search->positions;

	for (int y = p->top; y < p->bottom; y++) {
		if ((y - p->top) % ROWS_BETWEEN_STOPS == 0 && search_stop_asked(search))
			return false;
		for (int x = p->left; x < p->right; x++)
			look_at(search, x, y);
	}
	return true;
}

// ---- many positions at once -----------------------------------------------------------------------------------------

// Positions are looked at in strips: the rows of one row of the coarsest boxes used. Which of them are still in
// question is a map of bits, a row of words each, bit x the position x of the frame.

/// The boxes of one size.
struct boxes {
	const uint8_t *means;
	const uint16_t *sums; ///< NULL: means are sums (side 1)
	ptrdiff_t stride;     ///< elements, of both
};

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

/// One kind of bound applied to some places (box columns) of one row of boxes.
struct stage {
	const struct pattern_set *set;
	struct boxes boxes;
	int left, count;                   ///< places
	const struct column_sums *columns; ///< running sums over the pattern's rows
	int next;                          ///< the box row after the one the running sums stand for
};

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

// Norms of the places of box row `row`.
static void fill_norms(const struct search *search, struct stage *stage, int row, float *ret_norm, float *ret_rest)
{
	const struct pattern_set *set = stage->set;
	size_t size = (size_t)(stage->count + set->columns - 1) * sizeof(double);

	if (row == stage->next) {
		add_boxes(search, stage, row + set->rows - 1, 1);
		add_boxes(search, stage, row - 1, -1);
	} else if (row != stage->next - 1) {
		memset(stage->columns->sum, 0, size);
		memset(stage->columns->squares, 0, size);
		memset(stage->columns->rests, 0, size);
		for (int j = 0; j < set->rows; j++)
			add_boxes(search, stage, row + j, 1);
	}
	stage->next = row + 1;
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
			fill_norms(search, stage, row + norms, scratch->norm[norms], scratch->rest[norms]);
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

/// Rows of the map: [side of the largest boxes][map_words].
struct map {
	uint64_t *bits;
	int words, top; ///< top: the position row of the first
};

static uint64_t *map_row(const struct map *map, int y)
{
	return map->bits + (size_t)(y - map->top) * (size_t)map->words;
}

// Enters the survivors of the places from `left` (a multiple of 64 px) into a row: place X is position X * side +
// phase.
static void enter(uint64_t *row, const uint64_t *bits, int left, int count, int shift, int phase)
{
	for (int word = 0; word * 64 < count; word++) {
		uint64_t *to = row + (((size_t)left + (size_t)word * 64) << shift) / 64;
		for (int piece = 0; bits[word] && piece < 1 << shift; piece++) {
			uint64_t spreaded = bits[word] >> (piece * (64 >> shift));
			for (int i = 0; i < shift; i++)
				spreaded = spread(spreaded);
			to[piece] |= spreaded << phase;
		}
	}
}

// The first stage: all places of a row of boxes, into an empty map.
static bool scan_strip(struct search *search, struct stage *stage, int row, const struct map *map)
{
	const struct pattern_set *set = stage->set;
	struct scan scan = prepare_scan(search, stage, row);
	int side = 1 << set->shift;
	bool any = false;

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
	return any;
}

// Leaves only bits of positions in the map's rows.
static void trim(const struct search *search, const struct map *map, int rows)
{
	int left = search->positions.left, right = search->positions.right;

	for (int j = 0; j < rows; j++) {
		uint64_t *row = map->bits + (size_t)j * (size_t)map->words;
		row[left / 64] &= ~UINT64_C(0) << (left % 64);
		row[right / 64] &= ~(~UINT64_C(0) << (right % 64));
		for (int word = right / 64 + 1; word < map->words; word++)
			row[word] = 0;
	}
}

static void look_at_map(struct search *search, const struct map *map, int rows)
{
	for (int j = 0; j < rows; j++) {
		const uint64_t *row = map->bits + (size_t)j * (size_t)map->words;
		for (int word = search->positions.left / 64; word * 64 < search->positions.right; word++)
			for (uint64_t left = row[word]; left; left &= left - 1)
				look_and_climb(search, word * 64 + __builtin_ctzll(left), map->top + j);
	}
}

// ---- later stages: only where enough is left
// --------------------------------------------------------------------------

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
	struct scan scan;
	bool prepared = false;

	for (int group = 0; group < set->groups; group++) {
		group_rows(set, group, &first, &rows);
		if (count_bits(map, row * side + first, rows, word, side, group_mask(set, group)) < set->worth)
			continue;
		if (!prepared) {
			stage->next = -2;
			scan = prepare_scan(search, stage, row);
			prepared = true;
		}
		scan.weights = weights_of(set, group);
		if (!set_bars(search, set, group, &scan))
			continue;
		search->kernels->scan(&scan);
		keep_survivors(set, &scan, group, row, word, map);
	}
}

static void narrow(struct search *search, struct stage *stage, const struct map *map, int rows)
{
	int shift = stage->set->shift, last = (search->positions.right - 1) >> shift;

	for (int row = map->top >> shift; row << shift < map->top + rows; row++) {
		if (row << shift >= search->positions.bottom)
			return;
		for (int left = first_place(search, shift); left <= last; left += SCAN_BLOCK) {
			stage->left = left;
			stage->count = MIN(SCAN_BLOCK, last - left + 1);
			narrow_block(search, stage, row, map);
		}
	}
}

// ---- which way ----------------------------------------------------------------------------------------------------

#define STAGES_MAX (BOX_SHIFT_MAX + 1)

/// A bound that asks for less of the cosine lets too much through to be worth its time.
#define COSINE_WORTH 0.3

static double cosine_of(const struct search *search, const struct pattern_set *set)
{
	struct pattern worst = {.share = set->least_share};

	return set->columns ? pattern_cosine(&worst, search->bar) : 0;
}

static struct stage make_stage(const struct search *search, const struct pattern_set *set,
			       const struct column_sums *columns)
{
	return (struct stage){.set = set, .boxes = boxes_of(search->frame, set->shift), .columns = columns, .next = -2};
}

// What scanning all positions with a set costs, in products of vectors (a quarter of a nanosecond or so). The less a
// set asks of the cosine, the more it leaves to others.
static double scan_cost(const struct search *search, const struct pattern_set *set)
{
	const struct rect *p = &search->positions;
	int places = ((p->right - p->left) >> set->shift) + 1, vectors = (places + 15) / 16;
	double strips = ((p->bottom - p->top) >> (set->shift ? set->shift : 2)) + 1,
	       lanes = set->shift ? 1 : SCAN_PATTERNS;
	double group = (double)set->scan_rows * set->quads * SCAN_PATTERNS * vectors + 400;
	double norms = lanes * 8 * (places + set->columns) + 400, begin = 2.0 * set->rows * (places + set->columns);

	return (strips * (set->groups * group + norms) + begin) / cosine_of(search, set);
}

// The same for looking at every position.
static double look_cost(const struct search *search)
{
	const struct detect_template *t = search->template_;
	const struct rect *p = &search->positions;
	double position = 120 + t->height / 2 * 3.0 * ((t->width + 63) / 64);

	return (double)(p->right - p->left) * (p->bottom - p->top) * position;
}

static const struct pattern_set *usable_band(const struct search *search)
{
	for (int band = 0; band < BANDS; band++)
		if (cosine_of(search, &search->template_->bands[band]) >= COSINE_WORTH)
			return &search->template_->bands[band];
	return NULL;
}

// The stages of this search, coarse to fine: the cheapest first scan, and the finer ones for what it leaves. @return
// how many; 0: every position is looked at
static int choose(struct search *search, struct stage ret[STAGES_MAX])
{
	const struct frame_scratch *scratch = &search->frame->scratch;
	const struct pattern_set *best = usable_band(search);
	double cost = best ? scan_cost(search, best) : INFINITY;
	unsigned boxes = 0;
	int n = 0;

	for (int shift = 1; shift <= BOX_SHIFT_MAX; shift++) {
		const struct pattern_set *set = &search->template_->sets[shift];
		if (cosine_of(search, set) < COSINE_WORTH || scan_cost(search, set) > cost)
			continue;
		best = set;
		cost = scan_cost(search, set);
	}
	if (look_cost(search) <= cost)
		return 0;
	ret[n++] = make_stage(search, best, &scratch->all);
	for (int shift = best->shift; shift > 0; shift--) {
		const struct pattern_set *set = &search->template_->sets[shift];
		if (cosine_of(search, set) < COSINE_WORTH)
			continue;
		boxes |= (unsigned)MADE_BOXES << shift;
		if (set != best)
			ret[n++] = make_stage(search, set, &scratch->some);
	}
	if (boxes)
		frame_need(search->frame, boxes, search->area, search->result);
	return n;
}

static bool run(struct search *search)
{
	const struct rect *p = &search->positions;
	struct stage stages[STAGES_MAX];
	int n = choose(search, stages), shift = n ? stages[0].set->shift : 0, rows = shift ? 1 << shift : SCAN_PATTERNS;
	struct map map = {.bits = search->frame->scratch.map, .words = search->frame->scratch.map_words};

	if (!n)
		return look_everywhere(search);
	stages[0].left = first_place(search, shift);
	stages[0].count = ((p->right - 1) >> shift) - stages[0].left + 1;
	for (int y = p->top & ~(rows - 1); y < p->bottom; y += rows) {
		if (search_stop_asked(search))
			return false;
		map.top = y;
		memset(map.bits, 0, (size_t)rows * (size_t)map.words * sizeof(*map.bits));
		if (!scan_strip(search, &stages[0], y >> shift, &map))
			continue;
		trim(search, &map, rows);
		for (int i = 1; i < n; i++)
			narrow(search, &stages[i], &map, rows);
		look_at_map(search, &map, rows);
	}
	return true;
}

bool search_best(struct search *search, double bar)
{
	search->list = NULL;
	search->bar = bar;
	search->best = (struct candidate){-2, -1, -1};
	// Where it was last time it often still is, and that raises the bar for all other positions.
	if (search->hint_x >= search->positions.left && search->hint_x < search->positions.right &&
	    search->hint_y >= search->positions.top && search->hint_y < search->positions.bottom)
		look_at(search, search->hint_x, search->hint_y);
	return run(search);
}

bool search_list(struct search *search, double bar)
{
	search->list = search->frame->scratch.list;
	search->listed = 0;
	search->bar = bar;
	if (!run(search))
		return false;
	// The heap in order: the worst goes to the end, again and again.
	for (size_t n = search->listed; n > 1; n--) {
		swap(&search->list[0], &search->list[n - 1]);
		sift_down(search->list, n - 1, 0);
	}
	return true;
}
