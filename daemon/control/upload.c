// SPDX-License-Identifier: GPL-3.0-or-later
// The buffer has its full size from the start: untouched pages cost nothing, and nothing is copied when it fills.
#include "daemon/control/upload.h"

#include "daemon/control/control.h"
#include "proto/installed.h"
#include "proto/limits.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define MIB(bytes) ((unsigned)((bytes) / (1024U * 1024U)))
#define PERIOD_MAX_NS (INT64_C(1000) * 86400 * NSEC_PER_SEC)

static int bad_option(struct error *error, const char *option, const char *why)
{
	error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "%s %s", option, why);
	error_place(error, "options.%s", option);
	return -EINVAL;
}

static int copy_uri(const char *name, const char *uri, char **ret, struct error *error)
{
	if (!uri)
		return 0;
	if (!*uri || strlen(uri) > TEXT_MAX_BYTES)
		return bad_option(error, name, "is empty or longer than 4 KiB");
	*ret = strdup(uri);
	return *ret ? 0 : error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
}

static int copy_name(const char *name, char **ret, struct error *error)
{
	if (!installed_name_valid(name))
		return bad_option(error, "name",
				  "is not the name of an installed scenario: such a name is " INSTALLED_NAME_RULE);
	*ret = strdup(name);
	return *ret ? 0 : error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
}

static int copy_rate(const Condprof__StartOptions *from, struct start_options *to, struct error *error)
{
	double period;

	if (!from->has_rate_passes)
		return from->has_rate_per_ns ? bad_option(error, "rate-per-ns", "stands without rate-passes") : 0;
	if (!isfinite(from->rate_passes) || from->rate_passes < 0)
		return bad_option(error, "rate-passes", "is not a number from 0");
	to->has_period = true;
	to->period_ns = 0;
	to->rate_passes = from->rate_passes;
	to->rate_per_ns = from->rate_per_ns;
	if (from->rate_passes == 0)
		return 0;
	if (!from->has_rate_per_ns || from->rate_per_ns <= 0)
		return bad_option(error, "rate-per-ns", "is missing or not more than 0");
	period = (double)from->rate_per_ns / from->rate_passes;
	if (period < 1 || period > (double)PERIOD_MAX_NS)
		return bad_option(error, "rate-passes", "makes a period below 1 ns or above 1000 days");
	to->period_ns = llrint(period);
	return 0;
}

static int copy_folder(const char *path, char **ret, struct error *error)
{
	if (path[0] != '/')
		return bad_option(error, "record", "is not an absolute path");
	if (strlen(path) >= PATH_MAX)
		return bad_option(error, "record", "is longer than a path may be");
	*ret = strdup(path);
	return *ret ? 0 : error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
}

static int copy_options(const Condprof__StartOptions *from, struct start_options *to, struct error *error)
{
	int r;

	if (!from)
		return 0;
	to->dry_run = from->has_dry_run && from->dry_run;
	to->no_report = from->has_no_report && from->no_report;
	to->wait = from->has_wait && from->wait;
	if (from->has_max_passes && from->max_passes < 0)
		return bad_option(error, "max-passes", "is below 0");
	if (from->has_max_duration_ns && from->max_duration_ns < 0)
		return bad_option(error, "max-duration-ns", "is below 0");
	to->max_passes = from->has_max_passes ? from->max_passes : 0;
	to->max_duration_ns = from->has_max_duration_ns ? from->max_duration_ns : 0;
	r = copy_uri("screen", from->screen, &to->screen, error);
	if (!r)
		r = copy_uri("input", from->input, &to->input, error);
	if (!r && from->name)
		r = copy_name(from->name, &to->name, error);
	if (!r && from->record)
		r = copy_folder(from->record, &to->record, error);
	return r < 0 ? r : copy_rate(from, to, error);
}

static int copy_trial(const Condprof__Begin *begin, struct trial_options *to, struct error *error)
{
	const Condprof__TrialOptions *from = begin->trial;

	if (!from)
		return 0;
	if (from->has_picture_bytes && from->picture_bytes >= begin->size)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "the picture has as many bytes as the whole upload: nothing is left for a scenario");
	to->picture_bytes = from->has_picture_bytes ? from->picture_bytes : 0;
	to->with_picture = from->has_with_picture && from->with_picture;
	to->measure = from->has_measure && from->measure;
	return copy_uri("screen", from->screen, &to->screen, error);
}

