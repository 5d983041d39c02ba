// SPDX-License-Identifier: GPL-3.0-or-later
//
// The daemon is the one that opens screens and inputs; here only what a person gets wrong before that: a word that is
// no scheme, and a folder that is meant from here.
#include "config.h"

#include "client/scenario/uri.h"

#include "proto/limits.h"
#include "proto/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const screen_schemes[] = {"replay", "x11", "fb", "vnc", "wayland"};
static const char *const input_schemes[] = {"log", "x11", "uinput", "vnc", "wayland"};

static int check_scheme(const char *uri, bool input, struct error *error)
{
	const char *const *schemes = input ? input_schemes : screen_schemes;
	size_t count = input ? ARRAY_SIZE(input_schemes) : ARRAY_SIZE(screen_schemes);
	size_t length = strcspn(uri, ":");
	const char *example = input ? "log: or x11::0" : "x11::0 or replay:FOLDER";
	char scheme[32];

	if (uri[length] != ':' || length == 0)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "expected %s URI like %s",
				 input ? "an input" : "a screen", example);
	snprintf(scheme, sizeof(scheme), "%.*s", (int)MIN(length, sizeof(scheme) - 1), uri);
	for (size_t i = 0; i < count; i++)
		if (length == strlen(schemes[i]) && !strcmp(scheme, schemes[i]))
			return 0;
	if (!strcmp(scheme, "memory")) // tests bring their own
		return 0;
	const char *near = nearest_word(scheme, schemes, count);
	if (near)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "no %s “%s:”; did you mean “%s:”?",
				 input ? "input" : "screen", scheme, near);
	return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "no %s “%s:”: expected a URI like %s",
			 input ? "input" : "screen", scheme, example);
}

static int make_absolute(const char *scheme, const char *path, const char *folder, bool remote, char **ret,
			 struct error *error)
{
	if (*path == '/')
		return asprintf(ret, "%s%s", scheme, path) < 0 ? -ENOMEM : 0;
	if (remote)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "the folder stands on the daemon's machine: with -H it must be absolute");
	if (!folder)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "a relative folder has no meaning here: write it absolute");
	while (!strncmp(path, "./", 2))
		path += 2;
	return asprintf(ret, "%s%s%s%s", scheme, folder, strcmp(folder, "/") ? "/" : "", path) < 0 ? -ENOMEM : 0;
}

static int check_result(char *result, char **ret, struct error *error)
{
	if (!utf8_valid(result, strlen(result))) {
		free(result);
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "not UTF-8, which is what the daemon is told names in: give the folder another name");
	}
	if (strlen(result) > TEXT_MAX_BYTES) {
		free(result);
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "longer than %u bytes", TEXT_MAX_BYTES);
	}
	*ret = result;
	return 0;
}

int folder_for_daemon(const char *path, const char *folder, bool remote, char **ret, struct error *error)
{
	char *result = NULL;

	if (!*path)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "names no folder");
	int r = make_absolute("", path, folder, remote, &result, error);
	return r < 0 ? r : check_result(result, ret, error);
}

int uri_for_daemon(const char *uri, bool input, const char *folder, bool remote, char **ret, struct error *error)
{
	char *result = NULL;
	int r = check_scheme(uri, input, error);

	if (r < 0)
		return r;
	if (!input && !strncmp(uri, "replay:", 7) && (!uri[7] || uri[7] == '?'))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "replay: names no folder: replay:FOLDER");
	if (!input && !strncmp(uri, "replay:", 7))
		r = make_absolute("replay:", uri + 7, folder, remote, &result, error);
	else if (!(result = strdup(uri)))
		r = -ENOMEM;
	return r < 0 ? r : check_result(result, ret, error);
}
