// SPDX-License-Identifier: GPL-3.0-or-later
// Installed scenarios: install (the end of an upload), scenarios, remove, and the beginning of a start by name. All of
// it reads or writes the state folder, so all of it is done by the worker.
#include "config.h"

#include "daemon/control/installed.h"

#include "daemon/control/audit.h"
#include "daemon/control/handlers.h"
#include "daemon/control/sessions.h"
#include "daemon/control/stream.h"
#include "daemon/report/installed.h"
#include "proto/installed.h"

#include <errno.h>
#include <string.h>

#define SCENARIOS_A_REPLY 64U ///< well below a frame: names have 64 and 256 bytes at the most

static int out_of_memory(struct error *error)
{
	return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
}

static void fill_message(const struct installed_scenario *scenario, Condprof__InstalledScenario *ret)
{
	condprof__installed_scenario__init(ret);
	ret->name = (char *)(uintptr_t)scenario->name;
	ret->scenario = scenario->scenario;
	ret->has_bytes = ret->has_installed_unix_ns = scenario->installed_unix_ns != 0;
	ret->bytes = scenario->bytes;
	ret->installed_unix_ns = scenario->installed_unix_ns;
}

static void answer_one(struct exchange *exchange, const struct installed_scenario *scenario, const bool *replaced)
{
	Condprof__InstalledScenario item, *items = &item;
	Condprof__InstalledScenarios body = CONDPROF__INSTALLED_SCENARIOS__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;

	fill_message(scenario, &item);
	item.has_replaced = replaced != NULL;
	item.replaced = replaced && *replaced;
	body.n_scenarios = 1;
	body.scenarios = &items;
	reply.body_case = CONDPROF__REPLY__BODY_INSTALLED;
	reply.installed = &body;
	exchange_finish(exchange, &reply);
}

// --- install -------------------------------------------------------------------------------------------------------

struct keeping {
	struct job job;
	struct upload *upload;
	struct installed_scenario kept;
	bool replaced;
	int result;
	struct error error;
};

static void run_keeping(struct job *job)
{
	struct keeping *keeping = CONTAINER_OF(job, struct keeping, job);
	struct upload *upload = keeping->upload;

	keeping->result = installed_write(upload->control->store, upload->options.name, upload->data, upload->size,
					  &keeping->kept, &keeping->replaced, &keeping->error);
	upload_drop_data(upload);
}

static void kept(struct job *job)
{
	struct keeping *keeping = CONTAINER_OF(job, struct keeping, job);
	struct exchange *exchange = keeping->upload->exchange;

	if (!keeping->result)
		audit_scenario(&keeping->upload->peer, keeping->replaced ? "installed anew" : "installed",
			       keeping->kept.name, keeping->kept.bytes);
	if (exchange && keeping->result < 0)
		exchange_fail(exchange, &keeping->error);
	else if (exchange)
		answer_one(exchange, &keeping->kept, &keeping->replaced);
	installed_scenario_clear(&keeping->kept);
	upload_free(keeping->upload);
	free(keeping);
}

void installed_keep(struct upload *upload)
{
	struct keeping *keeping = calloc(1, sizeof(*keeping));
	struct error error;

	if (!keeping) {
		out_of_memory(&error);
		if (upload->exchange)
			exchange_fail(upload->exchange, &error);
		upload_free(upload);
		return;
	}
	keeping->upload = upload;
	keeping->job.run = run_keeping;
	keeping->job.done = kept;
	worker_submit(upload->control->worker, &keeping->job);
}

// --- start by name -------------------------------------------------------------------------------------------------

/// Opened first, so that its size is known and counts before memory is taken; then read; closed in any case, all by the
/// worker.
struct loading {
	struct job job;
	struct upload *upload;
	int fd;
	size_t size;
	int result;
	struct error error;
};

static void run_closing(struct job *job)
{
	struct loading *loading = CONTAINER_OF(job, struct loading, job);

	cleanup_close(&loading->fd);
	upload_drop_data(loading->upload);
}

static void load_failed(struct job *job)
{
	struct loading *loading = CONTAINER_OF(job, struct loading, job);

	if (loading->upload->exchange)
		exchange_fail(loading->upload->exchange, &loading->error);
	upload_free(loading->upload);
	free(loading);
}

static void run_loading(struct job *job)
{
	struct loading *loading = CONTAINER_OF(job, struct loading, job);
	struct upload *upload = loading->upload;

	loading->result = installed_read(upload->control->store, upload->options.name, loading->fd, upload->data,
					 loading->size, &loading->error);
	upload->filled = loading->size;
	cleanup_close(&loading->fd);
	loading->fd = -1;
}

static void submit(struct loading *loading, void (*run)(struct job *), void (*done)(struct job *))
{
	loading->job.run = run;
	loading->job.done = done;
	worker_submit(loading->upload->control->worker, &loading->job);
}

static void loaded(struct job *job)
{
	struct loading *loading = CONTAINER_OF(job, struct loading, job);

	if (loading->result < 0) {
		submit(loading, run_closing, load_failed);
		return;
	}
	upload_decode(loading->upload);
	free(loading);
}

