// SPDX-License-Identifier: GPL-3.0-or-later
// One run: a session put together as daemon/engine/session.c does it, but with timing and recorder each on or off by
// itself, in a process that does nothing else. What is counted is the whole process, the writer's thread too, from the
// session's id to its closed report; loading the pictures and reading the report back are outside.
#include "config.h"

#include "daemon/engine/aggregates.h"
#include "daemon/engine/processor.h"
#include "daemon/log/log.h"
#include "daemon/report/store.h"
#include "daemon/report/writer.h"
#include "tests/bench/overhead/overhead.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define TIMER_SLACK_NS 1000UL // as a session has it

// --- reading clocks --------------------------------------------------------------------------------------------------

struct moment {
	int64_t clock_ns, user_ns, system_ns, switches;
};

static int64_t timeval_ns(struct timeval value)
{
	return value.tv_sec * NSEC_PER_SEC + value.tv_usec * 1000;
}

static struct moment now(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (struct moment){
		.clock_ns = measuring_clock_monotonic(),
		.user_ns = timeval_ns(usage.ru_utime),
		.system_ns = timeval_ns(usage.ru_stime),
		.switches = usage.ru_nivcsw,
	};
}

static int64_t cpu_between(const struct moment *begin, const struct moment *end)
{
	return end->user_ns - begin->user_ns + end->system_ns - begin->system_ns;
}

static int64_t unix_now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

// --- a session -------------------------------------------------------------------------------------------------------

struct bench_session {
	const struct work *work;
	const struct run_order *order;
	struct store *store;
	struct writer *writer;
	int64_t id, started_unix_ns;
	_Atomic bool closed;

	struct engine_clock clock;
	struct ending ending;
	struct detector *detector;
	struct screen *screen;
	struct input *input;
	struct timing *timing;
	struct processor *processor;
};

static int pack_overview(const Condprof__DebugReportOverview *overview, uint8_t **ret, size_t *ret_size)
{
	uint8_t *data = malloc(condprof__debug_report_overview__get_packed_size(overview) + 1);

	if (!data)
		return -ENOMEM;
	*ret_size = condprof__debug_report_overview__pack(overview, data);
	*ret = data;
	return 0;
}

// What is left of an overview when nothing was measured.
static int overview_without_figures(const struct bench_session *session, const struct overview_facts *facts,
				    uint8_t **ret, size_t *ret_size)
{
	Condprof__DebugReportOverview o = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT;

	o.scenario_name = (char *)session->work->scenario->name;
	o.has_session_id = o.has_state = o.has_frame_count = o.has_started_unix_ns = true;
	o.session_id = facts->session_id;
	o.state = facts->state;
	o.frame_count = atomic_load(&session->processor->progress.passes);
	o.started_unix_ns = facts->started_unix_ns;
	if (facts->ended) {
		o.has_reason = o.has_result = o.has_ended_unix_ns = true;
		o.reason = facts->ending.reason;
		o.result = facts->ending.result;
		o.ended_unix_ns = facts->ended_unix_ns;
	}
	return pack_overview(&o, ret, ret_size);
}

static int source_overview(void *context, uint8_t **ret, size_t *ret_size)
{
	struct bench_session *session = context;
	struct overview_facts facts = {
		.session_id = session->id,
		.state = CONDPROF__SESSION_STATE__RUNNING,
		.ended = atomic_load(&session->closed),
		.started_unix_ns = session->started_unix_ns,
		.ended_unix_ns = unix_now_ns(),
	};

	if (facts.ended) {
		ending_get(&session->ending, &facts.ending);
		facts.state = CONDPROF__SESSION_STATE__FINISHED;
	}
	if (!session->timing)
		return overview_without_figures(session, &facts, ret, ret_size);
	return overview_encode(session->work->scenario, session->timing, &session->processor->progress, &facts, ret,
			       ret_size);
}

static int source_aggregates(void *context, uint8_t **ret, size_t *ret_size)
{
	struct bench_session *session = context;

	return session->timing ? aggregates_encode(session->work->scenario, session->timing, ret, ret_size) : -ENODATA;
}

