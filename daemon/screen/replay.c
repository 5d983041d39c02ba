// SPDX-License-Identifier: GPL-3.0-or-later
// The pictures of a folder as a screen: one a pass, or by real time. A reader thread decodes ahead into a few slots.
//
// A slot's tag holds its state and its picture's number in the sequence (loops count on), so that both change at once:
// EMPTY → FILLING → READY by the reader, READY → TAKEN → EMPTY by the session's thread. By time the reader also takes a
// READY slot back when a newer one is due. So neither side ever waits for the other's lock. The end and a failure are
// slots too: they come after the pictures before them.
#include "config.h"

#include "daemon/screen/folder.h"
#include "daemon/screen/kinds.h"
#include "daemon/screen/playback.h"
#include "daemon/screen/replay_options.h"
#include "daemon/screen/wait.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#define SLOTS 4U
#define AHEAD_MAX_BYTES (64 * 1024 * 1024)
#define CLOSE_PATIENCE_NS (5 * NSEC_PER_MSEC)

enum slot_state { SLOT_EMPTY, SLOT_FILLING, SLOT_READY, SLOT_TAKEN };
enum slot_kind { SLOT_PICTURE, SLOT_END, SLOT_FAILURE };

struct slot {
	_Atomic uint64_t tag; // number << 2 | state
	// Of whoever's state it is:
	enum slot_kind kind;
	struct picture *picture; // EMPTY: of before, for its memory
	struct error failure;
};

// Shared by the screen and its reader thread; the last one frees it.
struct feed {
	atomic_int references;
	atomic_bool quit;
	struct folder *folder; // the reader's
	struct replay_options options;
	struct slot slots[SLOTS];
	_Atomic int64_t started_ns; // by time: when the first picture was taken; 0: not yet
	int ready_fd, space_fd;     // eventfds
	atomic_bool reader_waits, taker_waits;
};

struct replay {
	struct screen screen;
	struct feed *feed;
	pthread_t reader;
	struct slot *current, *next; // TAKEN by us; NULL: none
};

// --- slots, for both sides ------------------------------------------------------------------------------------------

static uint64_t make_tag(uint64_t number, enum slot_state state)
{
	return number << 2 | (uint64_t)state;
}

static enum slot_state tag_state(uint64_t tag)
{
	return (enum slot_state)(tag & 3);
}

static uint64_t tag_number(uint64_t tag)
{
	return tag >> 2;
}

static void poke(int fd)
{
	// It cannot fail but for a counter at its limit, and then it is readable all the same.
	if (write(fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
		return;
}

static void clear(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0)
		return; // EAGAIN: nothing there, and that is as good
}

// By time: the number of the newest picture that is due, the first one at the start. Before: 0.
static uint64_t due_number(const struct feed *feed, int64_t now_ns)
{
	int64_t started_ns = feed->started_ns;

	if (started_ns == 0 || now_ns <= started_ns)
		return 0;
	return (uint64_t)((double)(now_ns - started_ns) * feed->options.fps / 1e9);
}

static struct feed *feed_unref(struct feed *feed)
{
	if (atomic_fetch_sub(&feed->references, 1) > 1)
		return NULL;
	for (size_t i = 0; i < SLOTS; i++)
		picture_free(feed->slots[i].picture);
	folder_close(feed->folder);
	if (feed->ready_fd >= 0)
		close(feed->ready_fd);
	if (feed->space_fd >= 0)
		close(feed->space_fd);
	free(feed);
	return NULL;
}

static struct feed *feed_new(struct folder *folder, const struct replay_options *options)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	if (!feed) {
		folder_close(folder);
		return NULL;
	}
	feed->references = 1;
	feed->folder = folder;
	if (folder->recorded)
		folder->recorded->quit = &feed->quit;
	feed->options = *options;
	feed->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	feed->space_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return feed->ready_fd >= 0 && feed->space_fd >= 0 ? feed : feed_unref(feed);
}

