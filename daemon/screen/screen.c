// SPDX-License-Identifier: GPL-3.0-or-later
// The table of screen kinds, and what is the same for all of them.
#include "config.h"

#include "daemon/screen/kinds.h"
#include "daemon/screen/uri.h"

#include <errno.h>

#define LATER "is not supported yet"

static struct uri_kinds kinds = {
	.noun = "screen",
	.examples = "x11:DISPLAY (as x11::0), fb:/dev/fb0 or replay:DIR",
	.rows =
		{
			{"replay", &replay_screen_ops, NULL},
#ifdef HAVE_X11
			{"x11", &x11_screen_ops, NULL},
#else
			{"x11", NULL, "is not built into this condprofd: configure it with --with-x11"},
#endif
			{"fb", &fb_screen_ops, NULL},
			{"vnc", NULL, LATER},
			{"wayland", NULL, LATER},
		},
};

static int find(const char *uri, const struct screen_ops **ret_ops, const char **ret_rest, struct error *error)
{
	const void *ops = NULL;
	const char *rest = NULL;
	int r = uri_find(&kinds, uri, &ops, &rest, error);

	if (r < 0)
		return r;
	const struct screen_ops *screen_ops = ops;
	r = screen_ops->check ? screen_ops->check(rest, error) : 0;
	if (r < 0)
		return r;
	*ret_ops = screen_ops;
	*ret_rest = rest;
	return 0;
}

int screen_check_uri(const char *uri, struct error *error)
{
	const struct screen_ops *ops = NULL;
	const char *rest = NULL;

	return find(uri, &ops, &rest, error);
}

int screen_open(const char *uri, const struct screen_config *config, const struct screen_wait *wait,
		struct screen **ret, struct error *error)
{
	static const struct screen_config nothing;
	const struct screen_ops *ops = NULL;
	const char *rest = NULL;
	int r = find(uri, &ops, &rest, error);

	return r < 0 ? r : ops->open(rest, config ? config : &nothing, wait, ret, error);
}

struct screen *screen_close(struct screen *screen)
{
	return screen ? screen->ops->close(screen) : NULL;
}

const char *const *screen_schemes(void)
{
	return uri_kinds_names(&kinds);
}

void screen_register(const struct screen_ops *ops)
{
	uri_kinds_add(&kinds, ops->scheme, ops);
}
