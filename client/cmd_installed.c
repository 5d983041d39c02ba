// SPDX-License-Identifier: GPL-3.0-or-later
//
// install, scenarios and remove: the scenarios that the daemon keeps under a name. install reads the file here, with
// its images, like start; so what is installed needs no file any more.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "client/sending.h"
#include "client/view/installed.h"
#include "proto/installed.h"

#include <errno.h>
#include <string.h>

struct install {
	struct client *client;
	struct scenario_to_send scenario;
	char *name;
	struct connection *connection;
};

static void install_clear(struct install *install)
{
	install->connection = connection_close(install->connection);
	scenario_to_send_clear(&install->scenario);
	free(install->name);
}

// --- install ---------------------------------------------------------------------------------------------------------

/// The file's name without its folder and without .yaml or .yml. The caller's; NULL: out of memory
static char *base_name(const char *path)
{
	static const char *const endings[] = {".yaml", ".yml"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
			return strndup(name, length - ending);
	}
	return strdup(name);
}

static enum exit_code choose_name(struct install *install)
{
	const char *given = client_option(install->client, "--name");

	install->name = given ? strdup(given) : base_name(install->client->arguments[0]);
	if (!install->name)
		return client_fail(install->client, EXIT_FAILED, "out of memory");
	if (installed_name_valid(install->name))
		return EXIT_DONE;
	return client_fail(install->client, EXIT_USAGE, "\"%s\" can't be the name of an installed scenario: it is %s%s",
			   error_quote(install->name).text, INSTALLED_NAME_RULE,
			   given ? "" : "; choose one with --name");
}

static enum exit_code send_scenario(struct install *install, Condprof__Reply **ret)
{
	Condprof__StartOptions options = CONDPROF__START_OPTIONS__INIT;
	struct error error = {0};
	uint64_t request = 0;

	options.name = install->name;
	int r = connection_upload(install->connection, CONDPROF__UPLOAD__INSTALL, &options, install->scenario.data,
				  install->scenario.size, &request, &error);
	if (r == 0)
		r = connection_receive(install->connection, request, INT64_MAX, ret, &error);
	if (r < 0)
		return scenario_refused(install->client, &install->scenario, install->name, install->connection, r,
					&error);
	if ((*ret)->body_case != CONDPROF__REPLY__BODY_INSTALLED || (*ret)->installed->n_scenarios != 1)
		return client_fail(install->client, EXIT_PROTOCOL, "the daemon answered something else");
	return EXIT_DONE;
}

enum exit_code cmd_install(struct client *client)
{
	struct install install CLEANUP(install_clear) = {.client = client};
	Condprof__Reply *reply CLEANUP(reply_cleanup) = NULL;
	enum exit_code code = choose_name(&install);

	if (code == EXIT_DONE)
		code = scenario_to_send_load(client, client->arguments[0], &install.scenario);
	if (code == EXIT_DONE)
		code = client_connect(client, &install.connection);
	if (code == EXIT_DONE)
		code = send_scenario(&install, &reply);
	if (code != EXIT_DONE)
		return code;
	struct render *render = client_render(client);
	view_installed(render, reply->installed->scenarios[0]);
	code = client_render_done(client, render);
	if (reply->installed->scenarios[0]->replaced)
		client_note(client,
			    "it took the place of the one that was installed before; sessions that run keep theirs");
	if (!scenario_file_message(install.scenario.file)->screen)
		client_note(client, "it names no screen: say it at each start, with --screen");
	return code;
}

// --- scenarios -------------------------------------------------------------------------------------------------------

/// The daemon's answer, in as many replies as it took.
struct scenario_list {
	Condprof__Reply **replies;
	size_t n_replies;
	const Condprof__InstalledScenario **items; ///< point into the replies
	size_t n;
};

static void list_clear(struct scenario_list *list)
{
	while (list->n_replies)
		reply_free(list->replies[--list->n_replies]);
	free(list->replies);
	free(list->items);
}

/// Takes the reply over.
static int list_add(struct scenario_list *list, Condprof__Reply *reply, struct error *error)
{
	const Condprof__InstalledScenarios *more = reply->installed;
	Condprof__Reply **replies = reallocarray(list->replies, list->n_replies + 1, sizeof(*replies));

	if (!replies) {
		reply_free(reply);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	list->replies = replies;
	list->replies[list->n_replies++] = reply;
	if (reply->body_case != CONDPROF__REPLY__BODY_INSTALLED)
		return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "the daemon answered something else");
	const Condprof__InstalledScenario **items =
		reallocarray(list->items, list->n + more->n_scenarios + 1, sizeof(*items));
	if (!items)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	list->items = items;
	for (size_t i = 0; i < more->n_scenarios; i++)
		list->items[list->n++] = more->scenarios[i];
	return 0;
}

static int receive(struct connection *connection, uint64_t id, struct scenario_list *ret, struct error *error)
{
	bool last = false;
	int r = 0;

	while (r == 0 && !last) {
		Condprof__Reply *reply;

		r = connection_receive(connection, id, INT64_MAX, &reply, error);
		if (r < 0)
			break;
		last = reply->last;
		r = list_add(ret, reply, error);
	}
	return r;
}

enum exit_code cmd_scenarios(struct client *client)
{
	struct connection *connection CLEANUP(connection_cleanup) = NULL;
	struct scenario_list list CLEANUP(list_clear) = {0};
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__ScenariosRequest scenarios = CONDPROF__SCENARIOS_REQUEST__INIT;
	struct error error = {0};
	enum exit_code code = client_connect(client, &connection);

	if (code != EXIT_DONE)
		return code;
	request.body_case = CONDPROF__REQUEST__BODY_SCENARIOS;
	request.scenarios = &scenarios;
	int r = connection_send(connection, &request, &error);
	if (r == 0)
		r = receive(connection, request.id, &list, &error);
	if (r < 0)
		return client_fail_error(client, r, &error);
	struct render *render = client_render(client);
	view_scenarios(render, list.items, list.n);
	return client_render_done(client, render);
}

// --- remove ----------------------------------------------------------------------------------------------------------

enum exit_code cmd_remove(struct client *client)
{
	struct connection *connection CLEANUP(connection_cleanup) = NULL;
	Condprof__Reply *reply CLEANUP(reply_cleanup) = NULL;
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__RemoveRequest remove = CONDPROF__REMOVE_REQUEST__INIT;
	const char *name = client->arguments[0];
	struct error error = {0};

	if (!installed_name_valid(name))
		return client_fail(
			client, EXIT_USAGE,
			"\"%s\" can't be the name of an installed scenario: condprofctl scenarios shows them",
			error_quote(name).text);
	enum exit_code code = client_connect(client, &connection);
	if (code != EXIT_DONE)
		return code;
	remove.name = (char *)(uintptr_t)name;
	request.body_case = CONDPROF__REQUEST__BODY_REMOVE;
	request.remove = &remove;
	int r = connection_call(connection, &request, &reply, &error);
	if (r < 0)
		return client_fail_error(client, r, &error);
	if (reply->body_case != CONDPROF__REPLY__BODY_INSTALLED || reply->installed->n_scenarios != 1)
		return client_fail(client, EXIT_PROTOCOL, "the daemon answered something else");
	struct render *render = client_render(client);
	view_removed(render, reply->installed->scenarios[0]);
	return client_render_done(client, render);
}
