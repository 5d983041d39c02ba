// SPDX-License-Identifier: GPL-3.0-or-later
// A level a module, and which module a line is of: the folder of its file, as the compiler was given it.
#include "daemon/log/log-internal.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char *const modules[] = {
	[LOG_MAIN] = "main",     [LOG_BUS] = "bus",       [LOG_CONTROL] = "control", [LOG_DETECT] = "detect",
	[LOG_ENGINE] = "engine", [LOG_INPUT] = "input",   [LOG_REPORT] = "report",   [LOG_SCENARIO] = "scenario",
	[LOG_SCREEN] = "screen", [LOG_SYSTEM] = "system",
};
static_assert(ARRAY_SIZE(modules) == LOG_MODULES, "a name a module");

static const struct {
	const char *name;
	enum log_level level;
} names[] = {
	{"error", LOG_LEVEL_ERROR}, {"warning", LOG_LEVEL_WARNING}, {"notice", LOG_LEVEL_NOTICE},
	{"info", LOG_LEVEL_INFO},   {"debug", LOG_LEVEL_DEBUG},
};

static atomic_int levels[LOG_MODULES] = {
	[LOG_MAIN] = LOG_LEVEL_INFO,   [LOG_BUS] = LOG_LEVEL_INFO,      [LOG_CONTROL] = LOG_LEVEL_INFO,
	[LOG_DETECT] = LOG_LEVEL_INFO, [LOG_ENGINE] = LOG_LEVEL_INFO,   [LOG_INPUT] = LOG_LEVEL_INFO,
	[LOG_REPORT] = LOG_LEVEL_INFO, [LOG_SCENARIO] = LOG_LEVEL_INFO, [LOG_SCREEN] = LOG_LEVEL_INFO,
	[LOG_SYSTEM] = LOG_LEVEL_INFO,
};
static atomic_int highest = LOG_LEVEL_INFO; ///< of them: most lines that are not wanted are above it

static int find_module(const char *name, size_t length)
{
	for (int i = 0; i < LOG_MODULES; i++)
		if (strlen(modules[i]) == length && !strncmp(modules[i], name, length))
			return i;
	return -1;
}

enum log_module log_module_of(const char *file)
{
	const char *folder = strstr(file, "daemon/"), *end;
	int module;

	if (!folder)
		return LOG_MAIN;
	folder += strlen("daemon/");
	end = strchr(folder, '/');
	module = end ? find_module(folder, (size_t)(end - folder)) : -1;
	return module < 0 ? LOG_MAIN : (enum log_module)module;
}

const char *log_module_name(enum log_module module)
{
	return modules[module];
}

bool log_enabled_in(const char *file, enum log_level level)
{
	if ((int)level > atomic_load_explicit(&highest, memory_order_relaxed))
		return false;
	return (int)level <= atomic_load_explicit(&levels[log_module_of(file)], memory_order_relaxed);
}

void log_set_levels(const struct log_levels *wanted)
{
	int most = 0;

	for (int i = 0; i < LOG_MODULES; i++) {
		atomic_store(&levels[i], (int)wanted->of[i]);
		most = MAX(most, (int)wanted->of[i]);
	}
	atomic_store(&highest, most);
}

static void set_all(struct log_levels *all, enum log_level level)
{
	for (int i = 0; i < LOG_MODULES; i++)
		all->of[i] = level;
}

void log_set_level(enum log_level level)
{
	struct log_levels all;

	set_all(&all, level);
	log_set_levels(&all);
}

static bool find_level(const char *name, size_t length, enum log_level *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i].name) == length && !strncmp(names[i].name, name, length)) {
			*ret = names[i].level;
			return true;
		}
	return false;
}

/// @param named modules that a word was about already
static bool take_word(const char *word, size_t length, struct log_levels *levels_, bool named[LOG_MODULES])
{
	const char *colon = memchr(word, ':', length);
	enum log_level level;
	int module;

	if (!colon) {
		if (!find_level(word, length, &level))
			return false;
		for (int i = 0; i < LOG_MODULES; i++)
			if (!named[i])
				levels_->of[i] = level;
		return true;
	}
	module = find_module(word, (size_t)(colon - word));
	if (module < 0 || !find_level(colon + 1, length - (size_t)(colon + 1 - word), &level))
		return false;
	levels_->of[module] = level;
	named[module] = true;
	return true;
}

bool log_levels_parse(const char *text, struct log_levels *ret, char *ret_wrong, size_t wrong_size)
{
	static const char between[] = " \t,";
	bool named[LOG_MODULES] = {false};
	struct log_levels result;

	set_all(&result, LOG_LEVEL_INFO);
	for (text += strspn(text, between); *text; text += strspn(text, between)) {
		size_t length = strcspn(text, between);

		if (!take_word(text, length, &result, named)) {
			snprintf(ret_wrong, wrong_size, "%.*s", (int)MIN(length, wrong_size), text);
			return false;
		}
		text += length;
	}
	*ret = result;
	return true;
}
