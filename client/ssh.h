// SPDX-License-Identifier: GPL-3.0-or-later
/// The command line of ssh: which machine is meant by -H, and the words that reach it. Nothing here runs anything.
#ifndef CONDPROF_CLIENT_SSH_H
#define CONDPROF_CLIENT_SSH_H

#include "proto/errors.h"

/// [USER@]HOST[:PORT], an IPv6 address in brackets when a port follows.
struct ssh_host {
	char *user; ///< NULL: ssh's own choice
	char *host;
	int port; ///< 0: ssh's own choice
};

/// What could mean something to ssh or to a shell is refused: ssh hands host and user to its ProxyCommand.
/// @param ret the caller's: ssh_host_clear()
/// @return 0, -EINVAL with an error, -ENOMEM
int ssh_host_parse(const char *text, struct ssh_host *ret, struct error *error);
void ssh_host_clear(struct ssh_host *host);

/// NULL-terminated words, the caller's: ssh_words_free(). NULL-safe.
char **ssh_words_free(char **words);
static inline void ssh_words_cleanup(char ***words)
{
	*words = ssh_words_free(*words);
}

/// Cuts a text at blanks. '…' and "…" keep blanks in a word, a backslash takes the next character as it is (within "…"
/// only before " and \); nothing is expanded.
/// @return 0, -EINVAL: a quote without its end, or no word at all, -ENOMEM
int ssh_words_split(const char *text, char ***ret);

/// The whole command.
/// @param program $CONDPROF_SSH; NULL or empty: ssh
/// @param quiet only errors of ssh's own
int ssh_command(const struct ssh_host *host, const char *program, bool quiet, char ***ret, struct error *error);

#endif
