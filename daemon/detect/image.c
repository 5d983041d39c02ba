// SPDX-License-Identifier: GPL-3.0-or-later
// The image condition: the best position by score, then its colour; a candidate of the wrong colour is put out and the
// next best is looked at. Exact: a position is only dropped when no position could score less than the bar demands.
#include <math.h>
#include <string.h>

#include "daemon/detect/frame.h"
#include "daemon/detect/template.h"

#define ROWS_BETWEEN_STOPS 4
// A score that misses the threshold by less than this is rounding, not a difference.
#define SCORE_SLACK 1e-9
// More than all rounding of a bound together.
#define BOUND_SLACK 1e-9

struct candidate {
	double score;
	int x, y; ///< -1: none
};

struct search {
	struct detect_frame *frame;
	const struct detect_template *template_;
	const struct detect_query *query;
	struct rect positions; ///< of the left top corner
	bool any_put_out;
};

static bool stop_asked(const struct detect_query *query)
{
	return query->stop && __atomic_load_n(query->stop, __ATOMIC_RELAXED);
}

static bool is_put_out(const struct search *search, int x, int y)
{
	const struct detect_frame *frame = search->frame;

	return search->any_put_out && (frame->put_out[y * frame->put_out_stride + x / 64] >> (x % 64)) & 1;
}

// The candidate's own cells and those right of and below it, as far as they are in the map of positions.
static void put_out(struct search *search, const struct candidate *candidate)
{
	struct detect_frame *frame = search->frame;
	int right = MIN(candidate->x + search->template_->width, search->positions.right);
	int bottom = MIN(candidate->y + search->template_->height, search->positions.bottom);

	for (int y = candidate->y; y < bottom; y++)
		for (int x = candidate->x; x < right; x++)
			frame->put_out[y * frame->put_out_stride + x / 64] |= UINT64_C(1) << (x % 64);
	search->any_put_out = true;
}

static void light_all(struct search *search)
{
	struct detect_frame *frame = search->frame;

	if (search->any_put_out)
		memset(frame->put_out, 0,
		       (size_t)frame->height * (size_t)frame->put_out_stride * sizeof(*frame->put_out));
}

static void add_row(const struct search *search, int x, int y, int row, struct window_sums *sums)
{
	const struct detect_template *t = search->template_;
	const struct detect_frame *frame = search->frame;
	const uint8_t *a = t->gray + row * t->stride;
	const uint8_t *m = t->mask ? t->mask + row * t->stride : NULL;
	const uint8_t *b = frame->gray + (y + row) * frame->gray_stride + x;
	uint32_t sum = 0, squares = 0, product = 0;

	for (int i = 0; i < t->width; i++) {
		uint32_t w = m ? b[i] & m[i] : b[i];
		sum += w;
		squares += w * w;
		product += w * a[i];
	}
	sums->sum += sum;
	sums->squares += squares;
	sums->product += product;
}

// Whether a window whose first rows gave `sums` can still reach the bar. Split template and window, without their
// means, into what lies in those rows about the rows' own mean, and the rest. The first parts correlate by a known c;
// by Cauchy-Schwarz, and whatever share of the window's variance is in its rest, score² <= share * c² + 1 - share.
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

// False: the score is below the bar, however much.
static bool score_at(const struct search *search, int x, int y, double bar, double *ret_score)
{
	const struct detect_template *t = search->template_;
	const struct checkpoint *next = t->checkpoints, *end = next + t->n_checkpoints;
	struct window_sums sums = {0};

	for (int row = 0; row < t->height; row++) {
		if (next != end && row == next->rows && !can_reach(next++, &sums, bar))
			return false;
		add_row(search, x, y, row, &sums);
	}
	*ret_score = score_of(&t->whole, &sums);
	return *ret_score >= bar;
}

// The best position not put out whose score is at least `bar`. False: stopped.
static bool best_position(const struct search *search, double bar, struct candidate *ret)
{
	*ret = (struct candidate){bar, -1, -1};
	for (int y = search->positions.top; y < search->positions.bottom; y++) {
		if ((y - search->positions.top) % ROWS_BETWEEN_STOPS == 0 && stop_asked(search->query))
			return false;
		for (int x = search->positions.left; x < search->positions.right; x++) {
			double score;

			if (is_put_out(search, x, y) || !score_at(search, x, y, ret->score, &score))
				continue;
			if (score > ret->score || ret->x < 0)
				*ret = (struct candidate){score, x, y};
		}
	}
	return true;
}

static double colour_at(const struct search *search, const struct candidate *at)
{
	const struct detect_template *t = search->template_;
	const struct picture_view *pixels = &search->frame->pixels;
	struct mean_colour colour = colour_mean(pixels->pixels + at->y * pixels->stride + 4 * (ptrdiff_t)at->x,
						pixels->stride, t->width, t->height, t->mask, t->stride, t->hue0);

	return colour_difference(&colour, &t->colour);
}

static void report(const struct search *search, const struct candidate *at, double colour, bool found,
		   struct detect_result *ret)
{
	const struct detect_template *t = search->template_;

	ret->found = found;
	ret->has_score = true;
	ret->score = at->score;
	ret->colour_difference = colour;
	frame_place(search->frame, (struct rect){at->x, at->y, at->x + t->width, at->y + t->height}, ret);
}

static void look(struct search *search, struct detect_result *ret)
{
	double wanted = 1 - search->query->threshold / 100 - SCORE_SLACK;
	double bar = search->query->best ? -2 : wanted;
	struct candidate at;

	for (;;) {
		double colour;
		bool found;

		if (!best_position(search, bar, &at)) {
			ret->stopped = true;
			return;
		}
		if (at.x < 0)
			return;
		colour = colour_at(search, &at);
		found = at.score >= wanted && colour <= search->query->threshold;
		// The first one looked at is the best: it stays the answer for people when none is accepted.
		if (found || (search->query->best && !ret->has_score))
			report(search, &at, colour, found, ret);
		if (found || at.score < wanted)
			return;
		put_out(search, &at);
		bar = wanted;
	}
}

void detect_image(struct detect_frame *frame, const struct detect_template *template_, const struct detect_query *query,
		  struct detect_result *ret)
{
	struct search search = {.frame = frame, .template_ = template_, .query = query};
	struct rect area;

	*ret = (struct detect_result){0};
	if (!frame_area(frame, query, &area))
		return;
	if (query->area.right - query->area.left < template_->source_width ||
	    query->area.bottom - query->area.top < template_->source_height ||
	    area.right - area.left < template_->width || area.bottom - area.top < template_->height)
		return;
	ret->evaluable = true;
	frame_need(frame, DETECT_REDUCED, ret);
	frame_need(frame, DETECT_GRAY, ret);
	search.positions = (struct rect){area.left, area.top, area.right - template_->width + 1,
					 area.bottom - template_->height + 1};
	look(&search, ret);
	light_all(&search);
}
