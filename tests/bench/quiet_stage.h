// SPDX-License-Identifier: GPL-3.0-or-later
/// A stage of tests/support/engine_fakes.h for benches: real clocks, no limiter, a recorder that only counts.
#ifndef CONDPROF_QUIET_STAGE_H
#define CONDPROF_QUIET_STAGE_H

#include "tests/support/engine_fakes.h"

/// @param maker handed over
static inline struct stage *quiet_stage(struct maker *maker, bool timing, bool recorder)
{
	struct stage *stage = stage_new(maker);

	engine_clock_init_monotonic(&stage->clock);
	stage->screen.base.live = false;
	stage->params.period_ns = 0;
	stage->params.suspend = suspend_clock_boottime;
	fake_recorder_state()->counting_only = true;
	timing_free(stage->timing);
	stage->timing = NULL;
	if (timing && timing_new(&maker->scenario, measuring_clock_monotonic, &stage->timing) < 0)
		abort();
	stage->params.timing = stage->timing;
	if (!recorder)
		stage->params.recorder = NULL;
	return stage;
}

#endif
