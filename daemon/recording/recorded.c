// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/recording/recorded.h"

#include "daemon/recording/format.h"
#include "proto/frame.h"
#include "proto/io.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MESSAGE_MAX_UNPACKED_BYTES (4 * (size_t)RECORDING_MESSAGE_MAX_BYTES)
#define MESSAGE_MAX_ALLOCATIONS 100000U
#define FRAME_MAX_FILE_BYTES (512 * 1024 * 1024)

static int fail(const struct recorded *recorded, struct error *error, int errno_value, const char *what)
{
	return error_set(error, CONDPROF__CODE__SCREEN_FAILED, errno_value, "replay: %.300s/%s: %s", recorded->path,
			 RECORDING_FILE, what);
}

static int fail_frame(const struct recorded *recorded, struct error *error, int errno_value, uint32_t number,
		      const char *what)
{
	char name[RECORDING_NAME_SIZE];

	recording_frame_name(number, name);
	return error_set(error, CONDPROF__CODE__SCREEN_FAILED, errno_value, "replay: %.300s/%s: %s", recorded->path,
			 name, what);
}

// --- messages --------------------------------------------------------------------------------------------------------

// A length before a message. @return 1, 0: there is no whole one any more
static int read_length(FILE *file, size_t *ret)
{
	uint8_t bytes[FRAME_HEADER_MAX];
	size_t header, body;

	for (size_t n = 0; n < sizeof(bytes); n++) {
		int c = getc_unlocked(file); // of one thread

		if (c == EOF)
			return 0;
		bytes[n] = (uint8_t)c;
		if (c & 0x80)
			continue;
		if (frame_peek(bytes, n + 1, RECORDING_MESSAGE_MAX_BYTES, &header, &body) != 1)
			return -EBADMSG;
		*ret = body;
		return 1;
	}
	return -EBADMSG;
}

// The bytes of the next message stand in recorded->body. @return 1, 0: no whole one any more, -EBADMSG, -ENOMEM
static int read_body(struct recorded *recorded, size_t *ret_size)
{
	size_t size = 0;
	int r = read_length(recorded->file, &size);

	if (r <= 0)
		return r;
	if (size > recorded->body_room) {
		uint8_t *larger = realloc(recorded->body, size);

		if (!larger)
			return -ENOMEM;
		recorded->body = larger;
		recorded->body_room = size;
	}
	*ret_size = size;
	return !size || fread_unlocked(recorded->body, 1, size, recorded->file) == size;
}

static int unpack(const struct recorded *recorded, size_t size, Condprof__RecordingMessage **ret)
{
	static const uint8_t nothing[1];
	struct capped_allocator capped;
	ProtobufCMessage *message = NULL;
	int r;

	capped_allocator_init(&capped, MESSAGE_MAX_UNPACKED_BYTES, MESSAGE_MAX_ALLOCATIONS);
	r = message_unpack(&condprof__recording_message__descriptor, recorded->body ? recorded->body : nothing, size,
			   &capped, &message);
	if (r < 0)
		return r;
	*ret = (Condprof__RecordingMessage *)message;
	return 1;
}

// @return 1, 0: no whole message any more, -EBADMSG, -ENOMEM
static int read_message(struct recorded *recorded, Condprof__RecordingMessage **ret)
{
	size_t size;
	int r = read_body(recorded, &size);

	return r <= 0 ? r : unpack(recorded, size, ret);
}

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

// What is to be known of a pass beforehand, without unpacking it: a recording may have a hundred million, and it is to
// be open within seconds. @return false: it is no pass, or not as a tape writes them: then it is looked at in earnest
static bool skim_pass(const uint8_t *at, size_t size, int64_t *ret_number, bool *ret_inexact)
{
	enum {
		PASS = 3 << 3 | 2,
		NUMBER = 1 << 3,
		REFERENCES = 2 << 3 | 2,
		FRAMES = 3 << 3 | 2,
		BROADCASTS = 4 << 3 | 2,
		STOP_LOOK = 5 << 3,
		STOPPED_CHECK = 6 << 3,
		INEXACT = 7 << 3
	};
	const uint8_t *end = at + size;
	uint64_t tag, value;

	if (!take_varint(&at, end, &tag) || tag != PASS || !take_varint(&at, end, &value) ||
	    value != (uint64_t)(end - at))
		return false;
	*ret_number = 0;
	*ret_inexact = false;
	while (at < end) {
		if (!take_varint(&at, end, &tag) || !take_varint(&at, end, &value))
			return false;
		if (tag == NUMBER)
			*ret_number = (int64_t)value;
		else if (tag == INEXACT)
			*ret_inexact = value;
		else if ((tag == REFERENCES || tag == FRAMES || tag == BROADCASTS) && value <= (uint64_t)(end - at))
			at += value;
		else if (tag != STOP_LOOK && tag != STOPPED_CHECK)
			return false;
	}
	return *ret_number >= 0;
}

