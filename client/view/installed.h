// SPDX-License-Identifier: GPL-3.0-or-later
/// Installed scenarios as cells.
#ifndef CONDPROF_VIEW_INSTALLED_H
#define CONDPROF_VIEW_INSTALLED_H

#include "client/render/render.h"
#include "proto/control.pb-c.h"

void view_scenarios(struct render *render, const Condprof__InstalledScenario *const *scenarios, size_t n);
/// What was just installed: people get its name alone.
void view_installed(struct render *render, const Condprof__InstalledScenario *scenario);
/// The same for what was just removed.
void view_removed(struct render *render, const Condprof__InstalledScenario *scenario);

#endif
