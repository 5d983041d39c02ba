// SPDX-License-Identifier: GPL-3.0-or-later
// What the engine costs, and how well it keeps its time.
//   bench_engine            all of it
//   bench_engine --rates    only how a rate is held
//   bench_engine --steady   passes of a whole session, with marks that bench_syscalls.sh finds in a trace
#include "daemon/log/log.h"
#include "tests/bench/bench.h"
#include "tests/bench/quiet_stage.h"
#include "tests/support/counting_malloc.h"
#include "tests/support/engine_fakes.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#define MS NSEC_PER_MSEC
#define HOUR_NS (3600 * NSEC_PER_SEC)

// --- cost of a condition ---------------------------------------------------------------------------------------------

// `count` conditions, ten an event, all of them reached, none fulfilled: image (the detector answers at once), timer
// and counter by turns.
static struct maker *many_conditions(uint32_t count)
{
	struct maker *maker = maker_new();
	uint32_t screen = count / 3 / 10 * 10;

	for (uint32_t i = 0; i < count; i++) {
		if (i % 10 == 0)
			maker_event(maker, "e", i >= screen, true);
		if (i < screen)
			maker_image(maker, "i", true);
		else if (i % 2)
			maker_timer(maker, "t", INT64_MAX, false);
		else
			maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	}
	return maker;
}

static double ns_a_condition(uint32_t count, bool timing, bool recorder)
{
	struct stage *stage = quiet_stage(many_conditions(count), timing, recorder);
	int64_t passes = MAX(200000 / count, 5);
	double rounds[15];

	stage_begin(stage);
	for (size_t i = 0; i < ARRAY_SIZE(rounds); i++) {
		int64_t begin = bench_cpu_ns();

		for (int64_t j = 0; j < passes; j++)
			stage_pass(stage);
		rounds[i] = (double)(bench_cpu_ns() - begin) / (double)passes / count;
	}
	stage_free(stage);
	return bench_percentile(rounds, ARRAY_SIZE(rounds), 0.5);
}

static void bench_conditions(void)
{
	static const uint32_t counts[] = {100, 1000, 10000};
	static const struct {
		const char *name;
		bool timing, recorder;
	} switches[] = {
		{"report off", false, false},
		{"timing on, recorder off", true, false},
		{"timing off, recorder on", false, true},
		{"report on", true, true},
	};

	bench_title("engine cost without detection (CPU time, median of 15 rounds)");
	for (size_t s = 0; s < ARRAY_SIZE(switches); s++) {
		for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
			char what[80];

			snprintf(what, sizeof(what), "%s, %u conditions", switches[s].name, counts[i]);
			bench_print(what, ns_a_condition(counts[i], switches[s].timing, switches[s].recorder),
				    "ns a condition");
		}
	}
}

static void bench_clock_pair(void)
{
	struct stage *stage = quiet_stage(many_conditions(10), true, false);
	struct session_figures figures;

	stage_begin(stage);
	timing_session_figures(stage->timing, &figures);
	bench_print("of which: two reads of the clock", (double)figures.clock_pair_ns, "ns");
	stage_free(stage);
}

// --- a steady pass ---------------------------------------------------------------------------------------------------

// A hundred conditions on the real detector: colors of a black picture, timers and counters; nothing fulfilled.
static struct maker *steady_scenario(void)
{
	struct maker *maker = maker_new();

	for (int i = 0; i < 34; i++) {
		struct condition *condition;

		maker_event(maker, "screen", false, false);
		condition = maker_condition(maker, "color", CONDITION_COLOR);
		condition->rgb = 0xffffff;
		condition->area = (struct rect){i, i, i + 5, i + 5};
	}
	for (int i = 0; i < 33; i++) {
		maker_event(maker, "timer", true, true);
		maker_timer(maker, "t", INT64_MAX, true);
		maker_event(maker, "counter", true, false);
		maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	}
	return maker;
}

static struct stage *steady_stage(void)
{
	struct stage *stage = quiet_stage(steady_scenario(), true, true);
	struct error error;

	stage->screen.base.live = true;
	stage->params.period_ns = MS;
	if (detector_new(&stage->maker->scenario, measuring_clock_monotonic, &stage->ending.requested,
			 &stage->params.detector, &error) < 0)
		abort();
	return stage;
}

