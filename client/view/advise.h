// SPDX-License-Identifier: GPL-3.0-or-later
/// Advice as people and machines get it; the names for machines are those of condprofctl(1), section JSON.
#ifndef CONDPROF_VIEW_ADVISE_H
#define CONDPROF_VIEW_ADVISE_H

#include "client/render/render.h"
#include "client/report/advise.h"

/// @return 0, -ENOMEM
int view_advice(struct render *render, const struct report_advice *advice);

#endif