static bool frame_makes_sense(const struct recorded *recorded, const Condprof__RecordedFrame *frame)
{
	const struct recorded_frame *before = recorded->n_frames ? &recorded->frames[recorded->n_frames - 1] : NULL;

	if (frame->number != recorded->n_frames + 1 || recorded->n_frames == RECORDING_FRAMES_MAX || frame->width < 1 ||
	    frame->height < 1 || frame->width > PICTURE_MAX_SIDE || frame->height > PICTURE_MAX_SIDE)
		return false;
	if (!frame->has_x && !frame->has_y)
		return true;
	return before && before->width == frame->width && before->height == frame->height && frame->x >= 0 &&
	       frame->y >= 0 && frame->x < frame->width && frame->y < frame->height;
}

static int add_frame(struct recorded *recorded, const Condprof__RecordedFrame *frame)
{
	if (!frame_makes_sense(recorded, frame))
		return -EBADMSG;
	if ((recorded->n_frames & (recorded->n_frames - 1)) == 0) { // full at every power of two
		size_t room = MAX(2 * (size_t)recorded->n_frames, (size_t)1);
		struct recorded_frame *frames = realloc(recorded->frames, room * sizeof(*frames));

		if (!frames)
			return -ENOMEM;
		recorded->frames = frames;
	}
	recorded->frames[recorded->n_frames++] = (struct recorded_frame){frame->width, frame->height, frame->x,
									 frame->y, !frame->has_x && !frame->has_y};
	return 0;
}

static bool pass_makes_sense(const struct recorded *recorded, const Condprof__RecordedPass *pass)
{
	for (size_t i = 0; i < pass->n_frames; i++) {
		if (pass->frames[i] > recorded->n_frames ||
		    (i && pass->frames[i] && pass->frames[i] < pass->frames[i - 1]))
			return false;
	}
	for (size_t i = 0; i < pass->n_broadcasts; i++) { // each once, as a tape tells them: not millions of one
		if (pass->broadcasts[i] >= recorded->header->n_broadcasts ||
		    (i && pass->broadcasts[i] <= pass->broadcasts[i - 1]))
			return false;
	}
	return pass->number >= 0;
}

static int take_header(struct recorded *recorded, Condprof__RecordingMessage *message, struct error *error)
{
	if (message->kind_case != CONDPROF__RECORDING_MESSAGE__KIND_HEADER) {
		condprof__recording_message__free_unpacked(message, NULL);
		return fail(recorded, error, EBADMSG, "it does not begin as a recording does");
	}
	recorded->header_message = message;
	recorded->header = message->header;
	if (recorded->header->version != RECORDING_VERSION)
		return fail(recorded, error, EPROTO, "it was made by a newer condprofd: take that one, or record anew");
	for (size_t i = 0; i < recorded->header->n_broadcasts; i++) {
		if (!recorded->header->broadcasts[i]->broadcast)
			return fail(recorded, error, EBADMSG, "a broadcast has no name");
	}
	return 0;
}

static int take_end(struct recorded *recorded, const Condprof__RecordingEnd *end)
{
	recorded->ended = true;
	recorded->exact = recorded->exact && end->dropped_frames == 0 && end->dropped_passes == 0;
	if (end->cut_short && !(recorded->cut_short = strdup(end->cut_short)))
		return -ENOMEM;
	return 0;
}

