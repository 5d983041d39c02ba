// SPDX-License-Identifier: GPL-3.0-or-later
//
// A place of the daemon is a path through the file's own keys, so the tree is the table of places. What the path names
// beyond what the file says (a default, a part of a message) stands at the last thing that the file does say.
#include "config.h"

#include "client/scenario/file.h"

#include <errno.h>
#include <string.h>

/// A key of a place as the file spells it: counters[0] is the first pair of a mapping.
static const struct node *step_into(const struct node *node, const char *key, size_t size)
{
	if (node->type != NODE_MAPPING)
		return NULL;
	for (uint32_t i = 0; i < node->count; i++) {
		const struct node *name = node_key(node, i);

		if (name->type == NODE_SCALAR && name->size == size && !memcmp(name->text, key, size))
			return node_value(node, i);
	}
	return NULL;
}

static const struct node *step_to(const struct node *node, unsigned long index)
{
	if (node->type == NODE_LIST)
		return index < node->count ? node->items[index] : NULL;
	if (node->type == NODE_MAPPING)
		return index < node->count ? node_key(node, (uint32_t)index) : NULL;
	return NULL;
}

/// @return the node that the whole path or its longest beginning names; NULL: not even its first key
static const struct node *find_place(const struct node *root, const char *place)
{
	const struct node *node = root, *parent = root, *found = NULL;

	while (*place && node) {
		if (*place == '[') {
			char *end;
			unsigned long index = strtoul(place + 1, &end, 10);

			if (end == place + 1 || *end != ']')
				break;
			node = step_to(node, index);
			place = end + 1;
		} else {
			size_t size = strcspn(place, ".[");

			// image.threshold: the kind is a key beside its other keys
			parent = node->type == NODE_MAPPING ? node : parent;
			node = step_into(parent, place, size);
			place += size;
		}
		place += *place == '.';
		if (node)
			found = node;
	}
	return found;
}

int scenario_locate(const struct scenario_file *file, const char *place, uint32_t *ret_line, uint32_t *ret_column)
{
	const struct node *node = file->root ? find_place(file->root, place) : NULL;

	if (!node)
		return -ENOENT;
	source_position(&file->source, node->start, ret_line, ret_column);
	return 0;
}

void scenario_file_add_problem(struct scenario_file *file, const char *place, const char *message)
{
	const struct node *node = file->root && place ? find_place(file->root, place) : NULL;

	if (node)
		node_error(file, node, "%s", message);
	else
		diagnostics_add_whole(&file->diagnostics, DIAGNOSTIC_ERROR, "%s%s%s", place ? place : "",
				      place && *place ? ": " : "", message);
	diagnostics_sort(&file->diagnostics);
}
