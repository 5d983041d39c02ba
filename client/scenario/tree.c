// SPDX-License-Identifier: GPL-3.0-or-later
//
// libyaml's events into a tree. What a scenario has no use for and what makes YAML dangerous or surprising (aliases,
// tags, directives, a second document, keys that stand twice) is said where it stands, and reading goes on; only text
// that is no YAML at all ends it. Places are libyaml's counts of characters.
#include "config.h"

#include "client/scenario/tree.h"

#include "client/scenario/names.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

struct frame {
	struct node *node;
	size_t first; ///< its first child among the pending ones
};

struct builder {
	struct arena *arena;
	struct diagnostics *list;
	yaml_parser_t parser;
	struct frame open[TREE_DEPTH_MAX];
	uint32_t depth;
	struct node **pending; ///< children of the open nodes
	size_t count, room;
	struct node *root;
	unsigned documents;
	bool out_of_memory;
	bool too_deep;
};

static void say(struct builder *builder, const yaml_event_t *event, const char *message)
{
	diagnostics_add(builder->list, DIAGNOSTIC_ERROR, event->start_mark.index, event->end_mark.index, "%s", message);
}

static size_t count_characters(const char *text, size_t size)
{
	size_t characters = 0;

	for (size_t i = 0; i < size; i++)
		characters += ((uint8_t)text[i] & 0xc0) != 0x80;
	return characters;
}

static struct node *new_node(struct builder *builder, enum node_type type, const yaml_event_t *event)
{
	struct node *node = arena_alloc(builder->arena, sizeof(*node));

	if (!node) {
		builder->out_of_memory = true;
		return NULL;
	}
	node->type = type;
	node->start = (uint32_t)event->start_mark.index;
	node->end = (uint32_t)event->end_mark.index;
	return node;
}

/// Puts a finished or opened node where it belongs: into its parent's children, or at the root.
static void place(struct builder *builder, struct node *node)
{
	if (!node || builder->documents > 1)
		return;
	if (builder->depth == 0) {
		builder->root = node;
		return;
	}
	if (builder->count == builder->room) {
		size_t room = builder->room ? 2 * builder->room : 256;
		struct node **pending = reallocarray(builder->pending, room, sizeof(struct node *));

		if (!pending) {
			builder->out_of_memory = true;
			return;
		}
		builder->pending = pending;
		builder->room = room;
	}
	builder->pending[builder->count++] = node;
}

static void check_properties(struct builder *builder, const yaml_event_t *event, const yaml_char_t *anchor,
			     const yaml_char_t *tag)
{
	if (anchor)
		say(builder, event,
		    "an anchor (“&”): scenario files have none; put a text that begins with & in quotes");
	if (tag && tag[0] == '!' && tag[1] == '=')
		say(builder, event, "an unquoted “!” begins a tag: put the comparison in quotes, \"!= …\"");
	else if (tag)
		say(builder, event, "a tag (“!”): scenario files have none; put a text that begins with ! in quotes");
}

static void take_scalar(struct builder *builder, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t size = event->data.scalar.length;
	struct node *node = new_node(builder, NODE_SCALAR, event);

	check_properties(builder, event, event->data.scalar.anchor, event->data.scalar.tag);
	if (!node)
		return;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->quote = node->plain ? 0 : 1;
	node->exact = node->end - node->start == count_characters(text, size) + 2U * node->quote;
	node->size = size;
	node->text = arena_string(builder->arena, text, size);
	if (!node->text) {
		builder->out_of_memory = true;
		return;
	}
	if (event->data.scalar.anchor || event->data.scalar.tag)
		node->type = NODE_BAD;
	place(builder, node);
}

static void open_node(struct builder *builder, const yaml_event_t *event, enum node_type type, bool flow)
{
	if (builder->depth == TREE_DEPTH_MAX) {
		say(builder, event, "lists and mappings are nested too deep: a scenario needs no more than 7");
		builder->too_deep = true;
		return;
	}
	struct node *node = new_node(builder, type, event);
	if (!node)
		return;
	node->flow = flow;
	place(builder, node);
	builder->open[builder->depth++] = (struct frame){node, builder->count};
}

