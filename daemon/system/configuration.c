// SPDX-License-Identifier: GPL-3.0-or-later
// One table row a key: its name and what its value does. Every mistake is noted with file and line and reading goes on,
// so that a person sees all of them at once; with any, nothing is taken over.
#include "config.h"

#include "daemon/system/configuration.h"

#include "proto/errors.h"
#include "proto/io.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX_BYTES (1024 * 1024)
#define MISTAKES_MAX 20U

/// Where reading is, and what it found wrong so far.
struct reading {
	struct configuration *configuration;
	const char *file;
	unsigned line; ///< 0: the file as a whole
	uint32_t seen; ///< bit a key: set in this file already
	FILE *mistakes;
	unsigned n_mistakes;
};

static void mistake(struct reading *reading, const char *format, ...) PRINTF_LIKE(2, 3);

static void mistake(struct reading *reading, const char *format, ...)
{
	char what[512];
	va_list arguments;

	if (++reading->n_mistakes > MISTAKES_MAX)
		return;
	if (reading->line)
		fprintf(reading->mistakes, "%s:%u: ", reading->file, reading->line);
	else
		fprintf(reading->mistakes, "%s: ", reading->file);
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	utf8_make_printable(what); // it quotes the file, and goes to a terminal
	fprintf(reading->mistakes, "%s\n", what);
}

static void set_string(struct reading *reading, char **place, const char *value)
{
	char *copy = strdup(value);

	if (!copy) {
		mistake(reading, "out of memory");
		return;
	}
	free(*place);
	*place = copy;
}

static bool find_group(struct reading *reading, const char *name, gid_t *ret_gid)
{
	char buffer[16384];
	struct group entry, *found = NULL;
	char *end;
	unsigned long number;

	if (isdigit((unsigned char)name[0])) {
		errno = 0;
		number = strtoul(name, &end, 10);
		if (!errno && !*end && number < UINT32_MAX) {
			*ret_gid = (gid_t)number;
			return true;
		}
	}
	getgrnam_r(name, &entry, buffer, sizeof(buffer), &found);
	if (!found) {
		mistake(reading, "no group is called '%s'; create it (groupadd --system %s) or name another", name,
			name);
		return false;
	}
	*ret_gid = found->gr_gid;
	return true;
}

static void set_control_group(struct reading *reading, const char *value)
{
	if (find_group(reading, value, &reading->configuration->control_gid))
		set_string(reading, &reading->configuration->control_group, value);
}

static void set_observe_group(struct reading *reading, const char *value)
{
	if (find_group(reading, value, &reading->configuration->observe_gid))
		set_string(reading, &reading->configuration->observe_group, value);
}

static char **free_strings(char **strings)
{
	for (char **string = strings; string && *string; string++)
		free(*string);
	free(strings);
	return NULL;
}

/// Absolute paths with a colon between them, as PATH has them.
static void set_frame_folders(struct reading *reading, const char *value)
{
	size_t count = 1, n = 0;
	CLEANUP_FREE char *copy = strdup(value);
	char *rest = copy, *folder;
	char **folders;

	for (const char *p = value; *p; p++)
		count += *p == ':';
	folders = calloc(count + 1, sizeof(*folders));
	while (copy && folders && (folder = strsep(&rest, ":"))) {
		if (folder[0] != '/') {
			mistake(reading, "'%s' is not an absolute path; folders are separated by a colon", folder);
			free_strings(folders);
			return;
		}
		folders[n] = strdup(folder);
		if (!folders[n++])
			break;
	}
	if (!copy || !folders || n < count || !folders[count - 1]) {
		mistake(reading, "out of memory");
		free_strings(folders);
		return;
	}
	free_strings(reading->configuration->frame_folders);
	reading->configuration->frame_folders = folders;
}

static void set_xauthority(struct reading *reading, const char *value)
{
	if (value[0] != '/')
		mistake(reading, "'%s' is not an absolute path", value);
	else
		set_string(reading, &reading->configuration->xauthority, value);
}

