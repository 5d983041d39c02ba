// SPDX-License-Identifier: GPL-3.0-or-later
// What a folder doesn't say stays absent: never measured is not 0.
#include "daemon/control/kept.h"

#include "proto/base.h"

static void kept_times(const Condprof__DebugReportOverview *overview, Condprof__Session *ret)
{
	ret->has_started_unix_ns = overview->has_started_unix_ns;
	ret->started_unix_ns = overview->started_unix_ns;
	ret->has_ended_unix_ns = overview->has_ended_unix_ns;
	ret->ended_unix_ns = overview->ended_unix_ns;
	if (overview->time && overview->time->has_duration_ns) {
		ret->has_duration_ns = true;
		ret->duration_ns = overview->time->duration_ns;
	} else {
		ret->has_duration_ns = overview->has_duration_ms;
		ret->duration_ns = overview->duration_ms * NSEC_PER_MSEC;
	}
}

static void kept_overview(const Condprof__DebugReportOverview *overview, Condprof__Session *ret)
{
	ret->scenario = overview->scenario_name;
	ret->has_state = true;
	// The first reports did not say it: they were written when a session had ended.
	ret->state = overview->has_state ? overview->state : CONDPROF__SESSION_STATE__FINISHED;
	ret->has_reason = overview->has_reason;
	ret->reason = overview->reason;
	ret->reason_text = overview->reason_text;
	ret->has_result = overview->has_result;
	ret->result = overview->result;
	ret->has_passes = overview->has_frame_count;
	ret->passes = overview->frame_count;
	ret->has_lost_occurrences = overview->has_lost_occurrences;
	ret->lost_occurrences = overview->lost_occurrences;
	ret->has_continues_session = overview->has_continues_session;
	ret->continues_session = overview->continues_session;
	ret->has_continued_by = overview->has_continued_by;
	ret->continued_by = overview->continued_by;
	ret->screen = overview->screen;
	ret->input = overview->input;
	ret->has_dry_run = overview->has_dry_run;
	ret->dry_run = overview->dry_run;
	kept_times(overview, ret);
}

void kept_session(const struct store_entry *entry, Condprof__Session *ret)
{
	static char damaged[] = REPORT_DAMAGED_TEXT;

	condprof__session__init(ret);
	ret->has_id = true;
	ret->id = entry->id;
	if (entry->overview)
		kept_overview(entry->overview, ret);
	if (!ret->scenario)
		ret->scenario = entry->scenario_name;
	if (!ret->has_started_unix_ns && entry->created_unix_ns) {
		ret->has_started_unix_ns = true;
		ret->started_unix_ns = entry->created_unix_ns;
	}
	// what is kept is a report
	ret->has_no_report = true;
	ret->no_report = false;
	if (!entry->interrupted)
		return;
	ret->has_state = ret->has_reason = true;
	ret->state = CONDPROF__SESSION_STATE__INTERRUPTED;
	ret->reason = CONDPROF__END_REASON__REASON_DAEMON_DIED;
	if (entry->damaged)
		ret->reason_text = damaged;
	ret->has_result = ret->has_ended_unix_ns = false;
}
