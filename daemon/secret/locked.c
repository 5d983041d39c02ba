// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/secret/locked.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

int locked_new(size_t size, char **ret)
{
	size_t bytes = whole_pages(MAX(size, 1U));
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	if (mlock(memory, bytes) < 0 || madvise(memory, bytes, MADV_DONTDUMP) < 0 ||
	    madvise(memory, bytes, MADV_DONTFORK) < 0) {
		int r = -errno;

		munmap(memory, bytes);
		return r;
	}
	*ret = memory;
	return 0;
}

char *locked_free(char *memory, size_t size)
{
	size_t bytes = whole_pages(MAX(size, 1U));

	if (!memory)
		return NULL;
	explicit_bzero(memory, bytes);
	munmap(memory, bytes); // unlocks it too
	return NULL;
}
