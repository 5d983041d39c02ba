// SPDX-License-Identifier: GPL-3.0-or-later
//
// Warnings: what the daemon would take and hardly anybody means. Few, and only such as say what would happen.
#include "config.h"

#include "client/scenario/file.h"
#include "client/scenario/value.h"
#include "daemon/picture/picture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum use {
	USE_READ = 1,
	USE_CHANGED = 2,
};

struct survey {
	struct scenario_file *file;
	uint8_t *counters;   ///< enum use of each
	uint32_t *enabled;   ///< of each event: how many actions of other events enable or toggle it
	uint32_t enable_all; ///< actions that do so to all
	struct names events;
	int width, height; ///< px of the frame; 0: not known
	char frame[320];   ///< how that is known
};

/// One event in its survey.
struct visit {
	struct survey *survey;
	const Condprof__Event *event;
	const struct node *node;
	bool trigger;
	uint32_t index; ///< among all
};

typedef void (*visitor)(const struct visit *visit);

static void visit_all(struct survey *survey, visitor visit)
{
	const Condprof__Scenario *scenario = survey->file->message;
	uint32_t index = 0;

	for (size_t i = 0; i < scenario->n_screen_events; i++, index++)
		visit(&(struct visit){survey, scenario->screen_events[i], event_node(survey->file, false, i), false,
				      index});
	for (size_t i = 0; i < scenario->n_trigger_events; i++, index++)
		visit(&(struct visit){survey, scenario->trigger_events[i], event_node(survey->file, true, i), true,
				      index});
}

static const struct node *value_of(const struct node *mapping, const char *key)
{
	const struct node *value = node_find(mapping, key);

	return value ? value : mapping;
}

// --- counters and events -----------------------------------------------------------------------

static void use(struct survey *survey, const char *counter, enum use use)
{
	uint32_t index;

	if (names_find(&survey->file->counters, counter, strlen(counter), &index))
		survey->counters[index] |= (uint8_t)use;
}

static void use_operand(struct survey *survey, const Condprof__Operand *operand)
{
	if (operand && operand->value_case == CONDPROF__OPERAND__VALUE_COUNTER)
		use(survey, operand->counter, USE_READ);
}

static void use_parts(struct survey *survey, Condprof__TextPart *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (parts[i]->part_case == CONDPROF__TEXT_PART__PART_COUNTER)
			use(survey, parts[i]->counter, USE_READ);
}

static void use_event_state(const struct visit *visit, const Condprof__EventStateAction *state)
{
	struct survey *survey = visit->survey;
	uint32_t index;

	if (state->change == CONDPROF__STATE_CHANGE__DISABLE)
		return;
	survey->enable_all += state->all;
	for (size_t i = 0; i < state->n_events; i++)
		if (names_find(&survey->events, state->events[i], strlen(state->events[i]), &index) &&
		    index != visit->index)
			survey->enabled[index]++;
}

static void use_action(const struct visit *visit, const Condprof__Action *action)
{
	struct survey *survey = visit->survey;

	switch (action->kind_case) {
	case CONDPROF__ACTION__KIND_TYPE:
		use_parts(survey, action->type->text, action->type->n_text);
		break;
	case CONDPROF__ACTION__KIND_NOTIFY:
		use_parts(survey, action->notify->text, action->notify->n_text);
		break;
	case CONDPROF__ACTION__KIND_STOP:
		use_parts(survey, action->stop->text, action->stop->n_text);
		break;
	case CONDPROF__ACTION__KIND_COUNTER:
		use(survey, action->counter->counter, USE_CHANGED);
		use_operand(survey, action->counter->operand);
		break;
	case CONDPROF__ACTION__KIND_EVENT_STATE:
		use_event_state(visit, action->event_state);
		break;
	default:
		break;
	}
}

