// SPDX-License-Identifier: GPL-3.0-or-later
/// The kept copy of a scenario: what was run, without its pictures. Made from the client's own message, so that nothing
/// of it is lost on the way through the model.
#include "config.h"

#include "daemon/scenario/decoder.h"

#include <errno.h>

/// What is replaced for packing, and must not be freed with the message: `rate` and the texts are the caller's.
static void set_run(Condprof__Scenario *message, const struct scenario_run *run, Condprof__Rate *rate)
{
	message->has_dry_run = true;
	message->dry_run = run->dry_run;
	message->has_random_seed = message->has_randomize && message->randomize;
	message->random_seed = run->random_seed;
	if (run->screen)
		message->screen = (char *)(uintptr_t)run->screen;
	if (run->input)
		message->input = (char *)(uintptr_t)run->input;
	if (!run->has_rate)
		return;
	condprof__rate__init(rate);
	rate->has_passes = true;
	rate->passes = run->rate_passes;
	rate->has_per_ns = run->rate_passes > 0;
	rate->per_ns = run->rate_per_ns;
	message->rate = rate;
}

static void keep_image(const struct picture *picture, Condprof__ImageCondition *image)
{
	free(image->png.data);
	image->png = (ProtobufCBinaryData){0, NULL};
	image->has_png = false;
	image->has_pixels_digest = image->has_width = image->has_height = true;
	image->pixels_digest = picture_digest(picture_view(picture));
	image->width = picture->width;
	image->height = picture->height;
}

static int keep_condition(const struct condition *condition, Condprof__Condition *message)
{
	bool image = message->kind_case == CONDPROF__CONDITION__KIND_IMAGE;

	if (image != (condition->kind == CONDITION_IMAGE))
		return -EBADMSG;
	message->has_id = message->has_id_given = true;
	message->id = condition->id;
	message->id_given = condition->id_given;
	if (image)
		keep_image(condition->image.image, message->image);
	return 0;
}

static int keep_event(const struct scenario *scenario, const struct event *event, Condprof__Event *message)
{
	int r = 0;

	if (message->n_conditions != event->conditions)
		return -EBADMSG;
	message->has_id = message->has_id_given = true;
	message->id = event->id;
	message->id_given = event->id_given;
	for (uint32_t i = 0; i < event->conditions && r == 0; i++)
		r = keep_condition(&scenario->conditions[event->first_condition + i], message->conditions[i]);
	return r;
}

static int keep_events(const struct scenario *scenario, Condprof__Scenario *message)
{
	uint32_t triggers = scenario->n_events - scenario->screen_events;
	int r = 0;

	if (message->n_screen_events != scenario->screen_events || message->n_trigger_events != triggers)
		return -EBADMSG;
	for (uint32_t i = 0; i < scenario->screen_events && r == 0; i++)
		r = keep_event(scenario, &scenario->events[i], message->screen_events[i]);
	for (uint32_t i = 0; i < triggers && r == 0; i++)
		r = keep_event(scenario, &scenario->events[scenario->screen_events + i], message->trigger_events[i]);
	return r;
}

static int pack(const Condprof__Scenario *message, uint8_t **ret, size_t *ret_size)
{
	size_t size = condprof__scenario__get_packed_size(message);
	uint8_t *packed = malloc(MAX(size, 1U));

	if (!packed)
		return -ENOMEM;
	*ret_size = condprof__scenario__pack(message, packed);
	*ret = packed;
	return 0;
}

int scenario_encode_kept(const struct scenario *scenario, const uint8_t *data, size_t size,
			 const struct scenario_run *run, uint8_t **ret, size_t *ret_size)
{
	Condprof__Scenario *message = NULL;
	int r = scenario_unpack(data, size, &message);

	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	char *own_screen = message->screen, *own_input = message->input;
	Condprof__Rate *own_rate = message->rate, rate;

	r = keep_events(scenario, message);
	set_run(message, run, &rate);
	if (r == 0)
		r = pack(message, ret, ret_size);
	message->screen = own_screen;
	message->input = own_input;
	message->rate = own_rate;
	condprof__scenario__free_unpacked(message, NULL);
	return r;
}
