// SPDX-License-Identifier: GPL-3.0-or-later
/// What a debug report costs: the same work with and without it, again and again, each run in a process of its own.
/// main.c says what is run in which order, run.c makes one run, document.c makes of all of them what people read.
///
/// Four modes, by the two switches that only the engine's own parameters have; the product knows A and C.
#ifndef CONDPROF_BENCH_OVERHEAD_H
#define CONDPROF_BENCH_OVERHEAD_H

#include "daemon/picture/picture.h"
#include "daemon/scenario/scenario.h"

#include <stdio.h>

enum mode {
	MODE_A, ///< report off, timing off: --no-report
	MODE_B, ///< report on, timing off
	MODE_C, ///< report on, timing on: what users get
	MODE_D, ///< report off, timing on
	MODES,
};

static inline bool mode_has_report(enum mode mode)
{
	return mode == MODE_B || mode == MODE_C;
}

static inline bool mode_has_timing(enum mode mode)
{
	return mode == MODE_C || mode == MODE_D;
}

extern const char mode_letters[MODES];
extern const char *const mode_names[MODES];

// --- the work --------------------------------------------------------------------------------------------------------

/// The pictures and the scenario, decoded once for all runs.
struct work {
	char *scenario_path, *pictures_path;
	uint8_t *kept; ///< of a report: scenario.pb
	size_t kept_size;
	struct scenario *scenario;
	struct picture **pictures;
	size_t n_pictures, n_files;
};

/// @param pictures_path NULL: the folder that the scenario's own replay: screen names
/// @param n_pictures at most so many, evenly spaced; they are all in memory at once
int work_load(const char *scenario_path, const char *pictures_path, size_t n_pictures, struct work *ret,
	      struct error *error);
void work_free(struct work *work);

struct screen;
/// A screen that gives the work's pictures by turns, one a pass, without copying.
struct screen *pictures_open(const struct work *work);

// --- one run ---------------------------------------------------------------------------------------------------------

struct run_order {
	enum mode mode;
	int64_t period_ns; ///< 0: unlimited
	int64_t passes;
	const char *state_dir;
};

#define UNKNOWN INT64_MIN
#define OCCURRENCES_COUNTER "occurrences" ///< of a scenario that counts them itself: known in all modes then

struct run {
	enum mode mode;
	int64_t passes, missed, occurrences;
	int64_t elapsed_ns, cpu_ns;               ///< from the session's start to its report's end
	int64_t passes_elapsed_ns, passes_cpu_ns; ///< of that, while passes ran
	int64_t system_ns;                        ///< of cpu_ns, in the kernel
	int64_t switches;                         ///< the kernel took the processor away
	int64_t checks, conditions_ns;            ///< UNKNOWN without timing
	int64_t clock_pair_ns;                    ///< UNKNOWN without timing
	int64_t report_bytes;                     ///< UNKNOWN without a report
	int64_t ticks, steal_ticks;               ///< of the machine meanwhile; 0: not told
	double steal;                             ///< share of the machine's processor time; NAN: not told
	double others;                            ///< the same, used by other processes
	double celsius;                           ///< at its end; NAN: not told
	char problem[256];                        ///< empty: valid. Else why not
};

/// In a process of its own; waits for it. @return 0, or -EINTR: a signal. What went wrong with the run is in
/// ret->problem
int run_in_process(const struct work *work, const struct run_order *order, struct run *ret);

/// Whether the report in this folder says what has to be in it after the run; else its problem is filled in.
/// Occurrences are filled in where they are not known yet.
void check_report(const char *folder, struct run *run);

// --- the machine -----------------------------------------------------------------------------------------------------

/// Processor time of all processors since the machine's start, ticks.
struct machine_ticks {
	int64_t all, busy, steal;
	bool known;
};

void machine_ticks(struct machine_ticks *ret);
double machine_celsius(void); ///< the hottest zone; NAN: none is told
double machine_load(void);    ///< of the last minute; NAN: not told

struct machine {
	char processor[128], system[256], governor[64], clock_source[64], file_system[32];
	int processors, allowed; ///< online; of these, what the benchmark may run on
	bool is_virtual;
};

/// @param folder whose file system is told
void machine_facts(const char *folder, struct machine *ret);

// --- all of it -------------------------------------------------------------------------------------------------------

/// An order in which the modes are run: rows of four, every mode once in each.
struct design {
	const char *name, *title;
	size_t rows;
	const char *const *row; ///< "CABD"
};

enum { DESIGN_ROTATION, DESIGN_WILLIAMS, DESIGNS };
extern const struct design designs[DESIGNS];
enum mode design_mode(const struct design *design, size_t row, size_t position);

#define DESIGN_MODES 4U
#define DESIGN_MOST_ROWS 8U

enum pace { PACE_LIMITED, PACE_UNLIMITED, PACES };

/// All runs of one design at one pace.
struct series {
	const struct design *design;
	enum pace pace;
	int64_t passes;
	bool done;
	struct run runs[DESIGN_MOST_ROWS][DESIGN_MODES]; ///< valid ones, by row and position
};

struct invalid {
	const struct design *design;
	enum pace pace;
	size_t row, position;
	struct run run;
};

struct results {
	const struct work *work;
	struct machine machine;
	struct series series[PACES][DESIGNS];
	struct invalid *invalid;
	size_t n_invalid;
	double steal_bound, rate; ///< share; passes a second
	double load_before, load_after;
	double seconds;
	int64_t began_unix_ns, took_ns;
	double check_ns, pair_ns; ///< what measuring a check costs by itself, and two reads of the clock of it
	const char *command;
};

/// Markdown. @return 0 or negative errno
int document_write(const struct results *results, FILE *out);
/// One line a run.
int data_write(const struct results *results, FILE *out);

#endif
