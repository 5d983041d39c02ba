// SPDX-License-Identifier: GPL-3.0-or-later
/// A session as watch shows it on a full screen: what it does, and its conditions by what they cost.
#ifndef CONDPROF_VIEW_SCREEN_H
#define CONDPROF_VIEW_SCREEN_H

#include "client/view/watch.h"

enum screen_sort {
	SCREEN_TOTAL,
	SCREEN_AVERAGE,
	SCREEN_CHECKS,
	SCREEN_MAX,
	SCREEN_SHARE,
	SCREEN_NAME,
	SCREEN_SORTS,
};

struct screen_options {
	int width, height; ///< of the terminal, in characters
	struct render_style style;
	enum screen_sort sort;
	bool reverse;
};

/// Changes the order by a key. @return whether it is one of ours
bool screen_key(struct screen_options *options, int key);

/// Draws all of it anew, from the first line on. @return 0, -ENOMEM; errors of `out` stick to it
int view_screen(FILE *out, const struct watch_state *state, const struct screen_options *options);

#endif
