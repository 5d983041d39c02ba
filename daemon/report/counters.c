// SPDX-License-Identifier: GPL-3.0-or-later
/// A list that is searched by name: scenarios have few counters, and this is done once an occurrence, by the writer.
#include "config.h"

#include "daemon/report/counters.h"

#include "proto/frame.h"
#include "proto/limits.h"
#include "proto/report.pb-c.h"

#include <errno.h>
#include <string.h>

void counters_free(struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		free(counters->items[i].name);
	free(counters->items);
	*counters = (struct counters){0};
}

static struct counter_value *add(struct counters *counters, const char *name)
{
	if (counters->count == counters->room) {
		size_t room = counters->room ? 2 * counters->room : 16;
		struct counter_value *items = reallocarray(counters->items, room, sizeof(*items));

		if (!items)
			return NULL;
		counters->items = items;
		counters->room = room;
	}
	struct counter_value *item = &counters->items[counters->count];
	item->name = strdup(name);
	if (!item->name)
		return NULL;
	counters->count++;
	return item;
}

static int set(struct counters *counters, const char *name, double value)
{
	struct counter_value *item = NULL;

	for (size_t i = 0; i < counters->count && !item; i++) {
		if (strcmp(counters->items[i].name, name) == 0)
			item = &counters->items[i];
	}
	if (!item)
		item = add(counters, name);
	if (!item)
		return -ENOMEM;
	item->value = value;
	return 0;
}

/// CounterInit has its value in field 2, CounterStateChange in 5, the oldest reports in 3.
static int follow_one(struct counters *counters, struct wire *wire, uint64_t begin, uint64_t end, uint32_t value_number)
{
	char name[NAME_MAX_BYTES + 1] = "";
	struct wire_field field;
	double value = 0;
	int r;

	while ((r = wire_next(wire, &begin, end, &field)) > 0) {
		if (field.number == 1 && field.type == WIRE_BYTES && field.end - field.begin < sizeof(name)) {
			size_t size = (size_t)(field.end - field.begin);
			r = wire_copy(wire, field.begin, name, size);
			if (r < 0)
				return r;
			name[size] = '\0';
		} else if (field.number == value_number && field.type == WIRE_FIXED64) {
			memcpy(&value, &field.value, sizeof(value));
		}
	}
	return r < 0 ? r : set(counters, name, value);
}

int counters_follow(struct counters *counters, struct wire *wire, const struct message_summary *summary)
{
	bool init = summary->kind == MESSAGE_COUNTERS_INIT;
	uint64_t at = summary->begin;
	struct wire_field field;
	int r;

	if (!init && summary->kind != MESSAGE_OCCURRENCE)
		return 0;
	counters->relative_ms = summary->relative_ms;
	counters->at_ns = summary->at_ns;
	while ((r = wire_next(wire, &at, summary->end, &field)) > 0) {
		if (field.number != (init ? 1 : 5) || field.type != WIRE_BYTES)
			continue;
		r = follow_one(counters, wire, field.begin, field.end, init ? 2 : 5);
		if (r < 0)
			return r;
	}
	return r;
}

static int pack_message(const struct counters *counters, Condprof__CountersInitMessage *init, uint8_t **ret,
			size_t *ret_size)
{
	Condprof__DebugReportMessage message = CONDPROF__DEBUG_REPORT_MESSAGE__INIT;
	size_t size;

	message.has_relative_timestamp_ms = true;
	message.relative_timestamp_ms = counters->relative_ms;
	message.has_actions_completed_at_ns = true;
	message.actions_completed_at_ns = counters->at_ns;
	message.payload_case = CONDPROF__DEBUG_REPORT_MESSAGE__PAYLOAD_COUNTERS_INIT;
	message.counters_init = init;
	size = frame_size(&message.base);
	*ret = malloc(size);
	if (!*ret)
		return -ENOMEM;
	*ret_size = frame_pack(&message.base, *ret);
	return 0;
}

int counters_pack(const struct counters *counters, uint8_t **ret, size_t *ret_size)
{
	CLEANUP_FREE Condprof__CounterInit *values = calloc(counters->count + 1, sizeof(*values));
	CLEANUP_FREE Condprof__CounterInit **list = calloc(counters->count + 1, sizeof(Condprof__CounterInit *));
	Condprof__CountersInitMessage init = CONDPROF__COUNTERS_INIT_MESSAGE__INIT;

	if (!values || !list)
		return -ENOMEM;
	for (size_t i = 0; i < counters->count; i++) {
		condprof__counter_init__init(&values[i]);
		values[i].name = counters->items[i].name;
		values[i].has_initial_value = true;
		values[i].initial_value = counters->items[i].value;
		list[i] = &values[i];
	}
	init.counters = list;
	init.n_counters = counters->count;
	return pack_message(counters, &init, ret, ret_size);
}