static void set_secrets_file(struct reading *reading, const char *value)
{
	if (value[0] != '/')
		mistake(reading, "'%s' is not an absolute path", value);
	else
		set_string(reading, &reading->configuration->secrets_file, value);
}

static void set_log_level(struct reading *reading, const char *value)
{
	char wrong[40];

	if (!log_levels_parse(value, &reading->configuration->log_levels, wrong, sizeof(wrong)))
		mistake(reading,
			"'%s' is not a log level; use error, warning, notice, info or debug, or one of these for a "
			"part, as in 'info engine:debug'",
			wrong);
}

/// Digits, then for bytes an optional K, M, G or T (with iB or B behind it), all powers of 1024.
static bool parse_amount(const char *text, bool bytes, uint64_t *ret)
{
	static const char units[] = "KMGT";
	const char *unit;
	unsigned shift = 0;
	char *end;

	errno = 0;
	if (!isdigit((unsigned char)text[0]))
		return false;
	*ret = strtoull(text, &end, 10);
	if (errno)
		return false;
	end += strspn(end, " ");
	if (bytes && *end && (unit = strchr(units, toupper((unsigned char)*end)))) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
		if (end[0] == 'i')
			end++;
	}
	if (bytes && *end == 'B')
		end++;
	if (*end || *ret > (uint64_t)INT64_MAX >> shift)
		return false;
	*ret <<= shift;
	return true;
}

static void set_amount(struct reading *reading, const char *value, bool bytes, uint64_t least, uint64_t *place)
{
	uint64_t amount;

	if (!parse_amount(value, bytes, &amount))
		mistake(reading, "'%s' is not %s", value,
			bytes ? "a size; write a number with K, M, G or nothing for bytes, such as 2 GiB"
			      : "a number; write digits only");
	else if (amount < least)
		mistake(reading, "%s is too small; %llu is the least", value, (unsigned long long)least);
	else
		*place = amount;
}

static void set_max_reports(struct reading *reading, const char *value)
{
	set_amount(reading, value, false, 1, &reading->configuration->max_reports);
}

static void set_max_report_bytes(struct reading *reading, const char *value)
{
	set_amount(reading, value, true, 1024 * 1024, &reading->configuration->max_report_bytes);
}

static void set_max_messages_bytes(struct reading *reading, const char *value)
{
	set_amount(reading, value, true, 1024 * 1024, &reading->configuration->max_messages_bytes);
}

static void set_record_max_bytes(struct reading *reading, const char *value)
{
	set_amount(reading, value, true, 1024 * 1024, &reading->configuration->record_max_bytes);
}

/// Digits and a unit, or `never`.
static void set_rotate(struct reading *reading, const char *value)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"s", NSEC_PER_SEC}, {"min", 60 * NSEC_PER_SEC}, {"h", 3600 * NSEC_PER_SEC}};
	size_t digits = strspn(value, "0123456789");
	const char *unit = value + digits + strspn(value + digits, " ");
	int64_t number = digits && digits < 12 ? strtoll(value, NULL, 10) : -1, ns = -1;

	for (size_t i = 0; i < ARRAY_SIZE(units) && number >= 0; i++) {
		if (!strcmp(unit, units[i].name) && number <= SCENARIO_MAX_DURATION_NS / units[i].ns)
			ns = number * units[i].ns;
	}
	if (!strcmp(value, "never"))
		reading->configuration->rotate_ns = 0;
	else if (ns < SCENARIO_MIN_ROTATE_NS)
		mistake(reading,
			"'%s' is not how often; write a number with s, min or h, such as 24 h, from 1 s to 100 "
			"years, or never",
			value);
	else
		reading->configuration->rotate_ns = ns;
}

