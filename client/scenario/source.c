// SPDX-License-Identifier: GPL-3.0-or-later
//
// The text of a scenario file and its lines. A line ends at LF, CR or CR LF, as editors count; YAML's other line breaks
// (NEL, LS, PS) are refused. Places are kept as counts of characters from the text's start.
#include "config.h"

#include "client/scenario/source.h"

#include "proto/io.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define EXCERPT_COLUMNS 100 ///< of the file's own text
#define TAB_COLUMNS 8
#define REPLACEMENT 0xfffdU

/// What YAML calls printable, without the line breaks that editors don't show as such (NEL, LS, PS).
static bool character_is_plain(uint32_t code)
{
	return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code < 0x7f) ||
	       (code >= 0xa0 && code != 0x2028 && code != 0x2029 && code != 0xfeff && code != 0xfffe && code != 0xffff);
}

bool character_is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       code == 0x61c || (code >= 0xfff0 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f);
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t code, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count && code >= ranges[i].first; i++)
		if (code <= ranges[i].last)
			return true;
	return false;
}

int character_columns(uint32_t code)
{
	static const struct range none[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
					    {0x64b, 0x65f},   {0x6d6, 0x6dc},   {0x900, 0x902},   {0xe31, 0xe31},
					    {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
					    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
	static const struct range two[] = {
		{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},  {0x2e80, 0x303e}, {0x3041, 0x33ff},
		{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},  {0xa960, 0xa97f}, {0xac00, 0xd7a3},
		{0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
		{0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

	if (code < 0x300)
		return 1;
	if (in_ranges(code, none, ARRAY_SIZE(none)))
		return 0;
	return in_ranges(code, two, ARRAY_SIZE(two)) ? 2 : 1;
}

/// A character that shows as one, or the replacement character for what would not.
static size_t take_shown(const char *text, size_t size, uint32_t *ret_code)
{
	size_t length = utf8_take(text, size, ret_code);

	if (length == 0) {
		*ret_code = REPLACEMENT;
		return 1;
	}
	if (*ret_code != '\t' && character_is_unsafe(*ret_code))
		*ret_code = REPLACEMENT;
	return length;
}

static size_t utf8_put(uint32_t code, char out[4])
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t i = length - 1; i > 0; i--, code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)((0xf00U >> length) | code);
	return length;
}

char *text_for_message(const char *text, size_t size, int columns, char *out, size_t out_size)
{
	size_t used = 0;
	int taken = 0;

	for (size_t i = 0; i < size;) {
		char piece[16];
		uint32_t code = (uint8_t)text[i];
		size_t length = utf8_take(text + i, size - i, &code), put;
		int width;

		if (length == 0 || character_is_unsafe(code)) {
			put = (size_t)snprintf(piece, sizeof(piece), code < 0x100 ? "\\x%02x" : "\\u{%x}", code);
			width = (int)put;
		} else {
			put = utf8_put(code, piece);
			width = character_columns(code);
		}
		length = MAX(length, 1U);
		bool last = i + length == size;
		if (used + put + (last ? 1 : 4) > out_size || taken + width > columns - (last ? 0 : 1)) {
			if (used + 4 <= out_size) {
				memcpy(out + used, "…", 3);
				used += 3;
			}
			break;
		}
		memcpy(out + used, piece, put);
		used += put;
		taken += width;
		i += length;
	}
	out[MIN(used, out_size - 1)] = '\0';
	return out;
}

void print_for(FILE *out, const char *text, bool ascii)
{
	size_t size = strlen(text);
	uint32_t code = 0;

	if (!ascii) {
		fwrite(text, 1, size, out);
		return;
	}
	for (size_t i = 0; i < size; i += MAX(utf8_take(text + i, size - i, &code), 1U)) {
		if (utf8_take(text + i, size - i, &code) == 0)
			code = REPLACEMENT;
		if (code < 0x80)
			fputc((int)code, out);
		else if (code == 0x201c || code == 0x201d)
			fputc('"', out);
		else if (code == 0x2026)
			fputs("...", out);
		else
			fprintf(out, "%.*s", character_columns(code), "??");
	}
}

static int count_lines(struct source *source)
{
	uint32_t lines = 1, character = 0;

	for (size_t i = 0; i < source->size; i++)
		lines += source->text[i] == '\n' || (source->text[i] == '\r' && source->text[i + 1] != '\n');
	source->lines = calloc(lines, sizeof(*source->lines));
	if (!source->lines)
		return -ENOMEM;
	source->line_count = 1;
	for (size_t i = 0; i < source->size; i++) {
		char c = source->text[i];

		character += ((uint8_t)c & 0xc0) != 0x80;
		if (c == '\n' || (c == '\r' && source->text[i + 1] != '\n'))
			source->lines[source->line_count++] = (struct source_line){(uint32_t)i + 1, character};
	}
	return 0;
}

static int check_text(const struct source *source, struct source_problem *problem)
{
	uint32_t code;

	for (size_t i = 0, length; i < source->size; i += length) {
		length = utf8_take(source->text + i, source->size - i, &code);
		if (length > 0 && character_is_plain(code))
			continue;
		problem->offset = i;
		if (source->size >= 2 && (!memcmp(source->text, "\xff\xfe", 2) || !memcmp(source->text, "\xfe\xff", 2)))
			snprintf(problem->message, sizeof(problem->message), "this is UTF-16: save the file as UTF-8");
		else if (length == 0)
			snprintf(problem->message, sizeof(problem->message),
				 "not UTF-8: byte 0x%02x; save the file as UTF-8", (uint8_t)source->text[i]);
		else if (code == 0)
			snprintf(problem->message, sizeof(problem->message), "a NUL byte: this is not a text file");
		else
			snprintf(problem->message, sizeof(problem->message),
				 "the character U+%04X may not stand in a scenario file; in a text write it as "
				 "\"\\%c%0*x\"",
				 code, code < 0x100 ? 'x' : 'u', code < 0x100 ? 2 : 4, code);
		return -EBADMSG;
	}
	return 0;
}

int source_set(struct source *source, const char *name, const char *text, size_t size, struct source_problem *problem)
{
	struct source new = {0};

	if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		size -= 3;
	}
	new.name = strdup(name);
	new.text = calloc(1, size + 1);
	new.size = size;
	if (!new.name || !new.text) {
		source_clear(&new);
		return -ENOMEM;
	}
	if (size > 0)
		memcpy(new.text, text, size);
	if (count_lines(&new) < 0) {
		source_clear(&new);
		return -ENOMEM;
	}
	*source = new;
	return check_text(source, problem);
}

void source_clear(struct source *source)
{
	free(source->name);
	free(source->text);
	free(source->lines);
	*source = (struct source){0};
}

static int read_all(int fd, const char *path, char **ret_text, size_t *ret_size, struct error *error)
{
	char *text CLEANUP_FREE = malloc(YAML_MAX_BYTES + 1);

	if (!text)
		return -ENOMEM;
	ssize_t size = io_read(fd, text, YAML_MAX_BYTES + 1);
	if (size < 0)
		return error_set(error, CONDPROF__CODE__IO, (int)-size, "cannot read %s: %s", path,
				 strerror((int)-size));
	if (size > YAML_MAX_BYTES)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, EFBIG,
				 "%s is larger than 1 MiB: this is not a scenario file", path);
	*ret_text = TAKE_POINTER(text);
	*ret_size = (size_t)size;
	return 0;
}

int source_read(const char *path, char **ret_text, size_t *ret_size, struct error *error)
{
	struct stat status;
	int fd CLEANUP_CLOSE = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_set(error, CONDPROF__CODE__IO, errno, "cannot open %s: %s", path, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return error_set(error, CONDPROF__CODE__IO, EISDIR, "%s is a folder: give a scenario file", path);
	return read_all(fd, path, ret_text, ret_size, error);
}

static uint32_t find_line(const struct source *source, size_t value, bool by_character)
{
	uint32_t low = 0, high = source->line_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		const struct source_line *line = &source->lines[middle];

		if ((by_character ? line->character : line->offset) <= value)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void source_position(const struct source *source, size_t character, uint32_t *ret_line, uint32_t *ret_column)
{
	uint32_t line = find_line(source, character, true);

	*ret_line = line + 1;
	*ret_column = (uint32_t)character - source->lines[line].character + 1;
}

void source_byte_position(const struct source *source, size_t offset, uint32_t *ret_line, uint32_t *ret_column)
{
	uint32_t line = find_line(source, offset, false), column = 1;

	for (size_t i = source->lines[line].offset; i < offset; i++)
		column += ((uint8_t)source->text[i] & 0xc0) != 0x80;
	*ret_line = line + 1;
	*ret_column = column;
}

const char *source_line_text(const struct source *source, uint32_t line, size_t *ret_size)
{
	size_t start = source->lines[line - 1].offset, end = start;

	while (end < source->size && source->text[end] != '\n' && source->text[end] != '\r')
		end++;
	*ret_size = end - start;
	return source->text + start;
}

/// Bytes and terminal columns before a character of the line.
static size_t measure(const char *text, size_t size, uint32_t column, int *ret_columns)
{
	size_t at = 0;
	int columns = 0;

	for (uint32_t n = 1; n < column && at < size; n++) {
		uint32_t code;

		at += take_shown(text + at, size - at, &code);
		columns += code == '\t' ? TAB_COLUMNS - columns % TAB_COLUMNS : character_columns(code);
	}
	*ret_columns = columns;
	return at;
}

/// Prints `size` bytes of a line, or as many spaces (tabs as tabs) when `blank`. @return columns
static int print_piece(const char *text, size_t size, bool blank, int limit, FILE *out)
{
	int columns = 0;

	for (size_t at = 0; at < size && columns < limit;) {
		uint32_t code;
		char piece[4];

		at += take_shown(text + at, size - at, &code);
		int width = code == '\t' ? TAB_COLUMNS - columns % TAB_COLUMNS : character_columns(code);
		if (code == '\t')
			fputc('\t', out);
		else if (!blank)
			fwrite(piece, 1, utf8_put(code, piece), out);
		else
			fprintf(out, "%*s", width, "");
		columns += width;
	}
	return columns;
}

/// Where to begin so that the caret is seen: the line's start, or a bit before the caret.
static size_t cut_start(const char *text, size_t size, uint32_t column)
{
	int columns;

	measure(text, size, column, &columns);
	if (columns < EXCERPT_COLUMNS * 3 / 4)
		return 0;
	uint32_t first = column > EXCERPT_COLUMNS / 2 ? column - EXCERPT_COLUMNS / 2 : 1;
	return measure(text, size, first, &columns);
}

void source_print_excerpt(const struct source *source, uint32_t line, uint32_t column, uint32_t length, FILE *out)
{
	size_t size;
	const char *text = source_line_text(source, line, &size);
	int columns, under;
	size_t caret = measure(text, size, column, &columns), start = cut_start(text, size, column);
	size_t end = measure(text, size, column + MAX(length, 1U), &under);
	bool cut = start > 0;
	int gutter = MAX(5, snprintf(NULL, 0, "%u", line)); // with " | " 8 columns: tabs stand as they do in an editor

	measure(text + start, size - start, UINT32_MAX, &columns);
	bool cut_end = columns > EXCERPT_COLUMNS;
	fprintf(out, "%*u | %s", gutter, line, cut ? "…" : "");
	print_piece(text + start, size - start, false, EXCERPT_COLUMNS, out);
	fprintf(out, "%s\n%*s | %s", cut_end ? "…" : "", gutter, "", cut ? " " : "");
	int before = print_piece(text + start, caret - start, true, EXCERPT_COLUMNS, out);
	fputc('^', out);
	measure(text + caret, end - caret, UINT32_MAX, &under);
	for (int i = 1; i < under && before + i < EXCERPT_COLUMNS; i++)
		fputc('~', out);
	fputc('\n', out);
}
