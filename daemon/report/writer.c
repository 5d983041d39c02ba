// SPDX-License-Identifier: GPL-3.0-or-later
/// The loop takes turns: every recorder gets a bounded share of writing, then the next. With nothing left to do it
/// sleeps until the next checkpoint. The first message after that wakes nobody: it sets a timer (`gather_fd`), and what
/// comes until then is written with it; only urgent things wake the writer at once. A wake for every occurrence would
/// take the engine's processor from it as often, and with it what its caches hold. Before the writer sleeps it says so
/// (`state`), then looks once more; who adds work does so, then looks at `state`: all four accesses are sequentially
/// consistent, so one of the two sees the other.
#include "config.h"

#include "daemon/report/recorder-internal.h"

#include "daemon/log/log.h"
#include "daemon/report/disk.h"
#include "daemon/report/store.h"
#include "proto/frame.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

#define TURN_BYTES (256U * 1024U)
#define GATHER_NS (200 * NSEC_PER_MSEC) // how old a message gets in the queue
#define WARN_EVERY_NS (10 * NSEC_PER_SEC)

enum writer_state { WRITER_AWAKE, WRITER_GATHERS, WRITER_SLEEPS };

struct writer {
	int wake_fd, gather_fd;
	atomic_int state;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t closed;
	// under the mutex
	struct recorder *recorders;
	bool stopping, news;
	struct writer_limits limits; // of recorders to come
	int64_t checkpoint_ns;       // the writer's own, from its start
};

static const struct writer_limits default_limits = {
	.segment_bytes = 8U * 1024U * 1024U,
	.messages_bytes = 64U * 1024U * 1024U,
	.checkpoint_ns = 10 * NSEC_PER_SEC,
};

