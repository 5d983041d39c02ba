// SPDX-License-Identifier: GPL-3.0-or-later
// Between the engine's thread and the tape's: a ring of entries, handed over a whole pass at a time, and a few buffers
// for frames, each of one side alone (its state says whose). A pass for which the ring has no room is taken back.
#include "config.h"

#include "daemon/recording/tape.h"

#include "daemon/log/log.h"
#include "daemon/recording/folder.h"
#include "daemon/recording/format.h"
#include "proto/frame.h"
#include "proto/recording.pb-c.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>

#define ENTRIES 65536U // a power of two
#define BUFFERS 8U
#define BUFFERS_MAX_BYTES (64 * 1024 * 1024) // of all of them together, but two at least
#define LEAST_PASS_ENTRIES 1024U             // room that tape_wait_room() waits for

enum entry_kind {
	ENTRY_PASS,      // value: its number
	ENTRY_REFERENCE, // value: ns
	ENTRY_FRAME,     // small: buffer + 1; 0: none
	ENTRY_SAME,      // the frame of before
	ENTRY_DROPPED,   // a frame for which no buffer was free
	ENTRY_BROADCAST, // small: index
	ENTRY_STOP,      // small: look, value: check
	ENTRY_PASS_END,
	ENTRY_CLOSE,
};

struct entry {
	uint32_t kind, small;
	int64_t value;
};

struct buffer {
	uint8_t *pixels;
	size_t size;
	int width, height;
	_Atomic bool filled; // the tape's thread has it
};

struct tape {
	int64_t session_id, max_bytes;
	int fd; // the folder
	char *path;
	pthread_t thread;

	struct entry *entries;
	_Atomic uint32_t head, tail; // handed over, taken
	int ready_fd, space_fd;      // eventfds
	_Atomic bool thread_waits, engine_waits;
	struct buffer buffers[BUFFERS];

	// the engine's thread's
	uint32_t next;   // where the pass being told goes on
	bool taken_back; // there was no room for it
	bool finished;
	uint64_t serial; // of the last frame, + 1; 0: none counts
	const uint8_t *last_pixels;
	uint32_t used[BUFFERS], n_used; // buffers of this pass

	// the tape's thread's
	int file;
	struct picture *picture; // as recorded so far
	uint32_t frame;          // its number; 0: none
	struct pass {
		int64_t number, last_reference;
		int64_t *references;
		uint32_t n_references;
		uint32_t frames[64], n_frames;
		uint32_t *broadcasts, n_broadcasts, broadcasts_room;
		uint32_t stop_look, stopped_check;
		bool inexact, stopped;
	} pass;

	_Atomic int64_t passes, frames, bytes, dropped_frames, dropped_passes;
	_Atomic bool cut; // cut_short says why: nothing is recorded any more
	char cut_short[160];
};

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

// --- the tape's thread: the file -------------------------------------------------------------------------------------

static void cut_short(struct tape *tape, const char *why)
{
	if (atomic_load(&tape->cut))
		return;
	snprintf(tape->cut_short, sizeof(tape->cut_short), "%s", why);
	atomic_store(&tape->cut, true); // release: whoever sees it may read why
	log_line(LOG_LEVEL_WARNING, tape->session_id, "recording in %s ends here: %s", tape->path, why);
}

