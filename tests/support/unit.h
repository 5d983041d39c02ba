// SPDX-License-Identifier: GPL-3.0-or-later
/// What every unit test program shares: runs the suite and prints TAP, a line a test.
#ifndef CONDPROF_TEST_UNIT_H
#define CONDPROF_TEST_UNIT_H

#include <check.h>

/// Runs the suite, frees it. @return main's exit status
int unit_run(Suite *suite);

/// Path of a file below tests/data; valid until the next call of the same thread.
const char *unit_data(const char *name);

#endif
