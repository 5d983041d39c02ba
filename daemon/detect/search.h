// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: finding positions by score alone. Exact: a position is only left out when it cannot reach the bar.
#ifndef CONDPROF_DETECT_SEARCH_H
#define CONDPROF_DETECT_SEARCH_H

#include "daemon/detect/frame.h"
#include "daemon/detect/template.h"

struct search {
	const struct kernels *kernels;
	struct detect_frame *frame;
	const struct detect_template *template_;
	const struct detect_query *query;
	struct rect area;
	struct rect positions;        ///< of the left top corner
	bool any_put_out;             ///< frame->put_out has bits
	struct detect_result *result; ///< for what was prepared
	struct candidate *list;       ///< NULL: only the best is wanted; else a heap of the best ones, the worst on top
	size_t listed;
	int hint_x, hint_y; ///< where to look first; x -1: nowhere in particular
	double work;        ///< done so far, in the unit of plan.h
	double bar;         ///< what a position must reach to be of any use now
	struct candidate best;
	struct candidate found; ///< the accepted one, where there is one
};

/// Finds the best position not put out whose score is at least `bar`, into search->best (x -1: there is none).
/// @return false: stopped
bool search_best(struct search *search, double bar);

/// Collects the positions not put out whose scores are at least `bar` into search->list, best first; at most
/// SEARCH_LIST_MAX, the best ones.
/// @return false: stopped
bool search_list(struct search *search, double bar);

/// What looking at one position costs, in the unit of plan.h, when `rows` of its rows are.
double search_look_cost(const struct search *search, int rows);

/// Whether whoever asked for the search wants it to end.
bool search_stop_asked(const struct search *search);

/// a comes before b: the higher score, then row order.
bool candidate_before(const struct candidate *a, const struct candidate *b);

#endif
