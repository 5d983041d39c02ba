// SPDX-License-Identifier: GPL-3.0-or-later
// The engine's side of a tape, which never waits for the disk, and its beginning and end.
#include "config.h"

#include "daemon/log/log.h"
#include "daemon/recording/folder.h"
#include "daemon/recording/format.h"
#include "daemon/recording/tape-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#define ABANDON_PATIENCE_S 2 // others wait behind it
#define FINISH_PATIENCE_S                                                                                              \
	20 // for what is left to be compressed and written; a disk that hangs must not hold the end up

// --- the engine's thread ---------------------------------------------------------------------------------------------

static uint32_t room(const struct tape *tape)
{
	return ENTRIES - (tape->next - atomic_load_explicit(&tape->tail, memory_order_acquire));
}

static void take_back(struct tape *tape)
{
	tape->taken_back = true;
	for (uint32_t i = 0; i < tape->n_used; i++)
		atomic_store_explicit(&tape->buffers[tape->used[i]].filled, false, memory_order_relaxed);
	if (tape->n_used)
		tape->serial = 0; // that frame was not handed over
	tape->n_used = 0;
	tape->next = atomic_load_explicit(&tape->head, memory_order_relaxed);
}

static void put(struct tape *tape, enum entry_kind kind, uint32_t small, int64_t value)
{
	if (tape->taken_back)
		return;
	if (room(tape) <= 2) { // one is left for the end
		take_back(tape);
		return;
	}
	tape->entries[tape->next++ % ENTRIES] = (struct entry){kind, small, value};
}

static void hand_over(struct tape *tape)
{
	atomic_store(&tape->head, tape->next);
	tape->n_used = 0;
	if (atomic_exchange(&tape->thread_waits, false))
		eventfd_write(tape->ready_fd, 1);
}

void tape_pass_begin(struct tape *tape, int64_t number)
{
	take_back(tape);
	tape->taken_back = atomic_load_explicit(&tape->cut, memory_order_relaxed);
	put(tape, ENTRY_PASS, 0, number);
}

void tape_reference(struct tape *tape, int64_t ns)
{
	put(tape, ENTRY_REFERENCE, 0, ns);
}

void tape_broadcast(struct tape *tape, uint32_t broadcast)
{
	put(tape, ENTRY_BROADCAST, broadcast, 0);
}

void tape_stop(struct tape *tape, uint32_t look, uint32_t stopped_check)
{
	put(tape, ENTRY_STOP, look, stopped_check);
}

void tape_pass_end(struct tape *tape)
{
	put(tape, ENTRY_PASS_END, 0, 0);
	if (!tape->taken_back)
		hand_over(tape);
	else if (!atomic_load_explicit(&tape->cut, memory_order_relaxed))
		atomic_fetch_add_explicit(&tape->dropped_passes, 1, memory_order_relaxed);
	tape->n_used = 0;
}

static uint32_t buffers_for(size_t size)
{
	return (uint32_t)MIN(MAX(BUFFERS_MAX_BYTES / size, (size_t)2), (size_t)BUFFERS);
}

static struct buffer *free_buffer(struct tape *tape, size_t size)
{
	for (uint32_t i = 0; i < buffers_for(size); i++) {
		if (!atomic_load_explicit(&tape->buffers[i].filled, memory_order_acquire))
			return &tape->buffers[i];
	}
	return NULL;
}

// Memory is taken where a frame is larger than the ones before: when the session begins, and when the screen's size
// changes.
static bool fill_buffer(struct buffer *buffer, struct picture_view view)
{
	size_t row = (size_t)view.width * 4, size = row * (size_t)view.height;

	if (buffer->size < size) {
		free(buffer->pixels);
		buffer->pixels = malloc(size);
		buffer->size = buffer->pixels ? size : 0;
		if (!buffer->pixels)
			return false;
	}
	for (int y = 0; y < view.height; y++)
		memcpy(buffer->pixels + (size_t)y * row, view.pixels + y * view.stride, row);
	buffer->width = view.width;
	buffer->height = view.height;
	return true;
}

void tape_frame(struct tape *tape, struct picture_view view, uint64_t serial)
{
	if (tape->taken_back)
		return;
	if (!view.pixels) {
		put(tape, ENTRY_FRAME, 0, 0);
		return;
	}
	if (tape->serial == serial + 1 && tape->last_pixels == view.pixels) {
		put(tape, ENTRY_SAME, 0, 0);
		return;
	}
	struct buffer *buffer = free_buffer(tape, (size_t)view.width * (size_t)view.height * 4);

	if (!buffer || !fill_buffer(buffer, view)) {
		atomic_fetch_add_explicit(&tape->dropped_frames, 1, memory_order_relaxed);
		tape->serial = 0;
		put(tape, ENTRY_DROPPED, 0, 0);
		return;
	}
	uint32_t index = (uint32_t)(buffer - tape->buffers);
	atomic_store_explicit(&buffer->filled, true, memory_order_relaxed); // handed over with the pass
	tape->used[tape->n_used++] = index;
	tape->serial = serial + 1;
	tape->last_pixels = view.pixels;
	put(tape, ENTRY_FRAME, index + 1, 0);
}

// All buffers are waited for: nobody knows how often the pass will refresh.
static bool has_room(struct tape *tape)
{
	bool free = true;

	for (uint32_t i = 0; i < BUFFERS; i++)
		free = free && !atomic_load(&tape->buffers[i].filled);
	return atomic_load(&tape->cut) || (room(tape) >= LEAST_PASS_ENTRIES && free);
}

