// SPDX-License-Identifier: GPL-3.0-or-later
/// What a try found: the conditions of a scenario on one picture, in the scenario's order, as the daemon told it.
#ifndef CONDPROF_TRIAL_TRIED_H
#define CONDPROF_TRIAL_TRIED_H

#include "proto/control.pb-c.h"
#include "proto/errors.h"

struct tried {
	char *screen, *name; ///< that was looked at, and the file there; NULL: the picture was sent, it has none
	int width, height;   ///< px
	size_t n;
	const Condprof__TriedCondition **conditions;
	Condprof__Reply **replies; ///< that they are in
	size_t n_replies, capacity;
};

/// Takes a Tried reply over, also on failure. @return 0, -ENOMEM, -EPROTO (error filled)
int tried_add(struct tried *tried, Condprof__Reply *reply, struct error *error);
void tried_clear(struct tried *tried);

/// The candidate to speak of: the match, else the best one. NULL: none.
static inline const Condprof__Candidate *tried_candidate(const Condprof__TriedCondition *condition)
{
	return condition->match ? condition->match : condition->best;
}

#endif
