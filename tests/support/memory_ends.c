// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/support/memory_ends.h"

#include "daemon/screen/wait.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DISPLAYS_MAX 32U

static struct memory_display *displays[DISPLAYS_MAX];
static pthread_mutex_t displays_lock = PTHREAD_MUTEX_INITIALIZER;

static struct memory_display **find_slot(const char *name)
{
	for (size_t i = 0; i < DISPLAYS_MAX; i++) {
		if (name ? displays[i] && strcmp(displays[i]->name, name) == 0 : !displays[i])
			return &displays[i];
	}
	return NULL;
}

static struct memory_display *find(const char *name)
{
	pthread_mutex_lock(&displays_lock);
	struct memory_display **slot = find_slot(name);
	struct memory_display *display = slot ? *slot : NULL;
	pthread_mutex_unlock(&displays_lock);
	return display;
}

struct memory_display *memory_display_new(const char *name, int width, int height)
{
	struct memory_display *display = calloc(1, sizeof(*display));

	if (!display || strlen(name) >= sizeof(display->name) || picture_new(width, height, &display->picture) < 0)
		abort();
	strcpy(display->name, name);
	pthread_mutex_init(&display->lock, NULL);
	memory_display_fill(display, (struct rect){0, 0, width, height}, 0);
	pthread_mutex_lock(&displays_lock);
	struct memory_display **slot = find_slot(NULL);
	if (!slot || find_slot(name))
		abort();
	*slot = display;
	pthread_mutex_unlock(&displays_lock);
	return display;
}

struct memory_display *memory_display_free(struct memory_display *display)
{
	if (!display)
		return NULL;
	pthread_mutex_lock(&displays_lock);
	struct memory_display **slot = find_slot(display->name);
	if (slot)
		*slot = NULL;
	pthread_mutex_unlock(&displays_lock);
	pthread_mutex_destroy(&display->lock);
	picture_free(display->picture);
	free(display);
	return NULL;
}

void memory_display_fill(struct memory_display *display, struct rect area, uint32_t rgb)
{
	struct picture *picture = display->picture;

	for (int y = MAX(area.top, 0); y < MIN(area.bottom, picture->height); y++) {
		for (int x = MAX(area.left, 0); x < MIN(area.right, picture->width); x++) {
			uint8_t *pixel = picture->pixels + y * picture->stride + x * 4;

			pixel[0] = rgb & 0xff;
			pixel[1] = rgb >> 8 & 0xff;
			pixel[2] = rgb >> 16 & 0xff;
			pixel[3] = 0xff;
		}
	}
}

void memory_display_draw(struct memory_display *display, int left, int top, struct picture_view view)
{
	struct picture *picture = display->picture;

	for (int y = MAX(0, -top); y < MIN(view.height, picture->height - top); y++) {
		for (int x = MAX(0, -left); x < MIN(view.width, picture->width - left); x++)
			memcpy(picture->pixels + (top + y) * picture->stride + (left + x) * 4,
			       view.pixels + y * view.stride + x * 4, 4);
	}
}

// --- screen ---------------------------------------------------------------------------------------------------------

struct memory_screen {
	struct screen screen;
	struct memory_display *display;
};

static int no_display(const char *name, struct error *error)
{
	return error_set(error, CONDPROF__CODE__SCREEN_FAILED, ENOENT, "memory: there is no display \"%s\"", name);
}

static int memory_screen_open(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
			      struct screen **ret, struct error *error)
{
	struct memory_display *display = find(rest);

	(void)config;
	(void)wait;
	if (!display)
		return no_display(rest, error);
	if (display->open_error)
		return error_set(error, CONDPROF__CODE__SCREEN_FAILED, display->open_error, "memory: told to fail");
	struct memory_screen *memory = calloc(1, sizeof(*memory));
	if (!memory)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	extern const struct screen_ops memory_screen_ops;
	memory->display = display;
	memory->screen = (struct screen){.ops = &memory_screen_ops,
					 .live = !display->replay,
					 .by_pass = display->by_pass,
					 .width = display->picture->width,
					 .height = display->picture->height};
	display->opens++;
	*ret = &memory->screen;
	return 0;
}

