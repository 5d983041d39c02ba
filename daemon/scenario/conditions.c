// SPDX-License-Identifier: GPL-3.0-or-later
/// Decoding conditions. Images are decoded here, and refused when there is nothing in them that could be found; the PNG
/// bytes are let go at once, so that a scenario holds its pixels only.
#include "config.h"

#include "daemon/scenario/decoder.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

static bool within(int64_t value, int64_t low, int64_t high)
{
	return value >= low && value <= high;
}

static void decode_area(struct decoder *decoder, const Condprof__Area *area, const char *field, struct rect *ret)
{
	if (!area) {
		problem(decoder, field, "an area is missing: [x, y, width, height]");
		return;
	}
	if (!within(area->x, 0, PICTURE_MAX_SIDE) || !within(area->y, 0, PICTURE_MAX_SIDE) ||
	    !within(area->width, 1, PICTURE_MAX_SIDE) || !within(area->height, 1, PICTURE_MAX_SIDE)) {
		problem(decoder, field,
			"[%d, %d, %d, %d] is in no frame: an area is [x, y, width, height], x and y from 0, width and "
			"height from 1, at most %d",
			area->x, area->y, area->width, area->height, PICTURE_MAX_SIDE);
		return;
	}
	*ret = (struct rect){area->x, area->y, area->x + area->width, area->y + area->height};
}

/// Whether the gray of the opaque pixels has a variance, as image matching needs it; a picture without opaque pixels is
/// a mistake of its own.
static bool check_contrast(struct decoder *decoder, struct picture_view view)
{
	int first = -1;

	for (int y = 0; y < view.height; y++)
		for (int x = 0; x < view.width; x++) {
			const uint8_t *pixel = view.pixels + y * view.stride + 4 * x;

			if (pixel[3] != 255)
				continue;
			int gray = (9798 * pixel[2] + 19235 * pixel[1] + 3735 * pixel[0] + 16384) >> 15;

			if (first >= 0 && gray != first)
				return true;
			first = gray;
		}
	problem(decoder, "image", "%s",
		first < 0 ? "no pixel of this image is opaque: there is nothing to look for"
			  : "this image is one flat colour: use a color condition");
	return false;
}

/// All scenarios' images together stay within a limit, whoever holds them: this side takes, scenario_free() gives back.
static bool take_pixels(struct decoder *decoder, int64_t pixels)
{
	if (decoder->busy)
		return false;

	int64_t before = atomic_fetch_add(&scenario_pixels_held, pixels);

	if (before + pixels <= TEMPLATES_MAX_PIXELS_ALL)
		return true;
	atomic_fetch_sub(&scenario_pixels_held, pixels);
	decoder->busy = true;
	problem_with_code(
		decoder, CONDPROF__CODE__BUSY, "image",
		"the images of all sessions have %d million pixels at the most, and %lld million are taken; stop "
		"a session, or use smaller images",
		TEMPLATES_MAX_PIXELS_ALL / 1000000, (long long)before / 1000000);
	return false;
}

static struct picture *decode_png(struct decoder *decoder, const Condprof__ImageCondition *message)
{
	struct picture *picture = NULL;
	struct error error;
	int width = 0, height = 0;
	int r = png_peek_size(message->png.data, message->png.len, &width, &height, &error);

	if (r == 0) {
		decoder->template_pixels += (int64_t)width * height;
		if (decoder->template_pixels > TEMPLATES_MAX_PIXELS) {
			problem_with_code(
				decoder, CONDPROF__CODE__TOO_LARGE, "image",
				"the images of a scenario have %d million pixels at the most: cut smaller ones",
				TEMPLATES_MAX_PIXELS / 1000000);
			return NULL;
		}
		if (!take_pixels(decoder, (int64_t)width * height))
			return NULL;
		r = png_decode(message->png.data, message->png.len, &picture, &error);
		if (r < 0)
			atomic_fetch_sub(&scenario_pixels_held, (int64_t)width * height);
	}
	if (r == -ENOMEM)
		decoder->no_memory = true;
	else if (r < 0)
		problem_with_code(decoder, error.code, "image", "%s", error.message);
	return picture;
}

static void decode_image_pixels(struct decoder *decoder, Condprof__ImageCondition *message, struct condition *condition)
{
	if (!message->has_png) {
		problem(decoder, "image", "the image itself is missing: send the bytes of its PNG file");
		return;
	}
	condition->image.image = decode_png(decoder, message);
	if (condition->image.image)
		check_contrast(decoder, picture_view(condition->image.image));
	free(message->png.data);
	message->png = (ProtobufCBinaryData){0, NULL};
}

