// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings as files: what a tape was told is what is read again, whatever is dropped is said to be, and nothing in a
// folder is believed.
#include "config.h"

#include "daemon/recording/folder.h"
#include "daemon/recording/format.h"
#include "daemon/recording/recorded.h"
#include "daemon/recording/tape.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define WIDTH 40
#define HEIGHT 30

static char folder[PATH_MAX];

static const char *at(const char *name)
{
	static char paths[4][PATH_MAX + 300];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/condprof-recording-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static const struct tape_broadcast broadcasts[] = {{"go", 0}, {"org.example.Go", 2}};

static struct tape *begin_tape(const char *name, int64_t max_bytes)
{
	struct tape_params params = {
		.path = at(name),
		.max_bytes = max_bytes,
		.scenario_name = "a scenario",
		.random_seed = 0xfedcba9876543210,
		.started_unix_ns = 5,
		.broadcasts = broadcasts,
		.n_broadcasts = ARRAY_SIZE(broadcasts),
	};
	struct error error = {0};
	struct tape *tape;

	ck_assert_msg(tape_open(&params, &tape, &error) == 0, "%s", error.message);
	return tape;
}

static int try_read(const char *name, struct recorded **ret, struct error *error)
{
	CLEANUP_CLOSE int fd = open(at(name), O_RDONLY | O_DIRECTORY);

	ck_assert_int_ge(fd, 0);
	return recorded_open(fd, name, ret, error);
}

static struct recorded *begin_reading(const char *name)
{
	struct error error = {0};
	struct recorded *recorded;

	ck_assert_msg(try_read(name, &recorded, &error) == 0, "%s", error.message);
	return recorded;
}

static uint64_t state = 1;

static uint32_t pick(uint32_t below)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(state >> 33) % below;
}

// --- what is told is what is read ------------------------------------------------------------------------------------

#define PASSES 300
#define LOOKS 4

struct told {
	int64_t references[8];
	size_t n_references;
	uint8_t *pictures[LOOKS]; // NULL: none
	int widths[LOOKS], heights[LOOKS];
	size_t n_pictures;
	bool received[2];
	uint32_t stop_look, stopped_check;
};

static uint8_t pixels[2 * WIDTH * 2 * HEIGHT * 4];
static int width = WIDTH, height = HEIGHT;

// What screens do: mostly nothing changes, sometimes a little, seldom all of it or the size.
static void change_screen(void)
{
	uint32_t how = pick(20);

	if (how == 0) {
		width = WIDTH + (int)pick(WIDTH);
		height = HEIGHT + (int)pick(HEIGHT);
	}
	if (how < 3) {
		for (size_t i = 0; i < sizeof(pixels); i++)
			pixels[i] = (uint8_t)pick(256);
	} else if (how < 10) {
		for (uint32_t n = pick(5); n > 0; n--)
			pixels[pick((uint32_t)(width * height * 4))] ^= 1;
	}
}

static uint8_t *copy_pixels(void)
{
	uint8_t *copy = malloc(sizeof(pixels));

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, pixels, sizeof(pixels));
	return copy;
}

static void tell_look(struct tape *tape, struct told *told, uint64_t *serial)
{
	size_t i = told->n_pictures++;

	if (pick(6) == 0) {
		tape_frame(tape, (struct picture_view){0}, 0);
		return;
	}
	if (pick(3)) {
		change_screen();
		++*serial;
	}
	told->pictures[i] = copy_pixels();
	told->widths[i] = width;
	told->heights[i] = height;
	tape_frame(tape, (struct picture_view){pixels, width, height, (ptrdiff_t)width * 4}, *serial);
}

static void tell_pass(struct tape *tape, struct told *told, int64_t number, int64_t *now, uint64_t *serial)
{
	tape_wait_room(tape, -1);
	tape_pass_begin(tape, number);
	for (uint32_t looks = pick(LOOKS); looks > 0; looks--)
		tell_look(tape, told, serial);
	for (uint32_t i = 0; i < 2; i++) {
		told->received[i] = pick(4) == 0;
		if (told->received[i])
			tape_broadcast(tape, i);
	}
	for (told->n_references = 0; told->n_references < pick(8); told->n_references++) {
		*now += pick(1000000000);
		told->references[told->n_references] = *now;
		tape_reference(tape, *now);
	}
	if (number == PASSES - 1) {
		told->stop_look = 3;
		told->stopped_check = 2;
		tape_stop(tape, 3, 2);
	}
	tape_pass_end(tape);
}

