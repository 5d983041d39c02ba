// SPDX-License-Identifier: GPL-3.0-or-later
/// Inside of detect: reusing a result while the pixels it came from stay as they were.
///
/// Two ways, both by comparing pixels. Tiles that lie wholly in the area are compared once a frame for all conditions,
/// with a copy of the frame; a tile notes in which frame it last differed. What is left of the area at its edges is
/// compared with the condition's own copy. A small area is all edge. A condition that got no memory for a copy is
/// compared by all tiles its area has a part in: a change beside the area then makes it compute, too.
#ifndef CONDPROF_DETECT_MEMORY_H
#define CONDPROF_DETECT_MEMORY_H

#include "daemon/detect/frame.h"
#include "daemon/detect/template.h"

/// What a result depends on besides pixels.
struct detect_question {
	const struct detect_template *template_; ///< of an image
	const struct detect_wanted *wanted;      ///< of a text
	enum detect_format format;               ///< of a number
	uint32_t rgb;                            ///< of a color
	struct rect area;
	bool exact, best;
	double threshold;
};

/// Whether the result in `memory` answers the question for the current frame: then *ret is it. Else *ret is empty but
/// for what comparing cost. Notes the question either way.
/// @param place what the condition looks at, reduced px
bool memory_recall(struct detect_memory *memory, struct detect_frame *frame, const struct detect_question *question,
		   struct rect place, struct detect_result *ret);

/// Keeps the result for the question recalled last.
void memory_keep(struct detect_memory *memory, struct detect_frame *frame, const struct detect_result *result);

/// Where it was found last, left top corner in reduced px. False: nowhere.
bool memory_hint(const struct detect_memory *memory, const struct detect_frame *frame, int *ret_x, int *ret_y);
void memory_set_hint(struct detect_memory *memory, int x, int y);

#endif
