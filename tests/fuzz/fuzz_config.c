// SPDX-License-Identifier: GPL-3.0-or-later
/// Configuration files of any kind. Either everything in it is right, and every value within what condprofd.conf(5)
/// allows, or each mistake has a line of its own: file, line, text without control characters; and never more than 21.
#include "tests/fuzz/fuzz.h"

#include "daemon/system/configuration.h"
#include "proto/utf8.h"

#include <errno.h>
#include <string.h>

#define NAME "x.conf"

static void check_mistakes(const char *mistakes)
{
	unsigned lines = 0;

	FUZZ_ASSERT(utf8_valid(mistakes, strlen(mistakes)) && !utf8_has_control(mistakes, true));
	for (const char *line = mistakes; *line; lines++) {
		const char *end = strchr(line, '\n');

		FUZZ_ASSERT(end && end > line);
		FUZZ_ASSERT(!strncmp(line, NAME ":", strlen(NAME ":")) || !strncmp(line, "and ", 4));
		line = end + 1;
	}
	FUZZ_ASSERT(lines >= 1 && lines <= 21);
}

static void check_values(const struct configuration *configuration)
{
	FUZZ_ASSERT(configuration->max_reports >= 1);
	FUZZ_ASSERT(configuration->max_report_bytes >= 1024 * 1024 && configuration->max_report_bytes <= INT64_MAX);
	FUZZ_ASSERT(configuration->max_messages_bytes >= 1024 * 1024 && configuration->max_messages_bytes <= INT64_MAX);
	for (char **folder = configuration->frame_folders; folder && *folder; folder++)
		FUZZ_ASSERT(**folder == '/');
	FUZZ_ASSERT(!configuration->xauthority || configuration->xauthority[0] == '/');
	FUZZ_ASSERT(!configuration->control_group || configuration->control_group[0]);
	for (int i = 0; i < LOG_MODULES; i++)
		FUZZ_ASSERT(configuration->log_levels.of[i] >= LOG_LEVEL_ERROR &&
			    configuration->log_levels.of[i] <= LOG_LEVEL_DEBUG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct configuration *configuration = NULL;
	char *mistakes = NULL;
	int r = configuration_parse(NAME, (const char *)data, size, &configuration, &mistakes);

	FUZZ_ASSERT((r == 0) == (configuration != NULL) && (r == -EINVAL) == (mistakes != NULL));
	FUZZ_ASSERT(r == 0 || r == -EINVAL);
	if (mistakes)
		check_mistakes(mistakes);
	else
		check_values(configuration);
	free(mistakes);
	configuration_unref(configuration);
	return 0;
}
