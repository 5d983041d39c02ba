// SPDX-License-Identifier: GPL-3.0-or-later
// condprofd with hooks, for tests that need what can't be had from outside:
//   CONDPROF_TEST_HANG=FILE      a check for the colour #010203 hangs while the file is there, as a fault in detection
//                                would: whatever its session is told
//   CONDPROF_TEST_STUCK_MS=N     after how long that is noticed
//   CONDPROF_TEST_PIXELS=N       so many pixels of images are held by sessions that nobody sees
//   CONDPROF_TEST_JOURNAL=FILE   what would go to the journal goes there: a field a line, an empty line behind each
//   entry
#define main condprofd_main
int main(int argc, char **argv);
#include "daemon/main.c"
#undef main

#include "daemon/control/stuck.h"
#include "daemon/detect/detect.h"
#include "daemon/scenario/decoder.h"

#include <sched.h>
#include <sys/uio.h>

#define HANGING_COLOUR 0x010203U

void __real_detect_color(struct detect_frame *frame, uint32_t rgb, const struct detect_query *query,
			 struct detect_result *ret);
void __wrap_detect_color(struct detect_frame *frame, uint32_t rgb, const struct detect_query *query,
			 struct detect_result *ret);

/// Says so by a file beside it.
static void hang(const char *path)
{
	char reached[PATH_MAX];

	snprintf(reached, sizeof(reached), "%s.reached", path);
	close(open(reached, O_CREAT | O_WRONLY, 0600));
	while (!access(path, F_OK))
		sched_yield();
}

void __wrap_detect_color(struct detect_frame *frame, uint32_t rgb, const struct detect_query *query,
			 struct detect_result *ret)
{
	const char *path = getenv("CONDPROF_TEST_HANG");

	if (rgb == HANGING_COLOUR && path && !access(path, F_OK))
		hang(path);
	__real_detect_color(frame, rgb, query, ret);
}

int __wrap_sd_journal_sendv(const struct iovec *fields, int count);

/// Waits for whoever reads the file, as the journal's socket waits for the journal.
int __wrap_sd_journal_sendv(const struct iovec *fields, int count)
{
	const char *path = getenv("CONDPROF_TEST_JOURNAL");
	FILE *file = path ? fopen(path, "ae") : NULL;

	if (!file)
		return -ENOENT;
	for (int i = 0; i < count; i++)
		fprintf(file, "%.*s\n", (int)fields[i].iov_len, (const char *)fields[i].iov_base);
	fputc('\n', file);
	fclose(file);
	return 0;
}

int main(int argc, char **argv)
{
	const char *limit = getenv("CONDPROF_TEST_STUCK_MS"), *pixels = getenv("CONDPROF_TEST_PIXELS");

	if (limit)
		stuck_watch_set_limit(atoll(limit) * NSEC_PER_MSEC);
	if (pixels)
		scenario_pixels_held = atoll(pixels);
	return condprofd_main(argc, argv);
}
