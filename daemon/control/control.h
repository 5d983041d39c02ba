// SPDX-License-Identifier: GPL-3.0-or-later
/// The daemon's root object: owns everything else, starts it in order and stops it in reverse. What is in it is touched
/// on the loop's thread only.
#ifndef CONDPROF_CONTROL_H
#define CONDPROF_CONTROL_H

#include "daemon/control/connection.h"
#include "daemon/control/worker.h"
#include "daemon/system/configuration.h"

struct bus;
struct listener;
struct looks;
struct sessions;
struct stuck_watch;
struct store;
struct writer;

struct control {
	struct configuration *configuration;
	const char *configuration_path; ///< read again at SIGHUP
	bool configuration_must_exist;
	struct loop *loop;
	struct mailbox *mailbox;
	struct worker *worker;  ///< the disk
	struct worker *decoder; ///< scenarios
	struct store *store;
	struct writer *writer;
	struct bus *bus; ///< D-Bus
	struct sessions *sessions;
	struct looks *looks; ///< at screens, for people
	struct stuck_watch *stuck;
	struct listener *listener;

	LIST_HEAD(, connection) connections;
	unsigned n_connections;
	size_t out_bytes;    ///< that wait to be sent, all connections
	size_t upload_bytes; ///< promised by the uploads in progress or held by scenarios being decoded

	bool stopping; ///< no new sessions
};

struct control_params {
	const char *state_path;
	const char *configuration_path;
	bool configuration_must_exist;
	struct configuration *configuration; ///< a reference is taken
};

int control_new(const struct control_params *params, struct control **ret, struct error *error);
/// Opens the socket. @param socket_path NULL: the one handed over, else the default
int control_listen(struct control *control, const char *socket_path, struct error *error);
/// Runs until SIGTERM or SIGINT. @return the exit status
int control_run(struct control *control);
struct control *control_free(struct control *control);
/// Whether a worker has something to do. The loop's thread only.
bool control_busy(const struct control *control);
/// A session was freed: for a daemon that waits for the last one.
void control_session_gone(struct control *control);

#endif
