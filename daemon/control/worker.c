// SPDX-License-Identifier: GPL-3.0-or-later
// A queue under a mutex and one thread that empties it.
#include "config.h"

#include "daemon/control/worker.h"

#include <errno.h>
#include <pthread.h>

struct worker {
	struct mailbox *mailbox;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job *first, **last;
	bool stopping;
	unsigned in_flight; // touched by the loop's thread only
};

/// The next job, waiting for it; NULL when the worker stops and none is left.
static struct job *next_job(struct worker *worker)
{
	struct job *job;

	pthread_mutex_lock(&worker->lock);
	while (!worker->first && !worker->stopping)
		pthread_cond_wait(&worker->wake, &worker->lock);
	job = worker->first;
	if (job) {
		worker->first = job->next;
		if (!worker->first)
			worker->last = &worker->first;
	}
	pthread_mutex_unlock(&worker->lock);
	return job;
}

static void deliver(struct mail *mail)
{
	struct job *job = CONTAINER_OF(mail, struct job, mail);

	job->worker->in_flight--;
	job->done(job);
}

static void *worker_main(void *context)
{
	struct worker *worker = context;
	struct job *job;

	while ((job = next_job(worker))) {
		job->run(job);
		job->mail.deliver = deliver;
		mailbox_post(worker->mailbox, &job->mail);
	}
	return NULL;
}

int worker_start(struct mailbox *mailbox, const char *name, struct worker **ret)
{
	CLEANUP_FREE struct worker *worker = calloc(1, sizeof(*worker));
	int r;

	if (!worker)
		return -ENOMEM;
	worker->mailbox = mailbox;
	worker->last = &worker->first;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->wake, NULL);
	r = pthread_create(&worker->thread, NULL, worker_main, worker);
	if (r)
		return -r;
	pthread_setname_np(worker->thread, name);
	*ret = TAKE_POINTER(worker);
	return 0;
}

struct worker *worker_stop(struct worker *worker)
{
	if (!worker)
		return NULL;
	pthread_mutex_lock(&worker->lock);
	worker->stopping = true;
	pthread_cond_signal(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
	pthread_join(worker->thread, NULL);
	pthread_cond_destroy(&worker->wake);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
	return NULL;
}

void worker_submit(struct worker *worker, struct job *job)
{
	job->next = NULL;
	job->worker = worker;
	worker->in_flight++;
	pthread_mutex_lock(&worker->lock);
	*worker->last = job;
	worker->last = &job->next;
	pthread_cond_signal(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
}

bool worker_busy(const struct worker *worker)
{
	return worker->in_flight;
}
