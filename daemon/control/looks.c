// SPDX-License-Identifier: GPL-3.0-or-later
// A look is a stream of steps on its slot's thread. Slots' threads begin at the first need and then stay, so that
// nobody ever waits for one to end.
//
// Steps: the picture is got, then conditions are checked until there is a reply's worth of results, again and again;
// where every picture of a replay is wanted all this begins anew with the next; then the picture itself goes out as a
// PNG file in pieces. What a step made stands in the look until the loop's thread has sent it.
#include "config.h"

#include "daemon/control/looks.h"

#include "daemon/control/sandbox.h"

#include "daemon/control/stream.h"
#include "daemon/control/upload.h"
#include "daemon/engine/detector.h"
#include "daemon/engine/trial.h"
#include "daemon/screen/screen.h"
#include "daemon/screen/wait.h"
#include "proto/limits.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/eventfd.h>

#define ROWS_MAX 48U                  // of one reply
#define ROWS_BYTES (40U * 1024)       // of one reply: what a row may add stays within a frame
#define STEP_NS (200 * NSEC_PER_MSEC) // then what is there is sent: whoever waits sees that it goes on

/// A condition's row in a reply and what its pointers point to.
struct look_row {
	Condprof__TriedCondition message;
	Condprof__Candidate match, best, least;
	Condprof__Area area, match_place, best_place, least_place;
	char why[256];
	char text[DETECT_TEXT_MAX];
};

struct slot {
	struct worker *worker; ///< NULL: not begun yet
	struct look *look;     ///< NULL: free
};

struct looks {
	struct control *control;
	struct slot slots[LOOKS_MAX];
};

enum look_phase { LOOK_OPEN, LOOK_NEXT, LOOK_CHECK, LOOK_ENCODE, LOOK_SEND };

struct look {
	struct stream stream; // first
	struct looks *looks;
	struct slot *slot;
	struct configuration *configuration; ///< what screen_config points into
	struct screen_config screen_config;
	struct upload *upload;     ///< NULL: a capture
	struct scenario *scenario; ///< the same
	char *screen_uri;          ///< NULL: the picture was sent
	bool measure, with_picture;
	int wake_fd;
	volatile int stop; ///< atomic: its client is gone, or the daemon ends

	// Of the slot's thread, and between steps of the loop's:
	enum look_phase phase;
	struct screen *screen;
	struct picture *picture; ///< that was sent
	struct frame frame;
	struct trial *trial;
	int64_t number; ///< of the picture, from 1
	uint32_t next;  ///< condition
	uint8_t *png;
	size_t png_size, sent;
	int result;
	bool last; ///< nothing follows what is there
	struct error error;
	Condprof__Tried tried;
	Condprof__TriedCondition *pointers[ROWS_MAX];
	struct look_row rows[ROWS_MAX];
	Condprof__Captured captured;
};

static bool stop_asked(const struct look *look)
{
	return __atomic_load_n(&look->stop, __ATOMIC_RELAXED);
}

