// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loops with AVX2 and AVX-VNNI (CPUs without AVX-512).
#include "daemon/detect/kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,avxvnni")))
#define DOT(sums, u, s) _mm256_dpbusd_avx_epi32(sums, u, s)
#define SET kernels_avxvnni
#define TRANSFORM_COST 185000
#define NAME "avxvnni"
#include "daemon/detect/kernels_256.h"
#endif
