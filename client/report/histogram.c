// SPDX-License-Identifier: GPL-3.0-or-later
//
// Histograms come from files: nothing of them is believed, and the rank is found by integers, so that 0.99 of a hundred
// is the 99th.
#include "config.h"

#include "client/report/histogram.h"

#include <errno.h>
#include <math.h>

int histogram_count(const Condprof__Histogram *histogram, int64_t *ret)
{
	int64_t sum = histogram->zero;

	if (histogram->zero < 0 || histogram->overflow < 0 || histogram->first_bucket < 0 ||
	    histogram->n_buckets > HISTOGRAM_BUCKET_COUNT ||
	    histogram->first_bucket > HISTOGRAM_BUCKET_COUNT - (int)histogram->n_buckets)
		return -EBADMSG;
	for (size_t i = 0; i < histogram->n_buckets; i++)
		if (histogram->buckets[i] < 0 || __builtin_add_overflow(sum, histogram->buckets[i], &sum))
			return -EBADMSG;
	if (__builtin_add_overflow(sum, histogram->overflow, &sum))
		return -EBADMSG;
	*ret = sum;
	return 0;
}

static int64_t bucket_middle(int index)
{
	return llround(exp2((index + 0.5) / HISTOGRAM_BUCKETS_PER_POWER));
}

int histogram_percentile(const Condprof__Histogram *histogram, int per_mille, int64_t min_ns, int64_t max_ns,
			 int64_t *ret_ns)
{
	int64_t count;
	int r = histogram_count(histogram, &count);

	if (r < 0)
		return r;
	if (count == 0)
		return -ENODATA;
	int64_t rank = (int64_t)(((__int128)count * per_mille + 999) / 1000), seen = histogram->zero;
	if (seen >= rank) {
		*ret_ns = 0;
		return 0;
	}
	for (size_t i = 0; i < histogram->n_buckets; i++) {
		seen += histogram->buckets[i];
		if (seen < rank)
			continue;
		*ret_ns = MAX(MIN(bucket_middle(histogram->first_bucket + (int)i), max_ns), min_ns);
		return 0;
	}
	*ret_ns = max_ns;
	return 0;
}
