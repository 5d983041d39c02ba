// SPDX-License-Identifier: GPL-3.0-or-later
// The reports of a session. What an overview tells of the run's counts is the difference between the report's start and
// now, or its end: `ended` is set before the engine counts on, so that whoever finds it unset after reading has read
// nothing that belongs to the next report.
#include "config.h"

#include "daemon/engine/session_report.h"

#include "daemon/engine/aggregates.h"
#include "daemon/report/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int session_report_new(const struct session_run *run, int64_t id, struct session_report **ret)
{
	struct session_report *report = calloc(1, sizeof(*report));

	if (!report)
		return -ENOMEM;
	report->run = run;
	report->id = id;
	pthread_mutex_init(&report->lock, NULL);
	*ret = report;
	return 0;
}

int session_report_measure(struct session_report *report, struct error *error)
{
	if (timing_new(report->run->scenario, measuring_clock_monotonic, &report->timing) < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the figures of the report");
	return 0;
}

// --- what it says ----------------------------------------------------------------------------------------------------

static struct run_counts counts_now(const struct session_run *run)
{
	const struct progress *progress = run->progress;

	return (struct run_counts){
		.passes = atomic_load_explicit(&progress->passes, memory_order_relaxed),
		.frames = atomic_load_explicit(&progress->frames, memory_order_relaxed),
		.missed = atomic_load_explicit(&progress->missed, memory_order_relaxed),
		.frame_width = atomic_load_explicit(&progress->frame_width, memory_order_relaxed),
		.frame_height = atomic_load_explicit(&progress->frame_height, memory_order_relaxed),
	};
}

static void read_progress(const struct session_report *report, struct progress *ret)
{
	struct run_counts start = {0}, until = {0};

	if (atomic_load(&report->start_ns)) { // else it has not begun
		start = report->at_start;
		until = counts_now(report->run);
	}
	// looked at afterwards: what has ended says so before the run goes on
	if (atomic_load(&report->ended))
		until = report->at_end;
	*ret = (struct progress){
		.passes = until.passes - start.passes,
		.frames = until.frames - start.frames,
		.missed = until.missed - start.missed,
		.frame_width = until.frame_width,
		.frame_height = until.frame_height,
	};
}

int64_t session_report_passes(struct session_report *report)
{
	struct progress progress;

	read_progress(report, &progress);
	return progress.passes;
}

// With figures it is what they say, to the nanosecond: nobody is told two durations of one session.
int64_t session_report_duration_ns(struct session_report *report)
{
	int64_t start_ns = atomic_load(&report->start_ns), end_ns = atomic_load(&report->end_ns);

	if (report->timing)
		return timing_duration_ns(report->timing);
	return start_ns ? (end_ns ? end_ns : clock_ns(CLOCK_MONOTONIC)) - start_ns : 0;
}

static struct losses read_losses(const struct recorder *recorder)
{
	return (struct losses){
		recorder_lost(recorder),
		recorder_dropped_occurrences(recorder),
		recorder_dropped_segments(recorder),
	};
}

struct losses session_report_losses(struct session_report *report)
{
	struct losses now;

	pthread_mutex_lock(&report->lock);
	now = report->recorder ? read_losses(report->recorder) : report->lost;
	pthread_mutex_unlock(&report->lock);
	return now;
}

static Condprof__SessionState final_state(const struct ending_reason *ending)
{
	return ending_result(ending->reason) == CONDPROF__SESSION_RESULT__SESSION_OK ? CONDPROF__SESSION_STATE__FINISHED
										     : CONDPROF__SESSION_STATE__FAILED;
}

int session_report_overview(struct session_report *report, struct losses lost, uint8_t **ret, size_t *ret_size)
{
	struct overview_facts facts = {
		.session_id = report->id,
		.period_ns = report->run->period_ns,
		.state = CONDPROF__SESSION_STATE__RUNNING,
		.ended = atomic_load(&report->ended),
		.started_unix_ns = atomic_load(&report->started_unix_ns),
		.ended_unix_ns = atomic_load(&report->ended_unix_ns),
		.lost_occurrences = lost.occurrences,
		.dropped_occurrences = lost.dropped_occurrences,
		.dropped_segments = lost.dropped_segments,
		.continues_session = report->continues_session,
		.continued_by = atomic_load(&report->continued_by),
		.tape = report->run->tape,
		.screen = report->run->screen,
		.input = report->run->input,
		.dry_run = report->run->dry_run,
	};
	struct progress progress;

	read_progress(report, &progress);
	if (facts.ended) {
		facts.ending = report->ending;
		facts.state = final_state(&facts.ending);
	}
	return overview_encode(report->run->scenario, report->timing, &progress, &facts, ret, ret_size);
}

int session_report_aggregates(struct session_report *report, uint8_t **ret, size_t *ret_size)
{
	return aggregates_encode(report->run->scenario, report->timing, ret, ret_size);
}

// --- beginning and ending --------------------------------------------------------------------------------------------

// The writer's thread asks, from recorder_open() to the end of recorder_close(), and fills in what it knows was lost.
static int source_overview(void *context, uint8_t **ret, size_t *ret_size)
{
	return session_report_overview(context, (struct losses){0}, ret, ret_size);
}

static int source_aggregates(void *context, uint8_t **ret, size_t *ret_size)
{
	return session_report_aggregates(context, ret, ret_size);
}

int session_report_open(struct session_report *report, struct report_files *files, struct error *error)
{
	struct report_source source = {source_overview, source_aggregates, report};
	struct recorder *recorder;
	int r;

	// of the first checkpoint, until it begins
	if (!atomic_load(&report->started_unix_ns))
		atomic_store(&report->started_unix_ns, clock_ns(CLOCK_REALTIME));
	r = recorder_open(report->run->writer, files, &source, RECORDER_QUEUE_BYTES, &recorder, error);
	if (r < 0)
		return r;
	pthread_mutex_lock(&report->lock);
	report->recorder = recorder;
	pthread_mutex_unlock(&report->lock);
	return 0;
}

void session_report_begin(struct session_report *report)
{
	atomic_store(&report->started_unix_ns, clock_ns(CLOCK_REALTIME));
	atomic_store(&report->start_ns, clock_ns(CLOCK_MONOTONIC));
}

static void end_at(struct session_report *report, int64_t unix_ns, int64_t now_ns)
{
	atomic_store(&report->ended_unix_ns, unix_ns);
	atomic_store(&report->end_ns, now_ns);
	report->at_end = counts_now(report->run);
}

void session_report_rotate(struct session_report *from, struct session_report *to)
{
	int64_t unix_ns = clock_ns(CLOCK_REALTIME), now_ns = clock_ns(CLOCK_MONOTONIC);

	end_at(from, unix_ns, now_ns);
	from->ending =
		(struct ending_reason){CONDPROF__END_REASON__REASON_ROTATED, CONDPROF__SESSION_RESULT__SESSION_OK, ""};
	atomic_store(&from->continued_by, to->id);
	to->at_start = from->at_end;
	atomic_store(&to->started_unix_ns, unix_ns);
	atomic_store(&to->start_ns, now_ns);
	atomic_store(&from->ended, true);
}

void session_report_end(struct session_report *report, const struct ending_reason *ending)
{
	if (!atomic_load(&report->end_ns))
		end_at(report, clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_MONOTONIC));
	if (ending) {
		report->ending = *ending;
		atomic_store(&report->ended, true);
	}
}