// --- the reader's side ----------------------------------------------------------------------------------------------

static size_t count_ready(const struct feed *feed)
{
	size_t count = 0;

	for (size_t i = 0; i < SLOTS; i++)
		count += tag_state(feed->slots[i].tag) == SLOT_READY;
	return count;
}

// Large pictures are not kept in numbers.
static bool may_read_ahead(const struct feed *feed, size_t picture_bytes)
{
	return count_ready(feed) < MAX(AHEAD_MAX_BYTES / MAX(picture_bytes, (size_t)1), (size_t)1);
}

static struct slot *claim(struct slot *slot, uint64_t tag)
{
	return atomic_compare_exchange_strong(&slot->tag, &tag, make_tag(0, SLOT_FILLING)) ? slot : NULL;
}

static struct slot *claim_empty(struct feed *feed)
{
	for (size_t i = 0; i < SLOTS; i++) {
		uint64_t tag = feed->slots[i].tag;

		if (tag_state(tag) == SLOT_EMPTY)
			return claim(&feed->slots[i], tag);
	}
	return NULL;
}

// By time: of the slots that are READY the oldest, and the number of the one after it. NULL: fewer than two.
static struct slot *oldest_ready(struct feed *feed, uint64_t *ret_tag, uint64_t *ret_second)
{
	struct slot *oldest = NULL;
	uint64_t oldest_tag = UINT64_MAX, second = UINT64_MAX;

	for (size_t i = 0; i < SLOTS; i++) {
		uint64_t tag = feed->slots[i].tag;

		if (tag_state(tag) != SLOT_READY)
			continue;
		if (tag < oldest_tag) {
			second = MIN(second, tag_number(oldest_tag));
			oldest_tag = tag;
			oldest = &feed->slots[i];
		} else {
			second = MIN(second, tag_number(tag));
		}
	}
	if (second >= tag_number(UINT64_MAX))
		return NULL;
	*ret_tag = oldest_tag;
	*ret_second = second;
	return oldest;
}

// By time: a slot whose picture nobody will take any more, since a newer one is due; else when there will be one.
static struct slot *claim_outdated(struct feed *feed, int64_t *ret_again_ns)
{
	uint64_t tag = 0, second = 0;
	struct slot *slot = oldest_ready(feed, &tag, &second);
	int64_t now_ns = wait_now_ns(), started_ns = feed->started_ns;

	if (!slot || started_ns == 0)
		return NULL;
	if (second <= due_number(feed, now_ns))
		return claim(slot, tag);
	*ret_again_ns = started_ns + (int64_t)((double)second * 1e9 / feed->options.fps) + 1;
	return NULL;
}

// Pictures that were shown: their memory is not held while the reader has nothing to do.
static void free_given_back(struct feed *feed)
{
	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &feed->slots[i];

		if (tag_state(slot->tag) == SLOT_EMPTY)
			slot->picture = picture_free(slot->picture);
	}
}

static struct slot *claim_any(struct feed *feed, size_t picture_bytes, int64_t *ret_again_ns)
{
	*ret_again_ns = INT64_MAX;
	struct slot *slot = may_read_ahead(feed, picture_bytes) ? claim_empty(feed) : NULL;

	if (!slot && feed->options.fps > 0)
		slot = claim_outdated(feed, ret_again_ns);
	return slot;
}

// A slot to fill; NULL: quit.
static struct slot *wait_for_slot(struct feed *feed, size_t picture_bytes)
{
	for (;;) {
		int64_t again_ns;

		if (feed->quit)
			return NULL;
		free_given_back(feed);
		struct slot *slot = claim_any(feed, picture_bytes, &again_ns);
		if (slot)
			return slot;
		feed->reader_waits = true;
		// Again, since space may have come before the flag was up.
		slot = claim_any(feed, picture_bytes, &again_ns);
		if (slot || feed->quit) {
			feed->reader_waits = false;
			return slot;
		}
		wait_for_fd(feed->space_fd, POLLIN, &(struct screen_wait){.wake_fd = -1, .deadline_ns = again_ns});
		clear(feed->space_fd);
		feed->reader_waits = false;
	}
}

