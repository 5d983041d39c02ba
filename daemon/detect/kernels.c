// SPDX-License-Identifier: GPL-3.0-or-later
// Which inner loops this CPU gets. Decided once, at the first use; deciding twice at the same time gives the same.
#include "daemon/detect/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1UL << 20)
#endif
#endif

static const struct kernels *chosen;

#if defined(__x86_64__)
static bool has_avxvnni(void)
{
	unsigned a, b, c, d;

	return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1U << 4);
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vnni");
}
#endif

size_t kernels_available(const struct kernels *ret[], size_t max)
{
	size_t n = 0;
	const struct kernels *found[4];

#if defined(__x86_64__)
	__builtin_cpu_init();
	if (has_avx512())
		found[n++] = &kernels_avx512;
	if (has_avxvnni())
		found[n++] = &kernels_avxvnni;
	if (__builtin_cpu_supports("avx2"))
		found[n++] = &kernels_avx2;
#elif defined(__aarch64__)
	if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP)
		found[n++] = &kernels_neon;
#endif
	found[n++] = &kernels_scalar;
	for (size_t i = 0; i < n && i < max; i++)
		ret[i] = found[i];
	return n < max ? n : max;
}

const struct kernels *kernels(void)
{
	const struct kernels *set = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	if (!set) {
		kernels_available(&set, 1);
		__atomic_store_n(&chosen, set, __ATOMIC_RELAXED);
	}
	return set;
}

void kernels_use(const struct kernels *set)
{
	__atomic_store_n(&chosen, set, __ATOMIC_RELAXED);
}
