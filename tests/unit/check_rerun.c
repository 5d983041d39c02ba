// SPDX-License-Identifier: GPL-3.0-or-later
// A recorded run that is played again decides the same: the same checks with the same results, the same occurrences,
// counters, event states and clicks, whatever frames, times, broadcasts, refreshes and stops there were. Scenarios and
// worlds are random, with fixed seeds; the world's pictures decide what a check finds, as they do in earnest.
#include "daemon/screen/screen.h"
#include "proto/frame.h"
#include "proto/recording.pb-c.h"
#include "tests/support/engine_fakes.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define MS NSEC_PER_MSEC
#define WIDTH 16
#define HEIGHT 8

static char folder[PATH_MAX];

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/condprof-rerun-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

// --- the world -------------------------------------------------------------------------------------------------------

// Two buffers, so that a picture stays as it is until the next one is taken.
struct world {
	struct screen screen;
	uint8_t pixels[2][WIDTH * HEIGHT * 4];
	int now;
	uint64_t serial;
	struct stage *stage;
	int64_t stop_in_check; ///< which check of all; 0: none
	int64_t checks;
};

static enum screen_status world_wait(struct screen *screen, const struct screen_wait *wait)
{
	(void)screen, (void)wait;
	return random() % 6 ? SCREEN_OK : SCREEN_STALLED;
}

static enum screen_status world_get(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct world *world = (struct world *)screen;

	(void)wait;
	if (!world->serial || random() % 2) {
		memcpy(world->pixels[!world->now], world->pixels[world->now], sizeof(world->pixels[0]));
		world->now = !world->now;
		for (long n = random() % 3; n > 0; n--)
			world->pixels[world->now][random() % (WIDTH * HEIGHT * 4)] = (uint8_t)random();
		world->serial++;
	}
	*ret = (struct frame){.view = {world->pixels[world->now], WIDTH, HEIGHT, (ptrdiff_t)WIDTH * 4},
			      .serial = world->serial};
	return SCREEN_OK;
}

static enum screen_status world_refresh(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	return random() % 5 ? world_get(screen, wait, ret) : SCREEN_STALLED;
}

static const struct screen_ops world_ops = {
	.scheme = "world", .summary = "for tests", .wait = world_wait, .get = world_get, .refresh = world_refresh};

// What the picture says of a condition.
static uint32_t look_at(const struct picture_view view, uint32_t condition)
{
	uint32_t hash = condition * 2654435761U + 97;

	for (int i = 0; i < view.height * view.width; i++) {
		const uint8_t *pixel = view.pixels + i / view.width * view.stride + (ptrdiff_t)(i % view.width) * 4;

		for (int k = 0; k < 3; k++)
			hash = (hash ^ pixel[k]) * 16777619U;
	}
	return hash >> 8;
}

static void see(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	struct stage *stage = detector->context;
	uint32_t seen = look_at(stage->processor->frame.view, condition);

	*ret = (struct detect_result){
		.evaluable = seen % 16 != 0,
		.found = seen % 2,
		.has_score = true,
		.score = seen % 1000 / 1000.0,
		.x = (int)(seen % 500),
		.y = (int)(seen % 300),
		.place = {0, 0, 500, 300},
	};
}

// The same, in a world where time passes and somebody may stop the session.
static void see_live(struct fake_detector *detector, uint32_t condition, struct detect_result *ret)
{
	struct stage *stage = detector->context;
	struct world *world = (struct world *)stage->params.screen;

	see(detector, condition, ret);
	stage->clock.virtual_now_ns += random() % (3 * MS);
	if (++world->checks != world->stop_in_check)
		return;
	ending_request(&stage->ending, CONDPROF__END_REASON__REASON_STOPPED, CONDPROF__SESSION_RESULT__SESSION_OK,
		       NULL);
	*ret = (struct detect_result){.stopped = true};
}

// --- scenarios -------------------------------------------------------------------------------------------------------

static struct maker *scenario_of(unsigned int seed)
{
	struct maker *maker;

	srandom(seed);
	maker = maker_random();
	maker->scenario.randomize = random() % 2;
	if (random() % 4)
		maker_keeps_session(maker);
	maker_broadcast(maker, "go");
	return maker;
}

// --- what came of it -------------------------------------------------------------------------------------------------

struct transcript {
	char *text;
	size_t size;
	int64_t passes;
};

