// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "client/reports.h"

#include "client/fetch.h"
#include "client/quantity.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == 0;
}

enum exit_code choose_report(const struct client *client, const char *text, struct chosen_report *ret)
{
	struct stat info;

	*ret = (struct chosen_report){0};
	if (is_number(text))
		return count_parse(text, 1, &ret->session) == 0
			       ? EXIT_DONE
			       : client_fail(client, EXIT_USAGE,
					     "%s is not a session's id: condprofctl list shows them", text);
	if (strcmp(text, "latest") == 0)
		return EXIT_DONE;
	if (!strchr(text, '/') && stat(text, &info) < 0)
		return client_fail(client, EXIT_NOT_FOUND,
				   "%s is neither a session's id, nor latest, nor a report's folder", text);
	ret->folder = text;
	return EXIT_DONE;
}

void chosen_report_clear(struct chosen_report *chosen)
{
	chosen->connection = connection_close(chosen->connection);
}

enum exit_code chosen_report_failed(const struct client *client, const struct chosen_report *chosen, int r,
				    const struct error *error)
{
	return client_fail_error(client, chosen->folder && r == -EACCES ? -EIO : r, error);
}

enum exit_code chosen_report_open(const struct client *client, struct chosen_report *chosen,
				  const struct report_query *query, struct report_source **ret)
{
	struct error error = {0};
	int r;

	if (!chosen->folder && !chosen->connection) {
		enum exit_code code = client_connect(client, &chosen->connection);

		if (code != EXIT_DONE)
			return code;
	}
	r = chosen->folder ? report_source_folder(chosen->folder, query, ret, &error)
			   : report_source_daemon(chosen->connection, chosen->session, query, ret, &error);
	return r < 0 ? chosen_report_failed(client, chosen, r, &error) : EXIT_DONE;
}

enum exit_code chosen_report_load(const struct client *client, struct chosen_report *chosen, struct report **ret)
{
	struct report_source *source CLEANUP(report_source_cleanup) = NULL;
	struct error error = {0};
	enum exit_code code = chosen_report_open(client, chosen, &(struct report_query)REPORT_QUERY_ALL, &source);

	if (code != EXIT_DONE)
		return code;
	int r = report_load(source, ret, &error);
	if (r < 0)
		return chosen_report_failed(client, chosen, r, &error);
	if (chosen->folder)
		return EXIT_DONE;
	chosen->session = report_source_daemon_session(source);
	if (!(*ret)->session.has_id) {
		(*ret)->session.has_id = chosen->session > 0;
		(*ret)->session.id = chosen->session;
	}
	return EXIT_DONE;
}
