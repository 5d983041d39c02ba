// SPDX-License-Identifier: GPL-3.0-or-later
//
// The scenario as it was understood, for a person: events in the order they are looked at, each as if … and … then ….
#include "config.h"

#include "client/scenario/describe.h"
#include "client/scenario/file.h"
#include "client/scenario/value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct page {
	FILE *out;
	int columns; ///< 0: any
};

static int text_columns(const char *text, size_t size)
{
	int columns = 0;

	for (size_t i = 0; i < size;) {
		uint32_t code = 0;
		size_t length = utf8_take(text + i, size - i, &code);

		columns += length > 0 ? character_columns(code) : 1;
		i += MAX(length, 1U);
	}
	return columns;
}

/// A line that begins with `lead` and goes on under the end of it.
static void put(const struct page *page, const char *lead, const char *format, ...) PRINTF_LIKE(3, 4);

static void put(const struct page *page, const char *lead, const char *format, ...)
{
	char *text CLEANUP_FREE = NULL;
	int indent = *lead == '\n' ? 0 : text_columns(lead, strlen(lead)), column = indent;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	fputs(lead, page->out);
	for (const char *p = text ? text : ""; *p;) {
		size_t size = strcspn(p, " ");
		int width = text_columns(p, size);

		if (page->columns > 0 && column > indent && column + 1 + width > page->columns) {
			fprintf(page->out, "\n%*s", indent, "");
			column = indent;
		} else if (p != text) {
			fputc(' ', page->out);
			column++;
		}
		fwrite(p, 1, size, page->out);
		column += width;
		p += size;
		p += *p == ' ';
	}
	fputc('\n', page->out);
}

static size_t count_conditions(Condprof__Event *const *events, size_t count)
{
	size_t conditions = 0;

	for (size_t i = 0; i < count; i++)
		conditions += events[i]->n_conditions;
	return conditions;
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void put_counters(const struct page *page, const Condprof__Scenario *scenario)
{
	char *list CLEANUP_FREE = NULL, word[QUOTED_BYTES], number[48];
	size_t size;
	FILE *text = open_memstream(&list, &size);

	if (!text)
		return;
	for (size_t i = 0; i < scenario->n_counters; i++)
		fprintf(text, "%s%s = %s", i > 0 ? ", " : "", name_text(scenario->counters[i]->name, word),
			number_text(scenario->counters[i]->initial_value, number, sizeof(number)));
	fclose(text);
	if (scenario->n_counters > 0 && list)
		put(page, "  counters   ", "%s", list);
}

static void put_head(const struct page *page, const Condprof__Scenario *scenario)
{
	char text[DESCRIPTION_BYTES], uri[1100], duration[48];
	size_t screens = scenario->n_screen_events, triggers = scenario->n_trigger_events;
	size_t conditions = count_conditions(scenario->screen_events, screens) +
			    count_conditions(scenario->trigger_events, triggers);

	put(page, "", "%s: %zu screen event%s, %zu trigger event%s, %zu condition%s", name_text(scenario->name, text),
	    screens, plural(screens), triggers, plural(triggers), conditions, plural(conditions));
	if (scenario->screen)
		put(page, "  screen     ", "%s",
		    text_for_message(scenario->screen, strlen(scenario->screen), 1000, uri, sizeof(uri)));
	else
		put(page, "  screen     ", "none here: start needs --screen");
	if (scenario->input)
		put(page, "  input      ", "%s",
		    text_for_message(scenario->input, strlen(scenario->input), 1000, uri, sizeof(uri)));
	else
		put(page, "  input      ", "what the screen implies");
	put(page, "  rate       ", "%s", describe_rate(scenario->rate, text));
	if (scenario->quality > 0)
		put(page, "  quality    ", "frames reduced to %d px on their longer side", scenario->quality);
	if (scenario->rotate_ns > 0)
		put(page, "  rotate     ", "a new report every %s",
		    duration_text(scenario->rotate_ns, duration, sizeof(duration)));
	if (scenario->randomize)
		put(page, "  randomize  ", "positions and durations vary a little");
	put_counters(page, scenario);
}

static void put_event_head(const struct page *page, const Condprof__Event *event, size_t number)
{
	char name[QUOTED_BYTES], lead[32], duration[48];
	char notes[256] = "";
	size_t used = 0;

	if (!event->enabled)
		used += (size_t)snprintf(notes + used, sizeof(notes) - used, "; disabled at the start");
	if (event->cooldown_ns > 0)
		used += (size_t)snprintf(notes + used, sizeof(notes) - used, "; rests for %s afterwards",
					 duration_text(event->cooldown_ns, duration, sizeof(duration)));
	if (event->keep_detecting)
		used += (size_t)snprintf(notes + used, sizeof(notes) - used, "; the pass goes on afterwards%s",
					 event->refresh ? " on a newer frame" : "");
	snprintf(lead, sizeof(lead), "%3zu. ", number);
	put(page, lead, "%s%s", name_text(event->name, name), notes);
}

/// Its name only where the sentence doesn't say it anyway.
static void put_condition(const struct page *page, const char *lead, const Condprof__Condition *condition)
{
	char name[QUOTED_BYTES], text[DESCRIPTION_BYTES];

	describe_condition(condition, text);
	if (strstr(text, name_text(condition->name, name)))
		put(page, lead, "%s", text);
	else
		put(page, lead, "%s: %s", name, text);
}

static void put_event(const struct page *page, const Condprof__Event *event, size_t number)
{
	const char *join = event->match == CONDPROF__MATCH__MATCH_ANY ? "     or   " : "     and  ";
	char text[DESCRIPTION_BYTES];

	put_event_head(page, event, number);
	for (size_t i = 0; i < event->n_conditions; i++)
		put_condition(page, i == 0 ? "     if   " : join, event->conditions[i]);
	for (size_t i = 0; i < event->n_actions; i++)
		put(page, i == 0 ? "     then " : "          ", "%s", describe_action(event->actions[i], text));
	if (event->n_actions == 0)
		put(page, "     then ", "nothing: it is only counted");
}

static void put_scenario(const struct page *page, const Condprof__Scenario *scenario)
{
	put_head(page, scenario);
	if (scenario->n_screen_events > 0)
		put(page, "\n", "screen events, looked at in this order until one is fulfilled");
	for (size_t i = 0; i < scenario->n_screen_events; i++)
		put_event(page, scenario->screen_events[i], i + 1);
	if (scenario->n_trigger_events > 0)
		put(page, "\n", "trigger events, all looked at in every pass");
	for (size_t i = 0; i < scenario->n_trigger_events; i++)
		put_event(page, scenario->trigger_events[i], i + 1);
}

void scenario_print(const struct scenario_file *file, FILE *out, int columns)
{
	const Condprof__Scenario *scenario = scenario_file_message(file);
	char *text CLEANUP_FREE = NULL;
	size_t size;
	struct page page = {open_memstream(&text, &size), columns > 0 ? MAX(columns, 40) : 0};

	if (!page.out)
		return;
	if (scenario)
		put_scenario(&page, scenario);
	if (fclose(page.out) == 0 && text)
		print_for(out, text, file->options.ascii);
}
