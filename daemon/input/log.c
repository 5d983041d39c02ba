// SPDX-License-Identifier: GPL-3.0-or-later
// The input that touches nothing: the occurrences of a report say what would have been done, and the debug log too.
// Any number of sessions may use it at once.
#include "config.h"

#include "daemon/input/kinds.h"
#include "daemon/log/log.h"

#include <errno.h>

static int log_check(const char *rest, struct error *error)
{
	if (!*rest)
		return 0;
	return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
			 "input \"log:\" takes nothing after the colon, not \"%.200s\"", rest);
}

static int log_open(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
		    struct input **ret, struct error *error)
{
	(void)rest;
	(void)config;
	(void)wait;
	struct input *input = calloc(1, sizeof(*input));

	if (!input)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	input->ops = &log_input_ops;
	input->shared = true;
	*ret = input;
	return 0;
}

static struct input *log_close(struct input *input)
{
	free(input);
	return NULL;
}

static int log_move(struct input *input, int x, int y)
{
	(void)input;
	log_debug("input log: pointer to %d, %d", x, y);
	return 0;
}

static int log_press(struct input *input)
{
	(void)input;
	log_debug("input log: pointer down");
	return 0;
}

static int log_release(struct input *input)
{
	(void)input;
	log_debug("input log: pointer up");
	return 0;
}

static int log_key_press(struct input *input, uint32_t keysym)
{
	(void)input;
	log_debug("input log: key 0x%x down", keysym);
	return 0;
}

static int log_key_release(struct input *input, uint32_t keysym)
{
	(void)input;
	log_debug("input log: key 0x%x up", keysym);
	return 0;
}

// Never the text itself: it may be a secret.
static int log_type(struct input *input, const char *utf8)
{
	(void)input;
	(void)utf8;
	log_debug("input log: a text");
	return 0;
}

static int log_release_all(struct input *input)
{
	(void)input;
	return 0;
}

const struct input_ops log_input_ops = {
	.scheme = "log",
	.summary = "touches nothing, only records",
	.check = log_check,
	.open = log_open,
	.close = log_close,
	.pointer_move = log_move,
	.pointer_press = log_press,
	.pointer_release = log_release,
	.key_press = log_key_press,
	.key_release = log_key_release,
	.type = log_type,
	.release_all = log_release_all,
};
