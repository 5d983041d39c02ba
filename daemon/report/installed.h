// SPDX-License-Identifier: GPL-3.0-or-later
/// Installed scenarios: STATE/scenarios/NAME.pb, one Scenario message each, as it was sent, decoded and checked. A file
/// there is whole or not there: it is replaced by a rename, and never written to. Called by the worker thread; calls do
/// file I/O and may wait for the disk.
#ifndef CONDPROF_REPORT_INSTALLED_H
#define CONDPROF_REPORT_INSTALLED_H

#include "daemon/report/store.h"
#include "proto/limits.h"

struct installed_scenario {
	char name[INSTALLED_NAME_MAX_BYTES + 1];
	char *scenario; ///< its own name; NULL: the file is damaged
	uint64_t bytes;
	int64_t installed_unix_ns;
};
/// Empties it.
void installed_scenario_clear(struct installed_scenario *scenario);

struct installed_list {
	struct installed_scenario *items; ///< by name
	size_t count;
};
/// All of them. No folder is an empty list; what is no regular file or has no possible name is left out.
/// @param ret the caller's: installed_list_clear()
int installed_list(struct store *store, struct installed_list *ret, struct error *error);
void installed_list_clear(struct installed_list *list);

/// Installs `data` under `name`, in place of what was there. On failure what was there stays.
/// @param name installed_name_valid()
/// @param ret what stands there now; the caller's: installed_scenario_clear()
/// @return 0; -EBUSY: a limit on all of them; -ENOSPC, …
int installed_write(struct store *store, const char *name, const uint8_t *data, size_t size,
		    struct installed_scenario *ret, bool *ret_replaced, struct error *error);

/// Opens the one of that name. What is read from the descriptor stays the same, whatever is installed meanwhile.
/// @param ret_size 1 to SCENARIO_MAX_BYTES
/// @return 0; -ENOENT: NO_SUCH_NAME, with the name that was perhaps meant; -EBADMSG: IO
int installed_open(struct store *store, const char *name, int *ret_fd, size_t *ret_size, struct error *error);
/// Reads all of it. @param data `size` bytes, as installed_open() said
int installed_read(struct store *store, const char *name, int fd, uint8_t *data, size_t size, struct error *error);

/// @param ret what it was; the caller's: installed_scenario_clear()
/// @return 0; -ENOENT as above
int installed_remove(struct store *store, const char *name, struct installed_scenario *ret, struct error *error);

/// Removes what a killed daemon left half written.
void installed_sweep(struct store *store);

#endif