static void ask_to_stop(struct look *look)
{
	__atomic_store_n(&look->stop, 1, __ATOMIC_RELAXED);
	if (write(look->wake_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
		return; // it is readable already
}

// --- the picture -----------------------------------------------------------------------------------------------------

static int decode_sent(struct look *look, struct error *error)
{
	struct upload *upload = look->upload;
	size_t bytes = upload->trial.picture_bytes;
	int r = png_decode(upload->data + upload->size - bytes, bytes, &look->picture, error);

	upload_drop_data(upload);
	if (r < 0) {
		if (error->code == CONDPROF__CODE__BAD_SCENARIO)
			error->code = CONDPROF__CODE__BAD_REQUEST;
		error_place(error, "picture");
		return r;
	}
	look->frame.view = picture_view(look->picture);
	return 0;
}

static int screen_failed(struct look *look, int r, const char *what, struct error *error)
{
	if (stop_asked(look))
		return -ECANCELED;
	if (r == -ETIMEDOUT && !error->message[0])
		return error_set(error, CONDPROF__CODE__SCREEN_FAILED, ETIMEDOUT,
				 "the screen %.200s did not %s within %d s: is what it is on still answering?",
				 look->screen_uri, what, (int)(OPEN_TIMEOUT_NS / NSEC_PER_SEC));
	if (!error->message[0])
		return error_set(error, CONDPROF__CODE__SCREEN_FAILED, -r, "the screen %.200s could not be opened: %s",
				 look->screen_uri, strerror(-r));
	return r;
}

static int take_frame(struct look *look, const struct screen_wait *wait, struct error *error)
{
	enum screen_status status = look->screen->ops->wait(look->screen, wait);

	if (status == SCREEN_OK)
		status = look->screen->ops->get(look->screen, wait, &look->frame);
	switch (status) {
	case SCREEN_OK:
		return 0;
	case SCREEN_FAILED:
		*error = look->screen->failure;
		return stop_asked(look) ? -ECANCELED : -EIO;
	case SCREEN_ENDED:
		return error_set(error, CONDPROF__CODE__SCREEN_FAILED, ENODATA, "the screen %.200s has no picture",
				 look->screen_uri);
	case SCREEN_INTERRUPTED:
		return -ECANCELED;
	case SCREEN_STALLED:
		break;
	}
	return screen_failed(look, -ETIMEDOUT, "give a picture", error);
}

static int check_measurable(const struct look *look, struct error *error)
{
	if (!look->measure || (look->screen && look->screen->pictures))
		return 0;
	return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
			 "measuring needs pictures one after the other: the folder of a replay, replay:DIR");
}

static int open_screen(struct look *look, const struct screen_wait *wait, struct error *error)
{
	int r = screen_check_uri(look->screen_uri, error);

	if (r < 0)
		return r;
	r = screen_open(look->screen_uri, &look->screen_config, wait, &look->screen, error);
	if (r < 0) {
		r = screen_failed(look, r, "open", error);
		sandbox_explain(look->screen_uri, NULL, error);
		return r;
	}
	if (look->screen->ops->pass) // its pictures come with the passes of a session
		return error_set(
			error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
			"the screen %.200s is a recording that is played again: to look at its pictures, name it "
			"without clock=virtual",
			look->screen_uri);
	return 0;
}

static int get_picture(struct look *look, struct error *error)
{
	const struct screen_wait wait = {look->wake_fd, wait_now_ns() + OPEN_TIMEOUT_NS};
	int r = 0;

	if (!look->screen_uri)
		r = decode_sent(look, error);
	else if (look->phase == LOOK_OPEN)
		r = open_screen(look, &wait, error);
	if (r == 0)
		r = check_measurable(look, error);
	return r < 0 || !look->screen ? r : take_frame(look, &wait, error);
}

static int begin_picture(struct look *look, struct error *error)
{
	int r = get_picture(look, error);

	if (r == 0 && look->scenario && !look->trial)
		r = trial_new(look->scenario, &look->stop, &look->trial, error);
	if (r == 0 && look->trial)
		r = trial_begin(look->trial, look->frame.view, error);
	if (r < 0)
		return r;
	look->number++;
	look->next = 0;
	look->phase = look->trial ? LOOK_CHECK : LOOK_ENCODE;
	return 0;
}

// --- conditions ------------------------------------------------------------------------------------------------------

static void fill_area(Condprof__Area *area, const struct rect *rect)
{
	condprof__area__init(area);
	area->has_x = area->has_y = area->has_width = area->has_height = true;
	area->x = rect->left;
	area->y = rect->top;
	area->width = rect->right - rect->left;
	area->height = rect->bottom - rect->top;
}

static Condprof__Candidate *fill_candidate(Condprof__Candidate *message, Condprof__Area *place,
					   const struct trial_candidate *candidate, enum condition_kind kind)
{
	if (!candidate->known)
		return NULL;
	condprof__candidate__init(message);
	fill_area(place, &candidate->place);
	message->place = place;
	message->has_score = message->has_x = message->has_y = true;
	message->score = candidate->score;
	message->x = candidate->x;
	message->y = candidate->y;
	message->has_colour_difference = kind == CONDITION_IMAGE;
	message->colour_difference = candidate->colour_difference;
	return message;
}

static void fill_name(const struct look *look, uint32_t index, struct look_row *row)
{
	const struct condition *condition = &look->scenario->conditions[index];
	Condprof__TriedCondition *message = &row->message;
	struct rect area = condition->area;

	condprof__tried_condition__init(message);
	message->has_id = true;
	message->id = condition->id;
	message->event = (char *)look->scenario->events[condition->event].name;
	message->name = (char *)condition->name;
	message->kind = (char *)condition_kind_name(condition->kind);
	if (condition->kind >= CONDITION_TIMER)
		return;
	if (condition->kind == CONDITION_IMAGE && condition->search == CONDPROF__SEARCH__SEARCH_SCREEN)
		area = (struct rect){0, 0, look->frame.view.width, look->frame.view.height};
	fill_area(&row->area, &area);
	message->area = &row->area;
	message->has_present = message->has_threshold = condition->kind != CONDITION_NUMBER;
	message->present = condition->present;
	message->has_search = condition->kind == CONDITION_IMAGE;
	message->search = condition->search;
	message->threshold = condition->threshold;
}

static void fill_check(const struct look *look, uint32_t index, const struct trial_check *check, struct look_row *row)
{
	const struct condition *condition = &look->scenario->conditions[index];
	Condprof__TriedCondition *message = &row->message;

	message->has_duration_ns = !look->measure;
	message->duration_ns = check->duration_ns;
	if (!check->evaluable) {
		detector_why_not(condition, look->frame.view.width, look->frame.view.height, row->why,
				 sizeof(row->why));
		message->not_evaluable = row->why;
		return;
	}
	message->has_found = message->has_fulfilled = !look->measure;
	message->found = check->found;
	message->fulfilled = check->fulfilled;
	message->match = fill_candidate(&row->match, &row->match_place, &check->match, condition->kind);
	if (!check->found || condition->kind != CONDITION_IMAGE)
		message->best = fill_candidate(&row->best, &row->best_place, &check->best, condition->kind);
	message->least = fill_candidate(&row->least, &row->least_place, &check->least, condition->kind);
	memcpy(row->text, check->text, sizeof(row->text));
	message->text = row->text[0] ? row->text : NULL;
	message->has_number = check->has_value;
	message->number = check->value;
	message->has_needed_threshold = check->has_needed;
	message->needed_threshold = check->needed;
}

static int fill_row(struct look *look, uint32_t index, struct look_row *row)
{
	const struct condition *condition = &look->scenario->conditions[index];
	struct trial_check check;
	int r;

	fill_name(look, index, row);
	if (condition->kind >= CONDITION_TIMER) {
		row->message.not_tried = (char *)"a trigger is not on the screen";
		return 0;
	}
	r = look->measure ? trial_measure(look->trial, index, &check) : trial_check(look->trial, index, &check);
	if (r == 0)
		fill_check(look, index, &check, row);
	return r;
}

static void fill_head(struct look *look)
{
	Condprof__Tried *tried = &look->tried;

	condprof__tried__init(tried);
	tried->conditions = look->pointers;
	tried->has_picture = tried->has_width = tried->has_height = true;
	tried->picture = look->number;
	tried->has_pictures = look->measure;
	tried->pictures = look->screen ? (int64_t)look->screen->pictures : 0;
	tried->name = (char *)look->frame.name;
	tried->width = look->frame.view.width;
	tried->height = look->frame.view.height;
	tried->screen = look->measure && look->number > 1 ? NULL : look->screen_uri;
}

static bool wanted(const struct look *look, uint32_t index)
{
	return !look->measure || look->scenario->conditions[index].kind == CONDITION_IMAGE;
}

static int check_conditions(struct look *look)
{
	int64_t until_ns = wait_now_ns() + STEP_NS;
	size_t bytes = 0;

	fill_head(look);
	while (look->next < look->scenario->n_conditions && look->tried.n_conditions < ROWS_MAX && bytes < ROWS_BYTES &&
	       (!look->tried.n_conditions || wait_now_ns() < until_ns)) {
		struct look_row *row = &look->rows[look->tried.n_conditions];
		uint32_t index = look->next;
		int r = wanted(look, index) ? fill_row(look, index, row) : 1;

		if (r < 0)
			return r;
		look->next++;
		if (r)
			continue;
		look->pointers[look->tried.n_conditions++] = &row->message;
		bytes += condprof__tried_condition__get_packed_size(&row->message);
	}
	if (look->next < look->scenario->n_conditions)
		return 0;
	if (look->measure && look->number < (int64_t)look->screen->pictures)
		look->phase = LOOK_NEXT;
	else
		look->phase = LOOK_ENCODE;
	look->last = look->phase == LOOK_ENCODE && !look->with_picture;
	return 0;
}

// --- the picture as a file -------------------------------------------------------------------------------------------

static int encode(struct look *look, struct error *error)
{
	int r = png_encode(look->frame.view, &look->png, &look->png_size, error);

	if (r < 0)
		return r;
	look->trial = trial_free(look->trial);
	look->picture = picture_free(look->picture);
	look->screen = screen_close(look->screen);
	look->phase = LOOK_SEND;
	return 0;
}

static void fill_captured(struct look *look)
{
	Condprof__Captured *captured = &look->captured;

	condprof__captured__init(captured);
	if (!look->sent) {
		captured->has_size = captured->has_width = captured->has_height = true;
		captured->size = look->png_size;
		captured->width = look->frame.view.width;
		captured->height = look->frame.view.height;
		captured->screen = look->screen_uri;
	}
	captured->has_data = true;
	captured->data.data = look->png + look->sent;
	captured->data.len = MIN(look->png_size - look->sent, CHUNK_MAX_BYTES);
	look->sent += captured->data.len;
	look->last = look->sent == look->png_size;
}

// --- steps -----------------------------------------------------------------------------------------------------------

static int make_step(struct look *look, struct error *error)
{
	int r = 0;

	if (look->phase == LOOK_OPEN || look->phase == LOOK_NEXT)
		r = begin_picture(look, error);
	if (r == 0 && look->phase == LOOK_CHECK)
		return check_conditions(look);
	if (r == 0 && look->phase == LOOK_ENCODE)
		r = encode(look, error);
	if (r == 0)
		fill_captured(look);
	return r;
}

static void step(struct stream *stream)
{
	struct look *look = (struct look *)stream;

	look->tried.n_conditions = 0;
	look->error.message[0] = '\0';
	look->result = stop_asked(look) ? -ECANCELED : make_step(look, &look->error);
	if (look->result < 0 && stop_asked(look))
		error_set(&look->error, CONDPROF__CODE__STOPPING_DAEMON, ESHUTDOWN, "the daemon is stopping");
	else if (look->result < 0 && !look->error.message[0])
		error_set(&look->error, CONDPROF__CODE__INTERNAL, -look->result, "the look failed: %s",
			  strerror(-look->result));
}

static void stepped(struct stream *stream)
{
	struct look *look = (struct look *)stream;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;

	if (look->upload)
		upload_uncount_dropped(look->upload);
	if (!stream->exchange) {
		stream_end(stream);
		return;
	}
	if (look->result < 0) {
		stream_fail(stream, &look->error);
		return;
	}
	if (look->phase == LOOK_SEND) {
		reply.body_case = CONDPROF__REPLY__BODY_CAPTURED;
		reply.captured = &look->captured;
	} else {
		reply.body_case = CONDPROF__REPLY__BODY_TRIED;
		reply.tried = &look->tried;
	}
	if (look->last) {
		stream_finish(stream, &reply);
		return;
	}
	exchange_reply(stream->exchange, &reply);
	stream_next(stream);
}

/// On the slot's thread: all that is large.
static void close_look(struct stream *stream)
{
	struct look *look = (struct look *)stream;

	look->trial = trial_free(look->trial);
	look->screen = screen_close(look->screen);
	look->picture = picture_free(look->picture);
	free(look->png);
	if (look->upload)
		upload_drop_data(look->upload);
	look->scenario = scenario_free(look->scenario);
	malloc_trim(0);
}

static void gone(struct stream *stream)
{
	ask_to_stop((struct look *)stream);
}

static void ended(struct stream *stream)
{
	struct look *look = (struct look *)stream;

	look->slot->look = NULL;
	upload_free(look->upload);
	configuration_unref(look->configuration);
	free(look->screen_uri);
	close(look->wake_fd);
}

// --- beginning -------------------------------------------------------------------------------------------------------

static int out_of_memory(struct error *error)
{
	return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
}

static struct slot *free_slot(struct looks *looks)
{
	for (size_t i = 0; i < LOOKS_MAX; i++)
		if (!looks->slots[i].look)
			return &looks->slots[i];
	return NULL;
}

int looks_admit(const struct looks *looks, struct error *error)
{
	if (looks->control->stopping)
		return error_set(error, CONDPROF__CODE__STOPPING_DAEMON, ESHUTDOWN, "the daemon is stopping");
	if (!free_slot((struct looks *)looks))
		return error_set(error, CONDPROF__CODE__BUSY, EBUSY,
				 "%u pictures are being looked at already, which is the most; try again", LOOKS_MAX);
	return 0;
}

static int take_slot(struct looks *looks, struct look *look, struct error *error)
{
	struct slot *slot;
	int r = looks_admit(looks, error);

	if (r < 0)
		return r;
	slot = free_slot(looks);
	r = slot->worker ? 0 : worker_start(looks->control->mailbox, "look", &slot->worker);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "no thread to look: %s", strerror(-r));
	look->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (look->wake_fd < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, errno, "no descriptor to look: %s", strerror(errno));
	look->slot = slot;
	slot->look = look;
	return 0;
}

