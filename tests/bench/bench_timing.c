// SPDX-License-Identifier: GPL-3.0-or-later
// What measuring a check costs by itself: timing_check_begin() and timing_check_end() around nothing, histogram
// included; and whether its figures are true: a detector that spins for known times, by a clock of its own.
//   bench_timing            both
//   bench_timing --cost     what a check costs
//   bench_timing --truth    whether figures are true
//
// Warm: the same conditions again and again. Cold: before each round everything is pushed out of the caches, and what
// is timed is one check of each condition. Ten thousand conditions are 24 MB of figures: these never are warm.
#include "daemon/log/log.h"
#include "tests/bench/bench.h"
#include "tests/bench/quiet_stage.h"
#include "tests/support/engine_fakes.h"

#include <inttypes.h>
#include <string.h>

#define ROUNDS 31
#define EVICT_BYTES (64U << 20)
#define SPIN_SESSIONS 101

// --- what a check costs ----------------------------------------------------------------------------------------------

// The boundary as verify_measured() in daemon/engine/verifier.c has it, around nothing.
static __attribute__((noinline)) void one_check(struct timing *timing, uint32_t condition, int64_t pass)
{
	if (timing) {
		int64_t begin = timing_check_begin(timing);

		__asm__ volatile("" ::: "memory");
		timing_check_end(timing, condition, begin, pass, &(struct check_result){0});
	} else {
		__asm__ volatile("" ::: "memory");
	}
}

// The same without the test of the pointer.
static __attribute__((noinline)) void no_check(struct timing *timing, uint32_t condition, int64_t pass)
{
	(void)timing;
	(void)condition;
	(void)pass;
	__asm__ volatile("" ::: "memory");
}

typedef void (*check_function)(struct timing *timing, uint32_t condition, int64_t pass);

struct costs {
	struct maker *maker;
	struct timing *timing;
	uint32_t count;
	uint8_t *evict;
};

static void costs_init(struct costs *costs, uint32_t count)
{
	*costs = (struct costs){.maker = maker_new(), .count = count, .evict = malloc(EVICT_BYTES)};
	for (uint32_t i = 0; i < count; i++) {
		if (i % 10 == 0)
			maker_event(costs->maker, "e", true, true);
		maker_compare(costs->maker, "c", "n", CONDPROF__COMPARISON__EQUAL, 1);
	}
	if (!costs->evict || timing_new(&costs->maker->scenario, measuring_clock_monotonic, &costs->timing) < 0)
		abort();
	memset(costs->evict, 1, EVICT_BYTES);
	timing_start(costs->timing);
	timing_enter(costs->timing, TIME_ENGINE);
}

static void costs_deinit(struct costs *costs)
{
	timing_free(costs->timing);
	maker_free(costs->maker);
	free(costs->evict);
}

/// Of one round: what a turn takes on average, ns.
struct round {
	double pair, nothing, off, on;
};

static double warm_ns(struct costs *costs, check_function check, struct timing *timing)
{
	uint32_t turns = MAX(200000 / costs->count, 1U);
	int64_t begin = bench_cpu_ns();

	for (uint32_t i = 0; i < turns; i++) {
		for (uint32_t k = 0; k < costs->count; k++)
			check(timing, k, i);
	}
	return (double)(bench_cpu_ns() - begin) / turns / costs->count;
}

static double pair_ns(void)
{
	int64_t begin = bench_cpu_ns();

	for (int i = 0; i < 200000; i++)
		measuring_clock_monotonic();
	return (double)(bench_cpu_ns() - begin) / 100000;
}

static void evict(struct costs *costs)
{
	for (size_t i = 0; i < EVICT_BYTES; i += 64)
		costs->evict[i]++;
}

static double cold_ns(struct costs *costs, check_function check, struct timing *timing)
{
	int64_t begin;

	evict(costs);
	bench_now_ns(); // the clock itself stays warm
	begin = bench_now_ns();
	for (uint32_t k = 0; k < costs->count; k++)
		check(timing, k, 1);
	return (double)(bench_now_ns() - begin) / costs->count;
}

// All four in every round, so that what disturbs a round disturbs them all.
static void measure(struct costs *costs, bool cold, struct round *rounds)
{
	double (*ns)(struct costs *, check_function, struct timing *) = cold ? cold_ns : warm_ns;

	for (size_t i = 0; i < ROUNDS; i++) {
		rounds[i].pair = pair_ns();
		rounds[i].nothing = ns(costs, no_check, NULL);
		rounds[i].off = ns(costs, one_check, NULL);
		rounds[i].on = ns(costs, one_check, costs->timing);
	}
}

static void print_costs(uint32_t count, bool cold, const struct round *rounds)
{
	double off[ROUNDS], on[ROUNDS], beyond[ROUNDS];
	const char *state = cold ? "cold" : "warm";
	char what[80];

	for (size_t i = 0; i < ROUNDS; i++) {
		off[i] = rounds[i].off - rounds[i].nothing;
		on[i] = rounds[i].on - rounds[i].nothing;
		beyond[i] = on[i] - rounds[i].pair;
	}
	snprintf(what, sizeof(what), "%u conditions, %s: report off", count, state);
	bench_print(what, bench_percentile(off, ROUNDS, 0.5), "ns a check");
	snprintf(what, sizeof(what), "%u conditions, %s: report on", count, state);
	bench_print(what, bench_percentile(on, ROUNDS, 0.5), "ns a check");
	bench_print("  beyond two reads of the clock", bench_percentile(beyond, ROUNDS, 0.5), "ns a check");
}

