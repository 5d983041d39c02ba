// SPDX-License-Identifier: GPL-3.0-or-later
/// What the two ends of a link say to each other before the control protocol runs through it; lines, each ended by a
/// newline:
///
///     far:   an empty line, then "condprof-bridge 1"     whatever came before is the far login's noise
///     near:  "connect", or "connect PATH": a socket of the far side
///     far:   "connected", and from here on the bytes of that socket, both ways
///            "refused WORD SENTENCE", WORD being one of those below, and the end
///
/// The near side sends nothing before the first line: a login file that reads its standard input gets none of it.
#ifndef CONDPROF_CLIENT_BRIDGE_H
#define CONDPROF_CLIENT_BRIDGE_H

#define BRIDGE_COMMAND "condprofctl bridge"
#define BRIDGE_GREETING "condprof-bridge "
#define BRIDGE_VERSION "1"
#define BRIDGE_CONNECT "connect"
#define BRIDGE_CONNECTED "connected"
#define BRIDGE_REFUSED "refused "
#define BRIDGE_NO_DAEMON "no-daemon"
#define BRIDGE_DENIED "denied"
#define BRIDGE_FAILED "failed"
#define BRIDGE_LINE_MAX 4096U ///< bytes of a line

#endif
