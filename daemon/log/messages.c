// SPDX-License-Identifier: GPL-3.0-or-later
#include "daemon/log/messages.h"

#include "proto/base.h"

#include <assert.h>

static const char *const ids[] = {
	[LOG_MESSAGE_UP] = "69bc0a863beb4b98abd5f6d58afe1fa0",
	[LOG_MESSAGE_STOPPING] = "048ba0f6acd04c8fae63c89c89f96e20",
	[LOG_MESSAGE_STARTED] = "65e5b69d4f624e4caf579cd9563dfb98",
	[LOG_MESSAGE_NOT_STARTED] = "e14a29f5601d46999691acb6176064d8",
	[LOG_MESSAGE_STOP_ASKED] = "08843187867c41578ea77a8ecf53def1",
	[LOG_MESSAGE_ENDED] = "7a543fc1e45949a0881c0f287cfc1d36",
	[LOG_MESSAGE_STUCK] = "f24dc1c8ab8740a8977ddcc2d36dab40",
	[LOG_MESSAGE_INTERRUPTED] = "13c8329116b34b8a9be1598deffcc142",
	[LOG_MESSAGE_REFUSED] = "89686e452bb1423cb16ac01ee964f2c4",
	[LOG_MESSAGE_RELOADED] = "50b4c7d56875497faccc239892dfcf51",
	[LOG_MESSAGE_RELOAD_REFUSED] = "d59f030ca91940d491fe8ea70a869bbc",
	[LOG_MESSAGE_LOST] = "6e7ac2680011436eb4599920c4e0ae08",
	[LOG_MESSAGE_REPEATED] = "624f2db503f849f3abe588818ac64bbf",
	[LOG_MESSAGE_NOTIFY] = "89bb5f11f705492dbe9c00bfb5ff63d5",
	[LOG_MESSAGE_SCENARIOS] = "56338d5ad4a0484cbc944c09df75f1e8",
};
static_assert(ARRAY_SIZE(ids) == LOG_MESSAGES, "an id a message");

const char *log_message_id(enum log_message message)
{
	return ids[message];
}
