// SPDX-License-Identifier: GPL-3.0-or-later
// Start in order, run, stop in reverse. A stop has two parts: first every session ends and its report is closed, then
// the clients that wait for that are given a moment to read it.
#include "config.h"

#include "daemon/control/control.h"

#include "daemon/bus/bus.h"
#include "daemon/control/listener.h"
#include "daemon/control/looks.h"
#include "daemon/control/reload.h"
#include "daemon/control/sessions.h"
#include "daemon/control/status.h"
#include "daemon/control/stuck.h"
#include "daemon/report/store.h"
#include "daemon/report/writer.h"
#include "daemon/system/notify.h"
#include "proto/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#define DRAIN_CHECK_NS (20 * NSEC_PER_MSEC)
#define DRAIN_NS (1 * NSEC_PER_SEC) // for clients to read their last replies
#define HURRY_NS (1 * NSEC_PER_SEC) // for sessions, after a second signal
#define INTERRUPTED_A_STEP 32U

/// What concerns only the daemon's own life.
struct control_life {
	struct control control; // first
	int signal_fd;
	struct loop_watch *signals;
	struct loop_timer *watchdog, *drain, *hurry;
	int64_t watchdog_ns, drain_until_ns;
	bool hurrying;
	struct reloader *reloader;
};

static struct control_life *life_of(struct control *control)
{
	return CONTAINER_OF(control, struct control_life, control);
}

// --- the way out ---------------------------------------------------------------------------------------------------

static bool all_quiet(const struct control *control)
{
	for (const struct connection *connection = LIST_FIRST(&control->connections); connection;
	     connection = connection_next(connection))
		if (!connection_quiet(connection))
			return false;
	return true;
}

static void drain(struct control_life *life)
{
	struct control *control = &life->control;

	if (sessions_count(control->sessions))
		return;
	if (!life->drain_until_ns)
		life->drain_until_ns = loop_now_ns() + DRAIN_NS;
	if (all_quiet(control) || life->hurrying || loop_now_ns() >= life->drain_until_ns)
		loop_quit(control->loop);
	else
		loop_timer_set(life->drain, DRAIN_CHECK_NS);
}

static void on_drain(void *context)
{
	drain(context);
}

void control_session_gone(struct control *control)
{
	if (control->stopping)
		drain(life_of(control));
}

static void on_hurry(void *context)
{
	struct control_life *life = context;
	unsigned left = sessions_count(life->control.sessions);

	if (!left)
		return;
	log_error("%u session%s did not end; left as interrupted", left, left == 1 ? "" : "s");
	log_stop();
	_exit(EXIT_FAILURE);
}

static void stop(struct control_life *life, const char *signal_name)
{
	struct control *control = &life->control;
	unsigned count = sessions_count(control->sessions);

	if (control->stopping) {
		life->hurrying = true;
		log_notice("%s again: hurrying", signal_name);
		loop_timer_set(life->hurry, HURRY_NS);
		drain(life);
		return;
	}
	control->stopping = true;
	log_about(LOG_LEVEL_INFO, &(struct log_about){.message = LOG_MESSAGE_STOPPING},
		  "%s: stopping, with %u session%s", signal_name, count, count == 1 ? "" : "s");
	notify_stopping();
	notify_status("stopping %u session%s", count, count == 1 ? "" : "s");
	control->listener = listener_free(control->listener);
	sessions_stop_all(control->sessions, CONDPROF__END_REASON__REASON_DAEMON_STOPPED);
	looks_stop_all(control->looks);
	drain(life);
}

// --- what was left behind ------------------------------------------------------------------------------------------

/// Looks once, in steps, for sessions that a daemon before this one left unfinished, and says so.
struct look_back {
	struct job job;
	struct control *control;
	int64_t *ids;
	size_t n_ids, next;
	bool begun;
	size_t count;
	char named[200]; ///< "3, 7": the newest of them
};

static void note_interrupted(struct look_back *look, int64_t id)
{
	char before[sizeof(look->named)];

	strcpy(before, look->named);
	snprintf(look->named, sizeof(look->named), "%" PRId64 "%s%.160s", id, look->count ? ", " : "", before);
	look->count++;
}

