// SPDX-License-Identifier: GPL-3.0-or-later
// Going on in another report. The word `asked` has three states: nothing, a target, or `ended`, after which nothing is
// taken; every change of it is one atomic exchange, so that a target is either taken or given back, never both.
#include "daemon/engine/rotation.h"

#include "daemon/engine/processor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct rotation_target ended;

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int rotation_init(struct rotation *rotation, int ending_fd, bool possible)
{
	int r;

	*rotation = (struct rotation){.asked_fd = -1, .wake_fd = ending_fd};
	if (!possible)
		return 0;
	rotation->asked_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rotation->asked_fd < 0)
		return -errno;
	rotation->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (rotation->wake_fd < 0)
		return -errno;
	rotation->own_wake_fd = true;
	r = watch(rotation->wake_fd, ending_fd);
	return r < 0 ? r : watch(rotation->wake_fd, rotation->asked_fd);
}

void rotation_deinit(struct rotation *rotation)
{
	if (rotation->own_wake_fd)
		cleanup_close(&rotation->wake_fd);
	cleanup_close(&rotation->asked_fd);
	*rotation = ROTATION_NONE;
}

int rotation_ask(struct rotation *rotation, struct rotation_target *target)
{
	struct rotation_target *before = NULL;
	uint64_t one = 1;

	if (!atomic_compare_exchange_strong(&rotation->asked, &before, target))
		return before == &ended ? -ESHUTDOWN : -EBUSY;
	while (write(rotation->asked_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return 0;
}

static void go_on_in(struct processor *processor, const struct rotation_target *target)
{
	struct processor_params *p = &processor->p;

	if (p->timing)
		processor->previous_done_ns = timing_continue(p->timing, target->timing);
	p->timing = target->timing;
	p->recorder = target->recorder;
	p->session_id = target->session_id;
	processor->passes_before = processor->progress.passes;
	if (p->recorder)
		recorder_push(p->recorder, occurrence_continued(processor->occurrence, &processor->states));
}

void rotation_take(struct processor *processor)
{
	struct rotation *rotation = &processor->rotation;
	struct gate *gate = processor->p.recorder_gate;
	struct rotation_target *target = atomic_load_explicit(&rotation->asked, memory_order_acquire);

	if (!target || target == &ended)
		return;
	// whoever closes the session in this thread's place finds it before or after, never in between
	if (gate && !gate_enter(gate))
		return;
	if (atomic_compare_exchange_strong(&rotation->asked, &target, NULL)) {
		go_on_in(processor, target);
		target->taken(target);
	}
	if (gate)
		gate_leave(gate);
}

void rotation_woken(struct processor *processor)
{
	uint64_t count;

	if (read(processor->rotation.asked_fd, &count, sizeof(count)) == sizeof(count))
		rotation_take(processor);
}

struct rotation_target *rotation_end(struct rotation *rotation)
{
	struct rotation_target *target = atomic_exchange(&rotation->asked, &ended);

	return target == &ended ? NULL : target;
}
