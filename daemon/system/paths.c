// SPDX-License-Identifier: GPL-3.0-or-later
// Paths from the environment are taken only when they are absolute, as the XDG base directory specification wants it.
#include "config.h"

#include "daemon/system/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#ifndef SYSCONFDIR // the makefile knows it; tools that look at this file alone do not
#define SYSCONFDIR "/etc"
#endif

static const char *absolute_environment(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

static int put(char *out, size_t size, struct error *error, const char *folder, const char *rest)
{
	if ((size_t)snprintf(out, size, "%s%s", folder, rest) >= size)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENAMETOOLONG, "the path %s%s is too long", folder,
				 rest);
	return 0;
}

int path_default_socket(char *out, size_t size, struct error *error)
{
	const char *named = getenv("CONDPROF_SOCKET"), *runtime = absolute_environment("XDG_RUNTIME_DIR");

	if (named && *named)
		return put(out, size, error, named, "");
	if (!geteuid())
		return put(out, size, error, "/run/condprof", "/control.sock");
	if (runtime)
		return put(out, size, error, runtime, "/condprof/control.sock");
	return error_set(error, CONDPROF__CODE__INTERNAL, ENOENT,
			 "XDG_RUNTIME_DIR is not set, so there is no default socket; use --socket PATH");
}

int path_default_state(char *out, size_t size, struct error *error)
{
	const char *state = absolute_environment("XDG_STATE_HOME"), *home = absolute_environment("HOME");

	if (!geteuid())
		return put(out, size, error, "/var/lib/condprof", "");
	if (state)
		return put(out, size, error, state, "/condprof");
	if (home)
		return put(out, size, error, home, "/.local/state/condprof");
	return error_set(
		error, CONDPROF__CODE__INTERNAL, ENOENT,
		"neither XDG_STATE_HOME nor HOME is set, so there is no default state folder; use --state-dir DIR");
}

const char *path_system_configuration(void)
{
	return SYSCONFDIR "/condprof/condprofd.conf";
}

int path_default_configuration(char *out, size_t size, struct error *error)
{
	const char *config = absolute_environment("XDG_CONFIG_HOME"), *home = absolute_environment("HOME");

	if (!geteuid())
		return put(out, size, error, path_system_configuration(), "");
	if (config)
		return put(out, size, error, config, "/condprof/condprofd.conf");
	if (home)
		return put(out, size, error, home, "/.config/condprof/condprofd.conf");
	return put(out, size, error, "/dev/null", "");
}

int path_make_parents(const char *path, unsigned mode, struct error *error)
{
	char folder[PATH_MAX];

	if (strlen(path) >= sizeof(folder))
		return error_set(error, CONDPROF__CODE__INTERNAL, ENAMETOOLONG, "the path %s is too long", path);
	strcpy(folder, path);
	for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		if (mkdir(folder, mode) < 0 && errno != EEXIST)
			return error_set(error, CONDPROF__CODE__IO, errno, "cannot make the folder %s: %s", folder,
					 strerror(errno));
		*slash = '/';
	}
	return 0;
}
