// SPDX-License-Identifier: GPL-3.0-or-later
/// Who may do what: the credentials the kernel keeps of a peer, as they were when it connected, against the
/// configuration. Asks no name service.
#ifndef CONDPROF_ACCESS_H
#define CONDPROF_ACCESS_H

#include "daemon/system/configuration.h"

/// Each includes the ones before it.
enum access { ACCESS_NONE, ACCESS_OBSERVE, ACCESS_CONTROL };

struct peer {
	uid_t uid;
	pid_t pid;
	enum access access;
	bool privileged; ///< root or the daemon's own user: no quota
};

/// Root and the daemon's own user may do everything; else a member of control-group, and a member of observe-group may
/// look. Supplementary groups count.
/// @return 0 or what the kernel said; access is then ACCESS_NONE
int access_of_peer(int fd, const struct configuration *configuration, struct peer *ret);

#endif
