// SPDX-License-Identifier: GPL-3.0-or-later
// Finding positions by score: first the cheap bounds of pattern.h over rows of positions at once, then exact sums for
// what survives, given up as soon as the rest of a window cannot help it. See docs/DETECTION.md.
#include "daemon/detect/search.h"

#include <math.h>
#include <string.h>

#include "daemon/detect/kernels.h"
#include "daemon/detect/spectrum.h"
#include "daemon/detect/stages.h"

bool candidate_before(const struct candidate *a, const struct candidate *b)
{
	if (a->score != b->score)
		return a->score > b->score;
	return a->y != b->y ? a->y < b->y : a->x < b->x;
}

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

// A large template takes its time at each position.
#define POSITIONS_BETWEEN_STOPS 16

static bool look_everywhere(struct search *search)
{
	const struct rect *p = &search->positions;

	for (int y = p->top; y < p->bottom; y++) {
		for (int x = p->left; x < p->right; x++) {
			if ((x - p->left) % POSITIONS_BETWEEN_STOPS == 0 && search_stop_asked(search))
				return false;
			look_at(search, x, y);
		}
	}
	return true;
}

// ---- which way ----------------------------------------------------------------------------------------------------

#define STAGES_MAX (BOX_SHIFT_MAX + 2)

/// A bound that asks for less of the cosine lets too much through to be worth its time.
#define COSINE_WORTH 0.3

static double cosine_of(const struct search *search, const struct pattern_set *set)
{
	struct pattern worst = {.share = set->least_share};

	return set->columns ? pattern_cosine(&worst, search->bar) : 0;
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
	bool spectral = false;
	int n = 0;

	for (int shift = 1; shift <= BOX_SHIFT_MAX; shift++) {
		const struct pattern_set *set = &search->template_->sets[shift];
		if (cosine_of(search, set) < COSINE_WORTH || scan_cost(search, set) > cost)
			continue;
		best = set;
		cost = scan_cost(search, set);
	}
	for (int shift = 0; shift <= SPECTRUM_SHIFT_MAX; shift++) {
		const struct pattern_set *set = &search->template_->sets[shift];
		if (cosine_of(search, set) < COSINE_WORTH || !spectrum_fits(set))
			continue;
		double spectral_cost = spectrum_cost(search, set) / cosine_of(search, set);
		if (spectral_cost > cost)
			continue;
		best = set;
		cost = spectral_cost;
		spectral = true;
	}
	if (look_cost(search) <= cost)
		return 0;
	ret[n] = stage_make(search, best, &scratch->all);
	ret[n++].spectral = spectral;
	for (int shift = best->shift; shift > 0; shift--) {
		const struct pattern_set *set = &search->template_->sets[shift];
		if (cosine_of(search, set) < COSINE_WORTH)
			continue;
		boxes |= (unsigned)MADE_BOXES << shift;
		if (set != best || spectral)
			ret[n++] = stage_make(search, set, &scratch->some);
	}
	if (boxes)
		frame_need(search->frame, boxes, search->area, search->result);
	if (spectral)
		spectrum_begin(search, &ret[0]);
	return n;
}

static bool look_at_map(struct search *search, const struct map *map)
{
	for (int j = 0; j < map->rows; j++) {
		const uint64_t *row = map->bits + (size_t)j * (size_t)map->words;
		for (int word = search->positions.left / 64; word * 64 < search->positions.right; word++) {
			if (row[word] && search_stop_asked(search))
				return false;
			for (uint64_t left = row[word]; left; left &= left - 1)
				look_and_climb(search, word * 64 + __builtin_ctzll(left), map->top + j);
		}
	}
	return true;
}

static bool run(struct search *search)
{
	const struct frame_scratch *scratch = &search->frame->scratch;
	struct stage stages[STAGES_MAX];
	int n = choose(search, stages);
	bool any;
	struct map map = {.bits = scratch->map, .words = scratch->map_words};

	if (!n)
		return look_everywhere(search);
	map.rows = stages[0].spectral ? spectrum_rows(&stages[0]) : stage_rows(&stages[0]);
	map.top = search->positions.top -
		  search->positions.top % (stages[0].spectral ? 1 << stages[0].set->shift : map.rows);
	for (; map.top < search->positions.bottom; map.top += map.rows) {
		if (search_stop_asked(search))
			return false;
		any = stages[0].spectral ? spectrum_first(search, &stages[0], &map)
					 : stage_first(search, &stages[0], &map);
		if (!any)
			continue;
		if (search_stop_asked(search))
			return false;
		for (int i = 1; i < n; i++)
			stage_narrow(search, &stages[i], &map);
		if (!look_at_map(search, &map))
			return false;
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
