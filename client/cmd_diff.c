// SPDX-License-Identifier: GPL-3.0-or-later
//
// diff: two reports, each of a session or out of a folder, held against each other; with --fail-if also a test that a
// script can run.
#include "config.h"

#include "client/commands.h"
#include "client/reports.h"
#include "client/view/diff.h"

#define MIN_CHECKS 30

struct diff_command {
	struct chosen_report chosen[2];
	struct report *reports[2];
	struct diff_rule *rules;
	struct diff_options options;
};

static void command_clear(struct diff_command *command)
{
	for (int i = 0; i < 2; i++) {
		chosen_report_clear(&command->chosen[i]);
		report_free(command->reports[i]);
	}
	free(command->rules);
}

static enum exit_code take_rules(const struct client *client, struct diff_command *command)
{
	const char *text;
	size_t n = 0;

	while (client_option_at(client, "--fail-if", n))
		n++;
	command->rules = calloc(n + 1, sizeof(*command->rules));
	if (!command->rules)
		return client_fail(client, EXIT_FAILED, "out of memory");
	for (size_t i = 0; (text = client_option_at(client, "--fail-if", i)); i++)
		if (diff_rule_parse(text, &command->rules[i]) < 0)
			return client_fail(
				client, EXIT_USAGE,
				"--fail-if %s: METRIC>+N%% is needed, METRIC being average, p50, p90 or p99, "
				"as in 'average>+10%%'",
				text);
	command->options.rules = command->rules;
	command->options.n_rules = n;
	return EXIT_DONE;
}

static enum exit_code take_options(const struct client *client, struct diff_command *command)
{
	enum exit_code code = take_rules(client, command);

	command->options.min_checks = MIN_CHECKS;
	if (code == EXIT_DONE)
		code = client_number_option(client, "--min-checks", &command->options.min_checks);
	for (int i = 0; i < 2 && code == EXIT_DONE; i++)
		code = choose_report(client, client->arguments[i], &command->chosen[i]);
	return code;
}

static enum exit_code judge(const struct client *client, const struct diff_command *command, size_t failed,
			    size_t judged)
{
	if (failed > 0)
		return client_fail(client, EXIT_FAILED, "%zu condition%s worse than --fail-if allows", failed,
				   failed == 1 ? " is" : "s are");
	if (command->options.n_rules > 0 && judged == 0)
		client_note(client,
			    "--fail-if has nothing to go by: no condition is in both reports with %lld checks or more",
			    (long long)command->options.min_checks);
	return EXIT_DONE;
}

static enum exit_code show(const struct client *client, const struct diff_command *command)
{
	struct report_diff *diff CLEANUP(report_diff_cleanup) = NULL;
	size_t failed = 0, judged = 0;

	if (report_diff_new(command->reports[0], command->reports[1], &diff) < 0)
		return client_fail(client, EXIT_FAILED, "out of memory");
	struct render *render = client_render(client);
	int r = view_diff(render, diff, &command->options, &failed, &judged);
	enum exit_code code = client_render_done(client, render);
	if (r < 0)
		return client_fail(client, EXIT_FAILED, "out of memory");
	return code == EXIT_DONE ? judge(client, command, failed, judged) : code;
}

enum exit_code cmd_diff(struct client *client)
{
	struct diff_command command CLEANUP(command_clear) = {0};
	enum exit_code code = take_options(client, &command);

	for (int i = 0; i < 2 && code == EXIT_DONE; i++)
		code = chosen_report_load(client, &command.chosen[i], &command.reports[i]);
	return code == EXIT_DONE ? show(client, &command) : code;
}