static void write_changes(FILE *out, size_t n_counters, Condprof__CounterStateChange **counters, size_t n_events,
			  Condprof__EventStateChange **events, size_t n_actions, Condprof__ActionResult **actions)
{
	for (size_t i = 0; i < n_counters; i++)
		fprintf(out, " %s %a to %a", counters[i]->name, counters[i]->old_value, counters[i]->new_value);
	for (size_t i = 0; i < n_events; i++)
		fprintf(out, " event %d is %d", (int)events[i]->event_id, events[i]->new_value);
	for (size_t i = 0; i < n_actions; i++)
		fprintf(out, " action %d at %d,%d%s", actions[i]->kind, actions[i]->x, actions[i]->y,
			actions[i]->skipped ? " skipped" : "");
}

static void write_message(FILE *out, const Condprof__DebugReportMessage *message)
{
	const Condprof__ImageEventMessage *screen = message->image_event;
	const Condprof__TriggerEventMessage *trigger = message->trigger_event;

	if (message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_IMAGE_EVENT) {
		fprintf(out, "pass %d: %d:", (int)screen->pass, (int)screen->event_id);
		for (size_t i = 0; i < screen->n_condition_results; i++)
			fprintf(out, " %d %d %a", (int)screen->condition_results[i]->condition_id,
				screen->condition_results[i]->is_fulfilled,
				screen->condition_results[i]->confidence_rate);
		write_changes(out, screen->n_counter_changes, screen->counter_changes, screen->n_event_state_changes,
			      screen->event_state_changes, screen->n_actions, screen->actions);
	} else if (message->payload_case == CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_TRIGGER_EVENT) {
		fprintf(out, "pass %d: %d:", (int)trigger->pass, (int)trigger->event_id);
		for (size_t i = 0; i < trigger->n_condition_results; i++)
			fprintf(out, " %d %d", (int)trigger->condition_results[i]->condition_id,
				trigger->condition_results[i]->is_fulfilled);
		write_changes(out, trigger->n_counter_changes, trigger->counter_changes, trigger->n_event_state_changes,
			      trigger->event_state_changes, trigger->n_actions, trigger->actions);
	}
	fputc('\n', out);
}

static struct transcript transcribe(struct stage *stage)
{
	struct transcript ret = {.passes = stage->processor->progress.passes};
	FILE *out = open_memstream(&ret.text, &ret.size);

	for (size_t i = 0; i < fake_recorder_state()->count; i++)
		write_message(out, fake_recorder_state()->messages[i]);
	for (uint32_t i = 0; i < stage->maker->scenario.n_conditions; i++) {
		struct condition_figures f;

		timing_condition_figures(stage->timing, i, &f);
		fprintf(out, "condition %u: %d checks, %d fulfilled, %d not evaluable, %d matches\n", i, (int)f.checks,
			(int)f.fulfilled, (int)f.not_evaluable, (int)f.matches);
	}
	for (uint32_t i = 0; i < stage->maker->scenario.n_events; i++) {
		struct event_figures e;

		timing_event_figures(stage->timing, i, &e);
		fprintf(out, "event %u: %d, %d; %d %d %d\n", i, (int)e.evaluated, (int)e.fulfilled,
			(int)e.not_reached[0], (int)e.not_reached[1], (int)e.ended_before);
	}
	fprintf(out, "%d passes\ninput: %s\n", (int)ret.passes, stage->input.log);
	fclose(out);
	return ret;
}

// --- recording and playing -------------------------------------------------------------------------------------------

static struct tape *open_tape(uint64_t random_seed)
{
	static const struct tape_broadcast broadcasts[] = {{"go", CONDPROF__BUS__BUS_NONE}};
	char path[PATH_MAX + 8];
	struct tape_params params = {
		.path = path,
		.max_bytes = INT64_MAX,
		.scenario_name = "random",
		.random_seed = random_seed,
		.broadcasts = broadcasts,
		.n_broadcasts = 1,
	};
	struct error error = {0};
	struct tape *tape;

	snprintf(path, sizeof(path), "%s/r", folder);
	ck_assert_msg(tape_open(&params, &tape, &error) == 0, "%s", error.message);
	return tape;
}

static struct transcript record(unsigned int seed)
{
	struct stage *stage = stage_new(scenario_of(seed));
	struct world world = {.screen = {.ops = &world_ops, .live = random() % 2}, .stage = stage};
	struct tape_figures figures;
	struct transcript ret;
	uint64_t random_seed = (uint64_t)random();

