// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int unit_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);

	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

const char *unit_data(const char *name)
{
	static _Thread_local char path[PATH_MAX];
	const char *top = getenv("top_srcdir");

	snprintf(path, sizeof(path), "%s/tests/data/%s", top ? top : ".", name);
	return path;
}