/// @param screen copied; NULL: none. Takes nothing over on failure.
static int look_begin(struct looks *looks, struct exchange *exchange, const char *screen, struct upload *upload,
		      struct scenario *scenario, struct error *error)
{
	struct look *look = calloc(1, sizeof(*look));
	struct configuration *configuration = looks->control->configuration;
	int r = look ? 0 : out_of_memory(error);

	if (!r && screen && !(look->screen_uri = strdup(screen)))
		r = out_of_memory(error);
	if (!r)
		r = take_slot(looks, look, error);
	if (r < 0) {
		if (look)
			free(look->screen_uri);
		free(look);
		return r;
	}
	look->looks = looks;
	look->configuration = configuration_ref(configuration);
	look->screen_config.xauthority = configuration->xauthority;
	look->screen_config.frame_folders = (const char *const *)configuration->frame_folders;
	look->upload = upload;
	look->scenario = scenario;
	look->measure = upload && upload->trial.measure;
	look->with_picture = !upload || upload->trial.with_picture;
	look->stream.is_long = true;
	look->stream.step = step;
	look->stream.stepped = stepped;
	look->stream.close = close_look;
	look->stream.gone = gone;
	look->stream.ended = ended;
	stream_begin(&look->stream, look->slot->worker, exchange);
	return 0;
}

