// SPDX-License-Identifier: GPL-3.0-or-later
// Deadlines of passes.
#include "daemon/engine/limiter.h"

void limiter_start(struct limiter *limiter, int64_t period_ns, int64_t now)
{
	*limiter = (struct limiter){.period_ns = period_ns, .deadline_ns = now};
}

int64_t limiter_next(const struct limiter *limiter)
{
	return time_add(limiter->deadline_ns, limiter->period_ns);
}

int64_t limiter_advance(struct limiter *limiter, int64_t now)
{
	int64_t next = limiter_next(limiter);
	int64_t missed = (now - next) / limiter->period_ns;

	limiter->deadline_ns = next + missed * limiter->period_ns;
	return missed;
}
