// SPDX-License-Identifier: GPL-3.0-or-later
/// The log queue and its thread.
///
/// Writers: take a slot with one compare-and-swap, format into it, hand it over by its turn number, post a semaphore. A
/// queue with no free slot counts the line as lost. So nobody waits, whatever the journal or the terminal does.
/// Reader: the log thread alone. It waits on the semaphore without a timer; only while stderr takes nothing it looks
/// about every 100 ms whether it has been given up.
///
/// A slot is free for position p when its turn is p, and filled when its turn is p + 1; the reader frees it for the
/// next round by p + LOG_SLOTS.
#include "config.h"

#include "daemon/log/log-internal.h"
#include "daemon/log/repeats.h"
#include "proto/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LOG_SLOTS 512U
#define LOG_STOP_TIMEOUT_NS (2 * NSEC_PER_SEC)
#define ELLIPSIS "…"

struct slot {
	atomic_size_t turn;
	struct line line;
};

static struct {
	struct slot slots[LOG_SLOTS];
	atomic_size_t tail; ///< next position to fill
	size_t head;        ///< next position to write; the log thread's
	atomic_uint_fast64_t lost;
	uint64_t lost_said; ///< the log thread's
	atomic_bool running, stopping;
	atomic_bool given_up; ///< the thread did not end in time, and may still be there
	enum log_target target;
	sem_t filled;
	pthread_t thread;
} state;

enum log_target log_target_of(int fd, const char *journal_stream)
{
	uintmax_t device, inode;
	struct stat status;
	int end = 0;

	if (journal_stream && sscanf(journal_stream, "%ju:%ju%n", &device, &inode, &end) == 2 &&
	    journal_stream[end] == '\0' && fstat(fd, &status) == 0 && status.st_dev == device && status.st_ino == inode)
		return LOG_TO_JOURNAL;
	return isatty(fd) ? LOG_TO_TERMINAL : LOG_TO_STDERR;
}

/// Writes all of it, unless stderr is gone or nobody waits for it any longer.
static void write_stderr(const char *data, size_t size)
{
	struct pollfd writable = {.fd = STDERR_FILENO, .events = POLLOUT};

	while (size > 0) {
		// stderr may be somebody's non-blocking pipe, or block for ever: ask first
		if (poll(&writable, 1, 100) <= 0) {
			if (atomic_load(&state.given_up))
				return;
			continue;
		}
		ssize_t written = write(STDERR_FILENO, data, size);
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return;
		data += MAX(written, 0);
		size -= (size_t)MAX(written, 0);
	}
}

static void line_to_stderr(const struct line *line, bool priority)
{
	char out[LOG_TEXT_BYTES + 64];
	size_t at = 0;

	if (priority)
		at += (size_t)snprintf(out + at, sizeof(out) - at, "<%d>", (int)line->level);
	if (line->session > 0)
		at += (size_t)snprintf(out + at, sizeof(out) - at, "session %" PRId64 ": ", line->session);
	at += (size_t)snprintf(out + at, sizeof(out) - at, "%s\n", line->text);
	write_stderr(out, at);
}

static void write_line(const struct line *line, enum log_target target)
{
	if (target == LOG_TO_JOURNAL && journal_write(line) >= 0)
		return;
	line_to_stderr(line, target != LOG_TO_TERMINAL);
}

static void copy_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
	utf8_make_printable(out);
}

static void fill_text(struct line *line, const char *format, va_list arguments) PRINTF_LIKE(2, 0);

static void fill_text(struct line *line, const char *format, va_list arguments)
{
	int length = vsnprintf(line->text, sizeof(line->text), format, arguments);
	bool cut = length >= (int)sizeof(line->text);

	if (cut)
		line->text[sizeof(line->text) - sizeof(ELLIPSIS)] = '\0';
	utf8_make_printable(line->text);
	if (cut)
		strcat(line->text, ELLIPSIS);
}

static void fill_line(struct line *line, enum log_level level, enum log_module module, const struct log_about *about,
		      const char *format, va_list arguments) PRINTF_LIKE(5, 0);

static void fill_line(struct line *line, enum log_level level, enum log_module module, const struct log_about *about,
		      const char *format, va_list arguments)
{
	line->level = level;
	line->module = module;
	line->message = about->message;
	line->session = about->session;
	line->has_peer = about->has_peer;
	line->uid = about->uid;
	line->pid = about->pid;
	copy_text(line->scenario, sizeof(line->scenario), about->scenario);
	copy_text(line->reason, sizeof(line->reason), about->reason);
	fill_text(line, format, arguments);
}

/// @return the slot for position *ret_position, or NULL when all are filled
static struct slot *take_slot(size_t *ret_position)
{
	size_t position = atomic_load_explicit(&state.tail, memory_order_relaxed);

	for (;;) {
		struct slot *slot = &state.slots[position % LOG_SLOTS];
		size_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);

		if (turn == position) {
			if (atomic_compare_exchange_weak(&state.tail, &position, position + 1)) {
				*ret_position = position;
				return slot;
			}
		} else if (turn < position) {
			return NULL;
		} else {
			position = atomic_load_explicit(&state.tail, memory_order_relaxed);
		}
	}
}

/// Whether one more of these would be too many. Lines that tell what happens come all; faults repeat.
static bool is_held_back(enum log_level level, enum log_module module, const struct log_about *about,
			 const char *format, va_list arguments) PRINTF_LIKE(4, 0);

