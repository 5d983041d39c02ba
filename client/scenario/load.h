// SPDX-License-Identifier: GPL-3.0-or-later
/// The scenario file: YAML in, a Scenario message out, or a list of what is wrong with it, each with its place in the
/// file. condprof-scenario(5) is the reference of the keys. Needs no daemon.
///
///	struct scenario_file *file CLEANUP(scenario_file_cleanup) = NULL;
///	r = scenario_load_file(path, NULL, &file, &error);        // < 0: not readable at all
///	if (scenario_file_errors(file) > 0)
///		scenario_file_print_diagnostics(file, stderr);    // kiosk.yaml:3:9: error: …
///	else
///		r = scenario_file_pack(file, &data, &size);       // what Begin and Chunk carry
#ifndef CONDPROF_SCENARIO_LOAD_H
#define CONDPROF_SCENARIO_LOAD_H

#include "daemon/picture/picture.h"
#include "proto/errors.h"
#include "proto/scenario.pb-c.h"

#include <stdio.h>

struct scenario_load_options {
	bool remote;         ///< the daemon is on another machine (-H): replay: folders are its, and must be absolute
	bool without_images; ///< leaves image files unread and png fields empty: for fuzzing
	bool ascii;          ///< whoever reads what is printed has no UTF-8
};

enum diagnostic_severity {
	DIAGNOSTIC_ERROR,
	DIAGNOSTIC_WARNING,
};

struct diagnostic {
	enum diagnostic_severity severity;
	uint32_t line;   ///< from 1; 0: the file as a whole
	uint32_t column; ///< from 1, in characters
	uint32_t length; ///< characters that are meant, >= 1
	char *message;   ///< one line of valid UTF-8 without control characters, no trailing newline
};

/// A file that was read: its text, its tree, the message it makes and what was found in it.
struct scenario_file;

/// Reads and checks `path` and the images it names (relative to its folder).
/// @param options NULL: the defaults
/// @return 0 when it could be read, also with mistakes in it (ask scenario_file_errors); -ENOMEM; or the errno of
/// opening
///         or reading it, with `error` filled
int scenario_load_file(const char *path, const struct scenario_load_options *options, struct scenario_file **ret,
		       struct error *error);

/// The same from memory.
/// @param name for diagnostics
/// @param folder where relative paths begin; NULL: there are no images, each one named is a mistake
int scenario_load_text(const char *name, const char *text, size_t size, const char *folder,
		       const struct scenario_load_options *options, struct scenario_file **ret, struct error *error);

/// NULL-safe; returns NULL.
struct scenario_file *scenario_file_free(struct scenario_file *file);
static inline void scenario_file_cleanup(struct scenario_file **file)
{
	*file = scenario_file_free(*file);
}

/// Mistakes found in all; only the first SCENARIO_MAX_PROBLEMS are kept.
size_t scenario_file_errors(const struct scenario_file *file);

/// What was kept, in the order of the file. Valid until the next call that adds some.
const struct diagnostic *scenario_file_diagnostics(const struct scenario_file *file, size_t *ret_count);

/// Compiler-style: file:line:column: error: sentence, the line and a caret; at last how many more there are.
void scenario_file_print_diagnostics(const struct scenario_file *file, FILE *out);

/// The message, images inside; NULL when there are mistakes. Belongs to the file.
const Condprof__Scenario *scenario_file_message(const struct scenario_file *file);

/// Packs the message. *ret_data is the caller's, to be freed.
/// @return 0; -EINVAL with mistakes in the file; -EMSGSIZE: over SCENARIO_MAX_BYTES; -ENOMEM
int scenario_file_pack(const struct scenario_file *file, uint8_t **ret_data, size_t *ret_size, struct error *error);

/// Where the file says what a place of the daemon (screen-events[2].conditions[0].image) names; the nearest around it
/// when the file leaves the key out. @return 0, or -ENOENT: no such place
int scenario_locate(const struct scenario_file *file, const char *place, uint32_t *ret_line, uint32_t *ret_column);

/// Adds a problem that the daemon found, at its place in the file.
void scenario_file_add_problem(struct scenario_file *file, const char *place, const char *message);

/// Adds warnings: what is legal and hardly meant. May look at a replay folder's first picture for the frame's size.
void scenario_file_warn(struct scenario_file *file);

/// Whether an image condition has something to look for in this picture: two opaque pixels of different gray.
/// @return 0, -EINVAL with an error
int scenario_check_image(struct picture_view view, struct error *error);

/// A readable summary of what was understood, defaults resolved. The file has no mistakes.
/// @param columns longest line wanted; 0: any
void scenario_print(const struct scenario_file *file, FILE *out, int columns);

#endif