/// The template's own place.
static void decode_exact(struct decoder *decoder, const Condprof__Point *at, struct condition *condition)
{
	const struct picture *image = condition->image.image;

	if (!at)
		problem(decoder, "at", "an exact search needs the place the image was taken from: at: [x, y]");
	else if (!within(at->x, 0, PICTURE_MAX_SIDE) || !within(at->y, 0, PICTURE_MAX_SIDE))
		problem(decoder, "at", "[%d, %d] is in no frame: x and y are from 0 to %d", at->x, at->y,
			PICTURE_MAX_SIDE);
	else if (image)
		condition->area = (struct rect){at->x, at->y, at->x + image->width, at->y + image->height};
}

static void decode_image(struct decoder *decoder, Condprof__ImageCondition *message, struct condition *condition)
{
	condition->image.file = message->file ? message->file : "";
	check_length(decoder, "image", condition->image.file, TEXT_MAX_BYTES);
	condition->present = message->present;
	check_percent(decoder, "threshold", message->threshold, &condition->threshold);
	decode_image_pixels(decoder, message, condition);
	if (!check_enum(decoder, "search", &condprof__search__descriptor, (int)message->search))
		return;
	condition->search = message->search;
	if (message->search == CONDPROF__SEARCH__SEARCH_AREA)
		decode_area(decoder, message->area, "search", &condition->area);
	else if (message->area)
		problem(decoder, "search", "there is an area, but the search is not in one");
	if (message->search == CONDPROF__SEARCH__SEARCH_EXACT)
		decode_exact(decoder, message->at, condition);
	else if (message->at)
		problem(decoder, "at", "at is for an exact search: search: exact");
}

static void decode_color(struct decoder *decoder, const Condprof__ColorCondition *message, struct condition *condition)
{
	if (!message->has_rgb || message->rgb > 0xffffff)
		problem(decoder, "color", "a colour is \"#rrggbb\"");
	condition->rgb = message->rgb;
	condition->present = message->present;
	decode_area(decoder, message->area, "area", &condition->area);
	check_percent(decoder, "threshold", message->threshold, &condition->threshold);
}

/// Names become paths of tesseract's data: nothing but letters, digits, _ and the / of script/Latin.
static bool is_language(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/";
	size_t length = strspn(name, allowed);

	return length > 0 && length <= 64 && name[length] == '\0' && name[0] != '/' && name[length - 1] != '/';
}

/// @return "eng+deu", in the decoder's room for it
static const char *decode_languages(struct decoder *decoder, char *const *names, size_t count)
{
	const char *ret = decoder->languages;

	if (count == 0)
		return "eng";
	if (count > SCENARIO_MAX_LANGUAGES)
		problem(decoder, "language", "at most %u languages", SCENARIO_MAX_LANGUAGES);
	for (size_t i = 0; i < count; i++) {
		if (!is_language(names[i]))
			problem(decoder, "language", "\"%s\" is no language; they are called eng, deu, chi_sim, …",
				error_quote(names[i]).text);
		decoder->languages = stpcpy(decoder->languages, names[i]);
		*decoder->languages++ = i + 1 < count ? '+' : '\0';
	}
	return ret;
}

static void decode_text(struct decoder *decoder, const Condprof__TextCondition *message, struct condition *condition)
{
	condition->ocr.text = message->text ? message->text : "";
	if (condition->ocr.text[0] == '\0')
		problem(decoder, "text", "the text to look for is missing");
	else if (condition->ocr.text[strspn(condition->ocr.text, " ")] == '\0')
		problem(decoder, "text", "the text to look for is blank");
	else if (check_length(decoder, "text", message->text, TEXT_MAX_BYTES) && utf8_has_control(message->text, false))
		problem(decoder, "text", "the text to look for is one line, without control characters");
	condition->present = message->present;
	condition->ocr.ignore_case = message->ignore_case;
	condition->ocr.languages = decode_languages(decoder, message->languages, message->n_languages);
	decode_area(decoder, message->area, "area", &condition->area);
	check_percent(decoder, "threshold", message->threshold, &condition->threshold);
}

static void decode_number(struct decoder *decoder, const Condprof__NumberCondition *message,
			  struct condition *condition)
{
	condition->present = true;
	if (check_enum(decoder, "number", &condprof__comparison__descriptor, (int)message->comparison))
		condition->ocr.comparison = message->comparison;
	decode_operand(decoder, "number", message->operand, &condition->ocr.operand);
	if (check_enum(decoder, "format", &condprof__number_format__descriptor, (int)message->format))
		condition->ocr.format = message->format;
	condition->ocr.languages = decode_languages(decoder, message->languages, message->n_languages);
	decode_area(decoder, message->area, "area", &condition->area);
}

