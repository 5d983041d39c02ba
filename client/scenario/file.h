// SPDX-License-Identifier: GPL-3.0-or-later
/// What a loaded scenario file consists of, for the parts of the loader. Everybody else uses load.h.
#ifndef CONDPROF_SCENARIO_FILE_H
#define CONDPROF_SCENARIO_FILE_H

#include "client/scenario/arena.h"
#include "client/scenario/diagnostics.h"
#include "client/scenario/names.h"
#include "client/scenario/tree.h"

struct scenario_file {
	struct scenario_load_options options;
	struct source source;
	struct diagnostics diagnostics;
	struct arena arena;          ///< the tree and the message
	char *folder;                ///< where relative paths begin; NULL: nowhere
	const struct node *root;     ///< NULL: no tree
	Condprof__Scenario *message; ///< in step with the tree: an event for every item, a condition for every item
	struct names counters, events;
	bool counters_known,
		events_known; ///< false: some are missing for a mistake that was said; unknown ones are not
	bool out_of_memory;
};

#define node_error(file, node, ...)                                                                                    \
	diagnostics_add(&(file)->diagnostics, DIAGNOSTIC_ERROR, (node)->start, (node)->end, __VA_ARGS__)
#define node_warning(file, node, ...)                                                                                  \
	diagnostics_add(&(file)->diagnostics, DIAGNOSTIC_WARNING, (node)->start, (node)->end, __VA_ARGS__)

/// Size of what name_text() writes.
#define QUOTED_BYTES 192

/// The text as it may stand in a message, without quotes, cut. @return out
char *name_text(const char *text, char out[QUOTED_BYTES]);

/// Zeroed memory of the file; NULL sets out_of_memory.
void *file_alloc(struct scenario_file *file, size_t count, size_t size);

/// Turns the tree into the message: keys, types, values. Everything that needs no other part of the file.
void scenario_build(struct scenario_file *file);

/// Checks what refers to something else: names, ids, click targets, counters.
void scenario_resolve(struct scenario_file *file);

/// Reads the images.
void scenario_read_images(struct scenario_file *file);

/// The node of the n-th event of a family, its n-th condition, its n-th action. NULL: none.
const struct node *event_node(const struct scenario_file *file, bool trigger, size_t index);
const struct node *condition_node(const struct node *event, size_t index);
const struct node *action_node(const struct node *event, size_t index);

#endif