int looks_capture(struct looks *looks, struct exchange *exchange, const char *screen, struct error *error)
{
	return look_begin(looks, exchange, screen, NULL, NULL, error);
}

static const char *screen_of(const struct upload *upload, const struct scenario *scenario)
{
	if (upload->trial.picture_bytes)
		return NULL;
	return upload->trial.screen ? upload->trial.screen : scenario->screen;
}

/// A try whose client went away while it was decoded: images may be large, so the worker gives them back.
struct discarded {
	struct job job;
	struct upload *upload;
	struct scenario *scenario;
};

static void run_discard(struct job *job)
{
	struct discarded *discarded = CONTAINER_OF(job, struct discarded, job);

	scenario_free(discarded->scenario);
	upload_drop_data(discarded->upload);
}

static void discard_done(struct job *job)
{
	struct discarded *discarded = CONTAINER_OF(job, struct discarded, job);

	upload_free(discarded->upload);
	free(discarded);
}

static void discard(struct looks *looks, struct upload *upload, struct scenario *scenario)
{
	struct discarded *discarded = calloc(1, sizeof(*discarded));

	if (!discarded) {
		scenario_free(scenario);
		upload_free(upload);
		return;
	}
	discarded->upload = upload;
	discarded->scenario = scenario;
	discarded->job.run = run_discard;
	discarded->job.done = discard_done;
	worker_submit(looks->control->worker, &discarded->job);
}

