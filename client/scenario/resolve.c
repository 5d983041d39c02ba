// SPDX-License-Identifier: GPL-3.0-or-later
//
// What refers to something else in the file: unique names and ids, counters, events, click targets. One walk over all
// events to learn their names, one to check what they refer to; each look-up is in constant time.
#include "config.h"

#include "client/scenario/file.h"
#include "client/scenario/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct node *family_list(const struct scenario_file *file, bool trigger)
{
	return node_find(file->root, trigger ? "trigger-events" : "screen-events");
}

const struct node *event_node(const struct scenario_file *file, bool trigger, size_t index)
{
	return node_item(family_list(file, trigger), (uint32_t)index);
}

const struct node *condition_node(const struct node *event, size_t index)
{
	return node_item(node_find(event, "conditions"), (uint32_t)index);
}

const struct node *action_node(const struct node *event, size_t index)
{
	return node_item(node_find(event, "actions"), (uint32_t)index);
}

/// An event and where it stands.
struct place {
	struct scenario_file *file;
	const Condprof__Event *event;
	const struct node *node;
	const struct node *conditions, *actions;
	bool trigger;
};

typedef void (*event_visitor)(const struct place *place, void *context);

static void visit_family(struct scenario_file *file, bool trigger, event_visitor visit, void *context)
{
	const Condprof__Scenario *scenario = file->message;
	size_t count = trigger ? scenario->n_trigger_events : scenario->n_screen_events;
	Condprof__Event *const *events = trigger ? scenario->trigger_events : scenario->screen_events;
	const struct node *list = family_list(file, trigger);

	for (size_t i = 0; i < count; i++) {
		const struct node *node = node_item(list, (uint32_t)i);

		visit(&(struct place){file, events[i], node, node_find(node, "conditions"), node_find(node, "actions"),
				      trigger},
		      context);
	}
}

static void visit_events(struct scenario_file *file, event_visitor visit, void *context)
{
	visit_family(file, false, visit, context);
	visit_family(file, true, visit, context);
}

/// The value of a key where it stands, else the mapping itself.
static const struct node *value_or_self(const struct node *mapping, const char *key)
{
	const struct node *value = node_find(mapping, key);

	return value ? value : mapping;
}

static uint32_t line_of(const struct scenario_file *file, const struct node *node)
{
	uint32_t line, column;

	source_position(&file->source, node->start, &line, &column);
	return line;
}

/// "are “a”, “b” and 7 more"
static const char *list_names(const struct names *names, char *out, size_t size)
{
	char word[QUOTED_BYTES];
	size_t used = (size_t)snprintf(out, size, names->count == 1 ? "is" : "are");
	uint32_t shown = MIN(names->count, 4U);

	for (uint32_t i = 0; i < shown && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s “%s”", i > 0 ? "," : "",
					 name_text(names->list[i], word));
	if (names->count > shown && used < size)
		snprintf(out + used, size - used, " and %u more", names->count - shown);
	return out;
}

static void say_unknown_name(struct scenario_file *file, const struct node *node, const char *what, const char *name,
			     const struct names *names)
{
	char word[QUOTED_BYTES], near_word[QUOTED_BYTES], list[320];

	if (!diagnostics_wanted(&file->diagnostics)) {
		node_error(file, node, "unknown name"); // only counted
		return;
	}
	const char *near = names->count > 0 ? names_nearest(names, name) : NULL;
	if (near)
		node_error(file, node, "no %s “%s”; did you mean “%s”?", what, name_text(name, word),
			   name_text(near, near_word));
	else if (names->count == 0)
		node_error(file, node, "no %s “%s”: there is none at all", what, name_text(name, word));
	else
		node_error(file, node, "no %s “%s”; there %s", what, name_text(name, word),
			   list_names(names, list, sizeof(list)));
}

static void use_counter(struct scenario_file *file, const struct node *node, const char *name)
{
	if (!name || !file->counters_known || names_find(&file->counters, name, strlen(name), NULL))
		return;
	if (file->counters.count == 0)
		node_error(file, node, "no counter “%s”: name it and its first value in “counters: {%s: 0}”", name,
			   name);
	else
		say_unknown_name(file, node, "counter", name, &file->counters);
}

