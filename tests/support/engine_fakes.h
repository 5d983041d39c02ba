// SPDX-License-Identifier: GPL-3.0-or-later
/// What engine tests run against instead of the world: scenarios put together in C, a detector that answers as told, a
/// screen and an input that remember, clocks that step, and a recorder that keeps what it is given. Linking this file
/// replaces the report layer's recorder.
#ifndef CONDPROF_TEST_ENGINE_FAKES_H
#define CONDPROF_TEST_ENGINE_FAKES_H

#include "daemon/engine/processor.h"

#include <stdio.h>

// --- scenarios -------------------------------------------------------------------------------------------------------

/// Screen events first, then trigger events; conditions and actions belong to the event added last. Ids count from 1.
struct maker {
	struct scenario scenario;
	char *names;
	size_t names_used;
};

struct maker *maker_new(void);
struct maker *maker_free(struct maker *maker);
struct event *maker_event(struct maker *maker, const char *name, bool trigger, bool any);
struct condition *maker_condition(struct maker *maker, const char *name, enum condition_kind kind);
struct action *maker_action(struct maker *maker, Condprof__ActionKind kind);
uint32_t maker_counter(struct maker *maker, const char *name, double value); ///< @return its index, new or known
uint32_t maker_broadcast(struct maker *maker, const char *name);
void maker_event_ref(struct maker *maker, struct action *action, uint32_t event);
void maker_point(struct maker *maker, struct action *action, int x, int y);
void maker_text(struct maker *maker, struct action *action, const char *literal, uint32_t counter);

// Whole conditions and actions, the common ones.
struct condition *maker_image(struct maker *maker, const char *name, bool present);
struct condition *maker_timer(struct maker *maker, const char *name, int64_t ns, bool repeat);
struct condition *maker_compare(struct maker *maker, const char *name, const char *counter,
				Condprof__Comparison comparison, double value);
struct action *maker_click(struct maker *maker, int x, int y, int64_t press_ns);
struct action *maker_pause(struct maker *maker, int64_t ns);
struct action *maker_count(struct maker *maker, const char *counter, Condprof__CounterOperation operation,
			   double value);
struct action *maker_change(struct maker *maker, Condprof__StateChange change, uint32_t event); ///< NO_INDEX: all
struct action *maker_stop(struct maker *maker, const char *text, Condprof__SessionResult result);

/// Any mixture of events, conditions (images, timers, comparisons, the broadcast "go") and actions, by random().
struct maker *maker_random(void);
/// A trigger event that is never fulfilled: with it not all events of a random scenario can come to be disabled.
void maker_keeps_session(struct maker *maker);

// --- detector --------------------------------------------------------------------------------------------------------

/// What a check of one condition answers.
struct fake_answer {
	bool found, not_evaluable;
	int x, y;
	struct rect place;
	double score;
	struct detect_shared shared[2];
	int n_shared;
	int64_t takes_ns; ///< of the stepped clock
};

struct fake_detector {
	struct detector base;
	struct fake_answer *answers; ///< a condition
	int64_t *checks;             ///< a condition
	int resizes, begins;
	int width, height;
	void (*on_check)(struct fake_detector *detector, uint32_t condition, struct detect_result *ret);
	void *context;
	int resize_result;
};

struct fake_detector *fake_detector_new(uint32_t conditions);
struct fake_detector *fake_detector_free(struct fake_detector *detector);

// --- screen ----------------------------------------------------------------------------------------------------------

/// Gives one picture again and again, unless told otherwise.
struct fake_screen {
	struct screen base;
	uint8_t pixels[4 * 64 * 48];
	int width, height;
	uint64_t serial;
	enum screen_status wait_status, get_status, refresh_status;
	bool blocks; ///< wait waits, for its deadline or wake fd
	int waits, gets, refreshes;
	int64_t wait_deadline_ns;            ///< of the last wait
	int64_t wait_takes_ns, get_takes_ns; ///< of the stepped clock
	void (*on_wait)(struct fake_screen *screen);
	void *context;
};

void fake_screen_init(struct fake_screen *screen);

// --- input -----------------------------------------------------------------------------------------------------------

/// Writes what it is told to `log`, as "move 1,2|press|release|": and knows what is held down.
struct fake_input {
	struct input base;
	char log[65536];
	size_t used;
	int held; ///< buttons and keys
	int most_held;
	const char *fails;   ///< the call of this name does, e.g. "press"
	_Atomic int pressed; ///< presses so far; another thread may watch it
};

void fake_input_init(struct fake_input *input);

// --- clocks ----------------------------------------------------------------------------------------------------------

/// Every read advances it by stepped_clock_step_ns, first the reading.
extern int64_t stepped_clock_now_ns, stepped_clock_step_ns;
extern int64_t stepped_clock_reads;
int64_t stepped_clock(void);
void stepped_clock_reset(int64_t step_ns);
/// A virtual engine clock whose waits take their time on the stepped clock too. A wait that would pass `stop_at_ns` of
/// `stopped` lasts until then, and the session is stopped.
extern struct ending *coupled_clock_stopped;
extern int64_t coupled_clock_stop_at_ns;
void coupled_clock_init(struct engine_clock *clock);
/// Nobody may read this one.
int64_t aborting_clock(void);

// --- recorder --------------------------------------------------------------------------------------------------------

/// What the engine gave away. Give &fake_recorder as the recorder.
struct fake_recorder {
	Condprof__DebugReportMessage **messages;
	size_t count, room;
	bool full;   ///< pushes are lost
	bool blocks; ///< recorder_wait_room waits for its wake fd
	int64_t lost;
	int64_t waits;
	bool counting_only; ///< keeps nothing, allocates nothing
	int64_t counted;    ///< messages, then
};

struct recorder;
struct recorder *fake_recorder(void);
struct fake_recorder *fake_recorder_state(void);
void fake_recorder_reset(void);

// --- everything together ---------------------------------------------------------------------------------------------

/// A processor with fakes all around, on a virtual clock. Change params between bench_init() and bench_begin().
struct stage {
	struct maker *maker;
	struct engine_clock clock;
	struct fake_detector *detector;
	struct fake_screen screen;
	struct fake_input input;
	struct ending ending;
	struct timing *timing;
	struct processor_params params;
	struct processor *processor;
	bool ending_ready;
};

/// With a report on the stepped clock (1 ns a read) and the fake recorder.
struct stage *stage_new(struct maker *maker); ///< the maker is handed over
void stage_begin(struct stage *stage);        ///< makes timing and processor, and starts them
bool stage_pass(struct stage *stage);
struct stage *stage_free(struct stage *stage);
int64_t stage_checks(struct stage *stage, uint32_t condition); ///< by the timing
Condprof__EndReason stage_reason(struct stage *stage);
/// The only message of an event so far; counters_init and gaps aside.
const Condprof__DebugReportMessage *stage_message(size_t index); ///< the index-th occurrence
size_t stage_messages(void);

#endif
