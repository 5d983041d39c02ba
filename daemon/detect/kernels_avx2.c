// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loops with AVX2. Products of bytes come in pairs of 16 bits, which is why weights stay within 64.
#include "daemon/detect/kernels.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define DOT(sums, u, s) _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1)))
#define SET kernels_avx2
#define TRANSFORM_COST 155000
#define NAME "avx2"
#include "daemon/detect/kernels_256.h"
#endif