static void use_operand(struct scenario_file *file, const struct node *node, const Condprof__Operand *operand)
{
	if (operand && operand->value_case == CONDPROF__OPERAND__VALUE_COUNTER)
		use_counter(file, node, operand->counter);
}

/// The place of a counter's name within a text, as exactly as the file has it.
static struct node part_place(const struct node *node, const char *name)
{
	struct node place = *node;
	const char *found = node->exact ? node->text : NULL;
	size_t size = strlen(name);

	while (found && (found = strchr(found, '{')) && (strncmp(found + 1, name, size) != 0 || found[1 + size] != '}'))
		found += 1 + (found[1] == '{');
	if (!found)
		return place;
	place.start += node->quote;
	for (const char *p = node->text; p <= found; p++)
		place.start += ((uint8_t)*p & 0xc0) != 0x80;
	place.end = place.start;
	for (size_t i = 0; i < size; i++)
		place.end += ((uint8_t)name[i] & 0xc0) != 0x80;
	return place;
}

static void use_parts(struct scenario_file *file, const struct node *node, Condprof__TextPart *const *parts,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (parts[i]->part_case != CONDPROF__TEXT_PART__PART_COUNTER)
			continue;
		struct node place = part_place(node, parts[i]->counter);
		use_counter(file, &place, parts[i]->counter);
	}
}

// --- names and ids -----------------------------------------------------------------------------

/// Ids given in the file, by their text in decimal: one table serves for names and for numbers.
struct identities {
	struct names event_ids, condition_ids;
	size_t events, conditions, actions;
};

static void count_event(const struct place *place, void *context)
{
	struct identities *identities = context;

	identities->events++;
	identities->conditions += place->event->n_conditions;
	identities->actions += place->event->n_actions;
}

static void add_id(struct scenario_file *file, struct names *ids, const struct node *mapping, int64_t id,
		   const char *what)
{
	char text[24];
	uint32_t first;
	const struct node *node = value_or_self(mapping, "id");
	size_t size = (size_t)snprintf(text, sizeof(text), "%" PRId64, id);
	char *kept = arena_string(&file->arena, text, size);

	if (!kept)
		file->out_of_memory = true;
	else if (!names_add(ids, kept, size, line_of(file, node), &first))
		node_error(file, node, "the id %" PRId64 " stands twice among %s; the first is in line %u", id, what,
			   first);
}

static void check_event_name(const struct place *place)
{
	struct scenario_file *file = place->file;
	const char *name = place->event->name;
	const struct node *node = value_or_self(place->node, "event");
	char word[QUOTED_BYTES];
	uint32_t first;

	if (!name)
		return;
	if (!strcmp(name, "all"))
		node_error(file, node, "an event cannot be called “all”: that means all events");
	else if (!names_add(&file->events, name, strlen(name), line_of(file, node), &first))
		node_error(file, node, "two events are called “%s”; the first is in line %u", name_text(name, word),
			   first);
}

static void check_condition_name(const struct place *place, struct names *names, size_t index)
{
	const Condprof__Condition *condition = place->event->conditions[index];
	const struct node *mapping = node_item(place->conditions, (uint32_t)index), *given = node_find(mapping, "name");
	char word[QUOTED_BYTES];
	uint32_t first;

	if (!condition->name)
		return;
	if (!strcmp(condition->name, "found")) {
		node_error(place->file, given ? given : mapping,
			   "a condition cannot be called “found”: “click: found” means the "
			   "first one found%s",
			   given ? "" : "; give it another by “name: …”");
		return;
	}
	if (names_add(names, condition->name, strlen(condition->name), (uint32_t)index, &first))
		return;
	const struct node *other = node_item(place->conditions, first);
	node_error(place->file, given ? given : mapping,
		   "two conditions of this event are called “%s”; the first is in line %u%s",
		   name_text(condition->name, word), line_of(place->file, value_or_self(other, "name")),
		   given ? "" : ": give one of them a name of its own by “name: …”");
}

