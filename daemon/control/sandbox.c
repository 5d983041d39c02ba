// SPDX-License-Identifier: GPL-3.0-or-later
// A row a scheme. Nothing is looked up: whoever wrote the unit knows what it hides.
#include "daemon/control/sandbox.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *scheme, *drop_in, *enabled; ///< the drop-in's file, the variable it sets
} rows[] = {
	{"x11:", "x11.conf", "CONDPROF_SEES_X11"},
	{"fb:", "fb.conf", "CONDPROF_SEES_FB"},
	{"uinput:", "fb.conf", "CONDPROF_SEES_FB"},
};

static const char *const hidden_folders[] = {"/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"};

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

void sandbox_explain(const char *screen_uri, const char *input_uri, struct error *error)
{
	const char *drop_ins = getenv("CONDPROF_DROP_INS");
	const char *uri = error->code == CONDPROF__CODE__SCREEN_FAILED  ? screen_uri
			  : error->code == CONDPROF__CODE__INPUT_FAILED ? input_uri
									: NULL;
	size_t used = strlen(error->message);

	if (!drop_ins || !uri)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (begins_with(uri, rows[i].scheme) && !getenv(rows[i].enabled))
			snprintf(error->message + used, sizeof(error->message) - used,
				 "; the service is closed off from it until %.200s/%s is enabled (its first lines say "
				 "how)",
				 drop_ins, rows[i].drop_in);
	for (size_t i = 0; i < ARRAY_SIZE(hidden_folders); i++)
		if (begins_with(uri, "replay:") && begins_with(uri + strlen("replay:"), hidden_folders[i]))
			snprintf(error->message + used, sizeof(error->message) - used,
				 "; what is in %s is hidden from the service: put the frames below /srv/condprof, or "
				 "show the folder by BindReadOnlyPaths= in a drop-in of condprofd.service",
				 hidden_folders[i]);
}