	coupled_clock_init(&stage->clock);
	if (random() % 3 == 0) {
		coupled_clock_stopped = &stage->ending; // in a pause, a press or the limiter's wait
		coupled_clock_stop_at_ns = NSEC_PER_SEC + random() % (1000 * MS);
	}
	world.stop_in_check = random() % 3 ? 0 : 1 + random() % 60;
	stage->params.max_duration_ns = random() % 3 ? 0 : 1 + random() % (800 * MS);
	stage->detector->context = stage;
	stage->detector->on_check = see_live;
	stage->params.screen = &world.screen;
	stage->params.random_seed = random_seed;
	stage->params.period_ns = random() % 2 ? 20 * MS : 0;
	stage->params.max_passes = 60;
	stage->params.tape = open_tape(random_seed);
	stage_begin(stage);
	do {
		tape_wait_room(stage->params.tape, -1); // so that a live screen's frames are not dropped either
		if (random() % 5 == 0)
			processor_emit(stage->processor, "go");
	} while (stage_pass(stage) && processor_limit(stage->processor));
	tape_finish(stage->params.tape);
	tape_figures(stage->params.tape, &figures);
	ck_assert_int_eq(figures.dropped_frames + figures.dropped_passes, 0);
	ret = transcribe(stage);
	tape_free(stage->params.tape);
	stage_free(stage);
	return ret;
}

static struct transcript play(unsigned int seed)
{
	struct stage *stage = stage_new(scenario_of(seed));
	struct screen_wait wait = {.wake_fd = -1, .deadline_ns = INT64_MAX};
	struct error error = {0};
	char uri[PATH_MAX + 32];
	struct screen *screen;
	struct transcript ret;

	snprintf(uri, sizeof(uri), "replay:%s/r?clock=virtual", folder);
	ck_assert_msg(screen_open(uri, &(struct screen_config){0}, &wait, &screen, &error) == 0, "%s", error.message);
	engine_clock_init_monotonic(&stage->clock);
	stage->detector->context = stage;
	stage->detector->on_check = see;
	stage->params.screen = screen;
	stage->params.random_seed = screen->random_seed;
	stage_begin(stage);
	while (stage_pass(stage) && processor_limit(stage->processor))
		;
	ret = transcribe(stage);
	screen_close(screen);
	stage_free(stage);
	return ret;
}

// Tells the first line that differs.
static void compare(const char *played, const char *recorded)
{
	while (*recorded) {
		size_t a = strcspn(played, "\n"), b = strcspn(recorded, "\n");

		if (a != b || memcmp(played, recorded, a) != 0)
			ck_abort_msg("played: %.*s\nrecorded: %.*s", (int)a, played, (int)b, recorded);
		played += a + 1;
		recorded += b + 1;
	}
}

START_TEST(test_a_played_run_decides_the_same)
{
	struct transcript recorded = record((unsigned int)_i + 1);

	for (int i = 0; i < 2; i++) {
		struct transcript played = play((unsigned int)_i + 1);

		compare(played.text, recorded.text);
		free(played.text);
	}
	free(recorded.text);
}
END_TEST

// The scenario may be another one: times go on as they were, nothing hangs, and it ends with the recording.
START_TEST(test_another_scenario_over_the_same_recording)
{
	struct transcript recorded = record((unsigned int)_i + 1), played = play((unsigned int)_i + 1000);

	ck_assert_int_le(played.passes, 60);
	free(played.text);
	free(recorded.text);
}
END_TEST

// --- recordings that nobody recorded ---------------------------------------------------------------------------------

static void append(FILE *out, Condprof__RecordingMessage *message)
{
	size_t size = frame_size(&message->base);
	uint8_t *bytes = malloc(size);

	ck_assert_ptr_nonnull(bytes);
	frame_pack(&message->base, bytes);
	ck_assert_uint_eq(fwrite(bytes, 1, size, out), size);
	free(bytes);
}

static void append_header(FILE *out)
{
	Condprof__RecordingMessage message = CONDPROF__RECORDING_MESSAGE__INIT;
	Condprof__RecordingHeader header = CONDPROF__RECORDING_HEADER__INIT;

	header.has_version = true;
	header.version = 1;
	message.kind_case = CONDPROF__RECORDING_MESSAGE__KIND_HEADER;
	message.header = &header;
	append(out, &message);
}

/// Whole ones, without their files.
static void append_frames(FILE *out, uint32_t count, int width, int height)
{
	Condprof__RecordingMessage message = CONDPROF__RECORDING_MESSAGE__INIT;
	Condprof__RecordedFrame frame = CONDPROF__RECORDED_FRAME__INIT;

	frame.has_number = frame.has_width = frame.has_height = true;
	frame.width = width;
	frame.height = height;
	message.kind_case = CONDPROF__RECORDING_MESSAGE__KIND_FRAME;
	message.frame = &frame;
	for (frame.number = 1; frame.number <= count; frame.number++)
		append(out, &message);
}

