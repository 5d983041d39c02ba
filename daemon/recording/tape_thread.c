// SPDX-License-Identifier: GPL-3.0-or-later
// The side of a tape that may wait for the disk: puts passes together out of entries, finds out what a frame has
// changed, compresses and writes. recording.pb always ends with a whole message; what cannot be written ends the
// recording.
#include "config.h"

#include "daemon/log/log.h"
#include "daemon/recording/format.h"
#include "daemon/recording/tape-internal.h"
#include "proto/frame.h"
#include "proto/io.h"
#include "proto/recording.pb-c.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

// --- the file -------------------------------------------------------------------------------------

static void cut_short(struct tape *tape, const char *why)
{
	if (atomic_load(&tape->cut))
		return;
	snprintf(tape->cut_short, sizeof(tape->cut_short), "%s", why);
	atomic_store(&tape->cut, true); // release: whoever sees it may read why
	log_line(LOG_LEVEL_WARNING, atomic_load(&tape->session_id), "recording in %s ends here: %s", tape->path, why);
}

static void failed(struct tape *tape, int r)
{
	char why[128];

	snprintf(why, sizeof(why), "it cannot be written: %s", strerror(-r));
	cut_short(tape, why);
}

static bool fits(const struct tape *tape, size_t size)
{
	return (int64_t)size <= tape->max_bytes - atomic_load(&tape->bytes);
}

static void full(struct tape *tape)
{
	cut_short(tape, "it has reached the size it may have (record-max-bytes in the configuration)");
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
		r = io_write(tape->file, bytes, size);
	}
	if (r == 0) {
		atomic_fetch_add(&tape->bytes, (int64_t)size);
		return;
	}
	if (begin >= 0 && (ftruncate(tape->file, begin) < 0 || lseek(tape->file, begin, SEEK_SET) < 0))
		log_line(LOG_LEVEL_WARNING, atomic_load(&tape->session_id), "recording in %s: its last message is torn",
			 tape->path);
	failed(tape, r);
}

// --- frames ---------------------------------------------------------------------------------------

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
	if (!fits(tape, size))
		return -EDQUOT;
	recording_frame_name(number, name);
	CLEANUP_CLOSE int fd = openat(tape->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = io_write(fd, png, size);
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
		full(tape);
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

// --- passes ---------------------------------------------------------------------------------------

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
	if (!fits(tape, frame_size(&message.base))) { // passes alone fill a disk too, when nothing changes for days
		full(tape);
		return;
	}
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
		log_line(LOG_LEVEL_WARNING, atomic_load(&tape->session_id),
			 "recording in %s may not survive a power cut: %s", tape->path, strerror(errno));
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

	while (atomic_load(&tape->head) == tail && !atomic_load(&tape->abandoned)) {
		atomic_store(&tape->thread_waits, true);
		if (atomic_load(&tape->head) != tail || atomic_load(&tape->abandoned))
			break;
		if (poll(&ready, 1, -1) > 0)
			eventfd_read(tape->ready_fd, &count);
	}
	atomic_store(&tape->thread_waits, false);
}

void *tape_thread(void *argument)
{
	struct tape *tape = argument;
	uint32_t tail = 0;
	bool closed = false;

	while (!closed) {
		wait_for_entries(tape, tail);
		bool abandoned = atomic_load(&tape->abandoned); // before: what was handed over until then counts
		for (uint32_t head = atomic_load(&tape->head); tail != head;) {
			const struct entry *entry = &tape->entries[tail % ENTRIES];

			closed = entry->kind == ENTRY_CLOSE;
			take_entry(tape, entry);
			atomic_store_explicit(&tape->tail, ++tail, memory_order_release);
			wake_engine(tape);
		}
		if (abandoned && !closed) {
			cut_short(tape, "its session hangs, and what that was doing is not in it");
			wake_engine(tape);
			closed = true;
		}
	}
	write_end(tape);
	tape_unref(tape);
	return NULL;
}

void tape_write_header(struct tape *tape, const struct tape_params *params)
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
