// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/golden.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *below_reports(const char *path)
{
	char name[512];

	if (*path == '/')
		return path;
	snprintf(name, sizeof(name), "reports/%s", path);
	return unit_data(name);
}

struct report_source *golden_source(const char *path, const struct report_query *query)
{
	struct report_source *source;
	struct error error = {0};

	int r = report_source_folder(below_reports(path), query, &source, &error);
	ck_assert_msg(r == 0, "%s: %s", path, error.message);
	return source;
}

struct report *golden_report(const char *path)
{
	struct report_source *source = golden_source(path, &(struct report_query)REPORT_QUERY_ALL);
	struct report *report;
	struct error error = {0};

	int r = report_load(source, &report, &error);
	ck_assert_msg(r == 0, "%s: %s", path, error.message);
	report_source_close(source);
	return report;
}

struct golden golden_begin(size_t output)
{
	static const struct {
		enum output_kind kind;
		const char *suffix;
	} outputs[GOLDEN_OUTPUTS] = {{OUTPUT_JSON, "json"}, {OUTPUT_TEXT, "txt"}, {OUTPUT_CSV, "csv"}};
	struct golden golden = {.suffix = outputs[output].suffix};

	setenv("TZ", "UTC", 1);
	tzset();
	golden.file = tmpfile();
	ck_assert_ptr_nonnull(golden.file);
	golden.render = render_new(outputs[output].kind, golden.file, &(struct render_style){0});
	ck_assert_ptr_nonnull(golden.render);
	return golden;
}

static char *read_all(FILE *file)
{
	char *text = NULL;
	size_t size = 0;

	if (!file || getdelim(&text, &size, 0, file) < 0) {
		free(text);
		text = strdup("");
	}
	return text;
}

static void compare(const char *path, const char *text)
{
	if (getenv("CONDPROF_UPDATE_GOLDEN")) {
		FILE *file = fopen(path, "w");

		ck_assert_ptr_nonnull(file);
		fputs(text, file);
		fclose(file);
	}
	FILE *file = fopen(path, "r");
	char *wanted = read_all(file);
	if (file)
		fclose(file);
	ck_assert_msg(strcmp(text, wanted) == 0, "%s: it says\n%s", path, text);
	free(wanted);
}

void golden_end(struct golden *golden, const char *name)
{
	char path[256];

	ck_assert_int_eq(render_finish(golden->render), 0);
	render_free(golden->render);
	rewind(golden->file);
	char *text = read_all(golden->file);
	fclose(golden->file);
	snprintf(path, sizeof(path), "%.200s.%s", name, golden->suffix);
	compare(below_reports(path), text);
	free(text);
}
