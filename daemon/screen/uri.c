// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/screen/uri.h"

#include "proto/limits.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void uri_kinds_add(struct uri_kinds *kinds, const char *scheme, const void *ops)
{
	size_t i = 0;

	while (i < URI_KINDS_MAX && kinds->rows[i].scheme && strcmp(kinds->rows[i].scheme, scheme) != 0)
		i++;
	assert(i < URI_KINDS_MAX);
	kinds->rows[i] = (struct uri_kind){.scheme = scheme, .ops = ops};
	uri_kinds_names(kinds);
}

const char *const *uri_kinds_names(struct uri_kinds *kinds)
{
	size_t count = 0;

	for (size_t i = 0; i < URI_KINDS_MAX && kinds->rows[i].scheme; i++) {
		if (kinds->rows[i].ops)
			kinds->names[count++] = kinds->rows[i].scheme;
	}
	kinds->names[count] = NULL;
	return kinds->names;
}

static const struct uri_kind *find_row(const struct uri_kinds *kinds, const char *scheme, size_t length)
{
	for (size_t i = 0; i < URI_KINDS_MAX && kinds->rows[i].scheme; i++) {
		const struct uri_kind *row = &kinds->rows[i];

		if (strlen(row->scheme) == length && memcmp(row->scheme, scheme, length) == 0)
			return row;
	}
	return NULL;
}

/// @param length of what stands before the colon; 0: there is none
static int unknown_scheme(const struct uri_kinds *kinds, const char *uri, size_t length, struct error *error)
{
	char word[32] = "";
	const char *nearest = NULL;

	if (length > 0 && length < sizeof(word)) {
		memcpy(word, uri, length);
		nearest = nearest_word(word, kinds->names, SIZE_MAX);
	}
	if (nearest)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "\"%.200s\" is no %s: there is no \"%s:\", did you mean \"%s:\"?", uri, kinds->noun,
				 word, nearest);
	return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "\"%.200s\" is no %s: write %s", uri, kinds->noun,
			 kinds->examples);
}

int uri_find(const struct uri_kinds *kinds, const char *uri, const void **ret_ops, const char **ret_rest,
	     struct error *error)
{
	if (!uri || !*uri)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "no %s was named: write %s", kinds->noun,
				 kinds->examples);
	if (strlen(uri) > TEXT_MAX_BYTES)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "the name of the %s is longer than %u bytes", kinds->noun, TEXT_MAX_BYTES);
	const char *colon = strchr(uri, ':');
	size_t length = colon ? (size_t)(colon - uri) : 0;
	const struct uri_kind *row = colon ? find_row(kinds, uri, length) : NULL;

	if (!row)
		return unknown_scheme(kinds, uri, length, error);
	if (!row->ops)
		return error_set(error, CONDPROF__CODE__UNSUPPORTED, ENOTSUP, "%s \"%s:\" %s", kinds->noun, row->scheme,
				 row->absent);
	*ret_ops = row->ops;
	*ret_rest = colon + 1;
	return 0;
}
