// SPDX-License-Identifier: GPL-3.0-or-later
// Image conditions against OpenCV: the same pictures, the same templates, both sides in turn, one thread, thread CPU
// time. Ours decides a condition (is it there, where, does its colour agree) with a threshold, as a session does;
// OpenCV's side is cvtColor, matchTemplate and minMaxLoc. `make bench-detect` runs it twice, the second time with a
// malloc that keeps OpenCV's memory, which is the one to go by. VERIFY=1 compares results instead. Without OpenCV only
// our times are shown. BENCH_ARGS: best, for the best kernels only; areas, for the rows of areas only.
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "daemon/detect/detect.h"
#include "daemon/detect/kernels.h"
#include "daemon/detect/template.h"
#include "tests/bench/bench.h"
#include "tests/support/scenes.h"
#include "tests/support/textbook.h"
#ifdef HAVE_OPENCV
#include "tests/bench/opencv_match.h"
#endif

#define CONDITIONS_MAX 12
#define SESSION_FRAMES 20
#define SMALL_ROUNDS 20
#define SMALL_TURNS 20

static const int template_sizes[][2] = {{32, 32}, {64, 64}, {100, 100}, {200, 80}};

/// Best of a few runs: what is measured is work, and the rest of the machine only adds to it.
struct times {
	double ours_ms, theirs_ms;
};

struct ratios {
	double values[512];
	size_t count;
};

static void note(struct ratios *ratios, struct times times)
{
	if (times.theirs_ms > 0 && times.ours_ms > 0 && ratios->count < ARRAY_SIZE(ratios->values))
		ratios->values[ratios->count++] = times.theirs_ms / times.ours_ms;
}

static void print_ratios(const char *what, struct ratios *ratios, const char *aim)
{
	if (!ratios->count)
		return;
	double low = bench_percentile(ratios->values, ratios->count, 0.0001);
	double middle = bench_percentile(ratios->values, ratios->count, 0.5);
	double high = bench_percentile(ratios->values, ratios->count, 1);

	printf("| %-58s | %7.1fx | %7.1fx | %7.1fx | %-11s |\n", what, low, middle, high, aim);
}

static void print_head(void)
{
	printf("| %-58s | %-8s | %-8s | %-8s | %-11s |\n", "case (OpenCV's time / ours)", "least", "median", "most",
	       "asked/aim");
	printf("|------------------------------------------------------------|----------|----------|----------|--------"
	       "-----|\n");
}

// ---- the two sides ------------------------------------------------------------------------------------------------

struct condition {
	struct detect_template *template_;
	struct detect_query query;
	struct rect looked_at; ///< what OpenCV gets of the frame
	int opencv;
};

struct bench {
	struct canvas frame;
	struct detect_frame *ours;
	struct condition conditions[CONDITIONS_MAX];
	int n;
	bool whole_gray; ///< OpenCV converts the frame once, not each area
	bool remember;
#ifdef HAVE_OPENCV
	struct opencv_side *theirs;
#endif
};

static void bench_begin(struct bench *bench, struct canvas frame)
{
	*bench = (struct bench){.frame = frame, .whole_gray = true};
	if (detect_frame_new(&bench->ours) < 0 || detect_frame_reserve(bench->ours, frame.width, frame.height, 0) < 0)
		abort();
#ifdef HAVE_OPENCV
	bench->theirs = opencv_new();
#endif
}

static void drop_conditions(struct bench *bench)
{
	for (int i = 0; i < bench->n; i++) {
		detect_template_free(bench->conditions[i].template_);
		detect_memory_free(bench->conditions[i].query.memory);
	}
	bench->n = 0;
}

static void bench_end(struct bench *bench)
{
	drop_conditions(bench);
	detect_frame_free(bench->ours);
#ifdef HAVE_OPENCV
	opencv_free(bench->theirs);
#endif
}

