// SPDX-License-Identifier: GPL-3.0-or-later
/// The handlers, a file a family. See request_handler in dispatch.h.
#ifndef CONDPROF_HANDLERS_H
#define CONDPROF_HANDLERS_H

#include "daemon/control/control.h"

#define HANDLER(name)                                                                                                  \
	int name(struct control *control, struct exchange *exchange, const Condprof__Request *request,                 \
		 struct error *error)

// handlers_hello.c
HANDLER(handle_hello);
// handlers_scenario.c
HANDLER(handle_begin);
HANDLER(handle_chunk);
// handlers_look.c
HANDLER(handle_capture);
// handlers_session.c
HANDLER(handle_stop);
HANDLER(handle_status);
HANDLER(handle_wait);
HANDLER(handle_emit);
HANDLER(handle_rotate);
// handlers_report.c
HANDLER(handle_list);
HANDLER(handle_report);
HANDLER(handle_delete);
// handlers_installed.c
HANDLER(handle_scenarios);
HANDLER(handle_remove);

#endif
