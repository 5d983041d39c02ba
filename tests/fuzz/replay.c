// SPDX-License-Identifier: GPL-3.0-or-later
/// Gives a fuzz target every file of its corpus, in name order, and says so in TAP. A crash ends the program, and with
/// it the test: the file's name was printed before, as a comment. `replay_NAME FILE...` replays these files instead.
#include "config.h"

#include "tests/fuzz/fuzz.h"

#include "proto/base.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>

/// Into memory of exactly its size, so that the sanitizer sees a read past its end.
static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	uint8_t *data = NULL;
	long size;

	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
		data = malloc(MAX((size_t)size, 1U));
		*ret_size = data ? fread(data, 1, (size_t)size, file) : 0;
	}
	fclose(file);
	return data;
}

static void replay(const char *path, const char *name, int number)
{
	size_t size = 0;
	uint8_t *data = read_file(path, &size);

	printf("# %s\n", name);
	fflush(stdout);
	if (data)
		LLVMFuzzerTestOneInput(data, size);
	printf("%s %d - %s\n", data ? "ok" : "not ok", number, name);
	free(data);
}

static int is_seed(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/// The corpus of replay_NAME is tests/fuzz/corpus/NAME.
static int replay_corpus(const char *program)
{
	const char *top = getenv("top_srcdir"), *name = strrchr(program, '/');
	char folder[PATH_MAX], path[PATH_MAX + 257];
	struct dirent **entries = NULL;

	name = name ? name + 1 : program;
	if (strncmp(name, "replay_", 7) == 0)
		name += 7;
	snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/%s", top ? top : ".", name);
	int count = scandir(folder, &entries, is_seed, alphasort);

	if (count <= 0) {
		printf("1..1\nnot ok 1 - there is no seed in %s\n", folder);
		free(entries);
		return EXIT_FAILURE;
	}
	printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		replay(path, entries[i]->d_name, i + 1);
		free(entries[i]);
	}
	free(entries);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc <= 1)
		return replay_corpus(argv[0]);
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++)
		replay(argv[i], argv[i], i);
	return EXIT_SUCCESS;
}
