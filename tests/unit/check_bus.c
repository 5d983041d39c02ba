// SPDX-License-Identifier: GPL-3.0-or-later
/// The bus thread and its links where no bus is: rings between two threads, opening that fails or is cut short, queues
/// that fill, and leaving at any moment. What goes over a real bus is tests/integration/dbus.py's.
#include "daemon/bus/bus.h"
#include "daemon/bus/ring.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

static struct bus *bus;
static char folder[64], mute_path[80];
static int mute_fd = -1;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/// No session bus at all; a system bus that takes connections and never answers.
static void setup(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char value[128];

	strcpy(folder, "/tmp/condprof-bus-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(mute_path, sizeof(mute_path), "%s/mute", folder);
	memcpy(address.sun_path, mute_path, sizeof(mute_path));
	mute_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(mute_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(mute_fd, 8), 0);
	snprintf(value, sizeof(value), "unix:path=%s", mute_path);
	setenv("DBUS_SYSTEM_BUS_ADDRESS", value, 1);
	unsetenv("DBUS_SESSION_BUS_ADDRESS");
	unsetenv("XDG_RUNTIME_DIR");
	ck_assert_int_eq(bus_start(&bus), 0);
}

static void teardown(void)
{
	bus = bus_stop(bus);
	close(mute_fd);
	unlink(mute_path);
	rmdir(folder);
}

static void never(void *context, uint32_t wanted)
{
	(void)context;
	ck_abort_msg("signal %u came from nowhere", wanted);
}

static struct bus_link *link_to(enum bus_kind kind)
{
	static const struct bus_sent sent[2] = {{BUS_SESSION, "org.example.Kiosk.Closed", "/"},
						{BUS_SYSTEM, "org.example.Kiosk.Closed", "/"}};
	const struct bus_wanted wanted[] = {{kind, "org.example.Kiosk.Reset"}};
	struct bus_link_params params = {
		.title = "test", .wanted = wanted, .n_wanted = 1, .sent = &sent[kind], .n_sent = 1};
	struct bus_link *link;

	ck_assert_int_eq(bus_link_new(bus, &params, &link), 0);
	return link;
}

START_TEST(there_is_no_bus)
{
	struct bus_link *link = link_to(BUS_SESSION);
	struct bus_failure failure = {BUS_FAILED_NONE, 9};
	struct error error;

	ck_assert_int_lt(bus_link_open(link, never, NULL, -1, INT64_MAX, &failure, &error), 0);
	ck_assert_int_eq(failure.what, BUS_FAILED_WANTED);
	ck_assert_uint_eq(failure.index, 0);
	ck_assert_int_eq(error.code, CONDPROF__CODE__BUS_FAILED);
	ck_assert_ptr_nonnull(strstr(error.message, "there is no session bus"));
	ck_assert_ptr_null(bus_link_free(link));
	ck_assert_ptr_null(bus_link_free(NULL));
}
END_TEST

START_TEST(a_deadline_ends_the_waiting)
{
	struct bus_link *link = link_to(BUS_SYSTEM);
	struct bus_failure failure = {BUS_FAILED_NONE, 9};
	struct error error;

	ck_assert_int_eq(bus_link_open(link, never, NULL, -1, now_ns(), &failure, &error), -ETIMEDOUT);
	ck_assert_int_eq(failure.what, BUS_FAILED_WANTED);
	ck_assert_ptr_nonnull(strstr(error.message, "the system bus does not answer"));
	bus_link_free(link);
}
END_TEST

START_TEST(a_wake_fd_ends_the_waiting)
{
	struct bus_link *link = link_to(BUS_SYSTEM);
	struct bus_failure failure = {BUS_FAILED_NONE, 9};
	struct error error = {.message = "untouched"};
	int wake_fd = eventfd(1, EFD_CLOEXEC);

	ck_assert_int_eq(bus_link_open(link, never, NULL, wake_fd, INT64_MAX, &failure, &error), -EINTR);
	ck_assert_str_eq(error.message, "untouched");
	close(wake_fd);
	bus_link_free(link);
}
END_TEST

START_TEST(queues_fill_and_say_so)
{
	struct bus_link_params params = {.title = "test", .notifies = true};
	struct bus_sent sent = {BUS_SYSTEM, "org.example.Kiosk.Closed", "/"};
	struct bus_failure failure;
	struct bus_link *link;
	struct error error;
	unsigned taken = 0;

	params.sent = &sent;
	params.n_sent = 1;
	ck_assert_int_eq(bus_link_new(bus, &params, &link), 0);
	while (bus_link_signal(link, 0))
		taken++;
	ck_assert_uint_eq(taken, BUS_QUEUED_SIGNALS);
	for (taken = 0; bus_link_notify(link, 1, "text"); taken++)
		;
	ck_assert_uint_eq(taken, BUS_QUEUED_NOTES);
	ck_assert_int_lt(bus_link_open(link, never, NULL, -1, now_ns(), &failure, &error), 0);
	ck_assert_int_eq(failure.what, BUS_FAILED_SENT);
	bus_link_leave(link);
	bus_link_leave(link);
	ck_assert(!bus_link_signal(link, 0)); // a thread that comes late
	ck_assert(!bus_link_notify(link, 1, "late"));
	bus_link_free(link);
}
END_TEST

START_TEST(only_notifying_waits_for_nothing)
{
	struct bus_link_params params = {.title = "test", .notifies = true};
	struct bus_failure failure;
	struct bus_link *link;
	struct error error;

	ck_assert_int_eq(bus_link_new(bus, &params, &link), 0);
	ck_assert_int_eq(bus_link_open(link, never, NULL, -1, INT64_MAX, &failure, &error), 0);
	ck_assert(bus_link_notify(link, 0, "nobody sees this"));
	bus_link_free(link);
}
END_TEST

START_TEST(a_name_without_a_dot)
{
	struct bus_wanted wanted = {BUS_SYSTEM, "Reset"};
	struct bus_link_params params = {.title = "test", .wanted = &wanted, .n_wanted = 1};
	struct bus_link *link;

	ck_assert_int_eq(bus_link_new(bus, &params, &link), -EINVAL);
}
END_TEST

/// Sessions come and go while the bus hangs: each on a thread of its own.
static void *come_and_go(void *argument)
{
	int wake_fd = eventfd(1, EFD_CLOEXEC);

	for (int i = 0; i < 50; i++) {
		struct bus_link *link = link_to(i % 2 ? BUS_SESSION : BUS_SYSTEM);
		struct bus_failure failure;
		struct error error;

		if (i % 5)
			bus_link_open(link, never, NULL, i % 3 ? wake_fd : -1, now_ns() + NSEC_PER_MSEC, &failure,
				      &error);
		bus_link_signal(link, 0);
		bus_link_free(link);
	}
	close(wake_fd);
	return argument;
}

START_TEST(many_come_and_go)
{
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
}
END_TEST

// --- rings ----------------------------------------------------------------------------------------------------------

#define PLACES 8U
#define ITEMS 100000U

static struct ring ring;
static uint32_t places[PLACES];

static void *fill(void *argument)
{
	uint32_t place;

	for (uint32_t i = 0; i < ITEMS;) {
		while (!ring_room(&ring, PLACES, &place))
			sched_yield();
		places[place] = i++;
		ring_filled(&ring);
	}
	return argument;
}

START_TEST(a_ring_keeps_the_order)
{
	pthread_t thread;
	uint32_t place;

	ring.head = ring.tail = UINT32_MAX - 100; // it goes round
	ck_assert(!ring_first(&ring, PLACES, &place));
	ck_assert_int_eq(pthread_create(&thread, NULL, fill, NULL), 0);
	for (uint32_t i = 0; i < ITEMS;) {
		while (!ring_first(&ring, PLACES, &place))
			sched_yield();
		ck_assert_uint_eq(places[place], i++);
		ring_emptied(&ring);
	}
	pthread_join(thread, NULL);
	ck_assert(!ring_first(&ring, PLACES, &place));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus");
	TCase *tests = tcase_create("links"), *rings = tcase_create("rings");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, there_is_no_bus);
	tcase_add_test(tests, a_deadline_ends_the_waiting);
	tcase_add_test(tests, a_wake_fd_ends_the_waiting);
	tcase_add_test(tests, queues_fill_and_say_so);
	tcase_add_test(tests, only_notifying_waits_for_nothing);
	tcase_add_test(tests, a_name_without_a_dot);
	tcase_add_test(tests, many_come_and_go);
	tcase_add_test(rings, a_ring_keeps_the_order);
	suite_add_tcase(suite, tests);
	suite_add_tcase(suite, rings);
	return unit_run(suite);
}
