// SPDX-License-Identifier: GPL-3.0-or-later
/// Counts every allocation of a program that links it, in all threads. Not where a sanitizer has malloc for itself.
#ifndef CONDPROF_TEST_COUNTING_MALLOC_H
#define CONDPROF_TEST_COUNTING_MALLOC_H

#include <stdbool.h>
#include <stdint.h>

bool counting_malloc_works(void);
/// malloc, calloc, realloc, aligned_alloc so far.
int64_t counting_malloc_count(void);

#endif
