// SPDX-License-Identifier: GPL-3.0-or-later
// condprof-bench-overhead: the orders of the modes, and running them. An invalid run is noted and made again first,
// so that every row of a design is whole.
#include "config.h"

#include "daemon/engine/timing.h"
#include "tests/bench/bench.h"
#include "tests/bench/overhead/options.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define TRIES 3           // of a run that goes wrong
#define STOLEN_TRIES 100  // of a run that the host takes time away from, which passes
#define MOST_PAUSE_S 20   // before the next one of these
#define CALIBRATION 32    // passes
#define UNLIMITED_SHARE 4 // an unlimited run is that much shorter: it computes all the time
#define COST_ROUNDS 31

const char mode_letters[MODES] = {'A', 'B', 'C', 'D'};
const char *const mode_names[MODES] = {
	[MODE_A] = "report off, timing off",
	[MODE_B] = "report on, timing off",
	[MODE_C] = "report on, timing on",
	[MODE_D] = "report off, timing on",
};

// --- orders ----------------------------------------------------------------------------------------------------------

static const char *const rotation_rows[] = {"CABD", "ADCB", "CBAD", "BDAC", "DBAC"};

// Two squares of four rows. In each of them every mode stands once in every row and in every column, and directly
// follows every other mode once. The second square is the first one with B and C exchanged.
static const char *const williams_rows[] = {
	"ABDC", "BCAD", "CDBA", "DACB", //
	"ACDB", "CBAD", "BDCA", "DABC",
};

const struct design designs[DESIGNS] = {
	[DESIGN_ROTATION] = {"rotation", "rotation", ARRAY_SIZE(rotation_rows), rotation_rows},
	[DESIGN_WILLIAMS] = {"williams", "two Williams squares", ARRAY_SIZE(williams_rows), williams_rows},
};

enum mode design_mode(const struct design *design, size_t row, size_t position)
{
	return (enum mode)(design->row[row][position] - 'A');
}

// --- running ---------------------------------------------------------------------------------------------------------

struct bench {
	struct options options;
	struct work work;
	struct results results;
	char state_dir[512];
	size_t runs, done; // of all that are to be made
};

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
	signalled = number;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal}; // without SA_RESTART: waiting for a run ends

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static const char *pace_name(enum pace pace)
{
	return pace == PACE_LIMITED ? "limited" : "unlimited";
}

static void say_run(const struct bench *bench, const struct series *series, size_t row, const struct run *run)
{
	if (bench->options.quiet)
		return;
	fprintf(stderr, "%3zu of %zu  %-9s %s, row %zu: %c  ", bench->done + 1, bench->runs, pace_name(series->pace),
		series->design->title, row + 1, mode_letters[run->mode]);
	if (run->problem[0])
		fprintf(stderr, "invalid, made again: %s\n", run->problem);
	else
		fprintf(stderr, "%.2f s, %.1f ms of processor time\n", (double)run->elapsed_ns / 1e9,
			(double)run->cpu_ns / 1e6);
}