static struct screen *memory_screen_close(struct screen *screen)
{
	struct memory_screen *memory = (struct memory_screen *)screen;

	memory->display->closes++;
	free(memory);
	return NULL;
}

static enum screen_status answer(struct memory_screen *memory, const struct screen_wait *wait)
{
	enum screen_status status = memory->display->status;

	if (status == SCREEN_FAILED)
		error_set(&memory->screen.failure, CONDPROF__CODE__SCREEN_FAILED, EIO, "memory: told to fail");
	return status == SCREEN_STALLED ? wait_for_fd(-1, 0, wait) : status;
}

static enum screen_status memory_screen_wait(struct screen *screen, const struct screen_wait *wait)
{
	struct memory_screen *memory = (struct memory_screen *)screen;

	memory->display->waits++;
	if (memory->display->on_wait)
		memory->display->on_wait(memory->display, memory->display->context);
	return answer(memory, wait);
}

static enum screen_status give(struct memory_screen *memory, const struct screen_wait *wait, bool refresh,
			       struct frame *ret)
{
	struct memory_display *display = memory->display;

	if (display->on_get)
		display->on_get(display, refresh, display->context);
	enum screen_status status = answer(memory, wait);
	if (status != SCREEN_OK)
		return status;
	memory->screen.width = display->picture->width;
	memory->screen.height = display->picture->height;
	ret->view = picture_view(display->picture);
	ret->serial = display->serial;
	return SCREEN_OK;
}

static enum screen_status memory_screen_get(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct memory_screen *memory = (struct memory_screen *)screen;

	memory->display->gets++;
	return give(memory, wait, false, ret);
}

static enum screen_status memory_screen_refresh(struct screen *screen, const struct screen_wait *wait,
						struct frame *ret)
{
	struct memory_screen *memory = (struct memory_screen *)screen;

	memory->display->refreshes++;
	return give(memory, wait, true, ret);
}

const struct screen_ops memory_screen_ops = {
	.scheme = "memory",
	.summary = "what a test draws",
	.open = memory_screen_open,
	.close = memory_screen_close,
	.wait = memory_screen_wait,
	.get = memory_screen_get,
	.refresh = memory_screen_refresh,
};

// --- input ----------------------------------------------------------------------------------------------------------

struct memory_input {
	struct input input;
	struct memory_display *display;
};

static int memory_input_open(const char *rest, const struct screen_config *config, const struct screen_wait *wait,
			     struct input **ret, struct error *error)
{
	struct memory_display *display = find(rest);

	(void)config;
	(void)wait;
	if (!display)
		return no_display(rest, error);
	if (display->open_error)
		return error_set(error, CONDPROF__CODE__INPUT_FAILED, display->open_error, "memory: told to fail");
	struct memory_input *memory = calloc(1, sizeof(*memory));
	if (!memory)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	extern const struct input_ops memory_input_ops;
	memory->display = display;
	memory->input.ops = &memory_input_ops;
	*ret = &memory->input;
	return 0;
}

static int record(struct input *input, struct memory_call call)
{
	struct memory_display *display = ((struct memory_input *)input)->display;
	int failure = display->input_error;

	if (failure)
		return error_set(&input->failure, CONDPROF__CODE__INPUT_FAILED, failure, "memory: told to fail");
	call.at_ns = wait_now_ns();
	pthread_mutex_lock(&display->lock);
	if (display->n_calls < MEMORY_CALLS_MAX)
		display->calls[display->n_calls] = call;
	display->n_calls++;
	if (call.kind == MEMORY_PRESS || call.kind == MEMORY_RELEASE)
		display->pressed = call.kind == MEMORY_PRESS;
	if (call.kind == MEMORY_KEY_PRESS)
		display->keys_held++;
	if (call.kind == MEMORY_KEY_RELEASE && display->keys_held > 0)
		display->keys_held--;
	if (call.kind == MEMORY_RELEASE_ALL) {
		display->pressed = false;
		display->keys_held = 0;
	}
	pthread_mutex_unlock(&display->lock);
	return 0;
}

