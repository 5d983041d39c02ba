// SPDX-License-Identifier: GPL-3.0-or-later
// The table of input kinds, and what is the same for all of them.
#include "config.h"

#include "daemon/input/kinds.h"
#include "daemon/screen/uri.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LATER "is not supported yet"

static struct uri_kinds kinds = {
	.noun = "input",
	.examples = "x11:DISPLAY (as x11::0), uinput: or log:",
	.rows =
		{
			{"log", &log_input_ops, NULL},
#ifdef HAVE_X11
			{"x11", &x11_input_ops, NULL},
#else
			{"x11", NULL, "is not built into this condprofd: configure it with --with-x11"},
#endif
			{"uinput", &uinput_input_ops, NULL},
			{"vnc", NULL, LATER},
			{"wayland", NULL, LATER},
		},
};

static int find(const char *uri, const struct input_ops **ret_ops, const char **ret_rest, struct error *error)
{
	const void *ops = NULL;
	const char *rest = NULL;
	int r = uri_find(&kinds, uri, &ops, &rest, error);

	if (r < 0)
		return r;
	const struct input_ops *input_ops = ops;
	r = input_ops->check ? input_ops->check(rest, error) : 0;
	if (r < 0)
		return r;
	*ret_ops = input_ops;
	*ret_rest = rest;
	return 0;
}

int input_check_uri(const char *uri, struct error *error)
{
	const struct input_ops *ops = NULL;
	const char *rest = NULL;

	return find(uri, &ops, &rest, error);
}

int input_open(const char *uri, const struct screen_config *config, const struct screen_wait *wait, struct input **ret,
	       struct error *error)
{
	static const struct screen_config nothing;
	const struct input_ops *ops = NULL;
	const char *rest = NULL;
	int r = find(uri, &ops, &rest, error);

	return r < 0 ? r : ops->open(rest, config ? config : &nothing, wait, ret, error);
}

void input_device(const char *uri, char *out, size_t size)
{
	const struct input_ops *ops = NULL;
	const char *rest = NULL;
	struct error error;

	if (find(uri, &ops, &rest, &error) == 0 && ops->device)
		ops->device(rest, out, size);
	else
		snprintf(out, size, "%s", uri);
}

struct input *input_close(struct input *input)
{
	return input ? input->ops->close(input) : NULL;
}

void input_for_screen(const char *screen_uri, char *out, size_t size)
{
	const char *implied = "log:";

	if (strncmp(screen_uri, "x11:", 4) == 0)
		implied = screen_uri;
	else if (strncmp(screen_uri, "fb:", 3) == 0)
		implied = "uinput:";
	snprintf(out, size, "%s", implied);
}

const char *const *input_schemes(void)
{
	return uri_kinds_names(&kinds);
}

void input_register(const struct input_ops *ops)
{
	uri_kinds_add(&kinds, ops->scheme, ops);
}
