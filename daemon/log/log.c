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

#include "daemon/log/log.h"
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
#include <sys/uio.h>
#include <time.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define LOG_SLOTS 512U
#define LOG_TEXT_BYTES 1024U ///< a line to stderr stays below PIPE_BUF: never torn, never mixed with another's
#define LOG_STOP_TIMEOUT_NS (2 * NSEC_PER_SEC)
#define ELLIPSIS "…"

struct line {
	enum log_level level;
	int64_t session;
	char text[LOG_TEXT_BYTES];
};

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
	atomic_int level;
	atomic_bool running, stopping;
	atomic_bool given_up; ///< the thread did not end in time, and may still be there
	enum log_target target;
	sem_t filled;
	pthread_t thread;
} state = {.level = LOG_LEVEL_INFO};

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

static int line_to_journal(const struct line *line)
{
	char message[LOG_TEXT_BYTES + 64], priority[32], session[48];
	char identifier[] = "SYSLOG_IDENTIFIER=condprofd";
	struct iovec fields[4] = {{identifier, sizeof(identifier) - 1}};
	int n_fields = 1;

	if (line->session > 0) {
		int length = snprintf(session, sizeof(session), "CONDPROF_SESSION=%" PRId64, line->session);

		fields[n_fields++] = (struct iovec){session, (size_t)length};
		length = snprintf(message, sizeof(message), "MESSAGE=session %" PRId64 ": %s", line->session,
				  line->text);
		fields[n_fields++] = (struct iovec){message, (size_t)length};
	} else {
		int length = snprintf(message, sizeof(message), "MESSAGE=%s", line->text);

		fields[n_fields++] = (struct iovec){message, (size_t)length};
	}
	fields[n_fields].iov_len = (size_t)snprintf(priority, sizeof(priority), "PRIORITY=%d", (int)line->level);
	fields[n_fields++].iov_base = priority;
	return sd_journal_sendv(fields, n_fields);
}

static void write_line(const struct line *line, enum log_target target)
{
	if (target == LOG_TO_JOURNAL && line_to_journal(line) >= 0)
		return;
	line_to_stderr(line, target != LOG_TO_TERMINAL);
}

static void fill_line(struct line *line, enum log_level level, int64_t session, const char *format, va_list arguments)
	PRINTF_LIKE(4, 0);

static void fill_line(struct line *line, enum log_level level, int64_t session, const char *format, va_list arguments)
{
	line->level = level;
	line->session = session;
	int length = vsnprintf(line->text, sizeof(line->text), format, arguments);
	bool cut = length >= (int)sizeof(line->text);

	if (cut)
		line->text[sizeof(line->text) - sizeof(ELLIPSIS)] = '\0';
	utf8_make_printable(line->text);
	if (cut)
		strcat(line->text, ELLIPSIS);
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

static void log_line_direct(enum log_level level, int64_t session, const char *format, va_list arguments)
	PRINTF_LIKE(3, 0);

static void log_line_direct(enum log_level level, int64_t session, const char *format, va_list arguments)
{
	struct line line;

	fill_line(&line, level, session, format, arguments);
	write_line(&line, log_target_of(STDERR_FILENO, getenv("JOURNAL_STREAM")));
}

void log_line(enum log_level level, int64_t session, const char *format, ...)
{
	int errno_before = errno;
	va_list arguments;
	size_t position;

	if (!log_enabled(level))
		return;
	va_start(arguments, format);
	if (!atomic_load(&state.running)) {
		log_line_direct(level, session, format, arguments);
	} else {
		struct slot *slot = take_slot(&position);

		if (slot) {
			errno = errno_before; // for %m
			fill_line(&slot->line, level, session, format, arguments);
			atomic_store_explicit(&slot->turn, position + 1, memory_order_release);
			sem_post(&state.filled);
		} else {
			atomic_fetch_add(&state.lost, 1);
		}
	}
	va_end(arguments);
	errno = errno_before;
}

static void say_lost(void)
{
	uint64_t lost = atomic_load(&state.lost);
	struct line line = {.level = LOG_LEVEL_WARNING};

	if (lost == state.lost_said)
		return;
	snprintf(line.text, sizeof(line.text),
		 "%" PRIu64 " log lines were lost: they came faster than they could be written",
		 lost - state.lost_said);
	state.lost_said = lost;
	write_line(&line, state.target);
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

static void *log_thread(void *unused)
{
	(void)unused;
	for (;;) {
		bool stopping = atomic_load(&state.stopping);

		if (drain() && stopping)
			return NULL;
		while (sem_wait(&state.filled) < 0 && errno == EINTR)
			;
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

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&state.level, (int)level, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&state.level, memory_order_relaxed);
}

uint64_t log_lost(void)
{
	return atomic_load(&state.lost);
}
