// SPDX-License-Identifier: GPL-3.0-or-later
// Finding positions by score: first the cheap bounds of pattern.h over rows of positions at once, then exact sums for
// what survives, given up as soon as the rest of a window cannot help it. See docs/DETECTION.md.
#include "daemon/detect/search.h"

#include <math.h>
#include <string.h>

#include "daemon/detect/kernels.h"
#include "daemon/detect/plan.h"
#include "daemon/detect/spectrum.h"

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

double search_look_cost(const struct search *search, int rows)
{
	return 120 + rows * 3.0 * ((search->template_->width + 63) / 64);
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
	search->work += search_look_cost(search, t->height / 4);
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

// ---- all of them --------------------------------------------------------------------------------------------------

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

static bool run_strip(struct search *search, struct plan *plan, const struct map *map)
{
	struct stage *first = &plan->stages[0];
	bool any = first->spectral ? spectrum_first(search, first, map) : stage_first(search, first, map);

	if (search_stop_asked(search))
		return false;
	for (int i = 1; any && i < plan->n; i++)
		stage_narrow(search, &plan->stages[i], map);
	return !any || look_at_map(search, map);
}

/// So much of what transforming everything costs may scanning cost more than its share, before it is given up.
#define EXCESS_MAX 0.25

// Whether to transform from here on. `excess` is what scanning cost more than transforming would have, lately.
static bool costs_too_much(const struct search *search, const struct plan *transform, const struct map *map,
			   double before, double *excess)
{
	const struct rect *p = &search->positions;
	double row = transform->cost / (p->bottom - p->top);

	*excess = fmax(*excess + search->work - before - row * map->rows, 0);
	return *excess > EXCESS_MAX * transform->cost && p->bottom - (map->top + map->rows) > SPECTRUM_SIDE / 2;
}

// A plan that scans may turn out to leave too much in question on this frame, at this bar: the rest is transformed.
static bool run(struct search *search)
{
	const struct frame_scratch *scratch = &search->frame->scratch;
	struct map map = {.bits = scratch->map, .words = scratch->map_words};
	struct plan scan, transform, *plan = &scan;
	double excess = 0, before;

	plan_scan(search, &scan);
	plan_transform(search, &transform);
	if (transform.cost < scan.cost)
		plan = &transform;
	if (!plan->n)
		return look_everywhere(search);
	plan_begin(search, plan);
	map.top = search->positions.top - search->positions.top % plan_step(plan);
	for (; map.top < search->positions.bottom; map.top += map.rows) {
		map.rows = plan_rows(plan);
		before = search->work;
		if (search_stop_asked(search) || !run_strip(search, plan, &map))
			return false;
		if (plan == &scan && costs_too_much(search, &transform, &map, before, &excess)) {
			plan = &transform;
			plan_begin(search, plan);
		}
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