static void add_condition(struct bench *bench, struct picture_view image, struct rect area, bool exact,
			  double threshold)
{
	struct condition *c = &bench->conditions[bench->n];
	struct error error;

	*c = (struct condition){.query = {.area = area, .exact = exact, .threshold = threshold}, .looked_at = area};
	if (exact)
		c->looked_at = (struct rect){area.left - 1, area.top - 1, area.right + 1, area.bottom + 1};
	if (detect_template_new(image, 1, 1, &c->template_, &error) < 0)
		return;
	if (bench->remember && detect_memory_new(&c->query.memory) < 0)
		abort();
	if (bench->remember)
		detect_memory_reserve(c->query.memory, bench->ours, area, exact, NULL);
#ifdef HAVE_OPENCV
	c->opencv = opencv_template(bench->theirs, image.pixels, image.width, image.height, image.stride);
#endif
	bench->n++;
}

static void turn_ours(struct bench *bench)
{
	struct detect_result result;

	detect_frame_begin(bench->ours, canvas_view(&bench->frame));
	for (int i = 0; i < bench->n; i++)
		detect_image(bench->ours, bench->conditions[i].template_, &bench->conditions[i].query, &result);
}

static double ms_since(int64_t begin)
{
	return (double)(bench_cpu_ns() - begin) / NSEC_PER_MSEC;
}

static double run_ours(struct bench *bench)
{
	int64_t begin = bench_cpu_ns();

	turn_ours(bench);
	return ms_since(begin);
}

static void turn_theirs(struct bench *bench)
{
#ifdef HAVE_OPENCV
	const struct canvas *f = &bench->frame;
	int x, y;

	if (bench->whole_gray)
		opencv_gray(bench->theirs, f->pixels, f->width, f->height, f->stride);
	for (int i = 0; i < bench->n; i++) {
		struct rect a = bench->conditions[i].looked_at;
		if (!bench->whole_gray) {
			opencv_gray(bench->theirs, f->pixels + a.top * f->stride + 4 * (ptrdiff_t)a.left,
				    a.right - a.left, a.bottom - a.top, f->stride);
			a = (struct rect){0, 0, a.right - a.left, a.bottom - a.top};
		}
		opencv_match(bench->theirs, bench->conditions[i].opencv, a.left, a.top, a.right, a.bottom, &x, &y);
	}
#else
	(void)bench;
#endif
}

static double run_theirs(struct bench *bench)
{
#ifdef HAVE_OPENCV
	int64_t begin = bench_cpu_ns();

	turn_theirs(bench);
	return ms_since(begin);
#else
	(void)bench;
	return 0;
#endif
}

// OpenCV's times do not depend on our kernels: they are measured with the first set and kept, in the order of asking.
static struct {
	double ms[1024];
	size_t count, next;
	bool known;
} theirs;

static double known_or_kept(double ms)
{
	if (theirs.known)
		return theirs.ms[theirs.next++];
	if (theirs.count < ARRAY_SIZE(theirs.ms))
		theirs.ms[theirs.count++] = ms;
	return ms;
}

static double theirs_ms(struct bench *bench, int turns)
{
	double best = INFINITY;

	for (int i = 0; i < turns && !theirs.known; i++)
		best = MIN(best, run_theirs(bench));
	return known_or_kept(best);
}

static struct times measure(struct bench *bench, int our_turns, int their_turns)
{
	struct times best = {INFINITY, INFINITY};

	best.theirs_ms = theirs_ms(bench, their_turns);
	for (int i = 0; i < our_turns; i++)
		best.ours_ms = MIN(best.ours_ms, run_ours(bench));
	return best;
}

static double turn_ms(struct bench *bench, void (*turn)(struct bench *bench))
{
	int64_t begin = bench_cpu_ns();

	for (int i = 0; i < SMALL_TURNS; i++)
		turn(bench);
	return ms_since(begin) / SMALL_TURNS;
}

// For what takes microseconds, where one reading of the clock errs by more: many turns a reading, both sides in turn,
// and the best reading of each.
static struct times measure_small(struct bench *bench)
{
	struct times best = {INFINITY, INFINITY};