static void bench_costs(void)
{
	static const uint32_t counts[] = {1, 100, 10000};
	struct round rounds[ROUNDS];
	double pairs[ROUNDS];

	bench_title("a check's measuring, by itself (CPU time warm, elapsed time cold; medians of 31 rounds)");
	for (int cold = 0; cold < 2; cold++) {
		for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
			struct costs costs;

			costs_init(&costs, counts[i]);
			measure(&costs, cold, rounds);
			for (size_t j = 0; j < ROUNDS && !cold && !i; j++)
				pairs[j] = rounds[j].pair;
			if (!cold && !i)
				bench_print("two reads of the clock", bench_percentile(pairs, ROUNDS, 0.5), "ns");
			print_costs(counts[i], cold, rounds);
			costs_deinit(&costs);
		}
	}
}

// --- whether it is true ----------------------------------------------------------------------------------------------

static const int64_t spins_ns[] = {1000, 5000, 20000, 100000, 1000000, 10000000, 50000000};

/// What the detector knows of a condition, by its own readings of another clock than the product's.
struct spinning {
	int64_t spin_ns, checks, total_ns;
};

static int64_t own_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static void spin(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	struct spinning *spinning = (struct spinning *)detector->context + condition;
	int64_t begin = own_clock_ns(), now;

	(void)ret;
	do
		now = own_clock_ns();
	while (now - begin < spinning->spin_ns);
	spinning->checks++;
	spinning->total_ns += now - begin;
}

// A session as busy as can be: one condition an event, none fulfilled, so that all of them are checked in every pass.
static struct stage *spinning_session(struct spinning *spinning, size_t count, int64_t passes)
{
	struct maker *maker = maker_new();
	struct stage *stage;

	for (size_t i = 0; i < count; i++) {
		maker_event(maker, "e", false, false);
		maker_image(maker, "i", true);
	}
	stage = quiet_stage(maker, true, true);
	stage->params.max_passes = passes;
	stage->detector->on_check = spin;
	stage->detector->context = spinning;
	if (processor_new(&stage->params, &stage->processor) < 0)
		abort();
	processor_run(stage->processor);
	return stage;
}

// @return by how much the report says more than the detector knows, ns a check
static double spin_off_ns(int64_t spin_ns, int64_t passes, double *ret_own_ns)
{
	struct spinning spinning = {.spin_ns = spin_ns};
	struct stage *stage = spinning_session(&spinning, 1, passes);
	struct condition_figures figures;
	double off;

	timing_condition_figures(stage->timing, 0, &figures);
	if (figures.checks != spinning.checks)
		abort();
	*ret_own_ns = (double)spinning.total_ns / (double)spinning.checks;
	off = (double)figures.total_ns / (double)figures.checks - *ret_own_ns;
	stage_free(stage);
	return off;
}

// Several sessions, and their median: when the kernel takes the processor away just between a reading of ours and the
// product's, that session's mean says so and nothing else.
static void bench_spin(int64_t spin_ns)
{
	int64_t passes = MAX((int64_t)(bench_seconds() / ARRAY_SIZE(spins_ns) * 1e9) / spin_ns, 5);
	size_t sessions = (size_t)MIN(passes, (int64_t)SPIN_SESSIONS);
	double off[SPIN_SESSIONS], own[SPIN_SESSIONS], median;
	char what[80];

	passes /= (int64_t)sessions;
	for (size_t i = 0; i < sessions; i++)
		off[i] = spin_off_ns(spin_ns, passes, &own[i]);
	median = bench_percentile(off, sessions, 0.5);
	snprintf(what, sizeof(what), "spins %g us, %zu x %" PRId64 " times: %s", (double)spin_ns / 1000, sessions,
		 passes, fabs(median) <= bench_percentile(own, sessions, 0.5) / 100 + 100 ? "kept" : "NOT KEPT");
	bench_print(what, median, "ns a check");
}

static void bench_other(void)
{
	struct spinning spinning[ARRAY_SIZE(spins_ns)] = {{0}};
	struct session_figures figures;
	struct stage *stage;

	for (size_t i = 0; i < ARRAY_SIZE(spins_ns); i++)
		spinning[i].spin_ns = spins_ns[i];
	stage = spinning_session(spinning, ARRAY_SIZE(spins_ns), MAX((int64_t)(bench_seconds() * 8), 5));
	timing_session_figures(stage->timing, &figures);
	bench_title("a session of all of these: where its time went");
	bench_print("conditions", 100 * (double)figures.site_ns[TIME_CONDITIONS] / (double)figures.duration_ns, "%");
	bench_print("engine", 100 * (double)figures.site_ns[TIME_ENGINE] / (double)figures.duration_ns, "%");
	bench_print("other (goal: under 1 %)", 100 * (double)figures.site_ns[TIME_OTHER] / (double)figures.duration_ns,
		    "%");
	stage_free(stage);
}

static void bench_truth(void)
{
	bench_title("a detector that spins: reported less its own clock (goal: within 1 % and 100 ns a check)");
	for (size_t i = 0; i < ARRAY_SIZE(spins_ns); i++)
		bench_spin(spins_ns[i]);
	bench_other();
}

int main(int argc, char **argv)
{
	log_set_level(LOG_LEVEL_ERROR);
	if (argc < 2 || !strcmp(argv[1], "--cost"))
		bench_costs();
	if (argc < 2 || !strcmp(argv[1], "--truth"))
		bench_truth();
	return EXIT_SUCCESS;
}
