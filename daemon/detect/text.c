// SPDX-License-Identifier: GPL-3.0-or-later
// The text and the number condition: what is read in an area, held against what is wanted.
#include <errno.h>
#include <string.h>

#include "daemon/detect/frame.h"
#include "daemon/detect/memory.h"
#include "daemon/detect/number.h"
#include "daemon/detect/reader.h"
#include "daemon/detect/wanted.h"
#include "proto/utf8.h"

#define MISS 1e-9 // by less is none

/// A line for people, in the reader's room.
struct kept_line {
	char *text;
	bool any;
};

struct best_line {
	struct kept_line kept;
	struct detect_wanted *wanted;
	size_t distance;
	struct rect box;
};

struct first_number {
	struct kept_line kept;
	enum detect_format format;
	enum number_found found;
	double value;
	struct rect box;
};

static void keep_line(struct kept_line *kept, const struct read_line *line)
{
	size_t size = MIN(line->size, DETECT_TEXT_MAX - 1U);

	while (size && strchr(" \n", line->text[size - 1]))
		size--;
	memcpy(kept->text, line->text, size);
	kept->text[size] = '\0';
	utf8_make_printable(kept->text);
	kept->any = true;
}

static bool hold_against(void *context, const struct read_line *line)
{
	struct best_line *best = context;
	size_t distance = wanted_distance(best->wanted, line->text, line->size);

	if (distance < best->distance || !best->kept.any)
		keep_line(&best->kept, line);
	if (distance < best->distance) {
		best->distance = distance;
		best->box = line->box;
	}
	return best->distance > 0;
}

static bool look_for_number(void *context, const struct read_line *line)
{
	struct first_number *number = context;

	number->found = number_find(line->text, line->size, number->format, &number->value);
	number->box = line->box;
	if (number->found != NUMBER_NO_TOKEN || !number->kept.any)
		keep_line(&number->kept, line);
	return number->found == NUMBER_NO_TOKEN;
}

static struct picture_view view_of(const struct detect_frame *frame, const struct rect *area)
{
	return (struct picture_view){
		.pixels = frame->source.pixels + area->top * frame->source.stride + 4 * (ptrdiff_t)area->left,
		.width = area->right - area->left,
		.height = area->bottom - area->top,
		.stride = frame->source.stride,
	};
}

static void set_place(const struct rect *area, const struct rect *box, struct detect_result *ret)
{
	ret->place = (struct rect){area->left + box->left, area->top + box->top, area->left + box->right,
				   area->top + box->bottom};
	ret->x = ret->place.left + (box->right - box->left) / 2;
	ret->y = ret->place.top + (box->bottom - box->top) / 2;
}

// @return whether the check is over: not evaluable, or nothing changed since the last one
static bool begin_check(struct detect_frame *frame, const struct detect_query *query,
			const struct detect_question *question, struct detect_result *ret)
{
	struct rect area;

	*ret = (struct detect_result){0};
	frame_check(frame, query);
	if (!frame_has_pixels(frame) || !frame_area(frame, query, &area))
		return true;
	ret->evaluable = true;
	return query->memory && memory_recall(query->memory, frame, question, area, ret);
}

// What could not be read has no text in it. The line is not for later: its room is used again.
static void end_check(struct detect_frame *frame, const struct detect_query *query, int r, const struct kept_line *kept,
		      struct detect_result *ret)
{
	if (r < 0)
		ret->found = ret->has_score = ret->has_value = false;
	ret->stopped = r == -ECANCELED;
	ret->evaluable = r == 0 || ret->stopped;
	if (query->memory && (r == 0 || ret->stopped))
		memory_keep(query->memory, frame, ret);
	else if (query->memory) // nothing is known of it: neither a text nor that there is none
		detect_memory_forget(query->memory);
	ret->text = r == 0 && kept->any ? kept->text : NULL;
}

void detect_text(struct detect_frame *frame, struct detect_reader *reader, struct detect_wanted *wanted,
		 const struct detect_query *query, struct detect_result *ret)
{
	struct detect_question question = {
		.wanted = wanted, .area = query->area, .exact = query->exact, .threshold = query->threshold};
	size_t length = wanted_length(wanted);
	struct best_line best = {.kept.text = reader_kept_line(reader), .wanted = wanted, .distance = length};
	int r;

	if (begin_check(frame, query, &question, ret))
		return;
	best.box = (struct rect){0, 0, query->area.right - query->area.left, query->area.bottom - query->area.top};
	r = reader_read(reader, view_of(frame, &query->area), query->stop, hold_against, &best);
	ret->has_score = true;
	ret->score = 1 - (double)best.distance / (double)length;
	ret->found = ret->score >= 1 - query->threshold / 100 - MISS;
	set_place(&query->area, &best.box, ret);
	end_check(frame, query, r, &best.kept, ret);
}

void detect_number(struct detect_frame *frame, struct detect_reader *reader, enum detect_format format,
		   const struct detect_query *query, struct detect_result *ret)
{
	struct detect_question question = {.format = format, .area = query->area, .exact = query->exact};
	struct first_number number = {
		.kept.text = reader_kept_line(reader), .format = format, .found = NUMBER_NO_TOKEN};
	int r;

	if (begin_check(frame, query, &question, ret))
		return;
	r = reader_read(reader, view_of(frame, &query->area), query->stop, look_for_number, &number);
	ret->found = ret->has_value = r == 0 && number.found == NUMBER_READ;
	if (ret->found) {
		ret->value = number.value;
		set_place(&query->area, &number.box, ret);
	}
	end_check(frame, query, r, &number.kept, ret);
}
