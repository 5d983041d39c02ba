// SPDX-License-Identifier: GPL-3.0-or-later
/// The command line of condprof-bench-overhead; condprof-bench-overhead(1) documents it.
#ifndef CONDPROF_BENCH_OVERHEAD_OPTIONS_H
#define CONDPROF_BENCH_OVERHEAD_OPTIONS_H

#include "tests/bench/overhead/overhead.h"

struct options {
	const char *scenario, *pictures; ///< pictures NULL: of the scenario's screen
	const char *state_dir;           ///< NULL: a temporary place
	const char *document, *data;     ///< NULL: standard output; none
	double seconds, rate, steal;     ///< s a limited run, passes a second, share
	size_t n_pictures;
	bool quiet, pace[PACES], design[DESIGNS];
};

/// @return 0; 1: printed what was asked for, nothing is to be done; -EINVAL: wrong, and said so
int options_parse(int argc, char **argv, struct options *ret);

#endif
