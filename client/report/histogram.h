// SPDX-License-Identifier: GPL-3.0-or-later
/// Percentiles from a report's histograms, as docs/debug-report-performance-timing.md has them.
#ifndef CONDPROF_REPORT_HISTOGRAM_H
#define CONDPROF_REPORT_HISTOGRAM_H

#include "proto/base.h"
#include "proto/report.pb-c.h"

#define HISTOGRAM_BUCKETS_PER_POWER 8
#define HISTOGRAM_BUCKET_COUNT 288

/// All that was counted; -EBADMSG: no histogram of ours (counts below zero, buckets out of range, a sum over
/// INT64_MAX).
int histogram_count(const Condprof__Histogram *histogram, int64_t *ret);

/// The duration that `per_mille` of all are not longer than (500: the median), in ns: the geometric middle of the
/// bucket of the ⌈p·n⌉-th, clamped to [min_ns, max_ns]; 0 in the zero bucket, max_ns in the overflow bucket.
/// @param per_mille 1 to 1000
/// @return -ENODATA: nothing was counted; -EBADMSG
int histogram_percentile(const Condprof__Histogram *histogram, int per_mille, int64_t min_ns, int64_t max_ns,
			 int64_t *ret_ns);

#endif
