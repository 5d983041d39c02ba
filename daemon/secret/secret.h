// SPDX-License-Identifier: GPL-3.0-or-later
/// The secrets that a scenario types, by name: read when its session starts, from the credentials that the service
/// manager gives (one file a secret, CREDENTIALS_DIRECTORY) or else from the file of all secrets that the configuration
/// names; kept in locked memory until the session ends. Whatever goes wrong, no error and no log line holds a part of
/// one.
///
/// The file belongs to root or to the daemon's user, and nobody else may read it. Lines are "NAME = VALUE", empty, or
/// comments, which begin with #. Blanks around name and value do not count, unless the value stands in double quotes,
/// in which \n, \t, \" and \\ are what they are in C. Of a credential one newline at the end does not count.
///
/// A secret is a text: UTF-8 of 1 to TEXT_MAX_BYTES bytes, without control characters but tab and newline.
#ifndef CONDPROF_SECRET_H
#define CONDPROF_SECRET_H

#include "proto/errors.h"

#define SECRETS_FILE_MAX_BYTES 32768U

struct secret_source {
	const char *credentials; ///< a folder; NULL: none
	const char *file;        ///< NULL: none
};

struct secrets;

/// Waits for the disk.
/// @param names each once
/// @param ret_failed which name the error is about
/// @return 0, or an error: BAD_SCENARIO, or INTERNAL (no memory to lock)
int secrets_read(const struct secret_source *source, const char *const *names, uint32_t count, struct secrets **ret,
		 uint32_t *ret_failed, struct error *error);

/// NULL: not among them. Valid until secrets_free().
const char *secrets_value(const struct secrets *secrets, const char *name);

/// Wipes them. NULL-safe; returns NULL.
struct secrets *secrets_free(struct secrets *secrets);

#endif