static void run_look_back(struct job *job)
{
	struct look_back *look = CONTAINER_OF(job, struct look_back, job);
	struct store_entry entry;
	struct error error;

	if (!look->begun && store_ids(look->control->store, &look->ids, &look->n_ids, &error) < 0)
		log_error("cannot read the reports: %s", error.message);
	look->begun = true;
	for (unsigned n = 0; n < INTERRUPTED_A_STEP && look->next < look->n_ids; n++) {
		int64_t id = look->ids[look->next++];

		entry = (struct store_entry){0};
		if (store_read_entry(look->control->store, id, &entry, &error) < 0)
			continue;
		if (entry.interrupted)
			note_interrupted(look, id);
		store_entry_free(&entry);
	}
}

static void looked_back(struct job *job)
{
	struct look_back *look = CONTAINER_OF(job, struct look_back, job);

	if (look->next < look->n_ids && !look->control->stopping) {
		worker_submit(look->control->worker, &look->job);
		return;
	}
	if (look->count)
		log_about(LOG_LEVEL_NOTICE, &(struct log_about){.message = LOG_MESSAGE_INTERRUPTED},
			  "%zu kept session%s interrupted (the daemon died while %s): %s", look->count,
			  look->count == 1 ? " was" : "s were", look->count == 1 ? "it ran" : "they ran", look->named);
	free(look->ids);
	free(look);
}

static int begin_look_back(struct control *control)
{
	struct look_back *look = calloc(1, sizeof(*look));

	if (!look)
		return -ENOMEM;
	look->control = control;
	look->job.run = run_look_back;
	look->job.done = looked_back;
	worker_submit(control->worker, &look->job);
	return 0;
}

// --- signals, watchdog ---------------------------------------------------------------------------------------------

bool control_busy(const struct control *control)
{
	return (control->worker && worker_busy(control->worker)) ||
	       (control->decoder && worker_busy(control->decoder)) || (control->looks && looks_busy(control->looks));
}

/// For people who debug: what this daemon is busy with.
static void log_state(struct control *control)
{
	struct session_entry *entry = NULL;
	struct session_facts facts;
	struct log_about about = {.every = true};

	log_about(LOG_LEVEL_NOTICE, &about,
		  "state: %u clients, %zu bytes for them to read, %zu bytes of scenarios, %u sessions, %u looks%s",
		  control->n_connections, control->out_bytes, control->upload_bytes, sessions_count(control->sessions),
		  looks_count(control->looks), control_busy(control) ? ", worker busy" : "");
	for (const struct connection *connection = LIST_FIRST(&control->connections); connection;
	     connection = connection_next(connection))
		log_about(LOG_LEVEL_NOTICE, &about, "state: client pid %d uid %u, %zu bytes to read",
			  (int)connection_peer(connection)->pid, connection_peer(connection)->uid,
			  connection_waiting(connection));
	while ((entry = sessions_next(control->sessions, entry))) {
		session_entry_facts(entry, &facts);
		about.session = facts.message.id;
		log_about(LOG_LEVEL_NOTICE, &about, "state: %s, passes: %" PRId64,
			  protobuf_c_enum_descriptor_get_value(&condprof__session_state__descriptor,
							       (int)facts.live.state)
				  ->name,
			  facts.live.passes);
	}
}

