// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/counting_malloc.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NOT_HERE 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define NOT_HERE 1
#endif

static _Atomic int64_t allocations;

int64_t counting_malloc_count(void)
{
	return atomic_load(&allocations);
}

#ifdef NOT_HERE
bool counting_malloc_works(void)
{
	return false;
}
#else
bool counting_malloc_works(void)
{
	return true;
}

// glibc's own, under the names it exports for this. free() isn't replaced: it is theirs.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_realloc(pointer, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_memalign(alignment, size);
}
#endif