static void compare_picture(const struct picture *picture, const struct told *told, size_t look)
{
	ck_assert_int_eq(picture->width, told->widths[look]);
	ck_assert_int_eq(picture->height, told->heights[look]);
	for (int y = 0; y < picture->height; y++) {
		for (int x = 0; x < picture->width; x++)
			ck_assert_mem_eq(picture->pixels + y * picture->stride + (ptrdiff_t)x * 4,
					 told->pictures[look] + ((size_t)y * (size_t)picture->width + (size_t)x) * 4,
					 3);
	}
}

static void compare_pass(struct recorded *recorded, const struct told *told, int64_t number)
{
	Condprof__RecordingMessage *message;
	struct error error = {0};
	size_t received = 0;

	ck_assert_msg(recorded_next_pass(recorded, &message, &error) == 1, "%s", error.message);
	const Condprof__RecordedPass *pass = message->pass;
	ck_assert_int_eq(pass->number, number);
	ck_assert_uint_eq(pass->n_references_ns, told->n_references);
	for (size_t i = 0; i < told->n_references; i++)
		ck_assert_int_eq(pass->references_ns[i], told->references[i]);
	for (uint32_t i = 0; i < 2; i++) {
		if (told->received[i])
			ck_assert_uint_eq(pass->broadcasts[received++], i);
	}
	ck_assert_uint_eq(pass->n_broadcasts, received);
	ck_assert_uint_eq(pass->stop_look, told->stop_look);
	ck_assert_uint_eq(pass->stopped_check, told->stopped_check);
	ck_assert_uint_eq(pass->n_frames, told->n_pictures);
	for (size_t i = 0; i < told->n_pictures; i++) {
		struct picture *picture;

		ck_assert(!pass->frames[i] == !told->pictures[i]);
		if (!pass->frames[i])
			continue;
		ck_assert_msg(recorded_frame(recorded, pass->frames[i], &picture, &error) == 0, "%s", error.message);
		compare_picture(picture, told, i);
		picture_free(picture);
	}
	condprof__recording_message__free_unpacked(message, NULL);
}

START_TEST(test_round_trip)
{
	struct tape *tape = begin_tape("r", INT64_MAX);
	struct told *told = calloc(PASSES, sizeof(*told));
	struct tape_figures figures;
	struct recorded *recorded;
	uint64_t serial = 1;
	int64_t now = 0;

	for (int i = 0; i < PASSES; i++)
		tell_pass(tape, &told[i], i, &now, &serial);
	tape_finish(tape);
	tape_figures(tape, &figures);
	tape_free(tape);
	ck_assert_int_eq(figures.passes, PASSES - 1); // the one before the first is none
	ck_assert_int_eq(figures.dropped_frames + figures.dropped_passes, 0);
	ck_assert_str_eq(figures.cut_short, "");

	recorded = begin_reading("r");
	ck_assert_int_eq(recorded->passes, figures.passes);
	ck_assert_uint_eq(recorded->n_frames, (uint32_t)figures.frames);
	ck_assert(recorded->exact && recorded->ended && !recorded->cut_short);
	ck_assert(recorded->header->random_seed == 0xfedcba9876543210);
	ck_assert_str_eq(recorded->header->broadcasts[1]->broadcast, "org.example.Go");
	ck_assert_int_eq(recorded->header->broadcasts[1]->bus, 2);
	for (int i = 0; i < PASSES; i++)
		compare_pass(recorded, &told[i], i);
	ck_assert_int_eq(recorded_next_pass(recorded, &(Condprof__RecordingMessage *){NULL}, NULL), 0);
	recorded_close(recorded);
	for (int i = 0; i < PASSES; i++) {
		for (size_t k = 0; k < LOOKS; k++)
			free(told[i].pictures[k]);
	}
	free(told);
}
END_TEST

// Frames in any order: an earlier one is put together anew.
START_TEST(test_frames_in_any_order)
{
	struct tape *tape = begin_tape("r", INT64_MAX);
	struct recorded *recorded;
	struct picture *picture;

	width = WIDTH;
	height = HEIGHT;
	memset(pixels, 0, sizeof(pixels));
	for (uint32_t i = 1; i <= 20; i++) {
		tape_wait_room(tape, -1);
		tape_pass_begin(tape, i);
		pixels[4 * i] = (uint8_t)i;
		tape_frame(tape, (struct picture_view){pixels, width, height, (ptrdiff_t)width * 4}, i);
		tape_pass_end(tape);
	}
	tape_free(tape);
	recorded = begin_reading("r");
	ck_assert_uint_eq(recorded->n_frames, 20);
	for (int n = 0; n < 50; n++) {
		uint32_t number = 1 + pick(20);

		ck_assert_int_eq(recorded_frame(recorded, number, &picture, NULL), 0);
		for (uint32_t i = 1; i <= 20; i++)
			ck_assert_uint_eq(picture->pixels[4 * i], i <= number ? i : 0);
		picture_free(picture);
	}
	ck_assert_int_eq(recorded_frame(recorded, 21, &picture, NULL), -ENOENT);
	ck_assert_int_eq(recorded_frame(recorded, 0, &picture, NULL), -ENOENT);
	recorded_close(recorded);
}
END_TEST