void tape_wait_room(struct tape *tape, int wake_fd)
{
	struct pollfd fds[2] = {{.fd = tape->space_fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
	eventfd_t count;

	while (!has_room(tape)) {
		atomic_store(&tape->engine_waits, true);
		if (has_room(tape) || poll(fds, 2, -1) < 0 || fds[1].revents)
			break;
		eventfd_read(tape->space_fd, &count);
	}
	atomic_store(&tape->engine_waits, false);
}

// --- opening and closing ---------------------------------------------------------------------------------------------

static void destroy(struct tape *tape)
{
	for (uint32_t i = 0; i < BUFFERS; i++)
		free(tape->buffers[i].pixels);
	picture_free(tape->picture);
	free(tape->pass.references);
	free(tape->pass.broadcasts);
	free(tape->entries);
	free(tape->path);
	if (tape->ready_fd >= 0)
		close(tape->ready_fd);
	if (tape->space_fd >= 0)
		close(tape->space_fd);
	if (tape->file >= 0)
		close(tape->file);
	if (tape->fd >= 0)
		close(tape->fd);
	free(tape);
}

static struct tape *tape_new(const struct tape_params *params)
{
	struct tape *tape = calloc(1, sizeof(*tape));

	if (!tape)
		return NULL;
	tape->fd = tape->file = -1;
	tape->references = 2;
	atomic_init(&tape->session_id, params->session_id);
	tape->max_bytes = params->max_bytes;
	tape->path = strdup(params->path);
	tape->entries = calloc(ENTRIES, sizeof(*tape->entries));
	tape->pass.references = calloc(ENTRIES, sizeof(*tape->pass.references));
	tape->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	tape->space_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (tape->path && tape->entries && tape->pass.references && tape->ready_fd >= 0 && tape->space_fd >= 0)
		return tape;
	destroy(tape);
	return NULL;
}

static int start_thread(struct tape *tape)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&tape->thread, NULL, tape_thread, tape);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		pthread_setname_np(tape->thread, "tape");
	return -r;
}

int tape_open(const struct tape_params *params, struct tape **ret, struct error *error)
{
	struct tape *tape = tape_new(params);
	int r;

	if (!tape)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for the recording");
	r = recording_make_folder(params->path, params->frame_folders, &tape->fd, error);
	if (r == 0) {
		tape->file =
			openat(tape->fd, RECORDING_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (tape->file < 0)
			r = error_set(error, CONDPROF__CODE__IO, errno, "--record: no file can be made in %s: %s",
				      error_quote(params->path).text, strerror(errno));
	}
	if (r == 0) {
		tape_write_header(tape, params);
		if (atomic_load(&tape->cut))
			r = error_set(error, CONDPROF__CODE__IO, EIO, "--record: %s: %s",
				      error_quote(params->path).text, tape->cut_short);
	}
	if (r == 0) {
		r = start_thread(tape);
		if (r < 0)
			error_set(error, CONDPROF__CODE__INTERNAL, -r, "no thread for the recording: %s", strerror(-r));
	}
	if (r < 0) {
		destroy(tape);
		return r;
	}
	*ret = tape;
	return 0;
}

void tape_name(struct tape *tape, int64_t session_id)
{
	atomic_store(&tape->session_id, session_id);
}

void tape_figures(struct tape *tape, struct tape_figures *ret)
{
	*ret = (struct tape_figures){
		.passes = atomic_load(&tape->passes),
		.frames = atomic_load(&tape->frames),
		.bytes = atomic_load(&tape->bytes),
		.dropped_frames = atomic_load(&tape->dropped_frames),
		.dropped_passes = atomic_load(&tape->dropped_passes),
	};
	if (atomic_load(&tape->cut))
		memcpy(ret->cut_short, tape->cut_short, sizeof(ret->cut_short));
}

const char *tape_path(const struct tape *tape)
{
	return tape->path;
}

/// Its thread ends, or is left alone.
static void join(struct tape *tape, int patience_s)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += patience_s;
	if (pthread_timedjoin_np(tape->thread, NULL, &deadline) == 0)
		return;
	pthread_detach(tape->thread);
	log_line(LOG_LEVEL_WARNING, atomic_load(&tape->session_id),
		 "recording in %s: its disk does not answer; it is left alone", tape->path);
}

void tape_finish(struct tape *tape)
{
	if (atomic_exchange(&tape->finished, true))
		return;
	take_back(tape);
	tape->entries[tape->next++ % ENTRIES] = (struct entry){.kind = ENTRY_CLOSE};
	hand_over(tape);
	join(tape, FINISH_PATIENCE_S);
}

void tape_abandon(struct tape *tape)
{
	if (atomic_exchange(&tape->finished, true))
		return;
	atomic_store(&tape->abandoned, true);
	eventfd_write(tape->ready_fd, 1);
	join(tape, ABANDON_PATIENCE_S);
}

void tape_unref(struct tape *tape)
{
	if (atomic_fetch_sub(&tape->references, 1) == 1)
		destroy(tape);
}

struct tape *tape_free(struct tape *tape)
{
	if (!tape)
		return NULL;
	tape_finish(tape);
	tape_unref(tape);
	return NULL;
}
