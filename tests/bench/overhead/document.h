// SPDX-License-Identifier: GPL-3.0-or-later
/// The two halves of the document: what came out, and how it was made.
#ifndef CONDPROF_BENCH_OVERHEAD_DOCUMENT_H
#define CONDPROF_BENCH_OVERHEAD_DOCUMENT_H

#include "tests/bench/overhead/figures.h"

/// "10/s, rotation"
void document_series_name(const struct results *results, const struct series *series, char *out, size_t size);

void document_method(const struct results *results, FILE *out);

#endif
