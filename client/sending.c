// SPDX-License-Identifier: GPL-3.0-or-later
//
// See sending.h.
#include "config.h"

#include "client/sending.h"

#include <errno.h>
#include <string.h>

void scenario_to_send_clear(struct scenario_to_send *scenario)
{
	scenario->file = scenario_file_free(scenario->file);
	free(scenario->data);
	*scenario = (struct scenario_to_send){0};
}

enum exit_code scenario_to_send_load(const struct client *client, const char *path, struct scenario_to_send *ret)
{
	const struct scenario_load_options options = {.ascii = !client->utf8, .remote = client_is_remote(client)};
	struct scenario_to_send scenario CLEANUP(scenario_to_send_clear) = {0};
	struct error error = {0};
	int r = scenario_load_file(path, &options, &scenario.file, &error);

	if (r < 0)
		return client_fail_error(client, r == -EACCES ? -EIO : r, &error);
	if (scenario_file_errors(scenario.file) > 0) {
		scenario_file_print_diagnostics(scenario.file, stderr);
		return EXIT_FAILED;
	}
	r = scenario_file_pack(scenario.file, &scenario.data, &scenario.size, &error);
	if (r < 0)
		return client_fail_error(client, r, &error);
	*ret = scenario;
	scenario = (struct scenario_to_send){0};
	return EXIT_DONE;
}

static void print_problems(const struct client *client, const char *name, const Condprof__Error *said)
{
	for (size_t i = 0; i < said->n_problems; i++) {
		const char *place = said->problems[i]->place, *message = said->problems[i]->message;

		client_fail(client, EXIT_FAILED, "%s: %s%s%s", name, place ? place : "", place && *place ? ": " : "",
			    message ? message : "refused");
	}
}

// What a session lacks when it starts is said with a place too: a language of one of its conditions, say.
static bool is_in_file(const char *place)
{
	return place && (!strncmp(place, "screen-events[", 14) || !strncmp(place, "trigger-events[", 15));
}

enum exit_code scenario_refused(const struct client *client, const struct scenario_to_send *scenario, const char *name,
				const struct connection *connection, int r, const struct error *error)
{
	const Condprof__Error *said = r == -EREMOTEIO ? connection_error(connection) : NULL;

	if (said && said->n_problems == 0 && scenario->file && is_in_file(said->place)) {
		scenario_file_add_problem(scenario->file, said->place, said->message ? said->message : "refused");
		scenario_file_print_diagnostics(scenario->file, stderr);
		return client_exit_code(r, error);
	}
	if (!said || said->n_problems == 0)
		return client_fail_error(client, r, error);
	if (!scenario->file) {
		print_problems(client, name, said);
		return client_exit_code(r, error);
	}
	for (size_t i = 0; i < said->n_problems; i++)
		scenario_file_add_problem(scenario->file, said->problems[i]->place ? said->problems[i]->place : "",
					  said->problems[i]->message ? said->problems[i]->message : "refused");
	scenario_file_print_diagnostics(scenario->file, stderr);
	return client_exit_code(r, error);
}
