// SPDX-License-Identifier: GPL-3.0-or-later
/// The reports made by hand below tests/data/reports, and what is printed of them compared byte for byte with files
/// beside them. CONDPROF_UPDATE_GOLDEN=1 writes those anew: then look at what changed.
#ifndef CONDPROF_TEST_GOLDEN_H
#define CONDPROF_TEST_GOLDEN_H

#include "client/render/render.h"
#include "client/report/report.h"

/// The report's folder, opened. @param path below tests/data/reports, or absolute
struct report_source *golden_source(const char *path, const struct report_query *query);
/// Its report, which has to be readable.
struct report *golden_report(const char *path);

#define GOLDEN_OUTPUTS 3U ///< json, text, csv

struct golden {
	struct render *render;
	const char *suffix;
	FILE *file;
};

/// Local time is UTC from then on.
struct golden golden_begin(size_t output);
/// @param name of the file below tests/data/reports, without its suffix
void golden_end(struct golden *golden, const char *name);

#endif