static bool is_held_back(enum log_level level, enum log_module module, const struct log_about *about,
			 const char *format, va_list arguments)
{
	struct repeats_held held = {.level = level, .module = module, .session = about->session};
	bool first;

	if (level > LOG_LEVEL_NOTICE || about->every)
		return false;
	vsnprintf(held.sample, sizeof(held.sample), format, arguments);
	bool back = repeats_hold_back(repeats_key(format, about), clock_ns(CLOCK_MONOTONIC), &held, &first);
	if (first && atomic_load(&state.running)) // it looks at the time from now on, and says them when that has come
		sem_post(&state.filled);
	return back;
}

static void log_direct(enum log_level level, enum log_module module, const struct log_about *about, const char *format,
		       va_list arguments) PRINTF_LIKE(4, 0);

static void log_direct(enum log_level level, enum log_module module, const struct log_about *about, const char *format,
		       va_list arguments)
{
	struct line line;

	fill_line(&line, level, module, about, format, arguments);
	write_line(&line, log_target_of(STDERR_FILENO, getenv("JOURNAL_STREAM")));
}

static void log_queued(enum log_level level, enum log_module module, const struct log_about *about, const char *format,
		       va_list arguments) PRINTF_LIKE(4, 0);

static void log_queued(enum log_level level, enum log_module module, const struct log_about *about, const char *format,
		       va_list arguments)
{
	struct slot *slot;
	size_t position;

	slot = take_slot(&position);
	if (!slot) {
		atomic_fetch_add(&state.lost, 1);
		return;
	}
	fill_line(&slot->line, level, module, about, format, arguments);
	atomic_store_explicit(&slot->turn, position + 1, memory_order_release);
	sem_post(&state.filled);
}

void log_write(const char *file, enum log_level level, const struct log_about *about, const char *format, ...)
{
	static const struct log_about nothing;
	int errno_before = errno; // also for %m
	enum log_module module = log_module_of(file);
	va_list arguments;
	bool held_back;

	if (!log_enabled_in(file, level))
		return;
	about = about ? about : &nothing;
	va_start(arguments, format);
	held_back = is_held_back(level, module, about, format, arguments);
	va_end(arguments);
	if (!held_back) {
		va_start(arguments, format);
		errno = errno_before;
		if (atomic_load(&state.running))
			log_queued(level, module, about, format, arguments);
		else
			log_direct(level, module, about, format, arguments);
		va_end(arguments);
	}
	errno = errno_before;
}

static void say_lost(void)
{
	uint64_t lost = atomic_load(&state.lost);
	struct line line = {.level = LOG_LEVEL_WARNING, .message = LOG_MESSAGE_LOST};

	if (lost == state.lost_said)
		return;
	snprintf(line.text, sizeof(line.text),
		 "%" PRIu64 " log lines were lost: they came faster than they could be written",
		 lost - state.lost_said);
	state.lost_said = lost;
	write_line(&line, state.target);
}

static void say_repeats(bool all)
{
	struct repeats_held held;

	while (repeats_take(clock_ns(CLOCK_MONOTONIC), all, &held)) {
		struct line line = {
			.level = held.level,
			.module = held.module,
			.message = LOG_MESSAGE_REPEATED,
			.session = held.session,
		};

		snprintf(line.text, sizeof(line.text), "… %" PRIu64 " more of these: %s", held.count, held.sample);
		utf8_make_printable(line.text);
		write_line(&line, state.target);
	}
}

/// Writes what is filled. @return whether nothing is left, not even a line that is being filled
static bool drain(void)
{
	for (;;) {
		struct slot *slot = &state.slots[state.head % LOG_SLOTS];

		if (atomic_load_explicit(&slot->turn, memory_order_acquire) != state.head + 1)
			break;
		write_line(&slot->line, state.target);
		atomic_store_explicit(&slot->turn, state.head + LOG_SLOTS, memory_order_release);
		state.head++;
		if (state.head % LOG_SLOTS == 0)
			say_lost();
	}
	say_lost();
	return state.head == atomic_load(&state.tail);
}

/// Until a line comes. While something is held back, not for longer than it takes to say it in time.
static void wait_for_lines(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1;
	while ((repeats_any() ? sem_clockwait(&state.filled, CLOCK_MONOTONIC, &until) : sem_wait(&state.filled)) < 0 &&
	       errno == EINTR)
		;
}

static void *log_thread(void *unused)
{
	(void)unused;
	for (;;) {
		bool stopping = atomic_load(&state.stopping);
		bool empty = drain();

		say_repeats(empty && stopping);
		if (empty && stopping)
			return NULL;
		wait_for_lines();
	}
}

int log_start(void)
{
	sigset_t all, before;

	if (atomic_load(&state.running) || atomic_load(&state.given_up))
		return -EBUSY;
	for (size_t i = 0; i < LOG_SLOTS; i++)
		atomic_init(&state.slots[i].turn, i);
	atomic_init(&state.tail, 0);
	state.head = 0;
	state.lost_said = atomic_load(&state.lost);
	state.target = log_target_of(STDERR_FILENO, getenv("JOURNAL_STREAM"));
	atomic_store(&state.stopping, false);
	if (sem_init(&state.filled, 0, 0) < 0)
		return -errno;
	// signals are for the control thread
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	int r = pthread_create(&state.thread, NULL, log_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		return -r;
	pthread_setname_np(state.thread, "log");
	atomic_store(&state.running, true);
	return 0;
}

void log_stop(void)
{
	struct timespec deadline;

	if (!atomic_exchange(&state.running, false))
		return;
	atomic_store(&state.stopping, true);
	sem_post(&state.filled);
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += LOG_STOP_TIMEOUT_NS / NSEC_PER_SEC;
	if (pthread_timedjoin_np(state.thread, NULL, &deadline) == 0)
		return;
	atomic_store(&state.given_up, true);
	pthread_detach(state.thread);
}

uint64_t log_lost(void)
{
	return atomic_load(&state.lost);
}
