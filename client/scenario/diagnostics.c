// SPDX-License-Identifier: GPL-3.0-or-later
//
// Keeps the first mistakes and warnings of a file and counts the rest. Messages are made harmless for a terminal when
// they come in, so that whoever prints one need not think of it.
#include "config.h"

#include "client/scenario/diagnostics.h"

#include <stdarg.h>
#include <string.h>

static size_t *counter_of(struct diagnostics *list, enum diagnostic_severity severity)
{
	return severity == DIAGNOSTIC_ERROR ? &list->errors : &list->warnings;
}

static void keep(struct diagnostics *list, const struct diagnostic *place, const char *message)
{
	char safe[DIAGNOSTIC_MESSAGE_BYTES];
	size_t *found = counter_of(list, place->severity);

	if ((*found)++ >= SCENARIO_MAX_PROBLEMS)
		return;
	struct diagnostic item = *place;
	item.message = strdup(text_for_message(message, strlen(message), DIAGNOSTIC_MESSAGE_BYTES, safe, sizeof(safe)));
	if (!item.message) {
		list->out_of_memory = true;
		return;
	}
	list->items[list->count++] = item;
}

void diagnostics_add(struct diagnostics *list, enum diagnostic_severity severity, size_t start, size_t end,
		     const char *format, ...)
{
	char message[DIAGNOSTIC_MESSAGE_BYTES];
	struct diagnostic place = {.severity = severity, .length = end > start ? (uint32_t)(end - start) : 1};
	va_list arguments;

	source_position(list->source, start, &place.line, &place.column);
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	keep(list, &place, message);
}

void diagnostics_add_at_byte(struct diagnostics *list, size_t offset, const char *message)
{
	struct diagnostic place = {.severity = DIAGNOSTIC_ERROR, .length = 1};

	source_byte_position(list->source, offset, &place.line, &place.column);
	keep(list, &place, message);
}

void diagnostics_add_whole(struct diagnostics *list, enum diagnostic_severity severity, const char *format, ...)
{
	char message[DIAGNOSTIC_MESSAGE_BYTES];
	struct diagnostic place = {.severity = severity};
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	keep(list, &place, message);
}

bool diagnostics_wanted(const struct diagnostics *list)
{
	return list->errors < SCENARIO_MAX_PROBLEMS;
}

static bool is_after(const struct diagnostic *a, const struct diagnostic *b)
{
	return a->line != b->line ? a->line > b->line : a->column > b->column;
}

void diagnostics_sort(struct diagnostics *list)
{
	// few, and of one place in the order they were found
	for (size_t i = 1; i < list->count; i++) {
		struct diagnostic item = list->items[i];
		size_t at = i;

		for (; at > 0 && is_after(&list->items[at - 1], &item); at--)
			list->items[at] = list->items[at - 1];
		list->items[at] = item;
	}
}

static void print_list(const struct diagnostics *list, FILE *out)
{
	const struct source *source = list->source;
	char name[512];
	size_t kept = 0;

	text_for_message(source->name, strlen(source->name), 400, name, sizeof(name));
	for (size_t i = 0; i < list->count; i++) {
		const struct diagnostic *item = &list->items[i];
		const char *severity = item->severity == DIAGNOSTIC_ERROR ? "error" : "warning";

		kept += item->severity == DIAGNOSTIC_ERROR;
		if (item->line == 0) {
			fprintf(out, "%s: %s: %s\n", name, severity, item->message);
			continue;
		}
		fprintf(out, "%s:%u:%u: %s: %s\n", name, item->line, item->column, severity, item->message);
		source_print_excerpt(source, item->line, item->column, item->length, out);
	}
	if (list->errors > kept)
		fprintf(out, "%s: %zu more mistake%s\n", name, list->errors - kept,
			list->errors - kept == 1 ? "" : "s");
	if (list->warnings > list->count - kept)
		fprintf(out, "%s: %zu more warnings\n", name, list->warnings - (list->count - kept));
}

void diagnostics_print(const struct diagnostics *list, bool ascii, FILE *out)
{
	char *text CLEANUP_FREE = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	print_list(list, memory);
	if (fclose(memory) == 0 && text)
		print_for(out, text, ascii);
}

void diagnostics_clear(struct diagnostics *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].message);
	list->count = 0;
}
