// SPDX-License-Identifier: GPL-3.0-or-later
// What `--record` costs the engine's thread, a pass: handing a new frame over (a copy, the rest is the tape's
// thread's), the same frame again, and none. CPU time of the calling thread; the folder lies below TMPDIR.
#include "config.h"

#include "daemon/log/log.h"
#include "daemon/recording/tape.h"
#include "tests/bench/bench.h"

#include <ftw.h>
#include <string.h>

#define PASSES 200

enum frame { FRAME_CHANGED, FRAME_SAME, FRAME_NONE, FRAMES };

static const char *const frame_names[] = {"a new frame", "the frame before again", "no frame"};

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
	(void)info, (void)type, (void)ftw;
	return remove(path);
}

static struct tape *open_tape(const char *folder, int width, int height)
{
	char path[300];
	struct tape_params params = {.path = path, .max_bytes = INT64_MAX, .scenario_name = "bench"};
	struct tape *tape;
	struct error error;

	snprintf(path, sizeof(path), "%s/%dx%d", folder, width, height);
	if (tape_open(&params, &tape, &error) < 0) {
		fprintf(stderr, "bench_recording: %s\n", error.message);
		exit(EXIT_FAILURE);
	}
	return tape;
}

// A patch somewhere else each time: a screen on which something moves.
static void change(struct picture *picture, int pass)
{
	int top = pass * 37 % (picture->height - 100), left = pass * 53 % (picture->width - 100);

	for (int y = top; y < top + 100; y++)
		memset(picture->pixels + y * picture->stride + (ptrdiff_t)left * 4, pass, 400);
}

static double pass_us(struct tape *tape, struct picture *picture, enum frame frame, int64_t number)
{
	static uint64_t serial = 1;
	struct picture_view view = picture_view(picture);
	int64_t begin;

	if (frame == FRAME_CHANGED) {
		change(picture, (int)number);
		serial++;
	} else if (frame == FRAME_NONE) {
		view.pixels = NULL;
	}
	tape_wait_room(tape, -1); // so that no frame is dropped for want of a buffer
	begin = bench_cpu_ns();
	tape_pass_begin(tape, number);
	tape_reference(tape, number * 100 * NSEC_PER_MSEC);
	tape_frame(tape, view, serial);
	tape_pass_end(tape);
	return (double)(bench_cpu_ns() - begin) / 1e3;
}

static void bench_size(const char *folder, int width, int height)
{
	double us[PASSES];
	struct tape *tape = open_tape(folder, width, height);
	struct tape_figures figures;
	struct picture *picture;
	int64_t number = 0;
	char what[80];

	if (picture_new(width, height, &picture) < 0)
		exit(EXIT_FAILURE);
	for (int y = 0; y < height; y++)
		memset(picture->pixels + y * picture->stride, y, (size_t)width * 4);
	for (int i = 0; i < 8; i++)
		pass_us(tape, picture, FRAME_CHANGED, ++number); // buffers take their memory
	for (enum frame frame = 0; frame < FRAMES; frame++) {
		for (int i = 0; i < PASSES; i++)
			us[i] = pass_us(tape, picture, frame, ++number);
		snprintf(what, sizeof(what), "%dx%d, %s: median", width, height, frame_names[frame]);
		bench_print(what, bench_percentile(us, PASSES, 0.5), "us a pass");
		bench_print("  99 of 100 within", bench_percentile(us, PASSES, 0.99), "us a pass");
	}
	tape_finish(tape);
	tape_figures(tape, &figures);
	bench_print("  frames dropped", (double)figures.dropped_frames, "");
	tape_free(tape);
	picture_free(picture);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	char folder[256];

	log_set_level(LOG_LEVEL_ERROR);
	snprintf(folder, sizeof(folder), "%.200s/condprof-bench-XXXXXX", tmp ? tmp : "/var/tmp");
	if (!mkdtemp(folder)) {
		perror("bench_recording: a folder in TMPDIR");
		return EXIT_FAILURE;
	}
	bench_title("what recording costs the engine's thread");
	bench_size(folder, 1920, 1080);
	bench_size(folder, 1280, 720);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return EXIT_SUCCESS;
}
