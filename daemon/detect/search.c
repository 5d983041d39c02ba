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

// Of a difference of sums below 2^53, more than it is off by, as a share of what is subtracted.
#define ROUNDING 1e-15

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

// Whether a window whose first rows gave `sums` can still reach the bar: the bound of pattern.h, with rows for boxes.
static bool can_reach(const struct checkpoint *at, const struct window_sums *sums, double bar)
{
	const struct moments *t = &at->part;
	__int128 covariance = (__int128)t->count * sums->product - (__int128)t->sum * sums->sum;
	double wanted, tv, wv, c;

	if (bar <= 0)
		return true;
	wanted = (bar * bar - (1 - at->share)) / at->share - BOUND_SLACK;
	if (wanted <= 0)
		return true;
	if (covariance <= 0)
		return false;
	c = (double)covariance;
	tv = (double)moments_variance(t->count, t->sum, t->squares);
	wv = (double)moments_variance(t->count, sums->sum, sums->squares);
	return c * c >= wanted * tv * wv;
}

static void look_at(struct search *search, int x, int y)
{
	const struct detect_template *t = search->template_;
	const uint8_t *window = search->frame->gray + y * search->frame->gray_stride + x;
	struct window_sums sums = {0};
	struct candidate candidate = {.x = x, .y = y};
	int row = 0;

	if (is_put_out(search, x, y))
		return;
	for (int i = 0; i <= t->n_checkpoints; i++) {
		int end = i < t->n_checkpoints ? t->checkpoints[i].rows : t->height;
		search->kernels->window(window + row * search->frame->gray_stride, search->frame->gray_stride,
				  t->gray + row * t->stride, t->mask ? t->mask + row * t->stride : NULL, t->stride, t->width,
				  end - row, &sums);
		row = end;
		if (i < t->n_checkpoints && !can_reach(&t->checkpoints[i], &sums, search->bar))
			return;
	}
	candidate.score = score_of(&t->whole, &sums);
	if (candidate.score >= search->bar)
		keep(search, &candidate);
}

static bool stop_asked(const struct search *search)
{
	return search->query->stop && *search->query->stop;
}

#define ROWS_BETWEEN_STOPS 4

static bool look_everywhere(struct search *search)
{
	const struct rect *p = &search->positions;

	for (int y = p->top; y < p->bottom; y++) {
		if ((y - p->top) % ROWS_BETWEEN_STOPS == 0 && stop_asked(search))
			return false;
		for (int x = p->left; x < p->right; x++)
			look_at(search, x, y);
	}
	return true;
}

// ---- a row of positions at once -----------------------------------------------------------------------------------

/// The boxes of one size that the windows of a search are made of.
struct boxes {
	const uint8_t *means;
	ptrdiff_t means_stride;
	const uint16_t *sums;  ///< NULL: means are sums (side 1)
	ptrdiff_t sums_stride;
};

/// A scan in progress: running sums over the pattern's rows, a column each.
struct sweep {
	const struct pattern_set *set;
	struct boxes boxes;
	int left, count;   ///< places: box columns of positions
	int columns;       ///< of running sums
	int next;          ///< the box row whose places' sums the running sums stand for
};

static void add_box_row(const struct search *search, const struct sweep *sweep, int row, double sign)
{
	const struct frame_scratch *scratch = &search->frame->scratch;
	int first = sweep->left + sweep->set->first + sweep->set->column, shift = 2 * sweep->set->shift;
	const uint8_t *means = sweep->boxes.means + row * sweep->boxes.means_stride + first;
	const uint16_t *sums = sweep->boxes.sums ? sweep->boxes.sums + row * sweep->boxes.sums_stride + first : NULL;

	for (int i = 0; i < sweep->columns; i++) {
		int sum = sums ? sums[i] : means[i], rest = sum - (means[i] << shift);
		scratch->sum[i] += sign * sum;
		scratch->squares[i] += sign * ((double)sum * sum);
		scratch->rests[i] += sign * (rest * rest);
	}
}

// Moves the running sums to the places of box row `row`.
static void sweep_to(const struct search *search, struct sweep *sweep, int row)
{
	const struct frame_scratch *scratch = &search->frame->scratch;
	const struct pattern_set *set = sweep->set;

	if (row == sweep->next - 1)
		return;
	if (row != sweep->next) {
		memset(scratch->sum, 0, (size_t)sweep->columns * sizeof(*scratch->sum));
		memset(scratch->squares, 0, (size_t)sweep->columns * sizeof(*scratch->squares));
		memset(scratch->rests, 0, (size_t)sweep->columns * sizeof(*scratch->rests));
		for (int j = 0; j < set->rows; j++)
			add_box_row(search, sweep, row + set->first + set->row + j, 1);
	} else {
		add_box_row(search, sweep, row + set->first + set->row + set->rows - 1, 1);
		add_box_row(search, sweep, row + set->first + set->row - 1, -1);
	}
	sweep->next = row + 1;
}

