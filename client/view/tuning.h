// SPDX-License-Identifier: GPL-3.0-or-later
/// What many pictures say of a scenario's image conditions; the names for machines are those of condprofctl(1), section
/// JSON.
#ifndef CONDPROF_VIEW_TUNING_H
#define CONDPROF_VIEW_TUNING_H

#include "client/render/render.h"
#include "client/trial/measured.h"

/// What every series means. Sorts its samples.
/// @param folder of the pictures
void view_tuning(struct render *render, const char *scenario, const char *folder, struct measured *measured);

/// What was measured: a row a condition and picture.
void view_measured(struct render *render, const char *scenario, const char *folder, const struct measured *measured);

#endif
