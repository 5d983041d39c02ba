// SPDX-License-Identifier: GPL-3.0-or-later
/// A worker thread: what a request needs that may wait for the disk or compute for long. There are two, one for the
/// disk and one that decodes scenarios, whose images may take seconds: nobody's list waits for them. One job after the
/// other, in the order they were submitted; a long piece of work is cut into many jobs, each submitted when the one
/// before is done, so that clients take turns. A job never waits for a client.
#ifndef CONDPROF_WORKER_H
#define CONDPROF_WORKER_H

#include "daemon/control/mailbox.h"

struct worker;

/// Embedded in what the job is about; belongs to the worker from worker_submit() until `done` is called.
struct job {
	struct mail mail;
	struct job *next;
	struct worker *worker;
	void (*run)(struct job *job);  ///< on the worker thread
	void (*done)(struct job *job); ///< then on the loop's thread; may free the job or submit it again
};

/// @param name of the thread, 15 characters at the most
int worker_start(struct mailbox *mailbox, const char *name, struct worker **ret);
/// When it isn't busy.
struct worker *worker_stop(struct worker *worker);
/// The loop's thread only.
void worker_submit(struct worker *worker, struct job *job);
/// Whether a job is queued, running, or not yet delivered as done. The loop's thread only.
bool worker_busy(const struct worker *worker);

#endif
