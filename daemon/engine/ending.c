// SPDX-License-Identifier: GPL-3.0-or-later
// Flag, wake descriptor and reason of a session's end. The flag is set after the reason, so that who sees it finds one.
#include "daemon/engine/ending.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

int ending_init(struct ending *ending)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	*ending = (struct ending){.wake_fd = fd, .reason = CONDPROF__END_REASON__REASON_NONE};
	pthread_mutex_init(&ending->lock, NULL);
	return 0;
}

void ending_deinit(struct ending *ending)
{
	close(ending->wake_fd);
	pthread_mutex_destroy(&ending->lock);
}

Condprof__SessionResult ending_result(Condprof__EndReason reason)
{
	switch (reason) {
	case CONDPROF__END_REASON__REASON_SOURCE_FAILED:
	case CONDPROF__END_REASON__REASON_INPUT_FAILED:
	case CONDPROF__END_REASON__REASON_CHECK_STUCK:
	case CONDPROF__END_REASON__REASON_INTERNAL:
		return CONDPROF__SESSION_RESULT__SESSION_FAILED;
	default:
		return CONDPROF__SESSION_RESULT__SESSION_OK;
	}
}

static void copy_text(char out[REASON_TEXT_SIZE], const char *text)
{
	size_t size = strnlen(text, REASON_TEXT_SIZE);

	if (size == REASON_TEXT_SIZE) {
		size--;
		while (size && ((unsigned char)text[size] & 0xc0) == 0x80) // not within a character
			size--;
	}
	memcpy(out, text, size);
	out[size] = '\0';
}

void ending_request(struct ending *ending, Condprof__EndReason reason, Condprof__SessionResult result, const char *text)
{
	pthread_mutex_lock(&ending->lock);
	if (ending->reason == CONDPROF__END_REASON__REASON_NONE) {
		ending->reason = reason;
		ending->result = result;
		copy_text(ending->text, text ? text : "");
	}
	pthread_mutex_unlock(&ending->lock);
	__atomic_store_n(&ending->requested, 1, __ATOMIC_RELEASE);

	uint64_t one = 1;
	ssize_t done = write(ending->wake_fd, &one, sizeof(one));

	(void)done; // fails only when it is readable already, 2^64 - 2 times
}

void ending_get(struct ending *ending, struct ending_reason *ret)
{
	pthread_mutex_lock(&ending->lock);
	ret->reason = ending->reason;
	ret->result = ending->result;
	memcpy(ret->text, ending->text, sizeof(ret->text));
	pthread_mutex_unlock(&ending->lock);
}
