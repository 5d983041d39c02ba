// SPDX-License-Identifier: GPL-3.0-or-later
//
// report: a session's report, of the daemon or out of a folder, in one of its views. The facts are read first, because
// events are asked for by name and known by id; then, for the timeline, the occurrences as they come.
#include "config.h"

#include "client/commands.h"
#include "client/quantity.h"
#include "client/reports.h"
#include "client/spool.h"
#include "client/view/report.h"

#include <ctype.h>
#include <string.h>

/// What the command line asks for.
struct report_command {
	enum view_kind view;
	struct view_options options;
	struct report_query query;
	struct chosen_report chosen;
	struct view_filter *filters;
	const struct report_event **events;
};

static void command_clear(struct report_command *command)
{
	free(command->filters);
	free(command->events);
	free(command->query.event_ids);
	chosen_report_clear(&command->chosen);
}

/// The index of `word` among `names`, or -1 after saying what is wrong.
static int word_index(const struct client *client, const char *option, const char *word, const char *const *names)
{
	char list[256] = "";
	size_t n, length = 0;

	for (n = 0; names[n]; n++) {
		if (strcmp(names[n], word) == 0)
			return (int)n;
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s", n > 0 ? ", " : "", names[n]);
	}
	const char *nearest = nearest_word(word, names, n);
	if (nearest)
		client_fail(client, EXIT_USAGE, "%s %s: did you mean %s?", option, word, nearest);
	else
		client_fail(client, EXIT_USAGE, "%s %s: one of %s is needed", option, word, list);
	return -1;
}

static enum exit_code take_time(const struct client *client, const char *name, int64_t *ret_ns)
{
	const char *text = client_option(client, name);

	if (text && duration_parse(text, ret_ns) < 0)
		return client_fail(client, EXIT_USAGE, "%s %s: a time with its unit is needed, as in 90s or 500ms",
				   name, text);
	return EXIT_DONE;
}

static enum exit_code take_filters(const struct client *client, struct report_command *command)
{
	static const char *const kinds[] = {"image",   "color",     "text",   "number",  "timer",
					    "counter", "broadcast", "screen", "trigger", NULL};
	static const struct {
		const char *prefix;
		enum filter_kind kind;
	} prefixes[] = {{"name=", FILTER_NAME}, {"event=", FILTER_EVENT}, {"kind=", FILTER_KIND}};
	const char *text;
	size_t n = 0;

	while (client_option_at(client, "--filter", n))
		n++;
	command->filters = calloc(n + 1, sizeof(*command->filters));
	if (!command->filters)
		return client_fail(client, EXIT_FAILED, "out of memory");
	for (size_t i = 0; (text = client_option_at(client, "--filter", i)); i++) {
		struct view_filter filter = {FILTER_TEXT, text};

		for (size_t k = 0; k < ARRAY_SIZE(prefixes); k++)
			if (strncmp(text, prefixes[k].prefix, strlen(prefixes[k].prefix)) == 0)
				filter = (struct view_filter){prefixes[k].kind, text + strlen(prefixes[k].prefix)};
		if (filter.kind == FILTER_KIND && word_index(client, "--filter kind=", filter.text, kinds) < 0)
			return EXIT_USAGE;
		command->filters[i] = filter;
	}
	command->options.filters = command->filters;
	command->options.n_filters = n;
	return EXIT_DONE;
}