	for (int round = 0; round < SMALL_ROUNDS; round++) {
		best.ours_ms = MIN(best.ours_ms, turn_ms(bench, turn_ours));
		if (!theirs.known)
			best.theirs_ms = MIN(best.theirs_ms, turn_ms(bench, turn_theirs));
	}
	best.theirs_ms = known_or_kept(best.theirs_ms);
	return best;
}

// ---- templates ----------------------------------------------------------------------------------------------------

// A piece with something on it: nobody looks for a flat one.
static struct canvas interesting(const struct canvas *from, struct dice *dice, int width, int height, int *ret_x,
				 int *ret_y)
{
	for (int turn = 0;; turn++) {
		int x = dice_between(dice, 240, from->width - width - 240),
		    y = dice_between(dice, 240, from->height - height - 240);
		struct canvas cut = canvas_crop(from, (struct rect){x, y, x + width, y + height}, 0);
		int64_t sum = 0, squares = 0, n = (int64_t)width * height;

		for (int j = 0; j < height; j++) {
			for (int i = 0; i < width; i++) {
				int v = cut.pixels[j * cut.stride + 4 * i + 1];
				sum += v;
				squares += v * v;
			}
		}
		if (turn > 1000 || n * squares - sum * sum > 150 * n * n) {
			*ret_x = x;
			*ret_y = y;
			return cut;
		}
		canvas_free(&cut);
	}
}

/// Where absent templates are cut from: the same kind of picture, another one.
static struct canvas foreign(enum scene scene, const struct canvas *frame)
{
	struct canvas other = canvas_new(frame->width, frame->height, 0);

	scene_draw(scene, 99, &other);
	return other;
}

static struct canvas frame_of(enum scene scene, int width, int height)
{
	struct canvas frame = canvas_new(width, height, 0);

	scene_draw(scene, 7, &frame);
	return frame;
}

// ---- cases --------------------------------------------------------------------------------------------------------

struct sums {
	struct ratios ten, one, hard, worst;
};

static void fill_screen_conditions(struct bench *bench, enum scene scene, struct dice *dice, double threshold)
{
	struct canvas other = foreign(scene, &bench->frame);
	int x, y;

	for (int i = 0; i < 10; i++) {
		const int *size = template_sizes[i % 4];
		struct canvas image = interesting(i % 2 ? &other : &bench->frame, dice, size[0], size[1], &x, &y);
		add_condition(bench, canvas_view(&image), (struct rect){0, 0, bench->frame.width, bench->frame.height},
			      false, threshold);
		canvas_free(&image);
	}
	canvas_free(&other);
}

static struct times single_conditions(const struct bench *bench, struct ratios *ratios)
{
	struct bench single = *bench;
	struct times sum = {0};
	double gray;

	single.n = 0;
	gray = theirs_ms(&single, 2);
	single.n = 1;
	for (int i = 0; i < bench->n; i++) {
		int width, height;
		single.conditions[0] = bench->conditions[i];
		struct times one = measure(&single, 2, 2);
		detect_template_size(single.conditions[0].template_, &width, &height);
		printf("#   %3dx%-3d %s  ours %7.2f ms, OpenCV %8.2f ms\n", width, height,
		       i % 2 ? "absent " : "present", one.ours_ms, one.theirs_ms);
		note(ratios, one);
		sum.theirs_ms += one.theirs_ms - gray;
	}
	sum.theirs_ms += gray;
	return sum;
}

