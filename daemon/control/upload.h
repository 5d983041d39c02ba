// SPDX-License-Identifier: GPL-3.0-or-later
/// A scenario on its way in: Begin says its size, Chunks fill it. Its bytes are counted against the limit for all
/// clients from Begin until they are given back, when it was decoded.
#ifndef CONDPROF_UPLOAD_H
#define CONDPROF_UPLOAD_H

#include "daemon/control/access.h"
#include "daemon/control/exchange.h"

struct control;

/// StartOptions, checked and copied.
struct start_options {
	char *screen, *input; ///< NULL: the scenario's
	char *name;           ///< of an installed scenario; NULL: none
	char *record;         ///< folder to record the run in; NULL: none
	bool dry_run, no_report, wait;
	bool has_period;
	int64_t period_ns;  ///< with has_period; 0: unlimited
	double rate_passes; ///< with has_period, as asked for: period_ns is rounded
	int64_t rate_per_ns;
	int64_t max_passes;      ///< 0: no end
	int64_t max_duration_ns; ///< 0: no end
};

/// TrialOptions, checked and copied.
struct trial_options {
	char *screen;         ///< NULL: the scenario's
	size_t picture_bytes; ///< at the end of the data; 0: no picture was sent
	bool with_picture, measure;
};

struct upload {
	struct control *control;
	struct exchange *exchange; ///< Begin's; NULL when its client is gone
	struct peer peer;          ///< who sent it, also when its client is gone
	Condprof__Upload kind;
	struct start_options options;
	struct trial_options trial; ///< of a TRY
	uint8_t *data;
	size_t size, filled;
};

/// Without a size (of a scenario that is installed) nothing is counted before upload_expect().
/// @param exchange Begin's
int upload_new(struct control *control, struct exchange *exchange, const Condprof__Begin *begin, struct upload **ret,
	       struct error *error);
/// Takes memory for `size` bytes and counts them, if they fit in.
int upload_expect(struct upload *upload, size_t size, struct error *error);
/// @return 1: complete, 0: more to come, negative: more than Begin said
int upload_add(struct upload *upload, const ProtobufCBinaryData *data, struct error *error);
struct upload *upload_free(struct upload *upload);
/// Gives the bytes back early, on any thread that alone uses the upload; they count until upload_free(), or this:
void upload_drop_data(struct upload *upload);
/// Of an upload that lives on: bytes that were given back count no longer. Loop's thread.
void upload_uncount_dropped(struct upload *upload);

/// All bytes are there: decodes them, then does what the upload is for. Takes it over and answers its exchange.
/// handlers_scenario.c
void upload_decode(struct upload *upload);

/// What a connection remembers: at most one upload at a time; and the request id of one that was refused, whose chunks
/// may be on their way still and are no mistake of the client.
struct upload_slot {
	struct upload *upload;
	bool refused;
	uint64_t refused_id;
};

#endif
