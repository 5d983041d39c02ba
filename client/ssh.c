// SPDX-License-Identifier: GPL-3.0-or-later
//
// See ssh.h. The far side is given two fixed words and nothing else: what else it has to know goes through the pipe.
#include "config.h"

#include "client/ssh.h"

#include "client/bridge.h"
#include "client/quantity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// --- the machine -----------------------------------------------------------------------------------------------------

void ssh_host_clear(struct ssh_host *host)
{
	free(host->user);
	free(host->host);
	*host = (struct ssh_host){0};
}

static int bad_host(const char *text, const char *why, struct error *error)
{
	return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "-H %s: %s", error_quote(text).text, why);
}

static int take_port(const char *text, const char *port, int *ret, struct error *error)
{
	int64_t number;

	if (count_parse(port, 1, &number) < 0 || number > 65535)
		return bad_host(text, "the port is a number from 1 to 65535", error);
	*ret = (int)number;
	return 0;
}

/// [ADDRESS] or [ADDRESS]:PORT
static int take_bracketed(const char *text, const char *rest, struct ssh_host *ret, struct error *error)
{
	const char *end = strchr(rest, ']');
	size_t length = end ? (size_t)(end - rest - 1) : 0;

	if (!end || length == 0 || (end[1] && end[1] != ':'))
		return bad_host(text, "an address in brackets is written [ADDRESS] or [ADDRESS]:PORT", error);
	if (strspn(rest + 1, LETTERS_AND_DIGITS ".:%_-") != length || rest[1] == '-')
		return bad_host(text, "what stands in brackets is no address", error);
	ret->host = strndup(rest + 1, length);
	if (!ret->host)
		return -ENOMEM;
	return end[1] ? take_port(text, end + 2, &ret->port, error) : 0;
}

static int take_host(const char *text, const char *rest, struct ssh_host *ret, struct error *error)
{
	size_t length = strcspn(rest, ":");

	if (*rest == '[')
		return take_bracketed(text, rest, ret, error);
	if (length == 0)
		return bad_host(text, "no host is named: [USER@]HOST[:PORT]", error);
	if (strchr(rest, ':') != strrchr(rest, ':'))
		return bad_host(text, "an IPv6 address stands in brackets: [ADDRESS] or [ADDRESS]:PORT", error);
	if (strspn(rest, LETTERS_AND_DIGITS "._-") != length || *rest == '-')
		return bad_host(
			text,
			"a host has letters, digits, '.', '_' and '-', and does not begin with '-'; give it another "
			"name with Host and HostName in ~/.ssh/config",
			error);
	ret->host = strndup(rest, length);
	if (!ret->host)
		return -ENOMEM;
	return rest[length] ? take_port(text, rest + length + 1, &ret->port, error) : 0;
}

static int take_user(const char *text, size_t length, struct ssh_host *ret, struct error *error)
{
	if (length == 0)
		return bad_host(text, "no user stands before the @", error);
	if (strspn(text, LETTERS_AND_DIGITS "._-+@") < length || *text == '-')
		return bad_host(
			text,
			"a user has letters, digits, '.', '_', '-', '+' and '@', and does not begin with '-'; name "
			"others with User in ~/.ssh/config",
			error);
	ret->user = strndup(text, length);
	return ret->user ? 0 : -ENOMEM;
}

int ssh_host_parse(const char *text, struct ssh_host *ret, struct error *error)
{
	const char *at = strrchr(text, '@');
	struct ssh_host host = {0};
	int r = at ? take_user(text, (size_t)(at - text), &host, error) : 0;

	if (r == 0)
		r = take_host(text, at ? at + 1 : text, &host, error);
	if (r == -ENOMEM)
		error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	if (r < 0) {
		ssh_host_clear(&host);
		return r;
	}
	*ret = host;
	return 0;
}

// --- words -----------------------------------------------------------------------------------------------------------

char **ssh_words_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
	return NULL;
}

/// Takes one word, without its quotes. @return what follows it; NULL: a quote without its end
static const char *take_word(const char *text, char *out)
{
	char quote = '\0';

	for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
		if (*text == quote) {
			quote = '\0';
		} else if (!quote && (*text == '\'' || *text == '"')) {
			quote = *text;
		} else {
			if (*text == '\\' && text[1] && (!quote || (quote == '"' && strchr("\"\\", text[1]))))
				text++;
			*out++ = *text;
		}
	}
	*out = '\0';
	return quote ? NULL : text;
}

int ssh_words_split(const char *text, char ***ret)
{
	size_t room = strlen(text) / 2 + 2, n = 0; // a word and a blank have two characters
	char **words CLEANUP(ssh_words_cleanup) = calloc(room, sizeof(*words));
	CLEANUP_FREE char *word = malloc(strlen(text) + 1);

	if (!words || !word)
		return -ENOMEM;
	for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
		text = take_word(text, word);
		if (!text)
			return -EINVAL;
		words[n] = strdup(word);
		if (!words[n++])
			return -ENOMEM;
	}
	if (n == 0)
		return -EINVAL;
	*ret = TAKE_POINTER(words);
	return 0;
}

// --- the command -----------------------------------------------------------------------------------------------------

/// What scp and sftp ask of ssh as well: no terminal, no forwarding that the user's configuration has for people, and
/// no command but ours. A link that is dead is noticed in 9 s. What stands before, in CONDPROF_SSH, wins. How long a
/// login may take is left to ssh and to our own deadline: somebody may be asked for the password of a machine on the
/// way.
static const char *const fixed_options[] = {
	"-T",
	"-x",
	"-oClearAllForwardings=yes",
	"-oPermitLocalCommand=no",
	"-oRemoteCommand=none",
	"-oServerAliveInterval=3",
	"-oServerAliveCountMax=2",
};

static int add(char **words, size_t *n, const char *word)
{
	words[*n] = strdup(word);
	return words[(*n)++] ? 0 : -ENOMEM;
}

static int add_host(char **words, size_t *n, const struct ssh_host *host)
{
	char port[16];
	int r = 0;

	snprintf(port, sizeof(port), "%d", host->port);
	if (host->port)
		r = add(words, n, "-p") < 0 || add(words, n, port) < 0 ? -ENOMEM : 0;
	if (r == 0 && host->user)
		r = add(words, n, "-l") < 0 || add(words, n, host->user) < 0 ? -ENOMEM : 0;
	if (r == 0)
		r = add(words, n, "--");
	return r < 0 ? r : add(words, n, host->host);
}

int ssh_command(const struct ssh_host *host, const char *program, bool quiet, char ***ret, struct error *error)
{
	char **words = NULL;
	size_t n = 0;
	int r = ssh_words_split(program && *program ? program : "ssh", &words);

	if (r == -EINVAL)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "CONDPROF_SSH has a quote without its end, or no word at all: it is a program and its "
				 "options, as in ssh -F file");
	while (r == 0 && words[n])
		n++;
	char **all = r == 0 ? reallocarray(words, n + ARRAY_SIZE(fixed_options) + 16, sizeof(*words)) : NULL;
	if (!all) {
		ssh_words_free(words);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	memset(all + n, 0, (ARRAY_SIZE(fixed_options) + 16) * sizeof(*all));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fixed_options); i++)
		r = add(all, &n, fixed_options[i]);
	if (r == 0 && quiet)
		r = add(all, &n, "-oLogLevel=ERROR");
	if (r == 0)
		r = add_host(all, &n, host);
	if (r == 0)
		r = add(all, &n, BRIDGE_COMMAND);
	if (r < 0) {
		ssh_words_free(all);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	*ret = all;
	return 0;
}
