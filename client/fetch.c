// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "client/fetch.h"

#include <errno.h>

struct daemon_source {
	struct report_source base;
	struct connection *connection;
	uint64_t id;
	int64_t session;
	Condprof__Reply *reply; ///< its data is what was given out last
	bool last;
};

static int daemon_next(struct report_source *base, Condprof__ReportPart *ret_part, const uint8_t **ret_data,
		       size_t *ret_size, struct error *error)
{
	struct daemon_source *source = (struct daemon_source *)base;

	while (!source->last) {
		source->reply = reply_free(source->reply);
		int r = connection_receive(source->connection, source->id, INT64_MAX, &source->reply, error);
		if (r < 0)
			return r;
		if (source->reply->body_case != CONDPROF__REPLY__BODY_REPORT)
			return error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO,
					 "the daemon answered something else");
		const Condprof__ReportChunk *chunk = source->reply->report;
		source->last = source->reply->last;
		if (chunk->has_session)
			source->session = chunk->session;
		if (!chunk->has_part || chunk->data.len == 0)
			continue;
		*ret_part = chunk->part;
		*ret_data = chunk->data.data;
		*ret_size = chunk->data.len;
		return 1;
	}
	return 0;
}

static struct report_source *daemon_close(struct report_source *base)
{
	struct daemon_source *source = (struct daemon_source *)base;

	reply_free(source->reply);
	free(source);
	return NULL;
}

int64_t report_source_daemon_session(const struct report_source *source)
{
	return ((const struct daemon_source *)source)->session;
}

int report_source_daemon(struct connection *connection, int64_t session, const struct report_query *query,
			 struct report_source **ret, struct error *error)
{
	struct daemon_source *source = calloc(1, sizeof(*source));
	struct report_source *base CLEANUP(report_source_cleanup) = source ? &source->base : NULL;
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__ReportRequest report = CONDPROF__REPORT_REQUEST__INIT;

	if (!source)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	source->base = (struct report_source){daemon_next, daemon_close};
	source->connection = connection;
	report.has_session = session > 0;
	report.session = session;
	report.has_messages = true;
	report.messages = query->messages;
	report.has_since_ns = query->since_ns != INT64_MIN;
	report.since_ns = query->since_ns;
	report.has_until_ns = query->until_ns != INT64_MAX;
	report.until_ns = query->until_ns;
	report.event_ids = query->event_ids;
	report.n_event_ids = query->n_event_ids;
	report.has_last = query->last > 0;
	report.last = query->last;
	request.body_case = CONDPROF__REQUEST__BODY_REPORT;
	request.report = &report;
	int r = connection_send(connection, &request, error);
	if (r < 0)
		return r;
	source->id = request.id;
	*ret = TAKE_POINTER(base);
	return 0;
}
