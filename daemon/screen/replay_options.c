// SPDX-License-Identifier: GPL-3.0-or-later
// A table of options, a function each; what excludes each other is looked at when all are there.
#include "config.h"

#include "daemon/screen/replay_options.h"

#include "daemon/screen/uri.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define FPS_MAX 1000.0
#define FPS_MIN 0.001

static int bad(struct error *error, const char *what, const char *value)
{
	return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "replay: %s, not \"%.100s\"", what, value);
}

static int set_step(void *context, const char *value, struct error *error)
{
	(void)context;
	return strcmp(value, "pass") == 0 ? 0 : bad(error, "step can only be \"pass\" (by time it is fps=N)", value);
}

static int set_fps(void *context, const char *value, struct error *error)
{
	struct replay_options *options = context;
	char *end = NULL;
	bool plain = *value && strspn(value, "0123456789.") == strlen(value);
	double fps = plain ? strtod(value, &end) : 0;

	if (!plain || *end || fps < FPS_MIN || fps > FPS_MAX)
		return bad(error, "fps is a number of pictures a second from 0.001 to 1000", value);
	options->fps = fps;
	return 0;
}

static int set_loop(void *context, const char *value, struct error *error)
{
	struct replay_options *options = context;

	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return bad(error, "loop is 0 or 1", value);
	options->loop = *value == '1';
	return 0;
}

static int set_clock(void *context, const char *value, struct error *error)
{
	struct replay_options *options = context;

	if (strcmp(value, "virtual") != 0)
		return bad(error, "clock can only be \"virtual\"", value);
	options->virtual_clock = true;
	return 0;
}

enum option { OPTION_STEP, OPTION_FPS, OPTION_LOOP, OPTION_CLOCK, OPTIONS };

static const struct uri_option option_table[] = {
	[OPTION_STEP] = {"step", set_step},
	[OPTION_FPS] = {"fps", set_fps},
	[OPTION_LOOP] = {"loop", set_loop},
	[OPTION_CLOCK] = {"clock", set_clock},
};
static_assert(ARRAY_SIZE(option_table) == OPTIONS, "a row an option");

static int set_options(struct replay_options *options, const char *text, struct error *error)
{
	unsigned seen = 0;
	int r = uri_set_options("replay", text, option_table, OPTIONS, options, &seen, error);

	if (r < 0)
		return r;
	if (seen & 1U << OPTION_STEP && seen & 1U << OPTION_FPS)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "replay: step=pass and fps=N exclude each other");
	if (options->virtual_clock && (options->fps > 0 || options->loop))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "replay: clock=virtual plays a session as it was: without fps and loop");
	return 0;
}

// Options follow the last question mark: a folder that has one in its name is written with another one at the end.
int replay_options_parse(const char *rest, struct replay_options *ret, struct error *error)
{
	const char *mark = strrchr(rest, '?');
	size_t length = mark ? (size_t)(mark - rest) : strlen(rest);
	struct replay_options options = {0};

	if (length == 0)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "replay: names no folder: write replay:DIR");
	if (rest[0] != '/')
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "replay: \"%.300s\" is not an absolute path", rest);
	if (length >= sizeof(options.path))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "replay: the folder's name is too long");
	memcpy(options.path, rest, length);
	int r = set_options(&options, mark ? mark + 1 : "", error);
	if (r < 0)
		return r;
	*ret = options;
	return 0;
}
