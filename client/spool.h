// SPDX-License-Identifier: GPL-3.0-or-later
/// Takes a stream in at once, into an unnamed temporary file, and gives it out at the reader's pace: whoever pages
/// through a long timeline must neither hold the daemon up nor run into its time limits.
#ifndef CONDPROF_CLIENT_SPOOL_H
#define CONDPROF_CLIENT_SPOOL_H

#include "client/report/source.h"

/// Reads `source` to its end and closes it in any case. Where no file can be made it comes back as it is.
/// @return 0, or what the source failed with
int report_source_spool(struct report_source *source, struct report_source **ret, struct error *error);

#endif