// OpenCV's time for ten conditions on a frame is that of its parts: one conversion, ten matches.
static void whole_screen(enum scene scene, int width, int height, double threshold, struct sums *sums)
{
	bool hard = scene == SCENE_TEXT || threshold > 10, noise = scene == SCENE_NOISE;
	struct dice dice = {(uint64_t)scene};
	struct bench bench;
	struct times ten;

	bench_begin(&bench, frame_of(scene, width, height));
	fill_screen_conditions(&bench, scene, &dice, threshold);
	printf("# %dx%d %s %.0f %%\n", width, height, scene_name(scene), threshold);
	ten = single_conditions(&bench, noise ? &sums->worst : hard ? &sums->hard : &sums->one);
	ten.ours_ms = run_ours(&bench);
	ten.ours_ms = MIN(ten.ours_ms, run_ours(&bench));
	printf("#   all ten          ours %7.2f ms, OpenCV %8.2f ms\n", ten.ours_ms, ten.theirs_ms);
	note(noise ? &sums->worst : hard ? &sums->hard : &sums->ten, ten);
	canvas_free(&bench.frame);
	bench_end(&bench);
}

static void whole_screens(int width, int height, struct sums *sums)
{
	for (enum scene scene = SCENE_DESKTOP; scene <= SCENE_NOISE; scene++)
		for (int threshold = 10; threshold <= 20; threshold += 10)
			whole_screen(scene, width, height, threshold, sums);
}

static void small_areas(struct ratios *area, struct ratios *near, struct ratios *exact)
{
	struct ratios *const into[] = {area, near, exact};

	for (enum scene scene = SCENE_DESKTOP; scene <= SCENE_NOISE; scene++) {
		struct bench bench;
		struct dice dice = {(uint64_t)scene};
		bench_begin(&bench, frame_of(scene, 1920, 1080));
		bench.whole_gray = false;
		struct canvas other = foreign(scene, &bench.frame);
		for (int i = 0; i < 12; i++) {
			int x, y, kind = i % 3;
			struct canvas image = interesting(i / 3 % 2 ? &other : &bench.frame, &dice, 64, 64, &x, &y);
			struct rect areas[] = {{x - 100, y - 120, x + 200, y + 180},
					       {x - 10, y - 10, x + 74, y + 74},
					       {x, y, x + 64, y + 64}};
			add_condition(&bench, canvas_view(&image), areas[kind], kind == 2, 10);
			struct times times = measure_small(&bench);
			printf("# %-8s %s %s  ours %8.4f ms, OpenCV %8.4f ms\n", scene_name(scene),
			       kind == 0   ? "300x300"
			       : kind == 1 ? "+-10 px"
					   : "exact  ",
			       i / 3 % 2 ? "absent " : "present", times.ours_ms, times.theirs_ms);
			note(into[kind], times);
			drop_conditions(&bench);
			canvas_free(&image);
		}
		canvas_free(&other);
		canvas_free(&bench.frame);
		bench_end(&bench);
	}
}

static void unchanged_screen(struct ratios *ratios)
{
	for (enum scene scene = SCENE_DESKTOP; scene <= SCENE_ICONS; scene++) {
		struct bench bench;
		struct dice dice = {(uint64_t)scene};
		bench_begin(&bench, frame_of(scene, 1920, 1080));
		bench.remember = true;
		fill_screen_conditions(&bench, scene, &dice, 10);
		run_ours(&bench);
		struct times times = measure(&bench, 5, 2);
		printf("# unchanged %-8s ten conditions: ours %7.3f ms, OpenCV %8.2f ms\n", scene_name(scene),
		       times.ours_ms, times.theirs_ms);
		note(ratios, times);
		canvas_free(&bench.frame);
		bench_end(&bench);
	}
}

// ---- sessions -----------------------------------------------------------------------------------------------------

enum session { MOSTLY_STILL, SCROLLING, VIDEO, SESSIONS };

