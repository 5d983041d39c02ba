// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/screen/uri.h"

#include "proto/limits.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void uri_kinds_add(struct uri_kinds *kinds, const char *scheme, const void *ops)
{
	size_t i = 0;

	while (i < URI_KINDS_MAX && kinds->rows[i].scheme && strcmp(kinds->rows[i].scheme, scheme) != 0)
		i++;
	assert(i < URI_KINDS_MAX);
	kinds->rows[i] = (struct uri_kind){.scheme = scheme, .ops = ops};
}

static void list_names(const struct uri_kinds *kinds, const char *ret_names[URI_KINDS_MAX + 1])
{
	size_t count = 0;

	for (size_t i = 0; i < URI_KINDS_MAX && kinds->rows[i].scheme; i++) {
		if (kinds->rows[i].ops)
			ret_names[count++] = kinds->rows[i].scheme;
	}
	ret_names[count] = NULL;
}

const char *const *uri_kinds_names(struct uri_kinds *kinds)
{
	list_names(kinds, kinds->names);
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
	const char *names[URI_KINDS_MAX + 1];
	const char *nearest = NULL;

	if (length > 0 && length < sizeof(word)) {
		memcpy(word, uri, length);
		list_names(kinds, names);
		nearest = nearest_word(word, names, SIZE_MAX);
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

static int unknown_option(const char *kind, const char *name, const struct uri_option *options, size_t count,
			  struct error *error)
{
	const char *names[URI_OPTIONS_MAX] = {0};
	char list[160] = "";

	for (size_t i = 0; i < count; i++) {
		names[i] = options[i].name;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s=", i > 0 ? ", " : "", options[i].name);
	}
	const char *nearest = nearest_word(name, names, count);
	if (nearest)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "%s: unknown option \"%.100s\", did you mean \"%s\"?", kind, name, nearest);
	return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "%s: unknown option \"%.100s\"; there are %s",
			 kind, name, list);
}

static int set_option(const char *kind, char *text, const struct uri_option *options, size_t count, void *context,
		      unsigned *seen, struct error *error)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < count; i++) {
		if (strcmp(options[i].name, text) != 0)
			continue;
		if (!value)
			return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
					 "%s: option \"%s\" has no value (%s=…)", kind, text, text);
		if (*seen & 1U << i)
			return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "%s: option \"%s\" is there twice",
					 kind, text);
		*seen |= 1U << i;
		return options[i].set(context, value, error);
	}
	return unknown_option(kind, text, options, count, error);
}

int uri_set_options(const char *kind, const char *text, const struct uri_option *options, size_t count, void *context,
		    unsigned *ret_seen, struct error *error)
{
	char copy[TEXT_MAX_BYTES + 1];
	unsigned seen = 0;

	assert(count <= URI_OPTIONS_MAX);
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *rest = *copy ? copy : NULL, *one; (one = strsep(&rest, "&"));) {
		int r = set_option(kind, one, options, count, context, &seen, error);

		if (r < 0)
			return r;
	}
	if (ret_seen)
		*ret_seen = seen;
	return 0;
}
