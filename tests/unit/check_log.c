// SPDX-License-Identifier: GPL-3.0-or-later
/// Log lines as they come out of fd 2, lost ones counted, and that nobody waits. Every test is a process of its own
/// with fd 2 turned into a pipe.
#include "config.h"

#include "daemon/log/repeats.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int reader = -1, stderr_before = -1;

static void catch_stderr(void)
{
	int ends[2];

	unsetenv("JOURNAL_STREAM");
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	stderr_before = dup(STDERR_FILENO);
	ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
	close(ends[1]);
	reader = ends[0];
}

static void restore_stderr(void)
{
	dup2(stderr_before, STDERR_FILENO);
	close(stderr_before);
	close(reader);
}

/// What was written until now; the caller made sure that it was.
static const char *caught(void)
{
	static char text[1024 * 1024];
	size_t at = 0;

	fcntl(reader, F_SETFL, O_NONBLOCK);
	for (ssize_t n = 0; (n = read(reader, text + at, sizeof(text) - 1 - at)) > 0;)
		at += (size_t)n;
	text[at] = '\0';
	return text;
}

START_TEST(direct_before_and_after)
{
	log_error("early %d", 1);
	ck_assert_str_eq(caught(), "<3>early 1\n");
	ck_assert_int_eq(log_start(), 0);
	log_line(LOG_LEVEL_NOTICE, 7, "in between");
	log_stop();
	ck_assert_str_eq(caught(), "<5>session 7: in between\n");
	log_info("late");
	ck_assert_str_eq(caught(), "<6>late\n");
	log_stop(); // harmless
	ck_assert_int_eq(log_start(), 0);
	log_info("again");
	log_stop();
	ck_assert_str_eq(caught(), "<6>again\n");
}
END_TEST

static int formatted;

static const char *counts_calls(void)
{
	formatted++;
	return "debug";
}

START_TEST(levels)
{
	ck_assert_int_eq(log_start(), 0);
	log_debug("%s", counts_calls());
	log_set_level(LOG_LEVEL_WARNING);
	log_info("no");
	log_warning("yes");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("%s", counts_calls());
	log_stop();
	ck_assert_str_eq(caught(), "<4>yes\n<7>debug\n");
	ck_assert_int_eq(formatted, 1);
}
END_TEST

START_TEST(one_line_whatever_is_in_it)
{
	char many[3000];

	memset(many, 'x', sizeof(many));
	many[sizeof(many) - 1] = '\0';
	ck_assert_int_eq(log_start(), 0);
	log_info("a\n<0>forged\x1b[2J\xff");
	log_info("%s", many);
	errno = ENOSPC;
	log_error("cannot write: %m");
	ck_assert_int_eq(errno, ENOSPC);
	log_stop();
	const char *text = caught();
	const char *first = "<6>a <0>forged [2J?\n<6>xxx", *last = "xxx…\n<3>cannot write: No space left on device\n";

	ck_assert_int_eq(strncmp(text, first, strlen(first)), 0);
	ck_assert_str_eq(text + strlen(text) - strlen(last), last);
	ck_assert_uint_lt(strlen(text), 1200);
}
END_TEST

static void *many_lines(void *name)
{
	for (int i = 0; i < 100; i++)
		log_info("%s %d", (const char *)name, i);
	return NULL;
}

