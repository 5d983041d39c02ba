// SPDX-License-Identifier: GPL-3.0-or-later
/// What the parts of a comparison have in common.
#ifndef CONDPROF_VIEW_DIFF_INTERNAL_H
#define CONDPROF_VIEW_DIFF_INTERNAL_H

#include "client/render/format.h"
#include "client/view/diff.h"
#include "client/view/report.h"

/// For people: +12.3 %. NULL: not known
const char *diff_percent_text(bool known, double percent, char out[FORMAT_SIZE]);
const char *diff_change_text(struct maybe base, struct maybe new, char out[FORMAT_SIZE]);
/// For people: 66 / 61
const char *diff_both_text(const struct render *render, struct maybe base, struct maybe new, char out[FORMAT_SIZE]);
/// A figure of both: its cells for machines, at `cells`, one of four kinds every `stride`.
void diff_figure_cells(struct maybe base, struct maybe new, bool duration, struct cell *cells, size_t stride);
/// Which report has it: both, base or new. One of them is not NULL.
const char *diff_whose(const void *base, const void *new);
/// NULL: the scenario does not know its event.
const char *diff_event_name(const struct report *report, const struct report_condition *condition);

/// @return 0, -ENOMEM
int view_diff_conditions(struct render *render, const struct report_diff *diff, int64_t min_checks);
/// Conditions of one report alone, for people.
void view_diff_only_in(struct render *render, const struct report_diff *diff, bool new);
/// Says which conditions are not defined as in the base. @return 0, -ENOMEM
int view_diff_redefined(struct render *render, const struct report_diff *diff);

#endif
