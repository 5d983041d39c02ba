// SPDX-License-Identifier: GPL-3.0-or-later
//
// check: what is wrong with a scenario file, or what it means. Reads the file and its images and asks no daemon.
#include "config.h"

#include "client/commands.h"
#include "client/scenario/load.h"
#include "client/view/scenario.h"

#include <errno.h>

/// For a person: mistakes and warnings as a compiler says them, then what was understood.
static void show(const struct client *client, const struct scenario_file *file, const struct render *render)
{
	scenario_file_print_diagnostics(file, stderr);
	if (scenario_file_errors(file) == 0 && !client->quiet)
		scenario_print(file, stdout, render_style(render)->width);
}

enum exit_code cmd_check(struct client *client)
{
	struct scenario_file *file CLEANUP(scenario_file_cleanup) = NULL;
	const struct scenario_load_options options = {.ascii = !client->utf8, .remote = client_is_remote(client)};
	const char *path = client->arguments[0];
	struct error error = {0};
	int r = scenario_load_file(path, &options, &file, &error);

	if (r < 0)
		return client_fail(client, r == -ENOENT || r == -ENOTDIR ? EXIT_NOT_FOUND : EXIT_FAILED, "%s",
				   error.message);
	if (!client->quiet)
		scenario_file_warn(file);
	struct render *render = client_render(client);
	if (client->output == OUTPUT_TEXT)
		show(client, file, render);
	else
		view_scenario_check(render, path, file);
	enum exit_code code = client_render_done(client, render);
	return code == EXIT_DONE && scenario_file_errors(file) > 0 ? EXIT_FAILED : code;
}
