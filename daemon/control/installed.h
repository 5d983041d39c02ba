// SPDX-License-Identifier: GPL-3.0-or-later
/// Scenarios that the state folder keeps, between an upload and the worker: one that was decoded is kept, and one that
/// is kept is loaded and decoded as if it had been sent.
#ifndef CONDPROF_CONTROL_INSTALLED_H
#define CONDPROF_CONTROL_INSTALLED_H

#include "daemon/control/upload.h"

/// Keeps an INSTALL's scenario, which is right. Takes the upload over and answers its exchange.
void installed_keep(struct upload *upload);

/// Loads the scenario that options.name names and hands it to upload_decode(). The exchange is answered by whoever
/// ends it.
int installed_load(struct control *control, struct exchange *exchange, const Condprof__Begin *begin,
		   struct error *error);

#endif