static void survey_event(const struct visit *visit)
{
	const Condprof__Event *event = visit->event;

	for (size_t i = 0; i < event->n_conditions; i++) {
		const Condprof__Condition *condition = event->conditions[i];

		if (condition->kind_case == CONDPROF__CONDITION__KIND_COUNTER) {
			use(visit->survey, condition->counter->counter, USE_READ);
			use_operand(visit->survey, condition->counter->operand);
		} else if (condition->kind_case == CONDPROF__CONDITION__KIND_NUMBER) {
			use_operand(visit->survey, condition->number->operand);
		}
	}
	for (size_t i = 0; i < event->n_actions; i++)
		use_action(visit, event->actions[i]);
}

static void learn_name(const struct visit *visit)
{
	names_add(&visit->survey->events, visit->event->name, strlen(visit->event->name), visit->index, NULL);
}

static void warn_counters(struct survey *survey)
{
	const struct node *counters = node_find(survey->file->root, "counters");
	char word[QUOTED_BYTES];

	for (uint32_t i = 0; i < survey->file->message->n_counters; i++)
		if (survey->counters[i] == 0)
			node_warning(survey->file, node_key(counters, i), "nothing reads or changes the counter “%s”",
				     name_text(survey->file->message->counters[i]->name, word));
}

static bool changes(const struct survey *survey, const char *counter)
{
	uint32_t index;

	return names_find(&survey->file->counters, counter, strlen(counter), &index) &&
	       survey->counters[index] & USE_CHANGED;
}

static void warn_constant(const struct visit *visit, const struct node *mapping,
			  const Condprof__CounterCondition *counter)
{
	const Condprof__Operand *operand = counter->operand;
	char word[QUOTED_BYTES];

	if (changes(visit->survey, counter->counter) ||
	    (operand->value_case == CONDPROF__OPERAND__VALUE_COUNTER && changes(visit->survey, operand->counter)))
		return;
	node_warning(visit->survey->file, value_of(mapping, "counter"),
		     "no action changes “%s”: this is always true or always false", name_text(counter->counter, word));
}

static bool all_disabled(const struct scenario_file *file)
{
	for (size_t i = 0; i < file->message->n_screen_events; i++)
		if (file->message->screen_events[i]->enabled)
			return false;
	for (size_t i = 0; i < file->message->n_trigger_events; i++)
		if (file->message->trigger_events[i]->enabled)
			return false;
	return true;
}

// --- what stands in one event ------------------------------------------------------------------

/// How many conditions are found when they are fulfilled.
static size_t count_findable(const Condprof__Event *event)
{
	size_t count = 0;

	for (size_t i = 0; i < event->n_conditions; i++) {
		const Condprof__Condition *condition = event->conditions[i];

		count += (condition->kind_case == CONDPROF__CONDITION__KIND_IMAGE && condition->image->present) ||
			 (condition->kind_case == CONDPROF__CONDITION__KIND_COLOR && condition->color->present) ||
			 (condition->kind_case == CONDPROF__CONDITION__KIND_TEXT && condition->text->present);
	}
	return count;
}

static void warn_click_found(const struct visit *visit)
{
	const Condprof__Event *event = visit->event;
	size_t findable = count_findable(event);
	bool any = event->match == CONDPROF__MATCH__MATCH_ANY;

	if (findable == 1 || (findable > 1 && any))
		return;
	for (size_t i = 0; i < event->n_actions; i++) {
		if (event->actions[i]->kind_case != CONDPROF__ACTION__KIND_CLICK ||
		    event->actions[i]->click->target_case != CONDPROF__CLICK_ACTION__TARGET_FOUND)
			continue;
		node_warning(visit->survey->file, value_of(action_node(visit->node, i), "click"), "%s",
			     findable == 0 ? "nothing here has a place where it is found: the click is skipped"
					   : "where all must match, “found” is always the first of them: name the one "
					     "that is meant");
	}
}