// --- what is dropped -------------------------------------------------------------------------------------------------

static void tell_frames(struct tape *tape, int64_t number, uint32_t frames, uint64_t *serial)
{
	tape_pass_begin(tape, number);
	for (uint32_t i = 0; i < frames; i++) {
		pixels[0] = (uint8_t)++ * serial;
		tape_frame(tape, (struct picture_view){pixels, WIDTH, HEIGHT, (ptrdiff_t)WIDTH * 4}, *serial);
	}
	tape_pass_end(tape);
}

// Buffers are given back only once a pass is handed over: more frames in one than there are buffers must drop some.
START_TEST(test_dropped_frames_are_said)
{
	struct tape *tape = begin_tape("r", INT64_MAX);
	struct tape_figures figures;
	struct recorded *recorded;
	uint64_t serial = 0;

	tell_frames(tape, 1, 12, &serial);
	tape_finish(tape);
	tape_figures(tape, &figures);
	tape_free(tape);
	ck_assert_int_eq(figures.dropped_frames, 4);
	recorded = begin_reading("r");
	ck_assert(!recorded->exact && recorded->ended);
	ck_assert_uint_eq(recorded->n_frames, 8);
	recorded_close(recorded);
}
END_TEST

START_TEST(test_a_pass_without_room_is_taken_back)
{
	struct tape *tape = begin_tape("r", INT64_MAX);
	struct tape_figures figures;
	struct recorded *recorded;
	uint64_t serial = 0;

	tape_pass_begin(tape, 1);
	tape_frame(tape, (struct picture_view){pixels, WIDTH, HEIGHT, (ptrdiff_t)WIDTH * 4}, 7);
	for (int64_t i = 0; i < 100000; i++)
		tape_reference(tape, i);
	tape_pass_end(tape);
	tape_wait_room(tape, -1);
	tell_frames(tape, 2, 1, &serial);
	tape_finish(tape);
	tape_figures(tape, &figures);
	tape_free(tape);
	ck_assert_int_eq(figures.dropped_passes, 1);
	ck_assert_int_eq(figures.passes, 1);
	recorded = begin_reading("r");
	ck_assert(!recorded->exact);
	ck_assert_int_eq(recorded->passes, 1);
	recorded_close(recorded);
}
END_TEST

// The engine's thread hangs in a pass, others end the tape, and then it goes on as if nothing had been.
START_TEST(test_an_abandoned_recording_has_its_end)
{
	struct tape *tape = begin_tape("r", INT64_MAX);
	struct tape_figures figures;
	struct recorded *recorded;
	uint64_t serial = 0;

	for (int64_t i = 1; i <= 3; i++) {
		tape_wait_room(tape, -1);
		tell_frames(tape, i, 1, &serial);
	}
	tape_pass_begin(tape, 4);
	tape_reference(tape, 7);
	tape_abandon(tape);
	tape_figures(tape, &figures);
	ck_assert_int_eq(figures.passes, 3);
	recorded = begin_reading("r");
	ck_assert(recorded->ended && recorded->exact);
	ck_assert_int_eq(recorded->passes, 3);
	ck_assert_ptr_nonnull(strstr(recorded->cut_short, "hangs"));
	recorded_close(recorded);

	tape_pass_end(tape);
	for (int64_t i = 5; i <= 2000; i++) { // more than there is room for, and none of it is waited for
		tape_wait_room(tape, -1);
		tell_frames(tape, i, 2, &serial);
	}
	tape_abandon(tape);
	tape_finish(tape);
	tape_free(tape);
	recorded = begin_reading("r");
	ck_assert(recorded->ended);
	ck_assert_int_eq(recorded->passes, 3);
	recorded_close(recorded);
}
END_TEST

