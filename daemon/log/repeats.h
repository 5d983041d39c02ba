// SPDX-License-Identifier: GPL-3.0-or-later
/// Holds back what repeats: of the lines that one place in the code says about one session and one user, a burst comes
/// through in an interval, the rest is counted, and said in one line when the interval is over. Any thread; nobody
/// waits for it: where two meet, a line comes through.
#ifndef CONDPROF_LOG_REPEATS_H
#define CONDPROF_LOG_REPEATS_H

#include "daemon/log/log.h"

#define REPEATS_BURST 20U
#define REPEATS_INTERVAL_NS (10 * NSEC_PER_SEC)
#define REPEATS_SAMPLE_BYTES 240U

/// What stands for lines that were held back.
struct repeats_held {
	uint64_t count;
	enum log_level level;
	enum log_module module;
	int64_t session;
	char sample[REPEATS_SAMPLE_BYTES]; ///< the first of them
};

/// What makes two lines the same.
uint64_t repeats_key(const char *format, const struct log_about *about);

/// @param held what is kept when it is the first to be held back: everything but count
/// @param ret_first it is the first of its interval: whoever says repeats is to be woken, so that it is said in time
/// @return whether it is
bool repeats_hold_back(uint64_t key, int64_t now_ns, const struct repeats_held *held, bool *ret_first);

/// Whether something is held back.
bool repeats_any(void);
/// Takes what is over, or with `all` whatever there is. @return false: nothing
bool repeats_take(int64_t now_ns, bool all, struct repeats_held *ret);

/// For tests: another interval.
void repeats_set_interval(int64_t ns);

#endif
