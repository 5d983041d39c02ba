// SPDX-License-Identifier: GPL-3.0-or-later
/// What the report's tests share: a state folder that goes when the test ends, a session to record, and what a reader
/// gives back, unpacked.
#ifndef CONDPROF_TEST_REPORT_FIXTURE_H
#define CONDPROF_TEST_REPORT_FIXTURE_H

#include "daemon/report/recorder.h"
#include "daemon/report/store.h"
#include "daemon/report/writer.h"

#include <semaphore.h>
#include <stdatomic.h>

/// A new empty folder; valid until the next call.
const char *fixture_folder(void);
/// Path of `format` below the folder; valid until the fourth call after it.
const char *fixture_path(const char *format, ...) PRINTF_LIKE(1, 2);
/// Removes what fixture_folder() made. Also for atexit.
void fixture_remove(void);

void fixture_write(const char *path, const void *data, size_t size);
bool fixture_exists(const char *path);
uint64_t fixture_size(const char *path);

/// A session as the recorder sees it: its figures are made up of counts, and any thread may ask for them.
struct fake_session {
	int64_t id;
	struct recorder *recorder;
	atomic_llong pushed;                       ///< occurrences pushed, lost ones too
	atomic_llong overviews, aggregates;        ///< how often they were asked for
	size_t padding;                            ///< bytes of a text in every overview
	size_t n_conditions;                       ///< of the aggregates
	atomic_int fail_aggregates, fail_overview; ///< negative errno to answer
	sem_t *hold;                               ///< every overview waits for it first: holds the writer
};

struct report_source fake_source(struct fake_session *session);
/// A kept scenario's bytes; static.
const uint8_t *fake_scenario(size_t *ret_size);
#define FAKE_SCENARIO_NAME "kiosk login"

/// The `n`th occurrence (from 1): event 1 + n % 3, done at n ms, sets the counter "seen" to n.
int fake_push(struct fake_session *session, int64_t n);
int fake_push_init(struct fake_session *session);
/// Waits for room first.
int fake_push_patiently(struct fake_session *session, int64_t n);

/// A report as a reader gave it.
struct read_report {
	uint8_t *parts[4];
	size_t sizes[4];
	Condprof__DebugReportOverview *overview; ///< NULL: no such part
	Condprof__DebugReportMessage *aggregates;
	Condprof__DebugReportMessage **messages;
	size_t n_messages, n_occurrences;
};

/// Reads with pieces of `piece` bytes; fails the test on any error.
void read_report(struct store *store, int64_t id, const struct report_filter *filter, size_t piece,
		 struct read_report *ret);
void read_report_rest(struct report_reader *reader, size_t piece, struct read_report *ret);
void read_report_free(struct read_report *report);
/// The occurrence's n, by its time; 0 when it is none.
int64_t occurrence_number(const Condprof__DebugReportMessage *message);

#endif
