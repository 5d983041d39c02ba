// SPDX-License-Identifier: GPL-3.0-or-later
/// The service sees little of the system. When a screen or an input did not open because of that, the error should say
/// what shows it.
#ifndef CONDPROF_SANDBOX_H
#define CONDPROF_SANDBOX_H

#include "proto/errors.h"

/// Adds a sentence about the drop-in (condprofd.service.d) that shows what the screen or input needs, to an error of
/// SCREEN_FAILED or INPUT_FAILED. Does nothing outside the service, or when that drop-in is enabled: the unit says by
/// CONDPROF_DROP_INS where drop-ins are, and each of them by a variable that it is there.
void sandbox_explain(const char *screen_uri, const char *input_uri, struct error *error);

#endif
