// SPDX-License-Identifier: GPL-3.0-or-later
/// The one table of requests: for each its name, who may send it, and its handler.
#ifndef CONDPROF_DISPATCH_H
#define CONDPROF_DISPATCH_H

#include "daemon/control/access.h"
#include "daemon/control/exchange.h"

struct control;

/// @return 0: answered, or will be; a negative errno value with `error` filled: the dispatcher answers with it
typedef int (*request_handler)(struct control *control, struct exchange *exchange, const Condprof__Request *request,
			       struct error *error);

struct dispatch_row {
	const char *name;   ///< as in control.proto
	enum access access; ///< needed
	request_handler handle;
};

/// The row of a request, or NULL when this daemon does not know it.
const struct dispatch_row *dispatch_find(Condprof__Request__BodyCase body);
void dispatch_request(struct control *control, struct exchange *exchange, const Condprof__Request *request);

#endif
