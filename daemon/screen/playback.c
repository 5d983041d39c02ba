// SPDX-License-Identifier: GPL-3.0-or-later
// A reader thread makes passes ready in a ring, with the pictures that are new in them; the session's thread takes them
// in order. A place in the ring is of one side alone: the reader's until `made` has passed it, the session's until
// `taken` has; pictures that are not shown any more go back in the place that replaced them, and the reader frees them.
#include "config.h"

#include "daemon/screen/playback.h"

#include "daemon/log/log.h"
#include "daemon/recording/format.h"
#include "daemon/screen/kinds.h"
#include "daemon/screen/wait.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#define PLACES 16U
#define FRAMES_MAX 64U // of a pass; what a tape keeps
#define AHEAD_MAX_BYTES (64 * 1024 * 1024)
#define MORE_MAX_BYTES (2 * (size_t)AHEAD_MAX_BYTES) // of a pass's pictures but for two: a tape has no room for more
#define CLOSE_PATIENCE_NS (5 * NSEC_PER_MSEC)

enum place_kind { PLACE_PASS, PLACE_END, PLACE_FAILURE };

struct place {
	enum place_kind kind;
	Condprof__RecordingMessage *message;
	struct picture *pictures[FRAMES_MAX]; // of its frames those that are new; then those they replaced
	struct error failure;
};

// Shared by the screen and its reader thread; the last one frees it.
struct passes {
	atomic_int references;
	atomic_bool quit;
	struct folder *folder; // the reader's
	struct screen_broadcast *broadcasts;
	struct place places[PLACES];
	_Atomic uint64_t made, taken; // counts of places handed over and given back
	int made_fd, taken_fd;        // eventfds
	atomic_bool reader_waits, taker_waits;
	// the reader's
	uint64_t cleaned;
	uint32_t last_frame;
	size_t held_bytes; // of pictures in places that are not cleaned
};

struct playback {
	struct screen screen;
	struct passes *passes;
	pthread_t reader;
	struct place *current; // NULL: none yet, or the end
	size_t frame;          // of the current pass: the one get shows
	size_t adopted;        // of the current pass: frames that were shown, or passed over
	struct picture *shown;
	uint32_t shown_number;
};

static struct passes *passes_unref(struct passes *passes)
{
	if (atomic_fetch_sub(&passes->references, 1) > 1)
		return NULL;
	for (size_t i = 0; i < PLACES; i++) {
		if (passes->places[i].message)
			condprof__recording_message__free_unpacked(passes->places[i].message, NULL);
		for (size_t k = 0; k < FRAMES_MAX; k++)
			picture_free(passes->places[i].pictures[k]);
	}
	folder_close(passes->folder);
	free(passes->broadcasts);
	if (passes->made_fd >= 0)
		close(passes->made_fd);
	if (passes->taken_fd >= 0)
		close(passes->taken_fd);
	free(passes);
	return NULL;
}

static struct passes *passes_new(struct folder *folder)
{
	struct passes *passes = calloc(1, sizeof(*passes));
	const Condprof__RecordingHeader *header = folder->recorded->header;

	if (!passes) {
		folder_close(folder);
		return NULL;
	}
	passes->references = 1;
	passes->folder = folder;
	folder->recorded->quit = &passes->quit;
	passes->made_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	passes->taken_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	passes->broadcasts = calloc(header->n_broadcasts + 1, sizeof(*passes->broadcasts));
	if (passes->made_fd < 0 || passes->taken_fd < 0 || !passes->broadcasts)
		return passes_unref(passes);
	for (size_t i = 0; i < header->n_broadcasts; i++)
		passes->broadcasts[i] =
			(struct screen_broadcast){header->broadcasts[i]->broadcast, header->broadcasts[i]->bus};
	return passes;
}

static size_t frames_of(const struct place *place)
{
	return MIN(place->message->pass->n_frames, (size_t)FRAMES_MAX);
}

// --- the reader's side ----------------------------------------------------------------------------------------------

static size_t picture_bytes(const struct picture *picture)
{
	return (size_t)picture->stride * (size_t)picture->height;
}

// What was given back: its memory is not held while the reader has nothing to do.
static void clean(struct passes *passes)
{
	for (uint64_t taken = passes->taken; passes->cleaned < taken; passes->cleaned++) {
		struct place *place = &passes->places[passes->cleaned % PLACES];

		condprof__recording_message__free_unpacked(place->message, NULL);
		place->message = NULL;
		for (size_t i = 0; i < FRAMES_MAX; i++) {
			if (place->pictures[i])
				passes->held_bytes -= picture_bytes(place->pictures[i]);
			place->pictures[i] = picture_free(place->pictures[i]);
		}
	}
}

static bool has_room(struct passes *passes)
{
	clean(passes);
	uint64_t ahead = passes->made - passes->cleaned;

	// the place that is looked at just now counts too, and so does the picture shown
	return ahead < PLACES && (passes->held_bytes < AHEAD_MAX_BYTES || ahead < 2);
}