static void publish(struct feed *feed, struct slot *slot, uint64_t number)
{
	slot->tag = make_tag(number, SLOT_READY);
	if (atomic_exchange(&feed->taker_waits, false))
		poke(feed->ready_fd);
}

// The picture of that number, the end or the failure. @return whether the sequence goes on
static bool fill(struct feed *feed, struct slot *slot, uint64_t number)
{
	size_t count = feed->folder->count;

	slot->picture = picture_free(slot->picture);
	if (!feed->options.loop && number >= count) {
		slot->kind = SLOT_END;
	} else if (folder_read(feed->folder, number % count, &slot->picture, &slot->failure) < 0) {
		slot->kind = SLOT_FAILURE;
	} else {
		slot->kind = SLOT_PICTURE;
	}
	return slot->kind == SLOT_PICTURE;
}

static void *reader_thread(void *argument)
{
	struct feed *feed = argument;
	size_t count = feed->folder->count, bytes = (size_t)feed->folder->width * (size_t)feed->folder->height * 4;
	struct slot *slot;

	for (uint64_t number = 0; (slot = wait_for_slot(feed, bytes)); number++) {
		if (feed->options.fps > 0)
			number = MAX(number, due_number(feed, wait_now_ns()));
		if (!feed->options.loop)
			number = MIN(number, (uint64_t)count);
		bool more = fill(feed, slot, number);

		if (more)
			bytes = (size_t)slot->picture->stride * (size_t)slot->picture->height;
		publish(feed, slot, number);
		if (!more)
			break;
	}
	feed_unref(feed);
	return NULL;
}

// --- the screen's side ----------------------------------------------------------------------------------------------

// The slot this pass is for, not TAKEN yet: by pass the oldest, by time the newest that is due. NULL: none there.
static struct slot *choose(struct replay *replay, uint64_t *ret_tag)
{
	struct feed *feed = replay->feed;
	bool by_time = feed->options.fps > 0;
	uint64_t due = by_time ? due_number(feed, wait_now_ns()) : UINT64_MAX;
	struct slot *chosen = NULL;

	for (size_t i = 0; i < SLOTS; i++) {
		uint64_t tag = feed->slots[i].tag;

		if (tag_state(tag) != SLOT_READY || tag_number(tag) > due)
			continue;
		if (!chosen || (by_time ? tag > *ret_tag : tag < *ret_tag)) {
			chosen = &feed->slots[i];
			*ret_tag = tag;
		}
	}
	return chosen;
}

static void wake_reader(struct feed *feed)
{
	if (atomic_exchange(&feed->reader_waits, false))
		poke(feed->space_fd);
}

static void give_back(struct feed *feed, struct slot *slot)
{
	slot->tag = make_tag(0, SLOT_EMPTY);
	wake_reader(feed);
}

// By time: what is older than the slot taken is of no use any more.
static void give_back_older(struct feed *feed, uint64_t number)
{
	for (size_t i = 0; i < SLOTS; i++) {
		uint64_t tag = feed->slots[i].tag;

		if (tag_state(tag) == SLOT_READY && tag_number(tag) < number && claim(&feed->slots[i], tag))
			give_back(feed, &feed->slots[i]);
	}
}

// Takes the slot for the next get, if there is one.
static bool take_next(struct replay *replay)
{
	uint64_t tag = 0;
	struct slot *slot;

	while (!replay->next && (slot = choose(replay, &tag))) {
		uint64_t number = tag_number(tag);

		// By time the reader may have been quicker, then there is a newer one.
		if (!atomic_compare_exchange_strong(&slot->tag, &tag, make_tag(number, SLOT_TAKEN)))
			continue;
		replay->next = slot;
		wake_reader(replay->feed); // one less is READY: it may read ahead again
		if (replay->feed->options.fps > 0)
			give_back_older(replay->feed, number);
	}
	return replay->next != NULL;
}