static void poke_always(struct writer *writer)
{
	uint64_t one = 1;

	while (write(writer->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/// Has the writer look in a while. It may be awake again before this is done: then it looks once in vain.
static void gather(struct writer *writer)
{
	static const struct itimerspec in_a_while = {.it_value.tv_nsec = GATHER_NS};

	timerfd_settime(writer->gather_fd, 0, &in_a_while, NULL);
}

void writer_poke(struct writer *writer, bool urgent)
{
	int state = atomic_load(&writer->state);

	if (urgent && state != WRITER_AWAKE && atomic_exchange(&writer->state, WRITER_AWAKE) != WRITER_AWAKE)
		poke_always(writer);
	else if (state == WRITER_SLEEPS && atomic_compare_exchange_strong(&writer->state, &state, WRITER_GATHERS))
		gather(writer);
}

// --- checkpoints -----------------------------------------------------------------------------------------------------

/// Three varint fields at the end of an overview: of a field that comes twice, the last one counts.
static size_t put_losses(const struct recorder *recorder, uint8_t *out)
{
	size_t n = wire_put_varint_field(out, 60, (uint64_t)recorder_lost(recorder));

	n += wire_put_varint_field(out + n, 65, (uint64_t)recorder->segments.dropped_occurrences);
	return n + wire_put_varint_field(out + n, 66, (uint64_t)recorder->segments.dropped_segments);
}

/// The overview as of now, delimited.
static int make_overview(struct recorder *recorder, uint8_t **ret, size_t *ret_size)
{
	CLEANUP_FREE uint8_t *body = NULL;
	uint8_t losses[3 * 2 * FRAME_HEADER_MAX];
	size_t size, n_losses, n_header;
	int r = recorder->source.overview(recorder->source.context, &body, &size);

	if (r < 0)
		return r;
	n_losses = put_losses(recorder, losses);
	uint8_t *out = malloc(FRAME_HEADER_MAX + size + n_losses);
	if (!out)
		return -ENOMEM;
	n_header = frame_put_header(out, size + n_losses);
	memcpy(out + n_header, body, size);
	memcpy(out + n_header + size, losses, n_losses);
	*ret = out;
	*ret_size = n_header + size + n_losses;
	return 0;
}

static int make_aggregates(struct recorder *recorder, uint8_t **ret, size_t *ret_size)
{
	CLEANUP_FREE uint8_t *body = NULL;
	size_t size, n_header;
	int r = recorder->source.aggregates(recorder->source.context, &body, &size);

	if (r < 0)
		return r;
	uint8_t *out = malloc(FRAME_HEADER_MAX + size);
	if (!out)
		return -ENOMEM;
	n_header = frame_put_header(out, size);
	memcpy(out + n_header, body, size);
	*ret = out;
	*ret_size = n_header + size;
	return 0;
}

static int write_checkpoint(struct recorder *recorder)
{
	CLEANUP_FREE uint8_t *overview = NULL, *aggregates = NULL;
	size_t overview_size, size = 0;
	int r = make_overview(recorder, &overview, &overview_size);

	if (r < 0)
		return r;
	r = make_aggregates(recorder, &aggregates, &size);
	if (r < 0 && r != -ENODATA)
		return r;
	uint8_t *both = realloc(overview, overview_size + size);
	if (!both)
		return -ENOMEM;
	overview = both;
	if (size > 0)
		memcpy(overview + overview_size, aggregates, size);
	// Never ahead of the messages, whatever the machine loses.
	segments_sync(&recorder->segments);
	return report_files_checkpoint(recorder->files, overview, overview_size + size);
}

// --- one recorder's turn ---------------------------------------------------------------------------------------------

static void publish_counts(struct recorder *recorder)
{
	const struct segments *segments = &recorder->segments;

	atomic_store_explicit(&recorder->lost_disk, segments->lost, memory_order_relaxed);
	atomic_store_explicit(&recorder->dropped_occurrences, segments->dropped_occurrences, memory_order_relaxed);
	atomic_store_explicit(&recorder->dropped_segments, segments->dropped_segments, memory_order_relaxed);
}

/// Says that occurrences are being lost, how many and why, without filling the journal too.
static void report_losses(struct recorder *recorder, bool last)
{
	const struct segments *segments = &recorder->segments;
	int64_t lost = recorder_lost(recorder), more = lost - recorder->warned_lost, now = clock_ns(CLOCK_MONOTONIC);
	bool disk = segments->lost > recorder->warned_lost_disk;

	if (more == 0 || (!last && recorder->warned_ns != 0 && now - recorder->warned_ns < WARN_EVERY_NS))
		return;
	log_line(LOG_LEVEL_WARNING, recorder->files->id,
		 "%" PRId64 " occurrences of the report lost, %" PRId64 " so far: %s%s%s; the session goes on", more,
		 lost, disk ? "messages.pb could not be written" : "they came faster than they could be written",
		 disk && segments->error < 0 ? ": " : "",
		 disk && segments->error < 0 ? strerror(-segments->error) : "");
	recorder->warned_ns = now;
	recorder->warned_lost = lost;
	recorder->warned_lost_disk = segments->lost;
}

static void give_room(struct recorder *recorder)
{
	uint64_t one = 1;

	if (atomic_load(&recorder->waits_for_room))
		while (write(recorder->room_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
}

/// Returns whether there was anything.
static bool drain(struct recorder *recorder)
{
	const uint8_t *data;
	size_t size = queue_peek(&recorder->queue, &data);

	if (size == 0)
		return false;
	size_t done = segments_append(&recorder->segments, data, size, MIN(size, (size_t)TURN_BYTES));
	// Only whole messages are in there; but whatever is, it must not stop the others.
	queue_consume(&recorder->queue, done > 0 ? done : size);
	publish_counts(recorder);
	give_room(recorder);
	report_losses(recorder, false);
	return true;
}

static void checkpoint_if_due(struct recorder *recorder, int64_t interval_ns)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	bool first = recorder->checkpoint_due_ns == 0;

	if (now < recorder->checkpoint_due_ns)
		return;
	int r = write_checkpoint(recorder);
	if (r < 0 && recorder->checkpoint_result == 0)
		log_line(LOG_LEVEL_WARNING, recorder->files->id,
			 "checkpoint.pb could not be written: %s; the one before it stays", strerror(-r));
	recorder->checkpoint_result = r;
	// A little early, so that it is never older than the interval; and soon after the first, which has seen nothing
	// yet.
	recorder->checkpoint_due_ns = now + (first ? interval_ns / 10 : interval_ns - interval_ns / 10);
}

// --- closing ---------------------------------------------------------------------------------------------------------

static int close_failed(struct recorder *recorder, struct error *error, int r, const char *what)
{
	return error_set(error, CONDPROF__CODE__IO, -r,
			 "the report of session %" PRId64
			 " is not whole: %s could not be written in the state folder: %s%s",
			 recorder->files->id, what, strerror(-r), disk_advice(r));
}

static int append_aggregates(struct recorder *recorder)
{
	CLEANUP_FREE uint8_t *aggregates = NULL;
	size_t size;
	int r = make_aggregates(recorder, &aggregates, &size);

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	segments_closing(&recorder->segments, size);
	return segments_append_one(&recorder->segments, aggregates, size);
}

static int put_overview(struct recorder *recorder)
{
	CLEANUP_FREE uint8_t *overview = NULL;
	size_t size;
	int r = make_overview(recorder, &overview, &size);

	return r < 0 ? r : report_files_overview(recorder->files, overview, size);
}

static void free_reserve(struct recorder *recorder)
{
	CLEANUP_FREE uint8_t *overview = NULL;
	size_t size = 0;

	make_overview(recorder, &overview, &size);
	report_files_free_reserve(recorder->files, size);
}

/// The checkpoint is refreshed where the aggregates do not fit into messages.pb: readers look there next.
static int close_report(struct recorder *recorder, struct error *error)
{
	int aggregates, overview;

	free_reserve(recorder);
	aggregates = append_aggregates(recorder);
	while (drain(recorder))
		;
	report_losses(recorder, true);
	if (aggregates < 0)
		write_checkpoint(recorder);
	segments_sync(&recorder->segments);
	overview = put_overview(recorder);
	report_files_finish(recorder->files, aggregates == 0 && overview == 0);
	if (overview < 0)
		return close_failed(recorder, error, overview, "overview.pb");
	return aggregates < 0 ? close_failed(recorder, error, aggregates, "the aggregates") : 0;
}

static void unlink_recorder(struct writer *writer, const struct recorder *recorder)
{
	struct recorder **link = &writer->recorders;

	while (*link != recorder)
		link = &(*link)->next;
	*link = recorder->next;
}

static void close_recorder(struct writer *writer, struct recorder *recorder)
{
	int r = recorder->discard ? 0 : close_report(recorder, recorder->close_error);

	recorder->files =
		recorder->discard ? report_files_discard(recorder->files) : report_files_free(recorder->files);
	pthread_mutex_lock(&writer->mutex);
	unlink_recorder(writer, recorder);
	recorder->close_result = r;
	recorder->closed = true;
	pthread_cond_broadcast(&writer->closed);
	pthread_mutex_unlock(&writer->mutex);
}

// --- the loop --------------------------------------------------------------------------------------------------------

/// Only this thread takes recorders off the list, and others put them at its front: the rest of it stands still.
static struct recorder *first_recorder(struct writer *writer)
{
	pthread_mutex_lock(&writer->mutex);
	struct recorder *first = writer->recorders;
	writer->news = false;
	pthread_mutex_unlock(&writer->mutex);
	return first;
}

static bool is_closing(struct writer *writer, const struct recorder *recorder)
{
	pthread_mutex_lock(&writer->mutex);
	bool closing = recorder->closing;
	pthread_mutex_unlock(&writer->mutex);
	return closing;
}

/// One turn for everybody.
static void take_turns(struct writer *writer)
{
	struct recorder *next;

	for (struct recorder *recorder = first_recorder(writer); recorder; recorder = next) {
		next = recorder->next;
		if (is_closing(writer, recorder)) {
			close_recorder(writer, recorder);
			continue;
		}
		drain(recorder);
		checkpoint_if_due(recorder, writer->checkpoint_ns);
	}
}

enum work { WORK_NONE, WORK_GATHERING, WORK_NOW };

static enum work recorder_work(struct recorder *recorder)
{
	size_t used = queue_used(&recorder->queue);

	if (used > recorder->queue.capacity / 2 || (used > 0 && atomic_load(&recorder->waits_for_room)))
		return WORK_NOW;
	return used > 0 ? WORK_GATHERING : WORK_NONE;
}

/// What came in since the last turn.
static enum work find_work(struct writer *writer)
{
	enum work work;

	pthread_mutex_lock(&writer->mutex);
	work = writer->news || writer->stopping ? WORK_NOW : WORK_NONE;
	for (struct recorder *recorder = writer->recorders; recorder && work < WORK_NOW; recorder = recorder->next)
		work = MAX(work, recorder_work(recorder));
	pthread_mutex_unlock(&writer->mutex);
	return work;
}

static int ms_to_checkpoint(struct writer *writer)
{
	int64_t due = INT64_MAX;

	pthread_mutex_lock(&writer->mutex);
	for (struct recorder *recorder = writer->recorders; recorder; recorder = recorder->next)
		due = MIN(due, recorder->checkpoint_due_ns);
	pthread_mutex_unlock(&writer->mutex);
	if (due == INT64_MAX)
		return -1;
	int64_t wait = due - clock_ns(CLOCK_MONOTONIC);
	return wait <= 0 ? 0 : (int)MIN(wait / NSEC_PER_MSEC + 1, (int64_t)INT_MAX);
}

static void rest(struct writer *writer)
{
	struct pollfd wake[] = {{.fd = writer->wake_fd, .events = POLLIN}, {.fd = writer->gather_fd, .events = POLLIN}};
	uint64_t count;
	enum work work;

	atomic_store(&writer->state, WRITER_SLEEPS);
	work = find_work(writer);
	if (work == WORK_GATHERING)
		writer_poke(writer, false);
	if (work != WORK_NOW)
		poll(wake, ARRAY_SIZE(wake), ms_to_checkpoint(writer));
	atomic_store(&writer->state, WRITER_AWAKE);
	for (size_t i = 0; i < ARRAY_SIZE(wake); i++) {
		if (read(wake[i].fd, &count, sizeof(count)) < 0)
			continue; // it was not this one
	}
}

static bool is_stopping(struct writer *writer)
{
	pthread_mutex_lock(&writer->mutex);
	bool stopping = writer->stopping && !writer->recorders;
	pthread_mutex_unlock(&writer->mutex);
	return stopping;
}

static void *writer_main(void *argument)
{
	struct writer *writer = argument;

	while (!is_stopping(writer)) {
		take_turns(writer);
		rest(writer);
	}
	return NULL;
}

// --- the outside -----------------------------------------------------------------------------------------------------

int writer_attach(struct writer *writer, struct recorder *recorder)
{
	pthread_mutex_lock(&writer->mutex);
	segments_init(&recorder->segments, recorder->files, &writer->limits);
	recorder->next = writer->recorders;
	writer->recorders = recorder;
	writer->news = true;
	pthread_mutex_unlock(&writer->mutex);
	poke_always(writer);
	return 0;
}

int writer_close_recorder(struct writer *writer, struct recorder *recorder, struct error *error)
{
	pthread_mutex_lock(&writer->mutex);
	recorder->closing = true;
	recorder->close_error = error;
	writer->news = true;
	pthread_mutex_unlock(&writer->mutex);
	poke_always(writer);
	pthread_mutex_lock(&writer->mutex);
	while (!recorder->closed)
		pthread_cond_wait(&writer->closed, &writer->mutex);
	pthread_mutex_unlock(&writer->mutex);
	return recorder->close_result;
}

static int start_thread(struct writer *writer)
{
	sigset_t all, before;
	int r;

	// Signals are for the control thread; SIGXFSZ, held back here, becomes EFBIG.
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&writer->thread, NULL, writer_main, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		pthread_setname_np(writer->thread, "report-writer");
	return -r;
}

static struct writer_limits complete_limits(const struct writer_limits *given)
{
	struct writer_limits limits = default_limits;

	if (given && given->segment_bytes)
		limits.segment_bytes = given->segment_bytes;
	if (given && given->messages_bytes)
		limits.messages_bytes = given->messages_bytes;
	if (given && given->checkpoint_ns)
		limits.checkpoint_ns = given->checkpoint_ns;
	// at least two segments, so that the oldest can go without all going
	limits.messages_bytes = MAX(limits.messages_bytes, 2 * limits.segment_bytes);
	return limits;
}

static struct writer *writer_free(struct writer *writer)
{
	cleanup_close(&writer->wake_fd);
	cleanup_close(&writer->gather_fd);
	pthread_cond_destroy(&writer->closed);
	pthread_mutex_destroy(&writer->mutex);
	free(writer);
	return NULL;
}

int writer_start(const struct writer_limits *limits, struct writer **ret, struct error *error)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the report writer");
	writer->limits = complete_limits(limits);
	writer->checkpoint_ns = writer->limits.checkpoint_ns;
	pthread_mutex_init(&writer->mutex, NULL);
	pthread_cond_init(&writer->closed, NULL);
	writer->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	writer->gather_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r = writer->wake_fd < 0 || writer->gather_fd < 0 ? -errno : start_thread(writer);
	if (r < 0) {
		writer_free(writer);
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "the report writer cannot start: %s",
				 strerror(-r));
	}
	*ret = writer;
	return 0;
}

void writer_set_limits(struct writer *writer, const struct writer_limits *limits)
{
	pthread_mutex_lock(&writer->mutex);
	writer->limits = complete_limits(limits);
	pthread_mutex_unlock(&writer->mutex);
}

struct writer *writer_stop(struct writer *writer)
{
	if (!writer)
		return NULL;
	pthread_mutex_lock(&writer->mutex);
	writer->stopping = true;
	writer->news = true;
	pthread_mutex_unlock(&writer->mutex);
	poke_always(writer);
	pthread_join(writer->thread, NULL);
	return writer_free(writer);
}
