// SPDX-License-Identifier: GPL-3.0-or-later
/// Conditions and actions as sentences, defaults resolved: what `check` prints of a scenario file.
#ifndef CONDPROF_SCENARIO_DESCRIBE_H
#define CONDPROF_SCENARIO_DESCRIBE_H

#include "proto/base.h"
#include "proto/scenario.pb-c.h"

#define DESCRIPTION_BYTES 2048

/// "image", "color", …; "" when there is none.
const char *condition_kind(const Condprof__Condition *condition);

/// "the image popup.png (24 x 20) is seen anywhere on the screen, threshold 4 %". @return out
char *describe_condition(const Condprof__Condition *condition, char out[DESCRIPTION_BYTES]);

/// "click", "enable", …; "" when there is none.
const char *action_kind(const Condprof__Action *action);

/// "click on popup, 0,4 beside its centre, for 50 ms". @return out
char *describe_action(const Condprof__Action *action, char out[DESCRIPTION_BYTES]);

/// "10 passes a second". @return out
char *describe_rate(const Condprof__Rate *rate, char out[DESCRIPTION_BYTES]);

#endif
