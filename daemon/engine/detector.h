// SPDX-License-Identifier: GPL-3.0-or-later
/// What the engine asks of detection, as a table, so that everything above it runs in tests without pixels. The
/// product's one puts together what the detect layer needs: templates, areas, thresholds, a frame's shared preparation.
#ifndef CONDPROF_DETECTOR_H
#define CONDPROF_DETECTOR_H

#include "daemon/detect/detect.h"
#include "daemon/engine/clock.h"
#include "daemon/scenario/scenario.h"

struct detector;

struct detector_ops {
	/// Gets ready for frames of this size: may allocate. Called before the first frame and whenever the size
	/// changes.
	/// @return 0 or negative errno with an error
	int (*resize)(struct detector *detector, int width, int height, struct error *error);
	/// New pixels, of the size told last; valid until the next begin.
	void (*begin)(struct detector *detector, struct picture_view view);
	/// Checks one screen condition. @param ret always filled
	void (*check)(struct detector *detector, uint32_t condition, struct detect_result *ret);
	struct detector *(*free)(struct detector *detector);
};

struct detector {
	const struct detector_ops *ops;
};

/// The product's. All that `scenario` points to must outlive it.
/// @param clock of the report, or NULL: preparation isn't measured
/// @param stop looked at while a check computes; accessed atomically
int detector_new(const struct scenario *scenario, measuring_clock clock, const volatile int *stop,
		 struct detector **ret, struct error *error);
static inline struct detector *detector_free(struct detector *detector)
{
	return detector ? detector->ops->free(detector) : NULL;
}

/// For people, of detector_new()'s detectors only: checks a screen condition by another threshold than its own, or
/// looks for the best candidate whatever its score (detect_query.best).
/// @param remember the same question on unchanged pixels is answered from memory the next time, as a session's are
/// @param ret always filled
void detector_look(struct detector *detector, uint32_t condition, bool best, double threshold, bool remember,
		   struct detect_result *ret);

/// Why a check of this condition says "not evaluable" on a frame of this size, as a sentence without a full stop.
void detector_why_not(const struct condition *condition, int frame_width, int frame_height, char *out, size_t size);

#endif
