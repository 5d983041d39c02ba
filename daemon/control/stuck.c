// SPDX-License-Identifier: GPL-3.0-or-later
// One timer for all sessions, set only while one runs. A look costs three atomic loads a session.
#include "config.h"

#include "daemon/control/stuck.h"

#include "daemon/control/sessions-internal.h"
#include "daemon/engine/ending.h"
#include "proto/limits.h"

#include <errno.h>

#define LOOKS 12U       // within the limit
#define ENDING_LOOKS 2U // that a session has to heed its end in: at least one whole interval

static int64_t limit_ns = STUCK_LIMIT_NS;

struct stuck_watch {
	struct control *control;
	struct loop_timer *timer;
	bool set;
};

void stuck_watch_set_limit(int64_t ns)
{
	limit_ns = ns;
}

// On the worker's thread: closing a report waits for the disk.
static void run_abandoning(struct job *job)
{
	struct session_entry *entry = CONTAINER_OF(job, struct session_entry, job);
	int r = session_abandon(entry->session);

	if (r == -EBUSY)
		log_line(LOG_LEVEL_ERROR, entry->stuck.id, "hangs in a call of its input, which cannot be released");
	if (r != -EALREADY)
		log_line(LOG_LEVEL_ERROR, entry->stuck.id,
			 "does not end: closed without its thread, whose memory is lost until that ends");
}

static void abandoned(struct job *job)
{
	struct session_entry *entry = CONTAINER_OF(job, struct session_entry, job);

	entry->job_in_flight = false;
	session_entry_free_when_unused(entry);
}

static void abandon(struct session_entry *entry)
{
	entry->stuck.abandoned = true;
	entry->stuck.id = entry->record.id; // the record is this thread's, who may give it away meanwhile
	entry->job_in_flight = true;
	entry->job.run = run_abandoning;
	entry->job.done = abandoned;
	worker_submit(entry->sessions->control->worker, &entry->job);
}

static void ask_to_end(struct session_entry *entry)
{
	char text[REASON_TEXT_SIZE];

	entry->stuck.asked = true;
	session_stuck_text(entry->session, limit_ns, text, sizeof(text));
	const struct log_about about = {
		.message = LOG_MESSAGE_STUCK,
		.session = entry->record.id,
		.scenario = entry->record.scenario,
	};

	log_about(LOG_LEVEL_ERROR, &about, "is stuck: %s", text);
	session_stop_stuck(entry->session, text);
}

static void look_at(struct session_entry *entry)
{
	struct stuck_state *stuck = &entry->stuck;
	uint64_t progress;

	if (!session_progress(entry->session, &progress) || stuck->abandoned)
		return;
	if (progress != stuck->progress) {
		stuck->progress = progress;
		stuck->looks = stuck->ending_looks = 0;
		return;
	}
	stuck->looks++;
	if (entry->stop_reason || stuck->asked)
		stuck->ending_looks++;
	else if (stuck->looks >= LOOKS)
		ask_to_end(entry);
	if (stuck->ending_looks >= ENDING_LOOKS && !entry->job_in_flight)
		abandon(entry);
}

static void look(struct stuck_watch *watch)
{
	struct session_entry *entry = NULL;
	bool any = false;

	while ((entry = sessions_next(watch->control->sessions, entry))) {
		if (!session_entry_runs(entry))
			continue;
		any = true;
		look_at(entry);
	}
	watch->set = any;
	if (any)
		loop_timer_set(watch->timer, limit_ns / LOOKS);
}

static void on_timer(void *context)
{
	look(context);
}

void stuck_watch_wake(struct stuck_watch *watch)
{
	if (!watch->set)
		loop_timer_set(watch->timer, limit_ns / LOOKS);
	watch->set = true;
}

int stuck_watch_new(struct control *control, struct stuck_watch **ret)
{
	CLEANUP_FREE struct stuck_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	watch->control = control;
	r = loop_timer_new(control->loop, on_timer, watch, &watch->timer);
	if (r < 0)
		return r;
	*ret = TAKE_POINTER(watch);
	return 0;
}

struct stuck_watch *stuck_watch_free(struct stuck_watch *watch)
{
	if (!watch)
		return NULL;
	loop_timer_free(watch->timer);
	free(watch);
	return NULL;
}