static enum screen_status next_status(struct replay *replay)
{
	switch (replay->next->kind) {
	case SLOT_END:
		return SCREEN_ENDED;
	case SLOT_FAILURE:
		replay->screen.failure = replay->next->failure;
		return SCREEN_FAILED;
	default:
		return SCREEN_OK;
	}
}

static enum screen_status replay_wait(struct screen *screen, const struct screen_wait *wait)
{
	struct replay *replay = (struct replay *)screen;
	struct feed *feed = replay->feed;

	for (;;) {
		if (take_next(replay))
			return next_status(replay);
		if (feed->options.fps > 0 && replay->current)
			return SCREEN_OK; // nothing newer is due
		feed->taker_waits = true;
		if (take_next(replay)) {
			feed->taker_waits = false;
			return next_status(replay);
		}
		enum screen_status status = wait_for_fd(feed->ready_fd, POLLIN, wait);
		feed->taker_waits = false;
		if (status != SCREEN_OK)
			return status;
		clear(feed->ready_fd);
	}
}

// By time the sequence begins with the first picture taken.
static void start_clock(struct feed *feed)
{
	if (feed->options.fps <= 0 || feed->started_ns != 0)
		return;
	feed->started_ns = wait_now_ns();
	poke(feed->space_fd);
}

static void show(struct replay *replay, struct frame *ret)
{
	const struct picture *picture = replay->current->picture;

	replay->screen.width = picture->width;
	replay->screen.height = picture->height;
	ret->view = picture_view(picture);
	ret->serial = tag_number(replay->current->tag) + 1;
	ret->name = replay->feed->folder->names[tag_number(replay->current->tag) % replay->feed->folder->count];
}

static enum screen_status replay_get(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct replay *replay = (struct replay *)screen;
	enum screen_status status = replay_wait(screen, wait);

	if (status != SCREEN_OK)
		return status;
	if (replay->next) {
		if (replay->current)
			give_back(replay->feed, replay->current);
		replay->current = TAKE_POINTER(replay->next);
		start_clock(replay->feed);
	}
	show(replay, ret);
	return SCREEN_OK;
}

static enum screen_status replay_refresh(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct replay *replay = (struct replay *)screen;

	if (!replay->screen.by_pass || !replay->current)
		return replay_get(screen, wait, ret);
	show(replay, ret);
	return SCREEN_OK;
}

// A picture is read to its end even when nobody wants it any more; that is nothing to wait for.
static struct screen *replay_close(struct screen *screen)
{
	struct replay *replay = (struct replay *)screen;
	struct timespec deadline;

	replay->feed->quit = true;
	poke(replay->feed->space_fd);
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_nsec += CLOSE_PATIENCE_NS;
	if (deadline.tv_nsec >= NSEC_PER_SEC) {
		deadline.tv_nsec -= NSEC_PER_SEC;
		deadline.tv_sec++;
	}
	if (pthread_timedjoin_np(replay->reader, NULL, &deadline) != 0)
		pthread_detach(replay->reader);
	feed_unref(replay->feed);
	free(replay);
	return NULL;
}

// --- open -----------------------------------------------------------------------------------------------------------

static int replay_check(const char *rest, struct error *error)
{
	struct replay_options options;

	return replay_options_parse(rest, &options, error);
}

struct open_request {
	struct replay_options options;
	const char **allowed; // strings behind it; NULL: any
};

static void open_request_free(void *argument)
{
	struct open_request *request = argument;

	free(request->allowed);
	free(request);
}

