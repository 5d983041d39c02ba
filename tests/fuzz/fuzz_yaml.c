// SPDX-License-Identifier: GPL-3.0-or-later
//
// A scenario file from anywhere: whatever it is, it is understood or told off; what is understood is shown, packed, and
// taken by the daemon. No file is opened.
#include "tests/fuzz/fuzz.h"

#include "client/scenario/load.h"
#include "daemon/scenario/scenario.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <errno.h>
#include <string.h>

static void print_all(struct scenario_file *file)
{
	char *text CLEANUP_FREE = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	FUZZ_ASSERT(out != NULL);
	scenario_file_print_diagnostics(file, out);
	scenario_print(file, out, 60);
	fclose(out);
	FUZZ_ASSERT(utf8_valid(text, size) && !utf8_has_control(text, true));
}

/// What the client takes the daemon takes, but for images (not read here) and what it has not built.
static void check_daemon_agrees(const struct scenario_file *file)
{
	struct scenario_problems problems = {0};
	struct scenario *scenario = NULL;
	uint8_t *packed CLEANUP_FREE = NULL;
	size_t size = 0;
	uint32_t line, column;

	FUZZ_ASSERT(scenario_file_pack(file, &packed, &size, NULL) == 0);
	int r = scenario_decode(packed, size, &scenario, &problems);
	FUZZ_ASSERT(r == 0 || r == -EINVAL);
	for (size_t i = 0; i < MIN(problems.count, SCENARIO_MAX_PROBLEMS); i++) {
		const struct error *problem = &problems.items[i];
		const char *field = strrchr(problem->place, '.');

		FUZZ_ASSERT(problem->code == CONDPROF__CODE__UNSUPPORTED || (field && !strcmp(field, ".image")));
		FUZZ_ASSERT(scenario_locate(file, problem->place, &line, &column) == 0 && line > 0 && column > 0);
	}
	scenario_free(scenario);
}

static void add_refusal(struct scenario_file *file, const uint8_t *data, size_t size)
{
	char place[64];
	size_t length = MIN(size, sizeof(place) - 1);

	memcpy(place, data + size - length, length);
	place[length] = '\0';
	scenario_file_add_problem(file, place, place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	// remote: a replay folder named in the file is not looked at
	const struct scenario_load_options options = {.without_images = true, .remote = true};
	struct scenario_file *file = NULL;

	if (scenario_load_text("fuzz.yaml", (const char *)data, size, NULL, &options, &file, NULL) < 0)
		return 0;
	if (scenario_file_errors(file) == 0) {
		FUZZ_ASSERT(scenario_file_message(file) != NULL);
		check_daemon_agrees(file);
		scenario_file_warn(file);
	}
	print_all(file);
	add_refusal(file, data, size);
	print_all(file);
	scenario_file_free(file);
	return 0;
}
