// SPDX-License-Identifier: GPL-3.0-or-later
// A scenario comes in (Begin, Chunks), or is loaded by its name; it is decoded by the decoder, and is then started,
// kept, or only told about.
#include "config.h"

#include "daemon/control/handlers.h"

#include "daemon/control/installed.h"
#include "daemon/control/looks.h"
#include "daemon/control/sessions.h"
#include "daemon/control/upload.h"
#include "proto/limits.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/// Decoding, on the decoder's thread.
struct decoding {
	struct job job;
	struct upload *upload;
	struct scenario *scenario; ///< only of a START or TRY that may go on
	uint32_t events, conditions, actions;
	struct scenario_problems problems;
	int result;
};

static_assert(ARRAY_SIZE(((struct scenario_problems *)0)->items) == SCENARIO_MAX_PROBLEMS, "one reply holds them all");

/// What the kind of upload does not need any more is given back here: it may be large.
static void run_decoding(struct job *job)
{
	struct decoding *decoding = CONTAINER_OF(job, struct decoding, job);
	struct upload *upload = decoding->upload;
	struct scenario *scenario = NULL;

	decoding->result = scenario_decode(upload->data, upload->size - upload->trial.picture_bytes, &scenario,
					   &decoding->problems);
	if (!decoding->result && (upload->kind == CONDPROF__UPLOAD__START || upload->kind == CONDPROF__UPLOAD__TRY)) {
		decoding->scenario = scenario;
		if (upload->kind == CONDPROF__UPLOAD__TRY && !upload->trial.picture_bytes)
			upload_drop_data(upload); // looking may take as long as its client likes
		return;
	}
	if (!decoding->result) {
		decoding->events = scenario->n_events;
		decoding->conditions = scenario->n_conditions;
		decoding->actions = scenario->n_actions;
	}
	scenario_free(scenario);
	if (decoding->result < 0 || upload->kind != CONDPROF__UPLOAD__INSTALL)
		upload_drop_data(upload);
}

static void fail_with_problems(struct exchange *exchange, const struct scenario_problems *problems)
{
	size_t kept = MIN(problems->count, SCENARIO_MAX_PROBLEMS);
	Condprof__Problem items[SCENARIO_MAX_PROBLEMS], *pointers[SCENARIO_MAX_PROBLEMS];
	struct error error;

	for (size_t i = 0; i < kept; i++) {
		condprof__problem__init(&items[i]);
		items[i].place = (char *)problems->items[i].place;
		items[i].message = (char *)problems->items[i].message;
		pointers[i] = &items[i];
	}
	if (problems->count == 1)
		error_set(&error, CONDPROF__CODE__BAD_SCENARIO, EINVAL, "%s", problems->items[0].message);
	else
		error_set(&error, CONDPROF__CODE__BAD_SCENARIO, EINVAL, "the scenario has %zu mistakes",
			  problems->count);
	if (kept)
		error_place(&error, "%s", problems->items[0].place);
	exchange_fail_problems(exchange, &error, pointers, kept);
}

/// What is in the way is no mistake of the scenario's.
static const struct error *busy_problem(const struct scenario_problems *problems)
{
	for (size_t i = 0; i < problems->count && i < ARRAY_SIZE(problems->items); i++)
		if (problems->items[i].code == CONDPROF__CODE__BUSY)
			return &problems->items[i];
	return &problems->items[0];
}

