// SPDX-License-Identifier: GPL-3.0-or-later
/// A report as values: what the daemon or a folder gave, decoded, names joined to ids, figures that follow from others
/// worked out. What a report does not have is not known, never 0: old reports have less.
#ifndef CONDPROF_REPORT_H
#define CONDPROF_REPORT_H

#include "client/report/source.h"
#include "proto/report.pb-c.h"
#include "proto/scenario.pb-c.h"

/// A figure that may be missing.
struct maybe {
	bool known;
	int64_t value;
};

static inline struct maybe maybe_if(bool known, int64_t value)
{
	return (struct maybe){known, known ? value : 0};
}

#define REPORT_NO_EVENT SIZE_MAX

struct report_condition {
	int64_t id;
	bool id_given;                         ///< by the scenario's author
	const Condprof__Condition *definition; ///< NULL: the scenario does not know it
	const char *name;                      ///< never NULL: #7 where the scenario does not know it
	const char *kind; ///< image, color, text, number, timer, counter, broadcast; NULL: not known
	size_t event;     ///< index into events, or REPORT_NO_EVENT
	bool measured;    ///< the next five were
	int64_t checks, fulfilled, total_ns, min_ns, max_ns;
	const Condprof__ConditionDetail *detail; ///< NULL: not known
	double share;                            ///< of the time of all conditions, 0 to 1
};

struct report_event {
	int64_t id;
	const char *name;
	bool known;                        ///< to the scenario; else only its id
	bool id_given;                     ///< by the scenario's author
	const Condprof__Event *definition; ///< NULL: not known
	bool trigger;
	size_t first_condition, n_conditions; ///< of conditions
	const Condprof__EventDetail *detail;  ///< NULL: not known
	struct maybe conditions_ns;           ///< of all its checks
	double share;
};

/// What was missing or damaged, in bits.
enum report_damage {
	DAMAGE_SCENARIO = 1,
	DAMAGE_OVERVIEW = 2,
	DAMAGE_AGGREGATES = 4,
	DAMAGE_MESSAGES = 8,
};

struct report {
	Condprof__Scenario *scenario;              ///< never NULL; empty when not known
	Condprof__DebugReportOverview *overview;   ///< never NULL
	Condprof__DebugReportMessage *aggregates;  ///< NULL: none
	const Condprof__ConditionDetails *details; ///< of the aggregates, NULL: none
	Condprof__Session session;                 ///< strings belong to the others
	struct report_condition *conditions;       ///< scenario's order: an event's stand together; then unknown ones
	size_t n_conditions;
	struct report_event *events; ///< screen events, trigger events, then unknown ones
	size_t n_events;
	int64_t conditions_total_ns;
	int damage;  ///< report_damage bits
	void *names; ///< storage
	struct id_place *conditions_by_id, *events_by_id;
};

/// Reads all but the occurrences.
int report_load(struct report_source *source, struct report **ret, struct error *error);
struct report *report_free(struct report *report);
static inline void report_cleanup(struct report **report)
{
	*report = report_free(*report);
}

/// NULL: no such id.
const struct report_event *report_event_by_id(const struct report *report, int64_t id);
const struct report_condition *report_condition_by_id(const struct report *report, int64_t id);
/// Several may have a name only in reports that are not ours: the first.
const struct report_event *report_event_by_name(const struct report *report, const char *name);

struct maybe condition_average(const struct report_condition *condition);
/// Of the sample: n - 1.
struct maybe condition_deviation(const struct report_condition *condition);
struct maybe condition_percentile(const struct report_condition *condition, int per_mille);
/// px of the frame.
struct report_area {
	int x, y, width, height;
};
/// The area around all places where an image was found. @return false: it was not, or that is not known
bool condition_match_area(const struct report_condition *condition, struct report_area *ret);
/// What the last check came to. Without `known`: never checked, or the report does not tell.
struct last_check {
	bool known, fulfilled, has_confidence, has_value;
	double confidence; ///< 0 to 1
	double value;      ///< the number that was read
};
struct last_check condition_last(const struct report_condition *condition);
/// Of the processing time of passes.
struct maybe report_pass_mean(const struct report *report);
struct maybe report_pass_percentile(const struct report *report, int per_mille);
/// Of the lateness of passes against the limiter's deadlines.
struct maybe report_lateness_percentile(const struct report *report, int per_mille);
/// Of all screen events, or trigger events. The overview's own counts end at 2^31 - 1: from there on the events' counts
/// tell.
struct maybe report_occurrences(const struct report *report, bool trigger);
/// Between the first and the last time it was fulfilled, a turn.
struct maybe event_mean_gap(const struct report_event *event);

/// The session's time, as far as it is known: the tree of docs/debug-report-performance-timing.md.
struct report_time {
	struct maybe duration, frame_wait, frame_get, processing, conditions, actions, pauses, engine, limiter_wait,
		safety_wait, report_wait, other;
};
struct report_time report_time(const struct report *report);

#endif