// Pointers and strings in one piece of memory.
static const char **copy_strings(const char *const *strings)
{
	size_t count = 0, bytes = 0;

	for (; strings[count]; count++)
		bytes += strlen(strings[count]) + 1;
	const char **copy = malloc((count + 1) * sizeof(*copy) + bytes);
	if (!copy)
		return NULL;
	char *text = (char *)(copy + count + 1);
	for (size_t i = 0; i < count; i++) {
		copy[i] = text;
		text = stpcpy(text, strings[i]) + 1;
	}
	copy[count] = NULL;
	return copy;
}

static struct open_request *open_request_new(const struct replay_options *options, const char *const *allowed)
{
	struct open_request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->options = *options;
	if (allowed && !(request->allowed = copy_strings(allowed))) {
		free(request);
		return NULL;
	}
	return request;
}

static int run_open(struct blocking_call *call, void *argument, void **ret, struct error *error)
{
	struct open_request *request = argument;
	struct folder *folder = NULL;

	(void)call;
	int r = folder_open(request->options.path, request->allowed, &folder, error);
	if (r < 0)
		return r;
	*ret = folder;
	return 0;
}

static void discard_folder(void *result)
{
	folder_close(result);
}

static int open_folder(const struct replay_options *options, const struct screen_config *config,
		       const struct screen_wait *wait, struct folder **ret, struct error *error)
{
	static const struct blocking_work work = {
		.name = "replay-open", .run = run_open, .discard = discard_folder, .free_argument = open_request_free};
	struct open_request *request = open_request_new(options, config->frame_folders);
	void *folder = NULL;

	if (!request)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	int r = blocking_call(&work, request, wait, &folder, error);
	if (r == -ETIMEDOUT || r == -EINTR)
		return error_set(error, CONDPROF__CODE__SCREEN_FAILED, -r, "replay: %.400s: %s", options->path,
				 r == -EINTR
					 ? "interrupted"
					 : "it did not open in time: its file system does not answer, or it is a very "
					   "long recording");
	if (r < 0)
		return r;
	*ret = folder;
	return 0;
}

static int start_reader(struct replay *replay, struct error *error)
{
	replay->feed->references++;
	int r = wait_start_thread(&replay->reader, "replay-reader", reader_thread, replay->feed);

	if (r == 0)
		return 0;
	feed_unref(replay->feed);
	return error_set(error, CONDPROF__CODE__INTERNAL, -r, "replay: no thread could be started: %s", strerror(-r));
}

static int replay_open(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
		       struct screen **ret, struct error *error)
{
	struct replay_options options;
	struct folder *folder = NULL;
	int r = replay_options_parse(rest, &options, error);

	if (r == 0)
		r = open_folder(&options, config, wait, &folder, error);
	if (r < 0)
		return r;
	if (options.virtual_clock)
		return playback_open(folder, ret, error);
	if (folder->count == 0) {
		folder_close(folder);
		return error_set(error, CONDPROF__CODE__SCREEN_FAILED, ENOENT,
				 "replay: %.400s is a recording without a frame: only clock=virtual plays it",
				 options.path);
	}
	int width = folder->width, height = folder->height;
	struct replay *replay = calloc(1, sizeof(*replay));
	struct feed *feed = feed_new(folder, &options);
	if (!replay || !feed) {
		if (feed)
			feed_unref(feed);
		free(replay);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	replay->feed = feed;
	replay->screen = (struct screen){
		.ops = &replay_screen_ops,
		.by_pass = options.fps <= 0,
		.width = width,
		.height = height,
		.pictures = folder->count,
	};
	r = start_reader(replay, error);
	if (r < 0) {
		feed_unref(feed);
		free(replay);
		return r;
	}
	*ret = &replay->screen;
	return 0;
}

const struct screen_ops replay_screen_ops = {
	.scheme = "replay",
	.summary = "the PNG files of a folder, one a pass or by time",
	.check = replay_check,
	.open = replay_open,
	.close = replay_close,
	.wait = replay_wait,
	.get = replay_get,
	.refresh = replay_refresh,
};
