// SPDX-License-Identifier: GPL-3.0-or-later
// Files are read into locked memory directly, and parsed there, in place.
#include "config.h"

#include "daemon/secret/secret.h"

#include "daemon/secret/locked.h"
#include "proto/io.h"
#include "proto/limits.h"
#include "proto/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define BLANKS " \t\r"

struct secret {
	char *name;
	char *value; ///< locked, size + 1 bytes
	size_t size;
};

struct secrets {
	uint32_t count;
	struct secret items[];
};

struct reading {
	const struct secret_source *source;
	char *scratch; ///< locked: SECRETS_FILE_MAX_BYTES + 1
	struct error *error;
};

#define WRONG(reading, errno_value, ...)                                                                               \
	error_set((reading)->error, CONDPROF__CODE__BAD_SCENARIO, errno_value, __VA_ARGS__)

static int no_locked_memory(struct reading *reading, int r)
{
	return error_set(reading->error, CONDPROF__CODE__INTERNAL, -r,
			 "no memory can be locked for secrets (%s): raise LimitMEMLOCK= of the unit, or ulimit -l",
			 strerror(-r));
}

// --- values ---------------------------------------------------------------------------------------------------------

/// Copies a value to where it is kept.
static int keep(struct reading *reading, struct secret *secret, const char *value, size_t size)
{
	int r;

	if (size == 0)
		return WRONG(reading, EINVAL, "the secret \"%s\" is empty: there is nothing to type", secret->name);
	if (size > TEXT_MAX_BYTES)
		return WRONG(reading, EMSGSIZE, "the secret \"%s\" is longer than %u bytes", secret->name,
			     TEXT_MAX_BYTES);
	if (!utf8_valid(value, size))
		return WRONG(reading, EILSEQ, "the secret \"%s\" is not UTF-8, or has a NUL in it: it cannot be typed",
			     secret->name);
	r = locked_new(size + 1, &secret->value);
	if (r < 0)
		return no_locked_memory(reading, r);
	secret->size = size;
	memcpy(secret->value, value, size);
	if (utf8_has_control(secret->value, true))
		return WRONG(reading, EINVAL,
			     "the secret \"%s\" has control characters other than tab and newline: no key types them",
			     secret->name);
	return 0;
}

// --- credentials ----------------------------------------------------------------------------------------------------

static int read_credential(struct reading *reading, struct secret *secret)
{
	const char *folder = reading->source->credentials;
	CLEANUP_CLOSE int at = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	CLEANUP_CLOSE int fd = -1;
	struct stat status;
	ssize_t size;

	if (at < 0)
		return -ENOENT;
	fd = openat(at, secret->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &status) < 0)
		return WRONG(reading, EIO, "the credential \"%s\" cannot be read: %s", secret->name, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return WRONG(reading, EINVAL, "the credential \"%s\" is not a regular file", secret->name);
	// one more than is allowed, and a newline
	size = io_read(fd, reading->scratch, TEXT_MAX_BYTES + 3);
	if (size < 0)
		return WRONG(reading, EIO, "the credential \"%s\" cannot be read: %s", secret->name,
			     strerror((int)-size));
	if (size && reading->scratch[size - 1] == '\n') {
		size--;
		size -= size && reading->scratch[size - 1] == '\r';
	}
	return keep(reading, secret, reading->scratch, (size_t)size);
}

// --- the file -------------------------------------------------------------------------------------------------------

static int wrong_file(struct reading *reading, const char *what)
{
	return WRONG(reading, EACCES, "the secrets file %.200s %s", reading->source->file, what);
}

