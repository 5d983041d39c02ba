// SPDX-License-Identifier: GPL-3.0-or-later
/// The command line as tables: the verbs, their options and the global ones; parsing and help follow from them, and
/// tests hold the manual page and the completion against them.
#ifndef CONDPROF_CLIENT_VERBS_H
#define CONDPROF_CLIENT_VERBS_H

#include "client/client.h"

extern const struct verb verbs[];
extern const size_t verb_count;
extern const struct option_row global_options[];

/// NULL: no such verb.
const struct verb *verb_find(const char *name);

/// Parses argv into `ret`; global options may stand anywhere. What was asked wrongly is printed.
/// @return EXIT_DONE, EXIT_USAGE; ret->verb is NULL and EXIT_DONE when help was asked for and printed
enum exit_code client_parse(int argc, char **argv, struct client *ret);
void client_clear(struct client *client);

#endif
