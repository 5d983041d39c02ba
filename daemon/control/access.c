// SPDX-License-Identifier: GPL-3.0-or-later
// SO_PEERCRED and SO_PEERGROUPS: what the peer was when it connected, whatever it does afterwards.
#include "config.h"

#include "daemon/control/access.h"

#include <errno.h>
#include <sys/socket.h>

/// @param ret_groups the caller's to free; NULL when there is none
static int peer_groups(int fd, gid_t **ret_groups, size_t *ret_count)
{
	CLEANUP_FREE gid_t *groups = NULL;
	socklen_t size = 0;

	// Asked without room it answers with the size it wants; a peer's groups don't change after that.
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) < 0 && errno != ERANGE)
		return -errno;
	if (size) {
		groups = malloc(size);
		if (!groups)
			return -ENOMEM;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
			return -errno;
	}
	*ret_count = size / sizeof(*groups);
	*ret_groups = TAKE_POINTER(groups);
	return 0;
}

static bool member(gid_t wanted, gid_t own, const gid_t *groups, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (groups[i] == wanted)
			return true;
	return own == wanted;
}

int access_of_peer(int fd, const struct configuration *configuration, struct peer *ret)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);
	CLEANUP_FREE gid_t *groups = NULL;
	size_t count = 0;
	int r;

	*ret = (struct peer){.uid = (uid_t)-1};
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return -errno;
	ret->uid = credentials.uid;
	ret->pid = credentials.pid;
	if (!credentials.uid || credentials.uid == geteuid()) {
		ret->access = ACCESS_CONTROL;
		ret->privileged = true;
		return 0;
	}
	r = peer_groups(fd, &groups, &count);
	if (r < 0)
		return r;
	if (configuration->control_group && member(configuration->control_gid, credentials.gid, groups, count))
		ret->access = ACCESS_CONTROL;
	else if (configuration->observe_group && member(configuration->observe_gid, credentials.gid, groups, count))
		ret->access = ACCESS_OBSERVE;
	return 0;
}
