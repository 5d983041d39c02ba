// SPDX-License-Identifier: GPL-3.0-or-later
/// The way from any thread to the loop's: what is posted is delivered there, in the order of posting, with no lock
/// held. Posting never allocates, never waits for the loop and never fails; the sender embeds the mail in what it is
/// about.
#ifndef CONDPROF_MAILBOX_H
#define CONDPROF_MAILBOX_H

#include "daemon/control/loop.h"

struct mailbox;

/// Belongs to the mailbox from mailbox_post() until it is delivered. deliver() may free what embeds it.
struct mail {
	struct mail *next;
	void (*deliver)(struct mail *mail);
};

int mailbox_new(struct loop *loop, struct mailbox **ret);
/// What was posted and not yet delivered is delivered first. After every sender's thread was joined.
struct mailbox *mailbox_free(struct mailbox *mailbox);
/// From any thread.
void mailbox_post(struct mailbox *mailbox, struct mail *mail);
/// Waits for mail and delivers it, without the loop: for the way out. The loop's thread only.
void mailbox_wait(struct mailbox *mailbox);

#endif
