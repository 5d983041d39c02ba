// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "daemon/screen/xauthority.h"

#include "proto/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX_BYTES (1024 * 1024)
#define COOKIE_KIND "MIT-MAGIC-COOKIE-1"

// Families as the file has them; those of the protocol, and two of the file's own.
enum { FAMILY_INTERNET = 0, FAMILY_INTERNET6 = 6, FAMILY_LOCAL = 256, FAMILY_WILD = 65535 };

struct bytes {
	const uint8_t *data;
	size_t size;
};

struct entry {
	unsigned family;
	struct bytes address, number, name, data;
};

struct wanted {
	unsigned family; // FAMILY_LOCAL, or of the peer
	struct bytes address;
	char host[HOST_NAME_MAX + 1];
	char number[16];
};

static bool take_u16(struct bytes *rest, unsigned *ret)
{
	if (rest->size < 2)
		return false;
	*ret = (unsigned)rest->data[0] << 8 | rest->data[1];
	rest->data += 2;
	rest->size -= 2;
	return true;
}

static bool take_counted(struct bytes *rest, struct bytes *ret)
{
	unsigned size;

	if (!take_u16(rest, &size) || rest->size < size)
		return false;
	*ret = (struct bytes){rest->data, size};
	rest->data += size;
	rest->size -= size;
	return true;
}

static bool take_entry(struct bytes *rest, struct entry *ret)
{
	return take_u16(rest, &ret->family) && take_counted(rest, &ret->address) && take_counted(rest, &ret->number) &&
	       take_counted(rest, &ret->name) && take_counted(rest, &ret->data);
}

static bool is_text(struct bytes bytes, const char *text)
{
	return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static bool fits(const struct entry *entry, const struct wanted *wanted)
{
	bool number = entry->number.size == 0 || is_text(entry->number, wanted->number);
	bool address = entry->family == FAMILY_WILD ||
		       (entry->family == FAMILY_LOCAL && wanted->family == FAMILY_LOCAL &&
			is_text(entry->address, wanted->host)) ||
		       (entry->family == wanted->family && wanted->address.size > 0 &&
			entry->address.size == wanted->address.size &&
			memcmp(entry->address.data, wanted->address.data, wanted->address.size) == 0);

	return number && address && is_text(entry->name, COOKIE_KIND);
}

// The loopback addresses are the local host, whose entries go by its name.
static void want(struct wanted *wanted, const struct sockaddr *peer, int display)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	wanted->family = FAMILY_LOCAL;
	snprintf(wanted->number, sizeof(wanted->number), "%d", display);
	if (gethostname(wanted->host, sizeof(wanted->host)) < 0)
		wanted->host[0] = '\0';
	wanted->host[sizeof(wanted->host) - 1] = '\0';
	if (peer->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)peer;

		wanted->address = (struct bytes){(const uint8_t *)&in->sin_addr, 4};
		wanted->family = wanted->address.data[0] == 127 ? FAMILY_LOCAL : FAMILY_INTERNET;
	} else if (peer->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)peer;

		wanted->address = (struct bytes){in->sin6_addr.s6_addr, 16};
		wanted->family = IN6_IS_ADDR_LOOPBACK(&in->sin6_addr) ? FAMILY_LOCAL : FAMILY_INTERNET6;
		if (memcmp(in->sin6_addr.s6_addr, mapped, sizeof(mapped)) == 0) {
			wanted->address = (struct bytes){in->sin6_addr.s6_addr + 12, 4};
			wanted->family = FAMILY_INTERNET;
		}
	}
}

static int read_whole(const char *path, uint8_t **ret, size_t *ret_size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	int r = io_read_file(fd, FILE_MAX_BYTES, ret, ret_size);
	return r == -EINVAL || r == -EFBIG ? -EBADMSG : r;
}

static int find(struct bytes rest, const struct wanted *wanted, struct x_cookie *ret)
{
	struct entry entry;

	while (rest.size > 0) {
		if (!take_entry(&rest, &entry))
			return -EBADMSG;
		if (!fits(&entry, wanted) || entry.data.size > sizeof(ret->data))
			continue;
		memcpy(ret->name, entry.name.data, entry.name.size);
		ret->name_size = entry.name.size;
		memcpy(ret->data, entry.data.data, entry.data.size);
		ret->data_size = entry.data.size;
		return 0;
	}
	return -ENODATA;
}

int xauthority_find(const char *path, const struct sockaddr *peer, int display, struct x_cookie *ret)
{
	CLEANUP_FREE uint8_t *data = NULL;
	struct wanted wanted = {0};
	size_t size = 0;
	int r = read_whole(path, &data, &size);

	if (r < 0)
		return r;
	want(&wanted, peer, display);
	r = find((struct bytes){data, size}, &wanted, ret);
	explicit_bzero(data, size);
	return r;
}
