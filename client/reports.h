// SPDX-License-Identifier: GPL-3.0-or-later
/// The report that an argument means: of a session, or out of a folder. For all commands that read reports.
#ifndef CONDPROF_CLIENT_REPORTS_H
#define CONDPROF_CLIENT_REPORTS_H

#include "client/client.h"
#include "client/connection.h"
#include "client/report/report.h"

struct chosen_report {
	const char *folder; ///< NULL: of the daemon
	int64_t session;    ///< 0: the one started last
	struct connection *connection;
};

/// An id, "latest", or a folder: what is written like a number is never a folder (./12 is).
/// @param text must outlive *ret. @return EXIT_DONE; as everywhere here, what is wrong is printed
enum exit_code choose_report(const struct client *client, const char *text, struct chosen_report *ret);
void chosen_report_clear(struct chosen_report *chosen);

enum exit_code chosen_report_open(const struct client *client, struct chosen_report *chosen,
				  const struct report_query *query, struct report_source **ret);

/// Reads all but the occurrences. "latest" is settled by it: it may be another one later.
enum exit_code chosen_report_load(const struct client *client, struct chosen_report *chosen, struct report **ret);

/// Prints an error of reading it. A folder that may not be read is a failure: it was nobody of ours who denied it.
enum exit_code chosen_report_failed(const struct client *client, const struct chosen_report *chosen, int r,
				    const struct error *error);

#endif