static void decode_timer(struct decoder *decoder, const Condprof__TimerCondition *message, struct condition *condition)
{
	if (!message->has_duration_ns)
		problem(decoder, "timer", "a timer needs a duration");
	check_duration(decoder, "timer", message->duration_ns, &condition->timer.duration_ns);
	condition->timer.repeat = message->repeat;
}

static void decode_counter(struct decoder *decoder, const Condprof__CounterCondition *message,
			   struct condition *condition)
{
	condition->counter.counter = find_counter(decoder, "counter", message->counter);
	if (check_enum(decoder, "is", &condprof__comparison__descriptor, (int)message->comparison))
		condition->counter.comparison = message->comparison;
	decode_operand(decoder, "is", message->operand, &condition->counter.operand);
}

/// The name and its bus get their place in `broadcasts` when all are known.
static void decode_broadcast(struct decoder *decoder, const Condprof__BroadcastCondition *message,
			     struct condition *condition)
{
	condition->broadcast = NO_INDEX;
	if (check_name(decoder, "broadcast", "a broadcast", message->broadcast) &&
	    check_enum(decoder, "bus", &condprof__bus__descriptor, (int)message->bus) &&
	    message->bus != CONDPROF__BUS__BUS_NONE)
		check_bus_signal(decoder, "broadcast", message->broadcast);
}

/// @return the kind of a message, or CONDITION_KINDS: none, or one of a newer client
static enum condition_kind kind_of(const Condprof__Condition *message)
{
	switch (message->kind_case) {
	case CONDPROF__CONDITION__KIND_IMAGE:
		return CONDITION_IMAGE;
	case CONDPROF__CONDITION__KIND_COLOR:
		return CONDITION_COLOR;
	case CONDPROF__CONDITION__KIND_TEXT:
		return CONDITION_TEXT;
	case CONDPROF__CONDITION__KIND_NUMBER:
		return CONDITION_NUMBER;
	case CONDPROF__CONDITION__KIND_TIMER:
		return CONDITION_TIMER;
	case CONDPROF__CONDITION__KIND_COUNTER:
		return CONDITION_COUNTER;
	case CONDPROF__CONDITION__KIND_BROADCAST:
		return CONDITION_BROADCAST;
	default:
		return CONDITION_KINDS;
	}
}

static void decode_kind(struct decoder *decoder, Condprof__Condition *message, struct condition *condition)
{
	switch (condition->kind) {
	case CONDITION_IMAGE:
		decode_image(decoder, message->image, condition);
		break;
	case CONDITION_COLOR:
		decode_color(decoder, message->color, condition);
		break;
	case CONDITION_TEXT:
		decode_text(decoder, message->text, condition);
		break;
	case CONDITION_NUMBER:
		decode_number(decoder, message->number, condition);
		break;
	case CONDITION_TIMER:
		decode_timer(decoder, message->timer, condition);
		break;
	case CONDITION_COUNTER:
		decode_counter(decoder, message->counter, condition);
		break;
	case CONDITION_BROADCAST:
		decode_broadcast(decoder, message->broadcast, condition);
		break;
	case CONDITION_KINDS:
		problem(decoder, NULL, "this condition has no kind that this daemon knows");
		break;
	}
}

void decode_condition(struct decoder *decoder, Condprof__Condition *message, struct condition *condition)
{
	bool trigger = decoder->scenario->events[condition->event].trigger;

	if (check_name(decoder, "name", "a condition", message->name) && strcmp(message->name, "found") == 0)
		problem(decoder, "name",
			"a condition cannot be called \"found\": click: found means the first one found");
	condition->kind = kind_of(message);
	if (condition->kind != CONDITION_KINDS && trigger != (condition->kind >= CONDITION_TIMER))
		problem(decoder, condition_kind_name(condition->kind),
			trigger ? "a %s condition looks at the screen: it belongs into a screen event"
				: "a %s condition does not look at the screen: it belongs into a trigger event",
			condition_kind_name(condition->kind));
	decode_kind(decoder, message, condition);
}

static size_t joined_bytes(char *const *names, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += strlen(names[i]) + 1;
	return bytes;
}

size_t count_languages(const Condprof__Condition *message)
{
	if (message->kind_case == CONDPROF__CONDITION__KIND_TEXT)
		return joined_bytes(message->text->languages, message->text->n_languages);
	if (message->kind_case == CONDPROF__CONDITION__KIND_NUMBER)
		return joined_bytes(message->number->languages, message->number->n_languages);
	return 0;
}