static void memory_fit(struct input *input, int width, int height)
{
	struct memory_display *display = ((struct memory_input *)input)->display;

	display->fit_width = width;
	display->fit_height = height;
}

static int memory_move(struct input *input, int x, int y)
{
	return record(input, (struct memory_call){.kind = MEMORY_MOVE, .x = x, .y = y});
}

static int memory_press(struct input *input)
{
	return record(input, (struct memory_call){.kind = MEMORY_PRESS});
}

static int memory_release(struct input *input)
{
	return record(input, (struct memory_call){.kind = MEMORY_RELEASE});
}

static int memory_key_press(struct input *input, uint32_t keysym)
{
	return record(input, (struct memory_call){.kind = MEMORY_KEY_PRESS, .keysym = keysym});
}

static int memory_key_release(struct input *input, uint32_t keysym)
{
	return record(input, (struct memory_call){.kind = MEMORY_KEY_RELEASE, .keysym = keysym});
}

static int memory_type(struct input *input, const char *utf8)
{
	struct memory_call call = {.kind = MEMORY_TYPE};

	snprintf(call.text, sizeof(call.text), "%s", utf8);
	return record(input, call);
}

static int memory_release_all(struct input *input)
{
	return record(input, (struct memory_call){.kind = MEMORY_RELEASE_ALL});
}

static struct input *memory_input_close(struct input *input)
{
	memory_release_all(input);
	free(input);
	return NULL;
}

const struct input_ops memory_input_ops = {
	.scheme = "memory",
	.summary = "records what a session does",
	.open = memory_input_open,
	.close = memory_input_close,
	.fit = memory_fit,
	.pointer_move = memory_move,
	.pointer_press = memory_press,
	.pointer_release = memory_release,
	.key_press = memory_key_press,
	.key_release = memory_key_release,
	.type = memory_type,
	.release_all = memory_release_all,
};

void memory_ends_register(void)
{
	screen_register(&memory_screen_ops);
	input_register(&memory_input_ops);
}

static void describe(const struct memory_call *call, char *out, size_t size)
{
	static const char *const words[] = {
		[MEMORY_MOVE] = "move",
		[MEMORY_PRESS] = "press",
		[MEMORY_RELEASE] = "release",
		[MEMORY_KEY_PRESS] = "key-press",
		[MEMORY_KEY_RELEASE] = "key-release",
		[MEMORY_TYPE] = "type",
		[MEMORY_RELEASE_ALL] = "release-all",
	};
	static_assert(ARRAY_SIZE(words) == MEMORY_CALL_KINDS, "a word a kind");

	if (call->kind == MEMORY_MOVE)
		snprintf(out, size, "%s %d %d", words[call->kind], call->x, call->y);
	else if (call->kind == MEMORY_KEY_PRESS || call->kind == MEMORY_KEY_RELEASE)
		snprintf(out, size, "%s 0x%x", words[call->kind], call->keysym);
	else if (call->kind == MEMORY_TYPE)
		snprintf(out, size, "%s %s", words[call->kind], call->text);
	else
		snprintf(out, size, "%s", words[call->kind]);
}

void memory_display_log(struct memory_display *display, char *out, size_t size)
{
	size_t used = 0;

	if (size > 0)
		*out = '\0';
	pthread_mutex_lock(&display->lock);
	for (size_t i = 0; i < MIN(display->n_calls, (size_t)MEMORY_CALLS_MAX) && used < size; i++) {
		char one[128];

		describe(&display->calls[i], one, sizeof(one));
		used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? "; " : "", one);
	}
	pthread_mutex_unlock(&display->lock);
}

size_t memory_display_count(struct memory_display *display, enum memory_call_kind kind)
{
	size_t count = 0;

	pthread_mutex_lock(&display->lock);
	for (size_t i = 0; i < MIN(display->n_calls, (size_t)MEMORY_CALLS_MAX); i++)
		count += display->calls[i].kind == kind;
	pthread_mutex_unlock(&display->lock);
	return count;
}
