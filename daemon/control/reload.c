// SPDX-License-Identifier: GPL-3.0-or-later
// Reading is a job of the worker, which owns the store: so new limits of what is kept are set, and met, in the same
// job. READY after a reload must reach the service manager, which waits for it; when its socket is full, a timer tries
// again.
#include "config.h"

#include "daemon/control/reload.h"

#include "daemon/control/rotation.h"
#include "daemon/system/notify.h"

#include <errno.h>
#include <string.h>

#define SEGMENT_BYTES (UINT64_C(8) << 20)
#define CHECKPOINT_NS (10 * NSEC_PER_SEC)
#define TELL_AGAIN_NS (100 * NSEC_PER_MSEC)

struct reloader {
	struct control *control;
	struct job job;
	struct loop_timer *tell;
	struct configuration *configuration;
	char *mistakes;
	int result;
	bool reading, again;
};

void configured_limits(const struct configuration *configuration, struct store_limits *ret_store,
		       struct writer_limits *ret_writer)
{
	*ret_store = (struct store_limits){
		.max_reports = configuration->max_reports,
		.max_bytes = configuration->max_report_bytes,
	};
	// At least two segments, so that the oldest can go without all going.
	*ret_writer = (struct writer_limits){
		.segment_bytes = MIN(SEGMENT_BYTES, configuration->max_messages_bytes / 2),
		.messages_bytes = configuration->max_messages_bytes,
		.checkpoint_ns = CHECKPOINT_NS,
	};
}

static void keep_by(struct control *control, const struct configuration *configuration)
{
	struct store_limits store_limits;
	struct writer_limits writer_limits;
	struct error error;

	configured_limits(configuration, &store_limits, &writer_limits);
	store_set_limits(control->store, &store_limits);
	writer_set_limits(control->writer, &writer_limits);
	if (store_vacuum(control->store, &error) < 0)
		log_warning("cannot remove old reports: %s", error.message);
}

static void run_reload(struct job *job)
{
	struct reloader *reloader = CONTAINER_OF(job, struct reloader, job);
	struct control *control = reloader->control;

	reloader->result = configuration_load(control->configuration_path, control->configuration_must_exist,
					      &reloader->configuration, &reloader->mistakes);
	if (!reloader->result)
		keep_by(control, reloader->configuration);
}

static void log_lines(char *text)
{
	char *line;

	while (text && (line = strsep(&text, "\n")))
		if (*line)
			log_error("%s", line);
}

static void take_over(struct reloader *reloader)
{
	struct control *control = reloader->control;

	if (reloader->result < 0) {
		log_lines(reloader->mistakes);
		log_about(LOG_LEVEL_ERROR, &(struct log_about){.message = LOG_MESSAGE_RELOAD_REFUSED},
			  "the configuration stays as it was: %s",
			  reloader->result == -EINVAL ? "the file has mistakes" : strerror(-reloader->result));
		return;
	}
	configuration_unref(control->configuration);
	control->configuration = TAKE_POINTER(reloader->configuration);
	log_set_levels(&control->configuration->log_levels);
	sessions_rotation_reloaded(control->sessions);
	log_about(LOG_LEVEL_INFO, &(struct log_about){.message = LOG_MESSAGE_RELOADED},
		  "read %s again: it holds for new sessions and clients, and for what is kept",
		  control->configuration_path);
}

static void tell_ready(void *context)
{
	struct reloader *reloader = context;

	if (!reloader->reading && !reloader->control->stopping && !notify_reloaded())
		loop_timer_set(reloader->tell, TELL_AGAIN_NS);
}

static void submit(struct reloader *reloader)
{
	reloader->reading = true;
	reloader->again = false;
	worker_submit(reloader->control->worker, &reloader->job);
}

static void reloaded(struct job *job)
{
	struct reloader *reloader = CONTAINER_OF(job, struct reloader, job);

	take_over(reloader);
	free(reloader->mistakes);
	reloader->mistakes = NULL;
	reloader->reading = false;
	if (reloader->again && !reloader->control->stopping)
		submit(reloader);
	else
		tell_ready(reloader);
}

void reload_begin(struct reloader *reloader)
{
	if (reloader->control->stopping)
		return;
	notify_reloading();
	if (reloader->reading)
		reloader->again = true;
	else
		submit(reloader);
}

int reloader_new(struct control *control, struct reloader **ret)
{
	CLEANUP_FREE struct reloader *reloader = calloc(1, sizeof(*reloader));
	int r;

	if (!reloader)
		return -ENOMEM;
	reloader->control = control;
	reloader->job.run = run_reload;
	reloader->job.done = reloaded;
	r = loop_timer_new(control->loop, tell_ready, reloader, &reloader->tell);
	if (r < 0)
		return r;
	*ret = TAKE_POINTER(reloader);
	return 0;
}

struct reloader *reloader_free(struct reloader *reloader)
{
	if (!reloader)
		return NULL;
	loop_timer_free(reloader->tell);
	free(reloader);
	return NULL;
}