/// An INSTALL has a name and a size, a START one of them, the others a size.
static int check_name(const struct upload *upload, const Condprof__Begin *begin, struct error *error)
{
	bool has_name = upload->options.name, has_size = begin->has_size && begin->size;

	if (upload->kind == CONDPROF__UPLOAD__INSTALL && !has_name)
		return bad_option(error, "name", "is missing: under which name is it to be installed?");
	if (upload->kind != CONDPROF__UPLOAD__INSTALL && has_name && has_size)
		return bad_option(error, "name", "means an installed scenario; this one would be sent as well");
	if (upload->kind != CONDPROF__UPLOAD__INSTALL && upload->kind != CONDPROF__UPLOAD__START && has_name)
		return bad_option(error, "name", "is for START and INSTALL");
	if (!has_size && (upload->kind == CONDPROF__UPLOAD__INSTALL || !has_name))
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "Begin says no size, or 0");
	return 0;
}

static int check_size(const struct upload *upload, uint64_t size, struct error *error)
{
	if (size > SCENARIO_MAX_BYTES)
		return error_set(error, CONDPROF__CODE__TOO_LARGE, EMSGSIZE,
				 "a scenario with its images%s may have %u MiB at the most; use smaller images",
				 upload->kind == CONDPROF__UPLOAD__TRY ? " and the picture to look at" : "",
				 MIB(SCENARIO_MAX_BYTES));
	if (size > SCENARIOS_MAX_BYTES_ALL - upload->control->upload_bytes)
		return error_set(
			error, CONDPROF__CODE__BUSY, EBUSY,
			"the scenarios that clients are sending just now have more than %u MiB together; try again",
			MIB(SCENARIOS_MAX_BYTES_ALL));
	return 0;
}

static void on_client_gone(struct exchange *exchange)
{
	struct upload *upload = exchange->context;

	upload->exchange = NULL;
}

int upload_expect(struct upload *upload, size_t size, struct error *error)
{
	int r = check_size(upload, size, error);

	if (r < 0)
		return r;
	upload->data = malloc(size);
	if (!upload->data)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	upload->size = size;
	upload->control->upload_bytes += size;
	return 0;
}

static int prepare(struct upload *upload, const Condprof__Begin *begin, struct error *error)
{
	int r = copy_options(begin->options, &upload->options, error);

	if (!r && upload->kind == CONDPROF__UPLOAD__TRY)
		r = copy_trial(begin, &upload->trial, error);
	if (!r)
		r = check_name(upload, begin, error);
	return r < 0 || !begin->has_size || !begin->size ? r : upload_expect(upload, begin->size, error);
}

int upload_new(struct control *control, struct exchange *exchange, const Condprof__Begin *begin, struct upload **ret,
	       struct error *error)
{
	struct upload *upload = calloc(1, sizeof(*upload));
	int r;

	if (!upload)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
	upload->control = control;
	upload->kind = begin->has_upload ? begin->upload : CONDPROF__UPLOAD__START;
	r = prepare(upload, begin, error);
	if (r < 0) {
		upload_free(upload);
		return r;
	}
	upload->exchange = exchange;
	upload->peer = *connection_peer(exchange->connection);
	exchange->context = upload;
	exchange->gone = on_client_gone;
	*ret = upload;
	return 0;
}

int upload_add(struct upload *upload, const ProtobufCBinaryData *data, struct error *error)
{
	if (!data->len)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "a chunk without data");
	if (data->len > upload->size - upload->filled)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "the chunks have more than the %zu bytes that Begin said", upload->size);
	memcpy(upload->data + upload->filled, data->data, data->len);
	upload->filled += data->len;
	return upload->filled == upload->size;
}

struct upload *upload_free(struct upload *upload)
{
	if (!upload)
		return NULL;
	upload->control->upload_bytes -= upload->size;
	free(upload->options.screen);
	free(upload->options.input);
	free(upload->trial.screen);
	free(upload->options.name);
	free(upload->options.record);
	free(upload->data);
	free(upload);
	return NULL;
}

void upload_uncount_dropped(struct upload *upload)
{
	if (upload->data)
		return;
	upload->control->upload_bytes -= upload->size;
	upload->size = 0;
}

void upload_drop_data(struct upload *upload)
{
	free(upload->data);
	upload->data = NULL;
}
