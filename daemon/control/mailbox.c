// SPDX-License-Identifier: GPL-3.0-or-later
// A list under a mutex, and an eventfd that makes the loop look. The list is taken over whole and delivered unlocked,
// so that a sender waits at most for another sender's two assignments.
#include "daemon/control/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

struct mailbox {
	pthread_mutex_t lock;
	struct mail *first, **last;
	int fd;
	struct loop_watch *watch;
};

static struct mail *take_all(struct mailbox *mailbox)
{
	struct mail *list;

	pthread_mutex_lock(&mailbox->lock);
	list = mailbox->first;
	mailbox->first = NULL;
	mailbox->last = &mailbox->first;
	pthread_mutex_unlock(&mailbox->lock);
	return list;
}

static void deliver_all(struct mailbox *mailbox)
{
	struct mail *list = take_all(mailbox);

	while (list) {
		struct mail *mail = list;

		list = mail->next;
		mail->deliver(mail);
	}
}

static void on_poked(void *context, unsigned ready)
{
	struct mailbox *mailbox = context;
	eventfd_t count;

	(void)ready;
	eventfd_read(mailbox->fd, &count);
	deliver_all(mailbox);
}

void mailbox_wait(struct mailbox *mailbox)
{
	struct pollfd look = {.fd = mailbox->fd, .events = POLLIN};

	if (poll(&look, 1, -1) > 0)
		on_poked(mailbox, LOOP_READ);
}

int mailbox_new(struct loop *loop, struct mailbox **ret)
{
	struct mailbox *mailbox = calloc(1, sizeof(*mailbox));
	int r;

	if (!mailbox)
		return -ENOMEM;
	pthread_mutex_init(&mailbox->lock, NULL);
	mailbox->last = &mailbox->first;
	mailbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = mailbox->fd < 0 ? -errno : loop_watch_new(loop, mailbox->fd, on_poked, mailbox, &mailbox->watch);
	if (r < 0) {
		mailbox_free(mailbox);
		return r;
	}
	loop_watch_set(mailbox->watch, LOOP_READ);
	*ret = mailbox;
	return 0;
}

struct mailbox *mailbox_free(struct mailbox *mailbox)
{
	if (!mailbox)
		return NULL;
	deliver_all(mailbox);
	loop_watch_free(mailbox->watch);
	if (mailbox->fd >= 0)
		close(mailbox->fd);
	pthread_mutex_destroy(&mailbox->lock);
	free(mailbox);
	return NULL;
}

void mailbox_post(struct mailbox *mailbox, struct mail *mail)
{
	bool was_empty;

	mail->next = NULL;
	pthread_mutex_lock(&mailbox->lock);
	was_empty = !mailbox->first;
	*mailbox->last = mail;
	mailbox->last = &mail->next;
	pthread_mutex_unlock(&mailbox->lock);
	if (was_empty)
		eventfd_write(mailbox->fd, 1);
}