// @return 0, -EBADMSG, -ENOMEM
static int take_message(struct recorded *recorded, const Condprof__RecordingMessage *message)
{
	switch (message->kind_case) {
	case CONDPROF__RECORDING_MESSAGE__KIND_FRAME:
		return add_frame(recorded, message->frame);
	case CONDPROF__RECORDING_MESSAGE__KIND_PASS:
		if (!pass_makes_sense(recorded, message->pass))
			return -EBADMSG;
		if (message->pass->number > 0)
			recorded->passes++;
		recorded->exact = recorded->exact && !message->pass->inexact;
		return 0;
	case CONDPROF__RECORDING_MESSAGE__KIND_END:
		return take_end(recorded, message->end);
	default:
		return 0; // of a newer minor
	}
}

// @return 1, 0: no whole message any more, -EBADMSG, -ENOMEM
static int look_at_next(struct recorded *recorded)
{
	Condprof__RecordingMessage *message;
	int64_t number;
	bool inexact;
	size_t size;
	int r = read_body(recorded, &size);

	if (r <= 0)
		return r;
	if (size && skim_pass(recorded->body, size, &number, &inexact)) {
		recorded->passes += number > 0;
		recorded->exact = recorded->exact && !inexact;
		return 1;
	}
	r = unpack(recorded, size, &message);
	if (r <= 0)
		return r;
	r = take_message(recorded, message);
	condprof__recording_message__free_unpacked(message, NULL);
	return r < 0 ? r : 1;
}

// All of it once: how many frames and passes there are, and up to where it is whole. What a pass says is looked at when
// it is its turn.
static int look_through(struct recorded *recorded, struct error *error)
{
	Condprof__RecordingMessage *message = NULL;
	int r = read_message(recorded, &message);

	if (r <= 0)
		return fail(recorded, error, EBADMSG, "it does not begin as a recording does");
	r = take_header(recorded, message, error);
	if (r < 0)
		return r;
	recorded->exact = true;
	do {
		recorded->size = ftello(recorded->file);
		r = look_at_next(recorded);
	} while (r > 0);
	if (r == -ENOMEM)
		return fail(recorded, error, ENOMEM, "no memory");
	if (r < 0)
		return fail(recorded, error, EBADMSG, "it is damaged");
	rewind(recorded->file);
	return 0;
}

// --- opening ---------------------------------------------------------------------------------------------------------

