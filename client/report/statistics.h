// SPDX-License-Identifier: GPL-3.0-or-later
/// What can be said of two means, or of two percentiles, given how much single checks differ among themselves.
#ifndef CONDPROF_REPORT_STATISTICS_H
#define CONDPROF_REPORT_STATISTICS_H

#include "proto/base.h"
#include "proto/report.pb-c.h"

#define CONFIDENCE_LEVEL 0.95

/// The value that a standard normal variable stays below with probability `p`, 0 < p < 1. To 1e-12.
double normal_quantile(double p);

/// The same of Student's t with `degrees` >= 1 of freedom, whole or not. To 1e-9 of its size.
double student_quantile(double p, double degrees);

struct sample {
	int64_t count;
	double mean, variance; ///< ns, ns²; of the sample: n - 1
};

/// @return false: with fewer than two values, or figures that cannot be, there is no spread
bool sample_of(int64_t count, int64_t total_ns, double sum_of_squares_ns2, struct sample *ret);

/// Welch's interval for the difference of two means whose spreads may differ.
struct mean_difference {
	double difference, low, high; ///< ns; second less first, and the interval it lies in
	double degrees;               ///< Welch-Satterthwaite; INFINITY where nothing spreads
	bool exceeds_spread;          ///< 0 is outside of the interval
};
void compare_means(const struct sample *first, const struct sample *second, struct mean_difference *ret);

/// The interval that a percentile of what was sampled lies in, by order statistics: whatever the distribution is.
/// @param ret_low_ns,ret_high_ns bounds of histogram buckets, clamped to [min_ns, max_ns]
/// @return -ENODATA: too few values to have it bounded on both sides; -EBADMSG: no histogram of ours
int percentile_interval(const Condprof__Histogram *histogram, int per_mille, int64_t min_ns, int64_t max_ns,
			int64_t *ret_low_ns, int64_t *ret_high_ns);

#endif