// @return false: quit
static bool wait_for_room(struct passes *passes)
{
	struct pollfd taken = {.fd = passes->taken_fd, .events = POLLIN};
	eventfd_t count;

	while (!passes->quit && !has_room(passes)) {
		passes->reader_waits = true;
		if (!passes->quit && !has_room(passes) && poll(&taken, 1, -1) > 0)
			eventfd_read(passes->taken_fd, &count);
		passes->reader_waits = false;
	}
	return !passes->quit;
}

static int damaged(const struct passes *passes, struct place *place, const char *what)
{
	return error_set(&place->failure, CONDPROF__CODE__SCREEN_FAILED, EBADMSG, "replay: %.300s/%s: %s",
			 passes->folder->path, RECORDING_FILE, what);
}

// A tape's frames never go back, and those of a pass stay within its buffers. What says otherwise would have us read
// pictures for ever, or take memory without end; what a pass takes is known before.
static int check_frames(const struct passes *passes, struct place *place)
{
	const Condprof__RecordedPass *pass = place->message->pass;
	uint32_t last = passes->last_frame;
	size_t pictures = 0, more_bytes = 0;

	for (size_t i = 0; i < frames_of(place); i++) {
		if (pass->frames[i] == 0 || pass->frames[i] == last)
			continue;
		if (pass->frames[i] < last)
			return damaged(passes, place, "its frames go back");
		last = pass->frames[i];
		const struct recorded_frame *frame = &passes->folder->recorded->frames[last - 1];

		if (++pictures > 2)
			more_bytes += 4 * (size_t)frame->width * (size_t)frame->height;
		if (more_bytes > MORE_MAX_BYTES)
			return damaged(passes, place, "a pass has more pictures than one may have");
	}
	return 0;
}

static int take_pictures(struct passes *passes, struct place *place)
{
	const Condprof__RecordedPass *pass = place->message->pass;
	int r = check_frames(passes, place);

	for (size_t i = 0; i < frames_of(place) && r == 0; i++) {
		uint32_t frame = pass->frames[i];

		if (frame == 0 || frame == passes->last_frame)
			continue;
		r = recorded_frame(passes->folder->recorded, frame, &place->pictures[i], &place->failure);
		if (r < 0)
			return r;
		passes->held_bytes += picture_bytes(place->pictures[i]);
		passes->last_frame = frame;
	}
	return r;
}

// @return whether more are to come
static bool fill(struct passes *passes, struct place *place)
{
	int r = recorded_next_pass(passes->folder->recorded, &place->message, &place->failure);

	if (r == 1)
		r = take_pictures(passes, place) < 0 ? -1 : 1;
	place->kind = r == 1 ? PLACE_PASS : r == 0 ? PLACE_END : PLACE_FAILURE;
	return r == 1;
}

static void *reader_thread(void *argument)
{
	struct passes *passes = argument;
	bool more = true;

	while (more && wait_for_room(passes)) {
		more = fill(passes, &passes->places[passes->made % PLACES]);
		atomic_fetch_add(&passes->made, 1);
		if (atomic_exchange(&passes->taker_waits, false))
			eventfd_write(passes->made_fd, 1);
	}
	passes_unref(passes);
	return NULL;
}

// --- the screen's side ----------------------------------------------------------------------------------------------

// Frames of the current pass up to this one: what is new is the picture shown from now on.
static void adopt(struct playback *playback, size_t frames)
{
	struct place *place = playback->current;

	for (; playback->adopted < frames; playback->adopted++) {
		struct picture **picture = &place->pictures[playback->adopted], *before = playback->shown;

		if (!*picture)
			continue;
		playback->shown = *picture;
		playback->shown_number = place->message->pass->frames[playback->adopted];
		*picture = before;
	}
}

static void give_back(struct playback *playback)
{
	if (!playback->current)
		return;
	adopt(playback, frames_of(playback->current)); // also those that nobody looked at: the next pass may mean them
	playback->current = NULL;
	atomic_fetch_add(&playback->passes->taken, 1);
	if (atomic_exchange(&playback->passes->reader_waits, false))
		eventfd_write(playback->passes->taken_fd, 1);
}

static enum screen_status wait_for_place(struct passes *passes, const struct screen_wait *wait)
{
	eventfd_t count;

	while (passes->made == passes->taken) {
		passes->taker_waits = true;
		if (passes->made != passes->taken)
			break;
		enum screen_status status = wait_for_fd(passes->made_fd, POLLIN, wait);
		if (status != SCREEN_OK) {
			passes->taker_waits = false;
			return status;
		}
		eventfd_read(passes->made_fd, &count);
	}
	passes->taker_waits = false;
	return SCREEN_OK;
}

static enum screen_status playback_pass(struct screen *screen, const struct screen_wait *wait, struct screen_pass *ret)
{
	struct playback *playback = (struct playback *)screen;
	struct passes *passes = playback->passes;