static int open_report(struct bench_session *session, struct error *error)
{
	struct report_source source = {source_overview, source_aggregates, session};
	const struct scenario *scenario = session->work->scenario;
	struct report_files *files;
	int r;

	r = store_create(session->store, session->id, session->work->kept, session->work->kept_size,
			 2 * aggregates_most_bytes(scenario), &files, error);
	if (r < 0)
		return r;
	r = recorder_open(session->writer, files, &source, RECORDER_QUEUE_BYTES, &session->processor->p.recorder,
			  error);
	if (r < 0)
		report_files_discard(files);
	return r;
}

static int open_session(struct bench_session *session, struct error *error)
{
	const struct scenario *scenario = session->work->scenario;
	bool timing = mode_has_timing(session->order->mode);
	struct processor_params params = {
		.scenario = scenario,
		.clock = &session->clock,
		.screen = session->screen,
		.input = session->input,
		.ending = &session->ending,
		.suspend = suspend_clock_boottime,
		.period_ns = session->order->period_ns,
		.max_passes = session->order->passes,
		.random_seed = 1,
		.records = mode_has_report(session->order->mode),
	};
	int r;

	r = store_next_id(session->store, &session->id, error); // also for a session without a report
	if (r < 0)
		return r;
	r = detector_new(scenario, timing ? measuring_clock_monotonic : NULL, &session->ending.requested,
			 &session->detector, error);
	if (r < 0)
		return r;
	if (timing && timing_new(scenario, measuring_clock_monotonic, &session->timing) < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the figures");
	params.detector = session->detector;
	params.timing = session->timing;
	params.session_id = session->id;
	r = processor_new(&params, &session->processor);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "no memory for the session");
	r = processor_prepare(session->processor, error);
	if (r < 0)
		return r;
	session->started_unix_ns = unix_now_ns();
	return params.records ? open_report(session, error) : 0;
}

static int close_report(struct bench_session *session, struct error *error)
{
	atomic_store(&session->closed, true);
	if (!session->processor->p.recorder)
		return 0;
	return recorder_close(TAKE_POINTER(session->processor->p.recorder), error);
}

// What a daemon has anyway, before any session.
static int open_place(struct bench_session *session, struct error *error)
{
	struct screen_wait wait = {.wake_fd = -1, .deadline_ns = INT64_MAX};
	int r;

	engine_clock_init_monotonic(&session->clock);
	r = ending_init(&session->ending);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "no descriptor: %s", strerror(-r));
	r = store_open(session->order->state_dir, NULL, &session->store, error);
	if (r < 0)
		return r;
	r = writer_start(NULL, &session->writer, error);
	if (r < 0)
		return r;
	session->screen = pictures_open(session->work);
	if (!session->screen)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the screen");
	return input_open("log:", NULL, &wait, &session->input, error);
}

// --- what came of it -------------------------------------------------------------------------------------------------

// Nobody counts occurrences where nothing is kept, unless the scenario does so itself.
static int64_t counted_by_scenario(const struct bench_session *session)
{
	const struct scenario *scenario = session->work->scenario;

	for (uint32_t i = 0; i < scenario->n_counters; i++) {
		if (!strcmp(scenario->counters[i].name, OCCURRENCES_COUNTER))
			return (int64_t)session->processor->states.counters[i];
	}
	return UNKNOWN;
}

static void read_figures(struct bench_session *session, struct run *run)
{
	const struct scenario *scenario = session->work->scenario;
	struct session_figures figures;
	struct event_figures event;

	run->checks = run->conditions_ns = run->clock_pair_ns = run->report_bytes = UNKNOWN;
	run->passes = session->processor->progress.passes;
	run->missed = session->processor->progress.missed;
	run->occurrences = counted_by_scenario(session);
	if (!session->timing)
		return;
	run->occurrences = 0;
	for (uint32_t i = 0; i < scenario->n_events; i++) {
		timing_event_figures(session->timing, i, &event);
		run->occurrences += event.fulfilled;
	}
	timing_session_figures(session->timing, &figures);
	run->clock_pair_ns = figures.clock_pair_ns;
	run->conditions_ns = figures.site_ns[TIME_CONDITIONS];
	run->checks = 0;
	for (uint32_t i = 0; i < scenario->n_conditions; i++) {
		struct condition_figures condition;

		timing_condition_figures(session->timing, i, &condition);
		run->checks += condition.checks;
	}
}

