// SPDX-License-Identifier: GPL-3.0-or-later
/// A report's folder that anything may have happened to. The input says which of its files are there and what is in
/// them: a byte of filter, then pieces of {file, size (2 bytes, the lower one first), bytes}. It must always be listed
/// and read to its end: whole messages only, the same whatever the size of the pieces it is read in.
#include "config.h"

#include "tests/fuzz/fuzz.h"

#include "daemon/log/log.h"
#include "daemon/report/store.h"
#include "daemon/report/wire.h"
#include "proto/frame.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[] = {"overview.pb",      "checkpoint.pb",    "scenario.pb",
				    "messages.0001.pb", "messages.0002.pb", "messages.pb"};

static char state_folder[256];
static struct store *store;
static int report_fd = -1;

static void remove_folder(void)
{
	static const char *const rest[] = {"reports/1", "reports", "lock", "ids", "ids.tmp", ""};
	char path[sizeof(state_folder) + 32];

	store_close(store);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(report_fd, names[i], 0);
	close(report_fd);
	for (size_t i = 0; i < ARRAY_SIZE(rest); i++) {
		snprintf(path, sizeof(path), "%s/%s", state_folder, rest[i]);
		remove(path);
	}
}

/* One folder for all inputs: making it costs more than reading it. Its files are made anew for each. */
static void make_folder(void)
{
	char path[sizeof(state_folder) + 32];

	if (store)
		return;
	log_set_level(LOG_LEVEL_ERROR);
	const char *base = getenv("TMPDIR");
	snprintf(state_folder, sizeof(state_folder), "%s/condprof-fuzz-report-XXXXXX", base ? base : "/tmp");
	FUZZ_ASSERT(mkdtemp(state_folder));
	FUZZ_ASSERT(store_open(state_folder, NULL, &store, NULL) == 0);
	snprintf(path, sizeof(path), "%s/reports/1", state_folder);
	FUZZ_ASSERT(mkdir(path, 0700) == 0);
	report_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FUZZ_ASSERT(report_fd >= 0);
	atexit(remove_folder);
}

static size_t write_piece(const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(report_fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	FUZZ_ASSERT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	return size;
}

static size_t write_files(const uint8_t *data, size_t size)
{
	size_t total = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(report_fd, names[i], 0);
	while (size >= 3) {
		size_t length = MIN((size_t)(data[1] | data[2] << 8), size - 3);

		total += write_piece(names[data[0] % ARRAY_SIZE(names)], data + 3, length);
		data += 3 + length;
		size -= 3 + length;
	}
	return total;
}

/* Everything a reader gives, part by part. */
struct given {
	uint8_t *bytes[4];
	size_t sizes[4];
};

static void read_all(const struct report_filter *filter, size_t piece, struct given *ret)
{
	struct report_reader *reader = NULL;
	Condprof__ReportPart part = 0, last = 0;
	uint8_t *buffer = malloc(piece);
	ssize_t n;

	*ret = (struct given){0};
	FUZZ_ASSERT(buffer && report_reader_open(store, 1, true, filter, &reader, NULL) == 0);
	while ((n = report_reader_next(reader, buffer, piece, &part, NULL)) > 0) {
		FUZZ_ASSERT((size_t)n <= piece && part >= last && part < 4);
		last = part;
		ret->bytes[part] = realloc(ret->bytes[part], ret->sizes[part] + (size_t)n);
		FUZZ_ASSERT(ret->bytes[part]);
		memcpy(ret->bytes[part] + ret->sizes[part], buffer, (size_t)n);
		ret->sizes[part] += (size_t)n;
	}
	FUZZ_ASSERT(n == 0);
	report_reader_close(reader);
	free(buffer);
}

static void free_given(struct given *given)
{
	for (size_t i = 0; i < ARRAY_SIZE(given->bytes); i++)
		free(given->bytes[i]);
}

/* Returns the occurrences among the messages, each of which is whole and can be read. */
static int64_t count_occurrences(const struct given *given)
{
	struct message_summary summary;
	uint64_t at = 0, begin, end;
	int64_t count = 0;
	struct wire wire;

	wire_memory(&wire, given->bytes[3], given->sizes[3]);
	while (wire_delimited(&wire, at, &begin, &end) == 1) {
		FUZZ_ASSERT(message_summarize(&wire, begin, end, &summary) == 0);
		FUZZ_ASSERT(summary.kind != MESSAGE_AGGREGATES);
		count += summary.kind == MESSAGE_OCCURRENCE;
		at = end;
	}
	FUZZ_ASSERT(at == given->sizes[3]);
	return count;
}

static void check_overview(const struct given *given, const struct store_entry *entry)
{
	Condprof__DebugReportOverview *overview = NULL;

	if (entry->overview && given->sizes[1] == 0)
		return; // one without a field
	FUZZ_ASSERT(given->bytes[1]);
	overview = condprof__debug_report_overview__unpack(NULL, given->sizes[1], given->bytes[1]);
	FUZZ_ASSERT(overview && message_strings_valid(&overview->base));
	FUZZ_ASSERT(!entry->interrupted || overview->state == CONDPROF__SESSION_STATE__INTERRUPTED);
	condprof__debug_report_overview__free_unpacked(overview, NULL);
}

static void check_filters(uint8_t choice, int64_t occurrences)
{
	static const int64_t events[] = {1, 2};
	struct report_filter filter = {.since_ns = INT64_MIN, .until_ns = INT64_MAX};
	struct given given;

	filter.last = choice & 7;
	filter.first = choice >> 3 & 7;
	read_all(&filter, 1000, &given);
	int64_t count = count_occurrences(&given), expected = occurrences;
	if (filter.first > 0)
		expected = MIN(expected, filter.first);
	if (filter.last > 0)
		expected = MIN(expected, filter.last);
	FUZZ_ASSERT(count == expected);
	free_given(&given);
	filter = (struct report_filter){.since_ns = 0, .until_ns = 1 + choice * NSEC_PER_MSEC, .event_ids = events};
	filter.n_event_ids = choice & 1 ? ARRAY_SIZE(events) : 0;
	read_all(&filter, 1000, &given);
	FUZZ_ASSERT(count_occurrences(&given) <= occurrences);
	free_given(&given);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_entry entry;
	struct given given, again;

	make_folder();
	size_t total = write_files(data + MIN(size, (size_t)1), size - MIN(size, (size_t)1));
	FUZZ_ASSERT(store_read_entry(store, 1, &entry, NULL) == 0 && !entry.running);
	read_all(NULL, 65536, &given);
	read_all(NULL, 13, &again);
	for (size_t i = 0; i < ARRAY_SIZE(given.bytes); i++) {
		FUZZ_ASSERT(given.sizes[i] == again.sizes[i] && given.sizes[i] <= total + 400);
		FUZZ_ASSERT(given.sizes[i] == 0 || memcmp(given.bytes[i], again.bytes[i], given.sizes[i]) == 0);
	}
	check_overview(&given, &entry);
	check_filters(size ? data[0] : 0, count_occurrences(&given));
	free_given(&given);
	free_given(&again);
	store_entry_free(&entry);
	return 0;
}
