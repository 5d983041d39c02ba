// SPDX-License-Identifier: GPL-3.0-or-later
// The gate is a mutex and a flag. The guarded input is a table of functions that enter it, call, and leave.
#include "daemon/engine/guard.h"

#include <errno.h>
#include <time.h>

void gate_init(struct gate *gate)
{
	pthread_mutex_init(&gate->lock, NULL);
	gate->shut = false;
}

void gate_deinit(struct gate *gate)
{
	pthread_mutex_destroy(&gate->lock);
}

bool gate_enter(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	if (!gate->shut)
		return true;
	pthread_mutex_unlock(&gate->lock);
	return false;
}

void gate_leave(struct gate *gate)
{
	pthread_mutex_unlock(&gate->lock);
}

static bool enter_within(struct gate *gate, int64_t patience_ns)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_nsec += patience_ns % NSEC_PER_SEC;
	deadline.tv_sec += patience_ns / NSEC_PER_SEC + deadline.tv_nsec / NSEC_PER_SEC;
	deadline.tv_nsec %= NSEC_PER_SEC;
	return pthread_mutex_timedlock(&gate->lock, &deadline) == 0;
}

bool gate_shut(struct gate *gate, int64_t patience_ns)
{
	if (!enter_within(gate, patience_ns))
		return false;
	gate->shut = true;
	pthread_mutex_unlock(&gate->lock);
	return true;
}

// --- the input -------------------------------------------------------------------------------------------------------

struct guarded_input {
	struct input base;
	struct gate gate;
	struct input *input; ///< NULL: taken away
};

static struct guarded_input *guarded(struct input *input)
{
	return (struct guarded_input *)input;
}

static int left(struct guarded_input *guard, int r)
{
	if (r < 0)
		guard->base.failure = guard->input->failure;
	gate_leave(&guard->gate);
	return r;
}

static void guard_fit(struct input *input, int width, int height)
{
	struct guarded_input *guard = guarded(input);

	if (!gate_enter(&guard->gate))
		return;
	if (guard->input->ops->fit)
		guard->input->ops->fit(guard->input, width, height);
	gate_leave(&guard->gate);
}

static int guard_move(struct input *input, int x, int y)
{
	struct guarded_input *guard = guarded(input);

	return gate_enter(&guard->gate) ? left(guard, guard->input->ops->pointer_move(guard->input, x, y)) : -ECANCELED;
}

static int guard_press(struct input *input)
{
	struct guarded_input *guard = guarded(input);

	return gate_enter(&guard->gate) ? left(guard, guard->input->ops->pointer_press(guard->input)) : -ECANCELED;
}

static int guard_release(struct input *input)
{
	struct guarded_input *guard = guarded(input);

	return gate_enter(&guard->gate) ? left(guard, guard->input->ops->pointer_release(guard->input)) : -ECANCELED;
}

static int guard_key_press(struct input *input, uint32_t keysym)
{
	struct guarded_input *guard = guarded(input);

	return gate_enter(&guard->gate) ? left(guard, guard->input->ops->key_press(guard->input, keysym)) : -ECANCELED;
}

static int guard_key_release(struct input *input, uint32_t keysym)
{
	struct guarded_input *guard = guarded(input);

	return gate_enter(&guard->gate) ? left(guard, guard->input->ops->key_release(guard->input, keysym))
					: -ECANCELED;
}

static int guard_type(struct input *input, const char *utf8)
{
	struct guarded_input *guard = guarded(input);

	return gate_enter(&guard->gate) ? left(guard, guard->input->ops->type(guard->input, utf8)) : -ECANCELED;
}

static int guard_release_all(struct input *input)
{
	struct guarded_input *guard = guarded(input);

	return gate_enter(&guard->gate) ? left(guard, guard->input->ops->release_all(guard->input)) : -ECANCELED;
}

static struct input *guard_close(struct input *input)
{
	struct guarded_input *guard = guarded(input);

	input_close(guard->input);
	gate_deinit(&guard->gate);
	free(guard);
	return NULL;
}

int guarded_input_new(struct input *input, struct input **ret)
{
	static const struct input_ops ops = {
		.scheme = "guarded",
		.summary = "another input, that can be taken away",
		.close = guard_close,
		.fit = guard_fit,
		.pointer_move = guard_move,
		.pointer_press = guard_press,
		.pointer_release = guard_release,
		.key_press = guard_key_press,
		.key_release = guard_key_release,
		.type = guard_type,
		.release_all = guard_release_all,
	};
	struct guarded_input *guard = calloc(1, sizeof(*guard));

	if (!guard)
		return -ENOMEM;
	guard->base = (struct input){.ops = &ops, .shared = input->shared};
	gate_init(&guard->gate);
	guard->input = input;
	*ret = &guard->base;
	return 0;
}

int guarded_input_take_away(struct input *input, int64_t patience_ns)
{
	struct guarded_input *guard = guarded(input);

	if (!enter_within(&guard->gate, patience_ns))
		return -EBUSY;
	guard->gate.shut = true;
	if (guard->input)
		guard->input->ops->release_all(guard->input);
	guard->input = input_close(guard->input); // still inside: who comes at the same time finds it done
	pthread_mutex_unlock(&guard->gate.lock);
	return 0;
}