static void keep_final(struct session_report *report, const struct recorder_losses *final, int result,
		       const struct error *error)
{
	pthread_mutex_lock(&report->lock);
	report->lost = (struct losses){final->occurrences, final->dropped_occurrences, final->dropped_segments};
	if (result < 0)
		snprintf(report->error, sizeof(report->error), "%.*s", (int)sizeof(report->error) - 1,
			 error->message[0] ? error->message : "the report could not be written whole");
	pthread_mutex_unlock(&report->lock);
}

static struct recorder *take_recorder(struct session_report *report)
{
	struct recorder *recorder;

	pthread_mutex_lock(&report->lock);
	recorder = TAKE_POINTER(report->recorder);
	if (recorder)
		report->lost = read_losses(recorder);
	pthread_mutex_unlock(&report->lock);
	return recorder;
}

int session_report_close(struct session_report *report, struct error *error)
{
	struct recorder *recorder = take_recorder(report);
	struct recorder_losses final;
	struct error why = {0};
	int r;

	if (!recorder)
		return 0;
	r = recorder_close_counted(recorder, &final, &why);
	keep_final(report, &final, r, &why);
	*error = why;
	return r;
}

struct session_report *session_report_free(struct session_report *report)
{
	struct error error;

	if (!report)
		return NULL;
	if (atomic_load(&report->ended))
		session_report_close(report, &error);
	else
		recorder_discard(take_recorder(report));
	timing_free(report->timing);
	pthread_mutex_destroy(&report->lock);
	free(report);
	return NULL;
}