static void bench_allocations(void)
{
	struct stage *stage = steady_stage();
	struct detector *detector = stage->params.detector;
	int64_t before;

	stage_begin(stage);
	stage_pass(stage);
	before = counting_malloc_count();
	for (int i = 0; i < 200; i++) {
		processor_limit(stage->processor);
		stage_pass(stage);
	}
	bench_title("a steady pass: 34 color, 33 timer, 33 counter conditions, report on");
	if (counting_malloc_works())
		bench_print("allocations in 200 passes", (double)(counting_malloc_count() - before), "");
	else
		printf("  allocations cannot be counted: a sanitizer has malloc for itself\n");
	detector_free(detector);
	stage_free(stage);
}

#define STEADY_PASSES 200

// A call that fails at once and does nothing, for whoever reads the trace.
static void mark(const char *text)
{
	ssize_t n = write(-1, text, strlen(text));

	(void)n;
}

static void *run_steady(void *argument)
{
	struct stage *stage = argument;

	stage_begin(stage);
	for (int i = 0; i < STEADY_PASSES + 10; i++) {
		if (i == 10)
			mark("steady begins");
		stage_pass(stage);
		processor_limit(stage->processor);
	}
	mark("steady ends");
	return NULL;
}

static int steady(void)
{
	struct stage *stage = steady_stage();
	struct detector *detector = stage->params.detector;
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_steady, stage) != 0)
		return EXIT_FAILURE;
	pthread_join(thread, NULL);
	detector_free(detector);
	stage_free(stage);
	return EXIT_SUCCESS;
}

// --- the limiter -----------------------------------------------------------------------------------------------------

struct starts {
	const struct stage *stage;
	int64_t first_ns, last_ns, passes;
	int64_t missed; // before the last start: what comes after it has no start to be compared with
};

static void note_start(struct fake_screen *screen)
{
	struct starts *starts = screen->context;

	starts->last_ns = bench_now_ns();
	starts->missed = starts->stage->processor->progress.missed;
	if (!starts->passes++)
		starts->first_ns = starts->last_ns;
}

static double histogram_percentile(const struct histogram *histogram, double share)
{
	int64_t count = 0, seen = 0, rank;

	for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++)
		count += histogram->slots[i];
	rank = MAX((int64_t)ceil(share * (double)count), 1);
	for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++) {
		seen += histogram->slots[i];
		if (seen >= rank)
			return i ? exp2((i - 0.5) / 8) : 0;
	}
	return 0;
}

static void bench_rate(double rate)
{
	struct starts starts = {0};
	struct session_figures figures;
	struct stage *stage = quiet_stage(many_conditions(100), true, true);
	char what[80];
	double real;

	stage->screen.base.live = true;
	stage->screen.on_wait = note_start;
	stage->screen.context = &starts;
	starts.stage = stage;
	stage->params.period_ns = (int64_t)(1e9 / rate);
	stage->params.max_duration_ns = (int64_t)(1e9 * MAX(bench_seconds(), 2.5 / rate));
	if (processor_new(&stage->params, &stage->processor) < 0)
		abort();
	processor_run(stage->processor);
	timing_session_figures(stage->timing, &figures);
	real = (double)(starts.passes + starts.missed - 1) * 1e9 / (double)(starts.last_ns - starts.first_ns);
	snprintf(what, sizeof(what), "%g a second: (passes + missed) / time", rate);
	bench_print(what, real, "a second");
	bench_print("  off by", 100 * (real * (double)stage->params.period_ns / 1e9 - 1), "%");
	bench_print("  missed", (double)stage->processor->progress.missed, "passes");
	bench_print("  lateness p50", histogram_percentile(&figures.lateness, 0.5) / 1000, "us");
	bench_print("  lateness p99", histogram_percentile(&figures.lateness, 0.99) / 1000, "us");
	stage_free(stage);
}

static void bench_rates(void)
{
	static const double rates[] = {1, 10, 60, 200};

	bench_title("rates held (BENCH_SECONDS each)");
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		bench_rate(rates[i]);
}

// --- stopping --------------------------------------------------------------------------------------------------------

struct stopping {
	struct stage *stage;
	int64_t ended_ns;
};