static void draw_next(struct bench *bench, enum session session, int number, const struct canvas *tall)
{
	struct canvas *f = &bench->frame;
	struct canvas piece;

	switch (session) {
	case MOSTLY_STILL:
		// A clock's second, and now and then a dialog.
		canvas_fill(f, (struct rect){1800, 1060, 1860, 1074}, (uint32_t)(number / 4) * 0x050a0f);
		if (number % 10 == 9)
			canvas_fill(f, (struct rect){600, 400, 1000, 600}, (uint32_t)number * 0x010203);
		break;
	case SCROLLING:
		piece = canvas_crop(tall, (struct rect){0, number * 12, 1920, number * 12 + 1000}, 0);
		canvas_paste(f, &piece, 0, 40);
		canvas_free(&piece);
		break;
	default:
		piece = canvas_crop(tall, (struct rect){number * 5, number * 3, number * 5 + 1280, number * 3 + 720},
				    0);
		canvas_paste(f, &piece, 320, 180);
		canvas_free(&piece);
		break;
	}
}

static void fill_session(struct bench *bench, struct dice *dice, const struct canvas *other)
{
	for (int i = 0; i < 10; i++) {
		const int *size = template_sizes[i % 3];
		int x, y;
		struct canvas image = interesting(i % 2 ? other : &bench->frame, dice, size[0], size[1], &x, &y);
		struct rect area = {0, 0, 1920, 1080};
		if (i >= 8)
			area = (struct rect){x, y, x + size[0], y + size[1]};
		else if (i >= 4)
			area = (struct rect){x - 100, y - 100, x + 200, y + 200};
		add_condition(bench, canvas_view(&image), area, i >= 8, 10);
		canvas_free(&image);
	}
}

static void drawn_session(enum session session, struct ratios *ratios)
{
	static const char *const names[] = {"mostly still", "scrolling", "video"};
	enum scene scene = session == SCROLLING ? SCENE_TEXT : SCENE_DESKTOP;
	struct canvas tall = canvas_new(1920, 1700, 0), other;
	struct bench bench;
	struct dice dice = {(uint64_t)session};
	struct times times = {0};

	scene_draw(session == VIDEO ? SCENE_PHOTO : SCENE_TEXT, 3, &tall);
	bench_begin(&bench, frame_of(scene, 1920, 1080));
	bench.remember = true;
	other = foreign(scene, &bench.frame);
	fill_session(&bench, &dice, &other);
	for (int i = 0; i < SESSION_FRAMES; i++) {
		draw_next(&bench, session, i, &tall);
		times.ours_ms += run_ours(&bench);
		times.theirs_ms += theirs_ms(&bench, 1);
	}
	printf("# session, %s: %d frames of ten conditions: ours %8.2f ms, OpenCV %9.2f ms\n", names[session],
	       SESSION_FRAMES, times.ours_ms, times.theirs_ms);
	note(ratios, times);
	canvas_free(&tall);
	canvas_free(&other);
	canvas_free(&bench.frame);
	bench_end(&bench);
}

static int only_png(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && !strcmp(entry->d_name + length - 4, ".png");
}

static struct picture *read_png(const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct picture *picture;
	struct error error;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (png_read(AT_FDCWD, path, &picture, &error) < 0) {
		fprintf(stderr, "bench_detect: %s: %s\n", path, error.message);
		exit(EXIT_FAILURE);
	}
	return picture;
}

