// SPDX-License-Identifier: GPL-3.0-or-later
/// What screens and inputs share about their URIs, "scheme:rest": a table of kinds, and finding a kind in it with
/// errors that a person can act on. Tables are filled before anything is opened and only read after that.
#ifndef CONDPROF_URI_H
#define CONDPROF_URI_H

#include "proto/errors.h"

#define URI_KINDS_MAX 12U

struct uri_kind {
	const char *scheme;
	const void *ops;    ///< NULL: known, but not to be had
	const char *absent; ///< then: why, as the rest of a sentence
};

struct uri_kinds {
	const char *noun;                     ///< "screen"
	const char *examples;                 ///< "x11:DISPLAY or replay:DIR"
	struct uri_kind rows[URI_KINDS_MAX];  ///< up to the first without a scheme
	const char *names[URI_KINDS_MAX + 1]; ///< what uri_kinds_names() gives
};

/// Adds a kind; one of the same scheme is replaced. Asserts that there is room: only our own code calls it.
void uri_kinds_add(struct uri_kinds *kinds, const char *scheme, const void *ops);

/// The schemes of those that can be had, NULL at the end; in the table, and told anew by each call: not for threads.
const char *const *uri_kinds_names(struct uri_kinds *kinds);

/// @param ret_ops of the kind, never NULL; @param ret_rest points into `uri`, after the colon
/// @return 0; -EINVAL: not a URI or an unknown scheme (BAD_REQUEST); -ENOTSUP: not built or not yet (UNSUPPORTED)
int uri_find(const struct uri_kinds *kinds, const char *uri, const void **ret_ops, const char **ret_rest,
	     struct error *error);

/// One of a kind's options, "name=value".
struct uri_option {
	const char *name;
	int (*set)(void *context, const char *value, struct error *error);
};

#define URI_OPTIONS_MAX 8U

/// Sets what stands in `text`, "a=1&b=2"; empty: nothing. An option that is unknown, there twice or without a value is
/// an error that begins with `kind` and says what there is.
/// @param ret_seen a bit an option, in the order of the table; may be NULL
int uri_set_options(const char *kind, const char *text, const struct uri_option *options, size_t count, void *context,
		    unsigned *ret_seen, struct error *error);

#endif
