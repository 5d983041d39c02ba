// SPDX-License-Identifier: GPL-3.0-or-later
/// The parts of the control layer that no client sees alone: the table of requests against the messages, mail from many
/// threads in order, jobs and their delivery, timers, streams of steps, who may do what.
#include "config.h"

#include "daemon/control/access.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/kept.h"
#include "daemon/control/worker.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

// --- dispatch ------------------------------------------------------------------------------------------------------

START_TEST(every_request_has_a_row_of_its_name)
{
	const ProtobufCMessageDescriptor *request = &condprof__request__descriptor;
	unsigned rows = 0;

	for (unsigned i = 0; i < request->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &request->fields[i];
		const struct dispatch_row *row = dispatch_find((Condprof__Request__BodyCase)field->id);

		if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)) {
			ck_assert_ptr_null(row);
			continue;
		}
		ck_assert_msg(row, "no row for %s", field->name);
		ck_assert_str_eq(row->name, field->name);
		ck_assert_int_ne(row->access, ACCESS_NONE);
		rows++;
	}
	ck_assert_uint_eq(rows, request->n_fields - 1);
	ck_assert_ptr_null(dispatch_find(0));
	ck_assert_ptr_null(dispatch_find(1000));
}
END_TEST

// --- mail ----------------------------------------------------------------------------------------------------------

#define SENDERS 8
#define MAILS 2000

struct numbered {
	struct mail mail;
	int sender, number;
};

struct sender {
	struct mailbox *mailbox;
	struct numbered *mails;
	pthread_t thread;
};

static struct loop *loop;
static struct mailbox *mailbox;
static int next_of[SENDERS], delivered;

static void on_numbered(struct mail *mail)
{
	struct numbered *numbered = CONTAINER_OF(mail, struct numbered, mail);

	ck_assert_int_eq(numbered->number, next_of[numbered->sender]++);
	if (++delivered == SENDERS * MAILS)
		loop_quit(loop);
}

static void *send_all(void *context)
{
	struct sender *sender = context;

	for (int i = 0; i < MAILS; i++)
		mailbox_post(sender->mailbox, &sender->mails[i].mail);
	return NULL;
}

static void setup(void)
{
	ck_assert_int_eq(loop_new(&loop), 0);
	ck_assert_int_eq(mailbox_new(loop, &mailbox), 0);
	delivered = 0;
	memset(next_of, 0, sizeof(next_of));
}

static void teardown(void)
{
	mailbox = mailbox_free(mailbox);
	loop = loop_free(loop);
}

START_TEST(mail_of_many_threads_comes_once_and_in_order)
{
	struct sender senders[SENDERS];

	for (int i = 0; i < SENDERS; i++) {
		senders[i].mailbox = mailbox;
		senders[i].mails = calloc(MAILS, sizeof(*senders[i].mails));
		ck_assert_ptr_nonnull(senders[i].mails);
		for (int k = 0; k < MAILS; k++)
			senders[i].mails[k] = (struct numbered){{NULL, on_numbered}, i, k};
		ck_assert_int_eq(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
	}
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_int_eq(delivered, SENDERS * MAILS);
	for (int i = 0; i < SENDERS; i++) {
		pthread_join(senders[i].thread, NULL);
		free(senders[i].mails);
	}
}
END_TEST

START_TEST(mail_that_was_not_delivered_is_when_the_mailbox_goes)
{
	struct numbered mail = {{NULL, on_numbered}, 0, 0};

	mailbox_post(mailbox, &mail.mail);
	ck_assert_int_eq(delivered, 0);
	mailbox = mailbox_free(mailbox);
	ck_assert_int_eq(delivered, 1);
}
END_TEST

// --- jobs ----------------------------------------------------------------------------------------------------------

struct counting_job {
	struct job job;
	struct worker *worker;
	pthread_t ran_on;
	int steps, done;
};

static void run_count(struct job *job)
{
	struct counting_job *counting = CONTAINER_OF(job, struct counting_job, job);

	counting->ran_on = pthread_self();
	counting->steps++;
}

static void count_done(struct job *job)
{
	struct counting_job *counting = CONTAINER_OF(job, struct counting_job, job);

	ck_assert(!pthread_equal(counting->ran_on, pthread_self()));
	ck_assert_int_eq(counting->steps, ++counting->done);
	if (counting->steps < 100)
		worker_submit(counting->worker, job);
}

START_TEST(jobs_run_on_the_worker_and_are_done_on_the_loops_thread)
{
	struct worker *worker;
	struct counting_job jobs[3] = {0};

	ck_assert_int_eq(worker_start(mailbox, "test", &worker), 0);
	ck_assert(!worker_busy(worker));
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i].worker = worker;
		jobs[i].job.run = run_count;
		jobs[i].job.done = count_done;
		worker_submit(worker, &jobs[i].job);
	}
	ck_assert(worker_busy(worker));
	while (worker_busy(worker))
		mailbox_wait(mailbox);
	worker_stop(worker);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		ck_assert_int_eq(jobs[i].done, 100);
}
END_TEST

