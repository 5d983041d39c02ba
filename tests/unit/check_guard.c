// SPDX-License-Identifier: GPL-3.0-or-later
// The guarded input: once taken away its calls fail, and it is taken away once, by however many at the same time.
#include "daemon/engine/guard.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static struct {
	struct input base;
	int releases, closes, moves;
	struct input *taken_meanwhile; ///< in the middle of the release another thread takes this away; NULL: none does
	int meanwhile;                 ///< what it was told
} device;

static struct input *device_close(struct input *input)
{
	(void)input;
	device.closes++;
	return NULL;
}

static int device_move(struct input *input, int x, int y)
{
	(void)input;
	(void)x;
	(void)y;
	device.moves++;
	return 0;
}

static void *take_away(void *input)
{
	device.meanwhile = guarded_input_take_away(input, 0);
	return NULL;
}

static int device_release_all(struct input *input)
{
	struct input *guarded = TAKE_POINTER(device.taken_meanwhile);
	pthread_t thread;

	(void)input;
	device.releases++;
	if (!guarded)
		return 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, take_away, guarded), 0);
	pthread_join(thread, NULL);
	return 0;
}

static struct input *make(void)
{
	static const struct input_ops ops = {
		.close = device_close, .pointer_move = device_move, .release_all = device_release_all};
	struct input *guarded;

	memset(&device, 0, sizeof(device));
	device.base.ops = &ops;
	ck_assert_int_eq(guarded_input_new(&device.base, &guarded), 0);
	return guarded;
}

START_TEST(test_closed_as_usual)
{
	struct input *guarded = make();

	ck_assert_int_eq(guarded->ops->pointer_move(guarded, 1, 2), 0);
	ck_assert_ptr_null(input_close(guarded));
	ck_assert_int_eq(device.moves, 1);
	ck_assert_int_eq(device.closes, 1);
}
END_TEST

START_TEST(test_taken_away)
{
	struct input *guarded = make();

	ck_assert_int_eq(guarded_input_take_away(guarded, 0), 0);
	ck_assert_int_eq(device.releases, 1);
	ck_assert_int_eq(device.closes, 1);
	ck_assert_int_eq(guarded->ops->pointer_move(guarded, 1, 2), -ECANCELED);
	ck_assert_int_eq(guarded->ops->release_all(guarded), -ECANCELED);
	ck_assert_int_eq(guarded_input_take_away(guarded, 0), 0); // by its own thread, once that is back
	input_close(guarded);
	ck_assert_int_eq(device.moves, 0);
	ck_assert_int_eq(device.releases, 1);
	ck_assert_int_eq(device.closes, 1);
}
END_TEST

// The hanging thread comes back while it is abandoned: it must not find the device half closed, nor close it again.
START_TEST(test_taken_away_by_two)
{
	struct input *guarded = make();

	device.taken_meanwhile = guarded;
	ck_assert_int_eq(guarded_input_take_away(guarded, 0), 0);
	ck_assert_int_eq(device.meanwhile, -EBUSY);
	ck_assert_int_eq(device.releases, 1);
	ck_assert_int_eq(device.closes, 1);
	input_close(guarded);
	ck_assert_int_eq(device.closes, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("guard");
	TCase *tcase = tcase_create("input");

	tcase_add_test(tcase, test_closed_as_usual);
	tcase_add_test(tcase, test_taken_away);
	tcase_add_test(tcase, test_taken_away_by_two);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
