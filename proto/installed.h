// SPDX-License-Identifier: GPL-3.0-or-later
/// Names of installed scenarios: what both programs take for one. A name is a file's name in the daemon's state folder,
/// an instance of a systemd unit and a word on a command line, so no character of it means anything to any of them.
#ifndef CONDPROF_INSTALLED_H
#define CONDPROF_INSTALLED_H

#include "proto/base.h"

/// For messages, after "a name is".
#define INSTALLED_NAME_RULE                                                                                            \
	"a letter or a digit, then letters, digits, \".\", \"_\" and \"-\", 64 at the most, and does not end in .yaml"

/// Whether a scenario may be installed under it. ASCII only; what ends in .yaml is a file's.
bool installed_name_valid(const char *name);

#endif
