// SPDX-License-Identifier: GPL-3.0-or-later
/// What the client makes of a report's bytes, in every view, comparison and output: three lengths (16 bits,
/// little-endian), then the scenario, the overview, the aggregates, and the rest are messages. JSON must be JSON, and
/// text must not steer a terminal, a page has no tags but its own, and every line of the metrics is one.
#include "tests/fuzz/fuzz.h"

#include "client/view/advise.h"
#include "client/view/diff.h"
#include "client/view/report.h"
#include "proto/utf8.h"

#include <json-c/json.h>
#include <locale.h>
#include <string.h>

struct bytes_source {
	struct report_source base;
	const uint8_t *parts[4];
	size_t sizes[4];
	int next;
};

static int bytes_next(struct report_source *base, Condprof__ReportPart *ret_part, const uint8_t **ret_data,
		      size_t *ret_size, struct error *error)
{
	struct bytes_source *source = (struct bytes_source *)base;

	(void)error;
	if (source->next == 4)
		return 0;
	*ret_part = (Condprof__ReportPart)source->next;
	*ret_data = source->parts[source->next];
	*ret_size = source->sizes[source->next++];
	return 1;
}

static struct report_source *bytes_close(struct report_source *base)
{
	(void)base;
	return NULL;
}

static struct bytes_source split(const uint8_t *data, size_t size)
{
	struct bytes_source source = {.base = {bytes_next, bytes_close}};
	const uint8_t *lengths = data;

	data += 6;
	size -= 6;
	for (int i = 0; i < 4; i++) {
		size_t length = i < 3 ? lengths[2 * i] | (size_t)lengths[2 * i + 1] << 8 : size;

		source.parts[i] = data;
		source.sizes[i] = MIN(length, size);
		data += source.sizes[i];
		size -= source.sizes[i];
	}
	return source;
}

static void show(struct render *render, enum view_kind view, struct report *report, struct bytes_source source)
{
	const struct view_filter filter = {FILTER_TEXT, "e"};
	const struct view_options options = {.sort = view == VIEW_EVENTS ? SORT_NAME : SORT_P99,
					     .filters = &filter,
					     .n_filters = report->n_conditions % 2};
	const struct report_query query = REPORT_QUERY_ALL;
	struct timeline_view timeline;
	struct error error;

	view_report_begin(render, view, report);
	if (view == VIEW_OVERVIEW)
		FUZZ_ASSERT(view_overview(render, report) == 0);
	else if (view == VIEW_CONDITIONS)
		FUZZ_ASSERT(view_conditions(render, report, &options) == 0);
	else if (view == VIEW_EVENTS)
		FUZZ_ASSERT(view_events(render, report, &options) == 0);
	if (view == VIEW_TIMELINE) {
		view_timeline_begin(&timeline, render, report);
		int r = report_each_occurrence(&source.base, report, &query, view_timeline_occurrence, &timeline,
					       &error);
		FUZZ_ASSERT(r == 0);
		view_timeline_end(&timeline);
	}
	view_report_end(render, report);
}

static void check(enum output_kind output, const char *text, size_t size)
{
	FUZZ_ASSERT(strlen(text) == size);
	FUZZ_ASSERT(utf8_valid(text, size));
	FUZZ_ASSERT(!utf8_has_control(text, true));
	if (output != OUTPUT_JSON)
		return;
	struct json_object *object = json_tokener_parse(text);
	FUZZ_ASSERT(object && json_object_is_type(object, json_type_object));
	json_object_put(object);
}

/// Every tag in the page's body is one that it has of itself.
static void check_page(const char *text)
{
	static const char *const tags[] = {"section", "h1",  "h2",   "h3",   "p",     "dl",      "div",   "dt",
					   "dd",      "svg", "path", "rect", "table", "thead",   "tbody", "tr",
					   "th",      "td",  "i",    "span", "title", "noscript"};
	const char *place = strstr(text, "<main>");

	FUZZ_ASSERT(place);
	for (place = strchr(place + 1, '<'); strncmp(place, "</main>", 7) != 0; place = strchr(place + 1, '<')) {
		const char *name = place + (place[1] == '/' ? 2 : 1);
		size_t length = strcspn(name, " />"), i = 0;

		while (i < ARRAY_SIZE(tags) && (strlen(tags[i]) != length || strncmp(tags[i], name, length) != 0))
			i++;
		FUZZ_ASSERT(i < ARRAY_SIZE(tags));
	}
	FUZZ_ASSERT(strstr(place, "<script>") == strstr(text, "<script>"));
}

static void check_metrics(const char *text)
{
	for (; *text; text += strcspn(text, "\n") + 1) {
		const char *value = text + strcspn(text, "\n");

		FUZZ_ASSERT(*value);
		while (value[-1] != ' ')
			value--;
		FUZZ_ASSERT(*text == '#' || (strncmp(text, "condprof_", 9) == 0 && strspn(value, "0123456789.") > 0));
	}
}

