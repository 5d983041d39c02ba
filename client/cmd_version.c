// SPDX-License-Identifier: GPL-3.0-or-later
//
// version: of this program, and of the daemon where one answers. No daemon is no mistake here.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "proto/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/// The daemon's optional parts, in one string: the caller's. NULL: out of memory
static char *join(char *const *words, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return NULL;
	for (size_t i = 0; i < n; i++)
		fprintf(memory, "%s%s", i > 0 ? " " : "", words[i]);
	fclose(memory);
	return text;
}

static void show_client(struct render *render)
{
	static const struct group group = {.field = {.name = "client"}, .layout = LAYOUT_NONE};
	static const struct field version = {.name = "version", .title = "condprofctl"};
	static const struct field protocol = {.name = "protocol", .title = "protocol"};
	char number[32];

	snprintf(number, sizeof(number), "%u.%u", PROTOCOL_MAJOR, PROTOCOL_MINOR);
	render_open(render, &group);
	render_value(render, &version, cell_text(VERSION));
	render_value(render, &protocol, cell_text(number));
	render_close(render);
}

static void show_daemon(struct render *render, const Condprof__HelloReply *hello)
{
	static const struct group group = {.field = {.name = "daemon"}, .layout = LAYOUT_NONE};
	static const struct field version = {.name = "version", .title = "condprofd"};
	static const struct field protocol = {.name = "protocol", .title = "its protocol"};
	static const struct field features = {.name = "features", .title = "its parts"};
	static const struct field control = {.name = "control", .title = "you may", .yes = "control", .no = "observe"};
	CLEANUP_FREE char *parts = join(hello->features, hello->n_features);
	char number[32];

	snprintf(number, sizeof(number), "%u.%u", hello->major, hello->minor);
	render_open(render, &group);
	render_value(render, &version, cell_text(hello->daemon));
	render_value(render, &protocol, cell_text(number));
	render_value(render, &features, cell_text(parts));
	render_value(render, &control, cell_if(hello->has_control, cell_flag(hello->control)));
	render_close(render);
}

enum exit_code cmd_version(struct client *client)
{
	static const struct field no_daemon = {.name = "daemon", .title = "condprofd"};
	struct connection *connection CLEANUP(connection_cleanup) = NULL;
	struct error error = {0};
	int r = client_open(client, &connection, &error);
	struct render *render = client_render(client);
	show_client(render);
	if (r == 0)
		show_daemon(render, connection_daemon(connection));
	else
		render_value(render, &no_daemon, cell_null());
	enum exit_code code = client_render_done(client, render);
	if (r == -ECONNREFUSED)
		client_note(client, "%s", error.message);
	else if (r < 0)
		code = client_fail_error(client, r, &error);
	return code;
}
