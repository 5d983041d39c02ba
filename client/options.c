// SPDX-License-Identifier: GPL-3.0-or-later
//
// Parses the command line by the tables of verbs.c. A verb's own options are known only after the verb, but they may
// stand before it like the global ones may stand behind: so the verb is looked for first.
#include "config.h"

#include "client/quantity.h"
#include "client/verbs.h"
#include "proto/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

static enum exit_code usage(const struct client *client, const char *format, ...) PRINTF_LIKE(2, 3);
static enum exit_code usage(const struct client *client, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (client->verb)
		return client_fail(client, EXIT_USAGE, "%s (condprofctl %s --help)", text, client->verb->name);
	return client_fail(client, EXIT_USAGE, "%s (condprofctl --help)", text);
}

/// Whether `text` is `row`, maybe with =value behind it. *ret_value: that value, or NULL.
static bool option_matches(const struct option_row *row, const char *text, const char **ret_value)
{
	size_t length = strlen(row->name);

	*ret_value = NULL;
	if (row->short_name && strncmp(text, row->short_name, 2) == 0) {
		if (text[2] && !row->argument)
			return false;
		*ret_value = text[2] ? text + 2 : NULL;
		return true;
	}
	if (strncmp(text, row->name, length) != 0 || (text[length] && text[length] != '='))
		return false;
	if (text[length] == '=')
		*ret_value = text + length + 1;
	return true;
}

static const struct option_row *option_in(const struct option_row *rows, const char *text, const char **ret_value)
{
	for (; rows && rows->name; rows++)
		if (option_matches(rows, text, ret_value))
			return rows;
	return NULL;
}

static const struct option_row *option_find(const struct verb *verb, const char *text, const char **ret_value)
{
	const struct option_row *row = option_in(global_options, text, ret_value);

	return row ? row : option_in(verb ? verb->options : NULL, text, ret_value);
}

/// Of any verb: to step over an option's argument before the verb is known, and to say whose option it is.
static const struct option_row *option_of_any(const char *text, const struct verb **ret_verb)
{
	const char *value;

	*ret_verb = NULL;
	const struct option_row *row = option_in(global_options, text, &value);
	for (size_t i = 0; !row && i < verb_count; i++) {
		row = option_in(verbs[i].options, text, &value);
		*ret_verb = row ? &verbs[i] : NULL;
	}
	return row;
}

static bool is_option(const char *text)
{
	return text[0] == '-' && text[1];
}

/// The first word that is neither an option nor an option's argument.
static const char *find_verb_word(int argc, char **argv)
{
	const struct verb *owner;
	const char *value;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1 < argc ? argv[i + 1] : NULL;
		if (!is_option(argv[i]))
			return argv[i];
		const struct option_row *row = option_of_any(argv[i], &owner);
		if (row && row->argument && option_matches(row, argv[i], &value) && !value)
			i++;
	}
	return NULL;
}

static enum exit_code unknown_option(const struct client *client, const char *text)
{
	const char *names[64];
	const struct verb *owner;
	size_t n = 0;
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, "="), text);
	option_of_any(word, &owner);
	if (owner && client->verb)
		return usage(client, "%s is an option of %s, not of %s", word, owner->name, client->verb->name);
	for (const struct option_row *row = global_options; row->name; row++)
		names[n++] = row->name;
	for (const struct option_row *row = client->verb ? client->verb->options : NULL; row && row->name; row++)
		names[n++] = row->name;
	const char *nearest = nearest_word(word, names, n);
	return nearest ? usage(client, "unknown option %s; did you mean %s?", word, nearest)
		       : usage(client, "unknown option %s", word);
}

static enum exit_code unknown_verb(const struct client *client, const char *word)
{
	const char *names[64];
	size_t n = 0;

	for (size_t i = 0; i < verb_count; i++)
		if (!verbs[i].hidden)
			names[n++] = verbs[i].name;
	const char *nearest = nearest_word(word, names, n);
	return nearest ? usage(client, "unknown command %s; did you mean %s?", word, nearest)
		       : usage(client, "unknown command %s", word);
}

/// Takes argv[*i] as an option, and its argument.
static enum exit_code take_option(struct client *client, int argc, char **argv, int *i)
{
	const char *text = argv[*i], *value;
	const struct option_row *row = option_find(client->verb, text, &value);

	if (!row)
		return unknown_option(client, text);
	if (row->later)
		return usage(client, "%s is not built yet", row->name);
	if (value && !row->argument)
		return usage(client, "%s takes no argument", row->name);
	if (row->argument && !value) {
		if (*i + 1 >= argc)
			return usage(client, "%s needs %s", row->name, row->argument);
		value = argv[++*i];
	}
	client->given[client->n_given++] = (struct given_option){row, value};
	return EXIT_DONE;
}

static enum exit_code take_words(struct client *client, int argc, char **argv)
{
	const char **arguments = (const char **)client->arguments;
	bool options = true;

	for (int i = 1; i < argc; i++) {
		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && is_option(argv[i])) {
			enum exit_code code = take_option(client, argc, argv, &i);
			if (code != EXIT_DONE)
				return code;
		} else {
			arguments[client->n_arguments++] = argv[i];
		}
	}
	if (client->verb) { // the first word is the verb itself
		client->arguments++;
		client->n_arguments--;
	}
	return EXIT_DONE;
}

/// --output and --json.
static enum exit_code take_output(struct client *client)
{
	const char *name = client_option(client, "--output");
	size_t kind = OUTPUT_TEXT;

