// SPDX-License-Identifier: GPL-3.0-or-later
/// What was measured of a scenario's image conditions on many pictures: a series of samples a condition.
#ifndef CONDPROF_TRIAL_MEASURED_H
#define CONDPROF_TRIAL_MEASURED_H

#include "client/trial/tuning.h"
#include "proto/control.pb-c.h"
#include "proto/errors.h"

#define MEASURED_MAX_SAMPLES 4000000U ///< of all series together

struct series {
	int64_t id;
	char *event, *name;
	double threshold; ///< percent
	struct tuning_place area;
	bool exact;
	size_t not_evaluable; ///< pictures
	char *why;            ///< it was not, on the first of them; NULL: none
	struct tuning_sample *samples;
	size_t n, capacity;
};

struct measured {
	struct series *series;
	size_t n;
	char **pictures; ///< their names; NULL where there is none
	size_t n_pictures, capacity, total;
	int width, height; ///< px; 0: they differ
	bool sizes_differ;
	size_t next; ///< series that the next condition is of
	size_t samples;
};

/// Takes over what a reply says. @return 0, -ENOMEM, -EPROTO or -EMSGSIZE (error filled)
int measured_add(struct measured *measured, const Condprof__Tried *message, struct error *error);
void measured_clear(struct measured *measured);

/// "040.png", or "picture 40" in `out`.
#define PICTURE_NAME_SIZE 32U
const char *measured_picture(const struct measured *measured, size_t picture, char out[PICTURE_NAME_SIZE]);

#endif
