// SPDX-License-Identifier: GPL-3.0-or-later
// A small table under a mutex that writers try, and not for long. A key that finds no place is not held back.
#include "daemon/log/repeats.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define PLACES 64U
#define TRIES 4U
#define LOCK_TRIES 1000U

struct place {
	uint64_t key; ///< 0: free
	int64_t begin_ns;
	unsigned count; ///< that came in this interval
	struct repeats_held held;
};

static struct place places[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint held_back; ///< places that hold something
static atomic_int_fast64_t interval_ns = REPEATS_INTERVAL_NS;

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return a ^ a >> 29;
}

uint64_t repeats_key(const char *format, const struct log_about *about)
{
	uint64_t key = mix((uint64_t)(uintptr_t)format, (uint64_t)about->session);

	return mix(key, about->has_peer ? about->uid + UINT64_C(1) : 0) | 1;
}

static bool is_over(const struct place *place, int64_t now_ns)
{
	return now_ns - place->begin_ns >= atomic_load(&interval_ns);
}

/// The key's place: its own, or one that serves nobody.
static struct place *find(uint64_t key, int64_t now_ns)
{
	struct place *usable = NULL;

	for (unsigned i = 0; i < TRIES; i++) {
		struct place *place = &places[(key / 2 + i) % PLACES];

		if (place->key == key)
			return place;
		if (!usable && !place->held.count && (!place->key || is_over(place, now_ns)))
			usable = place;
	}
	if (usable)
		*usable = (struct place){.key = key, .begin_ns = now_ns};
	return usable;
}

static bool hold(struct place *place, int64_t now_ns, const struct repeats_held *held)
{
	// What an interval that is over still holds is for the log thread, which comes soon.
	if (!place->held.count && is_over(place, now_ns)) {
		place->begin_ns = now_ns;
		place->count = 0;
	}
	if (place->count < REPEATS_BURST) {
		place->count++;
		return false;
	}
	if (!place->held.count) {
		place->held = *held;
		place->held.count = 0;
		atomic_fetch_add(&held_back, 1);
	}
	place->held.count++;
	return true;
}

/// Whoever holds it is done in a microsecond, unless he was preempted: he gets his turn, but nobody waits for ever.
static bool try_lock(void)
{
	for (unsigned tries = 0; tries < LOCK_TRIES; tries++) {
		if (!pthread_mutex_trylock(&lock))
			return true;
		sched_yield();
	}
	return false;
}

bool repeats_hold_back(uint64_t key, int64_t now_ns, const struct repeats_held *held, bool *ret_first)
{
	struct place *place;
	bool back = false;

	*ret_first = false;
	if (!try_lock())
		return false;
	place = find(key, now_ns);
	if (place)
		back = hold(place, now_ns, held);
	*ret_first = back && place->held.count == 1;
	pthread_mutex_unlock(&lock);
	return back;
}

bool repeats_any(void)
{
	return atomic_load(&held_back);
}

bool repeats_take(int64_t now_ns, bool all, struct repeats_held *ret)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < PLACES && !any; i++) {
		struct place *place = &places[i];

		if (!place->held.count || !(all || is_over(place, now_ns)))
			continue;
		*ret = place->held;
		*place = (struct place){0};
		atomic_fetch_sub(&held_back, 1);
		any = true;
	}
	pthread_mutex_unlock(&lock);
	return any;
}

void repeats_set_interval(int64_t ns)
{
	atomic_store(&interval_ns, ns);
}