static void read_machine(const struct machine_ticks *begin, struct run *run)
{
	int64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	struct machine_ticks end;
	double all;

	machine_ticks(&end);
	run->celsius = machine_celsius();
	run->steal = run->others = NAN;
	all = (double)(end.all - begin->all);
	if (!end.known || all <= 0)
		return;
	run->ticks = end.all - begin->all;
	run->steal_ticks = end.steal - begin->steal;
	run->steal = (double)run->steal_ticks / all;
	run->others = ((double)(end.busy - begin->busy) - (double)run->cpu_ns / (double)tick_ns) / all;
	run->others = fmax(run->others, 0);
}

static void check_run(struct bench_session *session, struct run *run, struct error *error)
{
	struct store_entry entry;
	struct ending_reason ending;
	char folder[512];

	ending_get(&session->ending, &ending);
	if (ending.reason != CONDPROF__END_REASON__REASON_PASSES || run->passes != session->order->passes) {
		snprintf(run->problem, sizeof(run->problem), "it did not end as scripted, but after %" PRId64 " passes",
			 run->passes);
		return;
	}
	if (!mode_has_report(run->mode))
		return;
	snprintf(folder, sizeof(folder), "%.400s/reports/%" PRId64, session->order->state_dir, session->id);
	check_report(folder, run);
	if (store_read_entry(session->store, session->id, &entry, error) == 0) {
		run->report_bytes = (int64_t)entry.bytes;
		store_entry_free(&entry);
	}
	store_delete(session->store, session->id, error);
}

static void measure(struct bench_session *session, struct run *run, struct error *error)
{
	struct machine_ticks ticks;
	struct moment begin, first, last, end;

	machine_ticks(&ticks);
	begin = now();
	if (open_session(session, error) < 0)
		return;
	first = now();
	processor_run(session->processor);
	last = now();
	if (close_report(session, error) < 0)
		return;
	end = now();
	run->elapsed_ns = end.clock_ns - begin.clock_ns;
	run->cpu_ns = cpu_between(&begin, &end);
	run->system_ns = end.system_ns - begin.system_ns;
	run->switches = end.switches - begin.switches;
	run->passes_elapsed_ns = last.clock_ns - first.clock_ns;
	run->passes_cpu_ns = cpu_between(&first, &last);
	read_machine(&ticks, run);
	read_figures(session, run);
	check_run(session, run, error);
}

static void make_run(const struct work *work, const struct run_order *order, struct run *run)
{
	struct bench_session session = {.work = work, .order = order};
	struct error error = {0};

	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	log_set_level(LOG_LEVEL_ERROR);
	if (open_place(&session, &error) == 0)
		measure(&session, run, &error);
	if (error.message[0] && !run->problem[0])
		snprintf(run->problem, sizeof(run->problem), "%.255s", error.message);
	if (session.processor && session.processor->p.recorder)
		recorder_close(session.processor->p.recorder, &error);
	writer_stop(session.writer);
	store_close(session.store);
	processor_free(session.processor);
	timing_free(session.timing);
	detector_free(session.detector);
	input_close(session.input);
	screen_close(session.screen);
}

// --- its process -----------------------------------------------------------------------------------------------------

static _Noreturn void child(const struct work *work, const struct run_order *order, int fd)
{
	struct run run = {.mode = order->mode};

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	make_run(work, order, &run);
	_exit(write(fd, &run, sizeof(run)) == sizeof(run) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int read_run(int fd, struct run *run)
{
	char *out = (char *)run;
	size_t done = 0;

	while (done < sizeof(*run)) {
		ssize_t n = read(fd, out + done, sizeof(*run) - done);

		if (n < 0)
			return -errno;
		if (n == 0)
			return -EPIPE;
		done += (size_t)n;
	}
	return 0;
}

int run_in_process(const struct work *work, const struct run_order *order, struct run *ret)
{
	int fds[2], status = 0, r;
	pid_t pid;

	*ret = (struct run){.mode = order->mode};
	if (pipe(fds) < 0)
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		child(work, order, fds[1]);
	}
	close(fds[1]);
	r = pid < 0 ? -errno : read_run(fds[0], ret);
	close(fds[0]);
	if (pid < 0)
		return r;
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r == -EPIPE) {
		snprintf(ret->problem, sizeof(ret->problem), "its process was ended by signal %d", WTERMSIG(status));
		r = 0;
	}
	return r;
}