static void warn_after_stop(const struct visit *visit)
{
	for (size_t i = 0; i + 1 < visit->event->n_actions; i++) {
		if (visit->event->actions[i]->kind_case != CONDPROF__ACTION__KIND_STOP)
			continue;
		node_warning(visit->survey->file, action_node(visit->node, i + 1),
			     "never done: the stop before it ends the session");
		return;
	}
}

static void warn_event(const struct visit *visit)
{
	struct survey *survey = visit->survey;
	char word[QUOTED_BYTES];

	if (!visit->event->enabled && survey->enabled[visit->index] == 0 && survey->enable_all == 0)
		node_warning(survey->file, value_of(visit->node, "event"),
			     "“%s” begins disabled and no other event enables it", name_text(visit->event->name, word));
	if (visit->event->refresh && !visit->event->keep_detecting)
		node_warning(survey->file, value_of(visit->node, "refresh"),
			     "“refresh” does nothing without “keep-detecting: true”: the pass ends here");
	warn_click_found(visit);
	warn_after_stop(visit);
}

// --- areas and frames --------------------------------------------------------------------------

/// A place that a condition looks at or an action goes to.
static void check_place(const struct visit *visit, const struct node *node, const Condprof__Area *area)
{
	const struct survey *survey = visit->survey;

	if (survey->width > 0 && area &&
	    (area->x + area->width > survey->width || area->y + area->height > survey->height))
		node_warning(survey->file, node, "not inside the frame, %dx%d (%s): this is never fulfilled",
			     survey->width, survey->height, survey->frame);
}

static void check_point(const struct visit *visit, const struct node *node, const Condprof__Point *point)
{
	const struct survey *survey = visit->survey;

	if (survey->width > 0 &&
	    (point->x < 0 || point->y < 0 || point->x >= survey->width || point->y >= survey->height))
		node_warning(survey->file, node, "%d,%d is outside the frame, %dx%d (%s)", point->x, point->y,
			     survey->width, survey->height, survey->frame);
}

static void check_image(const struct visit *visit, const struct node *mapping, const Condprof__ImageCondition *image)
{
	struct survey *survey = visit->survey;
	int width, height;

	if (image->search == CONDPROF__SEARCH__SEARCH_AREA)
		check_place(visit, value_of(mapping, "search"), image->area);
	if (!image->has_png || png_peek_size(image->png.data, image->png.len, &width, &height, NULL) < 0)
		return;
	if (image->area && (image->area->width < width || image->area->height < height))
		node_warning(survey->file, value_of(mapping, "search"),
			     "the image is %dx%d: it does not fit into this area, so it is never looked for", width,
			     height);
	if (image->search == CONDPROF__SEARCH__SEARCH_EXACT && image->at)
		check_place(visit, value_of(mapping, "at"),
			    &(Condprof__Area){.x = image->at->x, .y = image->at->y, .width = width, .height = height});
	if (survey->width > 0 && (width > survey->width || height > survey->height))
		node_warning(survey->file, value_of(mapping, "image"),
			     "the image is %dx%d, the frame %dx%d (%s): it is never found", width, height,
			     survey->width, survey->height, survey->frame);
}

static void warn_condition(const struct visit *visit, size_t index)
{
	const Condprof__Condition *condition = visit->event->conditions[index];
	const struct node *mapping = condition_node(visit->node, index), *area = value_of(mapping, "area");

	switch (condition->kind_case) {
	case CONDPROF__CONDITION__KIND_IMAGE:
		check_image(visit, mapping, condition->image);
		break;
	case CONDPROF__CONDITION__KIND_COLOR:
		check_place(visit, area, condition->color->area);
		break;
	case CONDPROF__CONDITION__KIND_TEXT:
		check_place(visit, area, condition->text->area);
		break;
	case CONDPROF__CONDITION__KIND_NUMBER:
		check_place(visit, area, condition->number->area);
		break;
	case CONDPROF__CONDITION__KIND_COUNTER:
		warn_constant(visit, mapping, condition->counter);
		break;
	default:
		break;
	}
}