static int note_invalid(struct results *results, const struct series *series, size_t row, size_t position,
			const struct run *run)
{
	struct invalid *larger = realloc(results->invalid, (results->n_invalid + 1) * sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	results->invalid = larger;
	larger[results->n_invalid++] = (struct invalid){series->design, series->pace, row, position, *run};
	return 0;
}

// @return whether the host took too much away from a run that is right otherwise
static bool stolen(const struct bench *bench, struct run *run)
{
	// a tick is what the kernel counts in: one more than allowed may be none
	if (run->problem[0] || (double)run->steal_ticks <= bench->options.steal * (double)run->ticks + 1)
		return false;
	snprintf(run->problem, sizeof(run->problem), "the host took away %.1f %% of the processor time",
		 100 * run->steal);
	return true;
}

// @return whether another try is worth it, after a pause for a host that may have other guests just now
static bool try_again(unsigned int tries, bool was_stolen)
{
	struct timespec pause = {.tv_sec = MIN(tries, MOST_PAUSE_S)};

	if (tries >= (was_stolen ? STOLEN_TRIES : TRIES))
		return false;
	if (was_stolen)
		nanosleep(&pause, NULL); // a signal ends it
	return true;
}

// @return 0; -EINTR; -EAGAIN: none of the tries was valid
static int run_until_valid(struct bench *bench, struct series *series, size_t row, size_t position)
{
	struct run_order order = {
		.mode = design_mode(series->design, row, position),
		.period_ns = series->pace == PACE_LIMITED ? (int64_t)(1e9 / bench->options.rate) : 0,
		.passes = series->passes,
		.state_dir = bench->state_dir,
	};
	struct run *run = &series->runs[row][position];
	unsigned int tries = 0;
	bool was_stolen;

	do {
		int r = signalled ? -EINTR : run_in_process(&bench->work, &order, run);

		if (r < 0)
			return r;
		was_stolen = stolen(bench, run);
		say_run(bench, series, row, run);
		if (!run->problem[0])
			return 0;
		if (note_invalid(&bench->results, series, row, position, run) < 0)
			return -ENOMEM;
	} while (try_again(++tries, was_stolen));
	fprintf(stderr, "condprof-bench-overhead: a run of mode %c was invalid %u times, last because: %s\n",
		mode_letters[order.mode], tries, run->problem);
	return -EAGAIN;
}

static int run_series(struct bench *bench, struct series *series)
{
	for (size_t row = 0; row < series->design->rows; row++) {
		for (size_t position = 0; position < DESIGN_MODES; position++) {
			int r = signalled ? -EINTR : run_until_valid(bench, series, row, position);

			if (r < 0)
				return r;
			bench->done++;
		}
	}
	series->done = true;
	return 0;
}

// How many passes an unlimited run makes: whole rounds of the pictures.
static int calibrate(struct bench *bench, int64_t *ret_passes)
{
	struct run_order order = {.mode = MODE_A, .passes = CALIBRATION, .state_dir = bench->state_dir};
	int64_t pictures = (int64_t)bench->work.n_pictures, rounds;
	struct run run;
	int r = run_in_process(&bench->work, &order, &run);

	if (r < 0)
		return r;
	if (run.problem[0]) {
		fprintf(stderr, "condprof-bench-overhead: the first run went wrong: %s\n", run.problem);
		return -EIO;
	}
	rounds = (int64_t)(bench->options.seconds / UNLIMITED_SHARE * 1e9 * CALIBRATION / (double)run.passes_cpu_ns) /
		 pictures;
	*ret_passes = MAX(rounds, 1) * pictures;
	return 0;
}

// --- what measuring a check costs by itself --------------------------------------------------------------------------

static double loop_ns(struct timing *timing)
{
	int64_t begin = bench_cpu_ns();

	for (int i = 0; i < 100000; i++) {
		if (timing)
			timing_check_end(timing, 0, timing_check_begin(timing), i, &(struct check_result){0});
		else
			measuring_clock_monotonic();
	}
	return (double)(bench_cpu_ns() - begin) / 100000;
}

static int measure_cost(struct bench *bench)
{
	double checks[COST_ROUNDS], reads[COST_ROUNDS];
	struct timing *timing;

	if (timing_new(bench->work.scenario, measuring_clock_monotonic, &timing) < 0)
		return -ENOMEM;
	timing_start(timing);
	for (size_t i = 0; i < COST_ROUNDS; i++) {
		checks[i] = loop_ns(timing);
		reads[i] = loop_ns(NULL);
	}
	timing_free(timing);
	bench->results.check_ns = bench_percentile(checks, COST_ROUNDS, 0.5);
	bench->results.pair_ns = 2 * bench_percentile(reads, COST_ROUNDS, 0.5);
	return 0;
}

// --- all of it -------------------------------------------------------------------------------------------------------

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
	(void)info;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int make_state_dir(struct bench *bench)
{
	const char *above = bench->options.state_dir ? bench->options.state_dir : getenv("TMPDIR");

	snprintf(bench->state_dir, sizeof(bench->state_dir), "%.400s/condprof-bench-XXXXXX",
		 above && *above ? above : "/var/tmp");
	if (mkdtemp(bench->state_dir))
		return 0;
	fprintf(stderr, "condprof-bench-overhead: no folder for reports can be made: %s: %s\n", bench->state_dir,
		strerror(errno));
	return -errno;
}

static void prepare(struct bench *bench, int64_t unlimited_passes)
{
	struct results *results = &bench->results;

	for (int pace = 0; pace < PACES; pace++) {
		for (size_t i = 0; i < DESIGNS; i++) {
			struct series *series = &results->series[pace][i];

			series->design = &designs[i];
			series->pace = (enum pace)pace;
			series->passes = pace == PACE_LIMITED
						 ? MAX((int64_t)lround(bench->options.seconds * bench->options.rate), 1)
						 : unlimited_passes;
			if (bench->options.pace[pace] && bench->options.design[i])
				bench->runs += designs[i].rows * DESIGN_MODES;
		}
	}
	results->work = &bench->work;
	results->steal_bound = bench->options.steal;
	results->rate = bench->options.rate;
	results->seconds = bench->options.seconds;
	results->began_unix_ns = (int64_t)time(NULL) * NSEC_PER_SEC;
	machine_facts(bench->state_dir, &results->machine);
}

static int run_all(struct bench *bench)
{
	struct results *results = &bench->results;
	int64_t unlimited_passes, begin = bench_now_ns();
	int r = calibrate(bench, &unlimited_passes);

	if (r == 0)
		r = measure_cost(bench);
	if (r < 0)
		return r;
	prepare(bench, unlimited_passes);
	results->load_before = machine_load();
	for (int pace = 0; pace < PACES; pace++) {
		for (size_t i = 0; i < DESIGNS; i++) {
			if (!bench->options.pace[pace] || !bench->options.design[i])
				continue;
			r = run_series(bench, &results->series[pace][i]);
			if (r < 0)
				return r;
		}
	}
	results->load_after = machine_load();
	results->took_ns = bench_now_ns() - begin;
	return 0;
}

static int write_file(const char *path, const struct results *results,
		      int (*write)(const struct results *results, FILE *out))
{
	FILE *out = path ? fopen(path, "we") : stdout;
	int r;

	if (!out) {
		fprintf(stderr, "condprof-bench-overhead: %s: %s\n", path, strerror(errno));
		return -errno;
	}
	r = write(results, out);
	if (fflush(out) == EOF || ferror(out))
		r = -EIO;
	if (path && fclose(out) == EOF)
		r = -EIO;
	if (r < 0)
		fprintf(stderr, "condprof-bench-overhead: %s could not be written whole\n",
			path ? path : "the document");
	return r;
}

static int run_and_write(struct bench *bench)
{
	int r;

	catch_signals();
	r = make_state_dir(bench);
	if (r < 0)
		return r;
	r = run_all(bench);
	nftw(bench->state_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (r == 0)
		r = write_file(bench->options.document, &bench->results, document_write);
	if (r == 0 && bench->options.data)
		r = write_file(bench->options.data, &bench->results, data_write);
	return r;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct error error = {0};
	int r = options_parse(argc, argv, &bench.options);

	if (r != 0)
		return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	r = work_load(bench.options.scenario, bench.options.pictures, bench.options.n_pictures, &bench.work, &error);
	if (r < 0) {
		fprintf(stderr, "condprof-bench-overhead: %s\n", error.message[0] ? error.message : strerror(-r));
		return EXIT_FAILURE;
	}
	r = run_and_write(&bench);
	free(bench.results.invalid);
	work_free(&bench.work);
	if (signalled)
		return 128 + signalled;
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
