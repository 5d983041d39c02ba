// SPDX-License-Identifier: GPL-3.0-or-later
/// Durations, rates and ids as they stand on the command line. The scenario file's own loader is apart: its mistakes
/// have places.
#ifndef CONDPROF_CLIENT_QUANTITY_H
#define CONDPROF_CLIENT_QUANTITY_H

#include "proto/base.h"

/// "250 ms", "1.5s", "2 min": a number, optional spaces, a unit of ns us ms s min h. @return 0, -EINVAL, -ERANGE
int duration_parse(const char *text, int64_t *ret_ns);

/// "10/s", "90/min", "unlimited". @return 0, -EINVAL; passes 0: unlimited
int rate_parse(const char *text, double *ret_passes, int64_t *ret_per_ns);

/// A whole number from `least` up, decimal digits only. @return 0, -EINVAL, -ERANGE
int count_parse(const char *text, int64_t least, int64_t *ret);

#endif