static void warn_action(const struct visit *visit, size_t index)
{
	const Condprof__Action *action = visit->event->actions[index];
	const struct node *mapping = action_node(visit->node, index);

	if (action->kind_case == CONDPROF__ACTION__KIND_CLICK &&
	    action->click->target_case == CONDPROF__CLICK_ACTION__TARGET_POSITION)
		check_point(visit, value_of(mapping, "click"), action->click->position);
	if (action->kind_case == CONDPROF__ACTION__KIND_SWIPE)
		for (size_t i = 0; i < action->swipe->n_points; i++)
			check_point(visit, node_item(node_find(mapping, "swipe"), (uint32_t)i),
				    action->swipe->points[i]);
}

static void warn_parts(const struct visit *visit)
{
	for (size_t i = 0; i < visit->event->n_conditions; i++)
		warn_condition(visit, i);
	for (size_t i = 0; i < visit->event->n_actions; i++)
		warn_action(visit, i);
}

// --- the frame's size --------------------------------------------------------------------------

static bool is_png(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && !strcasecmp(name + length - 4, ".png");
}

/// The first picture of a replay folder, in the order that the daemon plays them.
static bool first_picture(DIR *folder, char *out, size_t size)
{
	const struct dirent *entry;

	out[0] = '\0';
	while ((entry = readdir(folder)))
		if (is_png(entry->d_name) && strlen(entry->d_name) < size &&
		    (!out[0] || strcmp(entry->d_name, out) < 0))
			strcpy(out, entry->d_name);
	return out[0] != '\0';
}

static void learn_frame(struct survey *survey, DIR *folder)
{
	char name[256], shown[QUOTED_BYTES];
	uint8_t head[4096];
	struct stat status;

	if (!first_picture(folder, name, sizeof(name)))
		return;
	int fd CLEANUP_CLOSE = openat(dirfd(folder), name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return;
	ssize_t size = read(fd, head, sizeof(head));
	if (size > 0 && png_peek_size(head, (size_t)size, &survey->width, &survey->height, NULL) == 0)
		snprintf(survey->frame, sizeof(survey->frame), "as in %s", name_text(name, shown));
}

/// Known of replays on this machine; other screens are not opened to check a file.
static void learn_size(struct survey *survey)
{
	const struct scenario_file *file = survey->file;
	const char *screen = file->message->screen;

	if (!screen || strncmp(screen, "replay:", 7) != 0 || file->options.remote)
		return;
	char *path CLEANUP_FREE = strndup(screen + 7, strcspn(screen + 7, "?"));
	DIR *folder = path ? opendir(path) : NULL;
	if (!folder) {
		if (path)
			node_warning(survey->file, node_find(file->root, "screen"),
				     "the replay folder cannot be opened: %s", strerror(errno));
		return;
	}
	learn_frame(survey, folder);
	closedir(folder);
}

void scenario_file_warn(struct scenario_file *file)
{
	struct survey survey = {.file = file};

	if (!scenario_file_message(file))
		return;
	uint32_t events = (uint32_t)(file->message->n_screen_events + file->message->n_trigger_events);
	survey.counters = file_alloc(file, file->message->n_counters, sizeof(*survey.counters));
	survey.enabled = file_alloc(file, events, sizeof(*survey.enabled));
	if (!survey.counters || !survey.enabled || names_reserve(&survey.events, &file->arena, events) < 0)
		return;
	learn_size(&survey);
	visit_all(&survey, learn_name);
	visit_all(&survey, survey_event);
	warn_counters(&survey);
	if (all_disabled(file))
		diagnostics_add_whole(&file->diagnostics, DIAGNOSTIC_WARNING,
				      "every event begins disabled: the session would end at once");
	else
		visit_all(&survey, warn_event);
	visit_all(&survey, warn_parts);
	diagnostics_sort(&file->diagnostics);
}