/// Rows and names stand in one order, so that the names can be handed out as they are.
static void (*const setters[])(struct reading *reading, const char *value) = {
	set_control_group,    set_observe_group,      set_frame_folders,    set_xauthority,
	set_secrets_file,     set_log_level,          set_rotate,           set_max_reports,
	set_max_report_bytes, set_max_messages_bytes, set_record_max_bytes,
};
static const char *const keys[] = {
	"control-group", "observe-group", "frame-folders",    "xauthority",         "secrets-file",     "log-level",
	"rotate",        "max-reports",   "max-report-bytes", "max-messages-bytes", "record-max-bytes",
};
static_assert(ARRAY_SIZE(setters) == ARRAY_SIZE(keys), "a setter a key");
static_assert(ARRAY_SIZE(keys) <= 32, "reading.seen has a bit a key");

const char *const *configuration_keys(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(keys);
	return keys;
}

static char *trim(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = 0;
	return text;
}

static void set_key(struct reading *reading, const char *key, const char *value)
{
	const char *near;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(key, keys[i]))
			continue;
		if (reading->seen & (1U << i))
			mistake(reading, "'%s' stands in this file already", key);
		else if (!*value)
			mistake(reading, "'%s' has no value; leave the line out for the default", key);
		else
			setters[i](reading, value);
		reading->seen |= 1U << i;
		return;
	}
	near = nearest_word(key, keys, ARRAY_SIZE(keys));
	mistake(reading,
		near ? "unknown key '%s'; did you mean '%s'?" : "unknown key '%s'; condprofd.conf(5) lists the keys",
		key, near);
}

static void read_line(struct reading *reading, char *line)
{
	char *equals;

	line = trim(line);
	if (!*line || *line == '#')
		return;
	equals = strchr(line, '=');
	if (!equals || equals == line) {
		mistake(reading, "expected 'key = value' or a comment that begins with #");
		return;
	}
	*equals = 0;
	set_key(reading, trim(line), trim(equals + 1));
}

static void read_text(struct reading *reading, char *text, size_t size)
{
	char *line;

	while (size && (line = strsep(&text, "\n"))) {
		size_t length = strlen(line), whole = text ? (size_t)(text - line) - 1 : size;

		reading->line++;
		if (length != whole) {
			mistake(reading, "a NUL byte; this is not a text file");
			return;
		}
		size -= MIN(size, whole + 1);
		read_line(reading, line);
	}
}

/// The whole file, NUL-terminated. NULL: a mistake was noted, or it is missing and may be.
static char *read_file(struct reading *reading, bool must_exist, size_t *ret_size)
{
	CLEANUP_CLOSE int fd = open(reading->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	CLEANUP_FREE char *text = NULL;
	struct stat status;

	if (fd < 0 && errno == ENOENT && !must_exist)
		return NULL;
	if (fd < 0 || fstat(fd, &status) < 0) {
		mistake(reading, "%s", strerror(errno));
		return NULL;
	}
	// A device can only be meant as /dev/null: no configuration at all.
	if ((!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) || status.st_size > FILE_MAX_BYTES) {
		mistake(reading, S_ISREG(status.st_mode) ? "larger than 1 MiB" : "not a regular file");
		return NULL;
	}
	text = malloc(FILE_MAX_BYTES + 1);
	ssize_t size = text ? io_read(fd, text, FILE_MAX_BYTES) : -ENOMEM;
	if (size < 0) {
		mistake(reading, "%s", strerror((int)-size));
		return NULL;
	}
	text[size] = 0;
	*ret_size = (size_t)size;
	return TAKE_POINTER(text);
}

static void read_one(struct reading *reading, const char *file, bool must_exist)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;

	reading->file = file;
	reading->line = 0;
	reading->seen = 0;
	text = read_file(reading, must_exist, &size);
	if (text)
		read_text(reading, text, size);
}

static int is_drop_in(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && !strcmp(dot, ".conf");
}