static void check_keys(struct builder *builder, struct node *mapping)
{
	struct names keys = {0};

	if (names_reserve(&keys, builder->arena, mapping->count) < 0) {
		builder->out_of_memory = true;
		return;
	}
	for (uint32_t i = 0; i < mapping->count; i++) {
		struct node *key = mapping->items[2 * i];
		uint32_t first;

		if (key->type == NODE_LIST || key->type == NODE_MAPPING) {
			diagnostics_add(builder->list, DIAGNOSTIC_ERROR, key->start, key->end,
					"a %s as a key: keys are words; put a text with brackets or braces in quotes",
					key->type == NODE_LIST ? "list" : "mapping");
			key->type = NODE_BAD;
		}
		if (key->type == NODE_BAD || names_add(&keys, key->text, key->size, i, &first))
			continue;
		char word[128];
		uint32_t line, column;
		source_position(builder->list->source, node_key(mapping, first)->start, &line, &column);
		diagnostics_add(builder->list, DIAGNOSTIC_ERROR, key->start, key->end,
				"the key “%s” stands twice here; the first is in line %u",
				text_for_message(key->text, key->size, 60, word, sizeof(word)), line);
		key->type = NODE_BAD;
	}
}

static void close_node(struct builder *builder, const yaml_event_t *event)
{
	struct frame frame = builder->open[--builder->depth];
	struct node *node = frame.node;
	size_t count = builder->count - frame.first;

	node->items = arena_array(builder->arena, count, sizeof(struct node *));
	if (!node->items) {
		builder->out_of_memory = true;
		return;
	}
	if (count > 0)
		memcpy(node->items, builder->pending + frame.first, count * sizeof(struct node *));
	builder->count = frame.first;
	node->end = count > 0 ? MAX(node->start + 1, node->items[count - 1]->end) : (uint32_t)event->end_mark.index;
	node->count = (uint32_t)(node->type == NODE_MAPPING ? count / 2 : count);
	if (node->type == NODE_MAPPING)
		check_keys(builder, node);
}

