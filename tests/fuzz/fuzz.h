// SPDX-License-Identifier: GPL-3.0-or-later
/// What a fuzz target is: one file fuzz_NAME.c with the function below, and its seeds in corpus/NAME/.
///
/// With --enable-fuzzers it is linked as the libFuzzer program fuzz_NAME; always, with replay.c, as the check program
/// replay_NAME, which gives it every file of its corpus. A past crash becomes a file there.
///
/// A target must not keep anything between calls, and must free all it took: a leak is a finding. What must hold it
/// says by FUZZ_ASSERT(), which is there in every kind of build.
#ifndef CONDPROF_FUZZ_H
#define CONDPROF_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/// @return 0
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_ASSERT(condition)                                                                                         \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                  \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
