// SPDX-License-Identifier: GPL-3.0-or-later
/// The commands' entry points, for the verb table alone.
#ifndef CONDPROF_CLIENT_COMMANDS_H
#define CONDPROF_CLIENT_COMMANDS_H

#include "client/client.h"

enum exit_code cmd_advise(struct client *client);    // cmd_advise.c
enum exit_code cmd_bridge(struct client *client);    // cmd_bridge.c
enum exit_code cmd_capture(struct client *client);   // cmd_capture.c
enum exit_code cmd_check(struct client *client);     // cmd_check.c
enum exit_code cmd_delete(struct client *client);    // cmd_session.c
enum exit_code cmd_diff(struct client *client);      // cmd_diff.c
enum exit_code cmd_emit(struct client *client);      // cmd_emit.c
enum exit_code cmd_install(struct client *client);   // cmd_installed.c
enum exit_code cmd_list(struct client *client);      // cmd_session.c
enum exit_code cmd_remove(struct client *client);    // cmd_installed.c
enum exit_code cmd_report(struct client *client);    // cmd_report.c
enum exit_code cmd_scenarios(struct client *client); // cmd_installed.c
enum exit_code cmd_rotate(struct client *client);  // cmd_rotate.c
enum exit_code cmd_start(struct client *client);     // cmd_start.c
enum exit_code cmd_status(struct client *client);    // cmd_session.c
enum exit_code cmd_stop(struct client *client);      // cmd_session.c
enum exit_code cmd_try(struct client *client);       // cmd_try.c
enum exit_code cmd_tune(struct client *client);      // cmd_tune.c
enum exit_code cmd_version(struct client *client);   // cmd_version.c
enum exit_code cmd_watch(struct client *client);     // cmd_watch.c

#endif