static void write_frame(uint32_t number, int width, int height)
{
	char name[PATH_MAX + 32];
	struct picture *picture;
	uint8_t *png;
	size_t size;

	ck_assert_int_eq(picture_new(width, height, &picture), 0);
	ck_assert_int_eq(png_encode(picture_view(picture), &png, &size, NULL), 0);
	picture_free(picture);
	snprintf(name, sizeof(name), "%s/r/frame-%08u.png", folder, number);
	FILE *file = fopen(name, "w");
	ck_assert(file && fwrite(png, 1, size, file) == size && fclose(file) == 0);
	free(png);
}

static void append_pass(FILE *out, int64_t number, uint32_t *frames, size_t count)
{
	Condprof__RecordingMessage message = CONDPROF__RECORDING_MESSAGE__INIT;
	Condprof__RecordedPass pass = CONDPROF__RECORDED_PASS__INIT;

	pass.has_number = true;
	pass.number = number;
	pass.frames = frames;
	pass.n_frames = count;
	message.kind_case = CONDPROF__RECORDING_MESSAGE__KIND_PASS;
	message.pass = &pass;
	append(out, &message);
}

static FILE *begin_recording(void)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/r", folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/r/recording.pb", folder);
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	append_header(out);
	return out;
}

/// @return passes until it is refused, with these words
static int play_until_refused(const char *words)
{
	struct screen_wait wait = {.wake_fd = -1, .deadline_ns = INT64_MAX};
	struct error error = {0};
	struct screen_pass pass;
	char uri[PATH_MAX + 32];
	struct screen *screen;
	enum screen_status status;
	int passes = 0;

	snprintf(uri, sizeof(uri), "replay:%s/r?clock=virtual", folder);
	ck_assert_msg(screen_open(uri, &(struct screen_config){0}, &wait, &screen, &error) == 0, "%s", error.message);
	while ((status = screen->ops->pass(screen, &wait, &pass)) == SCREEN_OK)
		passes++;
	ck_assert_int_eq(status, SCREEN_FAILED);
	ck_assert_msg(strstr(screen->failure.message, words) != NULL, "%s", screen->failure.message);
	screen_close(screen);
	return passes;
}

// Sixteen gigabytes, if they were there: they are refused before any file is looked for.
START_TEST(test_a_pass_of_many_large_frames)
{
	FILE *out = begin_recording();
	uint32_t frames[64];

	for (uint32_t i = 0; i < 64; i++)
		frames[i] = i + 1;
	append_frames(out, 64, 8192, 8192);
	append_pass(out, 1, frames, 64);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(play_until_refused("more pictures than one may have"), 0);
}
END_TEST

START_TEST(test_a_broadcast_again_and_again)
{
	Condprof__RecordingMessage message = CONDPROF__RECORDING_MESSAGE__INIT;
	Condprof__RecordingHeader header = CONDPROF__RECORDING_HEADER__INIT;
	Condprof__RecordedBroadcast go = CONDPROF__RECORDED_BROADCAST__INIT, *broadcasts[] = {&go};
	Condprof__RecordedPass pass = CONDPROF__RECORDED_PASS__INIT;
	FILE *out = begin_recording();

	rewind(out);
	header.has_version = true;
	header.version = 1;
	go.broadcast = (char *)"go";
	header.n_broadcasts = 1;
	header.broadcasts = broadcasts;
	message.kind_case = CONDPROF__RECORDING_MESSAGE__KIND_HEADER;
	message.header = &header;
	append(out, &message);
	message.kind_case = CONDPROF__RECORDING_MESSAGE__KIND_PASS;
	message.pass = &pass;
	pass.broadcasts = (uint32_t[]){0, 0};
	for (pass.n_broadcasts = 0; pass.n_broadcasts <= 2; pass.n_broadcasts++)
		append(out, &message);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(play_until_refused("it is damaged"), 2);
}
END_TEST

START_TEST(test_frames_that_go_back)
{
	FILE *out = begin_recording();

	append_frames(out, 3, 8, 8);
	for (uint32_t i = 1; i <= 3; i++)
		write_frame(i, 8, 8);
	append_pass(out, 1, (uint32_t[]){1, 3}, 2);
	append_pass(out, 2, (uint32_t[]){0, 3}, 2);
	append_pass(out, 3, (uint32_t[]){2}, 1);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(play_until_refused("go back"), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rerun");
	TCase *tcase = tcase_create("random");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, test_a_played_run_decides_the_same, 0, 100);
	tcase_add_loop_test(tcase, test_another_scenario_over_the_same_recording, 0, 20);
	tcase_add_test(tcase, test_a_pass_of_many_large_frames);
	tcase_add_test(tcase, test_a_broadcast_again_and_again);
	tcase_add_test(tcase, test_frames_that_go_back);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