static void demo_conditions(struct bench *bench, const char *folder)
{
	struct dirent **names;
	int n = scandir(folder, &names, only_png, alphasort);

	for (int i = 0; i < n; i++) {
		if (bench->n < CONDITIONS_MAX) {
			struct picture *image = read_png(folder, names[i]->d_name);
			add_condition(bench, picture_view(image),
				      (struct rect){0, 0, bench->frame.width, bench->frame.height}, false, 10);
			picture_free(image);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

// The demo's recorded desktop, all its templates looked for on the whole screen.
static void demo_session(struct ratios *ratios)
{
	const char *top = getenv("top_srcdir");
	char folder[PATH_MAX - 16], frames[PATH_MAX];
	struct dirent **names;
	struct bench bench = {0};
	struct times times = {0};
	int n;

	snprintf(folder, sizeof(folder), "%s/docs/demo", top ? top : ".");
	snprintf(frames, sizeof(frames), "%s/frames", folder);
	n = scandir(frames, &names, only_png, alphasort);
	for (int i = 0; i < n; i++) {
		struct picture *picture = read_png(frames, names[i]->d_name);
		struct canvas frame = {picture->pixels, picture->width, picture->height, picture->stride};
		if (i == 0) {
			bench_begin(&bench, frame);
			bench.remember = true;
			demo_conditions(&bench, folder);
		}
		bench.frame = frame;
		times.ours_ms += run_ours(&bench);
		times.theirs_ms += theirs_ms(&bench, 1);
		picture_free(picture);
		free(names[i]);
	}
	if (n <= 0)
		return;
	free(names);
	printf("# session, the demo: %d frames of %d conditions: ours %8.2f ms, OpenCV %9.2f ms\n", n, bench.n,
	       times.ours_ms, times.theirs_ms);
	note(ratios, times);
	bench_end(&bench);
}

// ---- the table ----------------------------------------------------------------------------------------------------

static void print_areas(struct ratios *area, struct ratios *near, struct ratios *exact)
{
	print_ratios("area of 300x300, 64x64", area, "4x / 8x");
	print_ratios("area of +-10 px, 64x64", near, "8x / 15x");
	print_ratios("exact (nine positions), 64x64", exact, "10x / 50x");
}

static void run_areas(const struct kernels *set)
{
	struct ratios area = {0}, near = {0}, exact = {0};

	kernels_use(set);
	small_areas(&area, &near, &exact);
	printf("\nkernels: %s\n\n", set->name);
	print_head();
	print_areas(&area, &near, &exact);
	kernels_use(NULL);
}

static void run_table(const struct kernels *set)
{
	struct sums sums = {0};
	struct ratios area = {0}, near = {0}, exact = {0}, unchanged = {0}, demo = {0}, sessions[SESSIONS] = {0};

	kernels_use(set);
	printf("\n# kernels: %s\n", set->name);
	whole_screens(1920, 1080, &sums);
	whole_screens(1280, 720, &sums);
	small_areas(&area, &near, &exact);
	unchanged_screen(&unchanged);
	demo_session(&demo);
	for (enum session s = MOSTLY_STILL; s < SESSIONS; s++)
		drawn_session(s, &sessions[s]);
	printf("\nkernels: %s\n\n", set->name);
	print_head();
	print_ratios("1080p, 720p, ordinary content, 10 %, ten on a frame", &sums.ten, "7x / 10x");
	print_ratios("the same, one on a frame", &sums.one, "4.5x / 7x");
	print_ratios("text page, or 20 %", &sums.hard, "4x / 6x");
	print_ratios("white noise", &sums.worst, "1x / 2x");
	print_areas(&area, &near, &exact);
	print_ratios("unchanged 1080p, ten on a frame, a pass", &unchanged, "100x/1,000x");
	print_ratios("session: the demo", &demo, "10x / 50x");
	print_ratios("session: mostly still", &sessions[MOSTLY_STILL], "10x / 50x");
	print_ratios("session: scrolling", &sessions[SCROLLING], "4x / 8x");
	print_ratios("session: video", &sessions[VIDEO], "4x / 8x");
	kernels_use(NULL);
}

// ---- VERIFY=1 -----------------------------------------------------------------------------------------------------

// Looks at every position, without any bound: the same matcher with all it could prune by taken away.
static void look_everywhere(struct bench *bench, struct condition *c, struct detect_result *ret)
{
	struct detect_template whole = *c->template_;

	for (int shift = 0; shift <= BOX_SHIFT_MAX; shift++)
		c->template_->sets[shift].columns = 0;
	for (int band = 0; band < BANDS; band++)
		c->template_->bands[band].columns = 0;
	detect_image(bench->ours, c->template_, &c->query, ret);
	*c->template_ = whole;
}

#ifdef HAVE_OPENCV
// OpenCV's best is another one than ours: is it, by the textbook, one that we should have found? (OpenCV knows no
// colour, and in nearly flat windows it is off by up to 0.04.)
static bool textbook_sides_with_us(const struct bench *bench, const struct condition *c,
				   const struct detect_result *got, int x, int y, double best, const char *label)
{
	const struct detect_template *t = c->template_;
	struct picture_view image = {t->pixels, t->width, t->height, 4 * (ptrdiff_t)t->width};
	struct rect window = {x, y, x + t->width, y + t->height};
	struct textbook book;
	bool missed;

	textbook_look(canvas_view(&bench->frame), image, window, c->query.threshold, &book);
	missed = book.found && (!got->found || book.score > got->score + 1e-6);
	printf("%s: OpenCV has %.6f at %d,%d; there the textbook has %.6f, colour off by %.2f %%: %s; we have %s %.6f: "
	       "%s\n",
	       label, best, x, y, book.best_score, book.best_colour, book.found ? "to be found" : "not to be found",
	       got->found ? "found" : "nothing above", got->found ? got->score : 1 - c->query.threshold / 100,
	       missed ? "WRONG" : "right");
	textbook_free(&book);
	return !missed;
}
#endif

static bool verify_condition(struct bench *bench, struct condition *c, const char *label)
{
	struct detect_result got, all;

	detect_image(bench->ours, c->template_, &c->query, &got);
	look_everywhere(bench, c, &all);
	bool same =
		got.found == all.found && got.x == all.x && got.y == all.y && (!got.found || got.score == all.score);
	if (!same)
		printf("%s: found %d at %d,%d; looking everywhere: %d at %d,%d\n", label, got.found, got.x, got.y,
		       all.found, all.x, all.y);
#ifdef HAVE_OPENCV
	int x, y;
	double best = opencv_match(bench->theirs, c->opencv, 0, 0, bench->frame.width, bench->frame.height, &x, &y);
	double wanted = 1 - c->query.threshold / 100;
	if (got.found ? fabs(best - got.score) > 1e-3 : best > wanted + 1e-3)
		same = textbook_sides_with_us(bench, c, &got, x, y, best, label) && same;
#endif
	return same;
}

static int verify(void)
{
	int wrong = 0, count = 0;

	for (enum scene scene = SCENE_DESKTOP; scene <= SCENE_NOISE; scene++) {
		for (int threshold = 10; threshold <= 20; threshold += 10) {
			struct bench bench;
			struct dice dice = {(uint64_t)scene};
			bench_begin(&bench, frame_of(scene, 1280, 720));
			fill_screen_conditions(&bench, scene, &dice, threshold);
			run_ours(&bench);
			run_theirs(&bench);
			for (int i = 0; i < bench.n; i++, count++) {
				char label[80];
				snprintf(label, sizeof(label), "%s, %d %%, condition %d", scene_name(scene), threshold,
					 i);
				wrong += !verify_condition(&bench, &bench.conditions[i], label);
			}
			canvas_free(&bench.frame);
			bench_end(&bench);
		}
	}
	printf("%d of %d searches differ from looking everywhere, or from the textbook where OpenCV does\n", wrong,
	       count);
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const struct kernels *sets[8];
	size_t n = kernels_available(sets, ARRAY_SIZE(sets));
	bool areas = false;

	setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef HAVE_OPENCV
	printf("# OpenCV %s, %s\n", opencv_version(),
	       getenv("GLIBC_TUNABLES") ? "malloc told to keep its memory" : "stock malloc");
#endif
	if (getenv("VERIFY") && strcmp(getenv("VERIFY"), "0"))
		return verify();
	for (int i = 1; i < argc; i++) {
		areas = areas || !strcmp(argv[i], "areas");
		n = strcmp(argv[i], "best") ? n : 1;
	}
	for (size_t i = 0; i < n; i++) {
		(areas ? run_areas : run_table)(sets[i]);
		theirs.known = true;
		theirs.next = 0;
	}
	return EXIT_SUCCESS;
}
