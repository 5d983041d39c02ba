// SPDX-License-Identifier: GPL-3.0-or-later
//
// advise: what would make a scenario cheaper, by a report's figures.
#include "config.h"

#include "client/commands.h"
#include "client/reports.h"
#include "client/view/advise.h"

#include <errno.h>

static enum exit_code show(const struct client *client, const struct report *report)
{
	struct report_advice *advice CLEANUP(report_advice_cleanup) = NULL;
	int r = report_advise(report, &advice);

	if (r == -ENODATA)
		return client_fail(
			client, EXIT_FAILED,
			"this report has no complete pass, or no figures of its conditions: there is nothing "
			"to go by");
	if (r == 0) {
		struct render *render = client_render(client);

		r = view_advice(render, advice);
		enum exit_code code = client_render_done(client, render);
		if (code != EXIT_DONE)
			return code;
	}
	return r < 0 ? client_fail(client, EXIT_FAILED, "out of memory") : EXIT_DONE;
}

enum exit_code cmd_advise(struct client *client)
{
	struct chosen_report chosen CLEANUP(chosen_report_clear) = {0};
	struct report *report CLEANUP(report_cleanup) = NULL;
	enum exit_code code = choose_report(client, client->n_arguments > 0 ? client->arguments[0] : "latest", &chosen);

	if (code == EXIT_DONE)
		code = chosen_report_load(client, &chosen, &report);
	return code == EXIT_DONE ? show(client, report) : code;
}
