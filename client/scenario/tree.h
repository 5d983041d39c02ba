// SPDX-License-Identifier: GPL-3.0-or-later
/// The YAML of a scenario file as a tree with places. Only the plain part of YAML: one document, no anchors, aliases,
/// tags or directives, keys are words and none stands twice.
#ifndef CONDPROF_SCENARIO_TREE_H
#define CONDPROF_SCENARIO_TREE_H

#include "client/scenario/arena.h"
#include "client/scenario/diagnostics.h"

#define TREE_DEPTH_MAX 16U ///< a scenario needs 7

enum node_type {
	NODE_SCALAR,
	NODE_LIST,
	NODE_MAPPING,
	NODE_BAD, ///< something was said about it already; whoever meets it says nothing
};

struct node {
	enum node_type type;
	bool plain;          ///< scalar without quotes
	bool flow;           ///< list in brackets, mapping in braces
	bool exact;          ///< a scalar's characters stand in the file as they are (begins `quote` after start)
	uint8_t quote;       ///< characters before the first one: 1 when quoted
	uint32_t start, end; ///< characters from the text's start
	const char *text;    ///< scalar; NUL-terminated, may hold NULs
	size_t size;         ///< scalar: bytes
	struct node **items; ///< list: the items; mapping: key, value, key, value, …
	uint32_t count;      ///< list: items; mapping: pairs
};

/// Builds the tree of list->source. Mistakes go to `list`.
/// @param ret_root NULL when there is no tree: empty, or not YAML
/// @return 0, also with mistakes; -ENOMEM
int tree_parse(struct arena *arena, struct diagnostics *list, const struct node **ret_root);

static inline const struct node *node_key(const struct node *mapping, uint32_t pair)
{
	return mapping->items[2 * pair];
}

static inline const struct node *node_value(const struct node *mapping, uint32_t pair)
{
	return mapping->items[2 * pair + 1];
}

/// The value of a key, NULL when it isn't there or `node` (may be NULL) is no mapping.
const struct node *node_find(const struct node *node, const char *key);

/// The item of a list, NULL when it isn't there or `node` (may be NULL) is no list.
const struct node *node_item(const struct node *node, uint32_t index);

/// Whether it is a scalar with this text.
bool node_is(const struct node *node, const char *text);

#endif