static int write_all(int fd, const uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static void failed(struct tape *tape, int r)
{
	char why[128];

	snprintf(why, sizeof(why), "it cannot be written: %s", strerror(-r));
	cut_short(tape, why);
}

// Whole, or taken back: recording.pb always ends with a whole message.
static void append(struct tape *tape, const Condprof__RecordingMessage *message)
{
	size_t size = frame_size(&message->base);
	CLEANUP_FREE uint8_t *bytes = malloc(size);
	off_t begin = lseek(tape->file, 0, SEEK_CUR);
	int r = bytes ? 0 : -ENOMEM;

	if (r == 0) {
		frame_pack(&message->base, bytes);
		r = write_all(tape->file, bytes, size);
	}
	if (r == 0) {
		atomic_fetch_add(&tape->bytes, (int64_t)size);
		return;
	}
	if (begin >= 0 && (ftruncate(tape->file, begin) < 0 || lseek(tape->file, begin, SEEK_SET) < 0))
		log_line(LOG_LEVEL_WARNING, tape->session_id, "recording in %s: its last message is torn", tape->path);
	failed(tape, r);
}

// --- the tape's thread: frames ---------------------------------------------------------------------------------------

// Whether pixels differ, alpha aside.
static bool differ(const uint8_t *a, const uint8_t *b, size_t pixels)
{
	if (memcmp(a, b, pixels * 4) == 0)
		return false;
	for (size_t i = 0; i < pixels; i++) {
		if (memcmp(a + 4 * i, b + 4 * i, 3) != 0)
			return true;
	}
	return false;
}

// The smallest rectangle around all that differs. @return false: nothing does
static bool changed_rect(const struct picture *old, const struct buffer *new, struct rect *ret)
{
	size_t row = (size_t) new->width * 4;
	struct rect rect = {new->width, new->height, 0, 0};

	for (int y = 0; y < new->height; y++) {
		const uint8_t *a = old->pixels + y * old->stride, *b = new->pixels + (size_t)y *row;

		if (!differ(a, b, (size_t) new->width))
			continue;
		rect.top = MIN(rect.top, y);
		rect.bottom = y + 1;
		for (int x = 0; x < rect.left; x++) {
			if (memcmp(a + 4 * x, b + 4 * x, 3) != 0)
				rect.left = x;
		}
		for (int x = new->width - 1; x >= rect.right; x--) {
			if (memcmp(a + 4 * x, b + 4 * x, 3) != 0)
				rect.right = x + 1;
		}
	}
	*ret = rect;
	return rect.bottom > rect.top;
}

static int write_picture(struct tape *tape, uint32_t number, struct picture_view view)
{
	CLEANUP_FREE uint8_t *png = NULL;
	char name[RECORDING_NAME_SIZE];
	struct error error = {0};
	size_t size;
	int r = png_encode(view, &png, &size, &error);

	if (r < 0)
		return r;
	if (atomic_load(&tape->bytes) + (int64_t)size > tape->max_bytes)
		return -EDQUOT;
	recording_frame_name(number, name);
	CLEANUP_CLOSE int fd = openat(tape->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, png, size);
	if (r < 0)
		unlinkat(tape->fd, name, 0);
	else
		atomic_fetch_add(&tape->bytes, (int64_t)size);
	return r;
}

static bool keep_picture(struct tape *tape, const struct buffer *buffer)
{
	size_t row = (size_t)buffer->width * 4;

	if (!tape->picture || tape->picture->width != buffer->width || tape->picture->height != buffer->height) {
		tape->picture = picture_free(tape->picture);
		if (picture_new(buffer->width, buffer->height, &tape->picture) < 0)
			return false;
	}
	for (int y = 0; y < buffer->height; y++)
		memcpy(tape->picture->pixels + y * tape->picture->stride, buffer->pixels + (size_t)y * row, row);
	return true;
}

// Writes what differs from the frame before. Leaves its number in tape->frame.
static void record_frame(struct tape *tape, const struct buffer *buffer)
{
	Condprof__RecordingMessage message = CONDPROF__RECORDING_MESSAGE__INIT;
	Condprof__RecordedFrame frame = CONDPROF__RECORDED_FRAME__INIT;
	struct rect rect = {0, 0, buffer->width, buffer->height};
	bool whole = !tape->picture || tape->picture->width != buffer->width || tape->picture->height != buffer->height;

	if (!whole && !changed_rect(tape->picture, buffer, &rect))
		return;
	if (tape->frame == RECORDING_FRAMES_MAX) {
		cut_short(tape, "it has a million frames, the most there may be");
		return;
	}
	struct picture_view view = {buffer->pixels + ((size_t)rect.top * (size_t)buffer->width + (size_t)rect.left) * 4,
				    rect.right - rect.left, rect.bottom - rect.top, (ptrdiff_t)buffer->width * 4};
	int r = write_picture(tape, tape->frame + 1, view);
	if (r == 0 && !keep_picture(tape, buffer))
		r = -ENOMEM;
	if (r == -EDQUOT)
		cut_short(tape, "it has reached the size it may have (record-max-bytes in the configuration)");
	else if (r < 0)
		failed(tape, r);
	if (r < 0)
		return;
	frame.has_number = frame.has_width = frame.has_height = true;
	frame.has_x = frame.has_y = !whole;
	frame.number = ++tape->frame;
	frame.width = buffer->width;
	frame.height = buffer->height;
	frame.x = rect.left;
	frame.y = rect.top;
	message.kind_case = CONDPROF__RECORDING_MESSAGE__KIND_FRAME;
	message.frame = &frame;
	append(tape, &message);
	atomic_store(&tape->frames, tape->frame);
}

// --- the tape's thread: passes ---------------------------------------------------------------------------------------

static void record_pass(struct tape *tape)
{
	Condprof__RecordingMessage message = CONDPROF__RECORDING_MESSAGE__INIT;
	Condprof__RecordedPass recorded = CONDPROF__RECORDED_PASS__INIT;
	struct pass *pass = &tape->pass;

	recorded.has_number = true;
	recorded.number = pass->number;
	recorded.n_references_ns = pass->n_references;
	recorded.references_ns = pass->references;
	recorded.n_frames = pass->n_frames;
	recorded.frames = pass->frames;
	recorded.n_broadcasts = pass->n_broadcasts;
	recorded.broadcasts = pass->broadcasts;
	recorded.has_stop_look = pass->stopped;
	recorded.stop_look = pass->stop_look;
	recorded.has_stopped_check = pass->stopped_check > 0;
	recorded.stopped_check = pass->stopped_check;
	recorded.has_inexact = recorded.inexact = pass->inexact;
	message.kind_case = CONDPROF__RECORDING_MESSAGE__KIND_PASS;
	message.pass = &recorded;
	append(tape, &message);
	atomic_fetch_add(&tape->passes, pass->number > 0 && !atomic_load(&tape->cut));
}

static void begin_pass(struct pass *pass, int64_t number)
{
	pass->number = number;
	pass->n_references = pass->n_frames = pass->n_broadcasts = 0;
	pass->stop_look = pass->stopped_check = 0;
	pass->inexact = pass->stopped = false;
}

static void add_reference(struct pass *pass, int64_t ns)
{
	pass->references[pass->n_references] = pass->n_references ? ns - pass->last_reference : ns;
	pass->n_references++;
	pass->last_reference = ns;
}

static void add_frame(struct pass *pass, uint32_t frame)
{
	if (pass->n_frames < ARRAY_SIZE(pass->frames))
		pass->frames[pass->n_frames++] = frame;
	else
		pass->inexact = true; // more refreshes in a pass than anybody makes
}

static void add_broadcast(struct tape *tape, uint32_t broadcast)
{
	struct pass *pass = &tape->pass;

	if (pass->n_broadcasts == pass->broadcasts_room) {
		uint32_t larger = 2 * pass->broadcasts_room + 16;
		uint32_t *broadcasts = realloc(pass->broadcasts, larger * sizeof(*broadcasts));

		if (!broadcasts) {
			failed(tape, -ENOMEM);
			return;
		}
		pass->broadcasts = broadcasts;
		pass->broadcasts_room = larger;
	}
	pass->broadcasts[pass->n_broadcasts++] = broadcast;
}

static void take_entry(struct tape *tape, const struct entry *entry)
{
	struct pass *pass = &tape->pass;
	bool cut = atomic_load(&tape->cut);

	switch ((enum entry_kind)entry->kind) {
	case ENTRY_PASS:
		begin_pass(pass, entry->value);
		break;
	case ENTRY_REFERENCE:
		add_reference(pass, entry->value);
		break;
	case ENTRY_FRAME:
		if (entry->small && !cut)
			record_frame(tape, &tape->buffers[entry->small - 1]);
		if (entry->small)
			atomic_store_explicit(&tape->buffers[entry->small - 1].filled, false, memory_order_release);
		add_frame(pass, entry->small ? tape->frame : 0);
		break;
	case ENTRY_SAME:
		add_frame(pass, tape->frame);
		break;
	case ENTRY_DROPPED:
		add_frame(pass, tape->frame);
		pass->inexact = true;
		break;
	case ENTRY_BROADCAST:
		add_broadcast(tape, entry->small);
		break;
	case ENTRY_STOP:
		pass->stop_look = entry->small;
		pass->stopped_check = (uint32_t)entry->value;
		pass->stopped = true;
		break;
	case ENTRY_PASS_END:
		if (!atomic_load(&tape->cut))
			record_pass(tape);
		break;
	case ENTRY_CLOSE:
		break;
	}
}

static void write_end(struct tape *tape)
{
	Condprof__RecordingMessage message = CONDPROF__RECORDING_MESSAGE__INIT;
	Condprof__RecordingEnd end = CONDPROF__RECORDING_END__INIT;

	end.has_passes = end.has_frames = end.has_dropped_frames = end.has_dropped_passes = true;
	end.passes = atomic_load(&tape->passes);
	end.frames = tape->frame;
	end.dropped_frames = atomic_load(&tape->dropped_frames);
	end.dropped_passes = atomic_load(&tape->dropped_passes);
	end.cut_short = atomic_load(&tape->cut) ? tape->cut_short : NULL;
	message.kind_case = CONDPROF__RECORDING_MESSAGE__KIND_END;
	message.end = &end;
	append(tape, &message);
	if (fdatasync(tape->file) < 0 && errno != EINVAL)
		log_line(LOG_LEVEL_WARNING, tape->session_id, "recording in %s may not survive a power cut: %s",
			 tape->path, strerror(errno));
}

static void wake_engine(struct tape *tape)
{
	if (atomic_exchange(&tape->engine_waits, false))
		eventfd_write(tape->space_fd, 1);
}

static void wait_for_entries(struct tape *tape, uint32_t tail)
{
	struct pollfd ready = {.fd = tape->ready_fd, .events = POLLIN};
	eventfd_t count;

	while (atomic_load(&tape->head) == tail) {
		atomic_store(&tape->thread_waits, true);
		if (atomic_load(&tape->head) != tail)
			break;
		if (poll(&ready, 1, -1) > 0)
			eventfd_read(tape->ready_fd, &count);
	}
	atomic_store(&tape->thread_waits, false);
}

static void *tape_thread(void *argument)
{
	struct tape *tape = argument;
	uint32_t tail = 0;
	bool closed = false;

	while (!closed) {
		wait_for_entries(tape, tail);
		for (uint32_t head = atomic_load(&tape->head); tail != head;) {
			const struct entry *entry = &tape->entries[tail % ENTRIES];

			closed = entry->kind == ENTRY_CLOSE;
			take_entry(tape, entry);
			atomic_store_explicit(&tape->tail, ++tail, memory_order_release);
			wake_engine(tape);
		}
	}
	write_end(tape);
	return NULL;
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
	tape->session_id = params->session_id;
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

static void write_header(struct tape *tape, const struct tape_params *params)
{
	Condprof__RecordingMessage message = CONDPROF__RECORDING_MESSAGE__INIT;
	Condprof__RecordingHeader header = CONDPROF__RECORDING_HEADER__INIT;
	CLEANUP_FREE Condprof__RecordedBroadcast *broadcasts = calloc(params->n_broadcasts + 1, sizeof(*broadcasts));
	CLEANUP_FREE Condprof__RecordedBroadcast **refs = calloc(params->n_broadcasts + 1, sizeof(*refs));

	if (!broadcasts || !refs) {
		failed(tape, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < params->n_broadcasts; i++) {
		condprof__recorded_broadcast__init(&broadcasts[i]);
		broadcasts[i].broadcast = (char *)params->broadcasts[i].name;
		broadcasts[i].has_bus = true;
		broadcasts[i].bus = params->broadcasts[i].bus;
		refs[i] = &broadcasts[i];
	}
	header.has_version = header.has_random_seed = header.has_started_unix_ns = true;
	header.version = RECORDING_VERSION;
	header.scenario_name = (char *)params->scenario_name;
	header.random_seed = params->random_seed;
	header.started_unix_ns = params->started_unix_ns;
	header.n_broadcasts = params->n_broadcasts;
	header.broadcasts = refs;
	message.kind_case = CONDPROF__RECORDING_MESSAGE__KIND_HEADER;
	message.header = &header;
	append(tape, &message);
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
		write_header(tape, params);
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

void tape_finish(struct tape *tape)
{
	if (tape->finished)
		return;
	tape->finished = true;
	take_back(tape);
	tape->entries[tape->next++ % ENTRIES] = (struct entry){.kind = ENTRY_CLOSE};
	hand_over(tape);
	pthread_join(tape->thread, NULL);
}

struct tape *tape_free(struct tape *tape)
{
	if (!tape)
		return NULL;
	tape_finish(tape);
	destroy(tape);
	return NULL;
}