static void show_whole(struct report *report, struct bytes_source source)
{
	const struct report_query query = REPORT_QUERY_ALL;
	struct timeline_view timeline;
	struct error error;
	char *page = NULL, *metrics = NULL;
	size_t page_size, metrics_size;
	FILE *page_file = open_memstream(&page, &page_size), *metrics_file = open_memstream(&metrics, &metrics_size);
	struct render *render = render_new(OUTPUT_HTML, page_file, &(struct render_style){0});

	FUZZ_ASSERT(render && view_document_begin(render, report, true) == 0);
	view_timeline_begin(&timeline, render, report);
	FUZZ_ASSERT(report_each_occurrence(&source.base, report, &query, view_timeline_occurrence, &timeline, &error) ==
		    0);
	view_timeline_end(&timeline);
	view_document_end(render, report, 0);
	FUZZ_ASSERT(render_finish(render) == 0);
	render_free(render);
	fclose(page_file);
	FUZZ_ASSERT(view_metrics(metrics_file, report) == 0);
	fclose(metrics_file);
	check(OUTPUT_HTML, page, page_size);
	check_page(page);
	check(OUTPUT_PROMETHEUS, metrics, metrics_size);
	check_metrics(metrics);
	free(page);
	free(metrics);
}

/// Held against another report, and asked for advice.
static void show_findings(enum output_kind output, const struct report *report, const struct report *other)
{
	const struct render_style style = {.width = report->n_conditions % 2 ? 0 : 60, .ascii = report->n_events % 2};
	struct diff_rule rules[2];
	const struct diff_options options = {rules, 2, 2};
	struct report_diff *diff;
	struct report_advice *advice;
	char *text = NULL;
	size_t length, failed, judged;
	FILE *file = open_memstream(&text, &length);
	struct render *render = render_new(output, file, &style);

	FUZZ_ASSERT(render && diff_rule_parse("average>+0%", &rules[0]) == 0 &&
		    diff_rule_parse("p50>+1%", &rules[1]) == 0);
	FUZZ_ASSERT(report_diff_new(report, other, &diff) == 0);
	FUZZ_ASSERT(view_diff(render, diff, &options, &failed, &judged) == 0 && failed <= judged);
	report_diff_free(diff);
	FUZZ_ASSERT(render_finish(render) == 0);
	render_free(render);
	fclose(file);
	check(output, text, length);
	free(text);
	if (report_advise(report, &advice) < 0)
		return;
	text = NULL;
	file = open_memstream(&text, &length);
	render = render_new(output, file, &style);
	FUZZ_ASSERT(view_advice(render, advice) == 0 && render_finish(render) == 0);
	for (size_t i = 0; i < advice->n_items; i++)
		FUZZ_ASSERT(!advice->items[i].saving_ns.known || advice->items[i].saving_ns.value >= 0);
	report_advice_free(advice);
	render_free(render);
	fclose(file);
	check(output, text, length);
	free(text);
}

/// The same figures with a scenario out of what should be messages; or with its own where that is none.
static struct report *load_other(struct bytes_source source)
{
	struct report *report;
	struct error error;

	source.parts[0] = source.parts[3];
	source.sizes[0] = source.sizes[3];
	FUZZ_ASSERT(report_load(&source.base, &report, &error) == 0);
	return report;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum output_kind outputs[] = {OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV};
	struct report *report;
	struct error error;

	if (size < 6)
		return 0;
	setlocale(LC_CTYPE, "C.UTF-8");
	struct bytes_source source = split(data, size), again = source;
	if (report_load(&source.base, &report, &error) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(outputs) * VIEW_KINDS; i++) {
		const struct render_style style = {.width = size % 3 ? 0 : 50, .ascii = size % 2};
		char *text = NULL;
		size_t length;
		FILE *file = open_memstream(&text, &length);
		struct render *render = render_new(outputs[i / VIEW_KINDS], file, &style);

		FUZZ_ASSERT(render);
		show(render, (enum view_kind)(i % VIEW_KINDS), report, again);
		FUZZ_ASSERT(render_finish(render) == 0);
		render_free(render);
		fclose(file);
		check(outputs[i / VIEW_KINDS], text, length);
		free(text);
	}
	show_whole(report, again);
	struct report *other = load_other(again);
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		show_findings(outputs[i], report, i % 2 ? other : report);
		show_findings(outputs[i], other, report);
	}
	message_bytes_fit(again.parts[3], again.sizes[3], &(struct report_query)REPORT_QUERY_ALL);
	report_free(other);
	report_free(report);
	return 0;
}