static void learn_event(const struct place *place, void *context)
{
	struct identities *identities = context;
	struct names names = {0};

	check_event_name(place);
	if (place->event->has_id)
		add_id(place->file, &identities->event_ids, place->node, place->event->id, "events");
	if (names_reserve(&names, &place->file->arena, (uint32_t)place->event->n_conditions) < 0) {
		place->file->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < place->event->n_conditions; i++) {
		const Condprof__Condition *condition = place->event->conditions[i];

		check_condition_name(place, &names, i);
		if (condition->has_id)
			add_id(place->file, &identities->condition_ids, node_item(place->conditions, (uint32_t)i),
			       condition->id, "conditions");
	}
}

static void check_counts(struct scenario_file *file, const struct identities *identities)
{
	const struct {
		const char *what;
		size_t count, most;
	} rows[] = {{"events", identities->events, SCENARIO_MAX_EVENTS},
		    {"conditions", identities->conditions, SCENARIO_MAX_CONDITIONS},
		    {"actions", identities->actions, SCENARIO_MAX_ACTIONS}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].count > rows[i].most)
			diagnostics_add_whole(&file->diagnostics, DIAGNOSTIC_ERROR,
					      "%zu %s: a scenario has at most %zu", rows[i].count, rows[i].what,
					      rows[i].most);
}

// --- references --------------------------------------------------------------------------------

/// Whether the condition is one that says “present: false”.
static bool is_absence(const Condprof__Condition *condition)
{
	switch (condition->kind_case) {
	case CONDPROF__CONDITION__KIND_IMAGE:
		return !condition->image->present;
	case CONDPROF__CONDITION__KIND_COLOR:
		return !condition->color->present;
	case CONDPROF__CONDITION__KIND_TEXT:
		return !condition->text->present;
	default:
		return false;
	}
}

static void check_click_name(const struct place *place, const struct node *node, const char *name,
			     const struct names *names)
{
	char word[QUOTED_BYTES];
	uint32_t index;

	if (!names_find(names, name, strlen(name), &index)) {
		say_unknown_name(place->file, node, "condition in this event is called", name, names);
		return;
	}
	const Condprof__Condition *condition = place->event->conditions[index];
	if (is_absence(condition))
		node_error(place->file, node,
			   "“%s” is “present: false”: there is nothing to click on when it is fulfilled",
			   name_text(name, word));
	else if (condition->kind_case == CONDPROF__CONDITION__KIND_NUMBER)
		node_error(place->file, node, "“%s” is a number condition: it has no place to click on",
			   name_text(name, word));
}

static void check_click(const struct place *place, const struct node *mapping, const Condprof__ClickAction *click,
			const struct names *names)
{
	const struct node *node = node_find(mapping, "click");

	if (click->target_case != CONDPROF__CLICK_ACTION__TARGET_CONDITION &&
	    click->target_case != CONDPROF__CLICK_ACTION__TARGET_FOUND)
		return;
	if (place->trigger)
		node_error(place->file, node,
			   "a trigger event looks at no screen: it can click positions only, “click: [x, y]”");
	else if (click->target_case == CONDPROF__CLICK_ACTION__TARGET_CONDITION)
		check_click_name(place, node, click->condition, names);
}

static void check_events(struct scenario_file *file, const struct node *mapping,
			 const Condprof__EventStateAction *state)
{
	static const char *const words[] = {"enable", "disable", "toggle"};
	const struct node *value = node_find(mapping, words[state->change]);
	struct names seen = {0};

	if (names_reserve(&seen, &file->arena, (uint32_t)state->n_events) < 0) {
		file->out_of_memory = true;
		return;
	}
	for (size_t i = 0, item = 0; i < state->n_events; i++, item++) {
		const char *name = state->events[i];
		const struct node *node = value;

		// wrong items are in the tree but not in the message
		if (value->type == NODE_LIST)
			while ((node = node_item(value, (uint32_t)item)) && node->text != name)
				item++;
		if (!names_add(&seen, name, strlen(name), 0, NULL))
			node_error(file, node, "“%s” stands twice in this list", name);
		else if (file->events_known && !names_find(&file->events, name, strlen(name), NULL))
			say_unknown_name(file, node, "event", name, &file->events);
	}
}

