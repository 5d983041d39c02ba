// SPDX-License-Identifier: GPL-3.0-or-later
// One line as the journal's fields. condprofd(8) documents them.
#include "config.h"

#include "daemon/log/log-internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define FIELDS_MAX 10

struct fields {
	struct iovec of[FIELDS_MAX];
	int count;
	char buffer[LOG_TEXT_BYTES + LOG_SCENARIO_BYTES + 512];
	size_t used;
};
static_assert(sizeof(struct line) < LOG_TEXT_BYTES + 256, "room for every field");

static void add(struct fields *fields, const char *format, ...) PRINTF_LIKE(2, 3);

static void add(struct fields *fields, const char *format, ...)
{
	char *begin = fields->buffer + fields->used;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(begin, sizeof(fields->buffer) - fields->used, format, arguments);
	va_end(arguments);
	assert(length >= 0 && fields->used + (size_t)length < sizeof(fields->buffer) && fields->count < FIELDS_MAX);
	fields->of[fields->count++] = (struct iovec){begin, (size_t)length};
	fields->used += (size_t)length + 1;
}

int journal_write(const struct line *line)
{
	struct fields fields = {.count = 0};

	if (line->session > 0)
		add(&fields, "MESSAGE=session %" PRId64 ": %s", line->session, line->text);
	else
		add(&fields, "MESSAGE=%s", line->text);
	add(&fields, "PRIORITY=%d", (int)line->level);
	add(&fields, "SYSLOG_IDENTIFIER=condprofd");
	add(&fields, "CONDPROF_MODULE=%s", log_module_name(line->module));
	if (line->message)
		add(&fields, "MESSAGE_ID=%s", log_message_id(line->message));
	if (line->session > 0)
		add(&fields, "CONDPROF_SESSION=%" PRId64, line->session);
	if (line->scenario[0])
		add(&fields, "CONDPROF_SCENARIO=%s", line->scenario);
	if (line->reason[0])
		add(&fields, "CONDPROF_REASON=%s", line->reason);
	if (line->has_peer) {
		add(&fields, "CONDPROF_UID=%u", line->uid);
		add(&fields, "CONDPROF_PID=%d", (int)line->pid);
	}
	return sd_journal_sendv(fields.of, fields.count);
}
