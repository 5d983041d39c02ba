// SPDX-License-Identifier: GPL-3.0-or-later
/// A scenario's file on its way to the daemon, and what the daemon finds wrong with it on its way back. For every
/// command that sends one.
#ifndef CONDPROF_CLIENT_SENDING_H
#define CONDPROF_CLIENT_SENDING_H

#include "client/client.h"
#include "client/connection.h"
#include "client/scenario/load.h"

struct scenario_to_send {
	struct scenario_file *file; ///< NULL: none; the daemon has it
	uint8_t *data;              ///< for connection_upload()
	size_t size;
};
void scenario_to_send_clear(struct scenario_to_send *scenario);

/// Reads the file and its images. @return EXIT_DONE; else its mistakes, or why it can't be read, are printed
enum exit_code scenario_to_send_load(const struct client *client, const char *path, struct scenario_to_send *ret);

/// Prints what the daemon answered: problems at their places in the file, or behind `name` where there is none.
/// @param r a call's failure, with `error` filled
enum exit_code scenario_refused(const struct client *client, const struct scenario_to_send *scenario, const char *name,
				const struct connection *connection, int r, const struct error *error);

#endif