// --- timers --------------------------------------------------------------------------------------------------------

struct alarm {
	struct loop_timer *timer;
	int64_t at_ns;
};

static void ring(void *context)
{
	struct alarm *alarm = context;

	alarm->at_ns = loop_now_ns();
	loop_quit(loop);
}

static void must_not_ring(void *context)
{
	(void)context;
	ck_abort_msg("a timer that was cleared came");
}

START_TEST(timers_are_never_early_and_can_be_cleared)
{
	struct alarm alarm = {0};
	struct loop_timer *cleared;
	int64_t begin = loop_now_ns();

	ck_assert_int_eq(loop_timer_new(loop, ring, &alarm, &alarm.timer), 0);
	ck_assert_int_eq(loop_timer_new(loop, must_not_ring, NULL, &cleared), 0);
	loop_timer_set(alarm.timer, 1);
	loop_timer_set(alarm.timer, 20 * NSEC_PER_MSEC); // replaces the first
	loop_timer_set(cleared, 0);
	loop_timer_clear(cleared);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_int_ge(alarm.at_ns - begin, 20 * NSEC_PER_MSEC);
	loop_timer_free(alarm.timer);
	loop_timer_free(cleared);
}
END_TEST

// --- access --------------------------------------------------------------------------------------------------------

START_TEST(the_daemons_own_user_may_do_everything)
{
	struct configuration *configuration;
	struct peer peer;
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_eq(configuration_new(&configuration), 0);
	ck_assert_int_eq(access_of_peer(pair[0], configuration, &peer), 0);
	ck_assert_uint_eq(peer.uid, getuid());
	ck_assert_int_eq(peer.access, ACCESS_CONTROL);
	ck_assert(peer.privileged);
	close(pair[0]);
	ck_assert_int_lt(access_of_peer(pair[0], configuration, &peer), 0);
	ck_assert_int_eq(peer.access, ACCESS_NONE);
	close(pair[1]);
	configuration_unref(configuration);
}
END_TEST

// --- kept reports --------------------------------------------------------------------------------------------------

START_TEST(a_report_of_the_first_shape_says_only_what_it_has)
{
	Condprof__DebugReportOverview overview = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT;
	struct store_entry entry = {
		.id = 4, .overview = &overview, .scenario_name = (char *)"old", .created_unix_ns = 77};
	Condprof__Session session;

	overview.has_duration_ms = overview.has_frame_count = true;
	overview.duration_ms = 1500;
	overview.frame_count = 12;
	kept_session(&entry, &session);
	ck_assert_int_eq(session.id, 4);
	ck_assert_str_eq(session.scenario, "old");
	ck_assert_int_eq(session.state, CONDPROF__SESSION_STATE__FINISHED);
	ck_assert(session.has_passes && session.passes == 12);
	ck_assert(session.has_duration_ns && session.duration_ns == 1500 * NSEC_PER_MSEC);
	ck_assert(session.has_started_unix_ns && session.started_unix_ns == 77);
	ck_assert(!session.has_reason && !session.has_result && !session.has_ended_unix_ns &&
		  !session.has_lost_occurrences);
}
END_TEST

START_TEST(an_interrupted_session_has_no_result_and_no_end)
{
	Condprof__DebugReportOverview overview = CONDPROF__DEBUG_REPORT_OVERVIEW__INIT;
	struct store_entry entry = {.id = 5, .overview = &overview, .interrupted = true};
	Condprof__Session session;

	overview.has_state = true;
	overview.state = CONDPROF__SESSION_STATE__RUNNING;
	kept_session(&entry, &session);
	ck_assert_int_eq(session.state, CONDPROF__SESSION_STATE__INTERRUPTED);
	ck_assert_int_eq(session.reason, CONDPROF__END_REASON__REASON_DAEMON_DIED);
	ck_assert(!session.has_result && !session.has_ended_unix_ns && !session.has_passes && !session.has_duration_ns);
	entry.overview = NULL;
	kept_session(&entry, &session);
	ck_assert_int_eq(session.state, CONDPROF__SESSION_STATE__INTERRUPTED);
	ck_assert_ptr_null(session.scenario);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control");
	TCase *plain = tcase_create("plain"), *looped = tcase_create("loop");

	tcase_add_test(plain, every_request_has_a_row_of_its_name);
	tcase_add_test(plain, the_daemons_own_user_may_do_everything);
	tcase_add_test(plain, a_report_of_the_first_shape_says_only_what_it_has);
	tcase_add_test(plain, an_interrupted_session_has_no_result_and_no_end);
	suite_add_tcase(suite, plain);
	tcase_add_checked_fixture(looped, setup, teardown);
	tcase_add_test(looped, mail_of_many_threads_comes_once_and_in_order);
	tcase_add_test(looped, mail_that_was_not_delivered_is_when_the_mailbox_goes);
	tcase_add_test(looped, jobs_run_on_the_worker_and_are_done_on_the_loops_thread);
	tcase_add_test(looped, timers_are_never_early_and_can_be_cleared);
	suite_add_tcase(suite, looped);
	return unit_run(suite);
}