static void check_action(const struct place *place, size_t index, const struct names *conditions)
{
	struct scenario_file *file = place->file;
	const Condprof__Action *action = place->event->actions[index];
	const struct node *mapping = node_item(place->actions, (uint32_t)index);
	static const char *const operations[] = {"add", "subtract", "set"};

	switch (action->kind_case) {
	case CONDPROF__ACTION__KIND_CLICK:
		check_click(place, mapping, action->click, conditions);
		break;
	case CONDPROF__ACTION__KIND_TYPE:
		use_parts(file, node_find(mapping, "type"), action->type->text, action->type->n_text);
		break;
	case CONDPROF__ACTION__KIND_NOTIFY:
		use_parts(file, node_find(mapping, "notify"), action->notify->text, action->notify->n_text);
		break;
	case CONDPROF__ACTION__KIND_STOP:
		use_parts(file, node_find(mapping, "stop"), action->stop->text, action->stop->n_text);
		break;
	case CONDPROF__ACTION__KIND_COUNTER:
		use_counter(file, node_find(mapping, "counter"), action->counter->counter);
		use_operand(file, value_or_self(mapping, operations[action->counter->operation]),
			    action->counter->operand);
		break;
	case CONDPROF__ACTION__KIND_EVENT_STATE:
		check_events(file, mapping, action->event_state);
		break;
	default:
		break;
	}
}

static void check_condition(const struct place *place, size_t index)
{
	struct scenario_file *file = place->file;
	const Condprof__Condition *condition = place->event->conditions[index];
	const struct node *mapping = node_item(place->conditions, (uint32_t)index);

	if (condition->kind_case == CONDPROF__CONDITION__KIND_NUMBER) {
		use_operand(file, node_find(mapping, "number"), condition->number->operand);
	} else if (condition->kind_case == CONDPROF__CONDITION__KIND_COUNTER) {
		use_counter(file, node_find(mapping, "counter"), condition->counter->counter);
		use_operand(file, value_or_self(mapping, "is"), condition->counter->operand);
	}
}

/// Distinct ones; the daemon keeps a row for each.
static void check_broadcasts(struct scenario_file *file, size_t conditions)
{
	struct names names = {0};

	if (names_reserve(&names, &file->arena, (uint32_t)conditions) < 0) {
		file->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < file->message->n_trigger_events; i++) {
		const Condprof__Event *event = file->message->trigger_events[i];

		for (size_t n = 0; n < event->n_conditions; n++) {
			const Condprof__Condition *condition = event->conditions[n];

			if (condition->kind_case == CONDPROF__CONDITION__KIND_BROADCAST &&
			    condition->broadcast->broadcast)
				names_add(&names, condition->broadcast->broadcast,
					  strlen(condition->broadcast->broadcast), 0, NULL);
		}
	}
	if (names.count > SCENARIO_MAX_BROADCASTS)
		diagnostics_add_whole(&file->diagnostics, DIAGNOSTIC_ERROR, "%u broadcasts: a scenario has at most %u",
				      names.count, SCENARIO_MAX_BROADCASTS);
}

static void check_references(const struct place *place, void *context)
{
	struct names conditions = {0};

	(void)context;
	if (names_reserve(&conditions, &place->file->arena, (uint32_t)place->event->n_conditions) < 0) {
		place->file->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < place->event->n_conditions; i++) {
		const char *name = place->event->conditions[i]->name;

		if (name)
			names_add(&conditions, name, strlen(name), (uint32_t)i, NULL);
		check_condition(place, i);
	}
	for (size_t i = 0; i < place->event->n_actions; i++)
		check_action(place, i, &conditions);
}

void scenario_resolve(struct scenario_file *file)
{
	struct identities identities = {0};

	visit_events(file, count_event, &identities);
	check_counts(file, &identities);
	if (names_reserve(&file->events, &file->arena, (uint32_t)identities.events) < 0 ||
	    names_reserve(&identities.event_ids, &file->arena, (uint32_t)identities.events) < 0 ||
	    names_reserve(&identities.condition_ids, &file->arena, (uint32_t)identities.conditions) < 0) {
		file->out_of_memory = true;
		return;
	}
	visit_events(file, learn_event, &identities);
	visit_events(file, check_references, NULL);
	check_broadcasts(file, identities.conditions);
}