static void *run_processor(void *argument)
{
	struct stopping *stopping = argument;

	processor_run(stopping->stage->processor);
	stopping->ended_ns = bench_now_ns();
	return NULL;
}

static struct maker *one_event(bool fulfilled)
{
	struct maker *maker = maker_new();

	maker_event(maker, "e", true, false);
	maker_compare(maker, "c", "n", CONDPROF__COMPARISON__EQUAL, fulfilled ? 0 : 1);
	return maker;
}

static struct stage *waits_in_limiter(void)
{
	struct stage *stage = quiet_stage(one_event(false), true, true);

	stage->params.period_ns = HOUR_NS;
	return stage;
}

static struct stage *waits_in_pause(void)
{
	struct maker *maker = one_event(true);

	maker_pause(maker, HOUR_NS);
	return quiet_stage(maker, true, true);
}

static struct stage *waits_in_press(void)
{
	struct maker *maker = one_event(true);

	maker_click(maker, 1, 1, HOUR_NS);
	return quiet_stage(maker, true, true);
}

static struct stage *waits_in_swipe(void)
{
	struct maker *maker = one_event(true);
	struct action *swipe = maker_action(maker, CONDPROF__ACTION_KIND__ACTION_SWIPE);

	swipe->swipe.duration_ns = HOUR_NS;
	maker_point(maker, swipe, 0, 0);
	maker_point(maker, swipe, 1000, 0);
	return quiet_stage(maker, true, true);
}

static struct stage *waits_for_a_frame(void)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	maker_event(maker, "e", false, false);
	maker_image(maker, "i", true);
	stage = quiet_stage(maker, true, true);
	stage->screen.blocks = true;
	stage->screen.base.live = true;
	stage->params.period_ns = HOUR_NS;
	return stage;
}

static struct stage *waits_for_report_room(void)
{
	struct stage *stage = quiet_stage(one_event(true), true, true);

	fake_recorder_state()->blocks = true;
	return stage;
}

static double stop_ms(struct stage *(*make)(void))
{
	struct stopping stopping = {.stage = make()};
	struct stage *stage = stopping.stage;
	struct timespec settle = {.tv_nsec = 2000000};
	int64_t asked_ns;
	pthread_t thread;

	if (processor_new(&stage->params, &stage->processor) < 0 ||
	    pthread_create(&thread, NULL, run_processor, &stopping) != 0)
		abort();
	while (!atomic_load(&stage->processor->progress.waiting))
		sched_yield();
	nanosleep(&settle, NULL);
	asked_ns = bench_now_ns();
	ending_request(&stage->ending, CONDPROF__END_REASON__REASON_STOPPED, CONDPROF__SESSION_RESULT__SESSION_OK,
		       NULL);
	pthread_join(thread, NULL);
	if (stage->input.held)
		printf("  something is still pressed\n");
	stage_free(stage);
	return (double)(stopping.ended_ns - asked_ns) / 1e6;
}

static void bench_stops(void)
{
	static const struct {
		const char *name;
		struct stage *(*make)(void);
	} waits[] = {
		{"limiter", waits_in_limiter},     {"pause", waits_in_pause},
		{"long press", waits_in_press},    {"swipe", waits_in_swipe},
		{"frame wait", waits_for_a_frame}, {"report room", waits_for_report_room},
	};
	double took[20];

	bench_title("from asking for a stop to the engine's end, everything released (20 times)");
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		char what[80];

		for (size_t j = 0; j < ARRAY_SIZE(took); j++)
			took[j] = stop_ms(waits[i].make);
		snprintf(what, sizeof(what), "in a %s: median", waits[i].name);
		bench_print(what, bench_percentile(took, ARRAY_SIZE(took), 0.5), "ms");
		bench_print("  longest", bench_percentile(took, ARRAY_SIZE(took), 1), "ms");
	}
}

int main(int argc, char **argv)
{
	log_set_level(LOG_LEVEL_ERROR);
	if (argc > 1 && !strcmp(argv[1], "--steady"))
		return steady();
	if (argc > 1 && !strcmp(argv[1], "--rates")) {
		bench_rates();
		return EXIT_SUCCESS;
	}
	bench_conditions();
	bench_clock_pair();
	bench_allocations();
	bench_rates();
	bench_stops();
	return EXIT_SUCCESS;
}
