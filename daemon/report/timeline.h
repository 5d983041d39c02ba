// SPDX-License-Identifier: GPL-3.0-or-later
/// The messages of a report's folder as one stream, filtered, in constant memory. What it sees of a running session is
/// what was there when it was opened, whole messages only. Files that are cut meanwhile are known by their inode; ones
/// that are dropped meanwhile are missed. A torn or damaged file is read up to its last whole message.
#ifndef CONDPROF_TIMELINE_H
#define CONDPROF_TIMELINE_H

#include "daemon/report/store.h"

struct timeline;

/// @param folder_fd borrowed
/// @param filter copied; NULL: everything
int timeline_open(int folder_fd, bool running, const struct report_filter *filter, struct timeline **ret);
struct timeline *timeline_close(struct timeline *timeline);

/// Bytes of varint-delimited messages, aggregates left out; a message may span calls.
/// @return bytes, 0: the end, negative errno (-ENOENT: the report was removed meanwhile)
ssize_t timeline_read(struct timeline *timeline, uint8_t *out, size_t size);

/// Where the newest message with aggregates is. Before the first timeline_read().
/// @return 1: [*ret_begin, *ret_end) of *ret_fd (the caller's); 0: there is none; negative errno
int timeline_find_aggregates(struct timeline *timeline, int *ret_fd, uint64_t *ret_begin, uint64_t *ret_end);

#endif
