// SPDX-License-Identifier: GPL-3.0-or-later
/// The writer thread: appends what recorders queue, keeps checkpoints at most 10 s old, cuts segments, closes reports.
/// One for the daemon. Sleeps without a timer while no session runs.
#ifndef CONDPROF_WRITER_H
#define CONDPROF_WRITER_H

#include "daemon/report/recorder.h"

/// A field left 0 means the default.
struct writer_limits {
	uint64_t segment_bytes;  ///< default 8 MiB
	uint64_t messages_bytes; ///< all segments of a report; default 64 MiB
	int64_t checkpoint_ns;   ///< default 10 s
};

/// @param limits NULL: the defaults
int writer_start(const struct writer_limits *limits, struct writer **ret, struct error *error);
/// Other limits for reports that begin from now on. Any thread.
void writer_set_limits(struct writer *writer, const struct writer_limits *limits);
/// After every recorder was closed.
struct writer *writer_stop(struct writer *writer);

#endif