/// What does nothing in a view is a mistake there.
static enum exit_code check_fit(const struct client *client, enum view_kind view)
{
	static const struct {
		const char *option;
		unsigned views;
		const char *where;
	} rows[] = {
		{"--sort", 1U << VIEW_CONDITIONS | 1U << VIEW_EVENTS, "--view conditions and events"},
		{"--top", 1U << VIEW_CONDITIONS | 1U << VIEW_EVENTS, "--view conditions and events"},
		{"--filter", 1U << VIEW_CONDITIONS | 1U << VIEW_EVENTS, "--view conditions and events"},
		{"--event", 1U << VIEW_CONDITIONS | 1U << VIEW_EVENTS | 1U << VIEW_TIMELINE,
		 "--view conditions, events and timeline"},
		{"--since", 1U << VIEW_TIMELINE, "--view timeline"},
		{"--until", 1U << VIEW_TIMELINE, "--view timeline"},
		{"--limit", 1U << VIEW_TIMELINE, "--view timeline"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (client_flag(client, rows[i].option) && !(rows[i].views & 1U << view))
			return client_fail(client, EXIT_USAGE, "%s is for %s", rows[i].option, rows[i].where);
	return EXIT_DONE;
}

/// What chooses a view or its rows means nothing where all of them are wanted.
static enum exit_code check_whole(const struct client *client)
{
	static const struct {
		const char *option;
		bool html;
	} rows[] = {{"--view", false},  {"--sort", false}, {"--top", false},  {"--filter", false},
		    {"--event", false}, {"--since", true}, {"--until", true}, {"--limit", true}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (client_flag(client, rows[i].option) && !(rows[i].html && client->output == OUTPUT_HTML))
			return client_fail(client, EXIT_USAGE, "%s does not go with --output %s: it has all views",
					   rows[i].option, output_names[client->output]);
	return EXIT_DONE;
}

static enum exit_code take_view(const struct client *client, struct report_command *command)
{
	if (output_is_whole(client->output))
		return check_whole(client);
	const char *view = client_option(client, "--view"), *sort = client_option(client, "--sort");
	int index = view ? word_index(client, "--view", view, view_names) : VIEW_OVERVIEW;

	if (index < 0)
		return EXIT_USAGE;
	command->view = (enum view_kind)index;
	enum exit_code code = check_fit(client, command->view);
	if (code != EXIT_DONE)
		return code;
	index = sort ? word_index(client, "--sort", sort, sort_names) : SORT_DEFAULT;
	if (index < 0)
		return EXIT_USAGE;
	command->options.sort = (enum sort_key)index;
	if (!sort_fits(command->view, command->options.sort))
		return client_fail(client, EXIT_USAGE, "--sort %s is for --view conditions", sort);
	return EXIT_DONE;
}

static enum exit_code take_options(const struct client *client, struct report_command *command)
{
	enum exit_code code = take_view(client, command);

	command->query = (struct report_query)REPORT_QUERY_ALL;
	if (code == EXIT_DONE)
		code = client_number_option(client, "--top", &command->options.top);
	if (code == EXIT_DONE)
		code = take_filters(client, command);
	if (code == EXIT_DONE)
		code = take_time(client, "--since", &command->query.since_ns);
	if (code == EXIT_DONE)
		code = take_time(client, "--until", &command->query.until_ns);
	if (code == EXIT_DONE)
		code = client_number_option(client, "--limit", &command->query.last);
	return code;
}

static enum exit_code unknown_event(const struct client *client, const struct report *report, const char *name)
{
	CLEANUP_FREE const char **names = calloc(report->n_events + 1, sizeof(*names));
	const char *nearest = NULL;

	for (size_t i = 0; names && i < report->n_events; i++)
		names[i] = report->events[i].name;
	if (names)
		nearest = nearest_word(name, names, report->n_events);
	return nearest ? client_fail(client, EXIT_NOT_FOUND, "the scenario has no event \"%s\"; did you mean \"%s\"?",
				     name, nearest)
		       : client_fail(client, EXIT_NOT_FOUND,
				     "the scenario has no event \"%s\": --view events shows all of them", name);
}

/// --event, once the names are known.
static enum exit_code take_events(const struct client *client, struct report_command *command,
				  const struct report *report)
{
	const char *name;
	size_t n = 0;

	while (client_option_at(client, "--event", n))
		n++;
	command->events = calloc(n + 1, sizeof(*command->events));
	command->query.event_ids = calloc(n + 1, sizeof(*command->query.event_ids));
	if (!command->events || !command->query.event_ids)
		return client_fail(client, EXIT_FAILED, "out of memory");
	for (size_t i = 0; (name = client_option_at(client, "--event", i)); i++) {
		command->events[i] = report_event_by_name(report, name);
		if (!command->events[i])
			return unknown_event(client, report, name);
		command->query.event_ids[i] = command->events[i]->id;
	}
	command->options.events = command->events;
	command->options.n_events = command->query.n_event_ids = n;
	return EXIT_DONE;
}

/// Whatever the daemon has to say against it comes before anything is printed.
static enum exit_code open_occurrences(const struct client *client, struct report_command *command,
				       struct report_source **ret)
{
	struct report_source *source = NULL;
	struct error error = {0};

	command->query.messages = true;
	enum exit_code code = chosen_report_open(client, &command->chosen, &command->query, &source);
	if (code != EXIT_DONE)
		return code;
	int r = command->chosen.folder ? 0 : report_source_spool(TAKE_POINTER(source), &source, &error);
	if (r < 0)
		return client_fail_error(client, r, &error);
	*ret = source;
	return EXIT_DONE;
}

static int show_occurrences(struct render *render, struct report *report, const struct report_query *query,
			    struct report_source *source, struct error *error)
{
	struct timeline_view view;

	view_timeline_begin(&view, render, report);
	int r = report_each_occurrence(source, report, query, view_timeline_occurrence, &view, error);
	view_timeline_end(&view);
	return r;
}

static enum exit_code show_metrics(const struct client *client, const struct report *report)
{
	struct error error = {0};
	int r = view_metrics(stdout, report);

	return r < 0 ? client_fail_error(client, r, &error) : EXIT_DONE;
}

static enum exit_code show_document(const struct client *client, struct report_command *command, struct report *report)
{
	struct report_source *source CLEANUP(report_source_cleanup) = NULL;
	struct error error = {0};
	const struct report_query *query = &command->query;
	bool whole = query->since_ns == INT64_MIN && query->until_ns == INT64_MAX && query->last == 0;
	enum exit_code code = open_occurrences(client, command, &source);

	if (code != EXIT_DONE)
		return code;
	struct render *render = client_render(client);
	int damage = report->damage, r = view_document_begin(render, report, whole);
	if (r == 0)
		r = show_occurrences(render, report, query, source, &error);
	view_document_end(render, report, damage);
	code = client_render_done(client, render);
	return r < 0 ? client_fail_error(client, r, &error) : code;
}

static enum exit_code show(const struct client *client, struct report_command *command, struct report *report)
{
	struct report_source *source CLEANUP(report_source_cleanup) = NULL;
	struct error error = {0};
	enum exit_code code = EXIT_DONE;
	int r;

	if (client->output == OUTPUT_PROMETHEUS)
		return show_metrics(client, report);
	if (client->output == OUTPUT_HTML)
		return show_document(client, command, report);
	if (command->view == VIEW_TIMELINE)
		code = open_occurrences(client, command, &source);
	if (code != EXIT_DONE)
		return code;
	struct render *render = client_render(client);
	view_report_begin(render, command->view, report);
	if (command->view == VIEW_OVERVIEW)
		r = view_overview(render, report);
	else if (command->view == VIEW_CONDITIONS)
		r = view_conditions(render, report, &command->options);
	else if (command->view == VIEW_EVENTS)
		r = view_events(render, report, &command->options);
	else
		r = show_occurrences(render, report, &command->query, source, &error);
	view_report_end(render, report);
	code = client_render_done(client, render);
	return r < 0 ? chosen_report_failed(client, &command->chosen, r, &error) : code;
}

enum exit_code cmd_report(struct client *client)
{
	struct report_command command CLEANUP(command_clear) = {0};
	struct report *report CLEANUP(report_cleanup) = NULL;
	enum exit_code code = take_options(client, &command);

	if (code == EXIT_DONE)
		code = choose_report(client, client->n_arguments > 0 ? client->arguments[0] : "latest",
				     &command.chosen);
	if (code == EXIT_DONE)
		code = chosen_report_load(client, &command.chosen, &report);
	if (code == EXIT_DONE)
		code = take_events(client, &command, report);
	return code == EXIT_DONE ? show(client, &command, report) : code;
}