static void read_drop_ins(struct reading *reading, const char *path)
{
	char folder[PATH_MAX], file[PATH_MAX + 1 + NAME_MAX];
	struct dirent **entries;
	int count;

	if ((size_t)snprintf(folder, sizeof(folder), "%s.d", path) >= sizeof(folder))
		return;
	count = scandir(folder, &entries, is_drop_in, alphasort);
	if (count < 0)
		return;
	for (int i = 0; i < count; i++) {
		snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name);
		read_one(reading, file, true);
		free(entries[i]);
	}
	free(entries);
}

int configuration_new(struct configuration **ret)
{
	struct configuration *configuration = calloc(1, sizeof(*configuration));

	if (!configuration)
		return -ENOMEM;
	*configuration = (struct configuration){
		.references = 1,
		.max_reports = 1000,
		.max_report_bytes = UINT64_C(2) << 30,
		.max_messages_bytes = UINT64_C(64) << 20,
		.record_max_bytes = UINT64_C(2) << 30,
	};
	log_levels_parse("info", &configuration->log_levels, NULL, 0);
	*ret = configuration;
	return 0;
}

/// For a daemon that is run by hand: the environment has the last word.
static void read_environment(struct reading *reading)
{
	const char *value = getenv("CONDPROF_LOG_LEVEL");

	reading->file = "CONDPROF_LOG_LEVEL";
	reading->line = 0;
	if (value)
		set_log_level(reading, value);
}

static int begin_reading(struct reading *reading, char **text, size_t *size)
{
	int r;

	reading->mistakes = open_memstream(text, size);
	if (!reading->mistakes)
		return -ENOMEM;
	r = configuration_new(&reading->configuration);
	if (r < 0)
		fclose(reading->mistakes);
	return r;
}

/// @param text of the mistakes, taken over
static int finish_reading(struct reading *reading, char **text, struct configuration **ret, char **ret_mistakes)
{
	int r = 0;

	if (reading->n_mistakes > MISTAKES_MAX)
		fprintf(reading->mistakes, "and %u more\n", reading->n_mistakes - MISTAKES_MAX);
	if (fclose(reading->mistakes))
		r = -ENOMEM;
	if (!r && reading->n_mistakes) {
		*ret_mistakes = TAKE_POINTER(*text);
		r = -EINVAL;
	}
	if (r < 0) {
		configuration_unref(reading->configuration);
		return r;
	}
	*ret = reading->configuration;
	return 0;
}

int configuration_load(const char *path, bool must_exist, struct configuration **ret, char **ret_mistakes)
{
	struct reading reading = {0};
	CLEANUP_FREE char *text = NULL;
	size_t size;
	int r = begin_reading(&reading, &text, &size);

	if (r < 0)
		return r;
	read_one(&reading, path, must_exist);
	read_drop_ins(&reading, path);
	read_environment(&reading);
	return finish_reading(&reading, &text, ret, ret_mistakes);
}

int configuration_parse(const char *name, const char *data, size_t data_size, struct configuration **ret,
			char **ret_mistakes)
{
	struct reading reading = {.file = name};
	CLEANUP_FREE char *text = NULL, *copy = malloc(data_size + 1);
	size_t size;
	int r = copy ? begin_reading(&reading, &text, &size) : -ENOMEM;
	if (r < 0)
		return r;
	memcpy(copy, data, data_size);
	copy[data_size] = 0;
	read_text(&reading, copy, data_size);
	return finish_reading(&reading, &text, ret, ret_mistakes);
}

struct configuration *configuration_ref(struct configuration *configuration)
{
	configuration->references++;
	return configuration;
}

struct configuration *configuration_unref(struct configuration *configuration)
{
	if (!configuration || --configuration->references)
		return NULL;
	free(configuration->control_group);
	free(configuration->observe_group);
	free_strings(configuration->frame_folders);
	free(configuration->xauthority);
	free(configuration->secrets_file);
	free(configuration);
	return NULL;
}