// Norms of the places of a row, from the running sums: everything is an integer below 2^53 until the division.
static void fill_norms(const struct search *search, const struct sweep *sweep, float *ret_norm, float *ret_rest)
{
	const struct frame_scratch *scratch = &search->frame->scratch;
	int width = sweep->set->columns;
	double n = (double)width * sweep->set->rows, sum = 0, squares = 0, rests = 0;

	for (int i = 0; i < width - 1; i++) {
		sum += scratch->sum[i];
		squares += scratch->squares[i];
		rests += scratch->rests[i];
	}
	for (int i = 0; i < sweep->count; i++) {
		sum += scratch->sum[i + width - 1];
		squares += scratch->squares[i + width - 1];
		rests += scratch->rests[i + width - 1];
		double variance = squares - sum * sum / n - squares * ROUNDING;
		ret_norm[i] = (float)sqrt(variance > 0 ? variance : 0);
		ret_rest[i] = (float)sqrt(rests);
		sum -= scratch->sum[i];
		squares -= scratch->squares[i];
		rests -= scratch->rests[i];
	}
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

static void look_at_bits(struct search *search, const struct sweep *sweep, const uint64_t *bits, int y, int phase_x)
{
	const struct rect *positions = &search->positions;
	int words = (sweep->count + SCAN_BLOCK - 1) / SCAN_BLOCK;

	if (y < positions->top || y >= positions->bottom)
		return;
	for (int word = 0; word < words; word++) {
		for (uint64_t left = bits[word]; left; left &= left - 1) {
			int place = sweep->left + word * 64 + __builtin_ctzll(left);
			int x = (place << sweep->set->shift) + phase_x;
			if (x >= positions->left && x < positions->right)
				look_at(search, x, y);
		}
	}
}

static void scan_group(struct search *search, struct sweep *sweep, int row, int group, struct scan *scan)
{
	const struct pattern_set *set = sweep->set;
	int side = 1 << set->shift;
	size_t size = (size_t)set->scan_rows * (size_t)set->quads * SCAN_PATTERNS * 4;

	scan->weights = set->weights + (size_t)group * size;
	if (!set_bars(search, set, group, scan))
		memset(search->frame->scratch.bits[0], 0xff, search->frame->scratch.bits_size * SCAN_PATTERNS);
	else if (!search->kernels->scan(scan))
		return;
	for (int p = 0; p < SCAN_PATTERNS; p++) {
		int phase = group * SCAN_PATTERNS + p;
		if (set->shift)
			look_at_bits(search, sweep, scan->survivors[p], row * side + phase / side, phase % side);
		else
			look_at_bits(search, sweep, scan->survivors[p], row + p, 0);
	}
}

// One row of boxes, or four rows of positions where a box is a pixel.
static void scan_row(struct search *search, struct sweep *sweep, int row)
{
	const struct pattern_set *set = sweep->set;
	const struct frame_scratch *scratch = &search->frame->scratch;
	int last = ((search->positions.bottom - 1) >> set->shift);
	struct scan scan = {
		.means = sweep->boxes.means + (row + set->first + set->row) * sweep->boxes.means_stride + sweep->left +
			 set->first + set->column,
		.stride = sweep->boxes.means_stride,
		.rows = set->scan_rows,
		.quads = set->quads,
		.count = sweep->count,
		.unit = (float)(1 << 2 * set->shift),
	};

	for (int p = 0; p < SCAN_PATTERNS; p++) {
		int norms = set->shift ? 0 : p;
		scan.norm[p] = scratch->norm[norms];
		scan.rest[p] = scratch->rest[norms];
		scan.survivors[p] = scratch->bits[p];
		if (norms < p || row + norms > last)
			continue;
		sweep_to(search, sweep, row + norms);
		fill_norms(search, sweep, scratch->norm[norms], scratch->rest[norms]);
	}
	for (int group = 0; group < set->groups; group++)
		scan_group(search, sweep, row, group, &scan);
}

static struct boxes boxes_of(const struct detect_frame *frame, int shift)
{
	if (!shift)
		return (struct boxes){frame->gray, frame->gray_stride, NULL, 0};
	return (struct boxes){frame->levels[shift].means, frame->levels[shift].stride, frame->levels[shift].sums,
			      frame->levels[shift].stride};
}

static bool scan_everywhere(struct search *search, const struct pattern_set *set)
{
	const struct rect *p = &search->positions;
	struct sweep sweep = {.set = set, .boxes = boxes_of(search->frame, set->shift), .left = p->left >> set->shift,
			      .next = -2};
	int last = (p->bottom - 1) >> set->shift, step = set->shift ? 1 : SCAN_PATTERNS;

	sweep.count = ((p->right - 1) >> set->shift) - sweep.left + 1;
	sweep.columns = sweep.count + set->columns - 1;
	for (int row = p->top >> set->shift; row <= last; row += step) {
		if (stop_asked(search))
			return false;
		scan_row(search, &sweep, row);
	}
	return true;
}

// ---- which way ----------------------------------------------------------------------------------------------------

static const struct pattern_set *choose(const struct search *search)
{
	const struct detect_template *t = search->template_;

	for (int shift = BOX_SHIFT_MAX; shift >= 0; shift--) {
		const struct pattern_set *set = &t->sets[shift];
		if (set->columns && search->bar > 0 &&
		    (search->bar * search->bar - (1 - set->least_share)) / set->least_share > 0.3)
			return set;
	}
	return NULL;
}

static bool run(struct search *search)
{
	const struct pattern_set *set = choose(search);

	if (!set)
		return look_everywhere(search);
	if (set->shift)
		frame_need_boxes(search->frame, set->shift, search->result);
	return scan_everywhere(search, set);
}

bool search_best(struct search *search, double bar)
{
	search->list = NULL;
	search->bar = bar;
	search->best = (struct candidate){0, -1, -1};
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