	give_back(playback);
	enum screen_status status = wait_for_place(passes, wait);
	if (status != SCREEN_OK)
		return status;
	struct place *place = &passes->places[passes->taken % PLACES];
	if (place->kind == PLACE_END)
		return SCREEN_ENDED;
	if (place->kind == PLACE_FAILURE) {
		screen->failure = place->failure;
		return SCREEN_FAILED;
	}
	const Condprof__RecordedPass *pass = place->message->pass;
	playback->current = place;
	playback->frame = playback->adopted = 0;
	*ret = (struct screen_pass){
		.number = pass->number,
		.references_ns = pass->references_ns,
		.n_references = pass->n_references_ns,
		.looks = pass->n_frames > 0,
		.broadcasts = passes->broadcasts,
		.received = pass->broadcasts,
		.n_received = pass->n_broadcasts,
		.stop_look = pass->has_stop_look ? pass->stop_look : 0,
		.stopped_check = pass->has_stopped_check ? pass->stopped_check : 0,
	};
	return SCREEN_OK;
}

static enum screen_status show(struct playback *playback, struct frame *ret)
{
	uint32_t number = playback->current->message->pass->frames[playback->frame];

	if (number == 0)
		return SCREEN_STALLED;
	adopt(playback, playback->frame + 1);
	if (number != playback->shown_number) { // cannot be: the reader gave every new one
		playback->screen.failure = (struct error){.code = CONDPROF__CODE__INTERNAL,
							  .message = "replay: a frame of the recording is missing"};
		return SCREEN_FAILED;
	}
	playback->screen.width = playback->shown->width;
	playback->screen.height = playback->shown->height;
	ret->view = picture_view(playback->shown);
	ret->serial = number;
	return SCREEN_OK;
}

static bool has_frames(const struct playback *playback)
{
	return playback->current && playback->current->message->pass->n_frames > 0;
}

static enum screen_status playback_wait(struct screen *screen, const struct screen_wait *wait)
{
	struct playback *playback = (struct playback *)screen;

	(void)wait;
	return has_frames(playback) && playback->current->message->pass->frames[playback->frame] ? SCREEN_OK
												 : SCREEN_STALLED;
}

static enum screen_status playback_get(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct playback *playback = (struct playback *)screen;

	(void)wait;
	return has_frames(playback) ? show(playback, ret) : SCREEN_STALLED;
}

// One that the session did not make gets the picture that is there.
static enum screen_status playback_refresh(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct playback *playback = (struct playback *)screen;

	if (has_frames(playback) && playback->frame + 1 < frames_of(playback->current))
		playback->frame++;
	return playback_get(screen, wait, ret);
}

static struct screen *playback_close(struct screen *screen)
{
	struct playback *playback = (struct playback *)screen;
	struct timespec deadline;

	playback->passes->quit = true;
	eventfd_write(playback->passes->taken_fd, 1);
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_nsec += CLOSE_PATIENCE_NS;
	if (deadline.tv_nsec >= NSEC_PER_SEC) {
		deadline.tv_nsec -= NSEC_PER_SEC;
		deadline.tv_sec++;
	}
	if (pthread_timedjoin_np(playback->reader, NULL, &deadline) != 0)
		pthread_detach(playback->reader); // a picture is read to its end; that is nothing to wait for
	passes_unref(playback->passes);
	picture_free(playback->shown);
	free(playback);
	return NULL;
}

static const struct screen_ops playback_ops = {
	.scheme = "replay",
	.summary = "a recording, as its session saw it",
	.close = playback_close,
	.wait = playback_wait,
	.get = playback_get,
	.refresh = playback_refresh,
	.pass = playback_pass,
};

static void say_exactness(const struct recorded *recorded)
{
	if (!recorded->exact)
		log_warning("replay: %.300s is not exact: frames or passes were dropped while it was recorded",
			    recorded->path);
	if (recorded->cut_short)
		log_warning("replay: %.300s ends before its session did: %.160s", recorded->path, recorded->cut_short);
	else if (!recorded->ended)
		log_warning("replay: %.300s has no end: it is still being made, its disk was full, or its daemon died; "
			    "it is "
			    "played up to there",
			    recorded->path);
}

int playback_open(struct folder *folder, struct screen **ret, struct error *error)
{
	if (!folder->recorded) {
		int r = error_set(error, CONDPROF__CODE__SCREEN_FAILED, ENOENT,
				  "replay: %.300s: clock=virtual needs a folder that start --record has made",
				  folder->path);

		folder_close(folder);
		return r;
	}
	say_exactness(folder->recorded);
	int width = folder->width, height = folder->height;
	uint64_t seed = folder->recorded->header->random_seed;
	struct playback *playback = calloc(1, sizeof(*playback));
	struct passes *passes = passes_new(folder);
	if (!playback || !passes) {
		free(playback);
		if (passes)
			passes_unref(passes);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	playback->passes = passes;
	playback->screen = (struct screen){
		.ops = &playback_ops, .by_pass = true, .width = width, .height = height, .random_seed = seed};
	passes->references++;
	int r = wait_start_thread(&playback->reader, "replay-reader", reader_thread, passes);
	if (r < 0) {
		passes_unref(passes);
		passes_unref(passes);
		free(playback);
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "replay: no thread could be started: %s",
				 strerror(-r));
	}
	*ret = &playback->screen;
	return 0;
}