static int open_index(int dir_fd)
{
	struct stat info;
	int fd = openat(dir_fd, RECORDING_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int r = fstat(fd, &info) < 0 ? -errno : S_ISREG(info.st_mode) ? 0 : -EINVAL;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

bool recorded_is(int dir_fd)
{
	CLEANUP_CLOSE int fd = open_index(dir_fd);

	return fd >= 0;
}

static int open_files(struct recorded *recorded, int dir_fd, struct error *error)
{
	recorded->fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	if (recorded->fd < 0)
		return fail(recorded, error, errno, strerror(errno));
	int fd = open_index(dir_fd);
	if (fd == -ENOENT)
		return fail(recorded, error, ENOENT,
			    "it is not there: clock=virtual needs a folder that start --record has made");
	if (fd < 0)
		return fail(recorded, error, -fd, fd == -EINVAL ? "it is no regular file" : strerror(-fd));
	recorded->file = fdopen(fd, "r");
	if (!recorded->file) {
		close(fd);
		return fail(recorded, error, ENOMEM, "no memory");
	}
	return look_through(recorded, error);
}

int recorded_open(int dir_fd, const char *path, struct recorded **ret, struct error *error)
{
	struct recorded *recorded = calloc(1, sizeof(*recorded));

	if (!recorded || !(recorded->path = strdup(path))) {
		free(recorded);
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for a recording");
	}
	recorded->fd = -1;
	int r = open_files(recorded, dir_fd, error);
	if (r < 0) {
		recorded_close(recorded);
		return r;
	}
	*ret = recorded;
	return 0;
}

struct recorded *recorded_close(struct recorded *recorded)
{
	if (!recorded)
		return NULL;
	if (recorded->header_message)
		condprof__recording_message__free_unpacked(recorded->header_message, NULL);
	if (recorded->file)
		fclose(recorded->file);
	if (recorded->fd >= 0)
		close(recorded->fd);
	picture_free(recorded->picture);
	free(recorded->body);
	free(recorded->frames);
	free(recorded->cut_short);
	free(recorded->path);
	free(recorded);
	return NULL;
}

// --- passes ----------------------------------------------------------------------------------------------------------

static bool sum_up(int64_t *references, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (__builtin_add_overflow(references[i], references[i - 1], &references[i]))
			return false;
	}
	return true;
}

int recorded_next_pass(struct recorded *recorded, Condprof__RecordingMessage **ret, struct error *error)
{
	Condprof__RecordingMessage *message = NULL;
	int r;

	while (ftello(recorded->file) < recorded->size && (r = read_message(recorded, &message)) != 0) {
		if (r < 0)
			return fail(recorded, error, -r, "it has changed since it was opened");
		if (message->kind_case == CONDPROF__RECORDING_MESSAGE__KIND_PASS && message->pass) {
			if (!pass_makes_sense(recorded, message->pass) ||
			    !sum_up(message->pass->references_ns, message->pass->n_references_ns)) {
				condprof__recording_message__free_unpacked(message, NULL);
				return fail(recorded, error, EBADMSG, "it is damaged");
			}
			*ret = message;
			return 1;
		}
		condprof__recording_message__free_unpacked(message, NULL);
	}
	return 0;
}

// --- frames ----------------------------------------------------------------------------------------------------------

static int read_picture(const struct recorded *recorded, uint32_t number, struct picture **ret, struct error *error)
{
	char name[RECORDING_NAME_SIZE];
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct error why = {0};
	size_t size = 0;

	recording_frame_name(number, name);
	CLEANUP_CLOSE int fd = openat(recorded->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int r = fd < 0 ? -errno : io_read_file(fd, FRAME_MAX_FILE_BYTES, &bytes, &size);
	if (r < 0)
		return fail_frame(recorded, error, -r, number, strerror(-r));
	r = png_decode(bytes, size, ret, &why);
	return r < 0 ? fail_frame(recorded, error, -r, number, why.message) : 0;
}

// The frame's part onto the picture of the one before.
static int put_part(struct recorded *recorded, uint32_t number, struct error *error)
{
	const struct recorded_frame *frame = &recorded->frames[number - 1];
	struct picture *part = NULL;
	int r = read_picture(recorded, number, &part, error);

	if (r < 0)
		return r;
	if (frame->whole ? part->width != frame->width || part->height != frame->height
			 : part->width > frame->width - frame->x || part->height > frame->height - frame->y) {
		picture_free(part);
		return fail_frame(recorded, error, EBADMSG, number, "its size is not the one that was recorded");
	}
	if (frame->whole) {
		picture_free(recorded->picture);
		recorded->picture = part;
		return 0;
	}
	for (int y = 0; y < part->height; y++)
		memcpy(recorded->picture->pixels + (frame->y + y) * recorded->picture->stride + (ptrdiff_t)frame->x * 4,
		       part->pixels + y * part->stride, (size_t)part->width * 4);
	picture_free(part);
	return 0;
}

static int copy_picture(const struct picture *from, struct picture **ret)
{
	int r = picture_new(from->width, from->height, ret);

	for (int y = 0; r == 0 && y < from->height; y++)
		memcpy((*ret)->pixels + y * (*ret)->stride, from->pixels + y * from->stride, (size_t)from->width * 4);
	return r;
}

int recorded_frame(struct recorded *recorded, uint32_t number, struct picture **ret, struct error *error)
{
	uint32_t first = number;
	int r = 0;

	if (number < 1 || number > recorded->n_frames)
		return fail_frame(recorded, error, ENOENT, number, "there is no such frame");
	while (!recorded->frames[first - 1].whole)
		first--; // the first frame is whole
	if (recorded->number >= first && recorded->number <= number)
		first = recorded->number + 1;
	for (; r == 0 && first <= number; first++) {
		if (recorded->quit && *recorded->quit)
			return -ECANCELED;
		r = put_part(recorded, first, error);
		recorded->number = r == 0 ? first : 0;
	}
	if (r < 0)
		return r;
	return copy_picture(recorded->picture, ret) < 0 ? fail_frame(recorded, error, ENOMEM, number, "no memory") : 0;
}
