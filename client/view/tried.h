// SPDX-License-Identifier: GPL-3.0-or-later
/// A scenario's conditions on one picture; the names for machines are those of condprofctl(1), section JSON.
#ifndef CONDPROF_VIEW_TRIED_H
#define CONDPROF_VIEW_TRIED_H

#include "client/render/render.h"
#include "client/trial/tried.h"

/// @param scenario its name
/// @param file the picture that was sent; NULL: it is the screen's
void view_tried(struct render *render, const char *scenario, const char *file, const struct tried *tried);

/// "12.3 %": a threshold for people, never less than it is. @return out
#define PERCENT_SIZE 32U
char *percent_up(double percent, char out[PERCENT_SIZE]);

#endif