static int open_file(struct reading *reading, int *ret_fd)
{
	CLEANUP_CLOSE int fd = open(reading->source->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return WRONG(reading, EIO, "the secrets file %.200s cannot be read: %s", reading->source->file,
			     errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	if (!S_ISREG(status.st_mode))
		return wrong_file(reading, "is not a regular file");
	if (status.st_uid != 0 && status.st_uid != geteuid())
		return wrong_file(reading, "belongs to somebody else: chown it to root or to condprofd's user");
	if (status.st_mode & 077)
		return wrong_file(reading, "can be read by others: chmod it to 0600");
	if (status.st_size >= SECRETS_FILE_MAX_BYTES)
		return wrong_file(reading, "is not smaller than 32 KiB");
	*ret_fd = take_fd(&fd);
	return 0;
}

/// Undoes quotes and escapes, in place. @return the length, or -1: malformed
static ssize_t unquote(char *text, size_t length)
{
	static const char escapes[] = "n\nt\t\"\"\\\\";
	size_t to = 0, from = 1;

	for (; from < length && text[from] != '"'; from++) {
		char c = text[from];

		if (c == '\\') {
			size_t i = 0;

			if (++from >= length)
				return -1;
			while (i < sizeof(escapes) - 1 && escapes[i] != text[from])
				i += 2;
			if (i >= sizeof(escapes) - 1)
				return -1;
			c = escapes[i + 1];
		}
		text[to++] = c;
	}
	return from == length - 1 ? (ssize_t)to : -1;
}

struct line {
	char *name, *value;
	size_t name_length, value_length;
};

/// @return whether it is "NAME = VALUE"; the value unquoted
static bool parse_line(char *text, size_t length, struct line *ret)
{
	size_t name = strspn(text, NAME_CHARACTERS);
	char *equals = text + name + strspn(text + name, BLANKS), *value = equals + 1;
	ssize_t size;

	if (!name || name > SECRET_NAME_MAX_BYTES || equals >= text + length || *equals != '=')
		return false;
	value += strspn(value, BLANKS);
	size = text + length - value;
	while (size > 0 && strchr(BLANKS, value[size - 1]))
		size--;
	if (size > 0 && *value == '"')
		size = unquote(value, (size_t)size);
	*ret = (struct line){text, value, name, (size_t)MAX(size, 0)};
	return size >= 0;
}

/// Goes through all lines, so that a mistake shows whoever is looked for.
static int find_in_text(struct reading *reading, char *text, size_t size, struct secret *secret)
{
	bool found = false;
	unsigned number = 1;
	size_t length;

	if (memchr(text, '\0', size))
		return wrong_file(reading, "has a NUL byte in it: it is no text");
	for (char *end = text + size; text < end; text += length + 1, number++) {
		struct line line;
		int r;

		length = strcspn(text, "\n");
		text[length] = '\0';
		char *begin = text + strspn(text, BLANKS);

		if (!*begin || *begin == '#')
			continue;
		if (!parse_line(begin, length - (size_t)(begin - text), &line))
			return WRONG(
				reading, EINVAL,
				"%.200s:%u: expected NAME = VALUE, or a value in double quotes with \\n, \\t, \\\" "
				"and \\\\ for what they are",
				reading->source->file, number);
		if (line.name_length != strlen(secret->name) || memcmp(line.name, secret->name, line.name_length))
			continue;
		if (found)
			return WRONG(reading, EINVAL, "%.200s:%u: \"%s\" stands twice", reading->source->file, number,
				     secret->name);
		found = true;
		r = keep(reading, secret, line.value, line.value_length);
		if (r < 0)
			return r;
	}
	return found ? 0 : -ENOENT;
}

static int read_from_file(struct reading *reading, struct secret *secret)
{
	CLEANUP_CLOSE int fd = -1;
	ssize_t size;
	int r;

	if (!reading->source->file)
		return -ENOENT;
	r = open_file(reading, &fd);
	if (r < 0)
		return r;
	size = io_read(fd, reading->scratch, SECRETS_FILE_MAX_BYTES);
	if (size < 0)
		return WRONG(reading, EIO, "the secrets file %.200s cannot be read: %s", reading->source->file,
			     strerror((int)-size));
	if (size == SECRETS_FILE_MAX_BYTES) // it grew
		return wrong_file(reading, "is not smaller than 32 KiB");
	reading->scratch[size] = '\0';
	return find_in_text(reading, reading->scratch, (size_t)size, secret);
}

// --- all of them ----------------------------------------------------------------------------------------------------

static int missing(struct reading *reading, const struct secret *secret)
{
	if (reading->source->file)
		return WRONG(reading, ENOENT,
			     "there is no secret \"%s\": it is no credential of condprofd, and %.200s does not have it",
			     secret->name, reading->source->file);
	return WRONG(
		reading, ENOENT,
		"there is no secret \"%s\": give condprofd a credential of that name (LoadCredential= in a drop-in "
		"of its unit), or name a secrets-file in its configuration",
		secret->name);
}

static int read_one(struct reading *reading, struct secret *secret, const char *name)
{
	// an error of ours and a file that is not there are told apart by the message
	reading->error->message[0] = '\0';
	secret->name = strdup(name);
	if (!secret->name)
		return no_locked_memory(reading, -ENOMEM);
	int r = read_credential(reading, secret);

	if (r == -ENOENT && !reading->error->message[0])
		r = read_from_file(reading, secret);
	return r == -ENOENT && !reading->error->message[0] ? missing(reading, secret) : r;
}

int secrets_read(const struct secret_source *source, const char *const *names, uint32_t count, struct secrets **ret,
		 uint32_t *ret_failed, struct error *error)
{
	struct secrets *secrets = calloc(1, sizeof(*secrets) + count * sizeof(secrets->items[0]));
	struct reading reading = {.source = source, .error = error};
	int r = secrets ? locked_new(SECRETS_FILE_MAX_BYTES + 1, &reading.scratch) : -ENOMEM;

	*ret_failed = 0;
	if (r < 0) {
		free(secrets);
		return no_locked_memory(&reading, r);
	}
	for (uint32_t i = 0; i < count && r == 0; i++) {
		*ret_failed = i;
		secrets->count = i + 1;
		r = read_one(&reading, &secrets->items[i], names[i]);
	}
	locked_free(reading.scratch, SECRETS_FILE_MAX_BYTES + 1);
	if (r < 0) {
		secrets_free(secrets);
		return r;
	}
	*ret = secrets;
	return 0;
}

const char *secrets_value(const struct secrets *secrets, const char *name)
{
	for (uint32_t i = 0; secrets && i < secrets->count; i++)
		if (!strcmp(secrets->items[i].name, name))
			return secrets->items[i].value;
	return NULL;
}

struct secrets *secrets_free(struct secrets *secrets)
{
	if (!secrets)
		return NULL;
	for (uint32_t i = 0; i < secrets->count; i++) {
		free(secrets->items[i].name);
		locked_free(secrets->items[i].value, secrets->items[i].size + 1);
	}
	free(secrets);
	return NULL;
}
