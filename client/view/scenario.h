// SPDX-License-Identifier: GPL-3.0-or-later
/// What `check` says of a scenario file, for machines: {file, valid, mistakes, scenario, diagnostics}.
#ifndef CONDPROF_VIEW_SCENARIO_H
#define CONDPROF_VIEW_SCENARIO_H

#include "client/render/render.h"
#include "client/scenario/load.h"

/// @param name the file's, as given
void view_scenario_check(struct render *render, const char *name, const struct scenario_file *file);

#endif