	for (kind = 0; name && kind < OUTPUT_KINDS && strcmp(output_names[kind], name) != 0; kind++)
		;
	if (kind == OUTPUT_KINDS) {
		const char *nearest = nearest_word(name, output_names, OUTPUT_KINDS);
		return nearest ? usage(client, "unknown output %s; did you mean %s?", name, nearest)
			       : usage(client, "unknown output %s: one of text, json, csv, html, prometheus", name);
	}
	if (output_is_whole(kind) && !(client->verb && client->verb->whole))
		return usage(client, "--output %s is for report", name);
	if (client_flag(client, "--json")) {
		if (name && kind != OUTPUT_JSON)
			return usage(client, "--json and --output %s do not go together", name);
		kind = OUTPUT_JSON;
	}
	client->output = kind;
	return EXIT_DONE;
}

static enum exit_code take_timeout(struct client *client)
{
	const char *text = client_option(client, "--timeout");
	int64_t timeout_ns = CLIENT_DEFAULT_TIMEOUT_NS;

	if (text && (duration_parse(text, &timeout_ns) < 0 || timeout_ns == 0))
		return usage(client, "--timeout %s: a time above zero with its unit is needed, as in 5s or 500ms",
			     text);
	if (__builtin_add_overflow(clock_ns(CLOCK_MONOTONIC), timeout_ns, &client->deadline_ns))
		client->deadline_ns = INT64_MAX;
	if (!text && client->verb && client->verb->waits)
		client->deadline_ns = INT64_MAX;
	return EXIT_DONE;
}

static enum exit_code check_arguments(const struct client *client)
{
	const struct verb *verb = client->verb;

	if (!verb->run)
		return usage(client, "%s is not built yet", verb->name);
	if (client->n_arguments < verb->min_arguments)
		return usage(client, "%s needs %s", verb->name, verb->arguments);
	if (client->n_arguments > verb->max_arguments)
		return usage(client, "%s: one argument too many: %s", verb->name,
			     client->arguments[verb->max_arguments]);
	return EXIT_DONE;
}

static void print_options(const struct option_row *rows)
{
	for (; rows && rows->name; rows++) {
		char text[80];

		snprintf(text, sizeof(text), "%s%s%s%s%s", rows->short_name ? rows->short_name : "",
			 rows->short_name ? ", " : "", rows->name, rows->argument ? " " : "",
			 rows->argument ? rows->argument : "");
		printf("  %-33s %s%s\n", text, rows->help, rows->later ? " (not built yet)" : "");
	}
}

static void print_help(void)
{
	printf("Usage: condprofctl [OPTION...] COMMAND [ARGUMENT...]\n"
	       "Starts and stops the scenarios of a condprof daemon and shows their reports.\n\nCommands:\n");
	for (size_t i = 0; i < verb_count; i++) {
		char text[80];

		if (verbs[i].hidden)
			continue;
		snprintf(text, sizeof(text), "%s%s%s", verbs[i].name, *verbs[i].arguments ? " " : "",
			 verbs[i].arguments);
		printf("  %-33s %s%s\n", text, verbs[i].help, verbs[i].run ? "" : " (not built yet)");
	}
	printf("\nOptions, before or after the command:\n");
	print_options(global_options);
	printf("\ncondprofctl COMMAND --help shows a command's own options; condprofctl(1) has it all.\n"
	       "Exit status: 0 done, 1 failed, 2 usage, 3 no daemon or session ended, 4 not found, 5 timed out,\n"
	       "6 protocol mismatch, 7 denied; with -H 255: ssh failed.\n");
}

static void print_verb_help(const struct verb *verb)
{
	printf("Usage: condprofctl [OPTION...] %s%s%s%s\n%s%s.\n", verb->name, verb->options ? " [OPTION...]" : "",
	       *verb->arguments ? " " : "", verb->arguments, verb->help, verb->run ? "" : " (not built yet)");
	if (verb->options) {
		printf("\nOptions:\n");
		print_options(verb->options);
	}
	printf("\nOptions of every command:\n");
	print_options(global_options);
}

/// Help and version ask for nothing else, whatever is wrong with the rest. @return whether it was that
static bool help_wanted(int argc, char **argv, const struct client *client)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--version") == 0) {
			printf("condprofctl %s\n", VERSION);
			return true;
		}
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			client->verb ? print_verb_help(client->verb) : print_help();
			return true;
		}
	}
	return false;
}

enum exit_code client_parse(int argc, char **argv, struct client *ret)
{
	const char *word = find_verb_word(argc, argv);
	enum exit_code code;

	*ret = (struct client){.verb = word ? verb_find(word) : NULL};
	if (help_wanted(argc, argv, ret)) {
		ret->verb = NULL;
		return EXIT_DONE;
	}
	ret->given = calloc((size_t)argc, sizeof(*ret->given));
	ret->arguments = ret->storage = calloc((size_t)argc + 1, sizeof(*ret->arguments));
	if (!ret->given || !ret->arguments)
		return client_fail(ret, EXIT_FAILED, "out of memory");
	if (word && !ret->verb)
		return unknown_verb(ret, word);
	code = take_words(ret, argc, argv);
	if (code == EXIT_DONE && !ret->verb)
		code = usage(ret, "a command is missing");
	if (code == EXIT_DONE)
		code = check_arguments(ret);
	if (code == EXIT_DONE)
		code = take_output(ret);
	if (code == EXIT_DONE)
		code = take_timeout(ret);
	ret->quiet = code == EXIT_DONE && client_flag(ret, "--quiet");
	return code;
}

void client_clear(struct client *client)
{
	free(client->given);
	free(client->storage);
	*client = (struct client){0};
}