static void begin_document(struct builder *builder, const yaml_event_t *event)
{
	builder->documents++;
	if (builder->documents > 1)
		say(builder, event, "a second document begins here: a file holds one scenario");
	else if (event->data.document_start.version_directive ||
		 event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
		say(builder, event, "a directive (“%”): scenario files have none");
}

static void take_alias(struct builder *builder, const yaml_event_t *event)
{
	say(builder, event, "an alias (“*”): scenario files have none; put a text that begins with * in quotes");
	place(builder, new_node(builder, NODE_BAD, event));
}

/// @return whether to go on
static bool take_event(struct builder *builder, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_STREAM_END_EVENT:
		return false;
	case YAML_DOCUMENT_START_EVENT:
		begin_document(builder, event);
		return builder->documents == 1;
	case YAML_ALIAS_EVENT:
		take_alias(builder, event);
		break;
	case YAML_SCALAR_EVENT:
		take_scalar(builder, event);
		break;
	case YAML_SEQUENCE_START_EVENT:
		check_properties(builder, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
		open_node(builder, event, NODE_LIST, event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
		break;
	case YAML_MAPPING_START_EVENT:
		check_properties(builder, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
		open_node(builder, event, NODE_MAPPING, event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		close_node(builder, event);
		break;
	default:
		break;
	}
	return !builder->out_of_memory && !builder->too_deep;
}

/// libyaml's sentences in ours, with what to do.
static const struct {
	const char *theirs, *ours;
} explanations[] = {
	{"mapping values are not allowed in this context",
	 "a “: ” where no key can be: put the text in quotes, or mind the indentation"},
	{"block sequence entries are not allowed in this context",
	 "a “- ” where no list can begin: begin it in a line of its own, or put the text in quotes"},
	{"mapping keys are not allowed in this context", "a key where none can be: mind the indentation"},
	{"did not find expected key", "a key was expected here: mind the indentation and the closing quotes"},
	{"did not find expected '-' indicator", "a “- ” was expected here: mind the indentation of the list"},
	{"did not find expected ',' or '}'", "a “,” or “}” was expected here: is a closing brace or a comma missing?"},
	{"did not find expected ',' or ']'",
	 "a “,” or “]” was expected here: is a closing bracket or a comma missing?"},
	{"did not find expected node content", "a value was expected here"},
	{"did not find expected <document start>", "nothing may follow here: mind the indentation of this line"},
	{"found unexpected document indicator", "“---” or “...” inside quotes: is a closing quote missing?"},
	{"did not find expected comment or line break", "nothing may follow here; is the text meant to be in quotes?"},
	{"did not find expected hexdecimal number", "hexadecimal digits were expected after the backslash"},
	{"found unexpected ':'", "a “:” inside a text: put it in quotes"},
	{"found unknown escape character",
	 "an unknown escape after the backslash: write \\\\ for one, or use single quotes"},
	{"found invalid Unicode character escape code", "this escape is no Unicode character"},
	{"found invalid tab", "a tab here: indent with spaces"},
	{"found a tab character that violates indentation", "a tab here: indent with spaces"},
	{"found a tab character where an indentation space is expected", "a tab here: indent with spaces"},
	{"found undefined tag handle",
	 "a tag (“!”): scenario files have none; put a text that begins with ! in quotes"},
	{"found unknown directive name",
	 "a directive (“%”): scenario files have none; put a text that begins with % in quotes"},
};

/// The text from a character on, to its line's end. "" at the end of a line.
static const char *text_from(const struct source *source, size_t index, size_t *ret_size)
{
	uint32_t line, column;
	size_t size;

	source_position(source, index, &line, &column);
	const char *text = source_line_text(source, line, &size);
	for (uint32_t n = 1; n < column && size > 0; n++) {
		uint32_t code;
		size_t length = MAX(utf8_take(text, size, &code), 1U);

		text += length;
		size -= length;
	}
	*ret_size = size;
	return text;
}

/// What cannot begin anything, by the character.
static const char *explain_start(char c)
{
	switch (c) {
	case '\t':
		return "a tab here: indent with spaces";
	case '>':
	case '|':
		return "a value cannot begin with an unquoted “>” or “|” here: put the comparison in quotes, \">= …\"";
	default:
		return "a value cannot begin with this character: put it in quotes";
	}
}

/// "log:" and other values that end with a colon.
static bool colon_ends_line(const char *text, size_t size)
{
	size_t after = size > 0 && text[0] == ':' ? 1 : 0;

	while (after > 0 && after < size && text[after] == ' ')
		after++;
	return after > 0 && (after == size || text[after] == '#');
}

/// By what libyaml was in the middle of: these are refused anyway.
static const char *explain_context(const char *context)
{
	static const struct {
		const char *part, *ours;
	} contexts[] = {
		{"directive", "a directive (“%”): scenario files have none; put a text that begins with % in quotes"},
		{"a tag", "a tag (“!”): scenario files have none; put a text that begins with ! in quotes"},
		{"an anchor", "an anchor (“&”): scenario files have none; put a text that begins with & in quotes"},
		{"an alias", "an alias (“*”): scenario files have none; put a text that begins with * in quotes"},
		{"a block scalar", "“|” or “>” begins a text of several lines: put the value in quotes"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++)
		if (strstr(context, contexts[i].part))
			return contexts[i].ours;
	return NULL;
}

static const char *explain(const yaml_parser_t *parser, const struct source *source)
{
	const char *problem = parser->problem ? parser->problem : "broken";
	const char *context = parser->context ? parser->context : "";
	size_t size;
	const char *text = text_from(source, parser->problem_mark.index, &size);

	if (!strcmp(problem, "found character that cannot start any token"))
		return explain_start(size > 0 ? *text : ' ');
	if (!strncmp(context, "while scanning a block scalar", 29) && size > 0 && (*text == '=' || *text == ' '))
		return "an unquoted “>” begins a folded text: put the comparison in quotes, \">= …\"";
	if (!strcmp(problem, "mapping values are not allowed in this context") && colon_ends_line(text, size))
		return "a text that ends with “:” goes in quotes, as in \"log:\"";
	for (size_t i = 0; i < ARRAY_SIZE(explanations); i++)
		if (!strcmp(problem, explanations[i].theirs))
			return explanations[i].ours;
	const char *ours = explain_context(context);
	return ours ? ours : problem;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// In a line a colour without quotes, which makes a comment of the rest: the place of its #, else NULL.
static const char *find_bare_color(const char *text, size_t size)
{
	for (size_t i = 1; i + 3 < size; i++)
		if (text[i] == '#' && (text[i - 1] == ' ' || text[i - 1] == '\t'))
			return is_hex(text[i + 1]) && is_hex(text[i + 2]) && is_hex(text[i + 3]) ? text + i : NULL;
	return NULL;
}

/// Whether a list or mapping in brackets broke because of a colour without quotes.
static bool say_bare_color(struct builder *builder, const struct node *open)
{
	const struct source *source = builder->list->source;
	uint32_t line, last, column;

	source_position(source, open->start, &line, &column);
	source_position(source, builder->parser.problem_mark.index, &last, &column);
	for (; line <= last && line > 0; line++) {
		size_t size;
		const char *text = source_line_text(source, line, &size), *color = find_bare_color(text, size);

		if (!color)
			continue;
		size_t index = source->lines[line - 1].character + count_characters(text, (size_t)(color - text));
		diagnostics_add(builder->list, DIAGNOSTIC_ERROR, index, index + 1,
				"an unquoted “#” begins a comment: put the colour in quotes");
		return true;
	}
	return false;
}

/// Problems that are better seen where it began.
static bool say_unclosed(struct builder *builder)
{
	const yaml_parser_t *parser = &builder->parser;

	const char *sentence = NULL;

	if (!parser->problem || !parser->context)
		return false;
	if (!strcmp(parser->problem, "found unexpected end of stream"))
		sentence = "this quotation mark is never closed";
	else if (!strcmp(parser->context, "while scanning a simple key"))
		sentence = "a “:” was expected after this key: “key: value”, with a space";
	if (!sentence)
		return false;
	diagnostics_add(builder->list, DIAGNOSTIC_ERROR, parser->context_mark.index, parser->context_mark.index + 1,
			"%s", sentence);
	return true;
}

/// @param open the innermost list or mapping in brackets that isn't closed; NULL: none
static void say_broken(struct builder *builder, const struct node *open)
{
	const struct source *source = builder->list->source;
	size_t index = builder->parser.problem_mark.index;
	const char *sentence = explain(&builder->parser, source);
	uint32_t line, column;

	if (!open) {
		diagnostics_add(builder->list, DIAGNOSTIC_ERROR, index, index + 1, "%s", sentence);
		return;
	}
	source_position(source, open->start, &line, &column);
	diagnostics_add(builder->list, DIAGNOSTIC_ERROR, index, index + 1, "%s (the %s begins in line %u)", sentence,
			open->type == NODE_LIST ? "list" : "mapping", line);
}

/// The text is no YAML: the tree ends here.
static void take_failure(struct builder *builder)
{
	const yaml_parser_t *parser = &builder->parser;

	if (parser->error == YAML_MEMORY_ERROR) {
		builder->out_of_memory = true;
		return;
	}
	if (parser->error == YAML_READER_ERROR) { // source_set looked; only for what it and libyaml see differently
		diagnostics_add_at_byte(builder->list, MIN(parser->problem_offset, builder->list->source->size),
					"a character that YAML does not allow");
		return;
	}
	const struct node *open = builder->depth > 0 ? builder->open[builder->depth - 1].node : NULL;
	if (say_unclosed(builder) || (open && open->flow && say_bare_color(builder, open)))
		return;
	say_broken(builder, open && open->flow ? open : NULL);
}

static void run(struct builder *builder)
{
	for (bool more = true; more;) {
		yaml_event_t event;

		if (!yaml_parser_parse(&builder->parser, &event)) {
			take_failure(builder);
			builder->root = NULL; // what is missing would be told as mistakes of its own
			return;
		}
		more = take_event(builder, &event);
		yaml_event_delete(&event);
	}
	if (builder->too_deep)
		builder->root = NULL;
}

int tree_parse(struct arena *arena, struct diagnostics *list, const struct node **ret_root)
{
	struct builder builder = {.arena = arena, .list = list};

	if (!yaml_parser_initialize(&builder.parser))
		return -ENOMEM;
	yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&builder.parser, (const unsigned char *)list->source->text, list->source->size);
	run(&builder);
	yaml_parser_delete(&builder.parser);
	free(builder.pending);
	if (builder.out_of_memory)
		return -ENOMEM;
	*ret_root = builder.root;
	return 0;
}

bool node_is(const struct node *node, const char *text)
{
	return node && node->type == NODE_SCALAR && node->size == strlen(text) && !memcmp(node->text, text, node->size);
}

const struct node *node_find(const struct node *node, const char *key)
{
	if (!node || node->type != NODE_MAPPING)
		return NULL;
	for (uint32_t i = 0; i < node->count; i++)
		if (node_is(node_key(node, i), key))
			return node_value(node, i);
	return NULL;
}

const struct node *node_item(const struct node *node, uint32_t index)
{
	return node && node->type == NODE_LIST && index < node->count ? node->items[index] : NULL;
}