/// Lines of 4 threads: none lost (they fit the queue), each thread's in order.
START_TEST(threads_keep_their_order)
{
	static const char *const names[] = {"ann", "bob", "cid", "dee"};
	pthread_t threads[4];
	int next[4] = {0}, at = 0, thread, number;
	char name[4];

	ck_assert_int_eq(log_start(), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, many_lines, (void *)(uintptr_t)names[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	log_stop();
	for (const char *text = caught(); sscanf(text, "<6>%3s %d\n%n", name, &number, &at) == 2; text += at) {
		for (thread = 0; strcmp(names[thread], name) != 0; thread++)
			ck_assert_int_lt(thread, 3);
		ck_assert_int_eq(number, next[thread]++);
	}
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(next[i], 100);
	ck_assert_uint_eq(log_lost(), 0);
}
END_TEST

static void *stop_log(void *unused)
{
	log_stop();
	return unused;
}

/// Nobody reads fd 2: lines are lost and counted, and no call waits; the count is said once somebody reads.
START_TEST(full_queue_loses_and_says_so)
{
	char filler[1000];
	int at = 0;
	unsigned long lines = 0, lost = 0;

	memset(filler, '.', sizeof(filler) - 1);
	filler[sizeof(filler) - 1] = '\0';
	ck_assert_int_eq(fcntl(reader, F_SETPIPE_SZ, 4096), 4096);
	ck_assert_int_eq(log_start(), 0);
	for (int i = 0; i < 2000; i++)
		log_info("%s", filler); // would hang here if anything waited: the pipe is never read
	ck_assert_uint_ge(log_lost(), 2000 - 512 - 5);
	pthread_t stopper;
	pthread_create(&stopper, NULL, stop_log, NULL);
	FILE *in = fdopen(dup(reader), "r");
	char line[1100];
	while (lines + lost < 2000 && fgets(line, sizeof(line), in)) {
		unsigned long said;

		if (sscanf(line, "<4>%lu log lines were lost: they came faster than they could be written\n%n", &said,
			   &at) == 1)
			lost += said;
		else
			lines++;
	}
	ck_assert_int_gt(at, 0);
	ck_assert_uint_eq(lines + lost, 2000);
	ck_assert_uint_eq(lost, log_lost());
	pthread_join(stopper, NULL);
	fclose(in);
}
END_TEST

START_TEST(stop_gives_up_on_a_stuck_stderr)
{
	struct timespec begin, end;
	char filler[1000];

	memset(filler, '.', sizeof(filler) - 1);
	filler[sizeof(filler) - 1] = '\0';
	ck_assert_int_eq(fcntl(reader, F_SETPIPE_SZ, 4096), 4096);
	ck_assert_int_eq(log_start(), 0);
	for (int i = 0; i < 10; i++)
		log_info("%s", filler);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	log_stop();
	clock_gettime(CLOCK_MONOTONIC, &end);
	ck_assert_int_ge(end.tv_sec - begin.tv_sec, 1); // it waited for a while, and came back
}
END_TEST

START_TEST(levels_of_parts)
{
	struct log_levels got;
	char wrong[40] = "";

	ck_assert(log_levels_parse("", &got, wrong, sizeof(wrong)));
	ck_assert_int_eq(got.of[LOG_ENGINE], LOG_LEVEL_INFO);
	ck_assert(log_levels_parse(" engine:debug, warning\tmain:error", &got, wrong, sizeof(wrong)));
	ck_assert_int_eq(got.of[LOG_ENGINE], LOG_LEVEL_DEBUG);
	ck_assert_int_eq(got.of[LOG_MAIN], LOG_LEVEL_ERROR);
	ck_assert_int_eq(got.of[LOG_SCREEN], LOG_LEVEL_WARNING);
	static const char *const bad[] = {"loud",   "engine:", ":debug", "engines:debug", "engine:debug:info",
					  "debugg", "engine"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_msg(!log_levels_parse(bad[i], &got, wrong, sizeof(wrong)), "%s", bad[i]);
		ck_assert_str_eq(wrong, bad[i]);
	}
	ck_assert(
		!log_levels_parse("info a-word-that-is-much-longer-than-forty-bytes-are", &got, wrong, sizeof(wrong)));
	ck_assert_uint_eq(strlen(wrong), sizeof(wrong) - 1);

	log_levels_parse("error engine:debug", &got, wrong, sizeof(wrong));
	log_set_levels(&got);
	ck_assert(log_enabled_in("../daemon/engine/processor.c", LOG_LEVEL_DEBUG));
	ck_assert(!log_enabled_in("daemon/screen/x11.c", LOG_LEVEL_WARNING));
	ck_assert(!log_enabled_in("daemon/main.c", LOG_LEVEL_INFO));
	log_set_level(LOG_LEVEL_INFO);
}
END_TEST

static void say_again(int64_t session, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		log_line(LOG_LEVEL_WARNING, session, "the disk is full, time %u", i);
}

static unsigned count_of(const char *text, const char *what)
{
	unsigned count = 0;

	while ((text = strstr(text, what))) {
		count++;
		text += strlen(what);
	}
	return count;
}

START_TEST(repeats_are_counted)
{
	ck_assert_int_eq(log_start(), 0);
	say_again(1, REPEATS_BURST + 412);
	say_again(2, REPEATS_BURST);
	for (unsigned i = 0; i < 2 * REPEATS_BURST; i++) {
		log_info("an ordinary line");
		log_about(LOG_LEVEL_ERROR, &(struct log_about){.every = true}, "a person's");
	}
	log_stop();
	const char *text = caught();
	// A line that comes while the log thread looks at what is held goes through: who logs never waits.
	unsigned through = count_of(text, "session 1: the disk");
	ck_assert_uint_ge(through, REPEATS_BURST);
	ck_assert_uint_eq(count_of(text, "session 2: the disk"), REPEATS_BURST);
	ck_assert_uint_eq(count_of(text, "an ordinary line"), 2 * REPEATS_BURST);
	ck_assert_uint_eq(count_of(text, "a person's"), 2 * REPEATS_BURST);
	ck_assert_uint_eq(count_of(text, "more of these"), 1);
	const char *told = strstr(text, "<4>session 1: … ");
	unsigned held = 0;
	ck_assert_ptr_nonnull(told);
	ck_assert_int_eq(sscanf(told, "<4>session 1: … %u more of these: the disk is full, time ", &held), 1);
	ck_assert_uint_eq(through + held, REPEATS_BURST + 412);
	ck_assert_uint_eq(log_lost(), 0);
}
END_TEST

// Nobody logs another line meanwhile: the log thread looks at the time itself.
START_TEST(repeats_are_said_when_their_interval_is_over)
{
	char text[64 * 1024];
	size_t used = 0;

	ck_assert_int_eq(log_start(), 0);
	say_again(1, REPEATS_BURST);
	while (!repeats_any()) // while the log thread looks, lines go through
		say_again(1, 1);
	repeats_set_interval(0);
	do {
		ssize_t n = read(reader, text + used, sizeof(text) - 1 - used);

		ck_assert_int_gt(n, 0);
		used += (size_t)n;
		text[used] = '\0';
	} while (!strstr(text, "… 1 more of these"));
	log_stop();
	repeats_set_interval(REPEATS_INTERVAL_NS);
}
END_TEST

START_TEST(target_is_recognised)
{
	struct stat status;
	char stream[64], other[64], longer[80];

	ck_assert_int_eq(fstat(reader, &status), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
	snprintf(other, sizeof(other), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino + 1);
	snprintf(longer, sizeof(longer), "%s1x", stream);
	ck_assert_int_eq(log_target_of(reader, stream), LOG_TO_JOURNAL);
	ck_assert_int_eq(log_target_of(reader, other), LOG_TO_STDERR);
	ck_assert_int_eq(log_target_of(reader, longer), LOG_TO_STDERR);
	ck_assert_int_eq(log_target_of(reader, "nonsense"), LOG_TO_STDERR);
	ck_assert_int_eq(log_target_of(reader, ""), LOG_TO_STDERR);
	ck_assert_int_eq(log_target_of(reader, NULL), LOG_TO_STDERR);
	ck_assert_int_eq(log_target_of(-1, stream), LOG_TO_STDERR);
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	ck_assert_int_ge(terminal, 0);
	ck_assert_int_eq(log_target_of(terminal, NULL), LOG_TO_TERMINAL);
	close(terminal);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tests = tcase_create("log");

	tcase_add_checked_fixture(tests, catch_stderr, restore_stderr);
	tcase_add_test(tests, direct_before_and_after);
	tcase_add_test(tests, levels);
	tcase_add_test(tests, one_line_whatever_is_in_it);
	tcase_add_test(tests, threads_keep_their_order);
	tcase_add_test(tests, full_queue_loses_and_says_so);
	tcase_add_test(tests, stop_gives_up_on_a_stuck_stderr);
	tcase_add_test(tests, levels_of_parts);
	tcase_add_test(tests, repeats_are_counted);
	tcase_add_test(tests, repeats_are_said_when_their_interval_is_over);
	tcase_add_test(tests, target_is_recognised);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