START_TEST(test_a_full_recording_ends)
{
	struct tape *tape = begin_tape("r", 5000);
	struct tape_figures figures;
	struct recorded *recorded;

	for (int i = 1; i < 200; i++) {
		tape_wait_room(tape, -1);
		tape_pass_begin(tape, i);
		for (size_t k = 0; k < sizeof(pixels); k++)
			pixels[k] = (uint8_t)pick(256);
		tape_frame(tape, (struct picture_view){pixels, WIDTH, HEIGHT, (ptrdiff_t)WIDTH * 4}, (uint64_t)i);
		tape_pass_end(tape);
	}
	tape_finish(tape);
	tape_figures(tape, &figures);
	tape_free(tape);
	ck_assert_ptr_nonnull(strstr(figures.cut_short, "record-max-bytes"));
	ck_assert_int_eq(figures.frames, 1); // noise of 40x30 px takes 3,600 bytes
	recorded = begin_reading("r");
	ck_assert_ptr_nonnull(strstr(recorded->cut_short, "record-max-bytes"));
	ck_assert_int_eq(recorded->passes, figures.passes);
	ck_assert(recorded->exact); // up to there
	recorded_close(recorded);
}
END_TEST

// On a screen where nothing changes there is one frame, and passes for ever.
START_TEST(test_passes_alone_fill_a_recording)
{
	struct tape *tape = begin_tape("r", 5000);
	struct tape_figures figures;
	struct recorded *recorded;

	for (int i = 1; i < 5000; i++) {
		tape_wait_room(tape, -1);
		tape_pass_begin(tape, i);
		tape_frame(tape, (struct picture_view){pixels, WIDTH, HEIGHT, (ptrdiff_t)WIDTH * 4}, 1);
		tape_reference(tape, (int64_t)i * NSEC_PER_SEC);
		tape_pass_end(tape);
	}
	tape_finish(tape);
	tape_figures(tape, &figures);
	tape_free(tape);
	ck_assert_ptr_nonnull(strstr(figures.cut_short, "record-max-bytes"));
	ck_assert_int_le(figures.bytes, 5000 + 200); // and the end, which says so
	recorded = begin_reading("r");
	ck_assert_ptr_nonnull(strstr(recorded->cut_short, "record-max-bytes"));
	ck_assert_int_eq(recorded->passes, figures.passes);
	ck_assert(recorded->exact); // up to there
	recorded_close(recorded);
}
END_TEST

// --- folders ---------------------------------------------------------------------------------------------------------

static void refuse(const char *path, const char *const *allowed, int r, const char *words)
{
	struct error error = {0};
	int fd = -1;

	ck_assert_msg(recording_make_folder(path, allowed, &fd, &error) == r, "%s: %s", path, error.message);
	ck_assert_msg(strstr(error.message, words) != NULL, "%s", error.message);
}

static void accept_folder(const char *path, const char *const *allowed)
{
	struct error error = {0};
	int fd = -1;

	ck_assert_msg(recording_make_folder(path, allowed, &fd, &error) == 0, "%s: %s", path, error.message);
	close(fd);
}

START_TEST(test_folders)
{
	char link[PATH_MAX + 300], inside[PATH_MAX + 300];
	const char *allowed[] = {link, NULL};

	refuse("r", NULL, -EINVAL, "not an absolute path");
	refuse("/", NULL, -EINVAL, "names no folder");
	refuse(at("a/.."), NULL, -EINVAL, "names no folder");
	refuse(at("missing/r"), NULL, -ENOENT, "make that first");
	accept_folder(at("new"), NULL);
	accept_folder(at("new//"), NULL); // there, and empty
	close(open(at("new/file"), O_CREAT | O_WRONLY, 0600));
	refuse(at("new"), NULL, -ENOTEMPTY, "not empty");
	refuse(at("new/file"), NULL, -ENOTDIR, "no folder");
	ck_assert_int_eq(symlink(at("new"), at("link")), 0);
	refuse(at("link"), NULL, -ELOOP, "symbolic link");

	// only below what the configuration names; that may be a link itself
	snprintf(link, sizeof(link), "%s", at("link"));
	refuse(at("outside"), allowed, -EPERM, "frame-folders");
	ck_assert_int_eq(access(at("outside"), F_OK), -1);
	mkdir(at("outside"), 0700);
	refuse(at("outside"), allowed, -EPERM, "frame-folders");
	accept_folder(at("link/r"), allowed);
	snprintf(inside, sizeof(inside), "%s", at("link/../outside/r"));
	refuse(inside, allowed, -EPERM, "frame-folders");
}
END_TEST

// --- damage ----------------------------------------------------------------------------------------------------------

static size_t read_index(uint8_t *bytes, size_t room)
{
	CLEANUP_CLOSE int fd = open(at("r/" RECORDING_FILE), O_RDONLY);
	ssize_t size = read(fd, bytes, room);

	ck_assert(size > 0 && (size_t)size < room);
	return (size_t)size;
}

