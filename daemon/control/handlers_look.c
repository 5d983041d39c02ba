// SPDX-License-Identifier: GPL-3.0-or-later
// Requests that show the screen: capture. (A try comes as an upload: handlers_scenario.c.)
#include "config.h"

#include "daemon/control/handlers.h"

#include "daemon/control/looks.h"
#include "daemon/control/sessions.h"
#include "proto/limits.h"

#include <errno.h>
#include <string.h>

/// The screen of the only session that runs.
static int running_screen(struct control *control, struct session_facts *facts, struct error *error)
{
	struct session_entry *entry;
	int r = sessions_only(control->sessions, &entry, error);

	if (r == -ESRCH)
		return error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ESRCH,
				 "no session is running whose screen could be meant: name one with --screen, as in "
				 "--screen x11::0");
	if (r < 0)
		return error_set(error, CONDPROF__CODE__AMBIGUOUS, EINVAL,
				 "several sessions are running: name a screen with --screen, as in --screen x11::0");
	session_entry_facts(entry, facts);
	return facts->message.screen ? 0
				     : error_set(error, CONDPROF__CODE__NO_SUCH_SESSION, ESRCH,
						 "the session has no screen yet: name one with --screen");
}

int handle_capture(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		   struct error *error)
{
	const char *screen = request->capture->screen;
	struct session_facts facts;
	int r = looks_admit(control->looks, error);

	if (r < 0)
		return r;
	if (screen && (!*screen || strlen(screen) > TEXT_MAX_BYTES))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "screen is empty or longer than 4 KiB");
	r = screen ? 0 : running_screen(control, &facts, error);
	return r < 0 ? r : looks_capture(control->looks, exchange, screen ? screen : facts.message.screen, error);
}