static void fail_decoding(struct exchange *exchange, const struct decoding *decoding)
{
	struct error error;

	if (decoding->result == -EINVAL && decoding->problems.count) {
		fail_with_problems(exchange, &decoding->problems);
		return;
	}
	if (decoding->result == -EBUSY) {
		exchange_fail(exchange, busy_problem(&decoding->problems));
		return;
	}
	if (decoding->result == -ENOMEM)
		error_set(&error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory while the scenario was decoded");
	else if (decoding->result == -EMSGSIZE)
		error_set(&error, CONDPROF__CODE__TOO_LARGE, EMSGSIZE, "the scenario has more parts than are allowed");
	else if (decoding->upload->kind == CONDPROF__UPLOAD__START && decoding->upload->options.name)
		error_set(&error, CONDPROF__CODE__IO, EBADMSG,
			  "the installed scenario \"%s\" is damaged: install it again, or remove it",
			  decoding->upload->options.name);
	else
		error_set(&error, CONDPROF__CODE__BAD_REQUEST, EBADMSG, "the bytes sent are not a Scenario message");
	exchange_fail(exchange, &error);
}

static void answer_checked(struct exchange *exchange, const struct decoding *decoding)
{
	Condprof__Checked checked = CONDPROF__CHECKED__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;

	checked.has_events = checked.has_conditions = checked.has_actions = true;
	checked.events = (int32_t)decoding->events;
	checked.conditions = (int32_t)decoding->conditions;
	checked.actions = (int32_t)decoding->actions;
	reply.body_case = CONDPROF__REPLY__BODY_CHECKED;
	reply.checked = &checked;
	exchange_finish(exchange, &reply);
}

static void decoded(struct job *job)
{
	struct decoding *decoding = CONTAINER_OF(job, struct decoding, job);
	struct upload *upload = decoding->upload;

	if (decoding->scenario && upload->kind == CONDPROF__UPLOAD__TRY) {
		upload_uncount_dropped(upload);
		looks_try(upload->control->looks, upload, decoding->scenario);
		free(decoding);
		return;
	}
	if (decoding->scenario) {
		sessions_begin(upload->control->sessions, upload, decoding->scenario);
		free(decoding);
		return;
	}
	if (!decoding->result && upload->kind == CONDPROF__UPLOAD__INSTALL) {
		installed_keep(upload);
		free(decoding);
		return;
	}
	if (upload->exchange && decoding->result < 0)
		fail_decoding(upload->exchange, decoding);
	else if (upload->exchange)
		answer_checked(upload->exchange, decoding);
	upload_free(upload);
	free(decoding);
}

static void fail_upload(struct upload_slot *slot, const struct error *error)
{
	struct exchange *exchange = slot->upload->exchange;

	slot->refused = true;
	slot->refused_id = exchange->id;
	slot->upload = upload_free(slot->upload);
	exchange_fail(exchange, error);
}

void upload_decode(struct upload *upload)
{
	struct decoding *decoding = calloc(1, sizeof(*decoding));
	struct error error;

	if (!decoding) {
		error_set(&error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
		if (upload->exchange)
			exchange_fail(upload->exchange, &error);
		upload_free(upload);
		return;
	}
	decoding->upload = upload;
	decoding->job.run = run_decoding;
	decoding->job.done = decoded;
	worker_submit(upload->control->decoder, &decoding->job);
}

static int admit(struct control *control, Condprof__Upload kind, struct error *error)
{
	switch (kind) {
	case CONDPROF__UPLOAD__START:
		return sessions_admit(control->sessions, error);
	case CONDPROF__UPLOAD__TRY:
		return looks_admit(control->looks, error);
	case CONDPROF__UPLOAD__CHECK:
	case CONDPROF__UPLOAD__INSTALL:
		return 0;
	default:
		return error_set(error, CONDPROF__CODE__UNSUPPORTED, ENOTSUP,
				 "this daemon does not know that kind of upload");
	}
}

static int begin(struct control *control, struct exchange *exchange, const Condprof__Begin *message,
		 struct upload_slot *slot, struct error *error)
{
	Condprof__Upload kind = message->has_upload ? message->upload : CONDPROF__UPLOAD__START;
	int r = admit(control, kind, error);

	if (!r && kind == CONDPROF__UPLOAD__START && !message->size && message->options && message->options->name)
		return installed_load(control, exchange, message, error);
	return r < 0 ? r : upload_new(control, exchange, message, &slot->upload, error);
}

int handle_begin(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		 struct error *error)
{
	struct upload_slot *slot = connection_upload(exchange->connection);
	int r;

	if (slot->upload)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EPROTO,
				 "an upload is in progress on this connection; send the rest of its chunks first");
	r = begin(control, exchange, request->begin, slot, error);
	slot->refused = r < 0;
	slot->refused_id = exchange->id;
	return r;
}

int handle_chunk(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		 struct error *error)
{
	static const ProtobufCBinaryData nothing;
	const ProtobufCBinaryData *data = request->chunk->has_data ? &request->chunk->data : &nothing;
	struct upload_slot *slot = connection_upload(exchange->connection);
	bool of_upload = slot->upload && slot->upload->exchange->id == exchange->id;
	int r;

	(void)control;
	if (slot->refused && slot->refused_id == exchange->id) {
		exchange_drop(exchange);
		return 0;
	}
	if (!of_upload)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EPROTO,
				 "a chunk of no upload: Begin with this id comes first");
	// A chunk has no answer of its own.
	exchange_drop(exchange);
	r = upload_add(slot->upload, data, error);
	if (r < 0)
		fail_upload(slot, error);
	else if (r > 0)
		upload_decode(TAKE_POINTER(slot->upload));
	return 0;
}