static void on_signal(void *context, unsigned ready)
{
	struct control_life *life = context;
	struct signalfd_siginfo info;

	(void)ready;
	while (read(life->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload_begin(life->reloader);
		else if (info.ssi_signo == SIGUSR1)
			log_state(&life->control);
		else
			stop(life, info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
	}
}

static void on_watchdog(void *context)
{
	struct control_life *life = context;

	notify_watchdog();
	loop_timer_set(life->watchdog, life->watchdog_ns);
}

// --- building and running ------------------------------------------------------------------------------------------

static int start_life(struct control_life *life)
{
	struct loop *loop = life->control.loop;
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGUSR1);
	life->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (life->signal_fd < 0)
		return -errno;
	r = loop_watch_new(loop, life->signal_fd, on_signal, life, &life->signals);
	if (!r)
		r = loop_timer_new(loop, on_watchdog, life, &life->watchdog);
	if (!r)
		r = loop_timer_new(loop, on_drain, life, &life->drain);
	if (!r)
		r = loop_timer_new(loop, on_hurry, life, &life->hurry);
	if (!r)
		loop_watch_set(life->signals, LOOP_READ);
	life->watchdog_ns = notify_watchdog_interval_ns();
	if (!r && life->watchdog_ns)
		loop_timer_set(life->watchdog, life->watchdog_ns);
	return r;
}

static int start_kept(struct control *control, const char *state_path, struct error *error)
{
	struct store_limits store_limits;
	struct writer_limits writer_limits;
	int r;

	configured_limits(control->configuration, &store_limits, &writer_limits);
	r = store_open(state_path, &store_limits, &control->store, error);

	return r < 0 ? r : writer_start(&writer_limits, &control->writer, error);
}

static int start_threads(struct control_life *life)
{
	struct control *control = &life->control;
	int r = loop_new(&control->loop);

	if (!r)
		r = mailbox_new(control->loop, &control->mailbox);
	if (!r)
		r = worker_start(control->mailbox, "worker", &control->worker);
	if (!r)
		r = worker_start(control->mailbox, "decoder", &control->decoder);
	if (!r)
		r = bus_start(&control->bus);
	if (!r)
		r = sessions_new(control, &control->sessions);
	if (!r)
		r = looks_new(control, &control->looks);
	if (!r)
		r = stuck_watch_new(control, &control->stuck);
	if (!r)
		r = reloader_new(control, &life->reloader);
	return r < 0 ? r : start_life(life);
}

int control_new(const struct control_params *params, struct control **ret, struct error *error)
{
	struct control_life *life = calloc(1, sizeof(*life));
	struct control *control = &life->control;
	int r;

	if (!life)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	life->signal_fd = -1;
	LIST_INIT(&control->connections);
	control->configuration = configuration_ref(params->configuration);
	control->configuration_path = params->configuration_path;
	control->configuration_must_exist = params->configuration_must_exist;
	r = start_kept(control, params->state_path, error);
	if (!r) {
		r = start_threads(life);
		if (!r)
			r = begin_look_back(control);
		if (r < 0)
			error_set(error, CONDPROF__CODE__INTERNAL, -r, "cannot start: %s", strerror(-r));
	}
	if (r < 0) {
		control_free(control);
		return r;
	}
	*ret = control;
	return 0;
}

int control_listen(struct control *control, const char *socket_path, struct error *error)
{
	return listener_new(control, socket_path, &control->listener, error);
}

int control_run(struct control *control)
{
	int r;

	log_about(LOG_LEVEL_INFO, &(struct log_about){.message = LOG_MESSAGE_UP}, "condprofd %s listens on %s",
		  PACKAGE_VERSION, listener_name(control->listener));
	status_tell(control->sessions);
	notify_ready();
	r = loop_run(control->loop);
	if (r < 0)
		log_error("the event loop failed");
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/// Lets sessions and worker finish everything, and delivers it.
static void finish_work(struct control *control)
{
	if (control->sessions)
		sessions_stop_all(control->sessions, CONDPROF__END_REASON__REASON_DAEMON_STOPPED);
	while (control_busy(control) || (control->sessions && sessions_count(control->sessions)))
		mailbox_wait(control->mailbox);
	control->looks = looks_free(control->looks);
	control->decoder = worker_stop(control->decoder);
	control->worker = worker_stop(control->worker);
	control->mailbox = mailbox_free(control->mailbox);
}

struct control *control_free(struct control *control)
{
	struct control_life *life;

	if (!control)
		return NULL;
	life = life_of(control);
	if (!control->stopping)
		notify_stopping();
	control->stopping = true;
	control->listener = listener_free(control->listener);
	while (!LIST_EMPTY(&control->connections))
		connection_free(LIST_FIRST(&control->connections));
	finish_work(control);
	sessions_free(control->sessions);
	stuck_watch_free(control->stuck);
	loop_watch_free(life->signals);
	reloader_free(life->reloader);
	loop_timer_free(life->watchdog);
	loop_timer_free(life->drain);
	loop_timer_free(life->hurry);
	if (life->signal_fd >= 0)
		close(life->signal_fd);
	bus_stop(control->bus);
	writer_stop(control->writer);
	store_close(control->store);
	loop_free(control->loop);
	configuration_unref(control->configuration);
	free(life);
	return NULL;
}