static void run_opening(struct job *job)
{
	struct loading *loading = CONTAINER_OF(job, struct loading, job);
	struct upload *upload = loading->upload;

	loading->result = installed_open(upload->control->store, upload->options.name, &loading->fd, &loading->size,
					 &loading->error);
}

static void opened(struct job *job)
{
	struct loading *loading = CONTAINER_OF(job, struct loading, job);

	if (!loading->result)
		loading->result = upload_expect(loading->upload, loading->size, &loading->error);
	if (loading->result < 0)
		submit(loading, run_closing, load_failed);
	else
		submit(loading, run_loading, loaded);
}

int installed_load(struct control *control, struct exchange *exchange, const Condprof__Begin *begin,
		   struct error *error)
{
	struct loading *loading = calloc(1, sizeof(*loading));
	int r = loading ? upload_new(control, exchange, begin, &loading->upload, error) : out_of_memory(error);

	if (r < 0) {
		free(loading);
		return r;
	}
	loading->fd = -1;
	submit(loading, run_opening, opened);
	return 0;
}

// --- scenarios -----------------------------------------------------------------------------------------------------

struct scenarios_listing {
	struct stream stream;
	struct control *control;
	bool read;
	struct installed_list list;
	size_t next;
	int result;
	struct error error;
};

static void scenarios_step(struct stream *stream)
{
	struct scenarios_listing *listing = (struct scenarios_listing *)stream;

	if (!listing->read)
		listing->result = installed_list(listing->control->store, &listing->list, &listing->error);
	listing->read = true;
}

/// Sends the next page. @return whether it was the last
static bool send_scenarios(struct scenarios_listing *listing)
{
	Condprof__InstalledScenario items[SCENARIOS_A_REPLY], *pointers[SCENARIOS_A_REPLY];
	Condprof__InstalledScenarios body = CONDPROF__INSTALLED_SCENARIOS__INIT;
	Condprof__Reply reply = CONDPROF__REPLY__INIT;

	while (body.n_scenarios < SCENARIOS_A_REPLY && listing->next < listing->list.count) {
		pointers[body.n_scenarios] = &items[body.n_scenarios];
		fill_message(&listing->list.items[listing->next++], &items[body.n_scenarios++]);
	}
	body.scenarios = pointers;
	reply.body_case = CONDPROF__REPLY__BODY_INSTALLED;
	reply.installed = &body;
	if (listing->next < listing->list.count) {
		exchange_reply(listing->stream.exchange, &reply);
		return false;
	}
	exchange_finish(listing->stream.exchange, &reply);
	return true;
}

static void scenarios_stepped(struct stream *stream)
{
	struct scenarios_listing *listing = (struct scenarios_listing *)stream;

	if (!stream->exchange)
		stream_end(stream);
	else if (listing->result < 0)
		stream_fail(stream, &listing->error);
	else if (send_scenarios(listing))
		stream_end(stream);
	else
		stream_next(stream);
}

static void scenarios_close(struct stream *stream)
{
	installed_list_clear(&((struct scenarios_listing *)stream)->list);
}

int handle_scenarios(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		     struct error *error)
{
	struct scenarios_listing *listing = calloc(1, sizeof(*listing));

	(void)request;
	if (!listing)
		return out_of_memory(error);
	listing->stream = (struct stream){
		.is_long = true, .step = scenarios_step, .stepped = scenarios_stepped, .close = scenarios_close};
	listing->control = control;
	stream_begin(&listing->stream, control->worker, exchange);
	return 0;
}

// --- remove --------------------------------------------------------------------------------------------------------

struct removing {
	struct stream stream;
	struct control *control;
	struct peer peer;
	char name[INSTALLED_NAME_MAX_BYTES + 1];
	struct installed_scenario removed;
	int result;
	struct error error;
};

static void remove_step(struct stream *stream)
{
	struct removing *removing = (struct removing *)stream;

	removing->result =
		installed_remove(removing->control->store, removing->name, &removing->removed, &removing->error);
}

static void remove_stepped(struct stream *stream)
{
	struct removing *removing = (struct removing *)stream;

	if (!removing->result)
		audit_scenario(&removing->peer, "removed", removing->name, removing->removed.bytes);
	if (stream->exchange && removing->result < 0)
		exchange_fail(stream->exchange, &removing->error);
	else if (stream->exchange)
		answer_one(stream->exchange, &removing->removed, NULL);
	installed_scenario_clear(&removing->removed);
	stream_end(stream);
}

int handle_remove(struct control *control, struct exchange *exchange, const Condprof__Request *request,
		  struct error *error)
{
	const char *name = request->remove->name;
	struct removing *removing;

	if (!name || !installed_name_valid(name))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "remove takes the name of an installed scenario, which is %s", INSTALLED_NAME_RULE);
	removing = calloc(1, sizeof(*removing));
	if (!removing)
		return out_of_memory(error);
	removing->stream = (struct stream){.step = remove_step, .stepped = remove_stepped};
	removing->control = control;
	removing->peer = *connection_peer(exchange->connection);
	strcpy(removing->name, name);
	stream_begin(&removing->stream, control->worker, exchange);
	return 0;
}
