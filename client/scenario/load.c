// SPDX-License-Identifier: GPL-3.0-or-later
//
// The steps from a file to a message: text, tree, message, references, images. Each step says its mistakes and the next
// one goes on with what is there, as long as there is something.
#include "config.h"

#include "client/scenario/file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static int run_steps(struct scenario_file *file)
{
	int r = tree_parse(&file->arena, &file->diagnostics, &file->root);

	if (r < 0)
		return r;
	if (!file->root) {
		if (file->diagnostics.errors == 0)
			diagnostics_add_whole(&file->diagnostics, DIAGNOSTIC_ERROR,
					      "the file is empty: a scenario begins with “scenario: NAME”");
		return 0;
	}
	scenario_build(file);
	if (!file->out_of_memory)
		scenario_resolve(file);
	if (!file->out_of_memory && !file->options.without_images)
		scenario_read_images(file);
	return file->out_of_memory || file->diagnostics.out_of_memory ? -ENOMEM : 0;
}

static int load(struct scenario_file *file, const char *name, const char *text, size_t size)
{
	struct source_problem problem;

	file->diagnostics.source = &file->source;
	if (size > YAML_MAX_BYTES)
		return -EFBIG;
	int r = source_set(&file->source, name, text, size, &problem);
	if (r == -EBADMSG) {
		diagnostics_add_at_byte(&file->diagnostics, problem.offset, problem.message);
		r = 0;
	} else if (r == 0) {
		r = run_steps(file);
	}
	diagnostics_sort(&file->diagnostics);
	return r;
}

int scenario_load_text(const char *name, const char *text, size_t size, const char *folder,
		       const struct scenario_load_options *options, struct scenario_file **ret, struct error *error)
{
	struct scenario_file *file CLEANUP(scenario_file_cleanup) = calloc(1, sizeof(*file));
	char absolute[PATH_MAX];

	if (!file)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	if (options)
		file->options = *options;
	if (folder && realpath(folder, absolute)) {
		file->folder = strdup(absolute);
		if (!file->folder)
			return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	}
	int r = load(file, name, text, size);
	if (r == -EFBIG)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, EFBIG,
				 "%s is larger than 1 MiB: this is not a scenario file", name);
	if (r < 0)
		return error_set(error, CONDPROF__CODE__INTERNAL, -r, "%s: %s", name, strerror(-r));
	*ret = TAKE_POINTER(file);
	return 0;
}

int scenario_load_file(const char *path, const struct scenario_load_options *options, struct scenario_file **ret,
		       struct error *error)
{
	char *text CLEANUP_FREE = NULL, *folder CLEANUP_FREE = NULL;
	size_t size;
	int r = source_read(path, &text, &size, error);

	if (r < 0)
		return r;
	const char *slash = strrchr(path, '/');
	folder = slash ? strndup(path, MAX((size_t)(slash - path), 1U)) : strdup(".");
	if (!folder)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	return scenario_load_text(path, text, size, folder, options, ret, error);
}

struct scenario_file *scenario_file_free(struct scenario_file *file)
{
	if (!file)
		return NULL;
	diagnostics_clear(&file->diagnostics);
	source_clear(&file->source);
	arena_clear(&file->arena);
	free(file->folder);
	free(file);
	return NULL;
}

size_t scenario_file_errors(const struct scenario_file *file)
{
	return file->diagnostics.errors;
}

const struct diagnostic *scenario_file_diagnostics(const struct scenario_file *file, size_t *ret_count)
{
	*ret_count = file->diagnostics.count;
	return file->diagnostics.items;
}

void scenario_file_print_diagnostics(const struct scenario_file *file, FILE *out)
{
	diagnostics_print(&file->diagnostics, file->options.ascii, out);
}

const Condprof__Scenario *scenario_file_message(const struct scenario_file *file)
{
	return file->diagnostics.errors == 0 ? file->message : NULL;
}

int scenario_file_pack(const struct scenario_file *file, uint8_t **ret_data, size_t *ret_size, struct error *error)
{
	const Condprof__Scenario *message = scenario_file_message(file);

	if (!message)
		return error_set(error, CONDPROF__CODE__BAD_SCENARIO, EINVAL, "%s has mistakes", file->source.name);
	size_t size = condprof__scenario__get_packed_size(message);
	if (size > SCENARIO_MAX_BYTES)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, EMSGSIZE,
				 "%s and its images make a message of %zu MiB: at most %u", file->source.name,
				 size / (1024U * 1024U) + 1, SCENARIO_MAX_BYTES / (1024U * 1024U));
	uint8_t *data = malloc(MAX(size, 1U));
	if (!data)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	*ret_size = condprof__scenario__pack(message, data);
	*ret_data = data;
	return 0;
}