static void write_index(const uint8_t *bytes, size_t size)
{
	CLEANUP_CLOSE int fd = open(at("r/" RECORDING_FILE), O_WRONLY | O_TRUNC);

	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
}

// Whatever is in the file, it is read or refused; @return whether it was read
static bool read_anything(int64_t *ret_passes)
{
	Condprof__RecordingMessage *message;
	struct recorded *recorded;
	struct error error = {0};
	struct picture *picture;

	if (try_read("r", &recorded, &error) < 0) {
		ck_assert_str_ne(error.message, "");
		return false;
	}
	for (uint32_t i = 1; i <= recorded->n_frames; i++) {
		if (recorded_frame(recorded, i, &picture, &error) == 0)
			picture_free(picture);
	}
	*ret_passes = 0;
	while (recorded_next_pass(recorded, &message, &error) == 1) {
		++*ret_passes;
		condprof__recording_message__free_unpacked(message, NULL);
	}
	recorded_close(recorded);
	return true;
}

START_TEST(test_damage)
{
	struct tape *tape = begin_tape("r", INT64_MAX);
	uint8_t bytes[4096], damaged[4096];
	int64_t passes, before = 0;
	uint64_t serial = 0;
	size_t size;

	for (int i = 1; i < 6; i++) {
		tape_wait_room(tape, -1);
		tell_frames(tape, i, 2, &serial);
	}
	tape_free(tape);
	size = read_index(bytes, sizeof(bytes));
	for (size_t i = 0; i <= size; i++) { // as a daemon that died leaves it: what is whole is there
		write_index(bytes, i);
		if (read_anything(&passes)) {
			ck_assert_int_ge(passes, before);
			before = passes;
		} else {
			ck_assert_int_eq(before, 0);
		}
	}
	ck_assert_int_eq(before, 5);
	for (int n = 0; n < 2000; n++) {
		memcpy(damaged, bytes, size);
		for (uint32_t k = pick(4); k < 4; k++)
			damaged[pick((uint32_t)size)] ^= (uint8_t)(1U << pick(8));
		write_index(damaged, size);
		read_anything(&passes);
	}
}
END_TEST

START_TEST(test_frames_that_are_no_frames)
{
	struct tape *tape = begin_tape("r", INT64_MAX);
	struct recorded *recorded;
	struct error error = {0};
	struct picture *picture;
	uint64_t serial = 0;

	tell_frames(tape, 1, 3, &serial);
	tape_free(tape);
	recorded = begin_reading("r");
	ck_assert_int_eq(unlink(at("r/frame-00000002.png")), 0);
	ck_assert_int_eq(recorded_frame(recorded, 2, &picture, &error), -ENOENT);
	ck_assert_int_eq(symlink(at("r/frame-00000001.png"), at("r/frame-00000002.png")), 0);
	ck_assert_int_eq(recorded_frame(recorded, 2, &picture, &error), -ELOOP);
	ck_assert_int_eq(unlink(at("r/frame-00000002.png")), 0);
	ck_assert_int_eq(link(at("r/frame-00000001.png"), at("r/frame-00000002.png")),
			 0);                                                // a whole one where a part is meant
	ck_assert_int_eq(recorded_frame(recorded, 2, &picture, &error), 0); // it lies at 0, 0, and fits
	picture_free(picture);
	ck_assert_int_eq(unlink(at("r/frame-00000002.png")), 0);
	ck_assert_int_eq(mkfifo(at("r/frame-00000002.png"), 0600), 0);
	ck_assert_int_eq(recorded_frame(recorded, 1, &picture, &error), 0);
	picture_free(picture);
	ck_assert_int_eq(recorded_frame(recorded, 3, &picture, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "frame-00000002.png"));
	recorded_close(recorded);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recording");
	TCase *tcase = tcase_create("files");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_round_trip);
	tcase_add_test(tcase, test_frames_in_any_order);
	tcase_add_test(tcase, test_dropped_frames_are_said);
	tcase_add_test(tcase, test_a_pass_without_room_is_taken_back);
	tcase_add_test(tcase, test_an_abandoned_recording_has_its_end);
	tcase_add_test(tcase, test_a_full_recording_ends);
	tcase_add_test(tcase, test_passes_alone_fill_a_recording);
	tcase_add_test(tcase, test_folders);
	tcase_add_test(tcase, test_damage);
	tcase_add_test(tcase, test_frames_that_are_no_frames);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
