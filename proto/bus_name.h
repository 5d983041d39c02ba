// SPDX-License-Identifier: GPL-3.0-or-later
/// Names as D-Bus has them: what a scenario's bus broadcasts and signals may be called, for client and daemon alike.
#ifndef CONDPROF_BUS_NAME_H
#define CONDPROF_BUS_NAME_H

#include "proto/base.h"

#define BUS_NAME_MAX_BYTES 255U

enum bus_name_mistake {
	BUS_NAME_FINE,
	BUS_NAME_MALFORMED, ///< a character or an element that no name has
	BUS_NAME_SHORT,     ///< fewer than two elements of an interface and a member; or too long
};

/// "org.example.Kiosk.Closed": an interface of two elements or more, and a member.
enum bus_name_mistake bus_signal_name_check(const char *text);

/// "/org/example/Kiosk", or "/" alone.
bool bus_path_valid(const char *text);

#endif
