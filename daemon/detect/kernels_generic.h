// SPDX-License-Identifier: GPL-3.0-or-later
// Inner loops that compilers turn into good vector code by themselves, as text: every set of kernels includes it with
// its own TARGET, the function attribute.
#include <string.h>

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint16_t words16 __attribute__((vector_size(32)));
typedef uint32_t longs16 __attribute__((vector_size(64)));

TARGET static void weigh(const uint8_t *bytes, uint32_t weight, uint32_t *sums, int count)
{
	bytes16 more;
	longs16 all;
	int i = 0;

	for (; i + 16 <= count; i += 16) {
		memcpy(&more, bytes + i, sizeof(more));
		memcpy(&all, sums + i, sizeof(all));
		all += __builtin_convertvector(more, longs16) * weight;
		memcpy(sums + i, &all, sizeof(all));
	}
	for (; i < count; i++)
		sums[i] += weight * bytes[i];
}

TARGET static void weigh_small(const uint8_t *bytes, uint16_t weight, uint16_t *sums, int count)
{
	bytes16 more;
	words16 all;
	int i = 0;

	for (; i + 16 <= count; i += 16) {
		memcpy(&more, bytes + i, sizeof(more));
		memcpy(&all, sums + i, sizeof(all));
		all += __builtin_convertvector(more, words16) * weight;
		memcpy(sums + i, &all, sizeof(all));
	}
	for (; i < count; i++)
		sums[i] = (uint16_t)(sums[i] + weight * bytes[i]);
}
