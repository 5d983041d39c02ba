// SPDX-License-Identifier: GPL-3.0-or-later
//
// Student's t comes from the incomplete beta function by its continued fraction (Lentz's way of evaluating it), and
// from the expansion around the normal quantile where degrees are many and the fraction would be long. Quantiles are
// found by halving an interval: a few hundred steps, and nothing that can diverge.
#include "config.h"

#include "client/report/statistics.h"

#include "client/report/histogram.h"

#include <assert.h>
#include <errno.h>
#include <math.h>

#define HALVINGS 200
#define FRACTION_STEPS 1000
#define MANY_DEGREES 2000

// --- quantiles -------------------------------------------------------------------------------------------------------

double normal_quantile(double p)
{
	double low = -40, high = 40;

	assert(p > 0 && p < 1);
	for (int i = 0; i < HALVINGS && low < high; i++) {
		double middle = low + (high - low) / 2;

		if (erfc(-middle / M_SQRT2) / 2 < p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static double not_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/// The continued fraction of the incomplete beta function; converges fast for x < (a + 1) / (a + b + 2).
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), result = d;

	for (int m = 1; m <= FRACTION_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
		       odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		result *= c * d;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		result *= c * d;
		if (fabs(c * d - 1) < 1e-15)
			break;
	}
	return result;
}

/// The regularised incomplete beta function I_x(a, b). @param y 1 - x, which may be known better than by subtracting
static double incomplete_beta(double a, double b, double x, double y)
{
	int sign; // lgamma_r: without the global that lgamma sets
	double factor = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log(y));

	if (x <= 0 || y <= 0)
		return x <= 0 ? 0 : 1;
	return x < (a + 1) / (a + b + 2) ? factor * beta_fraction(a, b, x) / a
					 : 1 - factor * beta_fraction(b, a, y) / b;
}

/// P(T > t), t >= 0
static double student_tail(double t, double degrees)
{
	double square = t * t, sum = degrees + square;

	return incomplete_beta(degrees / 2, 0.5, degrees / sum, square / sum) / 2;
}

/// Cornish and Fisher's expansion; its next term is below 1e-14 from MANY_DEGREES on.
static double student_expansion(double z, double degrees)
{
	double s = z * z;

	return z * (1 + (s + 1) / (4 * degrees) + (5 * s * s + 16 * s + 3) / (96 * degrees * degrees) +
		    (3 * s * s * s + 19 * s * s + 17 * s - 15) / (384 * degrees * degrees * degrees));
}

double student_quantile(double p, double degrees)
{
	double low = 0, high = 1;

	assert(p > 0 && p < 1 && degrees >= 1);
	if (p < 0.5)
		return -student_quantile(1 - p, degrees);
	if (degrees > MANY_DEGREES)
		return isinf(degrees) ? normal_quantile(p) : student_expansion(normal_quantile(p), degrees);
	while (student_tail(high, degrees) > 1 - p && high < 1e300)
		high *= 2;
	for (int i = 0; i < HALVINGS && low < high; i++) {
		double middle = low + (high - low) / 2;

		if (student_tail(middle, degrees) > 1 - p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

// --- means -----------------------------------------------------------------------------------------------------------

bool sample_of(int64_t count, int64_t total_ns, double sum_of_squares_ns2, struct sample *ret)
{
	if (count < 2 || !isfinite(sum_of_squares_ns2))
		return false;
	long double n = count, total = total_ns, variance = (sum_of_squares_ns2 - total * total / n) / (n - 1);
	*ret = (struct sample){
		.count = count,
		.mean = (double)(total / n),
		.variance = (double)MAX(variance, 0.0L), // a difference of large numbers may come out below 0
	};
	return true;
}

void compare_means(const struct sample *first, const struct sample *second, struct mean_difference *ret)
{
	double a = first->variance / (double)first->count, b = second->variance / (double)second->count,
	       parts = a * a / (double)(first->count - 1) + b * b / (double)(second->count - 1);

	ret->difference = second->mean - first->mean;
	ret->degrees = parts > 0 ? MAX((a + b) * (a + b) / parts, 1.0) : INFINITY;
	double reach = student_quantile((1 + CONFIDENCE_LEVEL) / 2, ret->degrees) * sqrt(a + b);
	ret->low = ret->difference - reach;
	ret->high = ret->difference + reach;
	ret->exceeds_spread = ret->low > 0 || ret->high < 0;
}

// --- percentiles -----------------------------------------------------------------------------------------------------

/// The bounds of the bucket of the value number `rank`, from 1.
static void bucket_of_rank(const Condprof__Histogram *histogram, int64_t rank, int64_t *ret_low, int64_t *ret_high)
{
	int64_t seen = histogram->zero;

	*ret_low = *ret_high = 0;
	if (seen >= rank)
		return;
	for (size_t i = 0; i < histogram->n_buckets; i++) {
		int index = histogram->first_bucket + (int)i;

		seen += histogram->buckets[i];
		if (seen < rank)
			continue;
		*ret_low = (int64_t)floor(exp2((double)index / HISTOGRAM_BUCKETS_PER_POWER));
		*ret_high = (int64_t)ceil(exp2((double)(index + 1) / HISTOGRAM_BUCKETS_PER_POWER));
		return;
	}
	*ret_low = INT64_C(1) << 36;
	*ret_high = INT64_MAX;
}

int percentile_interval(const Condprof__Histogram *histogram, int per_mille, int64_t min_ns, int64_t max_ns,
			int64_t *ret_low_ns, int64_t *ret_high_ns)
{
	double p = per_mille / 1000.0;
	int64_t count, low, high, other;
	int r = histogram_count(histogram, &count);

	if (r < 0)
		return r;
	double reach = normal_quantile((1 + CONFIDENCE_LEVEL) / 2) * sqrt((double)count * p * (1 - p)),
	       below = floor((double)count * p - reach), above = ceil((double)count * p + reach) + 1;
	if (below < 1 || above > (double)count)
		return -ENODATA;
	bucket_of_rank(histogram, (int64_t)below, &low, &other);
	bucket_of_rank(histogram, (int64_t)above, &other, &high);
	*ret_low_ns = MAX(MIN(low, max_ns), min_ns);
	*ret_high_ns = MAX(MIN(high, max_ns), min_ns);
	return 0;
}