void looks_try(struct looks *looks, struct upload *upload, struct scenario *scenario)
{
	const char *screen = screen_of(upload, scenario);
	struct exchange *exchange = TAKE_POINTER(upload->exchange);
	struct error error = {0};
	int r = 0;

	if (exchange) { // the upload waits for it no longer
		exchange->context = NULL;
		exchange->gone = NULL;
		if (!screen && !upload->trial.picture_bytes)
			r = error_set(&error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				      "there is nothing to look at: the scenario names no screen; use --frame or "
				      "--screen");
		if (!r)
			r = look_begin(looks, exchange, screen, upload, scenario, &error);
		if (!r)
			return;
		exchange_fail(exchange, &error);
	}
	discard(looks, upload, scenario);
}

int looks_new(struct control *control, struct looks **ret)
{
	struct looks *looks = calloc(1, sizeof(*looks));

	if (!looks)
		return -ENOMEM;
	looks->control = control;
	*ret = looks;
	return 0;
}

struct looks *looks_free(struct looks *looks)
{
	if (!looks)
		return NULL;
	for (size_t i = 0; i < LOOKS_MAX; i++)
		worker_stop(looks->slots[i].worker);
	free(looks);
	return NULL;
}

unsigned looks_count(const struct looks *looks)
{
	unsigned count = 0;

	for (size_t i = 0; i < LOOKS_MAX; i++)
		count += looks->slots[i].look != NULL;
	return count;
}

bool looks_busy(const struct looks *looks)
{
	for (size_t i = 0; i < LOOKS_MAX; i++)
		if (looks->slots[i].look || (looks->slots[i].worker && worker_busy(looks->slots[i].worker)))
			return true;
	return false;
}

void looks_stop_all(struct looks *looks)
{
	for (size_t i = 0; i < LOOKS_MAX; i++)
		if (looks->slots[i].look)
			ask_to_stop(looks->slots[i].look);
}
