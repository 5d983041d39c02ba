// SPDX-License-Identifier: GPL-3.0-or-later
//
// Every line that this writes is complete and valid by itself: names come from our tables, values are numbers, and of
// what others named nothing but clean, escaped text gets between the quotes.
#include "config.h"

#include "client/render/exposition.h"

#include "client/render/format.h"
#include "client/render/width.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static void begin_metric(struct exposition *exposition, const struct metric *metric)
{
	static const char *const types[] = {
		[METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};

	if (exposition->name == metric->name)
		return;
	exposition->name = metric->name;
	fprintf(exposition->out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
		types[metric->type]);
}

static void write_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*text == '\\' || *text == '"')
			putc('\\', out);
		putc(*text, out);
	}
}

char *metric_labels(const struct metric_label *labels, size_t n)
{
	char *text = NULL;
	size_t size;
	bool failed = false;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		CLEANUP_FREE char *clean = text_clean(labels[i].value ? labels[i].value : "");

		fprintf(out, "%s%s=\"", i > 0 ? "," : "", labels[i].name);
		if (clean)
			write_escaped(out, clean);
		else
			failed = true;
		putc('"', out);
	}
	failed = ferror(out) || failed;
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}

/// Decimal, without zeros that say nothing.
static const char *seconds_text(int64_t ns, char text[FORMAT_SIZE])
{
	assert(ns >= 0);
	int length = snprintf(text, FORMAT_SIZE, "%" PRId64 ".%09" PRId64, ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);

	while (text[length - 1] == '0')
		text[--length] = 0;
	if (text[length - 1] == '.')
		text[--length] = 0;
	return text;
}

void metric_count(struct exposition *exposition, const struct metric *metric, const char *labels, int64_t value)
{
	begin_metric(exposition, metric);
	fprintf(exposition->out, "%s{%s} %" PRId64 "\n", metric->name, labels, value);
}

void metric_seconds(struct exposition *exposition, const struct metric *metric, const char *labels, int64_t ns)
{
	char text[FORMAT_SIZE];

	begin_metric(exposition, metric);
	fprintf(exposition->out, "%s{%s} %s\n", metric->name, labels, seconds_text(ns, text));
}

void metric_histogram(struct exposition *exposition, const struct metric *metric, const char *labels,
		      const struct metric_bucket *buckets, size_t n, int64_t sum_ns, int64_t count)
{
	FILE *out = exposition->out;
	const char *name = metric->name;
	char text[FORMAT_SIZE];

	begin_metric(exposition, metric);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s_bucket{%s,le=\"%s\"} %" PRId64 "\n", name, labels,
			format_number((double)buckets[i].le_ns / (double)NSEC_PER_SEC, text), buckets[i].count);
	fprintf(out, "%s_bucket{%s,le=\"+Inf\"} %" PRId64 "\n", name, labels, count);
	fprintf(out, "%s_sum{%s} %s\n", name, labels, seconds_text(sum_ns, text));
	fprintf(out, "%s_count{%s} %" PRId64 "\n", name, labels, count);
}
