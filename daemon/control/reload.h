// SPDX-License-Identifier: GPL-3.0-or-later
/// Reading the configuration again, and what a configuration means to those that keep their own copy of a part of it.
#ifndef CONDPROF_RELOAD_H
#define CONDPROF_RELOAD_H

#include "daemon/control/control.h"
#include "daemon/report/store.h"
#include "daemon/report/writer.h"

struct reloader;

int reloader_new(struct control *control, struct reloader **ret);
/// When no job is in flight.
struct reloader *reloader_free(struct reloader *reloader);

/// Reads the configuration on the worker. With mistakes in it the old one stays. One that is asked for meanwhile
/// follows: what was written before the last request is always read. The service manager hears when it begins and ends.
void reload_begin(struct reloader *reloader);

/// What is kept, by the configuration.
void configured_limits(const struct configuration *configuration, struct store_limits *ret_store,
		       struct writer_limits *ret_writer);

#endif
