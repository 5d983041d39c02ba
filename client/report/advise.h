// SPDX-License-Identifier: GPL-3.0-or-later
/// What would make a scenario cheaper, from the figures of one report alone; and what those figures can't tell.
///
/// The model of an event: its conditions are checked in order until one decides, which for *all* is one that is not
/// fulfilled and for *any* one that is. A condition costs what its checks took on average, without preparation that
/// others used too (that would only move), and decides with the chance it was measured to. Both are taken to stay the
/// same wherever the condition stands: this is the assumption of independence. By it one evaluation costs
/// c1 + (1 - d1) c2 + (1 - d1) (1 - d2) c3 + …, which is least when conditions stand by c / d, the smallest first.
#ifndef CONDPROF_REPORT_ADVISE_H
#define CONDPROF_REPORT_ADVISE_H

#include "client/report/report.h"

#define ADVISE_FEW_CHECKS 30    ///< below this a chance says little
#define ADVISE_FEW_MATCHES 5    ///< below this a place may be one by chance
#define ADVISE_LEAST_SHARE 0.01 ///< of what a part is compared with: less is not worth a word

enum advice_kind {
	ADVICE_ORDER,           ///< of an event's conditions
	ADVICE_NEVER_DECIDES,   ///< a condition could be left out
	ADVICE_AREA,            ///< a search found its image in one place only
	ADVICE_NEVER_FULFILLED, ///< an event costs, and nothing came of it
	ADVICE_LIMITER_NEVER,   ///< reached: passes take longer than its period
	ADVICE_LIMITER_ALWAYS,  ///< reached: it decides how soon something is noticed
	ADVICE_KINDS,
};

struct ordered_condition {
	const struct report_condition *condition;
	size_t now;              ///< its place as it is, from 0
	bool known;              ///< it was checked: the next four are told
	double cost_ns;          ///< a check, without shared preparation
	double chance;           ///< to decide the event
	double ratio;            ///< cost over chance; INFINITY: it never decided
	double predicted_checks; ///< in this order, in a session like this one
};

struct advice {
	enum advice_kind kind;
	const struct report_event *event;         ///< NULL: of the session
	const struct report_condition *condition; ///< NULL: of the event
	struct maybe saving_ns;                   ///< predicted, a pass
	struct maybe at_most_ns;                  ///< what it costs a pass: no change can save more
	struct ordered_condition *order;          ///< ADVICE_ORDER: as it should be
	size_t n_order;
	struct report_area area; ///< ADVICE_AREA: to be searched
	bool exact;              ///< ADVICE_AREA: it was at this very place every time
	bool few;                ///< some of what this rests on are fewer than ADVISE_FEW_CHECKS checks
	bool click_found;        ///< ADVICE_ORDER: a `click: found` of the event goes by the order too
	bool timers;             ///< ADVICE_ORDER: which timer of an *any* event is spent goes by the order too
};

enum unknown_kind {
	UNKNOWN_NEVER_CHECKED, ///< what it costs, and how often it would decide
	UNKNOWN_FEW_MATCHES,   ///< whether it is always found where it was
	UNKNOWN_NO_MATCH,      ///< where it would be found
	UNKNOWN_NO_PLACES,     ///< the report predates them
	UNKNOWN_KINDS,
};

struct unknown {
	enum unknown_kind kind;
	const struct report_event *event;
	const struct report_condition *condition;
};

struct report_advice {
	const struct report *report;
	struct advice *items; ///< what saves most comes first
	size_t n_items;
	struct unknown *unknowns;
	size_t n_unknowns;
	int64_t passes;
};

/// @return 0, -ENODATA: the report has no complete pass, or no figures of its conditions; -ENOMEM
int report_advise(const struct report *report, struct report_advice **ret);
struct report_advice *report_advice_free(struct report_advice *advice);
static inline void report_advice_cleanup(struct report_advice **advice)
{
	*advice = report_advice_free(*advice);
}

/// The model: what one evaluation costs on average when conditions stand in this order. Unknown ones cost nothing.
double advise_expected_cost(const struct ordered_condition *order, size_t n);
/// Puts them in the best order: by cost over chance, the smallest first, equal ones and unknown ones as they stand.
void advise_sort(struct ordered_condition *order, size_t n);

#endif
